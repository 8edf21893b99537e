"""The alignments that prove our mechanisms, checked on every path; and wrong ones.

Each takes the noise on X to noise on Y, where some counts are smaller, with the same output.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onesided import policy as policies
from onesided.mechanism import Counts, SparseVector, TopK
from onesided.noise import IntArray, Noise
from onesided.numbers import INFINITE, Loss
from onesided.policy import Policy, Shift
from onesided.verify import NoisePath, Universe, aligned
from onesided.verify.kit import Alignment
from onesided_proofs.checks._samplers import Sampled

_TAIL: Final = 1e-4
_WORLD: Final = Universe(groups=("a", "b", "c"), units=1)
Path = tuple[NDArray[Any], ...]


@dataclass(frozen=True)
class NoisyMaxGap:
    """The largest of ``count + G`` and how far it leads: right, at twice the rate."""

    upper_rate: Fraction

    def release(self, values: IntArray, *, noise: Noise) -> tuple[int, int]:
        """The position and the lead; equal values by position, which is public."""
        noisy = values + noise.geometric(self.upper_rate, values.size)
        first, second = _order(noisy)[:2]
        return int(first), int(noisy[first] - noisy[second])

    def loss(self, shift: Shift) -> Loss:
        """The first and the second may both have fallen; who else did is not seen."""
        return self.upper_rate * min(shift.fall, 2) + INFINITE * shift.rise


def each_count(path: NoisePath) -> Path:
    """Noise grows by what its count fell: the same noisy counts. Cost: rate times the fall."""
    return (path.draws[0] + path.real - path.other,)


def answered(path: NoisePath) -> Path:
    """Theorem 13 of ADP-2021: only where there is an answer; "at most" stays as it is."""
    return (path.draws[0] + np.where(path.output.answered, path.real - path.other, 0),)


def selected(path: NoisePath) -> Path:
    """Theorem 12 of ADP-2021: only for the k selected. Others fall behind, or stay.

    Where ranks broke a tie among those that reached the k-th value, fewer may reach it now:
    those keep their order, and all ranks that agree on it are mapped to one.
    """
    noise, *ranks = path.draws
    moved = noise.copy()
    chosen = path.output.indices
    moved[chosen] += (path.real - path.other)[chosen]
    if not ranks:
        return (moved,)
    cut = path.output.values[-1]
    reached, still = path.real + noise >= cut, path.other + moved >= cut
    if np.unique((path.other + moved)[still]).size == still.sum():
        return (moved,)
    left = ranks[0][still[reached]]
    return moved, np.argsort(np.argsort(left))


def first_two(path: NoisePath) -> Path:
    """For the largest and the second: both stay where they are, all others fall or stay."""
    moved = path.draws[0].copy()
    both = _order(path.real + moved)[:2]
    moved[both] += (path.real - path.other)[both]
    return (moved,)


def other_way(path: NoisePath) -> Path:
    """Wrong: noise shrinks as counts do."""
    return (path.draws[0] - path.real + path.other,)


def forgets(path: NoisePath) -> Path:
    """Wrong: "at most" needs no noise to speak of, so it is set to 0; many paths to one."""
    return (answered(path)[0] * path.output.answered,)


def winner_alone(path: NoisePath) -> Path:
    """Wrong: the second falls, and the lead grows."""
    moved = path.draws[0].copy()
    moved[path.output[0]] += (path.real - path.other)[path.output[0]]
    return (moved,)


def two_sided_gap(path: NoisePath) -> Path:
    """Wrong here: free gap's own alignment. The lead is kept by noise that may be below 0."""
    moved = path.draws[0].copy()
    first, second = _order(path.real + moved)[:2]
    best = np.delete(path.other + moved, first).max()
    fell = path.real[second] + moved[second] - best
    moved[first] += path.real[first] - path.other[first] - fell
    return (moved,)


def same_ranks(path: NoisePath) -> Path:
    """Wrong: as many ranks as before, though fewer are asked for."""
    return (selected(path)[0], *path.draws[1:])


class _Case(NamedTuple):
    subject: str
    program: Any
    alignment: Alignment
    policy: Policy
    epsilon: int | Fraction
    sound: bool = True

    def fault(self) -> str:
        """What is wrong, or nothing."""
        report = aligned(
            self.program, self.alignment, self.policy, _WORLD, epsilon=self.epsilon, tail=_TAIL
        )
        return "" if report.holds else str(report)


def alignment_checks() -> Iterator[Sampled]:
    """Right ones at what they cost, then wrong ones."""
    for case in (*_right(), *_wrong()):
        yield Sampled("alignment", case.subject, case.fault(), case.sound)


def _right() -> Iterator[_Case]:
    one, three = (policies.presence(max_groups=n) for n in (1, 3))
    above, gap = Counts(3, INFINITE), NoisyMaxGap(Fraction(3))
    yield _Case("Counts, one group", above, each_count, one, 3)
    yield _Case("Counts, three groups", above, each_count, three, 9)
    yield _Case("SparseVector, one answer", _vector(1), answered, three, 3)
    yield _Case("SparseVector, two answers", _vector(2), answered, three, 6)
    yield _Case("TopK(1)", TopK(1, upper_rate=3), selected, three, 3)
    yield _Case("TopK(2)", TopK(2, upper_rate=3), selected, three, 6)
    yield _Case("noisy maximum with gap", gap, first_two, three, 6)


def _wrong() -> Iterator[_Case]:
    one, three = (policies.presence(max_groups=n) for n in (1, 3))
    above, gap = Counts(3, INFINITE), NoisyMaxGap(Fraction(3))
    below, half = policies.removal_only(), Fraction(3, 2)
    for subject, program, alignment, policy, epsilon in (
        ("Counts, noise moved the other way", above, other_way, one, 3),
        ("Counts, half the cost", above, each_count, one, half),
        ("Counts, moves that raise a count", above, each_count, below, 3),
        ("SparseVector, one answer, all noise moved", _vector(1), each_count, three, 3),
        ("SparseVector, noise of 'at most' forgotten", _vector(1), forgets, three, 3),
        ("TopK(2), the cost of one", TopK(2, upper_rate=3), selected, three, 3),
        ("TopK(2), ranks kept that are not drawn", TopK(2, upper_rate=3), same_ranks, three, 6),
        ("noisy maximum with gap, the second left alone", gap, winner_alone, three, 6),
        ("noisy maximum with gap, free gap's alignment", gap, two_sided_gap, three, 6),
    ):
        yield _Case(subject, program, alignment, policy, epsilon, sound=False)


def _vector(answers: int) -> SparseVector:
    return SparseVector(1, upper_rate=3, max_answers=answers)


def _order(noisy: IntArray) -> NDArray[np.intp]:
    """Largest first, equal ones by position."""
    return np.argsort(-noisy, kind="stable")
