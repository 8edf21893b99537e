"""Policies over named kinds of records: differential privacy, one-sided DP and their kin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from typing import Any, Final, Literal

from onesided._numbers import INFINITE, Infinite, Loss, from_text, positive, text
from onesided.conditions import Condition, Truth, truths
from onesided.errors import PolicyError
from onesided.fields import Field, is_flag, is_text, listing, settle
from onesided.policy._base import (
    Cells,
    GroupCount,
    Policy,
    Predicate,
    Rule,
    Widened,
    over_groups,
    possible_pairs,
)
from onesided.policy._family import PREDICATE, ROW, Family, Option, edge_list, name_list
from onesided.policy._shift import (
    ABSENT,
    Addition,
    Chains,
    Edge,
    Record,
    Shift,
    Value,
    copied,
    kind_sentences,
    listed_edges,
    require,
    traps,
)

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

    name: str = field()
    kinds: tuple[str, ...] = field()
    edges: tuple[Edge, ...] = field()
    rules: tuple[Rule, ...] = ()
    default_kind: str = ""
    _given: tuple[tuple[str, object], ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        # Refuse kinds that repeat or that no record can have.
        if len(set(self.kinds)) != len(self.kinds) or not set(self.kinds) - {ABSENT}:
            raise PolicyError(
                f"The kinds {', '.join(map(repr, self.kinds)) or '(none)'} are repeated or empty.",
                hint='Name each kind once; at least one besides "absent".',
            )
        settle(self, default_kind=self.default_kind or self.kinds[0])
        # Refuse a policy that protects nothing, or whose edges lead nowhere.
        if not self.edges:
            raise PolicyError(
                f"The policy {self.name!r} has no edges, so it protects nobody.",
                hint='Add at least one edge, such as ("sensitive", "open").',
            )
        for edge in self.edges:
            for end in (edge.source, edge.target):
                if end not in self.kinds:
                    raise PolicyError(
                        f"The edge {edge.name!r} names the unknown kind {end!r}.",
                        hint=f"The kinds are {', '.join(self.kinds)}.",
                        kind=end,
                    )
        names = [edge.name for edge in self.edges]
        if len(set(names)) != len(names) or Edge(ABSENT, ABSENT).name in names:
            raise PolicyError(
                "An edge is given twice, or joins absent to absent.",
                hint="Give each edge once, and leave '->' out of the names of kinds.",
            )
        for kind in (*(rule.kind for rule in self.rules), self.default_kind):
            if kind not in self.kinds or kind == ABSENT:
                raise PolicyError(
                    f"A rule gives rows the kind {kind!r}, which the policy does not have.",
                    hint=f"Its kinds are {', '.join(self.kinds)}.",
                    kind=kind,
                )
        # Refuse rules by which somebody unknown, or open in one row of many, would be open.
        kinds = [*(rule.kind for rule in self.rules), self.default_kind]
        protected = {edge.source for edge in self.edges}
        for place, kind in enumerate(kinds):
            later = [other for other in kinds[place:] if other in protected]
            if kind not in protected and later:
                raise PolicyError(
                    f"The rule for {kind!r} comes before {later[0]!r}. Units for which it is "
                    f"unknown, or with one such row among many, would be {kind!r}, which nothing "
                    "protects.",
                    hint=f"Write a rule for {later[0]!r} first, and let {kind!r} be the default.",
                    kind=kind,
                )

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
        return {edge: query.between(edge.source, edge.target, found) for edge in self.edges}

    def _truths(self, cells: Cells) -> dict[str, frozenset[Truth]]:
        """What the cells' condition can be for the rows of each kind, where it is told at all.

        No row of a unit of the default kind meets a rule's condition, or may. Of any other kind one
        row does, and where a unit has several, the others may hold anything.
        """
        if cells.where is None or any(rule.also for rule in self.rules):
            return {}
        found: dict[str, frozenset[Truth]] = {}
        failed: list[tuple[Condition, frozenset[Truth]]] = []
        for rule in self.rules:
            if rule.condition.condition is None:
                return {}
            known = [*failed, (rule.condition.condition, _HOLDS)] if cells.rows else []
            found[rule.kind] = found.get(rule.kind, frozenset()) | truths(cells.where, known)
            failed.append((rule.condition.condition, _FAILS))
        last = self.default_kind
        return {**found, last: found.get(last, frozenset()) | truths(cells.where, failed)}

    def records(self, groups: Sequence[str], *, max_groups: int) -> tuple[Record, ...]:
        present = over_groups((k for k in self.kinds if k != ABSENT), groups, max_groups)
        return (*([Record(ABSENT)] if ABSENT in self.kinds else []), *present)

    def edge_between(self, real: Record, other: Record) -> Edge | None:
        for edge in self.edges:
            if (edge.source, edge.target) == (real.kind, other.kind):
                return edge
        return None

    def parameters(self) -> dict[str, object]:
        if self.name != "custom":
            return deepcopy(dict(self._given))
        return {
            "kinds": list(self.kinds),
            "edges": [[edge.source, edge.target, str(edge.weight)] for edge in self.edges],
            "rules": [_stored(rule) for rule in self.rules],
            "default": self.default_kind,
        }

    def decides(self, other: Policy) -> bool | None:
        return _decide(self, other) if other.of_kinds else None

    def widened(self, implied: Chains) -> Widened:
        """Facts are kinds, or else conditions of rules."""
        facts = set(implied) | {fact for ends in implied.values() for fact in ends}
        return (_wider_kinds if facts <= set(self.kinds) else _wider_rules)(self, implied)

    def sentences(self, epsilon: Fraction) -> list[str]:
        return kind_sentences(self.kinds, self.edges, epsilon)


def _stored(rule: Rule) -> list[str]:
    """A rule for TOML; an expression of 0.1.0 is marked."""
    mark = [] if rule.predicate.sql else ["expression"]
    return [rule.kind, rule.predicate.text, *mark]


def _decide(first: KindPolicy, second: Policy) -> bool | None:
    """Exact for kinds: which pairs of kinds one record can have is read off the predicates.

    False needs two pairs that surely occur: every kind is taken to have records, and predicates
    with different texts may be true or false together.
    """
    if ABSENT not in second.kinds and any(ABSENT in (e.source, e.target) for e in first.edges):
        return False
    pairs = possible_pairs(first, second)
    weights = {(edge.source, edge.target): edge.weight for edge in second.edges}
    # Pairs of which one kind has no other partner surely occur.
    certain = {
        pair
        for pair in pairs
        if any(sum(other[side] == pair[side] for other in pairs) == 1 for side in (0, 1))
    }
    verdict: bool | None = True
    for edge in first.edges:
        sources = [pair for pair in pairs if pair[0] == edge.source]
        targets = [pair for pair in pairs if pair[0] == edge.target]
        for source, target in product(sources, targets):
            if not weights.get((source[1], target[1]), INFINITE) <= edge.weight:
                if {source, target} <= certain:
                    return False
                verdict = None
    return verdict


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
    for place, (rule, own) in enumerate(zip(policy.rules, texts, strict=True)):
        new = [f for f, ends in implied.items() if own in ends and f not in texts[:place]]
        wider = " OR ".join(f"({fact})" for fact in (own, *new))
        rules.append(Rule(rule.kind, Predicate.of(wider)))
        added += [
            Addition(fact, implied[fact][own], f"Rows with {fact!r} are now {rule.kind!r}")
            for fact in new
        ]
    if implied and not set(texts) & {fact for ends in implied.values() for fact in ends}:
        require(implied, {*policy.kinds, *texts}, policy=policy.name)
    found, new_rules = policy, tuple(rules)
    if added and dict(policy._given).get("predicate") == texts[0]:  # noqa: SLF001 - of its family still
        found = replace(policy, rules=new_rules, _given=_given(rules[0].predicate))
    elif added:
        found = KindPolicy("custom", policy.kinds, policy.edges, new_rules, policy.default_kind)
    return Widened(found, tuple(added))


# The families over kinds that publications name, each by one call.

RECORD: Final = "record"
SENSITIVE: Final = "sensitive"
OPEN: Final = "open"
PROTECTED: Final = "protected"
_TIER: Final = "[tier, epsilon, condition], the last without a condition"


def bounded() -> KindPolicy:
    """Bounded differential privacy: any record may pass as any other; their number is public.

    >>> from onesided import policy
    >>> [edge.name for edge in policy.bounded().edges]
    ['record -> record']
    """
    return KindPolicy("bounded", (RECORD,), (Edge(RECORD, RECORD),))


def unbounded() -> KindPolicy:
    """Unbounded differential privacy: a record may pass as absent, and absence as a record.

    >>> from onesided import policy
    >>> [edge.name for edge in policy.unbounded().edges]
    ['record -> absent', 'absent -> record']
    """
    return KindPolicy("unbounded", (RECORD, ABSENT), (Edge(RECORD, ABSENT), Edge(ABSENT, RECORD)))


def addition_only() -> KindPolicy:
    """A record may pass as absent; absence is not hidden (one-sided note, Definition 1).

    >>> from onesided import policy
    >>> policy.addition_only().relaxes(policy.unbounded())
    True
    """
    return KindPolicy("addition_only", (RECORD, ABSENT), (Edge(RECORD, ABSENT),))


def removal_only() -> KindPolicy:
    """Absence may pass as a record; *presence is not hidden* (one-sided note, Definition 2).

    A sample of records in the clear satisfies this. Prefer ``addition_only``.

    >>> from onesided import policy
    >>> [edge.name for edge in policy.removal_only().edges]
    ['absent -> record']
    """
    return KindPolicy("removal_only", (RECORD, ABSENT), (Edge(ABSENT, RECORD),))


def sensitive(predicate: object) -> KindPolicy:
    """One-sided DP: a sensitive record may pass as any other, sensitive or open (OSDP, Def. 3.2).

    ``predicate``: a condition (docs/conditions.md), true where a row is sensitive. Unknown counts
    as sensitive, and a unit is sensitive if any of its rows is. Open records are not protected.

    >>> from onesided import policy
    >>> policy.sensitive("age < 18 or not opt_in").default_kind
    'open'
    """
    condition = Predicate.of(predicate)
    return KindPolicy(
        "sensitive",
        (SENSITIVE, OPEN),
        (Edge(SENSITIVE, SENSITIVE), Edge(SENSITIVE, OPEN)),
        (Rule(SENSITIVE, condition),),
        OPEN,
        _given(condition),
    )


def extended_sensitive(predicate: object) -> KindPolicy:
    """Extended OSDP: sensitive records may pass as absent, absence as any record (Def. 10.1).

    The definition lets a record be added only where the data hold a sensitive one already. That
    clause is left out: with it, parallel composition (Theorem 10.2) fails (docs/publications.md).

    >>> from onesided import policy
    >>> [edge.name for edge in policy.extended_sensitive("minor").edges]
    ['sensitive -> absent', 'absent -> sensitive', 'absent -> open']
    """
    condition = Predicate.of(predicate)
    return KindPolicy(
        "extended_sensitive",
        (SENSITIVE, OPEN, ABSENT),
        (Edge(SENSITIVE, ABSENT), Edge(ABSENT, SENSITIVE), Edge(ABSENT, OPEN)),
        (Rule(SENSITIVE, condition),),
        OPEN,
        _given(condition),
    )


def proposition(predicate: object) -> KindPolicy:
    """A record may pass as another if ``p(real) -> p(other)`` is true (ADP-2022, Def. IV.1).

    ``predicate``: the proposition p, true where a row is *open*. Where it is false or null, the
    row is protected and may pass as anything; an open record may pass as any open one. A unit
    is open only if all its rows are. The definition prints "= False"; that is an erratum.

    >>> from onesided import policy
    >>> [edge.name for edge in policy.proposition("healthy").edges]
    ['protected -> protected', 'protected -> open', 'open -> open']
    """
    condition = Predicate.of(predicate)
    return KindPolicy(
        "proposition",
        (PROTECTED, OPEN),
        (Edge(PROTECTED, PROTECTED), Edge(PROTECTED, OPEN), Edge(OPEN, OPEN)),
        (Rule(PROTECTED, condition.negated()),),
        OPEN,
        _given(condition),
    )


def _given(condition: Predicate) -> tuple[tuple[str, object], ...]:
    return (("predicate", condition.text), ("sql", condition.sql))


def tiers(given: Mapping[str, object]) -> KindPolicy:
    """Each tier with its own ε; its records may pass as anything, in any tier (personalised).

    ``given``: tier -> ``(ε, predicate)``, strictest (smallest ε) first; the last tier is -> ``ε``
    alone and holds everyone else. The session's ε multiplies these. ``INFINITE`` as the last ε
    leaves that tier unprotected. A null in a predicate counts as true.
    Errors: PolicyError unless tiers are ordered and all but the last have a predicate.

    >>> from onesided import policy
    >>> levels = policy.tiers({"strict": ("1/2", "minor"), "rest": 2})
    >>> [(edge.name, str(edge.weight)) for edge in levels.edges][:2]
    [('strict -> strict', '1/2'), ('strict -> rest', '1/2')]
    """
    if not isinstance(given, Mapping):
        raise PolicyError(
            f"tiers must be a mapping from tiers to their ε, got {given!r}.",
            hint='For example {"strict": ("1/2", "level = 1"), "rest": 1}.',
        )
    parts = [(name, *_tier(name, value)) for name, value in given.items()]
    for place, (name, epsilon, condition) in enumerate(parts):
        last = place == len(parts) - 1
        if (condition is None) != last:
            raise PolicyError(
                f"The tier {name!r} {'must not' if last else 'needs to'} have a predicate.",
                hint="All tiers but the last are (epsilon, predicate); the last is its epsilon.",
                tier=name,
            )
        if place and epsilon < parts[place - 1][1]:
            raise PolicyError(
                f"The tier {name!r} is stricter than the one before it.",
                hint="List the tiers strictest first: a row that fits two belongs to the stricter.",
                tier=name,
            )
    names = [name for name, _, _ in parts]
    return KindPolicy(
        "tiers",
        tuple(names),
        tuple(
            Edge(name, target, epsilon)
            for name, epsilon, _ in parts
            if not isinstance(epsilon, Infinite)
            for target in names
        ),
        tuple(Rule(name, condition) for name, _, condition in parts if condition is not None),
        names[-1] if names else "",
        (("tiers", [_stored_tier(*part) for part in parts]),),
    )


def _tier(name: str, value: object) -> tuple[Loss, Predicate | None]:
    """A tier's ε and predicate."""
    parts = list(value) if isinstance(value, tuple | list) else [value]
    if len(parts) not in (1, 2):
        raise PolicyError(
            f"The tier {name!r} must be (epsilon, predicate) or its epsilon, got {value!r}.",
            hint='For example ("1/2", "level = \'strict\'").',
            tier=name,
        )
    epsilon = parts[0]
    loss = (
        INFINITE
        if isinstance(epsilon, Infinite)
        else positive(epsilon, name=f"epsilon of the tier {name!r}")
    )
    return loss, Predicate.of(parts[1]) if len(parts) == 2 else None


