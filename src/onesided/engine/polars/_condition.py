"""Conditions as Polars' expressions, on columns that are strictly of their type."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any, Final

import polars as pl

from onesided import schema
from onesided.conditions import Scalar
from onesided.engine._sql import CAPITALS, OPERATORS, Operators

# Conditions as Polars' expressions.

_SIZES: Final[Mapping[type[pl.DataType], schema.Type]] = {
    pl.Int8: schema.bits(8),
    pl.Int16: schema.bits(16),
    pl.Int32: schema.bits(32),
    pl.Int64: schema.bits(64),
    pl.Int128: schema.bits(128),
    pl.UInt8: schema.bits(8, signed=False),
    pl.UInt16: schema.bits(16, signed=False),
    pl.UInt32: schema.bits(32, signed=False),
    pl.UInt64: schema.bits(64, signed=False),
}
_TYPES: Final[Mapping[type[pl.DataType], schema.Type]] = {
    **_SIZES,
    pl.Boolean: schema.BOOLEAN,
    pl.String: schema.TEXT,
    pl.Categorical: schema.TEXT,
    pl.Enum: schema.TEXT,
    pl.Float32: schema.NUMBER,
    pl.Float64: schema.NUMBER,
    pl.Decimal: schema.NUMBER,
    pl.Date: schema.DATE,
    pl.Time: schema.TIME,
    pl.Duration: schema.DURATION,
}
_DTYPES: Final = {kind: dtype for dtype, kind in _SIZES.items()}
_SAFE: Final = 2**63 // 1000 - 1  # milliseconds that are microseconds in 64 bits
_EPOCH: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - zones are the columns' own


def column_type(dtype: pl.DataType) -> schema.Type | None:
    """What a column of this type holds; None if conditions cannot look at it."""
    if isinstance(dtype, pl.Datetime):
        return schema.moment_type(zoned=dtype.time_zone is not None, fine=dtype.time_unit == "ns")
    return _TYPES.get(dtype.base_type())


class PolarsTerms(Operators):
    """How Polars writes each operation. types: the columns' own types, by name."""

    long_type, wide_type, float_type = pl.Int64, pl.Int128, pl.Float64
    repeats = frozenset(["one_of number", "whole", "divided", "non_zero", "finer"])

    def __init__(self, types: Mapping[str, pl.DataType]) -> None:
        self._types = types

    def named(self, parts: Sequence[pl.Expr], use: Callable[..., pl.Expr]) -> pl.Expr:
        names = [f"v{at}" for at in range(len(parts))]
        held = pl.struct(part.alias(name) for part, name in zip(parts, names, strict=True))
        made = use(*map(pl.field, names)).alias("made")
        return held.struct.with_fields(made).struct.field("made")

    def column(self, name: str, kind: schema.Type) -> pl.Expr:
        found, native = pl.col(name), self._types[name]
        if isinstance(native, pl.Datetime):
            return _moment(found, native, kind)
        if native == pl.Time:
            fine = found.to_physical() % pl.lit(1000, dtype=pl.Int64)
            return pl.when(fine == pl.lit(0, dtype=pl.Int64)).then(found)  # finer is unknown
        if isinstance(native, pl.Duration):
            return found.cast(pl.Duration("us"))
        if kind.kind == "text" and native != pl.String:
            return found.cast(pl.String)
        if isinstance(native, pl.Decimal):
            return found.cast(pl.String).cast(pl.Float64)
        return found.cast(pl.Float64) if native == pl.Float32 else found

    def literal(self, value: Scalar, kind: schema.Type) -> pl.Expr:
        return pl.lit(_python(value, kind), dtype=_dtype(kind))

    def between(self, part: pl.Expr, low: pl.Expr, high: pl.Expr, closed: Any) -> pl.Expr:
        return part.is_between(low, high, closed=closed)

    def is_null(self, part: pl.Expr) -> pl.Expr:
        return part.is_null()

    def one_of(self, part: pl.Expr, values: Sequence[Scalar], kind: schema.Type) -> pl.Expr:
        if kind.kind == "number":
            made: pl.Expr = self.equals_one(part, values, kind)
            return made
        plain = [_python(value, kind) for value in values]
        return part.is_in(pl.Series(plain, dtype=_dtype(kind)).implode())

    def like(self, part: pl.Expr, pattern: str) -> pl.Expr:
        inner = pattern.strip("%")
        if not any(sign in inner for sign in "%_"):
            ends = (pattern.startswith("%"), pattern.endswith("%"))
            if not inner:
                known = pl.when(part.is_not_null()).then(pl.lit(True))  # noqa: FBT003 - it is the value
                return known if pattern else part.eq(self.literal("", schema.TEXT))
            if ends == (True, True):
                return part.str.contains(inner, literal=True)
            if ends == (False, True):
                return part.str.starts_with(inner)
            if ends == (True, False):
                return part.str.ends_with(inner)
        signs = {"%": ".*", "_": "."}
        pieces = "".join(signs.get(sign) or re.escape(sign) for sign in pattern)
        return part.str.contains(rf"(?s)\A{pieces}\z")

    def case(
        self,
        branches: Sequence[tuple[pl.Expr, pl.Expr]],
        otherwise: pl.Expr | None,
        kind: schema.Type,
    ) -> pl.Expr:
        made = self.literal(None, kind) if otherwise is None else otherwise
        for when, then in reversed(branches):
            made = pl.when(when).then(then).otherwise(made)
        return made

    def coalesce(self, parts: Sequence[pl.Expr]) -> pl.Expr:
        return pl.coalesce(*parts)

    def numbers(self, op: str, left: pl.Expr, right: pl.Expr) -> pl.Expr:
        made: pl.Expr = OPERATORS[op](left, right)
        return made

    def whole(
        self, op: str, left: pl.Expr, right: pl.Expr, *, wide: bool, checked: bool
    ) -> pl.Expr:
        made = self.numbers(op, left, right)
        if not (wide and checked):
            return made
        # Sums of two bounded numbers that wrap around end outside the bounds, too.
        limits = [pl.lit(limit, dtype=pl.Int128) for limit in (-schema.LARGEST, schema.LARGEST)]
        fits = made.ge(limits[0]) & made.le(limits[1])
        if op == "*":
            near = left.cast(pl.Float64) * right.cast(pl.Float64)
            fits &= near.abs() < 1.5 * float(schema.LARGEST)
        return pl.when(fits).then(made)

    def divided(
        self, op: str, left: pl.Expr, right: pl.Expr, *, wide: bool, positive: bool
    ) -> pl.Expr:
        floor, rest = left // right, left % right
        if positive:
            return floor if op == "/" else rest
        # Polars rounds down; towards zero it is one more where the signs differ.
        zero, one = (pl.lit(sign, dtype=pl.Int128 if wide else pl.Int64) for sign in (0, 1))
        rounded = (rest != zero) & ((left < zero) != (right < zero))
        if op == "/":
            return pl.when(rounded).then(floor + one).otherwise(floor)
        return pl.when(rounded).then(rest - right).otherwise(rest)

    def non_zero(self, part: pl.Expr, *, wide: bool) -> pl.Expr:
        return pl.when(part != pl.lit(0, dtype=pl.Int128 if wide else pl.Int64)).then(part)

    def absolute(self, part: pl.Expr) -> pl.Expr:
        return part.abs()

    def text(self, function: str, part: pl.Expr, arguments: Sequence[int]) -> pl.Expr:
        if function == "LENGTH":
            return part.str.len_chars()
        if function == "TRIM":
            return part.str.strip_chars(" ")
        if function == "SUBSTRING":
            start, *length = arguments
            return part.str.slice(start - 1, length[0] if length else None)
        ends = list(CAPITALS), list(CAPITALS.lower())
        return part.str.replace_many(*(ends if function == "LOWER" else ends[::-1]))

    def extract(self, unit: str, part: pl.Expr, kind: schema.Type) -> pl.Expr:
        moment = part
        if kind.fine:
            moment = part.cast(pl.Datetime("ns"))
        elif kind.zoned:
            moment = part.dt.replace_time_zone(None)
        name = "weekday" if unit == "ISODOW" else unit.lower()
        made: pl.Expr = getattr(moment.dt, name)()
        return made.cast(pl.Int64)

    def midnight(self, part: pl.Expr, kind: schema.Type) -> pl.Expr:
        made = part.cast(pl.Datetime("us"))
        return made.dt.replace_time_zone("UTC") if kind.zoned else made

    def finer(self, part: pl.Expr, kind: schema.Type) -> pl.Expr:  # noqa: ARG002
        micros = part.to_physical()
        fits = micros.is_between(-(2**63) // 1000 + 1, (2**63 - 1) // 1000)
        return pl.when(fits).then(micros * pl.lit(1000, dtype=pl.Int64))

    def later(self, part: pl.Expr, amount: int, kind: schema.Type) -> pl.Expr:
        if kind.fine:
            moved = part.cast(pl.Int128) + pl.lit(amount, dtype=pl.Int128)
            return moved.cast(pl.Int64, strict=False)
        if kind.kind == "date":
            days = part.to_physical() + pl.lit(amount, dtype=pl.Int32)
            return days.cast(pl.Date)
        micros = part.to_physical() + pl.lit(amount, dtype=pl.Int64)
        return micros.cast(pl.Datetime("us", "UTC" if kind.zoned else None))


def _moment(found: pl.Expr, native: pl.Datetime, kind: schema.Type) -> pl.Expr:
    """A moment in microseconds, in UTC if it has a zone; in nanoseconds, as a whole number."""
    if kind.fine:
        return found.to_physical()
    zone = "UTC" if kind.zoned else None
    if native.time_unit == "ms":
        millis = found.to_physical()
        micros = millis * pl.lit(1000, dtype=pl.Int64)
        return pl.when(millis.is_between(-_SAFE, _SAFE)).then(micros).cast(pl.Datetime("us", zone))
    return found if native.time_zone in (None, "UTC") else found.dt.convert_time_zone("UTC")


def _dtype(kind: schema.Type) -> pl.DataType:
    """Polars' type for literals."""
    if kind.kind == "integer":
        exact = _DTYPES.get(kind)
        return (exact or (pl.Int64 if kind.is_long else pl.Int128))()
    if kind.fine:
        return pl.Int64()
    if kind.kind == "datetime":
        return pl.Datetime("us", "UTC" if kind.zoned else None)
    return {
        "text": pl.String(),
        "boolean": pl.Boolean(),
        "number": pl.Float64(),
        "date": pl.Date(),
        "time": pl.Time(),
        "duration": pl.Duration("us"),
    }[kind.kind]


def _python(value: Scalar, kind: schema.Type) -> object:
    """A literal as Python's own value."""
    if value is None or kind.kind in ("text", "boolean"):
        return value
    if kind.kind == "number":
        return float(value)
    number = int(value)
    if kind.kind == "date":
        return _EPOCH.date() + dt.timedelta(days=number)
    if kind.kind == "datetime" and not kind.fine:
        moment = _EPOCH + dt.timedelta(microseconds=number)
        return moment.replace(tzinfo=dt.UTC) if kind.zoned else moment
    if kind.kind == "time":
        return (_EPOCH + dt.timedelta(microseconds=number % schema.DAY)).time()
    return dt.timedelta(microseconds=number) if kind.kind == "duration" else number


# Text as declared types in Polars.

_MINUTE: Final = 60_000_000
column = pl.col


def lost(text: str, made: pl.Expr) -> pl.Expr:
    """Whether a text has no value."""
    return pl.col(text).is_not_null() & made.is_null()


def known(name: str, reading: schema.Reading) -> pl.Expr:
    """A column of text, in which words for no value are null."""
    text = pl.col(name).cast(pl.String)
    return pl.when(~text.is_in(reading.missing)).then(text) if reading.missing else text


def canonical(name: str, reading: schema.Reading) -> pl.Expr:
    """A column of text in the canonical form of its type; null for other forms."""
    text = made = pl.col(name)
    if reading.words:
        words = dict(reading.words)
        return text.replace_strict(list(words), list(words.values()), default=None)
    pattern = rf"\A(?:{reading.form})\z"
    if reading.pieces:
        parts = [
            pl.lit(piece) if isinstance(piece, str) else _group(text, pattern, piece)
            for piece in reading.pieces
        ]
        made = pl.concat_str(parts)
    for old, new in reading.swaps:
        made = made.str.replace_all(old, new, literal=True)
    return pl.when(text.str.contains(pattern)).then(made) if reading.form else made


def _group(text: pl.Expr, pattern: str, piece: int) -> pl.Expr:
    found = text.str.extract(pattern, abs(piece))
    return found if piece > 0 else found.str.pad_start(2, "0")


def value(name: str, reading: schema.Reading) -> pl.Expr:
    """A column in canonical form as its type; null for what is not of its form."""
    made = strict(name, reading.kind)
    if not reading.zone:
        return made
    changes, offsets = schema.local_offsets(reading.zone)
    local = strict(name, "datetime").to_physical()
    at = pl.lit(pl.Series(changes)).search_sorted(local, side="right")
    away = pl.lit(pl.Series(offsets, dtype=pl.Int64)).gather(at)
    found = pl.when(local.is_not_null()).then(local - away)
    return pl.coalesce(made, found.cast(pl.Datetime("us", "UTC")))


def strict(name: str, kind: str) -> pl.Expr:
    """A column of text read as ``kind``; null for what is not of its form."""
    text = pl.col(name)
    if kind == "text":
        return text
    formed = pl.when(text.str.contains(rf"\A(?:{schema.PATTERNS[kind]})\z")).then(text)
    return _READERS[kind](formed)


def _number(text: pl.Expr) -> pl.Expr:
    found = text.cast(pl.Float64, strict=False)
    return pl.when(found.is_finite()).then(found)


def _date(text: pl.Expr) -> pl.Expr:
    return text.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)


