"""How cost grows: seconds of CPU as rows, keys, people, places, entries and steps grow tenfold.

    python benchmarks/growth.py [--largest 4] [--only TEXT] [--write]      (make bench-growth)

Each curve starts at its own smallest size and grows tenfold --largest times. Its exponent is the
slope of the last two tenfolds, logarithm against logarithm, and that of the steepest one that ends
above 0.1 s: 1 is linear; n log n shows as 1.1 at most at these sizes. CPU is that of this process
with all its threads, of the fastest of three runs (one above 5 s). --write puts table and picture
into RESULTS.md. Everything is made up.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

import ledger as ledgers
import onesided as od
from onesided.ledger import Ledger
from onesided.mechanism import Dawa

RESULTS = Path(__file__).parent / "RESULTS.md"
PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "growth.png"
LIMIT = 1.1
ROWS, KEYS, PEOPLE = 100_000, 1_000, 10_000
WINDOW = 100


@dataclass(frozen=True)
class Curve:
    """One cost against one size. make: what to time, ready to run, at a size."""

    what: str
    grows: str
    smallest: int
    make: Callable[[int, Path], Callable[[], object]]
    why: str


def visits(rows: int = ROWS, keys: int = KEYS, people: int = PEOPLE) -> pl.DataFrame:
    dice = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "person": dice.integers(0, people, rows),
            "place": dice.integers(0, keys, rows),
            "age": dice.integers(0, 100_000, rows),
        }
    )


def session(frame: pl.DataFrame, policy: od.Policy | None = None) -> od.Session:
    chosen = policy or od.policy.presence(max_groups=3)
    return od.Session(frame, unit="person", policy=chosen, budget=10**6)


def count(frame: pl.DataFrame, keys: int = KEYS) -> Callable[[], object]:
    asked, places = session(frame), pl.DataFrame({"place": np.arange(keys)})
    return lambda: asked.count(by="place", keys=places, epsilon=1)


def plain(rows: int) -> Callable[[], object]:
    """What everybody would write in Polars: different people at each place."""
    asked = visits(rows).lazy().group_by("place").agg(pl.col("person").n_unique())
    return asked.collect


def viewed(rows: int) -> Callable[[], object]:
    """Open people alone, where households with a minor are sensitive."""
    frame = visits(rows, people=max(rows // 10, 1)).with_columns(home=pl.col("person") // 4)
    asked = session(frame, od.policy.view("age < 5000", over="home", members=4))
    places = pl.DataFrame({"place": np.arange(KEYS)})
    return lambda: asked.count(by="place", keys=places, epsilon=1, counted="open", max_groups=3)


def in_ibis(rows: int) -> Callable[[], object]:
    """The same count where the table is one of Ibis in DuckDB."""
    import duckdb
    import ibis

    connection = duckdb.connect()
    connection.from_arrow(visits(rows).to_arrow()).create("visits")
    asked = session(ibis.duckdb.from_connection(connection).table("visits"))
    return lambda: asked.count(by="place", keys=range(KEYS), epsilon=1)


def joined(rows: int) -> Callable[[], object]:
    areas = pl.DataFrame({"place": np.arange(KEYS), "area": np.arange(KEYS) % 100})
    asked = session(visits(rows)).join_public(areas, on="place")
    return lambda: asked.count(by="area", keys=range(100), epsilon=1)


def per_unit(rows: int) -> Callable[[], object]:
    frame = visits(rows, people=max(rows // 10, 1))
    asked = session(frame, od.policy.addition_only())
    made = asked.per_unit(visits="count", oldest=("max", "age"), total=("sum", "age", (0, 1000)))
    return lambda: made.count(
        by="visits", keys=range(1, 50), where="oldest > 500", max_groups=1, epsilon=1
    )


def top_k(keys: int) -> Callable[[], object]:
    asked, places = session(visits(keys=keys)), pl.DataFrame({"place": np.arange(keys)})
    return lambda: asked.top_k(10, by="place", keys=places, epsilon=1)


def histogram(frame: pl.DataFrame) -> Callable[[], object]:
    asked, edges = session(frame, od.policy.bounded()), list(range(0, 100_001, 1_000))
    return lambda: asked.histogram("age", bins=edges, epsilon=1, on_excess="truncate")


def dawa(cells: int) -> Callable[[], object]:
    dice = np.random.default_rng(2)
    counts = np.where(dice.random(cells) < 0.02, dice.poisson(50, cells), 0)
    mechanism = Dawa.for_policy(od.policy.bounded(), epsilon=1)
    return lambda: mechanism.release(counts)


def ranges(cells: int) -> Callable[[], object]:
    """A hundred rectangles of a square grid of about so many cells."""
    side = round(math.sqrt(cells))
    frame = visits().select(x=pl.col("age") % side, y=pl.col("place") % side)
    asked = od.Session(frame, policy=od.policy.bounded(), budget=10**6)
    ends = np.sort(np.random.default_rng(2).integers(0, side, (100, 2, 2)), axis=2).tolist()
    wanted = [((a, b + 1), (c, d + 1)) for (a, b), (c, d) in ends]
    return lambda: asked.ranges(("x", "y"), wanted, bins=(list(range(side + 1)),) * 2, epsilon=1)


def sample(rows: int) -> Callable[[], object]:
    mine = od.policy.sensitive("age < 1000")
    asked = od.Session(visits(rows).drop("person"), policy=mine, budget=10**6)
    return lambda: asked.sample(epsilon=1)


def spend(entries: int, folder: Path) -> Callable[[], object]:
    path = ledgers.filled(folder / f"spend-{entries}.db", entries)

    def once() -> None:
        with Ledger.open(path) as opened:
            ledgers.spend_and_store(opened)

    return once


def check(entries: int, folder: Path) -> Callable[[], object]:
    path = ledgers.filled(folder / f"check-{entries}.db", entries)

    def once() -> None:
        with Ledger.open(path) as opened:
            opened.check()

    return once


def monitor(
    folder: Path, places: int, *, people: int = 100, before: int = 0, text: bool = False
) -> Callable[[], None]:
    """A step, with a batch of so many people, after some steps ``before``; text: in Polars."""
    names = [f"place {place}" for place in range(places)] if text else list(range(places))
    opened = od.Monitor(
        names, at_most=5, window=WINDOW, epsilon=1,
        policy=od.policy.presence(max_groups=1),
        state=folder / f"{places}-{people}-{before}-{text}.db",
    )  # fmt: skip
    dice, number = np.random.default_rng(3), iter(range(10**9))

    def step() -> None:
        at = next(number)
        batch: object = {
            "person": dice.integers(0, 10**7, people),
            "place": dice.integers(0, places, people),
        }
        if text:
            frame = pl.DataFrame(batch)
            batch = frame.select(
                pl.format(f"{name} {{}}", name).alias(name) for name in frame.columns
            )
        opened.step(batch, id=f"batch {at}", time=at)

    for _ in range(before):
        step()
    return step


PANELS = {
    "rows": "rows",
    "people": "people",
    "entries": "entries of a ledger",
    "steps before": "steps before",
}
LINES = {
    "plain distinct count in Polars": ("grey", "cross"),
    "count": ("blue", "circle"),
    "top-k": ("green", "square"),
    "histogram": ("vermillion", "diamond"),
    "histogram: DAWA": ("vermillion", "diamond"),
    "ranges": ("orange", "triangle"),
    "sample": ("purple", "square"),
    "ledger: spend and store": ("black", "circle"),
    "ledger: check": ("grey", "triangle"),
    "monitor: a step": ("sky", "cross"),
    "monitor: a step, text": ("sky", "square"),
    "count under a view": ("green", "triangle"),
    "count in Ibis": ("orange", "circle"),
    "count, joined": ("grey", "diamond"),
    "count per unit": ("black", "square"),
}
CURVES = (
    Curve("plain distinct count in Polars", "rows", 1_000, lambda n, _: plain(n),
          "for comparison: no privacy, nothing of ours"),
    Curve("count", "rows", 1_000, lambda n, _: count(visits(n)), "read once by the engine"),
    Curve("count", "keys", 100, lambda n, _: count(visits(keys=n), n), "a draw per key"),
    Curve("count", "people", 100, lambda n, _: count(visits(10**6, people=n)),
          "rows stay; pairs of person and place grow until there is one per row"),
    Curve("top-k", "keys", 100, lambda n, _: top_k(n), "a draw per key, then a partial sort"),
    Curve("histogram", "rows", 1_000, lambda n, _: histogram(visits(n)), "read once by the engine"),
    Curve("histogram: DAWA", "cells", 100, lambda n, _: dawa(n), "aligned intervals, two per cell"),
    Curve("ranges", "cells", 10, lambda n, _: ranges(n),
          "blocks need all pairs of cells, up to 1,400 cells; then trees"),
    Curve("sample", "rows", 1_000, lambda n, _: sample(n), "a coin per open row"),
    Curve("ledger: spend and store", "entries", 10, spend, "only the account's last row is read"),
    Curve("ledger: check", "entries", 10, check, "every entry's hash is made again"),
    Curve("monitor: a step", "places", 100, lambda n, folder: monitor(folder, n),
          "a draw per place that is due"),
    Curve("monitor: a step", "people", 100,
          lambda n, folder: monitor(folder, KEYS, people=n), "each visit is kept while it counts"),
    Curve("monitor: a step, text", "people", 100,
          lambda n, folder: monitor(folder, KEYS, people=n, text=True),
          "texts are told apart in columns; making them is measured, too"),
    Curve("monitor: a step, text", "places", 100,
          lambda n, folder: monitor(folder, n, text=True), "a draw per place that is due"),
    Curve("count under a view", "rows", 1_000, lambda n, _: viewed(n),
          "marked households are found by grouping, and joined"),
    Curve("count in Ibis", "rows", 1_000, lambda n, _: in_ibis(n), "read once by the engine"),
    Curve("count, joined", "rows", 1_000, lambda n, _: joined(n), "a row is looked up once"),
    Curve("count per unit", "rows", 1_000, lambda n, _: per_unit(n),
          "rows are grouped by unit once"),
    Curve("monitor: a step", "steps before", 1,
          lambda n, folder: monitor(folder, 10, before=n), "what is older than the window is gone"),
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--largest", type=int, default=4, help="how many times tenfold")
    parser.add_argument("--only", default="", help="curves whose name has this text")
    parser.add_argument("--write", action="store_true", help="into RESULTS.md, with the picture")
    asked = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for curve in CURVES:
            if asked.only in f"{curve.what}, {curve.grows}":
                found[curve] = list(measured(curve, asked.largest, Path(folder)))
    text = table(found)
    print(text)
    if asked.write:
        draw(found)
        write(text)


def measured(curve: Curve, largest: int, folder: Path) -> Iterator[tuple[int, float]]:
    for power in range(largest + 1):
        size = curve.smallest * 10**power
        yield size, fastest(curve.make(size, folder))
        print(f"{curve.what}, {size:,} {curve.grows}", flush=True)


def fastest(run: Callable[[], object]) -> float:
    times: list[float] = []
    while len(times) < 3 and (not times or times[0] < 5):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return min(times)


def exponent(points: list[tuple[int, float]]) -> float:
    last = points[-3:]
    return math.log(last[-1][1] / last[0][1]) / math.log(last[-1][0] / last[0][0])


def steepest(points: list[tuple[int, float]]) -> float:
    pairs = [(a, b) for (_, a), (_, b) in pairwise(points) if b >= 0.1]
    return max((math.log10(b / a) for a, b in pairs), default=0.0)


def table(found: dict[Curve, list[tuple[int, float]]]) -> str:
    lines = ["| cost of | grows with | from, to | s of CPU | exponent | steepest | because |",
             "|---|---|---|---|--:|--:|---|"]  # fmt: skip
    for curve, points in found.items():
        told = " | ".join(
            f"{slope:.2f}" if slope <= LIMIT else f"**{slope:.2f}**"
            for slope in (exponent(points), steepest(points))
        )
        times = ", ".join(f"{seconds:.2g}" for _, seconds in points)
        lines.append(
            f"| {curve.what} | {curve.grows} | {points[0][0]:,}, {points[-1][0]:,} | {times} | "
            f"{told} | {curve.why} |"
        )
    return "\n".join(lines)


def draw(found: dict[Curve, list[tuple[int, float]]]) -> None:
    from onesided_experiments._model import Curve as Line
    from onesided_experiments._model import Figure, Look, Panel
    from onesided_experiments._png import write as save

    panels: dict[str, list[Line]] = {}
    for curve, points in found.items():
        lines = panels.setdefault(PANELS.get(curve.grows, "keys, bins, cells, places"), [])
        colour, marker = LINES[curve.what]
        look = Look(curve.what, colour, marker)
        sizes, times = zip(*points, strict=True)
        lines.append(Line(look=look, x=sizes, y=times))
    figure = Figure(
        "Seconds of CPU, as sizes grow tenfold",
        [
            Panel(
                title=kind, x_label=kind, y_label="s of CPU", curves=lines, log_x=True, log_y=True
            )
            for kind, lines in panels.items()
        ],
    )
    save(figure, PICTURE)


def write(text: str) -> None:
    start, end = "<!-- growth -->\n", "<!-- /growth -->"
    before, rest = RESULTS.read_text("utf-8").split(start)
    after = rest.split(end)[1]
    RESULTS.write_text(before + start + text + "\n" + end + after, "utf-8")


if __name__ == "__main__":
    main()
