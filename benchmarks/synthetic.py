"""Made-up rows: average error of two- and three-way margins, beside MST, AIM and simpler ways.

    python benchmarks/synthetic.py [--data FOLDER] [--mechanisms FOLDER] [--rounds 3] [--aim]

Every way promises the same to each row under unbounded privacy: ε = 1, pure, or (1, 1e-9) in a
renyi account (``renyi``: the largest question that such an account holds). "columns" measures each
column alone; "table" is the table of all counts, noise on each cell and none below 0, where it has
at most 2^20 cells. MST and AIM are those of the folder with private-pgm's mst.py and aim.py, where
the package ``mbi`` is installed. Error: half the sum of differences of a margin's parts, on average
over all margins of two columns and of three. "open": the same pure ε where so many rows need no
protection, without and with the true rows that the edge to them leaves free.
"""

import argparse
import sys
from fractions import Fraction
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

import onesided as od

DELTA = "1e-9"


def made_up(rows=20_000, seed=3):
    """Eight columns that six hidden classes bind."""
    rng = np.random.default_rng(seed)
    sizes, classes = [5, 4, 6, 3, 8, 2, 10, 7], rng.integers(0, 6, rows)
    columns = {}
    for place, size in enumerate(sizes):
        chances = rng.dirichlet(np.full(size, 0.7), 6).cumsum(axis=1)[classes]
        columns[f"c{place}"] = np.minimum((chances < rng.random((rows, 1))).sum(axis=1), size - 1)
    return pl.DataFrame(columns), sizes


def coded(frame):
    """Columns as whole numbers from 0, in the order of their values."""
    made = frame.select(pl.all().rank("dense").cast(pl.Int64) - 1)
    return made, [made[name].max() + 1 for name in made.columns]


