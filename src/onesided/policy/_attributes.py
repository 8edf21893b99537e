"""Attributes with sensitive values of their own: asymmetric differential privacy per attribute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Final

from onesided.errors import PolicyError
from onesided.fields import Field, is_text, listing, table
from onesided.policy._base import GroupCount, Policy, Widened, extremes
from onesided.policy._family import Family, edge_list, name_list
from onesided.policy._shift import (
    ABSENT,
    COMMON,
    PUBLIC_NUMBER,
    Addition,
    Arrows,
    Chains,
    Edge,
    Record,
    Shift,
    likely,
    order,
    require,
    some,
    widened_arrows,
)

RECORD: Final = "record"
ANY: Final = "*"
_EDGE: Final = Edge("sensitive values", "any values")


@dataclass(frozen=True, slots=True, repr=False)
class Attributes(Policy):
    """A record is a value per attribute; its sensitive values may become any, all at once.

    Values that are not sensitive stay, and are not protected. As a group of a count, a value is
    written ``"attribute=value"``, or as the value alone if the policy has a single attribute.

    >>> from onesided import policy
    >>> policy.attributes({"income": "*"}).is_sensitive("income", "high")
    True
    """

    sensitive: tuple[tuple[str, tuple[str, ...]], ...]

    def __post_init__(self) -> None:
        if not any(values for _, values in self.sensitive):
            raise PolicyError(
                "No attribute has a sensitive value, so the policy protects nobody.",
                hint='For example attributes({"diagnosis": ["hiv"], "income": "*"}).',
                key="sensitive",
            )

    name = "attributes"
    kinds = (RECORD,)
    edges = (_EDGE,)

    def ends(self, edge: Edge) -> tuple[str, str]:  # noqa: ARG002 - there is one kind
        return RECORD, RECORD

    single_valued = True

    def shifts(self, query: GroupCount) -> Mapping[Edge, tuple[Shift, ...]]:
        """Each attribute that can change leaves one group and enters one.

        Keeping ``max_groups`` groups of a record by a public order exchanges no more of them than
        its values change. By an attribute of the policy, a sensitive value leaves a cell only if it
        is asked for, and enters one that is not its own.
        """
        self.check_counted(query)
        able = {name: values for name, values in self.sensitive if values}
        named = frozenset(() if query.cells is None else able.get(query.cells.column, ()))
        keys, held = query.values, query.picked(named - {ANY})
        if held is None and keys and all(isinstance(key, str) for key in keys):
            held = keys
        if named and held is not None:
            inside = ANY in named or not held.isdisjoint(named)
            outside = ANY in named or not held >= named
            moves = [(len(keys) > 1, True)] * inside + [(True, False)] * outside
            return {_EDGE: extremes(moves)}
        most = min(query.max_groups or 1, len(able))
        return {_EDGE: replace(query, max_groups=most).between(RECORD, RECORD)}

    def is_sensitive(self, attribute: str, value: str) -> bool:
        """Whether the attribute's value may become any other."""
        values = dict(self.sensitive).get(attribute, ())
        return ANY in values or value in values

    def records(self, groups: Sequence[str], *, max_groups: int) -> tuple[Record, ...]:
        """Every record with one value for each attribute that ``groups`` name.

        Errors: PolicyError if they name more than ``max_groups`` attributes.
        """
        domain: dict[str, list[str]] = {}
        for group in groups:
            domain.setdefault(self.split(group)[0], []).append(group)
        if len(domain) > max_groups:
            raise PolicyError(
                f"A record has {len(domain)} attributes here, so it is in that many groups.",
                hint=f"Use max_groups={len(domain)}, or groups of fewer attributes.",
            )
        return tuple(Record(RECORD, frozenset(chosen)) for chosen in product(*domain.values()))

    def edge_between(self, real: Record, other: Record) -> Edge | None:
        here, there = dict(self._pairs(real)), dict(self._pairs(other))
        if here == there or here.keys() != there.keys():
            return None
        changed = [name for name, value in here.items() if there[name] != value]
        return _EDGE if all(self.is_sensitive(name, here[name]) for name in changed) else None

    def _pairs(self, record: Record) -> Iterator[tuple[str, str]]:
        values = record.value if isinstance(record.value, frozenset) else frozenset()
        return (self.split(group) for group in values)

    def split(self, group: str) -> tuple[str, str]:
        """The attribute and value that a group's name stands for.

        A value alone is one of the single attribute. Among several it would be one of whichever
        comes first: two policies would take one record for different ones, and :meth:`relaxes`
        would not hold. Errors: PolicyError for such a value.
        """
        name, separator, value = group.partition("=")
        if separator:
            return name, value
        if len(self.sensitive) > 1:
            raise PolicyError(
                f"{group!r} may be a value of any of {len(self.sensitive)} attributes.",
                hint=f"Write for example {self.sensitive[0][0]}={group}.",
                group=group,
            )
        return self.sensitive[0][0], group

    def parameters(self) -> dict[str, object]:
        return {"sensitive": {name: list(values) for name, values in self.sensitive}}

    def decides(self, other: Policy) -> bool | None:
        """Exact among these: each attribute's sensitive values, one by one."""
        if not isinstance(other, Attributes):
            return None
        return all(
            other.is_sensitive(name, value) for name, values in self.sensitive for value in values
        )

    def widened(self, implied: Chains) -> Widened:
        """Facts are ``attribute=value``; one that implies a sensitive value becomes sensitive."""
        sensitive = {name: set(values) for name, values in self.sensitive}
        added = []
        for fact, ends in implied.items():
            name, value = self.split(fact)
            if self.is_sensitive(name, value):
                continue
            for end, chain in ends.items():
                if self.is_sensitive(*self.split(end)):
                    sensitive.setdefault(name, set()).add(value)
                    added.append(Addition(fact, chain, f"{fact!r} is now a sensitive value"))
                    break
        listed = tuple(sorted((name, tuple(sorted(values))) for name, values in sensitive.items()))
        return Widened(Attributes(listed) if added else self, tuple(added))

    def drawn(self) -> tuple[tuple[str, ...], tuple[Edge, ...]]:
        return (), self.edges

    def sentences(self, epsilon: Fraction) -> list[str]:
        """Each attribute's sensitive values, and what stays open."""
        lines = [
            f"Protected (sensitive values -> any values): {name} "
            + ("with any value" if values == ("*",) else f"where it is {some(values)}")
            + f" may pass as any other {name}. {likely(epsilon)}"
            for name, values in self.sensitive
            if values
        ]
        return [
            *lines,
            "All sensitive values of one person are hidden together, at these odds.",
            "Not protected: every other value. An observer may learn for certain that someone has "
            "it.",
            "Warning: leaving blanks only where a value is sensitive, and publishing the rest, "
            "reveals that it is sensitive (an exclusion attack).",
            PUBLIC_NUMBER,
            COMMON,
        ]


