"""Questions whose charge once was smaller than what they lost; each is refused or priced now."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise

APART = ("split", "open_shape", "dawaz", "ahpz", "hierarchicalz")
ASK = {"bins": [0, 10, 20, 30], "epsilon": 1}
TABLE = pl.DataFrame({"person": [1, 1, 2], "age": [5, 15, 25], "asked": [1, 1, 0]})


@pytest.mark.parametrize("method", APART)
def test_parts_that_no_rule_tells_apart_are_refused(method):
    # Everybody was in both parts, and a sensitive record that moved made an open count fall.
    policy = od.policy.custom(
        kinds=["sensitive", "open"], edges=[("sensitive", "sensitive"), ("sensitive", "open")]
    )
    session = od.Session(TABLE, policy=policy, budget=1)
    with pytest.raises(errors.ParameterError, match="cannot be told apart"):
        session.histogram("age", **ASK, method=method)
    plan = session.plan(od.session.Histogram("age", **ASK))
    assert not any(method in option.name for option in plan.others)
    assert not any(session.spent.values())


@pytest.mark.parametrize("method", APART)
def test_parts_are_not_counted_of_units_cut_down_where_cut_cells_may_come_back(method):
    # Person 1 dropping the first bin is counted in the second: a rise that nothing hid.
    policy = od.policy.presence(max_groups=3) & od.policy.sensitive("asked = 1")
    session = od.Session(TABLE, unit="person", policy=policy, budget=1)
    with pytest.raises(errors.ParameterError, match="cannot cut units down"):
        session.histogram("age", **ASK, method=method, max_groups=1, on_excess="truncate")
    assert not any(session.spent.values())
    fitting = od.Session(TABLE.filter(age=25), unit="person", policy=policy, budget=1)
    assert fitting.histogram("age", **ASK, method=method).estimate.shape == (3,)


def test_rates_that_no_level_of_a_tree_can_draw_are_refused_before_the_charge():
    session = od.Session(TABLE, policy=od.policy.bounded(), budget=1)
    with pytest.raises(errors.ParameterError, match=r"at least 2\^-28 for a tree"):
        session.histogram("age", bins=range(64), epsilon=2.0**-38, method="hierarchical")
    assert not any(session.spent.values())
    with pytest.raises(errors.ParameterError, match=r"at least 2\^-28 for a tree"):
        od.mechanism.histograms.Dawa(1, upper_rate=2.0**-30, lower_rate=1, workload="ranges")


@pytest.mark.parametrize("question", [od.session.Mean, od.session.Variance])
def test_values_that_change_where_someone_stays_are_charged_under_presence(question):
    # Dropping place p leaves the person in region A, where the sum about a centre then rises.
    rows = {"person": [9, 9], "region": ["A", "A"], "value": [2, 2]}
    asked = question("value", by="region", keys=["A"], max_groups=1, bounds=(2, 8), epsilon=1)
    secrets, plans = [], []
    for frame in (pl.DataFrame(rows), pl.DataFrame(rows)[:1]):
        session = od.Session(
            frame, unit="person", policy=od.policy.presence(max_groups=1), budget=1
        )
        prepared = asked.prepare(session._context())
        secrets.append(prepared.read())
        plans.append(prepared.plan)
    (here, there), plan = secrets, plans[0]
    lost = 0
    for name, part in plan.mechanism.all.items():
        row = plan.mechanism.rows[name]
        (step,) = there.combined(row) - here.combined(row)
        moved = od.Shift(rise=max(int(step), 0), fall=max(int(-step), 0))
        lost += part.mechanism.loss(moved)
    assert lost <= plan.charge["present -> not present"] <= 1


@pytest.mark.parametrize("question", [od.session.Mean, od.session.Variance])
@pytest.mark.parametrize("values", [[0, 0, 1], [-1, 1, 2], [1, 2, 3, 3, 3, 4, 4]], ids=str)
def test_a_certain_bound_on_a_quotient_is_not_rounded_past_it(question, values):
    # Nobody of kind c is hidden, so both sides are certain; 14/9 has no float of its own.
    policy = od.policy.custom(
        kinds=["a", "c"], edges=[("a", "a")], rules=[("a", "value > 99")], default="c"
    )
    data = pl.DataFrame({"value": values})
    session = od.Session(data, policy=policy, budget=1)
    told = session.ask(question("value", bounds=(-3, 4), epsilon=1, counted="c"))
    assert told.lower_certain
    assert told.upper_certain
    mean = Fraction(sum(values), len(values))
    squares = Fraction(sum(value**2 for value in values), len(values))
    truth = mean if question is od.session.Mean else squares - mean**2
    ((lower,), (upper,)) = told.lower.tolist(), told.upper.tolist()
    assert lower <= truth <= upper
    assert upper - lower <= 1e-12
    assert not any(session.spent.values())


@pytest.mark.parametrize("correction", ["none", "mean", "median"])
@pytest.mark.parametrize("epsilon", ["1/4", 1])
def test_a_plan_states_the_error_of_estimates_and_not_of_their_noise_alone(correction, epsilon):
    # Noise above the truth with its median taken out is too large on average: by a fifth at 1.
    many = 40_000
    question = od.Count(by="key", keys=range(many), epsilon=epsilon, correction=correction)
    data = pl.DataFrame({"key": [0]})
    session = od.Session(data, policy=od.policy.addition_only(), budget=1)
    prepared = question.prepare(session._context())
    truth = np.full(many, 1000)
    told = prepared.result(prepared.draw(truth, NotPrivateSeededNoise(7)), None)
    missed = float(np.sqrt(np.mean((told.estimate - truth) ** 2)))
    # Within 5 %; the spread alone would be too small by 35 %, 0 and 7 to 16 %.
    assert prepared.plan.options[0].error == pytest.approx(missed, rel=0.05)
    too_small = prepared.plan.standard_deviation < 0.97 * missed
    assert too_small == (correction != "mean")
