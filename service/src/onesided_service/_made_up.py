"""Made-up rows of a dataset's schema, for previews: they depend on public facts alone."""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import duckdb
import numpy as np
from numpy.typing import NDArray

from onesided.engine.kit import key_file, quoted
from onesided.errors import ParameterError
from onesided.policy import Policy
from onesided.schema import Column, Schema
from onesided.session import Release, Session
from onesided_service._clock import cost_of

ROWS: Final = 2_000
MOST_ROWS: Final = 100_000  # more say little more, and take the web server's time
MOST_TIMES: Final = 64  # as long as so many counts may a preview take, which is free
MOST_BYTES: Final = 2**22  # that a preview may hold
_ROWS_OF_UNIT: Final = Fraction(5, 3)
MOST_KEYS: Final = 5_000
_DAY: Final = 86_400_000_000
_MONDAY: Final = np.datetime64("2026-03-02", "us").astype(np.int64)
_MUCH: Final = 10**9  # of what a forgotten ledger may be charged
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
# How a column of numbers or texts becomes its declared type. Times are microseconds.
_AS: Final[Mapping[str, str]] = {
    "text": "{0}::VARCHAR",
    "boolean": "{0}::BOOLEAN",
    "integer": "{0}::BIGINT",
    "number": "{0}::DOUBLE",
    "date": "make_timestamp({0}::BIGINT)::DATE",
    "datetime": "make_timestamp({0}::BIGINT)",
    "datetime with zone": "make_timestamp({0}::BIGINT) AT TIME ZONE 'UTC'",
    "time": "make_timestamp({0}::BIGINT)::TIME",
    "duration": "'PT' || ({0}::BIGINT // 1000000)::VARCHAR || 'S'",  # read as the schema says
}


def made_up(schema: Schema, *, rows: int = ROWS, seed: int = 1) -> Any:
    """A DuckDB relation of made-up rows with the schema's columns; equal schemas give equal rows.

    rows: how many, up to :data:`MOST_ROWS`: as many as the public may think there are. Few keys are
    common and many are rare, as in most data. Errors: KeysError for a file of keys that is not
    there.

    >>> from onesided.schema import column
    >>> age = column("integer", bounds=(0, 110))
    >>> made_up(Schema(unit="person", columns={"age": age})).columns
    ['age', 'person']
    """
    random, size = np.random.default_rng(seed), min(rows, MOST_ROWS)
    columns = dict(schema.columns)
    if schema.unit is not None:
        columns.setdefault(schema.unit, Column("integer"))
    made = {name: _values(schema, name, one, random, size) for name, one in columns.items()}
    types = {name: _AS[one.type] for name, one in columns.items()}
    names = {name: f"column_{place}" for place, name in enumerate(made)}
    select = ", ".join(f"{types[name].format(names[name])} AS {quoted(name)}" for name in made)
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("made_up", {names[name]: values for name, values in made.items()})
    # Names are quoted and types ours; the relation keeps its connection.
    connection.execute(f"CREATE TABLE rows AS SELECT {select} FROM made_up")  # noqa: S608
    return connection.table("rows")


def _values(
    schema: Schema, name: str, column: Column, random: np.random.Generator, size: int
) -> NDArray[Any]:
    if name == schema.unit:
        units = random.integers(1, max(int(size / _ROWS_OF_UNIT), 1) + 1, size)
        text = column.type == "text"
        return np.array([f"made up {n}" for n in units], dtype=object) if text else units
    keys = _keys(schema, name, column)
    if keys is not None:  # few are common and many rare, in an order that says nothing
        plain = [_micros(key) if isinstance(key, dt.date) else key for key in keys]
        kind = object if any(isinstance(key, str) for key in plain) else None
        weight = 1 / (np.arange(len(keys)) + 3.0)
        order = random.permutation(len(keys))
        chosen = order[random.choice(len(keys), size, p=weight / weight.sum())]
        return np.array([plain[place] for place in chosen], dtype=kind)
    found: NDArray[Any] = _MAKERS[column.type](column, random, size)
    return found


