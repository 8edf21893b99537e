"""What policies say of their moves, against every move of small tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import combinations, permutations, product, starmap
from typing import Any, Final, NamedTuple

from onesided import policy as policies
from onesided.errors import PolicyError
from onesided.policy import ABSENT, Cells, Edge, GroupCount, Intersection, Policy, Record, Shift
from onesided_proofs.cases.promises import (
    BOTH,
    FACTS,
    FULL,
    GONE,
    GROUPS,
    ILL,
    LEAVING,
    MARKS,
    MEMBER,
    MINORS,
    PRESENCE,
    TWO,
    VISITS,
    WIDE,
)
from onesided_proofs.checks._samplers import Sampled
from onesided_proofs.tables import Row, Rows, Tables, subsets

_NAME: Final = "what policies say, by moves of tables"
_MARKED: Final = tuple(tuple(Row(group, marks) for marks in MARKS) for group in "ab")
_MANY: Final = Tables(
    possible=(
        *subsets([*_MARKED[0], *_MARKED[1]], most=1),
        *(frozenset(both) for both in product(*_MARKED)),
    )
)
_ADD, _DROP, _ANY = policies.addition_only(), policies.removal_only(), policies.unbounded()
_BOOK: Final = policies.graph([("a", "b", 2), ("a", "absent")], directed=True)
There = tuple[bool, bool]


def moved_checks() -> Iterator[Sampled]:
    """Each part, and a control of its kind."""
    for subject, found in (
        ("kinds without conditions", _unruled_fault),
        ("parts of intersections", _joined_fault),
        ("what may happen to the rest of a row", _rest_fault),
        ("units in any number of groups", _unbounded_fault),
        ("records that two policies see", lambda: _first(starmap(_seen_fault, _pairs()))),
        ("edges, weights and who leaves", lambda: _first(starmap(_edges_fault, _worlds()))),
        ("parts that allow more", lambda: _first(starmap(_wider_fault, _worlds()))),
        ("cells of a unit that is cut to one of its own", _cut_fault),
        ("shifts of counts", lambda: _first(starmap(_shifts_fault, _worlds()))),
    ):
        yield Sampled(_NAME, subject, found())
    wrong = _shifts_fault(WIDE, GROUPS, told=PRESENCE.shifts)
    yield Sampled(_NAME, "shifts of one group fewer", wrong, sound=False)
    wrong = _edges_fault(WIDE & _ANY, GROUPS, told=WIDE)
    yield Sampled(_NAME, "one part in place of both", wrong, sound=False)
    wrong = _cut_fault(truncated=False)
    yield Sampled(_NAME, "cells of a unit that is cut, as if it had one", wrong, sound=False)
    wrong = _seen_fault(MINORS, ILL, FACTS, told=((MINORS, MINORS), (ILL, ILL)))
    yield Sampled(_NAME, "records of one policy twice", wrong, sound=False)


def _first(faults: Iterable[str]) -> str:
    return next((fault for fault in faults if fault), "")


def _worlds() -> Iterator[tuple[Policy, Tables]]:
    for policy in (
        BOTH, _ADD, _DROP, _ANY, PRESENCE, WIDE, MEMBER, FULL, PRESENCE & BOTH,
    ):  # fmt: skip
        yield policy, GROUPS
    for policy in (
        WIDE & BOTH, BOTH & MEMBER, FULL & MEMBER, MEMBER & _ADD, WIDE & MEMBER, PRESENCE & _ADD,
        WIDE & _ANY, PRESENCE & FULL, WIDE & PRESENCE, _ANY & _DROP, WIDE & FULL & MEMBER,
        PRESENCE & BOTH & FULL,
    ):  # fmt: skip
        yield policy, GROUPS
    for policy in (
        MINORS,
        LEAVING,
        policies.extended_sensitive("minor"),
        MINORS & LEAVING,
        LEAVING & FULL,
        LEAVING & _ADD,
        *(policies.sensitive_presence("minor", max_groups=most) for most in (1, 2)),
        PRESENCE & MINORS,
        WIDE & LEAVING,
        policies.proposition("minor"),
        PRESENCE & policies.proposition("minor"),
        policies.extended_sensitive("minor") & _ANY,
        policies.tiers({"young": (1, "minor"), "rest": 2}) & MINORS,
    ):
        yield policy, VISITS
    for policy in (
        MINORS & ILL,
        MINORS & ILL & BOTH,
        MINORS & policies.proposition("ill"),
        PRESENCE & MINORS & ILL,
    ):
        yield policy, _MANY
    for policy in (
        GONE, GONE & FULL, _BOOK & GONE, _BOOK & BOTH, GONE & _ADD,
    ):  # fmt: skip
        yield policy, TWO


def _there(before: Rows, after: Rows) -> There:
    return bool(before), bool(after)


class Step(NamedTuple):
    """A move of one unit's rows, along an edge."""

    before: Rows
    after: Rows
    edge: Edge


