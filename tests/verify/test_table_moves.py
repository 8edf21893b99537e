"""Promises about policies against moves of tables, written down once, for all pairs of families.

``table_moves`` knows the definitions and nothing of the code that relaxes, intersects, converts,
composes or totals. Each of those is held against it here: on every table of a small world, for
every move, what is promised is at least what may be lost.
"""

import random
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product

import pytest
from tests.covering import each

import onesided as od
from onesided import accounting as acc
from onesided import errors
from onesided import policy as p
from onesided.accounting import Bound
from onesided.ledger import Unit
from onesided.session import total_guarantee
from onesided_proofs.tables import FAMILIES, Row, Table, Tables, subsets, table_moves

INF = od.INFINITE
MEMBER = p.custom(kinds=["r", "absent"], edges=[("r", "r", 2), ("r", "absent")])
POLICIES = {
    "bounded": p.bounded(),
    "unbounded": p.unbounded(),
    "addition": p.addition_only(),
    "removal": p.removal_only(),
    "minors": p.sensitive("minor"),
    "ill": p.sensitive("ill"),
    "extended": p.extended_sensitive("minor"),
    "proposition": p.proposition("well"),
    "tiers": p.tiers({"strict": ("1/2", "minor"), "mild": (2, "ill"), "rest": INF}),
    "leaving": p.custom(
        kinds=["s", "o", "absent"],
        edges=[("s", "s"), ("s", "o"), ("s", "absent", 2)],
        rules=[("s", "minor")],
        default="o",
    ),
    "member": MEMBER,
    "presence": p.presence(max_groups=1),
    "map": p.sensitive_presence("minor", max_groups=1),
    "wide map": p.sensitive_presence("minor", max_groups=2),
    "wide presence": p.presence(max_groups=2),
    "attributes": p.attributes({"letter": ["a"]}),
    "all attributes": p.attributes({"letter": "*"}),
    "graph": p.graph([("a", "b")]),
    "directed": p.graph([("a", "b", 2), ("b", "absent", "1/2")], directed=True),
    "local": p.local(["a", "b"], sensitive=["a"]),
    "near": p.neighbourhood(radius=1, places={"a": (0,), "b": (1,), "c": (9,)}),
    "sources": p.neighbourhood(radius=1, sources=[(1,)], places={"a": (0,), "b": (1,), "c": (9,)}),
    "minors & ill": p.sensitive("minor") & p.sensitive("ill"),
    "minors & presence": p.sensitive("minor") & p.presence(max_groups=1),
    "member & presence": MEMBER & p.presence(max_groups=2),
    "addition & presence": p.addition_only() & p.presence(max_groups=2),
    "homes": p.view("minor", over="home", members=2),
    "register": p.view("minor", over="home", members=2, table="register"),
}
PAIRS = {f"{one}, {two}": (one, two) for one, two in product(POLICIES, repeat=2)}
FACTS = ((), ("minor",), ("well",), ("minor", "well"), ("ill",))
ROWS = [Row(group, frozenset(held)) for group in "ab" for held in FACTS]
BUSY = frozenset(Row(group, frozenset(held)) for group, held in zip("abc", FACTS, strict=False))
ALONE = Tables(possible=(*subsets(ROWS, most=2), BUSY), homes=("h",))
COUPLE = Tables(
    possible=subsets([Row("a"), Row("a", frozenset({"minor"})), Row("b")], most=1),
    units=2,
    homes=("h", "h"),
    registers=(frozenset(), frozenset({"h"})),
)


def partners(name, long_form):
    """All others; in the short form some, the same each time, and presence among them."""
    others = [one for one in POLICIES if one != name]
    chosen = random.Random(name).sample(others, 6)
    return others if long_form else sorted({*chosen, "wide presence", "bounded"} - {name})


def moves(name):
    return moves_of(POLICIES[name])


@cache
def moves_of(policy):
    """Every move of a policy, from table to table."""
    found = {(x, y): e for world in (ALONE, COUPLE) for x, y, e in world.moves(policy)}
    assert set(found.values()) <= set(policy.edges)
    return found


def decided(one, two):
    try:
        return POLICIES[one].relaxes(POLICIES[two])
    except errors.PolicyError as error:
        assert "depends on which records" in error.reason  # noqa: PT017
        return None