def _stored_tier(name: str, epsilon: Loss, condition: Predicate | None) -> list[str]:
    mark = [] if condition is None or condition.sql else ["expression"]
    return [name, text(epsilon), *([] if condition is None else [condition.text]), *mark]


def _read_tiers(listed: Sequence[Sequence[str]]) -> KindPolicy:
    """Tiers from their stored form."""
    _require_sql(all(len(row) < 4 for row in listed), mark="expression")
    given: dict[str, object] = {}
    for name, epsilon, *condition in listed:
        if name in given:
            raise PolicyError(
                f"The tier {name!r} is given twice.", hint="Give each tier once.", tier=name
            )
        given[name] = (from_text(epsilon), *condition)
    return tiers(given)


def custom(
    *,
    kinds: Sequence[str],
    edges: Iterable[Sequence[object]],
    rules: Iterable[tuple[str, object]] = (),
    default: str = "",
) -> KindPolicy:
    """Your own relation: ``edges`` are ``(source, target)`` or ``(source, target, weight)``.

    ``rules`` are ``(kind, predicate)`` pairs in order of precedence, strictest first; ``default``
    is the kind of all other units. Use the kind ``"absent"`` where records may come or go.

    >>> from onesided import policy
    >>> mine = policy.custom(kinds=["ill", "well"], edges=[("ill", "well", "1/2")], default="well")
    >>> mine.edges[0].weight
    Fraction(1, 2)
    """
    return KindPolicy(
        "custom",
        tuple(kinds),
        tuple(
            Edge(str(source), str(target), weight)
            for source, target, weight in listed_edges(edges, example='("sensitive", "open")')
        ),
        tuple(_rule(rule) for rule in rules),
        default,
    )


