"""Counts, sums and sums of squares per public group, added up inside the caller's engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided._numbers import MAX_COUNT
from onesided.engine.kit import LENGTH, MOST_ROWS, ORDER, Lazy, first_groups, whole_of
from onesided.noise import IntArray
from onesided.session._context import Taken
from onesided.session._groups import Groups
from onesided.session._question import Check, all_of
from onesided.session.values._value import VALUE, Value, clipped, no_value

_SQUARE: Final = "onesided_square"
_COPY: Final = "onesided_copy"
_WEIGHT: Final = "onesided_weight"
_HASHED: Final = "onesided_row_hash"
_RANK: Final = "onesided_row_rank"
# Sums of large numbers are two sums: of their whole parts of 2^26, and of what is left of each.
_PART: Final = 2**26
_UP: Final = 2**53  # makes every number that is added up at least 0
_FAR: Final = 2**28
_HIGH: Final = {VALUE: "onesided_value_high", _SQUARE: "onesided_square_high"}
_LOW: Final = {VALUE: "onesided_value_low", _SQUARE: "onesided_square_low"}


Powers: TypeAlias = tuple[int, int, int]
Exact: TypeAlias = NDArray[np.object_]  # Python's whole numbers, of any size


@dataclass(frozen=True, slots=True)
class Moments:
    """Per group: how many units, the sum of their values less ``centre``, and of the squares.

    exact: these three, a row for each group; the squares are 0 unless they were asked for. Secret.
    """

    exact: Exact

    def combined(self, weights: Powers) -> IntArray:
        """So many times each of the three, added up: exact, and cut at 2^62 and -2^62."""
        sums = self.exact @ np.array(weights, dtype=object)
        cut: IntArray = np.clip(sums, -MAX_COUNT, MAX_COUNT).astype(np.int64)
        return cut

    @property
    def count(self) -> IntArray:
        """How many units."""
        return self.combined((1, 0, 0))

    @property
    def total(self) -> IntArray:
        """The sum of their values."""
        return self.combined((0, 1, 0))

    @property
    def squares(self) -> IntArray:
        """The sum of the squares."""
        return self.combined((0, 0, 1))


def moments(
    taken: Taken,
    groups: Groups,
    value: Value,
    *,
    centre: int = 0,
    squares: bool = False,
    own_mean: bool = False,
    max_rows: int | None = None,
    farthest: bool = False,
) -> Moments:
    """The moments in steps, in the order of the keys. Secret.

    A unit's value in a group is the sum over its rows there, clipped to the bounds once more; with
    ``own_mean`` their mean, rounded down to whole steps. With ``max_rows`` each row is a value of
    its own, of which a unit has so many in a group at most, and all of them are counted: by a hash,
    or those ``farthest`` from 0, of which the sum can only fall where rows >= 0 are dropped.
    """
    taken, groups = groups.inside(taken)
    furthest = max(value.high - centre, centre - value.low)
    wide = {VALUE: _is_wide(furthest)}
    wide |= {_SQUARE: _is_wide(furthest**2)} if squares else {}
    totals = max_rows is None and taken.unit is not None and not own_mean
    rows = _in_steps(taken, groups, value.around_zero if totals else value)
    if max_rows is None or taken.unit is None:
        values = _per_unit(rows, taken, groups, value, own_mean=own_mean)
        return _added(_powers(values, centre, wide), taken, groups, wide)
    kept = _first_rows(rows, taken, groups, value, most=max_rows, farthest=farthest)
    units = _powers(kept, centre, wide).group_by(*_kept(taken, groups))
    parts = units.agg(*(nw.col(name).sum() for name in _names(wide)))
    return _added(parts, taken, groups, wide)


def weighted(taken: Taken, groups: Groups, value: Value, weight: Value, *, centre: int) -> Moments:
    """Per group the sum of units' own weights, and of their own values less ``centre`` by these.

    A unit's own weight and value in a group are means over its rows there that have both, rounded
    down to whole steps. Secret.
    """
    taken, groups = groups.inside(taken)
    columns = taken.at((*value.columns, *weight.columns))
    rows = taken.rows((*groups.by, *columns), where=groups.where, counted=groups.query.counted)
    heavy = weight.in_steps(rows, columns[1], taken.schema[columns[1]])
    heavy = heavy.with_columns(nw.col(VALUE).alias(_WEIGHT))
    both = value.in_steps(heavy, columns[0], taken.schema[columns[0]])
    kept = _kept(taken, groups)
    if taken.unit is None:
        both = both.with_columns(
            _within(value.low, value.high), _within(weight.low, weight.high, _WEIGHT)
        )
    else:
        parts = _per_unit(both, taken, groups, value, own_mean=True)
        each = both.with_columns(nw.col(_WEIGHT).alias(VALUE)).drop(_WEIGHT)
        each = _per_unit(each, taken, groups, weight, own_mean=True).rename({VALUE: _WEIGHT})
        both = parts.drop_nulls(kept).join(each.drop_nulls(kept), on=kept, how="inner")
    # The sums of both stand where those of values and of their squares do.
    times = (nw.col(_WEIGHT) * (nw.col(VALUE) - centre)).alias(_SQUARE)
    made = both.with_columns(times, nw.col(_WEIGHT).alias(VALUE), nw.lit(1).alias(LENGTH))
    furthest = weight.high * max(value.high - centre, centre - value.low)
    wide = {VALUE: _is_wide(weight.high), _SQUARE: _is_wide(furthest)}
    for name in (name for name, far in wide.items() if far):
        made = _split(made, nw.col(name) + _UP, name)
    added = _added(made.select(*kept, *_names(wide)), taken, groups, wide)
    exact = np.roll(added.exact, -1, axis=1)
    exact[:, 2] = 0
    return Moments(exact)


def own_values(
    taken: Taken,
    groups: Groups,
    value: Value,
    *,
    own_mean: bool = True,
    max_rows: int | None = None,
) -> tuple[IntArray, IntArray, IntArray]:
    """Own means that occur, in steps and rising by group, their counts, and where groups end.

    Without ``own_mean`` the units' clipped sums; with ``max_rows`` as many rows of each. Secret.
    """
    taken, groups = groups.inside(taken)
    rows = _in_steps(taken, groups, value if own_mean else value.around_zero)
    if max_rows is None or taken.unit is None:
        parts = _per_unit(rows, taken, groups, value, own_mean=own_mean)
        pairs = _paired(parts, taken, groups)
    else:
        parts = _first_rows(rows, taken, groups, value, most=max_rows)
        pairs = _paired(parts, taken, groups, rows=True)
    named = (ORDER, VALUE) if groups.by else (VALUE,)
    counted = pairs.group_by(*named).agg(nw.len().alias(LENGTH))
    found = taken.table.arrays(counted.select(*named, LENGTH))
    steps, counts = (np.asarray(found[name], dtype=np.int64) for name in (VALUE, LENGTH))
    ranks = np.asarray(found.get(ORDER, np.zeros(steps.size)), dtype=np.int64)
    order = np.lexsort((steps, ranks))
    return steps[order], counts[order], np.cumsum(np.bincount(ranks, minlength=groups.keys.size))


def asserted(groups: Groups, value: Value) -> Check | None:
    """What rows are held to: groups of a unit, and values in them with ``missing="refuse"``."""

    def refuse_missing(taken: Taken) -> None:
        inner, inside = groups.inside(taken)
        (column,) = inner.at(value.columns)
        rows = inner.rows((*inside.by, column), where=groups.where, counted=groups.query.counted)
        empty = rows.filter(nw.col(column).is_null())
        if number := whole_of(inner.table.scalar(empty.select(nw.len().alias(LENGTH)))):
            raise no_value(number, value.column)

    return all_of(refuse_missing if value.missing == "refuse" else None, groups.asserts)


def _in_steps(taken: Taken, groups: Groups, value: Value) -> Lazy:
    """The rows that count, with their steps."""
    (column,) = taken.at(value.columns) or ("",)
    rows = taken.rows(
        (*groups.by, *taken.at(value.columns)), where=groups.where, counted=groups.query.counted
    )
    return value.in_steps(rows, column, taken.schema.get(column, nw.Int64()))


def _paired(parts: Lazy, taken: Taken, groups: Groups, *, rows: bool = False) -> Lazy:
    """What each unit adds beside the number of its group; each unit in its first groups alone.

    rows: whether a unit may have several of them in a group.
    """
    if not groups.by:
        return parts
    pairs, unit = taken.table.join_keys(parts, groups.keys), taken.unit
    if groups.excess != "truncate" or unit is None:
        return pairs
    most, each = groups.query.max_groups or 1, pairs.select(unit, ORDER).unique() if rows else pairs
    first = first_groups(taken.table.engine, each, unit, [ORDER], most=most)
    return pairs.join(first.select(unit, ORDER), on=[unit, ORDER], how="inner") if rows else first


def _is_wide(most: int) -> bool:
    """Whether numbers so far from 0, one for each row, may add up to more than 2^62."""
    return most * MOST_ROWS > MAX_COUNT


def _names(wide: Mapping[str, bool]) -> list[str]:
    """What is added up: a column for each number, or two where it is wide."""
    parts = [[_HIGH[name], _LOW[name]] if far else [name] for name, far in wide.items()]
    return [LENGTH, *(name for part in parts for name in part)]


def _powers(values: Lazy, centre: int, wide: Mapping[str, bool]) -> Lazy:
    """Each value's 0th, 1st and 2nd power about ``centre``, as far as they are asked for."""
    moved = (nw.col(VALUE) - centre).alias(VALUE)
    made = values.with_columns(moved, nw.lit(1).alias(LENGTH))
    if _SQUARE in wide:
        made = made.with_columns((nw.col(VALUE) * nw.col(VALUE)).alias(_SQUARE))
    for name in (name for name, far in wide.items() if far):
        made = _split(made, nw.col(name) + _UP, name)
    return made


