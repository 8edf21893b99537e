"""Public tables as files."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from onesided.errors import MissingDependencyError, ParameterError
from onesided.store import csv_text

Columns = Mapping[str, Sequence[Any]]


def write_csv(columns: Columns, path: Path) -> None:
    """One row per group, in UTF-8. Text that a spreadsheet takes for a formula gets a ``'``."""
    text = csv_text(tuple(columns), zip(*columns.values(), strict=True))
    path.write_text(text, encoding="utf-8")


def write_json(columns: Columns, path: Path) -> None:
    """A list of rows; what JSON does not know is written as text."""
    names = list(columns)
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    path.write_text(
        json.dumps(rows, indent=1, ensure_ascii=False, default=str, allow_nan=True) + "\n",
        encoding="utf-8",
    )


def write_parquet(columns: Columns, path: Path) -> None:
    """By PyArrow, Polars or DuckDB, whichever is there. Errors: MissingDependencyError."""
    plain = {name: list(values) for name, values in columns.items()}
    for attempt in (_by_pyarrow, _by_polars, _by_duckdb):
        with contextlib.suppress(ImportError):
            attempt(plain, path)
            return
    raise MissingDependencyError(
        "Writing Parquet needs PyArrow, Polars or DuckDB.", hint="pip install 'onesided[cli]'"
    )


WRITERS: Final[Mapping[str, Callable[[Columns, Path], None]]] = {
    "csv": write_csv,
    "json": write_json,
    "parquet": write_parquet,
}


def require_formats(formats: Sequence[str]) -> tuple[str, ...]:
    """The formats asked for. Errors: ParameterError for one that is not known, and for none.

    >>> require_formats(["csv", "parquet"])
    ('csv', 'parquet')
    """
    given = (formats,) if isinstance(formats, str) else tuple(formats)
    unknown = [one for one in given if one not in WRITERS]
    if unknown or not given:
        raise ParameterError(
            f"formats={formats!r}: {unknown[0]!r} is unknown."
            if unknown
            else "No format is named.",
            hint=f"Use some of {', '.join(map(repr, WRITERS))}.",
            value=formats,
        )
    return given


def _by_pyarrow(columns: dict[str, list[Any]], path: Path) -> None:
    import pyarrow as pa  # noqa: PLC0415 - optional
    import pyarrow.parquet as pq  # noqa: PLC0415 - optional

    pq.write_table(pa.table(columns), os.fspath(path))


def _by_polars(columns: dict[str, list[Any]], path: Path) -> None:
    import polars as pl  # noqa: PLC0415 - optional

    pl.DataFrame(columns).write_parquet(path)


def _by_duckdb(columns: dict[str, list[Any]], path: Path) -> None:
    import duckdb  # noqa: PLC0415 - optional
    import numpy as np  # noqa: PLC0415 - with DuckDB alone

    with duckdb.connect(config={"python_enable_replacements": "false"}) as connection:
        connection.register("release", {n: np.array(values) for n, values in columns.items()})
        connection.table("release").write_parquet(os.fspath(path))
