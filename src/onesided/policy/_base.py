"""What every policy can do, whatever its family."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeVar

import tomli_w

from onesided._english import many
from onesided._numbers import INFINITE, Loss, positive
from onesided.errors import PolicyError
from onesided.policy._cells import GroupCount
from onesided.policy._implications import Addition, Chains, chains
from onesided.policy._picture import draw
from onesided.policy._predicate import GroupRule, Rule
from onesided.policy._shift import ABSENT, Edge, Record, Shift, decide, listed, require_records
from onesided.show import Card

VERSION: Final = 1
_SHOWN: Final = 4
Made_co = TypeVar("Made_co", covariant=True)


class Correlated(Protocol):
    """What an attacker knows of records together, in so far as it can be told in a sentence."""

    def sentence(self, policy: Policy, epsilon: Fraction) -> str:
        """What it lets them learn under a policy at this ε."""
        ...


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
        ...

    def of_graph(self, policy: Any) -> Made_co:
        """Along the arrows of a graph of values (``policy.arrows``)."""
        ...

    def of_points(self, policy: Any) -> Made_co:
        """To cells within a radius, by where they lie (a neighbourhood)."""
        ...


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
    def view(self) -> GroupRule | None:
        """What decides kinds where it is no rule on rows: the answer of a query."""
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
    def reads_columns(self) -> bool:
        """Whether prices rest on which columns a count looks at."""
        return False

    @property
    def covers(self) -> int | None:
        """How many groups of one unit a move takes, where the policy says so by itself."""
        return None

    @property
    def of_kinds(self) -> bool:
        """Whether kinds decide moves: along an edge any record of one may pass as any other's."""
        return False

    @property
    def between_values(self) -> bool:
        """Whether a move leads from a value to certain others, which cells must be named by."""
        return False

    @property
    def by_distance(self) -> bool:
        """Whether moves depend on where cells lie, which their names and number do not tell."""
        return False

    @property
    def other_values(self) -> Literal["replaced", "dropped"] | None:
        """What a move does to a unit's values beside its groups.

        "replaced": all of them, with the record. "dropped": rows of groups go, others stay as they
        are. None: the policy says nothing of them, so that sums of them have no price.
        """
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
    seen = {(_kind(first, true), _kind(second, true)) for true in _subsets(texts)}
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


def _present(policy: Policy) -> list[str]:
    return [kind for kind in policy.kinds if kind != ABSENT]


def _subsets(texts: Sequence[str]) -> Iterator[frozenset[str]]:
    for chosen in product((False, True), repeat=len(texts)):
        yield frozenset(text for text, picked in zip(texts, chosen, strict=True) if picked)


def _kind(policy: Policy, true: frozenset[str]) -> str:
    """The kind of a unit for which exactly the predicates ``true`` hold."""
    for rule in policy.rules:
        if all(predicate.text in true for predicate in rule.predicates):
            return rule.kind
    return policy.default_kind
