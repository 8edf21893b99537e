"""Counts, sums and sums of squares per public group, added up inside the caller's engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import narwhals as nw
import numpy as np

from onesided._english import many
from onesided.engine.kit import LENGTH, ORDER, Lazy, first_groups, whole_of
from onesided.errors import DataError, OnesidedError
from onesided.noise import IntArray
from onesided.session._context import Taken
from onesided.session._groups import Groups
from onesided.session.values._value import VALUE, Value, require_room

_SQUARE: Final = "onesided_square"
_COPY: Final = "onesided_copy"
_HASHED: Final = "onesided_row_hash"
_RANK: Final = "onesided_row_rank"
_NAMES: Final = (LENGTH, VALUE, _SQUARE)


@dataclass(frozen=True, slots=True)
class Moments:
    """Per group: how many units, the sum of their values less ``centre``, and of the squares.

    Secret. The squares mean nothing unless they were asked for.
    """

    count: IntArray
    total: IntArray
    squares: IntArray


def moments(
    taken: Taken,
    groups: Groups,
    value: Value,
    *,
    centre: int = 0,
    squares: bool = False,
    own_mean: bool = False,
    max_rows: int | None = None,
) -> Moments:
    """The moments in steps, in the order of the keys. Secret.

    A unit's value in a group is the sum over its rows there, clipped to the bounds once more; with
    ``own_mean`` their mean, rounded down to whole steps. With ``max_rows`` each row is a value of
    its own, of which a unit has so many in a group at most, and all of them are counted.
    Errors: DataError for rows of nobody, rows without a value, or sums past 2^62;
    ContributionError if ``on_excess="error"``.
    """
    taken, groups = groups.inside(taken)
    furthest = max(-value.low, value.high, value.high - value.low)
    require_room(taken.table.height(), furthest * furthest if squares else furthest)
    rows = _checked_rows(taken, groups, value)
    with _adding(value):
        if max_rows is None or taken.unit is None:
            values = _per_unit(rows, taken, groups, value, own_mean=own_mean)
            parts = _powers(values, centre, squares=squares)
        else:
            kept = _first_rows(rows, taken, groups, value, most=max_rows)
            units = _powers(kept, centre, squares=squares).group_by(*_kept(taken, groups))
            parts = units.agg(*(nw.col(name).sum() for name in _NAMES))
        return _added(parts, taken, groups)


def own_means(
    taken: Taken, groups: Groups, value: Value, *, own_mean: bool = True
) -> list[tuple[IntArray, ...]]:
    """Per group, in the order of the keys: own means that occur, in steps and rising, and counts.

    Without ``own_mean`` the units' clipped sums. Secret. Errors: as :func:`moments`.
    """
    taken, groups = groups.inside(taken)
    require_room(taken.table.height(), value.high - value.low)
    rows = _checked_rows(taken, groups, value)
    with _adding(value):
        parts = _per_unit(rows, taken, groups, value, own_mean=own_mean)
        named = (ORDER, VALUE) if groups.by else (VALUE,)
        counted = _paired(parts, taken, groups).group_by(*named).agg(nw.len().alias(LENGTH))
        found = taken.table.arrays(counted.select(*named, LENGTH))
    steps, counts = (np.asarray(found[name], dtype=np.int64) for name in (VALUE, LENGTH))
    ranks = np.asarray(found.get(ORDER, np.zeros(steps.size)), dtype=np.int64)
    order = np.lexsort((steps, ranks))
    ends = np.cumsum(np.bincount(ranks, minlength=groups.keys.size))
    pieces = np.split(order, ends[:-1])
    return [(steps[piece], counts[piece]) for piece in pieces]


def _checked_rows(taken: Taken, groups: Groups, value: Value) -> Lazy:
    """The rows that count, with their steps. Errors: as :func:`moments`."""
    taken.refuse_null_units()
    (column,) = taken.at(value.columns) or ("",)
    rows = taken.rows(
        (*groups.by, *taken.at(value.columns)), where=groups.where, counted=groups.query.counted
    )
    if value.missing == "refuse":
        _refuse_missing(taken, rows, value)
    if groups.excess == "error":
        groups.refuse_excess(taken, rows.select(*_kept(taken, groups)))
    with _adding(value):
        return value.in_steps(rows, column, taken.schema.get(column, nw.Int64()))


@contextmanager
def _adding(value: Value) -> Iterator[None]:
    """Words for what an engine cannot add up. Errors: DataError."""
    try:
        yield
    except OnesidedError:
        raise
    except Exception as error:
        raise DataError(
            f"The values of {value.column!r} cannot be added up: {error}",
            hint="Cast the column to 64-bit whole numbers or to floats. Nothing was drawn and "
            "nothing was recorded.",
            column=value.column,
        ) from error


def _paired(parts: Lazy, taken: Taken, groups: Groups) -> Lazy:
    """What each unit adds beside the number of its group; each unit in its first groups alone."""
    if not groups.by:
        return parts
    pairs = taken.table.join_keys(parts, groups.keys)
    if groups.excess == "truncate" and taken.unit is not None:
        most = groups.query.max_groups or 1
        pairs = first_groups(taken.table.engine, pairs, taken.unit, [ORDER], most=most)
    return pairs


def _powers(values: Lazy, centre: int, *, squares: bool) -> Lazy:
    """Each value's 0th, 1st and 2nd power about ``centre``."""
    moved = nw.col(VALUE) - centre
    again = moved * moved if squares else moved
    one = nw.lit(1).alias(LENGTH)
    return values.with_columns(moved.alias(VALUE), again.alias(_SQUARE), one)


