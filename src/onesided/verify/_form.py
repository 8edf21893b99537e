"""What an observer can tell an output by: its type, order, dtype, bytes and every field.

Two outputs are one to an observer only if nothing about them differs. ``==`` is far too kind: it
equates True, 1 and 1.0, and -0.0 and 0.0, sees no difference between int32 and int64, ignores
the order of a dictionary and the fields that a dataclass leaves out of its comparison. A program
that hides a secret in any of these would pass.
"""

from __future__ import annotations

import datetime as dt
import struct
import threading
from collections.abc import Callable, Hashable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath, PureWindowsPath
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any, Final, TypeAlias
from uuid import UUID

import numpy as np

from onesided._english import a
from onesided._numbers import Infinite
from onesided.errors import ParameterError
from onesided.verify._classes import HELD, MRO, Classes

Form: TypeAlias = tuple[Hashable, ...]

_WORD: Final = struct.calcsize("P")
_HINT: Final = (
    "Return numbers, text, arrays, tuples, lists, dictionaries or objects whose fields hold them."
)


def form(output: object) -> Form:
    """``output`` as a key that is equal only for outputs that no observer can tell apart.

    NaN equals NaN of the same bits. Dictionaries are compared in order, objects field by field.
    Errors: ParameterError for what has no fixed form: sets, iterators, functions, frames.
    """
    _MET.objects, _MET.kinds = [], set()
    try:
        key = _form(output)
    except RecursionError:
        raise ParameterError(
            f"The program returned {a(type(output).__name__)} that holds itself.", hint=_HINT
        ) from None
    held, _MET.objects = _MET.objects, []
    if _MET.kinds:
        CLASSES.see(tuple(_MET.kinds))
    met = [id(one) for one in held]
    if len(met) == len(set(met)):
        return key
    # One list held twice is not two equal lists: who changes the one changes the other.
    return _twice_held, tuple(map(met.index, met)), key


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
    kind, *fields = parts
    if len(fields) == 1 and not fields[0][0]:
        return shown(fields[0][1])  # a number or a tuple of another name
    held = ", ".join(f"{name}={shown(value)!r}" for name, value in fields)
    return f"{kind.__qualname__}({held})"


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
    if issubclass(kind, np.generic):
        return _scalar(output)
    if issubclass(kind, type):
        if output.__module__ != "builtins":
            _MET.kinds.add(output)
        return (type, output)
    return _fields(output)


def _scalar(value: Any) -> Form:
    if type(value) not in _SCALARS:
        raise _unknown(value)
    dtype = value.dtype
    if dtype.kind not in "biufcSUmM" or dtype.itemsize > 16:
        raise _unknown(value)
    if dtype.kind in "fc" and dtype in _PADDED:
        raise _unknown(value)
    return dtype, value.tobytes()


def _array(array: Any) -> Form:
    """An array: what it holds, how it lies in memory, and the larger one that it is a part of."""
    dtype, base = array.dtype, array.base
    if dtype.metadata is not None or dtype in _PADDED:
        raise _unknown(array)
    _MET.objects.append(array)
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


def _fields(output: Any) -> Form:
    """Everything that an object holds: its base's value, its dictionary and its slots.

    Asked of Python's own types, for a class may say of itself and of its objects what it likes.
    """
    kind = type(output)
    if callable(output) or isinstance(output, Iterator | set | frozenset):
        raise _unknown(output)
    bases = MRO(kind)
    base = next((b for b in bases if b in _FORMS), None)
    own = [b for b in bases if b.__module__ != "builtins" and b not in _FORMS]
    slots = [found for b in own for found in _slots(b)]
    places = [HELD(b)["__dict__"] for b in bases if "__dict__" in HELD(b)]
    tells = base is not None or slots or places
    if base not in _BASES or not tells or _holds_more(kind, base or object, len(slots)):
        raise _unknown(output)
    if not all(isinstance(place, GetSetDescriptorType) for place in places):
        raise _unknown(output)
    _MET.kinds.add(kind)
    _MET.objects.append(output)
    parts = [(name, _form(held[0])) for name, slot in slots if (held := _filled(slot, output))]
    held = places[-1].__get__(output) if places else {}
    parts += [(name, _form(value)) for name, value in dict.items(held)]
    value = () if base is None else (("", _BASES[base](output)),)
    return _object, kind, *value, *parts


def _filled(slot: Any, output: Any) -> tuple[Any, ...]:
    try:
        return (slot.__get__(output),)
    except AttributeError:
        return ()


