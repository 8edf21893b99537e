"""Processes of their own: one that reads a dataset's rows, and one for what is free.

So the process that answers requests computes nothing about rows, and nothing that is asked keeps
it from others. A process ends when whoever started it ends, or when it is killed; the next call
goes to another, which stands by where a question must not wait for one to start.
"""

from __future__ import annotations

import copyreg
import io
import os
import pickle
import queue
import struct
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, TypeVar, cast

from onesided.errors import DataError, first_line
from onesided_service._config import ServiceConfig
from onesided_service._datasets import Dataset
from onesided_service._errors import ServiceError

T = TypeVar("T")
FREE_SECONDS: Final = 60  # that a plan or a preview may take, waiting for others apart
FREE_MEMORY: Final = 4  # GiB that they may
_NICE: Final = 5  # readers and requests come before what is free
_ENDING: Final = 5  # seconds in which what closed its output says how it ended
_GIB: Final = 2**30
_OURS: Final = "A process of ours"
_FAILED: Final[list[UnstartedError]] = []  # why this very process did not start
_HEAD: Final = struct.Struct("<QQ")  # of what comes back: whose answer, and how long


class EndedError(DataError):
    """A process ended before what it did was done: of the rows it tells nothing."""


class UnstartedError(EndedError):
    """A process ended before it did anything: what it needs to start is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What a process may take. memory: GiB; 0 for as much as there is. cores: (all of) these."""

    memory: int = 0
    cores: Sequence[int] = ()
    nice: int = 0

    def code(self) -> str:
        """What holds a process to them, before any library there starts threads of its own."""
        lines = ["import os, resource", f"os.nice({self.nice})"]
        if self.cores and hasattr(os, "sched_setaffinity"):
            lines.append(f"os.sched_setaffinity(0, {list(self.cores)})")
        if self.memory:
            most = self.memory * _GIB
            lines += [
                f"try: resource.setrlimit(resource.RLIMIT_DATA, ({most}, {most}))",
                "except (ValueError, OSError): pass",  # held to less already, or by no such means
            ]
        return "\n".join(lines)


FREE: Final = Taken(memory=FREE_MEMORY, nice=_NICE)


def cores_of(place: int, threads: int) -> list[int]:
    """The cores of the dataset at a place: the first is left to requests, where there are more.

    >>> len(cores_of(0, 1))
    1
    """
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    own = cores[1:] or cores
    return [own[(place * threads + n) % len(own)] for n in range(min(threads, len(own)))]


def _fixed(given: dict[Any, Any]) -> Any:
    return MappingProxyType(given)


class _Writer(pickle.Pickler):
    """Values for another process, which has the service and its datasets already."""

    dispatch_table = copyreg.dispatch_table | {
        MappingProxyType: lambda given: (_fixed, (dict(given),))
    }

    def persistent_id(self, given: Any) -> Any:
        if isinstance(given, Dataset):
            return given.name
        return "" if hasattr(given, "datasets") and hasattr(given, "asking") else None


class _Reader(pickle.Unpickler):
    """The same values there. They come from this service's own processes, and no others."""

    service: Any = None

    def persistent_load(self, pid: Any) -> Any:
        return self.service.datasets[pid] if pid and self.service else self.service


