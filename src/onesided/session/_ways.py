"""Other ways to the numbers asked for, each with its error: worked out, or tried on public data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided._english import many
from onesided._numbers import Infinite, Loss, Number
from onesided._numbers import rate as exact_rate
from onesided.engine import Table
from onesided.errors import OnesidedError
from onesided.mechanism import Compounds
from onesided.mechanism.kit import Move, count_moves
from onesided.noise import IntArray, NotPrivateSeededNoise
from onesided.session._context import QueryContext
from onesided.session._groups import Groups
from onesided.session._plan import Plan, PlanOption


def why_at_once(*, below: bool = False) -> str:
    """Why noise is drawn for all counts at once. below: whether it is below them."""
    moves, side = ("rise", "below") if below else ("fall", "above")
    return (
        f"the policy only lets answers {moves}, and a unit may be in most of the groups, so noise "
        f"{side} is drawn for all of them at once: less than for each on its own"
    )


def moves_of(
    groups: Groups, context: QueryContext, epsilon: Number, *, compounds: Compounds | None = None
) -> list[Move]:
    """What each edge may do to these counts, each of which moves by at most 1.

    None are told where several units may move in one count, as under a view.
    """
    if context.policy.view is not None:
        return []
    return count_moves(context.policy, epsilon=epsilon, query=groups.query, compounds=compounds)


def drawn_at_once(answers: int, side: str = "upper") -> str:
    """What a release says of its certificates where one draw of noise serves all its answers."""
    return (
        f"The noise of its {many(answers, 'answer')} was drawn at once, from one random level: "
        f"each {side} bound is certain all the same."
    )


Floats = NDArray[np.float64]
MOST_CELLS: Final = 1_024
_TINY: Final = 1e-300
_FEWEST: Final = 60
# Single numbers have long tails, which fewer draws may not show.
_FEW_CELLS: Final = 8
_FEWEST_OF_FEW: Final = 600
_MOST: Final = 1_200
# Mean squares are tried until their standard error is such a part of them.
_SURE: Final = 0.04


def estimates(release: Any) -> Floats:
    """The numbers of a release, in a row."""
    found: Floats = np.asarray(release.estimate, dtype=np.float64).reshape(-1)
    return found


@dataclass(frozen=True, slots=True)
class Way:
    """One question that leads to the numbers asked for; a question yields itself first.

    told: the numbers, read off its release. note: why one might ask so. closed: whether the error
    in its own plan is that of each of these numbers. certain: whether its certain sides are theirs.
    """

    name: str
    question: Any
    note: str = ""
    told: Callable[[Any], Floats] = estimates
    closed: bool = False
    certain: bool = False

    def option(self, plan: Plan, error: float | None, note: str) -> PlanOption:
        """What a plan says of it."""
        certain = plan.certain if self.certain else ()
        asked = self.question
        return PlanOption(name=self.name, error=error, certain=certain, note=note, question=asked)


def with_ways(plan: Plan, question: Any, context: QueryContext, like: object) -> Plan:
    """The plan with all ways to answer, worked out when they are read; tried on ``like``."""
    if like is None:
        return replace(plan, alternatives=cache(partial(known, question, context, plan)))
    public = replace(
        context, table=Table(like, declared=context.declared, unit=context.unit), marks=None
    )
    return replace(plan, tried=cache(partial(tried, question, context, public, plan)))


def _ways(question: Any, context: QueryContext) -> Iterable[Way]:
    return question.ways(context) if hasattr(question, "ways") else ()


def known(question: Any, context: QueryContext, plan: Plan) -> tuple[PlanOption, ...]:
    """What else could answer: errors that follow from public facts alone."""
    found = {option.name: option for option in plan.alternatives()}
    for way in list(_ways(question, context))[1:]:
        if way.name in found:
            continue
        try:
            own = way.question.prepare(context).plan
        except OnesidedError:  # this policy, or this column, has no such answer
            continue
        error = own.options[0].error if way.closed else None
        found[way.name] = way.option(own, error, way.note)
    return tuple(found.values())


def tried(
    question: Any, context: QueryContext, public: QueryContext, plan: Plan
) -> tuple[PlanOption, ...]:
    """Every way to answer, each tried on the public table, the question's own way first."""
    ways = list(_ways(question, context))
    truth = question.truth(public) if ways else None
    found: list[PlanOption] = []
    for place, way in enumerate(ways):
        try:
            prepared = way.question.prepare(public)
            why = way.note or prepared.plan.why
            if way.closed:  # worked out, where nothing is clipped
                error = prepared.plan.options[0].error
            else:
                error, times = _measured(way, prepared, truth)
                told = f"tried {times:,} times on the public table; {why}"
                why = told.removesuffix("; ")
            found.append(way.option(prepared.plan, error, why))
        except OnesidedError:
            if not place:
                raise
    names = {option.name for option in found} | {plan.options[0].name}
    others = (option for option in plan.alternatives() if option.name not in names)
    return (*found, *others)


def _measured(way: Way, prepared: Any, truth: Any) -> tuple[float, int]:
    """The root mean square error, and how often it took. Nothing secret is in it."""
    secret, noise = prepared.read(), RoughNoise(0)
    squares: list[float] = []
    while len(squares) < _MOST:
        for _ in range(_FEWEST):
            told = way.told(prepared.result(prepared.draw(secret, noise), None))
            # Of a selection (places, numbers), those selected.
            missed = told - truth if told.ndim == 1 else told[1] - truth[told[0].astype(np.int64)]
            squares.append(float(np.mean(missed**2)))
        mean = float(np.mean(squares))
        enough = truth.size > _FEW_CELLS or len(squares) >= _FEWEST_OF_FEW
        if enough and float(np.std(squares)) <= _SURE * mean * len(squares) ** 0.5:
            break
    return math.sqrt(mean), len(squares)


class RoughNoise(NotPrivateSeededNoise):
    """Fast noise in floats, to try what is public: never for data that anything is promised of.

    Its permute and flip is the maximum of exponentials.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._floats = np.random.default_rng(seed)

    def permute_and_flip(self, rate: Loss | Number, deficits: IntArray, sizes: IntArray) -> int:
        """As :class:`onesided.noise.Noise` says, within what floats can tell."""
        found = exact_rate(rate, name="rate")
        scale = 0.0 if isinstance(found, Infinite) else float(1 / found)
        if not scale:
            near = np.flatnonzero(np.asarray(deficits) == 0)
            weights = np.asarray(sizes, dtype=np.float64)[near]
            return int(self._floats.choice(near, p=weights / weights.sum()))
        # The largest of n exponentials, from one uniform number to the power 1 / n.
        drawn = np.log(np.maximum(self._floats.random(len(sizes)), _TINY))
        reach = -np.log(-np.expm1(drawn / np.asarray(sizes, dtype=np.float64))) * scale
        return int(np.argmax(reach - np.asarray(deficits, dtype=np.float64)))
