"""The chain of what was published: one line per step, beside the status files, never rewritten.

A state that was restored from an old copy stands behind it. It then publishes exactly these steps
again, from the same batches, and nothing else in their place.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final, Protocol

from onesided.errors import DataError, LedgerFormatError, OutputError
from onesided.monitor._answer import MonitorRelease
from onesided.monitor._journal import Step

NAME: Final = "steps.jsonl"
_LOCK: Final = ".onesided.lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedStep:
    """A step as everybody may read it.

    >>> PublishedStep(step=1, batch="monday", time="1", head="0f").batch
    'monday'
    """

    step: int
    batch: str
    time: str
    head: str


class Chain(Protocol):
    """What the public has seen of a monitor, wherever it was published.

    >>> seen: Chain = PublishedSteps(Path("nothing published"))
    >>> seen.at(1) is None, seen.after(0)
    (True, [])
    """

    def at(self, number: int) -> PublishedStep | None:
        """What was published as that step, or None."""
        ...

    def after(self, number: int) -> list[PublishedStep]:
        """The published steps after that one, in order."""
        ...


@dataclass(slots=True)
class PublishedSteps:
    """The public chain in a folder. Safe for several processes: writers take turns.

    Errors: LedgerFormatError for a chain that cannot be read; OutputError if it cannot be written.
    """

    folder: Path
    _steps: dict[int, PublishedStep] = field(default_factory=dict)
    _read: int = 0

    @property
    def last(self) -> int:
        """The number of the latest published step; 0 if there is none."""
        self._read_on()
        return max(self._steps, default=0)

    def after(self, number: int) -> list[PublishedStep]:
        """The published steps after that one, in order."""
        last = self.last
        return [self._steps[step] for step in range(number + 1, last + 1)]

    def at(self, number: int) -> PublishedStep | None:
        """What was published as that step, or None."""
        self._read_on()
        return self._steps.get(number)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Nobody else writes to the folder meanwhile."""
        try:
            lock = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise _unwritable(self.folder, error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def append(self, releases: Iterable[MonitorRelease]) -> None:
        """Add the steps that are not there yet, durably; call it in a :meth:`turn`."""
        last = self.last
        lines = [
            json.dumps(asdict(_public(release)), ensure_ascii=False) + "\n"
            for release in releases
            if release.number > last
        ]
        if not lines:
            return
        path = self.folder / NAME
        try:
            # What a crash left of a line is no step: it is overwritten.
            with path.open("r+b" if path.exists() else "w+b") as file:
                file.seek(self._read)
                file.truncate()
                file.write("".join(lines).encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise _unwritable(path, error) from error

    def _read_on(self) -> None:
        """Take in the whole lines that were added since the last look."""
        path = self.folder / NAME
        try:
            with path.open("rb") as file:
                file.seek(self._read)
                added = file.read()
        except FileNotFoundError:
            return
        except OSError as error:
            raise _unwritable(path, error) from error
        whole = added[: added.rfind(b"\n") + 1]
        for line in whole.splitlines():
            step = _step(line, path)
            if step.step != max(self._steps, default=0) + 1:
                raise _foreign(path, f"step {step.step} stands where another should")
            self._steps[step.step] = step
        self._read += len(whole)


def _public(release: MonitorRelease) -> PublishedStep:
    return PublishedStep(
        step=release.number, batch=release.batch, time=release.time, head=release.head
    )


def _step(line: bytes, path: Path) -> PublishedStep:
    try:
        found = json.loads(line)
        step = PublishedStep(**found)
    except (ValueError, TypeError, RecursionError) as error:
        raise _foreign(path, "a line of it is no step") from error
    texts = (step.batch, step.time, step.head)
    if type(step.step) is not int or not all(isinstance(text, str) for text in texts):
        raise _foreign(path, "a line of it is no step")
    return step


def refuse_other(published: PublishedStep, step: Step) -> None:
    """Errors: DataError if ``step`` is not the one that was published. Call before it is stored."""
    if published.batch != step.batch:
        raise DataError(
            f"The state is behind what was published: step {published.step} was of the batch "
            f"{published.batch!r}, not {step.batch!r}.",
            hint=f"Send {published.batch!r} first, as it was: it gets the answer that it had. If "
            "it is gone, restore a newer copy of the state. Nothing was stored or published.",
            batch=step.batch,
            published=published.batch,
        )
    if published.head != step.head:
        raise DataError(
            f"Step {published.step} was published with another answer for the batch "
            f"{step.batch!r}: its rows, its time, or the batches before it are not what they were.",
            hint="Send the batches as they were, in the order of the published steps, or restore "
            "a newer copy of the state. A second answer in the place of the first would tell more "
            "than was paid for. Nothing was stored or published.",
            batch=step.batch,
            published=published.batch,
        )


def _foreign(path: Path, problem: str) -> LedgerFormatError:
    return LedgerFormatError(
        f"{path} is not the chain of a monitor's published steps: {problem}.",
        hint="Restore the file, or publish this monitor to a folder of its own.",
        path=str(path),
    )


def _unwritable(path: Path, error: OSError) -> OutputError:
    return OutputError(
        f"{str(path)!r} could not be read or written: {error.strerror or error}.",
        hint="The answers are stored and will be published unchanged: mend it and start again.",
        path=str(path),
    )
