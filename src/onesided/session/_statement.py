"""What an answer is about, said once: every surface takes its words from here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, Final

from onesided.errors import ParameterError
from onesided.session._context import condition

_LONGEST: Final = 160
_LISTED: Final = 4
_NOBODY: Final = ("row", "rows")
_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What an answer is about: made before any row is read, and public.

    measure: what the numbers are, such as "Number of people". by: the columns that make groups.
    others: whether one more group holds all keys that are not listed. where: the condition on rows,
    as the language writes it; "" where all rows count. unknown: "possible" where rows count for
    which the condition is unknown. units: what those that count are called. parts: of several
    answers, what each is about.
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
    by: tuple[str, ...] = ()
    others: bool = False
    where: str = ""
    unknown: str = "recorded"
    units: str = ""
    parts: tuple[Statement, ...] = ()
    first: tuple[str, ...] = ()
    promise: str = ""
    confidence: str = ""
    entry: int | None = None
    drawn: str = ""

    def title(self) -> str:
        """One line; a long condition is shortened there, and stands whole in the sentences.

        >>> Statement(measure="Number of rows", where="x < 5").title()
        'Number of rows, where x < 5'
        """
        return f"{plain_words(self.measure)}{self._grouped}{self._where(shorten=True)}"

    @property
    def asked(self) -> Statement:
        """The same without what was said of one release of it."""
        return replace(self, first=(), promise="", confidence="", entry=None, drawn="")

    def at_most(self, threshold: int) -> Statement:
        """The same of counts, where what is asked is which are certainly so small.

        >>> Statement(measure="Number of people", units="people").at_most(5).title()
        'At most 5 people'
        """
        return replace(self, measure=f"At most {threshold:,} {self.units}")

    def sentences(self) -> tuple[str, ...]:
        """Short prose: what must be known first, what was asked, and what is promised."""
        asked = f"{plain_words(self.measure)}{self._grouped}{self._where(shorten=False)}."
        more = (f"{place}. {part.title()}." for place, part in enumerate(self.parts, 1))
        sure = (
            f"Bounds that are not certain hold with {self.confidence}." if self.confidence else ""
        )
        return tuple(filter(None, (*self.first, asked, *more, sure, self.promise)))

    def to_json(self) -> dict[str, Any]:
        """The same for programs; what is not said is left out."""
        told: dict[str, Any] = {"version": _VERSION}
        for one in fields(self):
            value = getattr(self, one.name)
            if value == one.default:
                continue
            if one.name == "parts":
                told["parts"] = [part.to_json() for part in value]
            else:
                told[one.name] = list(value) if isinstance(value, tuple) else value
        return {**told, "title": self.title()}

    @classmethod
    def from_json(cls, given: object) -> Statement:
        """What :meth:`to_json` told. Errors: ParameterError."""
        names = {one.name for one in fields(cls)}
        if not isinstance(given, Mapping) or repr(given.get("version")) != str(_VERSION):
            raise _unlike(given)
        facts = {name: value for name, value in given.items() if name not in ("version", "title")}
        if not facts.keys() <= names or not isinstance(facts.get("measure"), str):
            raise _unlike(given)
        parts = facts.pop("parts", [])
        if not isinstance(parts, list) or any(
            not isinstance(part, dict) or "parts" in part for part in parts
        ):
            raise _unlike(given)  # answers do not stand within answers
        for name in ("by", "first"):
            facts[name] = _texts(facts.get(name, []), given)
        for name, kind in _KINDS.items():
            if name in facts and type(facts[name]) is not kind:
                raise _unlike(given)
        return cls(**facts, parts=tuple(map(cls.from_json, parts)))

    @property
    def _grouped(self) -> str:
        named = ", ".join(map(plain_words, self.by))
        return f" by {named}{' and all others' if self.others else ''}" if named else ""

    def _where(self, *, shorten: bool) -> str:
        if not self.where:
            return ""
        said = plain_words(self.where)
        if shorten and len(said) > _LONGEST:
            said = f"{said[:_LONGEST]} ..."
        return f", where {said}{' or unknown' if self.unknown == 'possible' else ''}"


_KINDS: Final = {
    "others": bool,
    "where": str,
    "units": str,
    "unknown": str,
    "promise": str,
    "confidence": str,
    "entry": int,
    "drawn": str,
}


UNSAID: Final = Statement(measure="Release")


def several(parts: Sequence[Statement]) -> Statement:
    """What several answers together are about."""
    told = "; ".join(part.title() for part in parts[:_LISTED])
    more = f"; {len(parts) - _LISTED:,} more" if len(parts) > _LISTED else ""
    return Statement(measure=f"{len(parts):,} answers: {told}{more}", parts=tuple(parts))


def called(
    unit: str | None, noun: tuple[str, str] | None, *, kinds: Sequence[str] = ()
) -> tuple[str, str]:
    """What one unit and several are called: by the schema's noun, never made plural by an s.

    >>> called("person", ("person", "people"), kinds=["open"])
    ('open person', 'open people')
    >>> called("pid", None), called(None, None)
    (('unit (pid)', 'units (pid)'), ('row', 'rows'))
    """
    own = _NOBODY if unit is None else tuple(f"{one} ({unit})" for one in ("unit", "units"))
    one, more = own if noun is None else noun
    said = f"{' or '.join(kinds)} " if kinds else ""
    return plain_words(f"{said}{one}"), plain_words(f"{said}{more}")


def statement_of(
    question: Any,
    *,
    unit: str | None,
    noun: tuple[str, str] | None,
    filled: Mapping[str, str] = MappingProxyType({}),
) -> Statement:
    """What the answer to a question is about: from its own fields and public facts.

    filled: columns that have a value in every row, with what conditions see there.
    Errors: ConditionError for a condition that is not in the language.

    >>> import onesided as od
    >>> asked = od.Count(by="place", where="age < 18", epsilon=1)
    >>> statement_of(asked, unit="person", noun=("person", "people")).title()
    'Number of people by place, where age < 18'
    """
    parts = getattr(question, "questions", None)
    if parts is not None:
        told = [statement_of(part, unit=unit, noun=noun, filled=filled) for part in parts]
        return several(told)
    kinds, by = (_named(getattr(question, name, None)) for name in ("counted", "by"))
    where = condition(getattr(question, "where", None))
    unsure = where is not None and where.readable().may_be_unknown(dict(filled))
    units = called(unit, noun, kinds=kinds)[1]
    return Statement(
        measure=question.measure(units),
        units=units,
        by=by,
        others=getattr(question, "others", False) is True,
        where="" if where is None else where.text,
        unknown=question.unknown if unsure else "recorded",
    )


def _named(given: Any) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given or ())


def joined(names: object) -> str:
    """One name or several, in a row.

    >>> joined("age"), joined({"age": 3, "cost": 4})
    ('age', 'age, cost')
    """
    return ", ".join(map(str, _named(names)))


def plain_words(text: str) -> str:
    """Text of others on one line, whatever it holds."""
    return text if text.isprintable() else ascii(text)[1:-1]


def _texts(given: object, whole: object) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise _unlike(whole)
    return tuple(given)


def _unlike(given: object) -> ParameterError:
    return ParameterError(f"{given!r:.200} is no statement.", hint="See docs/json.md.")