def _first_rows(rows: Lazy, taken: Taken, groups: Groups, value: Value, *, most: int) -> Lazy:
    """At most ``most`` rows of each unit in each group, by a hash of the unit and the row.

    A row is its value, and which of the unit's rows of that value in the group it is: so rows
    are alike but for their hash, and dropping d of them takes at most d from those kept and lets at
    most d others in. Rows of equal hash come in the order of their values.
    """
    unit = _kept(taken, groups)
    steps = rows.with_columns(_within(value.low, value.high), nw.lit(1).alias(_COPY))
    numbered = steps.with_columns(nw.col(_COPY).cum_sum().over(*unit, VALUE, order_by=[VALUE]))
    names = [unit[0], VALUE, _COPY]
    hashed = taken.table.engine.with_hash(numbered, names, _HASHED)
    ranked = hashed.with_columns(nw.lit(1).alias(_RANK)).with_columns(
        nw.col(_RANK).cum_sum().over(*unit, order_by=[_HASHED, VALUE, _COPY])
    )
    return ranked.filter(nw.col(_RANK) <= most).select(*unit, VALUE)


def _added(parts: Lazy, taken: Taken, groups: Groups) -> Moments:
    """The moments of what each unit adds, in the order of the keys."""
    adds = [nw.col(name).sum() for name in _NAMES]
    if not groups.by:
        found = taken.table.fetch(parts.select(*adds), _NAMES)
        return Moments(*(np.array([whole_of(part)], dtype=np.int64) for part in found[0]))
    grouped = _paired(parts, taken, groups).group_by(ORDER).agg(*adds)
    return _in_order(taken.table.fetch(grouped, (ORDER, *_NAMES)), groups)


def outside(taken: Taken, groups: Groups, value: Value) -> tuple[int, int]:
    """How many counted rows lie outside the bounds, and how many have no value. Secret."""
    columns = taken.at(value.columns)
    if not columns:
        return 0, 0
    rows = taken.rows(columns, where=groups.where, counted=groups.query.counted)
    given = nw.col(*columns)
    empty = given.is_null()
    low, high = (float(end * value.step) for end in (value.low, value.high))
    beyond = ~empty & ((given < low) | (given > high))
    return tuple(  # type: ignore[return-value] # a pair
        whole_of(taken.table.scalar(rows.filter(which).select(nw.len().alias(LENGTH))))
        for which in (beyond, empty)
    )


def _kept(taken: Taken, groups: Groups) -> list[str]:
    return [*([taken.unit] if taken.unit else []), *groups.by]


def _per_unit(rows: Lazy, taken: Taken, groups: Groups, value: Value, *, own_mean: bool) -> Lazy:
    """One row per unit and group, with the unit's clipped sum, or its own mean."""
    if taken.unit is None:
        # Past 2^51 steps a bound itself may have been rounded up to the next one.
        return rows.with_columns(_within(value.low, value.high)).select(*groups.by, VALUE)
    if own_mean:
        # From the lower bound up nothing is below 0, where engines divide in different ways.
        up = rows.with_columns(_within(value.low, value.high) - value.low)
        units = up.group_by(*_kept(taken, groups))
        added = units.agg(nw.col(VALUE).sum(), nw.len().alias(LENGTH))
        mean = (nw.col(VALUE) // nw.col(LENGTH).cast(nw.Int64()) + value.low).alias(VALUE)
        # What is counted is bounded, whatever an engine makes of a division.
        bounded = added.with_columns(mean).with_columns(_within(value.low, value.high))
        return bounded.select(*_kept(taken, groups), VALUE)
    # Rows are clipped to what cannot cancel, so that dropping one never raises a sum.
    low, high = min(value.low, 0), max(value.high, 0)
    sums = rows.with_columns(_within(low, high)).group_by(*_kept(taken, groups))
    return sums.agg(nw.col(VALUE).sum()).with_columns(_within(value.low, value.high))


def _within(low: int, high: int) -> nw.Expr:
    value = nw.col(VALUE)
    inside = nw.when(value > high).then(nw.lit(high)).otherwise(value)
    return nw.when(value < low).then(nw.lit(low)).otherwise(inside).cast(nw.Int64()).alias(VALUE)


def _in_order(found: list[tuple[Any, ...]], groups: Groups) -> Moments:
    by_rank = np.zeros((3, groups.keys.size), dtype=np.int64)
    for rank, *parts in found:
        by_rank[:, int(rank)] = [whole_of(part) for part in parts]
    return Moments(*by_rank)


def _refuse_missing(taken: Taken, rows: Lazy, value: Value) -> None:
    empty = rows.filter(nw.col(taken.table.at(value.column)).is_null())
    number = whole_of(taken.table.scalar(empty.select(nw.len().alias(LENGTH))))
    if number:
        raise DataError(
            f"{many(number, 'row', one='has', more='have')} no value in {value.column!r}.",
            hint='Fill them, or pass missing="drop" to leave them out. This number is not for '
            "publication. Nothing was drawn and nothing was recorded.",
            rows=number,
            column=value.column,
        )