def attributes(sensitive: Mapping[str, Iterable[str]]) -> Attributes:
    """Protect some values of some attributes (ADP-2021, Definitions 7 to 9).

    ``sensitive``: attribute -> its sensitive values, or ``"*"`` for all of them.
    Errors: PolicyError if nothing is sensitive, or names hold "=".

    >>> from onesided import policy
    >>> some = policy.attributes({"diagnosis": ["hiv"], "income": "*"})
    >>> some.is_sensitive("diagnosis", "hiv"), some.is_sensitive("diagnosis", "flu")
    (True, False)
    """
    if not isinstance(sensitive, Mapping):
        raise PolicyError(
            f"attributes must be a mapping from attributes to values, got {sensitive!r}.",
            hint='For example {"diagnosis": ["hiv"], "income": "*"}.',
        )
    listed = {
        str(name): tuple(
            sorted({values} if isinstance(values, str) else {str(value) for value in values})
        )
        for name, values in sensitive.items()
    }
    for name in listed:
        if not name or "=" in name:
            raise PolicyError(
                f"An attribute cannot be called {name!r}.", hint="Leave '=' out of its name."
            )
    return Attributes(tuple(sorted(listed.items())))


def _values(given: object, *, name: str) -> list[str]:
    """Sensitive values, or the one that stands for all."""
    listed = [given] if isinstance(given, str) else given
    return listing(is_text, "a list of values")(listed, name=name)


# One person's own input: which letters of an alphabet must be able to pass as which.


