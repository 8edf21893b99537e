"""What is seen of each request, what each response carries, and when it leaves."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import json
import logging
import os
import re
import secrets
import sys
import threading
import time
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, disable_created_metrics, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from onesided_service._errors import ServiceError

LOG: Final = logging.getLogger("onesided.serve")
SHARED: Final = "PROMETHEUS_MULTIPROC_DIR"
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors {frames}"
)
# What is public may stand in anybody's page, on a page with no links to others, and no forms.
_FRAMED: Final = re.compile(r"/(monitors|published)/[^/]+/embed")
# What anybody may read, and so the pages of others.
_PUBLIC: Final = re.compile(
    r"/api/v1/(published(/[^/]+)?|monitors(/[^/]+)?)|/published\.atom|/static/onesided\.js"
)
# What is told to a page of another site that asks before it reads.
_BEFORE: Final = Response(
    status_code=204,
    headers={
        "Access-Control-Allow-Methods": "GET, HEAD",
        "Access-Control-Allow-Headers": "If-None-Match",
        "Access-Control-Max-Age": "600",
    },
)
_LEFT: Final = 499  # who asked hung up; nothing was sent
_HSTS: Final = "max-age=31536000; includeSubDomains"
# What a line may hold.
_FACTS: Final = (
    "id", "method", "route", "status", "person", "dataset", "ask", "reason", "kind", "place",
)  # fmt: skip


class Lines(logging.Formatter):
    """A record as one line of JSON in ASCII: requests by id and route, why a dataset was closed.

    What no line holds: tokens, cookies, queries, bodies, and the text of errors that were not made
    to be told. An exception is named by its class and place.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        told: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage() if not record.exc_info else "mistake",
        }
        told |= {name: getattr(record, name) for name in _FACTS if hasattr(record, name)}
        if record.exc_info and record.exc_info[1] is not None:
            told |= placed(record.exc_info[1])
        return json.dumps(told)


def placed(error: BaseException) -> dict[str, object]:
    """The class of an error and where it arose; its text may tell of rows."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return {"kind": type(error).__name__, "place": place}


def to_stderr(level: int = logging.INFO) -> None:
    """Let this process write its logs, and uvicorn's, as lines of JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    for name in ("onesided.serve", "uvicorn.error", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level if name == "onesided.serve" else logging.WARNING)


_COUNTED: Final = {
    "requests": ("Requests by method, route and status.", ("method", "route", "status")),
    "asks": ("Questions that were charged.", ("dataset",)),
    "closed": ("Datasets that were closed.", ("dataset",)),
}


class Metrics:
    """The counters of one worker, for Prometheus; of all, where they share a folder.

    Nothing that a row could change. Durations are left out: those of the machine would tell of
    rows what the public clock hides.
    """

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        self._counters = {
            name: Counter(f"onesided_{name}", words, labels, registry=self._registry)
            for name, (words, labels) in _COUNTED.items()
        }

    def count(self, name: str, *labels: str) -> None:
        """Count a request, a question that was charged, or a dataset that was closed."""
        self._counters[name].labels(*labels).inc()

    def text(self) -> bytes:
        """What Prometheus reads."""
        if SHARED not in os.environ:
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


# When responses leave: some time after they are made, so that nobody sees a little more work.

BEAT: Final = 50_000_000  # nanoseconds: long beside the work of a request
_FINE: Final = 1_000_000  # instants at which the thread wakes


