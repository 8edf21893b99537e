"""What releases under different policies protect together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from itertools import chain, combinations, product
from typing import Final, Literal, TypeVar

from onesided._english import many
from onesided.errors import PolicyError
from onesided.fields import Field, listing
from onesided.policy._base import GroupCount, Policy, Rule, possible_pairs, reaches_absence
from onesided.policy._family import Family, part_of
from onesided.policy._shift import ABSENT, COMMON, Edge, Record, Shift, likely

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Intersection(Policy):
    """A move must be a move of every part, and is as long as in the part where it is longest.

    Kinds are combinations of the parts' kinds; a record that is absent is absent to all.

    Why the longest: let a release keep (ε1, A) and another (ε2, B). Along a move of both, losses
    add up to ``ε1 dA + ε2 dB <= (ε1 + ε2) max(dA, dB)``, so together they keep
    ``(ε1 + ε2, A & B)``; and no smaller distance would do for all ε1 and ε2. It is also the
    strictest policy that relaxes both. :func:`together` keeps the exact sum, edge by edge.
    OSDP's minimum relaxation (Def. 3.6) and ADP-2022's composition (Theorem VIII.6) are cases.
    Errors: PolicyError where the parts have no move in common, or one is a view.

    >>> from onesided import policy
    >>> (policy.sensitive("minor") & policy.bounded()).name
    'intersection'
    """

    _parts: tuple[Policy, ...]

    def __post_init__(self) -> None:
        if any(part.view for part in self.parts):
            raise PolicyError(
                "What a view and another policy protect together is not told by kinds of records.",
                hint="Ask all questions under the view; total_guarantee(ledger, policy) tells what "
                "other accounts add to it.",
            )
        if not self.edges:
            names = ", ".join(f"'{part.name}'" for part in self.parts)
            raise PolicyError(
                f"No move is allowed by all of {names}: together they protect nobody.",
                hint="Releases under these policies cannot be relied on together.",
            )

    name = "intersection"

    @property
    def parts(self) -> tuple[Policy, ...]:
        return self._parts

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(self.combinations)

    @property
    def edges(self) -> tuple[Edge, ...]:
        return tuple(self.joins)

    @cached_property
    def joins(self) -> Mapping[Edge, tuple[Edge, ...]]:
        """Each edge, and the parts' edges that it stands for."""
        found: dict[Edge, tuple[Edge, ...]] = {}
        names: list[str] = []
        for joint in product(*(part.edges for part in self.parts)):
            if self._shared(joint):
                source = _label([edge.source for edge in joint])
                target = _label([edge.target for edge in joint])
                found[Edge(source, target, max(edge.weight for edge in joint))] = joint
                names.append(f"{source} -> {target}")
        _distinct(dict.fromkeys(names), len(names))
        return found

    def ends(self, edge: Edge) -> tuple[str, str]:
        return self.ways(edge)[0]

    def ways(self, edge: Edge) -> tuple[tuple[str, str], ...]:
        return self._shared(self.joins[edge])

    def _shared(self, joint: Sequence[Edge]) -> tuple[tuple[str, str], ...]:
        """The pairs of ends that moves on all these edges of the parts can have.

        A unit that leaves the table leaves it under every part, and so for one that comes.
        """
        ways = [part.ways(one) for part, one in zip(self.parts, joint, strict=True)]
        chosen = (tuple(zip(*one, strict=True)) for one in product(*ways))
        return tuple(
            (_label(source), _label(target))
            for source, target in chosen
            if all(
                set(end) == {ABSENT} or _label(end) in self.combinations for end in (source, target)
            )
        )

    def wider(self, edge: Edge) -> tuple[Policy, ...]:
        """The parts by which more units may leave the table, or stay, than all parts allow.

        Of units of the kind that ``edge`` starts from, along what the part takes it for.
        """
        source, joint = self.ends(edge)[0], self.joins[edge]
        found = []
        for place, part in enumerate(self.parts):
            alike = [e for e, steps in self.joins.items() if steps[place] == joint[place]]
            there = {_there(way) for e in alike for way in self.ways(e) if way[0] == source}
            if not {_there(way) for way in part.ways(joint[place])} <= there:
                found.append(part)
        return tuple(found)

    @cached_property
    def unprotected(self) -> tuple[str, ...]:
        """Units that each part protects and all together do not: no move of one is one of all.

        As phrases that follow "somebody". What depends on values that a part names is not told.
        """
        present = [kind for kind in self.combinations if kind != ABSENT]
        return tuple(
            lost + (f", of the kind {self._told(kind)}" if len(present) > 1 else "")
            for kind in present
            if (lost := self._lost(kind))
        )

    def _lost(self, kind: str) -> str:
        """Which units of a kind have no move, if each part has one for them; "" if none."""
        own = zip(self.parts, self.combinations[kind], strict=True)
        if not all(_from(part, one) for part, one in own):
            return ""
        there = {_there(way) for way in _from(self, kind)}
        stays, leaves = (True, True) in there, (True, False) in there
        if self._covered is None or stays == leaves:
            return "" if there else "in the table"
        if stays:
            # Under presence alone whoever stays has dropped a group.
            if all(part.other_values != "dropped" for part in self.parts):
                return ""
            return "who is in one group only, and would have to leave the table"
        return f"in more than {many(self._covered, 'group')}"

    def _told(self, kind: str) -> str:
        """A kind by the parts that tell kinds apart."""
        named = zip(self.parts, self.combinations[kind], strict=True)
        return _label([one for part, one in named if len(part.kinds) > 1])

    @property
    def rules(self) -> tuple[Rule, ...]:
        """A unit's kind under each part decides its kind: rules combine in order of precedence."""
        choices = [[*part.rules, None] for part in self.parts]
        combined = []
        for chosen in product(*choices):
            conditions = tuple(chain.from_iterable(r.predicates for r in chosen if r is not None))
            kind = self._kind_of(chosen)
            if conditions and kind in self.combinations:
                distinct = tuple(dict.fromkeys(conditions))
                combined.append(Rule(kind, distinct[0], distinct[1:]))
        return tuple(combined)

    @property
    def default_kind(self) -> str:
        return self._kind_of([None] * len(self.parts))

    @property
    def single_valued(self) -> bool:
        return any(part.single_valued for part in self.parts)

    @property
    def other_values(self) -> Literal["replaced", "dropped"] | None:
        """A move is one of every part, so that what any part leaves open may happen."""
        found = {part.other_values for part in self.parts}
        return None if None in found else "dropped" if "dropped" in found else "replaced"

    @property
    def excess_modes(self) -> tuple[str, ...]:
        first, *others = (part.excess_modes for part in self.parts)
        shared = tuple(mode for mode in first if all(mode in modes for modes in others))
        return shared or ("error",)

    def shifts(self, query: GroupCount) -> Mapping[Edge, tuple[Shift, ...]]:
        """A move of all parts keeps within the shifts of each, where both its ends are counted.

        If only one end is counted, all groups that the record is counted in come or go at once:
        the parts' shifts describe the difference of two counted records and say nothing of that.
        """
        self.check_counted(query)
        parts = [part.shifts(self._asked_of(part, query)) for part in self.parts]
        result = {}
        for edge, joint in self.joins.items():
            limits = [shifts[one] for shifts, one in zip(parts, joint, strict=True)]
            ends = self.ends(edge)
            if all(map(query.counts, ends)):
                many = {
                    Shift(rise=min(s.rise for s in chosen), fall=min(s.fall for s in chosen))
                    for chosen in product(*limits)
                }
            else:
                endless = self._covered is not None and not self.single_valued
                if query.max_groups is None and endless:
                    raise PolicyError(
                        "A unit may be in any number of groups, all of which are counted, or no "
                        "longer counted, when its kind changes.",
                        hint="Name max_groups, the most groups that one unit can be counted in.",
                    )
                many = set(replace(query, max_groups=query.max_groups or 1).between(*ends))
            result[edge] = tuple(sorted(many, key=lambda s: (s.rise, s.fall)))
        return result

    def _asked_of(self, part: Policy, query: GroupCount) -> GroupCount:
        """The count as a part is asked about it, with every kind counted.

        Where no number of groups is named, but a part such as presence covers some, those that
        replace whole records are asked about as many; they would take one group for granted.
        """
        most = query.max_groups
        if most is None and part.covers is None and not part.single_valued:
            most = self._covered
        return replace(query, max_groups=most, counted=None)

    @property
    def _covered(self) -> int | None:
        """How many groups of one unit a move takes at most, where a part says so."""
        return min((part.covers for part in self.parts if part.covers is not None), default=None)

    @property
    def reads_columns(self) -> bool:
        return any(part.reads_columns for part in self.parts)

    def records(self, groups: Sequence[str], *, max_groups: int) -> tuple[Record, ...]:
        """Every combination of the parts' records that hold the same groups."""
        kinds = self.combinations
        lists = [part.records(groups, max_groups=max_groups) for part in self.parts]
        if ABSENT in kinds:
            lists = [tuple(dict.fromkeys((Record(ABSENT), *records))) for records in lists]
        return tuple(
            Record(_label([r.kind for r in chosen]), chosen[0].value)
            for chosen in product(*lists)
            if len({r.value for r in chosen}) == 1 and _label([r.kind for r in chosen]) in kinds
        )

    def views(self, record: Record) -> tuple[Record, ...]:
        """The record as each part sees it."""
        return tuple(Record(kind, record.value) for kind in self.combinations[record.kind])

    def edge_between(self, real: Record, other: Record) -> Edge | None:
        steps = zip(self.parts, self.views(real), self.views(other), strict=True)
        joint = [part.edge_between(here, there) for part, here, there in steps]
        found = [edge for edge in joint if edge is not None]
        if len(found) < len(joint):
            return None
        source, target = _label([e.source for e in found]), _label([e.target for e in found])
        return Edge(source, target, max(edge.weight for edge in found))

    def parameters(self) -> dict[str, object]:
        return {"parts": [{"family": p.name, "parameters": p.parameters()} for p in self.parts]}

    def sentences(self, epsilon: Fraction) -> list[str]:
        """What several policies protect together, and that each alone protects more."""
        names = ", ".join(f"'{part.name}'" for part in self.parts)
        lines = [
            f"Part {place}: '{part.name}'"
            + "".join(f"; {rule.kind} where {rule.condition}" for rule in part.rules)
            + "."
            for place, part in enumerate(self.parts, start=1)
        ]
        lines += [
            f"Protected ({edge.name}): under each of {names}, {edge.source} may pass as "
            f"{edge.target}. {likely(epsilon * edge.weight)}"
            for edge in self.edges
        ]
        lines += [
            f"Warning: somebody {who} has no move that all of these policies allow. Releases under "
            "each of them on its own protect such a person together not at all."
            for who in self.unprotected
        ]
        return [
            *lines,
            "This is what releases under these policies protect together; their losses add up. "
            "Each release on its own protects more, but what only one of the policies protects can "
            "be revealed by a release under another: an observer may learn it for certain.",
            COMMON,
        ]

    @cached_property
    def combinations(self) -> Mapping[str, tuple[str, ...]]:
        """Names of the kinds, and what they combine: only what one record can be to all parts."""
        allowed = {
            (i, j): possible_pairs(one, two)
            for (i, one), (j, two) in combinations(enumerate(self.parts), 2)
        }
        known = any(ABSENT in part.kinds for part in self.parts)
        found = [
            chosen
            for chosen in product(*(_kinds(part, absent=known) for part in self.parts))
            if all((chosen[i], chosen[j]) in pairs for (i, j), pairs in allowed.items())
        ]
        return _distinct({_label(chosen): chosen for chosen in found}, len(found))

    def _kind_of(self, chosen: Sequence[Rule | None]) -> str:
        pairs = zip(self.parts, chosen, strict=True)
        return _label([part.default_kind if rule is None else rule.kind for part, rule in pairs])


