"""Rectangles of a city: real check-ins, hidden within so many metres on the globe."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from onesided.linear import (
    Grid,
    Moves,
    Operator,
    error_factors,
    moves_of,
    sampled_ranges,
    sensitivity,
    strategy_shifts,
)
from onesided.mechanism import Counts
from onesided.mechanism.kit import rates_over
from onesided.noise import IntArray, NotPrivateSeededNoise, TwoSidedGeometric
from onesided.policy import bounded, neighbourhood
from onesided_experiments import _model as lab
from onesided_experiments._tables import locate, query
from onesided_experiments.delta_neighbourhood._data import (
    LOOKS,
    Floats,
    curve,
    least_from_zero,
    level,
    squared,
    tile_matrix,
    tiles,
)
from onesided_experiments.delta_neighbourhood._plane import drawn, methods, plain_strategies, probe

_SIDE: Final = 128
_QUERIES: Final = 2_000
_EPSILONS: Final = ("0.1", "1")
# Metres; as far as the whole city where it is None.
_RADII: Final = (250, 500, 1_000, 2_000, 4_000, None)
_LAID: Final = ((1, 1), (1, 2), (2, 2), (4, 2))
# At wider radii tiles lose to single boxes.
_TILED: Final = 2_000
_FITTED: Final = {250: (1, 1), 1_000: (4, 2)}
_BUSY: Final = 50


@dataclass(frozen=True, slots=True)
class City:
    """A file of check-ins, and public bounds that hold them all."""

    name: str
    file: str
    south_west: tuple[Fraction, Fraction]
    degrees: tuple[Fraction, Fraction]

    def grid(self, side: int) -> Grid:
        """Boxes that are about as wide as they are high."""
        return Grid(
            (side, side),
            origin=self.south_west,
            spacing=tuple(span / side for span in self.degrees),
            box=True,
        )

    def edges(self, side: int) -> tuple[Floats, Floats]:
        """Where boxes start and end, in degrees of latitude and of longitude."""
        pairs = zip(self.south_west, self.degrees, strict=True)
        south, west = (np.linspace(float(at), float(at + span), side + 1) for at, span in pairs)
        return south, west


CITIES: Final = (
    City(
        "New York",
        "foursquare_nyc_filtered.parquet",
        (Fraction("40.55"), Fraction("-74.3")),
        (Fraction("0.45"), Fraction("0.6")),
    ),
    City(
        "Tokyo",
        "foursquare_tky_sequences.parquet",
        (Fraction("35.5"), Fraction("139.45")),
        (Fraction("0.4"), Fraction("0.5")),
    ),
)


def ours(*, strategy: str, side: int, repeats: int, seed: int) -> list[lab.Row]:
    """One strategy's error in both cities at every radius; about no data."""
    ranges = sampled_ranges((side, side), _QUERIES, seed=1)
    if strategy.startswith("tiles"):
        width, weight = map(int, strategy.split()[1:])
        operator: Operator = tiles(side, width, weight)
        radii: list[int | None] = [
            radius for radius in _RADII if radius is not None and radius <= _TILED
        ]
        noise = NotPrivateSeededNoise(seed)
        factor = drawn(side, (width, weight), ranges, repeats, noise)
    else:
        operator, radii = dict(plain_strategies(side))[strategy], list(_RADII)
        factor = float(error_factors(operator, probe(operator, ranges)).mean())
    rows: list[lab.Row] = []
    for city in CITIES:
        for radius in radii:
            shifts = strategy_shifts(operator, _moves(city, side, radius))
            for epsilon in _EPSILONS:
                law = TwoSidedGeometric(*rates_over(shifts, Fraction(epsilon)))
                rows.append(
                    {
                        "part": "ours",
                        "city": city.name,
                        "metres": radius or 0,
                        "strategy": strategy,
                        "sensitivity": sensitivity(shifts),
                        "epsilon": epsilon,
                        "error": factor * law.variance(),
                    }
                )
    return rows


def _moves(city: City, side: int, radius: int | None) -> Moves:
    if radius is None:
        return moves_of(bounded(), city.grid(side), partition=True)
    return moves_of(neighbourhood(radius=radius, metric="haversine"), city.grid(side))


