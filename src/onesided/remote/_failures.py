"""A server's refusals as the errors that a session raises itself."""

from __future__ import annotations

from typing import Any, Final

from onesided import errors
from onesided.errors import OnesidedError, ServiceError

# A closed table: a name that a server sends never makes an error of another module.
KNOWN: Final[dict[str, type[OnesidedError]]] = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, OnesidedError)
}
_WORDS: Final = {
    401: "The token is missing, wrong, expired or revoked.",
    403: "The token's owner may not do this.",
    404: "The server has nothing at this address for this token.",
    413: "The request is too large for the server.",
    429: "The server asks for fewer requests.",
    503: "The server cannot answer now.",
}


def failure(status: int, told: Any) -> OnesidedError:
    """The error of a response that is no success: by its type, with its hint and values."""
    said = told.get("error") if isinstance(told, dict) else None
    if not isinstance(said, dict) or not isinstance(said.get("message"), str):
        return ServiceError(
            f"The server answered {status}. {_WORDS.get(status, '')}".strip(),
            hint="See whether the address is that of onesided serve.",
            status=status,
        )
    values = said.get("values")
    facts = dict(values) if isinstance(values, dict) else {}
    kind = KNOWN.get(str(said.get("type")), ServiceError)
    if kind is ServiceError:
        facts |= {"status": status, "type": str(said.get("type"))}
    hint = said.get("hint")
    return kind(said["message"], hint=hint if isinstance(hint, str) else "", **_fitting(facts))


def _fitting(values: dict[str, Any]) -> dict[str, Any]:
    """What may stand beside an error's reason and hint."""
    return {str(name): one for name, one in values.items() if name not in ("reason", "hint")}
