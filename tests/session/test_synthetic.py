"""Made-up rows: what they are made of, what is charged for them, and which of them are true."""

import datetime as dt
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided.accounting import charge_divergences
from onesided.errors import KeysError, OnesidedError, ParameterError
from onesided.noise import NotPrivateSeededNoise
from onesided.session._context import QueryContext
from onesided.session.kit import prepared
from onesided.session.workloads._synthetic import _sums

P = od.policy
DAYS = [dt.date(2026, 11, 1), dt.date(2026, 11, 2)]


def people(number, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 90, number)
    return pl.DataFrame(
        {
            "person": np.arange(number),
            "age": age,
            "town": np.where(rng.random(number) < 0.2 + age / 200, "a", "b"),
            "works": (age > 20) & (rng.random(number) < 0.7),
            "pay": np.round(rng.random(number) * 40) / 4,
            "day": [DAYS[one] for one in rng.integers(0, 2, number)],
            "minor": rng.random(number) < 0.5,
        }
    )


ASKED = {
    "columns": ["age", "town", "works"],
    "keys": {"town": ["a", "b"]},
    "bins": {"age": [0, 18, 40, 65, 90]},
    "records": 3000,
}
CUT = {"on_excess": "truncate"}


def session(data, policy=None, *, unit="person", **more):
    given = {"budget": 10, "noise": NotPrivateSeededNoise(5), **more}
    return od.Session(data, policy=policy or P.bounded(), unit=unit, **given)


def test_rows_have_the_margins_and_the_types_of_the_data():
    data = people(3000)
    columns = ["age", "town", "works", "pay", "day"]
    more = {"keys": {"town": ["a", "b"], "day": DAYS}, "bins": {**ASKED["bins"], "pay": [0, 4, 11]}}
    asked = {**ASKED, **more, "columns": columns, "pairs": [["age", "town"], ["age", "works"]]}
    made = session(data, budget=10**4).synthetic(**asked, epsilon=2000, **CUT)
    assert made.frame.schema == {**{n: data.schema[n] for n in columns}, "origin": pl.String}
    assert set(made.frame["origin"]) == {"made"}
    assert made.kind == "SyntheticRelease"
    assert len(made) == 3000
    for names in (["age", "town"], ["age", "works"], ["day"], ["pay"]):
        told, due = (
            Counter(
                frame.with_columns(
                    pl.sum_horizontal(pl.col("age") >= e for e in (18, 40, 65)).alias("age"),
                    pl.col("pay") < 4,
                )
                .select(names)
                .rows()
            )
            for frame in (made.frame, data)
        )
        assert all(abs(told[one] - due[one]) < 40 for one in {*told, *due})
    assert set((made.frame["pay"] * 100 % 1).round(9)) <= {0.0, 1.0}
    quality = made.quality.columns()
    assert dict(zip(quality["margin"], quality["measured"], strict=True))["age × pay"] is False
    assert max(one for one in quality["off"] if one is not None) < 0.02


def test_the_same_released_facts_give_the_same_rows_and_no_row_is_read_for_it(monkeypatch):
    data = people(500)
    own = session(data)
    first = own.synthetic(**ASKED, epsilon=1, id="a", **CUT)
    asked = od.Synthetic(**ASKED, epsilon=1, id="a", again=True, **CUT)
    step = prepared(own, asked)
    answer = step.draw(step.read(), NotPrivateSeededNoise(1))
    monkeypatch.setattr(QueryContext, "source", lambda *_, **__: pytest.fail("rows were read"))
    again = own.ask(asked)
    assert again.told_again
    assert again.frame.equals(first.frame)
    assert step.result(answer, None).frame.equals(step.result(answer, None).frame)
    assert again.noisy.tolist() == first.noisy.tolist()
    assert own.spent["record -> record"] == 1


def test_another_seed_makes_other_rows_of_the_same_margins():
    one, two = (
        session(people(500)).synthetic(**ASKED, seed=seed, epsilon=1, **CUT) for seed in (0, 1)
    )
    assert one.noisy.tolist() == two.noisy.tolist()
    assert not one.frame.equals(two.frame)
    counts = [one.frame["town"].value_counts(sort=True)["count"][0] for one in (one, two)]
    assert abs(counts[0] - counts[1]) <= 2 * len(ASKED["bins"]["age"])


