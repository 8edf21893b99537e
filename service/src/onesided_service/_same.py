"""The same question as SQL, where it has a form for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from fractions import Fraction
from typing import Any, Final

from onesided.engine.kit import quoted
from onesided.errors import OnesidedError
from onesided.session import Session, Several

# Bare SUM is of each row where no unit is named; else a request must say max_rows.
_PLAIN: Final = {"Sum": "SUM", "Mean": "MEAN_PER_UNIT", "Variance": "VARIANCE_PER_UNIT"}
_FOR_ALL: Final = frozenset({"id", "again", "epsilon", "missing"})
# What SQL says itself; any other field that is set has no form in it.
_SQL_FIELDS: Final = frozenset(
    {
        "epsilon",
        "by",
        "where",
        "column",
        "threshold",
        "k",
        "q",
        "id",
        "again",
        "missing",
        "interpolate",
    }
)


def sql_of(question: Any, session: Session, *, table: str) -> str:
    """A query in SQL that reads as this very question; "" where there is none.

    It is read back and compared, so that what is shown is never another question.
    """
    written = _query(question, session.unit, table)
    if not written:
        return ""
    try:
        read = session.question(written, epsilon=question.epsilon)
    except OnesidedError:
        return ""
    return written if _alike(read, question) else ""


def _alike(read: Any, question: Any) -> bool:
    """Whether they ask the same, apart from their names, ε and what the service sets for all."""
    return type(read) is type(question) and _content(read) == _content(question)


def _content(question: Any) -> dict[str, object]:
    """The question's fields, each in one form."""
    told: dict[str, object] = {
        one.name: getattr(question, one.name)
        for one in fields(question)
        if one.init and one.name not in _FOR_ALL
    }
    told |= {"by": tuple(_names(told.get("by"))), "where": _where(question)}
    if "q" in told:
        told["q"] = _fraction(told["q"])
    return told


def _fraction(value: Any) -> Fraction:
    return value if isinstance(value, Fraction) else Fraction(str(value))


def _query(question: Any, unit: str | None, table: str) -> str:
    name = type(question).__name__
    if isinstance(question, Several) or any(
        getattr(question, one.name) != one.default and one.name not in _SQL_FIELDS
        for one in fields(question)
        if one.init
    ):
        return ""
    counted = "COUNT(*)" if unit is None else f"COUNT(DISTINCT {_name(unit)})"
    aggregate = _aggregate(question, name, counted)
    if not aggregate:
        return ""
    by = [_name(one) for one in _names(question.by)]
    lines = [f"SELECT {', '.join([*by, aggregate])}", f"FROM {_name(table)}"]
    if where := _where(question):
        lines.append(f"WHERE {where}")
    if by:
        lines.append(f"GROUP BY {', '.join(by)}")
    if name == "AtMost":
        lines.append(f"HAVING {counted} <= {question.threshold}")
    if name == "TopK":
        lines.append(f"ORDER BY {counted} DESC LIMIT {question.k}")
    return "\n".join(lines)


def _aggregate(question: Any, name: str, counted: str) -> str:
    if name in ("Count", "AtMost", "TopK"):
        return counted
    if name in _PLAIN:
        return f"{_PLAIN[name]}({_name(question.column)})"
    return _quantile(question, _name(question.column)) if name == "Quantile" else ""


def _quantile(question: Any, column: str) -> str:
    share = _fraction(question.q)
    if share in (0, 1):
        return f"{'MAX' if share else 'MIN'}({column})"
    if question.interpolate is None:
        return f"QUANTILE_PER_UNIT({column}, {float(share)})"
    return f"PERCENTILE_{'CONT' if question.interpolate else 'DISC'}({column}, {float(share)})"


def _where(question: Any) -> str:
    where = getattr(question, "where", None)
    return str(getattr(where, "text", where) or "")


def _names(by: object) -> Sequence[str]:
    if isinstance(by, str):
        return (by,)
    return tuple(map(str, by)) if isinstance(by, list | tuple) else ()


def _name(name: str) -> str:
    """A column's name as SQL writes it."""
    return name if name.isidentifier() and name.isascii() and name.islower() else quoted(name)
