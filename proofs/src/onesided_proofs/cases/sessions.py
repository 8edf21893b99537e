"""Questions to a session: what each is charged, against all that its answer tells.

A table is made of each data set, the question is prepared and its rows are read as in a session;
then what it draws is enumerated. The claim is the plan's charge, and no more than ε an edge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from importlib.util import find_spec
from itertools import combinations
from typing import Any, Final

import narwhals as nw
import numpy as np

from onesided import INFINITE
from onesided import policy as policies
from onesided import session as questions
from onesided.engine.kit import units_of
from onesided.mechanism import Counts
from onesided.noise import Noise
from onesided.policy import Policy, Record
from onesided.session.kit import prepared
from onesided.verify import Data, Line, Universe
from onesided_proofs import _worlds as worlds
from onesided_proofs._worlds import of_kinds
from onesided_proofs.tables import Row, Table, Tables, subsets

_PLACES: Final = ("p", "q")
_SHARED: Final = "shared between sides, places or parts that are never needed at once"
_EPSILON: Final = 6
_UNITS: Final[dict[str, object]] = {
    "n": "count",
    "most": ("max", "v"),
    "total": ("sum", "v", (-1, 1)),
}
# Of a wrong line that is enumerated as the others are.
_WRONG: Final[dict[str, Any]] = {
    "epsilon": _EPSILON, "tail": 1e-8, "unseen": 1e-3, "sealed": False,
}  # fmt: skip
_ENGINES: Final = ("duckdb", "polars")
_NONE: Final = "?"  # in place of a value, where there is none


def cases() -> Iterator[Line]:
    """The sound first. None where no engine is installed that could hold a table."""
    if not has_engine():
        return
    places: dict[str, Any] = {"by": "place", "keys": _PLACES}
    wide = Universe(groups=(*_PLACES, "r"), units=1)
    one, two = policies.presence(max_groups=1), policies.presence(max_groups=2)
    added, both = policies.addition_only(), policies.bounded()
    private = policies.sensitive("kind = 'sensitive'")
    cut: dict[str, Any] = {"max_groups": 1, "on_excess": "truncate"}
    shapes: tuple[tuple[Policy, dict[str, Any]], ...] = (
        (one, {}),
        (two, {}),
        (one, cut),
        (added, {"max_groups": 2}),
        (added, cut),
        (policies.removal_only(), {"max_groups": 2}),
        (policies.unbounded(), cut),
        (both, cut),
        (private, {"max_groups": 1, "counted": "open"}),
        (private, {"max_groups": 1, "counted": "sensitive"}),
    )
    for policy, more in shapes:
        asked = questions.Count(epsilon=_EPSILON, **places, **more)
        most = None if more.get("on_excess") or more.get("max_groups") != 1 else 1
        yield _line(policy, asked, Universe(groups=_PLACES, units=1, max_groups=most))
    yield from _of_a_map(places)
    rest: dict[str, Any] = {"by": "place", "keys": _PLACES[:1], "others": True, "max_groups": 2}
    yield _line(added, questions.Count(epsilon=_EPSILON, **rest), wide, "with all others")
    for policy in (added, both, private):
        world = wide if policy is added else _world(policy, 1, 1)
        yield _line(policy, questions.Count(epsilon=_EPSILON), world, "of everybody")
    yield from _by_cells(private)
    yield from _at_once(wide)
    yield from _selections()
    yield from _values()
    yield from _several()
    yield from _per_unit()
    yield from _possible()
    yield from _broken()
    yield _priced_as_recorded()
    yield _priced_by_one_row()


def _of_a_map(places: dict[str, Any]) -> Iterator[Line]:
    """Safe places from all visits, alarms from open ones; whoever changes kind does so whole."""
    world = Universe(groups=_PLACES, units=1)
    opened: dict[str, Any] = {"counted": "open", "max_groups": 2}
    for most in (1, 2):
        policy = policies.sensitive_presence("kind = 'sensitive'", max_groups=most)
        yield _line(policy, questions.Count(epsilon=_EPSILON, **places), world)
        yield _line(policy, questions.Count(epsilon=_EPSILON, **places, **opened), world)
        yield _line(policy, questions.AtMost(0, epsilon=_EPSILON, **places), world)
        yield _line(policy, questions.AtLeast(1, epsilon=_EPSILON, **places, **opened), world)
    both = questions.Several(
        (
            questions.AtMost(0, epsilon=3, **places),
            questions.AtLeast(1, epsilon=3, **places, **opened),
        )
    )
    yield _line(policy, both, world, "safe places and alarms")


def has_engine() -> bool:
    """Whether a table can be held at all."""
    return any(find_spec(name) for name in _ENGINES)


def _by_cells(private: Policy) -> Iterator[Line]:
    """Where what is asked moves one way, or not at all, though a unit moves both ways."""
    proposed = policies.proposition("kind = 'open'")
    for policy, kind in ((private, "sensitive"), (proposed, "protected")):
        world = _world(policy, 1, 1)
        asked: dict[str, Any] = {"counted": kind, "epsilon": _EPSILON}
        yield _line(policy, questions.Count(**asked), world, f"of all {kind}")
        yield _line(policy, questions.AtMost(0, **asked), world, f"of all {kind}")
    yield from _mirrored(private)
    some = questions.Count(where="kind = 'open'", epsilon=_EPSILON)
    yield _line(proposed, some, _world(proposed, 1, 1), "of a condition of the policy")
    one: dict[str, Any] = {"by": "place", "max_groups": 1, "epsilon": _EPSILON}
    both = policies.bounded()
    for policy in (both, private):
        here = questions.Count(keys=_PLACES[:1], **one)
        yield _line(policy, here, _world(policy, 1, 1), "at one place")
        some = questions.Count(where="v > 1", epsilon=_EPSILON)
        yield _line(policy, some, _world(policy, 1, 2), "of a condition")
    yield from _by_rows()
    yield from _likely(private)
    for policy in (
        policies.attributes({"place": _PLACES[:1]}),
        policies.graph([_PLACES], directed=True, values=["r"]),
    ):
        world = Universe(groups=(*_PLACES, "r"), units=1, max_groups=1)
        first, second, other = ({**one, "keys": [place]} for place in world.groups)
        yield _line(policy, questions.AtMost(0, **first), world, "of one value")
        yield _line(policy, questions.Count(**second), world, "of one value")
        yield _line(policy, questions.Count(**other), world, "of another value")


def _mirrored(private: Policy) -> Iterator[Line]:
    """Certified from below: counts of open units only rise."""
    asked: dict[str, Any] = {"counted": "open", "epsilon": _EPSILON}
    alone, one, two = _world(private, 1, 1), *(Universe(groups=_PLACES, units=n) for n in (1, 2))
    yield _line(private, questions.AtLeast(1, **asked), alone, "of all open")
    asked |= {"by": "place", "keys": _PLACES, "max_groups": 1}
    yield _line(private, questions.AtLeast(1, **asked), one, "by place")
    yield _line(private, questions.AtLeast(1, **asked, on_excess="truncate"), one, "of one place")
    yield _line(private, questions.AtLeast(1, **asked, of={"all": _PLACES}), two, "of a compound")
    yield _line(private, questions.Below(1, max_answers=1, **asked), one, "by place")
    for policy, more in ((private, {}), (policies.bounded(), {"counted": None})):
        top = questions.TopK(k=1, **{**asked, **more, "on_excess": "truncate"})
        yield _line(policy, top, one, "where counts rise")


def _likely(private: Policy) -> Iterator[Line]:
    """Decisions of noisy counts, where noise on one side cannot hide every move."""
    one: dict[str, Any] = {"by": "place", "keys": _PLACES, "epsilon": _EPSILON}
    cut = {**one, "max_groups": 1, "on_excess": "truncate"}
    for policy in (policies.bounded(), policies.unbounded(), private):
        world = Universe(groups=_PLACES, units=1)
        yield _line(policy, questions.AtMost(0, **cut), world, "likely")
    yield _line(policies.removal_only(), questions.AtMost(0, **cut), world, "likely")
    yield _line(_dropped(2), questions.AtLeast(1, **one), world, "likely")
    compound = questions.Below(1, **cut, max_answers=1, of={"all": _PLACES})
    yield _line(policies.bounded(), compound, world, "likely, of a compound")
    yield _priced_for_open(
        "likely",
        private,
        Universe(groups=_PLACES, units=1, max_groups=1),
        {"by": "place", "keys": _PLACES},
        "priced by the rise alone, where counts fall as well",
        "where only the side that decides is priced",
        read=partial(questions.AtMost, 0),
    )


def _by_rows() -> Iterator[Line]:
    """Where each row is a unit, and its kind says what a condition is."""
    rows = (("sensitive", "p2"), ("sensitive", f"p{_NONE}"), ("open", "p1"))
    values = tuple(Record(kind, frozenset((held,))) for kind, held in rows)
    world = Universe(units=1, values=values)
    for where in ("v > 1", "v <= 1", "NOT v > 1", "COALESCE(v > 1, TRUE)", "v > 1 OR v = 1"):
        for unknown in ("possible", "recorded"):
            asked = questions.Count(where=where, unknown=unknown, epsilon=_EPSILON)
            words = f"of rows with {where}, {unknown}"
            yield _line(policies.sensitive("v > 1"), asked, world, words, unit=None)


def _at_once(wide: Universe) -> Iterator[Line]:
    """Where a unit may be in most of the groups, one draw of noise serves all of them."""
    three: dict[str, Any] = {"by": "place", "keys": wide.groups, "epsilon": _EPSILON}
    for most in (2, 3):
        policy = _dropped(most)
        what = "drawn at once" if most == 3 else "drawn one by one"
        yield _line(policy, questions.Count(**three), wide, what)
        yield _line(policy, questions.AtMost(0, **three), wide, what)
    here = {"north": _PLACES, "south": (*_PLACES[:1], "r"), "east": ("r",)}
    asked = questions.AtMost(0, by="place", of=here, epsilon=_EPSILON)
    yield _line(_dropped(3), asked, wide, "of compounds, drawn at once")


def _selections() -> Iterator[Line]:
    one, two = policies.presence(max_groups=1), policies.presence(max_groups=2)
    world = Universe(groups=_PLACES, units=1)
    asked: dict[str, Any] = {"by": "place", "keys": _PLACES, "epsilon": _EPSILON}
    for policy in (one, two):
        yield _line(policy, questions.TopK(k=1, **asked), world)
        yield _line(policy, questions.AtMost(threshold=0, **asked), world)
        yield _line(policy, questions.Above(threshold=0, max_answers=1, **asked), world)
    stream = questions.Above(threshold=0, max_answers=1, adaptive=True, **asked)
    yield _line(two, stream, world, "adaptive")
    whole, each = {"all": _PLACES}, {"one": _PLACES, "other": _PLACES[:1]}
    for policy, of, words in (
        (two, whole, "1 compound"),
        (one, each, "2 compounds"),
        (two, each, "2 compounds"),
    ):
        here = questions.AtMost(0, by="place", of=of, epsilon=_EPSILON)
        yield _line(policy, here, world, f"of {words}")
    outlier = questions.AtMost(0, by="place", of=whole, where="v > 1", epsilon=_EPSILON)
    yield _line(two, outlier, _world(two, 0, 2, many=True), "that there is no outlier")


def _values() -> Iterator[Line]:
    """Sums, means, variances and quantiles of values from 1 to 3, or from -1 to 2."""
    added, both = policies.addition_only(), policies.bounded()
    for low, high in ((1, 3), (-1, 2)):
        asked: dict[str, Any] = {"epsilon": _EPSILON, "bounds": (low, high)}
        for policy in (added, both, policies.removal_only(), policies.presence(max_groups=1)):
            world = _world(policy, low, high)
            yield _line(policy, _totals(low, high), world, f"of {low} .. {high}")
            yield _line(policy, questions.Mean("v", **asked), world, f"of {low} .. {high}")
    asked = {"epsilon": _EPSILON, "bounds": (0, 2)}
    for policy in (added, both):
        world = _world(policy, 0, 2)
        yield _line(policy, questions.Variance("v", **asked), world)
        rows = questions.Mean("v", of="rows", max_rows=2, **asked)
        yield _line(policy, rows, world, "of rows")
        here = _totals(0, 2, by="place", keys=_PLACES, max_groups=1)
        yield _line(policy, here, world, "by place")
        nearest = questions.Quantile("v", candidates=[0, 1, 2], epsilon=_EPSILON)
        yield _line(policy, nearest, world)
    # The bounds of squares about 0; and who is in no row of the condition adds nothing.
    squares = questions.Variance("v", epsilon=_EPSILON, bounds=(-1, 2))
    yield _line(added, squares, _world(added, -1, 2), "of -1 .. 2")
    some = _totals(1, 3, where="v > 1")
    yield _line(both, some, _world(both, 1, 3), "of some")
    # Whoever loses one of several rows at a place stays there with another sum.
    dropped = policies.presence(max_groups=1)
    for low, high in ((0, 2), (-1, 2)):
        here = _totals(low, high, by="place", keys=_PLACES)
        world = _world(dropped, low, high, many=True)
        yield _line(dropped, here, world, f"of several {low} .. {high}")
    yield from _both_ends()
    yield from _of_rows()
    yield from _by_place()
    yield from _weights()
    yield from _ratios()
    runs = questions.Quantile("v", q=0, candidates=[0, 1], epsilon=_EPSILON, max_groups=2)
    yield _line(added, runs, _world(added, 0, 1), "cumulative")
    # One row of a unit counts at each place, so that two are gone with it.
    runs = replace(runs, candidates=[0], by="place", keys=_PLACES)
    yield _line(added, runs, _world(added, 0, 1), "cumulative, by place")


def _both_ends() -> Iterator[Line]:
    """Means and variances of sums from both ends of the bounds, which one span moves together.

    Or of a count and sums about the middle, where a unit's value may change.
    """
    one_way: tuple[Policy, ...]
    one_way = policies.addition_only(), policies.removal_only(), policies.unbounded()
    private: Policy = policies.sensitive("kind = 'sensitive'")
    asked: dict[str, Any] = {"epsilon": _EPSILON, "bounds": (1, 3)}
    policy: Policy
    for policy in (*one_way, private):
        more: dict[str, Any] = {"counted": "open"} if policy is private else {}
        for question in (questions.Mean, questions.Variance):
            world = _world(policy, 1, 3)
            some = question("v", **asked, **more)
            loose = "" if question is questions.Mean else _SHARED  # but for far tails
            yield _line(policy, some, world, "of both ends", loose=loose)
    replaced: tuple[Policy, ...] = (private, policies.bounded())
    for policy in replaced:
        for question in (questions.Mean, questions.Variance):
            some = question("v", where="v > 1", **asked)
            yield _line(policy, some, _world(policy, 1, 3), "of some")
        here = questions.Mean("v", by="place", keys=_PLACES[:1], max_groups=1, **asked)
        yield _line(policy, here, _world(policy, 1, 3), "at one place")
    for policy in (one_way[-1], _dropped(1)):
        rows = questions.Mean("v", of="rows", max_rows=2, **asked)
        yield _line(policy, rows, _world(policy, 1, 3, many=True), "of rows")


def _ratios() -> Iterator[Line]:
    """Ratios of a part to its whole, and of totals to a number of units, from one span."""
    some = _totals(0, 2, where="v > 1"), _totals(0, 2)
    here = questions.Count(by="place", keys=_PLACES[:1], max_groups=2, epsilon=1)
    added, both = policies.addition_only(), policies.unbounded()
    policy: Policy
    pair: tuple[Any, Any]
    for policy, pair, words in (
        (added, some, "of some to all"),
        (_dropped(1), some, "of some to all"),
        (policies.bounded(), (replace(here, where="v > 1"), here), "of units at a place"),
        (added, (_totals(0, 2), questions.Count(epsilon=1)), "of totals to units"),
        (both, (_totals(0, 2), questions.Count(epsilon=1)), "of totals to units"),
    ):
        asked = questions.Ratio(pair, epsilon=_EPSILON)
        yield _line(policy, asked, _world(policy, 0, 2, many=True), words)


def _totals(low: int, high: int, **more: Any) -> questions.Sum:
    """A sum of each unit's total."""
    return questions.Sum("v", of="units", total_bounds=(low, high), epsilon=_EPSILON, **more)


