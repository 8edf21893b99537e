"""``onesided monitor``: follow a folder of batches and keep a public status page current."""

from __future__ import annotations

import datetime as dt
import signal
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal, TypeAlias

import duckdb
import narwhals as nw
import numpy as np
import typer
from rich.text import Text

from onesided._english import many
from onesided.cli._ask import ledger_line, unread
from onesided.cli._options import Printed
from onesided.cli._tables import (
    as_declared,
    file_of_keys,
    is_table,
    read_policy,
    read_schema,
    reading,
    stem,
    under_names,
    usable,
    with_degrees,
)
from onesided.cli._terminal import Terminal, clean, print_line
from onesided.engine import Table
from onesided.engine.kit import Column, beside, position_columns, quoted
from onesided.errors import DataError, ParameterError, SchemaError, UnknownColumnError, first_line
from onesided.fields import settle
from onesided.ledger import at_delta
from onesided.monitor import Monitor, MonitorRelease
from onesided.monitor.kit import (
    Columns,
    Folder,
    Look,
    Positions,
    Scale,
    columns_of,
    duration,
    open_ledger,
    read_window,
    refuse_deciding,
    time_in_name,
    times_of,
)
from onesided.schema import Schema
from onesided.show import read_outline

_WHOLE: Final = frozenset(
    f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "", "BIG", "HUGE")
) | {"INTEGER", "UINTEGER"}
# Of other types one value has several texts: 7 and 7.0 would be two people, or two places.
_NAMES: Final = _WHOLE | {"VARCHAR", "UUID"}
_TIMES: Final = "a date and time in the file's name, such as visits-2026-11-21T07-30.parquet"


