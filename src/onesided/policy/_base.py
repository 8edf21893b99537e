"""What every policy can do, whatever its family."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, compress, product
from math import ceil
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal, Protocol, TypeAlias, TypeVar

import tomli_w

from onesided._english import many
from onesided._numbers import INFINITE, Loss, positive, whole
from onesided.conditions import ANY, Condition, Truth
from onesided.errors import ConditionError, PolicyError
from onesided.policy._shift import (
    ABSENT,
    Addition,
    Chains,
    Edge,
    Record,
    Shift,
    chains,
    decide,
    draw,
    listed,
    require_records,
)
from onesided.schema import TEXT
from onesided.show import Card

# Conditions on rows, in the language of :mod:`onesided.conditions`.


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition on a row. Unknown counts as true: who cannot be placed is protected.

    text: as it was written, which identifies it in stored policies. condition: what it means;
    None for one that is on record and not in the language, which counts in totals and decides no
    row. sql: whether it was text, and not an expression, as some of 0.1.0 were.

    >>> from onesided.policy import Predicate
    >>> Predicate.of("age < 18").negated().text
    'NOT (age < 18)'
    """

    text: str
    condition: Condition | None = field(compare=False, repr=False)
    sql: bool = field(default=True, repr=False)

    @classmethod
    def of(cls, condition: object) -> Predicate:
        """From a condition's text, or a Predicate.

        Errors: ConditionError, showing the place, for what is not in the language.
        """
        if isinstance(condition, Predicate):
            return condition
        parsed = Condition.parse(condition)
        return cls(parsed.text, parsed)

    @classmethod
    def on_record(cls, text: str, *, sql: bool = True) -> Predicate:
        """As it was stored, whether or not the language has it."""
        try:
            return cls(text, Condition.parse(text) if sql else None, sql)
        except ConditionError:
            return cls(text, None, sql)

    def readable(self) -> Condition:
        """What it means. Errors: ConditionError if it is on record alone."""
        if self.condition is None:
            raise ConditionError(
                f"The condition {self.text!r} was written for an earlier version, and is not in "
                "the language of conditions.",
                hint="What was charged for it counts in totals. For new answers write the "
                "condition anew (docs/conditions.md), as a policy of its own.",
            )
        return self.condition

    def negated(self) -> Predicate:
        """Where this is false; unknown stays unknown, so it counts as true here too."""
        return Predicate.on_record(f"NOT ({self.text})", sql=self.sql)

    @property
    def about_missing(self) -> str:
        """What is said where the condition itself may take what is missing for no; "" elsewhere.

        >>> print(Predicate.of("COALESCE(age < 18, FALSE)").about_missing)
        A row without a value of 'age' may count as open: COALESCE(age < 18, FALSE) says so.
        """
        named = () if self.condition is None else self.condition.settled
        either = " or ".join(map(repr, named))
        return (
            f"A row without a value of {either} may count as open: {self} says so." if named else ""
        )

    def or_unknown(self) -> Predicate:
        """Where this is true or unknown.

        >>> Predicate.of("age < 18").or_unknown().text
        'COALESCE(age < 18, TRUE)'
        """
        return Predicate(f"COALESCE({self.text}, TRUE)", self.readable().or_unknown(), self.sql)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Rule:
    """A unit is of ``kind`` if every condition is true or null for some row of its own.

    ``also``: further conditions, each of which some row must meet -- the same row or another.

    >>> from onesided import policy
    >>> policy.sensitive("minor").rules[0].kind
    'sensitive'
    """

    kind: str
    condition: Predicate
    also: tuple[Predicate, ...] = ()

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        """All the conditions."""
        return (self.condition, *self.also)

    @property
    def predicate(self) -> Predicate:
        """The one condition.

        Errors: PolicyError if there are several: whoever reads one would protect too few.
        """
        if self.also:
            raise PolicyError(
                f"The kind {self.kind!r} needs {len(self.predicates)} conditions to hold.",
                hint="Count under one of the policies that were combined; or count all kinds.",
            )
        return self.condition


