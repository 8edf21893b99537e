"""What a column holds: a closed list of types, and all that a schema may declare of one."""

from __future__ import annotations

import datetime as dt
import os
import zoneinfo
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np

from onesided._numbers import Number, exact, on_grid, positive, text
from onesided.errors import ParameterError, SchemaError
from onesided.fields import shortened
from onesided.schema._reading import DECIMALS, NEEDED, THOUSANDS, read, split_date
from onesided.store import plain_text

# The closed list of types that a column can have; conditions, schemas and engines share it.

KINDS: Final = ("text", "boolean", "integer", "number", "date", "datetime", "time", "duration")
# Whole numbers are exact up to here: what 128 bits and decimals of 38 digits both hold.
LARGEST: Final = 10**38 - 1
_INT64: Final = (-(2**63), 2**63 - 1)


@dataclass(frozen=True, slots=True)
class Type:
    """What a column or an expression holds.

    kind: one of :data:`KINDS`.
    low, high: for whole numbers, what the type can hold; never what rows were seen to hold.
    zoned: moments that are instants, read in UTC; without it, the clock of the place itself.
    fine: moments in nanoseconds; otherwise in microseconds.

    >>> Type("integer", low=0, high=110).is_long, str(Type("text"))
    (True, 'text')
    """

    kind: str
    low: int = 0
    high: int = 0
    zoned: bool = False
    fine: bool = False

    def __str__(self) -> str:
        return "datetime with zone" if self.zoned else self.kind

    @property
    def is_long(self) -> bool:
        """Whether 64 bits hold every value."""
        return _INT64[0] <= self.low and self.high <= _INT64[1]

    @property
    def is_bounded(self) -> bool:
        """Whether every value is within the largest whole number."""
        return self.low >= -LARGEST and self.high <= LARGEST


def whole(low: int, high: int) -> Type:
    """Whole numbers from ``low`` to ``high``.

    >>> whole(0, 110).high, whole(0, 2**70).is_long
    (110, False)
    """
    return Type("integer", low=low, high=high)


def bits(size: int, *, signed: bool = True) -> Type:
    """Whole numbers of so many bits.

    >>> bits(8), bits(8, signed=False).high
    (Type(kind='integer', low=-128, high=127, zoned=False, fine=False), 255)
    """
    return whole(-(2 ** (size - 1)), 2 ** (size - 1) - 1) if signed else whole(0, 2**size - 1)


def moment(*, zoned: bool = False, fine: bool = False) -> Type:
    """Dates with a time of day.

    >>> moment(zoned=True).zoned, moment().fine
    (True, False)
    """
    return Type("datetime", zoned=zoned, fine=fine)


TEXT: Final = Type("text")
BOOLEAN: Final = Type("boolean")
INTEGER: Final = bits(64)
NUMBER: Final = Type("number")
DATE: Final = Type("date")
TIME: Final = Type("time")
DURATION: Final = Type("duration")


# What is declared, checked: texts, lists of them, words of closed lists; errors name the field.

MOST_WORDS: Final = 100


class Written(str):
    """A number with a point as a file has it: exact, and no text."""

    __slots__ = ()


def wrong(reason: str, hint: str, key: str) -> SchemaError:
    """An error about one field."""
    return SchemaError(reason, hint=hint, key=key)


def plain(value: object, key: str, *, empty: bool = True) -> str:
    """Ordinary text. Errors: SchemaError."""
    try:
        return plain_text(value, name=key, empty=empty)
    except ParameterError:
        raise wrong(f"{key} holds {shortened(value)}.", "Give ordinary text.", key) from None