def test_a_schema_has_the_values():
    columns = {
        "age": od.column("integer", bounds=(0, 89)),
        "town": od.column("text", keys=["a", "b"]),
        "pay": od.column("number", bounds=(0, 10), step="1/4"),
    }
    schema = od.Schema(unit="person", columns=columns)
    own = session(people(300), unit=None, schema=schema)
    made = own.synthetic(columns=["age", "town", "pay", "works"], records=300, epsilon=5, **CUT)
    assert made.frame["age"].is_between(0, 89).all()
    assert (made.frame["pay"] * 4 % 1 == 0).all()
    assert made.frame["pay"].is_between(0, 10).all()
    plan = own.plan(
        od.Synthetic(columns=["age", "town", "pay", "works"], records=300, epsilon=5, **CUT)
    )
    assert [one.name for one in plan.margins][:4] == ["age", "town", "pay", "works"]


@pytest.mark.parametrize(
    ("kind", "bounds", "step"),
    [
        ("integer", (0, 110), 1),
        ("integer", (0, 20), 5),
        ("integer", (0, 1000), None),
        ("number", (0, 10), "1/10"),
        ("number", (-3, 0), "0.25"),
    ],
)
def test_made_values_lie_within_the_schemas_bounds_and_on_its_grid(kind, bounds, step):
    """Nobody of the schema is 111: the last bin reached past the highest age."""
    schema = od.Schema(columns={"age": od.column(kind, bounds=bounds, step=step)})
    low, high = bounds
    data = pl.DataFrame({"age": [low, high, high, high]})
    if kind == "number":
        data = data.cast(pl.Float64)
    session_ = session(data, P.unbounded(), unit=None, schema=schema, budget=100)
    made = session_.synthetic(columns=["age"], records=600, epsilon=90).frame["age"]
    grid = Fraction(step or 1)
    assert all(low <= one <= high for one in made)
    assert all(abs(one / float(grid) - round(one / grid)) < 1e-9 for one in made)
    own = {"bins": {"age": [low, high / 2 + low / 2, high + 50]}}
    made = session_.synthetic(columns=["age"], records=600, epsilon=10, id="own", **own)
    assert all(low <= one <= high for one in made.frame["age"])


@pytest.mark.parametrize(
    ("policy", "charge"),
    [
        (P.bounded(), {"record -> record": 1}),
        (P.addition_only(), {"record -> absent": 1}),
        (P.removal_only(), {"absent -> record": 1}),
        (P.unbounded(), {"record -> absent": 1, "absent -> record": 1}),
        (P.presence(max_groups=2), {"present -> not present": 1}),
        (P.sensitive("minor"), {"sensitive -> sensitive": 1, "sensitive -> open": 1}),
    ],
)
@pytest.mark.parametrize("accounting", ["pure", "renyi"])
def test_all_margins_together_are_charged_once(policy, charge, accounting):
    more = {"accounting": "renyi", "delta_budget": "1e-6"} if accounting == "renyi" else {}
    own = session(people(50), policy, **more)
    cut = {} if policy.name == "presence" else CUT
    made = own.synthetic(**{**ASKED, "records": 50}, epsilon=1, **cut)
    assert made.guarantee.epsilon == charge
    if accounting == "pure":
        assert own.spent == charge
    assert ("in several cells" in made.cut) == (policy.name == "presence")
    assert len(made) == 50


def test_sums_of_shifts_are_the_corners_of_one_of_each():
    edge = object()
    one, two, both = (
        {edge: tuple(od.Shift(rise=r, fall=f) for r, f in some)}
        for some in ([(0, 1)], [(1, 0)], [(0, 1), (1, 0)])
    )
    assert _sums([(both, 1), (both, 2)])[edge] == (
        od.Shift(rise=0, fall=3),
        od.Shift(rise=3, fall=0),
    )
    assert _sums([(one, 1), (two, 2)])[edge] == (od.Shift(rise=2, fall=1),)
    assert set(_sums([(one, 1), (both, 2)])[edge]) == {
        od.Shift(rise=0, fall=3),
        od.Shift(rise=2, fall=1),
    }


