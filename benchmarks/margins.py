"""Tables with margins beside the published ResidualPlanner, at one L2 price, in one run.

    python benchmarks/margins.py [--data VISITS.parquet ...] [--rounds 30]

A question of ε = 1/2 with Gaussian noise in a renyi account (ε = 2, δ = 10^-6) says by how much its
noise parts the answers of a move in L2: every way gets that much. "planner" is ResidualPlanner
(Xiao, He, Zhang, Kifer 2023), Algorithms 1 to 4, written here: one residual for each set of
attributes, correlated normal noise, variances in closed form; its price is that of one row that
comes or goes, twice that where a row changes. "cells" has noise on cells alone; "by hand" on each
margin asked, at an equal share of the price, as it is written with OpenDP, and drawn by it (else
predicted). Ours: "unbiased", and "told" (whole, none below 0, adding up). Errors: total squared
error of the margins asked, over the planner's predicted one. Data: columns like Adult's, made up;
and weekday, hour and kind of place of visits. Last: root of the mean squared error of what is
told, and of pure ε = 1/2.
"""

import argparse
import math
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import polars as pl

import onesided as od
from onesided.session.kit import prepared

ACCOUNT = {"budget": 2, "delta_budget": "1/1000000", "accounting": "renyi", "ledger": None}
try:
    import opendp.prelude as dp

    dp.enable_features("contrib")
except ImportError:
    dp = None

POLICIES = {
    "unbounded": od.policy.unbounded(),
    "bounded": od.policy.bounded(),
    "addition-only": od.policy.addition_only(),
}


def made_up(rows=32_000, seed=1):
    """Age group, work, sex and education, which hidden classes bind."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 5, rows)
    columns = {}
    for name, size in {"age": 7, "work": 9, "sex": 2, "education": 16}.items():
        chances = rng.dirichlet(np.full(size, 0.6), 5).cumsum(axis=1)[classes]
        columns[name] = np.minimum((chances < rng.random((rows, 1))).sum(axis=1), size - 1)
    return pl.DataFrame(columns)


def visits(path):
    """Weekday, hour and one of twelve kinds of each visit."""
    hour, kind = pl.col("hour_of_week"), pl.col("category_code") % 12
    return pl.read_parquet(path).select(weekday=hour // 24, hour=hour % 24, kind=kind)


class Planner:
    """ResidualPlanner for margins of a table, at a price of 1."""

    def __init__(self, sizes, asked):
        self.sizes, self.asked = sizes, asked
        parts = {a for one in asked for k in range(len(one) + 1) for a in combinations(one, k)}
        cost = {a: math.prod(1 - 1 / sizes[i] for i in a) for a in parts}
        owed = {
            a: sum(math.prod(sizes[i] for i in one) * self.share(a, one)
                   for one in asked if set(a) <= set(one))
            for a in parts
        }  # fmt: skip
        whole = sum(math.sqrt(cost[a] * owed[a]) for a in parts)
        self.variances = {a: whole * math.sqrt(cost[a] / owed[a]) for a in parts}
        self.error = whole**2

    def share(self, part, one):
        """The variance of one cell of a margin for a residual's σ² of 1."""
        sizes = self.sizes
        apart = math.prod(1 / sizes[i] ** 2 for i in one if i not in part)
        return apart * math.prod(1 - 1 / sizes[i] for i in part)

    def run(self, cells, price, rng):
        """One release: each margin asked for, from residuals measured once."""
        axes, measured = range(len(self.sizes)), {}
        for part, variance in self.variances.items():
            margin = cells.sum(axis=tuple(i for i in axes if i not in part), keepdims=True)
            noisy = margin + rng.normal(0, math.sqrt(variance / price), margin.shape)
            for i in part:
                noisy = noisy - noisy.mean(axis=i, keepdims=True)
            measured[part] = noisy
        for one in self.asked:
            shape = [n if i in one else 1 for i, n in enumerate(self.sizes)]
            told = np.zeros(shape)
            for k in range(len(one) + 1):
                for part in combinations(one, k):
                    told += measured[part] / math.prod(self.sizes[i] for i in one if i not in part)
            yield told.reshape(-1)


