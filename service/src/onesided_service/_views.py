"""What pages show of plans, releases and datasets: public facts in words, nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from markupsafe import Markup

from onesided.errors import OnesidedError
from onesided.numbers import text
from onesided.schema import Column, Schema
from onesided.session import Release
from onesided.show import Chart, Shape, svg_text

WIDE: Final = 1100
NARROW: Final = 330
MOST_ROWS: Final = 200
_SIDES: Final = ("lower", "upper")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """One picture for wide and one for narrow windows; sides: what kinds of bound it shows."""

    wide: str
    narrow: str
    sides: tuple[str, ...] = ()

    @classmethod
    def of(cls, chart: Chart) -> Drawing:
        """The chart, drawn."""
        wide, narrow = (_ours(svg_text(chart, width=width)) for width in (WIDE, NARROW))
        return cls(wide=wide, narrow=narrow, sides=_kinds_of(chart.shape))


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The head of a column."""

    name: str
    note: str
    number: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseView:
    """A release as a page shows it; the first rows of its table."""

    title: str
    first: Sequence[str]
    notes: Sequence[str]
    wide: str
    narrow: str
    sides: Sequence[str]
    heads: Sequence[Head]
    rows: Sequence[Sequence[str]]
    size: int
    policy: str
    losses: Sequence[tuple[str, str, str]]
    about: str
    entry: int | None
    made_up: bool

    @property
    def more(self) -> bool:
        """Whether rows are left out."""
        return self.size > len(self.rows)

    @classmethod
    def of(cls, release: Release, *, made_up: bool = False) -> ReleaseView:
        """The view of a release."""
        columns = release.columns()
        names = [name for name in columns if not name.endswith("_certain")]
        size = len(next(iter(columns.values()), ()))
        chart = _chart(release)
        drawing = None if chart is None else Drawing.of(chart)
        promise = release.guarantee
        return cls(
            title=release.title,
            first=release.warnings,
            notes=() if chart is None else [_on_page(note) for note in chart.notes],
            wide="" if drawing is None else drawing.wide,
            narrow="" if drawing is None else drawing.narrow,
            sides=() if drawing is None else drawing.sides,
            heads=[_head(name, columns) for name in names],
            rows=[
                [_cell(name, columns, row) for name in names] for row in range(min(size, MOST_ROWS))
            ],
            size=size,
            policy=promise.policy,
            losses=[
                (edge, text(loss), text(promise.delta.get(edge, Fraction(0))))
                for edge, loss in promise.epsilon.items()
            ],
            about=_about(promise.about),
            entry=release.entry,
            made_up=made_up,
        )


