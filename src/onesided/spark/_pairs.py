"""A batch of rows, read by Spark into pairs: each person's latest visit to each place."""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from onesided._english import many
from onesided.errors import DataError, KeysError, UnknownColumnError
from onesided.monitor.kit import LATEST, YEARS, Columns, Rules
from onesided.store import plain_text

NOTHING: Final = "Nothing was drawn or stored."
_WHOLE: Final = ("tinyint", "smallint", "int", "bigint")
_DAY: Final = 86_400 * 10**6
# Rows that cannot be counted stand at places of their own, so that none can be overlooked.
_REFUSED: Final = {
    -1: "without a person",
    -2: "without a place",
    -3: "without a time, or with one that cannot be counted",
    -4: "later than the batch's own time",
    -5: "at a place that is none of the {places}",
}


class Pairs:
    """Reads batches for one set of rules. Errors of columns and types come before Spark runs."""

    def __init__(
        self, spark: SparkSession, rules: Rules, columns: Columns, *, ignore_unknown: bool
    ) -> None:
        self._rules, self._columns, self._ignore = rules, columns, ignore_unknown
        labels: list[Any] = [row[0] for row in rules.keys.rows]
        kinds = {type(label) for label in labels}
        if kinds not in ({int}, {str}):
            raise KeysError(
                "The places of a monitor on Spark must be text, or whole numbers.",
                hint="Cast them to one of these, and the column of the batches too.",
            )
        self._text = kinds == {str}
        if not self._text and not all(-(2**63) <= label < 2**63 for label in labels):
            raise KeysError(
                "A place is beyond 64 bits, which Spark's whole numbers cannot hold.",
                hint="Cast the places to text.",
            )
        if self._text:
            for label in labels:
                plain_text(label, name="a place")
        import pyarrow as pa  # noqa: PLC0415 - loads on use

        kind = pa.string() if self._text else pa.int64()
        table = pa.table({"label": pa.array(labels, kind), "code": pa.array(range(rules.size))})
        self._places = spark.createDataFrame(table).cache()

    def person_type(self, frame: DataFrame, batch: str) -> str:
        """The persons' type, "int" or "str". Errors: UnknownColumnError, DataError."""
        types = dict(frame.dtypes)
        for name in (self._columns.person, self._columns.place):
            if name not in types:
                raise UnknownColumnError(
                    f"The batch {batch!r} has no column {name!r}.",
                    hint=f"Its columns are {', '.join(frame.columns)}. {NOTHING}",
                    column=name,
                )
        kind = types[self._columns.place]
        if (kind == "string") != self._text or kind not in ("string", *_WHOLE):
            raise DataError(
                f"Column {self._columns.place!r} of batch {batch!r} is of type {kind}; the places "
                f"of this monitor are of type {'str' if self._text else 'int'}.",
                hint=f"Cast the column: places of another type are other places. {NOTHING}",
                column=self._columns.place,
            )
        kind = types[self._columns.person]
        if kind not in ("string", *_WHOLE):
            raise DataError(
                f"Column {self._columns.person!r} of batch {batch!r} is of type {kind}; a person "
                "must be text, or a whole number.",
                hint=f"Cast the column to text. {NOTHING}",
                column=self._columns.person,
            )
        return "str" if kind == "string" else "int"

    def of(self, frame: DataFrame, *, batch: str, time: int) -> DataFrame:
        """Columns code, person, time. Rows that must be refused have a code below 0."""
        person, at = self._person(frame, batch), self._time(frame, batch, time)
        place = column_named(self._columns.place)
        place = F.try_validate_utf8(place) if self._text else place.cast("bigint")
        low, high = YEARS if self._rules.scale.dated else (-LATEST, LATEST)
        rows = frame.select(person.alias("person"), place.alias("label"), at.alias("time"))
        rows = rows.join(F.broadcast(self._places), "label", "left")
        refused = (
            F.when(F.isnull("person"), -1)
            .when(F.isnull("label"), -2)
            .when(F.isnull("time") | ~F.col("time").between(low, high), -3)
            .when(F.col("time") > time, -4)
            .when(F.isnull("code") & ~F.lit(self._ignore), -5)
        )
        rows = rows.withColumn("code", F.coalesce(refused, F.col("code"))).where("code IS NOT NULL")
        counted = F.col("code") >= 0
        return (
            rows.select(
                "code",
                F.when(counted, F.col("person")).alias("person"),
                F.when(counted, F.col("time")).alias("time"),
            )
            .repartition("code")
            .groupBy("code", "person")
            .agg(F.max("time").alias("time"))
        )

    def refuse(self, code: int, batch: str) -> None:
        """Errors: DataError for rows that stand at ``code``, if it is below 0."""
        if code < 0:
            said = _REFUSED[code].format(places=many(self._rules.size, "place"))
            ignore = " Or leave such rows out with on_unknown='ignore'." if code == -5 else ""
            raise DataError(
                f"Batch {batch!r} has rows {said}.",
                hint=f"Mend the batch and send it again.{ignore} {NOTHING}",
                batch=batch,
            )

    def _person(self, frame: DataFrame, batch: str) -> Column:
        column = column_named(self._columns.person)
        if self.person_type(frame, batch) == "str":
            return F.try_validate_utf8(column)
        return column.cast("bigint")

    def _time(self, frame: DataFrame, batch: str, time: int) -> Column:
        """The rows' own times as whole numbers, on the scale of the window."""
        kind = dict(frame.dtypes).get(self._columns.time)
        if kind is None or self._rules.window is None:
            return F.lit(time).cast("bigint")
        column: Any = column_named(self._columns.time)
        if not self._rules.scale.dated and kind in _WHOLE:
            return column.cast("bigint")
        if self._rules.scale.dated and kind == "timestamp":
            return F.unix_micros(column)
        if self._rules.scale.dated and kind == "timestamp_ntz":
            # Without a zone it is UTC, whatever the session's zone is.
            zoned = F.concat(column.cast("string"), F.lit("Z"))
            return F.unix_micros(zoned.cast("timestamp"))
        if self._rules.scale.dated and kind == "date":
            return F.unix_date(column).cast("bigint") * F.lit(_DAY).cast("bigint")
        wanted = "a timestamp or a date" if self._rules.scale.dated else "a whole number"
        raise DataError(
            f"Column {self._columns.time!r} of batch {batch!r} is of type {kind}; a time must be "
            f"{wanted}, as the window is.",
            hint=f"Cast the column. {NOTHING}",
            column=self._columns.time,
        )


def column_named(name: str) -> Column:
    """A column by its name, whatever is in that."""
    return F.col("`" + name.replace("`", "``") + "`")
