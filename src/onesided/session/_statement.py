"""What an answer is about, said once: every surface takes its words from here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Final

from onesided._english import listed, many, one_line
from onesided.errors import ParameterError
from onesided.fields import Field, Fields, is_flag, is_text, listing, of, read, table
from onesided.schema import Schema
from onesided.session._context import condition
from onesided.show import Card

_LONGEST: Final = 160
_LISTED: Final = 4
_NOBODY: Final = ("row", "rows")
_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What an answer is about: made before any row is read, and public.

    heading: what its asker calls it, beside all that follows and never in its place. data: what
    the schema calls the table. measure: what the numbers are, such as "Number of people".
    measured_in: their unit, such as "minutes"; "" of counts. measured: the columns that are named
    and have a unit, with it. by: the columns that make groups. others: whether one more group holds
    all keys that are not listed. from_zero: whether no number can be below 0, which is not said of
    counts. at_most, at_least: the threshold that all groups are held against, of a question about
    one. where: the condition on rows, as the language writes it; "" where all rows count.
    unknown: "possible" where rows count for which the condition is unknown. made: of named columns
    that the table does not have, what they are. reading: a digest of what no word says: how text
    was read, whose rows a unit has where a noun does not tell, who is of the kinds that count,
    first dates; "" where there is nothing of it. units: what those that count are called. parts: of
    several answers, what each is about.
    first: what must be known before any number, such as what was cut or is missing. promise: the
    guarantee in words. confidence: of bounds that are not certain. entry, drawn: where the answer
    stands in the ledger, and when it was drawn if it was told again.

    >>> asked = Statement(measure="Number of people", by=("place",), where="infected")
    >>> asked.title()
    'Number of people by place, where infected'
    >>> Statement.from_json(asked.to_json()) == asked
    True
    """

    measure: str
    heading: str = ""
    data: str = ""
    measured_in: str = ""
    measured: tuple[tuple[str, str], ...] = ()
    by: tuple[str, ...] = ()
    others: bool = False
    from_zero: bool = False
    at_most: int | None = None
    at_least: int | None = None
    where: str = ""
    unknown: str = "recorded"
    made: tuple[str, ...] = ()
    reading: str = ""
    units: str = ""
    parts: tuple[Statement, ...] = ()
    first: tuple[str, ...] = ()
    promise: str = ""
    confidence: str = ""
    entry: int | None = None
    drawn: str = ""

    def title(self) -> str:
        """One line; a long condition is shortened there, and stands whole in the sentences."""
        return f"{self._called}{self._asked(shorten=True)}"

    def whole(self) -> str:
        """The same with the whole condition."""
        return f"{self._called}{self._asked(shorten=False)}"

    def headed(self) -> tuple[str, str]:
        """A heading, and what stands under it; "" where the heading says it all."""
        title, whole = self._asked(shorten=True), f"{self._asked(shorten=False)}."
        heading = one_line(self.heading).strip() or title
        return heading, "" if whole == f"{heading}." else whole

    @property
    def limits(self) -> dict[str, int]:
        """The thresholds of all groups, by their words."""
        told = {"at most": self.at_most, "at least": self.at_least}
        return {words: limit for words, limit in told.items() if limit is not None}

    @property
    def rows(self) -> str:
        """Which rows count, in full, such as "where x < 5 or unknown"."""
        return self._where(shorten=False)[2:] or "all rows"

    def unit_of(self, column: str, role: str) -> str:
        """What a column of the answer is measured in; "" where nobody said."""
        if role in _NUMBERS:
            return self.measured_in
        known = dict(self.measured) if role == "key" else {}
        return known.get(column) or known.get(column.removesuffix("_from").removesuffix("_to"), "")

    @property
    def asked(self) -> Statement:
        """The same without what was said of one release of it."""
        return replace(self, first=(), promise="", confidence="", entry=None, drawn="")

    def certified(self, threshold: int) -> Statement:
        """The same of counts, where what is asked is which are certainly at most so large."""
        number = "one of the" if threshold == 1 else f"{threshold:,}"
        return replace(self, measure=f"At most {number} {self.units}", at_most=threshold)

    def likely(self, words: str) -> Statement:
        """The same of what is decided and not certain. words: how sure; "" for what is certain."""
        said = f"{self.measure[:1].lower()}{self.measure[1:]}"
        return replace(self, measure=f"Likely {said} ({words})") if words else self

    def sentences(self) -> tuple[str, ...]:
        """Short prose: what must be known first, what was asked, and what is promised."""
        asked = f"{self.whole()}."
        more = (f"{place}. {part.whole()}." for place, part in enumerate(self.parts, 1))
        sure = (
            f"Bounds that are not certain hold with {self.confidence}." if self.confidence else ""
        )
        told = (*self.first, asked, *more, sure, unsaid(self.promise, self.first))
        return tuple(filter(None, told))

    def __str__(self) -> str:
        return " ".join(self.sentences())

    def _repr_html_(self) -> str:
        """The same for notebooks."""
        return Card(title="What is asked", lines=self.sentences()).html()

    def to_json(self) -> dict[str, Any]:
        """The same for programs; what is not said is left out."""
        told: dict[str, Any] = {"version": _VERSION}
        for one in fields(self):
            value = getattr(self, one.name)
            if value == one.default:
                continue
            if one.name == "parts":
                told["parts"] = [part.to_json() for part in value]
            elif one.name == "measured":
                told["measured"] = dict(value)
            else:
                told[one.name] = list(value) if isinstance(value, tuple) else value
        return {**told, "title": self.title()}

    @classmethod
    def from_json(cls, given: object) -> Statement:
        """What :meth:`to_json` told. Errors: ParameterError."""
        try:
            facts = read(_READ, given, what="the statement")
        except ParameterError as error:
            raise _unlike(given) from error
        parts, measured = facts.pop("parts", ()), facts.pop("measured", {})
        sure = _SURE.fullmatch(facts.get("confidence", ""))
        # Answers do not stand within answers.
        if facts.pop("version") != _VERSION or not sure or any("parts" in one for one in parts):
            raise _unlike(given)
        facts.pop("title", None)
        facts |= {name: tuple(facts.get(name, ())) for name in _LISTS}
        facts["measured"] = tuple(dict(measured).items())
        return cls(**facts, parts=tuple(map(cls.from_json, parts)))

    @property
    def _called(self) -> str:
        said = one_line(self.heading).strip()
        return f"{said}{'' if said[-1:] in _ENDS else ':'} " if said else ""

    def _asked(self, *, shorten: bool) -> str:
        data = f", in {one_line(self.data)}" if self.data else ""
        units = dict(self.measured)
        named = listed([in_units(name, units.get(name, "")) for name in self.by])
        others = f"{',' * (len(self.by) > 1)} and all others" * self.others
        by = f" by {named}{others}" if named else ""
        made = "".join(f"; {one_line(one)}" for one in self.made)
        return f"{one_line(self.measure)}{by}{data}{self._where(shorten=shorten)}{made}"

    def _where(self, *, shorten: bool) -> str:
        if not self.where:
            return ""
        said = one_line(self.where)
        if shorten and len(said) > _LONGEST:
            said = f"{said[:_LONGEST]} ..."
        return f", where {said}{' or unknown' if self.unknown == 'possible' else ''}"


