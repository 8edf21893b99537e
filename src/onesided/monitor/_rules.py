"""What a monitor was set up to do: public, fixed for its life, and compared when it resumes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np

from onesided._english import many
from onesided._numbers import Loss, Number, positive, rate, text, whole
from onesided.engine import PublicKeys, public_keys
from onesided.errors import ParameterError, UnprotectableError
from onesided.ledger import Unit
from onesided.monitor._time import Scale, length_text, read_window
from onesided.noise import IntArray
from onesided.policy import GroupCount, Guarantee, Policy
from onesided.session import Statement

FORMAT: Final = 3


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Places, thresholds, window and price. Make them with :func:`rules_for`.

    window: in ticks of ``scale``; None keeps everything (one designated time).
    charges: m, how many answers above the threshold may use one record. fall: how many visits of
    one person ε covers at once (ℓ0). max_answers: c, in all, for a designated time only.
    read_as: the types by which text of batches is read: read in two ways, a person may be two.
    rate: nats per person of the noise above each count.

    >>> from onesided import Monitor, policy
    >>> given = {"at_most": 5, "window": 7, "epsilon": 1, "policy": policy.presence(max_groups=4)}
    >>> rules = Monitor(["gym", "bar"], charges=2, **given).rules
    >>> rules.size, rules.paid, rules.rate, rules.cutoff(10)
    (2, 8, Fraction(1, 8), 3)
    """

    keys: PublicKeys
    thresholds: IntArray
    scale: Scale
    window: int | None
    charges: int
    fall: int
    max_answers: int | None
    policy: Policy
    epsilon: Fraction
    rate: Loss
    read_as: tuple[tuple[str, str], ...] = ()

    @property
    def size(self) -> int:
        """How many places there are."""
        return self.keys.size

    @property
    def paid(self) -> int:
        """The most answers that ``fall`` visits of one person can be charged: min(c, m ℓ0)."""
        most = self.charges * self.fall
        return most if self.max_answers is None else min(self.max_answers, most)

    @cached_property
    def genesis(self) -> str:
        """Where the chain of published steps begins: a hash of these rules, which are public."""
        return _digest(["onesided monitor", FORMAT, sorted(self.config().items())])

    @cached_property
    def positions(self) -> dict[object, int]:
        """Where each place stands among the keys."""
        return {row[0]: position for row, position in self.keys.places().items()}

    @cached_property
    def kinds(self) -> frozenset[type]:
        """The types of the places."""
        return frozenset(map(type, self.positions))

    @cached_property
    def ordered(self) -> tuple[IntArray, IntArray] | None:
        """Places that are whole numbers, in order, and where each stands among the keys."""
        keys = self.keys.arrays[0]
        if not isinstance(keys, np.ndarray) or keys.dtype != np.int64:
            return None
        order = np.argsort(keys)
        return keys[order], order

    @property
    def charge(self) -> dict[str, Fraction]:
        """What the monitor costs in its whole life, per edge of the policy."""
        return {edge.name: self.epsilon * edge.weight for edge in self.policy.edges}

    @cached_property
    def guarantee(self) -> Guarantee:
        """What the charge promises; it covers all steps, and :class:`Guarantees` says whom."""
        about = "All that the monitor ever publishes together."
        scope = "the batches that were accepted"
        asked = self.statement.title()
        return Guarantee(self.policy.name, self.charge, {}, about, scope, self.policy, asked)

    @cached_property
    def statement(self) -> Statement:
        """What every step is about."""
        levels = np.unique(self.thresholds)
        most = f"{levels[0]:,}" if levels.size == 1 else "its own number of"
        units = "unit" if most == "1" else "units"
        within = (
            ""
            if self.window is None
            else f" within {length_text(self.window) if self.scale.dated else self.window}"
        )
        return Statement(measure=f"At most {most} {units}{within}", by=self.keys.names)

    def cutoff(self, clock: int) -> int | None:
        """What is not after this has expired; None if nothing ever does."""
        return None if self.window is None else clock - self.window

    def unit(self, person: str) -> Unit:
        """Whom the charge is about: persons, where the policy bounds what a move takes of them.

        Elsewhere a record that goes is one visit, charged as one: each row on its own. A person
        who goes with all visits costs as much as these together.
        """
        return Unit(person if _bounds(self.policy) else None)

    def config(self) -> Mapping[str, str]:
        """What must be the same when a stored state is opened again, as text."""
        same = self.thresholds.size > 0 and bool((self.thresholds == self.thresholds[0]).all())
        levels = str(int(self.thresholds[0])) if same else _digest(self.thresholds.tolist())
        return {
            "policy": self.policy.identity,
            "policy name": self.policy.name,
            "epsilon": text(self.epsilon),
            "places": _digest([repr(row) for row in self.keys.rows]),
            "number of places": str(self.size),
            "threshold": levels,
            "window": "none" if self.window is None else str(self.window),
            "times": "dates" if self.scale.dated else "numbers",
            "charges": str(self.charges),
            "max_answers": str(self.max_answers or "none"),
            "rate": text(self.rate),
            **({"read as": "; ".join(map(": ".join, self.read_as))} if self.read_as else {}),
        }


