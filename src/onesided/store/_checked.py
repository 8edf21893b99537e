"""What was found of files once, kept for as long as they stay as they are."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from onesided.store._paths import replace_file
from onesided.store._text import canonical, read_json

_SUFFIX: Final = ".checked"
_END: Final = 2**16
_LARGEST_END: Final = 2**26  # of a footer
_SETTLED: Final = 2 * 10**9  # nanoseconds: a change within one tick of a clock leaves no mark
_MOST: Final = 100
_LARGEST: Final = 2**20


class CheckedFiles:
    """The files of one table as they are now, and what was found of such files before.

    What is known stands in a file beside the ledger, which its owner alone reads: that files of
    this place, size, times and end were held to these facts. It says nothing of rows. Where it
    cannot be read or written, or is somebody else's, nothing is known.
    ledger: the file that the ledger is in; None where it is in none.

    >>> _ = Path("visits.csv").write_text("person")
    >>> os.utime("visits.csv", (0, 0))
    >>> CheckedFiles([Path("visits.csv")], None).knows({"unit": "person"})
    False
    """

    def __init__(self, files: Sequence[Path], ledger: Path | None) -> None:
        self._files, self._ledger = list(files), ledger
        self._found = list[dict[str, Any]]()
        began = time.time_ns()
        first = self._marks()
        newest = max((max(mark[2:4]) for mark in first or ()), default=0)
        self._first = first if began - newest > _SETTLED else None

    def same(self) -> bool:
        """Whether the files are for certain those that they were at first."""
        return self._first is not None and self._marks() == self._first

    def knows(self, facts: Mapping[str, Any]) -> bool:
        """Whether files like these were held to such facts before."""
        return self.same() and self._entry(facts) in self._kept()

    def learn(self, facts: Mapping[str, Any]) -> None:
        """Say that these files were held to such facts, once :meth:`save` is called."""
        if self.same():
            self._found.append(self._entry(facts))

    def save(self) -> None:
        """Write what was found beside the ledger, if there is one."""
        if not self._found or self._ledger is None or not self._ledger.is_file():
            return
        told = [*self._found, *(one for one in self._kept() if one not in self._found)][:_MOST]
        with suppress(OSError):
            replace_file(self._place, canonical(told), mode=0o600)

    @property
    def _place(self) -> Path:
        ledger = Path() if self._ledger is None else self._ledger
        return ledger.with_name(ledger.name + _SUFFIX)

    def _entry(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        marks = hashlib.sha256(canonical(self._first).encode()).hexdigest()
        return {"files": marks, "facts": dict(facts)}

    def _kept(self) -> list[Any]:
        """What stands in the file; nothing where anybody but its owner might have written it."""
        if self._ledger is None:
            return []
        try:
            handle = os.open(self._place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(handle, "rb") as file:
                held = os.fstat(handle)
                plain = stat.S_ISREG(held.st_mode) and not stat.S_IMODE(held.st_mode) & 0o077
                if not plain or held.st_uid != os.geteuid() or held.st_size > _LARGEST:
                    return []
                told: Any = read_json(file.read().decode())
        except (OSError, ValueError, RecursionError):
            return []
        return told if isinstance(told, list) else []

    def _marks(self) -> list[tuple[Any, ...]] | None:
        """Of each file its place, size and times, and a digest of its end; None without them."""
        try:
            return [_mark(path) for path in self._files]
        except OSError:
            return None


def _mark(given: Path) -> tuple[Any, ...]:
    path = given.resolve()
    with path.open("rb") as file:
        held = os.fstat(file.fileno())
        last = os.pread(file.fileno(), 8, max(held.st_size - 8, 0))
        footer = int.from_bytes(last[:4], "little") + 8 if last.endswith(b"PAR1") else 0
        size = min(max(footer, _END), _LARGEST_END, held.st_size)
        end = hashlib.sha256(os.pread(file.fileno(), size, held.st_size - size)).hexdigest()
    times = held.st_mtime_ns, held.st_ctime_ns
    return str(path), held.st_size, *times, held.st_ino, held.st_dev, end