@cache
def _steps(policy: Policy, world: Tables) -> tuple[Step, ...]:
    moves = world.moves(policy)
    return tuple(Step(real.units[0], other.units[0], edge) for real, other, edge in moves)


def _kind(policy: Policy, rows: Rows) -> str:
    """Of a unit that has rows, as the families define it; of several parts, all names."""
    if not rows:
        return ABSENT
    if isinstance(policy, Intersection):
        found = [_kind(part, rows) for part in policy.parts]
        return found[0] if len(set(found)) == 1 else " & ".join(found)
    facts = {fact for row in rows for fact in row.facts}
    if policy.name == "proposition":
        condition = str(policy.parameters()["predicate"])
        holds = all(condition in row.facts for row in rows)
        return "open" if holds else "protected"
    for rule in policy.rules:
        if all(one.text in facts for one in rule.predicates):
            return rule.kind
    return policy.default_kind if policy.rules else policy.kinds[0]


def _counted(policy: Policy, query: GroupCount, rows: Rows) -> set[str]:
    """The groups that a unit is counted in: the first ones, if it is cut down to some."""
    if not query.counts(_kind(policy, rows)):
        return set()
    groups = sorted({row.group for row in rows})
    return set(groups[: query.max_groups] if query.truncated else groups)


def _queries(policy: Policy, world: Tables) -> Iterator[GroupCount]:
    most = max(len({row.group for row in rows}) for rows in world.possible)
    kinds = sorted({_kind(policy, rows) for rows in world.possible} - {ABSENT})
    chosen = [None, *(frozenset({one}) for one in kinds if len(kinds) > 1)]
    for counted, groups in product(chosen, range(1, most + 1)):
        if not policy.single_valued or groups == 1:
            yield GroupCount(max_groups=groups, counted=counted)
            yield GroupCount(max_groups=groups, counted=counted, truncated=True)
    yield GroupCount()


def _shifts_fault(
    policy: Policy, world: Tables, *, told: Callable[[GroupCount], Any] | None = None
) -> str:
    """No move shifts counts by more than is told, and some move by each number that is."""
    steps = [step for step in _steps(policy, world) if step.edge in policy.edges]
    groups = len({row.group for rows in world.possible for row in rows})
    for query in _queries(policy, world):
        try:
            said = (told or policy.shifts)(query)
        except PolicyError:
            continue
        moved: dict[Edge, set[tuple[int, int]]] = defaultdict(set)
        for before, after, edge in steps:
            if all(_fits(policy, query, rows) for rows in (before, after)):
                here, there = (_counted(policy, query, rows) for rows in (before, after))
                moved[edge].add((len(there - here), len(here - there)))
        for edge, found in moved.items():
            about = f"{policy.name} of {[part.name for part in policy.parts]}, {edge}, {query}"
            for rise, fall in found:
                if not any(rise <= s.rise and fall <= s.fall for s in said[edge]):
                    return f"{about}: {rise} up and {fall} down"
            most = max(rise for rise, _ in found), max(fall for _, fall in found)
            named = max(s.rise for s in said[edge]), max(s.fall for s in said[edge])
            if _reached(policy, query, groups) and named != most:
                return f"{about}: {named} is told, due {most}"
    return ""


