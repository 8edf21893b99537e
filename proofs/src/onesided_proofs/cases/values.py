"""Sums of bounded values and cumulative counts; and versions that forget who can move them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from onesided import policy as policies
from onesided.engine import PublicKeys
from onesided.mechanism import Counts, Cumulative, GaussianSums, Staircase, StairSums, Sums
from onesided.noise import IntArray, Noise
from onesided.numbers import INFINITE
from onesided.policy import GroupCount, Policy, Record
from onesided.session.kit import Groups, SumNoise, value_shifts
from onesided.verify import Data, Line, Universe, program, shipped
from onesided_proofs._worlds import of_kinds

_PLACES = ("p", "q")
_EPSILON = 6
_SPREAD = "its two sides are never needed at once"
_FEW = "reached with more places than this world has"
_STAYS = "reached by who loses some of several rows at a place"


def cases() -> Iterator[Line]:
    """The sound first."""
    # One sum over everybody.
    for low, high in ((0, 2), (-1, 2), (1, 3)):
        for optional in (False, True):
            yield _sum(policies.bounded(), (low, high), optional=optional)
        for policy in (policies.addition_only(), policies.removal_only(), policies.unbounded()):
            yield _sum(policy, (low, high), optional=False)
        yield _sum(policies.sensitive("minor"), (low, high), optional=True)
        yield _sum(policies.presence(max_groups=2), (low, high), optional=True)
    yield from _sums_by_place()
    yield from _sums_in_stairs()
    yield from _squares()
    yield from _rows()
    yield from _cumulative()
    yield from _broken()
    # Stairs that forget how many sums move, how far, or which way.
    one_sum = StairSums(Staircase(_EPSILON, largest=3))
    forgotten = "a unit in two sums pays for one, as if for the total"
    yield _mispriced(policies.addition_only(), (0, 3), one_sum, flaw=forgotten, by=True)
    low_stairs = StairSums(Staircase(_EPSILON, largest=2))
    forgotten = "stairs as wide as the bounds are apart, where all of a value goes"
    yield _mispriced(policies.addition_only(), (1, 3), low_stairs, flaw=forgotten)
    forgotten = "stairs above, though values below 0 may go"
    yield _mispriced(policies.addition_only(), (-1, 3), one_sum, flaw=forgotten)
    yield from _broken_shares()


def _sums_by_place() -> Iterator[Line]:
    """One sum per place, and people in one or both of them."""
    kinds = policies.sensitive("minor"), policies.extended_sensitive("minor")
    dropped = (policies.presence(max_groups=most) for most in (1, 2))
    every = (policies.bounded(), policies.addition_only(), *kinds, *dropped)
    for low, high in ((0, 2), (-1, 2)):
        for policy in every:
            yield _sum(policy, (low, high), optional=True, by=True, most=2)


def _sums_in_stairs() -> Iterator[Line]:
    """The noise that a session gives to sums where one side is enough."""
    for policy in (policies.addition_only(), policies.removal_only()):
        for bounds in ((0, 3), (1, 3), (-2, 0)):
            yield _sum(policy, bounds, optional=False, stairs=True)
        yield _sum(policy, (0, 2), optional=True, by=True, most=2, stairs=True)
    for most in (1, 2):
        dropped = policies.presence(max_groups=most)
        yield _sum(dropped, (0, 3), optional=True, stairs=True)
        yield _sum(dropped, (0, 2), optional=True, by=True, most=2, stairs=True)


def _squares() -> Iterator[Line]:
    """One sum over everybody of squares, as in a variance: dropping a row may raise a square."""
    for policy in (policies.bounded(), policies.unbounded(), policies.presence(max_groups=1)):
        shifts = value_shifts(
            policy,
            groups_of(policy, by=False, most=1),
            low=0,
            high=4,
            optional=True,
            monotone=False,
        )
        mechanism = Sums.for_shifts(shifts, epsilon=_EPSILON)
        claims = {edge: max(mechanism.loss(s) for s in many) for edge, many in shifts.items()}
        yield Line(
            "Squares of -1 .. 2",
            policy,
            Summing(mechanism, -1, 2, by=False, squared=True),
            claims,
            epsilon=_EPSILON,
            universe=Universe(units=1, values=records(policy, -1, 2, optional=True, most=1)),
            loose=_SPREAD,
            tail=1e-11,
        )


def _rows() -> Iterator[Line]:
    """How many rows there are and their sum, up to two of each unit, as in a mean of rows."""
    for policy in (policies.bounded(), policies.addition_only(), policies.presence(max_groups=1)):
        for low, high in ((0, 2), (1, 3), (-1, 2)):
            yield _rows_of(policy, low, high, most=2)
    yield _rows_of(policies.bounded(), 1, 3, most=1, flaw="each row priced as all of a unit's")


def _rows_of(policy: Policy, low: int, high: int, *, most: int, flaw: str = "") -> Line:
    groups, half = groups_of(policy, by=False, most=1), Fraction(_EPSILON, 2)
    counted, summed = (
        value_shifts(
            policy, groups, low=min(ends), high=max(ends), optional=False, monotone=monotone
        )
        for ends, monotone in (((1, most), True), ((low, high, most * low, most * high), False))
    )
    parts = tuple(Sums.for_shifts(shifts, epsilon=half) for shifts in (counted, summed))
    claims = {
        edge: sum(
            (max(part.loss(one) for one in shifts[edge]) for part, shifts in paid),
            start=Fraction(0),
        )
        for paid in [tuple(zip(parts, (counted, summed), strict=True))]
        for edge in counted
    }
    return Line(
        f"Rows of {low} .. {high} and their number",
        policy,
        _Rows(*parts),
        claims,
        epsilon=_EPSILON,
        universe=Universe(units=1, values=records(policy, low, high, optional=False, most=2)),
        loose="" if flaw else _SPREAD,
        flaw=flaw,
        seen="in means of rows of people who have several" if flaw else "",
        spends=False,
        tail=1e-9 if flaw else 1e-12,
    )


@dataclass(frozen=True, slots=True)
class _Rows:
    """How many rows there are, and their sum, both with noise."""

    count: Sums
    total: Sums

    def __call__(self, data: Data, noise: Noise) -> tuple[int, int]:
        rows = [int(held[1:]) for record in data for held in _held(record)]
        answers = (self.count, [len(rows)]), (self.total, [sum(rows)])
        count, total = (int(part.release(of, noise=noise)[0]) for part, of in answers)
        return count, total


def _cumulative() -> Iterator[Line]:
    one_sided = policies.addition_only(), policies.removal_only()
    two_sided = policies.bounded(), policies.sensitive("minor")
    for policy in (*one_sided, *two_sided):
        for levels in (1, 2):
            one = Counts.for_policy(policy, epsilon=Fraction(_EPSILON, levels))
            made = Cumulative(one.upper_rate, one.lower_rate, bins=2, levels=levels)
            about: dict[str, Any] = {"universe": Universe(units=1, max_groups=1), "tail": 1e-11}
            name = f"Cumulative, {levels} levels"
            yield shipped(made, policy, name=name, loose=_FEW, epsilon=_EPSILON, **about)


@dataclass(frozen=True, slots=True)
class Summing:
    """The shipped noise on sums that are added up by the most direct means."""

    mechanism: Sums | StairSums | GaussianSums
    low: int
    high: int
    by: bool
    squared: bool = False

    def __call__(self, data: Data, noise: Noise) -> tuple[int, ...]:
        """The noisy sums."""
        return tuple(self.mechanism.release(self.totals(data), noise=noise).tolist())

    def totals(self, data: Data) -> IntArray:
        """Each unit's clipped value per place, or over all its places."""
        totals = np.zeros(len(_PLACES) if self.by else 1, dtype=np.int64)
        for record in data:
            for place, name in enumerate(_PLACES if self.by else ("",)):
                own = [int(held[1:]) for held in _held(record) if held[0] == name or not self.by]
                if own:
                    value = min(max(sum(own), self.low), self.high)
                    totals[place] += value * value if self.squared else value
        return totals


