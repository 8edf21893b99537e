"""The families over kinds that publications name, each by one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from onesided._numbers import INFINITE, Infinite, Loss, from_text, positive, text
from onesided.errors import PolicyError
from onesided.fields import Field, is_flag, is_text, listing
from onesided.policy._family import PREDICATE, ROW, Family, Option
from onesided.policy._family import edges as edges_field
from onesided.policy._family import names as names_field
from onesided.policy._kinds import KindPolicy
from onesided.policy._predicate import Predicate, Rule
from onesided.policy._shift import ABSENT, Edge, listed_edges

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
        tuple(_edge(edge) for edge in listed_edges(edges, example='("sensitive", "open")')),
        tuple(_rule(rule) for rule in rules),
        default,
    )


def _edge(parts: Sequence[object]) -> Edge:
    """An edge from its parts; the weight may be left out."""
    source, target, *rest = parts
    weight = positive(rest[0] if rest else 1, name="weight of an edge")
    return Edge(str(source), str(target), weight)


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
            "kinds": names_field('["strict", "relaxed"]'),
            "edges": edges_field('[["strict", "relaxed", "1/2"]]'),
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
