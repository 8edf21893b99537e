"""Decisions that are likely and not certain: how often they are wrong, and what they say."""

import math
import re
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.covering import drawn

import onesided as od
from onesided import INFINITE, errors
from onesided.cli import _matrix
from onesided.mechanism import Compounds, Counts
from onesided.noise import NotPrivateSeededNoise, TwoSidedGeometric
from onesided.session import (
    question_from_json,
    question_to_json,
    release_from_json,
    release_to_json,
)
from onesided.session._confidence import UNDECIDED, Confidence, Likely

P, S = od.policy, od.session
RATES = [(1, 1), ("1/2", 2), ("1/20", "1/30"), (1, INFINITE), (INFINITE, "1/7")]
ROWS = pl.DataFrame({"person": range(100), "place": ["a"] * 80 + ["b"] * 18 + ["c"] * 2})
ASK = {"by": "place", "keys": ["a", "b", "c"], "epsilon": 1}
KINDS = {S.AtMost: {}, S.AtLeast: {}, S.Above: {"max_answers": 1}, S.Below: {"max_answers": 1}}
FAR = 10_000


def session(policy=None, **more):
    more = {"noise": NotPrivateSeededNoise(7), "budget": 10**6} | more
    return S.Session(ROWS, unit="person", policy=policy or P.bounded(), **more)


class NoDraw:
    def __getattr__(self, name):
        pytest.fail(f"{name} was drawn")


def wrong(made, count, limit):
    """The noisy counts that are decided wrongly of a true count, as a half-line of noise."""
    noisy = np.arange(count - FAR, count + FAR)
    told = made.decided(made.bounds(noisy), limit)
    is_beyond = count >= limit if made.below else count > limit
    said = ("at most", "fewer than") if is_beyond else ("more than", "at least")
    return [z - count for z, one in zip(noisy.tolist(), told, strict=True) if one[:7] in
            (said[0][:7], said[1][:7])]  # fmt: skip


@pytest.mark.parametrize("rates", RATES, ids=str)
@pytest.mark.parametrize("groups", [1, 3, 40])
@pytest.mark.parametrize("share", ["0.6", "0.95", "0.999"])
@pytest.mark.parametrize("below", [False, True])
def test_a_group_is_wrong_exactly_no_oftener_than_it_may_be(rates, groups, share, below):
    """The whole law of the noise is added up: nothing here is drawn."""
    law, most = TwoSidedGeometric(*rates), (1 - Fraction(share)) / groups
    made = Likely(Counts(*rates, clip=True), groups, below, Confidence(share, simultaneous=True))
    limit, found = 5_000, []
    for count in (limit - 2, limit - 1, limit, limit + 1, limit + 2):
        noise = wrong(made, count, limit)
        # Where a side has no noise nothing there is wrong at all.
        low = bool(noise) and min(noise) == -FAR
        chance = 0 if not noise else law.tail_below(max(noise) + 1) if low else (
            law.tail_above(min(noise) - 1))  # fmt: skip
        assert chance <= most
        nearer = 1 if not noise else law.tail_below(max(noise) + 2) if low else (
            law.tail_above(min(noise) - 2))  # fmt: skip
        found.append((chance, nearer))
    together = 1 - math.prod(1 - max(found)[0] for _ in range(groups))
    assert together <= 1 - Fraction(share)
    # Each is as near to its threshold as that allows, where both sides have noise.
    assert INFINITE in rates or max(nearer for _, nearer in found) > most


def test_a_twin_with_half_an_intervals_miss_on_each_side_would_decide_less():
    asked, noisy = Confidence("0.95", simultaneous=False), np.arange(100)
    made = Likely(Counts(1, 1), 1, below=False, sure=asked)
    wide = Counts(1, 1).interval(noisy, confidence="0.95")
    ours = made.decided(made.bounds(noisy), 50)
    theirs = made.decided(wide, 50)
    assert all(
        mine == other for mine, other in zip(ours, theirs, strict=True) if other != UNDECIDED
    )
    assert ours.count(UNDECIDED) < theirs.count(UNDECIDED)


