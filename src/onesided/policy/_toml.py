"""Policies from versioned TOML: the text is a policy's identity in a ledger."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any, Final

from onesided.errors import ParameterError, PolicyError
from onesided.policy._base import VERSION, Policy
from onesided.policy._family import Family
from onesided.policy._lines import line_of
from onesided.policy._registry import families
from onesided.store import read_toml

_READ: Final = "Give the file's text, such as pathlib.Path('policy.toml').read_text()."
_FIELDS: Final = ("onesided_policy", "family", "parameters")


def from_toml(text: str) -> Policy:
    """Read a policy that ``to_toml`` wrote, or that someone wrote by hand.

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
        return _build({key: document[key] for key in document if key != "onesided_policy"})
    except PolicyError as error:
        raise _with_line(error, text) from None


def _build(document: Mapping[str, Any], *, where: str = "policy") -> Policy:
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
    return _made(family, parameters)


def _made(family: Family, parameters: dict[str, Any]) -> Policy:
    """The policy, its parts first; errors name what was given, for the line to be found."""
    try:
        family.check(parameters)
        return family.read(
            **{
                key: [_part(one) for one in value] if family.fields[key].parts else value
                for key, value in parameters.items()
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


def _part(document: Mapping[str, Any]) -> Policy:
    return _build(document, where="part of the intersection")


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