def standard(
    *, path: str, city: str, side: int, epsilon: str, repeats: int, seed: int
) -> list[lab.Row]:
    """Four methods under standard neighbours, and ours with cells of at least 0; a map of some."""
    place = next(one for one in CITIES if one.name == city)
    truth, noise = visits(path, place, side), NotPrivateSeededNoise(seed)
    ranges = sampled_ranges((side, side), _QUERIES, seed=1)
    rows: list[lab.Row] = []
    row = {"part": "data", "city": city, "epsilon": epsilon}
    for name, release in methods(epsilon, int(truth.sum())).items():
        found = [release(truth, noise) for _ in range(repeats)]
        error = float(np.mean([squared(ranges, one, truth).mean() for one in found]))
        rows.append({**row, "method": name, "repeats": repeats, "error": error})
        if name in ("identity", "DAWA"):
            rows += _mapped(place, side, epsilon, name, found[0])
    for metres in _FITTED:
        shifts = strategy_shifts(tiles(side, *_FITTED[metres]), _moves(place, side, metres))
        sums = Counts(*rates_over(shifts, Fraction(epsilon)))
        one = _at_least_zero(sums, _FITTED[metres], truth, noise)
        error = float(squared(ranges, one, truth).mean())
        rows.append({**row, "method": f"ours, {metres} m", "repeats": 1, "error": error})
        rows += _mapped(place, side, epsilon, f"ours, {metres} m", one)
    return rows + _mapped(place, side, epsilon, "truth", truth)


def visits(path: str, city: City, side: int) -> IntArray:
    """Check-ins per box, rows from the south."""
    found = query("SELECT lat, lon FROM read_parquet(?)", path)
    counts, _, _ = np.histogram2d(found["lat"], found["lon"], bins=city.edges(side))
    return np.asarray(counts, dtype=np.int64)


def _at_least_zero(
    sums: Counts, laid: tuple[int, int], truth: IntArray, noise: NotPrivateSeededNoise
) -> Floats:
    """Boxes of at least 0 from noisy tiles."""
    matrix = tile_matrix(len(truth), *laid)
    noisy = sums.noisy(np.rint(matrix @ truth.ravel()).astype(np.int64), noise=noise)
    found: Floats = least_from_zero(matrix, noisy - sums.distribution.mean())
    return found


def _mapped(city: City, side: int, epsilon: str, method: str, cells: object) -> list[lab.Row]:
    """The boxes that a method says are busy."""
    south, west = (edges[:-1] + np.diff(edges) / 2 for edges in city.edges(side))
    table = np.asarray(cells, dtype=np.float64).reshape(side, side)
    row = {"part": "map", "city": city.name, "epsilon": epsilon, "method": method}
    return [
        {**row, "lat": float(south[r]), "lon": float(west[c]), "visits": float(table[r, c])}
        for r, c in np.argwhere(table >= _BUSY).tolist()
    ]


def jobs(setup: lab.Setup) -> list[lab.Job]:
    """Our error needs no data, but is of no use without the others'."""
    paths = [(city, locate(setup.data, "checkins", city.file)) for city in CITIES]
    there = [(city.name, str(path)) for city, path in paths if path is not None]
    if not there:
        return []
    side, repeats = (16, 1) if setup.quick else (_SIDE, 4)
    names = [name for name, _ in plain_strategies(side)]
    names += [f"tiles {width} {weight}" for width, weight in _LAID if 2 * width < side]
    made = [
        lab.Job(ours, {"strategy": name, "side": side, "repeats": repeats, "seed": 1})
        for name in names
    ]
    cases = [(city, path, epsilon) for city, path in there for epsilon in _EPSILONS]
    for k, (city, path, epsilon) in enumerate(cases, start=1000 * setup.seed):
        asked = {"path": path, "city": city, "side": side, "epsilon": epsilon, "seed": k}
        made.append(lab.Job(standard, {**asked, "repeats": repeats}))
    return made


_STANDARD = ("identity", "hierarchy", "DAWA", "AGrid")
_DRAWN = ("ours, 250 m", "ours, 1000 m")
_SHOWN = ("truth", "ours, 250 m", "identity")
# The whole city, where the radius is written as 0.
_WHOLE = 60_000


