"""Files that Spark reaches, and the rows of a monitor in them."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from onesided._english import many
from onesided.errors import (
    DataError,
    KeysError,
    MissingDependencyError,
    OutputError,
    ParameterError,
    PolicyMismatchError,
    UnknownColumnError,
    first_line,
)
from onesided.monitor.kit import LATEST, YEARS, Columns, Rules, digest_of_places, opened_by
from onesided.noise import IntArray
from onesided.store import plain_text

# Folders wherever Spark has its files: on a disk, in HDFS, in an object store.

_PIECE: Final = 2**20  # bytes handed over to Java at once
_PATTERN: Final = re.compile(r"[][{}*?\\]")
# A file that cannot be read is no file without rows, whatever the session's settings say.
WHOLE: Final = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"}


@contextmanager
def readable(batch: str) -> Iterator[None]:
    """Spark's errors about a batch as ours. Errors: DataError."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise DataError(
            f"Spark could not read {batch!r}: {type(error).__name__}, {said(error)}",
            hint="Mend the batch or Spark, and send it again. Nothing was drawn or stored.",
            batch=batch,
        ) from error


def located(path: str | Path) -> str:
    """A path as it stands for this process: Spark's own may have been started in another folder."""
    text = str(path)
    return text if "://" in text else str(Path(text).absolute())


def literal(path: str) -> str:
    r"""A path for Spark to read: names are names, and it would take some for patterns.

    >>> from onesided.spark._rows import literal
    >>> literal("in/visits[1].parquet")
    'in/visits\\[1\\].parquet'
    """
    return _PATTERN.sub(r"\\\g<0>", path)


@contextmanager
def _working(path: str) -> Iterator[None]:
    """Errors: OutputError for whatever Hadoop's file system says."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise OutputError(
            f"{path!r} could not be read or written: {said(error)}.",
            hint="What is stored stays, and will be published unchanged: mend the folder and "
            "start again.",
            path=path,
        ) from error


def said(error: Exception) -> str:
    """The first line of what Spark or Java says."""
    java = getattr(error, "java_exception", None)
    return first_line(error if java is None else RuntimeError(java.toString()))[:200]


class Folder:
    """A folder through Hadoop's file systems, by URI or path; made private if it is new."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        gateway: Any = getattr(spark, "_jvm", None)
        if gateway is None:
            raise MissingDependencyError(
                "The monitor on Spark needs a driver of its own; this session is remote.",
                hint="Run it as a Spark application (spark-submit, local or cluster mode), not "
                "through Spark Connect.",
            )
        self.path = path = located(path)
        self._kit = gateway.org.apache.hadoop.fs
        with _working(path):
            self._root = self._kit.Path(path)
            self._system = self._root.getFileSystem(spark._jsc.hadoopConfiguration())  # noqa: SLF001

    def make_private(self) -> None:
        """Make it if it is not there; whoever is not the owner may not look into it."""
        with _working(self.path):
            owner = self._kit.permission.FsPermission("700")
            if not self._system.exists(self._root):
                self._system.mkdirs(self._root, owner)
            self._system.setPermission(self._root, owner)

    def names(self, inside: str = "") -> list[str]:
        """What is in it, or in a folder inside."""
        with _working(self.path):
            path = self._kit.Path(self._root, inside) if inside else self._root
            if not self._system.exists(path):
                return []
            return [one.getPath().getName() for one in self._system.listStatus(path)]

    def files(self, pattern: str) -> list[str]:
        """The paths of files whose names are of a pattern, as Spark looks for them.

        In folders inside, too; names that begin with ``_`` or ``.`` are nobody's.
        """
        found = []
        with _working(self.path):
            named = self._kit.GlobFilter(pattern)
            root = self._root.toUri().getPath().rstrip("/")
            files = self._system.listFiles(self._root, True)  # noqa: FBT003
            while files.hasNext():
                path = files.next().getPath()
                below = path.toUri().getPath().removeprefix(root).split("/")
                hidden = any(part.startswith(("_", ".")) for part in below)
                if not hidden and named.accept(path):
                    found.append(path.toString())
        return found

    def inside(self, name: str) -> str:
        """The path of something in it."""
        return f"{self.path.rstrip('/')}/{name}"

    def remove(self, name: str) -> None:
        """Delete something in it, with all that it holds."""
        with _working(self.path):
            self._system.delete(self._kit.Path(self._root, name), True)  # noqa: FBT003

    def rename(self, old: str, new: str) -> None:
        """Give it another name, in one step where the file system can."""
        with _working(self.path):
            one, other = (self._kit.Path(self._root, name) for name in (old, new))
            done = self._system.rename(one, other)
        if not done:
            raise OutputError(
                f"{self.inside(old)!r} could not be renamed to {new!r}.",
                hint="The answers are stored and will be published unchanged: mend the folder and "
                "start again.",
                path=self.path,
            )

    def text(self, name: str) -> str | None:
        """The text of a small file in it; None if there is none."""
        with _working(self.path):
            path = self._kit.Path(self._root, name)
            if not self._system.exists(path):
                return None
            stream = self._system.open(path)
            try:
                return bytes(stream.readAllBytes()).decode()
            finally:
                stream.close()

    def write_text(self, name: str, text: str) -> None:
        """Write a small file into it, in one step where the file system can."""
        folder, _, plain = name.rpartition("/")
        beside = f"{folder}/_{plain}.draft".lstrip("/")
        self.write(beside, text.encode())
        self.remove(name)
        self.rename(beside, name)

    def write(self, name: str, content: bytes) -> None:
        """Write a file into it; who reads meanwhile may see a part of it."""
        with _working(self.path):
            stream = self._system.create(self._kit.Path(self._root, name), True)  # noqa: FBT003
            try:
                for start in range(0, len(content), _PIECE):
                    stream.write(bytearray(content[start : start + _PIECE]))
                stream.hsync()
            finally:
                stream.close()


