"""Certainly at least so many, of whom nothing hides: against every table the rows may be of."""

import math
from itertools import product

import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise
from onesided.session import question_from_json, question_to_json
from onesided.session.kit import prepared

P, S = od.policy, od.session
AGREED = P.sensitive("NOT agreed")
ROWS = [  # person, home, place, value, agreed: two rows of 1 at a, 2 in three places, 5 unsure
    (1, "h", "a", 1, True),
    (1, "h", "a", None, True),
    (2, "h", "a", 7, True),
    (2, "h", "b", 1, True),
    (2, "h", "c", 1, True),
    (3, "i", "a", 1, True),
    (4, "i", None, 1, True),
    (5, "j", "a", 1, None),
    (6, "k", "b", None, False),
    (7, "l", "b", 1, True),
]
COLUMNS = ("person", "home", "place", "v", "agreed")
KEYS = ["a", "b", "c", "z"]
ASK = {"by": "place", "keys": KEYS, "counted": "open"}
CUT = {"max_groups": 2, "on_excess": "truncate"}


def table(rows=ROWS):
    return pl.DataFrame(dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True)))


def session(policy=AGREED, rows=ROWS, **more):
    more = {"noise": NotPrivateSeededNoise(3), "budget": 10**6} | more
    return S.Session(table(rows), unit="person", policy=policy, **more)


def completions():
    """Every table of which these rows may be what was recorded."""
    filled = [
        product(
            [at] if at else ["a", "b"],
            [v] if v else [1, 7],
            [yes] if yes is not None else [True, False],
        )
        for _, _, at, v, yes in ROWS
    ]
    for made in product(*map(tuple, filled)):
        yield [(*row[:2], *told) for row, told in zip(ROWS, made, strict=True)]


def truth(rows, *, where, over):
    """Open units by place, by plain Python; over: the column whose every row must have agreed."""
    place = COLUMNS.index(over)
    hidden = {row[place] for row in rows if not row[4]}
    open_ = [row for row in rows if row[place] not in hidden]
    met = {(row[0], row[2]) for row in open_ if not where or row[3] < 5}
    return {key: sum(at == key for _, at in met) for key in KEYS}


POLICIES = {"person": AGREED, "home": P.view("NOT agreed", over="home", members=2)}


@pytest.mark.parametrize("over", POLICIES)
@pytest.mark.parametrize("where", [None, "v < 5"])
@pytest.mark.parametrize("epsilon", [1, 999])
def test_what_at_least_certifies_is_true_of_every_completion(over, where, epsilon):
    here, told = session(POLICIES[over]), 0
    worlds = [truth(rows, where=where, over=over) for rows in completions()]
    for threshold in (1, 2, 3):
        asked = {**ASK, **CUT, "where": where, "epsilon": epsilon}
        for release in (
            here.at_least(threshold, **asked),
            *(here.below(threshold, max_answers=2, **asked) for _ in range(over == "person")),
            here.count(**asked),
        ):
            lower = dict(zip(release.labels, release.lower, strict=True))
            sure = release.at_least(threshold)
            told += len(sure)
            assert release.lower_certain
            for held in worlds:
                assert all(held[key] >= threshold for key in sure)
                assert all(held[key] >= bound for key, bound in lower.items())
    assert told or epsilon == 1


def test_compounds_certify_their_smallest_group():
    found = session().at_least(
        2, **ASK, of={"all": ["a", "b"], "more": ["b", "c"]}, epsilon=900, **CUT
    )
    assert found.at_least() == ["all"]
    assert found.below == ["more"]
    assert "each of them has at least so many" in found.guarantee.about
    assert {row["compound"]: row["lower"] for row in found.frame.to_dicts()}["more"] <= 1


