"""Conditions as Spark's columns, on columns that are strictly of their type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from onesided import schema
from onesided.conditions import Scalar
from onesided.engine._sql import CAPITALS, OPERATORS, Operators
from onesided.errors import SchemaError

# Conditions as Spark's columns.

_TYPES: Final[Mapping[str, schema.Type]] = {
    "tinyint": schema.bits(8),
    "smallint": schema.bits(16),
    "int": schema.bits(32),
    "bigint": schema.bits(64),
    "boolean": schema.BOOLEAN,
    "string": schema.TEXT,
    "float": schema.NUMBER,
    "double": schema.NUMBER,
    "date": schema.DATE,
    "timestamp": schema.moment_type(zoned=True),
    "timestamp_ntz": schema.moment_type(),
}
_NAMES: Final = {kind: name for name, kind in _TYPES.items() if kind.kind == "integer"}
_WIDE: Final = "decimal(38,0)"
_HALF: Final = 10**19  # splits 38 digits


def column_type(name: str) -> schema.Type | None:
    """What a column of Spark's type (``simpleString()``) holds; None if conditions cannot look."""
    return schema.NUMBER if name.startswith("decimal(") else _TYPES.get(name)


class SparkTerms(Operators):
    """How Spark writes each operation. types: the columns' own types, by name."""

    long_type, wide_type, float_type = "bigint", _WIDE, "double"
    repeats = frozenset(["between", "one_of number", "divided", "non_zero", "extract", "absolute"])

    def __init__(self, types: Mapping[str, str]) -> None:
        self._types = types

    def named(self, parts: Sequence[Column], use: Callable[..., Column]) -> Column:
        # A column of its own would be written again where Spark pushes a filter below it.
        names = [f"v{at}" for at in range(len(parts))]
        held = F.struct(*(part.alias(name) for part, name in zip(parts, names, strict=True)))
        return F.transform(F.array(held), lambda one: use(*(one[name] for name in names)))[0]

    def column(self, name: str, kind: schema.Type) -> Column:
        found = F.col("`" + name.replace("`", "``") + "`")
        if kind.kind == "text":
            return F.try_validate_utf8(found)
        native = self._types[name]
        return found.cast("double") if native.startswith(("decimal", "float")) else found

    def literal(self, value: Scalar, kind: schema.Type) -> Column:
        native = _native(kind)
        if value is None:
            return F.lit(None).cast(native)
        if kind.kind == "date":
            return F.lit(schema.date_text(int(value))).cast("date")
        if kind.kind == "datetime":
            if kind.zoned:
                return F.timestamp_micros(F.lit(int(value)).cast("bigint"))
            return F.lit(schema.moment_text(int(value))).cast(native)
        if native == _WIDE:
            return F.lit(Decimal(int(value))).cast(native)
        plain = {"integer": int, "number": float}.get(kind.kind, lambda given: given)
        return F.lit(plain(value)).cast(native)  # type: ignore[no-untyped-call]

    def is_null(self, part: Column) -> Column:
        return part.isNull()

    def one_of(self, part: Column, values: Sequence[Scalar], kind: schema.Type) -> Column:
        if kind.kind == "number":
            return self.equals_one(part, values, kind)
        return part.isin(*(self.literal(value, kind) for value in values))

    def like(self, part: Column, pattern: str) -> Column:
        return F.like(part, F.lit(pattern.replace("\\", "\\\\")))

    def case(
        self, branches: Sequence[tuple[Column, Column]], otherwise: Column | None, kind: schema.Type
    ) -> Column:
        (when, then), *others = branches
        made = F.when(when, then)
        for when, then in others:
            made = made.when(when, then)
        return made.otherwise(self.literal(None, kind) if otherwise is None else otherwise)

    def coalesce(self, parts: Sequence[Column]) -> Column:
        return F.coalesce(*parts)

    def numbers(self, op: str, left: Column, right: Column) -> Column:
        made: Column = OPERATORS[op](left.cast("double"), right.cast("double"))
        return made

    def whole(self, op: str, left: Column, right: Column, *, wide: bool, checked: bool) -> Column:  # noqa: ARG002
        made = {"+": F.try_add, "-": F.try_subtract, "*": F.try_multiply}[op](left, right)
        return made.cast(_WIDE) if wide else made

    def divided(
        self,
        op: str,
        left: Column,
        right: Column,
        *,
        wide: bool,
        positive: bool,  # noqa: ARG002
    ) -> Column:
        if op == "%":
            return (left % right).cast(_WIDE) if wide else left % right
        return _long_division(left, right) if wide else F.call_function("div", left, right)

    def non_zero(self, part: Column, *, wide: bool) -> Column:  # noqa: ARG002
        return F.when(part != F.lit(0), part)

    def absolute(self, part: Column) -> Column:
        # Spark's own, and its minus before a value, round beyond 34 digits.
        return F.when(part < F.lit(0), F.try_subtract(F.lit(0), part)).otherwise(part)

    def text(self, function: str, part: Column, arguments: Sequence[int]) -> Column:
        if function == "LENGTH":
            return F.char_length(part).cast("bigint")
        if function == "TRIM":
            return F.trim(part)
        if function == "SUBSTRING":
            start, length = (*arguments, 2**31 - 1)[:2]
            return F.substring(part, start, length)
        small = CAPITALS.lower()
        old, new = (CAPITALS, small) if function == "LOWER" else (small, CAPITALS)
        return F.translate(part, old, new)

    def extract(self, unit: str, part: Column, kind: schema.Type) -> Column:
        if kind.zoned:
            # A part of an instant in UTC, whatever the session's zone.
            micros = F.unix_micros(part)
            clock = F.pmod(micros, F.lit(schema.DAY))
            day = F.date_from_unix_date(
                F.call_function("div", micros - clock, F.lit(schema.DAY)).cast("int")
            )
            if unit in ("YEAR", "MONTH", "DAY", "ISODOW"):
                return SparkTerms({}).extract(unit, day, schema.DATE)
            size, most = {
                "HOUR": (3_600_000_000, 24),
                "MINUTE": (60_000_000, 60),
                "SECOND": (1_000_000, 60),
            }[unit]
            return F.call_function("div", clock, F.lit(size)) % F.lit(most)
        if unit == "ISODOW":
            return (F.weekday(part) + F.lit(1)).cast("bigint")
        made: Column = getattr(F, "dayofmonth" if unit == "DAY" else unit.lower())(part)
        return made.cast("bigint")

    def midnight(self, part: Column, kind: schema.Type) -> Column:
        if kind.zoned:
            return F.timestamp_micros(F.unix_date(part).cast("bigint") * F.lit(schema.DAY))
        return part.cast("timestamp_ntz")

    def finer(self, part: Column, kind: schema.Type) -> Column:  # noqa: ARG002
        return part  # Spark has no moments finer than a microsecond

    def later(self, part: Column, amount: int, kind: schema.Type) -> Column:
        if kind.kind == "date":
            return F.date_add(part, F.lit(amount).cast("int"))
        if kind.zoned:
            return F.timestamp_micros(F.unix_micros(part) + F.lit(amount).cast("bigint"))
        days, micros = divmod(amount, schema.DAY)
        seconds = F.lit(Decimal(micros).scaleb(-6)).cast("decimal(18,6)")
        zero = F.lit(0)
        return part + F.make_dt_interval(F.lit(days).cast("int"), zero, zero, seconds)