def _object() -> None:
    """The mark of a form that was made field by field."""


def _slots(kind: type) -> Iterator[tuple[str, Any]]:
    """The slots that a class itself adds, also those that a class derived from it hides."""
    for name, value in HELD(kind).items():
        if isinstance(value, MemberDescriptorType):
            yield name, value


def _holds_more(kind: type, base: type, slots: int) -> bool:
    """Whether objects have room for what neither a dictionary nor slots tell of, as in C."""
    links = sum(
        bool(_offset(kind, name)) and not _offset(base, name)
        for name in ("__dictoffset__", "__weakrefoffset__")
    )
    size, least = (_offset(one, "__basicsize__") for one in (kind, base))
    return size > least + _WORD * (slots + links)


def _offset(kind: type, name: str) -> int:
    return int(type.__dict__[name].__get__(kind))


def _mutable(make: Callable[[Any], Form]) -> Callable[[Any], Form]:
    """What can be changed is one thing or two, however equal."""

    def made(value: Any) -> Form:
        _MET.objects.append(value)
        return make(value)

    return made


def _timed(kind: type) -> Callable[[Any], Form]:
    """A time, and the zone by itself."""
    return lambda value: (kind, repr(value.replace(tzinfo=None)), _form(value.tzinfo))


def _twice_held() -> None:
    """The mark of a form in which one thing is met more than once."""


def _unknown(output: object) -> ParameterError:
    name = type(output).__name__
    if isinstance(output, set | frozenset):
        return ParameterError(
            f"The program returned {a(name)}, which cannot be compared: the order in which it is "
            "listed may tell how it was made.",
            hint="Return sorted(...) or a tuple.",
        )
    return ParameterError(f"The program returned {a(name)}, which cannot be compared.", hint=_HINT)


_real: Final = complex.__dict__["real"].__get__
_imag: Final = complex.__dict__["imag"].__get__
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
    _twice_held: lambda parts: shown(parts[1]),
}
_FORMS: Final[dict[type, Callable[[Any], Form]]] = {
    type(None): lambda _value: (None,),
    bool: lambda value: (bool, value),
    int: lambda value: (int, int.__int__(value)),
    float: lambda value: (float, struct.pack("<d", float.__float__(value))),
    complex: lambda value: (complex, struct.pack("<dd", _real(value), _imag(value))),
    str: lambda value: (str, str.__str__(value)),
    bytes: lambda value: (bytes, bytes.__getitem__(value, slice(None))),
    bytearray: _mutable(lambda v: (bytearray, bytes(bytearray.__getitem__(v, slice(None))))),
    tuple: lambda value: (tuple, *map(_form, tuple.__iter__(value))),
    list: _mutable(lambda value: (list, *map(_form, list.__iter__(value)))),
    dict: _mutable(lambda value: (dict, *(_form(p) for pair in dict.items(value) for p in pair))),
    range: lambda value: (range, value.start, value.stop, value.step),
    np.ndarray: _array,
    Fraction: lambda value: (Fraction, Fraction(value)),
    Decimal: lambda value: (Decimal, str(value)),
    Infinite: lambda value: (Infinite, value),
    UUID: lambda value: (UUID, str(value)),
    PurePosixPath: lambda value: (PurePosixPath, str(value)),
    PureWindowsPath: lambda value: (PureWindowsPath, str(value)),
    type(Path()): lambda value: (type(Path()), str(value)),
    dt.date: lambda value: (dt.date, repr(value)),
    dt.datetime: _timed(dt.datetime),
    dt.time: _timed(dt.time),
    dt.timedelta: lambda value: (dt.timedelta, repr(value)),
    dt.timezone: lambda value: (dt.timezone, repr(value)),
}
# What a class may be derived from: told by the base's own functions, which it cannot replace.
_BASES: Final[dict[Any, Callable[[Any], Form]]] = {
    **{base: _FORMS[base] for base in (int, float, complex, str, bytes, tuple, list, dict)},
    bytearray: _FORMS[bytearray],
    np.ndarray: lambda value: _array(np.ndarray.view(value, np.ndarray)),
    None: lambda _value: (None,),
}


class _Met(threading.local):
    """What the form at hand has met: objects that could be met again, and their classes.

    The objects are held, not their ids: an id belongs to the next object once the first is gone.
    """

    def __init__(self) -> None:
        self.objects: list[Any] = []
        self.kinds: set[type] = set()


_MET: Final = _Met()
CLASSES: Final = Classes(_form)
"""The only mutable state of the module: what the classes of outputs were like at first."""