def words_of(given: object, key: str) -> tuple[str, ...] | None:
    """A list of different texts, or None. Errors: SchemaError."""
    if given is None:
        return None
    listed = list(given) if isinstance(given, list | tuple | set | frozenset) else []
    texts = all(isinstance(word, str) and not isinstance(word, Written) for word in listed)
    if not 0 < len(listed) <= MOST_WORDS or not texts or len(set(listed)) < len(listed):
        raise wrong(
            f"{key} must list 1 to {MOST_WORDS} different texts, got {shortened(given)}.",
            f'Write {key} = ["NA", "NULL"].',
            key,
        )
    return tuple(plain(word, key) for word in listed)


def one_of(given: object, words: tuple[str, ...], key: str) -> str | None:
    """One of these words, or None. Errors: SchemaError."""
    if given is None or (isinstance(given, str) and given in words):
        return given
    raise wrong(f"{key} is {shortened(given)}.", f"Write {' or '.join(map(repr, words))}.", key)


def flag(given: object, key: str) -> bool:
    """True or false. Errors: SchemaError."""
    if not isinstance(given, bool):
        raise wrong(f"{key} is {shortened(given)}.", "Write true or false.", key)
    return given


# The forms in which text may be written, checked: a closed list, each for its own types.

_MOMENTS: Final = ("datetime with zone",)
# The types that each form is for.
FORMS: Final = {
    "decimal": ("number",),
    "thousands": ("integer", "number"),
    "date": tuple(NEEDED),
    "true": ("boolean",),
    "false": ("boolean",),
    "zone": _MOMENTS,
}
_LONGEST: Final = 60


def forms_of(kind: str, **given: Any) -> dict[str, Any]:
    """The forms of a column of this type. Errors: SchemaError naming the one that is wrong.

    >>> forms_of("number", decimal=",", thousands=".")
    {'decimal': ',', 'thousands': '.'}
    """
    found = {name: value for name, value in given.items() if value is not None}
    for name in found:
        if name not in FORMS:
            raise wrong(
                f"There is no form {shortened(name)}.", f"The forms are {', '.join(FORMS)}.", name
            )
        if kind not in FORMS[name]:
            raise wrong(
                f"A column of type {kind} has no {name}.",
                f"It is for columns of type {', '.join(FORMS[name])}.",
                name,
            )
    words: dict[str, Any] = {
        name: words_of(found[name], name) or () for name in ("true", "false") if name in found
    }
    if len(words) == 1:
        raise wrong(
            f"{next(iter(words))} is declared alone.",
            'Declare both: true = ["ja"] and false = ["nein"]. No other text is read then.',
            next(iter(words)),
        )
    both = set(words.get("true", ())) & set(words.get("false", ()))
    if both:
        raise wrong(f"{shortened(min(both))} is true and false.", "List each text once.", "true")
    _check_marks(kind, found)
    return found | words | _times(kind, found)


def _check_marks(kind: str, found: dict[str, Any]) -> None:
    marks = {"decimal": DECIMALS, "thousands": THOUSANDS}
    for name in marks.keys() & found.keys():
        one_of(found[name], marks[name], name)
    point = found.get("decimal", ".") if kind == "number" else None
    if "thousands" in found and found["thousands"] == point:
        raise wrong(
            f"thousands and decimal are both {shortened(found['thousands'])}.",
            'Declare the other one, too: decimal = ",".',
            "thousands",
        )


def _times(kind: str, found: dict[str, Any]) -> dict[str, Any]:
    if "zone" in found:
        name = plain(found["zone"], "zone", empty=False)
        if name not in zoneinfo.available_timezones():
            raise wrong(f"There is no zone {shortened(name)}.", 'Write "Europe/Zurich".', "zone")
    if "date" not in found:
        return {}
    form = plain(found["date"], "date", empty=False)
    parts = split_date(form) if len(form) <= _LONGEST else None
    fields = "".join(mark for is_field, mark in parts or () if is_field)
    needed, more = NEEDED[kind]
    once = len(set(fields)) == len(fields)
    whole = set(needed) <= set(fields) <= set(needed + more) and (
        "f" not in fields or "S" in fields
    )
    zoned = kind not in _MOMENTS or ("z" in fields) != ("zone" in found)
    clear = all(part or not mark.isdigit() for part, mark in parts or ())
    if parts is None or not (once and whole and zoned and clear):
        raise wrong(
            f"date is {shortened(form)}, which is no form of a column of type {kind}.",
            f"It has each of the fields {_listed(needed)} once"
            f"{f', may have {_listed(more)}' if more else ''}, and no other digits. Moments with "
            'a zone have %z or a zone declared. Write "%d/%m/%Y" for 22/11/2026.',
            "date",
        )
    return {}


