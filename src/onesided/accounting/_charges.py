"""The tight total of charges on record: what they say of their noise, and what follows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple, Protocol

from onesided._english import many
from onesided._numbers import (
    INFINITE,
    ORDERS,
    Infinite,
    Loss,
    Number,
    exact,
    exp_neg_bounds,
    from_text,
    log_up,
    on_orders,
    probability,
    readable,
    strict_share,
    text,
    whole,
)
from onesided.accounting._losses import (
    UNIT,
    Bound,
    LossDistribution,
    bound_loss,
    certain_loss,
    composed,
    counts_loss,
    gaussian_loss,
    guarantee,
    two_sided_loss,
    two_way_loss,
    worst_of,
)
from onesided.errors import ParameterError, PolicyError
from onesided.mechanism import Counts, Sums
from onesided.mechanism.kit import Chosen, Counted, Gaussian, OneOf, Steps, Together, steps_in
from onesided.policy import Guarantee, Policy, Shift

# The note's place in a charge's detail, and the version of what it says; a meaning never changes.
NOTE: Final = "noise"
VERSION: Final = 1
_WORTH: Final = Fraction(999, 1000)


class Charge(Protocol):
    """One charge as a ledger tells it."""

    @property
    def epsilon(self) -> Mapping[str, Loss]:
        """ε charged, per edge; INFINITE where no ε holds."""

    @property
    def delta(self) -> Mapping[str, Fraction]:
        """δ charged, per edge."""

    @property
    def detail(self) -> Mapping[str, object]:
        """What the charge says of itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTotal:
    """What several charges lose together, each edge in its own direction.

    plain: ε and δ added up; holds however each question was chosen. tight: the least (ε, δ) at
    the δ that was asked for, where that is less; holds if how many answers there are, and how much
    noise each got, was fixed before the first was seen (what is asked may depend on answers).
    fixed: whether that is known, as of one charge, however many answers it is for; elsewhere tight
    is what these charges would lose had they been the plan. budget: what holds in any case of all
    that the account may ever be charged, where it is known.
    charges: how many.

    >>> import polars as pl, onesided as od
    >>> people = pl.DataFrame({"person": [1, 2, 3]})
    >>> policy = od.policy.unbounded()
    >>> session = od.Session(people, unit="person", policy=policy, budget=1)
    >>> answers = [session.count(epsilon="1/100") for _ in range(40)]
    >>> total = session.total(delta="1/1000000")
    >>> total.plain.headline, total.tight.headline < Fraction(2, 5)
    (Fraction(2, 5), True)
    """

    plain: Guarantee
    tight: Guarantee
    charges: int
    budget: Guarantee | None = None

    @property
    def fixed(self) -> bool:
        """Whether laws and their number were fixed beforehand: one charge is one plan."""
        return self.charges <= 1

    def __repr__(self) -> str:
        plain, tight = (readable(one.headline) for one in (self.plain, self.tight))
        how = "tight" if self.fixed else "had this been the plan"
        return f"SessionTotal({many(self.charges, 'charge')}, ε = {plain} added up, {tight} {how})"

    def __str__(self) -> str:
        tight = "Tight" if self.fixed else "Had this been the plan"
        lines = [f"{many(self.charges, 'charge')}. Added up: {self.plain}"]
        lines += [] if self.budget is None else [f"By its budget: {self.budget}"]
        lines.append(f"{tight}: {self.tight}")
        return "\n".join(lines)


