"""What a family of policies tells of itself: its file, its options, an example.

A family is one file of this folder; its ``FAMILY`` is found by :mod:`onesided.policy._registry`,
which policy files, the command line, the gallery and the tests of all families read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from onesided.fields import Field, Fields, is_number, is_text, listing, of
from onesided.policy._base import Policy
from onesided.policy._predicate import Predicate


@dataclass(frozen=True, slots=True)
class Option:
    """A parameter that the command line takes by itself; ``hint`` says what to give.

    >>> from onesided import policy
    >>> policy.families()["presence"].options
    {'max_groups': Option(parameter='max_groups', hint='the most groups (such as places) of one
    person that ε should cover')}
    """

    parameter: str
    hint: str


@dataclass(frozen=True, slots=True)
class Family:
    """One family of policies.

    read: makes a policy of what the fields of its file hold. fields: what its file may say, under
        ``[parameters]``. options: the command line's options that make a policy without a file, by
        their names; None where that takes a file. example: the parameters of a small policy, as in
        its file.

    >>> from onesided import policy
    >>> policy.families()["presence"].read(max_groups=2) == policy.presence(max_groups=2)
    True
    """

    name: str
    read: Callable[..., Policy]
    fields: Fields
    example: Mapping[str, Any]
    options: Mapping[str, Option] | None = None


def edges(example: str, **more: Any) -> Field[Any, Any]:
    """Moves, each as a list; the weight may be left out."""
    row = "[source, target] or [source, target, weight]"
    one = listing(is_number, row, least=2, most=3)
    return Field(listing(one, f"a list of {row}"), example=example, **more)


def names(example: str, **more: Any) -> Field[Any, Any]:
    """A list of texts."""
    return Field(listing(is_text, "a list of names"), example=example, **more)


def _predicate(value: object, *, name: str) -> Predicate:  # noqa: ARG001 - its error shows the place
    return Predicate.of(value)


# A condition on record is none of the language's, and no text any more when it is read.
ROW: Final = of("text or a number", str, int, float, Predicate)
PREDICATE: Final[Field[Any, Predicate]] = Field(_predicate, example='"age < 18"')