# A batch of rows, read by Spark into pairs: each person's latest visit to each place.

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
_MOST_DECIDING: Final = 7


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
        self._open = [] if rules.alarms is None else _open_numbers(rules)
        import pyarrow as pa  # noqa: PLC0415 - loads on use

        kind = pa.string() if self._text else pa.int64()
        table = pa.table({"label": pa.array(labels, kind), "code": pa.array(range(rules.size))})
        self._places = spark.createDataFrame(table).cache()

    def person_type(self, frame: DataFrame, batch: str) -> str:
        """The persons' type, "int" or "str". Errors: UnknownColumnError, DataError."""
        types = dict(frame.dtypes)
        for name in (self._columns.person, self._columns.place, *self._rules.deciding):
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
        for name in self._rules.deciding:
            if types[name] != "boolean":
                raise DataError(
                    f"Column {name!r} of batch {batch!r} is of type {types[name]}; who is "
                    "sensitive follows from columns of true, false and null.",
                    hint=f"Make the column {name!r} boolean. {NOTHING}",
                    column=name,
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
        """Columns code, person, time. Rows that must be refused have a code below 0.

        An open visit is a row of its place's second cell as well, where alarms are told.
        """
        at, person = self._time(frame, batch, time), column_named(self._columns.person)
        text = self.person_type(frame, batch) == "str"
        person = F.try_validate_utf8(person) if text else person.cast("bigint")
        place = column_named(self._columns.place)
        place = F.try_validate_utf8(place) if self._text else place.cast("bigint")
        low, high = YEARS if self._rules.scale.dated else (-LATEST, LATEST)
        told = {"person": person, "label": place, "time": at, "open": self._opened()}
        rows = frame.select(*(column.alias(name) for name, column in told.items()))
        rows = rows.join(F.broadcast(self._places), "label", "left")
        refused = (
            F.when(F.isnull("person"), -1)
            .when(F.isnull("label"), -2)
            .when(F.isnull("time") | ~F.col("time").between(low, high), -3)
            .when(F.col("time") > time, -4)
            .when(F.isnull("code") & ~F.lit(self._ignore), -5)
        )
        rows = rows.withColumn("code", F.coalesce(refused, F.col("code"))).where("code IS NOT NULL")
        counted, code = F.col("code") >= 0, F.col("code")
        both = F.array(code, code + F.lit(self._rules.size))
        codes = F.when(counted & F.col("open"), both).otherwise(F.array(code))
        return (
            rows.select(
                F.explode(codes).alias("code") if self._open else code,
                F.when(counted, F.col("person")).alias("person"),
                F.when(counted, F.col("time")).alias("time"),
            )
            .repartition("code")
            .groupBy("code", "person")
            .agg(F.max("time").alias("time"))
        )

    def _opened(self) -> Column:
        """Which rows are open: what the deciding columns hold, as one number, is one of these."""
        number = F.lit(0)
        for name in self._rules.deciding:
            held = column_named(name)
            number = number * 3 + F.when(held, 2).when(~held, 1).otherwise(0)
        return number.isin(self._open)

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


def _open_numbers(rules: Rules) -> list[int]:
    """What is open: a digit for each deciding column, 2 for true, 1 for false, 0 for neither."""
    if len(rules.deciding) > _MOST_DECIDING:
        raise ParameterError(
            f"The policy's condition reads {len(rules.deciding)} columns; a monitor on Spark "
            f"reads at most {_MOST_DECIDING}.",
            hint="Make one column of them, such as 'agreed', before the batches are written.",
        )
    held = product((None, False, True), repeat=len(rules.deciding))
    return [number for number, row in enumerate(held) if opened_by(rules)(*row)]


def column_named(name: str) -> Column:
    """A column by its name, whatever is in that."""
    return F.col("`" + name.replace("`", "``") + "`")


# Where the rows of batches in the window are kept, and what Spark makes of them.
#
# What an observer of Spark sees. The keys of the noise, the noise and the secrets that prove rows
# stay in the driver's Python process: Spark neither holds nor computes with them, so none can be in
# a plan, an event log, a shuffle file or a task. Plans name columns, folders, public times and
# public places. The event log also tells how many rows each stage read and wrote, which is as
# secret as the rows themselves; so are shuffle files and the folder of rows.

_SCHEMA: Final = {
    "int": "code bigint, person bigint, time bigint",
    "str": "code bigint, person string, time bigint",
}


_OURS: Final = re.compile(r"[0-9a-f]{32}")  # folders of pairs
_OWNER: Final = "_of-"  # Spark and its kin leave out names that begin so


@dataclass(frozen=True, slots=True)
class SparkBatch:
    """A batch whose pairs are in a folder of Parquet files; ``folder`` is "" without rows."""

    id: str
    time: int
    folder: str
    person_type: str
    made: bytes

    def digest(self) -> bytes:
        """As :func:`onesided.monitor._rows.ordered_digest`; Spark made it."""
        return self.made

    def content(self) -> bytes:
        """Where the pairs are. The digest is not kept: it would confirm a guess at the rows."""
        return json.dumps({"folder": self.folder, "persons": self.person_type}).encode()


class Rows:
    """Batches as folders of pairs, in a private folder."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self._spark, self._folder = spark, Folder(spark, folder)
        foreign = [
            name
            for name in self._folder.names()
            if not (bool(_OURS.fullmatch(name)) or name.lstrip(".").startswith(_OWNER))
        ]
        if foreign:
            raise PolicyMismatchError(
                f"The folder {folder!r} holds {foreign[0]!r}, which no monitor wrote.",
                hint="Rows are kept in a folder of their own, where all else is removed. Nothing "
                "was removed: give another folder.",
                path=folder,
            )
        self._folder.make_private()

    def claim(self, monitor: str, *, lasting: bool) -> None:
        """Note whose rows these are, if its state lasts.

        Errors: PolicyMismatchError if they are another monitor's.
        """
        own = _OWNER + monitor
        owners = [name for name in self._folder.names() if name.startswith(_OWNER)]
        if owners not in ([], [own]):
            raise PolicyMismatchError(
                f"The folder {self._folder.path!r} has the rows of another monitor.",
                hint="Give each monitor a folder of its own: each removes what it does not know.",
                path=self._folder.path,
            )
        if lasting and not owners:
            self._folder.write(own, b"")

    def read(self, frame: DataFrame | None, pairs: Pairs, *, batch: str, time: int) -> SparkBatch:
        """Write the pairs of a batch down, once; all that follows is computed from these.

        Errors: UnknownColumnError, DataError. What was written is removed by :meth:`keep_only`.
        """
        if frame is None:
            return SparkBatch(batch, time, "", "", digest_of_places([], kind=""))
        kind = pairs.person_type(frame, batch)
        found = pairs.of(frame, batch=batch, time=time)
        name = secrets.token_hex(16)
        found.write.parquet(self._folder.inside(name))
        leaves = self._leaves(name, kind)
        if leaves:
            pairs.refuse(leaves[0][0], batch)
        kind = kind if leaves else ""
        return SparkBatch(
            batch, time, name if leaves else "", kind, digest_of_places(leaves, kind=kind)
        )

    def restored(self, batch: str, time: int, content: bytes) -> SparkBatch:
        """A batch as :meth:`SparkBatch.content` kept it. Errors: ValueError if it is not there."""
        held = json.loads(content)
        name, kind = held["folder"], held["persons"]
        if name and name not in self._folder.names():
            raise ValueError(name)
        leaves = self._leaves(name, kind) if name else []
        return SparkBatch(batch, time, name, kind, digest_of_places(leaves, kind=kind))

    def count(self, names: Sequence[str], kind: str, cutoff: int | None, size: int) -> IntArray:
        """How many different persons are at each place, in visits after ``cutoff``."""
        counts = np.zeros(size, dtype=np.int64)
        if not names:
            return counts
        found = self._pairs(names, kind)
        if cutoff is not None:
            found = found.where(F.col("time") > cutoff)
        if len(names) > 1:
            # By place alone: hardly a pair comes twice, so to combine them before they travel, and
            # to let them travel by person and by place, takes half as long again.
            found = found.select("code", "person").repartition("code").distinct()
        table = found.groupBy("code").count().toArrow()
        counts[table["code"].to_numpy()] = table["count"].to_numpy()
        return counts

    def keep_only(self, names: set[str]) -> None:
        """Remove what has expired, and what crashes and refusals left."""
        for name in self._folder.names():
            if _OURS.fullmatch(name) and name not in names:
                self._folder.remove(name)

    def _pairs(self, names: Sequence[str], kind: str) -> DataFrame:
        paths = [literal(self._folder.inside(name)) for name in names]
        return self._spark.read.schema(_SCHEMA[kind]).options(**WHOLE).parquet(*paths)

    def _leaves(self, name: str, kind: str) -> list[tuple[int, bytes]]:
        """The hash of each place's pairs, in the order of places."""
        time: Any = F.lpad(F.hex("time"), 16, F.lit("0"))
        if kind == "int":
            row = F.concat(F.lpad(F.hex("person"), 16, F.lit("0")), time)
        else:
            length = F.lpad(F.hex(F.octet_length("person").cast("bigint")), 8, F.lit("0"))
            row = F.concat(length, F.hex(F.encode("person", "UTF-8")), time)
        # Hexadecimal digits sort as the bytes do, and the hash is of the bytes.
        body = F.unhex(F.array_join(F.sort_array(F.collect_list(row)), ""))
        rows = self._pairs([name], kind).repartition("code")
        table = rows.groupBy("code").agg(F.unhex(F.sha2(body, 256)).alias("leaf")).toArrow()
        found = zip(table["code"].to_pylist(), table["leaf"].to_pylist(), strict=True)
        return sorted(found)


class SparkWindow:
    """The window's counts, by one query over the pairs of its batches."""

    def __init__(self, rows: Rows, size: int) -> None:
        self._rows, self._size = rows, size
        self._batches: list[SparkBatch] = []
        self._cutoff: int | None = None
        self._type = ""
        self._counts: IntArray | None = None

    @property
    def counts(self) -> IntArray:
        """One number for each place."""
        if self._counts is None:
            # Persons of another type have all expired, or the batch would have been refused.
            names = [
                one.folder for one in self._batches if one.folder and one.person_type == self._type
            ]
            self._counts = self._rows.count(names, self._type, self._cutoff, self._size)
        return self._counts

    def refuse_other_type(self, batch: SparkBatch) -> None:
        """Refuse persons as text beside persons as numbers: nobody could tell who is who."""
        if batch.person_type not in ("", self._type) and self._type and self.counts.any():
            raise DataError(
                f"Batch {batch.id!r} names persons by {batch.person_type}, the batches before it "
                f"by {self._type}.",
                hint=f"Cast the column to one type in every batch. {NOTHING}",
            )

    def add(self, batch: SparkBatch) -> None:
        """Take in a batch."""
        self._type = batch.person_type or self._type
        self._batches.append(batch)
        self._counts = None

    def expire(self, cutoff: int | None) -> None:
        """Let go of every visit that is not after ``cutoff``."""
        self._cutoff, self._counts = cutoff, None
        if cutoff is not None:
            self._batches = [one for one in self._batches if one.time > cutoff]
