"""Whether rows count one by one, so many of a unit at most, or each unit once."""

from __future__ import annotations

from typing import Any, Final, Literal, get_args

from onesided._numbers import MAX_COUNT, whole
from onesided.errors import ParameterError
from onesided.session._context import QueryContext
from onesided.session.values._value import Value

Of = Literal["units", "rows"]
_MOST_ROWS: Final = 2**20


def most_rows(context: QueryContext, question: Any) -> int | None:
    """How many rows of a unit count in a group at most; None where each unit has one value.

    Errors: ParameterError.
    """
    of, given = question.of, question.max_rows
    if of is not None and of not in get_args(Of):
        raise ParameterError(
            f"of={of!r} is unknown.",
            hint='Use "units", where each unit counts once, or "rows".',
            value=of,
        )
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
    """The least and the greatest that a unit adds to a sum of its rows, of at least one.

    Errors: ParameterError beyond 2^62 steps.
    """
    number = most or 1
    if number * max(value.high, -value.low) > MAX_COUNT:
        raise ParameterError(
            f"{number:,} rows within {value.ends} add up to more than 2^62 steps.",
            hint="Give narrower bounds, a coarser step, or a smaller max_rows.",
        )
    return min(value.low, number * value.low), max(value.high, number * value.high)


def words_of(context: QueryContext, value: Value, most: int | None) -> str:
    """Which numbers count: rows as they are, each unit's own mean, or so many rows of each."""
    if context.unit is None:
        return value.sentence
    if most is None:
        return f"{value.sentence} Each {context.unit!r} counts once, with its own mean."
    return (
        f"{value.sentence} Each {context.unit!r} counts with at most {most} of its rows in a "
        "group, by a hash."
    )
