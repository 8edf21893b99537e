"""What a family of policies tells of itself: its file, its options, an example.

A family is one file of this folder; its ``FAMILY`` is found by :mod:`onesided.policy._registry`,
which policy files, the command line, the gallery and the tests of all families read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from onesided.errors import PolicyError
from onesided.policy._base import Policy


@dataclass(frozen=True, slots=True)
class Field:
    """One parameter: what fits it, and whether it must be given.

    parts: its values are policies of their own.

    >>> age = Field(is_a(int), "a whole number", "18")
    >>> age.fits(18), age.fits("18"), age.fits(True)
    (True, False, False)
    """

    fits: Callable[[object], bool]
    words: str
    example: str
    required: bool = True
    parts: bool = False


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

    read: makes a policy of the fields of its file, once :meth:`check` has passed them.
    options: the command line's options that make a policy without a file, by their names; None
        where that takes a file. example: the parameters of a small policy, as in its file.

    >>> from onesided import policy
    >>> policy.families()["presence"].read(max_groups=2) == policy.presence(max_groups=2)
    True
    """

    name: str
    read: Callable[..., Policy]
    fields: Mapping[str, Field]
    example: Mapping[str, Any]
    options: Mapping[str, Option] | None = None

    def check(self, parameters: Mapping[str, Any]) -> None:
        """Refuse parameters that are unknown, missing or of another type. Errors: PolicyError."""
        for key, value in parameters.items():
            if key not in self.fields:
                raise PolicyError(
                    f"The policy {self.name!r} has no parameter {key!r}.",
                    hint=f"Its parameters: {', '.join(self.fields) or 'none'}.",
                    key=key,
                    family=self.name,
                )
            field = self.fields[key]
            if not field.fits(value):
                raise PolicyError(
                    f"{key} of the policy {self.name!r} must be {field.words}, got {value!r}.",
                    hint=f"For example {key} = {field.example}",
                    key=key,
                    family=self.name,
                )
        for key, field in self.fields.items():
            if field.required and key not in parameters:
                raise PolicyError(
                    f"The policy {self.name!r} needs the parameter {key!r}.",
                    hint=f"Add, under [parameters], {key} = {field.example}",
                    key="parameters",
                    family=self.name,
                )


def is_a(*types: type) -> Callable[[object], bool]:
    """Of one of the types; True and False are no numbers."""
    return lambda value: isinstance(value, types) and (bool in types or not isinstance(value, bool))


def listing(fits: Callable[[object], bool]) -> Callable[[object], bool]:
    """A list of what fits."""
    return lambda value: isinstance(value, list) and all(fits(item) for item in value)


def table(fits: Callable[[object], bool]) -> Callable[[object], bool]:
    """A table of what fits."""
    return lambda value: isinstance(value, dict) and all(fits(item) for item in value.values())


def rows(least: int, most: int) -> Callable[[object], bool]:
    """A list of lists of texts and numbers, each as long as that."""
    return listing(
        lambda row: isinstance(row, list) and least <= len(row) <= most and all(map(NUMBER, row))
    )


TEXT: Final = is_a(str)
NUMBER: Final = is_a(str, int, float)
NUMBERS: Final = listing(NUMBER)
FLAG: Final = Field(is_a(bool), "true or false", "true", required=False)
NAMES: Final = Field(listing(TEXT), "a list of names", '["yes", "no"]')
VALUES: Final = Field(listing(is_a(str, int)), "a list of values", '["a"]', required=False)
EDGES: Final = Field(
    rows(2, 3),
    "a list of [source, target] or [source, target, weight]",
    '[["home", "office", "1/2"]]',
)
