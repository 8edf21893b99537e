"""What the cities' numbers show."""

from __future__ import annotations

from onesided_experiments._model import Claim, Curve, Figure, Panel, Result, Row, Verdict
from onesided_experiments.delta_neighbourhood._looks import LOOKS, curve, level

_STANDARD = ("identity", "hierarchy", "DAWA", "AGrid")
_FITTED = ("ours, 250 m", "ours, 1000 m")
_SHOWN = ("truth", "ours, 250 m", "identity")
# The whole city, where the radius is written as 0.
_WHOLE = 60_000


def result(rows: list[Row], *, quick: bool) -> Result:
    """Figures and verdicts."""
    numbers = [row for row in rows if row["part"] != "map"]
    cases = sorted({(row["city"], row["epsilon"]) for row in numbers if row["part"] == "data"})
    by_radius = Figure(
        title="Random rectangles, by how far a visit must be able to pass",
        panels=[_panel(numbers, *case) for case in cases],
    )
    city = cases[0][0]
    maps = Figure(
        title=f"{city}: boxes with 50 visits or more, at ε = 0.1",
        panels=[_map(rows, city, method) for method in _SHOWN],
        columns=3,
    )
    return Result(
        rows=numbers,
        figures={"city_by_radius": by_radius, "city_map": maps},
        claims=[] if quick else [_claim(numbers, *case) for case in cases],
        notes=_NOTES,
    )


def _of(rows: list[Row], part: str, city: str, epsilon: str) -> list[Row]:
    wanted = (part, city, epsilon)
    return [row for row in rows if (row["part"], row["city"], row["epsilon"]) == wanted]


def _best(rows: list[Row], city: str, epsilon: str) -> list[Row]:
    """Our least error at each radius, the whole city last."""
    mine = _of(rows, "ours", city, epsilon)
    found = [
        min((row for row in mine if row["metres"] == metres), key=lambda row: row["error"])
        for metres in {row["metres"] for row in mine}
    ]
    placed = [{**row, "metres": row["metres"] or _WHOLE} for row in found]
    return sorted(placed, key=lambda row: row["metres"])


def _panel(rows: list[Row], city: str, epsilon: str) -> Panel:
    mine, others = _best(rows, city, epsilon), _of(rows, "data", city, epsilon)
    curves = [curve(mine, "ours", "metres", "error", where=lambda _: True)]
    fitted = [
        {"metres": float(row["method"].split()[1]), "error": row["error"]}
        for row in others
        if row["method"] in _FITTED
    ]
    curves.append(curve(fitted, "ours, at least 0", "metres", "error", where=lambda _: True))
    radii = [row["metres"] for row in mine]
    curves += [
        level(row["method"], radii, row["error"]) for row in others if row["method"] in _STANDARD
    ]
    return Panel(
        title=f"{city}, ε = {epsilon}",
        x_label="radius (metres; the last: the whole city)",
        y_label="mean squared error",
        curves=curves,
        log_x=True,
        log_y=True,
    )


def _map(rows: list[Row], city: str, method: str) -> Panel:
    shown = [row for row in _of(rows, "map", city, "0.1") if row["method"] == method]
    curves = [
        Curve(
            look=LOOKS[look],
            x=[row["lon"] for row in some],
            y=[row["lat"] for row in some],
            kind="dots",
        )
        for look, low, high in _CLASSES
        if (some := [row for row in shown if low <= row["visits"] < high])
    ]
    titles = {"truth": "as it is", "identity": "standard, each box by itself"}
    return Panel(
        title=titles.get(method, f"{method}, boxes of at least 0"),
        x_label="longitude",
        y_label="latitude",
        curves=curves,
        is_map=True,
    )


_CLASSES = (("50 visits", 50, 150), ("150 visits", 150, 500), ("500 visits", 500, float("inf")))


def _claim(rows: list[Row], city: str, epsilon: str) -> Claim:
    errors = {row["method"]: row["error"] for row in _of(rows, "data", city, epsilon)}
    best = min(_STANDARD, key=lambda method: errors[method])
    near = _best(rows, city, epsilon)[0]
    unbiased, fitted = (errors[best] / e for e in (near["error"], errors["ours, 250 m"]))
    verdict: Verdict = "holds" if unbiased > 1 else "holds in part"
    return Claim(
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
