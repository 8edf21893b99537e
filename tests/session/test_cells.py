"""What a session asks the policy to price: the cells of the question, and nothing it cannot know.

How far a policy says that they move is held against every move in tests/policy/test_cells.py.
"""

import polars as pl
import pytest

import onesided as od
from onesided import INFINITE
from onesided import policy as p
from onesided.session import total_guarantee

VISITS = pl.DataFrame(
    {
        "person": [1, 1, 2, 3, 4],
        "place": ["a", "b", "b", "c", None],
        "code": [1, 2, 2, 3, 3],
        "age": [7, 7, 40, None, 30],
        "hour": [9, 10, 9, 9, 11],
    }
)
TOTAL = {"epsilon": 1}


def opened(policy, **more):
    return od.Session(VISITS, policy=policy, budget=9, **more)


def rates(policy, unit=None, **asked):
    """The rates of the noise above and below; INFINITE where there is none."""
    mechanism = opened(policy, unit=unit).plan(od.Count(**{"epsilon": 1, **asked})).mechanism
    return mechanism.upper_rate, mechanism.lower_rate


EXACT, FALLS, RISES = (INFINITE, INFINITE), (1, INFINITE), (INFINITE, 1)


@pytest.mark.parametrize("unit", [None, "person"])
@pytest.mark.parametrize(
    "policy",
    [
        p.bounded(),
        p.sensitive("age < 18"),
        p.proposition("age >= 18"),
        p.graph([("a", "b")], values=["c"]),
        p.attributes({"place": ["a"]}),
        p.neighbourhood(radius=1, places={"a": (0,), "b": (1,), "c": (9,)}),
    ],
    ids=lambda one: one.name,
)
def test_a_number_that_no_move_changes_is_told_exactly(policy, unit):
    asked = opened(policy, unit=unit)
    release = asked.count(epsilon=1)
    interval, truth = release.interval, VISITS.height if unit is None else 4
    assert (
        interval.lower.tolist() == release.estimate.tolist() == interval.upper.tolist() == [truth]
    )
    assert interval.lower_certain
    assert interval.upper_certain
    assert set(asked.spent.values()) == {0}


@pytest.mark.parametrize(
    "policy",
    [p.unbounded(), p.addition_only(), p.removal_only(), p.presence(max_groups=2)],
    ids=lambda one: one.name,
)
def test_a_number_that_some_move_changes_is_not(policy):
    assert rates(policy, unit="person") != EXACT


@pytest.mark.parametrize("more", [{"where": "hour < 10"}, {"by": "place", "keys": ["a", "b", "c"]}])
def test_nor_is_one_of_which_rows_may_be_left_out(more):
    for policy in (p.bounded(), p.sensitive("age < 18"), p.graph([("a", "b")], values=["c"])):
        assert INFINITE not in rates(policy, **more)


def test_what_is_told_exactly_is_an_entry_and_counts_for_who_it_is_not_exact_for(tmp_path):
    path = tmp_path / "l.db"
    release = opened(p.bounded(), ledger=path).count(epsilon=1, id="all")
    assert release.entry is not None
    again = opened(p.bounded(), ledger=path).count(epsilon=1, id="all", again=True)
    assert again.told_again
    assert again.value == 5
    opened(p.unbounded(), ledger=path, further=True).count(epsilon=1)
    told = total_guarantee(od.Ledger.open(path), p.unbounded()).epsilon
    assert set(told.values()) == {INFINITE}
    assert opened(p.bounded(), ledger=path).total(delta="1e-6").plain.headline == 0


def test_the_papers_own_policies_have_certificates():
    """ADP-2022, IV-C1 with Cor. V.6; OSDP, III-C2; ADP-2021, Ex. 1 with Thm 11."""
    for policy, kind in ((p.proposition("place <> 'a'"), "protected"),
                         (p.sensitive("place = 'a'"), "sensitive")):  # fmt: skip
        assert rates(policy, unit="person", counted=kind) == FALLS
        told = opened(policy, unit="person").at_most(60, counted=kind, epsilon=1)
        assert told.at_most() == [()] or told.frame["certified"].to_list() == [True]
    there = {"by": "place", "keys": ["a"], "max_groups": 1, "on_excess": "truncate"}
    asked = opened(p.attributes({"place": ["a"]}), unit="person")
    assert asked.at_most(60, **there, epsilon=1).at_most() == ["a"]
    assert asked.at_most(60, where="place = 'a'", epsilon=1).upper_certain


def test_the_protected_by_hour_are_on_both_sides():
    policy = p.proposition("place <> 'a'")
    hours = {"by": "hour", "keys": [9, 10], "counted": "protected"}
    assert INFINITE not in rates(policy, **hours)
    told = opened(policy).at_most(3, **hours, epsilon=1)
    assert set(told.likely) == {9, 10}
    assert not told.upper_certain


def test_who_is_sensitive_for_one_row_is_so_at_all_places():
    """The unit {a, b} is sensitive for a, and is counted at b."""
    policy, there = p.sensitive("place = 'a'"), {"where": "NOT place = 'a'"}
    assert rates(policy, unit="person", **there) == (1, 1)
    assert rates(policy, **there) == RISES
    # Of an open unit all rows are so.
    assert rates(policy, unit="person", counted="open", **there) == RISES


