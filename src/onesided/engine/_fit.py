"""Whether rows are as declared: found before an account exists, and before each charge again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import narwhals as nw

from onesided._english import many
from onesided.engine._protocol import BEFORE, LENGTH, ROW, reading, text_of, unread_of
from onesided.engine._snapshot import Snapshot, whole_of
from onesided.engine._table import OBJECTS, Table
from onesided.errors import DataError
from onesided.schema import Schema

# Sums over so many rows are made of parts that fit 64 bits, whatever the rows hold.
MOST_ROWS: Final = 2**33
_LONGEST: Final = 40
_LOST: Final = "onesided_lost"
_PUBLIC: Final = f"This is not for publication. {BEFORE}"


def require_fit(table: Table, schema: Schema, unit: str | None) -> None:
    """Refuse rows that are not as declared, before anything is asked of them.

    Reads one snapshot of the columns that something is required of, and of declared text, which may
    hold bytes that are none: an engine finds them by reading. Of a table that may change, each
    question holds its own snapshot to the same (:func:`require_held`).
    Errors: DataError with counts and examples, for the curator alone.

    >>> import polars as pl, onesided as od
    >>> schema = od.Schema(columns={"age": od.column("integer")})
    >>> ages = Table(pl.DataFrame({"age": ["7", "31.0"]}), declared=schema)
    >>> require_fit(ages, schema, None)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    onesided.errors.DataError: 1 value of the column 'age' cannot be read as integer: row 2 ...
    """
    wanted = [
        name
        for name, one in schema.columns.items()
        if one.required
        or one.type == "text"
        or (name in table.doubtful and schema.refuses_unreadable(name))
    ]
    if unit is not None and schema.missing_unit != "drop":
        wanted.append(unit)
    if wanted or table.engine.fixed or table.engine.files:
        with table.texts(list(dict.fromkeys(wanted))) as rows:
            require_held(rows, schema, unit)


def require_held(rows: Snapshot, schema: Schema, unit: str | None) -> None:
    """Hold a snapshot to the list of facts that reading relies on. Errors: as :func:`misfits`.

    >>> import polars as pl
    >>> with Table(pl.DataFrame({"person": ["1", "2"]})).texts(["person"]) as rows:
    ...     require_held(rows, Schema(), "person")
    """
    for error in misfits(rows, schema, unit):
        raise error


def misfits(rows: Snapshot, schema: Schema, unit: str | None) -> Iterator[DataError]:
    """Why rows are not as declared, as far as something is required of columns that were taken.

    rows: with the texts that were read. Rows of nobody, left out, would be missing in answers that
    claim to be certain; counted, they would be one unit.

    >>> import polars as pl
    >>> visits = Table(pl.DataFrame({"person": ["1", ""]}))
    >>> with visits.texts(["person"]) as rows:
    ...     [error.reason for error in misfits(rows, Schema(), "person")]
    ["1 row has an empty text in the unit column 'person'."]
    """
    unread = {n: c for n, c in rows.unreadable().items() if schema.refuses_unreadable(n)}
    if unread:
        yield _unread(rows, schema, unread, unit)
    required = [n for n, one in schema.columns.items() if one.required and n in rows.names]
    told = unit if unit in rows.names and schema.missing_unit != "drop" else None
    height, lost, nobodys = _lost(rows, required, told)
    if height > MOST_ROWS:
        yield DataError(
            f"The table has {height:,} rows, more than 2^33.",
            hint=f"Ask parts of it, or groups of its rows. {_PUBLIC}",
            rows=height,
        )
    for name, number in lost.items():
        yield DataError(
            f"{many(number, 'row', one='has', more='have')} no value in the column {name!r}, "
            "which the schema requires.",
            hint="Mend the file, or leave required out; answers then say that values may be "
            f"missing. {_PUBLIC}",
            rows=number,
            column=name,
        )
    if told is not None and nobodys:
        null = rows.null_rows(rows.at(told))
        yield DataError(
            f"{many(null or nobodys, 'row', one='has', more='have')} "
            f"{'no value' if null else 'an empty text'} in the unit column {told!r}.",
            hint='Mend the file, or write missing_unit = "drop" in a schema: such rows are then '
            f"left out, which every answer says. {_PUBLIC}",
            rows=null or nobodys,
            column=told,
        )


def _lost(rows: Snapshot, required: list[str], unit: str | None) -> tuple[int, dict[str, int], int]:
    """How many rows there are, how many lack what is required, and how many are nobody's."""
    empty = {f"{_LOST}_{n}": rows.lost(rows.at(name)) for n, name in enumerate(required)}
    if unit is not None:
        empty[_LOST] = rows.nobodys(rows.at(unit))
    sums = (nw.when(one).then(1).otherwise(0).sum().alias(name) for name, one in empty.items())
    ((height, *found),) = rows.fetch(
        rows.frame.select(nw.len().alias(LENGTH), *sums), [LENGTH, *empty]
    )
    told = list(map(whole_of, found))
    lost = {name: number for name, number in zip(required, told, strict=False) if number}
    return whole_of(height), lost, told[-1] if unit is not None else 0


