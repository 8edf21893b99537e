"""The worst Bayes factor for a proposition about one record, on domains that can be listed."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any, Final, TypeAlias

from onesided._numbers import Number, non_negative
from onesided.errors import ParameterError, PolicyError
from onesided.noise import Noise
from onesided.policy import GroupCount, Policy, Record
from onesided.verify._enumerate import paths
from onesided.verify._exact import freeze
from onesided.verify._universe import Universe

Data: TypeAlias = tuple[Record, ...]
Program: TypeAlias = Callable[[Data, Noise], Any]
Weights: TypeAlias = dict[Record, Fraction]
TAIL: Final = 1e-12


@dataclass(frozen=True, slots=True)
class RiskReport:
    """The output that most raises the odds of the proposition, and by how much.

    factor: odds after over odds before; ``inf`` if the output settles the matter; 0 if the prior
        had settled it already. Never above the truth: noise that was not enumerated
        (``outside``, a probability) counts against it.
    output, others: what was answered, and the other records of the data where that is worst.
    impossible: no record of which the proposition is false was ever seen to give ``output``.
    """

    factor: float
    output: Hashable
    others: Data
    impossible: bool
    outside: float

    @property
    def loss(self) -> float:
        """``ln factor``, to be compared with ε; ``-inf`` where nothing can be learnt."""
        return math.log(self.factor) if self.factor > 0 else -math.inf


_NONE: Final = RiskReport(0.0, None, (), impossible=False, outside=0.0)


def risk(
    program: object,
    policy: Policy,
    *,
    proposition: Callable[[Record], bool],
    prior: Mapping[Record, Number] | None = None,
    universe: Universe | None = None,
    query: GroupCount | None = None,
    tail: float = TAIL,
) -> RiskReport:
    """How much an observer who knows all other records can learn about one of them.

    program: a mechanism, run on the counts that ``query`` describes, or a function
        ``(data, noise)``; as in ``onesided.verify.exact``.
    proposition: what the observer wants to know of the record, true or false of each.
    prior: the weight of each record before the answer, not necessarily summing to 1; None is the
        worst prior of all, which then weighs one record of each side.
    Direction: towards *true*. For the other way ask for the opposite proposition.
    A mechanism that keeps (ε, P) has ``factor <= e^ε`` if each record for which the proposition
    is true must be able to pass as each for which it is false.
    Source: Risk of ADP-2022 section III-C, Propositions IV.3 to IV.5; with the prior 0 on either
    side there is nothing to learn and the factor is 0.
    Errors: PolicyError for a record that the universe does not have; ParameterError for negative
        or NaN weights, a prior of nothing, and too many noise paths.
    """
    if not callable(proposition):
        raise ParameterError(
            f"proposition must be a function of a record, got {proposition!r}.",
            hint='For example lambda record: "a" in record.value.',
        )
    world = Universe() if universe is None else universe
    records = world.records(policy)
    weights = _weights(prior, records)
    run = _runner(program, world, query or GroupCount())
    tables = _Tables(run, tail)
    best = _NONE
    for true, false in _sides(weights, proposition, single=prior is None):
        for others in combinations_with_replacement(records, world.units - 1):
            found = _compare(tables.mix(true, others), tables.mix(false, others), others)
            best = max(best, found, key=lambda each: each.factor)
    return best


def _weights(prior: Mapping[Record, Number] | None, records: Data) -> Weights:
    if prior is None:
        return dict.fromkeys(records, Fraction(1))
    for record in prior:
        if record not in records:
            raise PolicyError(
                f"The prior weighs {record!r}, which is not a record of the universe.",
                hint=f"Its records are {', '.join(map(repr, records[:4]))}, ...",
                record=record,
            )
    weights = {r: non_negative(w, name="a weight of the prior") for r, w in prior.items()}
    if any(weights.values()):
        return weights
    raise ParameterError(
        "The prior weighs no record.", hint="Give at least one record a weight above 0."
    )


def _sides(
    weights: Weights, proposition: Callable[[Record], bool], *, single: bool
) -> Iterator[tuple[Weights, Weights]]:
    """The records for and against, each with weights that sum to 1; every pair if ``single``."""
    true = {record: w for record, w in weights.items() if w and proposition(record)}
    false = {record: w for record, w in weights.items() if w and not proposition(record)}
    if not true or not false:
        return
    if single:
        for one in true:
            for other in false:
                yield {one: Fraction(1)}, {other: Fraction(1)}
        return
    yield tuple({r: w / sum(side.values()) for r, w in side.items()} for side in (true, false))  # type: ignore[misc]


def _runner(program: object, world: Universe, query: GroupCount) -> Program:
    release = getattr(program, "release", None)
    if release is not None:
        return lambda data, noise: release(world.count(data, query), noise=noise)
    if callable(program):
        return program
    raise ParameterError(
        f"Cannot compute the risk of {program!r}: it is neither a mechanism nor a function.",
        hint="Give a mechanism with release(), or a function of (data, noise).",
    )


@dataclass(frozen=True, slots=True)
class _Table:
    weights: dict[Hashable, float]
    lost: float


class _Tables:
    """Distributions of the output by data set, each enumerated once."""

    def __init__(self, run: Program, tail: float) -> None:
        self._run, self._tail = run, tail
        self._known: dict[Data, _Table] = {}

    def of(self, data: Data) -> _Table:
        if data not in self._known:
            parts: dict[Hashable, list[float]] = {}
            for output, weight in paths(lambda noise: self._run(data, noise), tail=self._tail):
                parts.setdefault(freeze(output), []).append(weight)
            sums = {output: math.fsum(many) for output, many in parts.items()}
            missing = 1 - math.fsum(sums.values())
            self._known[data] = _Table(sums, missing if missing > 1e-14 else 0.0)
        return self._known[data]

    def mix(self, side: Weights, others: Data) -> _Table:
        """The output's distribution when the record is drawn from one side of the prior."""
        total: dict[Hashable, float] = {}
        lost = 0.0
        for record, weight in side.items():
            table = self.of((record, *others))
            lost += float(weight) * table.lost
            for output, chance in table.weights.items():
                total[output] = total.get(output, 0.0) + float(weight) * chance
        return _Table(total, lost)


def _compare(true: _Table, false: _Table, others: Data) -> RiskReport:
    best = _NONE
    outside = max(true.lost, false.lost)
    for output, weight in true.weights.items():
        if weight <= 0:
            continue
        seen = false.weights.get(output, 0.0)
        most = seen + false.lost
        factor = weight / most if most > 0 else math.inf
        if factor > best.factor:
            best = RiskReport(factor, output, others, impossible=seen == 0, outside=outside)
    return best
