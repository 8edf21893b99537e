"""What a question would cost and give, before anything is spent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from onesided._numbers import Loss, text
from onesided.policy import Edge, Guarantee, Policy, Shift
from onesided.session._desk import Desk


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a question would cost and give, before anything is spent.

    mechanism: what would draw. charge: the exact loss per edge. certain: the sides ("upper",
    "lower") on which no answer will ever be wrong. standard_deviation: of each answer's noise, in
    the answer's own unit; None where there is no one number.
    """

    mechanism: Any
    charge: Mapping[str, Loss]
    remaining: Mapping[str, Fraction]
    guarantee: Guarantee
    certain: tuple[str, ...] = ()
    standard_deviation: float | None = None

    @property
    def affordable(self) -> bool:
        """Whether every edge has that much left."""
        return all(loss <= self.remaining[edge] for edge, loss in self.charge.items())

    def __str__(self) -> str:
        edges = ", ".join(
            f"{edge}: {text(loss)} of {text(self.remaining[edge])} left"
            for edge, loss in self.charge.items()
        )
        sides = " and ".join(self.certain) or "no"
        noise = (
            ""
            if self.standard_deviation is None
            else f"Noise with standard deviation {self.standard_deviation:.2f}; "
        )
        return f"{noise}{sides} bound certain. Charge -- {edges}."


def priced(
    desk: Desk,
    mechanism: Any,
    shifts: Mapping[Edge, Iterable[Shift]],
    *,
    loss: Callable[[Shift], Loss] | None = None,
    about: str = "",
    scope: str = "",
    certain: tuple[str, ...] = (),
    standard_deviation: float | None = None,
) -> Plan:
    """A plan that charges each edge the worst of its ``shifts`` by the mechanism's own loss."""
    cost = mechanism.loss if loss is None else loss
    charge: dict[str, Loss] = {
        edge.name: max(cost(shift) for shift in many) for edge, many in shifts.items()
    }
    return Plan(
        mechanism=mechanism,
        charge=charge,
        remaining=desk.remaining,
        guarantee=promised(desk.policy, charge, about=about, scope=scope),
        certain=certain,
        standard_deviation=standard_deviation,
    )


def promised(
    policy: Policy, charge: Mapping[str, Loss], *, about: str = "", scope: str = ""
) -> Guarantee:
    """The guarantee of a pure release at this charge."""
    return Guarantee(policy.name, charge, dict.fromkeys(charge, Fraction(0)), about, scope)
