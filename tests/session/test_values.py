import math
from fractions import Fraction

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onesided as od
from onesided import errors

BIG = 100


class Silent:
    """No noise, to see what noise is added to; under a symmetric policy nothing is subtracted."""

    def two_sided(self, _upper, _lower, size):
        return np.zeros(size, dtype=np.int64)

    def permute_and_flip(self, _rate, deficits, _sizes):
        return int(np.argmin(deficits))

    def uniform(self, _below, size):
        return np.zeros(size, dtype=np.int64)


def session(table, policy=None, *, unit="person", **more):
    silent = None if policy else Silent()
    given = {"policy": policy or od.policy.unbounded(), "budget": 10 * BIG, "noise": silent, **more}
    return od.Session(table, unit=unit, **given)


COLUMNS = {
    "person": [1, 1, 2, 3, 4, 4],
    "place": ["a", "b", "a", "a", "b", "b"],
    "pay": [10.0, 20.0, 30.5, -5.0, 40.0, 70.0],
    "age": [10, 10, 35, 64, 80, 80],
}


def test_a_sum_clips_rows_and_then_units_on_every_engine(engine):
    asked = session(engine(COLUMNS))
    total = asked.sum("pay", of="units", total_bounds=(0, 100), step="0.5", epsilon=BIG)
    # person 1: 30, person 2: 30.5, person 3: -5 clipped to 0, person 4: 110 clipped to 100
    assert total.value == pytest.approx(160.5)
    by_place = asked.sum(
        "pay", of="units", total_bounds=(0, 100), step="0.5", epsilon=BIG, by="place",
        keys=["b", "a", "z"], max_groups=2,
    )  # fmt: skip
    assert by_place.estimate.tolist() == pytest.approx([120, 40.5, 0])
    signed = asked.sum("pay", of="units", total_bounds=(-10, 100), step="0.5", epsilon=BIG)
    assert signed.value == pytest.approx(155.5)


def test_rows_may_be_the_unit():
    asked = session(pl.DataFrame(COLUMNS), unit=None)
    total = asked.sum("pay", of="units", total_bounds=(0, 100), step="1/2", epsilon=BIG)
    assert total.value == pytest.approx(170.5)
    assert asked.mean("age", bounds=(0, 100), epsilon=BIG).value == pytest.approx(279 / 6, abs=0.01)


def test_means_and_variances_on_every_engine(engine):
    asked = session(engine(COLUMNS))
    where = "place = 'a'"
    mean = asked.mean("age", bounds=(0, 100), epsilon=BIG, where=where)
    assert mean.value == pytest.approx(109 / 3, abs=0.01)
    assert mean.lower[0] <= 109 / 3 + 1e-9
    assert mean.upper[0] >= 109 / 3 - 1e-9
    spread = asked.variance("age", bounds=(0, 100), epsilon=BIG, where=where)
    assert spread.value == pytest.approx(np.var([10, 35, 64]), abs=0.5)
    by_place = asked.mean(
        "age", bounds=(0, 100), epsilon=BIG, by="place", keys=["a", "b"], max_groups=2
    )
    # person 4 is at b twice, and counts there once, with their own mean
    assert by_place.estimate.tolist() == pytest.approx([109 / 3, 45], abs=0.01)


