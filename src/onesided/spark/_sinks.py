"""Where answers are published, once each: a folder of Parquet files, or two tables of PostgreSQL.

A step is written under its number, as a whole or not at all, and never over another answer. What
is there is what the public has seen: a state that was restored from an old copy publishes that
again and nothing else in its place.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Final, Protocol

import sqlalchemy as sa
from pyspark.sql import SparkSession
from sqlalchemy.dialects.postgresql import insert

from onesided.errors import LedgerFormatError, OutputError
from onesided.monitor import MonitorRelease
from onesided.monitor.kit import PublishedStep
from onesided.spark._files import Folder
from onesided.store import DatabaseUrl, address

_CHAIN: Final = "_step.json"  # Spark and its kin leave out names that begin so
_DRAFTS: Final = "_drafts"


class Sink(Protocol):
    """What has been published, and how to publish one more step."""

    def at(self, number: int) -> PublishedStep | None:
        """What was published as that step, or None."""
        ...

    def after(self, number: int) -> list[PublishedStep]:
        """The published steps after that one, in order."""
        ...

    def write(self, release: MonitorRelease) -> None:
        """Publish a step, unless it is there. Errors: LedgerFormatError if another is."""
        ...


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
        """What was published as that step, or None."""
        if number <= len(self._seen):
            return self._seen[number - 1]
        text = self._folder.text(f"{_name(number)}/{_CHAIN}")
        return None if text is None else _step(text, self._folder.path)

    def after(self, number: int) -> list[PublishedStep]:
        """The published steps after that one, in order."""
        while (step := self.at(len(self._seen) + 1)) is not None:
            self._seen.append(step)
        return self._seen[number:]

    def write(self, release: MonitorRelease) -> None:
        """Written beside, then renamed: a reader sees all of a step or nothing of it."""
        held = self.at(release.number)
        if held is not None:
            _refuse_other(held, release)
            return
        import pyarrow as pa  # noqa: PLC0415 - loads on use
        import pyarrow.parquet as pq  # noqa: PLC0415

        # Not by a job of Spark: a speculative copy of its task, or one that a dead driver left
        # behind, may still write into the draft when that is published. Nor into a draft that
        # another driver, not quite dead, may be writing too.
        name, parquet = f"_{release.number}-{secrets.token_hex(8)}", BytesIO()
        draft = f"{_DRAFTS}/{name}"
        columns = {**_facts(release), **_statuses(release)}
        kinds = {"at_most": pa.int64()}  # even where none is told
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
        held = self.at(release.number)
        if held is None:
            raise _foreign(release)
        _refuse_other(held, release)
        for left in self._folder.names(_DRAFTS):
            if int(left[1:].partition("-")[0]) < release.number:
                self._folder.remove(f"{_DRAFTS}/{left}")


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
    sa.Column("at_most", sa.BigInteger),
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
        """What was published as that step, or None."""
        return next(iter(self._found(_steps.c.step == number)), None)

    def after(self, number: int) -> list[PublishedStep]:
        """The published steps after that one, in order."""
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
                    target = f"{table} (step, place, status, at_most)"
                    with cursor.copy(f"COPY {target} FROM STDIN") as copy:
                        for row in zip(*columns.values(), strict=True):
                            copy.write_row((release.number, str(row[0]), *row[1:]))
                return
        held = self.at(release.number)
        if held is None:
            raise _foreign(release)
        _refuse_other(held, release)

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


def _step(text: str, path: str) -> PublishedStep:
    try:
        return PublishedStep(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise LedgerFormatError(
            f"A step in {path!r} is none that a monitor published.",
            hint="Restore the folder, or publish this monitor to a folder of its own.",
            path=path,
        ) from error


def _name(number: int) -> str:
    return f"step={number:08}"


def _chain(release: MonitorRelease) -> dict[str, str]:
    return {"batch": release.batch, "time": release.time, "head": release.head}


def _facts(release: MonitorRelease) -> dict[str, list[str]]:
    size = release.rules.size
    return {"batch": [release.batch] * size, "time": [release.time] * size}


def _statuses(release: MonitorRelease) -> dict[str, list[Any]]:
    """Columns place, status, at_most; what else travels with the places is public elsewhere."""
    columns = release.columns()
    most = [None if value is None else int(value) for value in columns["at_most"]]
    return {"place": list(release.places), "status": columns["status"], "at_most": most}


def _refuse_other(held: PublishedStep, release: MonitorRelease) -> None:
    if (held.batch, held.head) != (release.batch, release.head):
        raise _foreign(release)


def _foreign(release: MonitorRelease) -> LedgerFormatError:
    return LedgerFormatError(
        f"Step {release.number} was published there with another answer, or by another monitor.",
        hint="Publish each monitor to a place of its own. Nothing was overwritten.",
        step=release.number,
    )
