"""A monitor whose rows stay in Spark."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from onesided.errors import DataError, OnesidedError, ParameterError
from onesided.monitor import Machine, Monitor, MonitorRelease
from onesided.monitor.kit import Chain, Rules, Visits
from onesided.spark._files import readable
from onesided.spark._pairs import NOTHING, Pairs
from onesided.spark._rows import Rows, SparkWindow
from onesided.store import DatabaseUrl, address, plain_text


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

    def _machine(self, rules: Rules) -> Machine:
        return Machine(rules, SparkWindow(self._rows, rules.size))

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