@dataclass(frozen=True, slots=True, repr=False)
class Local(Policy):
    """One person's own input: which letters of an alphabet must be able to pass as which.

    Every letter is a kind and every arrow an edge of its own, so that a randomiser's loss is
    stated pair by pair.

    >>> from onesided import policy
    >>> policy.local(["yes", "no"]).kinds
    ('no', 'yes')
    """

    arrows: Arrows

    name = "local"

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(str(value) for value in self.arrows.values)

    @property
    def edges(self) -> tuple[Edge, ...]:
        return tuple(Edge(str(s), str(t), weight) for s, t, weight in self.arrows.listed)

    single_valued = True

    def shifts(self, query: GroupCount) -> Mapping[Edge, tuple[Shift, ...]]:
        return self.one_value_shifts(query)

    def records(self, groups: Sequence[str], *, max_groups: int) -> tuple[Record, ...]:
        """The letters, whatever the groups; a letter is counted in the group of its name."""
        del groups, max_groups
        return tuple(Record(kind, frozenset({kind})) for kind in self.kinds)

    def edge_between(self, real: Record, other: Record) -> Edge | None:
        weight = self.arrows.weights.get((real.kind, other.kind))
        return None if weight is None else Edge(real.kind, other.kind, weight)

    def parameters(self) -> dict[str, object]:
        return {"alphabet": list(self.arrows.values), "edges": self.arrows.stored()}

    def decides(self, other: Policy) -> bool | None:
        """Exact among local policies."""
        return self.arrows.within(other.arrows) if isinstance(other, Local) else None

    def widened(self, implied: Chains) -> Widened:
        """A letter that implies another must be able to pass as what that one may pass as."""
        require(implied, set(self.kinds), policy=self.name)
        arrows, added, warnings = widened_arrows(self.arrows, implied)
        return Widened(Local(arrows), added, warnings)

    def sentences(self, epsilon: Fraction) -> list[str]:
        """Every pair of answers, and the answers that are not protected."""
        protected = {edge.source for edge in self.edges}
        exposed = [kind for kind in self.kinds if kind not in protected]
        lines = [
            f"Protected ({edge.name}): someone whose true answer is {edge.source!r} may pass as "
            f"someone whose true answer is {edge.target!r}. {likely(epsilon * edge.weight)}"
            for edge in self.edges
        ]
        if exposed:
            lines.append(
                f"Not protected: {some(exposed)}. An observer may learn for certain that this is "
                "the true answer. Warning: if everyone whose true answer this is says so, anyone "
                "who does not is known to have another (an exclusion attack)."
            )
        return [*lines, "Each person's answer is hidden before it is sent; nobody need be trusted."]


def local(
    alphabet: Iterable[str],
    *,
    edges: Iterable[Sequence[object]] | None = None,
    sensitive: Iterable[str] | None = None,
) -> Local:
    """What one person answers: directed, weighted moves between letters.

    ``edges`` go one way each. ``sensitive`` instead makes each of these letters pass as every
    other. With neither, every letter may pass as every other (ordinary local privacy).
    Errors: PolicyError for letters outside the alphabet, a letter called "absent", or for both
        ``edges`` and ``sensitive``.

    >>> from onesided import policy
    >>> [edge.name for edge in policy.local(["yes", "no"], sensitive=["yes"]).edges]
    ['yes -> no']
    """
    if isinstance(alphabet, str) or not isinstance(alphabet, Iterable):
        raise PolicyError(
            f"An alphabet must be a list of letters, got {alphabet!r}.",
            hint='For example ["yes", "no"].',
        )
    letters = [_letter(letter) for letter in alphabet]
    if len(letters) < 2:
        raise PolicyError(
            f"An alphabet needs at least two letters, got {letters!r}.",
            hint="List every answer that a person can give, such as yes and no.",
        )
    if edges is not None and sensitive is not None:
        raise PolicyError("Give edges or sensitive, not both.", hint="edges can say it all.")
    if edges is None:
        sources = letters if sensitive is None else list(sensitive)
        edges = [(source, target) for source in sources for target in letters if source != target]
    arrows = Arrows.of(edges, directed=True, values=letters)
    if any("->" in letter for letter in letters):
        raise PolicyError("A letter must not contain '->'.", hint="Edges are named with it.")
    outside = set(arrows.values) - set(letters)
    if outside or len(set(letters)) != len(letters):
        raise PolicyError(
            f"{min(outside, key=order)!r} is not in the alphabet."
            if outside
            else "A letter is in the alphabet twice.",
            hint="List every answer that a person can give once, in the alphabet.",
            value=min(outside, key=order, default=""),
        )
    return Local(arrows)


def _letter(value: object) -> str:
    if value == ABSENT:
        raise PolicyError(
            f"A letter cannot be called {ABSENT!r}: that is what not being there is called.",
            hint="Call the answer something else, such as 'away'.",
            value=value,
        )
    if isinstance(value, str) and value:
        return value
    raise PolicyError(f"A letter must be text, got {value!r}.", hint="For example 'yes'.")


FAMILIES: Final = (
    Family(
        "attributes",
        attributes,
        {"sensitive": Field(table(_values), example='{ diagnosis = ["hiv"], income = "*" }')},
        example={"sensitive": {"diagnosis": ["hiv"]}},
    ),
    Family(
        "local",
        local,
        {
            "alphabet": name_list('["yes", "no"]'),
            "edges": edge_list('[["yes", "no"]]', default=None),
            "sensitive": name_list('["yes"]', default=None),
        },
        example={"alphabet": ["yes", "no"], "sensitive": ["yes"]},
    ),
)
