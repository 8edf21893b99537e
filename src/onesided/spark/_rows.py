"""Where the rows of batches in the window are kept, and what Spark makes of them.

What an observer of Spark sees. The keys of the noise, the noise and the secrets that prove rows
stay in the driver's Python process: Spark neither holds nor computes with them, so none can be
in a plan, an event log, a shuffle file or a task. Plans name columns, folders, public times and
public places. The event log also tells how many rows each stage read and wrote, which is as secret
as the rows themselves; so are shuffle files and the folder of rows.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from onesided.errors import DataError, PolicyMismatchError
from onesided.monitor.kit import digest_of_places
from onesided.noise import IntArray
from onesided.spark._files import WHOLE, Folder, literal
from onesided.spark._pairs import NOTHING, Pairs

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
        """As :func:`onesided.monitor._digest.rows_digest`; Spark made it."""
        return self.made

    def content(self) -> bytes:
        """Where the pairs are. The digest is not kept: it would confirm a guess at the rows."""
        return json.dumps({"folder": self.folder, "persons": self.person_type}).encode()


class Rows:
    """Batches as folders of pairs, in a private folder."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self._spark, self._folder = spark, Folder(spark, folder)
        foreign = [name for name in self._folder.names() if not _is_ours(name)]
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


def _is_ours(name: str) -> bool:
    """Whether a monitor writes such names; its file system keeps sums of them, after a dot."""
    return bool(_OURS.fullmatch(name)) or name.lstrip(".").startswith(_OWNER)


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
