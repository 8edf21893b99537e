"""Folders wherever Spark has its files: on a disk, in HDFS, in an object store."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from onesided.errors import DataError, MissingDependencyError, OutputError, first_line

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

    >>> from onesided.spark._files import literal
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
