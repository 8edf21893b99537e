"""Certified answers about compounds of groups, at the price of the compounds reached."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from onesided import policy as policies
from onesided.mechanism import AdaptiveSparseVector, Compounds, SparseVector
from onesided.noise import IntArray, Noise
from onesided.numbers import Loss
from onesided.policy import Policy, Shift
from onesided.verify import Line, Universe, in_place_of, shipped
from onesided_proofs._worlds import wrong

_ABC: Final = Universe(groups=("a", "b", "c"), units=2)
_EPSILON: Final = 6
_NAME: Final = "SparseVector of compounds"
_HAND: Final = "sessions that price compounds by hand"


@dataclass(frozen=True, slots=True)
class _OfCompounds:
    """The largest counts, and then the mechanism: what a session draws, and charges."""

    compounds: Compounds
    mechanism: Any

    def release(self, values: IntArray, *, noise: Noise) -> Any:
        return self.mechanism.release(self.compounds.largest(values), noise=noise)

    def loss(self, shift: Shift) -> Loss:
        loss: Loss = self.mechanism.loss(self.compounds.shift(shift))
        return loss


def cases() -> Iterator[Line]:
    """The sound first."""
    one, two, three = (policies.presence(max_groups=n) for n in (1, 2, 3))
    for policy, members in (
        (three, [[0, 1, 2]]),  # one conjunction: the price of a single count
        (three, [[0, 1], [2]]),  # apart: of two
        (one, [[0, 1], [1, 2]]),  # a group in both
        (two, [[0, 1], [1, 2], [2, 0]]),
        (two, [[0, 1], [0, 1]]),
    ):
        yield _line(policy, Compounds(members))
    first = Compounds([[0, 1], [1, 2]])
    yield _line(three, first, max_answers=1)  # SALap, over compounds
    half = AdaptiveSparseVector.for_policy(
        two, thresholds=0, epsilon=_EPSILON, max_answers=1, margin=1, compounds=first
    )
    yield shipped(
        _OfCompounds(first, half), two, name="AdaptiveSparseVector of compounds", universe=_ABC
    )
    yield from _broken()


def _line(policy: Policy, compounds: Compounds, **more: Any) -> Line:
    sparse = SparseVector.for_policy(
        policy, thresholds=0, epsilon=_EPSILON, compounds=compounds, **more
    )
    told = _OfCompounds(compounds, sparse)
    return shipped(told, policy, name=_NAME, universe=_ABC, epsilon=_EPSILON)


def _broken() -> Iterator[Line]:
    one, two = policies.presence(max_groups=1), policies.presence(max_groups=2)
    for policy, members, run, flaw in (
        (one, [[0, 1], [1, 2]], priced_once, "a group in two compounds, priced for one"),
        (two, [[0, 1], [2]], priced_once, "two compounds, priced for one"),
        (two, [[0, 1]], totals, "the sum of the counts at the price of the largest"),
        (one, [[0, 1]], names_the_fullest, "says which group is the fullest"),
    ):
        compounds = Compounds(members)
        sparse = SparseVector.for_policy(
            policy, thresholds=0, epsilon=_EPSILON, compounds=compounds
        )
        other = wrong(run, compounds=compounds, epsilon=_EPSILON)
        right = _OfCompounds(compounds, sparse)
        line = in_place_of(right, other, policy, flaw, _HAND, universe=_ABC)
        yield replace(line, name=_NAME)


def priced_once(values: IntArray, noise: Noise, *, compounds: Compounds, epsilon: int) -> Any:
    """ε for each compound, though a unit may be in several."""
    mechanism = SparseVector(0, upper_rate=epsilon)
    return mechanism.release(compounds.largest(values), noise=noise)


def totals(values: IntArray, noise: Noise, *, compounds: Compounds, epsilon: int) -> Any:
    """Adds a compound's counts up; a unit in two of its groups is in the sum twice."""
    sums = np.array([values[list(one)].sum() for one in compounds.members], dtype=np.int64)
    return SparseVector(0, upper_rate=epsilon).release(sums, noise=noise)


def names_the_fullest(values: IntArray, noise: Noise, *, compounds: Compounds, epsilon: int) -> Any:
    """The right answer, and the place of the group that decided it."""
    told = SparseVector(0, upper_rate=epsilon).release(compounds.largest(values), noise=noise)
    return told, tuple(one[int(np.argmax(values[list(one)]))] for one in compounds.members)