def _long_division(left: Column, divisor: Column) -> Column:
    """Truncated division of 38 digits, in two halves: Spark's own keeps six for fractions."""
    half = F.lit(Decimal(_HALF)).cast(_WIDE)

    def exact(dividend: Column, by: Column) -> Column:
        return ((dividend - dividend % by).cast(_WIDE) / by).cast(_WIDE)

    low = (left % half).cast(_WIDE)
    high = exact(left, half)
    first = exact(high, divisor)
    rest = ((high % divisor).cast(_WIDE) * half).cast(_WIDE)
    small = (divisor < half) & (divisor > F.lit(Decimal(-_HALF)).cast(_WIDE))
    second = exact((rest + low).cast(_WIDE), divisor)
    long = ((first * half).cast(_WIDE) + second).cast(_WIDE)
    return F.when(small, long).otherwise(exact(left, divisor))


def _native(kind: schema.Type) -> str:
    """Spark's type for literals."""
    if kind.kind == "integer":
        return _NAMES.get(kind) or ("bigint" if kind.is_long else _WIDE)
    if kind.kind == "datetime":
        return "timestamp" if kind.zoned else "timestamp_ntz"
    return {"text": "string", "number": "double"}.get(kind.kind, kind.kind)


# Text as declared types in Spark.

_MINUTE: Final = 60_000_000
column = F.col


def lost(text: str, made: Column) -> Column:
    """Whether a text has no value."""
    return F.col(text).isNotNull() & made.isNull()


def value(name: str, reading: schema.Reading) -> Column:
    """A column in canonical form as its type; null for what is not of its form."""
    made = strict(name, reading.kind)
    return F.coalesce(made, _local(F.col(name), reading.zone)) if reading.zone else made


def _local(text: Column, zone: str) -> Column:
    """A moment of a place's clock as an instant, by halves of our own list of its changes."""
    changes, offsets = schema.local_offsets(zone)

    def away(at: Column, first: int, last: int) -> Column:
        if first == last:
            return F.lit(offsets[first]).cast("bigint")
        middle = (first + last) // 2
        below, above = away(at, first, middle), away(at, middle + 1, last)
        return F.when(at < changes[middle], below).otherwise(above)

    micros = _micros(F.when(text.rlike(rf"\A(?:{schema.PATTERNS['datetime']})\z"), text))
    # Within a list of one, the moment has a name.
    found = F.transform(F.array(micros), lambda at: at - away(at, 0, len(offsets) - 1))
    return F.timestamp_micros(found[0])


