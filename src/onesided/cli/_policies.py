"""Policies that people name on the command line: by name, or in a TOML file."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from onesided import policy as policies
from onesided.errors import ParameterError, PolicyError
from onesided.policy import Policy

NAMES: Final = (
    "bounded",
    "unbounded",
    "addition_only",
    "removal_only",
    "presence",
    "sensitive",
    "extended_sensitive",
)


def read_policy(name: str, *, max_groups: int | None, sensitive: str | None) -> Policy:
    """A policy by name, or from a TOML file.

    Errors: PolicyError or ParameterError naming what is missing.
    """
    if sensitive is not None and name not in ("sensitive", "extended_sensitive"):
        raise ParameterError(
            f"--sensitive={sensitive!r} has no meaning for the policy {name!r}.",
            hint="Leave it out, or use --policy sensitive or extended_sensitive.",
        )
    if name in NAMES:
        return _named(name, max_groups=max_groups, sensitive=sensitive)
    path = Path(name)
    if not path.is_file():
        raise PolicyError(
            f"There is no policy or file {name!r}.",
            hint=f"Name one of {', '.join(NAMES)}, or a .toml file (docs/policies.md) for others.",
        )
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(
            f"Cannot read the policy {name!r}: {error}.",
            hint="Name a .toml file (docs/policies.md), or a policy.",
        ) from error
    return policies.from_toml(text)


def _named(name: str, *, max_groups: int | None, sensitive: str | None) -> Policy:
    if name == "presence":
        if max_groups is None:
            raise ParameterError(
                "The presence policy needs --max-groups.",
                hint="Give the most groups (such as places) of one person that ε should cover.",
            )
        return policies.presence(max_groups=max_groups)
    if name in ("sensitive", "extended_sensitive"):
        if sensitive is None:
            raise ParameterError(
                f"The {name} policy needs --sensitive.",
                hint="Give SQL that is true for sensitive rows, such as 'age < 18 or not opt_in'.",
            )
        return getattr(policies, name)(sensitive)  # type: ignore[no-any-return]
    plain: Policy = getattr(policies, name)()
    return plain