def _held(record: Record) -> tuple[str, ...]:
    return tuple(str(one) for one in record.value) if isinstance(record.value, frozenset) else ()


def _sum(
    policy: Policy,
    bounds: tuple[int, int],
    *,
    optional: bool,
    by: bool = False,
    most: int = 1,
    stairs: bool = False,
) -> Line:
    low, high = bounds
    groups = groups_of(policy, by=by, most=most)
    shifts = value_shifts(policy, groups, low=low, high=high, optional=optional, monotone=low >= 0)
    noise = SumNoise.for_shifts(policy, groups, shifts, largest=max(high, -low), epsilon=_EPSILON)
    mechanism = noise.mechanism if stairs else noise.slopes
    claims = {edge: max(mechanism.loss(s) for s in many) for edge, many in shifts.items()}
    over = f"{' by place' if by else ''}{'' if optional else ', everybody adds'}"
    return Line(
        f"{type(mechanism).__name__} of {low} .. {high}{over}",
        policy,
        Summing(mechanism, low, high, by),
        claims,
        epsilon=_EPSILON,
        query=groups.query,
        universe=Universe(units=1, values=records(policy, low, high, optional=optional, most=most)),
        loose=(_STAYS if isinstance(policy, policies.Presence) else _FEW) if by else _SPREAD,
        tail=1e-11,
    )


def groups_of(policy: Policy, *, by: bool, most: int) -> Groups:
    """Both places, or everybody in one group."""
    kept = isinstance(policy, policies.Presence) and by
    return Groups(
        unit="person",
        by=("place",) if by else (),
        keys=PublicKeys.of(("place",) if by else (), tuple((p,) for p in _PLACES) if by else ((),)),
        query=GroupCount(max_groups=None if kept else most),
        excess="error",
        where=None,
    )