def joint_of(one, two):
    try:
        return POLICIES[one] & POLICIES[two]
    except errors.PolicyError as error:
        known = ("protect nobody", "What a view and another", "would have one name")
        assert any(text in error.reason for text in known)  # noqa: PT017
        return None


def left_out(real, other):
    """Whether more than one unit's rows, or the other table, differ."""
    differ = sum(a != b for a, b in zip(real.units, other.units, strict=True))
    return differ != 1 or real.marked != other.marked


def there(real, other):
    """Whether the unit that moves is in the table before and after."""
    (place,) = (i for i, rows in enumerate(real.units) if rows != other.units[i])
    return real.holds(place), other.holds(place)


def test_every_family_of_the_registry_has_moves_on_tables():
    """A new family joins both, or fails here; and one of its policies is among those compared."""
    assert set(FAMILIES) == set(p.families())
    assert {policy.name for policy in POLICIES.values()} == set(p.families())
    assert all(any(edge == e for e in moves(n).values()) for n, one in POLICIES.items()
               for edge in one.edges)  # fmt: skip


def test_who_drops_all_rows_is_no_longer_in_the_table():
    policy, one = p.presence(max_groups=2), frozenset({Row("a")})
    (move,) = table_moves(policy, Table((one,), ALONE.possible))
    assert not move.table.holds(move.place)
    assert not list(table_moves(p.bounded() & policy, Table((one,), ALONE.possible)))


@each(PAIRS)
def test_what_relaxes_has_no_move_that_the_other_lacks(one, two):
    verdict = decided(one, two)
    apart = [
        (pair, edge)
        for pair, edge in moves(one).items()
        if pair not in moves(two) or not moves(two)[pair].weight <= edge.weight
    ]
    if verdict is True:
        assert not apart
    if verdict is False and one not in ("sources", "near"):  # False in the space of all points
        assert apart


@pytest.mark.parametrize("one", POLICIES)
def test_an_intersection_has_the_moves_of_both_and_their_larger_weight(one, long_form):
    for two in partners(one, long_form):
        check_an_intersection_has_the_moves_of_both_and_their_larger_weight(one, two)


def check_an_intersection_has_the_moves_of_both_and_their_larger_weight(one, two):
    joint = joint_of(one, two)
    common = {pair: edge for pair, edge in moves(one).items() if pair in moves(two)}
    if joint is None:
        views = any(POLICIES[name].view for name in (one, two))
        assert views or not common
        return
    found = moves_of(joint)
    assert all(there_as_told(joint, edge, *pair) for pair, edge in found.items())
    assert found.keys() == common.keys()
    assert all(edge.weight >= moves(one)[pair].weight for pair, edge in found.items())
    busy = {
        real
        for real in ALONE.data_sets()
        if all(any(r == real for r, _ in moves(n)) for n in (one, two))
    }
    idle = busy - {real for real, _ in found}
    by_values = {"attributes", "graph", "local", "neighbourhood", "intersection"}
    if not by_values & {POLICIES[name].name for name in (one, two)}:
        assert bool(idle) == bool(joint.unprotected), (idle, joint.unprotected)
    if joint.unprotected:
        assert all(f"somebody {who} has no move" in joint.explain() for who in joint.unprotected)


def there_as_told(joint, edge, real, other):
    told = {tuple(end != p.ABSENT for end in way) for way in joint.ways(edge)}
    return there(real, other) in told


def priced(policy, first=1):
    """A price of its own for each edge."""
    return {edge.name: Fraction(first + 3 * i) for i, edge in enumerate(policy.edges)}


@cache
def ledger_of(*names):
    ledger = od.Ledger.open(None)
    for place, name in enumerate(names):
        policy = POLICIES[name]
        charge = priced(policy, 1 + 100 * place)
        account = ledger.account(
            policy_id=policy.identity,
            policy_toml=policy.to_toml(),
            policy_name=policy.name,
            budget=dict.fromkeys(charge, 1000),
            unit=Unit("person", "integer"),
            further=True,
        )
        account.open()
        account.spend(charge, label="x")
    return ledger


def lost(name, pair, first=1):
    """What an account may lose along a move: anything, where it has no such move."""
    edge = moves(name).get(pair)
    return INF if edge is None else priced(POLICIES[name], first)[edge.name]