def _listed(fields: str) -> str:
    return ", ".join(f"%{field}" for field in fields)


# What is publicly known of one column: its type, bounds, grid and keys.

Known: TypeAlias = bool | int | str | Fraction | dt.date | dt.datetime
TYPES: Final = (*KINDS[: KINDS.index("datetime") + 1], "datetime with zone", "time", "duration")
MOST_KEYS: Final = 10**5
UNREADABLE: Final = ("refuse", "missing")
MISSING_UNIT: Final = ("refuse", "drop")
ENCODINGS: Final = ("utf-8", "utf-16", "cp1252", "latin-1")
_NUMERIC: Final = ("integer", "number")
_ORDERED: Final = (*_NUMERIC, "date", "datetime", "datetime with zone")
_GROUPS: Final = ("text", "boolean", "integer", "date", "datetime", "datetime with zone")
_EPOCH: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - zones are the columns' own
_MOST_DIGITS: Final = 400
_MOST_BITS: Final = 1_100  # more than floats hold


@dataclass(frozen=True, slots=True)
class Column:
    """What is publicly known of a column, whoever is in the table; made by :func:`column`.

    type: "text", "boolean", "integer", "number", "date", "datetime", "datetime with zone", "time"
        or "duration".
    bounds: lowest and highest value; questions clip to them and nothing trusts them. None: unknown.
    step: the grid that numbers are rounded to. keys: the groups to speak of, or the name of a file
    of them. about: what the column means, in plain words.
    missing: texts that stand for no value; None: the schema's. unreadable: "refuse" refuses a table
    with text that is not of the type, "missing" takes it for no value; None: as the schema says.
    required: whether a row without a value refuses the table.
    measured_in: the unit of numbers, such as "minutes".
    decimal, thousands: the marks of numbers, such as "," and ".". date: the form of dates and
    moments in fields of strptime, such as "%d/%m/%Y". true, false: the words of booleans. zone:
    where the clock of moments without a zone stands, such as "Europe/Zurich".

    >>> column("integer", bounds=(0, 110), step=1).bounds
    (Fraction(0, 1), Fraction(110, 1))
    """

    type: str
    bounds: tuple[Any, Any] | None = None
    step: Fraction | None = None
    keys: tuple[Known, ...] | str | None = None
    about: str = ""
    missing: tuple[str, ...] | None = None
    unreadable: str | None = None
    required: bool = False
    decimal: str | None = None
    thousands: str | None = None
    date: str | None = None
    true: tuple[str, ...] | None = None
    false: tuple[str, ...] | None = None
    zone: str | None = None
    measured_in: str = ""


