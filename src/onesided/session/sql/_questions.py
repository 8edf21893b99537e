"""A query as the questions that Python asks: equal values, so equal answers and prices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, Final, TypeAlias

from onesided._numbers import Number, exact
from onesided.engine.kit import quoted
from onesided.errors import OnesidedError, ParameterError, SqlError, called
from onesided.session._asks import QUESTIONS
from onesided.session._context import condition
from onesided.session._count import Count
from onesided.session._discover import Discover
from onesided.session._groups import names_of
from onesided.session.several._several import Several
from onesided.session.sql._select import Aggregate, Select
from onesided.session.values._sum import RowCount, Sum
from onesided.session.workloads._table import CrossTable

# A question's class with its first arguments, and the others.
_Made: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]
# Arguments of questions that SQL has words for.
IN_SQL: Final = frozenset(
    [
        *("column", "by", "where", "epsilon", "id", "again", "title", "q", "k"),
        *("threshold", "of", "interpolate", "divisor", "root", "disjoint", "margins"),
    ]
)
_WORDS: Final[Mapping[str, tuple[Any, Mapping[str, Any]]]] = {
    word: (kind, given)
    for kind in QUESTIONS.values()
    for word, given in vars(kind).get("sql", {}).items()
}
_CLAUSES: Final = {
    kind.sql_clause: kind for kind in QUESTIONS.values() if "sql_clause" in vars(kind)
}
# The questions that queries ask.
QUERIES: Final = (
    *(Count, CrossTable, Discover, RowCount, Several),
    *dict.fromkeys(kind for kind, _ in _WORDS.values()),
    *_CLAUSES.values(),
)
# Those that take a share.
_SHARED: Final = tuple(
    word
    for word, (kind, given) in _WORDS.items()
    if "q" in {one.name for one in fields(kind)} and "q" not in given
)
_FUNCTIONS: Final = ("COUNT", *_WORDS)
_PER_UNIT: Final = "_PER_UNIT"
_FOUND: Final = "LAPLACE_THRESHOLD"
# BigQuery's options: what errors call each, and the argument that says the same.
_OPTIONS: Final = {
    "epsilon": ("ε", "epsilon"),
    "delta": ("δ", "delta"),
    "max_groups_contributed": ("max_groups_contributed", "max_groups"),
    "privacy_unit_column": ("", ""),
    "group_selection_strategy": ("", ""),
}


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
    title: str = "",
    declared_rows: int | None = None,
    **more: Any,
) -> tuple[Any, bool]:
    """The question that a query asks, and whether its plan alone is wanted (EXPLAIN).

    more: arguments of the questions that SQL has no words for, such as ``keys``, which stand ready
        for all queries: one without GROUP BY does not use them.
    declared_rows: how many rows of a unit count at most, as a schema says.
    Errors: SqlError, with the place and the nearest thing that works; ParameterError.

    >>> asked, plan_alone = question_of(
    ...     "EXPLAIN SELECT COUNT(*) FROM visits", unit=None, columns=["age"], epsilon=1
    ... )
    >>> type(asked).__name__, plan_alone
    ('Count', True)
    """
    rows, cumulative = more.get("max_rows", declared_rows), more.get("method") == "cumulative"
    reader = _Questions(text, unit, tuple(columns), rows=rows is not None, cumulative=cumulative)
    more |= reader.arguments({**more, "epsilon": epsilon})
    own = more.pop("epsilon")
    if not reader.by:
        more.pop("keys", None)
    made = reader.made(finds=reader.finds(more))
    if len(made) == 1 and weights is None and guesses is None:
        ((kind, *place), given) = made[0]
        fitting = _fitting(more, [(kind, given)])
        named = {"id": id, "again": again, "title": title}
        return called(kind, *place, **given, **fitting[0], epsilon=own, **named), reader.explain
    parts = _fitting(more, [(kind, given) for (kind, *_), given in made])
    questions = [
        called(kind, *place, **given, **part, epsilon=own / len(made))
        for ((kind, *place), given), part in zip(made, parts, strict=True)
    ]
    several = Several(questions, weights=weights, guesses=guesses, id=id, again=again, title=title)
    return several, reader.explain


class _Questions(Select):
    """A query as questions. rows: whether it is known how many rows of a unit may count."""

    def __init__(
        self, text: str, unit: str | None, columns: tuple[str, ...], *, rows: bool, cumulative: bool
    ) -> None:
        super().__init__(text, functions=_FUNCTIONS, shared=_SHARED)
        self._unit, self._columns, self._rows, self._cumulative = unit, columns, rows, cumulative
        self.by = tuple(
            (one if one in columns else self.aliases.get(one, one), at) for one, at in self.by
        )
        self._check()

    def _check(self) -> None:
        """Names are columns, and what is selected is grouped by."""
        by = [name for name, _ in self.by]
        for name, place in (*self.by, *self.names):
            self._known(name, place)
        for one in self.aggregates:
            if one.column is not None:
                self._known(one.column, one.column_place)
        for name, place in self.names:
            if name not in by:
                reason = f"{name!r} is neither grouped by nor in an aggregate."
                hint = f"Add GROUP BY {name}, or leave it out: SQL releases no rows."
                raise self.query.error(reason, place, hint)
        ordered = self.having or self.largest
        if ordered is not None and not by:
            raise self.query.error(
                "There is one group alone.", ordered[0].place, "Add GROUP BY, with the keys."
            )
        if self.having and self.largest:
            reason = "HAVING and ORDER BY ask two questions."
            hint = "Ask one query for each."
            raise self.query.error(reason, self.largest[0].place, hint)
        if ordered is not None and self.margins is not None:
            hint = "Leave HAVING and ORDER BY out, or GROUP BY the columns alone."
            raise self.query.error("A table of margins is told whole.", ordered[0].place, hint)
        if not self.aggregates and ordered is None:
            hint = "Add one, such as COUNT(*), or COUNT(DISTINCT unit) where units have rows."
            raise self.query.error("Nothing is counted or added up.", 0, hint)

    def _known(self, name: str, place: int) -> None:
        if name not in self._columns:
            near = get_close_matches(name, self._columns, n=1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            hint = f"{hint}Its columns are {', '.join(self._columns)}."
            raise self.query.error(f"The table has no column {name!r}.", place, hint)

    def arguments(self, more: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments that the query's own options stand for, ε among them. Errors: SqlError.

        more: those that its caller gave.
        """
        query, given = self.query, self.options
        found: dict[str, Any] = {}
        for name, (own, place) in given.items():
            if name not in _OPTIONS:
                hint = f"Give {', '.join(_OPTIONS)}."
                raise query.error(f"The option {name} is not known.", place, hint)
            sign, argument = _OPTIONS[name]
            if not argument or (argument == "max_groups" and own == "NULL"):
                continue
            stated = more.get(argument)
            if stated is not None and exact(stated, name=argument) != own:
                reason = f"{sign} is {own} here and {stated} in {argument}=."
                raise query.error(reason, place, "Give it once.")
            if not isinstance(own, Fraction):
                raise query.error(f"{name} is a number, not {own!r}.", place, "Give one.")
            if argument == "max_groups" and (own.denominator != 1 or own < 1):
                raise query.error(
                    f"{name} is a whole number from 1, not {own}.", place, "Give one."
                )
            found[argument] = int(own) if argument == "max_groups" else own
        if "epsilon" not in found:
            hint = "Pass epsilon=, or write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1)."
            if more.get("epsilon") is None:
                raise query.error("No ε is given.", 0, hint)
            found["epsilon"] = exact(more["epsilon"], name="epsilon")
        unit, place = given.get("privacy_unit_column", (self._unit, 0))
        if unit != self._unit:
            reason = f"The session protects {self._unit or 'each row'!r}, not {unit!r}."
            raise query.error(reason, place, "Open a session with that unit=.")
        strategy, place = given.get("group_selection_strategy", ("PUBLIC_GROUPS", 0))
        if str(strategy).upper() not in ("PUBLIC_GROUPS", _FOUND):
            raise query.error(
                f"Groups are not chosen by {strategy}.",
                place,
                f"Give keys=, or keys in the schema; {_FOUND} finds groups, as "
                "session.discover(...) does.",
            )
        if not self.finds(more):
            found.pop("delta", None)
        return found

    def finds(self, more: Mapping[str, Any]) -> bool:
        """Whether groups are found in the data: the query says so, or gives δ as an argument."""
        strategy, _ = self.options.get("group_selection_strategy", ("", 0))
        return str(strategy).upper() == _FOUND or "delta" in more

    def made(self, *, finds: bool = False) -> list[_Made]:
        """Each question's class and first arguments, and the others; finds: in groups found."""
        shared: dict[str, Any] = {}
        if self.by:
            names = [name for name, _ in self.by]
            shared["by"] = names[0] if len(names) == 1 else names
        if self.where is not None:
            shared["where"] = self.where
        ordered = self.having or self.largest
        if ordered is not None:
            self._count(ordered[0])
            for one in self.aggregates:
                if any(
                    getattr(one, name) != getattr(ordered[0], name)
                    for name in ("function", "column", "distinct")
                ):
                    reason = "HAVING and ORDER BY go with that count alone."
                    hint = "Ask the others in a query of their own, and keep the groups told here."
                    raise self.query.error(reason, one.place, hint)
            return [((_CLAUSES[ordered[1]], ordered[2]), shared)]
        asked = [self._question(one, shared) for one in self.aggregates]
        if finds:
            if [kind for kind, _ in asked] != [(Count,)] or not self.by or self.margins:
                hint = "Ask one COUNT with GROUP BY keys, then the rest with keys= of its answer."
                raise self.query.error("Groups are found by a count of units in each.", 0, hint)
            return [((Discover,), shared)]
        if self.margins is None:
            return asked
        return [
            self._with_margins(one, *made) for one, made in zip(self.aggregates, asked, strict=True)
        ]

    def _with_margins(self, one: Aggregate, what: Any, given: dict[str, Any]) -> _Made:
        """The same with the margins that are asked for. Errors: SqlError."""
        kind, *place = what
        if kind not in (Count, RowCount, Sum) or not given.get("by"):
            reason = f"{one.function} has no margins that add up."
            hint = "Ask for counts and sums of columns, or GROUP BY the columns alone."
            raise self.query.error(reason, one.place, hint)
        more: dict[str, Any] = {"column": place[0]} if place else {}
        more |= {"of": "rows"} if kind is RowCount else {}
        return (CrossTable,), {**given, **more, "margins": self.margins}

    def _question(self, one: Aggregate, shared: Mapping[str, Any]) -> _Made:
        if one.function == "COUNT" and not one.distinct:
            return self._row_count(one, shared)
        if one.function == "COUNT":
            self._count(one)
            return (Count,), dict(shared)
        if one.distinct:
            raise self.query.error(
                "DISTINCT goes with COUNT alone.", one.place, f"Write {one.function}(x)."
            )
        if one.column == self._unit:
            reason = f"{one.column!r} says whose row it is; nothing is computed of it."
            hint = f"Write COUNT(DISTINCT {self._unit})."
            raise self.query.error(reason, one.column_place, hint)
        return self._of_values(one, shared)

    def _row_count(self, one: Aggregate, shared: Mapping[str, Any]) -> _Made:
        """All rows, or those with a value in a column."""
        if one.bounds is not None or (self._unit is not None and not self._rows):
            self._count(one)
        asked = dict(shared)
        if one.column is not None:
            quoted = one.column.replace('"', '""')
            filled, where = f'"{quoted}" IS NOT NULL', asked.get("where")
            asked["where"] = filled if where is None else f"({where}) AND {filled}"
        return (Count if self._unit is None else RowCount,), asked

    def _of_values(self, one: Aggregate, shared: Mapping[str, Any]) -> _Made:
        """A question about a column of numbers: of rows, or of units where it says so."""
        query, function = self.query, one.function
        kind, words = _WORDS[function]
        per_unit, asked, words = function.endswith(_PER_UNIT), dict(shared), dict(words)
        place = self._share(one, words)
        given: dict[str, Any] = {} if one.bounds is None else {"bounds": one.bounds}
        if place and place[0] in (0, 1):
            return (kind, one.column, *place), {**asked, **given}
        rows = words.pop("of", "units") == "rows"
        totals = "total_bounds" in {part.name for part in fields(kind)}
        # Where bounds are stated of a unit, it is units that are added up.
        if totals and rows and one.bounds and not one.per_row:
            rows = False
        elif totals and per_unit and one.per_row:
            hint = "Write contribution_bounds_per_group => (lowest, highest)."
            raise query.error(f"{function} bounds the total of each unit.", one.place, hint)
        if self._unit is not None and totals and not rows:
            named = {} if one.bounds is None else {"total_bounds": one.bounds}
            return (kind, one.column), {**asked, **named, "of": "units"}
        if rows and self._unit is not None:
            if not self._rows or self._cumulative:
                raise _many(self, one, self._unit)
            given["of"] = "rows"
        if self._cumulative:
            words.pop("interpolate", None)
        return (kind, one.column, *place), {**asked, **words, **given}

    def _share(self, one: Aggregate, words: dict[str, Any]) -> tuple[Any, ...]:
        """A quantile's share, as its word says or as it is given. Errors: SqlError."""
        query = self.query
        if one.function not in _SHARED:
            return (words.pop("q"),) if "q" in words else ()
        if one.share is None:
            hint = f"Write {one.function}({one.column}, 0.5) for the median."
            raise query.error("A quantile takes a share.", one.place, hint)
        if not 0 <= one.share <= 1:
            raise query.error("A quantile's share lies in 0 .. 1.", one.place, "0.5 is half.")
        return (one.share,)

    def _count(self, one: Aggregate) -> None:
        """Refuse counts of anything but units. Errors: SqlError."""
        query, unit = self.query, self._unit
        if one.bounds is not None:
            hint = "Leave it out: a unit counts once in each group."
            raise query.error("A count has no bounds.", one.place, hint)
        if unit is None and one.distinct:
            hint = f"Write COUNT(*), or open the session with unit={one.column!r}."
            raise query.error("Each row is a unit of its own here.", one.place, hint)
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
            if one.distinct:
                raise query.error(
                    f"COUNT(DISTINCT {counted}) is no number of units, and distinct values of "
                    "other columns are not counted.",
                    one.place,
                    f"Write COUNT(DISTINCT {unit}).",
                )
            reason = f"COUNT({counted}) is no number of units: {unit!r} may have many rows."
            hint = f"Write COUNT(DISTINCT {unit}), or pass max_rows= for the number of rows."
            raise query.error(reason, one.place, hint)


