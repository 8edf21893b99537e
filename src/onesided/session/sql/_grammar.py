"""The grammar: words to a select statement of our own; nothing else is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from fractions import Fraction
from typing import Final

from onesided.errors import ConditionError, SqlError
from onesided.session._context import condition
from onesided.session.sql._words import WORKS, Query, Reader, Word

BOUNDS: Final = ("CONTRIBUTION_BOUNDS_PER_GROUP", "CONTRIBUTION_BOUNDS_PER_ROW")
FUNCTIONS: Final = (
    "COUNT",
    "SUM",
    "SUM_PER_UNIT",
    "AVG",
    "MEAN_PER_UNIT",
    "AVG_PER_UNIT",
    "VARIANCE",
    "VARIANCE_PER_UNIT",
    "MEDIAN",
    "MEDIAN_PER_UNIT",
    "QUANTILE",
    "QUANTILE_PER_UNIT",
    "PERCENTILE_CONT",
    "PERCENTILE_DISC",
    "MIN",
    "MAX",
)
SHARED: Final = ("QUANTILE", "QUANTILE_PER_UNIT", "PERCENTILE_CONT", "PERCENTILE_DISC")
_CLAUSES: Final = ("GROUP", "HAVING", "ORDER", "LIMIT")
_RESERVED: Final = frozenset(
    [
        "SELECT",
        "FROM",
        "WHERE",
        "GROUP",
        "BY",
        "HAVING",
        "ORDER",
        "LIMIT",
        "DISTINCT",
        "AS",
        "ON",
        "JOIN",
        "UNION",
        "WITH",
        "OVER",
    ]
)
# Nearest things that work, for words that do not.
_INSTEAD: Final = {
    "JOIN": "Join the tables first, and open a session on the result.",
    "UNION": "Ask one query for each, or put them together first.",
    "INTERSECT": "Ask one query for each.",
    "EXCEPT": "Ask one query for each.",
    "OFFSET": "Leave it out: the k largest are released, LIMIT k.",
    "QUALIFY": "Use HAVING COUNT(...) <= t, or WHERE.",
    "WINDOW": "Group by a column instead.",
    "OVER": "Group by a column instead.",
    "WITHIN": "Write PERCENTILE_CONT(x, 0.5).",
    "FILTER": "Put the condition into WHERE.",
    "AS": "Leave the table's other name out, and name columns alone.",
    ";": "Ask one query at a time.",
    "STDDEV": "Ask VARIANCE_PER_UNIT(x), or VARIANCE(x) of rows, and take its root.",
    "STDDEV_POP": "Ask VARIANCE_PER_UNIT(x), or VARIANCE(x) of rows, and take its root.",
    "STDDEV_SAMP": "Ask VARIANCE_PER_UNIT(x), or VARIANCE(x) of rows, and take its root.",
    "VAR_POP": "Write VARIANCE(x), or VARIANCE_PER_UNIT(x).",
    "VAR_SAMP": "It divides by n - 1. VARIANCE(x) and VARIANCE_PER_UNIT(x) divide by n.",
    "APPROX_COUNT_DISTINCT": "Write COUNT(DISTINCT unit).",
    "APPROX_QUANTILES": "Write QUANTILE(x, 0.5), one for each share.",
    "MEAN": "Write MEAN_PER_UNIT(x), or AVG(x) of rows.",
    "ANON_COUNT": "Write COUNT(DISTINCT unit).",
    "ANON_SUM": "Write SUM_PER_UNIT(x).",
    "ANON_AVG": "Write MEAN_PER_UNIT(x).",
    "ANY_VALUE": "A value of the table is never released; write QUANTILE(x, 0.5).",
}


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate: its function, column (None for ``*``), share and stated bounds.

    per_row: whether the bounds are stated of a row, or else of a unit in a group.
    """

    function: str
    column: str | None
    distinct: bool = False
    share: Fraction | None = None
    bounds: tuple[Fraction, Fraction] | None = None
    per_row: bool = False
    place: int = field(default=0, compare=False)
    column_place: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Select:
    """A query, read. names: selected columns with their places; aliases: their other names.

    at_most: HAVING's threshold.
    """

    query: Query
    explain: bool
    options: Mapping[str, tuple[object, int]]
    names: tuple[tuple[str, int], ...]
    aliases: Mapping[str, str]
    aggregates: tuple[Aggregate, ...]
    where: str | None
    by: tuple[tuple[str, int], ...]
    at_most: tuple[Aggregate, int] | None
    largest: tuple[Aggregate, int] | None


def select_of(text: str) -> Select:
    """The query in a text. Errors: SqlError, with the place and the nearest thing that works."""
    query = Query(text)
    explain, words = query.words()
    return _Parser(Reader(query, words)).select(explain=explain)


