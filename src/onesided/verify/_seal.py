"""Close and watch every other source of chance while a program is enumerated."""

from __future__ import annotations

import _thread
import builtins
import datetime as dt
import gc
import io
import os
import random
import secrets
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath, PureWindowsPath
from types import FrameType, ModuleType
from typing import Any, Final, NoReturn, Self, TypeAlias
from unittest.mock import patch
from uuid import UUID

import numpy as np

from onesided._english import a
from onesided._numbers import Infinite
from onesided.errors import ParameterError
from onesided.noise.kit import NotPrivateSeededBits, SecureBits

# What an observer can tell an output by: its type, order, dtype, bytes and every field.
#
# Two outputs are one to an observer only if nothing about them differs. ``==`` is far too kind:
# it equates True, 1 and 1.0, and -0.0 and 0.0, sees no difference between int32 and int64,
# ignores the order of a dictionary and the fields that a dataclass leaves out of its comparison.
# A program that hides a secret in any of these would pass.
#
# What an output may be is a closed list, by its very type. What is not on it is refused: another
# class may hold more than it tells.

Form: TypeAlias = tuple[Hashable, ...]

_HINT: Final = (
    "Return numbers, text, arrays, tuples, lists, dictionaries or dataclasses whose fields hold "
    "them."
)


def form(output: object) -> Form:
    """``output`` as a key that is equal only for outputs that no observer can tell apart.

    NaN equals NaN of the same bits. Dictionaries are compared in order, dataclasses and named
    tuples field by field. Errors: ParameterError for what has no fixed form: sets, iterators,
    functions, frames, and objects of any other class.
    """
    try:
        return _form(output)
    except RecursionError:
        raise ParameterError(
            f"The program returned {a(type(output).__name__)} that holds itself.", hint=_HINT
        ) from None


def shown(key: Any) -> Any:
    """What to show people of a form: plain numbers, text and tuples."""
    kind, *parts = key
    if isinstance(kind, np.dtype):
        return np.frombuffer(parts[0], kind)[0].item()
    show = _SHOWN.get(kind)
    return show(parts) if show else parts[-1] if parts else None


def numbers(key: Form) -> tuple[float, ...]:
    """The numbers of an output, in order; empty if it holds anything else."""
    found: list[float] = []
    return tuple(found) if _gather(shown(key), found) else ()


def _shown_fields(parts: list[Any]) -> Any:
    """An object's type and fields."""
    kind, *held = parts
    told = ", ".join(f"{name}={shown(value)!r}" for name, value in held)
    return f"{kind.__qualname__}({told})"


def _shown_array(parts: list[Any]) -> Any:
    dtype, shape, _, held = parts
    if isinstance(held, bytes):
        return _nested(np.frombuffer(held, dtype).reshape(shape).tolist())
    return tuple(shown(v[1]) if isinstance(v[0], str) else shown(v) for v in held)


def _nested(values: Any) -> Any:
    return tuple(map(_nested, values)) if isinstance(values, list) else values


def _gather(part: Any, found: list[float]) -> bool:
    if isinstance(part, tuple):
        return all(_gather(one, found) for one in part)
    if isinstance(part, bool | int | float):
        found.append(float(part))
        return True
    return False


def _form(output: Any) -> Form:
    kind: Any = type(output)
    make = _FORMS.get(kind)
    if make is not None:
        return make(output)
    if kind in _SCALARS:
        dtype = output.dtype
        if dtype.kind in "biufcSUmM" and dtype.itemsize <= 16 and dtype not in _PADDED:
            return dtype, output.tobytes()
    # Of no built-in class, whose own value no field would tell.
    plain = all(base.__module__ != "builtins" for base in kind.__mro__[:-1])
    if plain and hasattr(kind, "__dataclass_fields__"):
        names = dict.fromkeys([one.name for one in fields(kind)])
        names |= dict.fromkeys(getattr(output, "__dict__", ()))
        slots = {slot for base in kind.__mro__ for slot in vars(base).get("__slots__", ())}
        if slots <= {*names, "__dict__", "__weakref__"}:
            return _object, kind, *((name, _form(getattr(output, name))) for name in names)
    if kind.__bases__ == (tuple,) and hasattr(kind, "_fields") and not hasattr(output, "__dict__"):
        return _named, kind, tuple(map(_form, output))
    raise _unknown(output)