def rules_for(
    keys: object,
    *,
    place: str,
    at_most: int | Sequence[int],
    window: object,
    epsilon: Number,
    policy: Policy,
    charges: int,
    max_answers: int | None,
    read_as: Mapping[str, str] | None = None,
) -> Rules:
    """Check every parameter, and derive the largest rate that keeps ``(epsilon, policy)``.

    Errors: ParameterError, KeysError, PolicyError; UnprotectableError if a move raises a count.

    >>> from onesided.policy import bounded
    >>> given = {"window": 7, "epsilon": 1, "charges": 1, "max_answers": None, "place": "place"}
    >>> rules_for(["gym"], at_most=5, policy=bounded(), **given)
    Traceback (most recent call last):
        ...
    onesided.errors.UnprotectableError: Under the policy 'bounded' a visit may have to pass as one
    elsewhere, which raises that count, so no 'at most' can be certain. Hint: Use a policy whose
    moves only lower counts: presence or addition_only.
    """
    names = public_keys(keys, (place,))
    scale, length = read_window(window)
    uses = whole(charges, name="charges", least=1, most=1000)
    limit = None if max_answers is None else whole(max_answers, name="max_answers", least=1)
    if limit is not None and length is not None:
        raise ParameterError(
            f"max_answers={limit} has no meaning with a sliding window: a stream has no last "
            "answer.",
            hint="Leave it out (the noise covers max_groups visits then), or use window=None for "
            "one designated time.",
            value=limit,
        )
    budget, fall = positive(epsilon, name="epsilon"), _fall(policy)
    paid = uses * fall if limit is None else min(limit, uses * fall)
    least = min(edge.weight for edge in policy.edges)
    return Rules(
        keys=names,
        thresholds=_thresholds(at_most, len(names.rows)),
        scale=scale,
        window=length,
        charges=uses,
        fall=fall,
        max_answers=limit,
        policy=policy,
        epsilon=budget,
        rate=rate(budget * least / paid, name="the rate that follows from epsilon"),
        read_as=tuple(sorted((read_as or {}).items())),
    )


def _fall(policy: Policy) -> int:
    """How many visits one move of the policy can drop; it may add none."""
    if not isinstance(policy, Policy):
        raise ParameterError(
            f"policy must be a policy, got {policy!r}.",
            hint="Use onesided.policy.presence(max_groups=...).",
            value=policy,
        )
    if policy.rules:
        raise UnprotectableError(
            f"The policy '{policy.name}' decides by row conditions who is protected; a monitor "
            "protects every visit.",
            hint="Use presence(max_groups=...), or addition_only() to protect visit by visit.",
        )
    shifts = [shift for many in policy.shifts(GroupCount()).values() for shift in many]
    if any(shift.rise for shift in shifts):
        raise UnprotectableError(
            f"Under the policy '{policy.name}' a visit may have to pass as one elsewhere, which "
            "raises that count, so no 'at most' can be certain.",
            hint="Use a policy whose moves only lower counts: presence or addition_only.",
        )
    return min(_bounds(policy), default=max(shift.fall for shift in shifts))


def _bounds(policy: Policy) -> list[int]:
    """How many visits of a person a move takes at most, by each part that says so.

    A part about whole records says nothing of how many visits a record has.
    """
    return [part.covers for part in policy.parts if part.covers is not None]


def _thresholds(given: object, size: int) -> IntArray:
    """One whole number of at least 0 per place."""
    plain = given.tolist() if isinstance(given, np.ndarray) else given
    if not isinstance(plain, Sequence) or isinstance(plain, str):
        level = whole(plain, name="at_most")
        return np.full(size, level, dtype=np.int64)
    if len(plain) != size:
        raise ParameterError(
            f"Got {many(len(plain), 'threshold')} for {many(size, 'place')}.",
            hint="Give one for all places, or one for each.",
            thresholds=len(plain),
            places=size,
        )
    return np.array([whole(level, name="at_most") for level in plain], dtype=np.int64)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()
