"""One or several worker processes behind one socket."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import uvicorn

from onesided_service._app import create_app
from onesided_service._config import ServiceConfig
from onesided_service._connections import EACH_ADDRESS, Connection
from onesided_service._watched import SHARED, to_stderr

if TYPE_CHECKING:
    from fastapi import FastAPI

# How a worker process learns what its parent was told.
_PATH: Final = "ONESIDED_SERVICE"
_WORKERS: Final = "ONESIDED_SERVICE_WORKERS"
_PATIENCE: Final = 30  # seconds for questions that are under way when it is stopped


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