def test_predicted_errors_are_those_of_the_noise():
    data, asked = people(200), od.Synthetic(**ASKED, epsilon=1, **CUT)
    step = prepared(session(data), asked)
    cells = step.read()
    drawn = [step.draw(cells, NotPrivateSeededNoise(seed))["noisy"] - cells for seed in range(400)]
    weights = np.std(np.array(drawn)) / np.array([one.error for one in step.plan.margins])
    assert weights == pytest.approx(np.rint(weights), rel=0.02)  # fixed seeds
    assert min(weights) > 0.9
    sizes = {"age": 4, "town": 2, "works": 2}
    cells_of_each = [
        np.prod([sizes[c] for c in one.name.split(" × ")]) for one in step.plan.margins
    ]
    by_size = sorted(zip(cells_of_each, np.rint(weights), strict=True))
    assert [weight for _, weight in by_size] == sorted(np.rint(weights))


@pytest.mark.parametrize(("law", "wide"), [("gaussian", True), ("best", True), ("pure", False)])
def test_gaussian_noise_takes_what_pure_noise_would_and_errs_less(law, wide):
    """Of nine columns; what a charge is said to lose is computed again from its note."""
    names = [f"c{place}" for place in range(9)]
    data = pl.DataFrame({name: [0, 1, 2] * 100 for name in names})
    asked = {"columns": names, "keys": {name: [0, 1, 2] for name in names}, "records": 10**5}
    own = od.Session(
        data, policy=od.policy.unbounded(), budget=1, accounting="renyi", delta_budget="1e-9"
    )
    plans = [own.plan(od.Synthetic(**asked, epsilon="1/2", law=one)) for one in ("pure", law)]
    assert (plans[1].mechanism.gaussian is not None) == wide
    assert plans[1].times == plans[0].times
    errors = [sum(one.error for one in plan.margins) / len(plan.margins) for plan in plans]
    assert (errors[1] < errors[0]) == wide
    assert len(own.synthetic(**asked, epsilon="1/2", law=law)) == 10**5
    assert own.ledger.check(laws=charge_divergences).charges == 1


def test_gaussian_noise_is_of_renyi_accounts():
    with pytest.raises(ParameterError, match="keeps no pure"):
        session(people(9)).synthetic(**ASKED, epsilon=1, law="gaussian", **CUT)
    told = session(people(9)).plan(od.Synthetic(**ASKED, epsilon=1, law="best", **CUT))
    assert told.mechanism.gaussian is None


def test_pairs_are_chosen_by_public_facts():
    own, four = session(people(10)), {**ASKED, "columns": ["age", "town", "works", "minor"]}
    sizes = []
    for records, epsilon in ((10**6, 1), (3000, 1), (20, "1/10")):
        plan = own.plan(od.Synthetic(**{**four, "records": records}, epsilon=epsilon, **CUT))
        sizes.append(len(plan.margins))
    assert sizes[0] == 10  # four columns and all pairs
    assert sizes[-1] == 4
    assert sizes == sorted(sizes, reverse=True)
    told = own.plan(od.Synthetic(**four, pairs=[["works", "age"]], epsilon=1, **CUT))
    assert [one.name for one in told.margins][4:] == ["age × works"]
    assert "1 of 6 pairs measured" in str(told)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"columns": []}, ParameterError),
        ({"columns": ["age", "age"]}, ParameterError),
        ({"columns": ["nowhere"]}, OnesidedError),
        ({"columns": ["person"], "keys": {"person": [1]}, "bins": None}, OnesidedError),
        ({"columns": ["age", "pay", "town"]}, KeysError),
        ({"keys": None}, KeysError),
        ({"keys": {"town": ["a", "a"]}}, OnesidedError),
        ({"keys": {"town": [1]}}, OnesidedError),
        ({"keys": {"town": ["a"], "day": DAYS}}, ParameterError),
        ({"keys": {"town": ["a"], "age": [1]}}, ParameterError),
        ({"keys": ["a"]}, OnesidedError),
        ({"bins": {"age": [3, 1]}}, ParameterError),
        ({"bins": {"age": [3]}}, ParameterError),
        ({"bins": {"age": [0, 9], "town": [0, 1]}, "keys": None}, OnesidedError),
        ({"records": 0}, ParameterError),
        ({"records": 10**8}, ParameterError),
        ({"records": "many"}, ParameterError),
        ({"epsilon": 0}, ParameterError),
        ({"epsilon": math.nan}, ParameterError),
        ({"epsilon": 1000}, OnesidedError),
        ({"seed": -1}, ParameterError),
        ({"pairs": [["age"]]}, ParameterError),
        ({"pairs": [["age", "pay"]]}, ParameterError),
        ({"pairs": "age"}, ParameterError),
        ({"counted": "open"}, ParameterError),
        ({"on_excess": "keep"}, ParameterError),
    ],
)
def test_what_has_no_meaning_is_refused_before_any_charge(change, error):
    own = session(people(5), noise=None)
    with pytest.raises(error):
        own.synthetic(**{**ASKED, "epsilon": 1, **CUT, **change})
    assert not any(own.spent.values())


