"""Queries of published answers: results hold; what is no part of the language is refused."""

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onesided as od
from onesided.errors import ParameterError, SqlError
from onesided.session import ask_releases

PLACES = ["gym", "bar"]
BOTH = od.cross(place=PLACES, hour=[1, 2])
VISITS = pl.DataFrame(
    {
        "person": [1, 2, 3, 4, 5, 6, 7],
        "place": ["gym", "gym", "gym", "gym", "bar", "bar", "bar"],
        "hour": [1, 1, 2, 2, 1, 1, 1],
    }
)


@pytest.fixture(scope="module")
def answers():
    policy = od.policy.presence(max_groups=1)
    session = od.Session(VISITS, unit="person", policy=policy, budget=100)
    return {
        "monday": session.count(by="place", keys=PLACES, epsilon=1),
        "two days": session.count(by="place", keys=PLACES, epsilon=1, where="hour = 1"),
        "all": session.count(epsilon=1),
        "hours": session.count(by=["place", "hour"], keys=BOTH, epsilon=1),
    }


TRUTH = {"monday": {"gym": 4, "bar": 3}, "two days": {"gym": 2, "bar": 3}, "all": 7}
FROM = ' FROM monday m JOIN "two days" t USING (place) JOIN "all" a'

leaves = st.sampled_from(["m.value", "t.value", "a.value", "2", "0.5", "3"])
expressions = st.recursive(
    leaves,
    lambda part: st.one_of(
        st.tuples(part, st.sampled_from("+-"), part).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        st.tuples(st.sampled_from(["2", "0.25", "-3"]), part).map(lambda p: f"({p[0]} * {p[1]})"),
        st.tuples(part, part).map(lambda p: f"({p[0]} / {p[1]})"),
        part.map(lambda p: f"-({p})"),
    ),
    max_leaves=6,
)


def value_at(expression, place):
    """What Python computes with the true numbers; None where it divides by 0."""
    for name, key in (("m", "monday"), ("t", "two days")):
        expression = expression.replace(f"{name}.value", f"F({TRUTH[key][place]})")
    words = expression.replace("a.value", f"F({TRUTH['all']})")
    for number in ("0.25", "0.5"):
        words = words.replace(number, f"F('{number}')")
    words = words.replace("2 *", "F(2) *").replace("-3 *", "-F(3) *").replace("/ ", "* F(1) / ")
    try:
        return Fraction(eval(words, {"F": Fraction}))  # noqa: S307 - made here
    except ZeroDivisionError:
        return None


@given(expressions)
def test_certain_bounds_hold_of_every_expression(answers, expression):
    found = ask_releases(f"SELECT place, m.value * 0 + {expression}{FROM}", answers)
    for place, one in zip(found.frame["place"], found.rows.values(), strict=True):
        truth = value_at(expression, place)
        if truth is None:
            continue
        assert one.sure == one.likely
        assert one.sure.lower is None or one.sure.lower <= truth
        assert one.sure.upper is None or truth <= one.sure.upper


def test_sums_groups_and_choices_are_those_of_bounds(answers):
    counts, hours = od.certain(answers["monday"]), od.certain(answers["hours"])
    asked = ask_releases("SELECT SUM(value) / 7 AS share FROM monday", answers)
    assert asked.table.columns() == (counts.sum() / 7).table.columns()
    asked = ask_releases("SELECT place, SUM(value) FROM hours GROUP BY place;", answers)
    assert asked.table.columns() == hours.sum("place").table.columns()
    high = counts.rows["gym",].sure.upper
    asked = ask_releases(f"SELECT place, value FROM monday WHERE value <= {high}", answers)
    assert asked.frame["place"].to_list() == counts.at_most(high)
    kept = ask_releases(f"SELECT place, value FROM monday WHERE {high} >= value", answers)
    assert kept.frame["place"].to_list() == counts.at_most(high)
    none = ask_releases("SELECT place, value FROM monday WHERE value < 0", answers)
    assert len(none) == 0
    query = 'SELECT place, m.value FROM monday m JOIN "all" a WHERE a.value < 0'
    either = ask_releases(query, answers)
    assert len(either) == 0


