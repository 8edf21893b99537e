"""What a session adds up of a table's rows, against the same by hand: clipped, cut and rounded."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import floor
from typing import Any, Final

import numpy as np

from onesided import policy as policies
from onesided import session as questions
from onesided.noise import NotPrivateSeededNoise
from onesided.session.kit import prepared
from onesided_proofs.cases import sessions
from onesided_proofs.checks._samplers import Sampled

_PLACES: Final = ("p", "q")
_BOUNDS: Final = ((1, 3), (-1, 2), (-4, -2), (0, 6))
_TABLES: Final = 4
_CUT: Final[dict[str, Any]] = {"on_excess": "truncate"}
# Each row: a unit, a place and a value, far beyond the bounds at times.
_Rows = list[tuple[int, str, int]]


def added_checks() -> Iterator[Sampled]:
    """Nothing where no engine is installed that could hold a table."""
    if not sessions.has_engine():
        return
    name = "rows, added up by hand"
    yield Sampled(name, "sums", _first(_sum_fault(*one) for one in _asked()))
    yield Sampled(name, "sums of rows that are not cut", _sum_fault(0, (1, 3), cut=9), sound=False)
    yield Sampled(name, "rows of a unit", _first(_rows_fault(*one) for one in _asked()))
    yield Sampled(name, "own means", _first(_means_fault(*one) for one in _asked()))
    yield Sampled(name, "halves of a step", _steps_fault())
    yield Sampled(name, "more than 64 bits hold", _room_fault())


def _asked() -> Iterator[tuple[int, tuple[int, int]]]:
    return iter(product(range(_TABLES), _BOUNDS))


def _first(faults: Any) -> str:
    return next((fault for fault in faults if fault), "")


def _rows(seed: int) -> _Rows:
    generator = np.random.Generator(np.random.PCG64(seed))
    drawn = zip(*(generator.integers(0, n, 9).tolist() for n in (3, 3, 16)), strict=True)
    return [(unit, "pqr"[place], value - 7) for unit, place, value in drawn]


def _read(rows: _Rows, question: Any) -> Any:
    """What a session would draw noise for."""
    table = sessions.table_of_rows((unit, "record", place, value) for unit, place, value in rows)
    policy = policies.unbounded()
    noise = NotPrivateSeededNoise(1)  # none is drawn; an ε beyond 100 is asked
    session = questions.Session(table, policy=policy, unit="person", budget=99, noise=noise)
    return prepared(session, question).read()


def _own(rows: _Rows, unit: int, place: str) -> list[int]:
    return [value for one, here, value in rows if (one, here) == (unit, place)]


def _clip(value: int, low: int, high: int) -> int:
    return min(max(value, low), high)


def _by_place(rows: _Rows, adds: Any) -> list[int]:
    """The sum over units of what each adds by its rows at a place, if it has any."""
    return [
        sum(adds(own) for unit in range(3) if (own := _own(rows, unit, place))) for place in _PLACES
    ]


def _sum_fault(seed: int, bounds: tuple[int, int], *, cut: int = 0) -> str:
    """Rows are clipped to the bounds and 0, then what a unit's rows at a place add up to."""
    rows, (low, high) = _rows(seed), bounds
    least, most = min(low, 0), max(high, 0)
    asked = questions.Sum(
        "v",
        by="place",
        keys=_PLACES,
        of="units",
        total_bounds=bounds,
        epsilon=1,
        max_groups=3,
        **_CUT,
    )
    told = _read(rows, asked).tolist()
    due = _by_place(
        rows, lambda own: _clip(sum(_clip(v, least, most) for v in own), low - cut, high + cut)
    )
    return "" if told == due else f"of {rows} in {bounds}: {told}, due {due}"


