"""Public tables as files: CSV, JSON, Parquet, Excel and SDMX-CSV."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from onesided._plugins import optional
from onesided.errors import MissingDependencyError, OutputError, ParameterError
from onesided.show._table import Crossed, RoleTable, csv_text
from onesided.store import held

# A folder of output: tried and held before anything is charged, there whole or not at all.


_RESERVED: Final = ".reserved"


@dataclass(slots=True, kw_only=True)
class NewFolder:
    """A folder under a name of its own until :meth:`publish` gives it the asked one.

    >>> with new_folder("out") as folder:
    ...     written = (folder.partial / "a.txt").write_text("whole")
    ...     appeared = folder.publish()
    >>> appeared.name, (appeared / "a.txt").read_text()
    ('out', 'whole')
    """

    target: Path
    partial: Path
    published: bool = field(default=False, init=False)

    def reserve(self, size: int) -> None:
        """Take ``size`` bytes of the disk, so that a full one is found now. Errors: OutputError."""
        if not size:
            return
        try:
            with (self.partial / _RESERVED).open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, size)
        except OSError as error:
            raise unwritable(self.target, error) from error

    def release(self) -> None:
        """Give back what was reserved: the files are about to take it."""
        (self.partial / _RESERVED).unlink(missing_ok=True)

    def publish(self) -> Path:
        """Let it appear, with all that is in it, in one step."""
        self.release()
        self.partial.rename(self.target)
        self.published = True
        return self.target


@contextmanager
def new_folder(out: str | Path, *, room: int = 0) -> Iterator[NewFolder]:
    """Make the folder ``out``, and its parents; unless it is published nothing of it stays.

    room: bytes that are set aside for it at once, see :meth:`NewFolder.reserve`.

    Errors: OutputError if something is called so already, even a link that leads nowhere, if
    another process is making it, or if it cannot be made or has no room.

    >>> with new_folder("never") as folder:
    ...     written = (folder.partial / "half.txt").write_text("half")
    >>> Path("never").exists()
    False
    """
    target = Path(out)
    with ExitStack() as stack:
        try:
            # Make the folders that are missing; those that stay empty go again.
            parent = target.absolute().parent
            missing = [one for one in (parent, *parent.parents) if not one.exists()]
            for one in reversed(missing):
                with suppress(FileExistsError):  # another process made it meanwhile
                    one.mkdir()
                    stack.callback(_remove_empty, one)
            _refuse_taken(target)
            stack.enter_context(held(target.with_name(f".{target.name}.lock")))
            _refuse_taken(target)  # the process that held it before may have made it
            partial = target.with_name(f".{target.name}.partial")
            shutil.rmtree(partial, ignore_errors=True)  # of a process that was killed
            partial.mkdir()
        except BlockingIOError:
            raise OutputError(
                f"Another command is making the output folder {str(target)!r}.",
                hint="Wait for it, or choose another name.",
                path=str(target),
            ) from None
        except OSError as error:
            raise unwritable(target, error) from error
        stack.callback(shutil.rmtree, partial, ignore_errors=True)
        folder = NewFolder(target=target, partial=partial)
        folder.reserve(room)
        yield folder


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):  # it is not empty: the output is in it
        folder.rmdir()


def _refuse_taken(target: Path) -> None:
    if os.path.lexists(target):
        raise OutputError(
            f"The output folder {str(target)!r} exists already.",
            hint="Choose a new name, or remove it: published results are never overwritten.",
            path=str(target),
        )


def unwritable(target: Path, error: OSError, *, charged: bool = False) -> OutputError:
    """``error`` in words; once charged, with the way to the answer that is kept.

    >>> unwritable(Path("out"), OSError(28, "No space left on device")).reason
    "The output 'out' could not be written: No space left on device."
    """
    return OutputError(
        f"The output {str(target)!r} could not be written: {error.strerror or error}.",
        hint="The charge is in the ledger and the release is stored there: make room and ask "
        "again with the same id and again=True (--id, --again) to get the same answer "
        "at no charge; without an id it is lost."
        if charged
        else "Choose another place, or ask for the right to write there. Nothing was charged.",
        path=str(target),
    )


FORMATS: Final = ("csv", "json", "parquet", "xlsx", "html", "sdmx")
_STATEMENT: Final = "onesided.statement"
_QUANTITIES: Final = ("estimate", "lower", "upper")
_DIMENSIONS: Final = ("key", "beside")
_SDMX: Final = {"estimate": "OBS_VALUE"}
_SDMX_ID: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_DATAFLOW: Final = re.compile(r"[A-Za-z][\w.-]*:[\w@$-]+\(\d+(\.\d+)*\)", re.ASCII)
_SHEET_ROWS: Final = 1_048_575  # that many fit below the heading of a sheet


def write_tables(
    table: RoleTable,
    stem: Path,
    formats: Sequence[str],
    *,
    first: Sequence[str] = (),
    about: Sequence[str] = (),
    statement: Mapping[str, Any] = MappingProxyType({}),
    layout: Crossed | None = None,
    structure: str = "",
    unnamed: str = "_O",
) -> None:
    """Write ``stem.csv`` and so on, one file for each format that is a table.

    statement: what the table is about, in JSON and in the metadata of Parquet. about: sentences on
    it, for a second sheet; ``first``, those that must be read before
    any number, stand above them, and the workbook then opens there. layout: one more sheet of it.
    structure: the SDMX dataflow that ``stem.sdmx.csv`` is of; see :func:`require_structure`.
    unnamed: SDMX's code for a row that a key does not name: "_T" for sums, "_O" for all others.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = RoleTable.of({"place": ["gym"], "estimate": [3]})
    ...     write_tables(table, Path(folder) / "release", ["csv"])
    ...     print((Path(folder) / "release.csv").read_text().splitlines())
    ['place,estimate', '"gym",3']
    """
    for name in formats:
        path = stem.with_suffix(".sdmx.csv" if name == "sdmx" else f".{name}")
        if name == "csv":  # a table alone; the statement is in the JSON beside it
            path.write_text(table.csv(), encoding="utf-8")
        elif name == "json":
            path.write_text(_json(table, statement), encoding="utf-8")
        elif name == "parquet":
            _parquet(table, path, statement)
        elif name == "xlsx":
            _xlsx(table, path, first, about, layout)
        elif name == "sdmx":
            path.write_text(_sdmx(table, structure, unnamed), encoding="utf-8")


def require_formats(formats: Sequence[str]) -> tuple[str, ...]:
    """The formats asked for. Errors: ParameterError for one that is not known, and for none.

    >>> require_formats("xlsx")
    ('xlsx',)
    """
    given = (formats,) if isinstance(formats, str) else tuple(formats)
    unknown = [one for one in given if one not in FORMATS]
    if unknown or not given:
        raise ParameterError(
            f"formats={formats!r}: {unknown[0]!r} is unknown."
            if unknown
            else "No format is named.",
            hint=f"Use some of {', '.join(map(repr, FORMATS))}.",
            value=formats,
        )
    return given


def require_structure(structure: str, formats: Sequence[str]) -> None:
    """Hold it to what names an SDMX dataflow. Errors: ParameterError.

    >>> require_structure("EXAMPLE:VISITS(1.0)", ["sdmx"])
    """
    if (bool(structure) or "sdmx" in formats) and not _DATAFLOW.fullmatch(str(structure)):
        raise ParameterError(
            f"structure={structure!r} names no SDMX dataflow.",
            hint='Give agency, id and version, such as formats=["sdmx"], '
            'structure="EXAMPLE:VISITS(1.0)".',
            value=structure,
        )


def require_sheet(rows: int) -> Any:
    """The library that writes Excel. Errors: MissingDependencyError; ParameterError if too long.

    >>> require_sheet(23).__name__
    'xlsxwriter'
    """
    reason = "Writing Excel files needs XlsxWriter."
    xlsxwriter = optional("xlsxwriter", reason, "pip install 'onesided[cli]'")
    if rows > _SHEET_ROWS:
        raise ParameterError(
            f"The {rows:,} rows do not fit in a sheet, which holds {_SHEET_ROWS:,}.",
            hint="Write csv or parquet.",
            rows=rows,
        )
    return xlsxwriter


def _sdmx(table: RoleTable, structure: str, unnamed: str) -> str:
    """SDMX-CSV 2.0: what names a row as dimensions, each number as an estimate ("E").

    Errors: ParameterError for an answer without estimates, and names that SDMX does not have.
    """
    if "estimate" not in table.columns():
        raise ParameterError(
            "SDMX-CSV holds estimates, of which this answer has none.",
            hint='Write it as "csv" or "parquet".',
        )
    size = len(table)
    facts = {"STRUCTURE": "dataflow", "STRUCTURE_ID": structure, "ACTION": "I"}
    columns: dict[str, list[Any]] = {name: [told] * size for name, told in facts.items()}
    for part, values in zip(table.parts, table.columns().values(), strict=True):
        name = part.name if part.role in _DIMENSIONS else _SDMX.get(part.name, part.name.upper())
        if name in (*columns, "OBS_STATUS") or not _SDMX_ID.fullmatch(name):
            raise ParameterError(
                f"SDMX has no column {part.name!r} of a table's own.",
                hint="Call it by letters, digits and _, and by no word of SDMX's.",
                column=part.name,
            )
        none = unnamed if part.role in _DIMENSIONS else None
        columns[name] = [none if value is None else value for value in values]
    columns["OBS_STATUS"] = ["E"] * size
    return csv_text(tuple(columns), zip(*columns.values(), strict=True))


def _json(table: RoleTable, statement: Mapping[str, Any]) -> str:
    """What the rows are about, and a list of them. JSON has no infinity: no bound is null."""
    columns = table.columns()
    rows = [
        {name: _finite(value) for name, value in zip(columns, row, strict=True)}
        for row in zip(*columns.values(), strict=True)
    ]
    told = {"statement": dict(statement), "rows": rows}
    return f"{json.dumps(told, indent=1, ensure_ascii=False, default=str, allow_nan=False)}\n"


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _parquet(table: RoleTable, path: Path, statement: Mapping[str, Any]) -> None:
    """By PyArrow, Polars or DuckDB, whichever is there. Errors: MissingDependencyError."""
    plain = table.columns()
    about = {_STATEMENT: json.dumps(dict(statement), ensure_ascii=False)}
    for attempt in (_by_pyarrow, _by_polars, _by_duckdb):
        with contextlib.suppress(ImportError):
            attempt(plain, path, about)
            return
    raise MissingDependencyError(
        "Writing Parquet needs PyArrow, Polars or DuckDB.", hint="pip install 'onesided[cli]'"
    )


def _by_pyarrow(columns: dict[str, list[Any]], path: Path, about: dict[str, str]) -> None:
    import pyarrow as pa  # noqa: PLC0415 - optional
    import pyarrow.parquet as pq  # noqa: PLC0415 - optional

    def typed(values: list[Any]) -> Any:
        """Text where they have no type together, as where moments beyond Python's are text."""
        try:
            return pa.array(values)
        except (TypeError, ValueError, OverflowError):
            return pa.array([None if one is None else str(one) for one in values])

    table = pa.table({name: typed(values) for name, values in columns.items()})
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), **about})
    pq.write_table(table, os.fspath(path))


