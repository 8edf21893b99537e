"""Policies over named kinds of records: differential privacy, one-sided DP and their kin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, product
from typing import Final, Literal

from onesided._numbers import INFINITE, Loss
from onesided.conditions import Condition, Truth, truths
from onesided.errors import PolicyError
from onesided.fields import settle
from onesided.policy._base import Pair, Policy, Widened, possible_pairs
from onesided.policy._cells import Cells, GroupCount
from onesided.policy._implications import Addition, Chains, Value, copied, require, traps
from onesided.policy._predicate import Predicate, Rule
from onesided.policy._shift import ABSENT, Edge, Record, Shift, kind_sentences

_HOLDS: Final[frozenset[Truth]] = frozenset({True, None})
_FAILS: Final[frozenset[Truth]] = frozenset({False})


@dataclass(frozen=True, slots=True, repr=False)
class KindPolicy(Policy):
    """Records have kinds; along an edge, a record of one kind may pass as *any* of the other.

    Errors: PolicyError for no edges, repeated or unknown kinds, repeated edges, rules that name an
    unknown kind, or a rule for an open kind before a protected one.

    >>> from onesided import policy
    >>> policy.sensitive("minor").kinds
    ('sensitive', 'open')
    """

    _name: str
    _kinds: tuple[str, ...]
    _edges: tuple[Edge, ...]
    _rules: tuple[Rule, ...] = ()
    _default: str = ""
    _given: tuple[tuple[str, object], ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        # Refuse kinds that repeat or that no record can have.
        if len(set(self._kinds)) != len(self._kinds) or not set(self._kinds) - {ABSENT}:
            raise PolicyError(
                f"The kinds {', '.join(map(repr, self._kinds)) or '(none)'} are repeated or empty.",
                hint='Name each kind once; at least one besides "absent".',
            )
        settle(self, _default=self._default or self._kinds[0])
        # Refuse a policy that protects nothing, or whose edges lead nowhere.
        if not self._edges:
            raise PolicyError(
                f"The policy {self._name!r} has no edges, so it protects nobody.",
                hint='Add at least one edge, such as ("sensitive", "open").',
            )
        for edge in self._edges:
            for end in (edge.source, edge.target):
                if end not in self._kinds:
                    raise PolicyError(
                        f"The edge {edge.name!r} names the unknown kind {end!r}.",
                        hint=f"The kinds are {', '.join(self._kinds)}.",
                        kind=end,
                    )
        names = [edge.name for edge in self._edges]
        if len(set(names)) != len(names) or Edge(ABSENT, ABSENT).name in names:
            raise PolicyError(
                "An edge is given twice, or joins absent to absent.",
                hint="Give each edge once, and leave '->' out of the names of kinds.",
            )
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
        return self._default

    of_kinds = True

    @property
    def other_values(self) -> Literal["replaced"]:
        """A move may replace the whole record, whatever it holds."""
        return "replaced"

    def shifts(self, query: GroupCount) -> Mapping[Edge, tuple[Shift, ...]]:
        """A move replaces the whole record, so all its groups may go and as many may come.

        Cutting a record down to ``max_groups`` looks at that record alone, so it changes nothing.
        """
        self.check_counted(query)
        found = {} if query.cells is None else self._truths(query.cells)
        return {edge: query.between(edge.source, edge.target, found) for edge in self._edges}

    def _truths(self, cells: Cells) -> dict[str, frozenset[Truth]]:
        """What the cells' condition can be for the rows of each kind, where it is told at all.

        No row of a unit of the default kind meets a rule's condition, or may. Of any other kind one
        row does, and where a unit has several, the others may hold anything.
        """
        if cells.where is None or any(rule.also for rule in self._rules):
            return {}
        found: dict[str, frozenset[Truth]] = {}
        failed: list[tuple[Condition, frozenset[Truth]]] = []
        for rule in self._rules:
            if rule.condition.condition is None:
                return {}
            known = [*failed, (rule.condition.condition, _HOLDS)] if cells.rows else []
            found[rule.kind] = found.get(rule.kind, frozenset()) | truths(cells.where, known)
            failed.append((rule.condition.condition, _FAILS))
        last = self.default_kind
        return {**found, last: found.get(last, frozenset()) | truths(cells.where, failed)}

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
        return _decide(self, other) if other.of_kinds else None

    def widened(self, implied: Chains) -> Widened:
        """Facts are kinds, or else conditions of rules."""
        facts = set(implied) | {fact for ends in implied.values() for fact in ends}
        return (_wider_kinds if facts <= set(self.kinds) else _wider_rules)(self, implied)

    def sentences(self, epsilon: Fraction) -> list[str]:
        return kind_sentences(self._kinds, self._edges, epsilon)


def _stored(rule: Rule) -> list[str]:
    """A rule for TOML; an expression of 0.1.0 is marked."""
    mark = [] if rule.predicate.sql else ["expression"]
    return [rule.kind, rule.predicate.text, *mark]


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


def _decide(first: KindPolicy, second: Policy) -> bool | None:
    """Exact for kinds: which pairs of kinds one record can have is read off the predicates.

    False needs two pairs that surely occur: every kind is taken to have records, and predicates
    with different texts may be true or false together.
    """
    if ABSENT not in second.kinds and any(ABSENT in (e.source, e.target) for e in first.edges):
        return False
    pairs = possible_pairs(first, second)
    certain = {pair for pair in pairs if _must_occur(pair, pairs)}
    verdict: bool | None = True
    for edge in first.edges:
        sources = [pair for pair in pairs if pair[0] == edge.source]
        targets = [pair for pair in pairs if pair[0] == edge.target]
        for source, target in product(sources, targets):
            if not _weight(second, source[1], target[1]) <= edge.weight:
                if {source, target} <= certain:
                    return False
                verdict = None
    return verdict


def _must_occur(pair: Pair, pairs: frozenset[Pair]) -> bool:
    """Whether one of the two kinds has no other partner."""
    return any(sum(other[side] == pair[side] for other in pairs) == 1 for side in (0, 1))


def _weight(policy: Policy, source: str, target: str) -> Loss:
    for edge in policy.edges:
        if (edge.source, edge.target) == (source, target):
            return edge.weight
    return INFINITE


def _wider_kinds(policy: KindPolicy, implied: Chains) -> Widened:
    """A kind that implies another must be able to pass as what that one may pass as."""
    plain: dict[tuple[Value, Value], Fraction] = {
        (edge.source, edge.target): edge.weight for edge in policy.edges
    }
    weights, added = copied(plain, implied, loops=True)
    warnings = traps(weights, implied)
    if not added:
        return Widened(policy, (), warnings)
    edges = tuple(Edge(str(s), str(t), weight) for (s, t), weight in weights.items())
    wider = KindPolicy("custom", policy.kinds, edges, policy.rules, policy.default_kind)
    return Widened(wider, added, warnings)


def _wider_rules(policy: KindPolicy, implied: Chains) -> Widened:
    """Facts are conditions on rows: whoever meets one that implies a rule's, gets its kind."""
    texts = [rule.predicate.text for rule in policy.rules]
    added: list[Addition] = []
    rules: list[Rule] = []
    for place, (rule, text) in enumerate(zip(policy.rules, texts, strict=True)):
        new = [f for f, ends in implied.items() if text in ends and f not in texts[:place]]
        wider = " OR ".join(f"({fact})" for fact in (text, *new))
        rules.append(Rule(rule.kind, Predicate.of(wider)))
        added += [
            Addition(fact, implied[fact][text], f"Rows with {fact!r} are now {rule.kind!r}")
            for fact in new
        ]
    if implied and not set(texts) & {fact for ends in implied.values() for fact in ends}:
        require(implied, {*policy.kinds, *texts}, policy=policy.name)
    return Widened(_ruled(policy, tuple(rules)) if added else policy, tuple(added))


def _ruled(policy: KindPolicy, rules: tuple[Rule, ...]) -> KindPolicy:
    """The policy by other rules: of its own family where its one predicate is its rule's."""
    if dict(policy._given).get("predicate") == policy.rules[0].predicate.text:  # noqa: SLF001
        text = rules[0].predicate.text
        return replace(policy, _rules=rules, _given=(("predicate", text), ("sql", True)))
    return KindPolicy("custom", policy.kinds, policy.edges, rules, policy.default_kind)
