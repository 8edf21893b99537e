"""Amounts of privacy per edge, and the filter that decides whether a charge fits.

A charge is one value: per edge its pure ε, INFINITE where none holds, its δ, and in a renyi account
its divergences. A sum of ε with an INFINITE one is INFINITE, and then orders alone decide.

Everything here is pure and exact. Each edge is a privacy filter of its own. In a pure account
charges chosen adaptively add up, and a charge fits when no edge's total passes that edge's budget.

In a renyi account of budget (ε, δ) each charge also adds its directed divergences at the orders
α = 1 + 2^k, and a charge fits while some order's sum is at most B(α) = ε - ln(1/δ)/(α - 1), or the
plain sum is at most ε. The filter then fails with probability 0.5681 δ at most, so two fifths of δ
are kept out for charges that carry a δ of their own (proof: docs/proofs/renyi.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from operator import add
from types import MappingProxyType
from typing import Final, TypeAlias, TypeVar

from onesided._numbers import (
    INFINITE,
    ORDER_UNIT,
    ORDERS,
    Infinite,
    Loss,
    Number,
    exact,
    log_up,
    non_negative,
    plain,
    probability,
    readable,
    shown,
    text,
)
from onesided.errors import BudgetExceededError, ParameterError
from onesided.store import canonical, plain_text, read_json

# Totals of charges with unrelated denominators grow; past this a row would no longer be O(1)
# (and Python refuses to print whole numbers of more than 4300 digits).
MAX_DIGITS: Final = 1000
_LARGEST: Final = 10**MAX_DIGITS
_OFTEN: Final = 4096


Check: TypeAlias = Callable[..., Fraction]  # of a value and its name: reads it, or refuses it
Orders: TypeAlias = tuple[int, ...]
Added = TypeVar("Added", Fraction, Loss)
PURE, RENYI = "pure", "renyi"
ACCOUNTING: Final = (PURE, RENYI)
# What the eleven orders leave of δ, rounded down.
_KEPT: Final = Fraction(2, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """ε and δ per edge: a budget, a charge, or what was spent so far. Never negative.

    epsilon: INFINITE of a charge that no pure ε holds of, and of sums with one, where there are
    orders; else finite, and so are all budgets.

    orders: in a renyi account the divergences per edge and order, and of a budget the share B(α)
    of each order, in multiples of 2^-64; empty in a pure one.
    """

    epsilon: Mapping[str, Loss]
    delta: Mapping[str, Fraction]
    orders: Mapping[str, Orders] = field(default_factory=dict)

    def __add__(self, other: Amounts) -> Amounts:
        return Amounts(
            epsilon=_added(self.epsilon, other.epsilon),
            delta=_added(self.delta, other.delta),
            orders={
                edge: tuple(map(add, mine, other.orders[edge]))
                for edge, mine in self.orders.items()
            },
        )

    @property
    def known(self) -> dict[str, Fraction]:
        """ε per edge, but where it is INFINITE."""
        return {edge: one for edge, one in self.epsilon.items() if isinstance(one, Fraction)}

    @property
    def accounting(self) -> str:
        """The kind of account that these are of."""
        return RENYI if self.orders else PURE

    def nothing(self) -> Amounts:
        """Nothing spent on any edge of this budget."""
        none = dict.fromkeys(self.epsilon, Fraction(0))
        zeros = dict.fromkeys(self.orders, (0,) * len(ORDERS))
        return Amounts(epsilon=none, delta=none, orders=zeros)

    # Of a budget.

    def left(self, spent: Amounts) -> Amounts:
        """The most that one more charge may be on each edge, where only its (ε, δ) is known."""
        epsilon: dict[str, Loss] = {}
        for edge, limit in self.known.items():
            added = spent.epsilon[edge]
            rest = [] if isinstance(added, Infinite) else [limit - added]
            rest += [Fraction(b - used, ORDER_UNIT) for b, used in self._by_order(edge, spent)]
            epsilon[edge] = max(rest, default=Fraction(0))
        delta = {edge: limit - spent.delta[edge] for edge, limit in self._delta_limits().items()}
        return Amounts(epsilon=epsilon, delta=delta)

    def used(self, spent: Amounts) -> Amounts:
        """The (ε, δ) of what was spent: the sums; by an order's sum where that is less, at δ."""
        left = self.left(spent).known
        epsilon: dict[str, Loss] = {e: limit - left[e] for e, limit in self.known.items()}
        delta = {
            edge: self.delta[edge] if epsilon[edge] < spent.epsilon[edge] else some
            for edge, some in spent.delta.items()
        }
        return Amounts(epsilon=epsilon, delta=delta)

    def over(self, total: Amounts) -> list[tuple[str, str]]:
        """The edges whose budget ``total`` passes, each with the unit: "" for ε, "δ = " for δ.

        Written so that anything that is not at most the limit is refused.
        """
        limits = self._delta_limits()
        return [
            ("", edge)
            for edge, limit in self.epsilon.items()
            if not total.epsilon[edge] <= limit
            and not any(used <= b for b, used in self._by_order(edge, total))
        ] + [(_DELTA, edge) for edge, most in limits.items() if not total.delta[edge] <= most]

    def times(self, spent: Amounts, charge: Amounts) -> int | None:
        """How many such charges fit now; None where one changes nothing. Sums are linear."""
        limits, pure = self._delta_limits(), self.known
        most: list[int] = []
        for edge, asked in charge.epsilon.items():
            if asked:
                added, rest = spent.epsilon[edge], [0]
                if not isinstance(asked, Infinite) and not isinstance(added, Infinite):
                    rest = [(pure[edge] - added) // asked]
                pairs = zip(self._by_order(edge, spent), charge.orders.get(edge, ()), strict=False)
                rest += [(b - used) // one for (b, used), one in pairs if one]
                most.append(max(rest))
            if charge.delta[edge]:
                most.append((limits[edge] - spent.delta[edge]) // charge.delta[edge])
        return max(0, min(most)) if most else None

    def parts(self, charge: Amounts) -> dict[str, Loss]:
        """What part of each edge's whole budget a charge is, as the filter counts it.

        So many such charges fit as often as all parts add up to 1 at most. INFINITE where none do.
        """
        found: dict[str, Loss] = {}
        for edge, limit in self.known.items():
            asked, ones = charge.epsilon[edge], charge.orders.get(edge, ())
            shares = zip(self.orders.get(edge, ()), ones, strict=True)
            ways = [Fraction(one, share) for share, one in shares if share > 0]
            ways += [asked / limit] if limit and not isinstance(asked, Infinite) else []
            found[edge] = min(ways, default=INFINITE) if asked else Fraction(0)
        return found

    def closest(self, edge: str, spent: Amounts, charge: Amounts) -> tuple[int, Fraction, Fraction]:
        """The order that has most left in such charges, what one adds there, and what is left."""
        left = (share - used for share, used in self._by_order(edge, spent))
        pairs = zip(ORDERS, charge.orders[edge], left, strict=True)
        order, one, rest = max(pairs, key=lambda told: Fraction(told[2], max(1, told[1])))
        return order, Fraction(one, ORDER_UNIT), Fraction(rest, ORDER_UNIT)

    def _by_order(self, edge: str, spent: Amounts) -> Iterable[tuple[int, int]]:
        """Each order's share and what was added there."""
        return zip(self.orders[edge], spent.orders[edge], strict=True) if self.orders else ()

    def _delta_limits(self) -> Mapping[str, Fraction]:
        if not self.orders:
            return self.delta
        return {edge: limit * _KEPT for edge, limit in self.delta.items()}

    def texts(self) -> tuple[str, str]:
        """ε and δ as canonical JSON, numbers as exact text such as "1/10"."""
        return _write(self.epsilon), _write(self.delta)

    def orders_text(self) -> dict[str, str]:
        """The divergences, multiples of 2^-64 with blanks between; edges of nothing left out."""
        return {edge: " ".join(map(str, some)) for edge, some in self.orders.items() if any(some)}

    def with_orders(self, told: object) -> Amounts:
        """These, with what :meth:`orders_text` wrote. Errors: ValueError for anything else."""
        if not isinstance(told, Mapping) or not told.keys() <= self.epsilon.keys():
            raise ValueError(told)
        orders = {edge: _orders(told.get(edge, _ZEROS)) for edge in self.epsilon}
        return replace(self, orders=orders)


_ZEROS: Final = " ".join("0" for _ in ORDERS)


@lru_cache(maxsize=256)
def _orders(written: object) -> Orders:
    if not isinstance(written, str):
        raise TypeError(written)
    found = tuple(int(one) for one in written.split(" ") if one.isascii() and one.isdigit())
    if " ".join(map(str, found)) != written or len(found) != len(ORDERS):
        raise ValueError(written)
    return found


def read(epsilon: str, delta: str) -> Amounts:
    """Read what :meth:`Amounts.texts` wrote. Errors: ValueError for anything else."""
    deltas = _read(delta)
    finite = {edge: one for edge, one in deltas.items() if isinstance(one, Fraction)}
    if len(finite) < len(deltas):
        raise ValueError(delta)
    return Amounts(epsilon=_read(epsilon), delta=finite)


def _added(left: Mapping[str, Added], right: Mapping[str, Added]) -> dict[str, Added]:
    # Most charges are 0 on most edges, and adding fractions takes a greatest common divisor.
    return {edge: value + right[edge] if right[edge] else value for edge, value in left.items()}


def _write(amounts: Mapping[str, Loss]) -> str:
    return canonical({edge: text(value) for edge, value in amounts.items()})


def _read(written: str) -> Mapping[str, Loss]:
    return (_read_often if len(written) <= _OFTEN else _read_once)(written)


def _read_once(written: str) -> Mapping[str, Loss]:
    table = read_json(written)
    if not isinstance(table, dict):
        raise TypeError(written)
    return MappingProxyType(
        {
            edge: INFINITE if value == "INFINITE" else exact(value, name=f"amount of {edge!r}")
            for edge, value in table.items()
        }
    )


# Most rows repeat a few charges.
_read_often: Final = lru_cache(maxsize=256)(_read_once)


def read_budget(
    budget: Mapping[str, Loss | Number],
    delta_budget: Mapping[str, Loss | Number] | None,
    *,
    accounting: str = PURE,
) -> Amounts:
    """A budget as given by people: ε at least 0 per edge and above 0 somewhere; δ default 0."""
    edges = _table(budget, name="budget")
    epsilon = {
        plain_text(edge, name="an edge's name", empty=False): non_negative(
            value, name=f"the budget of edge {edge!r}"
        )
        for edge, value in edges.items()
    }
    if not any(value > 0 for value in epsilon.values()):
        raise ParameterError(
            f"the budget must be above 0 on some edge, got {dict(edges)!r}.",
            hint="Give each edge of the policy its budget.",
            value=budget,
        )
    deltas = _table(delta_budget or {}, name="delta_budget")
    delta = _fill(epsilon, deltas, what="δ budget", check=non_negative)
    found = Amounts(epsilon=epsilon, delta=delta)
    _refuse_unwieldy(found)
    return granted(found, accounting)


def granted(budget: Amounts, accounting: str) -> Amounts:
    """As an account of that kind has it: in a renyi one with each order's share, rounded down.

    Errors: ParameterError for another kind, or without a δ to share.
    """
    if accounting not in ACCOUNTING:
        raise ParameterError(
            f"accounting={accounting!r} is unknown.",
            hint='Use "pure", which adds ε, or "renyi", which adds divergences at a δ budget.',
            value=accounting,
        )
    if accounting == PURE:
        return budget
    if not any(budget.delta.values()) or any(one >= 1 for one in budget.delta.values()):
        raise ParameterError(
            'accounting="renyi" promises (ε, δ), and needs a delta_budget above 0 and below 1.',
            hint='Give delta_budget="1/1000000", or less than one in the number of units.',
            value=dict(budget.delta),
        )
    return replace(
        budget,
        orders={
            edge: tuple(_share(epsilon, budget.delta[edge], order) for order in ORDERS)
            for edge, epsilon in budget.known.items()
        },
    )


def _share(epsilon: Fraction, delta: Fraction, order: int) -> int:
    """B(α) = ε - ln(1/δ)/(α - 1) in multiples of 2^-64, rounded down; no order has any of δ = 0."""
    if not delta:
        return -1
    return (epsilon - log_up(1 / delta, bits=96) / (order - 1)) * ORDER_UNIT // 1


def read_limits(
    epsilon: Mapping[str, Loss | Number],
    delta: Mapping[str, Loss | Number] | None,
    *,
    budget: Amounts,
) -> Amounts:
    """The most that one asker may spend: at least 0 on known edges, 0 on those left out."""
    told, deltas = _table(epsilon, name="allowance"), _table(delta or {}, name="delta allowance")
    return Amounts(
        epsilon=_fill(budget.epsilon, told, what="allowance", check=non_negative),
        delta=_fill(budget.epsilon, deltas, what="δ allowance", check=non_negative),
    )


def read_charge(
    epsilon: Mapping[str, Loss | Number],
    delta: Mapping[str, Loss | Number] | None,
    *,
    budget: Amounts,
    divergences: Mapping[str, Sequence[Loss]] | None = None,
) -> Amounts:
    """A charge as asked: finite, on known edges, at least one. An edge left out costs 0.

    divergences: per edge its Rényi divergences at the eleven orders, taken up by a renyi account
    alone. Where none are told, or more than ε, or the charge carries a δ, an order adds ε. Where ε
    is INFINITE they are all that is known, and all finite.

    What no move changes is charged 0, on record for totals. Errors: BudgetExceededError for an
    infinite loss (no budget covers it); ParameterError for NaN, negative amounts, unknown edges,
    and a charge of no edge.
    """
    epsilons, deltas = _table(epsilon, name="charge"), _table(delta or {}, name="delta")
    endless = {edge: one for edge, one in epsilons.items() if isinstance(one, Infinite)}
    rest = {edge: one for edge, one in epsilons.items() if edge not in endless}
    _require_known(budget.epsilon, endless, what="charge")
    charge = Amounts(
        epsilon={**_fill(budget.epsilon, rest, what="charge", check=non_negative), **endless},
        delta=_fill(budget.epsilon, finite(deltas), what="δ charge", check=probability),
    )
    if not epsilons and not deltas:
        raise ParameterError(
            f"a charge must name some edge, got {dict(epsilons)!r}.",
            hint="Charge 0 on edges along which nothing is lost. Nothing was recorded.",
            value=epsilon,
        )
    if not budget.orders:
        finite(endless)
        return charge
    return _by_law(charge, divergences)


def upward(number: Fraction) -> int:
    return -(-number.numerator * ORDER_UNIT // number.denominator)


def _by_law(charge: Amounts, told: object) -> Amounts:
    """The charge, with what each order adds: as told, and never more than ε.

    Errors: ParameterError for anything but eleven numbers of at least 0 on edges of the account.
    """
    table = {} if told is None else _table(told, name="divergences")
    _require_known(charge.epsilon, table, what="divergences")
    known = {edge: _told_at_orders(some, edge) for edge, some in table.items()}

    def adds(edge: str, epsilon: Loss) -> Orders:
        if isinstance(epsilon, Infinite):
            orders = [upward(one) for one in known.get(edge, ()) if isinstance(one, Fraction)]
            if len(orders) < len(ORDERS) or charge.delta[edge]:
                finite({edge: epsilon})
            return tuple(orders)
        most = upward(epsilon)
        if charge.delta[edge] or not known.get(edge):
            return (most,) * len(ORDERS)
        return tuple(
            most if isinstance(one, Infinite) else min(most, upward(one)) for one in known[edge]
        )

    return replace(charge, orders={e: adds(e, epsilon) for e, epsilon in charge.epsilon.items()})


def _told_at_orders(value: object, edge: str) -> tuple[Loss, ...]:
    """One number for each order, or none at all."""
    name = f"a divergence on edge {edge!r}"
    told: Sequence[object] = value if isinstance(value, Sequence) else ()
    if told is not value or isinstance(value, str) or len(told) not in (0, len(ORDERS)):
        raise ParameterError(
            f"{name} is one of {len(ORDERS)}, one for each order; got {value!r}.",
            hint="Give onesided.accounting.charge_divergences, or none. Nothing was recorded.",
            edge=edge,
        )
    return tuple(
        one
        if isinstance(one, Infinite) or (isinstance(one, Fraction) and one.numerator >= 0)
        else non_negative(one, name=name)
        for one in told
    )


def _table(given: object, *, name: str) -> Mapping[str, object]:
    if isinstance(given, Mapping):
        return given
    raise ParameterError(
        f"{name} must map edges to numbers, got {given!r}.",
        hint='Give a dict such as {"sensitive -> open": "1/2"}.',
        value=given,
    )


def finite(charge: Mapping[str, object]) -> Mapping[str, object]:
    for edge, value in charge.items():
        if isinstance(value, Infinite):
            raise BudgetExceededError(
                f"asked an infinite loss on edge {edge!r}.",
                hint="No budget of ε covers an infinite loss, nor an account that adds divergences "
                "one of which none are told: choose noise that hides this edge. "
                "Nothing was drawn and nothing was recorded.",
                edge=edge,
                asked=value,
            )
    return charge


def _fill(
    edges: Mapping[str, object], given: Mapping[str, object], *, what: str, check: Check
) -> dict[str, Fraction]:
    """``given`` on every edge, 0 where nothing was said."""
    _require_known(edges, given, what=what)
    return {edge: check(given.get(edge, 0), name=f"the {what} on edge {edge!r}") for edge in edges}


def _require_known(edges: Mapping[str, object], given: Mapping[str, object], *, what: str) -> None:
    """Errors: ParameterError for an edge that the account has not."""
    for edge in given:
        if edge not in edges:
            known = ", ".join(repr(name) for name in edges)
            raise ParameterError(
                f"{what} on unknown edge {edge!r}.",
                hint=f"The account's edges are {known}. Nothing was recorded.",
                edge=edge,
                edges=tuple(edges),
            )


def settle(charge: Amounts, *, spent: Amounts, budget: Amounts, releases: int) -> Amounts:
    """The totals after ``charge``; the decision of the filter.

    Errors: BudgetExceededError when an edge would pass its budget; ParameterError when the exact
    total would no longer fit a row.
    """
    total = spent + charge
    over = budget.over(total)
    if over:
        raise _refusal(
            [_short(*one, charge, spent, budget) for one in over],
            releases=releases,
            named=len(budget.epsilon) > 1,
        )
    _refuse_unwieldy(total)
    return total


_DELTA: Final = "δ = "
Short: TypeAlias = tuple[str, str, Loss, Fraction, Fraction]


def _short(unit: str, edge: str, charge: Amounts, spent: Amounts, budget: Amounts) -> Short:
    """On an edge that falls short what was asked, what is left, and of what; perhaps by order."""
    left = budget.left(spent)
    if unit:
        return unit, edge, charge.delta[edge], left.delta[edge], budget.delta[edge]
    if isinstance(charge.epsilon[edge], Infinite) and budget.orders:
        order, asked, rest = budget.closest(edge, spent, charge)
        share = budget.orders[edge][ORDERS.index(order)]
        return f"D at order {order} = ", edge, asked, rest, Fraction(share, ORDER_UNIT)
    return unit, edge, charge.epsilon[edge], left.known[edge], budget.known[edge]


def _refusal(short: Sequence[Short], *, releases: int, named: bool) -> BudgetExceededError:
    """Says what was asked, what is left and what to ask for, on each edge that falls short.

    named: whether there is another edge, from which its name tells it.
    """
    said = "; ".join(
        f"asked {unit}{_told(asked, unit, up=True)}, {_told(left, unit)} left of "
        f"{_told(limit, unit)}{f' on edge {edge!r}' * named}"
        for unit, edge, asked, left, limit in short
    )
    so_far = f"{releases} release{'' if releases == 1 else 's'} so far"
    unit, edge, asked, left, limit = min(short, key=_fitting)
    if left > 0 and isinstance(asked, Infinite):
        advice = 'what is left counts ε, which this noise does not keep: ask with law="pure".'
    elif left > 0 and unit not in ("", _DELTA) and isinstance(asked, Fraction):
        times = Fraction(math.ceil(asked / left * 100), 100)
        advice = f"as much noise as loses that many times less fits: {plain(times)}."
    elif left > 0 and len(short) == 1:
        advice = f"ask for at most {unit}{_told(left, unit)}."
    elif left > 0:
        each = ", ".join(f"{u}{_told(rest, u)} on edge {name!r}" for u, name, _, rest, _ in short)
        advice = f"ask for at most {each}."
    else:
        of = f" of edge {edge!r}" * named
        advice = f"the budget{of} is used up; nothing more can be released{' on it' * named}."
        if unit and limit <= 0:
            advice = "there is no budget of δ; open a new ledger with one (delta_budget=)."
    below = [one.denominator for one in (asked, limit) if isinstance(one, Fraction)]
    # Powers of 2 as large as a float's, where decimals were meant.
    if unit in ("", _DELTA) and any(one > 2**20 and one & (one - 1) == 0 for one in below):
        advice += ' A float is taken at its exact value, and 0.1 is more than 1/10: write "0.1".'
    return BudgetExceededError(
        f"{said} ({so_far}).",
        hint=f"{advice} Nothing was drawn and nothing was recorded.",
        edge=edge,
        unit={_DELTA: "delta", "": "epsilon"}.get(unit, "divergence"),
        asked=asked,
        left=left,
        budget=limit,
        releases=releases,
        # The whole charge fits after multiplying it by this share.
        share=_fitting((unit, edge, asked, left, limit)),
    )


def _fitting(short: Short) -> Fraction:
    asked, left = short[2:4]
    return Fraction(0) if isinstance(asked, Infinite) else left / asked


def _told(amount: Loss, unit: str, *, up: bool = False) -> str:
    """Exact; of a δ as a decimal where that is short, at an order rounded toward caution."""
    if isinstance(amount, Infinite) or not unit:
        return readable(amount)
    return plain(amount) if unit == _DELTA else shown(amount, up=up)


def _refuse_unwieldy(total: Amounts) -> None:
    for part in (total.known, total.delta):
        for edge, value in part.items():
            if value.denominator < _LARGEST and value.numerator < _LARGEST:
                continue
            raise ParameterError(
                f"the exact amount on edge {edge!r} needs more than {MAX_DIGITS} digits.",
                hint="Round the charge up to a multiple of 1/2^64, or any denominator used "
                "throughout. Nothing was recorded.",
                edge=edge,
            )