def _of_rows() -> Iterator[Line]:
    """Sums and quantiles of rows, two at most of a unit; where some are dropped, others come in."""
    added, both, one = policies.addition_only(), policies.bounded(), _dropped(1)
    for policy in (added, both, policies.removal_only(), one):
        for low, high in ((1, 3), (-1, 2)):
            world = _world(policy, low, high, many=True)
            rows: dict[str, Any] = {"of": "rows", "max_rows": 2, "epsilon": _EPSILON}
            total = questions.Sum("v", bounds=(low, high), **rows)
            yield _line(policy, total, world, f"of rows of {low} .. {high}")
        own: dict[str, Any] = {"max_groups": 1} if policy is not one else {}
        here = questions.Sum("v", bounds=(0, 2), by="place", keys=_PLACES, **rows, **own)
        yield _line(policy, here, _world(policy, 0, 2, many=True), "of rows by place")
    for policy in (added, one):
        for between in (True, False):
            nearest = questions.Quantile("v", candidates=[0, 1], interpolate=between, **rows)
            words = "on the line" if between else "the lower one"
            yield _line(policy, nearest, _world(policy, 0, 1, many=True), f"of rows, {words}")


def _by_place() -> Iterator[Line]:
    """Rows of units with two at most in a place, and quantiles there."""
    added, one, two = policies.addition_only(), *map(_dropped, (1, 2))
    asked: dict[str, Any] = {"by": "place", "keys": _PLACES, "epsilon": _EPSILON}
    for policy, most in ((one, 2), (two, 1), (added, 1), (added, 2)):
        own: dict[str, Any] = {"max_groups": 2} if policy is added else {}
        rows = questions.RowCount(max_rows=most, **asked, **own)
        yield _line(policy, rows, _world(policy, 0, 1, many=True), f"at most {most}")
    for policy in (added, policies.bounded(), two):
        own = {} if policy is two else {"max_groups": 2}
        nearest = questions.Quantile("v", candidates=[0, 1], **asked, **own)
        yield _line(policy, nearest, _world(policy, 0, 1), "by place")
    for policy in (added, policies.bounded()):
        bounded = questions.Quantile("v", candidates=[0, 1], interval=True, epsilon=_EPSILON)
        yield _line(policy, bounded, _world(policy, 0, 1), "with bounds")


