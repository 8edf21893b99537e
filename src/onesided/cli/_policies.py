"""Policies that people name on the command line: by name, or in a TOML file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from onesided import policy as policies
from onesided.errors import ParameterError, PolicyError
from onesided.policy import Family, Policy

# Families that the command line makes without a file.
_BY_NAME: Final = {
    name: family for name, family in policies.families().items() if family.options is not None
}


def read_policy(name: str, *, max_groups: int | None, sensitive: str | None) -> Policy:
    """A policy by name, or from a TOML file.

    Errors: PolicyError or ParameterError naming what is missing.
    """
    takers = [one.name for one in _BY_NAME.values() if "sensitive" in (one.options or {})]
    if sensitive is not None and name not in takers:
        raise ParameterError(
            f"--sensitive={sensitive!r} has no meaning for the policy {name!r}.",
            hint=f"Leave it out, or use --policy {' or '.join(takers)}.",
        )
    if name in _BY_NAME:
        return _named(_BY_NAME[name], {"max_groups": max_groups, "sensitive": sensitive})
    path = Path(name)
    if not path.is_file():
        raise PolicyError(
            f"There is no policy or file {name!r}.",
            hint=f"Name one of {', '.join(_BY_NAME)}, or a .toml file (docs/policies.md) for "
            "others.",
        )
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(
            f"Cannot read the policy {name!r}: {error}.",
            hint="Name a .toml file (docs/policies.md), or a policy.",
        ) from error
    return policies.from_toml(text)


def _named(family: Family, given: Mapping[str, object]) -> Policy:
    """A policy of a family that needs no file. Errors: ParameterError for an option it lacks."""
    parameters: dict[str, object] = {}
    for name, option in (family.options or {}).items():
        if given.get(name) is None:
            raise ParameterError(
                f"The {family.name} policy needs --{name.replace('_', '-')}.",
                hint=f"Give {option.hint}.",
            )
        parameters[option.parameter] = given[name]
    return family.read(**parameters)
