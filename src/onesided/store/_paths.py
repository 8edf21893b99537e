"""Files replaced in one step, names held by one process, folders that nobody else may read."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def replace_file(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Write beside the target, then rename: readers see the old file or the new one.

    >>> replace_file(Path("page.html"), "new")
    >>> Path("page.html").read_text()
    'new'
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(mode)  # mkstemp makes private files; a page is there to be read
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def first_bytes(path: Path, most: int) -> bytes:
    """The first ``most`` bytes of a regular file. A pipe or a device might never end, or begin.

    Errors: OSError.

    >>> with tempfile.NamedTemporaryFile() as file:
    ...     first_bytes(Path(file.name), 9)
    b''
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is no regular file")
    with path.open("rb") as file:
        return file.read(most)


def remove_drafts(path: Path) -> None:
    """Remove what :func:`replace_file` left beside ``path`` when its process was killed.

    >>> Path(".page.html.1.tmp").touch()
    >>> remove_drafts(Path("page.html"))
    >>> Path(".page.html.1.tmp").exists()
    False
    """
    for draft in path.parent.glob(f".{path.name}.*.tmp"):
        draft.unlink(missing_ok=True)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold ``path`` as a lock, which the system lets go of when the process ends in any way.

    Errors: BlockingIOError if another process holds it; OSError if it cannot be made.

    >>> with held(Path("job.lock")):
    ...     Path("job.lock").exists()
    True
    >>> Path("job.lock").exists()
    False
    """
    handle = _locked(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is held: whoever waits finds another file
        os.close(handle)


def _locked(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    while True:
        handle = os.open(path, flags, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), path.stat()):
                    return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # its last owner removed it between our two calls


@contextmanager
def scratch(base: Path | None = None) -> Iterator[Path]:
    """A folder of this user alone, gone at the end; what killed processes left goes first.

    base: where to make it; the system's folder for temporary files by default.

    >>> with scratch() as folder:
    ...     oct(folder.stat().st_mode & 0o777)
    '0o700'
    >>> folder.exists()
    False
    """
    place = Path(tempfile.gettempdir()) if base is None else base
    _sweep(place)
    folder = place / f"{_PREFIX}{secrets.token_hex(8)}"
    with held(folder.with_suffix(".lock")):
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


_PREFIX = "onesided-scratch-"


def _sweep(place: Path) -> None:
    """Remove folders whose process is gone. The lock is made before its folder, and goes after."""
    for left in place.glob(f"{_PREFIX}*"):
        lock = left.with_suffix(".lock")
        with suppress(OSError):
            if hasattr(os, "getuid") and left.lstat().st_uid != os.getuid():
                continue
            with held(lock):
                shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
