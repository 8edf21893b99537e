"""What a passing check of somebody's own mechanism leaves behind, for sessions to read.

The record is made by ``onesided.verify`` and read without it: production imports no verifier.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from onesided._english import many
from onesided._numbers import shown
from onesided.errors import ParameterError
from onesided.mechanism._source import source_of
from onesided.policy import Edge, GroupCount, Policy, Shift

NamedShifts: TypeAlias = Mapping[str, tuple[tuple[int, int], ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRecord:
    """That a mechanism was run on every noise in one small universe, and what came of it.

    It is no proof: it says nothing of larger data. source: the hash of the mechanism's code and
    of its fields, as :func:`source_of` has it. policy: its TOML text.
    epsilon: the loss per unit of edge weight that was checked. delta: with what probability the
    check let it lose more; above 0 it speaks for no session, which charges none. universe: in
    words. said: the verdict in words. sums: for a mechanism that is given sums, how far they move
    along each edge, as (rise, fall); None if it is given counts. Units: nats.

    >>> from onesided import policy
    >>> from onesided.mechanism import Counts
    >>> claim = {"epsilon": Fraction(1), "query": GroupCount()}
    >>> presence = policy.presence(max_groups=1)
    >>> words = {"name": "Own", "source": "", "universe": "", "said": "lost", "passed": False}
    >>> record = CheckRecord(policy=presence.to_toml(), **words, **claim)
    >>> record.misfit(Counts(1, 1), policy=presence, **claim)
    'the check did not pass: lost'
    """

    name: str
    source: str
    policy: str
    epsilon: Fraction
    query: GroupCount
    universe: str
    passed: bool
    said: str
    sums: NamedShifts | None = None
    delta: Fraction = Fraction(0)

    def __str__(self) -> str:
        how = "passed" if self.passed else "did NOT pass"
        loss = f"ε = {self.epsilon}" + (f", δ = {shown(self.delta, up=True)}" if self.delta else "")
        return f"{self.name} {how} at {loss} on {self.universe}: {self.said}"

    def misfit(
        self,
        mechanism: object,
        *,
        policy: Policy,
        epsilon: Fraction,
        query: GroupCount,
        sums: Mapping[Edge, Iterable[Shift]] | None = None,
    ) -> str:
        """Why this record does not speak for this use of ``mechanism``; empty if it does.

        Of sums it speaks if none moves further than some that were checked.
        """
        if not self.passed:
            return f"the check did not pass: {self.said}"
        return self._other(mechanism, policy, epsilon) or self._elsewhere(query, sums)

    def _other(self, mechanism: object, policy: Policy, epsilon: Fraction) -> str:
        """Why it is about something else."""
        if self.source != source_of(mechanism):
            return "it is of another source or of other parameters"
        if self.policy != policy.to_toml():
            return "it is about another policy"
        if self.epsilon != epsilon:
            return f"it was made at ε = {self.epsilon}, not {epsilon}"
        if self.delta:
            allowed = shown(self.delta, up=True)
            return f"it lets ε fail with probability {allowed}, and a session charges no δ for it"
        return ""

    def _elsewhere(self, query: GroupCount, sums: Mapping[Edge, Iterable[Shift]] | None) -> str:
        """Why it is about other numbers, or other moves of them."""
        if (self.sums is None) != (sums is None):
            return "it was made for counts or for sums, and the other is asked for"
        if sums is not None:
            checked = self.sums or {}
            asked = named_shifts(sums)
            for edge, shifts in asked.items():
                for rise, fall in shifts:
                    if not any(
                        rise <= most[0] and fall <= most[1] for most in checked.get(edge, ())
                    ):
                        return (
                            f"sums may rise by {rise} and fall by {many(fall, 'step')} along "
                            f"{edge}, further than in the universe that was checked"
                        )
            return ""
        return "" if self.query == query else f"it was made for {self.query}, not {query}"

    def to_json(self) -> str:
        """As text, to be kept beside the mechanism."""
        query = self.query
        return json.dumps(
            {
                "onesided_check": 1,
                "name": self.name,
                "source": self.source,
                "policy": self.policy,
                "epsilon": str(self.epsilon),
                "delta": str(self.delta),
                "max_groups": query.max_groups,
                "counted": None if query.counted is None else sorted(query.counted),
                "truncated": query.truncated,
                "universe": self.universe,
                "passed": self.passed,
                "said": self.said,
                "sums": self.sums,
            },
            indent=1,
        )

    @classmethod
    def from_json(cls, text: str) -> CheckRecord:
        """What :meth:`to_json` wrote. Errors: ParameterError for anything else."""
        try:
            read = json.loads(text)
            version = {1: True}[read.pop("onesided_check")]
            read["passed"] = version and read["passed"] is True
            counted = read.pop("counted")
            query = GroupCount(
                max_groups=read.pop("max_groups"),
                counted=None if counted is None else frozenset(map(str, counted)),
                truncated=read.pop("truncated") is True,
            )
            read["epsilon"], read["delta"] = Fraction(read["epsilon"]), Fraction(read["delta"])
            read["sums"] = _read_sums(read.get("sums"))
            return cls(query=query, **read)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ParameterError(
                f"This is not the record of a check: {error}.",
                hint="Run the check again with onesided.verify.Case(...).run().",
            ) from error


def named_shifts(shifts: Mapping[Edge, Iterable[Shift]]) -> NamedShifts:
    """Per edge, by its name, the shifts as (rise, fall).

    >>> from onesided import policy
    >>> named_shifts(policy.addition_only().shifts(GroupCount(max_groups=2)))
    {'record -> absent': ((0, 2),)}
    """
    return {edge.name: tuple((s.rise, s.fall) for s in each) for edge, each in shifts.items()}


def _read_sums(told: Any) -> NamedShifts | None:
    if told is None:
        return None
    return {str(edge): tuple((int(r), int(f)) for r, f in each) for edge, each in told.items()}
