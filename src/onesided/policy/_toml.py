"""Policies as versioned TOML: the text is a policy's identity in a ledger."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from typing import Any, Final

import tomli_w

from onesided.errors import ParameterError, PolicyError
from onesided.policy import _kinds
from onesided.policy._base import Policy
from onesided.policy._presence import presence

VERSION: Final = 1


def _sensitive(parameters: dict[str, Any]) -> Policy:
    """The sensitive family; an expression cannot come back from its printed form."""
    if not parameters.pop("sql", True):
        raise PolicyError(
            "This policy was made from a narwhals expression, which text cannot rebuild.",
            hint="Write its predicate as SQL to store the policy in a file.",
        )
    return _kinds.sensitive(**parameters)


# A closed table: a stored policy can name these families and nothing else.
_FAMILIES: Final[dict[str, Callable[[dict[str, Any]], Policy]]] = {
    "bounded": lambda given: _kinds.bounded(**given),
    "unbounded": lambda given: _kinds.unbounded(**given),
    "addition_only": lambda given: _kinds.addition_only(**given),
    "removal_only": lambda given: _kinds.removal_only(**given),
    "sensitive": _sensitive,
    "custom": lambda given: _kinds.custom(**given),
    "presence": lambda given: presence(**given),
}


def encode(policy: Policy) -> str:
    """The canonical text of a policy."""
    return tomli_w.dumps(
        {"onesided_policy": VERSION, "family": policy.name, "parameters": policy.parameters()}
    )


def from_toml(text: str) -> Policy:
    """Read a policy that ``to_toml`` wrote, or that someone wrote by hand.

    Errors: PolicyError naming the field for text that is not TOML, another version, an unknown
    family, or parameters that the family does not have.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(
            f"The policy is not valid TOML: {error}.", hint="See docs/policies.md for examples."
        ) from None
    _check_header(document)
    parameters = document.get("parameters", {})
    if not isinstance(parameters, dict):
        raise PolicyError("[parameters] must be a table.", hint="Write [parameters] on a line.")
    try:
        return _FAMILIES[document["family"]](dict(parameters))
    except (TypeError, ValueError) as error:
        if isinstance(error, PolicyError):
            raise
        reason = error.reason if isinstance(error, ParameterError) else str(error)
        raise PolicyError(
            f"The parameters of the policy {document['family']!r} do not fit: {reason}",
            hint="See docs/policies.md for what each family takes.",
        ) from None


def _check_header(document: dict[str, Any]) -> None:
    """Refuse unknown versions, families and fields."""
    version = document.get("onesided_policy")
    if version != VERSION or isinstance(version, bool):
        raise PolicyError(
            f"onesided_policy must be {VERSION}, got {version!r}.",
            hint=f"Write 'onesided_policy = {VERSION}'; a higher number needs a newer onesided.",
        )
    unknown = set(document) - {"onesided_policy", "family", "parameters"}
    if unknown:
        raise PolicyError(
            f"Unknown field {min(unknown)!r}.",
            hint="The fields are onesided_policy, family and [parameters].",
        )
    if document.get("family") not in _FAMILIES:
        raise PolicyError(
            f"Unknown policy family {document.get('family')!r}.",
            hint=f"Known: {', '.join(sorted(_FAMILIES))}.",
        )