def test_it_says_what_is_certain_of_data_that_were_cut():
    cut = session().at_least(1, **ASK, **CUT, epsilon=1)
    assert "a certain lower bound holds of the data as they are" in cut.warnings[0]
    assert not cut.guarantee.scope
    both = session(P.bounded()).count(by="place", keys=KEYS, **CUT, epsilon=1)
    assert "every number and bound here is about data that may have been cut" in both.warnings[0]


def test_possible_rows_void_it_and_that_is_said():
    asked = {**ASK, **CUT, "where": "v < 5", "epsilon": 1}
    told = session().at_least(1, **asked, unknown="possible")
    assert "A certain lower bound is about what is possible." in told.warnings[0]
    assert "lower bound is about" not in session().at_least(1, **asked).warnings[0]


def test_every_surface_tells_the_same():
    here = session()
    asked = {**ASK, **CUT, "epsilon": 900}
    found = here.at_least(2, **asked)
    assert found.title == "At least 2 open units (person) by place"
    assert found.at_least() == ["a", "b"]
    assert found.below == ["c", "z"]
    assert found.frame.columns == ["place", "certified", "lower", "lower_certain"]
    assert found.lower.tolist() == [2, 2, *found.lower.tolist()[2:]]
    assert found.certainly_at_least(1).tolist()[:2] == [True, True]
    assert "lower (certain)" in str(found)
    query = "SELECT place FROM v GROUP BY place HAVING COUNT(DISTINCT person) {}"
    more = {name: asked[name] for name in ("keys", "counted", "max_groups", "on_excess")}
    for clause, threshold in ((">= 2", 2), ("> 2", 3), ("> 0", 1)):
        read = here.question(query.format(clause), **more, epsilon=1)
        assert read == S.AtLeast(threshold, **{**asked, "epsilon": 1})
    question = S.AtLeast(2, **asked)
    assert question_from_json(question_to_json(question)) == question
    assert here.ask(question).at_least() == found.at_least()


@pytest.mark.parametrize("wrong", ["at_most", "above", "certainly"])
def test_what_it_does_not_certify_is_refused(wrong):
    found = session().at_least(2, **ASK, **CUT, epsilon=900)
    with pytest.raises(errors.ParameterError, match="at most"):
        {
            "at_most": found.at_most,
            "above": lambda: found.above,
            "certainly": lambda: found.at_most(3),
        }[wrong]()
    counts = session(P.presence(max_groups=3)).at_most(2, by="place", keys=KEYS, epsilon=900)
    with pytest.raises(errors.ParameterError, match="at least"):
        counts.at_least()


class NoDraw:
    def __getattr__(self, name):
        pytest.fail(f"{name} was drawn")


@pytest.mark.parametrize("bad", [0, -1, 1.5, math.nan, "x", None, {"a": 1}, [1, 2], [1, 2, 3, 0]])
def test_bad_thresholds_are_refused_before_anything_is_drawn(bad):
    here = session(noise=NoDraw())
    with pytest.raises((errors.ParameterError, errors.KeysError)):
        here.at_least(bad, **ASK, **CUT, epsilon=1)
    assert not any(here.spent.values())


def test_it_costs_what_a_count_does_and_edges_that_bring_nobody_nothing():
    here = session()
    here.at_least(1, **ASK, **CUT, epsilon=2)
    assert dict(here.spent) == {"sensitive -> sensitive": 0, "sensitive -> open": 2}
    plan = here.plan(S.AtLeast(5, **ASK, max_groups=1, epsilon=1))
    assert plan.certain == ("lower",)
    assert plan.certifies[-1] == (5, pytest.approx(1 - math.exp(-1)))
    assert plan.certifies[0][0] > 5
    assert [share for _, share in plan.certifies] == sorted(
        (share for _, share in plan.certifies), reverse=True
    )