def _whole(text: pl.Expr) -> pl.Expr:
    return text.cast(pl.Int64, strict=False).fill_null(0)


def _clock(text: pl.Expr) -> pl.Expr:
    """Microseconds since midnight, of the first time of day in the text."""
    hours = _whole(text.str.extract(r"([0-9]{2}):")) * (60 * _MINUTE)
    minutes = _whole(text.str.extract(r"[0-9]{2}:([0-9]{2})")) * _MINUTE
    seconds = _whole(text.str.extract(r":[0-9]{2}:([0-9]{2})")) * 1_000_000
    return hours + minutes + seconds + _fraction(text)


def _fraction(text: pl.Expr) -> pl.Expr:
    return _whole(text.str.extract(r"\.([0-9]{1,6})").str.pad_end(6, "0"))


def _micros(text: pl.Expr) -> pl.Expr:
    return _date(text).cast(pl.Int32).cast(pl.Int64) * schema.DAY + _clock(text)


def _instant(text: pl.Expr) -> pl.Expr:
    offset = text.str.extract(r"[+-]([0-9]{2}:[0-9]{2})\z")
    away = _clock(offset).fill_null(0)
    west = text.str.contains(r"-[0-9]{2}:[0-9]{2}\z")
    found = _micros(text) + pl.when(west).then(away).otherwise(-away)
    inside = found.is_between(schema.FIRST_DAY * schema.DAY, (schema.LAST_DAY + 1) * schema.DAY - 1)
    return pl.when(inside).then(found).cast(pl.Datetime("us", "UTC"))


def _duration(text: pl.Expr) -> pl.Expr:
    """Whole microseconds: days have 24 hours."""
    parts = [_whole(text.str.extract(rf"([0-9]+){unit}")) * schema.UNITS[unit] for unit in "DHM"]
    seconds = _whole(text.str.extract(r"([0-9]+)(?:\.[0-9]+)?S")) * schema.UNITS["S"]
    empty = text.str.ends_with("T") | (text == "P")
    return pl.when(~empty).then(reduce(add, [*parts, seconds, _fraction(text)]))


_READERS: Final[Mapping[str, Callable[[pl.Expr], pl.Expr]]] = {
    "boolean": lambda text: text.str.to_lowercase().is_in(["true", "1"]),
    "integer": lambda text: text.cast(pl.Int64, strict=False),
    "number": _number,
    "date": _date,
    "datetime": lambda text: _micros(text).cast(pl.Datetime("us")),
    "datetime with zone": _instant,
    "time": lambda text: pl.when(text.is_not_null()).then(_clock(text) * 1000).cast(pl.Time),
    "duration": _duration,
}
