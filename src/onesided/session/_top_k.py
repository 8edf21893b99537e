"""The largest groups, with certain upper bounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import text, whole
from onesided.engine import PublicKeys
from onesided.errors import ParameterError
from onesided.mechanism import TopK as Mechanism
from onesided.mechanism import TopKAnswer
from onesided.noise import IntArray, Noise
from onesided.policy import Guarantee
from onesided.session._context import QueryContext
from onesided.session._groups import Grouped
from onesided.session._question import Answer, PreparedQuery
from onesided.session._release import FrameMaker


@dataclass(frozen=True, slots=True)
class TopK(Grouped):
    """Which ``k`` groups have the most units, and at most how many?

    The other arguments are those of :class:`onesided.session.Grouped`.
    Errors: UnprotectableError where the policy lets a count rise, as under bounded DP, or under
    presence with ``on_excess="truncate"``.
    """

    k: int

    def prepare(self, context: QueryContext) -> PreparedQuery[IntArray, TopKRelease]:
        """Check and price the question. Looks at no row."""
        groups = self.groups(context)
        most = whole(self.k, name="k", least=1)
        if most > groups.keys.size:
            raise ParameterError(
                f"The {most} largest of {groups.keys.size} groups were asked for.",
                hint=f"Ask for at most {groups.keys.size}, or give more keys.",
                k=most,
            )
        mechanism = groups.for_policy(Mechanism, context, k=most, epsilon=self.epsilon)
        plan = groups.plan(context, mechanism, certain=("upper",))

        def draw(counts: IntArray, noise: Noise | None) -> Answer:
            return mechanism.release(counts, noise=noise)._asdict()

        def result(answer: Answer, entry: int | None) -> TopKRelease:
            found = TopKAnswer(**{k: np.asarray(v, dtype=np.int64) for k, v in answer.items()})
            return TopKRelease(
                groups.keys.part(found.indices),
                found.values,
                mechanism,
                plan.guarantee,
                entry,
                groups.frames(context),
            )

        about = {"top_k": most, "rate": text(mechanism.upper_rate)}
        return groups.prepared(
            context, plan, about=about, draw=draw, result=result, label=f"top {most} of the"
        )


@dataclass(frozen=True, slots=True)
class TopKRelease:
    """The largest groups, largest noisy count first. Everything here is public.

    keys: the selected groups. upper: a certain upper bound for each. What is not selected is not
    said to be smaller. entry: its number in the ledger; None if it cost nothing.
    """

    keys: PublicKeys
    upper: IntArray
    mechanism: Mechanism
    guarantee: Guarantee
    entry: int | None
    _make_frame: FrameMaker = field(repr=False, compare=False)

    @property
    def estimate(self) -> NDArray[Any]:
        """The bounds less the noise's median, at least 0; too large where many small compete."""
        centred = self.mechanism.estimate(self.upper, correction="median")
        clipped: NDArray[Any] = np.maximum(centred, 0)
        return clipped

    @property
    def frame(self) -> Any:
        """A table of the caller's own type: the keys, then estimate, upper, upper_certain."""
        return self._make_frame(
            {
                **self.keys.columns(),
                "estimate": self.estimate.tolist(),
                "upper": self.upper.tolist(),
                "upper_certain": [True] * self.upper.size,
            }
        )

    def __str__(self) -> str:
        return f"The {self.upper.size:,} largest groups. {self.guarantee}"
