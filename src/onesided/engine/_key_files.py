"""Public keys in a file that a schema names: CSV text read strictly, Parquet with its types."""

from __future__ import annotations

import csv
import datetime as dt
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Final

from onesided.engine._keys import MOST_KEYS
from onesided.engine._protocol import reading
from onesided.engine._sql import quoted
from onesided.errors import KeysError, MissingDependencyError, UnknownColumnError
from onesided.schema import heading_of, read, value_in

_MOST_LINES: Final = 10**6
_MOST_BYTES: Final = 2**26


def key_file(given: str, *, folder: Path | None, name: str, kind: str) -> Any:
    r"""The values of column ``name`` in a .csv or .parquet file, in its order.

    folder: what the file's name is relative to. kind: the declared type, that CSV is read as.
    Errors: KeysError for a file that is missing, too large or holds what is no key; DataError;
    UnknownColumnError.

    >>> _ = Path("hours.csv").write_text("hour\n7\n8\n")
    >>> key_file("hours.csv", folder=None, name="hour", kind="integer")
    [7, 8]
    """
    path = Path(given) if folder is None else folder / given
    try:
        size = path.stat().st_size if path.is_file() else None
    except OSError:
        size = None
    if size is None:
        raise KeysError(
            f"There is no file of keys {str(path)!r}.",
            hint="The schema names it; a name is relative to the schema's own folder.",
        )
    with reading():
        if path.suffix.lower() == ".csv":
            return _from_csv(path, name, kind, size)
        reader = next((one for one in _READERS if find_spec(one)), None)
        if reader is None:
            raise MissingDependencyError(
                f"Nothing here reads {str(path)!r}.",
                hint="pip install 'onesided[polars]', or give the keys as .csv.",
            )
        return _READERS[reader](path, name)


def _from_csv(path: Path, name: str, kind: str, size: int) -> list[Any]:
    if size > _MOST_BYTES:
        raise _too_many(path, f"{size:,} bytes")
    heading = heading_of(path)
    _require(name, heading.names, path)
    place, found = heading.names.index(name), list[Any]()
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file, delimiter=heading.delimiter, strict=True)
        try:
            for row in islice(rows, 1 + heading.skipped, None):
                if not row:
                    continue
                if len(found) == _MOST_LINES:
                    raise _too_many(path, f"more than {_MOST_LINES:,} lines")
                text = row[place] if len(row) == len(heading.names) else ""
                value = read(kind, text) if text else None
                if value is not None and kind not in ("text", "boolean", "integer"):
                    value = value_in(kind, text)
                if value is None:
                    raise KeysError(
                        f"Line {rows.line_num:,} of {str(path)!r} has {text[:60]!r}, which is no "
                        f"key of type {kind}.",
                        hint="Each line must have a key of the type that the schema declares.",
                        line=rows.line_num,
                    )
                found.append(value)
        except csv.Error as error:
            raise KeysError(
                f"Cannot read {str(path)!r}: line {rows.line_num:,}: {error}.",
                hint="Each line must have a value for each column, in whole quotes if in any.",
            ) from error
    return found


def _by_polars(path: Path, name: str) -> Any:
    import polars as pl  # noqa: PLC0415 - optional

    scan = pl.scan_parquet(path, hive_partitioning=False, glob=False)
    _require(name, scan.collect_schema().names(), path)
    _require_few(int(scan.select(pl.len()).collect().item()), path)
    return scan.select(name).collect()[name]


def _by_pyarrow(path: Path, name: str) -> Any:
    from pyarrow import parquet  # noqa: PLC0415 - optional

    file = parquet.ParquetFile(path)
    _require(name, file.schema_arrow.names, path)
    _require_few(file.metadata.num_rows, path)
    return file.read(columns=[name])[name]


def _by_duckdb(path: Path, name: str) -> Any:
    import duckdb  # noqa: PLC0415 - optional

    # A file's name is a pattern to DuckDB: what is one in brackets stands for itself.
    literal = "".join(f"[{mark}]" if mark in "*?[" else mark for mark in str(path))
    with duckdb.connect() as connection:
        table = connection.read_parquet(literal, hive_partitioning=False)
        _require(name, table.columns, path)
        ((rows,),) = table.aggregate("count(*)").fetchall()
        _require_few(int(rows), path)
        kind = str(table.types[table.columns.index(name)])
        if kind != "TIMESTAMP WITH TIME ZONE":
            return [row[0] for row in table.project(quoted(name)).fetchall()]
        # Instants as such would need a library of zones.
        ticks = table.project(f"epoch_us({quoted(name)})").fetchall()
        start = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
        return [None if t is None else start + dt.timedelta(microseconds=t) for (t,) in ticks]


_READERS: Final = {"polars": _by_polars, "pyarrow": _by_pyarrow, "duckdb": _by_duckdb}


def _require(name: str, names: Any, path: Path) -> None:
    if name not in names:
        raise UnknownColumnError(
            f"The file of keys {str(path)!r} has no column {name!r}.",
            hint=f"Its columns are {', '.join(list(names)[:20])}.",
            column=name,
        )


def _require_few(rows: int, path: Path) -> None:
    if rows > MOST_KEYS:
        raise _too_many(path, f"{rows:,} rows")


def _too_many(path: Path, much: str) -> KeysError:
    return KeysError(
        f"The file of keys {str(path)!r} has {much}.",
        hint=f"A .csv file has at most {_MOST_LINES:,} keys, a .parquet file {MOST_KEYS:,}.",
    )
