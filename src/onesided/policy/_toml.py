"""Policies from versioned TOML: the text is a policy's identity in a ledger."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from onesided.errors import ParameterError, PolicyError
from onesided.policy._base import VERSION, Policy
from onesided.policy._family import Family
from onesided.policy._lines import line_of
from onesided.policy._predicate import Predicate
from onesided.policy._registry import families
from onesided.store import read_toml

_READ: Final = "Give the file's text, such as pathlib.Path('policy.toml').read_text()."
_FIELDS: Final = ("onesided_policy", "family", "parameters")


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
    if not isinstance(text, str):
        raise PolicyError(f"A policy in TOML must be text, got {text!r}.", hint=_READ)
    try:
        document = read_toml(text)
    except tomllib.TOMLDecodeError as error:
        place = str(error).replace(
            "end of document", f"line {text.count(chr(10)) + 1}, the end of the document"
        )
        hint = "See docs/policies.md for examples."
        raise PolicyError(
            f"The policy is not valid TOML: {place}.", hint=hint if "=" in text else _READ
        ) from None
    except ValueError as error:
        raise PolicyError(f"The policy is no policy of ours: {error}.", hint=_READ) from None
    try:
        _check_version(document)
        del document["onesided_policy"]
        return _build(document, on_record=on_record)
    except PolicyError as error:
        raise _with_line(error, text) from None


def _build(
    document: Mapping[str, Any], *, where: str = "policy", on_record: bool = False
) -> Policy:
    """A policy from its family and parameters."""
    if not isinstance(document, dict):
        raise PolicyError(f"A {where} must be a table.", hint="See docs/policies.md.", key="parts")
    for key in document:
        if key not in _FIELDS[1:]:
            raise PolicyError(
                f"Unknown field {key!r}.", hint=f"The fields are {', '.join(_FIELDS)}.", key=key
            )
    name, parameters = document.get("family"), document.get("parameters", {})
    family = families().get(name) if isinstance(name, str) else None
    if family is None:
        raise PolicyError(
            f"Unknown policy family {name!r}.",
            hint=f"Known: {', '.join(sorted(families()))}.",
            given=name,
        )
    if not isinstance(parameters, dict):
        raise PolicyError(
            "[parameters] must be a table.", hint="Write [parameters].", key="parameters"
        )
    return _made(family, parameters, on_record=on_record)


def _made(family: Family, parameters: dict[str, Any], *, on_record: bool) -> Policy:
    """The policy, its parts first; errors name what was given, for the line to be found."""
    try:
        family.check(parameters)
        given = _recorded(parameters) if on_record else parameters
        return family.read(
            **{
                key: [_part(one, on_record=on_record) for one in value]
                if family.fields[key].parts
                else value
                for key, value in given.items()
            }
        )
    except ParameterError as error:
        raise PolicyError(
            f"The parameters of the policy {family.name!r} do not fit: {error.reason}",
            hint=error.hint or "See docs/policies.md for what each family takes.",
            **error.values,
            keys=tuple(parameters),
            family=family.name,
        ) from None
    except PolicyError as error:
        named = {"keys": tuple(parameters), "family": family.name, **error.values}
        raise PolicyError(error.reason, hint=error.hint, **named) from None


def _part(document: Mapping[str, Any], *, on_record: bool) -> Policy:
    return _build(document, where="part of the intersection", on_record=on_record)


def _recorded(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters whose conditions are read as they were stored; an expression has a mark."""
    found = dict(parameters)
    if "predicate" in found:
        sql = bool(found.pop("sql", True))
        found["predicate"] = Predicate.on_record(found["predicate"], sql=sql)
    for key, place in (("tiers", 2), ("rules", 1)):
        if key in found:
            found[key] = [_with_condition(row, place) for row in found[key]]
    return found


def _with_condition(row: Sequence[Any], place: int) -> list[Any]:
    if len(row) <= place:
        return list(row)
    return [*row[:place], Predicate.on_record(str(row[place]), sql=len(row) == place + 1)]


def _check_version(document: Mapping[str, Any]) -> None:
    version = document.get("onesided_policy")
    if version != VERSION or isinstance(version, bool):
        raise PolicyError(
            f"onesided_policy must be {VERSION}, got {version!r}.",
            hint=f"Write 'onesided_policy = {VERSION}'; a higher number needs a newer onesided.",
            key="onesided_policy",
        )


def _with_line(error: PolicyError, text: str) -> PolicyError:
    """The error with the line that it is about, where one can be told."""
    line = line_of(text, error)
    if line is None:
        return error
    values = {name: value for name, value in error.values.items() if name != "keys"}
    return type(error)(f"Line {line}: {error.reason}", hint=error.hint, **{**values, "line": line})