def test_one_draw_serves_all_where_a_unit_may_be_in_most_groups():
    three = {"by": "place", "keys": KEYS[:3], "counted": "open", "max_groups": 3}
    asked = S.AtLeast(1, **three, on_excess="truncate", epsilon=1)
    made = prepared(session(), asked).plan
    assert type(made.mechanism).__name__ == "CubeThresholds"
    assert made.mechanism.below
    assert "rise" in made.why
    assert "each lower bound is certain" in made.guarantee.about
    found = session().ask(S.AtLeast(1, **three, on_excess="truncate", epsilon=900))
    assert found.at_least() == ["a", "b", "c"]


def test_below_stops_after_enough_answers():
    found = session().below(
        2, max_answers=1, by="place", keys=["a", "c", "b"], counted="open", **CUT, epsilon=900
    )
    assert found.at_least() == ["a"]
    assert found.below == ["c"]
    assert found.not_reached == ["b"]
    half = session().below(2, max_answers=1, adaptive=True, **ASK, **CUT, epsilon=900)
    assert half.title.startswith("At least 2 open units (person) or a noisy number")


def test_an_epsilon_is_found_for_counts_near_and_far():
    question = S.AtLeast(5, **ASK, max_groups=1, epsilon=1)
    near, far = (session().suggest(question, certified="0.9", count=n) for n in (5, 400))
    assert 1 - math.exp(-float(near.epsilon)) == pytest.approx(0.9, abs=0.01)
    assert far.epsilon < near.epsilon / 50
    with pytest.raises(errors.ParameterError, match="count of 4"):
        session().suggest(question, certified="0.9", count=4)


def test_of_units_of_an_unknown_kind_a_bound_says_so():
    """They count as protected: "at least" of these is no fact, nor "at most" of the others."""
    both = od.policy.sensitive("ill") & od.policy.sensitive("minor")
    unknown = pl.Series([None] * 3, dtype=pl.Boolean)
    frame = pl.DataFrame({"person": [1, 2, 3], "place": ["a"] * 3, "ill": unknown})
    frame = frame.with_columns(minor=pl.lit(value=False))
    session = od.Session(frame, unit="person", policy=both, budget=1000, ledger=None)
    asked = {"by": "place", "keys": ["a"], "max_groups": 1, "on_excess": "error", "epsilon": 100}
    told = session.at_least(3, counted="sensitive & open", **asked)
    assert told.guarantee.scope == "units of the kinds counted or of unknown kind"
    assert "Units whose kind is unknown count as of the protected kind." in str(told)
    more = {"rules": [("minor", "minor")], "default": "adult"}
    edges = [("adult", "minor"), ("minor", "minor")]
    grown = od.policy.custom(kinds=["minor", "adult"], edges=edges, **more)
    frame = pl.DataFrame({"person": range(5), "place": ["a"] * 5}).with_columns(
        minor=pl.Series([None, True, False, None, None])
    )
    session = od.Session(frame, unit="person", policy=grown, budget=1000, ledger=None)
    scope = session.at_most(1, counted="adult", **asked).guarantee.scope
    assert scope.endswith(" and units known to be of the kinds counted")  # and with a place
    known = od.Schema(columns={"minor": od.column("boolean", required=True)})
    whole = frame.with_columns(minor=pl.Series([True, True, False, False, False]))
    session = od.Session(whole, schema=known, unit="person", policy=grown, budget=1000, ledger=None)
    scope = session.at_most(1, counted="adult", **asked).guarantee.scope
    assert scope == "rows with a value of 'place'"


def test_a_quantile_by_cumulative_counts_has_no_bound_about_the_data_as_they_are():
    frame = pl.DataFrame({"person": [1, 1, 2], "place": ["a", "b", "a"], "v": [9, 9, 1]})
    session = od.Session(
        frame, unit="person", policy=od.policy.removal_only(), budget=1000, ledger=None
    )
    told = session.minimum(
        "v",
        candidates=[0, 5, 10],
        by="place",
        keys=["a", "b"],
        max_groups=1,
        on_excess="truncate",
        epsilon=100,
    )
    assert "the data as they are, but" not in str(told)
    assert told.guarantee.scope == ""  # of what no bound is certain about
