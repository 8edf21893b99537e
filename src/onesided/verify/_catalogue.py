"""Every shipped mechanism on every policy it supports, and every broken one, checked exactly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from onesided import policy as policies
from onesided._numbers import INFINITE, Loss, round_up
from onesided.mechanism import AtMost, Counts
from onesided.noise import IntArray, Noise
from onesided.policy import Edge, GroupCount, Policy
from onesided.verify import _broken
from onesided.verify._exact import ExactReport, exact
from onesided.verify._universe import Data, Universe


@dataclass(frozen=True, slots=True)
class Case:
    """One line of the table: a program, the policy it is said to keep, and whether it does."""

    name: str
    policy: Policy
    program: object
    query: GroupCount
    claims: Mapping[Edge, Loss]
    sound: bool
    flaw: str = ""
    universe: Universe = Universe()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the exact check said of one case."""

    case: Case
    report: ExactReport

    @property
    def promised(self) -> float:
        """The largest claimed loss over the edges."""
        return max(round_up(loss) for loss in self.case.claims.values())

    @property
    def accepted(self) -> bool:
        """Whether the check found no edge above its claim."""
        return self.report.keeps_shift_losses(self.case.claims)

    @property
    def right(self) -> bool:
        """Whether the check told sound from broken."""
        return self.accepted == self.case.sound


_ONE_GROUP = GroupCount(max_groups=1)
_OPEN = GroupCount(max_groups=1, counted=frozenset({"open"}))
_SINGLE = Universe(max_groups=1)
_PRESENCE = Universe(groups=("a", "b", "c"), units=1)


def six_policies() -> tuple[tuple[Policy, GroupCount, Universe], ...]:
    """The foundation's policies, each with the count it is checked on."""
    return (
        (policies.bounded(), _ONE_GROUP, _SINGLE),
        (policies.unbounded(), _ONE_GROUP, _SINGLE),
        (policies.addition_only(), GroupCount(max_groups=2), Universe()),
        (policies.removal_only(), GroupCount(max_groups=2), Universe()),
        (policies.sensitive("private"), _ONE_GROUP, _SINGLE),
        (policies.sensitive("private"), _OPEN, _SINGLE),
        (policies.presence(max_groups=2), GroupCount(), _PRESENCE),
        (policies.presence(max_groups=1), GroupCount(), Universe()),
    )


def cases() -> Iterator[Case]:
    """Every line of the table: the sound first."""
    for policy, query, universe in six_policies():
        yield _sound("Counts", policy, query, universe)
    for policy, query, universe in six_policies():
        mechanism = _counts(policy, query)
        if mechanism.lower_rate == INFINITE:
            decision = AtMost(1, upper_rate=mechanism.upper_rate)
            yield Case("AtMost", policy, decision, query, _claims(policy, query, decision), True)  # noqa: FBT003
    yield _truncated(sound=True)
    yield from _controls()


def run(case: Case) -> Verdict:
    """Check one case exactly."""
    return Verdict(case, exact(case.program, case.policy, case.universe, query=case.query))


def _controls() -> Iterator[Case]:
    """Broken mechanisms that the check must reject."""
    presence, added = policies.presence(max_groups=1), policies.addition_only()
    flaws = (
        ("half the noise", presence, _broken.half_noise(presence)),
        ("noise on the wrong side", presence, _broken.wrong_side(presence)),
        ("half the noise", policies.bounded(), _broken.half_noise(policies.bounded())),
        ("directions folded into one", policies.unbounded(), _broken.folded_directions(policies.unbounded())),
        ("noise on the wrong side", added, _broken.wrong_side(added)),
    )
    for flaw, policy, program in flaws:
        claims = _claims(policy, _ONE_GROUP, program)
        yield Case("Counts", policy, program, _ONE_GROUP, claims, False, flaw, _SINGLE)  # noqa: FBT003
    one_way = _counts(added, _ONE_GROUP)
    both = policies.unbounded()
    claims = dict.fromkeys(both.edges, one_way.upper_rate)
    yield Case("Counts", both, one_way, _ONE_GROUP, claims, False, "a symmetrised policy", _SINGLE)  # noqa: FBT003
    yield _truncated(sound=False)


def _truncated(*, sound: bool) -> Case:
    """Presence with units cut down to one group: sound at two-sided noise only."""
    policy = policies.presence(max_groups=1)
    query = GroupCount(max_groups=1, truncated=True)
    mechanism = _counts(policy, query if sound else GroupCount())
    claims = dict.fromkeys(policy.edges, _counts(policy, GroupCount()).upper_rate)
    flaw = "" if sound else "one-sided noise although units are cut down"
    return Case("Counts (truncated)", policy, mechanism, query, claims, sound, flaw)


def _sound(name: str, policy: Policy, query: GroupCount, universe: Universe) -> Case:
    mechanism = _counts(policy, query)
    claims = _claims(policy, query, mechanism)
    return Case(name, policy, mechanism, query, claims, sound=True, universe=universe)


def _counts(policy: Policy, query: GroupCount) -> Counts:
    return Counts.for_policy(
        policy,
        epsilon=1,
        max_groups=query.max_groups,
        counted=query.counted,
        truncated=query.truncated,
    )


def _claims(policy: Policy, query: GroupCount, mechanism: object) -> dict[Edge, Loss]:
    """The loss that the mechanism itself states for each edge."""
    return {
        edge: max(mechanism.loss(shift) for shift in shifts)  # type: ignore[attr-defined]
        for edge, shifts in policy.shifts(query).items()
    }
