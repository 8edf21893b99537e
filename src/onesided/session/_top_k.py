"""The largest groups, with certain upper bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import whole
from onesided.engine import PublicKeys
from onesided.errors import ParameterError
from onesided.mechanism import Interval, TopKAnswer
from onesided.mechanism import TopK as Mechanism
from onesided.noise import IntArray, Noise
from onesided.session._context import QueryContext
from onesided.session._groups import Grouped
from onesided.session._question import Answer, PreparedQuery
from onesided.session._release import Release


@dataclass(frozen=True, slots=True)
class TopK(Grouped):
    """Which ``k`` groups have the most units, and at most how many?

    The other arguments are those of :class:`onesided.session.Grouped`.
    Errors: UnprotectableError where the policy lets a count rise, as under bounded DP, or under
    presence with ``on_excess="truncate"``.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": [1, 1, 2, 3], "place": ["a", "b", "b", "b"]})
    >>> policy = od.policy.presence(max_groups=2)
    >>> session = od.Session(visits, unit="person", policy=policy, budget=1000)
    >>> session.top_k(1, by="place", keys=["a", "b"], epsilon=90).labels
    ['b']
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
                keys=groups.keys.part(found.indices),
                upper=found.values,
                mechanism=mechanism,
                **groups.published(context, plan, entry),
            )

        label = f"top {most} of the"
        return groups.prepared(context, plan, draw=draw, result=result, label=label)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TopKRelease(Release):
    """The largest groups, largest noisy count first. Everything here is public.

    keys: the selected groups. upper: a certain upper bound for each. What is not selected is not
    said to be smaller. entry: its number in the ledger; None if it cost nothing.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": [1, 1, 2, 3], "place": ["a", "b", "b", "b"]})
    >>> policy = od.policy.presence(max_groups=2)
    >>> session = od.Session(visits, unit="person", policy=policy, budget=1000)
    >>> print(repr(session.top_k(1, by="place", keys=["a", "b"], epsilon=90)))
    The largest group.
    place  estimate  upper (certain)
    b             3                3
    """

    keys: PublicKeys
    upper: IntArray
    mechanism: Mechanism

    @property
    def title(self) -> str:
        """What it is, in a few words."""
        size = self.upper.size
        return "The largest group" if size == 1 else f"The {size:,} largest groups"

    @property
    def estimate(self) -> NDArray[Any]:
        """The bounds less the noise's median, at least 0; too large where many small compete."""
        centred = self.mechanism.estimate(self.upper, correction="median")
        clipped: NDArray[Any] = np.maximum(centred, 0)
        return clipped

    @property
    def interval(self) -> Interval:
        """From 0, which no count is below, to the certain upper bound."""
        return Interval(np.zeros_like(self.upper), self.upper, True, True)  # noqa: FBT003

    @property
    def labels(self) -> list[Any]:
        """The groups, largest first."""
        return self.keys.labels()

    def columns(self) -> dict[str, list[Any]]:
        """The keys, then estimate, upper, upper_certain."""
        return {
            **self.keys.columns(),
            "estimate": self.estimate.tolist(),
            "upper": self.upper.tolist(),
            "upper_certain": [True] * self.upper.size,
        }