def _cut_fault(*, truncated: bool = True) -> str:
    """Whose one value may change stays with its others, and may be counted in the next of them."""
    values = "abcd"
    for policy, becomes in (
        (policies.graph([("a", "b")], directed=True, values=[*values]), "b"),
        (policies.attributes({"place": ["a"]}), "bcd"),
    ):
        for keys in map(frozenset, ("a", "ac", "acd", "cd")):
            cells = Cells(size=len(keys), column="place", keys=keys, alone=True)
            told = policy.shifts(GroupCount(max_groups=1, truncated=truncated, cells=cells))
            (said,) = told.values()
            others = (some for size in range(3) for some in combinations(values, size))
            for rest, to, first in product(others, becomes, (min, max)):
                kept = (keys & {one, *rest} for one in ("a", to))
                here, there = ({first(one)} if one else set() for one in kept)
                rise, fall = len(there - here), len(here - there)
                if not any(rise <= s.rise and fall <= s.fall for s in said):
                    return f"{policy.name} of {sorted(keys)}: {rise} up and {fall} down"
    return ""


def _fits(policy: Policy, query: GroupCount, rows: Rows) -> bool:
    """Whether a unit is in no more groups than the count says, which are all where it is cut."""
    most = query.max_groups
    if policy.single_valued or (most is None and not any(p.covers for p in policy.parts)):
        most = 1
    return most is None or query.truncated or len({row.group for row in rows}) <= most


def _reached(policy: Policy, query: GroupCount, groups: int) -> bool:
    """Whether the world is large enough, and a part that covers fewer groups does not cut in."""
    covers = min((p.covers for p in policy.parts if p.covers), default=0)
    most = query.max_groups or covers or 1
    kinds = covers and any(len(part.kinds) > 1 for part in policy.parts)
    room = most if covers and not query.truncated else 2 * most
    alone = not covers or len(policy.parts) == 1 or query.max_groups in (None, 1)
    return room <= groups and most <= (covers or groups) and alone and not kinds


def _edges_fault(policy: Policy, world: Tables, *, told: Policy | None = None) -> str:
    said = told or policy
    ways: dict[Edge, set[There]] = defaultdict(set)
    for before, after, edge in _steps(policy, world):
        ways[edge].add(_there(before, after))
    if set(ways) != set(said.edges):
        return f"{policy.name} has moves along {sorted(map(str, ways))}"
    for edge, due in ways.items():
        found = {(way[0] != ABSENT, way[1] != ABSENT) for way in said.ways(edge)}
        if found != due:
            return f"{policy.name}, {edge}: {found}, due {due}"
    kinds = {_kind(policy, rows) for rows in world.possible if rows}
    reached = any(False in one for due in ways.values() for one in due)
    if {kind for kind in said.kinds if kind != ABSENT} != kinds:
        return f"{policy.name} has the kinds {said.kinds}, due {sorted(kinds)}"
    known = any(ABSENT in part.kinds for part in policy.parts)
    if (ABSENT in said.kinds) > known or (reached and known and ABSENT not in said.kinds):
        return f"{policy.name} has the kinds {said.kinds}"
    return _records_fault(policy, world) or _between_fault(policy, world)


def _between_fault(policy: Policy, world: Tables) -> str:
    """Between records of units in other groups there is an edge exactly if a unit has a move."""
    if policy.single_valued:
        return ""
    due = {
        (_record(policy, before), _record(policy, after)): edge
        for before, after, edge in _steps(policy, world)
    }
    records = {_record(policy, rows) for rows in world.possible if rows}
    for real, other in product(records, repeat=2):
        if real.value != other.value:
            told = policy.edge_between(real, other)
            if told != due.get((real, other)):
                return f"{policy.name}, {real} as {other}: {told}, due {due.get((real, other))}"
    return ""


def _records_fault(policy: Policy, world: Tables) -> str:
    """The records of a small world are those of its units."""
    if policy.single_valued:
        return ""
    groups = sorted({row.group for rows in world.possible for row in rows})
    told = policy.records(groups, max_groups=len(groups))
    due = {_record(policy, rows) for rows in world.possible if rows}
    found = {record for record in told if record.value}
    absent = Record(ABSENT) in told
    if len(told) != len(set(told)) or absent != (ABSENT in policy.kinds):
        return f"{policy.name} has records twice, or absent ones: {told}"
    # Units of the world may have few rows, so that some kinds with all groups are not among them.
    full = {record for record in found if len(record.value) <= _least(world)}  # type: ignore[arg-type]
    if not due <= found or not full <= due:
        return f"{policy.name} has the records {found ^ due} too many or too few"
    return ""


