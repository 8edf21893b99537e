"""Policies from versioned TOML: the text is a policy's identity in a ledger."""

from __future__ import annotations

from typing import Any, Final

from onesided.errors import OnesidedError, PolicyError
from onesided.fields import Field, Fields, inside, is_text, of, read
from onesided.policy._base import VERSION, Policy
from onesided.policy._predicate import Predicate
from onesided.policy._registry import families
from onesided.store import toml_document

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
