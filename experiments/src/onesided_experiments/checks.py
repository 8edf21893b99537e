"""What ``onesided verify`` checks of what is here, and broken ones that it must reject."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from onesided import policy as policies
from onesided.noise import IntArray, Noise
from onesided.numbers import INFINITE, Loss, Number
from onesided.policy import GroupCount, Record
from onesided.verify import Line, Universe, losses_of, program, shipped
from onesided_experiments import _continual_checks, _marginals_checks
from onesided_experiments.baselines import (
    ACCEPTED,
    AdaptiveGapSparseVector,
    DiscreteLaplace,
    GapSparseVector,
    GapTopK,
    MeasuredTopK,
    Suppress,
)

Data = tuple[Record, ...]
_HALF: Final = "reached by more queries only"
_PERSONAL: Final = "OSDP section 3.4, personalised privacy"
_ONE: Final = Universe(units=1, max_groups=1)
_FOUR: Final = Universe(
    groups=("a", "b", "c", "d"),
    units=1,
    values=(Record("record", frozenset("ab")), Record("absent")),
)


def cases() -> Iterator[Line]:
    """The sound first. ``onesided verify`` finds this by its entry point."""
    symmetric = (policies.bounded(), 1), (policies.unbounded(), 1), (policies.unbounded(), 3)
    for policy, groups in symmetric:
        query = GroupCount(max_groups=groups)
        two = Universe(units=1, max_groups=min(groups, 2))
        three = Universe(groups=("a", "b", "c"), units=1, max_groups=groups)
        yield shipped(DiscreteLaplace(2), policy, query, universe=two, loose="more groups")
        for mechanism, world in (
            (GapTopK(1, noise_rate=4), three),
            (GapTopK(2, noise_rate=4), three),
            (MeasuredTopK(GapTopK(1, noise_rate=4), measure_rate=4), two),
            (GapSparseVector(0, threshold_rate=3, query_rate=4, max_answers=1), two),
            (GapSparseVector([0, 1], threshold_rate=3, query_rate=4, max_answers=2), two),
            (_adaptive_gap(1), two),
            (_adaptive_gap(2), two),
        ):
            yield shipped(mechanism, policy, query, universe=world, loose=_HALF, unseen=1e-3)
    falls = policies.presence(max_groups=2)
    bare = GapSparseVector.for_policy(falls, thresholds=0, epsilon=8, max_answers=2)
    yield shipped(bare, falls, universe=Universe(units=1), loose=_HALF)
    # Where the noisy threshold is paid for, and where one answer more would be seen.
    values = Record("record", frozenset("ab")), Record("record", frozenset("c"))
    swap = Universe(groups=("a", "b", "c"), units=1, values=values)
    shared = GapSparseVector(0, threshold_rate=1, query_rate=4, max_answers=1)
    both = GroupCount(max_groups=2)
    yield shipped(
        shared, policies.bounded(), both, name="GapSparseVector (shared threshold)", universe=swap,
        loose=_HALF, tail=1e-9, unseen=1e-3,
    )  # fmt: skip
    dropped = policies.presence(max_groups=2)
    purse = AdaptiveGapSparseVector(
        0, threshold_rate=INFINITE, query_rate=2, max_answers=1, margin=1
    )
    yield shipped(
        purse, dropped, name="AdaptiveGapSparseVector (purse)", universe=Universe(units=1),
        loose=_HALF, tail=1e-6, unseen=1e-2,
    )  # fmt: skip
    yield from _suppress()
    yield _plain_gaps()
    yield from _broken_suppress()
    yield from _continual_checks.cases()
    yield from _marginals_checks.cases()


def _adaptive_gap(answers: int) -> AdaptiveGapSparseVector:
    return AdaptiveGapSparseVector(0, threshold_rate=4, query_rate=8, max_answers=answers, margin=1)


def _suppress() -> Iterator[Line]:
    """At a threshold above what the sensitive ask for, they are dropped; below, they are not."""
    for threshold in (3, Fraction(1, 2)):
        mechanism = Suppress(threshold, accept=ACCEPTED)
        for policy in (
            policies.sensitive("private"),
            policies.extended_sensitive("private"),
            policies.unbounded(),
            policies.bounded(),
        ):
            yield shipped(
                mechanism,
                policy,
                mechanism.query(policy, epsilon=1),
                universe=_ONE,
                unseen=1e-3,
                loose="everybody is dropped",
            )
    levels = policies.tiers({"strict": ("1/2", "a"), "usual": (1, "b"), "open": INFINITE})
    asks: dict[str, Loss] = {"strict": Fraction(1), "usual": Fraction(2), "open": INFINITE}
    mechanism = Suppress(2, accept=ACCEPTED)
    yield Line(
        "Suppress (from the records)",
        levels,
        partial(_by_own_epsilon, mechanism=mechanism, asks=asks),
        losses_of(mechanism, levels, mechanism.query(levels, epsilon=2)),
        universe=_ONE,
        unseen=1e-3,
    )


def _plain_gaps() -> Line:
    policy, query = policies.unbounded(), GroupCount(max_groups=2)
    return Line(
        "GapTopK",
        policy,
        PlainGaps(1),
        losses_of(GapTopK(1, noise_rate=1), policy, query),
        query=query,
        universe=_FOUR,
        flaw="plain gaps with ties by position",
        seen="free gap (Ding et al. 2020) on whole numbers",
        tail=1e-8,
    )


def _broken_suppress() -> Iterator[Line]:
    secret, mechanism = policies.sensitive("private"), Suppress(3, accept=ACCEPTED)
    query = mechanism.query(secret, epsilon=1)
    told: dict[str, Any] = {"universe": _ONE, "seen": _PERSONAL}
    ones = {edge: Fraction(1) for edge in secret.edges}
    flaw = "claimed at ε where the threshold τ is due"
    yield Line("Suppress", secret, mechanism, ones, query=query, flaw=flaw, **told)
    bare = Suppress(INFINITE, accept=ACCEPTED)
    flaw = "the open counts as they are, claimed at ε"
    yield Line("Suppress", secret, bare, ones, query=query, flaw=flaw, **told)
    flaw = "says how many were left out"
    yield program("Suppress", TellsMissing(mechanism), secret, 3, flaw=flaw, **told)


@dataclass(frozen=True, slots=True)
class PlainGaps:
    """Largest of counts 2, 2, 0, 0 plus the data's, its gap a plain difference of whole numbers.

    Ties go to the first. When the first two rise, the third at gap 0 is twice as far away.
    """

    rate: int

    def release(self, values: IntArray, *, noise: Noise) -> tuple[int, int]:
        """Position and gap."""
        noisy = values + noise.two_sided(self.rate, self.rate, values.size)
        noisy[:2] += 2
        order = np.argsort(-noisy, kind="stable")
        return int(order[0]), int(noisy[order[0]] - noisy[order[1]])


@dataclass(frozen=True, slots=True)
class TellsMissing:
    """Suppress that also says how many it left out, which no noise hides."""

    right: Suppress

    def __call__(self, data: Data, noise: Noise) -> tuple[int, int]:
        """The noisy number of open records, and the true number of sensitive ones."""
        kept = sum(record.kind == "open" for record in data)
        (told,) = self.right.release([kept], noise=noise)
        return int(told), len(data) - kept


def _by_own_epsilon(
    data: Data, noise: Noise, *, mechanism: Suppress, asks: dict[str, Loss]
) -> tuple[int, ...]:
    """Right: every record comes with what its kind asks for; the mechanism drops the strict."""
    histograms: dict[Loss | Number, ArrayLike] = {
        asked: np.array(
            [sum(r.kind == kind and group in _value(r) for r in data) for group in ("a", "b")],
            dtype=np.int64,
        )
        for kind, asked in asks.items()
    }
    return tuple(mechanism.release(histograms, noise=noise).tolist())


def _value(record: Record) -> frozenset[str]:
    return record.value if isinstance(record.value, frozenset) else frozenset()