def _object() -> None:
    """The mark of a form that was made field by field."""


def _named() -> None:
    """That of a tuple whose fields have names."""


def _array(array: Any) -> Form:
    """An array: what it holds, how it lies in memory, and the larger one that it is a part of."""
    dtype, base = array.dtype, array.base
    if dtype.metadata is not None or dtype in _PADDED or _hides(dtype):
        raise _unknown(array)
    part = base is not None and not (
        isinstance(base, np.ndarray)
        and base.nbytes == array.nbytes
        and (array.flags.c_contiguous or array.flags.f_contiguous)
    )
    lies = array.strides, array.flags.num, _form(base) if part else None
    if dtype.kind == "O":
        held: Any = tuple(map(_form, array.ravel().tolist()))
    elif dtype.fields is not None:
        held = tuple((name, _array(array[name].copy())) for name in dtype.names)
    else:
        held = array.tobytes()
    return np.ndarray, dtype, array.shape, lies, held


def _hides(dtype: Any) -> bool:
    """Whether records have bytes of no field, in which a number may stand that no field tells."""
    told: set[int] = set()
    for one, start, *_ in (dtype.fields or {}).values():
        told.update(range(start, start + one.itemsize))
    return dtype.fields is not None and len(told) < dtype.itemsize


def _as(tell: Callable[[Any], Hashable]) -> Callable[[Any], Form]:
    """The type, and what tells the value."""

    def made(value: Any) -> Form:
        kind: Any = type(value)
        return kind, tell(value)

    return made


def _timed(kind: type) -> Callable[[Any], Form]:
    """A time, and the zone by itself."""
    return lambda value: (kind, repr(value.replace(tzinfo=None)), _form(value.tzinfo))


def _unknown(output: object) -> ParameterError:
    name = type(output).__name__
    if isinstance(output, set | frozenset):
        return ParameterError(
            f"The program returned {a(name)}, which cannot be compared: the order in which it is "
            "listed may tell how it was made.",
            hint="Return sorted(...) or a tuple.",
        )
    return ParameterError(f"The program returned {a(name)}, which cannot be compared.", hint=_HINT)


_SCALARS: Final = frozenset(np.sctypeDict.values())
_PADDED: Final = frozenset({np.dtype(np.longdouble), np.dtype(np.clongdouble)}) - {
    np.dtype(np.float64),
    np.dtype(np.complex128),
}
_SHOWN: Final[dict[Any, Callable[[list[Any]], Any]]] = {
    tuple: lambda parts: tuple(map(shown, parts)),
    list: lambda parts: tuple(map(shown, parts)),
    dict: lambda parts: dict(zip(map(shown, parts[::2]), map(shown, parts[1::2]), strict=True)),
    float: lambda parts: struct.unpack("<d", parts[0])[0],
    np.ndarray: _shown_array,
    _object: _shown_fields,
    _named: lambda parts: tuple(map(shown, parts[1])),
}
_FORMS: Final[dict[type, Callable[[Any], Form]]] = {
    type(None): lambda _value: (None,),
    float: lambda value: (float, struct.pack("<d", value)),
    complex: lambda value: (complex, struct.pack("<dd", value.real, value.imag)),
    bytearray: lambda value: (bytearray, bytes(value)),
    tuple: lambda value: (tuple, *map(_form, value)),
    list: lambda value: (list, *map(_form, value)),
    dict: lambda value: (dict, *(_form(part) for pair in value.items() for part in pair)),
    range: lambda value: (range, value.start, value.stop, value.step),
    type: lambda value: (type, value),
    np.ndarray: _array,
    dt.datetime: _timed(dt.datetime),
    dt.time: _timed(dt.time),
    **dict.fromkeys((bool, int, str, bytes, Fraction, Infinite), _as(lambda value: value)),
    **dict.fromkeys((Decimal, UUID, PurePosixPath, PureWindowsPath, type(Path())), _as(str)),
    **dict.fromkeys((dt.date, dt.timedelta, dt.timezone), _as(repr)),
}