def known(name: str, reading: schema.Reading) -> Column:
    """A column of text, in which words for no value are null."""
    text = F.col(name).cast("string")
    return F.when(~text.isin(*reading.missing), text) if reading.missing else text


def canonical(name: str, reading: schema.Reading) -> Column:
    """A column of text in the canonical form of its type; null for other forms."""
    text = made = F.col(name)
    if reading.words:
        for word, other in reading.words[::-1]:
            made = F.when(text == word, F.lit(other)).otherwise(made)
        return F.when(text.isin(*(word for word, _ in reading.words)), made)
    pattern = rf"\A(?:{reading.form})\z"
    if reading.pieces:
        parts = (
            F.lit(piece) if isinstance(piece, str) else _group(text, pattern, piece)
            for piece in reading.pieces
        )
        made = F.concat(*parts)
    for old, new in reading.swaps:
        made = F.replace(made, F.lit(old), F.lit(new))
    return F.when(text.rlike(pattern), made) if reading.form else made


def _group(text: Column, pattern: str, piece: int) -> Column:
    found = F.regexp_extract(text, pattern, abs(piece))
    return found if piece > 0 else F.lpad(found, 2, "0")


def strict(name: str, kind: str) -> Column:
    """A column of text read as ``kind``; null for what is not of its form.

    Errors: SchemaError for times of day, which conditions cannot look at in Spark.
    """
    if kind == "text":
        return F.col(name)
    if kind not in _READERS:
        raise SchemaError(
            f"The schema declares {name!r} as {kind}, which is not read in Spark.",
            hint="Declare it as text there.",
            column=name,
        )
    text = F.col(name)
    formed = F.when(text.rlike(rf"\A(?:{schema.PATTERNS[kind]})\z"), text)
    return _READERS[kind](formed)


def _number(text: Column) -> Column:
    found = text.try_cast("double")
    return F.when(F.abs(found) < F.lit(float("inf")), found)


def _date(text: Column) -> Column:
    return F.substring(text, 1, 10).try_cast("date")


def _whole(text: Column) -> Column:
    """A whole number; 0 for no text."""
    return F.coalesce(F.when(F.length(text) > 0, text).try_cast("bigint"), F.lit(0))


def _clock(text: Column) -> Column:
    """Microseconds since midnight, of the first time of day in the text."""
    hours = _whole(F.regexp_extract(text, r"([0-9]{2}):", 1)) * (60 * _MINUTE)
    minutes = _whole(F.regexp_extract(text, r"[0-9]{2}:([0-9]{2})", 1)) * _MINUTE
    seconds = _whole(F.regexp_extract(text, r":[0-9]{2}:([0-9]{2})", 1)) * 1_000_000
    return hours + minutes + seconds + _fraction(text)


def _fraction(text: Column) -> Column:
    found = F.regexp_extract(text, r"\.([0-9]{1,6})", 1)
    return _whole(F.when(F.length(found) > 0, F.rpad(found, 6, "0")))


def _micros(text: Column) -> Column:
    return F.unix_date(_date(text)).cast("bigint") * schema.DAY + _clock(text)


def _moment(text: Column) -> Column:
    date = _date(text)
    clock = F.substring(text, 12, 15)
    whole = F.when(F.length(clock) == 5, F.concat(clock, F.lit(":00"))).otherwise(clock)
    return F.concat(date.cast("string"), F.lit(" "), whole).try_cast("timestamp_ntz")


def _instant(text: Column) -> Column:
    offset = F.regexp_extract(text, r"[+-]([0-9]{2}:[0-9]{2})\z", 1)
    away = F.coalesce(_clock(offset), F.lit(0))
    west = text.rlike(r"-[0-9]{2}:[0-9]{2}\z")
    found = _micros(text) + F.when(west, away).otherwise(-away)
    inside = found.between(schema.FIRST_DAY * schema.DAY, (schema.LAST_DAY + 1) * schema.DAY - 1)
    return F.timestamp_micros(F.when(inside, found))


def _duration(text: Column) -> Column:
    """Whole microseconds: days have 24 hours."""
    found = _fraction(text)
    for unit in "DHM":
        found += _whole(F.regexp_extract(text, rf"([0-9]+){unit}", 1)) * schema.UNITS[unit]
    found += _whole(F.regexp_extract(text, r"([0-9]+)(\.[0-9]+)?S", 1)) * schema.UNITS["S"]
    empty = F.endswith(text, F.lit("T")) | (text == "P")
    return F.when(~empty, found)


_READERS: Final[Mapping[str, Callable[[Column], Column]]] = {
    "boolean": lambda text: F.lower(text).isin("true", "1"),
    "integer": lambda text: text.try_cast("bigint"),
    "number": _number,
    "date": _date,
    "datetime": _moment,
    "datetime with zone": _instant,
    "duration": _duration,
}
