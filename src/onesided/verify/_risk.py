"""The worst Bayes factor for a proposition about one record, on domains that can be listed."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any, Final, TypeAlias

from onesided._numbers import Number, non_negative
from onesided.bounds import Correlation
from onesided.errors import ParameterError, PolicyError
from onesided.policy import GroupCount, Policy, Record
from onesided.verify._enumerate import TAIL, Settings
from onesided.verify._exact import Table, Task
from onesided.verify._seal import Form, shown
from onesided.verify._universe import Data, Universe

Weights: TypeAlias = dict[Record, Fraction]
Worlds: TypeAlias = Mapping[Data, Fraction]


@dataclass(frozen=True, slots=True)
class RiskReport:
    """The output that most raises the odds of the proposition, and by how much.

    factor: odds after over odds before; ``inf`` if the output settles the matter; 0 if the prior
        had settled it already. Never above the truth: noise that was not enumerated
        (``outside``, a probability) counts against it.
    output, others: what was answered, and the other records of the data where that is worst.
    impossible: no record of which the proposition is false was ever seen to give ``output``.

    >>> RiskReport(2.0, None, (), impossible=False, outside=0.0).loss <= 0.7
    True
    """

    factor: float
    output: Any
    others: Data = field(repr=False)
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
    proposition: Callable[[Record], bool] | None = None,
    prior: Mapping[Record, Number] | None = None,
    correlation: Correlation | None = None,
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
    correlation: a law over several records together, and the secret, in place of proposition and
        prior; see :class:`onesided.bounds.Correlation`. The factor is then at most its likelihood.
    Direction: towards *true*. For the other way ask for the opposite proposition.
    A mechanism that keeps (ε, P) has ``factor <= e^ε`` if each record for which the proposition
    is true must be able to pass as each for which it is false.
    Source: Risk of ADP-2022 section III-C, Propositions IV.3 to IV.5; with the prior 0 on either
    side there is nothing to learn and the factor is 0.
    Errors: PolicyError for a record that the universe does not have; ParameterError for negative
        or NaN weights, a prior of nothing, and too many noise paths.

    >>> from onesided import INFINITE
    >>> from onesided.mechanism import Counts
    >>> from onesided.policy import presence
    >>> from onesided.verify import Universe
    >>> asked = {"policy": presence(max_groups=1), "universe": Universe(groups=("gym",))}
    >>> risk(Counts(1, INFINITE), proposition=lambda one: bool(one.value), **asked).loss <= 1
    True
    >>> risk(Counts(1, INFINITE), proposition=lambda one: not one.value, **asked).loss > 9
    True
    """
    world = Universe() if universe is None else universe
    tables = _Tables(program, world, query or GroupCount(), Settings(tail=tail))
    if correlation is not None:
        return _together(correlation, tables, world.records(policy), world.units, proposition)
    if not callable(proposition):
        raise ParameterError(
            f"proposition must be a function of a record, got {proposition!r}.",
            hint='For example lambda record: "a" in record.value.',
        )
    records = world.records(policy)
    weights = _weights(prior, records)
    best = _NONE
    for true, false in _sides(weights, proposition, single=prior is None):
        sides = _alone(true), _alone(false)
        found = _worst(tables, *sides, records, world.units - 1)
        best = max(best, found, key=lambda each: each.factor)
    return best


def _alone(side: Weights) -> Worlds:
    return {(record,): weight for record, weight in side.items()}


def _worst(tables: _Tables, true: Worlds, false: Worlds, records: Data, others: int) -> RiskReport:
    """The worst over all that the other records may be."""
    best = _NONE
    for rest in combinations_with_replacement(records, others):
        found = _compare(tables.mix(true, rest), tables.mix(false, rest), rest)
        best = max(best, found, key=lambda each: each.factor)
    return best


def _together(
    correlation: Correlation, tables: _Tables, records: Data, units: int, proposition: object
) -> RiskReport:
    """The worst factor where several records are known to go together."""
    true, false = correlation.sides()
    held = {record for world in (*true, *false) for record in world}
    size = len(next(iter((*true, *false))))
    if proposition is not None or size > units or not held <= set(records):
        raise ParameterError(
            f"The correlation is about {size} records, with a secret of its own; the universe has "
            f"{units}.",
            hint="Leave proposition out, and give a universe of enough units that has its records.",
        )
    if not true or not false:
        return _NONE
    return _worst(tables, true, false, records, units - size)


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


class _Tables:
    """Distributions of the output by data set, each enumerated once."""

    def __init__(self, program: Any, world: Universe, query: GroupCount, how: Settings) -> None:
        self._task = Task(program, world, query, how)
        self._known: dict[Hashable, Table] = {}

    def of(self, data: Data) -> Table:
        seen = self._task.seen(data)
        if seen not in self._known:
            self._known[seen], _ = self._task.table(data)
        return self._known[seen]

    def mix(self, side: Worlds, others: Data) -> Table:
        """The output's distribution when records are drawn from one side of the prior."""
        total: dict[Form, float] = {}
        lost = 0.0
        for world, weight in side.items():
            table = self.of((*world, *others))
            lost += float(weight) * table.lost
            for output, chance in table.weights.items():
                total[output] = total.get(output, 0.0) + float(weight) * chance
        return Table(total, lost)


def _compare(true: Table, false: Table, others: Data) -> RiskReport:
    best = _NONE
    outside = max(true.lost, false.lost)
    for output, weight in true.weights.items():
        if weight <= 0:
            continue
        seen = false.weights.get(output, 0.0)
        most = seen + false.lost
        factor = weight / most if most > 0 else math.inf
        if factor > best.factor:
            impossible = seen == 0
            best = RiskReport(factor, shown(output), others, impossible=impossible, outside=outside)
    return best
