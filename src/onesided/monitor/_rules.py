"""What a monitor was set up to do, and what follows: times, rules, and whose guarantee it is."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from onesided._english import many
from onesided._numbers import (
    INFINITE,
    Loss,
    Number,
    exp_neg_bounds,
    positive,
    rate,
    round_down,
    round_up,
    text,
    whole,
)
from onesided.engine import PublicKeys, public_keys
from onesided.errors import DataError, ParameterError, UnprotectableError
from onesided.ledger import Unit
from onesided.noise import IntArray
from onesided.policy import GroupCount, Guarantee, Policy, SensitivePresence
from onesided.schema import BOOLEAN
from onesided.session import Statement

# Far from the ends of int64, so that a window can always be added or taken away.
LATEST: Final = 2**61
NEVER: Final = -(2**62)
# Microseconds of the years 1 to 9999 of UTC, which Python's moments can say.
YEARS: Final = (-62_135_596_800_000_000, 253_402_300_799_999_999)
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND: Final = dt.timedelta(microseconds=1)
_FINE: Final = ("ns", "ps", "fs", "as")  # of which 64 bits hold a few centuries
_UNITS: Final = {
    "ms": (10**3, "millisecond"),
    "s": (10**6, "second"),
    "min": (60 * 10**6, "minute"),
    "m": (60 * 10**6, "minute"),
    "h": (3600 * 10**6, "hour"),
    "d": (86_400 * 10**6, "day"),
    "w": (7 * 86_400 * 10**6, "week"),
}
_DATE: Final = re.compile(
    r"(?<!\d)(\d{4})-?(\d{2})-?(\d{2})(?:[T_ .-]?(\d{2})(?:[:._-]?(\d{2})(?:[:._-]?(\d{2}))?)?)?"
    r"Z?(?!\d)"
)
_NUMBER: Final = re.compile(r"\d+")
_DURATION: Final = re.compile(r"(\d{1,9})\s*(ms|s|min|m|h|d|w)")


@dataclass(frozen=True, slots=True)
class Scale:
    """How times are counted: ``dated`` in microseconds of UTC, else in the caller's own numbers.

    >>> Scale(dated=True).text(Scale(dated=True).ticks("2026-01-05", name="time"))
    '2026-01-05T00:00:00Z'
    >>> Scale(dated=False).ticks(12, name="time")
    12
    """

    dated: bool

    def ticks(self, value: object, *, name: str) -> int:
        """One moment as a whole number. A datetime without a zone is taken to be in UTC.

        Errors: DataError naming what cannot be a time on this scale.
        """
        try:
            found = _dated(value) if self.dated else _counted(value)
        except (ValueError, TypeError, OverflowError):
            found = None
        low, high = YEARS if self.dated else (-LATEST, LATEST)
        if found is None or not low <= found <= high:
            wanted = "a date and time" if self.dated else "a whole number, as the window is"
            raise DataError(
                f"{name} must be {wanted}, got {value!r}.",
                hint='Give a datetime or text such as "2026-11-21T07:30" with a window such as '
                '"2h", or whole numbers with a whole window. Nothing was drawn or stored.',
                value=value,
            )
        return found

    def text(self, ticks: int) -> str:
        """A moment for people and files: ISO 8601 in UTC, or the number."""
        if not self.dated:
            return str(ticks)
        return (_EPOCH + ticks * _MICROSECOND).isoformat().replace("+00:00", "Z")


def in_years(moments: NDArray[np.datetime64]) -> bool:
    """Whether moments of NumPy, none missing, can be said in microseconds by Python.

    >>> in_years(np.array(["2026-01-05", "300000-01-01"], dtype="datetime64[D]"))
    False
    """
    if not moments.size or np.datetime_data(moments.dtype)[0] in _FINE:
        return True
    return all(isinstance(end.item(), dt.date) for end in (moments.min(), moments.max()))


def _dated(value: object) -> int | None:
    if isinstance(value, str):
        value = dt.datetime.fromisoformat(value)
    elif isinstance(value, np.datetime64):
        # NumPy would make another moment of one that is far away.
        fine = np.datetime_data(value.dtype)[0] in _FINE
        value = (value.astype("datetime64[us]") if fine else value).item()
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time.min)
    if not isinstance(value, dt.datetime):
        return None
    aware = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
    return (aware - _EPOCH) // _MICROSECOND


def _counted(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        return None
    return int(value)


def read_window(window: object) -> tuple[Scale, int | None]:
    """The scale of times and the window's length on it; None for a window without end.

    Errors: ParameterError for a length that is not above 0.

    >>> read_window("1h"), read_window(7)
    ((Scale(dated=True), 3600000000), (Scale(dated=False), 7))
    """
    if window is None:
        return Scale(dated=False), None
    if isinstance(window, dt.timedelta) or (isinstance(window, str) and not window.isdecimal()):
        return Scale(dated=True), duration(window, name="window")
    return Scale(dated=False), whole(window, name="window", least=1, most=LATEST)


def duration(value: object, *, name: str) -> int:
    """A length of time in microseconds: a timedelta, or text such as "90s", "5m", "2h", "14d".

    Errors: ParameterError for anything else, and for a length that is not above 0.

    >>> duration("90s", name="--every"), duration("1m", name="--every")
    (90000000, 60000000)
    """
    found = 0
    if isinstance(value, dt.timedelta):
        found = value // _MICROSECOND
    elif isinstance(value, str) and (match := _DURATION.fullmatch(value.strip())):
        found = int(match[1]) * _UNITS[match[2]][0]
    if 1 <= found <= LATEST:
        return found
    raise ParameterError(
        f"{name} must be a length of time above 0, got {value!r}.",
        hint='Give text such as "90s", "5m", "2h" or "14d", or a timedelta.',
        value=value,
    )


def length_words(window: str) -> str:
    """A length of time in words.

    >>> length_words("14d"), length_words("1h"), length_words("7")
    ('14 days', '1 hour', '7')
    """
    match = _DURATION.fullmatch(window.strip())
    return window if match is None else many(int(match[1]), _UNITS[match[2]][1])


def length_text(ticks: int) -> str:
    """A length of time in microseconds, as people write it: "14 days, 0:00:00"."""
    return str(ticks * _MICROSECOND)


def time_in_name(name: str, scale: Scale) -> int | None:
    """The end of the period that the name speaks of; its last number where those are counted.

    None if it speaks of none.

    >>> scale = Scale(dated=True)
    >>> scale.text(time_in_name("visits-2026-11-21T07", scale))
    '2026-11-21T08:00:00Z'
    >>> time_in_name("visits-12", Scale(dated=False)), time_in_name("visits", scale)
    (12, None)
    """
    if not scale.dated:
        numbers = _NUMBER.findall(name)
        return int(numbers[-1]) if numbers else None
    found = _DATE.search(name)
    if found is None:
        return None
    given = [int(part) for part in found.groups() if part is not None]
    length = dt.timedelta(**{("days", "hours", "minutes", "seconds")[len(given) - 3]: 1})
    try:
        end = dt.datetime(*given).replace(tzinfo=dt.UTC) + length  # type: ignore[arg-type]  # noqa: DTZ001
    except (ValueError, OverflowError):  # also the last day of the year 9999
        return None
    return scale.ticks(end, name="the time in a name")


# What a monitor was set up to do: public, fixed for its life, and compared when it resumes.

FORMAT: Final = 3


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Places, thresholds, window and price. Make them with :func:`rules_for`.

    window: in ticks of ``scale``; None keeps everything (one designated time).
    charges: m, how many answers above the threshold may use one record. fall: how many visits of
    one person ε covers at once (ℓ0). max_answers: c, in all, for a designated time only.
    alarms: s of each place where alarms are told as well; then there are two ``cells`` for each
    place, everybody and those whose visit is open, in this order, and decisions about both.
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
    alarms: IntArray | None = None

    @property
    def cells(self) -> int:
        """How many numbers there are decisions about."""
        return self.size if self.alarms is None else 2 * self.size

    @cached_property
    def signs(self) -> IntArray:
        """Of each cell, 1 where its number falls along moves and -1 where it rises."""
        return np.repeat(np.array([1, -1], dtype=np.int64), self.size)[: self.cells]

    @cached_property
    def levels(self) -> IntArray:
        """What the number of each cell, with its sign, is certified not to exceed."""
        if self.alarms is None:
            return self.thresholds
        return np.concatenate((self.thresholds, -self.alarms))

    @property
    def deciding(self) -> tuple[str, ...]:
        """The columns that tell which visits are open, where alarms are told."""
        return () if self.alarms is None else columns_of(self.policy)

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
        levels = {"at_most": level_of(self.thresholds)}
        if self.alarms is not None:
            levels["at_least"] = level_of(self.alarms)
        limits = {name: level for name, level in levels.items() if isinstance(level, int)}
        said = {n: f"{limits[n]:,}" if n in limits else "its own number of" for n in levels}
        measure = f"At most {said['at_most']} unit{'s' * (said['at_most'] != '1')}"
        if self.window is not None:
            length = length_text(self.window) if self.scale.dated else self.window
            measure += f" within {length}"
        if self.alarms is not None:
            measure += f"; alarm: at least {said['at_least']} whose visit is open"
        ends = limits.get("at_most"), limits.get("at_least")
        return Statement(measure=measure, by=self.keys.names, at_most=ends[0], at_least=ends[1])

    def cutoff(self, clock: int) -> int | None:
        """What is not after this has expired; None if nothing ever does."""
        return None if self.window is None else clock - self.window

    def unit(self, person: str) -> Unit:
        """Whom the charge is about: persons, where the policy bounds what a move takes of them.

        Elsewhere a record that goes is one visit, charged as one: each row on its own. A person
        who goes with all visits costs as much as these together.
        """
        visits = self.alarms is not None or not _bounds(self.policy)
        return Unit(None if visits else person)

    def config(self) -> Mapping[str, str]:
        """What must be the same when a stored state is opened again, as text."""
        return {
            "policy": self.policy.identity,
            "policy name": self.policy.name,
            "epsilon": text(self.epsilon),
            "places": _digest([repr(row) for row in self.keys.rows]),
            "number of places": str(self.size),
            "threshold": _levels(self.thresholds),
            **({} if self.alarms is None else {"alarm": _levels(self.alarms)}),
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
    at_least: int | Sequence[int] | None = None,
) -> Rules:
    """Check every parameter, and derive the largest rate that keeps ``(epsilon, policy)``.

    With ``at_least`` both decisions have it: a move of a visit that is told apart as sensitive
    takes it away, which lowers the count of everybody, or makes it open, which raises the count of
    those; these are two edges. Errors: ParameterError, KeysError, PolicyError; UnprotectableError
    if a move raises a count.

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
    alarms = None if at_least is None else _thresholds(at_least, len(names.rows), name="at_least")
    thresholds = _thresholds(at_most, len(names.rows))
    budget = positive(epsilon, name="epsilon")
    fall = _fall(policy) if alarms is None else _visits(policy, thresholds, alarms, limit)
    paid = uses * fall if limit is None else min(limit, uses * fall)
    least = min(edge.weight for edge in policy.edges)
    return Rules(
        keys=names,
        thresholds=thresholds,
        alarms=alarms,
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


def columns_of(policy: Policy) -> tuple[str, ...]:
    """The columns that the policy's conditions read.

    >>> from onesided.policy import sensitive_presence
    >>> columns_of(sensitive_presence("NOT agreed", max_groups=1))
    ('agreed',)
    """
    names = [name for rule in policy.rules for name in rule.condition.readable().columns]
    return tuple(dict.fromkeys(names))


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
            hint="Use presence(max_groups=...), or addition_only() to protect visit by visit; "
            "sensitive_presence(...) tells alarms as well, with at_least=.",
        )
    shifts = [shift for many in policy.shifts(GroupCount()).values() for shift in many]
    if any(shift.rise for shift in shifts):
        raise UnprotectableError(
            f"Under the policy '{policy.name}' a visit may have to pass as one elsewhere, which "
            "raises that count, so no 'at most' can be certain.",
            hint="Use a policy whose moves only lower counts: presence or addition_only.",
        )
    return min(_bounds(policy), default=max(shift.fall for shift in shifts))


