"""Attributes with sensitive values of their own: asymmetric differential privacy per attribute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Final

from onesided.errors import PolicyError
from onesided.fields import Field, is_text, listing, table
from onesided.policy._base import Policy, Widened
from onesided.policy._cells import GroupCount, extremes
from onesided.policy._family import Family
from onesided.policy._implications import Addition, Chains
from onesided.policy._shift import COMMON, PUBLIC_NUMBER, Edge, Record, Shift, likely, some

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
        named = () if query.cells is None else able.get(query.cells.column, ())
        keys = query.values
        if named and keys and all(isinstance(key, str) for key in keys):
            inside = ANY in named or not keys.isdisjoint(named)
            outside = ANY in named or not keys >= set(named)
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


FAMILY: Final = Family(
    "attributes",
    attributes,
    {"sensitive": Field(table(_values), example='{ diagnosis = ["hiv"], income = "*" }')},
    example={"sensitive": {"diagnosis": ["hiv"]}},
)