def noise_note(
    mechanism: object,
    shifts: Mapping[str, Iterable[Shift]],
    *,
    steps: Callable[[Shift], Steps] | None = None,
) -> dict[str, object]:
    """What a charge must say of its noise for a tight total; empty where that gains nothing.

    shifts: how much the counts, or the sums in their steps, can rise and fall along each edge: one
    law for both. Only noise on both sides loses less together than the sum of its ε.
    steps: what the mechanism's steps lose along a shift; by default what it tells itself.

    >>> noise_note(Counts(1, "1/2"), {"a -> b": [Shift(rise=0, fall=1)]})["edges"]
    {'a -> b': [[0, 1]]}
    """
    # Exactly these: what inherits from them may draw other noise.
    if type(mechanism) is Counts or type(mechanism) is Sums:
        rates = (mechanism.upper_rate, mechanism.lower_rate)
        if any(isinstance(one, Infinite) for one in rates):
            return {}
        upper, lower = (text(one) for one in rates if not isinstance(one, Infinite))
        edges = {edge: sorted([s.rise, s.fall] for s in many) for edge, many in shifts.items()}
        return {
            "version": VERSION,
            "kind": "counts",
            "upper": upper,
            "lower": lower,
            "edges": edges,
        }
    # What inherits from a mechanism of ours may draw other noise: its steps are not taken on trust.
    kind = type(mechanism)
    ours = kind.__module__.partition(".")[0] == __name__.partition(".")[0] and "steps" in vars(kind)
    known = getattr(mechanism, "steps", None) if steps is None and ours else steps
    if known is None:
        return {}
    return steps_note(
        {edge: OneOf(tuple(dict.fromkeys(map(known, many)))) for edge, many in shifts.items()}
    )


def steps_note(steps: Mapping[str, Steps]) -> dict[str, object]:
    """What a charge says of steps that are known per edge; empty where that gains nothing.

    >>> from onesided.mechanism.kit import both_ways
    >>> steps_note({"a -> b": both_ways(Fraction(1, 2))})["edges"]
    {'a -> b': {'forward': '1/2', 'backward': '1/2'}}
    """
    if not any(one.gains for one in steps.values()):
        return {}
    written = {edge: one.written() for edge, one in steps.items()}
    return {"version": VERSION, "kind": "steps", "edges": written}


def several_note(
    parts: Iterable[tuple[Mapping[str, object], Mapping[str, Loss]]],
) -> dict[str, object]:
    """What one charge of several answers says of their noise: each one's note, and its part of ε.

    Empty where none has a note, for then nothing is gained by it.

    >>> note = noise_note(Counts(1, 1), {"a -> b": [Shift(rise=0, fall=1)]})
    >>> several_note([(note, {"a -> b": Fraction(1)}), ({}, {"a -> b": Fraction(2)})])["kind"]
    'several'
    """
    told = [
        {"note": dict(note), "epsilon": {edge: text(one) for edge, one in epsilon.items()}}
        for note, epsilon in parts
    ]
    if not any(one["note"] for one in told):
        return {}
    return {"version": VERSION, "kind": "several", "parts": told}


def charge_loss(
    note: object, *, edge: str, epsilon: Loss, delta: Fraction = Fraction(0)
) -> LossDistribution:
    """The loss along ``edge`` of a charge of (ε, δ) that says ``note`` of its noise.

    A note that is not believed tells nothing: then all that is known is (ε, δ).

    >>> note = noise_note(Counts(1, 1), {"a -> b": [Shift(rise=0, fall=1)]})
    >>> charge_loss(note, edge="a -> b", epsilon=Fraction(1)).largest
    Fraction(1, 1)
    >>> charge_loss(None, edge="a -> b", epsilon=Fraction(1)).delta(1)
    Fraction(0, 1)
    """
    if delta:
        return bound_loss(Bound(epsilon, delta))
    first, *others = (
        certain_loss(one) if isinstance(one, Fraction | Infinite) else steps_loss(one)
        for one in _told(note, edge, epsilon)
    )
    return sum(others, first)


def _told(note: object, edge: str, epsilon: Loss) -> Iterator[Steps | Loss]:
    """The steps of a charge of ε along an edge, one for each answer, or ε where no more is known.

    A note that cannot be read, or does not lose exactly the ε that was charged, is not believed.
    """
    parts = parts_of(note, edge=edge) if epsilon else None
    if parts is not None and sum((one for _, one in parts), Fraction(0)) == epsilon:
        for own, one in parts:
            yield from _told(own, edge, one)
        return
    known = noted(note, edge=edge) if epsilon else None
    yield epsilon if known is None or known.epsilon != epsilon else known


