"""A family of policies: what it tells of itself, how it is found, and its TOML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Any, Final

from onesided.errors import OnesidedError, PolicyError
from onesided.fields import Field, Fields, inside, is_number, is_text, listing, of, read
from onesided.policy._base import VERSION, Policy, Predicate
from onesided.store import toml_document

# What a family of policies tells of itself: its file, its options, an example.
#
# A family stands in a file of this folder, whose ``FAMILIES`` are found here; policy files, the
# command line, the gallery and the tests of all families read them.


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


def edge_list(example: str, **more: Any) -> Field[Any, Any]:
    """Moves, each as a list; the weight may be left out."""
    row = "[source, target] or [source, target, weight]"
    one = listing(is_number, row, least=2, most=3)
    return Field(listing(one, f"a list of {row}"), example=example, **more)


def name_list(example: str, **more: Any) -> Field[Any, Any]:
    """A list of texts."""
    return Field(listing(is_text, "a list of names"), example=example, **more)


def _predicate(value: object, *, name: str) -> Predicate:  # noqa: ARG001 - its error shows the place
    return Predicate.of(value)


# A condition on record is none of the language's, and no text any more when it is read.
ROW: Final = of("text or a number", str, int, float, Predicate)
PREDICATE: Final[Field[Any, Predicate]] = Field(_predicate, example='"age < 18"')


# Every family of policies, as files, the command line, the gallery and the tests read them.

# A closed table: a stored policy can name the families of this folder and nothing else.
_FOLDER: Final = str(Path(__file__).parent)


@cache
def _families() -> Mapping[str, Family]:
    """What the files of this folder hold as ``FAMILIES``, in the files' order."""
    found: list[Family] = []
    for file in iter_modules([_FOLDER]):
        found += getattr(import_module(f"onesided.policy.{file.name}"), "FAMILIES", ())
    return MappingProxyType({family.name: family for family in found})


def families() -> Mapping[str, Family]:
    """Every family of policies by its name.

    >>> from onesided import policy
    >>> sorted(policy.families())[:3]
    ['addition_only', 'attributes', 'bounded']
    """
    return _families()


# Policies from versioned TOML: the text is a policy's identity in a ledger.

_READ: Final = "Give the file's text, such as pathlib.Path('policy.toml').read_text()."
_SEE: Final = "See docs/policies.md for examples."
_FIELDS: Final[Fields] = {
    "family": Field(is_text, example='"bounded"'),
    "parameters": Field(of("a table", dict), default={}),
}


def from_toml(text: str, *, on_record: bool = False) -> Policy:
    """Read a policy that ``to_toml`` wrote, or that someone wrote by hand.

    on_record: keep conditions that the language does not have, as those of 0.1.0 may be; such a
        policy says what was charged, and no table is read under it.
    Errors: PolicyError naming the line for text that is not TOML, another version, an unknown
    family or field, or parameters that do not fit the family.

    >>> from onesided import policy
    >>> two = policy.presence(max_groups=2)
    >>> policy.from_toml(two.to_toml()) == two
    True
    """
    with toml_document(
        text,
        what="policy",
        hint=_SEE if isinstance(text, str) and "=" in text else _READ,
        error=PolicyError,
        version=("onesided_policy", VERSION),
    ) as document:
        return part_of(_recorded(document) if on_record else document, name="")


def part_of(document: object, *, name: str) -> Policy:
    """A policy from its family and parameters, on its own or as a part. Errors: OnesidedError."""
    given = read(_FIELDS, document, what="a policy", name=name)
    family = families().get(given["family"])
    if family is None:
        reason, known = f"Unknown policy family {given['family']!r}.", ", ".join(sorted(families()))
        raise inside(PolicyError(reason, hint=f"Known: {known}."), "family")
    parameters = given.get("parameters", {})
    try:
        return family.read(**read(family.fields, parameters, what=f"the policy {family.name!r}"))
    except OnesidedError as error:
        raise inside(
            error, "parameters" if "parameters" in given else "family"
        ) from error.__cause__


def _recorded(document: Any) -> Any:
    """Parameters whose conditions are read as they were stored; an expression has a mark."""
    if not isinstance(document, dict) or not isinstance(document.get("parameters"), dict):
        return document
    found: dict[str, Any] = dict(document["parameters"])
    if isinstance(found.get("predicate"), str):
        sql = bool(found.pop("sql", True))
        found["predicate"] = Predicate.on_record(found["predicate"], sql=sql)
    for key, place in (("tiers", 2), ("rules", 1)):
        if isinstance(found.get(key), list):
            found[key] = [_with_condition(row, place) for row in found[key]]
    if isinstance(found.get("parts"), list):
        found["parts"] = [_recorded(part) for part in found["parts"]]
    return {**document, "parameters": found}


def _with_condition(row: object, place: int) -> object:
    if not isinstance(row, list) or not place < len(row) < place + 3:
        return row
    return [*row[:place], Predicate.on_record(str(row[place]), sql=len(row) == place + 1)]
