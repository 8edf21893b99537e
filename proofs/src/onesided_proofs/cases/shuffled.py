"""Counts in the shuffle model: what leaves the shuffler, with and without people who collude."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from onesided import policy as policies
from onesided.mechanism.local import ShuffledCounts
from onesided.noise import IntArray, Noise
from onesided.numbers import Loss
from onesided.policy import Policy, Shift
from onesided.verify import Data, Line, Universe
from onesided_proofs.zoo import shuffled as zoo

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
        (zoo.coins, "each adds a token by a coin: the noise has an end"),
        (zoo.halves, "two geometric variables at twice the rate, for one"),
        (zoo.two_marks, "some noise has a mark of its own"),
    ):
        yield Line(_NAME, policy, _Wrong(run), claims, flaw=flaw, **flawed)
    flawed["universe"] = _ONE
    yield Line(_NAME, policy, _Alone(pair), claims, flaw="one of two colludes, unpriced", **flawed)
    gone = policies.addition_only()
    flawed["universe"] = Universe(groups=("a",), units=2, max_groups=1)
    unpaid = {edge: Fraction(4) for edge in gone.edges}
    yield Line(_NAME, gone, _away, unpaid, flaw="who is away sends no noise", **flawed)


def _away(data: Data, noise: Noise) -> Any:
    return zoo.away([bool(record.value) for record in data if record.kind != "absent"], noise)


def _line(policy: Policy, program: Any, loss: Loss, what: str = "", **options: Any) -> Line:
    claims = dict.fromkeys(policy.edges, loss)
    return Line(f"{_NAME} {what}".strip(), policy, program, claims, **{**_WAYS, **options})
