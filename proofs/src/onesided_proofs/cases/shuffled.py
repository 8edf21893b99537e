"""Counts in the shuffle model: what leaves the shuffler, with and without people who collude.

The wrong ones are at a rate of 4 for two senders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided import policy as policies
from onesided.mechanism.local import ShuffledCounts
from onesided.noise import IntArray, Noise
from onesided.numbers import Loss
from onesided.policy import Policy, Shift
from onesided.verify import Data, Line, Universe

_NAME: Final = "ShuffledCounts"
_MOVED: Final = Shift(rise=0, fall=1)
_TWO: Final = Universe(groups=("a",), units=2, ordered=True)
_ONE: Final = Universe(groups=("a",), units=1)
_HAND: Final = "distributed noise by hand"
_WAYS: Final[dict[str, Any]] = {"universe": _TWO, "tail": 1e-9, "unseen": 1e-4}


@dataclass(frozen=True, slots=True)
class _Crowd:
    """What leaves the shuffler; each record is a sender."""

    mechanism: ShuffledCounts

    def __call__(self, data: Data, noise: Noise) -> Any:
        return tuple(self.mechanism.release(_rows(data), noise=noise).tolist())


@dataclass(frozen=True, slots=True)
class _Alone:
    """What is left of it for others who all collude: they take their own tokens out."""

    mechanism: ShuffledCounts

    def __call__(self, data: Data, noise: Noise) -> Any:
        return tuple(self.mechanism.tokens(_rows(data)[0], noise=noise).tolist())


@dataclass(frozen=True, slots=True)
class _Wrong:
    """A function of rows and noise."""

    run: Callable[[list[list[int]], Noise], IntArray]

    def __call__(self, data: Data, noise: Noise) -> Any:
        return tuple(self.run(_rows(data), noise).tolist())


def _rows(data: Data) -> list[list[int]]:
    return [[int(bool(record.value))] for record in data]


def cases() -> Iterator[Line]:
    """The sound first."""
    policy = policies.presence(max_groups=1)
    pair, wide = ShuffledCounts(4, senders=2), ShuffledCounts(4, senders=2, honest=1)
    more = "more noise than one honest sender needs"
    yield _line(policy, _Crowd(pair), pair.loss(_MOVED))
    yield _line(policy, _Crowd(wide), wide.loss(_MOVED), loose=more)
    known = pair.loss_among(1, _MOVED)
    yield _line(policy, _Alone(pair), known, "(one of two colludes)", universe=_ONE)
    flawed: dict[str, Any] = {"seen": _HAND, **_WAYS}
    claims = {edge: Fraction(4) for edge in policy.edges}
    for run, flaw in (
        (coins, "each adds a token by a coin: the noise has an end"),
        (halves, "two geometric variables at twice the rate, for one"),
        (two_marks, "some noise has a mark of its own"),
    ):
        yield Line(_NAME, policy, _Wrong(run), claims, flaw=flaw, **flawed)
    flawed["universe"] = _ONE
    yield Line(_NAME, policy, _Alone(pair), claims, flaw="one of two colludes, unpriced", **flawed)
    gone = policies.addition_only()
    flawed["universe"] = Universe(groups=("a",), units=2, max_groups=1)
    unpaid = {edge: Fraction(4) for edge in gone.edges}
    yield Line(_NAME, gone, _away, unpaid, flaw="who is away sends no noise", **flawed)


def _away(data: Data, noise: Noise) -> Any:
    return away([bool(record.value) for record in data if record.kind != "absent"], noise)


def _line(policy: Policy, program: Any, loss: Loss, what: str = "", **options: Any) -> Line:
    claims = dict.fromkeys(policy.edges, loss)
    return Line(f"{_NAME} {what}".strip(), policy, program, claims, **{**_WAYS, **options})


_RATE = 4
_HALF = Fraction(1, 2)


def coins(rows: list[list[int]], noise: Noise) -> IntArray:
    """Each sender adds a token with a chance of a half: with none added the truth shows."""
    return _total(rows, noise.bernoulli(_HALF, len(rows)))


def halves(rows: list[list[int]], noise: Noise) -> IntArray:
    """Each sender adds a geometric variable at twice the rate: together they are none at half."""
    return _total(rows, noise.geometric(2 * _RATE, len(rows)))


def two_marks(rows: list[list[int]], noise: Noise) -> IntArray:
    """A second kind of token for noise of the first sender: the shuffler hides that no more."""
    pair = ShuffledCounts(_RATE, senders=2)
    first, second = pair.tokens([0], noise=noise), pair.tokens(rows[1], noise=noise)
    return np.array([rows[0][0] + int(second[0]), int(first[0])], dtype=np.int64)


def away(members: list[bool], noise: Noise) -> Any:
    """Only those who are there send, so a missing sender is seen by missing noise."""
    pair = ShuffledCounts(_RATE, senders=2)
    return sum(int(pair.tokens([1], noise=noise)[0]) for _ in members)


def _total(rows: list[list[int]], added: NDArray[Any]) -> IntArray:
    total = sum(row[0] for row in rows) + int(added.sum())
    return np.array([total], dtype=np.int64)