def test_a_mean_is_of_each_units_own_mean_on_every_engine(engine):
    """Rows are clipped and rounded one by one, added up and divided down to a whole step."""
    rows = [(1, -7.0), (1, -4.0), (1, -4.0), (2, 90.0), (2, 3.0), (3, 2.25), (4, -100.0), (4, 1.0)]
    table = {"person": [who for who, _ in rows], "value": [value for _, value in rows]}
    own = [-15 // 3, (20 + 3) // 2, 2, (-8 + 1) // 2]
    asked = session(engine(table))
    told = asked.mean("value", bounds=(-8, 20), epsilon=BIG)
    assert told.value == pytest.approx(np.mean(own), abs=0.01)
    assert "counts once, with their own mean" in told.guarantee.about
    spread = asked.variance("value", bounds=(-8, 20), epsilon=BIG)
    assert spread.value == pytest.approx(np.var(own), abs=0.5)
    halves = session(engine(table)).mean("value", bounds=(-8, 20), step="1/4", epsilon=BIG)
    fine = [-5, 11.5, 2.25, -3.5]
    assert halves.value == pytest.approx(np.mean(fine), abs=0.01)


def test_nobody_counts_more_for_having_more_rows():
    many = [i for i in range(400) for _ in range(5)]
    ages = [20 + i % 40 for i in many]
    asked = session(pl.DataFrame({"person": many, "age": ages}), policy=od.policy.unbounded())
    assert asked.mean("age", bounds=(18, 90), epsilon=50).value == pytest.approx(39.5, abs=1)


def test_histograms_and_quantiles_on_every_engine(engine):
    table = {"person": [1, 2, 3, 4, 5], "place": list("aabbb"), "age": [0, 17, 18, 64, 65]}
    asked = session(engine(table))
    ages = asked.histogram("age", bins=[0, 18, 65, 120], epsilon=BIG)
    assert ages.estimate.tolist() == [2, 2, 1]
    split = asked.histogram(
        "age", bins=4, bounds=(0, 80), epsilon=BIG, by="place", keys=["b", "a"], max_groups=1
    )
    assert split.estimate.tolist() == [[1, 0, 0, 2], [2, 0, 0, 0]]
    joint = asked.histogram({"age": [0, 18, 120], "person": [1, 3, 6]}, epsilon=BIG)
    assert joint.estimate.tolist() == [[2, 0], [0, 3]]
    assert list(joint.columns())[:4] == ["age_from", "age_to", "person_from", "person_to"]
    median = asked.quantile(
        "age", candidates=[10, 17, 18, 64, 90], epsilon=BIG, method="cumulative"
    )
    assert median.value == 18
    assert median.at(0)["estimate"] == [10]
    assert median.at(1)["estimate"] == [90]
    assert (median.at("0.4")["lower"], median.at("0.4")["upper"]) == ([10], [17])


def test_the_smallest_and_the_largest_are_quantiles():
    asked = session(pl.DataFrame({"person": [1, 2, 3], "age": [20, 50, 60]}))
    ask = {"candidates": range(0, 100, 10), "epsilon": 1}
    assert asked.minimum("age", **ask).value == 20
    assert asked.median("age", **ask).value == 50
    assert asked.maximum("age", **ask).value == 60


def test_a_value_above_every_candidate_is_said_to_be():
    asked = session(pl.DataFrame({"person": [1, 2], "age": [50, 60]}))
    top = asked.quantile("age", 1, candidates=[10, 55], epsilon=BIG)
    assert top.at(1)["upper"] == [math.inf]
    assert top.at(1)["lower"] == [55]


AS_THEY_ARE = {"method": "cumulative", "on_excess": "error"}


def test_what_falls_only_has_a_certain_upper_side():
    rng = np.random.default_rng(5)
    table = pl.DataFrame({"person": range(500), "pay": rng.integers(0, 90, 500)})
    asked = session(table, od.policy.addition_only())
    for _ in range(20):
        total = asked.sum("pay", of="units", total_bounds=(0, 90), epsilon=1)
        assert total.upper_certain
        assert not total.lower_certain
        assert total.upper[0] >= table["pay"].sum()
        shares = asked.quantile("pay", candidates=[30, 60], epsilon=1, **AS_THEY_ARE)
        certain = shares.certified_share(60, of=500)[0]
        assert certain <= (table["pay"] <= 60).mean()
        assert asked.plan(
            od.session.Sum("pay", of="units", total_bounds=(0, 90), epsilon=1)
        ).certain == ("upper",)


def test_open_records_have_a_certain_lower_side():
    table = pl.DataFrame({"person": range(100), "age": [7 * i % 90 for i in range(100)]})
    asked = session(table, od.policy.sensitive("person >= 80"))
    ages = asked.quantile("age", candidates=[30, 60], epsilon=1, counted="open", **AS_THEY_ARE)
    share = ages.certified_share(60, of=80)[0]
    assert 0 < share <= (table.filter(pl.col("person") < 80)["age"] <= 60).mean()
    assert asked.remaining == {
        "sensitive -> sensitive": 10 * BIG,
        "sensitive -> open": 10 * BIG - 1,
    }


def test_everybody_being_there_halves_what_a_sum_costs():
    bounded = session(pl.DataFrame(COLUMNS), od.policy.bounded())
    whole = bounded.plan(od.session.Sum("age", of="units", total_bounds=(50, 100), epsilon=1))
    part = bounded.plan(
        od.session.Sum("age", of="units", total_bounds=(50, 100), epsilon=1, where="age > 3")
    )
    assert whole.mechanism.upper_rate == Fraction(1, 50)
    assert part.mechanism.upper_rate == Fraction(1, 100)
    # The number of records is the same along every move, so a mean's sum gets all there is.
    mean = bounded.plan(od.session.Mean("age", bounds=(0, 100), epsilon=1))
    assert mean.charge == {"record -> record": 1}
    assert mean.mechanism.total.mechanism.upper_rate == Fraction(1, 100)


def test_the_whole_of_epsilon_goes_to_what_costs_anything():
    asked = session(pl.DataFrame(COLUMNS))
    for question in (
        od.session.Mean("age", bounds=(0, 100), epsilon="0.5"),
        od.session.Variance("age", bounds=(0, 100), epsilon="0.5"),
        od.session.Sum("age", of="units", total_bounds=(0, 100), epsilon="0.5"),
        od.session.Quantile("age", candidates=range(64), epsilon="0.5"),
        od.session.Histogram("age", bins=[0, 50, 100], epsilon="0.5"),
    ):
        assert set(asked.plan(question).charge.values()) == {Fraction(1, 2)}, question


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from("ab"), st.integers(-30, 30)), max_size=12
    ),
    st.integers(-5, 5),
    st.integers(1, 20),
)
def test_sums_are_those_of_plain_python(rows, low, width):
    high = low + width
    table = pl.DataFrame(
        {
            "person": [p for p, _, _ in rows],
            "place": [g for _, g, _ in rows],
            "v": [v for _, _, v in rows],
        },
        schema={"person": pl.Int64, "place": pl.String, "v": pl.Int64},
    )

    def clip(value, least, most):
        return min(max(value, least), most)

    expected = []
    for place in "ab":
        own = {}
        for person, where, value in rows:
            if where == place:
                inside = clip(clip(value, low, high), min(low, 0), max(high, 0))
                own[person] = own.get(person, 0) + inside
        expected.append(sum(clip(value, low, high) for value in own.values()))
    answer = session(table).sum(
        "v",
        of="units",
        total_bounds=(low, high),
        epsilon=1,
        by="place",
        keys=["a", "b"],
        max_groups=2,
    )
    assert answer.estimate.tolist() == pytest.approx(expected)