def _visits(policy: Policy, safe: IntArray, alarms: IntArray, limit: int | None) -> int:
    """One visit, which is what a monitor with alarms is about: it has one place, and one kind.

    Errors: UnprotectableError for another policy; ConditionError for a condition on other columns
    than true and false ones; ParameterError where both may be said at once.
    """
    if not isinstance(policy, SensitivePresence) or policy.max_groups != 1:
        raise UnprotectableError(
            "Alarms count visits that are open, and hide from whom they are not: that takes the "
            f"policy of a map, visit by visit, and this is {policy!r}.",
            hint="Use sensitive_presence(condition, max_groups=1).",
        )
    condition = policy.condition.readable()
    condition.bind(dict.fromkeys(condition.columns, BOOLEAN))  # as batches have them
    if limit is not None:
        raise ParameterError(
            f"max_answers={limit} has no meaning beside alarms: it would count both decisions.",
            hint="Leave it out; charges= says how many answers may use one visit.",
            value=limit,
        )
    for row in np.flatnonzero(alarms <= safe)[:1].tolist():
        s, t = int(alarms[row]), int(safe[row])
        raise ParameterError(
            f"at_least={s} and at_most={t}: a place with {s} visitors could be safe and an alarm "
            "at once.",
            hint=f"Both are certain, so at_least must be above at_most: {t + 1} or more.",
            at_least=s,
            at_most=t,
        )
    return 1


