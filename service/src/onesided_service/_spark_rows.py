"""Rows in Parquet files that Spark reads: for tables that one machine's memory does not hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onesided.errors import DataError, MissingDependencyError, first_line
from onesided.schema import Schema
from onesided_service._rows import digest_of, mark_of, require_mark, rows_of, types_of
from onesided_service._sources import Looked, Source


class SparkRows(Source):
    """The declared columns of a .parquet file, or of all those of one folder.

    The session is this process's own, or one with the settings of spark-defaults.conf; its page of
    jobs, which shows questions to everybody on the machine, is off. These rows are the ones that
    were checked while the names, sizes and times of all files are.
    """

    def __init__(self, path: str, *, schema: Schema) -> None:
        self._path, self._schema = Path(path), schema

    def look(self) -> Looked:
        """Errors: DataError."""
        files = self._files()
        mark = mark_of(files)
        types = types_of(rows_of(files[0], table="", schema=self._schema)[1])
        return Looked(self.rows(), digest_of(files), mark, types)

    def require(self, digest: str, mark: tuple[int, ...]) -> None:  # noqa: ARG002 - by its mark
        """Errors: DataError."""
        require_mark(self._files(), mark)

    def rows(self) -> Any:
        """Errors: DataError; MissingDependencyError without Spark."""
        files = self._files()
        try:
            found = _spark().read.parquet(*files)
            names = [name.replace("`", "``") for name in self._schema.columns]
            return found.select(*(f"`{name}`" for name in names))
        except Exception as error:  # Spark has no class of error that covers its gateway's, too
            if isinstance(error, MissingDependencyError):
                raise
            raise DataError(
                f"Spark cannot read {str(self._path)!r}: {first_line(error)}.",
                hint="Check that all its files are Parquet with the columns of the schema.",
            ) from error

    def _files(self) -> list[str]:
        """In the order of their names; what Spark leaves out (``_SUCCESS``) is left out."""
        if self._path.is_file():
            return [str(self._path)]
        found = sorted(self._path.iterdir()) if self._path.is_dir() else []
        kept = [one for one in found if not one.name.startswith(("_", "."))]
        wrong = [one for one in kept if not (one.is_file() and one.suffix.lower() == ".parquet")]
        if wrong or not kept:
            raise DataError(
                f"{str(wrong[0] if wrong else self._path)!r} is no .parquet file, and no folder "
                "of nothing else.",
                hint="Name a .parquet file or a folder of them, without folders inside.",
            )
        return list(map(str, kept))


def _spark() -> Any:
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra, loaded on use
    except ImportError as error:
        raise MissingDependencyError(
            "Spark is not installed.", hint='pip install "onesided[spark]"'
        ) from error
    return SparkSession.builder.config("spark.ui.enabled", "false").getOrCreate()