def test_a_missing_value_counts_where_the_condition_says_so():
    policy = p.sensitive("age < 18")
    assert rates(policy, where="age >= 18") == RISES
    assert rates(policy, where="COALESCE(age, 99) >= 18") == (1, 1)
    assert rates(policy, where="age < 18", unknown="possible") == FALLS
    assert rates(policy, where="age < 18", unknown="recorded") == (1, 1)


def test_a_value_that_is_not_named_is_reached_and_not_left():
    policy = p.attributes({"place": ["a"]})
    for keys, expected in ((["a"], FALLS), (["b"], RISES), (["b", "c"], RISES), (["a", "b"], None)):
        told = rates(policy, by="place", keys=keys)
        assert told == expected if expected else INFINITE not in told


def test_arrows_are_read_where_the_graph_names_every_key():
    policy = p.graph([("a", "b")], directed=True, values=["c"])
    for key, expected in (("a", FALLS), ("b", RISES), ("c", EXACT), ("d", (1, 1))):
        assert rates(policy, by="place", keys=[key]) == expected


def test_a_condition_on_the_column_alone_picks_its_values():
    policy, graph = p.attributes({"place": ["a"]}), p.graph([("a", "b")], values=["c"])
    for where, named, on_graph in (
        ("place = 'a'", FALLS, (1, 1)),
        ("place = 'a' OR place IS NULL", FALLS, (1, 1)),
        ("UPPER(place) LIKE 'A%'", FALLS, (1, 1)),
        ("place <> 'a'", RISES, (1, 1)),
        ("place IN ('a', 'b')", FALLS, EXACT),
        ("place IS NULL", RISES, EXACT),
        ("place >= 'a'", FALLS, EXACT),
        ("place = 'a' AND hour < 10", (1, 1), (1, 1)),
    ):
        assert rates(policy, where=where) == rates(policy, unit="person", where=where) == named
        assert rates(graph, where=where) == on_graph
    both = p.attributes({"place": ["a", "c"]})
    assert rates(both, where="place IN ('a', 'c')") == FALLS
    assert rates(both, where="place = 'a'") == (1, 1)
    assert rates(p.attributes({"place": "*"}), where="place = 'a'") == (1, 1)
    read = od.Schema(columns={"place": od.column("text", missing=["NA"])})
    named = od.Session(VISITS[["place"]], policy=policy, budget=9, schema=read)
    told = named.plan(od.Count(where="place IS NULL", epsilon=1)).mechanism
    assert (told.upper_rate, told.lower_rate) == (1, 1)  # what is named may be read as missing


@pytest.mark.parametrize(
    ("policy", "asked"),
    [
        (p.attributes({"place": ["a"]}), {"by": "place", "keys": ["a"], "where": "hour < 10"}),
        (p.attributes({"place": ["a"]}), {"by": "code", "keys": [1]}),
        (p.attributes({"code": ["1"]}), {"by": "code", "keys": [1]}),
        (p.attributes({"place": ["a"]}), {"by": ["place", "hour"], "keys": [("a", 9)]}),
        (p.graph([("1", "2")], values=["3"]), {"by": "code", "keys": [3]}),
        (p.graph([("a", "b")], values=["c"]), {"by": "place", "keys": ["c"], "where": "hour < 10"}),
    ],
    ids=str,
)
def test_values_are_not_read_where_they_may_be_spelt_or_moved_otherwise(policy, asked):
    assert rates(policy, **asked) == (1, 1)


def test_who_is_cut_down_to_one_of_several_values_may_be_kept_in_another():
    there = {"by": "place", "keys": ["b", "c"], "on_excess": "truncate"}
    assert INFINITE not in rates(p.attributes({"place": ["a"]}), unit="person", **there)


def test_fewer_cells_than_groups_of_a_unit_cost_no_more_than_there_are():
    wide = p.presence(max_groups=3)
    assert rates(wide, unit="person", by="place", keys=["a"]) == FALLS
    assert rates(p.bounded(), unit="person", by="place", keys=["a"], max_groups=3) == (1, 1)
    both = {"by": "place", "keys": ["a", "b"], "max_groups": 3}
    assert sum(rates(p.bounded(), unit="person", **both)) == 1


@pytest.mark.parametrize("directed", [True, False])
def test_a_graph_is_not_about_a_column_that_may_follow_from_its_own(directed):
    """The graph is of ages; a decade follows from the age, and is spelt like one."""
    ages = p.graph([(k, k + 1) for k in range(18, 99)], directed=directed, values=range(18))
    data = pl.DataFrame({"age": [29], "decade": [2]})
    asked = od.Count(by="decade", keys=[2], max_groups=1, on_excess="error", epsilon=1)
    both = od.Session(data, policy=ages, budget=9).plan(asked)
    assert set(both.charge.values()) == {1}
    assert INFINITE not in (both.mechanism.upper_rate, both.mechanism.lower_rate)
    alone = od.Session(data.select("decade"), policy=ages, budget=9).plan(asked)
    assert set(alone.charge.values()) == {0}
    assert "in the table that was handed in" in alone.guarantee.about
    # Where columns are declared, others may be left out: so it is in a service.
    told = od.Schema(columns={"decade": od.column("integer")})
    left = od.Session(data.select("decade"), policy=ages, budget=9, schema=told).plan(asked)
    assert set(left.charge.values()) == {1}