def _select(text: str) -> Select:
    return Select(text, functions=_FUNCTIONS, shared=_SHARED)


def explains(text: str) -> bool:
    """Whether a query wants its plan alone. Errors: SqlError.

    >>> explains("EXPLAIN SELECT COUNT(*) FROM visits")
    True
    """
    return _select(text).explain


def refuse_changed(text: str, unit: str | None) -> None:
    """Refuse what was about units in 0.2 and is about rows today. Errors: SqlError.

    >>> refuse_changed("SELECT AVG(age) FROM visits", "person")
    """
    select = _select(text)
    for one in select.aggregates if unit is not None else ():
        if one.function in _CHANGED and not (one.function == "SUM" and one.bounds):
            raise _many(select, one, unit)


def _many(select: Select, one: Aggregate, unit: str | None) -> SqlError:
    """An error for an aggregate of rows, of which a unit may have any number."""
    share = "" if one.share is None else f", {float(one.share):g}"
    kind, given = _WORDS[one.function]
    own = {name: value for name, value in given.items() if name not in ("of", "interpolate")}
    per_unit = next(
        word
        for word, (other, more) in _WORDS.items()
        if other is kind and word.endswith(_PER_UNIT) and {**more, "of": 0} == {**own, "of": 0}
    )
    return select.query.error(
        f"{one.function} counts rows one by one, and {unit!r} may have many.",
        one.place,
        f"Write {per_unit}({one.column}{share}), in which each unit counts once, or "
        "pass max_rows=, the most rows of a unit that count, from public knowledge.",
    )