def records(
    policy: Policy, low: int, high: int, *, optional: bool, most: int
) -> tuple[Record, ...]:
    """Everything that a person can hold: a value at some places, ``most`` of them at most."""
    values = (low, high)
    single = [f"{place}{value}" for place in _PLACES for value in values]
    sizes = range(0 if optional else 1, (2 if isinstance(policy, policies.Presence) else most) + 1)
    held = [
        frozenset(chosen)
        for size in sizes
        for chosen in combinations(single, size)
        if len({one[0] for one in chosen}) == len(chosen)
    ]
    return of_kinds(policy, held)


def _broken() -> Iterator[Line]:
    """Prices that forget a way to move, and an answer that tells a value."""
    one_sided = Sums(3, INFINITE)
    forgotten = "priced as if everybody added a value, though a condition may leave one out"
    yield _mispriced(policies.bounded(), (1, 3), Sums(3, 3), flaw=forgotten)
    forgotten = "values below 0 priced as falls alone"
    yield _mispriced(policies.addition_only(), (-1, 2), one_sided, flaw=forgotten)
    forgotten = "a person's values of both signs priced as falls alone"
    yield _mispriced(policies.presence(max_groups=2), (-1, 2), one_sided, flaw=forgotten)
    forgotten = "squares priced as falls alone, since none is below 0"
    squares = Sums(Fraction(3, 2), INFINITE)
    dropped = policies.presence(max_groups=2)
    yield _mispriced(dropped, (-1, 2), squares, flaw=forgotten, squared=True)
    held = Universe(units=2, values=tuple(Record("record", frozenset({place})) for place in "abc"))
    abc = Universe(groups=("a", "b", "c"), units=1, max_groups=1)
    own, public = "tells a value of somebody's, not a public candidate", policies.bounded()
    seen = "in quantiles by the exponential mechanism over the data's own values"
    level = "charged for one level of runs and not for all"
    run: Any
    for name, run, epsilon, world, flaw, where in (
        ("quantile", _private_candidate, _EPSILON, held, own, seen),
        ("Cumulative", Cumulative(8, 8, bins=3, levels=2), 16, abc, level, "in trees of counts"),
    ):
        about: dict[str, Any] = {"universe": world, "flaw": flaw, "seen": where, "tail": 1e-9}
        yield program(name, run, public, epsilon, **about)


def _broken_shares() -> Iterator[Line]:
    """Sums that add up to one span for each unit, priced as if a move changed one of them."""
    whole = "priced as one span, though a value that changes moves it from one sum to another"
    for policy in (policies.bounded(), policies.sensitive("minor")):
        for squared in (False, True):
            yield Line(
                f"Shares of {'squares' if squared else 'values'} of 1 .. 3",
                policy,
                Shares(Sums(*(2 * [Fraction(_EPSILON, 4 if squared else 2)])), 1, 3, squared),
                {edge: _EPSILON * edge.weight for edge in policy.edges},
                universe=Universe(units=1, values=records(policy, 1, 3, optional=False, most=1)),
                flaw=whole,
                seen="in means and variances of sums from both ends",
                tail=1e-9,
            )


@dataclass(frozen=True, slots=True)
class Shares:
    """Of each unit's value how far it lies above the lowest and below the highest, or squares."""

    mechanism: Sums | GaussianSums
    low: int
    high: int
    squared: bool

    def __call__(self, data: Data, noise: Noise) -> tuple[int, ...]:
        """The noisy sums of all rows."""
        values = [int(held[1:]) for record in data for held in _held(record)]
        ends = [(value - self.low, self.high - value) for value in values]
        told = [(a * a, 2 * a * b, b * b) if self.squared else (a, b) for a, b in ends]
        sums = np.sum([(0,) * (3 if self.squared else 2), *told], axis=0, dtype=np.int64)
        return tuple(self.mechanism.release(sums, noise=noise).tolist())


def _private_candidate(data: Data, noise: Noise) -> str:
    """Wrong: the quantile is one of the values that are there, wherever noise lets it fall."""
    values = sorted(_held(record)[0] for record in data)
    place = int(noise.two_sided(1, 1, 1)[0])
    return values[min(max(place, 0), len(values) - 1)]


def _mispriced(
    policy: Policy,
    bounds: tuple[int, int],
    mechanism: Sums | StairSums,
    *,
    flaw: str,
    squared: bool = False,
    by: bool = False,
) -> Line:
    low, high = bounds
    most = 2 if by else 1
    groups = groups_of(policy, by=by, most=most)
    return Line(
        f"{'Squares' if squared else type(mechanism).__name__} of {low} .. {high}",
        policy,
        Summing(mechanism, low, high, by=by, squared=squared),
        {edge: 6 * edge.weight for edge in policy.edges},
        query=groups.query,
        universe=Universe(units=1, values=records(policy, low, high, optional=True, most=most)),
        flaw=flaw,
        seen="in sums of bounded values",
        tail=1e-9,
    )
