"""What an observer can tell an output by: its type, order, dtype, bytes and every field.

Two outputs are one to an observer only if nothing about them differs. ``==`` is far too kind: it
equates True, 1 and 1.0, and -0.0 and 0.0, sees no difference between int32 and int64, ignores
the order of a dictionary and the fields that a dataclass leaves out of its comparison. A program
that hides a secret in any of these would pass.
"""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable, Hashable, Iterator
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from typing import Any, Final, TypeAlias
from uuid import UUID

import numpy as np

from onesided._numbers import Infinite
from onesided.errors import ParameterError

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
    try:
        return _form(output)
    except RecursionError:
        raise ParameterError(
            f"The program returned a {type(output).__name__} that holds itself.", hint=_HINT
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
    if isinstance(output, np.generic):
        return _scalar(output)
    if isinstance(output, Enum):
        return (kind, output.name)
    if isinstance(output, type):
        return (type, output)
    if isinstance(output, PurePath | dt.tzinfo):
        return (kind, repr(output))
    return _fields(output)


def _scalar(value: Any) -> Form:
    dtype = value.dtype
    if type(value) is not dtype.type or dtype.kind not in "biufcSUmM" or dtype.itemsize > 16:
        raise _unknown(value)
    if dtype.kind in "fc" and dtype in _PADDED:
        raise _unknown(value)
    return dtype, value.tobytes()


def _array(given: Any) -> Form:
    array = given.view(np.ndarray)
    dtype = array.dtype
    if dtype.metadata is not None or dtype in _PADDED:
        raise _unknown(given)
    # An array in the other order is written to a file in another way.
    order = array.flags.fnc
    if dtype.kind == "O":
        return np.ndarray, dtype, array.shape, order, tuple(map(_form, array.ravel().tolist()))
    if dtype.fields is not None:
        fields = tuple((name, _array(array[name])) for name in dtype.names)
        return np.ndarray, dtype, array.shape, order, fields
    return np.ndarray, dtype, array.shape, order, array.tobytes()


def _fields(output: Any) -> Form:
    """Everything that an object holds: its base's value, its dictionary and its slots."""
    kind = type(output)
    if callable(output) or isinstance(output, Iterator | set | frozenset):
        raise _unknown(output)
    base = next((b for b in kind.__mro__ if b in _FORMS), None)
    own = [b for b in kind.__mro__ if b.__module__ != "builtins" and b not in _FORMS]
    slots = [name for b in own for name in _slots(b)]
    held = vars(output) if hasattr(output, "__dict__") else {}
    tells = base is not None or slots or hasattr(output, "__dict__")
    if not tells or _holds_more(kind, base or object, len(slots)):
        raise _unknown(output)
    parts = [(name, _form(getattr(output, name))) for name in slots if hasattr(output, name)]
    parts += [(name, _form(value)) for name, value in held.items()]
    value = () if base is None else (("", _FORMS[base](output)),)
    return _object, kind, *value, *parts


def _object() -> None:
    """The mark of a form that was made field by field."""


def _slots(kind: type) -> Iterator[str]:
    given = vars(kind).get("__slots__", ())
    for name in (given,) if isinstance(given, str) else given:
        if name not in ("__dict__", "__weakref__"):
            hidden = name.startswith("__") and not name.endswith("__")
            yield f"_{kind.__name__.lstrip('_')}{name}" if hidden else name


def _holds_more(kind: type, base: type, slots: int) -> bool:
    """Whether objects have room for what neither a dictionary nor slots tell of, as in C."""
    links = sum(
        bool(getattr(kind, name)) and not getattr(base, name)
        for name in ("__dictoffset__", "__weakrefoffset__")
    )
    return kind.__basicsize__ > base.__basicsize__ + _WORD * (slots + links)


def _unknown(output: object) -> ParameterError:
    name = type(output).__name__
    if isinstance(output, set | frozenset):
        return ParameterError(
            f"The program returned a {name}, which cannot be compared: the order in which it is "
            "listed may tell how it was made.",
            hint="Return sorted(...) or a tuple.",
        )
    return ParameterError(f"The program returned a {name}, which cannot be compared.", hint=_HINT)


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
}
_FORMS: Final[dict[type, Callable[[Any], Form]]] = {
    type(None): lambda _value: (None,),
    bool: lambda value: (bool, value),
    int: lambda value: (int, int(value)),
    float: lambda value: (float, struct.pack("<d", value)),
    complex: lambda value: (complex, struct.pack("<dd", value.real, value.imag)),
    str: lambda value: (str, str(value)),
    bytes: lambda value: (bytes, bytes(value)),
    bytearray: lambda value: (bytearray, bytes(value)),
    tuple: lambda value: (tuple, *map(_form, value)),
    list: lambda value: (list, *map(_form, value)),
    dict: lambda value: (dict, *(_form(part) for pair in value.items() for part in pair)),
    range: lambda value: (range, value.start, value.stop, value.step),
    np.ndarray: _array,
    Fraction: lambda value: (Fraction, Fraction(value)),
    Decimal: lambda value: (Decimal, str(value)),
    Infinite: lambda value: (Infinite, value),
    UUID: lambda value: (UUID, str(value)),
    dt.date: lambda value: (dt.date, repr(value)),
    dt.datetime: lambda value: (dt.datetime, repr(value)),
    dt.time: lambda value: (dt.time, repr(value)),
    dt.timedelta: lambda value: (dt.timedelta, repr(value)),
}
