"""A column of numbers as whole steps of a declared grid, within declared bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, Literal, get_args

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided._english import many
from onesided._numbers import (
    MAX_COUNT,
    Number,
    exact,
    on_grid,
    positive,
    round_down,
    round_up,
    text,
    whole,
)
from onesided.engine.kit import Lazy, is_wide
from onesided.errors import DataError, ParameterError
from onesided.fields import one_of, settle
from onesided.mechanism import Interval
from onesided.session._context import QueryContext
from onesided.session._groups import names_of

Floats = NDArray[np.float64]
Missing = Literal["refuse", "drop"]
# Whether rows count one by one, so many of a unit at most, or each unit once.
Of = Literal["units", "rows"]
_MOST_ROWS: Final = 2**20
VALUE: Final = "onesided_value"
_ROWS: Final = "onesided_rows"  # what a ledger calls the ones
# Beyond this a step is lost in a float column's own rounding.
_MOST_STEPS: Final = 2**52
# Its square, and sums of many squares, are floats still.
_FARTHEST: Final = Fraction(2**400)
_HALF: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """How one number per row becomes a whole number of steps, by itself. low, high: in steps.

    column: where the numbers are; "" where a row counts as 1, whatever it holds.
    """

    column: str
    step: Fraction
    low: int
    high: int
    missing: Missing

    @property
    def detail(self) -> dict[str, object]:
        """What identifies it in the ledger."""
        return {
            "column": self.column or _ROWS,
            "bounds": [text(self.low * self.step), text(self.high * self.step)],
            "step": text(self.step),
            "missing": self.missing,
        }

    @property
    def sentence(self) -> str:
        """Which numbers the answer is about."""
        clipped = f"rounded to steps of {text(self.step)} and clipped to {self.ends}"
        return f"Values of {self.column!r} are {clipped}."

    @property
    def ends(self) -> str:
        """The bounds, in the column's unit."""
        return f"{text(self.low * self.step)} .. {text(self.high * self.step)}"

    @property
    def around_zero(self) -> Value:
        """The same with 0 within its bounds: what cannot cancel where rows are added up."""
        return replace(self, low=min(self.low, 0), high=max(self.high, 0))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it looks at."""
        return (self.column,) if self.column else ()

    def in_steps(self, rows: Lazy, column: str, dtype: nw.dtypes.DType) -> Lazy:
        """The rows with a column of steps. column: what it is called in them. Secret."""
        if not self.column:
            return rows.with_columns(nw.lit(1).cast(nw.Int64()).alias(VALUE))
        given = nw.col(column)
        if self.missing == "drop":
            rows = rows.filter(~given.is_null())
        return rows.with_columns(self._steps(given, dtype).alias(VALUE))

    def _steps(self, given: nw.Expr, dtype: nw.dtypes.DType) -> nw.Expr:
        if dtype == nw.Boolean:
            given, dtype = given.cast(nw.Int64()), nw.Int64()
        # Bounds may lie beyond the column's type: then they are no numbers to compare it with.
        if dtype.is_integer() and not is_wide(dtype) and self.step.denominator == 1:
            whole = given.cast(nw.Int64())
            steps = whole if self.step == 1 else _nearest(whole, self.step)
            return clipped(steps, self.low, self.high)
        low, high = float(self.low * self.step), float(self.high * self.step)
        inside = clipped(given.cast(nw.Float64()), low, high)
        return _nearest(inside, self.step)


def ones(most: int) -> Value:
    """Rows as ones, of which a unit adds up to ``most`` in a group."""
    return Value(column="", step=Fraction(1), low=0, high=most, missing="drop")


def refuse_own_groups(question: Any) -> None:
    """Refuse values of a column that makes the groups. Errors: ParameterError."""
    if question.column in names_of(question.by, name="by"):
        raise ParameterError(
            f"The question is about values of {question.column!r} and groups by it as well.",
            hint="Group by another column, or count by this one.",
            column=question.column,
        )


def no_value(number: int, column: str) -> DataError:
    """What is said of data with rows that are to have a value and have none."""
    return DataError(
        f"{many(number, 'row', one='has', more='have')} no value in {column!r}.",
        hint='Fill them, or pass missing="drop" to leave them out. This number is not for '
        "publication. Nothing was drawn and nothing was recorded.",
        rows=number,
        column=column,
    )


def settle_grid(question: Any, *names: str) -> None:
    """Take the floats of these fields at their decimal value, in a question that is being made."""
    for name in names:
        given = getattr(question, name)
        if isinstance(given, list | tuple):
            settle(question, **{name: type(given)(map(on_grid, given))})
        else:
            settle(question, **{name: on_grid(given)})


def require_numbers(column: str, schema: Mapping[str, nw.dtypes.DType]) -> None:
    """Refuse a column that holds no numbers, before it is asked what they may be. DataError."""
    kind = schema[column]
    if not (kind.is_integer() or kind.is_float() or kind.is_decimal()):
        raise DataError(
            f"Column {column!r} holds {kind}, not numbers.",
            hint="Give a column of whole numbers, decimals or floats.",
            column=column,
        )


def value_of(
    column: str,
    *,
    bounds: Sequence[Number],
    step: Number,
    missing: Missing,
    schema: Mapping[str, nw.dtypes.DType],
) -> Value:
    """Check the column, its bounds and its grid. Errors: ParameterError, DataError."""
    require_numbers(column, schema)
    one_of(missing, name="missing", words=get_args(Missing))
    grid = positive(step, name="step")
    if not 1 / _FARTHEST <= grid <= _FARTHEST:
        raise ParameterError(
            "The step is below 2^-400 or above 2^400: sums of such steps are no floats.",
            hint="Choose another unit for the column.",
        )
    low, high = _ends(bounds)
    for end in (low, high):
        if (end / grid).denominator != 1:
            raise ParameterError(
                f"The bound {text(end)} is no whole number of steps of {text(grid)}.",
                hint="Choose bounds on the grid, or a step that divides them.",
                bound=end,
                step=grid,
            )
    steps = max(-low / grid, high / grid)
    if steps > _MOST_STEPS:
        raise ParameterError(
            f"Bounds of {text(low)} .. {text(high)} in steps of {text(grid)} are more than 2^52 "
            "steps.",
            hint="Use a coarser step.",
        )
    return Value(
        column=column, step=grid, low=int(low / grid), high=int(high / grid), missing=missing
    )


def _ends(bounds: Any) -> tuple[Fraction, Fraction]:
    if isinstance(bounds, str) or not isinstance(bounds, Sequence) or len(bounds) != 2:
        raise ParameterError(
            f"bounds must be a pair (lowest, highest), got {bounds!r}.",
            hint="Bounds must come from public knowledge, such as (0, 100) for a percentage.",
            value=bounds,
        )
    low, high = (exact(end, name="bounds") for end in bounds)
    if low >= high:
        raise ParameterError(
            f"bounds=({text(low)}, {text(high)}): the lowest value is not below the highest.",
            hint="Give them the other way round: bounds=(lowest, highest).",
            value=bounds,
        )
    return low, high


def clipped(given: nw.Expr, low: float, high: float) -> nw.Expr:
    """Values, those beyond the ends as these."""
    return (
        nw.when(given < low)
        .then(nw.lit(low))
        .otherwise(nw.when(given > high).then(nw.lit(high)).otherwise(given))
    )


def _nearest(given: nw.Expr, step: Fraction) -> nw.Expr:
    """The nearest whole number of steps, halves upwards: engines left alone disagree on halves.

    Both the floor and what is above it are exact in floats.
    """
    numbers, one = given.cast(nw.Float64()), step.numerator == 1
    steps = numbers * float(step.denominator) if one else numbers / float(step)
    floor = steps.floor()
    return (floor + ((steps - floor) >= _HALF).cast(nw.Float64())).cast(nw.Int64())


def in_units(steps: Interval, step: Fraction) -> tuple[Floats, Floats]:
    """Bounds in steps as numbers; rounding never turns a certain bound into a wrong one."""
    low, high = uncut(steps)
    lower = [round_down(int(k) * step) if k > -np.inf else k for k in low.tolist()]
    upper = [round_up(int(k) * step) if k < np.inf else k for k in high.tolist()]
    return np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64)


def uncut(steps: Interval) -> tuple[NDArray[Any], NDArray[Any]]:
    """Bounds on sums, from bounds on what was cut at 2^62 and -2^62: past these, infinite.

    A sum that was cut is enclosed by none within them; one that was not is what it is.
    """
    lower, upper = steps.lower.astype(object), steps.upper.astype(object)
    lower[steps.lower <= -MAX_COUNT] = -np.inf
    upper[steps.upper >= MAX_COUNT] = np.inf
    return lower, upper


def most_rows(context: QueryContext, question: Any) -> int | None:
    """The most rows of a unit that count in a group; None where each unit has one value."""
    of, given = question.of, question.max_rows
    if of is not None:
        one_of(of, name="of", words=get_args(Of))
    if of == "rows" and context.unit is not None:
        return rows_of_unit(context, given)
    if given is not None:
        raise ParameterError(
            f"max_rows={given!r} has no meaning here: each unit has one value.",
            hint='Pass of="rows" as well, in a session with unit=, or leave it out.',
            value=given,
        )
    return None


def rows_of_unit(context: QueryContext, given: int | None) -> int:
    """How many rows of a unit may count. Errors: ParameterError."""
    if given is None:
        raise ParameterError(
            f"How many rows of one {context.unit!r} may count?",
            hint="Pass max_rows=, from public knowledge such as opening hours or the rules of a "
            "form; or declare it in a schema.",
        )
    return whole(given, name="max_rows", least=1, most=_MOST_ROWS)


def ends_of_rows(value: Value, most: int | None) -> tuple[int, int]:
    """The least and the most that a unit's rows, at least one, add. Errors: past 2^62 steps."""
    number = most or 1
    if number * max(value.high, -value.low) > MAX_COUNT:
        raise ParameterError(
            f"{number:,} rows within {value.ends} add up to more than 2^62 steps.",
            hint="Give narrower bounds, a coarser step, or a smaller max_rows.",
        )
    return min(value.low, number * value.low), max(value.high, number * value.high)