def _bounds(policy: Policy) -> list[int]:
    """How many visits of a person a move takes at most, by each part that says so.

    A part about whole records says nothing of how many visits a record has.
    """
    return [part.covers for part in policy.parts if part.covers is not None]


def level_of(levels: IntArray) -> int | list[int]:
    """The level of all places, or each one's own."""
    same = levels.size > 0 and bool((levels == levels[0]).all())
    found: int | list[int] = int(levels[0]) if same else levels.tolist()
    return found


def _levels(levels: IntArray) -> str:
    """One level of all places, or what stands for each one's own."""
    found = level_of(levels)
    return str(found) if isinstance(found, int) else _digest(found)


def _thresholds(given: object, size: int, *, name: str = "at_most") -> IntArray:
    """One whole number of at least 0 per place."""
    plain = given.tolist() if isinstance(given, np.ndarray) else given
    if not isinstance(plain, Sequence) or isinstance(plain, str):
        level = whole(plain, name=name)
        return np.full(size, level, dtype=np.int64)
    if len(plain) != size:
        raise ParameterError(
            f"Got {many(len(plain), 'threshold')} for {many(size, 'place')}.",
            hint="Give one for all places, or one for each.",
            thresholds=len(plain),
            places=size,
        )
    return np.array([whole(level, name=name) for level in plain], dtype=np.int64)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


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
        decisions = 1 if self.rules.alarms is None else 2
        return self.rules.rate * self._charges(count) * decisions

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
        return self._certain(int(self.rules.thresholds.min()) + 1 - whole(count, name="count"))

    def alarm_power(self, count: int) -> float:
        """The probability that a place with so many open visitors is an alarm, rounded down.

        For a place that is asked about and has the highest level. 0 where alarms are not told.
        """
        levels = self.rules.alarms
        if levels is None or levels.size == 0:
            return 0.0
        return self._certain(whole(count, name="count") - int(levels.max()) + 1)

    def _certain(self, room: int) -> float:
        miss = self.rules.rate * max(room, 0)
        if isinstance(miss, Fraction):
            return round_down(1 - exp_neg_bounds(miss, bits=80)[1])
        return 1.0 if room > 0 else 0.0

    @property
    def sentences(self) -> tuple[str, ...]:
        """The statements for people, with their numbers."""
        if self.rules.alarms is not None:
            return _of_alarms(self)
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
        f"(ε = {text(promise.visit)}: at most {'once' if m == 1 else f'{m} times'} charged).",
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


