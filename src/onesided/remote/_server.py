"""A server's refusals as the errors that a session raises itself."""

from __future__ import annotations

from time import sleep
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from onesided import errors
from onesided.errors import MissingDependencyError, OnesidedError, ParameterError, ServiceError

if TYPE_CHECKING:
    import httpx


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
    return kind(
        said["message"],
        hint=hint if isinstance(hint, str) else "",
        **{str(name): one for name, one in facts.items() if name not in ("reason", "hint")},
    )


# Requests to a server: JSON there and back, tried again where that can do no harm.

API: Final = "/api/v1"
ATTEMPTS: Final = 5
LONGEST_WAIT: Final = 60.0
_FIRST_WAIT: Final = 0.5
_PASSING: Final = (502, 504)
_SAID_WHEN: Final = (429, 503)
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


def address_of(url: str, *, plain_http: bool) -> str:
    """The address without a slash at its end. Errors: ParameterError."""
    parts = urlsplit(url) if isinstance(url, str) else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise ParameterError(
            "A server's address begins with https:// or http://.",
            hint='Write od.connect("https://statistics.example.org", token=...).',
        )
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ParameterError(
            "A server's address holds no name, password or query.", hint="Pass the token as token=."
        )
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK and not plain_http:
        raise ParameterError(
            "http:// carries the token and all answers in the clear.",
            hint="Use https://, or pass plain_http=True on a network that nobody else reads.",
        )
    return url.rstrip("/")


class Server:
    """Where to ask, and as whom. Its ``repr`` never shows the token."""

    def __init__(self, address: str, token: str | None, *, wait: float, transport: Any) -> None:
        headers = {"Accept": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        self.address, self._wait = address, wait
        self._client: httpx.Client = _httpx().Client(
            base_url=address, headers=headers, timeout=wait, transport=transport
        )

    def get(self, path: str) -> Any:
        """What stands at ``path``. Errors: those of the server; ServiceError."""
        return self.call("GET", path)

    def post(self, path: str, body: Any) -> Any:
        """The answer to ``body``, which must mean the same however often it arrives."""
        return self.call("POST", path, body)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The answer, after as many attempts as it takes. Errors: those of the server."""
        failed: OnesidedError = ServiceError("The server was not asked.")
        for attempt in range(ATTEMPTS):
            sent = {} if body is None else {"json": body}
            try:
                response = self._client.request(method, f"{API}{path}", **sent)
            except _httpx().TransportError as error:
                failed = ServiceError(
                    f"{self.address} cannot be reached: {type(error).__name__}.",
                    hint="See whether the address is right and the server runs.",
                    status=None,
                )
                pause: float | None = _backoff(attempt)
            else:
                told = _json(response)
                if response.is_success:
                    return told
                failed = failure(response.status_code, told)
                pause = _pause(response, attempt)
            if pause is None or pause > LONGEST_WAIT or attempt + 1 == ATTEMPTS:
                break
            sleep(pause)
        raise failed

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __repr__(self) -> str:
        return f"Server({self.address!r})"


def _pause(response: httpx.Response, attempt: int) -> float | None:
    """How long to wait before the next attempt; None where another would be refused alike."""
    if response.status_code in _PASSING:
        return _backoff(attempt)
    said = response.headers.get("Retry-After", "")
    if response.status_code in _SAID_WHEN and said.isascii() and said.isdigit():
        return max(float(said), _FIRST_WAIT)
    return None


def _backoff(attempt: int) -> float:
    return _FIRST_WAIT * float(2**attempt)


def _json(response: httpx.Response) -> Any:
    """What a response holds. Errors: ServiceError where a success is no JSON."""
    try:
        return response.json()
    except (ValueError, RecursionError):
        if response.is_success:
            raise ServiceError(
                "The server's answer is not JSON.",
                hint="See whether the address is that of onesided serve.",
                status=response.status_code,
            ) from None
        return None


def _httpx() -> ModuleType:
    try:
        import httpx  # noqa: PLC0415 - loaded on use
    except ImportError:
        raise MissingDependencyError(
            "Asking a server needs httpx.", hint='Run pip install "onesided[client]".'
        ) from None
    return httpx
