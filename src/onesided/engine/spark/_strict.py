"""Text as declared types in Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import DoubleType, FloatType, StringType

from onesided.engine._protocol import Taking
from onesided.errors import SchemaError
from onesided.schema import DAY, FIRST_DAY, LAST_DAY, PATTERNS, UNITS, Reading

if TYPE_CHECKING:
    from onesided.engine.spark._engine import SparkEngine

_MINUTE: Final = 60_000_000
column = F.col


def plain(engine: SparkEngine, name: str, place: str, how: Taking) -> Column:
    """A column before it is read. Bytes that are no UTF-8 are unknown: told, they look alike.

    Such bytes stay where another type is read: there they are what could not be read.
    """
    kind, held = engine.native.schema[engine.places[name]].dataType, F.col(place)
    typed = name in engine.readings and engine.readings[name].kind != "text"
    if type(kind) is StringType and not typed:
        return F.try_validate_utf8(held)
    floats = isinstance(kind, FloatType | DoubleType)
    return F.nanvl(held, F.lit(None)) if floats and not how.records else held


def lost(text: str, made: Column) -> Column:
    """Whether a text has no value."""
    return F.col(text).isNotNull() & made.isNull()


def value(name: str, reading: Reading) -> Column:
    """A column in canonical form as its type; null for what is not of its form."""
    return strict(name, reading.kind)


def known(name: str, reading: Reading) -> Column:
    """A column of text, in which words for no value are null."""
    text = F.col(name).cast("string")
    return F.when(~text.isin(*reading.missing), text) if reading.missing else text


def canonical(name: str, reading: Reading) -> Column:
    """A column of text in the canonical form of its type; null for other forms.

    Errors: SchemaError for zones, whose changes Spark reads by a list of its own.
    """
    if reading.zone:
        raise SchemaError(
            f"The schema declares the zone {reading.zone!r}, which is not read in Spark.",
            hint="Write moments with their offsets, or read the table with another engine.",
            zone=reading.zone,
        )
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
    formed = F.when(text.rlike(rf"\A(?:{PATTERNS[kind]})\z"), text)
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
    return F.unix_date(_date(text)).cast("bigint") * DAY + _clock(text)


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
    inside = found.between(FIRST_DAY * DAY, (LAST_DAY + 1) * DAY - 1)
    return F.timestamp_micros(F.when(inside, found))


def _duration(text: Column) -> Column:
    """Whole microseconds: days have 24 hours."""
    found = _fraction(text)
    for unit in "DHM":
        found += _whole(F.regexp_extract(text, rf"([0-9]+){unit}", 1)) * UNITS[unit]
    found += _whole(F.regexp_extract(text, r"([0-9]+)(\.[0-9]+)?S", 1)) * UNITS["S"]
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