def total_of(policy: Policy, charges: Iterable[Charge], *, delta: Number) -> SessionTotal:
    """What ``charges`` under one policy lose together: added up, and tight at ``delta``.

    Pure. Never swaps, joins or averages directions: each edge is summed on its own.
    Errors: PolicyError for a charge with other edges than the policy's.

    >>> from onesided.policy import presence
    >>> print(total_of(presence(max_groups=1), [], delta=0).plain)
    Under the policy 'presence' -- present -> not present: ε = 0 (pure, δ = 0).
    """
    allowed = probability(delta, name="delta")
    held = Charged.grouped(policy, charges)
    added = {name: held.plain(name) for name in held.alike}
    tight = {}
    for name, plain in added.items():
        orders = by_orders(held.divergences(name), allowed - plain.delta)
        tight[name] = less(plain, held.loss(name), allowed, orders)
    told = (guarantee(policy, some) for some in (added, tight))
    return SessionTotal(plain=next(told), tight=next(told), charges=held.count)


@dataclass(frozen=True, slots=True)
class Charged:
    """Charges of one account, alike ones together: per edge how many of a note, ε and δ.

    >>> from onesided.policy import presence
    >>> Charged.grouped(presence(max_groups=1), []).loss("present -> not present").largest
    Fraction(0, 1)
    """

    alike: Mapping[str, Mapping[tuple[str, Loss, Fraction], int]]
    notes: Mapping[str, object]
    count: int

    @classmethod
    def grouped(cls, policy: Policy, charges: Iterable[Charge]) -> Charged:
        """Those charges. Errors: PolicyError for one with other edges than the policy's."""
        names = [edge.name for edge in policy.edges]
        alike: dict[str, Counter[tuple[str, Loss, Fraction]]] = {n: Counter() for n in names}
        notes: dict[str, object] = {}
        count = 0
        for count, charge in enumerate(charges, start=1):  # noqa: B007 - told below
            if set(charge.epsilon) != set(names):
                raise PolicyError(
                    f"A charge is on {', '.join(charge.epsilon)}, not on the edges of "
                    f"{policy.name!r}.",
                    hint="Give the charges of this policy's account alone.",
                )
            note = charge.detail.get(NOTE)
            key = repr(note)
            notes[key] = note
            for name in names:
                alike[name][key, charge.epsilon[name], charge.delta.get(name, Fraction(0))] += 1
        return cls(alike, notes, count)

    def plain(self, edge: str) -> Bound:
        """Added up."""
        groups = self.alike[edge].items()
        epsilon: Loss = sum((n * one for (_, one, _), n in groups), Fraction(0))
        delta = sum((n * one for (_, _, one), n in groups), Fraction(0))
        return Bound(epsilon, min(Fraction(1), delta))

    def loss(self, edge: str) -> LossDistribution:
        """The loss along that edge of all together, had they been the plan."""
        laws: Counter[LossDistribution] = Counter()
        for (key, epsilon, delta), count in self.alike[edge].items():
            laws[charge_loss(self.notes[key], edge=edge, epsilon=epsilon, delta=delta)] += count
        return _composed(tuple(laws.items()))

    def divergences(self, edge: str) -> tuple[Loss, ...]:
        """D_α along that edge of all together, but for what they carry as a δ."""
        return _added(
            tuple(count * one for one in _along(self.notes[key], edge, epsilon, whole=not delta))
            for (key, epsilon, delta), count in self.alike[edge].items()
        )


_composed = lru_cache(maxsize=4)(composed)  # the way back often has the same ones


def less(plain: Bound, loss: LossDistribution, allowed: Fraction, orders: Loss = INFINITE) -> Bound:
    """The tight bound at that δ; the plain one where no more than a thousandth is gained by it.

    orders: what :func:`by_orders` says: of moves that may be of several laws it takes the worst at
    each order, ``loss`` the worst at each level. Any δ buys a little ε, also of a loss that is
    certain: not worth a promise that may fail.

    >>> less(Bound(1), certain_loss(1), Fraction(1, 10**6))
    Bound(epsilon=Fraction(1, 1), delta=Fraction(0, 1))
    """
    epsilon = min(loss.epsilon(allowed), orders)
    if epsilon is INFINITE or (plain.delta <= allowed and plain.epsilon * _WORTH <= epsilon):
        return plain
    return Bound(epsilon, allowed)


def by_orders(divergences: Iterable[Loss], delta: Fraction) -> Loss:
    """The least ε at that δ that divergences at the orders leave; INFINITE for none.

    >>> by_orders([Fraction(0)] * 11, Fraction(1)), by_orders([Fraction(0)] * 11, Fraction(0))
    (Fraction(0, 1), INFINITE)
    """
    if not delta > 0:
        return INFINITE
    spent = log_up(1 / delta, bits=96)  # as the account has it
    finite = (pair for pair in zip(ORDERS, divergences, strict=False) if pair[1] != INFINITE)
    return min((_up(rho + spent / (order - 1)) for order, rho in finite), default=INFINITE)