def _weighted(policy: Policy, **more: Any) -> questions.Count:
    """How many there are, each by its mean value."""
    own: dict[str, Any] = {} if policy.covers else {"max_groups": 1}
    asked: dict[str, Any] = {"by": "place", "keys": _PLACES, "epsilon": _EPSILON, **own, **more}
    return questions.Count(weight="v", weight_bounds=(0, 3), **asked)


def _weights() -> Iterator[Line]:
    """Counts of units by their own weights: who drops one row of two may weigh more."""
    for policy in (policies.addition_only(), policies.bounded(), _dropped(1)):
        world = _world(policy, 1, 3, many=True)
        yield _line(policy, _weighted(policy), world, "weighted")


def _weighed_as_totals() -> Line:
    """Wrong: a mean of what is left is taken to fall where rows are dropped, as a total does."""
    policy = _dropped(1)
    places: dict[str, Any] = {"by": "place", "keys": _PLACES}
    wrong = Mispriced(policy, _totals(0, 3, **places), read=_weighted(policy))
    flaw = "noise above alone, where who drops a row of a small weight weighs more"
    world, seen = _world(policy, 1, 3, many=True), "where a unit's mean is priced as its total"
    return _flawed("session: Count weighted", policy, wrong, world, flaw=flaw, seen=seen)


