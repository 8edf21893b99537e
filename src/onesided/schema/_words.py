"""A schema in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from onesided.schema._column import Column, shown
from onesided.schema._forms import FORMS

if TYPE_CHECKING:
    from onesided.schema._schema import Schema

_LISTED = 8


def sentences(schema: Schema) -> Iterator[str]:
    """What it says, a line for the unit and one for each column."""
    unit, columns = schema.unit, schema.columns
    if unit is None:
        yield "The schema names no unit: the session says whose row it is."
    else:
        called = f", called {' or '.join(map(repr, schema.noun))}" if schema.noun else ""
        yield (
            f"Each value of {unit!r} is one unit{called}: whom a policy protects, with all their "
            "rows."
        )
    for name, one in columns.items():
        yield f"{name}: {one.type}{''.join(_more(one))}."
    if columns:
        yield "Text is read strictly as these types, row by row."
        yield "A table with text that cannot be read so is refused, unless it counts as missing."
    if schema.missing:
        yield f"No value: {', '.join(map(repr, schema.missing))}."
    if schema.caveat:
        yield schema.caveat
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
    for form in FORMS:
        given = getattr(one, form)
        if given is not None:
            told = ", ".join(map(repr, given)) if isinstance(given, tuple) else repr(given)
            yield f"; {form}: {told}"
    if one.missing:
        yield f"; no value: {', '.join(map(repr, one.missing))}"
    if one.required:
        yield "; never missing"
    if one.about:
        yield f" ({one.about})"
