"""Public tables as files, in a folder that appears whole or not at all."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from onesided.errors import MissingDependencyError, OutputError, ParameterError

Columns = Mapping[str, Sequence[Any]]
# What makes a spreadsheet take a cell for a formula, at its start or after blanks.
_FORMULA: Final = ("=", "+", "-", "@")
_BLANK: Final = "\t\r\n "


def _free(out: str | Path) -> Path:
    """``out`` as a path that does not exist in a folder that does. Errors: OutputError."""
    target = Path(out)
    if target.exists() or target.is_symlink():
        raise OutputError(
            f"The output folder {str(target)!r} exists already.",
            hint="Choose a new name, or remove it: published results are never overwritten.",
            path=str(target),
        )
    if not target.absolute().parent.is_dir():
        raise OutputError(
            f"There is no folder {str(target.absolute().parent)!r} to put the output in.",
            hint="Create it first.",
            path=str(target),
        )
    return target


@contextmanager
def new_folder(out: str | Path) -> Iterator[Path]:
    """A hidden folder to fill, which gets its name only once everything is in it.

    Errors: OutputError where it cannot be made or written; then nothing is left.
    """
    target = _free(out)
    try:
        partial = _beside(target)
    except OSError as error:
        raise _unwritable(target, error) from error
    try:
        yield partial
        partial.chmod(0o755)
        partial.rename(target)
    except OSError as error:
        raise _unwritable(target, error) from error
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(partial)


def write_csv(columns: Columns, path: Path) -> None:
    """One row per group, in UTF-8. Text that a spreadsheet takes for a formula gets a ``'``."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow([_cell(name) for name in columns])
        rows.writerows(
            [_cell(value) for value in row] for row in zip(*columns.values(), strict=True)
        )


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
    """The formats asked for. Errors: ParameterError for one that is not known, and for none."""
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

    onesided_release = {name: np.array(values) for name, values in columns.items()}
    with duckdb.connect() as connection:
        connection.sql("SELECT * FROM onesided_release").write_parquet(os.fspath(path))
    del onesided_release


def _cell(value: object) -> object:
    text = isinstance(value, str) and value.lstrip(_BLANK).startswith(_FORMULA)
    return f"'{value}" if text else value


def _beside(target: Path) -> Path:
    """A new hidden folder next to ``target``."""
    return Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.absolute().parent))


def _unwritable(target: Path, error: OSError) -> OutputError:
    return OutputError(
        f"The output {str(target)!r} could not be written: {error.strerror or error}.",
        hint="The charge is in the ledger and the release is stored there: make room and ask "
        "again with the same id and again=True (--again) to get the same answer at no charge; "
        "without an id it is lost.",
        path=str(target),
    )