class _Parser:
    """Takes the words in their order."""

    def __init__(self, words: Reader) -> None:
        self._words = words
        self._aliases: dict[str, Aggregate] = {}
        self._columns: dict[str, str] = {}

    def select(self, *, explain: bool) -> Select:
        words = self._words
        words.expect("SELECT")
        options = self._options() if words.accept("WITH") else {}
        if words.next.upper == "DISTINCT":
            raise words.refused("DISTINCT cannot stand here", hint="Use GROUP BY, with its keys.")
        names, aggregates = self._items()
        words.expect("FROM", "Name the table; any name means the session's own.")
        self._table()
        where = self._where() if words.accept("WHERE") else None
        by = self._by() if words.accept("GROUP", "BY") else ()
        at_most = self._having() if words.accept("HAVING") else None
        largest = self._largest() if words.accept("ORDER", "BY") else None
        if words.next.upper == "LIMIT":
            raise words.refused(
                "LIMIT stands after ORDER BY alone",
                hint="Write ORDER BY COUNT(...) DESC LIMIT k for the k largest groups.",
            )
        words.accept(";")
        if words.next.text:
            raise self._unknown("This cannot stand here")
        return Select(
            query=words.query,
            explain=explain,
            options=options,
            names=names,
            aliases=self._columns,
            aggregates=aggregates,
            where=where,
            by=by,
            at_most=at_most,
            largest=largest,
        )

    def _unknown(self, reason: str) -> SqlError:
        word = self._words.next.upper
        return self._words.refused(
            reason, hint=_INSTEAD.get("JOIN" if word in _JOINS else word, WORKS)
        )

    def _options(self) -> dict[str, tuple[object, int]]:
        """BigQuery's WITH DIFFERENTIAL_PRIVACY OPTIONS(...)."""
        words = self._words
        found: dict[str, tuple[object, int]] = {}
        words.expect("DIFFERENTIAL_PRIVACY", "Write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(...).")
        if not words.accept("OPTIONS"):
            return {}
        words.expect("(")
        while not words.accept(")"):
            name, place = self._name("an option")
            words.expect("=")
            value: object
            if words.next.kind in ("text", "quoted", "word"):
                value = words.take().text
            else:
                value = words.number(name)
            found[name.lower()] = (value, place)
            if not words.accept(",") and words.next.upper != ")":
                raise words.refused("A comma or ) is expected here")
        return found

    def _items(self) -> tuple[tuple[tuple[str, int], ...], tuple[Aggregate, ...]]:
        words = self._words
        names: list[tuple[str, int]] = []
        aggregates: list[Aggregate] = []
        while True:
            if words.next.upper == "*":
                raise words.refused(
                    "* would release rows",
                    hint="Ask for aggregates, such as COUNT(*); session.sample(...) releases "
                    "open records.",
                )
            one = self._aggregate() if words.after().upper == "(" else None
            if one is not None:
                aggregates.append(one)
            else:
                names.append(self._name("a column or an aggregate"))
            if words.accept("AS"):
                alias, _ = self._name("a name")
                if one is not None:
                    self._aliases[alias.lower()] = one
                else:
                    self._columns[alias] = names[-1][0]
            elif self._named():
                raise words.refused(
                    "AS is expected before a name of an answer",
                    hint=f"Write AS {words.next.text}, or a comma between columns.",
                )
            if not words.accept(","):
                break
        if words.next.upper in _ARITHMETIC:
            raise words.refused(
                "Nothing is computed of answers here",
                hint="Compute the column first, or compute with the released numbers.",
            )
        return tuple(names), tuple(aggregates)

    def _named(self) -> bool:
        """Whether a name comes next."""
        word = self._words.next
        return word.kind == "quoted" or (word.kind == "word" and word.upper not in _RESERVED)

    def _name(self, what: str) -> tuple[str, int]:
        """A column's name, also of a table that is named before it."""
        words = self._words
        word = words.next
        if not self._named():
            quote = f'If {word.text} is a column, write it in double quotes: "{word.text}".'
            raise words.refused(
                f"{what[:1].upper()}{what[1:]} is expected here",
                hint=quote if word.kind == "word" else WORKS,
            )
        words.take()
        while words.accept("."):
            word = words.take()
        return word.text, word.start

    def _aggregate(self) -> Aggregate:
        words = self._words
        word = words.take()
        function = word.upper
        if function not in FUNCTIONS:
            near = get_close_matches(function, FUNCTIONS, n=1)
            hint = _INSTEAD.get(function) or (
                f"Did you mean {near[0]}? The aggregates are {', '.join(FUNCTIONS)}."
                if near
                else f"The aggregates are {', '.join(FUNCTIONS)}; compute a column first."
            )
            raise words.refused(f"{word.text}(...) is no aggregate", hint=hint, word=word)
        words.expect("(")
        distinct = words.accept("DISTINCT")
        column: str | None = None
        place = words.next.start
        if not (function == "COUNT" and not distinct and words.accept("*")):
            column, place = self._name("a column")
        share, bounds, per_row = None, None, False
        while words.accept(","):
            if words.after().upper == "=>":
                per_row = words.next.upper == BOUNDS[1]
                bounds = self._bounds()
            elif function in SHARED and share is None:
                share = words.number("a quantile's share")
            else:
                raise words.refused(f"{function} takes no more than this")
        if words.next.upper != ")":
            raise words.refused(
                f"{function} takes one column", hint="Compute a column first, and name it here."
            )
        words.take()
        if words.next.upper in ("OVER", "FILTER", "WITHIN"):
            raise self._unknown("This cannot stand here")
        return Aggregate(function, column, distinct, share, bounds, per_row, word.start, place)

    def _bounds(self) -> tuple[Fraction, Fraction]:
        """BigQuery's ``contribution_bounds_per_group => (0, 100)``."""
        words = self._words
        if words.next.upper not in BOUNDS:
            hint = f"BigQuery's {BOUNDS[0].lower()} is read."
            raise words.refused("This argument is not known", hint=hint)
        words.take()
        words.take()
        words.expect("(")
        low = words.number("a bound")
        words.expect(",")
        high = words.number("a bound")
        words.expect(")")
        return low, high

    def _table(self) -> None:
        words = self._words
        if words.next.upper == "(":
            raise words.refused(
                "A query inside a query is not read",
                hint="Compute the inner table first, and open a session on it.",
            )
        self._name("a table")
        if words.next.upper == ",":
            raise words.refused("One table is asked", hint=_INSTEAD["JOIN"])
        if words.next.upper in ("AS", *_JOINS):
            raise self._unknown("One table is asked, by one name")
        if words.next.kind in ("word", "quoted") and words.next.upper not in (*_CLAUSES, "WHERE"):
            hint = _INSTEAD.get(words.next.upper, _INSTEAD["AS"])
            raise words.refused("This cannot stand here", hint=hint)

    def _where(self) -> str:
        """The condition's own text, checked. Errors: SqlError at the condition's place."""
        words, depth, taken = self._words, 0, []
        while words.next.text:
            sign = words.next.upper
            if depth == 0 and (sign == ";" or sign in (*_CLAUSES, *_JOINS, "UNION", "WINDOW")):
                break
            depth += (sign == "(") - (sign == ")")
            taken.append(words.take())
        if not taken:
            raise words.refused("A condition is expected here", hint='Such as "age >= 18".')
        start, end = taken[0].start, taken[-1].end
        text = words.query.text[start:end]
        try:
            condition(text)
        except ConditionError as error:
            at = error.values.get("place")
            where = start + at if isinstance(at, int) else start
            reason = error.reason.split("\n")[0].removesuffix(".")
            raise words.query.error(f"{reason}.", where, error.hint) from None
        return text

    def _by(self) -> tuple[tuple[str, int], ...]:
        words, found = self._words, []
        while True:
            if words.next.kind == "number":
                raise words.refused("Columns are named", hint="Write GROUP BY place, not 1.")
            if words.after().upper == "(":
                raise words.refused(
                    "Columns are grouped by",
                    hint="Compute the column first, such as the hour of a moment.",
                )
            found.append(self._name("a column"))
            if not words.accept(","):
                return tuple(found)

    def _counted(self, what: str) -> Aggregate:
        """A count, or the other name of one that is selected."""
        words = self._words
        named = self._aliases.get(words.next.text.lower())
        if words.after().upper == "(":
            named, word = self._aggregate(), words.next
        else:
            word = words.next
            if named is not None:
                words.take()
        if named is None or named.function != "COUNT":
            place = word if named is None else Word("sign", "", named.place, named.place)
            raise words.refused(
                f"{what} takes a count", hint=f"Write {what} COUNT(DISTINCT unit) ...", word=place
            )
        return named

    def _having(self) -> tuple[Aggregate, int]:
        words = self._words
        count = self._counted("HAVING")
        sign = words.next
        if sign.upper not in ("<=", "<"):
            raise words.refused(
                "HAVING certifies that counts are small",
                hint="Write HAVING COUNT(...) <= t; which are larger, session.above(t, ...) asks.",
            )
        words.take()
        threshold = words.whole("a threshold", least=1 if sign.upper == "<" else 0)
        return count, threshold - (1 if sign.upper == "<" else 0)

    def _largest(self) -> tuple[Aggregate, int]:
        words = self._words
        count = self._counted("ORDER BY")
        if not words.accept("DESC"):
            raise words.refused(
                "The largest groups are released, so DESC is expected here",
                hint="Write ORDER BY COUNT(...) DESC LIMIT k.",
            )
        words.expect("LIMIT", "Write ORDER BY COUNT(...) DESC LIMIT k, or sort the release.")
        return count, words.whole("LIMIT", least=1)


_JOINS: Final = ("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL")
_ARITHMETIC: Final = ("+", "-", "*", "/", "%", "||")
