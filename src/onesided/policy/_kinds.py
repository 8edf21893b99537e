"""Policies over named kinds of records: differential privacy, one-sided DP and their kin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations

from onesided.errors import PolicyError
from onesided.policy._base import Policy
from onesided.policy._predicate import Rule
from onesided.policy._shift import ABSENT, Edge, GroupCount, Record, Shift, check_counted


@dataclass(frozen=True, slots=True)
class KindPolicy(Policy):
    """Records have kinds; along an edge, a record of one kind may pass as *any* of the other.

    Errors: PolicyError for no edges, repeated or unknown kinds, repeated edges, rules that name an
    unknown kind, or a rule for an open kind before a protected one.
    """

    _name: str
    _kinds: tuple[str, ...]
    _edges: tuple[Edge, ...]
    _rules: tuple[Rule, ...] = ()
    _default: str = ""
    _given: tuple[tuple[str, object], ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        _check_kinds(self._kinds)
        _check_edges(self._name, self._kinds, self._edges)
        for kind in (*(rule.kind for rule in self._rules), self.default_kind):
            if kind not in self._kinds or kind == ABSENT:
                raise PolicyError(
                    f"A rule gives rows the kind {kind!r}, which the policy does not have.",
                    hint=f"Its kinds are {', '.join(self._kinds)}.",
                    kind=kind,
                )
        _check_order([*(rule.kind for rule in self._rules), self.default_kind], self._edges)

    @property
    def name(self) -> str:
        return self._name

    @property
    def kinds(self) -> tuple[str, ...]:
        return self._kinds

    @property
    def edges(self) -> tuple[Edge, ...]:
        return self._edges

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self._rules

    @property
    def default_kind(self) -> str:
        return self._default or self._kinds[0]

    def shifts(self, query: GroupCount) -> Mapping[Edge, tuple[Shift, ...]]:
        """A move replaces the whole record, so all its groups may go and as many may come.

        Cutting a record down to ``max_groups`` looks at that record alone, so it changes nothing.
        """
        check_counted(self, query)
        most = query.max_groups or 1
        return {
            edge: (
                Shift(
                    rise=most if query.counts(edge.target) else 0,
                    fall=most if query.counts(edge.source) else 0,
                ),
            )
            for edge in self._edges
        }

    def records(self, groups: Sequence[str], *, max_groups: int) -> tuple[Record, ...]:
        present = [
            Record(kind, frozenset(chosen))
            for kind in self._kinds
            if kind != ABSENT
            for size in range(max_groups + 1)
            for chosen in combinations(groups, size)
        ]
        return (*([Record(ABSENT)] if ABSENT in self._kinds else []), *present)

    def edge_between(self, real: Record, other: Record) -> Edge | None:
        for edge in self._edges:
            if (edge.source, edge.target) == (real.kind, other.kind):
                return edge
        return None

    def parameters(self) -> dict[str, object]:
        if self._name != "custom":
            return deepcopy(dict(self._given))
        return {
            "kinds": list(self._kinds),
            "edges": [[edge.source, edge.target, str(edge.weight)] for edge in self._edges],
            "rules": [_stored(rule) for rule in self._rules],
            "default": self.default_kind,
        }

    def decides(self, other: Policy) -> bool | None:
        from onesided.policy._compare import decide_kinds  # noqa: PLC0415 - it knows this class

        return decide_kinds(self, other) if isinstance(other, KindPolicy) else None

    def sentences(self, epsilon: Fraction) -> list[str]:
        from onesided.policy._words import kind_sentences  # noqa: PLC0415 - words come last

        return kind_sentences(self, epsilon)


def _stored(rule: Rule) -> list[str]:
    """A rule for TOML; an expression is marked, because text cannot rebuild it."""
    mark = [] if rule.predicate.sql else ["expression"]
    return [rule.kind, rule.predicate.text, *mark]


def _check_kinds(kinds: Sequence[str]) -> None:
    """Refuse kinds that repeat or that no record can have."""
    if len(set(kinds)) != len(kinds) or not set(kinds) - {ABSENT}:
        raise PolicyError(
            f"The kinds {', '.join(map(repr, kinds)) or '(none)'} are repeated or empty.",
            hint='Name each kind once; at least one besides "absent".',
        )


def _check_order(kinds: Sequence[str], edges: Sequence[Edge]) -> None:
    """Refuse rules by which somebody unknown, or open in one row of many, would be open."""
    protected = {edge.source for edge in edges}
    for place, kind in enumerate(kinds):
        later = [other for other in kinds[place:] if other in protected]
        if kind not in protected and later:
            raise PolicyError(
                f"The rule for {kind!r} comes before {later[0]!r}. Units for which it is unknown, "
                f"or with one such row among many, would be {kind!r}, which nothing protects.",
                hint=f"Write a rule for {later[0]!r} first, and let {kind!r} be the default.",
                kind=kind,
            )


def _check_edges(name: str, kinds: Sequence[str], edges: Sequence[Edge]) -> None:
    """Refuse a policy that protects nothing, or whose edges lead nowhere."""
    if not edges:
        raise PolicyError(
            f"The policy {name!r} has no edges, so it protects nobody.",
            hint='Add at least one edge, such as ("sensitive", "open").',
        )
    for edge in edges:
        for kind in (edge.source, edge.target):
            if kind not in kinds:
                raise PolicyError(
                    f"The edge {edge.name!r} names the unknown kind {kind!r}.",
                    hint=f"The kinds are {', '.join(kinds)}.",
                    kind=kind,
                )
    names = [edge.name for edge in edges]
    if len(set(names)) != len(names) or Edge(ABSENT, ABSENT).name in names:
        raise PolicyError(
            "An edge is given twice, or joins absent to absent.",
            hint="Give each edge once, and leave '->' out of the names of kinds.",
        )