# The roles of columns that hold what was asked for, and marks after which a heading needs no other.
_NUMBERS: Final = ("estimate", "lower", "upper")
_ENDS: Final = ".?!:"
_TEXTS: Final = (
    "title", "heading", "data", "measured_in", "where", "unknown", "reading", "units", "promise",
    "confidence", "drawn",
)  # fmt: skip
_LISTS: Final = ("by", "first", "made")
_READ: Final[Fields] = {
    "version": Field(of("a number", int)),
    "measure": Field(is_text),
    **{name: Field(is_text, default="") for name in _TEXTS},
    **{name: Field(listing(is_text), default=()) for name in _LISTS},
    "measured": Field(table(is_text), default=()),
    **{name: Field(is_flag, default=False) for name in ("others", "from_zero")},
    **{name: Field(of("a number", int), default=None) for name in ("at_most", "at_least", "entry")},
    "parts": Field(listing(of("a table", dict)), default=()),
}
# What bounds hold with that are not certain: the words of a confidence, or several.
_OF_ONE: Final = r"\d[\d.e+-]* %(, all at once( in each)?)?"
_SURE: Final = re.compile(rf"({_OF_ONE}( or {_OF_ONE})*)?")

# Where a sentence ends and the next begins, which no column's bounds do.
_NEXT: Final = re.compile(r"(?<=[^.]\.) (?=[A-Z])")


