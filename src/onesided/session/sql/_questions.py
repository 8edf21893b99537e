"""A query as the questions that Python asks: equal values, so equal answers and prices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, Final

from onesided._numbers import Number, exact
from onesided.errors import ParameterError, called
from onesided.session._above import AtMost
from onesided.session._count import Count
from onesided.session._top_k import TopK
from onesided.session.several._several import Several
from onesided.session.sql._grammar import Aggregate, Select, select_of
from onesided.session.values._mean import Mean, Variance
from onesided.session.values._quantile import Quantile
from onesided.session.values._row_count import RowCount
from onesided.session.values._sum import Sum

_NAMED: Final = ("column", "by", "where", "epsilon", "id", "again", "q", "k", "threshold")
_OPTIONS: Final = (
    "epsilon",
    "delta",
    "max_groups_contributed",
    "privacy_unit_column",
    "group_selection_strategy",
)


def question_of(
    text: str,
    *,
    unit: str | None,
    columns: Iterable[str],
    epsilon: Number | None = None,
    weights: Any = None,
    guesses: Any = None,
    id: str | None = None,  # noqa: A002 - a question's own name for it
    again: bool = False,
    **more: Any,
) -> tuple[Any, bool]:
    """The question that a query asks, and whether its plan alone is wanted (EXPLAIN).

    more: arguments of the questions that SQL has no words for, such as ``keys``, which stand ready
        for all queries: one without GROUP BY does not use them.
    Errors: SqlError, with the place and the nearest thing that works; ParameterError.

    >>> asked, plan_alone = question_of(
    ...     "EXPLAIN SELECT COUNT(*) FROM visits", unit=None, columns=["age"], epsilon=1
    ... )
    >>> type(asked).__name__, plan_alone
    ('Count', True)
    """
    select = select_of(text)
    reader = _Questions(select, unit, tuple(columns), rows=more.get("max_rows") is not None)
    reader.check()
    own, more = reader.options(epsilon), {**reader.options_more(), **more}
    if not select.by:
        more.pop("keys", None)
    made = reader.made()
    if len(made) == 1 and weights is None and guesses is None:
        ((kind, *place), given) = made[0]
        fitting = _fitting(more, [kind])
        question = called(kind, *place, **given, **fitting[0], epsilon=own, id=id, again=again)
        return question, select.explain
    parts = _fitting(more, [kind for (kind, *_), _ in made])
    questions = [
        called(kind, *place, **given, **part, epsilon=own / len(made))
        for ((kind, *place), given), part in zip(made, parts, strict=True)
    ]
    several = Several(questions, weights=weights, guesses=guesses, id=id, again=again)
    return several, select.explain


class _Questions:
    """Turns a select statement into questions."""

    def __init__(
        self, select: Select, unit: str | None, columns: tuple[str, ...], *, rows: bool = False
    ) -> None:
        self._select, self._unit, self._columns, self._rows = select, unit, columns, rows

    def check(self) -> None:
        """Names are columns, and what is selected is grouped by."""
        select = self._select
        by = [name for name, _ in select.by]
        for name, place in (*select.by, *select.names):
            self._known(name, place)
        for one in select.aggregates:
            if one.column is not None:
                self._known(one.column, one.column_place)
        for name, place in select.names:
            if name not in by:
                raise select.query.error(
                    f"{name!r} is neither grouped by nor in an aggregate.",
                    place,
                    f"Add GROUP BY {name}, or leave it out: SQL releases no rows.",
                )
        ordered = select.at_most or select.largest
        if ordered is not None and not by:
            raise select.query.error(
                "There is one group alone.", ordered[0].place, "Add GROUP BY, with the keys."
            )
        if select.at_most and select.largest:
            raise select.query.error(
                "HAVING and ORDER BY ask two questions.",
                select.largest[0].place,
                "Ask one query for each.",
            )
        if not select.aggregates and ordered is None:
            hint = "Add one, such as COUNT(*), or COUNT(DISTINCT unit) where units have rows."
            raise select.query.error("Nothing is counted or added up.", 0, hint)

    def _known(self, name: str, place: int) -> None:
        if name not in self._columns:
            near = get_close_matches(name, self._columns, n=1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            raise self._select.query.error(
                f"The table has no column {name!r}.",
                place,
                f"{hint}Its columns are {', '.join(self._columns)}.",
            )

    def options(self, epsilon: Number | None) -> Fraction:
        """The ε that the query or its caller gives. Errors: SqlError."""
        query, given = self._select.query, self._select.options
        for name, (_, place) in given.items():
            if name not in _OPTIONS:
                raise query.error(
                    f"The option {name} is not known.", place, f"Give {', '.join(_OPTIONS)}."
                )
        stated = None if epsilon is None else exact(epsilon, name="epsilon")
        if "epsilon" not in given:
            if stated is None:
                raise query.error(
                    "No ε is given.",
                    0,
                    "Pass epsilon=, or write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1).",
                )
            return stated
        own, place = given["epsilon"]
        found = exact(own, name="epsilon")
        if stated is not None and stated != found:
            raise query.error(
                f"ε is {found} here and {stated} in epsilon=.", place, "Give it once."
            )
        return found

    def options_more(self) -> dict[str, Any]:
        """What the other options of BigQuery say. Errors: SqlError."""
        query, given = self._select.query, self._select.options
        unit, place = given.get("privacy_unit_column", (self._unit, 0))
        if unit != self._unit:
            raise query.error(
                f"The session protects {self._unit or 'each row'!r}, not {unit!r}.",
                place,
                "Open a session with that unit=.",
            )
        strategy, place = given.get("group_selection_strategy", ("PUBLIC_GROUPS", 0))
        if str(strategy).upper() != "PUBLIC_GROUPS":
            raise query.error(
                f"Groups are public here, not chosen by {strategy}.",
                place,
                "Give keys=, or keys in the schema; session.discover(...) finds groups.",
            )
        most, place = given.get("max_groups_contributed", (None, 0))
        if most is None or str(most).upper() == "NULL":
            return {}
        return {"max_groups": int(exact(most, name="max_groups_contributed"))}

    def made(self) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
        """Each question's class and first arguments, and the others."""
        select = self._select
        shared: dict[str, Any] = {}
        if select.by:
            names = [name for name, _ in select.by]
            shared["by"] = names[0] if len(names) == 1 else names
        if select.where is not None:
            shared["where"] = select.where
        ordered = select.at_most or select.largest
        if ordered is not None:
            self._count(ordered[0])
            for one in select.aggregates:
                if (one.function, one.column) != (ordered[0].function, ordered[0].column):
                    raise select.query.error(
                        "HAVING and ORDER BY go with that count alone.",
                        one.place,
                        "Ask the other aggregates in a query of their own.",
                    )
            return [((AtMost if select.at_most else TopK, ordered[1]), shared)]
        return [self._question(one, shared) for one in select.aggregates]

    def _question(
        self, one: Aggregate, shared: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        bounds = {} if one.bounds is None else {"bounds": one.bounds}
        if one.function == "COUNT":
            if self._rows and self._unit is not None and one.column is None:
                return (RowCount,), dict(shared)
            self._count(one)
            return (Count,), dict(shared)
        if one.distinct:
            raise self._select.query.error(
                "DISTINCT goes with COUNT alone.", one.place, f"Write {one.function}(x)."
            )
        if one.column == self._unit:
            raise self._select.query.error(
                f"{one.column!r} says whose row it is; nothing is computed of it.",
                one.column_place,
                f"Write COUNT(DISTINCT {self._unit}).",
            )
        kind, *place = self._kind(one)
        of_rows = self._rows and self._unit is not None and one.function in ("AVG", "VARIANCE")
        rows = {"of": "rows"} if of_rows else {}
        return (kind, one.column, *place), {**shared, **bounds, **rows}

    def _kind(self, one: Aggregate) -> tuple[Any, ...]:
        """The class of a question about values, and what follows the column."""
        query, function = self._select.query, one.function
        if function in ("AVG", "VARIANCE") and self._unit is not None and not self._rows:
            instead = {"AVG": "MEAN_PER_UNIT", "VARIANCE": "VARIANCE_PER_UNIT"}[function]
            raise query.error(
                f"{function} counts rows one by one, and {self._unit!r} may have many.",
                one.place,
                f"Write {instead}({one.column}), of each unit's own mean, or pass max_rows=.",
            )
        if function in ("QUANTILE", "PERCENTILE_CONT"):
            if one.share is None:
                hint = f"Write QUANTILE({one.column}, 0.5) for the median."
                raise query.error("A quantile takes a share.", one.place, hint)
            if not 0 <= one.share <= 1:
                raise query.error("A quantile's share lies in 0 .. 1.", one.place, "0.5 is half.")
            return Quantile, one.share
        return _KINDS[function]

    def _count(self, one: Aggregate) -> None:
        """Refuse counts of anything but units. Errors: SqlError."""
        query, unit = self._select.query, self._unit
        if one.bounds is not None:
            hint = "Leave it out: a unit counts once in each group."
            raise query.error("A count has no bounds.", one.place, hint)
        if unit is None and one.distinct:
            raise query.error(
                "Each row is a unit of its own here.",
                one.place,
                f"Write COUNT(*), or open the session with unit={one.column!r}.",
            )
        if unit is None and one.column is not None:
            hint = f"Write COUNT(*), with WHERE {one.column} IS NOT NULL."
            raise query.error("COUNT takes * here.", one.place, hint)
        if unit is not None and not (one.distinct and one.column == unit):
            counted = "*" if one.column is None else one.column
            if one.column is not None and not one.distinct:
                raise query.error(
                    f"COUNT({counted}) is the number of rows in which {counted!r} is not null.",
                    one.place,
                    f"Write COUNT(DISTINCT {unit}) for units; for rows COUNT(*) with WHERE "
                    f"{counted} IS NOT NULL, and pass max_rows=.",
                )
            raise query.error(
                f"COUNT({'DISTINCT ' if one.distinct else ''}{counted}) is no number of units: "
                f"{unit!r} may have many rows.",
                one.place,
                f"Write COUNT(DISTINCT {unit}), or pass max_rows= for the number of rows.",
            )


_KINDS: Final[Mapping[str, tuple[Any, ...]]] = {
    "SUM": (Sum,),
    "AVG": (Mean,),
    "MEAN_PER_UNIT": (Mean,),
    "VARIANCE": (Variance,),
    "VARIANCE_PER_UNIT": (Variance,),
    "MEDIAN": (Quantile, Fraction(1, 2)),
    "MIN": (Quantile, 0),
    "MAX": (Quantile, 1),
}


def _fitting(more: Mapping[str, Any], kinds: list[Callable[..., Any]]) -> list[dict[str, Any]]:
    """What each question takes of the further arguments. Errors: ParameterError."""
    known = [{one.name for one in fields(kind)} - set(_NAMED) for kind in kinds]  # type: ignore[arg-type] # questions are dataclasses
    for name in more:
        if not any(name in names for names in known):
            raise ParameterError(
                f"{name}= is no argument of a query such as this.",
                hint=f"It takes {', '.join(sorted(set().union(*known)))}.",
                name=name,
            )
    return [{n: value for n, value in more.items() if n in names} for names in known]
