"""Reading tables and policies that people name on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import duckdb

from onesided import policy as policies
from onesided.errors import DataError, ParameterError, PolicyError, first_line
from onesided.policy import Policy

NAMES = (
    "bounded",
    "unbounded",
    "addition_only",
    "removal_only",
    "presence",
    "sensitive",
    "extended_sensitive",
)
_DELIMITERS: Final = ",;|\t"


def read_table(path: Path, *, unit: str | None = None) -> duckdb.DuckDBPyRelation:
    """A Parquet or CSV file as a relation; nothing is read into memory yet.

    In a CSV file the column ``unit`` stays text, so that 007 and 7 are two people.

    Errors: DataError for a file that is missing, of another type, or damaged.
    """
    if not path.is_file():
        raise DataError(f"There is no file {str(path)!r}.", hint="Check the path.")
    readers: dict[str, Any] = {".parquet": duckdb.read_parquet, ".csv": read_csv}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise DataError(
            f"Cannot read {str(path)!r}: not a .parquet or .csv file.",
            hint="Convert it, or use the Python library with a data frame.",
        )
    try:
        relation: duckdb.DuckDBPyRelation = reader(str(path))
        if reader is read_csv and unit in relation.columns:
            relation = read_csv(str(path), dtype={unit: "VARCHAR"})
    except duckdb.Error as error:
        raise DataError(
            f"Cannot read {str(path)!r}: {first_line(error)}",
            hint="The file may be truncated or damaged; fetch it again.",
        ) from error
    return relation


def read_csv(path: str, **types: Any) -> duckdb.DuckDBPyRelation:
    """All rows of a CSV file below its heading, the first line; types not given are guessed.

    DuckDB left to itself skips lines until one looks like a heading, and lines that look like
    comments: people would be missing from answers that claim to be certain.

    Errors: DataError for rows of differing lengths; DuckDB's own for the rest.
    """
    relation = duckdb.read_csv(
        path,
        header=True,
        skiprows=0,
        comment="",
        quotechar='"',
        escapechar='"',
        **types,
    )
    (first, *more) = relation.columns
    if not more and any(mark in first for mark in _DELIMITERS):
        raise DataError(
            f"Cannot read {path!r}: its lines differ in how many columns they have.",
            hint="The first line must name the columns, and a quoted text must end; the file may "
            "be truncated, or two files in one.",
        )
    return relation


def read_policy(name: str, *, max_groups: int | None, sensitive: str | None) -> Policy:
    """A policy by name, or from a TOML file.

    Errors: PolicyError or ParameterError naming what is missing.
    """
    if sensitive is not None and name not in ("sensitive", "extended_sensitive"):
        raise ParameterError(
            f"--sensitive={sensitive!r} has no meaning for the policy {name!r}.",
            hint="Leave it out, or use --policy sensitive or extended_sensitive.",
        )
    if name in NAMES:
        return _named(name, max_groups=max_groups, sensitive=sensitive)
    path = Path(name)
    if not path.is_file():
        raise PolicyError(
            f"There is no policy or file {name!r}.",
            hint=f"Name one of {', '.join(NAMES)}, or a .toml file (docs/policies.md) for others.",
        )
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(
            f"Cannot read the policy {name!r}: {error}.",
            hint="Name a .toml file (docs/policies.md), or a policy.",
        ) from error
    return policies.from_toml(text)


def _named(name: str, *, max_groups: int | None, sensitive: str | None) -> Policy:
    if name == "presence":
        if max_groups is None:
            raise ParameterError(
                "The presence policy needs --max-groups.",
                hint="Give the most groups (such as places) of one person that ε should cover.",
            )
        return policies.presence(max_groups=max_groups)
    if name in ("sensitive", "extended_sensitive"):
        if sensitive is None:
            raise ParameterError(
                f"The {name} policy needs --sensitive.",
                hint="Give SQL that is true for sensitive rows, such as 'age < 18 or not opt_in'.",
            )
        return getattr(policies, name)(sensitive)  # type: ignore[no-any-return]
    plain: Policy = getattr(policies, name)()
    return plain