def column(
    type: str,  # noqa: A002 - the word for it
    *,
    bounds: Iterable[Number | dt.date | str] | None = None,
    step: Number | None = None,
    keys: Iterable[object] | str | os.PathLike[str] | None = None,
    about: str = "",
    measured_in: str = "",
    missing: Iterable[str] | None = None,
    unreadable: str | None = None,
    required: bool = False,
    **forms: Any,
) -> Column:
    """Declare a column; see :class:`Column`.

    forms: ``decimal``, ``thousands``, ``date``, ``true``, ``false``, ``zone``, as there.
    keys: a list of values, or the name of a .csv or .parquet file with a column of this name.
    Errors: SchemaError with the value that does not fit, ``values["key"]`` saying which field.

    >>> column("text", keys=["gym", "bar"]).keys
    ('gym', 'bar')
    """
    if not isinstance(type, str) or type not in TYPES:
        raise wrong(
            f"There is no type {shortened(type)}.", f"The types are {', '.join(TYPES)}.", "type"
        )
    if not isinstance(about, str):
        raise wrong(f"about= must be text, got {shortened(about)}.", "Say what it is.", "about")
    grid = None if step is None else _step(type, step)
    ends = None if bounds is None else _bounds(type, bounds, grid)
    said = plain(measured_in, "measured_in")
    if said and (type not in _NUMERIC or len(said) > _LONGEST or not said.isprintable()):
        raise wrong(
            f"measured_in is {shortened(said)} of a column of type {type}.",
            f"Give the unit of a column of numbers in at most {_LONGEST} characters, such as "
            '"minutes".',
            "measured_in",
        )
    return Column(
        type,
        ends,
        grid,
        None if keys is None else _keys(type, keys),
        plain(about, "about"),
        words_of(missing, "missing"),
        one_of(unreadable, UNREADABLE, "unreadable"),
        flag(required, "required"),
        **forms_of(type, **forms),
        measured_in=said,
    )


def _step(kind: str, step: object) -> Fraction:
    if kind not in _NUMERIC:
        raise wrong(f"A column of type {kind} has no step.", "Leave step out.", "step")
    grid = _number(on_grid(step), "step")
    if grid <= 0 or (kind == "integer" and grid.denominator != 1):
        raise wrong(
            f"step={shortened(step)} is no grid for a column of type {kind}.",
            "Give a number above 0, a whole one for a column of whole numbers.",
            "step",
        )
    return positive(grid, name="step")


def _number(value: object, key: str) -> Fraction:
    error = wrong(
        f"{key} holds {shortened(value)}, which is no finite number that a column can hold.",
        'Give a whole number, or text such as "0.1" or "1/3".',
        key,
    )
    if isinstance(value, str) and len(value) > _MOST_DIGITS:
        raise error
    try:
        found = exact(value, name=key)
    except (ParameterError, ValueError):  # the latter for digits that Python does not write
        raise error from None
    if max(found.numerator.bit_length(), found.denominator.bit_length()) > _MOST_BITS:
        raise error
    return found


def _bounds(kind: str, bounds: object, grid: Fraction | None) -> tuple[Known, Known]:
    if kind not in _ORDERED:
        raise wrong(f"A column of type {kind} has no bounds.", "Leave bounds out.", "bounds")
    pair = list(bounds) if isinstance(bounds, tuple | list) else []
    if len(pair) != 2:
        raise wrong(
            f"bounds must be a pair of lowest and highest, got {shortened(bounds)}.",
            "Take them from public knowledge, such as (0, 110) for an age.",
            "bounds",
        )
    if kind in _NUMERIC:
        low, high = (_end(kind, end, grid) for end in pair)
    else:
        low, high = (value_in(kind, end, key="bounds") for end in pair)
    if not low < high:
        raise wrong(
            f"bounds go from {shown(low)} to {shown(high)}.",
            "Give the lowest value first, and a higher one after it.",
            "bounds",
        )
    return low, high


def _end(kind: str, end: object, grid: Fraction | None) -> Any:
    found = _number(on_grid(end), "bounds")
    unit = grid or Fraction(1)
    if (grid or kind == "integer") and (found / unit).denominator != 1:
        raise wrong(
            f"The bound {text(found)} is no whole number of steps of {text(unit)}.",
            "Choose bounds on the grid, or a step that divides them.",
            "bounds",
        )
    return found


