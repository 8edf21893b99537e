"""A monitor in Spark: fed by micro-batches, and followed by a folder of days."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Self

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from onesided.errors import (
    DataError,
    LedgerFormatError,
    OnesidedError,
    ParameterError,
    PolicyMismatchError,
)
from onesided.monitor import Machine, Monitor, MonitorRelease
from onesided.monitor.kit import Chain, Rules, Visits
from onesided.spark._rows import NOTHING, Folder, Pairs, Rows, SparkWindow, located, readable, said
from onesided.spark._sinks import Announced, Source, sink_of, source_of
from onesided.store import DatabaseUrl, address, plain_text

# A monitor whose rows stay in Spark.


class SparkMonitor(Monitor):
    """A monitor whose batches are tables of Spark; rules, answers and errors as :class:`Monitor`.

    rows: a folder of its own, by path or URI, for the rows in the window; private, and as secret
        as they are. By default ``<state>.rows`` beside a state that is a file. seen: what the
        public has seen, if that is no folder of ``published=``.
    The other arguments are those of :class:`onesided.Monitor`.

    Spark counts; rules, noise and the state are the driver's. So with the same key the same
    batches get the same answers here and on one machine. Of rows the driver sees one count and
    one hash for each public place. Errors: those of :class:`onesided.Monitor`; DataError for
    persons and times of types that Spark would have to guess at.

    >>> from onesided import policy
    >>> rules = {"at_most": 5, "window": 7, "epsilon": 1, "policy": policy.presence(max_groups=3)}
    >>> visits = spark.createDataFrame([(1, "gym"), (2, "gym")], "person int, place string")
    >>> with od.spark.SparkMonitor(spark, ["gym", "bar"], rows="visits", **rules) as monitor:
    ...     release = monitor.step(visits, id="monday", time=1)
    >>> release.number, release.batch
    (1, 'monday')
    """

    def __init__(
        self,
        spark: SparkSession,
        keys: object,
        *,
        rows: str | Path | None = None,
        state: str | Path | DatabaseUrl | None = None,
        seen: Chain | None = None,
        **rules: Any,
    ) -> None:
        state = address(state)
        self._spark, self._chain = spark, seen
        self._rows = Rows(spark, _folder(rows, state))
        super().__init__(keys, state=state, **rules)
        try:
            self._rows.claim(self.identity, lasting=state is not None)
            self._tidy()
        except BaseException:
            self.close()
            raise

    def step(
        self,
        batch: object = None,
        *,
        id: str,  # noqa: A002 - as the monitor calls it
        time: object = None,
    ) -> MonitorRelease:
        """As :meth:`Monitor.step`, of a table of Spark; its rows are read once."""
        try:
            with readable(id):
                return super().step(batch, id=id, time=time)
        finally:
            with contextlib.suppress(OnesidedError):  # the next step, or opening, tidies up
                self._tidy()

    def _prepare(self) -> None:
        ignore = self._on_unknown == "ignore"
        self._pairs = Pairs(self._spark, self._rules, self._columns, ignore_unknown=ignore)

    def _read(self, batch: object, *, id: str, time: object) -> Visits:  # noqa: A002
        name = plain_text(id, name="batch id", empty=False)
        at = self._rules.scale.ticks(time, name="the time of a batch")
        if batch is not None and (not isinstance(batch, DataFrame) or batch.isStreaming):
            raise DataError(
                f"Batch {name!r} is no table of Spark that can be read as a whole: "
                f"{type(batch).__name__}.",
                hint="Give a DataFrame of spark.read, or None for a batch without rows; a stream "
                f"is followed by onesided.spark.monitor. {NOTHING}",
            )
        return self._rows.read(batch, self._pairs, batch=name, time=at)

    def _window(self, rules: Rules) -> Machine:
        return Machine(rules, SparkWindow(self._rows, rules.cells))

    def _restored(self, id: str, time: int, content: bytes) -> Visits:  # noqa: A002
        return self._rows.restored(id, time, content)

    def _seen(self, published: str | Path | None) -> Chain | None:
        return super()._seen(published) if self._chain is None else self._chain

    @property
    def identity(self) -> str:
        """What tells this monitor from every other: the name of its charge, without spaces."""
        with self._journal.read() as transaction:
            header = transaction.header()
        return "" if header is None else header.charge_id.replace(" ", "_")

    def _tidy(self) -> None:
        """Remove rows that the state does not hold. Nobody else steps meanwhile."""
        with self._journal.write() as transaction:
            held = {json.loads(kept.content)["folder"] for kept in transaction.kept()}
            self._rows.keep_only(held)


def _folder(rows: str | Path | None, state: object) -> str:
    if rows is not None:
        return str(rows)
    if isinstance(state, str | Path):
        path = Path(state)
        return str(path.with_name(f"{path.stem}.rows").absolute())
    raise ParameterError(
        "A monitor on Spark needs a folder for the rows in its window.",
        hint='Give rows="folder", which the driver and all executors can write to.',
    )


# A monitor that follows a stream: one public batch at a time, stored, then published.

_MARKS: Final = "onesided"


def monitor(
    stream: Source | DataFrame,
    keys: object,
    *,
    read: Callable[[Any], DataFrame] | None = None,
    sink: str | Path | DatabaseUrl | None = None,
    spark: SparkSession | None = None,
    **rules: Any,
) -> Following:
    """Follow a stream of public batches with :class:`SparkMonitor`.

    stream: :func:`files`, :func:`queue`, or a streaming table that announces batches, see
        :func:`manifest`, where read makes an announcement's rows.
    sink: where answers are published: a folder of Parquet files, by path or URI, or the URL of a
        PostgreSQL database; None returns them from ``monitor.history()`` only.
    rules: those of :class:`SparkMonitor` (and so of :class:`onesided.Monitor`).

    Promise, direction and units are :class:`onesided.Monitor`'s. A batch has one answer, which is
    stored before it is published; a retried task, a killed driver and a restart from the
    checkpoint publish the same answer, once. Errors: those of :class:`onesided.Monitor`, and
    UnknownColumnError for a stream that does not announce batches.

    >>> import pathlib
    >>> from onesided import policy
    >>> rules = {"at_most": 5, "window": "14d", "epsilon": 1}
    >>> rules["policy"] = policy.presence(max_groups=3)
    >>> pathlib.Path("in").mkdir()
    >>> source = od.spark.files(spark, "in")
    >>> with od.spark.monitor(source, ["gym", "bar"], state="state.db", **rules) as following:
    ...     following.run("checkpoint")  # no file is there yet
    0
    """
    source = source_of(stream, read)
    session = spark or (source.stream.sparkSession if source.stream is not None else None)
    session = session or SparkSession.getActiveSession()
    if session is None:
        raise ParameterError("There is no Spark session.", hint="Give spark=.")
    return Following(session, source, keys, sink=sink, **rules)


class Following:
    """A stream and its monitor; made by :func:`monitor`.

    :meth:`run` takes in what there is, :meth:`start` goes on until it is stopped. ``monitor`` is
    the :class:`SparkMonitor`, with its history, guarantees and ledger; it promises what that does.

    >>> from onesided import policy
    >>> table = spark.createDataFrame([(1, "gym")], "person int, place string")
    >>> told = [od.spark.Announced("monday", 1)]
    >>> source = od.spark.Source(None, lambda piece, scale: told, lambda one: table)
    >>> rules = {"at_most": 5, "window": 7, "epsilon": 1, "policy": policy.presence(max_groups=3)}
    >>> rules |= {"rows": "rows", "spark": spark}
    >>> with od.spark.monitor(source, ["gym", "bar"], **rules) as following:
    ...     steps = following.run()
    ...     following.monitor.last.batch
    'monday'
    """

    def __init__(
        self,
        spark: SparkSession,
        source: Source,
        keys: object,
        *,
        sink: str | Path | DatabaseUrl | None,
        **rules: Any,
    ) -> None:
        self._spark, self._source = spark, source
        self._sink = None if sink is None else sink_of(spark, sink)
        self._error: OnesidedError | None = None
        self._told = 0  # so many steps are known to be published, without a gap
        self.monitor = SparkMonitor(spark, keys, seen=self._sink, **rules)
        try:
            if self._sink is not None:
                for step in self._sink.after(0):
                    if step.step != self._told + 1:
                        break
                    self._told = step.step
            self._publish()
        except BaseException:
            self.close()
            raise

    def run(self, checkpoint: str | Path | None = None) -> int:
        """Take in all batches that are announced now; how many steps there are in all.

        checkpoint: Spark's, for a stream: a folder for this monitor alone. Errors: those of the
        batch that was refused; what came before it is published, and the next run begins with it.
        """
        if self._source.stream is None:
            self._take(None)
        else:
            query = self.start(checkpoint, trigger={"availableNow": True})
            try:
                query.awaitTermination()
            except (PySparkException, Py4JError) as error:
                raise (self._error or _stopped(error)) from error
        last = self.monitor.last
        return 0 if last is None else last.number

    def start(
        self, checkpoint: str | Path | None, *, trigger: dict[str, Any] | None = None
    ) -> StreamingQuery:
        """Follow the stream; Spark's query. trigger: as ``DataStreamWriter.trigger`` takes it.

        Errors: ParameterError for a queue, which is asked by :meth:`run`; PolicyMismatchError for
        the checkpoint of another monitor; LedgerFormatError for one that is ahead of the state;
        DataError for a stream that Spark cannot follow.
        """
        if self._source.stream is None or checkpoint is None:
            raise ParameterError(
                "Spark needs a stream and a checkpoint to follow.",
                hint='Give checkpoint="folder". A queue is asked with run(), as often as you like.',
            )
        marks, self._error = Folder(self._spark, f"{checkpoint}/{_MARKS}"), None
        self._refuse_other_checkpoint(marks, str(checkpoint))
        self._mark(marks)

        def take(piece: DataFrame, _: int) -> None:
            try:
                self._take(piece)
            except OnesidedError as error:
                self._error = error
                raise
            self._mark(marks)

        writer = self._source.stream.writeStream.foreachBatch(take)
        writer = writer.option("checkpointLocation", located(checkpoint))
        try:
            return (writer.trigger(**trigger) if trigger else writer).start()
        except (PySparkException, Py4JError) as error:
            raise _stopped(error) from error

    def close(self) -> None:
        """Let go of the state and the ledger. Stop the query first."""
        self.monitor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take(self, piece: DataFrame | None) -> None:
        """The announced batches in the order of their public times, one at a time."""
        self._publish()  # what a sink refused the last time
        with readable("the stream of announcements"):
            announced = self._source.announced(piece, self.monitor.rules.scale)
        # A state that was restored first takes what was published, in that order.
        awaited = {batch: number for number, batch in enumerate(self.monitor.awaited)}
        announced = sorted(announced, key=self._place)
        for one in sorted(announced, key=lambda one: awaited.get(one.id, len(awaited))):
            standing = piece is None or one.standing  # a queue names all that it ever closed
            if standing and self.monitor.accepted(one.id) is not None:
                continue
            with readable(one.id):
                table = self._source.read(one)
            self.monitor.step(table, id=one.id, time=one.time)
            self._publish()

    def _place(self, one: Announced) -> tuple[int, str]:
        """Where a batch stands. One that is announced twice is taken twice, and told again."""
        name = plain_text(one.id, name="the id of a batch", empty=False)
        return self.monitor.rules.scale.ticks(one.time, name="the time of a batch"), name

    def _publish(self) -> None:
        """Publish what was stored and not yet published."""
        if self._sink is None:
            return
        for release in self.monitor.history(after=self._told):
            self._sink.write(release)
            self._told = release.number

    def _mark(self, marks: Folder) -> None:
        """Note beside the checkpoint which monitor it is of, and how far that has come."""
        last = self.monitor.last
        name = f"{self.monitor.identity}-{0 if last is None else last.number}"
        held = marks.names()
        if name not in held:
            marks.write_text(name, "")
        for other in held:
            if other != name:
                marks.remove(other)

    def _refuse_other_checkpoint(self, marks: Folder, checkpoint: str) -> None:
        found = [name.rpartition("-") for name in marks.names() if not name.startswith((".", "_"))]
        strange = not found and set(Folder(self._spark, checkpoint).names()) - {_MARKS}
        if strange or any(who != self.monitor.identity for who, _, _ in found):
            raise PolicyMismatchError(
                f"The checkpoint {checkpoint} is of another query or another monitor.",
                hint="Give each monitor a checkpoint of its own: Spark would leave out the batches "
                "that the other one took in. A new checkpoint is safe: batches that were answered "
                "get the same answers again.",
            )
        last = self.monitor.last
        if any(int(number) > (0 if last is None else last.number) for _, _, number in found):
            raise LedgerFormatError(
                f"The checkpoint {checkpoint} is ahead of the monitor's state, which was restored "
                "from an old copy.",
                hint="Start with a new checkpoint: the same batches get the answers they had.",
            )


def _stopped(error: Exception) -> DataError:
    return DataError(
        f"Spark could not follow the stream: {said(error)}",
        hint="Batches that were taken in are answered and stay. Mend the stream, and start again.",
    )
