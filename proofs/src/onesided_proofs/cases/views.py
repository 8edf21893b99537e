"""Views: sensitive by any row of the household, or by another table, on every move they induce."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, Final

from onesided import policy as policies
from onesided import session as questions
from onesided.mechanism import Counts, RecordSample
from onesided.noise import IntArray, Noise
from onesided.numbers import INFINITE, Loss
from onesided.policy import Edge, GroupCount, View
from onesided.session.kit import prepared
from onesided.verify import Households, Line, losses_of, shipped
from onesided.verify.kit import Homes
from onesided_proofs._worlds import table_of
from onesided_proofs.cases.sessions import has_engine

_EPSILON: Final = 6
_OPEN: Final = frozenset({"open"})
_HIDDEN: Final = frozenset({"sensitive"})
_HAND: Final = "one-sided DP record by record, where kinds are decided by household"


def cases() -> Iterator[Line]:
    """The sound first."""
    homes = policies.view("marks", over="home", members=2)
    there = policies.view("marks", over="home", members=2, table="register")
    for policy in (homes, there):
        world = Households(policy=policy)
        yield _counts(Households(policy=policy, groups=("p", "q")), None)
        for counted in (_OPEN, _HIDDEN):
            yield _counts(world, counted)
    several = Households(policy=homes, homes=("a", "a"), groups=("p", "q"), max_groups=2)
    yield _counts(several, _OPEN, most=2, name="of two groups")
    small = replace(homes, members=1)
    yield _counts(Households(policy=small, homes=("a", "a", "b", None)), _OPEN, name="and large")
    whole = Households(policy=homes)
    coin = partial(homes_sampled, world=whole, sample=RecordSample(_EPSILON))
    yield Line("sample of whole households", homes, coin, _costs(homes), universe=whole)
    if has_engine():
        for kind, first in ((questions.Count, ()), (questions.AtLeast, (1,))):
            yield _session(whole, kind, *first)
            yield _session(Households(policy=there), kind, *first)
    yield from _broken(homes)


def _counts(
    world: Households, counted: frozenset[str] | None, *, most: int = 1, name: str = ""
) -> Line:
    """Of the view's own rates, on counts by the definition of kinds."""
    query = GroupCount(max_groups=most, counted=counted, several_units=True)
    made = Counts.for_policy(world.policy, epsilon=_EPSILON, max_groups=most, counted=counted)
    where = " of another table" if world.policy.table else ""
    told = f"Counts under a view{where}{name and ' '}{name}"
    return shipped(made, world.policy, query, name=told, universe=world, epsilon=_EPSILON)


@dataclass(frozen=True, slots=True)
class OfHouseholds:
    """What a session draws for a count of open persons, of tables that hold this data."""

    world: Households
    question: Any
    _read: dict[Homes, Any] = field(default_factory=dict, repr=False, compare=False)

    def __call__(self, data: Homes, noise: Noise) -> Any:
        """What the ledger keeps. Rows are read once for each data set."""
        if data not in self._read:
            step = prepared(self.session(data), self.question)
            self._read[data] = step.draw, step.read()
        draw, secret = self._read[data]
        return tuple(tuple(part.tolist()) for part in draw(secret, noise).values())

    def session(self, data: Homes) -> questions.Session:
        """A session over tables of this data."""
        rows = [
            (at, person.home, person.marks, group)
            for at, person in enumerate(data.persons)
            for group in sorted(person.groups) or ("elsewhere",)
        ]
        marked = [(home, True) for home in sorted(data.marked)]
        there = self.world.policy.table
        tables = None if there is None else {there: _table(marked, ("home", "marks"))}
        names = ("person", "home", "marks", "place")
        return questions.Session(
            _table(rows, names),
            policy=self.world.policy,
            unit="person",
            budget=10**6,
            tables=tables,
        )


def _table(rows: list[tuple[Any, ...]], names: tuple[str, ...]) -> Any:
    known = {"person": "BIGINT", "marks": "BOOLEAN"}
    return table_of(rows, **{name: known.get(name, "VARCHAR") for name in names})