def parts_of(note: object, *, edge: str) -> list[tuple[object, Loss]] | None:
    """The notes of several answers and what each lost along an edge; None if it tells none.

    A part of several parts is not believed: nobody writes one.
    """
    if not isinstance(note, Mapping) or note.get("version") != VERSION:
        return None
    parts = note.get("parts")
    if note.get("kind") != "several" or not isinstance(parts, list) or not parts:
        return None
    try:
        found = [(one["note"], from_text(one["epsilon"][edge])) for one in parts]
    except (ParameterError, TypeError, KeyError, ValueError):
        return None
    nested = any(isinstance(own, Mapping) and own.get("kind") == "several" for own, _ in found)
    return None if nested or any(not one >= 0 for _, one in found) else found


def noted(note: object, *, edge: str) -> Steps | None:
    """The steps that a note tells along ``edge``; None if it tells none.

    >>> note = noise_note(Counts(1, "1/2"), {"a -> b": [Shift(rise=0, fall=1)]})
    >>> noted(note, edge="a -> b").epsilon, noted(note, edge="b -> a")
    (Fraction(1, 1), None)
    """
    if not isinstance(note, Mapping) or note.get("version") != VERSION:
        return None
    edges = note.get("edges")
    told = edges.get(edge) if isinstance(edges, Mapping) else None
    try:
        if note.get("kind") == "steps":
            return steps_in(told)
        if note.get("kind") != "counts" or not isinstance(told, list) or not told:
            return None
        rates = {side: text(exact(note.get(side), name=side)) for side in ("upper", "lower")}
        return OneOf(tuple(steps_in({**rates, "rise": r, "fall": f}) for r, f in told))
    except (ParameterError, TypeError, KeyError, ValueError):
        return None


def steps_loss(steps: Steps) -> LossDistribution:
    """The loss of steps along their move, exact or larger: composed, each by its own law.

    Of :class:`onesided.mechanism.kit.Chosen` the law is that of randomised response, which no
    mechanism with both promises exceeds; of several that may be it, that or the worst of them.

    >>> from onesided.mechanism.kit import both_ways
    >>> steps_loss(Together((both_ways(Fraction(1, 2)),), 3)).largest
    Fraction(3, 2)
    """
    if isinstance(steps, Counted):
        return counts_loss(Counts(steps.upper, steps.lower), steps.shift)
    if isinstance(steps, Together):
        return total_loss([steps_loss(one) for one in steps.steps]).times(steps.times)
    if isinstance(steps, Gaussian):
        return _gaussian(steps)
    forward, backward = steps.epsilon, steps.backward
    both = certain_loss(forward)
    if not isinstance(forward, Infinite) and not isinstance(backward, Infinite):
        both = two_way_loss(forward, backward)
    if isinstance(steps, Chosen):
        return both
    # Of two laws that none of them exceeds, the one that loses less together with others.
    return min(_worst(steps), both, key=lambda one: one.mean)


@lru_cache(maxsize=64)  # many charges move the same
def _gaussian(steps: Gaussian) -> LossDistribution:
    return gaussian_loss(steps.variance, steps.squares, alike=steps.alike)


def _worst(steps: OneOf) -> LossDistribution:
    """At each level the largest probability of losing so much; smaller shifts lose no more."""
    rates = {(one.upper, one.lower) for one in steps.steps if isinstance(one, Counted)}
    shifts = [one.shift for one in steps.steps if isinstance(one, Counted)]
    if len(rates) == 1 and len(shifts) == len(steps.steps):
        return counts_loss(Counts(*rates.pop()), shifts)
    return worst_of([steps_loss(one) for one in steps.steps])


# The tight total of several releases, edge by edge.


def total_loss(releases: Sequence[LossDistribution]) -> LossDistribution:
    """All releases together along one direction; none at all lose nothing.

    Condition: how much noise each release gets was fixed before the first answer was seen (what
    is *asked* may depend on answers). Rates chosen from earlier answers are covered by
    adding up ε only.

    >>> total_loss([certain_loss(1), certain_loss(2)]).largest, total_loss([]).largest
    (Fraction(3, 1), Fraction(0, 1))
    """
    return composed(tuple(Counter(releases).items()))


