"""Columns of Python objects, as only pandas has them in earnest: what one row holds binds no other.

Whoever reads such a column as a whole, as text or as numbers, decides by all of it what each value
is; where its values are of several types, one person's row would decide how another's is read.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Final

import narwhals as nw

from onesided.errors import KeysError

# pandas' names for columns of one type, and the keys that can match their values as text.
_KEYS: Final[Mapping[str, type]] = {"string": str, "date": dt.date, "boolean": bool}
_UNIFORM: Final = frozenset(
    ["string", "boolean", "integer", "floating", "date", "datetime", "time", "timedelta", "empty"]
)


def require_keys(native: Any, name: str, dtype: nw.dtypes.DType, keys: Sequence[object]) -> None:
    """Refuse a mixed column: joining it as text would merge values that differ.

    Errors: KeysError naming the column and what it holds.
    """
    if not hasattr(native, "iloc"):
        kind = "mixed" if isinstance(dtype, nw.Object) else "empty"
        wanted = None
    elif hasattr(native[name].dtype, "categories"):
        # Keys are text here; the categories' own text must tell them apart.
        held = native[name].dtype.categories
        kind = "mixed" if len(set(map(str, held))) < len(held) else "empty"
        wanted = None
    else:
        kind = _kind(native[name])
        wanted = _KEYS.get(kind)
    if kind != "empty" and (wanted is None or any(type(key) is not wanted for key in keys)):
        raise KeysError(
            f"Column {name!r} holds Python objects ({kind}) that the keys, such as {keys[0]!r}, "
            "do not match one to one.",
            hint="Give the column a type: text, dates, booleans or whole numbers, and keys of it.",
            column=name,
        )


def kinds(native: Any) -> dict[str, str]:
    """What pandas calls the content of each column of Python objects, null aside."""
    return {name: _kind(native[name]) for name in native if native[name].dtype == object}


def is_mixed(kind: str) -> bool:
    """Whether values of several types may stand in a column of that kind."""
    return kind not in _UNIFORM


def _kind(column: Any) -> str:
    import pandas as pd  # noqa: PLC0415 - the caller's frame has loaded it already

    objects = column.dtype == object
    return str(pd.api.types.infer_dtype(column, skipna=True)) if objects else "empty"
