"""Whether public keys could match their column at all, by its type alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import TYPE_CHECKING

import narwhals as nw

from onesided._english import a
from onesided.engine._key_columns import KeyColumn, can_be_written, is_text, listed
from onesided.errors import KeysError

if TYPE_CHECKING:
    from onesided.engine._keys import PublicKeys


def check_types(keys: PublicKeys, schema: Mapping[str, nw.dtypes.DType]) -> None:
    """Refuse keys that could never match their column: each count would be a wrong zero.

    Errors: KeysError naming the column, its type and the first key that does not fit.

    >>> import polars as pl
    >>> from onesided.engine import Table, public_keys
    >>> schema = Table(pl.DataFrame({"age": [7]})).schema
    >>> check_types(public_keys(["seven"], ("age",)), schema)
    Traceback (most recent call last):
        ...
    onesided.errors.KeysError: The key 'seven' is a str, but column 'age' holds Int64: it could
    never match. Hint: Give keys of the column's own type, or cast the column 'age'.
    """
    for name, array in keys.by_name().items():
        dtype = schema[name]
        if _all_fit(array, dtype):
            continue
        for value in listed(array):
            if not _fits(value, dtype, name):
                raise KeysError(
                    f"The key {value!r} is {a(type(value).__name__)}, but column "
                    f"{name!r} holds {dtype}: it could never match.",
                    hint=f"Give keys of the column's own type, or cast the column {name!r}.",
                    column=name,
                )


def _all_fit(column: KeyColumn, dtype: nw.dtypes.DType) -> bool:
    """Whether it is clear at a glance that every key can equal a value of the column."""
    if isinstance(column, nw.Series) or column.dtype.kind not in "iub":
        return isinstance(dtype, nw.String) and is_text(column)
    if column.dtype.kind == "b":
        return isinstance(dtype, nw.Boolean)
    if not dtype.is_integer():
        return False
    held = _whole_numbers(dtype)
    return int(column.min()) in held and int(column.max()) in held


def _fits(value: object, dtype: nw.dtypes.DType, name: str) -> bool:
    """Whether ``value`` can equal a value of a column of type ``dtype``."""
    if dtype.is_integer():
        whole = isinstance(value, int) and not isinstance(value, bool)
        return whole and value in _whole_numbers(dtype)
    if isinstance(dtype, nw.Datetime):
        return isinstance(value, dt.datetime) and _is_moment(value, dtype)
    if isinstance(dtype, nw.Date):
        return isinstance(value, dt.date) and not isinstance(value, dt.datetime)
    if isinstance(dtype, nw.Boolean):
        return isinstance(value, bool)
    if isinstance(dtype, nw.String | nw.Categorical | nw.Enum):
        return isinstance(value, str) and can_be_written(value)
    if isinstance(dtype, nw.Object):
        return True  # the values are looked at when they are counted
    raise KeysError(
        f"Column {name!r} holds {dtype}, which cannot be grouped by.",
        hint="Group by whole numbers, text, categories, booleans or dates.",
        column=name,
    )


def _whole_numbers(dtype: nw.dtypes.DType) -> range:
    """What is compared with a column of whole numbers; beyond, engines would wrap around."""
    if isinstance(dtype, nw.UInt64 | nw.UInt128):
        return range(2**128 if isinstance(dtype, nw.UInt128) else 2**64)
    most = 2**127 if isinstance(dtype, nw.Int128) else 2**63
    return range(-most, most)


def _is_moment(value: dt.datetime, dtype: nw.Datetime) -> bool:
    """Whether a column of this unit can hold the moment; rounded, two keys could become one.

    The unit is a microsecond at the least: that is all that some engines take from Python.
    """
    aware = value.tzinfo is not None
    tick = {"s": 10**6, "ms": 10**3}.get(dtype.time_unit, 1)
    fine = value.microsecond % tick or getattr(value, "nanosecond", 0)
    return aware == (dtype.time_zone is not None) and not fine