def _rule(parts: object) -> Rule:
    """A rule from its kind and its condition."""
    if isinstance(parts, tuple | list) and len(parts) == 2:
        return Rule(parts[0], Predicate.of(parts[1]))
    raise PolicyError(
        f"A rule must be (kind, predicate), got {parts!r}.",
        hint='For example rules=[("sensitive", "age < 18")].',
    )


def _sql(value: object, *, name: str) -> bool:
    _require_sql(is_flag(value, name=name), key=name)
    return True


def _require_sql(sql: object, **where: object) -> None:
    if not sql:
        raise PolicyError(
            "This policy was made from a narwhals expression, which text cannot rebuild.",
            hint="Write its predicate as a text: docs/conditions.md says how.",
            **where,
        )


def _read_custom(*, rules: Sequence[Sequence[str]] = (), **given: Any) -> KindPolicy:
    _require_sql(all(len(rule) == 2 for rule in rules), mark="expression")
    return custom(**given, rules=[(kind, condition) for kind, condition in rules])


def _by_condition(make: Callable[[object], KindPolicy], *, shell: bool = True) -> Family:
    """A family of one predicate; an expression cannot come back from its printed form."""
    hint = "SQL that is true for sensitive rows, such as 'age < 18 or not opt_in'"
    return Family(
        make.__name__,
        lambda *, predicate, sql=True: make(predicate),  # noqa: ARG005 - the mark is read first
        {"sql": Field(_sql, default=True), "predicate": PREDICATE},
        example={"predicate": "age < 18"},
        options={"sensitive": Option("predicate", hint)} if shell else None,
    )