def test_pairs_that_hang_together_in_too_many_cells_are_refused():
    wide = {f"c{i}": np.zeros(3, dtype=np.int64) for i in range(5)}
    own = session(pl.DataFrame(wide), unit=None)
    asked = {"columns": [*wide], "bins": {n: range(41) for n in wide}, "records": 10**6}
    pairs = [[f"c{i}", f"c{j}"] for i in range(5) for j in range(i)]
    with pytest.raises(ParameterError, match="A model of these pairs has"):
        own.synthetic(**asked, pairs=pairs, epsilon=1)
    assert len(own.plan(od.Synthetic(**asked, epsilon=9)).margins) == 15


def test_the_model_has_the_pairs_that_say_most_and_fit_it():
    """Of ten pairs that are measured not all fit, and two columns are one."""
    random = np.random.default_rng(5)
    columns = {f"c{i}": random.integers(0, 20, 4000) for i in range(5)}
    columns["c3"] = columns["c1"]
    own = session(pl.DataFrame(columns), unit=None, policy=P.unbounded(), budget=900)
    asked = {"columns": [*columns], "keys": {n: list(range(20)) for n in columns}}
    made = own.synthetic(**asked, records=4000, epsilon=900)
    assert made.quality.columns()["measured"] == [True] * 15
    rows = made.frame
    assert (rows["c1"] == rows["c3"]).mean() > 0.9  # fixed seeds


# Rows of a free sample beside made ones.

PRIVATE = P.sensitive("minor")


def halves(data, **more):
    own = session(data, PRIVATE, budget=2, **more)
    made = own.synthetic(**ASKED, counted="sensitive", epsilon=1, **CUT)
    return own, made, own.sample(epsilon=own.free_sample)


def test_the_rest_of_an_edge_buys_true_rows():
    data = people(3000)
    own, made, sample = halves(data)
    both = made.with_true_rows(sample)
    assert own.spent == {"sensitive -> sensitive": 1, "sensitive -> open": 1}
    assert own.free_sample == 0
    assert both.guarantee.epsilon == own.spent
    assert len(both) == 3000
    true = both.frame.filter(pl.col("origin") == "true")
    assert 0 < true.height <= len(sample.table)
    names = ASKED["columns"]
    there = sample.frame.group_by(names).len("n")
    told = true.group_by(names).len("k").join(there, on=names, how="left")
    assert (told["k"] <= told["n"]).all()  # each of them once, and as it was published
    said = " ".join(both.statement.sentences())
    assert "records of open units" in said
    assert "both lose together" in str(both.guarantee)
    assert "made up from noisy counts alone" not in str(both)
    ages = both.frame["age"].mean(), data["age"].mean()
    assert ages[0] == pytest.approx(ages[1], abs=3)
    assert made.with_true_rows(sample).frame.equals(both.frame)


def test_with_few_records_true_rows_have_their_part_of_them():
    _, made, sample = halves(people(2000))
    both = made.with_true_rows(sample, records=100)
    assert len(both) == 100
    part = (both.frame["origin"] == "true").sum() / 100
    assert part == pytest.approx(len(sample.table) / 2000, abs=0.05)
    more = made.with_true_rows(sample, records=20_000)
    assert (more.frame["origin"] == "true").sum() == len(sample.table)


def test_margins_of_everybody_take_true_rows_too():
    own = session(people(2000), PRIVATE, budget=4)
    made = own.synthetic(**ASKED, epsilon=1, **CUT)
    sample = own.sample(epsilon=1)
    both = made.with_true_rows(sample)
    assert both.guarantee.epsilon == {"sensitive -> sensitive": 1, "sensitive -> open": 2}


def test_nobody_open_leaves_made_rows_alone():
    data = people(200).with_columns(minor=pl.lit(value=True))
    _, made, sample = halves(data)
    assert set(made.with_true_rows(sample).frame["origin"]) == {"made"}