def unsaid(said: str, before: Sequence[str]) -> str:
    """The sentences that were not said before.

    >>> unsaid("ε = 1. Values are clipped to 0 .. 50. Each counts.", ["Each counts."])
    'ε = 1. Values are clipped to 0 .. 50.'
    """
    known = {one for words in before for one in _NEXT.split(words)}
    return " ".join(one for one in _NEXT.split(said) if one not in known)


UNSAID: Final = Statement(measure="Release")


def several(parts: Sequence[Statement]) -> Statement:
    """What several answers together are about."""
    told = "; ".join(part.title() for part in parts[:_LISTED])
    more = f"; {len(parts) - _LISTED:,} more" if len(parts) > _LISTED else ""
    return Statement(measure=f"{many(len(parts), 'answer')}: {told}{more}", parts=tuple(parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Nouns:
    """What statements call units, one of them, and columns with their unit of measurement."""

    units: str
    unit: str
    measured: Mapping[str, str] = field(default_factory=dict)

    def column(self, given: Any) -> str:
        """One name or several, in a row."""
        return listed([in_units(str(one), self.measured.get(one, "")) for one in _named(given)])


def in_units(name: str, unit: str) -> str:
    """A name, and the unit of measurement of what it stands for."""
    return one_line(f"{name} ({unit})" if unit else name)


def called(
    unit: str | None, noun: tuple[str, str] | None, *, kinds: Sequence[str] = ()
) -> tuple[str, str]:
    """What one unit and several are called: by the schema's noun, never made plural by an s."""
    own = _NOBODY if unit is None else tuple(f"{one} ({unit})" for one in ("unit", "units"))
    one, more = own if noun is None else noun
    said = f"{' or '.join(kinds)} " if kinds else ""
    return one_line(f"{said}{one}"), one_line(f"{said}{more}")


def statement_of(
    question: Any,
    *,
    unit: str | None,
    schema: Schema | None,
    filled: Mapping[str, str] = MappingProxyType({}),
) -> Statement:
    """What the answer to a question is about: from its own fields and public facts.

    filled: columns that have a value in every row, with what conditions see there.
    Errors: ConditionError for a condition that is not in the language.

    >>> import onesided as od
    >>> asked = od.Count(by="place", where="age < 18", epsilon=1)
    >>> schema = od.Schema(unit="person", noun=("person", "people"))
    >>> statement_of(asked, unit="person", schema=schema).title()
    'Number of people by place, where age < 18'
    """
    known = Schema() if schema is None else schema
    heading = getattr(question, "title", "")
    parts = getattr(question, "questions", None)
    if parts is not None:
        told = [statement_of(part, unit=unit, schema=schema, filled=filled) for part in parts]
        return replace(getattr(question, "about", several)(told), heading=heading)
    kinds, by = (_named(getattr(question, name, None)) for name in ("counted", "by"))
    where = condition(getattr(question, "where", None))
    unsure = where is not None and where.readable().may_be_unknown(dict(filled))
    one, units = called(unit, known.noun, kinds=kinds)
    measured = {name: one.measured_in for name, one in known.columns.items() if one.measured_in}
    column, scale = getattr(question, "column", None), getattr(question, "scale", None)
    return Statement(
        measure=question.measure(Nouns(units=units, unit=one, measured=measured)),
        heading=heading,
        data=known.name or "",
        measured_in=scale(measured[column]) if scale and column in measured else "",
        measured=tuple((n, measured[n]) for n in (*by, *_named(column)) if n in measured),
        units=units,
        by=by,
        others=getattr(question, "others", False) is True,
        from_zero=getattr(question, "from_zero", False),
        **getattr(question, "limits", {}),
        where="" if where is None else where.text,
        unknown=question.unknown if unsure else "recorded",
    )


def _named(given: Any) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given or ())


def _unlike(given: object) -> ParameterError:
    return ParameterError(f"{given!r:.200} is no statement.", hint="See docs/json.md.")
