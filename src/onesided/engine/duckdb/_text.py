"""What narwhals does not tell of a DuckDB relation: text in which different words are equal."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided.errors import DataError

# In each pair the first comes after the second byte by byte. Collations that ignore capitals,
# accents or how a letter is put together, and those of languages, see at least one otherwise.
_PAIRS: Final = "('a', 'A'), ('a', 'B'), (chr(233), 'f'), (chr(233), 'e' || chr(769))"


def refuse_collated(native: Any, names: Sequence[str]) -> None:
    """Refuse columns of text that are not compared byte by byte. Looks at no row.

    Where words that differ count as equal, the engine shows one spelling for all, somebody's own,
    and a row joins several keys that differ in spelling. Errors: DataError naming the column.
    """
    texts = {n for n, kind in zip(native.columns, native.types, strict=True) if kind == "VARCHAR"}
    for name in names:
        if name not in texts:
            continue
        column = quoted(name)
        probe = (
            f"SELECT bool_or(x <= y) FROM (SELECT {column} AS x, {column} AS y FROM onesided_rows "  # noqa: S608
            f"WHERE false UNION ALL SELECT * FROM (VALUES {_PAIRS}))"
        )
        ((collated,),) = native.query("onesided_rows", probe).fetchall()
        if collated:
            raise DataError(
                f"The column {name!r} has a collation, in which texts that differ count as equal.",
                hint='Keys are told apart byte by byte: select it with COLLATE "binary", and set '
                "default_collation back if that is where it comes from.",
                column=name,
            )


def literal(text: str) -> str:
    """A text as SQL text takes it."""
    return "'" + text.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """A column's name as SQL text takes it.

    >>> print(quoted('the "best" column'))
    "the ""best"" column"
    """
    return '"' + name.replace('"', '""') + '"'


def spelt(columns: Mapping[str, NDArray[Any]]) -> str:
    """Public values as a query, which needs nothing of the connection that it runs on."""
    lists, casts = [], []
    for place, (name, column) in enumerate(columns.items()):
        values = column.tolist()
        words = json.dumps([None if value is None else _word(value) for value in values])
        lists.append(f"unnest(from_json({literal(words)}, '[\"VARCHAR\"]')) AS c{place}")
        casts.append(f"CAST(c{place} AS {_type_of(values)}) AS {quoted(name)}")
    return f"SELECT {', '.join(casts)} FROM (SELECT {', '.join(lists)})"  # noqa: S608 - literals


def finds_python(native: Any) -> bool:
    """Whether tables of Python are found on the connection of a caller's relation."""
    asked = "SELECT current_setting('python_enable_replacements')"
    ((found,),) = native.query("onesided_data", asked).fetchall()
    return bool(found)


def handed_over(native: Any, table: Any) -> Any:
    """Arrow, or arrays by name, on a caller's connection, which must let Python's be found."""
    onesided_small = table  # noqa: F841 - DuckDB finds it by its name
    return native.query("onesided_data", "SELECT * FROM onesided_small").select("*")


_KINDS: Final = (
    (bool, "BOOLEAN"),
    (int, "HUGEINT"),
    (float, "DOUBLE"),
    (dt.datetime, "TIMESTAMP"),
    (dt.date, "DATE"),
)


def _type_of(values: Sequence[Any]) -> str:
    first: Any = next((value for value in values if value is not None), "")
    kind = next((name for made, name in _KINDS if isinstance(first, made)), "VARCHAR")
    if kind == "HUGEINT" and all(value is None or abs(value) < 2**63 for value in values):
        return "BIGINT"
    zoned = kind == "TIMESTAMP" and first.tzinfo is not None
    return "TIMESTAMP WITH TIME ZONE" if zoned else kind


def _word(value: Any) -> str:
    plain = value.item() if isinstance(value, np.generic) else value
    return plain if isinstance(plain, str) else str(plain)