def _flawed(name: str, policy: Policy, run: Any, world: Universe, **about: Any) -> Line:
    """A wrong program that is said to lose ε along every edge, enumerated as the others are."""
    claims = dict.fromkeys(policy.edges, Fraction(_EPSILON))
    return Line(name, policy, run, claims, universe=world, **{**_WRONG, **about})


def _dropped(most: int) -> Policy:
    return policies.presence(max_groups=most)


def _several() -> Iterator[Line]:
    """Two questions at once, and ε shared between them."""
    policy = policies.presence(max_groups=2)
    world = Universe(groups=_PLACES, units=1)
    yield _line(policy, _two(epsilon=_EPSILON, weights=(1, 2)), world)
    yield _line(policies.addition_only(), _two(epsilon=_EPSILON), world)
    yield from _parts()


def _parts() -> Iterator[Line]:
    """Disjoint parts at ε of their own; ``session/several/_several.py`` says what they cost."""
    kind = policies.sensitive("kind = 'sensitive'")
    for policy in (policies.addition_only(), policies.unbounded(), policies.removal_only()):
        rows = _of_single_rows(policy)
        yield _line(policy, _place_by_place(6, 3), rows, "parts, largest", unit=None)
    for policy in (policies.bounded(), kind):
        rows = _of_single_rows(policy)
        yield _line(policy, _place_by_place(4, 2), rows, "parts, left + entered", unit=None)
    own = policies.presence(max_groups=1)
    held: dict[str, Any] = {"by": "place", "keys": _PLACES}
    yield _line(own, _place_by_place(6, 3, **held), _world(own, 0, 1, many=True), "parts, by place")
    both = policies.presence(max_groups=2)
    yield _line(both, _by_value(4, 2), _world(both, 0, 1, many=True), "parts, by value")
    # Of two places each costs half; a place by itself costs all of it, beside a half.
    some = [
        questions.Count(by="place", keys=keys, where=where, epsilon=3)
        for keys, where in ((_PLACES, "place IN ('p', 'q')"), (("r",), "place = 'r'"))
    ]
    world = Universe(groups=(*_PLACES, "r"), units=1)
    yield _line(both, questions.Several(some, disjoint=True), world, "parts, out of proportion")


