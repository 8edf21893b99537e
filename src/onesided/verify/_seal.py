"""Close every other source of chance while a program is enumerated.

What a program draws elsewhere is on no path, so the enumeration would not see it: a program with
a generator of its own passes in most runs. The system's random numbers, Python's and numpy's
generators, our own secure noise and the clock are therefore refused while a program runs, and so
are devices, other threads and other processes, which might draw. Names are replaced for the thread
that enumerates and no other; names that a program imported earlier are found by watching a few of
its runs call by call.
"""

from __future__ import annotations

import _thread
import builtins
import datetime as dt
import gc
import io
import os
import random
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn, Self
from unittest.mock import patch

import numpy as np

from onesided.errors import ParameterError
from onesided.noise.kit import NotPrivateSeededBits, SecureBits

_CLOCKS: Final = (
    "time",
    "time_ns",
    "monotonic",
    "monotonic_ns",
    "perf_counter",
    "perf_counter_ns",
    "process_time",
    "process_time_ns",
    "thread_time",
    "thread_time_ns",
)
_NUMPY: Final = (
    *("default_rng", "RandomState", "random", "random_sample", "rand", "randn", "randint"),
    *("choice", "shuffle", "permutation", "normal", "uniform", "laplace", "exponential"),
    *("geometric", "binomial", "poisson", "standard_normal", "standard_exponential", "bytes"),
)
_PYTHON: Final = (
    *("random", "randint", "randrange", "choice", "choices", "sample", "shuffle", "uniform"),
    *("gauss", "normalvariate", "expovariate", "getrandbits", "randbytes", "triangular"),
    *("betavariate", "gammavariate", "lognormvariate", "paretovariate", "vonmisesvariate"),
    "weibullvariate",
)
_STARTED: Final = ("fork", "forkpty", "posix_spawn", "posix_spawnp", "system", "popen")
_SYSTEM: Final = ("urandom", "getrandom", *_STARTED)
_SECRETS: Final = ("token_bytes", "token_hex", "token_urlsafe", "randbits", "randbelow", "choice")


class Seal:
    """Refuses other chance during a run, in the thread of that run alone.

    ``with seal.installed():`` replaces the names; ``with seal:`` marks one run.
    """

    def __enter__(self) -> Self:
        _GUARDS.local.running = True
        return self

    def __exit__(self, *_: object) -> None:
        _GUARDS.local.running = False

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Replace every name for as long as this is open, and put all of them back."""
        _GUARDS.add()
        try:
            yield
        finally:
            _GUARDS.drop()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Look at every call of built-in code as well, which is slow."""
        before = sys.getprofile()
        sys.setprofile(_look)
        try:
            yield
        finally:
            sys.setprofile(before)


class _Guards:
    """The replaced names, shared by all seals that are installed.

    The only mutable state of the module: a name of another module is replaced or it is not.
    """

    def __init__(self) -> None:
        self.local = threading.local()
        self._lock = threading.Lock()
        self._seals = 0
        self._stack = ExitStack()

    @property
    def running(self) -> bool:
        """Whether this thread is in the middle of a run."""
        own = self.local
        return getattr(own, "running", False) and not getattr(own, "collecting", False)

    def add(self) -> None:
        with self._lock:
            self._seals += 1
            if self._seals == 1:
                for owner, name in _sources():
                    instead = self._guarded(getattr(owner, name), name_of(owner, name))
                    self._stack.enter_context(patch.object(owner, name, instead))
                for owner in (builtins, io):
                    self._stack.enter_context(patch.object(owner, "open", self._opened(io.open)))
                gc.callbacks.insert(0, self._pause)
                gc.callbacks.append(self._go_on)

    def drop(self) -> None:
        with self._lock:
            self._seals -= 1
            if self._seals == 0:
                self._stack.close()
                gc.callbacks.remove(self._pause)
                gc.callbacks.remove(self._go_on)

    def _pause(self, phase: str, _about: object) -> None:
        """A collection may start in the middle of a run; what others do then is no draw."""
        if phase == "start":
            self.local.collecting = True

    def _go_on(self, phase: str, _about: object) -> None:
        if phase == "stop":
            self.local.collecting = False

    def _guarded(self, original: Callable[..., Any], name: str) -> Callable[..., Any]:
        def guarded(*arguments: Any, **named: Any) -> Any:
            if self.running:
                refuse(name)
            return original(*arguments, **named)

        return guarded

    def _opened(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Files may be read, but nothing else that has a name: devices give random numbers."""

        def opened(file: Any, *arguments: Any, **named: Any) -> Any:
            if self.running and not _is_plain(file):
                refuse(f"open({file!r})")
            return original(file, *arguments, **named)

        return opened


def _is_plain(file: Any) -> bool:
    """Whether this is a file on a disk, or there is none of that name."""
    if isinstance(file, int):
        return False
    path = Path(os.fsdecode(file))
    if path.is_absolute() and path.parts[1:2] in (("proc",), ("sys",), ("dev",)):
        return False
    return path.is_file() or not path.exists()


def _look(_frame: FrameType, event: str, called: Any) -> None:
    if event != "c_call" or not _GUARDS.running:
        return
    owner, name = getattr(called, "__self__", None), getattr(called, "__name__", "")
    if _is_chance(owner, name):
        refuse(name_of(owner, name))


def refuse(name: str) -> NoReturn:
    """Say that a program asked ``name`` for chance."""
    raise ParameterError(
        f"The program asked {name} while it was enumerated, which no enumeration can see.",
        hint="The program must take all of its chance from the noise it is given, and read no "
        "clock. A mechanism must hand its noise on to every part that draws.",
    )


def name_of(owner: Any, name: str) -> str:
    """``module.name`` or ``Class.name``."""
    kind = owner if hasattr(owner, "__name__") else type(owner)
    return f"{kind.__name__}.{name}"


def _is_chance(owner: Any, name: str) -> bool:
    """Whether a built-in method of ``owner`` draws or reads the clock."""
    if owner is time:
        return name in _CLOCKS
    if isinstance(owner, random.Random):
        return name in ("random", "getrandbits")
    if isinstance(owner, type) and issubclass(owner, dt.date):
        return name in ("now", "today", "utcnow")
    if isinstance(owner, io.IOBase):
        own = getattr(owner, "name", "")
        return name.startswith("read") and isinstance(own, str) and not _is_plain(own)
    return name in _BUILT_IN.get(getattr(owner, "__name__", ""), ())


def _sources() -> Iterator[tuple[Any, str]]:
    """Every name that is replaced."""
    yield os, "open"
    for name in _SYSTEM:
        if hasattr(os, name):
            yield os, name
    yield _thread, "start_new_thread"
    yield threading.Thread, "start"
    for module in ("ssl", "_ssl"):
        if module in sys.modules:
            yield sys.modules[module], "RAND_bytes"
    yield subprocess.Popen, "__init__"
    yield random, "_urandom"
    for owner, names in (
        (time, _CLOCKS),
        (secrets, _SECRETS),
        (random, _PYTHON),
        (np.random, _NUMPY),
        (SecureBits, ("words", "word")),
        (NotPrivateSeededBits, ("words", "word")),
    ):
        for name in names:
            if hasattr(owner, name):
                yield owner, name


# Built-in functions by the modules that they say they are of.
_BUILT_IN: Final = {
    os.name: _SYSTEM,
    "_ssl": ("RAND_bytes", "RAND_pseudo_bytes"),
    "_thread": ("start_new_thread",),
    "_posixsubprocess": ("fork_exec",),
}
_GUARDS: Final = _Guards()
