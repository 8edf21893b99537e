"""Which groups certainly have at most a threshold, and noisy counts of those above."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import text, whole
from onesided.engine import PublicKeys
from onesided.errors import ParameterError
from onesided.mechanism import SparseAnswers, SparseVector
from onesided.noise import IntArray, Noise
from onesided.policy import Guarantee
from onesided.session._context import QueryContext
from onesided.session._groups import Grouped
from onesided.session._question import Answer, PreparedQuery
from onesided.session._release import FrameMaker


@dataclass(frozen=True, slots=True)
class Above(Grouped):
    """Which groups have more than ``threshold`` units? At most ``max_answers`` noisy counts.

    The groups before the last answer that are not among them are certified, for free.
    threshold: one for all, or one for each key, in the keys' order or by key.
    max_answers: None never stops; it then costs ε/ℓ0 per count.
    The other arguments are those of :class:`onesided.session.Grouped`.
    Errors: as for :class:`onesided.session.TopK`.
    """

    threshold: int | Sequence[int] | Mapping[Any, int]
    max_answers: int | None = field(kw_only=True)

    def prepare(self, context: QueryContext) -> PreparedQuery[IntArray, AboveRelease]:
        """Check and price the question. Looks at no row."""
        groups = self.groups(context)
        mechanism = groups.for_policy(
            SparseVector,
            context,
            thresholds=_levels(self.threshold, groups.keys),
            epsilon=self.epsilon,
            max_answers=self.max_answers,
        )
        levels = mechanism.thresholds
        plan = groups.plan(context, mechanism, certain=("upper",))

        def draw(counts: IntArray, noise: Noise | None) -> Answer:
            return mechanism.release(counts, noise=noise)._asdict()

        def result(answer: Answer, entry: int | None) -> AboveRelease:
            return AboveRelease(
                groups.keys,
                SparseAnswers(
                    certified=np.asarray(answer["certified"], dtype=np.bool_),
                    answered=np.asarray(answer["answered"], dtype=np.bool_),
                    values=np.asarray(answer["values"], dtype=np.int64),
                ),
                mechanism,
                plan.guarantee,
                entry,
                groups.frames(context),
            )

        about = {
            "thresholds": list(levels) if isinstance(levels, tuple) else levels,
            "max_answers": mechanism.max_answers,
            "rate": text(mechanism.upper_rate),
        }
        return groups.prepared(
            context, plan, about=about, draw=draw, result=result, label="threshold on the"
        )


@dataclass(frozen=True, slots=True)
class AboveRelease:
    """Which groups certainly have at most a threshold; noisy counts of others. All public.

    keys: all groups asked for, in the order they were asked. answers: what became of each.
    """

    keys: PublicKeys
    answers: SparseAnswers
    mechanism: SparseVector
    guarantee: Guarantee
    entry: int | None
    _make_frame: FrameMaker = field(repr=False, compare=False)

    @property
    def at_most(self) -> list[Any]:
        """The groups certified to have at most their threshold."""
        return self._named(self.answers.certified)

    @property
    def above(self) -> list[Any]:
        """The groups whose noisy count was above: *unknown*, probably larger."""
        return self._named(self.answers.answered)

    @property
    def not_reached(self) -> list[Any]:
        """The groups that the limit on answers left out."""
        return self._named(~(self.answers.certified | self.answers.answered))

    @property
    def frame(self) -> Any:
        """The groups reached: the keys, then certified, upper, upper_certain.

        ``upper`` is the threshold where certified, the noisy count elsewhere.
        """
        reached = np.flatnonzero(self.answers.certified | self.answers.answered)
        levels = np.broadcast_to(np.asarray(self.mechanism.thresholds), self.keys.size)
        upper = np.where(self.answers.certified, levels, self.answers.values)
        return self._make_frame(
            {
                **self.keys.part(reached).columns(),
                "certified": self.answers.certified[reached].tolist(),
                "upper": upper[reached].tolist(),
                "upper_certain": [True] * reached.size,
            }
        )

    def _named(self, chosen: NDArray[np.bool_]) -> list[Any]:
        rows = self.keys.part(np.flatnonzero(chosen)).rows
        return [row[0] for row in rows] if len(self.keys.names) == 1 else list(rows)

    def __str__(self) -> str:
        return (
            f"{len(self.at_most):,} groups certified, {len(self.above):,} unknown, "
            f"{len(self.not_reached):,} not reached. {self.guarantee}"
        )


def _levels(threshold: object, keys: PublicKeys) -> int | Sequence[int]:
    """One threshold, or one for each key in the keys' order."""
    if isinstance(threshold, Mapping):
        single = len(keys.names) == 1
        names: list[Any] = [row[0] if single else row for row in keys.rows]
        missing = [name for name in names if name not in threshold]
        if missing:
            raise ParameterError(
                f"There is no threshold for the key {missing[0]!r}.",
                hint="Give one for every key, or one number for all.",
                key=missing[0],
            )
        return [threshold[name] for name in names]
    if isinstance(threshold, Sequence | np.ndarray) and not isinstance(threshold, str):
        if len(threshold) != keys.size:
            raise ParameterError(
                f"There are {len(threshold)} thresholds for {keys.size} keys.",
                hint="Give one for every key, or one number for all.",
            )
        return list(threshold)
    return whole(threshold, name="threshold")