def _kinds(part: Policy, *, absent: bool) -> tuple[str, ...]:
    """A part's kinds; absent among them where a move reaches it and ``absent`` is a kind."""
    reached = absent and reaches_absence(part)
    return tuple(dict.fromkeys((*part.kinds, *([ABSENT] if reached else []))))


def _from(policy: Policy, kind: str) -> list[tuple[str, str]]:
    """The ends of moves that start from units of a kind."""
    return [way for edge in policy.edges for way in policy.ways(edge) if way[0] == kind]


def _there(way: tuple[str, str]) -> tuple[bool, bool]:
    """Whether a unit is there before and after."""
    return way[0] != ABSENT, way[1] != ABSENT


def _distinct(named: dict[str, Value], count: int) -> dict[str, Value]:
    """Refuse names that two combinations share: one would hide the other."""
    if len(named) != count:
        raise PolicyError(
            "Two combinations of kinds would have one name.",
            hint="Leave ' & ' and '->' out of the names of kinds.",
        )
    return named


def intersect(first: Policy, second: Policy) -> Policy:
    """``first & second``; order and repetition make no difference to the result."""
    if not isinstance(second, Policy):
        return NotImplemented
    flat = [part for policy in (first, second) for part in policy.parts]
    distinct = {part.to_toml(): part for part in flat}
    parts = [distinct[text] for text in sorted(distinct)]
    return parts[0] if len(parts) == 1 else Intersection(tuple(parts))


def _label(kinds: Sequence[str]) -> str:
    """One name for a combination; where all parts say the same, that is its name."""
    return kinds[0] if len(set(kinds)) == 1 else " & ".join(kinds)


def _read(*, parts: Sequence[Policy]) -> Policy:
    if not parts:
        hint = "Write [[parameters.parts]]."
        raise PolicyError("An intersection needs parts.", hint=hint, key="parts")
    return reduce(intersect, parts)


FAMILIES: Final = (
    Family(
        "intersection",
        _read,
        {"parts": Field(listing(part_of, "a list of policies"))},
        example={
            "parts": [
                {"family": "bounded"},
                {"family": "sensitive", "parameters": {"predicate": "minor"}},
            ]
        },
    ),
)