def test_rows_that_an_answer_chose_are_not_summed_and_keep_all_doubts(answers):
    likely = ask_releases(
        "SELECT place, value FROM monday WHERE value <= 999", answers, likely=True
    )
    every = od.certain(answers["monday"], likely=True)
    assert likely.miss == every.miss > 0
    least = min(row.sure.upper for row in every.rows.values())
    query = f"SELECT place, value FROM monday WHERE value <= {least}"
    one = ask_releases(query, answers, likely=True)
    assert one.miss == every.miss
    with pytest.raises(ParameterError, match="not all the keys"):
        one.sum()
    with pytest.raises(SqlError, match="an answer chose"):
        ask_releases("SELECT SUM(value) FROM monday WHERE value < 3", answers)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT value FROM monday", "a row for each place"),
        ("SELECT place, hour, value FROM monday", "no key 'hour'"),
        ("SELECT place FROM monday", "One expression is selected"),
        ("SELECT place, value, value FROM monday", "One expression is selected"),
        ("SELECT place, estimate FROM monday WHERE value < 1", "One expression is selected"),
        ("SELECT place, m.upper + 1 FROM monday m", "'upper' is no number"),
        ("SELECT place, value * value FROM monday", "One side of"),
        ("SELECT AVG(value) FROM monday", r"AVG\(...\) is not known"),
        ("SELECT x, SUM(value) FROM monday GROUP BY x", "summed by 'x'"),
        ("SELECT place, value FROM monday GROUP BY place", "summed by 'place'"),
        ("SELECT place, value FROM monday m JOIN hours USING (place)", "keys are place and"),
        ('SELECT place, m.value FROM monday m JOIN "two days" t', r"USING \(keys\) is expected"),
        ('SELECT place, value FROM monday m JOIN "two days" t USING (place)', "of several answers"),
        ("SELECT place, x.value FROM monday m", "'x' is no answer here"),
        ("SELECT place, value FROM monday a JOIN all a", "Two answers|expected"),
        ("SELECT place, value FROM tuesday", "no answer 'tuesday'"),
        ("SELECT place, value FROM monday ORDER BY value", "end of the query is expected here"),
        ("SELECT place, value FROM monday; SELECT 1", "end of the query is expected here"),
        ("SELECT place, value FROM monday WHERE value = 3", "WHERE compares"),
        ("SELECT place, value FROM (SELECT 1)", "An answer is expected"),
        ("SELECT " + "(" * 300, "at most 200 parts"),
        ("SELECT " + "1 + " * 300 + "1 FROM monday", "at most 200 parts"),
        ("", "empty"),
    ],
)  # fmt: skip
def test_what_is_no_part_of_the_language_is_refused_at_its_place(answers, query, words):
    with pytest.raises(SqlError, match=words):
        ask_releases(query, answers)


def test_an_answer_without_bounds_is_refused_at_its_place(answers):
    session = od.Session(VISITS, policy=od.policy.bounded(), budget=9)
    median = session.median("hour", candidates=[1, 2], epsilon=1)
    with pytest.raises(SqlError, match=r"(?s)no bounds.*line 1, column 19"):
        ask_releases("SELECT value FROM median", {"median": median})


def test_a_sum_is_over_the_rows_of_from(answers):
    """As in SQL: a number, and an answer without keys, stand in each row."""
    counts, total = od.certain(answers["monday"]).sum(), od.certain(answers["all"])
    joined = ' FROM monday m JOIN "all" a'
    for query, expected in (
        ("SELECT SUM(1) FROM monday", od.session.Bounds.of(2)),
        ("SELECT SUM(value) + SUM(1) FROM monday", counts + 2),
        ("SELECT SUM(value) / SUM(1) FROM monday", counts / 2),
        (f"SELECT SUM(a.value){joined}", total * 2),
        (f"SELECT SUM(m.value + a.value){joined}", counts + total * 2),
        ("SELECT SUM(1) FROM hours", od.session.Bounds.of(4)),
    ):
        assert ask_releases(query, answers).table.columns() == expected.table.columns()
    by = ask_releases("SELECT place, SUM(1) FROM hours GROUP BY place", answers)
    assert by.table.columns()["lower"] == [2, 2]
    with pytest.raises(SqlError, match="in no other"):
        ask_releases("SELECT SUM(SUM(value)) FROM monday", answers)


def test_what_chooses_rows_is_told_among_the_sources(answers):
    query = 'SELECT place, m.value FROM monday m JOIN "two days" t USING (place) WHERE t.value < 99'
    found = ask_releases(query, answers)
    assert set(map(id, found.sources)) == {id(answers["monday"]), id(answers["two days"])}
    total = od.certain(answers["all"])
    assert len(total.where(total, "<") + 1) == 0
