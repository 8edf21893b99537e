"""Errors of a session's answers beside those of rivals, in one run: the goals of every answer.

    python benchmarks/accuracy.py [PART ...] [--data HISTOGRAM.npy ...] [--maps MAP.npy ...]
                                  [--clicks ROWS.parquet ...] [--rounds 6]

Parts: totals, fits, intervals, rectangles, means, top-k, histograms, tables; all of them without a
name. Made-up data are always used where a part needs some; ``--data`` (histograms of 4,096
cells), ``--maps`` (256 x 256 cells) and ``--clicks`` (columns record, item) come beside them. No
constant of the library was chosen on them. Rivals are written here, or mechanisms that promise
more: what ignores the policy, p-identity strategies found by search (HDMM, McKenna et al. 2018),
the pair of sums (arXiv 2408.10438) and (sum, count). "±" is one standard error.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import onesided as od
from onesided.linear import Identity, all_ranges, moves_of, optimised, sampled_ranges
from onesided.linear.kit import every_step
from onesided.mechanism import Linear, NoisyTopK, PeeledTopK
from onesided.noise import NotPrivateSeededNoise
from onesided.session.kit import prepared
from onesided_experiments.baselines import MeasuredTopK

OPEN = {"ledger": None, "budget": 10**7}


def totals(_given: argparse.Namespace) -> None:
    """The mean deviation of all ranges of 128 cells where the number of all is public."""
    print("\nranges of 128 cells, 500 people, ε = 1/10: mean deviation with and without the total")
    frame = pl.DataFrame({"x": np.repeat(np.arange(128), 4)[:500]})
    session = od.Session(frame, policy=od.policy.bounded(), **OPEN)
    for strategy in ("identity", "prefix", "hierarchy 16"):
        for asked in ("all", "prefixes"):
            told = session.ranges(
                "x", asked, bins=128, bounds=(0, 128), epsilon="1/10", strategy=strategy
            )
            free = np.sqrt(np.mean(replace(told.mechanism, public=None).variance))
            held, last = np.sqrt(np.mean(told.variance)), told.frame.row(-1, named=True)
            print(f"{strategy:<14}{asked:<10}{free:8.0f} -> {held:6.0f}   all: {last['estimate']}")


def maps_of(given: argparse.Namespace, side: int) -> Iterator[tuple[str, Any]]:
    """Maps of ``side`` by ``side`` cells, of at most 300,000 records."""
    rng = np.random.default_rng(1)
    cells = np.zeros((side, side), dtype=np.int64)
    for row, column in rng.integers(0, side, (20, 2)):
        cells[row : row + 6, column : column + 6] += rng.integers(0, 300)
    yield "made up", cells
    for name in given.maps:
        part = 256 // side
        found = np.load(name).astype(np.int64).reshape(side, part, side, part).sum(axis=(1, 3))
        while found.sum() > 300_000:
            found = found // 2
        yield Path(name).stem, found


def fits(given: argparse.Namespace) -> None:
    """What a projection takes, whether it ended, and its squared error over the unbiased one's."""
    print("\nrectangles fitted to counts of at least 0: CPU s, nearest, squared error over that of "
          "unbiased ones, estimates outside their interval")  # fmt: skip
    for side, queries in ((64, 100), (128, 300), (256, 1_000)):
        for (name, cells), public in (
            (one, total) for one in maps_of(given, side) for total in (False, True)
        ):
            if side == 256 and name != "made up" and public:
                continue
            asked = sampled_ranges((side, side), queries)
            truth = asked.apply(cells.ravel())
            labels = np.zeros(side * side, dtype=np.int64) if public else None
            fitted = Linear(
                Identity(side * side), asked, "1/20", "1/20", non_negative=True, public=labels
            )
            noise, kept = NotPrivateSeededNoise(2), fitted.totals(cells.ravel())
            errors, spent, outside, ended = [], [], 0, True
            for _ in range(3 if side < 256 else 1):
                noisy = fitted.noisy(cells.ravel(), noise=noise)
                start = time.process_time()
                found = fitted.estimate(noisy, kept)
                spent.append(time.process_time() - start)
                before = replace(fitted, non_negative=False).estimate(noisy, kept).estimate
                errors.append([np.sum((one - truth) ** 2) for one in (found.estimate, before)])
                bounds = fitted.interval(noisy, kept, estimate=found.estimate)
                outside += int(np.sum(found.estimate < bounds.lower))
                outside += int(np.sum(found.estimate > bounds.upper))
                ended &= bool(found.fitted)
            own, unbiased = np.sum(errors, axis=0)
            what = "with the total" if public else "without"
            print(f"{side:>4} x {side:<4}{queries:>6} {name:<16}{what:<15}"
                  f"{np.median(spent):7.2f} s  {ended}  {own / unbiased:.3f}  "
                  f"{outside}")  # fmt: skip