def _rows_fault(seed: int, bounds: tuple[int, int]) -> str:
    """How many rows, two at most of a unit at a place; and each of them, if three are enough."""
    rows, (low, high) = _rows(seed), bounds
    places: dict[str, Any] = {"by": "place", "keys": _PLACES, "max_groups": 3, **_CUT}
    told = _read(rows, questions.RowCount(max_rows=2, epsilon=1, **places)).tolist()
    due = _by_place(rows, lambda own: min(len(own), 2))
    if told != due:
        return f"rows of {rows}: {told}, due {due}"
    two = questions.Mean("v", of="rows", max_rows=2, bounds=bounds, epsilon=1, **places)
    if (told := _read(rows, two).count.tolist()) != due:
        return f"two rows of {rows}: {told}, due {due}"
    mean = questions.Mean("v", of="rows", max_rows=9, bounds=bounds, epsilon=1, **places)
    return _moments_fault(rows, bounds, mean, lambda own: [_clip(v, low, high) for v in own])


def _means_fault(seed: int, bounds: tuple[int, int]) -> str:
    """A unit's own mean at a place, rounded down, and its square about the centre."""
    rows, (low, high) = _rows(seed), bounds
    for kind in (questions.Mean, questions.Variance):
        asked = kind("v", by="place", keys=_PLACES, max_groups=3, bounds=bounds, epsilon=1, **_CUT)

        def mean(own: list[int]) -> list[int]:
            return [floor(Fraction(sum(_clip(v, low, high) for v in own), len(own)))]

        if fault := _moments_fault(rows, bounds, asked, mean):
            return fault
    return ""


def _moments_fault(rows: _Rows, bounds: tuple[int, int], asked: Any, values: Any) -> str:
    """Moments about some centre, the same for all places, that lies within the bounds."""
    found = _read(rows, asked)
    counts = _by_place(rows, lambda own: len(values(own)))
    if found.count.tolist() != counts:
        return f"of {rows}: {found.count.tolist()} values, due {counts}"
    sums, faults = _by_place(rows, lambda own: sum(values(own))), []
    squared = isinstance(asked, questions.Variance)
    for centre in range(min(bounds[0], 0), max(bounds[1], 0) + 1):
        total = [s - centre * n for s, n in zip(sums, counts, strict=True)]
        far = _by_place(rows, lambda own, c=centre: sum((v - c) ** 2 for v in values(own)))
        if found.total.tolist() == total and (not squared or found.squares.tolist() == far):
            return ""
        faults.append((total, far))
    return f"of {rows} in {bounds}: {found}, due one of {faults}"


def _steps_fault() -> str:
    """The nearest step, halves upwards, within the bounds."""
    for step, bounds, values, due in (
        (2, (-4, 6), (-9, -4, -3, -1, 0, 1, 3, 5, 7), (-2, -2, -1, 0, 0, 1, 2, 3, 3)),
        ("1/2", (-1, 2), (-3, -1, 0, 1, 2, 5), (-2, -2, 0, 2, 4, 4)),
        (3, (0, 9), (1, 2, 4, 5, 10), (0, 1, 1, 2, 3)),
        ("3/2", (0, 6), (1, 2, 3, 4, 5, 9), (1, 1, 2, 3, 3, 4)),
    ):
        for value, one in zip(values, due, strict=True):
            asked = questions.Sum("v", of="units", total_bounds=bounds, step=step, epsilon=1)
            told = _read([(0, "p", value)], asked).tolist()
            if told != [one]:
                return f"{value} in steps of {step}: {told}, due {one}"
    return ""


def _room_fault() -> str:
    """Sums past 2^62 steps are cut there, on either side of 0."""
    for low, high in ((0, 2**52), (-(2**52), 0), (-(2**51), 2**51)):
        for value, rows in product((low, high), (3, 1100)):
            many = [(unit, "p", value) for unit in range(rows)]
            asked = questions.Sum("v", of="units", total_bounds=(low, high), epsilon=10**6)
            told, due = _read(many, asked).tolist(), _clip(value * rows, -(2**62), 2**62)
            if told != [due]:
                return f"{rows} rows of {value}: {told}, due {due}"
    return ""
