"""Connections of our own: where snapshots lie, and where everything that is asked of them runs.

Nothing of the caller's is known there: no macro, no function, and no setting but how many threads
and how much memory he allows. They read no file and find no variable. What does not fit in memory
lies in one folder that this user alone can enter, and that goes when the process does; what a
process left that was stopped goes at the next start.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Final, TextIO

from onesided.engine._sql import literal
from onesided.errors import MissingDependencyError

_CLOSED: Final = {"enable_external_access": "false", "python_enable_replacements": "false"}
_FOLDER: Final = "onesided-rows-"
_LOCK: Final = "lock"
_ALLOWED: Final = ("threads", "memory_limit")


def connected(native: Any = None) -> Any:
    """A new connection, to a database in memory. Errors: MissingDependencyError.

    native: a caller's relation, whose connection may be allowed less than the machine has.
    """
    try:
        import duckdb  # noqa: PLC0415 - optional
    except ImportError:
        raise MissingDependencyError(
            "pandas and PyArrow tables are read by DuckDB, which is not installed.",
            hint="pip install 'onesided[pandas]' or 'onesided[pyarrow]'.",
        ) from None
    spilled = tempfile.mkdtemp(dir=_folder(os.getpid()))
    connection = duckdb.connect(config={**_CLOSED, "temp_directory": spilled})
    connection.execute("SET enable_progress_bar = false")  # it is drawn among the answers
    for name, value in _allowed(native).items():
        connection.execute(f"SET {name} = {literal(value)}")
    return connection


def _allowed(native: Any) -> dict[str, str]:
    """Some settings of the caller's: a table of the system's own, read by no expression."""
    if native is None:
        return {}
    told = native.query("onesided_rows", "FROM system.main.duckdb_settings()").fetchall()
    return {str(name): str(value) for name, value, *_ in told if name in _ALLOWED}


@cache
def _folder(process: int) -> Path:
    """Where this process may leave rows for as long as it runs; its lock says that it does."""
    above = Path(tempfile.gettempdir())
    for left in above.glob(f"{_FOLDER}*"):
        with contextlib.suppress(OSError), (left / _LOCK).open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left)
    made = Path(tempfile.mkdtemp(prefix=_FOLDER, dir=above))
    lock = (made / _LOCK).open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    atexit.register(_removed, made, process, lock)  # which keeps the lock open until then
    return made


def _removed(folder: Path, process: int, lock: TextIO) -> None:
    if os.getpid() == process:  # a child of the process inherits what is done at exit
        shutil.rmtree(folder, ignore_errors=True)
        lock.close()
