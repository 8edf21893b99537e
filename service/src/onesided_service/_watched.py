"""Each request gets an id, a line in the log, and is counted by its route."""

from __future__ import annotations

import logging
import secrets
from typing import Any, Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from onesided_service._metrics import Metrics

LOG: Final = logging.getLogger("onesided.serve")
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})


class Watched:
    """Sees the route and the status of a request: neither its query nor its body."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        name, status = secrets.token_hex(8), 500  # a number would tell how often others ask

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["X-Request-ID"] = name
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            method = scope["method"] if scope["method"] in _METHODS else "other"
            route = _route(scope)
            self._metrics.request(method, route, status)
            facts: dict[str, Any] = {"id": name, "method": method, "route": route}
            person = scope.get("state", {}).get("person", "")
            LOG.info("request", extra={**facts, "status": status, "person": person})


def _route(scope: Scope) -> str:
    """The route's pattern; an address that is none may hold anything."""
    return str(getattr(scope.get("route"), "path", "none"))