def _split(rows: Lazy, number: nw.Expr, name: str) -> Lazy:
    """With the two parts of a number from 0 to 2^54. What division rounds, the lower one has."""
    made = rows.with_columns((number // _PART).cast(nw.Int64()).alias(_HIGH[name]))
    return made.with_columns((number - nw.col(_HIGH[name]) * _PART).alias(_LOW[name]))


def _first_rows(
    rows: Lazy, taken: Taken, groups: Groups, value: Value, *, most: int, farthest: bool = False
) -> Lazy:
    """At most ``most`` rows of each unit in each group, by a hash of the unit and the row.

    With ``farthest`` those farthest from 0.
    A row is its value, and which of the unit's rows of that value in the group it is: so rows
    are alike but for their hash, and dropping d of them takes at most d from those kept and lets at
    most d others in. Rows of equal hash come in the order of their values.
    """
    unit = _kept(taken, groups)
    steps = rows.with_columns(_within(value.low, value.high), nw.lit(1).alias(_COPY))
    if farthest:
        below = nw.when(nw.col(VALUE) < 0).then(nw.col(VALUE)).otherwise(0 - nw.col(VALUE))
        found, order = steps.with_columns(below.alias(_HASHED)), [_HASHED, VALUE]
    else:
        numbered = steps.with_columns(nw.col(_COPY).cum_sum().over(*unit, VALUE, order_by=[VALUE]))
        found = taken.table.engine.with_hash(numbered, [unit[0], VALUE, _COPY], _HASHED)
        order = [_HASHED, VALUE, _COPY]
    ranked = found.with_columns(nw.lit(1).alias(_RANK)).with_columns(
        nw.col(_RANK).cum_sum().over(*unit, order_by=order)
    )
    return ranked.filter(nw.col(_RANK) <= most).select(*unit, VALUE)


def _added(parts: Lazy, taken: Taken, groups: Groups, wide: Mapping[str, bool]) -> Moments:
    """The moments of what each unit adds, in the order of the keys."""
    names = _names(wide)
    adds = [nw.col(name).sum() for name in names]
    if groups.by:
        if groups.excess != "truncate" or taken.unit is None:
            # Added up by the key's own columns first: far fewer rows are then looked up in a list.
            parts = parts.group_by(*groups.by).agg(*adds)
        parts = _paired(parts, taken, groups).group_by(ORDER).agg(*adds)
        found = taken.table.arrays(parts.select(ORDER, *names))
    else:
        found = taken.table.arrays(parts.select(*adds))
    told = {name: found[name].astype(np.int64).astype(object) for name in names}
    exact = np.zeros((groups.keys.size, 3), dtype=object)
    ranks = found[ORDER].astype(np.int64) if groups.by else np.zeros(1, dtype=np.int64)
    exact[ranks, 0] = told[LENGTH]
    for place, (name, far) in enumerate(wide.items(), 1):  # exact, of two parts where it is wide
        exact[ranks, place] = (
            told[_HIGH[name]] * _PART + told[_LOW[name]] - _UP * told[LENGTH] if far else told[name]
        )
    return Moments(exact)


def outside(taken: Taken, groups: Groups, value: Value) -> tuple[int, int]:
    """How many counted rows lie outside the bounds, and how many have no value. Secret."""
    columns = taken.at(value.columns)
    if not columns:
        return 0, 0
    rows = taken.rows(columns, where=groups.where, counted=groups.query.counted)
    given = nw.col(*columns)
    if taken.schema[columns[0]] == nw.Boolean:
        given = given.cast(nw.Int64())
    empty = given.is_null()
    low, high = (float(end * value.step) for end in (value.low, value.high))
    beyond = ~empty & ((given < low) | (given > high))
    return numbers_of(taken, rows, beyond, empty)


def numbers_of(taken: Taken, rows: Lazy, *which: nw.Expr) -> tuple[int, int]:
    """Of how many rows each of two conditions is true. Secret."""
    counts = (rows.filter(one).select(nw.len().alias(LENGTH)) for one in which)
    first, second = (whole_of(taken.table.scalar(one)) for one in counts)
    return first, second


def _kept(taken: Taken, groups: Groups) -> list[str]:
    return [*([taken.unit] if taken.unit else []), *groups.by]


def _per_unit(rows: Lazy, taken: Taken, groups: Groups, value: Value, *, own_mean: bool) -> Lazy:
    """One row per unit and group, with the unit's clipped sum, or its own mean."""
    if taken.unit is None:
        # Past 2^51 steps a bound itself may have been rounded up to the next one.
        return rows.with_columns(_within(value.low, value.high)).select(*groups.by, VALUE)
    # Rows are clipped to what cannot cancel, so that dropping one never raises a sum. For a mean,
    # from the lower bound up nothing is below 0, where engines divide in different ways.
    low, high = (value.low, value.high) if own_mean else (min(value.low, 0), max(value.high, 0))
    rows = rows.with_columns(_within(low, high))
    rows = rows.with_columns((nw.col(VALUE) - low).alias(VALUE)) if own_mean else rows
    far = _is_wide(high - low)
    if far:
        rows = _split(rows, nw.col(VALUE) + (0 if own_mean else _UP), VALUE)
    names = (_HIGH[VALUE], _LOW[VALUE]) if far else (VALUE,)
    units = rows.group_by(*_kept(taken, groups))
    added = units.agg(*(nw.col(name).sum() for name in names), nw.len().alias(LENGTH))
    added = added.with_columns(nw.col(*names, LENGTH).cast(nw.Int64()))
    if own_mean:
        made = (_wide_mean() if far else nw.col(VALUE) // nw.col(LENGTH)) + value.low
    else:
        made = _wide_sum() if far else nw.col(VALUE)
    # What is counted is bounded, whatever an engine makes of a division.
    bounded = added.with_columns(made.alias(VALUE)).with_columns(_within(value.low, value.high))
    return bounded.select(*_kept(taken, groups), VALUE)


def _wide_sum() -> nw.Expr:
    """A unit's sum of its two parts; past 2^54, where no bound is, it is cut."""
    high, low = _carried()
    far = high - nw.col(LENGTH) * (_UP // _PART)
    far = nw.when(far > _FAR).then(nw.lit(_FAR)).otherwise(far)
    far = nw.when(far < -_FAR).then(nw.lit(-_FAR)).otherwise(far)
    return far * _PART + low


def _wide_mean() -> nw.Expr:
    """A unit's sum of its two parts, none below 0, by its rows: divided in two steps."""
    high, low = _carried()
    whole = high // nw.col(LENGTH)
    rest = (high - whole * nw.col(LENGTH)) * _PART + low
    return whole * _PART + rest // nw.col(LENGTH)


def _carried() -> tuple[nw.Expr, nw.Expr]:
    """The two parts of a sum, the lower one below 2^26 again."""
    more = (nw.col(_LOW[VALUE]) // _PART).cast(nw.Int64())
    return nw.col(_HIGH[VALUE]) + more, nw.col(_LOW[VALUE]) - more * _PART


def _within(low: int, high: int, name: str = VALUE) -> nw.Expr:
    return clipped(nw.col(name), low, high).cast(nw.Int64()).alias(name)