def _keys(kind: str, keys: object) -> tuple[Known, ...] | str:
    if kind not in _GROUPS:
        raise wrong(
            f"A column of type {kind} has no keys: nothing is grouped by it.",
            f"Group by a column of type {', '.join(_GROUPS)}.",
            "keys",
        )
    if isinstance(keys, str | os.PathLike):
        name = plain(os.fspath(keys), "keys", empty=False)
        if not name.lower().endswith((".csv", ".parquet")):
            raise wrong(
                f"keys={shortened(name)} is no .csv or .parquet file.",
                "Name a file beside the schema, or give a list of values.",
                "keys",
            )
        return name
    if isinstance(keys, Mapping | bytes) or not isinstance(keys, Iterable):
        raise wrong(
            f"keys must be a list of values, got {shortened(keys)}.",
            "Give a list, or the name of a file of them.",
            "keys",
        )
    listed = list(islice(keys, MOST_KEYS + 1))
    if not 0 < len(listed) <= MOST_KEYS:
        raise wrong(
            f"keys lists {'too many' if listed else 'no'} values.",
            f"Give 1 to {MOST_KEYS:,}; more of them belong in a .parquet file.",
            "keys",
        )
    found = tuple(value_in(kind, key, key="keys") for key in listed)
    seen: set[Known] = set()
    for value in found:
        if value in seen:
            raise wrong(f"The key {shown(value)} is given twice.", "Give each key once.", "keys")
        seen.add(value)
    return found


def shown(value: object) -> str:
    """A bound or key in a schema's own words."""
    if isinstance(value, Fraction):
        return text(value)
    return value.isoformat() if isinstance(value, dt.date) else shortened(value)


def value_in(kind: str, given: object, *, key: str = "keys") -> Any:
    """A value of this type, from Python's own or from text of its form.

    Errors: SchemaError for anything else; ``key`` is the field that it is about.

    >>> value_in("date", "2008-02-29")
    datetime.date(2008, 2, 29)
    """
    value = given.item() if isinstance(given, np.generic) else given
    found = _VALUES[kind](value) if not isinstance(value, Written) else None
    if found is None:
        raise wrong(
            f"{key} holds {shortened(given)}, which is no value of type {kind}.",
            f"Give values such as {_EXAMPLES[kind]}.",
            key,
        )
    return found


def _text(value: object) -> str | None:
    try:
        return plain_text(value, name="key")
    except ParameterError:
        return None


def _boolean(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _integer(value: object) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return int(value) if whole and -(2**63) <= value < 2**63 else None  # type: ignore[call-overload, operator]


def _date(value: object) -> dt.date | None:
    if isinstance(value, str):
        days = read("date", value)
        return None if days is None else (_EPOCH + dt.timedelta(days=int(days))).date()
    return value if isinstance(value, dt.date) and not isinstance(value, dt.datetime) else None


def _moment(value: object) -> dt.datetime | None:
    if isinstance(value, str):
        micros = read("datetime", value)
        return None if micros is None else _EPOCH + dt.timedelta(microseconds=int(micros))
    return value if isinstance(value, dt.datetime) and value.tzinfo is None else None


def _instant(value: object) -> dt.datetime | None:
    if isinstance(value, str):
        micros = read("datetime with zone", value)
        if micros is None:
            return None
        return (_EPOCH + dt.timedelta(microseconds=int(micros))).replace(tzinfo=dt.UTC)
    try:
        aware = isinstance(value, dt.datetime) and value.tzinfo is not None
        return value.astimezone(dt.UTC) if aware else None  # type: ignore[attr-defined]
    except OverflowError:  # past the first or the last day
        return None


_VALUES: Final[Mapping[str, Callable[[object], Known | None]]] = MappingProxyType(
    {
        "text": _text,
        "boolean": _boolean,
        "integer": _integer,
        "date": _date,
        "datetime": _moment,
        "datetime with zone": _instant,
    }
)
_EXAMPLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "text": '"gym"',
        "boolean": "true",
        "integer": "7",
        "date": "2026-11-22",
        "datetime": '"2026-11-22T07:30"',
        "datetime with zone": '"2026-11-22T07:30Z"',
    }
)