_CHANGED: Final = ("SUM", "MEDIAN", "QUANTILE", "PERCENTILE_CONT")


def _fitting(
    more: Mapping[str, Any], kinds: list[tuple[Callable[..., Any], Mapping[str, Any]]]
) -> list[dict[str, Any]]:
    """What each question takes of the further arguments. Errors: ParameterError."""
    known = [_taken(kind, given) for kind, given in kinds]
    for name in more:
        if not any(name in names for names in known):
            raise ParameterError(
                f"{name}= is no argument of a query such as this.",
                hint=f"It takes {', '.join(f'{one}=' for one in sorted(set().union(*known)))}.",
                name=name,
            )
    return [{n: value for n, value in more.items() if n in names} for names in known]


def _taken(kind: Any, given: Mapping[str, Any]) -> set[str]:
    """The further arguments of a question as the query asks it."""
    own, of = {one.name for one in fields(kind)}, given.get("of")
    # Of thresholds it names compounds; of numbers the query says whether rows count.
    names = own - IN_SQL | ({"of"} if "max_answers" in own else set())
    if of != "rows" and kind is not RowCount:
        names.discard("max_rows")
    if of == "units":
        return names - {"bounds"}
    return names - {"total_bounds"}


# How an answer is called, and what a caller gives beside the text.
_BESIDE: Final = frozenset({"id", "again", "title", "epsilon", "missing"})


