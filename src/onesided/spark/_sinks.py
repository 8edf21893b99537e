"""Where rows come from, and where answers are published, once each."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any, Final, Protocol

import sqlalchemy as sa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from sqlalchemy.dialects.postgresql import insert

from onesided.errors import (
    DataError,
    LedgerFormatError,
    LedgerUnavailableError,
    OutputError,
    ParameterError,
    UnknownColumnError,
)
from onesided.monitor import MonitorRelease
from onesided.monitor.kit import Chain, PublishedStep, Scale, time_in_name
from onesided.spark._rows import WHOLE, Folder, column_named, literal, located, readable
from onesided.store import DatabaseUrl, address

# Where answers are published, once each: a folder of Parquet files, or two tables of PostgreSQL.
#
# A step is written under its number, as a whole or not at all, and never over another answer. What
# is there is what the public has seen: a state that was restored from an old copy publishes that
# again and nothing else in its place.

_CHAIN: Final = "_step.json"  # Spark and its kin leave out names that begin so
_DRAFTS: Final = "_drafts"


class Sink(Chain, Protocol):
    """What has been published, and how to publish one more step."""

    def write(self, release: MonitorRelease) -> None:
        """Publish a step, unless it is there. Errors: LedgerFormatError if another is."""


def sink_of(spark: SparkSession, given: str | Path | DatabaseUrl) -> Sink:
    """A PostgreSQL URL, or a folder by path or URI (hdfs://, s3a://, file://)."""
    text = str(given)
    if isinstance(given, DatabaseUrl) or text.startswith(("postgresql://", "postgresql+")):
        where = address(given)
        return PostgresSink(where if isinstance(where, DatabaseUrl) else DatabaseUrl.of(text))
    return ParquetSink(spark, text)


class ParquetSink:
    """A folder with one folder for each step: ``step=00000012/``, columns as the release's."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._folder = Folder(spark, path)
        self._seen: list[PublishedStep] = []  # from the first on: they never change

    def at(self, number: int) -> PublishedStep | None:
        if number <= len(self._seen):
            return self._seen[number - 1]
        text = self._folder.text(f"{_name(number)}/{_CHAIN}")
        return None if text is None else PublishedStep.read(text, self._folder.path)

    def after(self, number: int) -> list[PublishedStep]:
        while (step := self.at(len(self._seen) + 1)) is not None:
            self._seen.append(step)
        return self._seen[number:]

    def write(self, release: MonitorRelease) -> None:
        """Written beside, then renamed: a reader sees all of a step or nothing of it."""
        if (held := self.at(release.number)) is not None:
            _refuse_other(held, release)
            return
        import pyarrow as pa  # noqa: PLC0415 - loads on use
        import pyarrow.parquet as pq  # noqa: PLC0415

        # Not by a job of Spark: a speculative copy of its task, or one that a dead driver left
        # behind, may still write into the draft when that is published. Nor into a draft that
        # another driver, not quite dead, may be writing too.
        name, parquet = f"_{release.number}-{secrets.token_hex(8)}", BytesIO()
        draft = f"{_DRAFTS}/{name}"
        size = release.rules.size
        facts = {"batch": [release.batch] * size, "time": [release.time] * size}
        columns = {**facts, **_statuses(release)}
        kinds = dict.fromkeys(_BOUNDS, pa.int64())  # even where none is told
        pq.write_table(
            pa.table({name: pa.array(column, kinds.get(name)) for name, column in columns.items()}),
            parquet,
        )
        public = {"step": release.number, **_chain(release)}
        try:
            self._folder.write(f"{draft}/part-0.parquet", parquet.getvalue())
            self._folder.write_text(f"{draft}/{_CHAIN}", json.dumps(public))
            self._folder.rename(draft, _name(release.number))
            # Whoever comes second has moved a draft into the published folder, where none looks.
            self._folder.remove(f"{_name(release.number)}/{name}")
        except OutputError:
            if self.at(release.number) is None:
                raise  # or another driver was faster, and has tidied up
        _refuse_other(self.at(release.number), release)
        for left in self._folder.names(_DRAFTS):
            if int(left[1:].partition("-")[0]) < release.number:
                self._folder.remove(f"{_DRAFTS}/{left}")


# The last is told beside alarms alone.
_BOUNDS: Final = ("at_most", "open_at_least")
_metadata = sa.MetaData()
_steps = sa.Table(
    "onesided_published_steps",
    _metadata,
    sa.Column("step", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("batch", sa.Text, nullable=False, unique=True),
    sa.Column("time", sa.Text, nullable=False),
    sa.Column("head", sa.Text, nullable=False),
)
_rows = sa.Table(
    "onesided_published_statuses",
    _metadata,
    sa.Column("step", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("place", sa.Text, primary_key=True),
    sa.Column("status", sa.Text, nullable=False),
    *(sa.Column(name, sa.BigInteger) for name in _BOUNDS),
)


class PostgresSink:
    """Tables ``onesided_published_steps`` and ``onesided_published_statuses``.

    One transaction for each step.
    """

    def __init__(self, url: DatabaseUrl) -> None:
        self._engine = sa.create_engine(
            url.for_driver(),
            poolclass=sa.NullPool,
            execution_options={"schema_translate_map": {None: url.schema}},
        )
        self._driver: Any = self._engine.dialect.dbapi
        self._name, self._schema = str(url), url.schema.replace('"', '""')
        with self._transaction() as connection:
            _metadata.create_all(connection)

    def at(self, number: int) -> PublishedStep | None:
        return next(iter(self._found(_steps.c.step == number)), None)

    def after(self, number: int) -> list[PublishedStep]:
        return self._found(_steps.c.step > number)

    def write(self, release: MonitorRelease) -> None:
        """The step, then its rows; whoever comes second finds the step there."""
        chain = _chain(release)
        with self._transaction() as connection:
            new = insert(_steps).values(step=release.number, **chain).on_conflict_do_nothing()
            if connection.execute(new.returning(_steps.c.step)).first() is not None:
                columns = _statuses(release)
                raw: Any = connection.connection
                with raw.cursor() as cursor:
                    table = f'"{self._schema}".onesided_published_statuses'
                    target = f"{table} (step, {', '.join(columns)})"
                    with cursor.copy(f"COPY {target} FROM STDIN") as copy:
                        for row in zip(*columns.values(), strict=True):
                            copy.write_row((release.number, str(row[0]), *row[1:]))
                return
        _refuse_other(self.at(release.number), release)

    def _found(self, condition: Any) -> list[PublishedStep]:
        query = sa.select(_steps).where(condition).order_by(_steps.c.step)
        with self._transaction() as connection:
            return [PublishedStep(**row._mapping) for row in connection.execute(query)]  # noqa: SLF001

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except (sa.exc.SQLAlchemyError, self._driver.Error) as error:  # COPY is the driver's own
            raise OutputError(
                f"{self._name} could not be read or written: {type(error).__name__}.",
                hint="The answers are stored and will be published unchanged: start again.",
            ) from None


def _name(number: int) -> str:
    return f"step={number:08}"


def _chain(release: MonitorRelease) -> dict[str, str]:
    return {"batch": release.batch, "time": release.time, "head": release.head}


def _statuses(release: MonitorRelease) -> dict[str, list[Any]]:
    """Columns place, status, bounds; what else travels with the places is public elsewhere."""
    columns = release.columns()
    told: dict[str, list[Any]] = {
        name: [None if value is None else int(value) for value in columns[name]]
        for name in _BOUNDS
        if name in columns
    }
    return {"place": list(release.places), "status": columns["status"], **told}


def _refuse_other(held: PublishedStep | None, release: MonitorRelease) -> None:
    if held is None or (held.batch, held.head) != (release.batch, release.head):
        raise LedgerFormatError(
            f"Step {release.number} was published there with another answer, or by another "
            "monitor.",
            hint="Publish each monitor to a place of its own. Nothing was overwritten.",
            step=release.number,
        )


# Which public batches there are, and where their rows can be read.
#
# A stream is of *announcements*, one for each public batch, not of rows: a batch that nobody was in
# is announced like any other, and neither ids nor times can follow rows, as a watermark does.

_LISTING: Final = "path string, modificationTime timestamp, length bigint, content binary"
_MANIFEST: Final = ("batch", "time")
_TYPED: Final = frozenset(["parquet", "orc", "avro"])
# Left to itself, Spark takes in no file that is a week older than the newest one, in silence.
_OLDEST: Final = "36500d"
# What Spark's readers of text make of bytes that are no UTF-8: persons would become one person.
_LOST: Final = "\ufffd"
# Half a letter that JSON escapes by itself: Spark reads each as "?", whichever it was.
_HALF: Final = (
    r"\\u[dD][89aAbB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    r"|(?<!\\u[dD][89aAbB][0-9a-fA-F]{2})\\u[dD][c-fC-F]"
)


@dataclass(frozen=True, slots=True)
class Announced:
    """A public batch: its id, its time, and where its rows are. All three are public.

    standing: announced whenever batches are asked for, so that an answered one is passed over.
    row: of the stream that announced it, where there is one.

    >>> od.spark.Announced("visits-7.parquet", 7, "in/visits-7.parquet").time
    7
    """

    id: str
    time: object
    path: str = ""
    standing: bool = False
    row: Any = None


@dataclass(frozen=True, slots=True)
class Source:
    """Where batches are announced and read; made by :func:`files`, :func:`manifest`, :func:`queue`.

    stream: of announcements; None if it is asked, not followed. announced: the batches in a piece
    of the stream. read: the rows of one, as a table of Spark.

    >>> tables = {"monday": spark.createDataFrame([(1, "gym")], "person int, place string")}
    >>> told = [od.spark.Announced("monday", 1)]
    >>> source = od.spark.Source(None, lambda piece, scale: told, lambda one: tables[one.id])
    >>> source.read(told[0]).columns
    ['person', 'place']
    """

    stream: DataFrame | None
    announced: Callable[[DataFrame | None, Scale], Sequence[Announced]]
    read: Callable[[Announced], DataFrame]


def files(
    spark: SparkSession,
    folder: str,
    *,
    pattern: str = "*.parquet",
    schema: str | None = None,
    format: str = "parquet",  # noqa: A002 - Spark's word for it
) -> Source:
    """One file of a folder, one public batch: its id is its name, its time the one in its name.

    pattern: of names. format, schema: as Spark reads one file; CSV and JSON need a schema. A file
    has to appear whole (write it elsewhere and rename it). A date and hour in the name stands for
    the end of that hour; a date for the end of that day; with whole-number times, the last number.
    However old a file is, it is taken in, and so is one without a byte: a batch without rows. In
    formats that are text, a value that is no UTF-8 (or has U+FFFD in it, as Spark tells it) is
    unknown, so its batch is refused; moments without a zone are UTC.

    Errors: DataError for a folder that Spark cannot read; as batches come, for a name without a
    time, and for a file that is none of ``format``.

    >>> import pathlib
    >>> pathlib.Path("visits").mkdir()
    >>> od.spark.files(spark, "visits").stream.isStreaming
    True
    """

    def announced(piece: DataFrame | None, scale: Scale) -> list[Announced]:
        paths = [] if piece is None else [row["path"] for row in piece.select("path").collect()]
        found = [_named(path, scale) for path in paths]
        # Spark tells of no file that is empty, so its stream says when to look, and not at what:
        # that somebody was in a batch must not decide whether, or when, it is taken in.
        others = sorted(set(Folder(spark, folder).files(pattern)) - set(paths))
        return found + [replace(_named(path, scale), standing=True) for path in others]

    def read(one: Announced) -> DataFrame:
        reader = spark.read.format(format).options(**WHOLE)
        if format not in _TYPED:
            reader = reader.option("timeZone", "UTC")
        if format == "json":
            lines = spark.read.options(**WHOLE).text(literal(one.path))
            if lines.where(F.col("value").rlike(_HALF)).limit(1).count():
                raise DataError(
                    f"{one.id!r} has half a letter in it (such as \\ud800 alone). Spark reads "
                    "each as '?': two people could become one.",
                    hint="Mend the file and send it again. Nothing was drawn or stored.",
                    batch=one.id,
                )
        table = (reader if schema is None else reader.schema(schema)).load(literal(one.path))
        return table if format in _TYPED else _known(table)

    listed = spark.readStream.format("binaryFile").schema(_LISTING)
    listed = listed.options(pathGlobFilter=pattern, maxFileAge=_OLDEST, **WHOLE)
    with readable(folder):
        stream = listed.load(literal(located(folder))).select("path")
    return Source(stream, announced, read)


def manifest(stream: DataFrame, read: Callable[[Any], DataFrame] | None = None) -> Source:
    """A stream of announcements: columns ``batch``, ``time`` and, without ``read``, ``path``.

    read: makes the table of rows from an announcement (its row of the stream); by default the
    Parquet files at ``path``, which is a name and no pattern. A watermark on the stream changes
    nothing. A stream of files needs ``maxFileAge`` where announcements may come a week late.

    Errors: UnknownColumnError for a stream that does not say which batch and time there is;
    DataError for a time that would depend on the machine's zone.

    >>> clock = spark.readStream.format("rate").load()
    >>> told = clock.selectExpr("concat('batch ', value) batch", "value time", "'visits' path")
    >>> od.spark.manifest(told).stream.columns
    ['batch', 'time', 'path']
    """
    if not stream.isStreaming:
        raise ParameterError(
            "The table is no stream.", hint="Give what spark.readStream made, or step() tables."
        )
    for name in (*_MANIFEST, *(() if read else ("path",))):
        if name not in stream.columns:
            raise UnknownColumnError(
                f"The stream has no column {name!r}: it must announce public batches by 'batch' "
                "and 'time'.",
                hint=f"Its columns are {', '.join(stream.columns)}. Rows alone do not say which "
                "batch is complete, and an empty one could not be told. Announce batches by a "
                "manifest, see docs/spark.md.",
                column=name,
            )
    if dict(stream.dtypes)["time"] == "timestamp":
        raise DataError(
            "Column 'time' of the stream is a timestamp, which Spark hands over in the zone of "
            "this machine.",
            hint="Announce times as text in ISO 8601, or as timestamp_ntz in UTC.",
            column="time",
        )
    spark = stream.sparkSession

    def announced(piece: DataFrame | None, _: Scale) -> list[Announced]:
        rows = [] if piece is None else piece.collect()
        return [
            Announced(row["batch"], row["time"], row.asDict().get("path") or "", row=row)
            for row in rows
        ]

    def load(one: Announced) -> DataFrame:
        if read is not None and one.row is not None:
            return read(one.row)
        return spark.read.options(**WHOLE).parquet(literal(one.path))

    return Source(stream, announced, load)


def queue(
    spark: SparkSession,
    url: str | DatabaseUrl,
    *,
    jdbc: str,
    options: dict[str, str] | None = None,
    batches: str = "batches",
    visits: str = "visits",
) -> Source:
    """A PostgreSQL table as a queue: ``batches`` (id, time, closed) announces, ``visits`` has rows.

    A row of ``visits`` names its batch in the column ``batch``. A batch is taken once its
    ``closed`` is true; nothing may be added to it afterwards. url: of the database, for the
    driver, with the schema of both tables; jdbc, options: the same for Spark's executors, whose
    class path needs PostgreSQL's JDBC driver. Names are taken letter by letter.

    Errors: LedgerUnavailableError, when it is asked, for a database that does not answer.

    >>> at = "localhost/club"
    >>> source = od.spark.queue(spark, f"postgresql://{at}", jdbc=f"jdbc:postgresql://{at}")
    >>> source.stream is None  # nothing to follow: run() asks it
    True
    """
    address = DatabaseUrl.of(url)
    engine = sa.create_engine(address.for_driver(), poolclass=sa.NullPool)
    columns: list[Any] = [sa.column(name) for name in ("id", "time", "closed")]
    held = address.schema, visits
    closed = sa.table(batches, *columns, schema=address.schema)

    def announced(_: DataFrame | None, __: Scale) -> list[Announced]:
        wanted = sa.select(closed.c.id, closed.c.time).where(closed.c.closed)
        try:
            with engine.connect() as connection:
                found = connection.execute(wanted)
                return [Announced(row.id, row.time, standing=True) for row in found]
        except sa.exc.SQLAlchemyError as error:
            raise LedgerUnavailableError(
                f"the queue {batches!r} could not be read: {type(error).__name__}.",
                hint="Nothing was drawn or stored; ask again.",
            ) from None

    def read(one: Announced) -> DataFrame:
        table = ".".join(f'"{name.replace(chr(34), 2 * chr(34))}"' for name in held)
        reader = spark.read.format("jdbc").option("url", jdbc).option("dbtable", table)
        reader = reader.option("driver", "org.postgresql.Driver").options(**(options or {}))
        # Else a moment without a zone is in the zone of whatever machine reads it, not in UTC.
        reader = reader.option("preferTimestampNTZ", "true")
        return reader.load().where(F.col("batch") == F.lit(one.id)).drop("batch")

    return Source(None, announced, read)


def source_of(given: object, read: Callable[[Any], DataFrame] | None) -> Source:
    """A source, or one over a stream of announcements. Errors: ParameterError."""
    if isinstance(given, Source):
        return given
    if isinstance(given, DataFrame):
        return manifest(given, read)
    raise ParameterError(
        f"A stream of Spark is needed, got {type(given).__name__}.",
        hint="Give onesided.spark.files(...), queue(...), or a streaming DataFrame that announces "
        "batches.",
    )


def _known(table: DataFrame) -> DataFrame:
    """The table, in which text with a letter that was lost is unknown."""
    texts = [name for name, kind in table.dtypes if kind == "string"]
    lost = {name: F.contains(column_named(name), F.lit(_LOST)) for name in texts}
    return table.withColumns({n: F.when(~lost[n], column_named(n)) for n in texts})


def _named(path: str, scale: Scale) -> Announced:
    name = PurePosixPath(path).name
    ticks = time_in_name(PurePosixPath(name).stem, scale)
    if ticks is None:
        raise DataError(
            f"The name {name!r} holds no time, so the batch has no public time.",
            hint="Name files by the period that they cover, such as visits-2026-11-21T07.parquet, "
            "or announce them by a manifest. Nothing was drawn or stored.",
            batch=name,
        )
    return Announced(name, scale.text(ticks) if scale.dated else ticks, path)