def _by_polars(columns: dict[str, list[Any]], path: Path, about: dict[str, str]) -> None:
    import polars as pl  # noqa: PLC0415 - optional

    pl.DataFrame(columns).write_parquet(path, metadata=about)


def _by_duckdb(columns: dict[str, list[Any]], path: Path, about: dict[str, str]) -> None:
    import duckdb  # noqa: PLC0415 - optional
    import numpy as np  # noqa: PLC0415 - with DuckDB alone

    del about  # it writes no metadata from here; the statement is in the JSON beside it

    with duckdb.connect(config={"python_enable_replacements": "false"}) as connection:
        connection.register("release", {n: np.array(values) for n, values in columns.items()})
        connection.table("release").write_parquet(os.fspath(path))


def _xlsx(
    table: RoleTable,
    path: Path,
    first: Sequence[str],
    about: Sequence[str],
    layout: Crossed | None = None,
) -> None:
    """Text is text, never a formula or a link. Errors: as :func:`require_sheet`.

    Whole quantities are grouped as the sheet's reader does; what names a row stands as it is.
    """
    xlsxwriter = require_sheet(len(table))
    plainly = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with xlsxwriter.Workbook(os.fspath(path), {**plainly, "in_memory": True}) as book:
        sheet, bold = book.add_worksheet("release"), book.add_format({"bold": True})
        thousands = book.add_format({"num_format": "#,##0"})
        for column, part in enumerate(table.parts):
            sheet.write_string(0, column, part.name, bold)
            values = part.plain()
            whole = part.role in _QUANTITIES and all(isinstance(one, int) for one in values)
            for row, value in enumerate(values, start=1):
                _put(sheet, row, column, _finite(value), thousands if whole else None)
        sheet.freeze_panes(1, 0)
        sheet.autofit()
        if layout is not None:
            _laid_out(book.add_worksheet("table"), table, layout, bold, thousands)
        if first or about:
            # A second sheet, so that a workbook that is passed on says what it is.
            words = book.add_worksheet("about")
            words.set_column(0, 0, 100)
            for formats, lines, start in (({"bold": True}, first, 0), ({}, about, len(first))):
                wrapped = book.add_format({**formats, "text_wrap": True})
                for place, line in enumerate(lines, start=start):
                    words.write_string(place, 0, line, wrapped)
            if first:
                words.activate()


def _laid_out(sheet: Any, table: RoleTable, layout: Crossed, bold: Any, thousands: Any) -> None:
    """One attribute across, the others down, as in :func:`onesided.show.crossed`."""
    numbers, beside = table.columns()["estimate"], len(layout.down)
    for column, name in enumerate((*layout.down, *layout.heads)):
        sheet.write_string(0, column, name, bold)
    for row, (stub, places) in enumerate(zip(layout.stubs, layout.places, strict=True), start=1):
        for column, name in enumerate(stub):
            sheet.write_string(row, column, name, bold)
        for column, place in enumerate(places, start=beside):
            value = None if place is None else _finite(numbers[place])
            _put(sheet, row, column, value, thousands if isinstance(value, int) else None)
    sheet.freeze_panes(1, beside)
    sheet.autofit()


def _put(sheet: Any, row: int, column: int, value: Any, form: Any) -> None:
    """One cell. A whole number that a sheet's floats cannot hold stays exact, as text."""
    if value is None:
        return
    if isinstance(value, bool):
        sheet.write_boolean(row, column, value)
    elif isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**53):
        sheet.write_number(row, column, value, form)
    else:
        sheet.write_string(row, column, str(value))