def _plain(make: Callable[[], KindPolicy]) -> Family:
    """A family without parameters."""
    return Family(make.__name__, make, {}, example={}, options={})


FAMILIES: Final = (
    _plain(bounded),
    _plain(unbounded),
    _plain(addition_only),
    _plain(removal_only),
    _by_condition(sensitive),
    _by_condition(extended_sensitive),
    _by_condition(proposition, shell=False),
    Family(
        "tiers",
        lambda tiers: _read_tiers(tiers),  # noqa: PLW0108 - the field is called like the family
        {
            "tiers": Field(
                listing(listing(ROW, _TIER, least=2, most=4), f"a list of {_TIER}", least=1),
                example='[["strict", "1/2", "minor"], ["relaxed", "2"]]',
            )
        },
        example={"tiers": [["strict", "1/2", "minor"], ["relaxed", "2"]]},
    ),
    Family(
        "custom",
        _read_custom,
        {
            "kinds": name_list('["strict", "relaxed"]'),
            "edges": edge_list('[["strict", "relaxed", "1/2"]]'),
            "rules": Field(
                listing(listing(ROW, "[kind, condition]", least=2, most=3)),
                default=(),
                example='[["strict", "minor"]]',
            ),
            "default": Field(is_text, default="", example='"relaxed"'),
        },
        example={"kinds": ["strict", "relaxed"], "edges": [["strict", "relaxed"]]},
    ),
)
