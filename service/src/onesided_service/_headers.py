"""Headers that every response carries: nothing is loaded from elsewhere, framed or kept."""

from __future__ import annotations

import logging
import re
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from onesided_service._errors import ServiceError
from onesided_service._logs import placed

LOG: Final = logging.getLogger("onesided.serve")
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors {frames}"
)
# The public map alone may stand in anybody's page: it has no links to others, and no forms.
_FRAMED: Final = re.compile(r"/monitors/[^/]+/embed")
_HSTS: Final = "max-age=31536000; includeSubDomains"


class Headers:
    """Adds them. tls: whether browsers may be told to use TLS alone from now on."""

    def __init__(self, app: ASGIApp, *, tls: bool) -> None:
        self._app, self._tls = app, tls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        frames = "*" if _FRAMED.fullmatch(scope["path"]) else "'none'"

        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = _POLICY.format(frames=frames)
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "no-referrer"
                headers["Cross-Origin-Opener-Policy"] = "same-origin"
                headers["Permissions-Policy"] = "camera=(), geolocation=(), microphone=()"
                headers.setdefault("Cache-Control", "no-store")
                if frames != "*":
                    headers["X-Frame-Options"] = "DENY"
                if self._tls:
                    headers["Strict-Transport-Security"] = _HSTS
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception as error:  # noqa: BLE001 - a mistake of ours: its text may tell of rows
            LOG.error("mistake", extra=placed(error))  # noqa: TRY400 - nor its traceback
            if not started:
                mistake = ServiceError(500, "Mistake", "A mistake in onesided.")
                response = JSONResponse(mistake.document(), status_code=500)
                await response(scope, receive, sending)