def _least(world: Tables) -> int:
    groups = {row.group for rows in world.possible for row in rows}
    return min(max(map(len, world.possible)), len(groups), 2 if len(world.possible) > 9 else 3)


def _record(policy: Policy, rows: Rows) -> Record:
    return Record(_kind(policy, rows), frozenset(row.group for row in rows))


def _wider_fault(policy: Policy, world: Tables) -> str:
    """The parts along whose edge more of these units leave, or stay, than along all parts'."""
    if not isinstance(policy, Intersection):
        return ""
    own = [{(s.before, s.after): s.edge for s in _steps(part, world)} for part in policy.parts]
    joint = [
        (s.edge, tuple(one[s.before, s.after] for one in own), _there(s.before, s.after))
        for s in _steps(policy, world)
    ]
    for edge, joined in {(edge, parts) for edge, parts, _ in joint}:
        due = []
        for place, part in enumerate(policy.parts):
            alike = {
                there
                for e, parts, there in joint
                if parts[place] == joined[place] and e.source == edge.source
            }
            alone = {_there(*pair) for pair, e in own[place].items() if e == joined[place]}
            if not alone <= alike:
                due.append(part)
        if [part.name for part in policy.wider(edge)] != [part.name for part in due]:
            names = [part.name for part in due]
            return f"{policy.name}, {edge}: {[p.name for p in policy.wider(edge)]}, due {names}"
    return ""


def _pairs() -> Iterator[tuple[Policy, Policy, Tables]]:
    tiers = policies.tiers({"young": (1, "minor"), "rest": 2})
    for one, two in (
        (MINORS, ILL), (MINORS, BOTH), (MINORS, _ANY), (BOTH, MEMBER), (MEMBER, MINORS),
        (LEAVING, ILL), (LEAVING, MINORS), (tiers, LEAVING), (tiers, MINORS), (LEAVING, MEMBER),
        (_ADD, _DROP), (PRESENCE, MINORS), (PRESENCE, LEAVING), (_ADD, PRESENCE), (PRESENCE, WIDE),
    ):  # fmt: skip
        yield one, two, _MANY
        yield two, one, _MANY


def _seen_fault(
    one: Policy, two: Policy, world: Tables,
    *, told: Sequence[tuple[Policy, Policy]] | None = None,
) -> str:  # fmt: skip
    """The kinds that one unit can have under both, and every such record."""
    groups = sorted({row.group for rows in world.possible for row in rows})
    kinds = {(_kind(one, rows), _kind(two, rows)) for rows in world.possible if rows}
    due = {(_record(one, rows), _record(two, rows)) for rows in world.possible if rows}
    found: set[Any] = set()
    pairs: set[Any] = set()
    for first, second in told or [(one, two)]:
        found |= set(policies.joint_records(first, second, groups=groups))
        pairs |= set(policies.possible_pairs(first, second))
    leaves = [any(False in _there(*step[:2]) for step in _steps(p, world)) for p in (one, two)]
    both = {(ABSENT, ABSENT)} if all(leaves) else set()
    if pairs != kinds | both:
        return f"{one.name} and {two.name} see {sorted(pairs)}, due {sorted(kinds | both)}"
    gone = {pair for pair in found if ABSENT in (pair[0].kind, pair[1].kind)}
    if gone != ({(Record(ABSENT), Record(ABSENT))} if any(leaves) else set()):
        return f"{one.name} and {two.name} see {gone}"
    if {pair for pair in found if pair[0].value} - gone != due:
        return f"{one.name} and {two.name} see {len(found)} records, due {len(due)}"
    return ""