def tight_guarantee(
    policy: Policy, releases: Mapping[str, Sequence[LossDistribution]], *, delta: Number
) -> Guarantee:
    """(ε, δ) per edge of ``policy``, each edge in its own direction, never less than the truth.

    releases: edge names to the loss distributions of the releases along that edge.
    Errors: PolicyError for an edge that is missing or unknown.

    >>> from onesided.accounting import certain_loss
    >>> from onesided.policy import presence
    >>> losses = {"present -> not present": [certain_loss(1), certain_loss("1/2")]}
    >>> print(tight_guarantee(presence(max_groups=1), losses, delta=0))
    Under the policy 'presence' -- present -> not present: ε = 3/2 (pure, δ = 0).
    """
    allowed = probability(delta, name="delta")
    names = [edge.name for edge in policy.edges]
    if set(releases) != set(names):
        raise PolicyError(
            f"The losses must name each edge of {policy.name!r} once: {', '.join(names)}.",
            hint="An edge along which nothing is lost has an empty list.",
            given=tuple(releases),
        )
    totals = {name: total_loss(releases[name]) for name in names}
    return guarantee(
        policy, {name: Bound(each.epsilon(allowed), allowed) for name, each in totals.items()}
    )


# Directed Rényi divergences of what ships, rounded up: what an account of the kind renyi adds.
#
# Along a move from X to Y, with P the law of the answer on X and Q that on Y,
#
#     D_α(P || Q) = ln E_P[(P / Q)^(α - 1)] / (α - 1),   E over the outputs of X alone.
#
# The way back, D_α(Q || P), is another number; nothing here joins the two. Over answers that are
# chosen in the light of earlier ones these add up order by order, which is what the filter of
# ``onesided.ledger`` does (docs/proofs/renyi.md).

_BITS: Final = 192
_MORE: Final = 64  # bits below a mass's own, for what Horner's rule rounds up


