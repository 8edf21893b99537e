"""Tokens of an organisation's own sign-in: signed by a listed key, with a listed algorithm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import jwt

from onesided.errors import ParameterError
from onesided.store import first_bytes
from onesided_service._config import OidcConfig, ServiceConfig

# Signatures by public keys alone: "none" is no signature, and a public key is no shared secret.
ALGORITHMS: Final = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)
_LONGEST: Final = 8192
_MOST: Final = 2**20
_LEEWAY: Final = 30  # seconds that clocks may differ
_NEEDED: Final = ["exp", "iat", "iss", "aud"]


class Oidc:
    """Reads bearer tokens (JWT). Errors of :meth:`person` are all one: None."""

    def __init__(self, config: OidcConfig, service: ServiceConfig) -> None:
        unknown = set(config.algorithms) - ALGORITHMS
        if unknown:
            raise ParameterError(
                f"service.oidc.algorithms has {min(unknown)!r}.",
                hint=f"Known: {', '.join(sorted(ALGORITHMS))}.",
            )
        self._config = config
        place = service.place(config.jwks)
        if "://" in place:
            if not place.startswith("https://"):
                raise ParameterError("service.oidc.jwks must be a file or an https URL.")
            self._client: jwt.PyJWKClient | None = jwt.PyJWKClient(
                place, cache_keys=True, timeout=5
            )
            self._keys: dict[str, Any] = {}
        else:
            self._client, self._keys = None, _keys_in(place)

    def person(self, token: str) -> str | None:
        """The person whom a token names; None unless all of it holds."""
        if len(token) > _LONGEST or token.count(".") != 2:
            return None
        try:
            head = jwt.get_unverified_header(token)
            if head.get("alg") not in self._config.algorithms:
                return None
            told = jwt.decode(
                token,
                self._keys[str(head.get("kid", ""))]
                if self._client is None
                else self._client.get_signing_key_from_jwt(token).key,
                algorithms=list(self._config.algorithms),
                audience=self._config.audience,
                issuer=self._config.issuer,
                leeway=_LEEWAY,
                options={"require": _NEEDED},
            )
        except (jwt.PyJWTError, ValueError, TypeError, KeyError, RecursionError):
            return None
        name = told.get(self._config.claim)
        return name if isinstance(name, str) and name else None


def _keys_in(place: str) -> dict[str, Any]:
    """The public keys of a file, by id. Errors: ParameterError."""
    try:
        found = jwt.PyJWKSet.from_dict(json.loads(first_bytes(Path(place), _MOST)))
    except (OSError, ValueError, jwt.PyJWTError) as error:
        raise ParameterError(
            f"Cannot read the keys {place!r}: {error}.", hint="Name a JWKS file of public keys."
        ) from error
    if any(key.key_type == "oct" for key in found.keys):
        raise ParameterError(f"{place!r} holds a shared secret.", hint="Name public keys alone.")
    return {str(key.key_id or ""): key.key for key in found.keys}