def test_asking_again_with_the_same_id_reads_the_answer():
    asked = session(pl.DataFrame(COLUMNS))
    for ask in (
        lambda **id: asked.sum("age", of="units", total_bounds=(0, 100), epsilon=1, **id),
        lambda **id: asked.variance("age", bounds=(0, 100), epsilon=1, **id),
        lambda **id: asked.quantile("age", candidates=[1, 50], epsilon=1, **id),
        lambda **id: asked.histogram("age", bins=[0, 50, 100], epsilon=1, **id),
    ):
        name = str(ask)
        first, left = ask(id=name), asked.remaining
        again = ask(id=name, again=True)
        assert str(again.frame) == str(first.frame)
        assert asked.remaining == left
    with pytest.raises(errors.ReleaseExistsError, match="another question"):
        asked.mean("age", bounds=(0, 100), epsilon=1, id=name)


@pytest.mark.parametrize("bad", [(100, 0), (5, 5), (0, float("nan")), (0,), "01", None, (0, "x")])
def test_bounds_that_cannot_be_meant(bad):
    with pytest.raises(errors.ParameterError):
        session(pl.DataFrame(COLUMNS)).sum("pay", of="units", total_bounds=bad, epsilon=1)


def test_bounds_the_wrong_way_round_say_so():
    with pytest.raises(errors.ParameterError, match="not below") as caught:
        session(pl.DataFrame(COLUMNS)).mean("pay", bounds=(100, 0), epsilon=1)
    assert "bounds=(lowest, highest)" in caught.value.hint


