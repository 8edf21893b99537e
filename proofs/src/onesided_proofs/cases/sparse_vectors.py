"""Sparse-vector variants from the literature, wrong and right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

from onesided import policy as policies
from onesided.noise import Noise
from onesided.policy import Policy, Record
from onesided.verify import Data, Line, Universe, program
from onesided_proofs.zoo import sparse_vectors as zoo

_LYU = "Lyu, Su and Li 2017, "
_LOOSE = "reached by more queries only"
_Variant = Callable[[list[int], Noise, Fraction, int], zoo.Answers]


def cases() -> Iterator[Line]:
    """Two right and four wrong variants, and two habits of research code."""
    # The six of Lyu, Su and Li.
    yield _case("SVT 1", zoo.variant_1, 2, 1, "cd", loose=_LOOSE)
    yield _case("SVT 2", zoo.variant_2, 8, 2, "cd", loose=_LOOSE, tail=1e-9, unseen=1e-4)
    yield from _wrong_variants()
    together = policies.unbounded()
    yield _habit("SVT, one threshold", zoo.one_threshold, 1, "cde", together)
    yield _habit(
        "SVT",
        zoo.redrawn,
        1,
        "cde",
        together,
        flaw="threshold noise redrawn for every query",
        seen="research code (adp-algorithms' habits)",
    )
    yield _habit(
        "SVT",
        zoo.truncated_threshold,
        1,
        "c",
        together,
        flaw="threshold noise truncated to an integer",
        seen="research code (a threshold cut to int)",
    )


def _wrong_variants() -> Iterator[Line]:
    """Four of the six."""
    yield _case(
        "SVT 3",
        zoo.variant_3,
        4,
        1,
        "cdef",
        flaw="publishes the noisy answer that was compared",
        seen=_LYU + "Algorithm 3 (Roth's notes 2011)",
        tail=1e-8,
    )
    yield _case(
        "SVT 4",
        zoo.variant_4,
        4,
        1,
        "cdef",
        flaw="query noise too small by a factor of about 2c",
        seen=_LYU + "Algorithm 4 (Lee and Clifton 2014)",
        tail=1e-8,
    )
    yield _case(
        "SVT 5",
        zoo.variant_5,
        2,
        1,
        "cd",
        flaw="no noise on the queries, no limit on yes",
        seen=_LYU + "Algorithm 5 (Stoddard et al. 2014)",
    )
    yield _case(
        "SVT 6",
        zoo.variant_6,
        4,
        1,
        "cdef",
        flaw="yes without limit at the price of one",
        seen=_LYU + "Algorithm 6 (Chen et al. 2015)",
        tail=1e-8,
    )


def _case(
    name: str, variant: _Variant, epsilon: int, c: int, groups: str, **options: object
) -> Line:
    """Half of the queries may fall while the others rise: the worst that sensitivity 1 allows."""
    middle = (len(groups) + 1) // 2
    halves = frozenset(groups[:middle]), frozenset(groups[middle:])
    values = tuple(
        Record("record", value) for value in (*halves, frozenset(groups), frozenset[str]())
    )
    world = Universe(groups=tuple(groups), units=1, values=values)
    run = partial(_run, variant=variant, epsilon=Fraction(epsilon), c=c, groups=groups)
    return program(name, run, policies.bounded(), epsilon, universe=world, **options)


def _habit(
    name: str, variant: _Variant, epsilon: int, groups: str, policy: Policy, **options: object
) -> Line:
    """All queries fall or rise together."""
    values = Record("record", frozenset(groups)), Record("absent")
    world = Universe(groups=tuple(groups), units=1, values=values)
    run = partial(_run, variant=variant, epsilon=Fraction(epsilon), c=1, groups=groups)
    return program(name, run, policy, epsilon, universe=world, **options)


def _run(
    data: Data, noise: Noise, *, variant: _Variant, epsilon: Fraction, c: int, groups: str
) -> zoo.Answers:
    return variant(zoo.queries(data, groups), noise, epsilon, c)