def _of_alarms(promise: Guarantees) -> tuple[str, ...]:
    """Of a monitor of safe places and alarms."""
    rules = promise.rules
    m, stream = rules.charges, rules.window is not None
    times = "once" if m == 1 else f"{m} times"
    period = "in a window" if stream else "in all"
    again = "rests until what it used has left the window" if stream else "is not asked again"
    loss = promise.person(places=1)
    scope = "One person over any period of one window" if stream else "One person"
    ever = (
        "One person for ever: unbounded, as in any stream that never ends."
        if stream
        else f"Nothing expires: at all {rules.size:,} places it is ε = {text(promise.for_ever)}."
    )
    return (
        f"One sensitive visit: whatever is published is at most {_odds(promise.visit)} times as "
        "likely as if it had not been made, and as if it had been open "
        f"(ε = {text(promise.visit)} for each of the two, which is charged to the ledger).",
        f"{scope}: each place adds up to ε = {text(loss)}, for both decisions together. {ever}",
        "Two decisions, one rule: 'safe' and 'alarm' cost nothing; an answer that is not certified "
        f"is charged to the visits that it used, at most {times}, and that decision {again}. So a "
        f"place without alarm is asked {times} {period} at this ε.",
        "'Safe' is certain: at most so many people, of all that were recorded. 'Alarm' is certain: "
        "at least so many different people whose recorded visit is open. Never both.",
        "Not protected: open visits; that somebody was NOT at a place. Who is not open is never "
        f"part of an alarm. {_NOWHERE}",
        "The ids, times and arrival of batches are public. Send a batch also when it is empty.",
    )


def _designated(promise: Guarantees) -> tuple[str, ...]:
    rules = promise.rules
    fall, ever = rules.fall, promise.for_ever
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


def _odds(loss: Loss) -> str:
    value = round_up(loss)
    if value > 20:
        return "more than 485 million"
    return f"{math.ceil(math.exp(value) * 100) / 100:,.2f}"