# What a program draws elsewhere is on no path, so the enumeration would not see it: a program with
# a generator of its own passes in most runs. The system's random numbers, Python's and numpy's
# generators, our own secure noise and the clock are therefore refused while a program runs, and so
# are devices, other threads and other processes, which might draw. Names are replaced for the
# thread that enumerates and no other; names that a program imported earlier are found by watching
# a few of its runs call by call.

_CLOCKS: Final = tuple(
    f"{clock}{unit}"
    for clock in ("time", "monotonic", "perf_counter", "process_time", "thread_time")
    for unit in ("", "_ns")
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


PATIENCE: Final = 60.0


class Watch:
    """While open, raise ParameterError if ``progress()`` stands still for ``patience`` seconds.

    Works in the main thread of systems that have interval timers; elsewhere nothing is watched.
    """

    def __init__(self, progress: Callable[[], int], *, patience: float) -> None:
        self._progress, self._patience = progress, patience
        self._seen = -1
        self._before: Any = None
        self._works = (
            hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
        )

    def __enter__(self) -> Self:
        if self._works:
            self._before = signal.signal(signal.SIGALRM, self._tick)
            signal.setitimer(signal.ITIMER_REAL, self._patience, self._patience)
        return self

    def __exit__(self, *_: object) -> None:
        if self._works:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)

    def _tick(self, _signal: int, _frame: FrameType | None) -> None:
        now = self._progress()
        if now == self._seen:
            raise ParameterError(
                f"One run of the program took more than {self._patience:g} seconds.",
                hint="A program that may not end cannot be checked. Bound its loops, or raise "
                "patience= if it is only slow.",
            )
        self._seen = now


# Generators of numpy's that a program made before: their draws cannot be refused, but are seen.

_DEEP: Final = 6
_MOST: Final = 20_000
# Kept by other names: while another check is under way, numpy's own lead to refusals.
_LEGACY: Final = np.random.RandomState
_KINDS: Final = (np.random.Generator, _LEGACY, np.random.BitGenerator)


@contextmanager
def undrawn(program: object) -> Iterator[None]:
    """Nothing is drawn from a generator that ``program`` can reach while this is open.

    Methods of numpy's generators are compiled, and no watch sees their calls; what they draw
    moves their state. A generator is reached by what the program holds, by the module that it is
    written in, or it is numpy's own. Errors: ParameterError.

    >>> generator = np.random.default_rng(1)
    >>> with undrawn(lambda data, noise: generator):
    ...     pass
    """
    # Only the ones that are there now: those made during a run are refused as they are made.
    before = [(one, _state(one)) for one in _reached(program)]
    yield
    for one, state in before:
        if _state(one) != state:
            raise ParameterError(
                f"The program drew from a numpy {type(one).__name__} while it was enumerated, "
                "which no enumeration can see.",
                hint="The program must take all of its chance from the noise it is given.",
            )


def _reached(program: object) -> Iterator[Any]:
    seen: set[int] = set()
    level: list[Any] = [program, type(program), np.random.mtrand._rand]  # noqa: SLF001 - numpy's own
    for _ in range(_DEEP):
        following: list[Any] = []
        for one in level:
            if id(one) in seen or isinstance(one, ModuleType) or len(seen) > _MOST:
                continue
            seen.add(id(one))
            if isinstance(one, _KINDS):
                yield one
            else:
                following += gc.get_referents(one)
        level = following


def _state(generator: Any) -> Form:
    if isinstance(generator, _LEGACY):
        return form(generator.get_state(legacy=False))
    bits = getattr(generator, "bit_generator", generator)
    return form(bits.state)