class Beats:
    """A beat of each response's own, whose phase nobody knows: the next is when it leaves.

    What reading rows does to a machine (its caches, its memory, its other cores) makes any
    request take a little longer. Beats that all share would hide that from most, and show it to
    whoever sends so that a response is made just about when one comes; of a fresh phase, no instant
    is near one. A thread of its own waits for them, since the event loop's timers are set, and
    rounded, at the very instant that must not show.

    >>> beats = Beats()
    >>> asyncio.run(beats.next())
    >>> beats.stop()
    """

    def __init__(self, every: int = BEAT) -> None:
        self._every = every
        self._waiting: list[tuple[int, int, asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._over = False

    async def next(self) -> None:
        """Wait for it."""
        loop = asyncio.get_running_loop()
        waits: asyncio.Future[None] = loop.create_future()
        fine = -(-time.monotonic_ns() // _FINE) * _FINE
        at = fine + secrets.randbelow(self._every // _FINE) * _FINE
        with self._changed:
            if self._thread is None:  # here, not where it was made: that process may have forked
                self._thread = threading.Thread(target=self._run, name="beats", daemon=True)
                self._thread.start()
            heapq.heappush(self._waiting, (at, next(self._numbers), loop, waits))
            self._changed.notify()
        await waits

    def stop(self) -> None:
        """Let go of the thread, and of who waits."""
        with self._changed:
            self._over = True
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._over and (left := self._left()) > 0:
                    self._changed.wait(None if left == float("inf") else left / 10**9)
                if not self._waiting:
                    return
                _, _, loop, waits = heapq.heappop(self._waiting)
            with suppress(RuntimeError):  # of a loop that ended
                loop.call_soon_threadsafe(_go, waits)

    def _left(self) -> float:
        """Nanoseconds until the next of those who wait goes on."""
        return self._waiting[0][0] - time.monotonic_ns() if self._waiting else float("inf")


def _go(waits: asyncio.Future[Any]) -> None:
    if not waits.done():
        waits.set_result(None)


class Watched:
    """Sees the route and the status of a request: neither its query nor its body.

    What a response loads comes from here alone, and it is neither framed nor kept; HEAD is GET
    without its body. tls: whether browsers may be told to use TLS alone from now on. origins:
    whose pages may read what is published. beats: when responses leave, if not at once.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        metrics: Metrics,
        tls: bool,
        origins: frozenset[str],
        beats: Beats | None = None,
    ) -> None:
        self._app, self._metrics, self._tls, self._origins = app, metrics, tls, origins
        self._beats = beats

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        name, status = secrets.token_hex(8), 0  # a number would tell how often others ask
        method = scope["method"]
        inner = {**scope, "method": "GET"} if method == "HEAD" else scope

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = name
                headers.update(self._standing(scope))
                headers.setdefault("Cache-Control", "no-store")
                if self._beats is not None:
                    await self._beats.next()
            elif method == "HEAD":
                message = {**message, "body": b""}
            await send(message)

        app = _BEFORE if self._asks_before(scope) else self._app
        try:
            await app(inner, receive, sending)
        except ClientDisconnect:
            status = _LEFT
        except Exception as error:  # noqa: BLE001 - a mistake of ours: its text may tell of rows
            LOG.error("mistake", extra=placed(error))  # noqa: TRY400 - nor its traceback
            if not status:
                mistake = ServiceError(500, "Mistake", "A mistake in onesided.")
                response = JSONResponse(mistake.document(), status_code=500)
                await response(inner, receive, sending)
        finally:
            # An address that fits no route may hold anything, and so may a method.
            told = method if method in _METHODS else "other"
            route = str(getattr(inner.get("route"), "path", "none"))
            self._metrics.count("requests", told, route, str(status or 500))
            facts: dict[str, Any] = {"id": name, "method": told, "route": route}
            person = inner.get("state", {}).get("person", "")
            LOG.info("request", extra={**facts, "status": status or 500, "person": person})

    def _asks_before(self, scope: Scope) -> bool:
        """Whether a page of a declared origin asks before it reads what is published."""
        headers = Headers(scope=scope)
        return (
            scope["method"] == "OPTIONS"
            and headers.get("origin", "") in self._origins
            and headers.get("access-control-request-method", "") in ("GET", "HEAD")
            and _PUBLIC.fullmatch(scope["path"]) is not None
        )

    def _standing(self, scope: Scope) -> dict[str, str]:
        """The headers of every response to such a request."""
        framed = _FRAMED.fullmatch(scope["path"]) is not None
        headers = {
            "Content-Security-Policy": _POLICY.format(frames="*" if framed else "'none'"),
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
        }
        if not framed:
            headers["X-Frame-Options"] = "DENY"
        if self._tls:
            headers["Strict-Transport-Security"] = _HSTS
        if self._origins and _PUBLIC.fullmatch(scope["path"]):
            origin = Headers(scope=scope).get("origin", "")
            headers["Vary"] = "Origin"
            if origin in self._origins:
                headers["Access-Control-Allow-Origin"] = origin
                headers["Access-Control-Expose-Headers"] = "ETag"
        return headers
