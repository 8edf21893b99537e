"""The application of one worker, and one or several of them behind one socket."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from onesided.errors import OnesidedError
from onesided.noise import Noise
from onesided_service import (
    _api,
    _curator_pages,
    _kept_pages,
    _monitor_pages,
    _pages,
    _public_pages,
)
from onesided_service._clock import Clock
from onesided_service._config import ServiceConfig
from onesided_service._connections import ALL_BODIES, BODIES, EACH_ADDRESS, Bodies, Connection
from onesided_service._doors import person_of, service_of
from onesided_service._errors import ServiceError, not_found, told
from onesided_service._page_kit import error_page
from onesided_service._people import CURATOR
from onesided_service._service import Service
from onesided_service._watched import SHARED, Beats, Watched, to_stderr

# How a worker process learns what its parent was told.
_PATH: Final = "ONESIDED_SERVICE"
_WORKERS: Final = "ONESIDED_SERVICE_WORKERS"
_PATIENCE: Final = 30  # seconds for questions that are under way when it is stopped


def create_app(
    config: ServiceConfig, *, noise: Noise | None = None, clock: Clock | None = None
) -> FastAPI:
    """The service as an ASGI application. noise, clock: for tests.

    Its stores are opened at once and closed when the application ends.

    >>> create_app(ServiceConfig(title="City")).title
    'City'
    """
    apart = noise is None and clock is None
    service = Service(config, noise=noise, clock=clock, apart=apart)
    beats = Beats() if apart else None

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:  # noqa: ARG001 - FastAPI's own
        await service.warm()
        yield
        await service.finish()
        if beats is not None:
            beats.stop()

    app = FastAPI(
        title=config.title,
        version="1",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.service = service
    for first in (
        _public_pages.api,
        _public_pages.files,
        _kept_pages.api,
    ):  # whose endings are no part of a name
        app.include_router(first)
    for part in (_api, _pages, _kept_pages, _public_pages, _curator_pages, _monitor_pages):
        app.include_router(part.router)
    app.add_api_route("/healthz", lambda: {"status": "ok"}, include_in_schema=False)
    app.add_api_route("/readyz", _ready, include_in_schema=False)
    app.add_api_route("/metrics", _metrics, include_in_schema=False)
    origins, size = frozenset(config.origins), config.largest_body
    app.add_middleware(Bodies, each=BODIES * size, most=ALL_BODIES * size)
    app.add_middleware(
        Watched, metrics=service.metrics, tls=config.tls, origins=origins, beats=beats
    )
    for kind in (ServiceError, OnesidedError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, _refused)
    return app


async def _ready(request: Request) -> dict[str, str]:
    """Whether it can answer: its state can be read. Errors: ServiceError 503."""
    await service_of(request).ready_to_answer()
    return {"status": "ready"}


async def _metrics(request: Request) -> Response:
    """How many requests there were, for curators: it names datasets."""
    person = await person_of(request)
    if not any(CURATOR in held for held in person.roles.values()):
        raise not_found()
    return Response(request.app.state.service.metrics.text(), media_type="text/plain")


async def _refused(request: Request, given: Exception) -> Response:
    """What a request may be told, in one form."""
    error = given
    if isinstance(error, OnesidedError):
        error = told(error)
    elif isinstance(error, HTTPException):
        error = ServiceError(error.status_code, "Http", str(error.detail))
    elif not isinstance(error, ServiceError):
        error = ServiceError(422, "ParameterError", "The address or its parameters are not valid.")
    headers = dict(getattr(given, "headers", None) or {})
    if "allow" in (low := {name.lower(): value for name, value in headers.items()}):
        headers = {"Allow": low["allow"].replace("GET", "GET, HEAD")}
    accepts = "text/html" in request.headers.get("accept", "")
    if accepts and not request.url.path.startswith("/api/"):  # a person with a browser
        return await error_page(request, error)
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if error.status == 429:
        headers["Retry-After"] = str(error.values.get("seconds", 1))
    return JSONResponse(error.document(), status_code=error.status, headers=headers)


def run(config: ServiceConfig, *, path: Path) -> None:
    """Serve until it is told to stop; what was charged is then answered, or kept for its asker.

    >>> run(ServiceConfig.read("onesided.toml"), path=Path("onesided.toml"))  # doctest: +SKIP
    """
    os.environ |= {_PATH: str(path), _WORKERS: str(config.workers)}
    options: dict[str, Any] = {
        "host": config.host,
        "port": config.port,
        "http": partial(Connection, most=None if config.tls else EACH_ADDRESS),
        "ws": "none",  # a connection that is handed on would be counted for ever
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "date_header": True,
        "proxy_headers": config.tls,
        "timeout_graceful_shutdown": _PATIENCE,
        "timeout_keep_alive": 5,
        "h11_max_incomplete_event_size": 65536,
    }
    to_stderr()
    app = create_app(config)
    # What cannot be reached or started is said once, here, and by no worker that is started anew.
    app.state.service.require_started()
    if config.workers == 1:
        uvicorn.run(app, **options)
    else:
        app.state.service.close()
        os.environ.setdefault(SHARED, tempfile.mkdtemp(prefix="onesided-metrics-"))
        factory = f"{__name__}:worker"
        uvicorn.run(factory, factory=True, workers=config.workers, **options)


def worker() -> FastAPI:
    """The application of a worker process, as its parent was told."""
    to_stderr()
    config = ServiceConfig.read(os.environ[_PATH])
    return create_app(replace(config, workers=int(os.environ[_WORKERS])))
