"""How many units are in each group?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onesided._numbers import INFINITE, Number, text
from onesided.mechanism import Counts
from onesided.mechanism._counts import CONFIDENCE, Correction
from onesided.mechanism._cumulative import Cumulative
from onesided.mechanism._sums import Sums
from onesided.noise import IntArray, Noise
from onesided.session._desk import Desk
from onesided.session._groups import Grouped
from onesided.session._question import Answer, Ready
from onesided.session._release import Release, bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Count(Grouped):
    """How many units (rows, if the session's unit is the row) are in each group?

    confidence: how often a bound holds that is not certain, for each group on its own.
    correction: "median" or "mean" takes the noise's centre out of the estimate; "none" leaves it.
    The other arguments are those of :class:`onesided.session.Grouped`.
    """

    confidence: Number = CONFIDENCE
    correction: Correction = "median"

    def prepare(self, desk: Desk) -> Ready[IntArray, Release]:
        """Check and price the question. Looks at no row."""
        groups = self.groups(desk)
        mechanism = groups.for_policy(
            Counts, desk, epsilon=self.epsilon, correction=self.correction, clip=True
        )
        bounds(mechanism, np.zeros(0, dtype=np.int64), self.confidence)
        plan = groups.plan(
            desk,
            mechanism,
            certain=certain_sides(mechanism),
            standard_deviation=float(mechanism.distribution.variance() ** 0.5),
        )

        def draw(counts: IntArray, noise: Noise | None) -> Answer:
            return {"noisy": mechanism.noisy(counts, noise=noise)}

        def tell(answer: Answer, entry: int | None) -> Release:
            noisy = np.asarray(answer["noisy"], dtype=np.int64)
            return Release(
                keys=groups.keys,
                noisy=noisy,
                mechanism=mechanism,
                confidence=self.confidence,
                guarantee=plan.guarantee,
                entry=entry,
                interval=bounds(mechanism, noisy, self.confidence),
                _make_frame=lambda columns: desk.table.result(columns, like=groups.by),
            )

        rates = {
            "upper_rate": text(mechanism.upper_rate),
            "lower_rate": text(mechanism.lower_rate),
        }
        return groups.ready(desk, plan, about=rates, draw=draw, tell=tell)


def certain_sides(mechanism: Counts | Sums | Cumulative) -> tuple[str, ...]:
    """The sides on which the answer will never be wrong."""
    sides = {"upper": mechanism.lower_rate, "lower": mechanism.upper_rate}
    return tuple(side for side, rate in sides.items() if rate == INFINITE)