def _unruled_fault() -> str:
    """Kinds of the same names are the same; of other names they are taken as independent."""
    pair = [("s", "o")]
    one = policies.custom(kinds=["s", "o"], edges=pair)
    alike = policies.custom(kinds=["o", "s"], edges=[("o", "s")])
    other = policies.custom(kinds=["x", "y"], edges=[("x", "y")])
    leaves = policies.custom(kinds=["s", "o", ABSENT], edges=[*pair, ("s", ABSENT)])
    ruled = policies.custom(kinds=["s", "o"], edges=pair, rules=[("s", "minor")], default="o")
    # It knows absent units, and no move of theirs.
    still = policies.custom(kinds=["s", "o", ABSENT], edges=pair)
    same, gone = {("s", "s"), ("o", "o")}, {(ABSENT, ABSENT)}
    texts = [f"f{at}" for at in range(7)]
    several = [
        policies.custom(kinds=["s", "o"], edges=pair, default="o", rules=[("s", t) for t in some])
        for some in (texts[:6], texts[1:], [f"g{at}" for at in range(6)])
    ]
    free = set(product("so", repeat=2))
    for first, second, due in (
        (one, alike, same),
        (leaves, leaves, same | gone),
        (one, leaves, same),
        (still, leaves, same | gone),
        (leaves, still, same | gone),
        (one, other, set(product("so", "xy"))),
        (one, ruled, free),
        (ruled, one, free),
        (ruled, ruled, same),
        (one, BOTH, {("s", "record"), ("o", "record")}),
        (several[0], several[1], free),
        (several[0], several[2], free),
        (several[0], several[0], same),
        (one & MINORS, ILL, set(product((one & MINORS).kinds, ("open", "sensitive")))),
        (ILL, one & MINORS, set(product(("open", "sensitive"), (one & MINORS).kinds))),
    ):
        told = set(policies.possible_pairs(first, second))
        if told != due:
            return f"{first.parameters()} and {second.parameters()}: {told}, due {due}"
    both: tuple[tuple[Policy, Policy], ...] = (MINORS, ILL), (PRESENCE, WIDE)
    for mine, yours in both:
        fewer = policies.joint_records(mine, yours, groups="abc", max_groups=1)
        if any(len(one.value) > 1 for one, _ in fewer):  # type: ignore[arg-type]
            return "records of more groups than were asked for"
    return ""


def _joined_fault() -> str:
    """Whichever way policies are joined, every part is there once, and is kept with the name."""
    some = MINORS, ILL, PRESENCE, BOTH
    for first, second, third in permutations(some, 3):
        for joint in ((first & second) & third, first & (second & third), first & second & third):
            back = policies.from_toml(joint.to_toml())
            if not ({*joint.parts} == {*back.parts} == {first, second, third}):
                return f"{first.name}, {second.name} and {third.name} are {joint.to_toml()}"
        if (first & first) != first or len((first & second & first).parts) != 2:
            return f"{first.name} twice is not as once"
        if (first & second).identity == (first & third).identity:
            return f"{first.name} with {second.name} or {third.name} has one identity"
    return ""


def _rest_fault() -> str:
    """What a move may do to the other values of a unit: the least that all parts promise."""
    for policy, due in (
        (PRESENCE & BOTH, "dropped"),
        (BOTH & MEMBER, "replaced"),
        (WIDE & PRESENCE, "dropped"),
        (GONE & BOTH, None),
        (_BOOK & PRESENCE, None),
    ):
        if policy.other_values != due:
            return f"{policy.name} of {[p.name for p in policy.parts]}: {policy.other_values}"
    for policy, single in ((GONE & BOTH, True), (BOTH & GONE, True), (PRESENCE & BOTH, False)):
        if policy.single_valued != single:
            return f"{[p.name for p in policy.parts]} hold one value each: {policy.single_valued}"
    return ""


def _unbounded_fault() -> str:
    """A unit in any number of groups comes or goes in all of them: refused, or a number named."""
    kinds = PRESENCE & MINORS
    opened = frozenset({kind for kind in kinds.kinds if "open" in kind})
    try:
        told = kinds.shifts(GroupCount(counted=opened))
    except PolicyError:
        told = {}
    if told:
        return f"{told} is told of {kinds.name}"
    (graph,) = {(s.rise, s.fall) for many in (_BOOK & PRESENCE).shifts(GroupCount()).values()
                for s in many}  # fmt: skip
    return "" if Shift(rise=graph[0], fall=graph[1]) == Shift(rise=0, fall=1) else f"{graph}"
