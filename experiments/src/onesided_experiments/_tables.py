"""Where data are, and Parquet and CSV in and out through DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onesided.errors import DataError, MissingDependencyError, OutputError
from onesided_experiments._model import Row

# Heavy packages, loaded when a reproduction needs them.


def load(module: str) -> Any:
    """The module. Errors: MissingDependencyError where the installation is not whole."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f"Reproducing a paper needs {module.split('.', maxsplit=1)[0]}.",
            hint="Install the experiments again: pip install onesided-experiments",
        ) from error


# Where the user's data sets are.


def locate(data: Path | None, folder: str, *names: str) -> Path | None:
    """The first file of one of these names under ``data/folder`` or ``data``, if there is one."""
    if data is None:
        return None
    places = (where / name for name in names for where in (data / folder, data))
    return next((path for path in places if path.is_file()), None)


def query(sql: str, *parameters: object) -> dict[str, NDArray[Any]]:
    """The columns that an SQL query gives. Errors: DataError for a file that cannot be read."""
    duckdb = load("duckdb")
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        try:
            found: dict[str, NDArray[Any]] = connection.execute(sql, list(parameters)).fetchnumpy()
        except duckdb.Error as error:
            raise DataError(
                f"The data could not be read: {str(error).splitlines()[0]}",
                hint="The file may be cut short, or have other columns than data/README.md says.",
            ) from error
    return found


def write(rows: Sequence[Row], stem: Path) -> list[Path]:
    """Write ``stem.csv`` and ``stem.parquet``; columns are the keys, in order of appearance."""
    duckdb = load("duckdb")
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: _column([row.get(name) for row in rows]) for name in names}
    paths = [stem.with_suffix(suffix) for suffix in (".csv", ".parquet")]
    with duckdb.connect() as connection:
        connection.register("made", columns)
        try:
            relation = connection.sql("SELECT * FROM made")
            relation.write_csv(str(paths[0]))
            relation.write_parquet(str(paths[1]))
        except duckdb.IOException as error:
            raise OutputError(f"The results could not be written: {error}") from error
    return paths


def _column(values: list[object]) -> NDArray[Any]:
    """Numbers as float64 or int64, all else as text; nothing is NaN or empty text."""
    if all(isinstance(value, bool) for value in values):
        return np.array(values, dtype=np.bool_)
    if all(isinstance(value, int) for value in values):
        return np.array(values, dtype=np.int64)
    if all(value is None or isinstance(value, int | float) for value in values):
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return np.array(["" if value is None else str(value) for value in values], dtype=object)