@pytest.mark.parametrize("step", [0, -1, float("nan"), "3"])
def test_steps_that_do_not_fit(step):
    with pytest.raises(errors.ParameterError):
        session(pl.DataFrame(COLUMNS)).sum(
            "pay", of="units", total_bounds=(0, 100), step=step, epsilon=1
        )


@pytest.mark.parametrize("hole", [None, float("nan")])
def test_missing_values_are_refused_before_anything_is_charged_or_dropped(engine, hole):
    if hole is None:
        table = engine({"person": [1, 2, 3], "v": [1.0, None, 3.0]})
    else:
        table = engine({"person": [1, 2, 3], "v": [1.0, math.nan, 3.0]})
    asked = session(table)
    for ask in (
        lambda **more: asked.sum("v", of="units", total_bounds=(0, 10), epsilon=BIG, **more),
        lambda **more: asked.quantile("v", candidates=[2], epsilon=BIG, **more),
        lambda **more: asked.histogram("v", bins=[0, 2, 4], epsilon=BIG, **more),
    ):
        before = asked.remaining
        with pytest.raises(errors.DataError, match="1 row has no value in 'v'"):
            ask()
        assert asked.remaining == before
        ask(missing="drop")
    assert asked.sum(
        "v", of="units", total_bounds=(0, 10), epsilon=BIG, missing="drop"
    ).value == pytest.approx(4)
    with pytest.raises(errors.ParameterError, match="missing"):
        asked.sum("v", of="units", total_bounds=(0, 10), epsilon=1, missing="ignore")


def test_the_curator_is_told_how_many_values_are_clipped_or_missing(engine):
    table = {"person": [1, 2, 3, 4], "v": [-5.0, 3.0, 200.0, None]}
    asked = session(engine(table))
    facts = asked.inspect(
        od.session.Sum("v", of="units", total_bounds=(0, 100), epsilon=1, missing="drop")
    )
    assert (facts.values_outside_bounds, facts.values_missing, facts.rows) == (2, 1, 4)
    assert asked.spent == {"record -> absent": 0, "absent -> record": 0}


def test_the_curator_is_told_what_no_bin_holds_and_who_is_in_several(engine):
    """Bins are chosen by them, so the numbers that were 0 for every histogram misled."""
    table = {"person": [1, 1, 2, 3, 4, 5], "v": [-5.0, 3.0, 200.0, None, 50.0, 0.0]}
    asked = session(engine(table), od.policy.addition_only())
    ask = {"bins": [0, 10, 100], "epsilon": 1}
    for question in (
        od.session.Histogram("v", **ask),
        od.session.Histogram({"v": ask["bins"]}, epsilon=1, method="dawa"),
        od.session.RangeQuery("v", "all", **ask),
        od.session.RangeQuery("v", "all", **ask, outside="refuse"),
    ):
        facts = asked.inspect(question)
        assert (facts.values_outside_bounds, facts.values_missing) == (2, 1)
    assert facts.units_over_bound == 0
    drawn_in = asked.inspect(od.session.RangeQuery("v", "all", **{**ask, "bins": [0, 3, 100]}))
    assert (drawn_in.units_over_bound, drawn_in.most_groups_of_a_unit) == (1, 2)
    facts = asked.inspect(
        od.session.Quantile("v", candidates=[0, 100], epsilon=1, method="cumulative")
    )
    assert (facts.values_missing, facts.units_over_bound, facts.counted_outside_keys) == (1, 1, 1)
    assert asked.spent == {"record -> absent": 0}