def _place_by_place(*epsilons: int, **more: Any) -> questions.Several:
    parts = zip(_PLACES, epsilons, strict=True)
    return questions.Several(
        [questions.Count(where=f"place = '{at}'", epsilon=one, **more) for at, one in parts],
        disjoint=True,
    )


def _by_value(*epsilons: int) -> questions.Several:
    parts = enumerate(epsilons)
    return questions.Several(
        [questions.Count(where=f"v = {value}", epsilon=one) for value, one in parts], disjoint=True
    )


def _of_single_rows(policy: Policy) -> Universe:
    """Each row is a unit, at one of two places."""
    return Universe(units=1, values=of_kinds(policy, [frozenset({f"{at}0"}) for at in _PLACES]))


@dataclass(frozen=True, slots=True)
class Rated:
    """How many lie in each part, each with an upper and a lower rate. parts: what lies in them.

    >>> Rated((("p", (6, 2)), ("q", (2, 6))), _at_places).rates[0]
    ('p', (6, 2))
    """

    rates: tuple[tuple[str, tuple[Any, Any]], ...]
    parts: Callable[[Any], list[str]]

    def __call__(self, data: Any, noise: Noise) -> Any:
        """Noisy counts, each drawn by its own mechanism."""
        held = self.parts(data)
        return tuple(
            int(Counts(*pair).noisy(np.array([held.count(part)]), noise=noise)[0])
            for part, pair in self.rates
        )


