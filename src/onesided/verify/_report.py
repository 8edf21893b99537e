"""What an exact check found: a certain lower bound, and what is proven all the same."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import Infinite, Loss, Number, round_up
from onesided._numbers import exact as exact_number
from onesided.errors import ParameterError
from onesided.policy import Edge
from onesided.verify._form import Form, shown
from onesided.verify._universe import Data

# Sums and products of doubles along a path are right to far better than this.
ROUNDING: Final = 1e-9
_SLACK: Final = 1e-14


@dataclass(frozen=True, slots=True)
class Table:
    """The enumerated distribution of one data set; at most ``lost`` of it was not enumerated."""

    weights: dict[Form, float]
    lost: float


@dataclass(frozen=True, slots=True)
class Finding:
    """The worst that was found along one edge, from the real data to the other.

    ``loss`` is ``log Pr[M(real) in S] / Pr[M(other) in S]`` for the worst set S of outputs, and
    never above the truth: probability that was not enumerated is counted against it.
    ``output`` is the output that shows it best; ``impossible`` says that the other data was
    never seen to give it at all.

    >>> from onesided import INFINITE, verify
    >>> from onesided.mechanism import Counts
    >>> from onesided.policy import removal_only
    >>> edge, worst = verify.exact(Counts(1, INFINITE), removal_only()).worst
    >>> edge.name, worst.impossible
    ('absent -> record', True)
    """

    loss: float
    real: Data
    other: Data
    output: Any
    impossible: bool


@dataclass(frozen=True, slots=True)
class Pair:
    """Two distributions joined by a move, output by output."""

    edge: Edge
    here: NDArray[np.float64]
    there: NDArray[np.float64]
    lost_here: float
    lost_there: float

    def delta(self, loss: Loss) -> float:
        """The least δ that the enumeration proves at this loss, rounding included."""
        if isinstance(loss, Infinite):
            return 0.0
        factor = math.exp(round_up(loss))
        excess = np.maximum(self.here - factor * self.there, 0.0)
        return min(1.0, float(excess.sum()) + self.lost_here + _SLACK * (1 + factor))


@dataclass(frozen=True, slots=True)
class ExactReport:
    """What the exact check found, edge by edge, each in its own direction.

    ``outside`` bounds the probability that any data set's enumeration left out; a larger loss
    could hide only there, and :meth:`delta` says what that can amount to. ``untested`` lists the
    edges of the policy that this universe does not exercise: of them nothing is known, so no
    claim is kept while there are any.

    >>> from onesided import INFINITE, verify
    >>> from onesided.mechanism import Counts
    >>> from onesided.policy import presence
    >>> report = verify.exact(Counts(1, INFINITE), presence(max_groups=1))
    >>> report.keeps(1), report.keeps("1/2"), report.untested
    (True, False, ())
    """

    findings: Mapping[Edge, Finding]
    outside: float
    data_sets: int
    noise_paths: int
    pairs: tuple[Pair, ...] = field(default=(), repr=False, compare=False)
    untested: tuple[Edge, ...] = ()

    def __repr__(self) -> str:
        untested = f", {len(self.untested)} edges untested" if self.untested else ""
        return (
            f"ExactReport(worst loss {self.loss:.4f} in {self.data_sets:,} data sets with "
            f"{self.noise_paths:,} noise paths{untested})"
        )

    @property
    def loss(self) -> float:
        """The worst directed loss per unit of edge weight; certain, but perhaps not the worst."""
        return max((f.loss / float(e.weight) for e, f in self.findings.items()), default=0.0)

    @property
    def worst(self) -> tuple[Edge, Finding] | None:
        """The edge and finding behind :attr:`loss`."""
        pairs = self.findings.items()
        return max(pairs, key=lambda pair: pair[1].loss / float(pair[0].weight), default=None)

    def keeps(self, epsilon: Number) -> bool:
        """Whether every edge was tested and none lost more than ``epsilon`` times its weight."""
        promised = exact_number(epsilon, name="epsilon")
        return self.keeps_losses({edge: promised * edge.weight for edge in self.findings})

    def keeps_losses(self, losses: Mapping[Edge, Loss]) -> bool:
        """Whether every edge was tested and none lost more than the loss claimed for it."""
        return not self.untested and all(
            finding.loss <= round_up(losses.get(edge, Fraction(0))) + ROUNDING
            for edge, finding in self.findings.items()
        )

    def delta(self, losses: Mapping[Edge, Loss] | Number) -> float:
        """A proven statement: along every edge, for every set S of outputs,

        ``Pr[M(X) in S] <= exp(losses[edge]) Pr[M(Y) in S] + delta``,

        cut tails and rounding included; 1, which says nothing, if an edge was not tested. A number
        is a loss per unit of edge weight. Errors: ParameterError after :meth:`light`.
        """  # noqa: D415 - the formula ends the sentence
        if isinstance(losses, Mapping):
            return self._delta(losses)
        promised = exact_number(losses, name="losses")
        return self._delta({edge: promised * edge.weight for edge in self.findings})

    def _delta(self, losses: Mapping[Edge, Loss]) -> float:
        if self.findings and not self.pairs:
            raise ParameterError(
                "This report no longer holds the distributions.",
                hint="Ask delta() before light(), or run the check again.",
            )
        if self.untested:
            return 1.0
        return max((p.delta(losses.get(p.edge, Fraction(0))) for p in self.pairs), default=0.0)

    def light(self) -> ExactReport:
        """Without the distributions, to send or keep; :meth:`delta` then refuses."""
        return replace(self, pairs=())


def compare(edge: Edge, real: Data, other: Data, here: Table, there: Table) -> tuple[Finding, Pair]:
    """The set of outputs on which ``real`` is least able to pass as ``other``.

    For the bound ``Pr[real in S] / (Pr[other in S] + lost)`` the best S holds all outputs whose
    ratio is above some level, so trying every level finds it.
    """
    outputs = list(here.weights)
    own = np.fromiter(here.weights.values(), np.float64, len(outputs))
    seen = np.fromiter((there.weights.get(o, 0.0) for o in outputs), np.float64, len(outputs))
    pair = Pair(edge, own, seen, here.lost, there.lost)
    if not outputs:
        return Finding(-math.inf, real, other, None, impossible=False), pair
    with np.errstate(divide="ignore"):
        order = np.argsort(-(own / seen), kind="stable")
        bounds = np.log(np.cumsum(own[order]) / (np.cumsum(seen[order]) + there.lost))
        singles = own / (seen + there.lost)
    best = int(np.argmax(bounds))
    best_shown = order[: best + 1][int(np.argmax(singles[order[: best + 1]]))]
    loss = float(bounds[best])
    output = shown(outputs[best_shown])
    return Finding(loss, real, other, output, impossible=bool(seen[best_shown] == 0)), pair