def test_samples_that_are_not_beside_it_are_refused():
    data = people(100)
    own, made, sample = halves(data)
    other = session(data, P.sensitive("works")).sample(epsilon=1)
    everyone = session(data, PRIVATE, budget=9).synthetic(**ASKED, counted="open", epsilon=1, **CUT)
    twice = pl.concat([data, data])
    rows = session(twice, PRIVATE)
    several = rows.synthetic(**ASKED, counted="sensitive", epsilon=1, **CUT)
    for one, wrong in (
        (made, other),
        (made, None),
        (made, made),
        (several, rows.sample(epsilon=5)),
    ):
        with pytest.raises(ParameterError):
            one.with_true_rows(wrong)
    with pytest.raises(ParameterError):
        made.with_true_rows(sample, records=0)
    assert own.spent["sensitive -> open"] == 1
    assert everyone.with_true_rows(sample).kind == "SyntheticRelease"


def test_json_and_pictures():
    asked = od.Synthetic(**ASKED, epsilon=Fraction(1, 2), pairs=[["age", "town"]], **CUT)
    assert od.session.question_from_json(od.session.question_to_json(asked)) == asked
    made = session(people(50)).synthetic(**ASKED, epsilon=1, title="who works", **CUT)
    read = od.session.release_from_json(od.session.release_to_json(made))
    assert read.columns() == made.columns()
    assert read.table.roles == made.table.roles
    assert "<svg" in made._repr_html_()
    assert made.plot() is not None
    with pytest.raises(ParameterError):
        made.interval  # noqa: B018 - there is none


def test_pages_and_files(tmp_path):
    made = session(people(50)).synthetic(**ASKED, epsilon=1, **CUT)
    made.write(tmp_path / "out", formats=["csv", "json", "html", "parquet"])
    assert pl.read_parquet(tmp_path / "out" / "release.parquet").height == 3000
    assert "compared with the data" in (tmp_path / "out" / "release.html").read_text()


def test_a_renyi_account_is_told_a_step_for_each_margin():
    """Many margins lose less together than one sum that moves as far; and no more than their ε."""
    more = {"accounting": "renyi", "delta_budget": "1e-3", "budget": 1}
    names = [f"{one}{n}" for n in range(12) for one in "ab"]
    data = pl.DataFrame({name: [False, True] for name in names})
    own = od.Session(data, policy=P.unbounded(), **more)
    plan = own.plan(od.Synthetic(columns=names, records=9, pairs=[], epsilon="6/5"))
    assert plan.affordable  # a pure account of ε = 1 holds no answer that loses 6/5
    one = plan.noise["edges"]["record -> absent"]
    assert [part["times"] for part in one["together"]] == [24]
    pure = plan.charge["record -> absent"]
    orders = plan.divergences["record -> absent"]
    assert all(each <= pure for each in orders)
    single = own.plan(od.Synthetic(columns=names[:1], records=9, pairs=[], epsilon="6/5"))
    assert not single.affordable


def test_true_rows_have_listed_values_and_come_from_such_a_table():
    people = pl.DataFrame(
        {
            "town": ["a", "b", "Q"] * 200,
            "age": [None if n % 7 == 0 else n % 60 for n in range(600)],
            "minor": [n % 2 == 0 for n in range(600)],
        }
    )
    policy = od.policy.sensitive("minor")

    def session(data):
        return od.Session(data, policy=policy, budget=200)

    own, asked = session(people), {"keys": {"town": ["a", "b"]}, "bins": {"age": [0, 30, 60]}}
    made = own.synthetic(columns=["town", "age"], records=400, epsilon=50, **asked)
    assert "missing or not listed" in made.cut
    assert "in no group" not in made.cut
    both = made.with_true_rows(own.sample(epsilon=3))
    assert set(both.frame["town"]) == {"a", "b"}
    assert both.frame["age"].null_count() == 0
    assert both.frame.filter(pl.col("origin") == "true").height > 50
    for other in (people.drop("age"), people.with_columns(age=pl.lit("old"))):
        with pytest.raises(ParameterError, match="'age' of the sample"):
            made.with_true_rows(session(other).sample(epsilon=3))
    with pytest.raises(ParameterError, match="no whole number lies"):
        own.synthetic(columns=["age"], bins={"age": ["1/4", "1/2", 7]}, records=4, epsilon=1)