# Where a batch's public time comes from, and what becomes of rows at places that are no keys.
BatchTime: TypeAlias = Literal["auto", "name", "column", "latest", "modified"]
Unknown: TypeAlias = Literal["error", "ignore"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(Printed):
    """Which folder is followed, and how. Command line and configuration fill this."""

    input: Path
    epsilon: str
    at_most: int
    window: str
    state: str
    out: Path
    keys: Path | None = None
    schema: Path | None = None
    every: str = "5s"
    at_least: int | None = None
    policy: str = "presence"
    sensitive: str | None = None
    max_groups: int | None = None
    charges: int = 1
    person: str | None = None
    place: str = "place"
    time: str | None = None
    batch_time: BatchTime = "auto"
    unknown_places: Unknown = "error"
    ledger: str | None = None
    budget: str | None = None
    ahead: str = "5m"
    title: str = "Monitor"
    outline: Path | None = None
    once: bool = False
    as_json: bool = False


WORDS: Final = {
    "input": "Folder of .parquet or .csv batches.",
    "epsilon": "Privacy loss that hides any --max-groups visits of a person.",
    "at_most": "Certify places with at most this many people.",
    "window": "How long a visit counts: 90s, 5m, 2h, 14d, or a whole number.",
    "state": "State file, or a PostgreSQL URL.",
    "out": "Folder for the page and its data.",
    "every": "How often to look for new batches.",
    "at_least": "Also tell, certainly, where at least this many open people were.",
    "sensitive": "SQL that is true for visits that are not open.",
    "max_groups": "Visits of a person that ε hides together.",
    "charges": "How many answers above the threshold a record may be charged for.",
    "person": "Column that says whose visit it is; the schema's unit, or 'person'.",
    "place": "Column of the place; also in the keys.",
    "time": "Column of event times.",
    "batch_time": "Where a batch's public time comes from; see docs/monitor.md.",
    "unknown_places": "Rows at other places: an error, or left out.",
    "ledger": "Ledger; by default beside the state.",
    "ahead": "How far a batch may be ahead of the clock.",
    "title": "Title of the page.",
    "once": "Process the files that are there, and stop.",
    "as_json": "Print a line of JSON for each step.",
}


def monitor(job: Job) -> None:
    """Follow a folder; certify, never wrongly, which places had at most so many people.

    Each file is one batch. Its name is the batch's id and is accepted once. Every
    answer is drawn once, stored, then published. Stop with Ctrl-C or SIGTERM; the
    same command continues from there.

    Example: onesided monitor --input batches/ --every 5s --keys places.parquet
    --max-groups 3 --epsilon 1 --at-most 5 --window 14d --state state.db
    --out public/
    """
    if not job.input.is_dir():
        raise DataError(f"There is no folder {str(job.input)!r}.", hint="Make it first.")
    wait = duration(job.every, name="--every") / 10**6
    length = int(job.window) if job.window.isdecimal() else job.window
    declared = read_schema(job.schema) or Schema()
    names, positions = read_places(job.keys, job.place, declared)
    policy = read_policy(job.policy, max_groups=job.max_groups, sensitive=job.sensitive)
    deciding = () if job.at_least is None else columns_of(policy)
    layout = Layout(job, declared, read_window(length)[0], deciding)
    look = Look(
        title=job.title,
        noun=job.place,
        window=job.window,
        notes=layout.notes,
        positions=positions,
        outline=None if job.outline is None else read_outline(job.outline),
    )
    book = open_ledger(job.ledger, job.state)
    new = next(iter(book.accounts()), None) is None
    opened = Monitor(
        names,
        at_most=job.at_most,
        at_least=job.at_least,
        window=length,
        epsilon=job.epsilon,
        policy=policy,
        charges=job.charges,
        state=job.state,
        published=job.out,
        ledger=book,
        budget=job.budget,
        on_unknown=job.unknown_places,
        read_as=layout.read_as,
        ahead=job.ahead,
    )
    with book, opened:
        folder = Folder(path=job.out, look=look, guarantees=opened.guarantees())
        raise typer.Exit(Follower(job, opened, layout, folder).run(new=new, wait=wait))


@dataclass(slots=True)
class Follower:
    """Takes in new files, oldest first, and republishes after each round."""

    job: Job
    monitor: Monitor
    layout: Layout
    _folder: Folder
    _done: dict[str, tuple[int, int]] = field(default_factory=dict)
    _complained: dict[str, tuple[int, int]] = field(default_factory=dict)
    _console: Terminal = field(init=False)
    _notices: Terminal = field(default_factory=lambda: Terminal(stderr=True))

    def run(self, *, new: bool, wait: float) -> int:
        """Follow until told to stop; returns the exit code: of the signal, or 2 for refusals."""
        monitor = self.monitor
        self._console = Terminal(quiet=self.job.quiet or self.job.as_json)
        last = monitor.last
        own, book = monitor.rules.policy.identity, monitor.ledger
        held = next(one for one in book.balances() if one.policy_id == own)
        left, at = held.remaining, at_delta(held)
        self._console.print(ledger_line(clean(book.name), new=new, left=left, at=at), style="bold")
        self._console.print("\n".join(monitor.guarantees().sentences), style="dim")
        if last is not None:
            kept = self._folder.frames.maxlen or 0
            self._folder.add(monitor.history(after=max(0, last.number - kept)))
            self._publish(last)
            self._console.print(f"Resumed after step {last.number:,} (batch {last.batch}).")
        if monitor.awaited:
            self._notices.print(
                f"The state is {many(len(monitor.awaited), 'step')} behind what was published. "
                "The same "
                "batches will get the same answers; nothing else is taken in before them."
            )
        with _stoppable() as stop:
            while True:
                refused = self._round(stop)
                if self.job.once or stop.wait(wait):
                    break
        last = monitor.last
        if stop.is_set():
            self._notices.print(
                f"Stopped after step {last.number if last else 0:,}. The same command goes on "
                "from there."
            )
            return stop.code
        return 2 if refused and self.job.once else 0

    def _round(self, stop: Stop) -> int:
        """Take in what is new; publish if anything was."""
        refused, releases = 0, deque[MonitorRelease](maxlen=self._folder.frames.maxlen)
        for file in self._waiting():
            if stop.is_set():
                break
            try:
                release = self._step(file)
            except (DataError, ParameterError) as error:
                refused += 1
                # Once for each version of a file, to the curator only; it is tried again each
                # round.
                if self._complained.get(file.name) != file.stamp:
                    self._complained[file.name] = file.stamp
                    self._notices.print(Text("Not taken in: ", style="bold yellow"), end="")
                    self._notices.print(f"{clean(file.name)}: {error.reason} {error.hint}")
                continue
            self._done[file.name] = file.stamp
            if release is not None:
                releases.append(release)
                self._console.print(release.summary)
                if self.job.as_json:
                    about = {"step": release.number, "batch": release.batch, "time": release.time}
                    print_line({**about, **release.counts, "head": release.head})
        if releases:
            self._folder.add(releases)
            self._publish(releases[-1])
        return refused

    def _publish(self, release: MonitorRelease) -> None:
        since = self.monitor.history(after=self._folder.steps.last)
        self._folder.write(release, since=since)

    def _waiting(self) -> list[BatchFile]:
        """New or changed files by their public time; a file without a time goes last."""
        files = []
        for path in sorted(self.job.input.iterdir()):
            if not is_table(path):
                continue
            try:
                stat = path.stat()
            except OSError:
                continue  # gone again
            file = BatchFile(path, (stat.st_mtime_ns, stat.st_size))
            if self._done.get(file.name) != file.stamp:
                files.append(file)
        awaited = {name: place for place, name in enumerate(self.monitor.awaited)}
        first = {file: awaited.get(file.name, len(awaited)) for file in files}
        return sorted(files, key=lambda file: (first[file], self.layout.order(file)))

    def _step(self, file: BatchFile) -> MonitorRelease | None:
        """Take in one file; None if it was accepted before and has not been written to since."""
        accepted = self.monitor.accepted(file.name)
        if accepted is not None and file.older_than(accepted):
            return None
        time, columns, texts = self.layout.read(file)
        release = self.monitor.step(columns, id=file.name, time=time)
        for name, count in texts.items():
            self._notices.print(f"{clean(file.name)}: {count:,} {unread(name, count)}")
        return None if accepted is not None else release


class Stop(threading.Event):
    """Set once a signal asks to stop; ``code`` is what the command then ends with."""

    code = 0


@contextmanager
def _stoppable() -> Iterator[Stop]:
    """Ctrl-C and SIGTERM end the round after the current batch, which is stored and published."""
    stop = Stop()

    def ask(number: int, frame: object) -> None:  # noqa: ARG001 - what the system hands over
        stop.code = 128 + number
        stop.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(frozen=True, slots=True)
class BatchFile:
    """One file of the folder; its name is the batch's id."""

    path: Path
    stamp: tuple[int, int]

    @property
    def name(self) -> str:
        """The batch's id."""
        return self.path.name

    def older_than(self, accepted: str) -> bool:
        """Whether it was last written to before that moment."""
        moment = dt.datetime.fromisoformat(accepted)
        return self.stamp[0] < int(moment.timestamp() * 10**9)


@dataclass(frozen=True, slots=True)
class Layout:
    """Which columns mean what, also who is open, and where public times come from.

    Errors: SchemaError for a schema that would refuse a batch for its rows: its absence shows.
    """

    job: Job
    schema: Schema
    scale: Scale
    deciding: tuple[str, ...] = ()
    person: str = field(init=False)
    time: str = field(init=False)

    def __post_init__(self) -> None:
        job, schema = self.job, self.schema
        settle(self, person=schema.unit_of(job.person) or "person", time=job.time or "time")
        named = Columns(person=self.person, place=job.place, time=self.time)
        refuse_deciding(self.deciding, named)
        for name in (self.person, job.place, self.time, *self.deciding):
            one = schema.columns.get(name)
            if one is not None and (
                one.required or (one.type != "text" and schema.refuses_unreadable(name))
            ):
                raise SchemaError(
                    f"With the schema, one value of {name!r} could refuse a whole batch, and "
                    "everybody would see that it is missing.",
                    hint=f'Write unreadable = "missing" for {name!r}, and leave required out. '
                    "What could not be read is told on the error stream with each batch.",
                    column=name,
                )

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about the times."""
        if self.job.batch_time == "latest":
            return (
                "Each batch bears the latest time of its rows. Whoever runs this monitor says that "
                "this time is public knowledge; if it is not, the schedule tells of that visit.",
            )
        return ()

    @property
    def read_as(self) -> dict[str, str]:
        """The declared types of the columns that are used."""
        wanted = (self.person, self.job.place, self.time, *self.deciding)
        return {n: one.type for n, one in self.schema.columns.items() if n in wanted}

    def order(self, file: BatchFile) -> tuple[int, int, str]:
        """By the time in the name where there is one, then by name."""
        named = self._from_name(file)
        return (0, named, file.name) if named is not None else (1, 0, file.name)

    def read(self, file: BatchFile) -> tuple[object, Mapping[str, Column], Mapping[str, int]]:
        """A batch's public time, its columns as the monitor calls them, and how many were unread.

        Errors: DataError for a damaged file or one without a public time; UnknownColumnError;
        SchemaError for a typed file that is not as declared.
        """
        with reading([file.path], schema=self.schema) as (relation,):
            if not (self.schema.columns or self.schema.missing_unit == "drop"):
                columns, unread = self._columns(relation, file), dict[str, int]()
            else:
                columns, unread = self._declared(relation, file)
        return self._public_time(file, columns.get("time")), columns, unread

    def _declared(
        self, relation: duckdb.DuckDBPyRelation, file: BatchFile
    ) -> tuple[dict[str, Column], dict[str, int]]:
        table = Table(relation, declared=self.schema, unit=self.person, complete=False)
        with table.texts(usable(table), records=True) as rows:
            unread, kept = rows.unreadable(), rows
            if self.schema.missing_unit == "drop" and self.person in rows.names:
                kept = rows.of_somebody(rows.at(self.person))
            return self._columns(under_names(kept), file), unread

    def _columns(self, relation: duckdb.DuckDBPyRelation, file: BatchFile) -> dict[str, Column]:
        wanted = [self.person, self.job.place]
        if self.time in relation.columns or self.job.time is not None:
            wanted.append(self.time)
        types = _types(relation, (*wanted, *self.deciding), file.name)
        for name in wanted[:2]:
            _refuse_ambiguous(types[name], file.name, name)
        for name in self.deciding:
            if types[name] != "BOOLEAN":  # by its type: no one value can keep a batch out
                raise DataError(
                    f"Column {name!r} of {file.name} holds {types[name]}; who is sensitive "
                    "follows from columns of true and false.",
                    hint='Declare it in the schema: type = "boolean", unreadable = "missing".',
                    column=name,
                )
        picked = [f"CAST({quoted(name)} AS VARCHAR)" for name in wanted[:2]]
        picked += [self._moment(name, types[name], file) for name in wanted[2:]]
        names = ("person", "place", "time")[: len(wanted)]
        picked += map(quoted, self.deciding)
        named = zip(picked, (*names, *map(quoted, self.deciding)), strict=True)
        try:
            # All rows in columns: of Arrow where PyArrow is there, of numpy elsewhere.
            relation = relation.project(", ".join(f"{one} AS {name}" for one, name in named))
            if find_spec("pyarrow") is not None:
                table = nw.from_native(relation.to_arrow_table(), eager_only=True)
                return {name: table[name] for name in table.columns}
            found = relation.fetchnumpy()
            return {
                name: one.tolist() if np.ma.isMaskedArray(one) or one.dtype.kind == "O" else one
                for name, one in found.items()
            }
        except duckdb.Error as error:
            raise _damaged(file.path, error) from error

    def _moment(self, name: str, kind: str, file: BatchFile) -> str:
        """SQL that gives a time the monitor can read."""
        column = quoted(name)
        if not self.scale.dated and kind == "VARCHAR":  # what is no whole number is missing
            whole = f"regexp_full_match({column}, '[+-]?[0-9]+')"
            return f"CASE WHEN {whole} THEN CAST({column} AS BIGINT) END"
        if not self.scale.dated and kind not in _WHOLE:
            raise DataError(
                f"Column {name!r} of {file.name} holds {kind}, and times are whole numbers here, "
                "as the window is.",
                hint="Cast the column: rounded, a visit would be at another time.",
                column=name,
            )
        if not self.scale.dated:
            return f"CAST({column} AS BIGINT)"
        if kind == "TIMESTAMP WITH TIME ZONE":
            return f"timezone('UTC', {column})"
        # Whole microseconds, which columns have as they are: also of TIMESTAMP_S and the like.
        return f"CAST({column} AS TIMESTAMP)" if kind.startswith("TIMESTAMP_") else column

    def _public_time(self, file: BatchFile, times: Column | None) -> object:
        source = self.job.batch_time
        if source == "modified":
            return dt.datetime.fromtimestamp(file.stamp[0] / 10**9, dt.UTC)
        named = self._from_name(file)
        if source == "name" or (source == "auto" and named is not None):
            if named is None:
                raise _no_time(file, f"its name holds no time ({_TIMES})")
            return self._said(named)
        gaps = isinstance(times, list) and None in times
        if isinstance(times, nw.Series):
            gaps = times.null_count() > 0
        if times is None or not len(times) or gaps:
            raise _no_time(file, f"column {self.time!r} is missing, empty or has nulls")
        ticks = times_of(times, self.scale, self.time)
        if source != "latest" and ticks.min() != ticks.max():
            raise _no_time(file, f"its rows have different times in column {self.time!r}")
        return self._said(int(ticks.max()))

    def _said(self, ticks: int) -> object:
        """A time on the monitor's scale, as its callers say it."""
        if not self.scale.dated:
            return ticks
        return dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(microseconds=ticks)

    def _from_name(self, file: BatchFile) -> int | None:
        """The end of the period that the name speaks of; a whole number where those are counted."""
        if not self.scale.dated and self.job.batch_time != "name":
            return None
        return time_in_name(stem(file.path), self.scale)


def _types(
    relation: duckdb.DuckDBPyRelation, wanted: Iterable[str], file: str, more: str = ""
) -> dict[str, str]:
    """The columns' types. Errors: UnknownColumnError where one that is wanted is not there."""
    for name in wanted:
        if name not in relation.columns:
            raise UnknownColumnError(
                f"{file} has no column {name!r}.",
                hint=f"Its columns are {', '.join(relation.columns)}{more}.",
                column=name,
            )
    return dict(zip(relation.columns, map(str, relation.types), strict=True))


def _refuse_ambiguous(kind: str, file: str, column: str) -> None:
    if kind not in _NAMES and not kind.startswith("ENUM"):
        raise DataError(
            f"Column {column!r} of {file} holds {kind}; people and places are told apart by text "
            "or whole numbers.",
            hint="Cast the column, in every file alike: 7 and 7.0 would be two of them.",
            column=column,
        )


def _no_time(file: BatchFile, why: str) -> DataError:
    return DataError(
        f"{file.name} has no public time: {why}.",
        hint="A batch's time must not depend on any one visit, or the schedule reveals it. Put "
        f"{_TIMES}, or one and the same value in every row of the column; or say --batch-time "
        "latest if the latest time of each file is public knowledge, or --batch-time modified.",
        batch=file.name,
    )


def read_places(
    path: Path | None, column: str, schema: Schema
) -> tuple[list[str], Positions | None]:
    """The public places of a file, or of the schema, as text, and where the file says they are.

    Errors: DataError; UnknownColumnError; KeysError for a position that is nowhere on Earth;
    ParameterError where neither names them.
    """
    path = file_of_keys(schema, column) if path is None else path
    if path is not None:
        with reading([path], schema=schema) as (relation,), as_declared(relation, schema) as told:
            return _places(told, path, column)
    known = schema.columns.get(column)
    if known is None or known.keys is None or known.type not in ("text", "integer"):
        raise ParameterError(
            "No public places are named.",
            hint=f"Name a file of them with --keys, or keys of {column!r} in the schema.",
        )
    return list(map(str, known.keys)), None


def _places(
    relation: duckdb.DuckDBPyRelation, path: Path, column: str
) -> tuple[list[str], Positions | None]:
    types = _types(relation, (column,), path.name, more="; name one with --place")
    _refuse_ambiguous(types[column], path.name, column)
    picked = [f"CAST({quoted(column)} AS VARCHAR)"]
    sides = position_columns(relation.columns)
    relation = with_degrees(relation, [column])
    picked += [f"TRY_CAST({quoted(side)} AS DOUBLE)" for side in sides or ()]
    try:
        rows = relation.project(", ".join(picked)).fetchall()
    except duckdb.Error as error:
        raise _damaged(path, error) from error
    names = [row[0] for row in rows]
    if sides is None:
        return names, None
    north, east = np.array([row[1:] for row in rows], dtype=np.float64).reshape(-1, 2).T
    beside({"place": names, "latitude": north, "longitude": east}, ("place",))
    return names, (north, east)


def _damaged(path: Path, error: Exception) -> DataError:
    return DataError(
        f"Cannot read {path.name}: {first_line(error)}",
        hint="It may still be being written, be truncated or damaged. Write a batch under another "
        "name and rename it when it is complete.",
    )
