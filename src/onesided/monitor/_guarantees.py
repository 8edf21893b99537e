"""Whose guarantee it is: three statements, in numbers and in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from onesided._numbers import INFINITE, Loss, exp_neg_bounds, round_down, round_up, text, whole
from onesided.errors import ParameterError
from onesided.monitor._rules import Rules

_NOWHERE: Final = (
    "A visit that has no place, or one that is not listed, is in no count: 'at most' is about the "
    "others."
)


@dataclass(frozen=True, slots=True)
class Guarantees:
    """What a monitor promises, over its whole life unless said otherwise; ε in nats, rounded up.

    visit: hiding one visit of one person. visits: hiding any ``fall`` visits of one person,
    wherever and whenever they were; the ε that the monitor was given. :meth:`person`: hiding all
    that a person did within one window. for_ever: hiding a person altogether.

    >>> from onesided import Monitor, policy
    >>> presence = policy.presence(max_groups=3)
    >>> promise = Monitor(["gym"], at_most=5, window="14d", epsilon=1, policy=presence).guarantees()
    >>> promise.visits, promise.person(places=1), promise.for_ever
    (Fraction(1, 1), Fraction(2, 3), INFINITE)
    """

    rules: Rules

    @property
    def visit(self) -> Loss:
        """One visit: one charge for each of its m answers."""
        uses, limit = self.rules.charges, self.rules.max_answers
        return self.rules.rate * (uses if limit is None else min(uses, limit))

    @property
    def visits(self) -> Loss:
        """Any ``max_groups`` visits of one person."""
        return self.rules.rate * self.rules.paid

    def person(self, *, places: int) -> Loss:
        """All visits of one person, to that many places, within any period of one window.

        Such visits can be in answers over two windows, and m + 1 answers about one place span at
        least a window, so there are at most 2 m of them. For one designated time it is m.
        """
        count = whole(places, name="places", least=1)
        return self.rules.rate * self._charges(count)

    @property
    def for_ever(self) -> Loss:
        """All visits of one person: INFINITE, as for any stream, unless the time is designated."""
        return INFINITE if self.rules.window is not None else self.person(places=self.rules.size)

    def power(self, count: int) -> float:
        """The probability that a place with a true count of ``count`` is certified, rounded down.

        For a place that is asked about and has the lowest threshold.
        """
        if self.rules.thresholds.size == 0:
            raise ParameterError("There are no places.", hint="Give some.")
        room = int(self.rules.thresholds.min()) + 1 - whole(count, name="count")
        miss = self.rules.rate * max(room, 0)
        if isinstance(miss, Fraction):
            return round_down(1 - exp_neg_bounds(miss, bits=80)[1])
        return 1.0 if room > 0 else 0.0

    @property
    def sentences(self) -> tuple[str, ...]:
        """The statements for people, with their numbers."""
        return _stream(self) if self.rules.window is not None else _designated(self)

    def as_dict(self) -> dict[str, object]:
        """For JSON: exact text beside decimals that are rounded up; null is unbounded."""
        places = self.rules.fall
        table = {
            "one visit": self.visit,
            f"any {places} visits of a person": self.visits,
            f"a person over one window, {places} places": self.person(places=places),
            "a person for ever": self.for_ever,
        }
        return {
            "policy": self.rules.policy.name,
            "rate": text(self.rules.rate),
            "epsilon": {name: text(loss) for name, loss in table.items()},
            "epsilon_decimal": {
                name: None if math.isinf(round_up(loss)) else round_up(loss)
                for name, loss in table.items()
            },
            "in_words": list(self.sentences),
        }

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def _charges(self, places: int) -> int:
        rules = self.rules
        most = rules.charges * places * (1 if rules.window is None else 2)
        return most if rules.max_answers is None else min(rules.max_answers, most)


def _stream(promise: Guarantees) -> tuple[str, ...]:
    rules = promise.rules
    fall, m = rules.fall, rules.charges
    many = "any visit" if fall == 1 else f"any {fall} visits of one person"
    twice = promise.person(places=fall)
    return (
        f"One visit: whatever is published, from the first step to the last, is at most "
        f"{_odds(promise.visit)} times as likely as if that visit had not been made "
        f"(ε = {text(promise.visit)}: at most {_times(m)} charged).",
        f"All that is charged to the ledger, ε = {text(promise.visits)}, hides {many}.",
        f"One person over any period of one window: visits within a window can reach answers over "
        f"two, so up to {2 * m} charges per place. For someone at {fall} "
        f"place{'' if fall == 1 else 's'} in that time the odds are at most {_odds(twice)} "
        f"(ε = {text(twice)}); each further place adds ε = {text(promise.person(places=1))}.",
        "One person for ever: unbounded. Someone who comes back window after window is charged "
        "again each time, as in any stream that never ends.",
        "'Certified' is never wrong about the batches that were accepted, and costs nothing: it "
        "says how few people there were, never that someone was there. That someone was NOT at a "
        f"place is not protected. {_NOWHERE}",
        "The ids, times and arrival of batches are public. Send a batch also when it is empty: a "
        "schedule that depends on visits would tell of them.",
    )


def _designated(promise: Guarantees) -> tuple[str, ...]:
    rules = promise.rules
    fall = rules.fall
    ever = promise.for_ever
    return (
        f"One visit: whatever is published is at most {_odds(promise.visit)} times as likely as if "
        f"that visit had not been made (ε = {text(promise.visit)}).",
        f"One person at up to {fall} of the places at the designated time: at most "
        f"{_odds(promise.visits)} times (ε = {text(promise.visits)}; this is charged to the "
        "ledger).",
        f"One person at all {rules.size:,} places: ε = {text(ever)}. Nothing expires, so this also "
        "holds for ever.",
        "'Certified' is never wrong about the batches that were accepted, and costs nothing. That "
        f"someone was NOT at a place is not protected. {_NOWHERE}",
        "The ids and arrival of batches are public. Send a batch also when it is empty.",
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _odds(loss: Loss) -> str:
    value = round_up(loss)
    if value > 20:
        return "more than 485 million"
    return f"{math.ceil(math.exp(value) * 100) / 100:,.2f}"
