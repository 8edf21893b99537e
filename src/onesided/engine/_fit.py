"""Whether a table is as its schema declares, row by row: found before any account exists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import narwhals as nw

from onesided._english import many
from onesided.engine._protocol import ROW, missing, text_of, unread_of
from onesided.engine._reading import BEFORE, reading
from onesided.engine._table import OBJECTS, Table
from onesided.errors import DataError
from onesided.schema import Schema

_LONGEST: Final = 40
_PUBLIC: Final = f"This is not for publication. {BEFORE}"


def require_fit(table: Table, schema: Schema) -> None:
    """Refuse text that is not of its declared type, and values missing where they are required.

    Reads the whole table. Errors: DataError with counts and examples, for the curator alone.

    >>> import polars as pl, onesided as od
    >>> schema = od.Schema(columns={"age": od.column("integer")})
    >>> ages = Table(pl.DataFrame({"age": ["7", "31.0"]}), declared=schema)
    >>> require_fit(ages, schema)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    onesided.errors.DataError: 1 value of the column 'age' cannot be read as integer: row 2 ...
    """
    unread = {n: c for n, c in table.unreadable().items() if schema.refuses_unreadable(n)}
    if unread:
        objects = f"{OBJECTS.strip()} " if set(unread) & set(table.engine.odd) else ""
        raise DataError(
            " ".join(
                f"{many(count, 'value')} of the column {name!r} cannot be read as "
                f"{schema.columns[name].type}: {', '.join(_examples(table, name))}."
                for name, count in unread.items()
            ),
            hint=f"{objects}Mend the file; or declare the column as what it holds; or write "
            f'unreadable = "missing" for it in the schema, which every answer then says. {_PUBLIC}',
            column=next(iter(unread)),
            unreadable=unread,
        )
    for name, one in schema.columns.items():
        lost = table.null_rows(name) if one.required and name in table.schema else 0
        if lost:
            raise DataError(
                f"{many(lost, 'row', one='has', more='have')} no value in the column {name!r}, "
                "which the schema requires.",
                hint="Mend the file, or leave required out; answers then say that values may be "
                f"missing. {_PUBLIC}",
                rows=lost,
                column=name,
            )


def refuse_floats(table: Table, column: str, what: str) -> None:
    """Refuse floats as what tells people apart: rounded, two of them are one. Looks at no row.

    Errors: DataError.

    >>> import polars as pl
    >>> refuse_floats(Table(pl.DataFrame({"person": [1, 2]})), "person", "unit")
    """
    if table.schema[column].is_float():
        raise DataError(
            f"The {what} column {column!r} holds {table.schema[column]}: ids that were rounded to "
            "floats are one, and whole numbers above 2^53 were.",
            hint="Read it as integer or text where the table comes from, and declare it so in a "
            "schema; a column made of these floats would hold the rounded ids.",
            column=column,
        )


def of_units(table: Table, unit: str, *, drop: bool) -> Table:
    """The table, of which each row is somebody's. drop: without those that are nobody's.

    Errors: DataError for rows without a unit, or with an empty text in its place.

    >>> import polars as pl
    >>> visits = Table(pl.DataFrame({"person": ["1", "", None]}))
    >>> of_units(visits, "person", drop=True).height()
    1
    """
    if drop:
        return table.of_rows(table.frame.filter(~nobody(unit, table.schema[unit])))
    lost = table.null_rows(unit)
    empty = 0 if lost else table.rows_where(nobody(unit, table.schema[unit]))
    if lost or empty:
        what = "no value" if lost else "an empty text"
        raise DataError(
            f"{many(lost or empty, 'row', one='has', more='have')} {what} in the unit column "
            f"{unit!r}.",
            hint='Mend the file, or write missing_unit = "drop" in a schema: such rows are then '
            f"left out, which every answer says. {_PUBLIC}",
            rows=lost or empty,
            column=unit,
        )
    return table


def nobody(column: str, dtype: nw.dtypes.DType) -> nw.Expr:
    """Whether a row has no unit: null, NaN or an empty text.

    >>> import polars as pl
    >>> ids = nw.from_native(pl.DataFrame({"person": ["1", "", None]}))
    >>> len(ids.filter(nobody("person", nw.String())))
    2
    """
    lost = missing(column, dtype)
    return lost | (nw.col(column) == "") if isinstance(dtype, nw.String) else lost


def examples(table: Table, name: str, *, most: int = 3) -> list[tuple[int | None, str]]:
    """Some values of a column that cannot be read, as Python writes them. Secret.

    The first ones, after their rows from 1; any ones, without, where rows have no order.

    >>> import polars as pl, onesided as od
    >>> schema = od.Schema(columns={"age": od.column("integer")})
    >>> examples(Table(pl.DataFrame({"age": ["7", "31.0"]}), declared=schema), "age")
    [(2, "'31.0'")]
    """
    engine = table.engine
    if engine.texts is None:
        return []
    if name in engine.odd:
        return list(engine.odd[name].some)
    place = list(engine.read).index(name)
    with reading():
        numbered = engine.numbered(engine.texts)
        rows = engine.texts if numbered is None else numbered
        chosen = rows.filter(nw.col(unread_of(place)))
        chosen = chosen if numbered is None else chosen.sort(ROW)
        names = [text_of(place), *([] if numbered is None else [ROW])]
        found = engine.columns(chosen.select(*names).head(most))
    texts, *places = (found[one] for one in names)
    told = places[0] if places else [None] * len(texts)
    return list(zip(told, map(repr, texts), strict=True))


def _examples(table: Table, name: str) -> Iterator[str]:
    for row, text in examples(table, name):
        shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
        yield shown if row is None else f"row {row:,} ({shown})"
