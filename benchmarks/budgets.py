"""What many equal answers lose together: added up, by a renyi account, by a fixed plan, by others.

    python benchmarks/budgets.py [--delta 1/1000000] [--speed]

Others state no direction: their number is the larger of both. dp-accounting composes the discrete
Laplace mechanism where that is the law, else (ε, 0) as it stands. OpenDP's is its zCDP of any
ε-DP answer, and its own conversion. Each is left out where it is not installed
(``pip install "./experiments[peers]"``).
"""

import argparse
import importlib
import time
import warnings
from fractions import Fraction
from functools import partial
from itertools import product

import polars as pl

import onesided as od
from onesided.accounting import NOTE, charge_divergences, repeated, total_of

ROWS = pl.DataFrame({"age": [20, 30, 40], "place": ["a", "b", "b"], "minor": [True, False, False]})
PLACES = ["a", "b", "c", "d"]
BINS = list(range(0, 101, 10))
BOTH, OUT = od.policy.unbounded(), od.policy.addition_only()
OPEN = od.policy.sensitive("minor")


def questions(epsilon):
    """By name: the policy, the question, and the steps that its discrete Laplace noise covers.

    None where the law is another; 0 where noise lies on one side, which others know nothing of.
    """
    by = {"by": "place", "keys": PLACES, "epsilon": epsilon}
    bounds = {"bounds": (0, 100), "epsilon": epsilon}
    bins = {"bins": BINS, "epsilon": epsilon}
    return {
        "count": (BOTH, od.Count(epsilon=epsilon), 1),
        "sum": (BOTH, od.session.Sum("age", **bounds), 100),
        "mean": (BOTH, od.session.Mean("age", **bounds), None),
        "quantile": (BOTH, od.Quantile("age", "1/2", candidates=BINS, epsilon=epsilon), None),
        "several quantiles (19)": (
            BOTH,
            od.Quantile("age", [f"{n}/20" for n in range(1, 20)], candidates=BINS, epsilon=epsilon),
            None,
        ),
        "top-k": (BOTH, od.session.TopK(2, **by), None),
        "histogram": (BOTH, od.session.Histogram("age", **bins), 1),
        "DAWA": (BOTH, od.session.Histogram("age", method="dawa", **bins), None),
        "count, leaving only": (OUT, od.Count(epsilon=epsilon), 0),
        "sample": (OPEN, od.session.Sample(epsilon=epsilon), 0),
        "at most 5": (OUT, od.session.AtMost(5, **by), 0),
    }


def optional(name):
    """A library that may not be there."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ImportError:
        return None


def by_dp_accounting(epsilon, times, delta, steps):
    """ε by dp-accounting's privacy-loss distributions; None without it."""
    pld = optional("dp_accounting.pld.privacy_loss_distribution")
    if pld is None:
        return None
    grid = {"value_discretization_interval": 1e-4}
    if steps is None:
        common = importlib.import_module("dp_accounting.pld.common")
        told = pld.from_privacy_parameters(
            common.DifferentialPrivacyParameters(float(epsilon), 0), **grid
        )
    else:
        parameter = float(epsilon) / steps
        told = pld.from_discrete_laplace_mechanism(parameter, sensitivity=steps, **grid)
    return told.self_compose(times).get_epsilon_for_delta(float(delta))


def by_opendp(epsilon, times, delta):
    """ε by OpenDP's zCDP of so many ε-DP answers; None without it."""
    dp = optional("opendp.prelude")
    if dp is None:
        return None
    dp.enable_features("contrib")
    one = dp.m.make_laplace(
        dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1 / float(epsilon)
    )
    several = dp.c.make_composition([dp.c.make_pureDP_to_zCDP(one)] * times)
    return dp.c.make_zCDP_to_approxDP(several).map(1).epsilon(float(delta))


def opened(policy, *, accounting="pure", budget=10**6):
    kind = {"accounting": accounting, "delta_budget": "1/1000000"}
    return od.Session(ROWS, policy=policy, budget=budget, **(kind if accounting != "pure" else {}))


def table(times, epsilon, delta):
    print(f"\n| {times} at ε = {epsilon} | added up | renyi | fixed plan | dp-acc. | OpenDP |")
    print("|---|--:|--:|--:|--:|--:|")
    for name, (policy, question, steps) in questions(epsilon).items():
        plan = opened(policy).plan(question)
        charge = {edge: one for edge, one in plan.charge.items() if isinstance(one, Fraction)}
        told = repeated({NOTE: plan.noise}, epsilon=charge, times=times, delta=delta)
        ours = [max(one[k] for one in told.values()) for k in range(3)]
        others = [None, None]
        if steps != 0:
            others = [
                by_dp_accounting(epsilon, times, delta, steps),
                by_opendp(epsilon, times, delta),
            ]
        cells = ["–" if one is None else f"{float(one):.3f}" for one in (*ours, *others)]
        print(f"| {name} | {' | '.join(cells)} |")


