"""Policies over named kinds of records: differential privacy, one-sided DP and their kin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Final

from onesided._numbers import Number, positive
from onesided.errors import PolicyError
from onesided.policy._base import Policy
from onesided.policy._predicate import Predicate, Rule
from onesided.policy._shift import ABSENT, Edge, GroupCount, Record, Shift

RECORD: Final = "record"
SENSITIVE: Final = "sensitive"
OPEN: Final = "open"


@dataclass(frozen=True, slots=True)
class KindPolicy(Policy):
    """Records have kinds; along an edge, a record of one kind may pass as *any* of the other.

    Errors: PolicyError for no edges, repeated or unknown kinds, repeated edges, or rules that
    name an unknown kind.
    """

    _name: str
    _kinds: tuple[str, ...]
    _edges: tuple[Edge, ...]
    _rules: tuple[Rule, ...] = ()
    _default: str = ""

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
        unknown = (query.counted or frozenset()) - set(self._kinds)
        if unknown:
            raise PolicyError(
                f"The policy {self.name!r} has no kind {min(unknown)!r} to count.",
                hint=f"Its kinds are {', '.join(self._kinds)}.",
            )
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
        if self._name == SENSITIVE:
            return {"predicate": self._rules[0].predicate.text, "sql": self._rules[0].predicate.sql}
        if self._name != "custom":
            return {}
        return {
            "kinds": list(self._kinds),
            "edges": [[edge.source, edge.target, str(edge.weight)] for edge in self._edges],
            "rules": [[rule.kind, rule.predicate.text] for rule in self._rules],
            "default": self.default_kind,
        }

    def sentences(self, odds: str) -> list[str]:
        from onesided.policy._explain import kind_sentences  # noqa: PLC0415 - words come last

        return kind_sentences(self, odds)


def _check_kinds(kinds: Sequence[str]) -> None:
    """Refuse kinds that repeat or that no record can have."""
    if len(set(kinds)) != len(kinds) or not set(kinds) - {ABSENT}:
        raise PolicyError(
            f"The kinds {', '.join(map(repr, kinds)) or '(none)'} are repeated or empty.",
            hint='Name each kind once; at least one besides "absent".',
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
    pairs = [(edge.source, edge.target) for edge in edges]
    if len(set(pairs)) != len(pairs) or (ABSENT, ABSENT) in pairs:
        raise PolicyError(
            "An edge is given twice, or joins absent to absent.", hint="Give each edge once."
        )


def bounded() -> KindPolicy:
    """Bounded differential privacy: any record may pass as any other; their number is public."""
    return KindPolicy("bounded", (RECORD,), (Edge(RECORD, RECORD),))


def unbounded() -> KindPolicy:
    """Unbounded differential privacy: a record may pass as absent, and absence as a record."""
    return KindPolicy("unbounded", (RECORD, ABSENT), (Edge(RECORD, ABSENT), Edge(ABSENT, RECORD)))


def addition_only() -> KindPolicy:
    """A record may pass as absent; absence is not hidden (one-sided note, Definition 1)."""
    return KindPolicy("addition_only", (RECORD, ABSENT), (Edge(RECORD, ABSENT),))


def removal_only() -> KindPolicy:
    """Absence may pass as a record; *presence is not hidden* (one-sided note, Definition 2).

    A sample of records in the clear satisfies this. Prefer ``addition_only``.
    """
    return KindPolicy("removal_only", (RECORD, ABSENT), (Edge(ABSENT, RECORD),))


def sensitive(predicate: object) -> KindPolicy:
    """One-sided DP: a sensitive record may pass as any other, sensitive or open (OSDP, Def. 3.2).

    ``predicate``: SQL text or a narwhals expression, true where a row is sensitive. Null counts
    as sensitive, and a unit is sensitive if any of its rows is. Open records are not protected.
    """
    return KindPolicy(
        SENSITIVE,
        (SENSITIVE, OPEN),
        (Edge(SENSITIVE, SENSITIVE), Edge(SENSITIVE, OPEN)),
        (Rule(SENSITIVE, Predicate.of(predicate)),),
        OPEN,
    )


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
    """
    return KindPolicy(
        "custom",
        tuple(kinds),
        tuple(_edge(edge) for edge in edges),
        tuple(Rule(kind, Predicate.of(condition)) for kind, condition in rules),
        default,
    )


def _edge(parts: Sequence[object]) -> Edge:
    """An edge from its parts; the weight may be left out."""
    if isinstance(parts, str) or len(parts) not in (2, 3):
        raise PolicyError(
            f"An edge must be (source, target) or (source, target, weight), got {parts!r}.",
            hint='For example ("sensitive", "open").',
        )
    source, target, *rest = parts
    weight: Number = rest[0] if rest else 1  # type: ignore[assignment]
    return Edge(str(source), str(target), Fraction(positive(weight, name="weight of an edge")))