def _at_places(data: Data) -> list[str]:
    return [cell[0] for record in data for cell in record.value]  # type: ignore[attr-defined] # a set


def _at_hours(table: Table) -> list[str]:
    return [hour for rows in table.units for hour in {one for row in rows for one in row.facts}]


def _parts_at_the_largest() -> Iterator[Line]:
    """Wrong: who is replaced leaves one part and enters another; who drops a place, both hours."""
    rows = [Row(at, frozenset({hour})) for at, hour in (("p", "9"), ("p", "17"), ("q", "9"))]
    broken: tuple[tuple[Any, ...], ...] = (
        (
            policies.bounded(),
            Rated((("p", (6, 2)), ("q", (2, 6))), _at_places),
            _of_single_rows(policies.bounded()),
            "the largest of disjoint parts, where a row may be replaced",
            "where parallel composition is taken for bounded privacy",
        ),
        (
            policies.presence(max_groups=1),
            Rated((("9", (6, INFINITE)), ("17", (6, INFINITE))), _at_hours),
            Tables(possible=subsets(rows)),
            "the largest of parts by hour, of which a place that is dropped has rows in two",
            "where parts are not of what is protected",
        ),
    )
    for policy, program, universe, flaw, seen in broken:
        name = "Counts of disjoint parts"
        yield _flawed(name, policy, program, universe, flaw=flaw, seen=seen, sealed=True)


def _two(**shared: Any) -> questions.Several:
    here = questions.Count(epsilon=_EPSILON, by="place", keys=_PLACES, max_groups=2)
    return questions.Several([here, questions.Count(epsilon=_EPSILON)], **shared)


def _world(policy: Policy, low: int, high: int, *, many: bool = False) -> Universe:
    """A unit has a value at one or both of two places, or nothing. many: several at one place."""
    cells = [f"{place}{value}" for place in _PLACES for value in (low, high)]
    # Whoever is in the table has a row; only presence drops them all.
    least = 0 if isinstance(policy, policies.Presence) else 1
    held = [frozenset(some) for size in range(least, 3) for some in combinations(cells, size)]
    held = [one for one in held if many or len({cell[0] for cell in one}) == len(one)]
    return Universe(units=1, values=of_kinds(policy, held))


@dataclass(frozen=True, slots=True)
class Asked:
    """What a session draws for a question, of a table that holds this data.

    made: the session that is asked, made of the one over the rows. unit: None if each row is one.
    """

    policy: Policy
    question: Any
    made: Callable[[questions.Session], questions.Session] | None = None
    unit: str | None = "person"
    _read: dict[Data, Any] = field(default_factory=dict, repr=False, compare=False)

    def __call__(self, data: Data, noise: Noise) -> Any:
        """The answer as the ledger keeps it. Rows are read once for each data set."""
        if data not in self._read:
            step = prepared(self.session(data), self.question)
            self._read[data] = step.draw, step.read()
        draw, secret = self._read[data]
        return _told(draw(secret, noise))

    def session(self, data: Data) -> questions.Session:
        """A session over a table of this data."""
        table = table_of(data)
        if self.policy.name == "graph":  # it names no column, so that no other text stands beside
            table = nw.from_native(table).drop("kind").to_native()
        found = questions.Session(table, policy=self.policy, unit=self.unit, budget=10**6)
        return found if self.made is None else self.made(found)


def _told(answer: Any) -> Any:
    if isinstance(answer, dict):
        return tuple((name, _told(part)) for name, part in answer.items())
    if isinstance(answer, list | tuple):
        return tuple(map(_told, answer))
    return tuple(np.ravel(answer).tolist()) if isinstance(answer, np.ndarray) else answer


def table_of(data: Data) -> Any:
    """One row for each unit and what it holds, in the first engine that is there."""
    return table_of_rows(
        (unit, record.kind, held[0], None if held[1:] == _NONE else int(held[1:] or 0))
        for unit, record in enumerate(data)
        for held in sorted(record.value if isinstance(record.value, frozenset) else ())
    )


