"""Text as declared types in Polars."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Final

import polars as pl

from onesided.engine._protocol import Taking
from onesided.schema import DAY, FIRST_DAY, LAST_DAY, PATTERNS, UNITS, Reading, local_offsets

if TYPE_CHECKING:
    from onesided.engine.polars._engine import PolarsEngine

_MINUTE: Final = 60_000_000
column = pl.col


def plain(engine: PolarsEngine, name: str, place: str, how: Taking) -> pl.Expr:
    """A column before it is read, in which NaN is null."""
    kind, held = engine.callers[name], pl.col(place)
    if kind in (pl.Categorical, pl.Enum):
        return held.cast(pl.String)
    if kind == pl.Duration:  # as from Arrow: whole numbers of its unit
        return held.to_physical()
    return held.fill_nan(None) if kind.is_float() and not how.records else held


def lost(text: str, made: pl.Expr) -> pl.Expr:
    """Whether a text has no value."""
    return pl.col(text).is_not_null() & made.is_null()


def known(name: str, reading: Reading) -> pl.Expr:
    """A column of text, in which words for no value are null."""
    text = pl.col(name).cast(pl.String)
    return pl.when(~text.is_in(reading.missing)).then(text) if reading.missing else text


def canonical(name: str, reading: Reading) -> pl.Expr:
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


def value(name: str, reading: Reading) -> pl.Expr:
    """A column in canonical form as its type; null for what is not of its form."""
    made = strict(name, reading.kind)
    if not reading.zone:
        return made
    changes, offsets = local_offsets(reading.zone)
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
    formed = pl.when(text.str.contains(rf"\A(?:{PATTERNS[kind]})\z")).then(text)
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
    return _date(text).cast(pl.Int32).cast(pl.Int64) * DAY + _clock(text)


def _instant(text: pl.Expr) -> pl.Expr:
    offset = text.str.extract(r"[+-]([0-9]{2}:[0-9]{2})\z")
    away = _clock(offset).fill_null(0)
    west = text.str.contains(r"-[0-9]{2}:[0-9]{2}\z")
    found = _micros(text) + pl.when(west).then(away).otherwise(-away)
    inside = found.is_between(FIRST_DAY * DAY, (LAST_DAY + 1) * DAY - 1)
    return pl.when(inside).then(found).cast(pl.Datetime("us", "UTC"))


def _duration(text: pl.Expr) -> pl.Expr:
    """Whole microseconds: days have 24 hours."""
    parts = [_whole(text.str.extract(rf"([0-9]+){unit}")) * UNITS[unit] for unit in "DHM"]
    seconds = _whole(text.str.extract(r"([0-9]+)(?:\.[0-9]+)?S")) * UNITS["S"]
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
