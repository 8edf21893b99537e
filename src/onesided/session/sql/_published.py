"""Queries of published answers: arithmetic with their bounds, in a closed language.

    SELECT keys, expression [AS name] FROM answer [alias] [JOIN answer [alias] [USING (keys)]]...
        [WHERE expression <= expression] [GROUP BY keys]

In an expression ``value``, or ``alias.value``, is the number that an answer bounds; numbers,
+ - * / and SUM(...) stand beside it. ``Bounds`` evaluates it, so a side is certain only if all that
it rests on is; WHERE keeps the rows of which it certainly holds.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import Final, NamedTuple, TypeAlias

from onesided.errors import ParameterError, SqlError
from onesided.session._arithmetic import Bounds, certain
from onesided.session._release import Release
from onesided.session.sql._select import Query, Word, Words

_WORKS: Final = (
    "A query of answers is SELECT keys, expression FROM answer [JOIN answer USING (keys)] [WHERE "
    "expression <= number] [GROUP BY keys]; value is the number of an answer (docs/releases.md)."
)
_VALUE: Final = "value"
_SIGNS: Final[Mapping[str, Callable[[Bounds, Bounds], Bounds]]] = {
    "+": operator.add,
    "-": operator.sub,
    "/": operator.truediv,
}
_MOST: Final = 200  # parts of one query


class _Node(NamedTuple):
    """A part of an expression: a sign, SUM, a name of an answer or a number, and its parts."""

    what: str | Fraction
    parts: tuple[_Node, ...]
    word: Word


_Compared: TypeAlias = tuple[_Node, str, _Node]


def ask_releases(query: str, releases: Mapping[str, Release], *, likely: bool = False) -> Bounds:
    """What a query says of published answers, with bounds that hold. It costs nothing.

    query: as above; see docs/releases.md. releases: the answers by the names that it gives them.
    likely: also keep bounds that are not certain, marked, with the chance that one is wrong.
    Errors: SqlError, with the place; ParameterError for answers whose numbers cannot be computed
    with so.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": range(6), "place": ["gym"] * 4 + ["bar"] * 2})
    >>> policy = od.policy.presence(max_groups=1)
    >>> session = od.Session(visits, unit="person", policy=policy, budget=100)
    >>> monday = session.count(by="place", keys=["gym", "bar"], epsilon=60)
    >>> ask_releases("SELECT SUM(value) / 6 FROM monday", {"monday": monday}).at_most("1")
    [()]
    """
    return _Published(Query(query)).answer(releases, likely=likely)


class _Published(Words):
    """Reads a query of answers, and evaluates it."""

    works = _WORKS
    _parts = 0

    def answer(self, releases: Mapping[str, Release], *, likely: bool) -> Bounds:
        """Its result. Errors: SqlError; ParameterError."""
        self._need("SELECT")
        names, asked = self._items()
        self._need("FROM")
        answers = self._answers(releases, likely=likely)
        where = self._compared() if self._take("WHERE") else None
        by: list[tuple[str, Word]] = []
        if self._take("GROUP"):
            self._need("BY")
            by = self._names()
        self._take(";")
        if self._here.kind != "end":
            raise self._refused("The end of the query is expected here")
        grouped = tuple(name for name, _ in by)
        with self._placed(asked.word):
            found = self._value(asked, answers, grouped)
        for name, word in by:
            if name not in found.by or not _sums(asked):
                hint = "Group by keys of the answers, and select SUM(...)."
                raise self.query.error(f"Nothing is summed by {name!r}.", word.start, hint)
        if where is not None:
            left, sign, right = where
            if _sums(asked):
                hint = "Sum all rows, or ask for the rows themselves."
                raise self._refused("Rows that an answer chose are not summed", left.word, hint)
            with self._placed(left.word):
                kept = self._value(left, answers, ()) - self._value(right, answers, ())
                found = found.where(kept, sign)
        for name, word in names:
            if name not in found.by:
                told = f"The result has no key {name!r}; it has {', '.join(found.by) or 'none'}."
                raise self.query.error(told, word.start, "Name keys of the answers, grouped by.")
        if missing := [name for name in found.by if name not in {one for one, _ in names}]:
            hint = f"Write SELECT {', '.join(found.by)}, ..., or SUM(...)."
            raise self.query.error(f"There is a row for each {missing[0]}.", 0, hint)
        return found

    def _items(self) -> tuple[list[tuple[str, Word]], _Node]:
        """The keys, and the one expression."""
        names, found = [], []
        while True:
            word = self._here
            alone = self._words[self._at + (word.kind != "end")]
            if word.name and word.upper != "VALUE" and alone.upper in (",", "FROM"):
                names.append((self._next().name, word))
            else:
                found.append(self._sum())
                if self._take("AS"):
                    self._name("A name")
            if not self._take(","):
                break
        if len(found) != 1:
            raise self._refused("One expression is selected", found[1].word if found else None)
        return names, found[0]

    def _answers(self, releases: Mapping[str, Release], *, likely: bool) -> dict[str, Bounds]:
        """The bounds of each answer that stands after FROM, by the name that it has here."""
        found: dict[str, Bounds] = {}
        while True:
            word = self._here
            name = self._name("An answer")
            if name not in releases:
                near = f"The answers are {', '.join(map(repr, sorted(releases))) or 'none'}."
                raise self.query.error(f"There is no answer {name!r}.", word.start, near)
            self._take("AS")
            alias = name
            if self._here.upper != "USING" and self._here.name:
                alias = self._next().name
            if alias in found:
                raise self.query.error(f"Two answers are called {alias}.", word.start, _WORKS)
            with self._placed(word):
                found[alias] = certain(releases[name], likely=likely)
            self._using(found[alias], found)
            self._take("INNER", "CROSS")
            if not self._take("JOIN"):
                return found

    def _using(self, one: Bounds, found: Mapping[str, Bounds]) -> None:
        """USING (keys): all keys of answers that have any, so that rows are one to one."""
        keyed = [other.by for other in found.values() if other.by]
        place = self._here
        if not self._take("USING"):
            if one.by and len(keyed) > 1:
                raise self._refused("USING (keys) is expected here")
            return
        self._need("(")
        told = [name for name, _ in self._names()]
        self._need(")")
        if len(keyed) < 2 or {frozenset(by) for by in keyed} != {frozenset(told)}:
            keys = " and ".join(", ".join(by) for by in dict.fromkeys(keyed)) or "none"
            hint = "Ask both by the same keys, and name all of them here."
            raise self.query.error(f"The answers' keys are {keys}.", place.start, hint)

    def _names(self) -> list[tuple[str, Word]]:
        """Names between commas."""
        found: list[tuple[str, Word]] = []
        while not found or self._take(","):
            word = self._here
            found.append((self._name("A key"), word))
        return found

    def _compared(self) -> _Compared:
        """One comparison."""
        left, sign = self._sum(), self._here.upper
        if not self._take("<=", "<", ">=", ">"):
            raise self._refused("WHERE compares two expressions by <=, <, >= or >")
        return left, sign, self._sum()

    def _sum(self) -> _Node:
        """Terms that are added and subtracted."""
        found = self._product()
        while (word := self._here).upper in ("+", "-"):
            self._next()
            found = _Node(word.upper, (found, self._product()), word)
        return found

    def _product(self) -> _Node:
        found = self._factor()
        while (word := self._here).upper in ("*", "/"):
            self._next()
            found = _Node(word.upper, (found, self._factor()), word)
        return found

    def _factor(self) -> _Node:
        word = self._here
        self._parts += 1
        if self._parts > _MOST:
            raise self._refused(f"A query has at most {_MOST} parts")
        if self._take("-"):
            return _Node("-", (self._factor(),), word)
        if word.kind == "number":
            return _Node(self._number("a number"), (), word)
        if self._take("("):
            found = self._sum()
            self._need(")")
            return found
        name = self._name("value, a number or SUM(...)")
        if self._take("("):
            if name.upper() != "SUM":
                hint = "Only sums over keys follow from bounds so: write SUM(...)."
                raise self.query.error(f"{name}(...) is not known.", word.start, hint)
            found = self._sum()
            self._need(")")
            return _Node("SUM", (found,), word)
        if self._take("."):
            column = self._name("value")
        else:
            name, column = "", name
        if column.lower() != _VALUE:
            hint = f"Write {_VALUE}, or answer.{_VALUE}, for the number that an answer bounds."
            raise self.query.error(f"{column!r} is no number here.", word.start, hint)
        return _Node(name, (), word)

    def _value(self, node: _Node, answers: Mapping[str, Bounds], by: tuple[str, ...]) -> Bounds:
        """A part's bounds. Errors: ParameterError; SqlError."""
        what = node.what
        if isinstance(what, Fraction):
            return Bounds.of(what)
        if not node.parts:
            return self._named(node, answers)
        if what == "SUM" and _sums(node.parts[0]):
            raise self._refused("A SUM stands in no other", node.word)
        one, *rest = (self._value(part, answers, by) for part in node.parts)
        if what == "SUM":
            # Over the rows that FROM gives: a number stands in each of them.
            rows = next((answer for answer in answers.values() if answer.by), one)
            one = one.repeated(rows)
            return one.sum(tuple(name for name in by if name in one.by))
        if not rest:
            return -one
        if what != "*":
            return _SIGNS[what](one, rest[0])
        many, number = (one, rest[0].number) if one.sources else (rest[0], one.number)
        if number is None:
            raise self._refused("One side of * is a number", node.word)
        return many * number

    def _named(self, node: _Node, answers: Mapping[str, Bounds]) -> Bounds:
        name = str(node.what)
        if not name and len(answers) == 1:
            return next(iter(answers.values()))
        if name not in answers:
            told = f"{name!r} is no answer here" if name else f"{_VALUE} is of several answers"
            hint = f"Write one of {', '.join(f'{one}.{_VALUE}' for one in answers)}."
            raise self.query.error(f"{told}.", node.word.start, hint)
        return answers[name]

    @contextmanager
    def _placed(self, word: Word) -> Iterator[None]:
        """What cannot be computed, at its place in the query."""
        try:
            yield
        except SqlError:
            raise
        except ParameterError as error:
            raise self.query.error(error.reason, word.start, error.hint) from None


def _sums(node: _Node) -> bool:
    return node.what == "SUM" or any(map(_sums, node.parts))
