"""Where values in sessions once said too much, or failed without a word of ours."""

import datetime as dt
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise
from onesided.session import Sum

pl = pytest.importorskip("polars")


def session(columns, policy=None, **more):
    return od.Session(
        pl.DataFrame(columns), policy=policy or od.policy.unbounded(), budget=2**20, **more
    )


def test_no_row_is_ever_a_step_past_its_bound():
    """Near 2^52 steps a bound is no float, and rounding took the row above it by one step."""
    most = 2**52 - 3
    asked = session({"v": [3 * most]})
    question = Sum("v", of="units", total_bounds=(0, 3 * most), step=3, epsilon=2**14)
    assert question.prepare(asked._context()).read().tolist() == [most]


def test_a_share_of_a_count_is_exact():
    """7/25 of 25 people is 7 of them; in floats it is more, and the bounds were one too high."""
    asked = session({"v": list(range(25))}, od.policy.addition_only())
    told = asked.quantile(
        "v", q=Fraction(7, 25), candidates=range(25), epsilon=100, method="cumulative"
    )
    assert told.at(Fraction(7, 25)) == {"estimate": [6], "lower": [5], "upper": [6]}


def test_pairs_below_a_candidate_certify_no_share_of_units():
    """Person 1 is below 5 twice; that says nothing of person 2."""
    columns = {"person": [1, 1, 2], "v": [1, 3, 10]}
    asked = session(columns, od.policy.removal_only(), unit="person")
    told = asked.quantile(
        "v", candidates=[2, 5], epsilon=100, max_groups=3, on_excess="error", method="cumulative"
    )
    with pytest.raises(errors.ParameterError, match="both sides"):
        told.certified_share(5, of=2)
    one = session({"v": [1, 3, 10]}, od.policy.removal_only())
    told = one.quantile("v", candidates=[2, 5], epsilon=100, method="cumulative")
    assert told.certified_share(5, of=3) == pytest.approx(np.array([2 / 3]))


@pytest.mark.parametrize("ask", ["sum", "mean", "variance"])
def test_a_column_cannot_be_the_value_and_the_group(ask):
    asked = session({"v": [1, 2]})
    with pytest.raises(errors.ParameterError, match="groups by it as well"):
        getattr(asked, ask)("v", bounds=(0, 3), by="v", keys=[1, 2], epsilon=1)
    assert not any(asked.spent.values())


def test_the_page_on_values_runs_as_it_stands():
    page = (Path(__file__).parents[2] / "docs" / "values.md").read_text()
    codes = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (printed,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    facts = (
        "print(total.upper_certain, bool(total.upper[0] >= 1050 + 2400 + 3100 + 5000 + 1800))",
        "print(mean.lower_certain, spread.upper_certain)",
    )
    done = subprocess.run(
        [sys.executable, "-c", "\n".join([*codes, *facts])],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{printed}True True\nFalse False\n"


QUESTIONS = {
    "count": lambda s: s.count(epsilon=1),
    "sum": lambda s: s.sum("v", of="units", total_bounds=(0, 10), epsilon=1),
    "mean": lambda s: s.mean("v", bounds=(0, 10), epsilon=1),
    "quantile": lambda s: s.quantile("v", candidates=[2, 5], epsilon=1),
    "histogram": lambda s: s.histogram("v", bins=[0, 5, 11], epsilon=1),
    "ranges": lambda s: s.ranges("v", "all", bins=[0, 5, 11], epsilon=1),
    "sample": lambda s: s.sample(epsilon=1),
}


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
def test_removal_only_never_comes_without_its_warning(ask):
    columns = {"v": [1, 3, 10]}
    told = str(ask(session(columns, od.policy.removal_only())).guarantee)
    assert told.count("a fraction of the table in the clear satisfies it") == 1
    if ask is not QUESTIONS["sample"]:
        assert "in the clear" not in str(ask(session(columns)).guarantee)


def test_a_share_of_units_that_were_cut_is_not_certain():
    """Somebody with the values 1 and 9 could be cut to 1, and counted as without any above 5."""
    data = pl.DataFrame({"person": [1, 1, 2], "age": [1, 9, 1]})
    session = od.Session(data, unit="person", policy=od.policy.addition_only(), budget=99)
    asked = {"candidates": [5], "epsilon": 9, "max_groups": 1}
    told = session.quantile("age", "1/2", on_excess="truncate", method="cumulative", **asked)
    with pytest.raises(errors.ParameterError, match="were cut"):
        told.certified_share(5, of=2)


@pytest.mark.parametrize("engine", ["polars", "lazy", "duckdb", "pandas", "arrow"])
def test_halves_are_rounded_alike_everywhere(engine):
    pl, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rows = pl.DataFrame({"person": range(6), "pay": [0.5, 1.5, 2.5, -0.5, -1.5, 30.5]})
    relation = duckdb.from_arrow(rows.to_arrow())
    made = {
        "polars": rows,
        "lazy": rows.lazy(),
        "duckdb": relation,
        "pandas": rows.to_pandas(),
        "arrow": rows.to_arrow(),
    }[engine]
    given = {"policy": od.policy.addition_only(), "budget": 10**6}
    session = od.Session(made, unit="person", noise=NotPrivateSeededNoise(7), **given)
    told = session.sum("pay", of="units", total_bounds=(-100, 100), epsilon=10**5)
    assert told.interval.upper.tolist() == [1 + 2 + 3 + 0 - 1 + 31]


@pytest.mark.parametrize("kind", ["Sum", "Mean", "Variance", "Quantile"])
@pytest.mark.parametrize("column", ["place", "day"])
def test_what_holds_no_numbers_is_not_asked_for_their_bounds(kind, column):
    data = pl.DataFrame({"place": ["a"], "day": [dt.date(2026, 1, 1)]})
    own = od.Session(data, policy=od.policy.bounded(), budget=1)
    ends = [{"q": 1}, {"q": "1/2"}] if kind == "Quantile" else [{}]
    for more in ends:
        with pytest.raises(errors.DataError, match="not numbers"):
            own.plan(getattr(od.session, kind)(column, epsilon=1, **more))