def gaussian(delta):
    """What may have discrete Gaussian noise, in an account of (1, δ): both noises, by groups."""
    people = pl.DataFrame({"person": [0], "place": ["0"], "town": ["0"], "v": [0]})
    keys = [str(place) for place in range(100)]
    many = {"by": "place", "keys": keys, "max_groups": 100, "on_excess": "truncate"}
    totals = {"of": "units", "total_bounds": (0, 100)}
    sides = {"by": ["place", "town"], "keys": od.cross(place=keys, town=keys[:20])}
    asked = {
        "100 counts": partial(od.Count, **many),
        "100 sums, 0 to 100": partial(od.session.Sum, "v", **totals, **many),
        "table, 100 × 20, all margins": partial(od.CrossTable, **sides),
    }
    more = {"delta_budget": delta, "accounting": "renyi", "unit": "person", "policy": BOTH}
    pld = optional("dp_accounting.pld.privacy_loss_distribution")
    print("\n| at ε | | error | Gaussian | how many fit | fixed plan | dp-acc. |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for epsilon, (name, question) in product(("1", "1/10", "1/100"), asked.items()):
        session = od.Session(people, budget=1, **more)
        pure, other = (
            session.plan(question(epsilon=epsilon, law=law)) for law in ("pure", "gaussian")
        )
        times = other.times
        told = repeated({NOTE: other.noise}, epsilon=other.charge, times=times, delta=delta)
        peer = None
        if pld is not None:
            edges = other.noise["edges"].values()
            moved = [one for edge in edges for one in edge.get("one_of", [edge])]
            law = pld.from_gaussian_mechanism(
                float(Fraction(moved[0]["variance"])) ** 0.5,
                sensitivity=max(one["squares"] for one in moved) ** 0.5,
                value_discretization_interval=1e-4,
            )
            peer = law.self_compose(times).get_epsilon_for_delta(float(Fraction(delta)))
        cells = [
            f"{pure.standard_deviation:,.1f}",
            f"{other.standard_deviation:,.1f}",
            f"{pure.times}, {times}",
            f"{float(max(one.planned for one in told.values())):.3f}",
            "–" if peer is None else f"{peer:.3f}",
        ]
        print(f"| {epsilon} | {name} | {' | '.join(cells)} |")


def speed(charges=10_000, rounds=200):
    """Of a charge in each kind of account, alternating, and of a total."""
    question, seconds = od.Count(epsilon="1/100"), {"pure": [], "renyi": []}
    sessions = {kind: opened(BOTH, accounting=kind) for kind in seconds}
    for number in range(rounds):
        for kind, session in sessions.items():
            start = time.perf_counter()
            session.count(epsilon="1/100")
            if number >= rounds // 10:
                seconds[kind].append(time.perf_counter() - start)
    middle = {kind: sorted(some)[len(some) // 2] for kind, some in seconds.items()}
    print(
        f"\na count: pure {1e3 * middle['pure']:.2f} ms, renyi {1e3 * middle['renyi']:.2f} ms, ",
        end="",
    )
    print(f"ratio {middle['renyi'] / middle['pure']:.2f}")
    plan, account = opened(BOTH).plan(question), opened(BOTH, accounting="renyi").account
    laws = charge_divergences({NOTE: plan.noise}, epsilon=plan.charge, delta={})
    accounts = {"pure": (opened(BOTH).account, None), "renyi": (account, laws)}
    for kind, (held, told) in accounts.items():
        start = time.perf_counter()
        for _ in range(1_000):
            held.spend(plan.charge, divergences=told, label="a", detail={NOTE: dict(plan.noise)})
        print(f"{kind}: {time.perf_counter() - start:.2f} ms a charge of the ledger alone")
    entries = list(sessions["renyi"].ledger.entries(kind="spend"))
    many = (entries * (charges // len(entries) + 1))[:charges]
    start = time.perf_counter()
    total_of(BOTH, many, delta="1e-6")
    print(f"the total of {charges:,} equal charges: {time.perf_counter() - start:.2f} s")
    session = opened(BOTH)
    for number in range(24):
        session.count(epsilon=Fraction(1, 100 + 7 * number))
    mixed = list(session.ledger.entries(kind="spend")) * (charges // 24)
    start = time.perf_counter()
    total_of(BOTH, mixed, delta="1e-6")
    print(f"of {len(mixed):,} charges of 24 kinds: {time.perf_counter() - start:.2f} s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--delta", default="1/1000000")
    parser.add_argument("--speed", action="store_true")
    given = parser.parse_args()
    delta = Fraction(given.delta)
    if given.speed:
        speed()
        return
    table(100, Fraction(1, 100), delta)
    table(365, Fraction(1, 10), delta)
    gaussian(given.delta)


if __name__ == "__main__":
    main()