def table_of_rows(found: Iterable[tuple[int, str, str, int | None]]) -> Any:
    """A table of persons, their kinds, places and values."""
    return worlds.table_of(found, person="BIGINT", kind="VARCHAR", place="VARCHAR", v="BIGINT")


def _line(
    policy: Policy,
    question: Any,
    world: Universe,
    what: str = "",
    *,
    claims: int | None = None,
    made: Callable[[questions.Session], questions.Session] | None = None,
    unit: str | None = "person",
    **options: Any,
) -> Line:
    asked = Asked(policy, question, made, unit)
    charge = asked.session(()).plan(question).charge
    bound: dict[Any, Any] = {edge: charge[edge.name] for edge in policy.edges}
    if claims is not None:
        bound = {edge: claims * edge.weight for edge in policy.edges}
    return Line(
        f"session: {type(question).__name__}{what and ' '}{what}",
        policy,
        asked,
        bound,
        universe=world,
        epsilon=_EPSILON,
        **{"loose": _SHARED, "tail": 1e-8, "unseen": 1e-3, "sealed": False, **options},
    )


def _per_unit() -> Iterator[Line]:
    """Units as rows, made of one or two rows each."""
    one_way = policies.addition_only(), policies.removal_only()
    for policy in (*one_way, policies.bounded(), policies.unbounded()):
        world = _world(policy, 0, 2, many=True)
        for asked, what in (
            (questions.Count(by="n", keys=(1, 2), max_groups=1, epsilon=_EPSILON), "by rows"),
            (questions.Count(where="most >= 2", epsilon=_EPSILON), "of some"),
            (questions.Sum("total", of="units", total_bounds=(-1, 2), epsilon=_EPSILON), "of sums"),
        ):
            yield _line(policy, asked, world, f"per unit {what}", made=_units)
        yield _line(policy, _WEIGHED, world, "weighted", made=_units)


_WEIGHED = questions.Mean(
    "total", bounds=(0, 2), weight="n", weight_bounds=(0, 2), epsilon=_EPSILON
)


def _weighed_as_one() -> Iterator[Line]:
    """Wrong: twice the rate, as if every unit moved both sums by one span and not by two."""
    flaw = "priced at the weight 1, where 2 are the most"
    for policy in (policies.addition_only(), policies.bounded()):
        asked, world = replace(_WEIGHED, epsilon=2 * _EPSILON), _world(policy, 0, 2, many=True)
        about = {"flaw": flaw, "seen": "weights multiplied in after the price", "loose": ""}
        yield _line(policy, asked, world, "weighted", claims=_EPSILON, made=_units, **about)


def _units(session: questions.Session) -> questions.Session:
    return session.per_unit(**_UNITS)


def _unpriced(session: questions.Session) -> questions.Session:
    """The same of a session that would refuse it."""
    made = copy(session)
    made._table = units_of(session._table, "person", _UNITS)  # noqa: SLF001 - its own copy
    return made


def _possible() -> Iterator[Line]:
    """A condition that is unknown where a value is missing, read in both ways."""
    held = [frozenset(some) for some in ((), ("p1",), ("p2",), ("p?",), ("p?", "q2"))]
    for policy in (_dropped(1), policies.addition_only(), policies.bounded()):
        least = 0 if isinstance(policy, policies.Presence) else 1
        own = of_kinds(policy, (some for some in held if len(some) >= least))
        world = Universe(units=1, values=own)
        more: dict[str, Any] = {} if least == 0 else {"max_groups": 2}
        for unknown in ("possible", "recorded"):
            asked: dict[str, Any] = {"by": "place", "keys": _PLACES, "epsilon": _EPSILON, **more}
            asked |= {"where": "v > 1", "unknown": unknown}
            yield _line(policy, questions.Count(**asked), world, f"of what is {unknown}")
            if least == 0:
                yield _line(policy, questions.AtMost(0, **asked), world, f"of what is {unknown}")
    private, world = _unsure()
    asked = {"by": "place", "keys": _PLACES, "epsilon": _EPSILON, "max_groups": 1}
    asked |= {"where": "v > 1", "unknown": "possible"}
    yield _line(private, questions.Count(**asked), world, "of sensitive rows that are possible")


def _unsure() -> tuple[Policy, Universe]:
    """Rows whose value is missing exactly where they are sensitive."""
    rows = (("sensitive", "p?"), ("sensitive", "q?"), ("open", "p1"), ("open", "p2"))
    values = tuple(Record(kind, frozenset((held,))) for kind, held in rows)
    return policies.sensitive("kind = 'sensitive'"), Universe(units=1, values=values)


@dataclass(frozen=True, slots=True)
class Mispriced(Asked):
    """Draws by one question's noise on what another one reads."""

    read: Any = None

    def __call__(self, data: Data, noise: Noise) -> Any:
        """The answer as the ledger keeps it."""
        session = self.session(data)
        draw = prepared(session, self.question).draw
        return _told(draw(prepared(session, self.read).read(), noise))


