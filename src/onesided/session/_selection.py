"""The largest groups, and the groups above a threshold: questions that pay for few answers."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import Loss, text, whole
from onesided.errors import LedgerFormatError, ParameterError
from onesided.mechanism import SparseAnswers, SparseVector, TopK, TopKAnswer
from onesided.noise import IntArray, Noise
from onesided.policy import Guarantee, Policy
from onesided.session._keys import Key, PublicKeys
from onesided.session._query import Count

if TYPE_CHECKING:
    from onesided.ledger import Account
    from onesided.session._engine import Table

CONTENT_TYPE: Final = "application/vnd.onesided.selection+json"
FrameMaker = Callable[[Mapping[str, list[Any]]], Any]


@dataclass(frozen=True, slots=True)
class TopRelease:
    """The largest groups, largest noisy count first. Everything here is public.

    keys: the selected groups. upper: a certain upper bound for each. What is not selected is not
    said to be smaller. entry: its number in the ledger; None if it cost nothing.
    """

    keys: PublicKeys
    upper: IntArray
    mechanism: TopK
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


@dataclass(frozen=True, slots=True)
class ThresholdRelease:
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
        levels = np.broadcast_to(np.asarray(self.mechanism.thresholds), len(self.keys.rows))
        upper = np.where(self.answers.certified, levels, self.answers.values)
        return self._make_frame(
            {
                **_part(self.keys, reached).columns(),
                "certified": self.answers.certified[reached].tolist(),
                "upper": upper[reached].tolist(),
                "upper_certain": [True] * reached.size,
            }
        )

    def _named(self, chosen: NDArray[np.bool_]) -> list[Any]:
        rows = _part(self.keys, np.flatnonzero(chosen)).rows
        return [row[0] for row in rows] if len(self.keys.names) == 1 else list(rows)

    def __str__(self) -> str:
        return (
            f"{len(self.at_most):,} groups certified, {len(self.above):,} unknown, "
            f"{len(self.not_reached):,} not reached. {self.guarantee}"
        )


class Selections(ABC):
    """What a session answers by selecting. A session supplies the two methods and the data.

    Order, as for counts: check, record the charge durably, then draw. The same ``id`` with the same
    question re-reads the stored answer; with another question it is refused.
    Errors: UnprotectableError where the policy lets a count rise, as under bounded DP, or under
    presence with ``on_excess="truncate"``.
    """

    policy: Policy
    _noise: Noise | None
    _table: Table
    _account: Account

    def top_k(self, k: int, **question: Any) -> TopRelease:
        """The ``k`` largest groups with certain upper bounds; other arguments as for ``count``."""
        asked = Count(**question)
        ready = self._prepare(asked)
        most = whole(k, name="k", least=1)
        if most > len(ready.keys.rows):
            raise ParameterError(
                f"The {most} largest of {len(ready.keys.rows)} groups were asked for.",
                hint=f"Ask for at most {len(ready.keys.rows)}, or give more keys.",
                k=most,
            )
        mechanism = TopK.for_policy(
            self.policy,
            k=most,
            epsilon=asked.epsilon,
            max_groups=ready.query.max_groups,
            counted=ready.query.counted,
            truncated=ready.query.truncated,
        )
        about: dict[str, object] = {"top_k": most, "rate": text(mechanism.upper_rate)}
        label = f"top {most} of the {ready.label}"
        found, guarantee, entry = self._answer(asked, ready, mechanism, about, label)
        answer = TopKAnswer(*(np.asarray(part, dtype=np.int64) for part in found))
        return TopRelease(
            _part(ready.keys, answer.indices),
            answer.values,
            mechanism,
            guarantee,
            entry,
            lambda columns: self._table.result(columns, like=ready.by),
        )

    def at_most(
        self, threshold: int | Sequence[int] | Mapping[Any, int], **question: Any
    ) -> ThresholdRelease:
        """The groups certified to have at most ``threshold``; never stops (ε/ℓ0).

        threshold: one for all, or one for each key, in the keys' order or by key.
        """
        return self.above(threshold, max_answers=None, **question)

    def above(
        self,
        threshold: int | Sequence[int] | Mapping[Any, int],
        *,
        max_answers: int | None,
        **question: Any,
    ) -> ThresholdRelease:
        """Noisy counts above ``threshold``, at most ``max_answers`` of them, in the keys' order.

        The groups before the last answer that are not among them are certified, for free.
        """
        asked = Count(**question)
        ready = self._prepare(asked)
        mechanism = SparseVector.for_policy(
            self.policy,
            thresholds=_levels(threshold, ready.keys),
            epsilon=asked.epsilon,
            max_answers=max_answers,
            max_groups=ready.query.max_groups,
            counted=ready.query.counted,
            truncated=ready.query.truncated,
        )
        levels = mechanism.thresholds
        about: dict[str, object] = {
            "thresholds": list(levels) if isinstance(levels, tuple) else levels,
            "max_answers": mechanism.max_answers,
            "rate": text(mechanism.upper_rate),
        }
        label = f"threshold on the {ready.label}"
        found, guarantee, entry = self._answer(asked, ready, mechanism, about, label)
        certified, answered, values = found
        answers = SparseAnswers(
            np.asarray(certified, dtype=np.bool_),
            np.asarray(answered, dtype=np.bool_),
            np.asarray(values, dtype=np.int64),
        )
        return ThresholdRelease(
            ready.keys,
            answers,
            mechanism,
            guarantee,
            entry,
            lambda columns: self._table.result(columns, like=ready.by),
        )

    def _answer(
        self, asked: Count, ready: Any, mechanism: Any, about: dict[str, object], label: str
    ) -> tuple[Sequence[Any], Guarantee, int | None]:
        """Recall, or check, record and draw; the parts of the mechanism's answer."""
        about = {**about, "keys": _texts(ready.keys), **ready.detail}
        charge: dict[str, Loss] = {
            edge.name: max(mechanism.loss(shift) for shift in shifts)
            for edge, shifts in self.policy.shifts(ready.query).items()
        }
        guarantee = replace(
            ready.plan.guarantee, epsilon=charge, delta=dict.fromkeys(charge, Fraction(0))
        )
        if asked.id is not None and (stored := self._account.recall(asked.id)) is not None:
            return _decode(stored.payload, about), guarantee, stored.number
        if not any(charge.values()):
            # No move of the policy can change these counts: they may be told as they are.
            return mechanism.release(self._count(ready), noise=self._noise), guarantee, None
        self._account.require(charge)
        counts = self._count(ready)
        receipt = self._account.spend(charge, label=label, detail=ready.detail, release_id=asked.id)
        answer = mechanism.release(counts, noise=self._noise)
        payload = {"about": about, "answer": [part.tolist() for part in answer]}
        self._account.store(
            receipt,
            json.dumps(payload, separators=(",", ":")).encode(),
            content_type=CONTENT_TYPE,
        )
        return answer, guarantee, receipt.number

    @abstractmethod
    def _prepare(self, question: Count) -> Any:
        """Check everything that can be checked without looking at a row."""

    @abstractmethod
    def _count(self, ready: Any) -> IntArray:
        """The true counts, in the order of the keys. Secret."""


def _part(keys: PublicKeys, places: IntArray) -> PublicKeys:
    """Some of the keys, in the order of ``places``."""
    return PublicKeys(keys.names, tuple(keys.rows[place] for place in places.tolist()))


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
        if len(threshold) != len(keys.rows):
            raise ParameterError(
                f"There are {len(threshold)} thresholds for {len(keys.rows)} keys.",
                hint="Give one for every key, or one number for all.",
            )
        return list(threshold)
    return whole(threshold, name="threshold")


def _texts(keys: PublicKeys) -> list[list[str]]:
    rows: tuple[Key, ...] = keys.rows
    return [[repr(part) for part in row] for row in rows]


def _decode(payload: bytes, about: dict[str, object]) -> list[Any]:
    """The stored answer, if it is one to this very question."""
    stored = json.loads(payload)
    if "answer" not in stored or stored.get("about") != about:
        raise LedgerFormatError(
            "The release stored under this id answers another question.",
            hint="Ask exactly the same again, or use another id.",
        )
    return list(stored["answer"])