def _keys(schema: Schema, name: str, column: Column) -> Sequence[Any] | None:
    if column.keys is None:
        return None
    if not isinstance(column.keys, str):
        return column.keys[:MOST_KEYS]
    found = key_file(column.keys, folder=schema.folder, name=name, kind=column.type)
    listed = found.tolist() if hasattr(found, "tolist") else list(found)
    return listed[:MOST_KEYS]


def _micros(value: Any) -> int:
    moment = value if isinstance(value, dt.datetime) else dt.datetime(*value.timetuple()[:3])  # noqa: DTZ001 - its own zone
    moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    return (moment - _EPOCH) // dt.timedelta(microseconds=1)


def _numbers(column: Column, random: np.random.Generator, size: int) -> NDArray[Any]:
    """More small ones than large ones, on the column's grid."""
    low, high = (0.0, 100.0) if column.bounds is None else map(float, column.bounds)
    whole = column.type == "integer"
    step = float(column.step) if column.step is not None else 1.0 if whole else 0.0
    spread = (high - low) * random.beta(2, 3, size)
    values: NDArray[Any] = low + (np.round(spread / step) * step if step else spread)
    return values.astype(np.int64) if whole else values


def _moments(column: Column, random: np.random.Generator, size: int) -> NDArray[Any]:
    ends = (int(_MONDAY), int(_MONDAY) + 7 * _DAY - 1)
    low, high = ends if column.bounds is None else map(_micros, column.bounds)
    return random.integers(low, high, size, endpoint=True)


_MAKERS: Final[Mapping[str, Callable[[Column, np.random.Generator, int], NDArray[Any]]]] = {
    "text": lambda _, random, size: np.array(
        [f"made up {n}" for n in random.integers(1, 21, size)], dtype=object
    ),
    "boolean": lambda _, random, size: random.random(size) < 0.3,
    "integer": _numbers,
    "number": _numbers,
    "date": _moments,
    "datetime": _moments,
    "datetime with zone": _moments,
    "time": lambda _, random, size: random.integers(0, _DAY, size),
    "duration": lambda _, random, size: random.integers(0, _DAY, size),
}


def preview_of(question: Any, *, schema: Schema, policy: Policy, rows: int = ROWS) -> Release:
    """The answer about made-up rows, under a ledger that is forgotten.

    No row of the data is read. It is free, so it is bounded by what a question may take. Errors:
    as a session's; ParameterError beyond that.

    >>> import onesided as od
    >>> schema = od.Schema(unit="person", columns={"age": od.column("integer", bounds=(0, 110))})
    >>> asked = od.Count(where="age >= 18", epsilon=1)
    >>> preview_of(asked, schema=schema, policy=od.policy.bounded()).title
    'Number of units (person), where age >= 18'
    """
    if (times := cost_of(question, schema)) > MOST_TIMES:
        raise ParameterError(
            f"A preview of this may take as long as {times:,} counts; it may as {MOST_TIMES}.",
            hint="Preview a part of it, or ask without a preview.",
            times=times,
            most=MOST_TIMES,
        )
    session = Session(
        made_up(schema, rows=rows),
        schema=schema,
        policy=policy,
        budget=_MUCH,
        delta_budget="99/100",
    )
    release: Release = session.ask(question)
    return release


def within_bytes(text: str) -> str:
    """A preview, as it is sent. Errors: ParameterError for one that is too long to be free."""
    if len(text) > MOST_BYTES:
        raise ParameterError(
            f"A preview of this has {len(text):,} characters; it may have {MOST_BYTES:,}.",
            hint="Preview fewer groups or cells, or ask without a preview.",
        )
    return text


def made_up_csv(schema: Schema, rows: int) -> str:
    """The same rows as text.

    >>> from onesided.schema import column
    >>> len(made_up_csv(Schema(columns={"age": column("integer", bounds=(0, 9))}), 2).split())
    3
    """
    made, written = made_up(schema, rows=rows), io.StringIO()
    table = csv.writer(written)
    table.writerow(made.columns)
    table.writerows(made.fetchall())
    return written.getvalue()