def margins_of(cells, asked):
    """The true margins."""
    axes = range(cells.ndim)
    return np.concatenate(
        [cells.sum(axis=tuple(i for i in axes if i not in one)).reshape(-1) for one in asked]
    )


def by_hand(truth, margins, price):
    """The total squared error of one release of each margin by OpenDP, all at this price of ρ."""
    deviation = math.sqrt(margins / price)
    if dp is None:
        return deviation**2 * truth.size
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    noisy = space >> dp.m.then_gaussian(scale=deviation)
    if not margins * noisy.map(1.0) <= price / 2 * (1 + 1e-9):
        raise RuntimeError("OpenDP charges more than this price.")
    return ((np.array(noisy(truth.tolist())) - truth) ** 2).sum()


def one(name, frame, asked, policy, rounds):
    """A line of the table."""
    names = frame.columns
    sizes = [frame[column].max() + 1 for column in names]
    cells = np.zeros(sizes, dtype=np.int64)
    np.add.at(cells, tuple(frame[column].to_numpy() for column in names), 1)
    asked = sorted(
        asked, key=lambda some: (len(some), [1 - (i in some) for i in range(len(names))])
    )
    question = od.CrossTable(
        by=names,
        keys=od.cross(**{column: list(range(n)) for column, n in zip(names, sizes, strict=True)}),
        margins=[[names[i] for i in some] for some in asked],
        epsilon="1/2",
        law="gaussian",
    )
    session = od.Session(frame, policy=POLICIES[policy], **ACCOUNT)
    plan = session.plan(question)
    moved = max(float(one["squares"]) for one in plan.noise["edges"].values())
    price = moved / float(plan.mechanism.gaussian)
    rival = Planner(sizes, asked)
    rival_price = price / (2 if policy == "bounded" else 1)
    best = rival.error / rival_price
    table = plan.mechanism.workload
    ours = sum(
        part.error**2 * math.prod(table.groups(margin))
        for part, margin in zip(plan.margins, table.chosen, strict=False)
    )
    rng, found = np.random.default_rng(5), {}
    truth = margins_of(cells, asked)
    order = [tuple(i for i, k in enumerate(margin) if k) for margin in table.chosen[: len(asked)]]
    true = margins_of(cells, order)
    ready = prepared(session, question)
    noise = od.noise.NotPrivateSeededNoise(7)
    for _ in range(rounds):
        told = np.concatenate(list(rival.run(cells, rival_price, rng)))
        found.setdefault("by hand", []).append(by_hand(truth, len(asked), rival_price))
        found.setdefault("planner", []).append(((told - truth) ** 2).sum())
        answer = ready.result(ready.draw(cells.reshape(-1), noise), None)
        found.setdefault("unbiased", []).append(((answer.unbiased[: true.size] - true) ** 2).sum())
        found.setdefault("told", []).append(((answer.estimate - true) ** 2).sum())
    alone = len(asked) * math.prod(sizes) / rival_price / best
    pure = session.plan(replace(question, law="pure"))
    ratios = " | ".join(f"{np.mean(found[way]) / best:.3f}" for way in found)
    deviations = [math.sqrt(np.mean(found["told"]) / true.size), pure.standard_deviation]
    print(f"| {name} | {policy} | {alone:.2f} | {ours / best:.3f} | {ratios} | "
          f"{deviations[0]:.1f}, {deviations[1]:.1f} |")  # fmt: skip


def main():
    """All tables, policies and sets of margins."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=30)
    given = parser.parse_args()
    print("| table, margins | policy | cells | ours, predicted | by hand | planner | unbiased | "
          "told | deviation, pure |\n|---|---|--:|--:|--:|--:|--:|--:|--:|")  # fmt: skip
    if dp is None:
        print("OpenDP: skipped: not installed")
    tables = [("made up", made_up())]
    tables += [(path.rsplit("/", 1)[-1].split(".")[0], visits(path)) for path in given.data]
    for (name, frame), policy in product(tables, POLICIES):
        axes = range(len(frame.columns))
        orders = {f"of {k}": list(combinations(axes, k)) for k in (1, 2, 3)}
        orders["all"] = [some for k in range(len(axes) + 1) for some in combinations(axes, k)]
        for words, asked in orders.items():
            one(f"{name}, {words}", frame, asked, policy, given.rounds)


if __name__ == "__main__":
    main()