@pytest.mark.parametrize("question", [od.session.Sample(epsilon=1), od.session.Sum])
def test_what_has_no_public_groups_is_not_inspected(question):
    with pytest.raises(errors.ParameterError, match="nothing to inspect") as caught:
        session(pl.DataFrame(COLUMNS)).inspect(question)
    assert "Count(" in caught.value.hint


def test_empty_groups_and_tables_have_answers_within_the_bounds():
    empty = pl.DataFrame({"person": [], "v": []}, schema={"person": pl.Int64, "v": pl.Float64})
    asked = session(empty)
    assert asked.sum("v", of="units", total_bounds=(0, 9), epsilon=BIG).value == 0
    assert 0 <= asked.mean("v", bounds=(0, 9), epsilon=BIG).value <= 9
    assert asked.variance("v", bounds=(0, 9), epsilon=BIG).value >= 0
    assert asked.quantile("v", candidates=[1, 2], epsilon=BIG, method="cumulative").at("1/2")[
        "upper"
    ] == [math.inf]
    assert asked.histogram("v", bins=[0, 1, 2], epsilon=BIG).estimate.tolist() == [0, 0]


@pytest.mark.parametrize("candidates", [[3, 1], [1, 1], [], "12", [float("nan")], 5])
def test_candidates_that_cannot_be_meant(candidates):
    with pytest.raises(errors.ParameterError):
        session(pl.DataFrame(COLUMNS)).quantile("age", candidates=candidates, epsilon=1)


@pytest.mark.parametrize("q", [-1, 2, float("nan"), None])
def test_shares_that_cannot_be_meant(q):
    with pytest.raises(errors.ParameterError):
        session(pl.DataFrame(COLUMNS)).quantile("age", q, candidates=[1], epsilon=1)


@pytest.mark.parametrize(
    ("bins", "bounds"), [(0, (0, 1)), (3, None), ([1], None), ([2, 1], None), ([0, 1], (0, 1))]
)
def test_bins_that_cannot_be_meant(bins, bounds):
    with pytest.raises(errors.ParameterError):
        session(pl.DataFrame(COLUMNS)).histogram("age", bins=bins, bounds=bounds, epsilon=1)


def test_columns_that_are_not_there_or_not_numbers():
    asked = session(pl.DataFrame(COLUMNS))
    with pytest.raises(errors.UnknownColumnError):
        asked.sum("wage", of="units", total_bounds=(0, 1), epsilon=1)
    with pytest.raises(errors.DataError, match="not numbers"):
        asked.sum("place", of="units", total_bounds=(0, 1), epsilon=1)
    with pytest.raises(errors.DataError, match="not whole numbers"):
        asked.histogram("place", bins=[0, 1], epsilon=1)


def test_units_with_two_values_are_refused_for_cumulative_counts():
    asked = session(pl.DataFrame({"person": [1, 1, 2], "age": [10, 50, 20]}))
    with pytest.raises(errors.ContributionError):
        asked.quantile("age", candidates=[30], epsilon=1, **AS_THEY_ARE)
    cut = asked.quantile("age", candidates=[30], epsilon=1, method="cumulative")
    assert "may have been cut" in cut.warnings[0]


def test_a_policy_about_groups_alone_cannot_price_a_sum():
    line = od.policy.graph([("a", "b")])
    with pytest.raises(errors.UnprotectableError, match="nothing about"):
        session(pl.DataFrame(COLUMNS), line, unit=None).sum(
            "age", of="units", total_bounds=(0, 9), epsilon=1
        )


def test_squares_that_no_sum_could_hold_are_refused():
    asked = session(pl.DataFrame({"person": range(2000), "age": 1}), budget=10**5)
    with pytest.raises(errors.ParameterError, match="squares") as caught:
        asked.variance("age", bounds=(0, 2**40), epsilon=1)
    assert "coarser" in caught.value.hint


def test_values_beyond_signed_numbers_are_clipped_like_all_others():
    table = pa.table({"person": [1], "v": pa.array([2**63 + 5], type=pa.uint64())})
    release = session(table).sum("v", of="units", total_bounds=(0, 10), step="1/2", epsilon=1000)
    assert release.estimate.tolist() == [10]
