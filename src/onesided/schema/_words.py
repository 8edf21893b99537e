"""A schema in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from onesided.schema._column import Column, shown

_LISTED = 8


def sentences(unit: str | None, columns: Mapping[str, Column]) -> Iterator[str]:
    """What it says, a line for the unit and one for each column."""
    if unit is None:
        yield "The schema names no unit: the session says whose row it is."
    else:
        yield f"Each value of {unit!r} is one unit: whom a policy protects, with all their rows."
    for name, one in columns.items():
        yield f"{name}: {one.type}{''.join(_more(one))}."
    if columns:
        yield "Text is read strictly as these types, row by row; what cannot be read is unknown."
    if any(one.bounds for one in columns.values()):
        yield "Bounds are public knowledge: a sum or mean clips each value to them."
    yield "Columns that are not listed are used as they come."


def _more(one: Column) -> Iterator[str]:
    if one.bounds is not None:
        yield f" from {shown(one.bounds[0])} to {shown(one.bounds[1])}"
    if one.step is not None:
        yield f" in steps of {shown(one.step)}" if one.step != Fraction(1) else " in steps of 1"
    if isinstance(one.keys, str):
        yield f"; its public keys stand in {one.keys!r}"
    elif one.keys is not None:
        first = ", ".join(map(shown, one.keys[:_LISTED]))
        more = f" and {len(one.keys) - _LISTED:,} more" if len(one.keys) > _LISTED else ""
        number = len(one.keys)
        yield f"; {number:,} public {'key' if number == 1 else 'keys'}: {first}{more}"
    if one.about:
        yield f" ({one.about})"