@pytest.mark.parametrize("asked", POLICIES)
def test_a_total_is_never_less_than_an_account_loses(asked, long_form):
    for own in (asked, *partners(asked, long_form)):
        check_a_total(asked, own)


def check_a_total(asked, own):
    told = total_guarantee(ledger_of(own), POLICIES[asked]).epsilon
    accepted = total_guarantee(ledger_of(own), POLICIES[asked], accept_unprotected=True).epsilon
    for pair, edge in moves(asked).items():
        assert lost(own, pair) <= accepted[edge.name] <= told[edge.name], (pair, edge)
    if asked == own:
        assert dict(told) == priced(POLICIES[own])


@pytest.mark.parametrize("one", POLICIES)
def test_a_total_of_two_accounts_is_for_what_both_protect(one, long_form):
    for two in partners(one, long_form):
        check_a_total_of_two_accounts_is_for_what_both_protect(one, two)


def check_a_total_of_two_accounts_is_for_what_both_protect(one, two):
    joint, ledger = joint_of(one, two), ledger_of(one, two)
    if joint is None:
        return
    told = total_guarantee(ledger).epsilon
    accepted = total_guarantee(ledger, accept_unprotected=True).epsilon
    summed = p.together(
        (POLICIES[one], priced(POLICIES[one])),
        (POLICIES[two], priced(POLICIES[two], 101)),
        accept_unprotected=True,
    ).epsilon
    for pair, edge in moves_of(joint).items():
        due = lost(one, pair) + lost(two, pair, 101)
        assert due <= accepted[edge.name] <= told[edge.name]
        if joint not in (POLICIES[one], POLICIES[two]):
            assert due <= summed[edge.name]
    # Unless that is accepted, nothing is promised where presence may take units away, or leave
    # them, and an account does not hide it.
    # A session under the intersection itself has a price for them.
    for edge in joint.edges:
        for part in joint.wider(edge):
            assert part.name in ("presence", "sensitive_presence")
            hidden = {POLICIES[name] for name in (one, two)} <= {part, joint}
            assert (told[edge.name] is INF) != hidden


def needs(pair, replace, come):
    if left_out(*pair):
        return INF
    before, after = there(*pair)
    if before and after:
        ways = [replace, None if come is None else 2 * come]
        return min((one for one in ways if one is not None), default=INF)
    return INF if come is None else come


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize(("replace", "come"), [(1, None), (None, 1), (3, 1), (1, 1)])
def test_differential_privacy_promises_what_its_own_moves_lose(name, replace, come):
    given = {"replace": replace, "add_or_remove": come}
    told = acc.from_dp(
        POLICIES[name], **{key: Bound(one) for key, one in given.items() if one is not None}
    ).epsilon
    worst = {}
    for pair, edge in moves(name).items():
        due = needs(pair, replace, come)
        assert due <= told[edge.name], (pair, edge)
        worst[edge.name] = max(worst.get(edge.name, due), due)
    if name != "register":  # there rows may change that mark their household before and after
        assert worst == dict(told)


@pytest.mark.parametrize("name", [n for n, one in POLICIES.items() if one.view is None])
def test_parts_side_by_side_lose_no_more_than_parallel_says(name):
    """A unit lies in the part of its first group; a move may lead from one part to another."""
    policy = POLICIES[name]
    sources = {edge.source for edge in policy.edges}
    targets = {edge.target for edge in policy.edges}
    names = {edge.name for edge in policy.edges}
    names |= {f"{one} -> absent" for one in sources} | {f"absent -> {one}" for one in targets}
    parts = [
        {edge: Bound(1 + (7 * i + 31 * place) % 13) for i, edge in enumerate(sorted(names))}
        for place in range(2)
    ]
    told = acc.parallel(policy, parts).epsilon
    worst = {}
    for (real, other), edge in moves(name).items():
        if left_out(real, other) or len(real.units) > 1:
            continue
        here, after = (part_of(table.units[0]) for table in (real, other))
        if here is None or after is None or here == after:
            due = parts[after if here is None else here][edge.name].epsilon
        else:
            leave, enter = f"{edge.source} -> absent", f"absent -> {edge.target}"
            due = parts[here][leave].epsilon + parts[after][enter].epsilon
        worst[edge.name] = max(worst.get(edge.name, due), due)
        assert due <= told[edge.name]
    values = ("graph", "local", "neighbourhood", "intersection", "presence")
    if policy.name not in values:
        assert worst == dict(told)


