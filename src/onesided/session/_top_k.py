"""The largest groups, with certain upper bounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onesided._english import many
from onesided._numbers import INFINITE, Number, whole
from onesided.engine import PublicKeys
from onesided.errors import ParameterError
from onesided.mechanism import Interval, TopKAnswer
from onesided.mechanism import TopK as Mechanism
from onesided.mechanism.kit import confident
from onesided.noise import IntArray, Noise, TwoSidedGeometric
from onesided.session._confidence import below_selected
from onesided.session._context import QueryContext
from onesided.session._groups import Grouped
from onesided.session._question import Answer, PreparedQuery
from onesided.session._release import Release
from onesided.session._text import share_words


@dataclass(frozen=True, slots=True)
class TopK(Grouped):
    """Which ``k`` groups have the most units, and at most how many?

    confidence: also bound the counts from below, all at once with this confidence, whichever
        groups are selected; None bounds them from above alone.
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
    confidence: Number | None = field(default=None, kw_only=True)

    def measure(self, units: str) -> str:
        """What the numbers are."""
        one = self.k == 1
        return f"The {'largest number' if one else f'{self.k:,} largest numbers'} of {units}"

    def prepare(self, context: QueryContext) -> PreparedQuery[IntArray, TopKRelease]:
        """Check and price the question. Looks at no row."""
        groups = self.groups(context)
        most = whole(self.k, name="k", least=1)
        if most > groups.keys.size:
            raise ParameterError(
                f"The {most} largest groups were asked for, of {many(groups.keys.size, 'group')}.",
                hint=f"Ask for at most {groups.keys.size}, or give more keys.",
                k=most,
            )
        mechanism = groups.for_policy(Mechanism, context, k=most, epsilon=self.epsilon)
        if self.confidence is not None:
            confident(self.confidence)
        plan = groups.plan(context, mechanism, certain=("upper",))

        def draw(counts: IntArray, noise: Noise | None) -> Answer:
            return mechanism.release(counts, noise=noise)._asdict()

        def result(answer: Answer, entry: int | None) -> TopKRelease:
            found = TopKAnswer(**{k: np.asarray(v, dtype=np.int64) for k, v in answer.items()})
            return TopKRelease(
                keys=groups.keys.part(found.indices),
                upper=found.values,
                mechanism=mechanism,
                candidates=groups.keys.size,
                lower=self._lower(mechanism, found, groups.keys.size),
                confidence=self.confidence,
                **groups.published(context, plan, entry),
            )

        return groups.prepared(context, plan, draw=draw, result=result)

    def _lower(self, mechanism: Mechanism, found: TopKAnswer, size: int) -> IntArray | None:
        if self.confidence is None:
            return None
        law = TwoSidedGeometric(mechanism.upper_rate, INFINITE)
        return below_selected(law, found.values, size, self.confidence)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TopKRelease(Release):
    """The largest groups, largest noisy count first. Everything here is public.

    keys: the selected groups. upper: a certain upper bound for each. candidates: how many groups
    there were to select from; ``estimate`` is drawn towards 0 where noise alone would have led so
    many to such values. lower: where a confidence was
    asked for, lower bounds that hold all at once with it, whichever groups are selected. What is
    not selected is not said to be smaller.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": [1, 1, 2, 3], "place": ["a", "b", "b", "b"]})
    >>> policy = od.policy.presence(max_groups=2)
    >>> session = od.Session(visits, unit="person", policy=policy, budget=1000)
    >>> release = session.top_k(1, by="place", keys=["a", "b"], epsilon=90)
    >>> print(repr(release))
    Rows without a value of 'place' are in no group. A certain upper bound is about rows with a
    value of 'place'.
    ε = 90 on present -> not present is large: an answer may change the odds that somebody holds
    about one person by a factor of e^90.
    The largest number of units (person) by place.
    place  estimate  upper (certain)
    b             3                3
    """

    keys: PublicKeys
    upper: IntArray
    mechanism: Mechanism
    candidates: int
    lower: IntArray | None = None
    confidence: Number | None = None

    @property
    def estimate(self) -> NDArray[Any]:
        """The bounds less the noise's mean, shrunk by how many are expected to be noise alone."""
        found: NDArray[Any] = self.mechanism.shrunk(self.upper, candidates=self.candidates)
        return found

    @property
    def interval(self) -> Interval:
        """From the lower bound, or 0, which no count is below, to the certain upper bound."""
        lower = np.zeros_like(self.upper) if self.lower is None else self.lower
        return Interval(lower, self.upper, self.lower is None, True)  # noqa: FBT003

    @property
    def labels(self) -> list[Any]:
        """The groups, largest first."""
        return self.keys.labels()

    def columns(self) -> dict[str, list[Any]]:
        """The keys, then estimate, the lower bound if there is one, upper, upper_certain."""
        size = self.upper.size
        below = {} if self.lower is None else {"lower": self.lower.tolist()}
        sure = {} if self.lower is None else {"lower_certain": [False] * size}
        return {
            **self.keys.columns(),
            "estimate": self.estimate.tolist(),
            **below,
            "upper": self.upper.tolist(),
            **sure,
            "upper_certain": [True] * size,
        }

    @property
    def bound_words(self) -> str:
        """How sure a bound is that is not certain."""
        return "" if self.confidence is None else share_words(self.confidence, together=True)
