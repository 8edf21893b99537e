"""The exact check: run the shipped code on every noise path, for every move of the policy."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from onesided._numbers import Loss, Number, exact as exact_number, round_up
from onesided.errors import ParameterError
from onesided.noise import Noise
from onesided.policy import Edge, GroupCount, Policy
from onesided.verify._enumerate import paths
from onesided.verify._universe import Data, Universe

TAIL: Final = 1e-12
_ROUNDING: Final = 1e-9

Program = Callable[[Data, Noise], Any]


@dataclass(frozen=True, slots=True)
class Finding:
    """The worst that was found along one edge: ``log Pr[M(X) = output] / Pr[M(Y) = output]``.

    ``loss`` is never above the truth: probability that was not enumerated is counted against
    the finding. ``impossible`` says that Y was never seen to give the output at all.
    """

    loss: float
    real: Data
    other: Data
    output: Hashable
    impossible: bool


@dataclass(frozen=True, slots=True)
class ExactReport:
    """What the exact check found, edge by edge, each in its own direction.

    ``outside`` is the most probability that any data set's enumeration left out; a larger loss
    could hide only there.
    """

    findings: Mapping[Edge, Finding]
    outside: float
    data_sets: int
    noise_paths: int

    @property
    def loss(self) -> float:
        """The worst directed loss per unit of edge weight."""
        return max((f.loss / float(e.weight) for e, f in self.findings.items()), default=0.0)

    @property
    def worst(self) -> tuple[Edge, Finding] | None:
        """The edge and finding behind :attr:`loss`."""
        pairs = self.findings.items()
        return max(pairs, key=lambda pair: pair[1].loss / float(pair[0].weight), default=None)

    def keeps(self, epsilon: Number) -> bool:
        """Whether no edge loses more than ``epsilon`` times its weight."""
        promised = exact_number(epsilon, name="epsilon")
        return all(
            finding.loss <= round_up(promised * edge.weight) + _ROUNDING
            for edge, finding in self.findings.items()
        )

    def keeps_shift_losses(self, losses: Mapping[Edge, Loss]) -> bool:
        """Whether no edge loses more than the loss claimed for it."""
        return all(
            finding.loss <= round_up(losses.get(edge, Fraction(0))) + _ROUNDING
            for edge, finding in self.findings.items()
        )


def exact(
    program: object,
    policy: Policy,
    universe: Universe | None = None,
    *,
    query: GroupCount | None = None,
    tail: float = TAIL,
) -> ExactReport:
    """Run ``program`` on every noise path of every data set; report the worst directed loss.

    program: a mechanism (its ``release`` is run on the counts that ``query`` describes), or any
        function ``(data, noise)`` where ``data`` is a tuple of records and ``noise`` a Noise.
    tail: probability at which each unbounded draw is cut off; what is cut is reported.
    Errors: ParameterError if there are too many paths, or if ``tail`` is not in (0, 1/2].
    """
    if not 0 < tail <= 0.5:
        raise ParameterError(f"tail must lie in (0, 1/2], got {tail!r}.", hint="Use 1e-12.")
    world = Universe() if universe is None else universe
    run, fingerprint = _runner(program, world, query or GroupCount())
    tables = _Tables(run, fingerprint, tail)
    worst: dict[Edge, Finding] = {}
    for real, other, edge in world.moves(policy):
        found = _compare(real, other, tables.of(real), tables.of(other))
        if edge not in worst or found.loss > worst[edge].loss:
            worst[edge] = found
    return ExactReport(
        MappingProxyType(worst), tables.outside, len(tables.known), tables.noise_paths
    )


def _runner(
    program: object, world: Universe, query: GroupCount
) -> tuple[Program, Callable[[Data], Hashable]]:
    """The program as a function of data, and what of the data it can depend on."""
    release = getattr(program, "release", None)
    if release is not None:
        return (
            lambda data, noise: release(world.count(data, query), noise=noise),
            lambda data: tuple(world.count(data, query).tolist()),
        )
    if callable(program):
        return program, lambda data: data
    raise ParameterError(
        f"Cannot verify {program!r}: it is neither a mechanism nor a function.",
        hint="Give a mechanism with release(), or a function of (data, noise).",
    )


@dataclass(frozen=True, slots=True)
class _Table:
    """The enumerated distribution of one data set."""

    weights: dict[Hashable, float]
    lost: float


class _Tables:
    """Distributions by data set, each computed once."""

    def __init__(
        self, run: Program, fingerprint: Callable[[Data], Hashable], tail: float
    ) -> None:
        self._run, self._fingerprint, self._tail = run, fingerprint, tail
        self.known: dict[Hashable, _Table] = {}
        self.noise_paths = 0

    @property
    def outside(self) -> float:
        return max((table.lost for table in self.known.values()), default=0.0)

    def of(self, data: Data) -> _Table:
        key = self._fingerprint(data)
        if key not in self.known:
            self.known[key] = self._enumerate(data)
        return self.known[key]

    def _enumerate(self, data: Data) -> _Table:
        weights: dict[Hashable, list[float]] = {}
        for output, weight in paths(lambda noise: self._run(data, noise), tail=self._tail):
            weights.setdefault(freeze(output), []).append(weight)
            self.noise_paths += 1
        sums = {output: math.fsum(many) for output, many in weights.items()}
        missing = 1 - math.fsum(sums.values())
        # Float products of exact weights: anything this small is rounding, not a cut tail.
        return _Table(sums, missing if missing > 1e-14 else 0.0)


def _compare(real: Data, other: Data, here: _Table, there: _Table) -> Finding:
    """The output on which ``real`` is least able to pass as ``other``."""
    best = Finding(-math.inf, real, other, None, impossible=False)
    for output, weight in here.weights.items():
        if weight <= 0:
            continue
        seen = there.weights.get(output, 0.0)
        most = seen + there.lost
        loss = math.log(weight / most) if most > 0 else math.inf
        if loss > best.loss:
            best = Finding(loss, real, other, output, impossible=seen == 0)
    return best


def freeze(output: object) -> Hashable:
    """An output as something that can be a dictionary key; arrays by their values."""
    if isinstance(output, np.ndarray):
        return (output.dtype.kind, tuple(output.ravel().tolist()))
    if isinstance(output, list | tuple):
        return tuple(freeze(part) for part in output)
    if isinstance(output, dict):
        return tuple(sorted(((freeze(k), freeze(v)) for k, v in output.items()), key=repr))
    if isinstance(output, np.generic):
        return freeze(output.item())
    if isinstance(output, Hashable):
        return output
    raise ParameterError(
        f"The program returned a {type(output).__name__}, which cannot be compared.",
        hint="Return numbers, text, arrays, tuples, lists or dictionaries of them.",
    )