@given(
    shares=st.tuples(st.integers(51, 99), st.integers(51, 99)),
    noisy=st.lists(st.integers(-50, 90), min_size=1, max_size=9),
    limit=st.integers(1, 40),
    below=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_more_confidence_decides_less_and_never_otherwise(shares, noisy, limit, below):
    told = []
    for share in sorted(shares):
        sure = Confidence(Fraction(share, 100), simultaneous=True)
        made = Likely(Counts("1/2", 1, clip=True), len(noisy), below, sure)
        told.append(made.decided(made.bounds(np.array(noisy)), limit))
    assert all(less in (UNDECIDED, more) for more, less in zip(*told, strict=True))


@given(
    noisy=st.lists(st.integers(-20, 60), min_size=3, max_size=3),
    below=st.booleans(),
    limit=st.integers(1, 30),
)
@settings(max_examples=60, deadline=None)
def test_compounds_are_decided_by_their_groups(noisy, below, limit):
    """At most: all of its groups are; more than: one of them is. So no compound adds a miss."""
    made = Likely(Counts(1, 1, clip=True), 3, below, Confidence("0.9", simultaneous=True))
    alone = made.decided(made.bounds(np.array(noisy)), limit)
    (both,) = made.decided(made.bounds(np.array(noisy), Compounds([[0, 2]])), limit)
    every, some = ("at least", "fewer than") if below else ("at most", "more than")
    of_it = [alone[0], alone[2]]
    assert both.startswith(every) == all(one.startswith(every) for one in of_it)
    assert both.startswith(some) == any(one.startswith(some) for one in of_it)


@pytest.mark.parametrize("kind", KINDS, ids=lambda one: one.__name__)
def test_it_costs_what_counts_cost(kind):
    for policy in (P.bounded(), P.unbounded(), P.sensitive("place = 'c'"), P.graph([("a", "b")])):
        here = session(policy)
        more = {} if policy.single_valued else {"max_groups": 1}
        plan = here.plan(kind(20, **ASK, **more, **KINDS[kind]))
        count = here.plan(od.Count(**ASK, **more))
        assert plan.charge == count.charge
        assert plan.noise == count.noise
        assert isinstance(plan.mechanism, Counts)
        assert "max_answers= and adaptive= save nothing" in plan.guarantee.about or not KINDS[kind]


def test_every_likely_cell_of_the_matrix_is_answered():
    """As its example asks, over its made-up table; also read back, with all that it says."""
    seen = 0
    for policy in (P.from_toml(_matrix.example(name)) for name in P.families()):
        by, keys = _matrix._groups(policy)
        rows = _matrix._table(policy, by)
        here = S.Session(rows, unit="person", policy=policy, budget=99,
                         noise=NotPrivateSeededNoise(1))  # fmt: skip
        for cell in _matrix.column(policy):
            if cell.gives != _matrix.LIKELY:
                continue
            seen += 1
            release = here.ask(cell.asked)
            assert list(release.likely) == list(keys)
            again = release_from_json(release_to_json(release))
            assert again.likely == release.likely
            assert str(again) == str(release).replace(f" (ledger entry {release.entry})", "")
            assert question_from_json(question_to_json(cell.asked)) == cell.asked
    assert seen >= 4 * len(P.families()) - 10


def test_likely_and_certain_are_never_told_alike(tmp_path):
    likely, certain = session().at_most(20, **ASK, max_groups=1), session(
        P.presence(max_groups=1)).at_most(20, **ASK)  # fmt: skip
    assert "certified" not in likely.columns()
    assert "likely" not in certain.columns()
    said = "Likely at most 20 units (person) (confidence 95 %, all groups together) by place"
    assert likely.title == said
    assert certain.title == "At most 20 units (person) by place"
    assert "likely, not certain: confidence 95 %, all groups" in likely.guarantee.about
    assert "likely" not in str(certain).lower()
    assert likely.bound_words == "90 %, all at once"
    for told in (str(likely), likely._repr_html_(), likely.plot()._repr_svg_()):
        assert not re.search(r"certified(?!, #)", told)
        assert "(certain)" not in told
        assert said in " ".join(told.split())
    folder = likely.write(tmp_path / "out", formats=("csv", "json", "html"))
    assert "place,likely,estimate,lower,upper" in (folder / "release.csv").read_text()
    assert said in (folder / "guarantee.json").read_text()
    for name in ("above", "below"):
        with pytest.raises(errors.ParameterError, match="nothing is certified"):
            getattr(likely, name)
    for name in ("at_most", "at_least"):
        with pytest.raises(errors.ParameterError, match="nothing is certified"):
            getattr(likely, name)()
        with pytest.raises(errors.ParameterError, match="is certain here"):
            getattr(likely, name)(20)
    with pytest.raises(errors.ParameterError, match="no likely decision"):
        _ = certain.likely


def test_each_question_says_its_own_side():
    here, one = session(), {"max_groups": 1}
    asked = (here.at_least(20, **ASK, **one), here.above(20, **ASK, **one, max_answers=2))
    titles = [one.title.partition(" units")[0] for one in asked]
    assert titles == ["Likely at least 20", "Likely at most 20"]
    sure = here.above(20, **{**ASK, "epsilon": 900}, **one, max_answers=1)
    assert sure.likely == {"a": "more than 20", "b": "at most 20", "c": "at most 20"}
    mirror = here.below(18, **{**ASK, "epsilon": 900}, **one, max_answers=1)
    assert mirror.likely == {"a": "at least 18", "b": "at least 18", "c": "fewer than 18"}
    limits = here.at_most({"a": 80, "b": 17, "c": 2}, **{**ASK, "epsilon": 900}, **one)
    assert limits.likely == {"a": "at most 80", "b": "more than 17", "c": "at most 2"}


def test_one_group_and_each_on_its_own():
    alone = session(P.unbounded()).at_most(500, epsilon=1)
    assert alone.title == "Likely at most 500 units (person) (confidence 95 %)"
    assert alone.bound_words == "90 %"
    apart = session().at_most(20, **ASK, max_groups=1, simultaneous=False, confidence="0.8")
    assert "(confidence 80 %, each group on its own)" in apart.title
    assert apart.bound_words == "60 %"


def test_in_sql_among_several_and_of_compounds():
    here, count = session(), "COUNT(DISTINCT person)"
    text = f"SELECT place, {count} FROM t GROUP BY place HAVING {count} <= 20"
    more = {"keys": ["a", "b", "c"], "max_groups": 1, "epsilon": 900}
    told = here.sql(text, **more, confidence="0.9")
    assert told.likely == {"a": "more than 20", "b": "at most 20", "c": "at most 20"}
    assert "(confidence 90 %, all groups together)" in told.title
    assert "Likely" in here.sql(text.replace("<=", ">="), **more).title
    both = here.ask_all([S.AtMost(20, **ASK, max_groups=1), od.Count(epsilon=1)])
    assert both.title.startswith("2 answers: Likely at most 20")
    of = {"north": ["a", "b"], "south": ["b", "c"]}
    routes = here.at_most(20, by="place", of=of, epsilon=900, max_groups=1)
    assert routes.likely == {"north": "more than 20", "south": "at most 20"}
    assert "no group of it has more" in routes.guarantee.about


def test_it_is_told_again_from_the_ledger():
    here = session()
    first = here.at_most(20, **ASK, max_groups=1, id="one")
    again = here.at_most(20, **ASK, max_groups=1, id="one", again=True)
    assert again.told_again
    assert again.likely == first.likely
    with pytest.raises(errors.OnesidedError):
        here.at_most(20, **ASK, max_groups=1, id="one", again=True, confidence="0.9")


@pytest.mark.parametrize(
    "bad",
    [
        *({"confidence": one} for one in (0, 1, "1/2", "0.3", -1, 2, math.nan, "x", None, True)),
        *({"simultaneous": one} for one in ("yes", 1, None)),
        *({"threshold": one} for one in (-1, 1.5, math.nan, "x", None, {"a": 1}, [1, 2])),
        {"epsilon": 0},
        {"epsilon": math.nan},
    ],
    ids=str,
)
@pytest.mark.parametrize("policy", [P.bounded(), P.presence(max_groups=1)], ids=["both", "one"])
def test_bad_input_is_refused_before_anything_is_drawn_or_charged(bad, policy):
    here = session(policy, noise=NoDraw())
    asked = {"threshold": 5, **ASK, **bad} | ({"max_groups": 1} if policy == P.bounded() else {})
    with pytest.raises((errors.ParameterError, errors.KeysError, TypeError)):
        here.at_most(**asked)
    with pytest.raises((errors.ParameterError, errors.KeysError, TypeError)):
        here.below(**asked, max_answers=1)
    for many in (0, -1, 1.5, "x"):
        with pytest.raises(errors.ParameterError):
            here.above(**{**asked, "threshold": 5}, max_answers=many)
    assert not any(here.spent.values())


def test_no_column_of_the_callers_is_overwritten():
    rows = ROWS.with_columns(likely=pl.col("place"), coarse=pl.col("place"))
    here = S.Session(rows, unit="person", policy=P.bounded(), budget=9)
    for name in ("likely", "coarse"):
        with pytest.raises(errors.ParameterError, match="named like a result column"):
            here.at_most(5, by=name, keys=["a"], epsilon=1, max_groups=1)
    keys = pl.DataFrame({"place": ["a"], "likely": ["x"]})
    told = here.at_most(5, by="place", keys=keys, epsilon=1, max_groups=1)
    assert list(told.columns())[:2] == ["place", "likely"]
    assert told.likely["a"] != "x"


@pytest.mark.parametrize("below", [False, True])
@pytest.mark.parametrize("simultaneous", [False, True])
def test_a_compound_on_its_own_rests_on_all_its_groups(below, simultaneous):
    """The chance that one of its groups is taken to be beyond, by the law's tails, summed."""
    number, sure = 20, Confidence("0.95", simultaneous)
    made = Likely(Counts("1/2", "1/2"), number, below, sure, widest=number)
    bounds = made.bounds(np.array([1000]), Compounds([[0]]))
    up, down = int(bounds.upper[0] - 1000), int(1000 - bounds.lower[0])
    law = made.mechanism.distribution
    # Of the groups one noise that is beyond its bound makes the compound's decision wrong.
    assert number * law.tail_above(down) <= Fraction(1, 20)
    assert number * law.tail_below(-up) <= Fraction(1, 20)


def test_a_compound_of_groups_at_their_threshold_is_rarely_told_to_be_beyond():
    """Wrong with 1/20 at most in each of 100 runs: 20 or more come with less than 10^-6."""
    places = [f"s{n}" for n in range(20)]
    rows = pl.DataFrame({"u": range(200), "place": [one for one in places for _ in range(10)]})
    own = od.Session(rows, unit="u", policy=P.bounded(), budget=9)
    by = {"by": "place", "of": {"all": places}, "max_groups": 1}
    asked = od.AtMost(10, **by, epsilon=1, simultaneous=False)
    told = drawn(own, asked, 100, NotPrivateSeededNoise(0))
    assert sum(one.likely["all"] == "more than 10" for one in told) < 20