def sql_of(question: Any, session: Any, *, table: str) -> str:
    """A query that reads as this very question, but for its name, ε and missing values; or "".

    Each query that may do is read back and compared, so that none shown is another question.

    >>> import polars as pl, onesided as od
    >>> rows, policy = pl.DataFrame({"person": [1], "age": [7]}), od.policy.addition_only()
    >>> session = od.Session(rows, unit="person", policy=policy, budget=9)
    >>> asked = od.Mean("age", where="age < 18", epsilon=1)
    >>> print(sql_of(asked, session, table="people"))
    SELECT MEAN_PER_UNIT(age)
    FROM people
    WHERE age < 18
    """
    kind, unit = type(question), session.unit
    counted = "COUNT(*)" if unit is None else f"COUNT(DISTINCT {_name(unit)})"
    clauses = {clause: one for clause, one in _CLAUSES.items() if one is kind}
    if clauses or kind is Count:
        tried = [counted]
    elif isinstance(getattr(question, "q", ""), list | tuple):  # SQL asks for one at a time
        return ""
    else:
        tried = [_call(word, question) for word, (one, _) in _WORDS.items() if one is kind]
    for aggregate in tried:
        by, where = list(map(_name, names_of(question.by, name="by"))), condition(question.where)
        text = f"SELECT {', '.join([*by, aggregate])}\nFROM {_name(table)}"
        text += "" if where is None else f"\nWHERE {where.text}"
        text += f"\nGROUP BY {', '.join(by)}" if by else ""
        for clause in clauses:
            first = next(getattr(question, n.name) for n in fields(question) if not n.kw_only)
            text += f"\n{clause.format(counted)} {first}"
        try:
            found = session.question(text, epsilon=question.epsilon)
        except (OnesidedError, TypeError):
            continue
        if type(found) is kind and _content(found) == _content(question):
            return text
    return ""


def _call(word: str, question: Any) -> str:
    share = f", {float(exact(question.q, name='q'))}" if word in _SHARED else ""
    return f"{word}({_name(question.column)}{share})"


def _content(question: Any) -> dict[str, object]:
    """The question's fields, each in one form."""
    told = {
        one.name: getattr(question, one.name)
        for one in fields(question)
        if one.init and one.name not in _BESIDE
    }
    where = condition(told["where"])
    told |= {"by": names_of(told["by"], name="by"), "where": where and where.text}
    return {**told, "q": exact(told["q"], name="q")} if "q" in told else told


def _name(name: str) -> str:
    """A column's name as SQL writes it."""
    return name if name.isidentifier() and name.isascii() and name.islower() else quoted(name)
