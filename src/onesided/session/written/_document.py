"""The outermost object: its version, and nothing that is not known."""

from __future__ import annotations

import json
from typing import Any, Final

from onesided.errors import ParameterError
from onesided.store import read_json

VERSION: Final = 2
_READ: Final = (1, 2)
_LONGEST: Final = 2**26


def document(parts: dict[str, Any]) -> str:
    """The parts as text, under today's version."""
    told = {"version": VERSION, **parts}
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def opened(text: object, *forms: set[str]) -> dict[str, Any]:
    """The object in a text, of one form's names and the version alone. Errors: ParameterError."""
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise ParameterError("This is not text of at most 64 MB.", hint="See docs/json.md.")
    try:
        found = read_json(text, once=True)
    except (ValueError, RecursionError) as error:
        raise ParameterError(
            f"This is not valid JSON: {error}.", hint="See docs/json.md."
        ) from error
    if not isinstance(found, dict) or all(set(found) != {"version", *form} for form in forms):
        keys = sorted(map(str, found)) if isinstance(found, dict) else found
        names = " or of ".join(", ".join(sorted({"version", *form})) for form in forms)
        raise ParameterError(
            f"An object of {names} is expected, got {keys!r}.",
            hint="Unknown names are refused; see docs/json.md.",
        )
    if found["version"] not in _READ or isinstance(found["version"], bool):
        raise ParameterError(
            f"This is of version {found['version']!r}; versions 1 and {VERSION} are read.",
            hint="A newer release of onesided may read it.",
            version=found["version"],
        )
    return found
