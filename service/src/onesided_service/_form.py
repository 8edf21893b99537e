"""The question that a form asks, as the body that a program would send."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from onesided.errors import ParameterError

FORM: Final = "form"
SQL: Final = "sql"
# What is asked, in words; the question; and which parts of the form it needs.
KINDS: Final[tuple[tuple[str, str, str], ...]] = (
    ("count", "How many units there are", "Count"),
    ("at_most", "Which groups have at most so many units (certified)", "AtMost"),
    ("top_k", "Which groups are largest", "TopK"),
    ("sum", "The sum of a column", "Sum"),
    ("mean", "The mean of a column", "Mean"),
    ("median", "The median of a column", "Quantile"),
    ("minimum", "The smallest value of a column", "Quantile"),
    ("maximum", "The largest value of a column", "Quantile"),
    ("variance", "The variance of a column", "Variance"),
    ("histogram", "The histogram of a column", "Histogram"),
)
UNKNOWNS: Final[tuple[tuple[str, str], ...]] = (
    ("", "counted where groups are certified, else not"),
    ("recorded", "not counted: certain lower bounds are about the truth"),
    ("possible", "counted: certain upper bounds are about the truth"),
)
_VALUES: Final = ("sum", "mean", "median", "minimum", "maximum", "variance")
NEEDS_COLUMN: Final = (*_VALUES, "histogram")
NEEDS_ROWS: Final = ("sum",)
NEEDS_NUMBER: Final = ("at_most", "top_k", "histogram")
_QUESTIONS: Final = {value: question for value, _, question in KINDS}
_NUMBER: Final = {"at_most": "threshold", "top_k": "k", "histogram": "bins"}
_SHARES: Final = {"minimum": 0, "maximum": 1}
_MOST: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was filled in, as it was typed."""

    how: str = FORM
    kind: str = "count"
    column: str = ""
    number: str = ""
    max_rows: str = ""
    by: tuple[str, ...] = ()
    where: str = ""
    unknown: str = ""
    sql: str = ""
    epsilon: str = "1/10"
    name: str = ""

    @classmethod
    def of(cls, fields: Mapping[str, str], by: tuple[str, ...] = ()) -> Asked:
        """The filled-in form; what is not in it keeps its default.

        >>> Asked.of({"kind": "top_k", "number": "3"}, ("place",)).number
        '3'
        """
        own = {name: str(value).strip()[:_MOST] for name, value in fields.items()}
        known = {name: own[name] for name in _TEXTS if name in own}
        return cls(**known, by=tuple(part[:_MOST] for part in by))

    @property
    def body(self) -> dict[str, Any]:
        """The same as a request of a program. Errors: ParameterError for what is not filled in."""
        named: dict[str, Any] = {"id": self.name, "again": True} if self.name else {}
        if self.how == SQL:
            return {"sql": self.sql, "epsilon": self.epsilon, **named, **self._rows()}
        if self.kind not in _QUESTIONS:
            raise ParameterError("There is no such question.", hint="Choose one of the list.")
        more: dict[str, Any] = {"epsilon": self.epsilon, **named}
        if self.by:
            more["by"] = self.by[0] if len(self.by) == 1 else list(self.by)
        if self.where:
            more["where"] = self.where
            if self.unknown:
                more["unknown"] = self.unknown
        if self.kind in NEEDS_COLUMN:
            more["column"] = self._column()
        if self.kind in NEEDS_NUMBER:
            more |= self._number()
        if self.kind in NEEDS_ROWS:
            more |= {"of": "rows", **self._rows()}
        if self.kind in _SHARES:
            more["q"] = _SHARES[self.kind]
        question = {"version": 2, "question": _QUESTIONS[self.kind], "fields": more}
        return {"question": question}

    def _column(self) -> str:
        if not self.column:
            raise ParameterError("No column is chosen.", hint="Choose the column it is about.")
        return self.column

    def _rows(self) -> dict[str, int]:
        if not self.max_rows:
            return {}
        if not self.max_rows.isdecimal():
            raise ParameterError("max_rows is no number.", hint="Fill in a whole number.")
        return {"max_rows": int(self.max_rows[:18])}

    def _number(self) -> dict[str, int]:
        if not self.number and self.kind == "histogram":
            return {}
        if not self.number.isdecimal():
            raise ParameterError("The number is not filled in.", hint="Fill in a whole number.")
        return {_NUMBER[self.kind]: int(self.number[:18])}


_TEXTS: Final = (
    "how",
    "kind",
    "column",
    "number",
    "max_rows",
    "where",
    "unknown",
    "sql",
    "epsilon",
    "name",
)
