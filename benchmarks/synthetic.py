"""Made-up rows: average error of two- and three-way margins, beside MST, AIM and simpler ways.

    python benchmarks/synthetic.py [--data FOLDER] [--mechanisms FOLDER] [--rounds 3] [--only AIM]

Every way promises the same to each row under unbounded privacy: ε = 1, pure, or (1, 1e-9) in a
renyi account (``renyi``: the largest question that such an account holds). "columns" measures each
column alone; "table" is the table of all counts, noise on each cell and none below 0, where it has
at most 2^20 cells. AIM is that of McKenna, Mullins, Sheldon and Miklau (2022), Algorithm 1 with all
pairs as its workload, over the model that ours fits, and of as many cells. MST is that of the
folder with private-pgm's mst.py, where the package ``mbi`` is installed. Error: half the sum of
differences of a margin's parts, on average over all margins of two columns and of three. "open":
the same where so many rows need no protection, without and with the true rows that the edge to them
leaves free, which is of pure accounts.
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
from onesided.linear.kit import MarginModel, cells_of

DELTA = "1e-9"
MOST_CELLS = 2**19


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
    more |= {"law": "best"} if renyi else {}
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


def mst(frame, sizes):
    """Rows of MST at (1, 1e-9)."""
    from mbi import Dataset, Domain
    from mst import MST

    data = Dataset(
        {name: frame[name].to_numpy() for name in frame.columns}, Domain(frame.columns, sizes)
    )
    told = MST(data, 1.0, float(DELTA)).to_dict()
    return np.stack([np.asarray(told[name]) for name in frame.columns], axis=1)


def zcdp(epsilon, delta):
    """The largest ρ of which ρ-zCDP gives (ε, δ): Canonne, Kamath and Steinke 2020."""
    orders = 1 + np.logspace(-3, 5, 4000)
    low, high = 0.0, epsilon
    for _ in range(60):
        rho = (low + high) / 2
        told = (orders - 1) * (orders * rho - epsilon) + orders * np.log1p(-1 / orders)
        fits = np.min(told - np.log(orders - 1)) <= np.log(delta)
        low, high = (rho, high) if fits else (low, rho)
    return low


class Measured:
    """Noisy margins, several of one averaged by their variances, and the model of them."""

    def __init__(self, rows, sizes, random):
        self.rows, self.sizes, self.random, self.held = rows, sizes, random, {}

    def measure(self, margin, sigma):
        """One more noisy margin."""
        cells = parts(self.rows, self.sizes, margin) * len(self.rows)
        told, weight = cells + self.random.normal(0, sigma, cells.shape), sigma**-2
        old, before = self.held.get(margin, (0.0, 0.0))
        self.held[margin] = (old * before + told * weight) / (before + weight), before + weight

    def fit(self):
        """The model of all that was measured."""
        heavy = [weight / cells.size for cells, weight in self.held.values()]
        sums = [cells.sum() for cells, _ in self.held.values()]
        self.total = max(np.dot(heavy, sums) / sum(heavy), 1.0)
        wanted = [cells / self.total for cells, _ in self.held.values()]
        weights = [weight for _, weight in self.held.values()]
        self.model = MarginModel(self.sizes, list(self.held), wanted, weights)

    def margin(self, columns):
        """A margin of the model, in counts: its factors, summed out one by one."""
        told = zip(self.model._told, self.model.cliques, strict=True)  # noqa: SLF001
        factors = [part for one in told for part in one]
        return self.total * np.einsum(*factors, columns, optimize="greedy")


def aim(frame, sizes):
    """Rows of AIM at (1, 1e-9)."""
    rho, columns = zcdp(1.0, float(DELTA)), range(len(sizes))
    held = Measured(frame.to_numpy(), sizes, np.random.default_rng())
    pairs = list(combinations(columns, 2))
    ones = [(v,) for v in columns]
    worth = {one: sum(len({*one} & {*pair}) for pair in pairs) for one in [*ones, *pairs]}
    true = {one: parts(held.rows, sizes, one) * len(held.rows) for one in worth}
    rounds = 16 * len(sizes)
    sigma, epsilon = np.sqrt(rounds / (1.8 * rho)), np.sqrt(0.8 * rho / rounds)
    for one in ones:
        held.measure(one, sigma)
    held.fit()
    used, last = len(ones) / (2 * sigma**2), False
    while not last:
        left = rho - used
        if last := left < 2 * (1 / (2 * sigma**2) + epsilon**2 / 8):
            sigma, epsilon = np.sqrt(1 / (1.8 * left)), np.sqrt(0.8 * left)
        used += 1 / (2 * sigma**2) + epsilon**2 / 8
        small = [
            one
            for one in worth
            if any({*one} <= {*clique} for clique in held.model.cliques)
            or cells_of(sizes, [*held.held, one])[1] <= MOST_CELLS * used / rho
        ]
        noise = np.sqrt(2 / np.pi) * sigma
        before = {one: held.margin(one) for one in small}
        scores = [
            worth[one] * (np.abs(true[one] - before[one]).sum() - noise * true[one].size)
            for one in small
        ]
        scores = np.array(scores) * epsilon / 2 / max(worth[one] for one in small)
        chosen = small[np.argmax(scores + held.random.gumbel(size=len(small)))]
        held.measure(chosen, sigma)
        held.fit()
        if np.abs(held.margin(chosen) - before[chosen]).sum() <= noise * true[chosen].size:
            sigma, epsilon = sigma / 2, epsilon * 2
    return held.model.rows(len(frame), held.random)


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
    found["AIM"] = partial(aim, frame, sizes)
    if given.mechanisms:
        found["MST"] = partial(mst, frame, sizes)
    return {words: way for words, way in found.items() if (given.only or "") in words}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--mechanisms", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only")
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