def part_of(rows):
    """The first group decides; nobody who is not there is in a part."""
    return None if not rows else "abc".index(min(row.group for row in rows)) % 2


def test_what_is_stated_on_a_policys_own_edges_adds_up():
    for one in POLICIES.values():
        losses = [{edge: Bound(loss) for edge, loss in priced(one, n).items()} for n in (1, 50)]
        told = acc.compose_under(one, losses).epsilon
        assert dict(told) == {edge: priced(one)[edge] + priced(one, 50)[edge] for edge in told}
        fewer = dict(list(losses[1].items())[1:])
        told = acc.compose_under(one, [losses[0], fewer]).epsilon
        assert [edge for edge, loss in told.items() if loss is INF] == [next(iter(losses[1]))]


def closed(policy, implications):
    try:
        return policy.closed_under(implications).policy
    except errors.PolicyError:
        return None


@pytest.mark.parametrize("most", [1, 2, 3])
def test_closed_presence_hides_each_visit_with_all_that_imply_it(most):
    """Tables of those who keep to the implications, and every set of groups to be hidden."""
    for implications in ([("a", "b")], [("a", "b"), ("b", "c")], [("a", "c"), ("b", "c")]):
        policy = p.presence(max_groups=most)
        wide = policy.closed_under(implications).policy
        rows = [Row(group) for group in "abcd"]
        world = Tables(possible=tuple(r for r in subsets(rows) if keeps(r, implications)))
        reached = {(x, y) for x, y, _ in world.moves(wide)}
        for real in world.data_sets():
            held = [row.group for row in real.units[0]]
            for size in range(1, most + 1):
                for hidden in combinations(held, size):
                    gone = set(hidden)
                    while more := {f for f, g in implications if g in gone and f in held} - gone:
                        gone |= more
                    rest = frozenset(row for row in real.units[0] if row.group not in gone)
                    assert (real, real.changed(0, rest)) in reached


def keeps(rows, implications):
    held = {row.group for row in rows}
    return all(implied in held for fact, implied in implications if fact in held)


@pytest.mark.parametrize("name", ["graph", "directed", "local", "attributes", "all attributes"])
def test_a_fact_that_implies_another_is_hidden_as_that_one_is(name):
    """Each table whose unit has the fact must pass as whatever one with the implied fact may."""
    policy = POLICIES[name]
    for fact, implied in permutations("ab", 2):
        told = (
            [(fact, implied)] if "attr" not in name else [(f"letter={fact}", f"letter={implied}")]
        )
        wide = closed(policy, told)
        assert wide is not None
        world = Tables(possible=tuple(frozenset({Row(group)}) for group in "abc"))
        before = {(x, y): e for x, y, e in world.moves(policy)}
        after = {(x, y): e for x, y, e in world.moves(wide)}
        assert all(after[pair].weight <= edge.weight for pair, edge in before.items())
        for (real, other), edge in before.items():
            (row,) = real.units[0]
            if row.group == implied:
                start = real.changed(0, frozenset({Row(fact)}))
                assert start == other or after[start, other].weight <= edge.weight


@pytest.mark.parametrize("name", ["minors", "extended", "tiers", "leaving"])
def test_a_condition_that_implies_a_protected_one_is_protected_as_that_one_is(name):
    """In the wider policy whoever meets either may pass as the one who meets it may pass before."""
    policy = POLICIES[name]
    mark = policy.rules[0].predicate.text
    wide = policy.closed_under([("ill", mark)]).policy
    text = wide.rules[0].predicate.text
    assert text == f"({mark}) OR (ill)"
    rows = {
        Row(group, frozenset(held)): Row(group, frozenset({mark} if held else ()))
        for group in "ab"
        for held in ((), (mark, text), ("ill", text))
    }
    plain = {some: frozenset(map(rows.get, some)) for some in subsets(list(rows), most=2)}
    before = {
        (x.units[0], y.units[0]): edge.weight
        for x, y, edge in Tables(possible=tuple(set(plain.values()))).moves(policy)
    }
    after = {
        (x.units[0], y.units[0]): edge.weight
        for x, y, edge in Tables(possible=tuple(plain)).moves(wide)
    }
    for here, other in permutations(plain, 2):
        if plain[here] != plain[other]:
            assert after.get((here, other)) == before.get((plain[here], plain[other]))