def words_of(context: QueryContext, value: Any, most: int | None) -> str:
    """Which numbers count: rows as they are, each unit's own mean, or so many rows of each."""
    said: str = value.sentence
    if context.unit is None:
        return said
    if most is None:
        return f"{said} Each {context.each} counts once, with their own mean."
    of_them = f"at most {most} of their rows in a group, by a hash"
    return f"{said} Each {context.each} counts with {of_them}."


def counted_rows(context: QueryContext, given: int | None) -> tuple[Value, str]:
    """Rows of units as ones, so many of each; and which these are. Errors: ParameterError."""
    most = rows_of_unit(context, given)
    return ones(most), words_of_rows(context, most)


def words_of_rows(context: QueryContext, most: int) -> str:
    """Which rows are counted."""
    rows = many(most, "row", one="counts", more="count")
    return f"Of each {context.each} at most {rows} in a group."


# Quotients of noisy sums and their bounds, in floats: of what is told already.


def ratio(
    total: Interval, count: Interval, least: float, most: float, *, times: int = 1
) -> tuple[Floats, Floats]:
    """Bounds on total / count / times, given that somebody was counted; any if nobody was."""
    few, many = times * np.maximum(count.lower, 1), times * np.maximum(count.upper, 1)
    low = np.minimum(total.lower / few, total.lower / many)
    high = np.maximum(total.upper / few, total.upper / many)
    nobody = np.asarray(count.upper) < 1
    low, high = np.where(nobody, least, low), np.where(nobody, most, high)
    return np.clip(low, least, most), np.clip(high, least, most)