def _priced_as_recorded() -> Line:
    """Wrong: ``v > 1`` is true of open rows alone, and rows for which it is unknown count, too."""
    policy, world = _unsure()
    return _priced_for_open(
        "of what is possible",
        policy,
        world,
        {"by": "place", "keys": _PLACES, "where": "v > 1", "unknown": "possible"},
        "priced for rows of which the condition is true, where unknown ones count",
        "where a kind is taken to add nothing to a condition that it never makes true",
    )


def _priced_by_one_row() -> Line:
    """Wrong: who was at p is sensitive, also at q."""
    been = (("sensitive", "pq"), ("sensitive", "p"), ("open", "q"))
    values = tuple(Record(kind, frozenset(f"{at}1" for at in places)) for kind, places in been)
    return _priced_for_open(
        "of who was elsewhere",
        policies.sensitive("place = 'p'"),
        Universe(units=1, values=values),
        {"by": "place", "keys": ["q"]},
        "priced as if no row of a sensitive unit lay where no row makes it sensitive",
        "where one of several rows decides a kind, and is taken for all of them",
    )


def _priced_for_open(
    what: str,
    policy: Policy,
    world: Universe,
    asked: dict[str, Any],
    *wrong: str,
    read: Callable[..., Any] = questions.Count,
) -> Line:
    """A count of all units, or what is read of it, by noise for open ones alone."""
    shared: dict[str, Any] = {"epsilon": _EPSILON, "max_groups": 1}
    places = {name: given for name, given in asked.items() if name in ("by", "keys")}
    priced, told = questions.Count(counted="open", **places, **shared), read(**asked, **shared)
    name = f"session: {type(told).__name__} {what}"
    run = Mispriced(policy, priced, read=told)
    return _flawed(name, policy, run, world, flaw=wrong[0], seen=wrong[1])


def _broken() -> Iterator[Line]:
    policy, world = policies.addition_only(), Universe(groups=_PLACES, units=1)
    flawed: dict[str, Any] = {"seen": "in sessions that add up by hand", "loose": ""}
    flaw = "two answers at the price of one"
    yield _line(policy, _two(), world, claims=_EPSILON, flaw=flaw, **flawed)
    # Noise on all counts at once hides all of them at ε; drawn for each apart it hides each.
    place = partial(questions.Count, epsilon=_EPSILON, by="place", max_groups=2)
    apart = questions.Several([place(keys=(one,)) for one in _PLACES])
    flaw = "noise for all counts, drawn for each of them apart"
    yield _line(policy, apart, world, claims=_EPSILON, flaw=flaw, **flawed)
    yield from _parts_at_the_largest()
    yield _weighed_as_totals()
    yield from _weighed_as_one()
    counts = [questions.Count(where="v > 1", epsilon=1), questions.Count(epsilon=1)]
    one = questions.Ratio(counts, epsilon=_EPSILON)
    two = questions.Ratio([_totals(0, 2, where="v > 1"), _totals(0, 2)], epsilon=_EPSILON)
    about = {"flaw": "priced for units that add 1, where they add 2", "seen": "in ratios of sums"}
    run, whole = Mispriced(policy, one, read=two), _world(policy, 0, 2, many=True)
    yield _flawed("session: Ratio of sums as of counts", policy, run, whole, **about)
    dropped = policies.presence(max_groups=1)
    asked = questions.Count(by="n", keys=(1, 2), epsilon=_EPSILON)
    flaw = "a unit that loses a row keeps another row of its own"
    flawed |= {"flaw": flaw, "seen": "where rows become units under presence"}
    yield _line(dropped, asked, _world(dropped, 0, 2), "per unit", made=_unpriced, **flawed)
    # Two rows of a unit count, at the price of one.
    rows: dict[str, Any] = {"of": "rows", "epsilon": _EPSILON}
    flaw = "priced for one row of a unit, where two count"
    for policy, name, asked_of, low, high in (
        (policies.addition_only(), "Sum", partial(questions.Sum, "v", bounds=(0, 2)), 1, 2),
        (policies.bounded(), "Quantile", partial(questions.Quantile, "v", candidates=[0, 1]), 0, 1),
    ):
        run = Mispriced(policy, asked_of(max_rows=1, **rows), read=asked_of(max_rows=2, **rows))
        about = {"flaw": flaw, "seen": "in sessions that count rows of units"}
        title = f"session: {name} of two rows at the price of one"
        world = _world(policy, low, high, many=True)
        yield _flawed(title, policy, run, world, **about)
