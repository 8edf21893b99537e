"""What a release promises, edge by edge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from onesided._numbers import INFINITE, Infinite, Loss, odds, readable, round_up, shown, text
from onesided.errors import PolicyError
from onesided.fields import settle
from onesided.policy._base import Policy

_MUCH: Final = 10
_MUCH_DELTA: Final = Fraction(1, 100_000)


@dataclass(frozen=True)
class Guarantee:
    """Per edge, the loss (ε, δ) of one or more releases. Comparison is partial.

    ``epsilon`` and ``delta`` map an edge's name to its loss along that edge, in its own
    direction; nothing is said of the way back. ``about`` says which data the answer is about, as
    a sentence; ``scope`` names them where they are not the data as they are. ``made_for`` is the
    policy itself where it is known: many policies share a name, and the names of their edges.
    ``asked`` is what was released, in one line. ``unit`` is the column of those who are protected,
    "" for single rows, where it is known.

    >>> from onesided.policy import Guarantee
    >>> print(Guarantee("presence", {"present -> not present": 1}, {}))
    Under the policy 'presence' -- present -> not present: ε = 1 (pure, δ = 0).
    """

    policy: str
    epsilon: Mapping[str, Loss]
    delta: Mapping[str, Fraction]
    about: str = ""
    scope: str = ""
    made_for: Policy | None = field(default=None, repr=False, compare=False)
    asked: str = ""
    unit: str | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        epsilon, delta = (MappingProxyType(dict(part)) for part in (self.epsilon, self.delta))
        settle(self, epsilon=epsilon, delta=delta)

    @property
    def headline(self) -> Loss:
        """The largest ε over the edges."""
        return max(self.epsilon.values(), default=Fraction(0))

    def same_policy(self, other: Guarantee) -> bool:
        """Whether both are about one policy of one unit; by its name where either knows no more."""
        mine, theirs = self.made_for, other.made_for
        if None not in (self.unit, other.unit) and self.unit != other.unit:
            return False
        if mine is None or theirs is None or self.policy != other.policy:
            return self.policy == other.policy
        return mine is theirs or mine.identity == theirs.identity

    def implies(self, other: Guarantee) -> bool:
        """Whether this promises at least as much on every edge that ``other`` names.

        About the same policy: nothing is said across policies, whatever their edges are called.
        """
        return self.same_policy(other) and all(
            self.epsilon.get(edge, INFINITE) <= bound
            and self.delta.get(edge, Fraction(0)) <= other.delta.get(edge, Fraction(0))
            for edge, bound in other.epsilon.items()
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is unusually large, and what it means in odds; empty for most.

        >>> print(*Guarantee("presence", {"present -> not present": 12}, {}).remarks)
        ε = 12 on present -> not present is large: an answer may change the odds that somebody holds
        about one person by a factor of e^12.
        """
        wide = [
            f"ε = {readable(loss)} on {edge} is large: an answer may change the odds that "
            f"somebody holds about one person by a factor of {odds(loss)}."
            for edge, loss in self.epsilon.items()
            if loss > _MUCH
        ]
        loose = [
            f"δ = {shown(delta, up=True)} on {edge} is large: that is the chance that nothing "
            "is promised, for each person."
            for edge, delta in self.delta.items()
            if delta > _MUCH_DELTA
        ]
        return (*wide, *loose)

    def as_dict(self) -> dict[str, object]:
        """For JSON: exact text beside decimals that are rounded up."""
        return {
            "policy": self.policy,
            "of": self.asked,
            "about": self.about,
            "certain_about": self.scope or "the data as they are",
            "edges": {
                edge: {
                    "epsilon": text(loss),
                    "epsilon_decimal": None if isinstance(loss, Infinite) else round_up(loss),
                    "delta": text(self.delta.get(edge, Fraction(0))),
                    "delta_decimal": round_up(self.delta.get(edge, Fraction(0))),
                }
                for edge, loss in self.epsilon.items()
            },
        }

    def __repr__(self) -> str:
        edges = f"{len(self.epsilon):,} edge{'' if len(self.epsilon) == 1 else 's'}"
        return f"Guarantee({self.policy!r}, at most ε = {readable(self.headline)} on {edges})"

    def __str__(self) -> str:
        return f"{self.asked}. {self.promise}" if self.asked else self.promise

    @property
    def promise(self) -> str:
        """The same without what was released, for where that stands already."""
        parts = ", ".join(f"{edge}: ε = {readable(loss)}" for edge, loss in self.epsilon.items())
        worst = max(self.delta.values(), default=Fraction(0))
        said = shown(worst, up=True)
        pure = " (pure, δ = 0)" if any(one != INFINITE for one in self.epsilon.values()) else ""
        delta = f", δ {'' if said[0] == '≤' else '= '}{said}" if worst else pure
        about = f" {self.about}" if self.about else ""
        return f"Under the policy '{self.policy}' -- {parts}{delta}.{about}"


# What several releases, each under a policy of its own, promise together.


def together(
    *releases: tuple[Policy, Mapping[str, Loss]], accept_unprotected: bool = False
) -> Guarantee:
    """What several pure releases, each with its loss per edge of its own policy, promise together.

    Stated for the intersection of their policies, as the exact sum along each of its edges. An
    edge that a release does not name is not promised at all: its loss is INFINITE.
    accept_unprotected: presence takes units out of the table along the edge by which it takes some
        of their groups away. Where another policy does not hide the one or the other, that edge is
        INFINITE, unless it is accepted that the sum is for the moves that both allow, and that
        somebody may be left with none (``explain()`` names such units).
    Errors: PolicyError for no release, an edge its policy does not have, or no move in common.

    >>> from onesided import policy
    >>> one, two = policy.addition_only(), policy.unbounded()
    >>> print(policy.together((one, {"record -> absent": 1}), (one, {"record -> absent": 2})))
    Under the policy 'addition_only' -- record -> absent: ε = 3 (pure, δ = 0).
    >>> both = policy.together((one, {"record -> absent": 1}), (two, {"record -> absent": 2}))
    >>> print(both.epsilon["record -> absent"])
    3
    """
    totals: dict[str, dict[str, Loss]] = {}
    joint: Policy | None = None
    for policy, losses in releases:
        unknown = set(losses) - {edge.name for edge in policy.edges}
        if unknown:
            raise PolicyError(
                f"The policy {policy.name!r} has no edge {min(unknown)!r}.",
                hint=f"Its edges are {', '.join(edge.name for edge in policy.edges)}.",
            )
        joint = policy if joint is None else joint & policy
        own = totals.setdefault(policy.identity, {})
        for name, loss in losses.items():
            own[name] = own.get(name, Fraction(0)) + loss
    if joint is None:
        raise PolicyError("There are no releases.", hint="Give (policy, {edge name: loss}) pairs.")
    sums = _sums(joint, totals, all_ways=not accept_unprotected)
    return Guarantee(joint.name, sums, {}, made_for=joint)


def _sums(
    joint: Policy, totals: Mapping[str, Mapping[str, Loss]], *, all_ways: bool
) -> dict[str, Loss]:
    result: dict[str, Loss] = {}
    for edge, chosen in joint.joins.items():
        total: Loss = Fraction(0)
        wider = joint.wider(edge) if all_ways else ()
        for part, one in zip(joint.parts, chosen, strict=True):
            hidden = not wider or part in wider
            loss = totals.get(part.identity, {}).get(one.name, INFINITE)
            total = total + (loss if hidden else INFINITE)
        result[edge.name] = total
    return result