def result(rows: list[lab.Row], _setup: lab.Setup) -> lab.Result:
    """Figures and verdicts."""
    numbers = [row for row in rows if row["part"] != "map"]
    cases = sorted({(row["city"], row["epsilon"]) for row in numbers if row["part"] == "data"})
    by_radius = lab.Figure(
        "Random rectangles, by how far a visit must be able to pass",
        [_panel(numbers, *case) for case in cases],
    )
    city = cases[0][0]
    maps = lab.Figure(
        f"{city}: boxes with 50 visits or more, at ε = 0.1",
        [_map(rows, city, method) for method in _SHOWN],
        columns=3,
    )
    return lab.Result(
        numbers,
        {"city_by_radius": by_radius, "city_map": maps},
        lambda: [_claim(numbers, *case) for case in cases],
        _NOTES,
    )


def _best(rows: list[lab.Row], city: str, epsilon: str) -> list[lab.Row]:
    """Our least error at each radius, the whole city last."""
    mine = lab.where(rows, part="ours", city=city, epsilon=epsilon)
    found = [
        min(lab.where(mine, metres=metres), key=lambda row: row["error"])
        for metres in {row["metres"] for row in mine}
    ]
    placed = [{**row, "metres": row["metres"] or _WHOLE} for row in found]
    return sorted(placed, key=lambda row: row["metres"])


def _panel(rows: list[lab.Row], city: str, epsilon: str) -> lab.Panel:
    mine = _best(rows, city, epsilon)
    others = lab.where(rows, part="data", city=city, epsilon=epsilon)
    curves = [curve(mine, "ours", "metres", "error")]
    fitted = [
        {"metres": float(row["method"].split()[1]), "error": row["error"]}
        for row in others
        if row["method"] in _DRAWN
    ]
    curves.append(curve(fitted, "ours, at least 0", "metres", "error"))
    radii = [row["metres"] for row in mine]
    curves += [
        level(row["method"], radii, row["error"]) for row in others if row["method"] in _STANDARD
    ]
    return lab.Panel(
        title=f"{city}, ε = {epsilon}",
        x_label="radius (metres; the last: the whole city)",
        y_label="mean squared error",
        curves=curves,
        log_x=True,
        log_y=True,
    )


def _map(rows: list[lab.Row], city: str, method: str) -> lab.Panel:
    shown = lab.where(rows, part="map", city=city, epsilon="0.1", method=method)
    curves = [
        lab.Curve.of(LOOKS[look], some, "lon", "lat", dots=True)
        for look, low, high in _CLASSES
        if (some := [row for row in shown if low <= row["visits"] < high])
    ]
    titles = {"truth": "as it is", "identity": "standard, each box by itself"}
    return lab.Panel(
        title=titles.get(method, f"{method}, boxes of at least 0"),
        x_label="longitude",
        y_label="latitude",
        curves=curves,
        is_map=True,
    )


_CLASSES = (("50 visits", 50, 150), ("150 visits", 150, 500), ("500 visits", 500, float("inf")))


def _claim(rows: list[lab.Row], city: str, epsilon: str) -> lab.Claim:
    data = lab.where(rows, part="data", city=city, epsilon=epsilon)
    errors = {row["method"]: row["error"] for row in data}
    best = min(_STANDARD, key=lambda method: errors[method])
    near = _best(rows, city, epsilon)[0]
    unbiased, fitted = (errors[best] / e for e in (near["error"], errors["ours, 250 m"]))
    verdict: lab.Verdict = "holds" if unbiased > 1 else "holds in part"
    return lab.Claim(
        judges="ours",
        text=f"{city}, ε = {epsilon}: rectangles have less error where visits are hidden within "
        "250 m than where they are hidden anywhere.",
        measured=f"{unbiased:.2g} times less than {best}, the best standard method, and "
        f"{fitted:.2g} times with boxes of at least 0; {errors['identity'] / near['error']:.2g} "
        "times less than boxes by themselves",
        verdict=verdict if fitted > 1 else "does not hold",
    )


_NOTES = (
    "Each check-in is a record of its own: a person's visits are hidden one by one. 128 x 128 "
    "boxes of latitude and longitude, 390 m wide in New York and 350 m in Tokyo; 2,000 random "
    "rectangles.",
    "Boxes are joined if any two of their points are within the radius on the globe: 250 m reach "
    "the eight boxes around, 500 m two boxes in each direction.",
)


EXPERIMENT = lab.Experiment(
    "city", "Rectangles of two cities, by metres (check-ins)", "checkins", jobs, result
)
