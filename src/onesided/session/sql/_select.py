"""A query's text to a select statement of our own, word by word: a closed language.

Each word is taken where the language has it, in turn, so that none can be read over; any other is
refused at its place. The condition's own text is handed to its own language.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fractions import Fraction
from typing import Final, NamedTuple

from onesided._english import pointed
from onesided._numbers import exact
from onesided.errors import ConditionError, SqlError
from onesided.session._context import condition

LONGEST: Final = 100_000  # characters
WORKS: Final = (
    "A query is SELECT keys and aggregates FROM table [WHERE condition] [GROUP BY keys] [HAVING "
    "COUNT(...) <= t] [ORDER BY COUNT(...) DESC LIMIT k] (docs/sql.md)."
)
BOUNDS: Final = ("CONTRIBUTION_BOUNDS_PER_GROUP", "CONTRIBUTION_BOUNDS_PER_ROW")
_WORDS: Final = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*.*?\*/)
    |(?P<text>'(?:[^']|'')*')
    |(?P<quoted>"(?:[^"]|"")*")
    |(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    |(?P<word>[^\W\d]\w*)
    |(?P<open>['"]|/\*)
    |(?P<sign><=|>=|<>|!=|=>|\|\||::|.)""",
    re.VERBOSE | re.DOTALL,
)
_SHOWN: Final = 72
_JOINS: Final = ("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "ASOF", "SEMI")
_CLAUSES: Final = ("GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "INTERSECT", "EXCEPT", "WINDOW")
# What is no name unless it is quoted.
_KEPT: Final = frozenset(
    ["SELECT", "FROM", "WHERE", "BY", "AS", "DISTINCT", "ALL", "ON", *_CLAUSES, *_JOINS]
)
_OPERATORS: Final = frozenset(["+", "-", "*", "/", "%", "||", "::", "=", "<", ">", "<=", ">=", "."])
_ADD_UP: Final = "Join the tables first, and open a session on the result."
# Nearest things that work, for words that do not.
_INSTEAD: Final[Mapping[str, str]] = {
    **dict.fromkeys(_JOINS, _ADD_UP),
    "UNION": "Ask one query for each, or put them together first.",
    "INTERSECT": "Ask one query for each.",
    "EXCEPT": "Ask one query for each.",
    "OFFSET": "Leave it out: the k largest are released, LIMIT k.",
    "QUALIFY": "Use HAVING COUNT(...) <= t or >= t, or WHERE.",
    "WINDOW": "Group by a column instead.",
    "OVER": "Group by a column instead.",
    **dict.fromkeys(("ROLLUP", "CUBE"), "Write GROUP BY ROLLUP (a, b), and nothing beside it."),
    "WITHIN": "Write PERCENTILE_CONT(x, 0.5).",
    "FILTER": "Put the condition into WHERE.",
    "LIMIT": "Write ORDER BY COUNT(...) DESC LIMIT k for the k largest groups.",
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


class Word(NamedTuple):
    """A word or sign, and where it stands; of kind "end" where the text ends."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def upper(self) -> str:
        """To compare with; "" for quoted names, texts and numbers."""
        return self.text.upper() if self.kind in ("word", "sign") else ""

    @property
    def name(self) -> str:
        """The name that it is; "" for what is none."""
        if self.kind == "quoted":
            return self.text[1:-1].replace('""', '"')
        return self.text if self.kind == "word" and self.upper not in _KEPT else ""


class Query:
    """The text of a query, for errors that show a place in it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def words(self) -> list[Word]:
        """Its words, and its end. Errors: SqlError for what is no text of bearable length."""
        if not isinstance(self.text, str):
            raise SqlError(f"A query is text, got {self.text!r}.", hint=WORKS)
        if len(self.text) > LONGEST:
            raise SqlError(
                f"The query has {len(self.text):,} characters; at most {LONGEST:,} are read.",
                hint="Write a shorter one.",
            )
        if not self.text.strip():
            raise SqlError("The query is empty.", hint=WORKS)
        for place, sign in enumerate(self.text):
            if sign == "\0" or "\ud800" <= sign <= "\udfff":
                raise self.error(f"The character {sign!a} is not text.", place, "Leave it out.")
        found = [
            Word(str(one.lastgroup), one[0], *one.span())
            for one in _WORDS.finditer(self.text)
            if one.lastgroup != "space"
        ]
        for word in found:
            if word.kind == "open":
                hint = "Write 'it''s' for text with a quote in it."
                raise self.error("A quote or a comment is never closed.", word.start, hint)
        end = len(self.text)
        return [*found, Word("end", "", end, end)]

    def error(self, reason: str, place: int, hint: str = WORKS) -> SqlError:
        """An error about ``place``, an offset, with the line and a caret under it."""
        words, line, column = pointed(self.text, place, _SHOWN)
        return SqlError(f"{reason}\n{words}", hint=hint, place=place, line=line, column=column)


class Words:
    """Takes the words of a query one by one. works: what its language is."""

    works = WORKS

    def __init__(self, query: Query) -> None:
        self.query = query
        self._words, self._at = query.words(), 0

    @property
    def _here(self) -> Word:
        return self._words[self._at]

    def _next(self) -> Word:
        """Take a word, whatever it is."""
        word = self._here
        self._at += word.kind != "end"
        return word

    def _take(self, *words: str) -> bool:
        """Whether the next word is one of these, which is then taken."""
        taken = self._here.upper in words
        self._at += taken
        return taken

    def _need(self, word: str, reason: str = "", hint: str = "") -> None:
        if not self._take(word):
            raise self._refused(reason or f"{word} is expected here", hint=hint)

    def _refused(self, reason: str, word: Word | None = None, hint: str = "") -> SqlError:
        """An error at a word, the next if none is given, with the nearest thing that works."""
        word = self._here if word is None else word
        told = f"{', not' if 'expected' in reason else ': here is'} {word.text!r}"
        told = ", where the query ends" if word.kind == "end" else told
        kept = word.upper in _KEPT and word.upper not in _INSTEAD and not hint
        quoted = f'{self.works} If {word.text} is a name, write it in double quotes: "{word.text}".'
        hint = hint or _INSTEAD.get(word.upper, quoted if kept else self.works)
        return self.query.error(f"{reason}{told}.", word.start, hint)

    def _name(self, what: str) -> str:
        """A name. Errors: SqlError."""
        if not self._here.name:
            raise self._refused(f"{what} is expected here")
        return self._next().name

    def _number(self, what: str) -> Fraction:
        """A number, with its sign. Errors: SqlError."""
        first = self._here
        negative = self._take("-")
        word = self._here
        if word.kind != "number":
            raise self._refused(f"{what} is a number", first)
        try:
            found = exact(self._next().text, name=what)
        except ValueError:
            raise self.query.error(f"{what} is a number.", word.start) from None
        return -found if negative else found


class Select(Words):
    """A query, read. shared: aggregates that take a share. Errors: SqlError.

    names: selected columns with their places; aliases: their other names. margins: what ROLLUP,
    CUBE or GROUPING SETS ask for, as tables name it; None without these.
    having, largest: what stands in HAVING, and in ORDER BY: a count, the clause with {} for it as
    questions name it, and the number after it.
    """

    def __init__(self, text: str, *, functions: Sequence[str], shared: Sequence[str]) -> None:
        super().__init__(Query(text))
        self._functions, self._shared = functions, shared
        self._counts: dict[str, Aggregate] = {}
        self._called: set[str] = set()
        self._tables: list[tuple[list[str], int]] = []
        self.aliases: dict[str, str] = {}
        self.explain = self._take("EXPLAIN")
        self._need("SELECT")
        self.options = self._options()
        if self._here.upper == "DISTINCT":
            place = self._here.start
            hint = "Use GROUP BY, with its keys."
            raise self.query.error("DISTINCT is not read here.", place, hint)
        self._take("ALL")
        self.names, self.aggregates = self._items()
        table = self._table()
        self.where = self._where()
        self.by, self.margins = self._margins() or (self._by(), None)
        grouped = {name.lower() for name, _ in self.by}
        self.having, self.largest = self._having(grouped), self._largest(grouped)
        self._end()
        for of, place in self._tables:
            if table[-len(of) :] != of:
                reason = f"{'.'.join(of)} is not the table that is asked."
                hint = "Name the column alone; of a value of several parts, make columns first."
                raise self.query.error(reason, place, hint)

    def _end(self) -> None:
        """Refuse what stands after a query."""
        if self._take(";"):
            if self._here.kind != "end":
                raise self._refused("One query is read at a time")
        elif self._here.upper == "LIMIT":
            raise self._refused("LIMIT stands after ORDER BY alone")
        elif self._here.upper == "WHERE":
            raise self._refused("WHERE stands before what groups and orders", hint=WORKS)
        elif self._here.kind != "end":
            raise self._refused("The end of the query is expected here")

    def _options(self) -> dict[str, tuple[object, int]]:
        """BigQuery's WITH DIFFERENTIAL_PRIVACY OPTIONS(...)."""
        if not self._take("WITH"):
            return {}
        hint = "Write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(...)."
        self._need("DIFFERENTIAL_PRIVACY", hint=hint)
        found: dict[str, tuple[object, int]] = {}
        if not self._take("OPTIONS"):
            return found
        self._need("(", hint=hint)
        while not self._take(")"):
            if found:
                self._need(",")
            word = self._here
            name = self._name("An option, name=value,").lower()
            if name in found:
                raise self.query.error(f"{name} stands twice.", word.start, "Give it once.")
            self._need("=", "An option is name=value")
            given: object = "NULL"
            if self._here.kind == "text":
                given = self._next().text[1:-1].replace("''", "'")
            elif not self._take("NULL"):
                given = self._next().name if self._here.name else self._number(name)
            found[name] = (given, word.start)
        return found

    def _items(self) -> tuple[tuple[tuple[str, int], ...], tuple[Aggregate, ...]]:
        names: list[tuple[str, int]] = []
        aggregates: list[Aggregate] = []
        while True:
            aggregate = None
            if self._words[self._at + (self._here.kind != "end")].upper == "(":
                aggregate = self._aggregate("A column or an aggregate")
                aggregates.append(aggregate)
            else:
                names.append(self._column("A column or an aggregate"))
            if self._here.upper in _OPERATORS:
                hint = "Compute the column first, or compute with the released numbers."
                raise self._refused("Nothing is computed of answers here", hint=hint)
            self._alias(aggregate, names)
            if not self._take(","):
                return tuple(names), tuple(aggregates)

    def _alias(self, aggregate: Aggregate | None, names: Sequence[tuple[str, int]]) -> None:
        word = self._here
        if self._take("AS"):
            word = self._here
            alias = self._name("A name")
        elif word.name and word.upper not in _INSTEAD:
            alias = self._next().name
        else:
            return
        if alias.lower() in self._called:
            hint = "Give each its own."
            raise self.query.error(f"Two columns are called {alias}.", word.start, hint)
        self._called.add(alias.lower())
        if aggregate is None:
            self.aliases[alias] = names[-1][0]
        else:
            self._counts[alias.lower()] = aggregate

    def _column(self, what: str) -> tuple[str, int]:
        """A column's name, also of a table that is named before it. Errors: SqlError."""
        parts, word = [], self._here
        while True:
            if self._here.upper == "*" and what == "A column or an aggregate":
                raise self.query.error(
                    "* would release rows.",
                    self._here.start,
                    "Ask for aggregates, such as COUNT(*); session.sample(...) releases open "
                    "records.",
                )
            word = self._here
            parts.append(self._name(what))
            if not self._take("."):
                break
        if parts[:-1]:
            self._tables.append(([part.casefold() for part in parts[:-1]], word.start))
        return parts[-1], word.start

    def _table(self) -> list[str]:
        """The one table's names. Errors: SqlError for all else that is read of it."""
        if self._here.upper in _INSTEAD:
            raise self._refused("FROM is expected here")
        self._need("FROM", hint="Name the table; any name means the session's own.")
        if self._here.upper == "(":
            hint = "Compute the inner table first, and open a session on it."
            raise self._refused("A query inside a query is not read", hint=hint)
        parts = [self._name("A table").casefold()]
        while self._take("."):
            parts.append(self._name("A table").casefold())
        if self._here.upper == "(":
            raise self._refused("A table is expected here")
        if self._here.upper in (",", *_JOINS):
            raise self._refused("One table is asked", hint=_ADD_UP)
        if self._here.upper == "AS" or (self._here.name and self._here.upper not in _INSTEAD):
            hint = "Leave the table's other name out, and name columns alone."
            raise self._refused("One table is asked, by one name", hint=hint)
        return parts

    def _where(self) -> str | None:
        """The condition's own text, checked. Errors: SqlError."""
        if not self._take("WHERE"):
            return None
        first = last = self._here
        depth = 0
        while self._here.kind != "end" and (depth or not self._closes()):
            last = self._next()
            depth += {"(": 1, ")": -1}.get(last.upper, 0)
        if self._here is first:
            raise self._refused("A condition is expected here", hint='Such as "age >= 18".')
        text = self.query.text[first.start : last.end]
        try:
            condition(text)
        except ConditionError as error:
            at = error.values.get("place")
            place = first.start + (at if isinstance(at, int) else 0)
            reason = error.reason.split("\n")[0].removesuffix(".")
            raise self.query.error(f"{reason}.", place, error.hint) from None
        return text

    def _closes(self) -> bool:
        """Whether the next word ends a condition."""
        word = self._here.upper
        if word in ("GROUP", "ORDER"):
            return self._words[self._at + 1].upper == "BY"
        return word == ";" or word in _CLAUSES or word in _JOINS

    def _aggregate(self, what: str) -> Aggregate:
        word = self._here
        if word.kind != "word" or not word.name:
            raise self._refused(f"{what} is expected here")
        function = self._next().upper
        if function not in self._functions:
            near = get_close_matches(function, self._functions, n=1)
            listed = f"The aggregates are {', '.join(self._functions)}"
            hint = _INSTEAD.get(function) or (
                f"Did you mean {near[0]}? {listed}."
                if near
                else f"{listed}; compute a column first."
            )
            raise self.query.error(f"{word.text}(...) is no aggregate.", word.start, hint)
        self._need("(")
        distinct = self._take("DISTINCT")
        at = self._here.start
        if function == "COUNT" and not distinct and self._here.text in ("*", "1"):
            column, at = None, self._next().start
        elif self._here.kind == "number":
            form = f"{function}(x, 0.9)" if function in self._shared else f"{function}(x)"
            raise self._refused("A column is expected here", hint=f"Write {form}.")
        else:
            column, at = self._column("A column")
        if column is not None and self._here.upper in _OPERATORS:
            hint = "Compute a column first, and name it here."
            raise self._refused(f"{function} takes one column", hint=hint)
        share, bounds, per_row = None, None, False
        while self._take(","):
            given = self._here
            if self._words[self._at + 1].upper == "=>":
                found, per_row = self._bounds()
                if bounds is not None:
                    raise self.query.error("Bounds stand twice.", given.start, "Give them once.")
                bounds = found
            elif function in self._shared and share is None:
                share = self._number("a quantile's share")
            else:
                raise self._refused(f"{function} takes no more than this")
        self._need(")")
        return Aggregate(function, column, distinct, share, bounds, per_row, word.start, at)

    def _bounds(self) -> tuple[tuple[Fraction, Fraction], bool]:
        """BigQuery's ``contribution_bounds_per_group => (0, 100)``."""
        name = self._here.upper
        if name not in BOUNDS:
            hint = f"BigQuery's {BOUNDS[0].lower()} is read."
            raise self._refused("This argument is not known", hint=hint)
        self._at += 2
        pair = "A pair of bounds is expected"
        self._need("(", pair)
        low = self._number("a bound")
        self._need(",", pair)
        high = self._number("a bound")
        self._need(")", pair)
        return (low, high), name == BOUNDS[1]

    def _whole(self, what: str, least: int) -> int:
        """A whole number. Errors: SqlError."""
        place = self._here.start
        found = self._number(what)
        if found.denominator != 1 or found < least:
            reason = f"{what} is a whole number from {least}."
            raise self.query.error(reason, place)
        return int(found)

    def _by(self) -> tuple[tuple[str, int], ...]:
        if not self._take("GROUP"):
            return ()
        self._need("BY")
        found: list[tuple[str, int]] = []
        while not found or self._take(","):
            word = self._here
            if word.kind == "number":
                raise self._refused("Columns are named", hint="Write GROUP BY place, not 1.")
            found.append(self._column("A column"))
            if self._here.upper == "(":
                hint = "Compute the column first, such as the hour of a moment."
                hint = _INSTEAD.get(word.upper, hint)
                raise self._refused("Columns are grouped by", word, hint)
        return tuple(found)

    def _margins(self) -> tuple[tuple[tuple[str, int], ...], object] | None:
        """GROUP BY ROLLUP (...), CUBE (...) or GROUPING SETS ((...), ...); None for all else."""
        ahead = [word.upper for word in self._words[self._at : self._at + 5]]
        sets = ahead[2:5] == ["GROUPING", "SETS", "("]
        if ahead[:2] != ["GROUP", "BY"] or not (
            sets or (ahead[2] in ("ROLLUP", "CUBE") and ahead[3:4] == ["("])
        ):
            return None
        self._at += 4 if sets else 3
        if not sets:
            columns = self._listed()
            found: object = "rollup" if ahead[2] == "ROLLUP" else True
        else:
            parts: list[tuple[tuple[str, int], ...]] = []
            self._need("(")
            while not parts or self._take(","):
                alone = self._here.upper != "("
                parts.append((self._column("A column"),) if alone else self._listed())
            self._need(")")
            columns = tuple({name: (name, at) for one in parts for name, at in one}.values())
            found = [[name for name, _ in one] for one in parts]
        if self._here.upper == ",":
            raise self._refused("One ROLLUP, CUBE or GROUPING SETS stands alone")
        return columns, found

    def _listed(self) -> tuple[tuple[str, int], ...]:
        """Columns between brackets; none of them may be there."""
        self._need("(")
        found: list[tuple[str, int]] = []
        while not self._take(")"):
            if found:
                self._need(",", "A column and a comma are expected here")
            found.append(self._column("A column"))
        return tuple(found)

    def _counted(self, clause: str, grouped: set[str]) -> Aggregate:
        """A count, or the other name of one that is selected."""
        word, named = self._here, None
        if self._words[self._at + (word.kind != "end")].upper == "(":
            named = self._aggregate("A count")
        else:
            name, place = self._column("A count")
            alone = place == word.start
            named = self._counts.get(name.lower()) if alone else None
            word = word if alone else self._words[self._at - 1]
            if named is not None and name.lower() in grouped:
                reason = f"{name!r} is a column that is grouped by, and a count."
                hint = "Give the count another name."
                raise self.query.error(reason, place, hint)
        if named is None or named.function != "COUNT":
            hint = f"Write {clause} COUNT(DISTINCT unit) ..."
            if named is not None:
                told = "whose answer's at_least(t) and at_most(t) cost nothing more."
                hint = f"{hint}; or ask {named.function} alone, {told}"
            raise self._refused(f"{clause} takes a count", word, hint)
        return named

    def _having(self, grouped: set[str]) -> tuple[Aggregate, str, int] | None:
        if not self._take("HAVING"):
            return None
        count = self._counted("HAVING", grouped)
        sign = self._here.upper
        if not self._take("<=", "<", ">=", ">"):
            hint = "Write HAVING COUNT(...) <= t, or >= t."
            raise self._refused("HAVING certifies that counts are small, or large", hint=hint)
        # Of whole numbers, less than t is at most t - 1, and more than t at least t + 1.
        least, step = {"<": (1, -1), ">=": (1, 0), ">": (0, 1)}.get(sign, (0, 0))
        limit = self._whole("a threshold", least=least) + step
        if self._here.upper in ("AND", "OR"):
            raise self._refused("HAVING takes one threshold")
        return count, f"HAVING {{}} {sign[0]}=", limit

    def _largest(self, grouped: set[str]) -> tuple[Aggregate, str, int] | None:
        if not self._take("ORDER"):
            return None
        self._need("BY")
        count, write = self._counted("ORDER BY", grouped), "Write ORDER BY COUNT(...) DESC LIMIT k"
        if self._here.upper == ",":
            raise self._refused("One count orders the groups", hint=f"{write}.")
        self._need("DESC", "The largest groups are released, so DESC is expected here", f"{write}.")
        if self._take("NULLS") and not self._take("FIRST", "LAST"):  # a count is never null
            raise self._refused("FIRST or LAST is expected here")
        self._need("LIMIT", hint=f"{write}, or sort the release.")
        return count, "ORDER BY {} DESC LIMIT", self._whole("LIMIT", least=1)
