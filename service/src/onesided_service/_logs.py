"""Logs as lines of JSON: requests by id and route, and why a dataset was closed.

What no line holds: tokens, cookies, queries, bodies, and the text of errors that were not made to
be told. An exception is named by its class and place.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

_FACTS: Final = (
    "id",
    "method",
    "route",
    "status",
    "person",
    "dataset",
    "ask",
    "reason",
    "kind",
    "place",
)


class Lines(logging.Formatter):
    """A record as one line of JSON in ASCII."""

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