def intervals(_given: argparse.Namespace) -> None:
    """Intervals of ranges beside the law of their noise, from 40,000 draws each."""
    print("\nintervals of ranges of 128 cells, 95 %, ε = 1/2: share that covers (± 0.001), width "
          "over that of the law (± 0.01)")  # fmt: skip
    noise, draws = NotPrivateSeededNoise(4), 40_000
    frame = pl.DataFrame({"x": np.zeros(1, dtype=np.int64)})
    asked = [(0, 1), (5, 9), (3, 40), (10, 100), (0, 128)]
    for policy in (od.policy.unbounded(), od.policy.bounded(), od.policy.addition_only()):
        session = od.Session(frame, policy=policy, **OPEN)
        for strategy in ("identity", "hierarchy 2", "tents", "prefix"):
            told = session.ranges(
                "x", asked, bins=128, bounds=(0, 128), epsilon="1/2", strategy=strategy
            )
            own = told.mechanism
            rows = own.strategy.shape[0]
            drawn = noise.two_sided(own.upper_rate, own.lower_rate, rows * draws)
            drawn = drawn.reshape(rows, draws)
            cells = own.strategy.solve(drawn - own.distribution.mean())
            gaps = own.workload.apply(cells)
            zero = own.interval(np.zeros(rows, dtype=np.int64), confidence="19/20")
            middle = own.workload.apply(own.strategy.solve(np.full(rows, -own.distribution.mean())))
            found = []
            for gap, low, high, at in zip(gaps, zero.lower, zero.upper, middle, strict=True):
                covered = np.mean((gap <= at - low + 1e-6) & (gap >= at - high - 1e-6))
                ends = np.quantile(gap, [0.025, 0.975])
                # Where no noise comes from one side, the other has all of the chance.
                if zero.certain and own.lower_rate == od.INFINITE:
                    ends = np.array([at, np.quantile(gap, 0.95)])
                found.append((covered, (high - low) / (ends[1] - ends[0])))
            covers, widths = np.array(found).T
            print(f"{policy.name:<16}{strategy:<14}{covers.min():.4f} to {covers.max():.4f}   "
                  f"{widths.min():.2f} to {widths.max():.2f}")  # fmt: skip


def rectangles(_given: argparse.Namespace) -> None:
    """Predicted squared errors beside p-identity strategies found by search, for ε = 1."""
    print("\nmean squared error of a query at ε = 1: ours, p-identity by search, ours over it")
    ranges, boxes = all_ranges(128), sampled_ranges((128, 128), 1_000)
    policies = {
        "unbounded": od.policy.unbounded(),
        "addition only": od.policy.addition_only(),
        "neighbours to 4": od.policy.neighbourhood(radius=4),
    }
    start = od.linear.Dense(np.random.default_rng(1).integers(0, 1_000, (8, 128)))
    for name, policy in policies.items():
        moves = moves_of(policy, od.linear.Grid(128), partition=True)
        matrix = optimised(moves, ranges, start=start).dense().astype(float)
        changes = matrix @ every_step(moves)
        most = int(np.abs(changes).sum(axis=0).max())
        for what, asked, side, axes in (
            ("all ranges of 128", ranges, 128, 1),
            ("1,000 boxes, 128²", boxes, (128, 128), 2),
        ):
            if axes == 2 and name.startswith("neighbours"):
                continue  # what a step moves of a product is not a product of steps
            grid = od.linear.Grid(side)
            ours = Linear.for_policy(policy, workload=asked, epsilon=1, cells=grid)
            rate = Fraction(1, most**axes)
            one_way = od.INFINITE if name == "addition only" else rate
            law = od.noise.TwoSidedGeometric(rate, one_way)
            sums = np.linalg.inv(matrix.T @ matrix).cumsum(axis=0).cumsum(axis=1)
            table = np.pad(sums, ((1, 0), (1, 0)))
            factors = np.prod([
                table[high, high] - 2 * table[low, high] + table[low, low]
                for low, high in zip(asked.lows.T, asked.highs.T, strict=True)
            ], axis=0)  # fmt: skip
            told = float(np.mean(ours.variance))
            other = float(np.mean(factors)) * float(law.variance())
            print(f"{what:<20}{name:<18}{told:9.1f}{other:9.1f}   {told / other:.3f}   "
                  f"{type(ours.strategy).__name__}", flush=True)  # fmt: skip


