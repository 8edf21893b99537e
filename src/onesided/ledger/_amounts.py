"""Amounts of privacy per edge, and the filter that decides whether a charge fits.

Everything here is pure and exact. Each edge is a privacy filter of its own: charges chosen
adaptively add up, and a charge fits when no edge's total passes that edge's budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Final, Protocol

from onesided._numbers import (
    Infinite,
    Loss,
    Number,
    exact,
    non_negative,
    plain,
    probability,
    readable,
    text,
)
from onesided.errors import BudgetExceededError, ParameterError
from onesided.store import canonical, plain_text, read_json

# Totals of charges with unrelated denominators grow; past this a row would no longer be O(1)
# (and Python refuses to print whole numbers of more than 4300 digits).
MAX_DIGITS: Final = 1000
_LARGEST: Final = 10**MAX_DIGITS
_OFTEN: Final = 4096


class Check(Protocol):
    """Reads a number or refuses it."""

    def __call__(self, value: object, *, name: str) -> Fraction:
        """The exact number."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """ε and δ per edge: a budget, a charge, or what was spent so far. Finite, never negative."""

    epsilon: Mapping[str, Fraction]
    delta: Mapping[str, Fraction]

    def __add__(self, other: Amounts) -> Amounts:
        return Amounts(
            epsilon=_added(self.epsilon, other.epsilon),
            delta=_added(self.delta, other.delta),
        )

    def __sub__(self, other: Amounts) -> Amounts:
        return Amounts(
            epsilon={edge: value - other.epsilon[edge] for edge, value in self.epsilon.items()},
            delta={edge: value - other.delta[edge] for edge, value in self.delta.items()},
        )

    def within(self, budget: Amounts) -> bool:
        """True if no edge passes its budget."""
        return all(
            value <= limits[edge]
            for spent, limits in ((self.epsilon, budget.epsilon), (self.delta, budget.delta))
            for edge, value in spent.items()
        )

    def texts(self) -> tuple[str, str]:
        """ε and δ as canonical JSON, numbers as exact text such as "1/10"."""
        return _write(self.epsilon), _write(self.delta)


def zero(edges: Iterable[str]) -> Amounts:
    """Nothing spent on any of the edges."""
    nothing = dict.fromkeys(edges, Fraction(0))
    return Amounts(epsilon=nothing, delta=nothing)


def read(epsilon: str, delta: str) -> Amounts:
    """Read what :meth:`Amounts.texts` wrote. Errors: ValueError for anything else."""
    return Amounts(epsilon=_read(epsilon), delta=_read(delta))


def _added(left: Mapping[str, Fraction], right: Mapping[str, Fraction]) -> dict[str, Fraction]:
    # Most charges are 0 on most edges, and adding fractions takes a greatest common divisor.
    return {edge: value + right[edge] if right[edge] else value for edge, value in left.items()}


def _write(amounts: Mapping[str, Fraction]) -> str:
    return canonical({edge: text(value) for edge, value in amounts.items()})


def _read(written: str) -> Mapping[str, Fraction]:
    return _read_often(written) if len(written) <= _OFTEN else _read_once(written)


@lru_cache(maxsize=256)
def _read_often(written: str) -> Mapping[str, Fraction]:
    """As :func:`_read_once`; most rows repeat a few charges."""
    return _read_once(written)


def _read_once(written: str) -> Mapping[str, Fraction]:
    table = read_json(written)
    if not isinstance(table, dict):
        raise TypeError(written)
    return MappingProxyType(
        {edge: exact(value, name=f"stored amount of {edge!r}") for edge, value in table.items()}
    )


def read_budget(
    budget: Mapping[str, Loss | Number], delta_budget: Mapping[str, Loss | Number] | None
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
    return found


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
) -> Amounts:
    """A charge as asked: finite, on known edges, above 0 somewhere. An edge left out costs 0.

    Errors: BudgetExceededError for an infinite loss (no budget covers it); ParameterError for
    NaN, negative amounts, unknown edges, and a charge of nothing.
    """
    epsilons, deltas = _table(epsilon, name="charge"), _table(delta or {}, name="delta")
    charge = Amounts(
        epsilon=_fill(budget.epsilon, _finite(epsilons), what="charge", check=non_negative),
        delta=_fill(budget.epsilon, _finite(deltas), what="δ charge", check=probability),
    )
    if any(value > 0 for part in (charge.epsilon, charge.delta) for value in part.values()):
        return charge
    raise ParameterError(
        f"a charge must be above 0 on some edge, got {dict(epsilons)!r}.",
        hint="A release that costs nothing needs no ledger. Nothing was recorded.",
        value=epsilon,
    )


def _table(given: object, *, name: str) -> Mapping[str, object]:
    if isinstance(given, Mapping):
        return given
    raise ParameterError(
        f"{name} must map edges to numbers, got {given!r}.",
        hint='Give a dict such as {"sensitive -> open": "1/2"}.',
        value=given,
    )


def _finite(charge: Mapping[str, object]) -> Mapping[str, object]:
    for edge, value in charge.items():
        if isinstance(value, Infinite):
            raise BudgetExceededError(
                f"asked an infinite loss on edge {edge!r}.",
                hint="No budget covers an infinite loss: choose noise that hides this edge. "
                "Nothing was drawn and nothing was recorded.",
                edge=edge,
                asked=value,
            )
    return charge


def _fill(
    edges: Mapping[str, object], given: Mapping[str, object], *, what: str, check: Check
) -> dict[str, Fraction]:
    """``given`` on every edge, 0 where nothing was said."""
    for edge in given:
        if edge not in edges:
            known = ", ".join(repr(name) for name in edges)
            raise ParameterError(
                f"{what} on unknown edge {edge!r}.",
                hint=f"The account's edges are {known}. Nothing was recorded.",
                edge=edge,
                edges=tuple(edges),
            )
    return {edge: check(given.get(edge, 0), name=f"the {what} on edge {edge!r}") for edge in edges}


def settle(charge: Amounts, *, spent: Amounts, budget: Amounts, releases: int) -> Amounts:
    """The totals after ``charge``; the decision of the filter.

    Errors: BudgetExceededError when an edge would pass its budget; ParameterError when the exact
    total would no longer fit a row.
    """
    total = spent + charge
    short = [
        (unit, edge, asked[edge], limits[edge] - used[edge], limits[edge])
        for unit, asked, used, limits, totals in (
            ("", charge.epsilon, spent.epsilon, budget.epsilon, total.epsilon),
            ("δ = ", charge.delta, spent.delta, budget.delta, total.delta),
        )
        for edge in limits
        # Written so that anything that is not at most the limit is refused.
        if not totals[edge] <= limits[edge]
    ]
    if short:
        raise _refusal(short, releases=releases)
    _refuse_unwieldy(total)
    return total


def _refusal(
    short: list[tuple[str, str, Fraction, Fraction, Fraction]], *, releases: int
) -> BudgetExceededError:
    """Says what was asked, what is left and what to ask for, on each edge that falls short."""
    said = "; ".join(
        f"asked {unit}{_told(asked, unit)}, {_told(left, unit)} left of {_told(limit, unit)} "
        f"on edge {edge!r}"
        for unit, edge, asked, left, limit in short
    )
    so_far = f"{releases} release{'' if releases == 1 else 's'} so far"
    unit, edge, asked, left, limit = min(short, key=lambda item: item[3] / item[2])
    if left > 0 and len(short) == 1:
        advice = f"ask for at most {unit}{_told(left, unit)}."
    elif left > 0:
        each = ", ".join(f"{u}{_told(rest, u)} on edge {name!r}" for u, name, _, rest, _ in short)
        advice = f"ask for at most {each}."
    else:
        advice = f"the budget of edge {edge!r} is used up; nothing more can be released on it."
        if unit and not limit:
            advice = "there is no budget of δ; open a new ledger with one (delta_budget=)."
    if any(map(_was_float, (asked, limit))):
        advice += ' A float is taken at its exact value, and 0.1 is more than 1/10: write "0.1".'
    return BudgetExceededError(
        f"{said} ({so_far}).",
        hint=f"{advice} Nothing was drawn and nothing was recorded.",
        edge=edge,
        unit="delta" if unit else "epsilon",
        asked=asked,
        left=left,
        budget=limit,
        releases=releases,
        # The whole charge fits after multiplying it by this share.
        share=left / asked,
    )


def _told(amount: Fraction, unit: str) -> str:
    """Exact; of a δ as a decimal where that is short."""
    return plain(amount) if unit else readable(amount)


def _was_float(value: Fraction) -> bool:
    """Whether a number looks like a float that stood for a decimal."""
    return value.denominator > 2**20 and value.denominator & (value.denominator - 1) == 0


def _refuse_unwieldy(total: Amounts) -> None:
    for part in (total.epsilon, total.delta):
        for edge, value in part.items():
            if value.denominator < _LARGEST and value.numerator < _LARGEST:
                continue
            raise ParameterError(
                f"the exact amount on edge {edge!r} needs more than {MAX_DIGITS} digits.",
                hint="Round the charge up to a multiple of 1/2^64, or any denominator used "
                "throughout. Nothing was recorded.",
                edge=edge,
            )