def _unread(rows: Snapshot, schema: Schema, unread: dict[str, int], unit: str | None) -> DataError:
    objects = f"{OBJECTS.strip()} " if set(unread) & set(rows.engine.odd) else ""
    whole = unit in unread and schema.columns[unit].type == "integer"
    once = " Units have one text each: 7, not 07 or +7." if whole else ""
    told = " ".join(
        f"{many(count, 'value')} of the column {name!r} cannot be read as "
        f"{schema.columns[name].type}: {', '.join(_examples(rows, name))}."
        for name, count in unread.items()
    )
    return DataError(
        f"{told}{once}",
        hint=f"{objects}Mend the file; or declare the column as what it holds; or write "
        f'unreadable = "missing" for it in the schema, which every answer then says. {_PUBLIC}',
        column=next(iter(unread)),
        unreadable=unread,
    )


def refuse_floats(table: Table, column: str, what: str) -> None:
    """Refuse floats as what tells people apart: rounded, two of them are one. Looks at no row.

    Errors: DataError.
    """
    if table.schema[column].is_float():
        raise DataError(
            f"The {what} column {column!r} holds {table.schema[column]}: ids that were rounded to "
            "floats are one, and whole numbers above 2^53 were.",
            hint="Read it as integer or text where the table comes from, and declare it so in a "
            "schema; a column made of these floats would hold the rounded ids.",
            column=column,
        )


def examples(rows: Snapshot, name: str, *, most: int = 3) -> list[tuple[int | None, str]]:
    """Some values of a column that cannot be read, as Python writes them. Secret.

    rows: with the texts that were read.
    The first ones, after their rows from 1; any ones, without, where rows have no order.

    >>> import polars as pl, onesided as od
    >>> schema = od.Schema(columns={"age": od.column("integer")})
    >>> ages = Table(pl.DataFrame({"age": ["7", "31.0"]}), declared=schema)
    >>> with ages.texts(["age"]) as rows:
    ...     examples(rows, "age")
    [(2, "'31.0'")]
    """
    engine, place = rows.engine, rows.at(name)
    if name in engine.odd:
        return list(engine.odd[name].some)
    if unread_of(place) not in rows.schema:
        return []
    with reading():
        numbered = engine.numbered(rows.frame)
        found = (rows.frame if numbered is None else numbered).filter(nw.col(unread_of(place)))
        found = found if numbered is None else found.sort(ROW)
        names = [text_of(place), *([] if numbered is None else [ROW])]
        held = engine.columns(found.select(*names).head(most))
    texts, *places = (held[one] for one in names)
    told = places[0] if places else [None] * len(texts)
    return list(zip(told, map(repr, texts), strict=True))


def _examples(rows: Snapshot, name: str) -> Iterator[str]:
    for row, text in examples(rows, name):
        shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
        yield shown if row is None else f"row {row:,} ({shown})"