def drawn(session: od.Session, question: Any, many: int, noise: Any) -> list[Any]:
    """A question read once and drawn many times, free of charge: for measurements alone."""
    ready = prepared(session, question)
    seen = ready.read()
    return [ready.result(ready.draw(seen, noise), None) for _ in range(many)]


def histograms_of(given: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    """Histograms of 4,096 cells: given ones."""
    for name in given.data:
        yield Path(name).stem, np.load(name).astype(np.int64).ravel()


def means(given: argparse.Namespace) -> None:
    """The mean of a number of people that is not public, beside three ways written again."""
    print("\nmean of 2,000 people, 0 to 4,095: root mean squared error, over that of the best of "
          "the pair (sum above low, sum below high) and (sum about the middle, count)")  # fmt: skip
    rng, noise, many = np.random.default_rng(1), NotPrivateSeededNoise(6), 10 * given.rounds**2
    weights = {"even": np.ones(4096), "steep": 1 / np.arange(1, 4097.0)}
    weights |= {name: found.astype(float) for name, found in histograms_of(given)}
    ratios = []
    for name, weight in weights.items():
        values = rng.choice(4096, 2_000, p=weight / weight.sum())
        truth, high, frame = values.mean(), 4095, pl.DataFrame({"v": values})
        for policy in (od.policy.unbounded(), od.policy.addition_only()):
            both = policy.name == "unbounded"
            session = od.Session(frame, policy=policy, **OPEN)
            for epsilon in ("1/100", "1/10", "1"):
                asked = od.Mean("v", bounds=(0, high), step=1, epsilon=epsilon)
                told = drawn(session, asked, many, noise)
                own = (np.array([float(one.value) for one in told]) - truth) ** 2
                e, n = float(Fraction(epsilon)), 10**5
                one = (
                    rng.laplace(0, high / e, (2, n))
                    if both
                    else rng.exponential(high / e, (2, n)) - high / e
                )
                up = np.maximum(values.sum() + one[0], 0)
                down = np.maximum((high - values).sum() + one[1], 0)
                pair = high * np.divide(up, up + down, out=np.full(n, 0.5), where=up + down > 0)
                scale = high / e  # half the span at half of ε
                middle = (values - high / 2).sum() + rng.laplace(0, scale, n)
                count = 2_000 + (
                    rng.laplace(0, 2 / e, n) if both else rng.exponential(2 / e, n) - 2 / e
                )
                other = np.clip(high / 2 + middle / np.maximum(count, 1), 0, high)
                rivals = [np.mean((way - truth) ** 2) for way in (pair, other)]
                ratio = math.sqrt(own.mean() / min(rivals))
                spread = ratio * own.std() / own.mean() / math.sqrt(own.size) / 2
                ratios.append((ratio, spread))
                print(f"{name:<14}{policy.name:<16}ε {epsilon:<6}{math.sqrt(own.mean()):9.2f}   "
                      f"{ratio:.3f} ± {spread:.3f}", flush=True)  # fmt: skip
    found, spreads = np.array(ratios).T
    error = math.sqrt(np.sum(spreads**2)) / found.size
    print(f"mean {found.mean():.3f} ± {error:.3f}, largest {found.max():.3f} of {found.size}; "
          f"beyond 1.02 by two standard errors: {np.sum(found - 2 * spreads > 1.02)}")  # fmt: skip


def counted(given: argparse.Namespace) -> Iterator[tuple[str, Any, int]]:
    """Counts of keys, and in how many a unit may be at most."""
    for keys, most in ((1_657, 333), (500, 6_000), (5_000, 150_000)):
        yield f"{keys:,} keys, 1 / rank", (most / np.arange(1, keys + 1)).astype(np.int64), 1
    for path in given.clicks:
        rows = pl.read_parquet(path, columns=["record", "item"]).unique()
        counts = rows.group_by("item").len()["len"].to_numpy().astype(np.int64)
        yield Path(path).stem, counts, int(rows.group_by("record").len()["len"].max())


def top_k(given: argparse.Namespace) -> None:
    """Mean absolute error of the values told, beside rivals with noise on both sides."""
    print("\ntop k: bias, mean absolute error of the values, over that of the best rival that "
          "finds 9/10 as much of the true top k, and the shares of it found")  # fmt: skip
    noise, ratios = NotPrivateSeededNoise(3), []
    for name, counts, groups in counted(given):
        frame = pl.DataFrame({"u": [0], "item": [0]})
        for k in (10, 100):
            best = set(np.argsort(-counts, kind="stable")[:k].tolist())
            for epsilon in ("1/100", "1/10", "1/2"):
                session = od.Session(
                    frame, unit="u", policy=od.policy.presence(max_groups=groups), **OPEN
                )
                asked = od.TopK(k, by="item", keys=range(counts.size), epsilon=epsilon)
                ready = prepared(session, asked)
                found: dict[str, list[tuple[Any, Any]]] = {}
                two_sided = od.policy.unbounded()
                shared = {"k": k, "epsilon": epsilon, "max_groups": groups}
                rivals: dict[str, Any] = {"all at once": NoisyTopK.for_policy(two_sided, **shared)}
                rivals["peeled"] = PeeledTopK.for_policy(two_sided, **shared)
                measured = MeasuredTopK.for_policy(two_sided, **shared)
                for _ in range(5 * given.rounds):
                    answer = ready.draw(counts, noise)
                    told = ready.result(answer, None)
                    at = np.asarray(answer["indices"])
                    found.setdefault("ours", []).append((at, np.asarray(told.estimate, float)))
                    for way, one in rivals.items():
                        places, values = one.release(counts, noise=noise)
                        if way == "all at once":
                            values = one.shrunk(values, candidates=counts.size)
                        values = np.maximum(values, 0)
                        found.setdefault(way, []).append((places, values))
                    free = measured.release(counts, noise=noise)
                    found.setdefault("free gap", []).append(
                        (free.indices, np.maximum(free.combined, 0))
                    )
                gaps = {
                    way: np.array([told - counts[at] for at, told in many])
                    for way, many in found.items()
                }
                hits = {
                    way: np.mean([len(best & set(at.tolist())) / k for at, _ in many])
                    for way, many in found.items()
                }
                errors = {way: np.abs(gap).mean() for way, gap in gaps.items()}
                # Whoever picks keys at random tells values near 0, and errs little about them.
                fair = [w for w in errors if w != "ours" and hits[w] >= 0.9 * hits["ours"]]
                if not fair:
                    print(f"{name:<24}k {k:<4}ε {epsilon:<6}no rival finds 9/10 as much")
                    continue
                rival = min(fair, key=lambda w: errors[w])
                ratio = errors["ours"] / errors[rival]
                ratios.append(ratio)
                print(f"{name:<24}k {k:<4}ε {epsilon:<6}{gaps['ours'].mean():9.1f}"
                      f"{errors['ours']:10.1f}   {ratio:.3f} of {rival:<12}"
                      f"{hits['ours']:.2f}, {hits[rival]:.2f}")  # fmt: skip
    print(f"median {np.median(ratios):.3f}, largest {max(ratios):.3f} of {len(ratios)}")


IGNORING = ("counts", "dawa", "ahp")
LOOKING = ("dawa", "ahp", "open_shape", "dawaz", "ahpz")
SURE = ("counts", "split")


def histograms(given: argparse.Namespace) -> None:
    """Under OSDP, the L1 error of ``best`` over those of all other methods."""
    print("\n1,024 bins under OSDP: L1 error of method='best' over that of counts from the same "
          "noise, of the best that looks at no data, and of the best of DAWA, AHP, open shape, "
          "DAWAz and AHPz")  # fmt: skip
    places, noise = np.arange(1_024), NotPrivateSeededNoise(8)
    shapes = {
        "smooth": np.random.default_rng(1).poisson(200 * np.exp(-(((places - 400) / 150) ** 2))),
        "steps": np.repeat([5, 80, 0, 40, 1, 120, 0, 20], 128),
        "spikes": np.where(places % 37 == 0, 900, 0),
    }
    for name, found in histograms_of(given):
        counts = found.reshape(1_024, -1).sum(axis=1)
        while counts.sum() > 300_000:
            counts = counts // 2
        shapes[name] = counts
    told = []
    for name, counts in shapes.items():
        for share in (0.9, 0.5, 0.1):
            opened = np.random.default_rng(1).binomial(counts, share)
            rows = np.concatenate([np.repeat(places, opened), np.repeat(places, counts - opened)])
            frame = pl.DataFrame({"v": rows, "open": np.arange(rows.size) < opened.sum()})
            session = od.Session(frame, policy=od.policy.sensitive("not open"), **OPEN)
            for epsilon in ("1/100", "1/10", "1"):
                errors: dict[str, Any] = {}
                for method in ("best", "split", *LOOKING):
                    asked = od.Histogram(
                        "v", bins=1_024, bounds=(0, 1_024), epsilon=epsilon, method=method
                    )  # type: ignore[arg-type]
                    releases = drawn(session, asked, given.rounds, noise)
                    errors[method] = np.array(
                        [np.abs(one.non_negative - counts).sum() for one in releases]
                    )
                    if method == "best":
                        errors["counts"] = np.array([
                            np.abs(np.maximum(one.own["counts"].estimate, 0) - counts).sum()
                            for one in releases
                        ])  # fmt: skip
                mean = {method: float(found.mean()) for method, found in errors.items()}
                rivals = [min(mean[one] for one in some) for some in (SURE, LOOKING, IGNORING)]
                ratios = [mean["best"] / rival for rival in rivals]
                spread = errors["best"].std() / mean["best"] / math.sqrt(given.rounds)
                told.append([*ratios, spread, mean["best"] / mean["counts"]])
                every = ", ".join(f"{way} {mean[way] / mean['best']:.2f}" for way in mean)
                print(f"{name:<14}open {share}  ε {epsilon:<6}{ratios[0]:.3f} {ratios[1]:.3f} "
                      f"± {spread:.3f}   over it: {every}", flush=True)  # fmt: skip
    found = np.array(told)
    for column, what in (
        (0, "that look at no data"),
        (1, "that look"),
        (2, "that ignore the policy"),
    ):
        part = found[:, column]
        print(f"beside the best of those {what}: median {np.median(part):.3f}, largest "
              f"{part.max():.3f} ± {found[np.argmax(part), 3] * part.max():.3f}, above 1.05: "
              f"{np.sum(part > 1.05)}, above 1.5: {np.sum(part > 1.5)} of {part.size}")  # fmt: skip


def tables(_given: argparse.Namespace) -> None:
    """Seconds of CPU of a table of 320 x 80 cells with both margins, and all."""
    print("\n320 x 80 cells with both margins, 200,000 rows: CPU s, the second of two")
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"a": rng.integers(0, 320, 200_000), "b": rng.integers(0, 80, 200_000)})
    for law in ("pure", "gaussian"):
        for _ in range(2):
            start = time.process_time()
            session = od.Session(
                frame, policy=od.policy.unbounded(), budget=2, delta_budget="1/1000000",
                accounting="renyi", ledger=None,
            )  # fmt: skip
            session.table(
                by=["a", "b"], keys=od.cross(a=list(range(320)), b=list(range(80))),
                margins=[[], ["a"], ["b"], ["a", "b"]], epsilon="1/2", law=law,
            )  # fmt: skip
            spent = time.process_time() - start
        print(f"{law:<10}{spent:.2f}")


PARTS = {
    "totals": totals, "fits": fits, "intervals": intervals, "rectangles": rectangles,
    "means": means, "top-k": top_k, "histograms": histograms, "tables": tables,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", choices=[*PARTS, []])
    parser.add_argument("--data", nargs="*", default=[])
    parser.add_argument("--maps", nargs="*", default=[])
    parser.add_argument("--clicks", nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=6)
    given = parser.parse_args()
    for name in given.parts or PARTS:
        PARTS[name](given)


if __name__ == "__main__":
    main()