def price_view(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A plan's document as its page shows it."""
    options = [
        {
            "name": one["name"],
            "error": _error(one["error"]),
            "certain": " and ".join(one["certain"]) or "neither side",
        }
        for one in plan["options"]
    ]
    delta = {edge: loss for edge, loss in plan["delta"].items() if loss != "0"}
    return {
        "charge": [
            {"name": edge, "epsilon": loss, "delta": delta.get(edge, "")}
            for edge, loss in plan["charge"].items()
        ],
        "affordable": plan["affordable"],
        "remarks": plan["remarks"],
        "error": _error_words(plan["error"]),
        "certain": _certain_words(plan["certain"]),
        "seconds": _seconds(Fraction(str(plan["due_seconds"]))),
        "certified": _some([(f"{n:,}", f"{p:.1%}") for n, p in plan["certified"]]),
        "options": options,
    }


def column_views(schema: Schema) -> list[dict[str, str]]:
    """The declared columns, in words."""
    return [
        {
            "name": name,
            "type": one.type,
            "bounds": _bounds(one),
            "groups": _keys(one),
            "about": one.about,
        }
        for name, one in schema.columns.items()
    ]


def groups_of(schema: Schema) -> list[str]:
    """The columns that can be grouped by: those with declared keys."""
    return [name for name, one in schema.columns.items() if one.keys is not None]


def numbers_of(schema: Schema) -> list[str]:
    """The columns that can be summed."""
    return [
        name
        for name, one in schema.columns.items()
        if one.type in ("integer", "number") and name != schema.unit
    ]


def edge_view(
    name: str, *, budget: Fraction, spent: Fraction, allowed: Fraction | None, used: Fraction
) -> dict[str, Any]:
    """What is left on an edge. allowed: the person's own allowance; used: how much of it."""
    left = max(budget - spent, Fraction(0))
    own = None if allowed is None else max(min(allowed - used, left), Fraction(0))
    return {
        "name": name,
        "budget": text(budget),
        "spent": text(spent),
        "left": text(left),
        "share": _share(left, budget),
        "share_words": f"{_percent(left, budget)} of the budget is left",
        "allowance": None if allowed is None else text(allowed),
        "allowance_left": None if own is None else text(own),
        "allowance_share": 0.0 if own is None or not allowed else _share(own, allowed),
        "allowance_words": "" if own is None or not allowed else _own_words(own, allowed),
    }


def _own_words(own: Fraction, allowed: Fraction) -> str:
    return f"{_percent(own, allowed)} of your allowance is left"


def _share(part: Fraction, whole: Fraction) -> float:
    return float(part / whole) if whole else 0.0


def _percent(part: Fraction, whole: Fraction) -> str:
    return f"{math.floor(100 * _share(part, whole))} %"


def _about(words: str) -> str:
    """What a promise is about, as it stands beside the word "about"."""
    inner = words.removeprefix("About ")
    return inner[:-1] if inner.endswith(".") and ". " not in inner else inner


def _on_page(note: str) -> str:
    return note.replace("the frame holds all", "the table and the downloads hold all")


def _chart(release: Release) -> Chart | None:
    """The picture of an answer; None where it has none."""
    try:
        return release.chart()
    except OnesidedError:
        return None


def _kinds_of(shape: Shape) -> tuple[str, ...]:
    bounds = [getattr(shape, side, None) for side in _SIDES]
    some = [bound for bound in bounds if bound is not None]
    kinds = (
        ("certain", any(bound.certain.any() for bound in some)),
        ("unsure", any(not bound.certain.all() for bound in some)),
    )
    return tuple(kind for kind, holds in kinds if holds)


def _ours(drawn: str) -> Markup:
    return Markup(drawn)  # noqa: S704 - svg_text escapes all names


def picture_of(policy: Any) -> Markup:
    """The policy's picture."""
    return Markup(policy.to_svg())  # noqa: S704 - it escapes all names


def _head(name: str, columns: Mapping[str, Sequence[Any]]) -> Head:
    sure = list(columns.get(f"{name}_certain", ())) if name in _SIDES else []
    note = "certain" if sure and all(sure) else ""
    numbers = all(_is_number(value) or value is None for value in columns[name])
    return Head(name=name.replace("_", " "), note=note, number=numbers and len(columns[name]) > 0)


def _cell(name: str, columns: Mapping[str, Sequence[Any]], row: int) -> str:
    sure = list(columns.get(f"{name}_certain", ())) if name in _SIDES else []
    mark = " (certain)" if any(sure) and not all(sure) and sure[row] else ""
    return _value(columns[name][row], exactly=name in _SIDES) + mark


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _value(value: Any, *, exactly: bool) -> str:
    """A value as text; bounds with every digit, for a rounded one could be wrong."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and not math.isfinite(value):
        return "no bound" if math.isinf(value) else "–"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, float):
        return repr(value) if exactly else f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _error(error: float | None) -> str:
    return "depends on the data" if error is None else f"± {error:,.3g}"


def _error_words(error: float | None) -> str:
    if error is None:
        return "depends on the data"
    return f"± {error:,.3g} (root mean square)"


def _certain_words(certain: Sequence[str]) -> str:
    words = {"upper": "upper bounds", "lower": "lower bounds"}
    return " and ".join(words[side] for side in certain) or "no bound is certain"


def _seconds(seconds: Fraction) -> str:
    return f"about {math.ceil(seconds):,} s after asking, whatever the rows are"


def _some(rows: list[tuple[str, str]], most: int = 6) -> list[tuple[str, str]]:
    step = max(1, -(-len(rows) // most))
    return rows[::-1][::step][::-1]


def _bounds(column: Column) -> str:
    if column.bounds is None:
        return ""
    low, high = map(_plain, column.bounds)
    step = "" if column.step is None else f", in steps of {_plain(column.step)}"
    return f"{low} to {high}{step}"


def _plain(value: object) -> str:
    return text(value) if isinstance(value, Fraction) else str(value)


def _keys(column: Column) -> str:
    if column.keys is None:
        return ""
    if isinstance(column.keys, str):
        return "a public list"
    shown = ", ".join(map(str, column.keys[:4]))
    return shown if len(column.keys) <= 4 else f"{shown} … ({len(column.keys):,})"