def _session(world: Households, kind: Any, *first: int) -> Line:
    asked = kind(
        *first, epsilon=_EPSILON, by="place", keys=world.groups, max_groups=1, counted="open"
    )
    run = OfHouseholds(world, asked)
    charge = run.session(next(world.data_sets())).plan(asked).charge
    claims = {edge: charge[edge.name] for edge in world.policy.edges}
    where = " of another table" if world.policy.table else ""
    name = f"session: {kind.__name__} under a view{where}"
    return Line(name, world.policy, run, claims, universe=world, epsilon=_EPSILON, sealed=False)


def _broken(homes: View) -> Iterator[Line]:
    world = Households(policy=homes)
    single = Counts(INFINITE, _EPSILON)
    flawed: dict[str, Any] = {"seen": _HAND, "universe": world}
    query = GroupCount(max_groups=1, counted=_OPEN, several_units=True)
    costs = _costs(homes)
    yield Line("Counts", homes, single, costs, query, flaw="members priced singly", **flawed)
    coins = partial(members_sampled, world=world, sample=RecordSample(_EPSILON))
    yield Line("RecordSample", homes, coins, costs, flaw="a coin for each member", **flawed)
    right = Counts.for_policy(homes, epsilon=_EPSILON, max_groups=1, counted=_OPEN)
    each = Miscounted(right, world, each=True)
    claims = losses_of(right, homes, query)
    yield Line("Counts", homes, each, claims, flaw="kinds by each person's own rows", **flawed)
    small = replace(homes, members=1)
    large = Households(policy=small)
    flawed = {"seen": _HAND, "universe": large}
    narrow = Counts.for_policy(small, epsilon=_EPSILON, max_groups=1, counted=_OPEN)
    claims = losses_of(narrow, small, query)
    any_size = Miscounted(narrow, large)
    yield Line("Counts", small, any_size, claims, flaw="large households may be open", **flawed)


def _costs(policy: View) -> dict[Edge, Loss]:
    """Nothing while a household stays sensitive, ε where it opens."""
    stays, opens = policy.edges
    return {stays: Fraction(0), opens: Fraction(_EPSILON)}


Kept = tuple[tuple[Any, ...], ...]


def homes_sampled(data: Homes, noise: Noise, *, world: Households, sample: RecordSample) -> Kept:
    """Right: an open household has one coin, and all of it is published or nothing."""
    homes = sorted({p.home for p in _open(data, world) if p.home is not None})
    coins = sample.choose(len(homes), noise=noise)
    kept = {home for home, coin in zip(homes, coins, strict=True) if coin}
    return _rows(p for p in data.persons if p.home in kept)


def members_sampled(data: Homes, noise: Noise, *, world: Households, sample: RecordSample) -> Kept:
    """Each open person has a coin, though a household opens as a whole."""
    persons = _open(data, world)
    coins = sample.choose(len(persons), noise=noise)
    return _rows(p for p, coin in zip(persons, coins, strict=True) if coin)


@dataclass(frozen=True, slots=True)
class Miscounted:
    """Counts of open persons, of whom kinds are decided in another way than the policy's.

    each: a person's own rows decide. whole: households of any size may be open.
    """

    mechanism: Any
    world: Households
    each: bool = False

    def __call__(self, data: Homes, noise: Noise) -> Any:
        """The mechanism on those counts."""
        return self.mechanism.release(self._counts(data), noise=noise)

    def _counts(self, data: Homes) -> IntArray:
        world = self.world
        if self.each:
            alone = tuple(f"{place}" for place in range(len(data.persons)))
            persons = tuple(p._replace(home=h) for p, h in zip(data.persons, alone, strict=True))
            world, data = replace(world, homes=alone), data._replace(persons=persons)
        else:
            policy = replace(world.policy, members=len(data.persons))
            world = replace(world, policy=policy)
        return world.count(data, GroupCount(counted=frozenset({"open"})))


def _open(data: Homes, world: Households) -> list[Any]:
    return [p for at, p in enumerate(data.persons) if not world.sensitive(data, at)]


def _rows(persons: Any) -> Kept:
    return tuple(sorted((str(p.home), *sorted(p.groups)) for p in persons))
