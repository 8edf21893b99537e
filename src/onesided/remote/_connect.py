"""Opening a session on a server."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Final

from onesided.errors import ParameterError
from onesided.remote._server import Server, address_of
from onesided.remote._session import RemoteSession

TOKEN: Final = "ONESIDED_TOKEN"  # noqa: S105 - the name of a variable
_WAIT: Final = 300.0


def connect(
    url: str,
    *,
    token: str | None = None,
    dataset: str | None = None,
    tables: Callable[[Mapping[str, Any]], Any] | None = None,
    plain_http: bool = False,
    wait: float = _WAIT,
    transport: Any = None,
) -> RemoteSession:
    """A session on a server: the methods of :class:`onesided.Session`, and rows that stay there.

    token: yours; None takes that of the environment variable ``ONESIDED_TOKEN``.
    dataset: its name; None takes the only one that you may see.
    tables: makes ``release.frame`` of columns, such as ``pandas.DataFrame``; None is the first that
        is installed of Polars, pandas and PyArrow.
    plain_http: True allows an address without TLS that is not this machine's own.
    wait: seconds for one response; an answer leaves on the server's public clock.
    transport: an httpx transport, for proxies of your own and for tests.
    Errors: ParameterError; ServiceError; MissingDependencyError without httpx.

    >>> connect("http://statistics.example.org", token="of mine", dataset="visits")
    Traceback (most recent call last):
    onesided.errors.ParameterError: http:// carries the token and all answers in the clear.
    Hint: Use https://, or pass plain_http=True on a network that nobody else reads.
    """
    address = address_of(url, plain_http=plain_http)
    secret = os.environ.get(TOKEN) if token is None else token
    if secret is not None and not (secret.isascii() and secret.isprintable() and secret.strip()):
        raise ParameterError(
            "The token holds characters that no token has.", hint="Paste it again, as it was given."
        )
    if not 0 < wait < float("inf"):
        raise ParameterError(f"wait={wait!r} is no time in seconds.", hint="Leave it out.")
    server = Server(address, secret, wait=wait, transport=transport)
    try:
        name = _only(server) if dataset is None else dataset
        return RemoteSession(server, name, tables=tables)
    except BaseException:
        server.close()
        raise


def _only(server: Server) -> str:
    """The one dataset that may be seen. Errors: ParameterError."""
    names = [str(one["name"]) for one in server.get("/datasets")]
    if len(names) != 1:
        raise ParameterError(
            f"{len(names)} datasets may be seen with this token.",
            hint=f"Pass dataset=, one of {', '.join(map(repr, names))}."
            if names
            else "Ask the curator for a role in one.",
        )
    return names[0]