def divergences(loss: LossDistribution) -> tuple[Loss, ...]:
    """D_α of one loss distribution at each of the orders, rounded up to multiples of 2^-64.

    INFINITE where an infinite loss has any probability: the supports differ. Never above the
    largest loss, and never below the truth: masses and losses are rounded up, and so is the
    logarithm of ``Σ mass e^((α - 1) loss)``.

    >>> from onesided.accounting import certain_loss, two_way_loss
    >>> set(divergences(certain_loss(1)))
    {Fraction(1, 1)}
    >>> round(float(divergences(two_way_loss("1/10", "1/10"))[0]), 5)
    0.00996
    """
    top = loss.largest
    if isinstance(top, Infinite):
        return (INFINITE,) * len(ORDERS)
    found: list[Loss] = []
    for order in ORDERS:
        power = order - 1
        decay = -(-exp_neg_bounds(power * loss.step, bits=_BITS)[1] * 2**_BITS // 1)
        # Horner's rule in whole numbers, each step rounded up: a share of e^(power top).
        share = 0
        for mass in loss.masses:
            share = -(-share * decay >> _BITS) + (mass << _MORE)
        sure = Fraction(share, UNIT << _MORE)
        least = top + log_up(sure, bits=_BITS) / power
        found.append(on_orders(max(Fraction(0), min(top, least))))
    return tuple(found)


def charge_divergences(
    detail: Mapping[str, object], *, epsilon: Mapping[str, Loss], delta: Mapping[str, Fraction]
) -> dict[str, tuple[Loss, ...]]:
    """D_α per edge of a charge of (ε, δ), from what its ``detail`` says of its noise.

    By the noise where a note tells it and it loses exactly the ε that was charged; anything else
    (noise on one side, decisions, sparse vector, monitors, notes that cannot be read) enters at ε,
    for a loss of at most ε has no larger divergence at any order. An ε of INFINITE is of noise that
    keeps none, such as the discrete Gaussian: then the note alone tells.

    >>> from onesided.accounting import noise_note
    >>> from onesided.mechanism import Counts
    >>> from onesided.policy import Shift
    >>> edge, one = "a -> b", Fraction(1, 10)
    >>> note = noise_note(Counts(one, one), {edge: [Shift(rise=0, fall=1)]})
    >>> told = charge_divergences({"noise": note}, epsilon={edge: one}, delta={edge: Fraction(0)})
    >>> round(float(told[edge][0]), 4), round(float(told[edge][-1]), 4)
    (0.01, 0.0994)
    """
    told = detail.get("noise")
    return {
        edge: _along(told, edge, one, whole=not delta.get(edge)) for edge, one in epsilon.items()
    }


class Repeated(NamedTuple):
    """What so many equal charges lose together along one edge, in nats.

    added: ε times their number. filtered: the least ε of a renyi account that holds them, however
    they are chosen. planned: the tight total, where nothing but they was planned beforehand.

    >>> Repeated(added=Fraction(1), filtered=Fraction(1, 2), planned=Fraction(2, 5)).planned
    Fraction(2, 5)
    """

    added: Loss
    filtered: Loss
    planned: Loss


def repeated(
    detail: Mapping[str, object], *, epsilon: Mapping[str, Loss], times: int, delta: Number
) -> dict[str, Repeated]:
    """What ``times`` charges of ``detail`` and ε lose together per edge, three ways, at that δ.

    Errors: ParameterError for a δ that is not strictly between 0 and 1, or no number of times.

    >>> from onesided.accounting import noise_note
    >>> from onesided.mechanism import Counts
    >>> from onesided.policy import Shift
    >>> edge, one = "a -> b", Fraction(1, 10)
    >>> note = noise_note(Counts(one, one), {edge: [Shift(rise=0, fall=1)]})
    >>> told = repeated({"noise": note}, epsilon={edge: one}, times=365, delta="1/1000000")[edge]
    >>> [round(float(some), 2) for some in told]
    [36.5, 12.28, 10.31]
    """
    number = whole(times, name="times", least=1, most=10**6)
    allowed = strict_share(delta, name="delta")
    each = charge_divergences(detail, epsilon=epsilon, delta={})
    found = {}
    for edge, one in epsilon.items():
        filtered = min(number * one, by_orders([number * rho for rho in each[edge]], allowed))
        loss = charge_loss(detail.get(NOTE), edge=edge, epsilon=one).times(number)
        found[edge] = Repeated(number * one, filtered, min(filtered, loss.epsilon(allowed)))
    return found


def _along(note: object, edge: str, epsilon: Loss, *, whole: bool) -> tuple[Loss, ...]:
    """One edge. A charge that carries a δ, or a note that says another ε, enters at ε."""
    known = _told(note, edge, epsilon) if whole else (epsilon,)
    return _added(
        (_up(one),) * len(ORDERS) if isinstance(one, Fraction | Infinite) else _of_steps(one)
        for one in known
    )


@lru_cache(maxsize=1024)
def _of_steps(steps: Steps) -> tuple[Loss, ...]:
    """Of steps whose loss is finite, at each order; most charges repeat a few."""
    if isinstance(steps, Together):
        once = _added(map(_of_steps, steps.steps))
        return tuple(steps.times * one for one in once)
    if isinstance(steps, OneOf):
        return tuple(max(at) for at in zip(*map(_of_steps, steps.steps), strict=True))
    if isinstance(steps, Gaussian):
        return tuple(on_orders(steps.divergence(order)) for order in ORDERS)
    at_most = (_up(steps.epsilon),) * len(ORDERS)
    if isinstance(steps, Chosen):
        return tuple(map(min, at_most, divergences(steps_loss(steps))))
    # One count falls and another rises: the two are drawn by themselves, so their numbers add up.
    (a, b), shift = (steps.upper, steps.lower), steps.shift
    each = (
        divergences(two_sided_loss(first, second, fall=size))
        for first, second, size in ((a, b, shift.fall), (b, a, shift.rise))
    )
    return tuple(map(min, at_most, _added(each)))


def _up(number: Loss) -> Loss:
    return number if isinstance(number, Infinite) else on_orders(number)


def _added(several: Iterable[tuple[Loss, ...]]) -> tuple[Loss, ...]:
    total: tuple[Loss, ...] = (Fraction(0),) * len(ORDERS)
    for one in several:
        total = tuple(mine + theirs for mine, theirs in zip(total, one, strict=True))
    return total