class Process:
    """One process that does one thing after the other. It is started by its first call.

    first: what it does by itself before. spare: whether another one, which did that, stands by.

    >>> apart = Process(ServiceConfig(), Taken())
    >>> apart.run(len, "four"), apart.stop()
    (4, None)
    """

    def __init__(
        self,
        config: ServiceConfig,
        limits: Taken,
        *,
        first: tuple[Any, ...] = (),
        spare: bool = False,
    ) -> None:
        self._config, self._limits, self._first, self._spares = config, limits, first, spare
        self._child: subprocess.Popen[bytes] | None = None
        self._spare: subprocess.Popen[bytes] | None = None
        self._answered, self.unstarted = False, False
        self._one, self._named = threading.Lock(), threading.Lock()
        self._runs, self._doing = 0, ""

    def run(
        self, function: Callable[..., T], *args: Any, seconds: float | None = None, called: str = ""
    ) -> T:
        """What ``function`` returns there. It is a module's own, or a class's.

        seconds: after which the process is killed. called: by which :meth:`kill` knows it.
        Errors: those of the function; EndedError where the process ended meanwhile; UnstartedError
        where it did not start; ServiceError after ``seconds``.
        """
        with self._one:
            child, late = self._started(), threading.Event()
            self._runs += 1
            with self._named:
                self._doing = called

            def end() -> None:
                late.set()
                child.kill()

            timer = threading.Timer(seconds or 0, end)
            timer.daemon = True
            try:
                if seconds is not None:
                    timer.start()
                self._send(child, self._runs, function, args)
                fine, told = self._answer(child)
            except ServiceError:
                raise
            except Exception as error:
                killed = self._doing != called
                if late.is_set():
                    self._over(child, killed=True)
                    raise _too_long(seconds) from error
                ended = isinstance(error, EOFError | OSError)
                raise self._over(child, killed=killed, ended=ended) from error
            finally:
                timer.cancel()
                with self._named:
                    self._doing = ""
            self._answered, self.unstarted = True, isinstance(told, UnstartedError)
            if self.unstarted:  # the next call tries anew
                _end(child)
            elif (
                self._spares and self._spare is None
            ):  # only now: what waited for this one was first
                self._spare = self._begin()
        if not fine:
            raise told
        return cast("T", told)

    def _over(self, child: Any, *, killed: bool, ended: bool = False) -> EndedError:
        """What to raise once a process ended, or told no answer: nothing after it would be one."""
        if ended and not killed:
            with suppress(subprocess.TimeoutExpired):
                child.wait(_ENDING)
        _end(child)
        self._child = None
        if self._answered or killed or not ended:
            return EndedError(f"{_OURS} ended before it was done.")
        self.unstarted = True
        return _unstarted(f"it ended with status {child.returncode}")

    def ready(self) -> None:
        """Start it, or let the one that stands by take over, unless it runs."""
        if self._one.acquire(blocking=False):  # whoever has it starts what it needs
            try:
                self._started()
            finally:
                self._one.release()

    def stand_by(self) -> None:
        """Wait until there is one that stands by, and has done what comes first."""
        with self._one:
            if self._spare is not None:
                with suppress(EOFError, OSError):  # it is looked at before it takes over
                    self._runs += 1
                    self._send(self._spare, self._runs, bool, ())
                    self._answer(self._spare)

    def kill(self, called: str) -> None:
        """End what it does if that is called so, and nothing that came after it."""
        with self._named:
            if (child := self._child) is not None and self._doing == called:
                self._doing = ""
                child.kill()

    def _answer(self, child: Any) -> Any:
        """What was told of this run. Errors: EOFError; whatever cannot be read."""
        whose, size = _HEAD.unpack(_exactly(child.stdout, _HEAD.size))
        held = io.BytesIO(_exactly(child.stdout, size))
        if whose != self._runs:
            raise EOFError(f"answer {whose} of run {self._runs}")
        return _Reader(held).load()

    def stop(self) -> None:
        """End it, once it has done what it does."""
        with self._one:
            for child in (self._child, self._spare):
                if child is not None:
                    _end(child)
            self._child = self._spare = None

    def _send(self, child: Any, run: int, function: Any, args: Any) -> None:
        """With the number of a run, or 0 for what nothing is told of."""
        try:
            written = _written((run, function, args))  # whole, or nothing is sent
        except RecursionError:
            hint = "Write it flatter."
            raise ServiceError(400, "NotJson", "This nests too deep.", hint=hint) from None
        child.stdin.write(written)
        child.stdin.flush()

    def _started(self) -> Any:
        if self._child is not None and self._child.poll() is None:
            return self._child
        if self._child is not None:
            _end(self._child)
        stands_by, self._spare = self._spare, None
        if stands_by is not None and stands_by.poll() is not None:
            _end(stands_by)
            stands_by = None
        # One that stood by has started, whatever it does later.
        self._child, self._answered = stands_by or self._begin(), stands_by is not None
        return self._child

    def _begin(self) -> subprocess.Popen[bytes]:
        code = f"{self._limits.code()}\nfrom {__name__} import main; main()"
        child = subprocess.Popen(  # noqa: S603 - ours
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        with suppress(OSError):  # an end at once shows in what is read
            self._send(child, 0, _begun, (self._config,))
            if self._first:
                self._send(child, 0, self._first[0], self._first[1:])
        return child


def _end(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.wait()
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def _exactly(stream: Any, size: int) -> bytes:
    """So many bytes. Errors: EOFError where there are fewer."""
    found: bytes = stream.read(size)
    if len(found) < size:
        raise EOFError("it ended")
    return found


def reader_of(config: ServiceConfig, found: Dataset, place: int, *, spare: bool = True) -> Process:
    """The process that reads a dataset's rows; place: which of the datasets it is."""
    dataset, warm = found.config, (Dataset.warm, found)
    config = replace(config, datasets={found.name: dataset}, monitors={})
    if dataset.engine == "spark":  # whose JVM has limits of its own, and is not held twice
        return Process(config, Taken(), first=warm)
    limits = Taken(memory=dataset.memory, cores=cores_of(place, dataset.threads))
    return Process(config, limits, first=warm, spare=spare)


def _unstarted(why: str) -> UnstartedError:
    """why: what a curator may read, and nobody else."""
    return UnstartedError(
        f"{_OURS} did not start: {why.removesuffix('.')}.",
        hint="Mend that, and start the service again; what the process printed is in the log.",
    )


def _too_long(seconds: float | None) -> ServiceError:
    message = f"This takes longer than the {seconds:g} seconds that what is free may take."
    hint = "Ask for fewer cells, groups or questions at once."
    return ServiceError(422, "ParameterError", message, hint=hint)


def _begun(config: ServiceConfig) -> Any:
    """The service of this process, which has none under it."""
    from onesided_service._service import Service  # noqa: PLC0415 - it starts such processes

    service = Service(config)
    for dataset in service.datasets.values():
        dataset.pads = True
    return service


def main() -> None:
    """Do what is sent on standard input, until it ends."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what others print is no answer
    todo: queue.SimpleQueue[Any] = queue.SimpleQueue()
    with suppress(EOFError, OSError):
        while True:
            run, function, args = _Reader(sys.stdin.buffer).load()
            if run:
                todo.put((run, function, args))
            elif function is _begun:
                try:
                    _Reader.service = _begun(*args)
                except Exception as error:  # noqa: BLE001 - told to whoever sends the first run
                    traceback.print_exc()
                    _FAILED.append(_unstarted(first_line(error)))
                # Only now: a thread is held to what the one that starts it is.
                threading.Thread(target=_work, args=(todo, out), daemon=True).start()
            else:
                with suppress(Exception):  # of what is stopped, or was over before
                    function(*args)
    os._exit(0)


def _work(todo: Any, out: Any) -> None:
    while True:
        run, function, args = todo.get()
        try:
            told = (False, _FAILED[0]) if _FAILED else (True, function(*args))
        except BaseException as error:  # noqa: BLE001 - it is raised where it was asked for
            told = False, error
        try:
            written = _written(told)
        except Exception as error:  # noqa: BLE001 - a value or an error that cannot be sent
            name = type(told[1]).__name__
            written = _written((False, DataError(f"{name}: {error or told[1]}")))
        out.write(_HEAD.pack(run, len(written)) + written)
        out.flush()


def _written(told: Any) -> bytes:
    held = io.BytesIO()
    _Writer(held).dump(told)
    return held.getvalue()
