"""Questions with what their session's schema declares, where the caller names nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from math import ceil, floor
from typing import Any, Final

from onesided._numbers import exact
from onesided.engine import cross
from onesided.engine.kit import key_file
from onesided.schema import Column, Schema
from onesided.session._fields import settled
from onesided.session._groups import names_of
from onesided.session.histograms._binned import MOST_BINS
from onesided.session.several._several import Several

_MOST_MADE: Final = 32  # bins of a column of made-up rows


class Completer:
    """Fills in keys, bounds, grids and candidates; files of keys are read once."""

    def __init__(self, schema: Schema | None) -> None:
        self._columns: Mapping[str, Column] = {} if schema is None else schema.columns
        self._schema = schema
        self._files: dict[str, Any] = {}

    def __call__(self, question: Any) -> Any:
        """The question as it is asked; itself where there is nothing to fill in."""
        if isinstance(question, type) or not is_dataclass(question):
            return question
        if isinstance(question, Several) and isinstance(question.questions, list | tuple):
            return replace(question, questions=[self(one) for one in question.questions])
        question = settled(question)
        more = self._more(question, {one.name for one in fields(question)})
        return replace(question, **more) if more else question

    def _more(self, question: Any, names: set[str]) -> dict[str, Any]:
        more: dict[str, Any] = {}
        if {"by", "keys"} <= names and question.keys is None:
            more["keys"] = self._keys(names_of(question.by, name="by"))
        if {"columns", "bins"} <= names:
            more |= self._domains(question)
        column = getattr(question, "column", None)
        known = self._columns.get(column) if isinstance(column, str) else None
        if known is not None:
            of_column = _candidates if "candidates" in names else _of_column
            more |= of_column(question, names, known)
        more |= self._of(question, names, known)
        step = more.get("step") or getattr(question, "step", None)
        if "step" in names and step is not None and exact(step, name="step") == 1:
            more["step"] = None  # that is what it means, and how it is told from others
        return {name: value for name, value in more.items() if value is not getattr(question, name)}

    def _domains(self, question: Any) -> dict[str, Any]:
        """The public values of columns of rows: keys, or bins of bounds and step."""
        given = (question.keys or {}, question.bins or {})
        if not all(isinstance(one, Mapping) for one in given):
            return {}  # the question says why not
        keys, bins = map(dict, given)
        for name in names_of(question.columns, name="columns"):
            known = self._columns.get(name)
            if known is None or name in keys or name in bins:
                continue
            step, ends = _grid_of(known)
            if known.keys is not None:
                keys[name] = self.values(name)
            elif ends is not None and step:
                low, high = ends
                wide = step * ceil((floor((high - low) / step) + 1) / Fraction(_MOST_MADE))
                bins[name] = (*(_grid(low, high, wide) or ()), high + step)
        return {"keys": keys or question.keys, "bins": bins or question.bins}

    def _of(self, question: Any, names: set[str], known: Column | None) -> dict[str, Any]:
        """How many rows of a unit count; and bounds of a row taken for those of a total."""
        most = None if self._schema is None else self._schema.max_rows
        rows = "max_rows" in names and getattr(question, "of", "rows") == "rows"
        if rows and question.max_rows is None and most is not None:
            return {"max_rows": most}
        declared = "total_bounds" in names and question.total_bounds == "column"
        if declared and known is not None and known.bounds is not None:
            return {"total_bounds": known.bounds}
        return {}

    def _keys(self, by: Sequence[str]) -> Any:
        """The public keys of these columns, crossed if they are several; None if not all are."""
        known = [self._columns.get(name) for name in by]
        if not by or any(one is None or one.keys is None for one in known):
            return None
        values = {name: self.values(name) for name in by}
        return values if len(values) == 1 else cross(**values)

    def values(self, name: str) -> Any:
        """The keys that the schema has of a column."""
        column = self._columns[name]
        if not isinstance(column.keys, str):
            return column.keys
        if name not in self._files:
            folder = None if self._schema is None else self._schema.folder
            self._files[name] = key_file(column.keys, folder=folder, name=name, kind=column.type)
        return self._files[name]


def _grid_of(known: Column) -> tuple[Fraction | None, tuple[Fraction, Fraction] | None]:
    """The step and the bounds of a column of numbers; None of other columns."""
    if known.type not in ("integer", "number"):
        return None, None
    return known.step or (Fraction(1) if known.type == "integer" else None), known.bounds


def _candidates(question: Any, _: set[str], known: Column) -> dict[str, Any]:
    """The bounds and the grid for a noisy maximum, or each value of the grid as a candidate."""
    if question.candidates is not None or known.type not in ("integer", "number"):
        return {}
    step, bounds = _grid_of(known)
    if question.chosen_method == "noisy_max":
        ends = bounds if question.bounds is None else question.bounds
        return {"bounds": ends, "step": known.step if question.step is None else question.step}
    points = None if bounds is None or step is None else _grid(*bounds, step)
    return {} if points is None else {"candidates": points}


def _of_column(question: Any, names: set[str], known: Column) -> dict[str, Any]:
    """What the bounds and the grid of a column say of a question about it."""
    found = {"step": known.step} if "step" in names and question.step is None else {}
    (step, ends), units = _grid_of(known), "total_bounds" in names and question.of == "units"
    if ends is None or units or "bounds" not in names or question.bounds is not None:
        return found
    if "bins" not in names:
        return {**found, "bounds": ends}
    # A bin does not hold its upper edge, and the highest value is to be in one.
    low, high = ends
    end = high if step is None else high + step
    if question.bins is None:
        grid = None if step is None else _grid(low, end, step)
        return found if grid is None else {**found, "bins": grid}
    return {**found, "bounds": (low, end)} if isinstance(question.bins, int) else found


def _grid(low: Fraction, high: Fraction, step: Fraction) -> tuple[Fraction, ...] | None:
    """All points of the grid, unless they are too many."""
    number = floor((high - low) / step) + 1
    return tuple(low + step * place for place in range(number)) if number <= MOST_BINS else None
