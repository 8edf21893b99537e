"""Policies as versioned TOML: the text is a policy's identity in a ledger."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from typing import Any, Final

import tomli_w

from onesided.errors import ParameterError, PolicyError
from onesided.policy import _families
from onesided.policy._attributes import attributes
from onesided.policy._base import Policy
from onesided.policy._graph import graph, local
from onesided.policy._intersection import intersect
from onesided.policy._neighbourhood import neighbourhood
from onesided.policy._presence import presence
from onesided.policy._schema import SCHEMAS, Schema, line_of

VERSION: Final = 1
_READ: Final = "Give the file's text, such as pathlib.Path('policy.toml').read_text()."
_FIELDS: Final = ("onesided_policy", "family", "parameters")


def _from_predicate(make: Callable[[str], Policy]) -> Callable[[dict[str, Any]], Policy]:
    """A family of one predicate; an expression cannot come back from its printed form."""

    def build(given: dict[str, Any]) -> Policy:
        _require_sql(given.get("sql", True), key="sql")
        return make(given["predicate"])

    return build


def _custom(given: dict[str, Any]) -> Policy:
    rules = given.pop("rules", [])
    _require_sql(all(len(rule) == 2 for rule in rules), mark="expression")
    return _families.custom(**given, rules=[(kind, condition) for kind, condition in rules])


def _tiers(given: dict[str, Any]) -> Policy:
    _require_sql(all(len(row) < 4 for row in given["tiers"]), mark="expression")
    return _families.read_tiers(given["tiers"])


def _require_sql(sql: object, **where: object) -> None:
    if not sql:
        raise PolicyError(
            "This policy was made from a narwhals expression, which text cannot rebuild.",
            hint="Write its predicate as SQL to store the policy in a file.",
            **where,
        )


def _local(given: dict[str, Any]) -> Policy:
    return local(given.pop("alphabet"), **given)


def _intersection(given: dict[str, Any]) -> Policy:
    parts = [_build(part, where="part of the intersection") for part in given["parts"]]
    if not parts:
        raise PolicyError("An intersection needs parts.", hint="Write [[parameters.parts]].")
    joint = parts[0]
    for part in parts[1:]:
        joint = intersect(joint, part)
    return joint


# A closed table: a stored policy can name these families and nothing else.
_FAMILIES: Final[Mapping[str, Callable[[dict[str, Any]], Policy]]] = {
    "bounded": lambda given: _families.bounded(**given),
    "unbounded": lambda given: _families.unbounded(**given),
    "addition_only": lambda given: _families.addition_only(**given),
    "removal_only": lambda given: _families.removal_only(**given),
    "sensitive": _from_predicate(_families.sensitive),
    "extended_sensitive": _from_predicate(_families.extended_sensitive),
    "proposition": _from_predicate(_families.proposition),
    "tiers": _tiers,
    "custom": _custom,
    "presence": lambda given: presence(**given),
    "attributes": lambda given: attributes(given["sensitive"]),
    "graph": lambda given: graph(given.pop("edges"), **given),
    "local": _local,
    "neighbourhood": lambda given: neighbourhood(**given),
    "intersection": _intersection,
}


def encode(policy: Policy) -> str:
    """The canonical text of a policy."""
    return tomli_w.dumps(
        {"onesided_policy": VERSION, "family": policy.name, "parameters": policy.parameters()}
    )


def from_toml(text: str) -> Policy:
    """Read a policy that ``to_toml`` wrote, or that someone wrote by hand.

    Errors: PolicyError naming the line for text that is not TOML, another version, an unknown
    family or field, or parameters that do not fit the family.
    """
    if not isinstance(text, str):
        raise PolicyError(f"A policy in TOML must be text, got {text!r}.", hint=_READ)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = str(error).replace(
            "end of document", f"line {text.count(chr(10)) + 1}, the end of the document"
        )
        hint = "See docs/policies.md for examples."
        raise PolicyError(
            f"The policy is not valid TOML: {place}.", hint=hint if "=" in text else _READ
        ) from None
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
    family, parameters = document.get("family"), document.get("parameters", {})
    if not isinstance(family, str) or family not in _FAMILIES:
        raise PolicyError(
            f"Unknown policy family {family!r}.",
            hint=f"Known: {', '.join(sorted(_FAMILIES))}.",
            given=family,
        )
    if not isinstance(parameters, dict):
        raise PolicyError(
            "[parameters] must be a table.", hint="Write [parameters].", key="parameters"
        )
    _check_parameters(family, parameters, SCHEMAS[family])
    try:
        return _FAMILIES[family](dict(parameters))
    except ParameterError as error:
        raise PolicyError(
            f"The parameters of the policy {family!r} do not fit: {error.reason}",
            hint=error.hint or "See docs/policies.md for what each family takes.",
            **error.values,
            keys=tuple(parameters),
            family=family,
        ) from None
    except PolicyError as error:
        named = {"keys": tuple(parameters), "family": family, **error.values}
        raise PolicyError(error.reason, hint=error.hint, **named) from None


def _check_version(document: Mapping[str, Any]) -> None:
    version = document.get("onesided_policy")
    if version != VERSION or isinstance(version, bool):
        raise PolicyError(
            f"onesided_policy must be {VERSION}, got {version!r}.",
            hint=f"Write 'onesided_policy = {VERSION}'; a higher number needs a newer onesided.",
            key="onesided_policy",
        )


def _check_parameters(family: str, given: Mapping[str, Any], schema: Schema) -> None:
    """Refuse parameters that are unknown, missing or of another type."""
    for key, value in given.items():
        if key not in schema:
            known = f"{', '.join(schema)}" if schema else "none"
            raise PolicyError(
                f"The policy {family!r} has no parameter {key!r}.",
                hint=f"Its parameters: {known}.",
                key=key,
                family=family,
            )
        if not schema[key].fits(value):
            raise PolicyError(
                f"{key} of the policy {family!r} must be {schema[key].words}, got {value!r}.",
                hint=f"For example {key} = {schema[key].example}",
                key=key,
                family=family,
            )
    for key, field in schema.items():
        if field.required and key not in given:
            raise PolicyError(
                f"The policy {family!r} needs the parameter {key!r}.",
                hint=f"Add, under [parameters], {key} = {field.example}",
                key="parameters",
                family=family,
            )


def _with_line(error: PolicyError, text: str) -> PolicyError:
    """The error with the line that it is about, where one can be told."""
    line = line_of(text, error)
    if line is None:
        return error
    values = {name: value for name, value in error.values.items() if name != "keys"}
    return type(error)(f"Line {line}: {error.reason}", hint=error.hint, **{**values, "line": line})