def visits(folder):
    """Check-ins of New York: where on a grid of 8 x 8, when, and what kind of place."""
    held = pl.read_parquet(folder / "checkins" / "foursquare_nyc_filtered.parquet")
    often = held["category"].cast(pl.String).value_counts(sort=True)["category"][:19].to_list()
    grid = [
        ((pl.col(n) - pl.col(n).min()) / (pl.col(n).max() - pl.col(n).min()) * 7.999).floor()
        for n in ("lat", "lon")
    ]
    when = pl.col("local_time")
    kind = pl.col("category").cast(pl.String)
    return coded(
        held.select(
            *grid,
            (when.dt.hour() // 2).alias("hour"),
            when.dt.weekday().alias("day"),
            when.dt.month().alias("month"),
            pl.when(kind.is_in(often)).then(kind).otherwise(pl.lit("other")).alias("kind"),
        )
    )


def weeks(folder):
    """Check-ins of Jakarta by hour, day, part of the year and kind of place."""
    held = pl.read_parquet(folder / "checkins" / "foursquare_jakarta_hourofweek.parquet")
    hour = pl.col("hour_of_week")
    return coded(
        held.select(
            (hour % 24).alias("hour"),
            (hour // 24).alias("day"),
            (pl.col("week_inferred") // 8).alias("part"),
            (pl.col("category_code") % 32).alias("kind"),
            (pl.col("place") % 16).alias("place"),
        )
    )


def parts(rows, sizes, columns):
    cells = np.zeros([sizes[v] for v in columns])
    np.add.at(cells, tuple(rows[:, v] for v in columns), 1)
    return cells / max(len(rows), 1)


def error(true, rows, sizes, ways):
    """Half the sum of differences, over all margins of so many columns."""
    every = combinations(range(len(sizes)), ways)
    return np.mean(
        [np.abs(parts(true, sizes, one) - parts(rows, sizes, one)).sum() / 2 for one in every]
    )


def asked(frame, sizes, **more):
    keys = {name: list(range(size)) for name, size in zip(frame.columns, sizes, strict=True)}
    names = [name for name in frame.columns if name != "own"]
    given = {"columns": names, "keys": keys, "records": len(frame), **more}
    return od.Synthetic(**given)


def ours(frame, sizes, *, renyi=False, **more):
    """Rows that the session makes; in a renyi account of the largest question that it holds."""
    account = {"accounting": "renyi", "delta_budget": DELTA} if renyi else {}
    own = od.Session(frame, policy=od.policy.unbounded(), budget=1, **account)
    epsilon = Fraction(1)
    while renyi:
        larger = epsilon * Fraction(11, 10)
        if not own.plan(asked(frame, sizes, epsilon=larger, **more)).affordable:
            break
        epsilon = larger
    made = own.ask(asked(frame, sizes, epsilon=epsilon, **more))
    return made.frame.drop("origin").to_numpy()


def table(frame, sizes):
    cells = np.zeros(sizes)
    np.add.at(cells, tuple(frame.to_numpy().T), 1)
    noise = od.noise.SecureNoise().two_sided(Fraction(1), Fraction(1), cells.size)
    found = np.maximum(cells.ravel() + noise, 0).astype(np.int64)
    return np.stack(np.unravel_index(np.repeat(np.arange(cells.size), found), sizes), axis=1)


def of_mbi(frame, sizes, which):
    """Rows of MST or AIM at (1, 1e-9)."""
    from mbi import Dataset, Domain

    domain = Domain(frame.columns, sizes)
    data = Dataset({name: frame[name].to_numpy() for name in frame.columns}, domain)
    if which == "MST":
        import mst

        made = mst.MST(data, 1.0, float(DELTA))
    else:
        import aim

        pairs = [(one, 1.0) for one in combinations(frame.columns, 2)]
        _, made = aim.AIM(1.0, float(DELTA), max_model_size=1).run(data, pairs)
    told = made.to_dict()
    return np.stack([np.asarray(told[name]) for name in frame.columns], axis=1)


def opened(frame, sizes, share, *, seed, true):
    """Rows where a share is open, with or without those that are free to publish."""
    open_ = np.random.default_rng(seed).random(len(frame)) < share
    held = frame.with_columns(own=pl.Series(~open_))
    own = od.Session(held, policy=od.policy.sensitive("own"), budget=1)
    if not true:
        return own.ask(asked(frame, sizes, epsilon=1)).frame.drop("origin").to_numpy()
    made = own.ask(asked(frame, sizes, counted="sensitive", epsilon=1))
    rows = made.with_true_rows(own.sample(epsilon=own.free_sample))
    return rows.frame.drop("origin").to_numpy()


def ways(frame, sizes, given):
    """How rows are made, by name."""
    found = {
        "pure": partial(ours, frame, sizes),
        "columns": partial(ours, frame, sizes, pairs=[]),
        "renyi": partial(ours, frame, sizes, renyi=True),
    }
    if np.prod(sizes) <= 2**20:
        found["table"] = partial(table, frame, sizes)
    for share in (0, 0.1, 0.5, 0.9):
        for free in (False, True):
            words = f"{share:.0%} open{', true rows' if free else ''}"
            found[words] = partial(opened, frame, sizes, share, seed=1, true=free)
    if given.mechanisms:
        for one in ("MST", *(["AIM"] if given.aim else [])):
            found[one] = partial(of_mbi, frame, sizes, one)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--mechanisms", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--aim", action="store_true")
    given = parser.parse_args()
    sets = {"made up": made_up}
    if given.data:
        sets |= {"New York": partial(visits, given.data), "Jakarta": partial(weeks, given.data)}
    if given.mechanisms:
        sys.path.insert(0, str(given.mechanisms))
    for name, make in sets.items():
        frame, sizes = make()
        true = frame.to_numpy()
        print(f"\n{name}: {len(frame):,} rows, columns of {sizes} values")
        for words, way in ways(frame, sizes, given).items():
            found = []
            for _ in range(given.rounds):
                rows = np.asarray(way(), dtype=np.int64)
                found.append([error(true, rows, sizes, some) for some in (2, 3)])
            two, three = np.mean(found, axis=0)
            print(f"{words:24} two-way {two:.4f}   three-way {three:.4f}", flush=True)


if __name__ == "__main__":
    main()