# The cells that a question counts units in, and how far one move can take their numbers.
#
# Claim. A question asks for a vector of numbers, one for each of its *cells*: how many units of the
# kinds counted, with rows that meet the condition, are in each. For each edge a policy tells shifts
# ``(rise, fall)`` so that every move along it goes no further, both ways, than one of them.
#
# A unit is in a set of the cells before the move and in another one after: ``p`` and ``q`` of them.
# It changes each number by one at most, and what is in both sets changes nothing. So
# ``rise = q - o`` and ``fall = p - o``, where at least ``o >= p + q - size`` cells are in both.
# :meth:`GroupCount.between` takes the largest over all p and q that units of both kinds can have.
# How many these are is what is proved of a kind: none, if it is not counted, is absent, or no row
# of such a unit can make the condition true; exactly one, if everything is one cell and each of its
# rows is sure to make the condition true. Rows are decided by :func:`onesided.conditions.truths`,
# which takes each comparison that is written in another way for independent, and tries unknown as a
# value.
#
# What is wider than that is said where a policy decides it: kinds of a view, conditions and columns
# beside the values that a policy names, and units with several rows of which a kind needs one only.

_MOST_TOLD: Final = 16
_NOTHING: Final[Mapping[str, frozenset[Truth]]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """The cells of a question, as much of them as a policy must know.

    size: how many there are. everything: whether they are one cell, of no column. where: which rows
    count; None if all do. rows: whether each row is a unit. column, keys: the one column that tells
    cells apart and their values, where a policy that names values may read them; else "" and ().
        Of one cell, a column of texts that ``where`` is about alone.
    alone: whether no other column can be the one that a policy means which names none.

    >>> Cells(size=1, everything=True).rows
    False
    """

    size: int
    everything: bool = False
    where: Condition | None = None
    rows: bool = False
    column: str = ""
    keys: AbstractSet[Hashable] = frozenset()
    alone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCount:
    """A count of units per group, as much of it as a policy must know.

    max_groups: the most groups that one unit can be counted in. None is what the policy itself
        assumes: presence counts every group and covers ``max_groups`` of them by its noise; any
        other policy takes one group per unit, as in a histogram. Of an intersection it is what
        presence assumes, if presence is among its parts.
    counted: the kinds that are counted; None counts every kind.
    truncated: units in more groups are cut down to ``max_groups`` of them. What is kept may
        then change when something is dropped, and the policy has to price that.
    several_units: the asker's price goes by the total change of all counts, so that it holds where
        one move changes several units, as under a view. False: each count changes by 1 at most.
    cells: which groups these are; None where that is not known, and any number of them may be.
    columns: all that tell groups apart or pick rows; None where these are not known, or one may be
        made of others.

    >>> from onesided.policy import GroupCount
    >>> GroupCount(counted=frozenset({"open"})).counts("sensitive")
    False
    """

    max_groups: int | None = None
    counted: frozenset[str] | None = None
    truncated: bool = False
    several_units: bool = False
    cells: Cells | None = None
    columns: frozenset[str] | None = None

    def __post_init__(self) -> None:
        if self.max_groups is not None:
            whole(self.max_groups, name="max_groups", least=1)

    def counts(self, kind: str) -> bool:
        """Whether records of ``kind`` can add to an answer."""
        return kind != ABSENT and (self.counted is None or kind in self.counted)

    def at_most(self, groups: int) -> int:
        """So many groups, or as many as there are."""
        return groups if self.cells is None else min(groups, self.cells.size)

    def between(
        self, source: str, target: str, where: Mapping[str, frozenset[Truth]] = _NOTHING
    ) -> tuple[Shift, ...]:
        """The largest shifts where a unit of one kind may become any unit of another.

        No move rises and falls further than each of them; of too many, what is larger than all.
        where: what the condition can be for a row of each kind; all of it for those left out.

        >>> one, two = (GroupCount(cells=Cells(size=n)) for n in (1, 2))
        >>> one.between("record", "record")
        (Shift(rise=0, fall=1), Shift(rise=1, fall=0))
        >>> two.between("record", "record")
        (Shift(rise=1, fall=1),)
        """
        few, many = self._span(source, where.get(source, ANY))
        fewer, more = self._span(target, where.get(target, ANY))
        size = many + more if self.cells is None else self.cells.size
        rise, fall = min(more, size - few), min(many, size - fewer)
        told = range(size - fall, rise + 1)
        if rise + fall <= size or len(told) > _MOST_TOLD:
            return (Shift(rise=rise, fall=fall),)
        return tuple(Shift(rise=up, fall=size - up) for up in told)

    def _span(self, kind: str, found: frozenset[Truth]) -> tuple[int, int]:
        """In how many cells, at least and at most, a unit of the kind is."""
        if not self.counts(kind):
            return 0, 0
        if self.cells is None:
            return 0, self.max_groups or 1
        if self.cells.where is not None and True not in found:
            return 0, 0
        sure = self.cells.where is None or found == {True}
        return int(self.cells.everything and sure), self.at_most(self.max_groups or 1)

    @property
    def values(self) -> AbstractSet[Hashable]:
        """The cells' values, for a policy that names values; none if it must not know them.

        A unit that is cut down to one of several cells may be kept in another one after a move.
        """
        cells = self.cells
        return frozenset() if cells is None or (self.truncated and cells.size > 1) else cells.keys

    def picked(self, named: Iterable[Hashable]) -> AbstractSet[Hashable] | None:
        """Which of these texts the condition picks for its one cell; None where it is not told."""
        cells = self.cells
        if cells is None or cells.where is None or not (cells.column and cells.everything):
            return None
        try:
            bound = cells.where.bind({cells.column: TEXT})
        except ConditionError:
            return None
        return {one for one in named if bound.of({cells.column: one})}


def extremes(moves: Iterable[tuple[bool, bool]]) -> tuple[Shift, ...]:
    """Of moves of one value, each by whether a cell rises and whether one falls; none is none.

    >>> extremes([(False, False), (False, True)])
    (Shift(rise=0, fall=1),)
    """
    found = set(moves)
    most = found & {(True, True)} or found - {(False, False)} or {(False, False)}
    return tuple(Shift(rise=int(rise), fall=int(fall)) for rise, fall in sorted(most))


VERSION: Final = 1
_SHOWN: Final = 4
Made_co = TypeVar("Made_co", covariant=True)


class Correlated(Protocol):
    """What an attacker knows of records together, in so far as it can be told in a sentence."""

    def sentence(self, policy: Policy, epsilon: Fraction) -> str:
        """What it lets them learn under a policy at this ε."""


class CellMoves(Protocol[Made_co]):
    """Lays moves out over the cells of a histogram; each policy picks the way that is its own.

    >>> from onesided.policy import addition_only
    >>> class Which:
    ...     def of_kinds(self, policy):
    ...         return "any cell"
    ...     def of_graph(self, policy):
    ...         return "along arrows"
    ...     def of_points(self, policy):
    ...         return "nearby"
    >>> addition_only().moves_on(Which())
    'any cell'
    """

    def of_kinds(self, policy: Policy) -> Made_co:
        """From any cell to any other, as far as the policy's shifts say."""

    def of_graph(self, policy: Any) -> Made_co:
        """Along the arrows of a graph of values (``policy.arrows``)."""

    def of_points(self, policy: Any) -> Made_co:
        """To cells within a radius, by where they lie (a neighbourhood)."""


class Policy(ABC):
    """A directed relation over records: who must be able to pass as whom, and how well.

    A mechanism M keeps (ε, P) if for data sets X, Y that differ in one record, x in X and y in
    Y, joined by an edge of weight w, and for all sets S of outputs,
    ``Pr[M(X) in S] <= exp(ε w) Pr[M(Y) in S]``. The reverse is not implied.

    >>> from onesided import policy
    >>> one = policy.sensitive("age < 18")
    >>> [edge.name for edge in one.edges]
    ['sensitive -> sensitive', 'sensitive -> open']
    >>> one.relaxes(policy.bounded()), policy.bounded().relaxes(one)
    (True, False)
    """

    of_kinds: ClassVar[bool] = False
    """Whether kinds decide moves: along an edge any record of one may pass as any other's."""
    between_values: ClassVar[bool] = False
    """Whether a move leads from a value to certain others, which cells must be named by."""
    by_distance: ClassVar[bool] = False
    """Whether moves depend on where cells lie, which their names and number do not tell."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The family's name, as in ``onesided.policy``."""

    @property
    @abstractmethod
    def kinds(self) -> tuple[str, ...]:
        """The kinds of records, ``"absent"`` among them where records may come or go."""

    @property
    @abstractmethod
    def edges(self) -> tuple[Edge, ...]:
        """The classes of moves, each named, directed and weighted."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """How a table's units get their kinds: the first rule that holds for any row decides."""
        return ()

    @property
    def default_kind(self) -> str:
        """The kind of a unit for which no rule holds."""
        return self.kinds[0]

    @property
    def view(self) -> Any:
        """The View that decides kinds, where that is no rule on rows; None for any other policy."""
        return None

    @property
    def parts(self) -> tuple[Policy, ...]:
        """The policies of which every move must be one; an intersection has several."""
        return (self,)

    @property
    def joins(self) -> Mapping[Edge, tuple[Edge, ...]]:
        """Each edge, and the edges of the parts that it stands for."""
        return {edge: (edge,) for edge in self.edges}

    def wider(self, edge: Edge) -> tuple[Policy, ...]:
        """Parts with moves along ``edge`` that leave the table, or stay, where not all parts do."""
        del edge
        return ()

    @property
    def single_valued(self) -> bool:
        """Whether a record holds one value, so that a unit may be counted in one group only."""
        return False

    @property
    def reads_columns(self) -> bool:
        """Whether prices rest on which columns a count looks at."""
        return False

    @property
    def other_values(self) -> Literal["replaced", "dropped"] | None:
        """What a move does to a unit's values beside its groups.

        "replaced": all of them, with the record. "dropped": rows of groups go, others stay as they
        are. None: the policy says nothing of them, so that sums of them have no price.
        """
        return None

    @property
    def excess_modes(self) -> tuple[str, ...]:
        """What may be done with units in more groups than the noise covers; the default first.

        "truncate" cuts them down, "error" refuses, "keep" counts them whole. A record of one value
        is refused in several groups unless it is cut to one.
        """
        return ("error", "truncate") if self.single_valued else ("truncate", "error")

    def bounds_groups(self, query: GroupCount) -> bool:
        """Whether a count needs a bound on a unit's groups, as all of them may come or go."""
        del query
        return False

    @property
    def covers(self) -> int | None:
        """How many groups of one unit a move takes, where the policy says so by itself."""
        return None

    def ends(self, edge: Edge) -> tuple[str, str]:
        """The kinds of record that moves along ``edge`` start from and lead to."""
        return edge.source, edge.target

    def ways(self, edge: Edge) -> tuple[tuple[str, str], ...]:
        """Every pair of ends that moves along ``edge`` have; "absent" where a unit is not there.

        One pair, unless some moves along it take a unit out of the table and others do not.
        """
        return (self.ends(edge),)

    @abstractmethod
    def shifts(self, query: GroupCount) -> Mapping[Edge, tuple[Shift, ...]]:
        """Per edge, the extreme shifts of a group-by count of units."""

    @abstractmethod
    def records(self, groups: Sequence[str], *, max_groups: int) -> tuple[Record, ...]:
        """Every record over a finite list of groups; for exact verification."""

    @abstractmethod
    def edge_between(self, real: Record, other: Record) -> Edge | None:
        """The edge along which ``real`` must be able to pass as ``other``; None if none does."""

    @abstractmethod
    def parameters(self) -> dict[str, object]:
        """What :func:`onesided.policy.from_toml` needs to rebuild this policy."""

    @abstractmethod
    def sentences(self, epsilon: Fraction) -> list[str]:
        """What leaks and what is protected at ``epsilon``, in plain words."""

    def moves_on(self, cells: CellMoves[Made_co]) -> Made_co:
        """The policy's moves among cells, laid out the way that is the family's own."""
        return cells.of_kinds(self)

    def moves_along(self, far: Fraction, *, whole: Sequence[bool]) -> int:
        """The most moves that lead from a value to any other so ``far`` away, along columns.

        whole: for each column, whether it holds whole numbers alone. What is no neighbourhood
        counts distance in moves. Errors: ParameterError where no moves lead so far.
        """
        del whole
        return ceil(far)

    def moves_between_places(self, far: Fraction) -> int:
        """The same by way of the policy's own named places alone."""
        return ceil(far)

    def distance(self, real: Record, other: Record) -> Loss:
        """How far ``real`` is from ``other`` in the policy's own direction; INFINITE if no edge.

        Errors: PolicyError for what is no record.
        """
        require_records(real, other)
        if real == other:
            return Fraction(0)
        edge = self.edge_between(real, other)
        return INFINITE if edge is None else edge.weight

    def moves(self, records: Iterable[Record]) -> Iterator[tuple[Record, Record, Edge]]:
        """Every ``(real, other, edge)`` among the given records."""
        pool = tuple(records)
        require_records(*pool)
        for real in pool:
            for other in pool:
                edge = None if real == other else self.edge_between(real, other)
                if edge is not None:
                    yield real, other, edge

    def decides(self, other: Policy) -> bool | None:
        """Whether this relaxes ``other``, as far as the family itself can tell; None if not."""
        return True if self == other else None

    def relaxes(
        self, other: Policy, *, records: Iterable[tuple[Record, Record]] | None = None
    ) -> bool:
        """Whether every move of this policy is a move of ``other`` at no smaller distance.

        If so, whatever keeps (ε, other) keeps (ε, self). ``records`` decides it over a finite
        universe instead: pairs of how this policy and ``other`` see one and the same record
        (:func:`onesided.policy.joint_records` lists them).
        Errors: PolicyError if it depends on which records there are.
        """
        decided = decide(self, other) if records is None else listed(self, other, tuple(records))
        if decided is None:
            raise PolicyError(
                f"Whether {self.name!r} relaxes {other.name!r} depends on which records there are.",
                hint="Pass records=, pairs of how each policy sees one record of a finite "
                "universe; onesided.policy.joint_records(first, second, groups=...) lists them.",
            )
        return decided

    def __repr__(self) -> str:
        names = [edge.name for edge in self.edges]
        more = f", and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
        return f"{type(self).__name__}({self.name!r}: {', '.join(names[:_SHOWN])}{more})"

    def _repr_html_(self) -> str:
        """The picture, and what is protected in plain sentences."""
        return Card(
            title=f"Policy '{self.name}'", picture=self.to_svg(), lines=self.explain().splitlines()
        ).html()

    def __and__(self, other: Policy) -> Policy:
        """What two releases, one under each policy, protect together."""
        # The one import that points up: what & makes is a policy itself.
        from onesided.policy._intersection import intersect  # noqa: PLC0415

        return intersect(self, other)

    def closed_under(self, implications: Iterable[tuple[str, str]]) -> Widened:
        """Widen the policy until no open fact implies a protected one.

        ``implications``: pairs ``(fact, implied)``: wherever the first holds, so does the second.
        Errors: PolicyError for facts that the policy does not know.
        """
        return self.widened(chains(implications))

    def widened(self, implied: Chains) -> Widened:
        """As :meth:`closed_under`, with everything that each fact implies."""
        del implied
        raise PolicyError(
            f"The policy {self.name!r} cannot be widened as a whole.",
            hint="Close each of the policies under the implications, then combine them.",
        )

    def drawn(self) -> tuple[tuple[str, ...], tuple[Edge, ...]]:
        """The boxes and arrows of the policy's picture; ends of arrows need no box of their own."""
        return self.kinds, self.edges

    def to_svg(self) -> str:
        """A picture of the kinds and edges, as SVG text."""
        return draw(*self.drawn(), title=f"Policy '{self.name}'")

    def to_toml(self) -> str:
        """The policy as versioned text; ``onesided.policy.from_toml`` reads it back."""
        return tomli_w.dumps(
            {"onesided_policy": VERSION, "family": self.name, "parameters": self.parameters()}
        )

    @property
    def identity(self) -> str:
        """SHA-256 of the TOML text: what a ledger knows this policy by."""
        return hashlib.sha256(self.to_toml().encode()).hexdigest()

    def explain(self, *, epsilon: object = 1, correlation: Correlated | None = None) -> str:
        """Plain sentences: what an observer can learn for certain, what stays hidden, how well.

        correlation: what an attacker may know of records together, such as
        :func:`onesided.bounds.household`; the last sentence says what it lets them learn.
        """
        loss = positive(epsilon, name="epsilon")
        more = [] if correlation is None else [correlation.sentence(self, loss)]
        tests = [one for rule in self.rules for one in rule.predicates]
        tests += [] if self.view is None else [self.view.condition]
        said = [one.about_missing for one in tests if one.about_missing]
        return "\n".join([*self.sentences(loss), *dict.fromkeys(said), *more])

    def check_counted(self, query: GroupCount) -> None:
        """Refuse to count kinds that the policy does not have. Errors: PolicyError."""
        unknown = (query.counted or frozenset()) - set(self.kinds)
        if unknown:
            raise PolicyError(
                f"The policy {self.name!r} has no kind {min(unknown)!r} to count.",
                hint=f"Its kinds are {', '.join(self.kinds)}.",
            )

    def one_value_shifts(self, query: GroupCount) -> dict[Edge, tuple[Shift, ...]]:
        """Shifts where a record holds one value: it leaves one group and enters one.

        Errors: PolicyError for a unit in several groups, which such a policy says nothing about.
        """
        if (query.max_groups or 1) != 1:
            raise PolicyError(
                f"The policy {self.name!r} protects one value per record, so a unit cannot be "
                f"counted in {many(query.max_groups or 1, 'group')}.",
                hint="Use max_groups=1, or protect each row on its own (unit=None).",
            )
        self.check_counted(query)
        return {edge: query.between(*self.ends(edge)) for edge in self.edges}


@dataclass(frozen=True, slots=True)
class Widened:
    """A policy closed under implications, what was added to it, and what still leaks.

    >>> from onesided import policy
    >>> ward = policy.local(["ward", "annexe", "lobby"], sensitive=["ward"])
    >>> wider = ward.closed_under([("annexe", "ward")])
    >>> [addition.fact for addition in wider.added]
    ['annexe']
    """

    policy: Policy
    added: tuple[Addition, ...]
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        said = [str(addition) for addition in self.added] or ["Nothing had to be added."]
        return "\n".join((*said, *self.warnings))


# Which kinds one and the same record can have under two policies.

Pair: TypeAlias = tuple[str, str]
_MOST_PREDICATES: Final = 12


def possible_pairs(first: Policy, second: Policy) -> frozenset[Pair]:
    """The pairs of kinds that one record can have under the two policies.

    Where neither policy has rules, kinds of the same name are taken to be the same.

    >>> from onesided import policy
    >>> sorted(policy.possible_pairs(policy.sensitive("ill"), policy.bounded()))
    [('open', 'record'), ('sensitive', 'record')]
    """
    absent = reaches_absence(first) and reaches_absence(second)
    both_absent = {(ABSENT, ABSENT)} if absent else set()
    ours, theirs = _present(first), _present(second)
    if not (first.of_kinds and second.of_kinds):
        return frozenset(both_absent | set(product(ours, theirs)))
    if not first.rules and not second.rules and set(ours) == set(theirs):
        return frozenset(both_absent | {(kind, kind) for kind in ours})
    texts = sorted({r.text for p in (first, second) for rule in p.rules for r in rule.predicates})
    unruled = any(not p.rules and len(_present(p)) > 1 for p in (first, second))
    if unruled or len(texts) > _MOST_PREDICATES:
        return frozenset(both_absent | set(product(ours, theirs)))
    subsets = (frozenset(compress(texts, picked)) for picked in product((0, 1), repeat=len(texts)))
    seen = {(_kind(first, true), _kind(second, true)) for true in subsets}
    return frozenset(both_absent | seen)


def reaches_absence(policy: Policy) -> bool:
    """Whether some unit need not be there before or after a move.

    >>> from onesided import policy
    >>> reaches_absence(policy.presence(max_groups=1)), reaches_absence(policy.bounded())
    (True, False)
    """
    ends = (end for edge in policy.edges for way in policy.ways(edge) for end in way)
    return ABSENT in policy.kinds or ABSENT in ends


def joint_records(
    first: Policy, second: Policy, *, groups: Sequence[str], max_groups: int | None = None
) -> tuple[tuple[Record, Record], ...]:
    """Every record over ``groups``, as each policy may see it: same groups, any kinds.

    A record absent to one is absent to both, also to one that knows no absent records: it then has
    no move there. Kinds go together unless the policies' own predicates rule it out, so predicates
    with different texts are taken to be independent.

    >>> from onesided import policy
    >>> pairs = policy.joint_records(policy.sensitive("ill"), policy.bounded(), groups=["a"])
    >>> sorted({(one.kind, two.kind) for one, two in pairs})
    [('open', 'record'), ('sensitive', 'record')]
    """
    most = len(groups) if max_groups is None else max_groups
    ours, theirs = (p.records(groups, max_groups=most) for p in (first, second))
    pairs = possible_pairs(first, second)
    absent = reaches_absence(first) or reaches_absence(second)
    return tuple(
        (one, two)
        for one, two in product(ours, theirs)
        if (one.kind, two.kind) in pairs - {(ABSENT, ABSENT)} and one.value == two.value
    ) + (((Record(ABSENT), Record(ABSENT)),) if absent else ())


def over_groups(kinds: Iterable[str], groups: Sequence[str], max_groups: int) -> tuple[Record, ...]:
    """A record of each kind in each set of at most so many of the groups."""
    return tuple(
        Record(kind, frozenset(chosen))
        for kind in kinds
        for size in range(max_groups + 1)
        for chosen in combinations(groups, size)
    )


def _present(policy: Policy) -> list[str]:
    return [kind for kind in policy.kinds if kind != ABSENT]


def _kind(policy: Policy, true: frozenset[str]) -> str:
    """The kind of a unit for which exactly the predicates ``true`` hold."""
    for rule in policy.rules:
        if all(predicate.text in true for predicate in rule.predicates):
            return rule.kind
    return policy.default_kind