def outward(lower: Floats, upper: Floats, ends: tuple[float, float]) -> tuple[Floats, Floats]:
    """The same bounds, further out by more than a few roundings of floats; not beyond the ends.

    Both at 0 stay there, where nothing was rounded.
    """
    widest = np.maximum(-lower, upper)
    far = np.where(widest == 0, 0, 8 * np.spacing(widest))
    low, high = np.maximum(lower - far, ends[0]), np.minimum(upper + far, ends[1])
    return np.minimum(lower, low), np.maximum(upper, high)


def part_of(some: Any, others: Any, *, nothing: float) -> Floats:
    """The share of the first in both, neither below 0; ``nothing`` where it is undefined."""
    with np.errstate(all="ignore"):
        share = 1 / (1 + np.maximum(others, 0) / np.maximum(some, 0))
    return np.where(np.isnan(share), nothing, share)


def spread(x: Floats, y: Floats, z: Floats, *, nothing: float) -> Floats:
    """The variance of values of a span of 1, of the sums of their squared shares."""
    with np.errstate(all="ignore"):
        found = (x * z - y * y / 4) / (x + y + z) ** 2
    return np.clip(np.where(np.isnan(found), nothing, found), 0, 1 / 4)


def open_ended(steps: Interval) -> Interval:
    """Bounds on a sum in floats, infinite where it may have been cut."""
    lower, upper = (np.asarray(end, dtype=np.float64) for end in uncut(steps))
    return replace(steps, lower=lower, upper=upper)  # type: ignore[arg-type] # in floats


def share_of(counted: Any, *, least: bool) -> Any:
    """What a variance that divides by n is multiplied with to divide by n - 1."""
    return 1 + 1 / (np.maximum(counted, 2) - 1) if least else 1
