"""SQL is a front to the same questions: equal values where it is read, a place where it is not."""

# ruff: noqa: E501 - queries are lines
import random
from fractions import Fraction

import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise
from onesided.session import (
    AtLeast,
    AtMost,
    Count,
    Mean,
    Quantile,
    RowCount,
    Several,
    Sum,
    TopK,
    Variance,
)

VISITS = pl.DataFrame(
    {
        "person": [1, 1, 2, 3, 4],
        "place": ["a", "b", "b", "b", "a"],
        "hour": [1, 2, 3, 4, 5],
        "age": [20, 20, 30, 40, 50],
        "pay": [1.5, 2.5, 3.5, 0.5, 9.0],
        "from": [1, 2, 3, 4, 5],
        "two words": [1, 2, 3, 4, 5],
    }
)
HALF = Fraction(1, 2)


def of_units(policy=None, **more):
    policy = policy or od.policy.presence(max_groups=2)
    return od.Session(VISITS, unit="person", policy=policy, budget=1000, **more)


def of_rows(**more):
    return od.Session(VISITS, policy=od.policy.bounded(), budget=1000, **more)


N = "COUNT(DISTINCT person)"
BY = {"by": "place", "epsilon": 1}
# Queries about units at ε = 1, and the question that Python asks.
UNITS = [
    (f"SELECT {N} FROM visits", Count(epsilon=1)),
    (f"select {N.lower()} from visits", Count(epsilon=1)),
    (f"SELECT {N} FROM visits;", Count(epsilon=1)),
    (f"SELECT {N} FROM city.visits", Count(epsilon=1)),
    (f'SELECT {N} FROM "my visits"', Count(epsilon=1)),
    ('SELECT COUNT(DISTINCT "person") FROM visits', Count(epsilon=1)),
    ("SELECT COUNT(DISTINCT visits.person) FROM visits", Count(epsilon=1)),
    (f"SELECT {N} AS n FROM visits", Count(epsilon=1)),
    (f"SELECT\n  {N} -- how many\nFROM visits", Count(epsilon=1)),
    (f"SELECT /* all */ {N} FROM visits", Count(epsilon=1)),
    (f"SELECT place, {N} FROM visits GROUP BY place", Count(**BY)),
    (f"SELECT {N} FROM visits GROUP BY place", Count(**BY)),
    (f"SELECT place AS p, {N} AS n FROM visits GROUP BY place", Count(**BY)),
    (f"SELECT visits.place, {N} FROM visits GROUP BY visits.place", Count(**BY)),
    (
        f"SELECT place, hour, {N} FROM visits GROUP BY place, hour",
        Count(by=["place", "hour"], epsilon=1),
    ),
    (f"SELECT hour, {N} FROM visits GROUP BY place, hour", Count(by=["place", "hour"], epsilon=1)),
    (f'SELECT {N} FROM visits GROUP BY "two words"', Count(by="two words", epsilon=1)),
    (f'SELECT {N} FROM visits GROUP BY "from"', Count(by="from", epsilon=1)),
    (f"SELECT {N} FROM visits WHERE age >= 18", Count(where="age >= 18", epsilon=1)),
    (
        f"SELECT {N} FROM visits WHERE age >= 18 AND place = 'a'",
        Count(where="age >= 18 AND place = 'a'", epsilon=1),
    ),
    (
        f"SELECT place, {N} FROM visits WHERE (age > 1 OR hour < 3) GROUP BY place",
        Count(where="(age > 1 OR hour < 3)", **BY),
    ),
    (f"SELECT {N} FROM v WHERE place IN ('a', 'b')", Count(where="place IN ('a', 'b')", epsilon=1)),
    (f"SELECT {N} FROM v WHERE place LIKE 'a%'", Count(where="place LIKE 'a%'", epsilon=1)),
    (f"SELECT {N} FROM v WHERE pay IS NOT NULL", Count(where="pay IS NOT NULL", epsilon=1)),
    (f"SELECT {N} FROM v WHERE age BETWEEN 18 AND 65", Count(where="age BETWEEN 18 AND 65", epsilon=1)),
    (f"SELECT {N} FROM v WHERE place = 'it''s'", Count(where="place = 'it''s'", epsilon=1)),
    (f"SELECT {N} FROM v WHERE place = 'GROUP BY x'", Count(where="place = 'GROUP BY x'", epsilon=1)),
    (f'SELECT {N} FROM v WHERE "two words" = 1', Count(where='"two words" = 1', epsilon=1)),
    (
        f"SELECT {N} FROM v WHERE CASE WHEN age < 9 THEN hour ELSE 3 END = 3",
        Count(where="CASE WHEN age < 9 THEN hour ELSE 3 END = 3", epsilon=1),
    ),
    ("SELECT SUM_PER_UNIT(age) FROM visits", Sum("age", of="units", epsilon=1)),
    (
        "SELECT place AS p, SUM_PER_UNIT(age) FROM visits GROUP BY p",
        Sum("age", of="units", **BY),
    ),
    (
        "SELECT SUM(age, contribution_bounds_per_group => (0, 100)) FROM visits",
        Sum("age", of="units", total_bounds=(0, 100), epsilon=1),
    ),
    (
        "SELECT SUM(pay, contribution_bounds_per_group => (-1.5, 2.5)) FROM visits",
        Sum("pay", of="units", total_bounds=(Fraction(-3, 2), Fraction(5, 2)), epsilon=1),
    ),
    (
        "SELECT SUM_PER_UNIT(age, contribution_bounds_per_group => (0, 9)) FROM visits WHERE hour < 3",
        Sum("age", of="units", total_bounds=(0, 9), where="hour < 3", epsilon=1),
    ),
    ("SELECT MEAN_PER_UNIT(age) FROM visits", Mean("age", epsilon=1)),
    ("SELECT mean_per_unit(age) AS m FROM visits", Mean("age", epsilon=1)),
    ("SELECT place, MEAN_PER_UNIT(age) FROM visits GROUP BY place", Mean("age", **BY)),
    ("SELECT VAR_POP_PER_UNIT(age) FROM visits", Variance("age", epsilon=1)),
    ("SELECT VARIANCE_PER_UNIT(age) FROM visits", Variance("age", divisor="n - 1", epsilon=1)),
    ("SELECT STDDEV_PER_UNIT(age) FROM visits", Variance("age", divisor="n - 1", root=True, epsilon=1)),
    ("SELECT MEDIAN_PER_UNIT(age) FROM visits", Quantile("age", HALF, epsilon=1)),
    ("SELECT AVG_PER_UNIT(age) FROM visits", Mean("age", epsilon=1)),
    ("SELECT place, MEDIAN_PER_UNIT(age) FROM visits GROUP BY place", Quantile("age", HALF, **BY)),
    ("SELECT MIN(age) FROM visits", Quantile("age", 0, epsilon=1)),
    (
        "SELECT QUANTILE_PER_UNIT(age, 0.5, contribution_bounds_per_row => (0, 9)) FROM visits",
        Quantile("age", HALF, bounds=(0, 9), epsilon=1),
    ),
    ("SELECT MAX(age) FROM visits", Quantile("age", 1, epsilon=1)),
    ("SELECT QUANTILE_PER_UNIT(age, 0.9) FROM visits", Quantile("age", Fraction(9, 10), epsilon=1)),
    ("SELECT QUANTILE_PER_UNIT(age, .25) FROM visits", Quantile("age", Fraction(1, 4), epsilon=1)),
    ("SELECT QUANTILE_PER_UNIT(age, 0.5) FROM visits", Quantile("age", HALF, epsilon=1)),
    (f"SELECT place, {N} FROM v GROUP BY place ORDER BY {N} DESC LIMIT 2", TopK(2, **BY)),
    (f"SELECT place, {N} AS n FROM v GROUP BY place ORDER BY n DESC LIMIT 2", TopK(2, **BY)),
    (f"SELECT place FROM v GROUP BY place ORDER BY {N} DESC LIMIT 1", TopK(1, **BY)),
    (
        f"SELECT place, {N} AS n FROM v WHERE age > 3 GROUP BY place ORDER BY n DESC LIMIT 2",
        TopK(2, where="age > 3", **BY),
    ),
    (f"SELECT place FROM v GROUP BY place HAVING {N} <= 5", AtMost(5, **BY)),
    (f"SELECT place FROM v GROUP BY place HAVING {N} < 5", AtMost(4, **BY)),
    (f"SELECT place FROM v GROUP BY place HAVING {N} >= 5", AtLeast(5, **BY)),
    (f"SELECT place, {N} AS n FROM v GROUP BY place HAVING n > 0", AtLeast(1, **BY)),
    (f"SELECT place, {N} AS n FROM v GROUP BY place HAVING n <= 0", AtMost(0, **BY)),
    (f"SELECT place, {N} FROM v GROUP BY place HAVING {N} <= 5", AtMost(5, **BY)),
    (
        f"SELECT place FROM v WHERE hour < 9 GROUP BY place HAVING {N} <= 5",
        AtMost(5, where="hour < 9", **BY),
    ),
    (
        f"SELECT {N}, SUM_PER_UNIT(age) FROM v",
        Several([Count(epsilon=HALF), Sum("age", of="units", epsilon=HALF)]),
    ),
    (
        f"SELECT place, {N} AS n, MEAN_PER_UNIT(age) AS m FROM v WHERE age > 3 GROUP BY place",
        Several(
            [
                Count(by="place", where="age > 3", epsilon=HALF),
                Mean("age", by="place", where="age > 3", epsilon=HALF),
            ]
        ),
    ),
    (
        "SELECT MIN(age), MEDIAN_PER_UNIT(age), MAX(age) FROM v",
        Several([Quantile("age", q, epsilon=Fraction(1, 3)) for q in (0, HALF, 1)]),
    ),
]  # fmt: skip
# BigQuery's and SmartNoise's documented examples, written anew from their facts, about rows.
ROWS = [
    ("SELECT COUNT(*) FROM PUMS.PUMS", Count(epsilon=1)),
    ("SELECT count(*) AS n FROM visits", Count(epsilon=1)),
    ("SELECT place, COUNT(*) FROM PUMS.PUMS GROUP BY place", Count(**BY)),
    ("SELECT place, COUNT(*) AS n FROM PUMS.PUMS WHERE age > 80 GROUP BY place", Count(where="age > 80", **BY)),
    ("SELECT AVG(age) FROM PUMS.PUMS", Mean("age", epsilon=1)),
    ("SELECT place, AVG(age) AS age FROM PUMS.PUMS GROUP BY place", Mean("age", **BY)),
    ("SELECT VARIANCE(age) FROM PUMS.PUMS", Variance("age", divisor="n - 1", epsilon=1)),
    ("SELECT VAR_POP(age) FROM PUMS.PUMS", Variance("age", epsilon=1)),
    ("SELECT STDDEV_POP(age) FROM PUMS.PUMS", Variance("age", root=True, epsilon=1)),
    ("SELECT COUNT(*) n FROM visits", Count(epsilon=1)),
    ("SELECT hour, SUM(pay) AS income FROM PUMS.PUMS GROUP BY hour", Sum("pay", by="hour", epsilon=1)),
    (
        "SELECT place, SUM(pay), COUNT(*) FROM PUMS.PUMS GROUP BY place",
        Several([Sum("pay", by="place", epsilon=HALF), Count(by="place", epsilon=HALF)]),
    ),
    (
        "SELECT place, COUNT(*) AS n FROM PUMS.PUMS GROUP BY place ORDER BY n DESC LIMIT 2",
        TopK(2, **BY),
    ),
]  # fmt: skip
OPTIONS = [
    (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=10, delta=.01, privacy_unit_column=person)"
        " place, SUM(hour, contribution_bounds_per_group => (0,100)) AS average_hour"
        " FROM visits GROUP BY place",
        Sum("hour", by="place", of="units", total_bounds=(0, 100), epsilon=10),
    ),
    (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1e1, max_groups_contributed=2,"
        " privacy_unit_column=person) place, COUNT(DISTINCT person) FROM visits GROUP BY place",
        Count(by="place", max_groups=2, epsilon=10),
    ),
    (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=10, max_groups_contributed=NULL)"
        " COUNT(DISTINCT person) FROM visits",
        Count(epsilon=10),
    ),
    (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1.5,"
        " group_selection_strategy=PUBLIC_GROUPS) place, MEDIAN_PER_UNIT(age) FROM visits GROUP BY place",
        Quantile("age", HALF, by="place", epsilon=Fraction(3, 2)),
    ),
    (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=4, privacy_unit_column='person')"
        " AVG_PER_UNIT(age, contribution_bounds_per_row => (0, 6)), COUNT(DISTINCT person) FROM visits",
        Several([Mean("age", bounds=(0, 6), epsilon=2), Count(epsilon=2)]),
    ),
]


@pytest.mark.parametrize(
    ("text", "asked"), UNITS, ids=lambda one: one if isinstance(one, str) else ""
)
def test_sql_and_python_give_the_same_question_about_units(text, asked):
    assert of_units().question(text, epsilon=1) == asked


@pytest.mark.parametrize(
    ("text", "asked"), ROWS, ids=lambda one: one if isinstance(one, str) else ""
)
def test_sql_and_python_give_the_same_question_about_rows(text, asked):
    assert of_rows().question(text, epsilon=1) == asked


@pytest.mark.parametrize(("text", "asked"), OPTIONS, ids=range(len(OPTIONS)))
def test_the_clause_of_bigquery_is_read(text, asked):
    assert of_units().question(text) == asked


@pytest.mark.parametrize(("name", "kind"), [("AVG", Mean), ("VAR_POP", Variance)])
def test_rows_of_a_unit_are_averaged_where_max_rows_is_given(name, kind):
    """The same question, charge and answer as Python's."""
    text = f"SELECT {name}(age) FROM visits"
    more = {"bounds": (0, 99), "max_rows": 2}
    python = kind("age", **more, of="rows", epsilon=1)
    assert of_units().question(text, epsilon=1, **more) == python
    by_sql, by_python = (of_units(noise=NotPrivateSeededNoise(3)) for _ in range(2))
    one, two = by_sql.sql(text, epsilon=1, **more), by_python.ask(python)
    assert one.columns() == two.columns()
    assert by_sql.spent == by_python.spent
    with pytest.raises(errors.SqlError, match="may have many"):
        of_units().sql(text, epsilon=1, bounds=(0, 99))


# Queries about rows of named units, two of each at most.
OF_ROWS = [
    ("SELECT COUNT(*) FROM v", RowCount(max_rows=2, epsilon=1)),
    ("SELECT COUNT(1) FROM v", RowCount(max_rows=2, epsilon=1)),
    ("SELECT COUNT(age) FROM v", RowCount(max_rows=2, where='"age" IS NOT NULL', epsilon=1)),
    (
        'SELECT COUNT("two words") FROM v WHERE age > 3 OR hour < 2',
        RowCount(max_rows=2, where='(age > 3 OR hour < 2) AND "two words" IS NOT NULL', epsilon=1),
    ),
    ("SELECT SUM(age) FROM v", Sum("age", of="rows", max_rows=2, epsilon=1)),
    (
        "SELECT SUM(age, contribution_bounds_per_row => (0, 9)) FROM v",
        Sum("age", of="rows", max_rows=2, bounds=(0, 9), epsilon=1),
    ),
    ("SELECT MEDIAN(age) FROM v", Quantile("age", HALF, of="rows", max_rows=2, interpolate=True, epsilon=1)),
    (
        "SELECT QUANTILE(age, 0.9) FROM v",
        Quantile("age", Fraction(9, 10), of="rows", max_rows=2, interpolate=False, epsilon=1),
    ),
    (
        "SELECT SUM(age), SUM_PER_UNIT(age), MAX(age), COUNT(DISTINCT person) FROM v",
        Several([
            Sum("age", of="rows", max_rows=2, epsilon=HALF / 2),
            Sum("age", of="units", epsilon=HALF / 2),
            Quantile("age", 1, epsilon=HALF / 2),
            Count(epsilon=HALF / 2),
        ]),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "asked"), OF_ROWS, ids=[text for text, _ in OF_ROWS])
def test_rows_of_named_units_need_max_rows(text, asked):
    assert of_units().question(text, max_rows=2, epsilon=1) == asked
    with pytest.raises(errors.SqlError, match="max_rows="):
        of_units().question(text, epsilon=1)
    schema = od.Schema(unit="person", max_rows=2)
    session = od.Session(VISITS, schema=schema, policy=od.policy.unbounded(), budget=9)
    assert session._completed(session.question(text, epsilon=1)) == asked


def test_no_argument_lands_nowhere():
    ask = {"epsilon": 1, "max_rows": 2}
    for text, more in (
        ("SELECT COUNT(DISTINCT person) FROM v", {}),
        ("SELECT SUM_PER_UNIT(age) FROM v", {}),
        ("SELECT MAX(age) FROM v", {}),
        ("SELECT SUM(age) FROM v", {"total_bounds": (0, 9)}),
    ):
        with pytest.raises(errors.ParameterError, match="is no argument"):
            of_units().question(text, **ask, **more)


# What is refused: the place that the error points at, and a word of what works.
REFUSED = [
    ("SELECT * FROM visits", "*", "COUNT"),
    ("SELECT person FROM visits", "person", "GROUP BY"),
    ("SELECT age, COUNT(DISTINCT person) FROM visits", "age", "GROUP BY age"),
    ("SELECT place FROM visits GROUP BY place", "SELECT", "COUNT"),
    ("SELECT COUNT(*) FROM visits", "COUNT", "COUNT(DISTINCT person)"),
    ("SELECT COUNT(age) FROM visits", "COUNT", "COUNT(DISTINCT person)"),
    ("SELECT SUM(age) FROM visits", "SUM", "SUM_PER_UNIT(age)"),
    ("SELECT MEDIAN(age) FROM visits", "MEDIAN", "MEDIAN_PER_UNIT(age)"),
    ("SELECT PERCENTILE_DISC(age, 0.9) FROM visits", "PERCENTILE", "QUANTILE_PER_UNIT(age, 0.9)"),
    ("SELECT SUM_PER_UNIT(age, contribution_bounds_per_row => (0, 9)) FROM v", "SUM", "per_group"),
    ("SELECT COUNT(DISTINCT age) FROM visits", "COUNT", "COUNT(DISTINCT person)"),
    ("SELECT COUNT(DISTINCT person, age) FROM visits", "age", "docs/sql.md"),
    ("SELECT AVG(age) FROM visits", "AVG", "MEAN_PER_UNIT(age)"),
    ("SELECT VARIANCE(age) FROM visits", "VARIANCE", "VARIANCE_PER_UNIT(age)"),
    ("SELECT STDDEV(age) FROM visits", "STDDEV", "STDDEV_PER_UNIT"),
    ("SELECT VAR_POP(age) FROM visits", "VAR_POP", "VAR_POP_PER_UNIT"),
    ("SELECT MEAN(age) FROM visits", "MEAN", "MEAN_PER_UNIT"),
    ("SELECT SUMM(age) FROM visits", "SUMM", "SUM"),
    ("SELECT SUM(DISTINCT age) FROM visits", "SUM", "SUM(x)"),
    ("SELECT SUM(age + 1) FROM visits", "+", "Compute a column"),
    ("SELECT SUM(person) FROM visits", "person", "COUNT(DISTINCT person)"),
    ("SELECT SUM(agee) FROM visits", "agee", "'age'"),
    ("SELECT SUM(Age) FROM visits", "Age", "'age'"),
    ("SELECT SUM(1) FROM visits", "1", "SUM(x)"),
    ("SELECT SUM() FROM visits", ") FROM", "docs/sql.md"),
    ("SELECT SUM(age, 3) FROM visits", "3", "docs/sql.md"),
    ("SELECT SUM(age, bounds => (1, 2)) FROM visits", "bounds", "contribution_bounds"),
    ("SELECT SUM(age, contribution_bounds_per_group => (1)) FROM visits", ")) FROM", "docs"),
    ("SELECT SUM(age) OVER () FROM visits", "OVER", "Group by"),
    ("SELECT SUM(age) FILTER (WHERE age > 1) FROM visits", "FILTER", "WHERE"),
    ("SELECT SUM(age) + 1 FROM visits", "+", "released"),
    ("SELECT SUM(age) / COUNT(DISTINCT person) FROM visits", "/", "released"),
    ("SELECT QUANTILE(age) FROM visits", "QUANTILE", "QUANTILE(age, 0.5)"),
    ("SELECT QUANTILE(age, 2) FROM visits", "QUANTILE", "0.5"),
    ("SELECT APPROX_QUANTILES(age, 4) FROM visits", "APPROX", "QUANTILE"),
    ("SELECT ANON_COUNT(person) FROM visits", "ANON", "COUNT(DISTINCT unit)"),
    ("SELECT DISTINCT place FROM visits", "DISTINCT", "GROUP BY"),
    ("SELECT ALL place FROM visits", "place", "GROUP BY place"),
    ("SELECT COUNT(2) FROM visits", "2", "COUNT(x)"),
    ("SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age) FROM visits", "0.5", "(x, 0.9)"),
    (f"SELECT {N} FROM visits v", "v", "Leave"),
    (f"SELECT {N} FROM visits AS v", "AS", "Leave"),
    (f"SELECT {N} FROM visits, other", ", other", "Join the tables first"),
    (f"SELECT {N} FROM visits JOIN other ON 1 = 1", "JOIN", "Join the tables first"),
    (f"SELECT {N} FROM visits LEFT JOIN other ON 1 = 1", "LEFT", "Join the tables first"),
    (f"SELECT {N} FROM (SELECT * FROM visits)", "(SELECT", "Compute the inner"),
    (f"SELECT {N} FROM read_csv('/etc/passwd')", "('/etc", "docs"),
    (f"SELECT {N} FROM 'visits.csv'", "'visits", "docs"),
    (f"SELECT {N}", "", "table"),
    (f"SELECT {N} FROM", "", "docs"),
    (f"SELECT {N} FROM visits WHERE", "", "age >= 18"),
    (f"SELECT {N} FROM visits WHERE GROUP BY place", "GROUP", "age >= 18"),
    (f"SELECT {N} FROM visits WHERE age >", ">", "Conditions"),
    (f"SELECT {N} FROM visits WHERE age IN (SELECT 1)", "age", "Conditions"),
    (f"SELECT {N} FROM visits WHERE random() < 1", "random", "Conditions"),
    (f"SELECT {N} FROM visits WHERE EXISTS (SELECT 1)", "EXISTS", "Conditions"),
    (f"SELECT {N} FROM visits UNION SELECT 1", "UNION", "one query"),
    (f"SELECT {N} FROM visits WHERE age > 1 UNION SELECT 1", "UNION", "one query"),
    (f"SELECT {N} FROM visits; SELECT 1", "SELECT 1", "docs"),
    (f"SELECT {N} FROM visits; DROP TABLE visits", "DROP", "docs"),
    (f"SELECT {N} FROM visits GROUP BY 1", "1", "GROUP BY place"),
    (f"SELECT {N} FROM visits GROUP BY hour(age)", "hour", "Compute the column"),
    (f"SELECT {N} FROM visits GROUP BY plaze", "plaze", "'place'"),
    (f"SELECT {N} FROM visits GROUP BY place, ROLLUP(place)", "ROLLUP", "Write GROUP BY ROLLUP"),
    (f"SELECT {N} FROM visits GROUP BY CUBE (place), CUBE (place)", ",", "A query is"),
    (f"SELECT {N} FROM visits GROUP BY ROLLUP (place", "", "A query is"),
    ("SELECT MEAN_PER_UNIT(age) FROM visits GROUP BY ROLLUP (place)", "MEAN", "Ask for counts"),
    (f"SELECT place FROM visits GROUP BY place HAVING {N} <> 5", "<>", ">= t"),
    (f"SELECT place FROM visits GROUP BY place HAVING {N} = 5", "=", ">= t"),
    (f"SELECT place FROM visits GROUP BY place HAVING {N} >= 0", "0", "docs"),
    (f"SELECT place FROM visits GROUP BY place HAVING {N} <= 2.5", "2.5", "docs"),
    (f"SELECT place FROM visits GROUP BY place HAVING {N} < 0", "0", "docs"),
    ("SELECT place FROM visits GROUP BY place HAVING SUM(age) <= 5", "SUM", "COUNT"),
    ("SELECT place FROM visits GROUP BY place HAVING age <= 5", "age", "COUNT"),
    (f"SELECT {N} FROM visits HAVING {N} <= 5", "COUNT(DISTINCT person) <=", "GROUP BY"),
    (f"SELECT place, SUM(age) FROM v GROUP BY place HAVING {N} <= 5", "SUM", "query of their own"),
    (f"SELECT place FROM v GROUP BY place ORDER BY {N} LIMIT 3", "LIMIT", "DESC"),
    (f"SELECT place FROM v GROUP BY place ORDER BY {N} ASC LIMIT 3", "ASC", "DESC"),
    (f"SELECT place FROM v GROUP BY place ORDER BY {N} DESC", "", "sort the release"),
    (f"SELECT place, {N} FROM v GROUP BY place ORDER BY place", "place", "COUNT"),
    ("SELECT place FROM v GROUP BY place ORDER BY SUM(age) DESC LIMIT 3", "SUM", "COUNT"),
    (f"SELECT place FROM v GROUP BY place ORDER BY {N} DESC LIMIT 0", "0", "docs"),
    (f"SELECT {N} FROM v ORDER BY {N} DESC LIMIT 1", "COUNT(DISTINCT person) DESC", "GROUP BY"),
    (f"SELECT place FROM v GROUP BY place HAVING {N} <= 5 ORDER BY {N} DESC LIMIT 1",
     "COUNT(DISTINCT person) DESC", "one query for each"),
    (f"SELECT {N} FROM visits LIMIT 3", "LIMIT", "k largest"),
    (f"SELECT {N} FROM visits GROUP BY place LIMIT 3", "LIMIT", "k largest"),
    (f"SELECT {N} FROM v GROUP BY place ORDER BY {N} DESC LIMIT 3 OFFSET 2", "OFFSET", "largest"),
    (f"SELECT place, COUNT(person) FROM v GROUP BY place ORDER BY {N} DESC LIMIT 2", "COUNT(person)", "own"),
    (f"SELECT place, age, {N} AS age FROM v GROUP BY place, age HAVING age <= 5", "age <=", "another name"),
    (f"SELECT place, {N} AS n FROM v GROUP BY place HAVING v.n <= 5", "n <=", "COUNT"),
    ("SELECT SUM(age.hour) FROM visits", "hour", "alone"),
    (f"SELECT place, {N} FROM v GROUP BY place WHERE age > 18", "WHERE", "docs"),
    ("INSERT INTO visits VALUES (1)", "INSERT", "docs"),
    ("DELETE FROM visits", "DELETE", "docs"),
    ("WITH t AS (SELECT 1) SELECT COUNT(*) FROM t", "WITH", "docs"),
    ("PRAGMA database_list", "PRAGMA", "docs"),
    ("SELECT", "", "docs"),
    ("EXPLAIN", "", "docs"),
    ("nothing", "nothing", "docs"),
    (f"SELECT {N} FROM visits WHERE place = 'open", "'open", "''"),
    ("SELECT WITH ANONYMIZATION OPTIONS(epsilon=1) COUNT(*) FROM v", "ANONYM", "DIFFERENTIAL"),
    (f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(noise_kind=gaussian) {N} FROM v", "noise", "epsilon"),
    (f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=2) {N} FROM v", "epsilon", "Give it once"),
    (f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(privacy_unit_column=age) {N} FROM v", "privacy", "unit="),
    (f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(group_selection_strategy=GAUSSIAN_THRESHOLD) {N} FROM v", "group_s", "discover"),
    (f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(group_selection_strategy=LAPLACE_THRESHOLD) {N} FROM v", "SELECT", "GROUP BY"),
    (f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, epsilon=1) {N} FROM v", "epsilon=1)", "once"),
    (f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed=2.7) {N} FROM v", "max_gr", "Give one"),
    (f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=NULL) {N} FROM v", "epsilon", "once"),
    (f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(delta=none) {N} FROM v", "delta", "Give one"),
    (f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1 FROM x WHERE 3) {N} FROM v", "FROM x", "docs"),
    (f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(,) {N} FROM v", ",)", "docs"),
    (f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(;) {N} FROM v", ";)", "docs"),
    (f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1,) {N} FROM v", ") COUNT", "docs"),
    (f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(DISTINCT epsilon=1) {N} FROM v", "DISTINCT eps", "docs"),
    (f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS {N} FROM v", "COUNT", "OPTIONS(...)"),
    ("SELECT SUM(age, contribution_bounds_per_group => (0, 1), contribution_bounds_per_group => (0, 9)) FROM v",
     "contribution_bounds_per_group => (0, 9)", "once"),
    (f"SELECT {N} FROM v {{# WHERE #}}", "{#", "docs"),
    (f"SELECT {{fn {N}}} FROM v", "{fn", "docs"),
    ("SELECT COUNT(* EXCLUDE age) FROM v", "EXCLUDE", "docs"),
    (f"SELECT {N} FROM v GROUP BY DISTINCT place", "DISTINCT place", "double quotes"),
    (f"SELECT {N} FROM v GROUP BY nope.place", "place", "alone"),
    (f"SELECT {N} FROM v N'WHERE'", "N'", "Leave"),
    (f"SELECT {N}, FROM v", "FROM", "docs"),
    (f"SELECT {N} FROM v,", ",", "Join"),
    (f"SELECT {N} FROM v GROUP BY place,", "", "docs"),
    ("SELECT COUNT(DISTINCT person,) FROM v", ") FROM", "docs"),
    (f"SELECT {N} AS 'n' FROM v", "'n'", "docs"),
    (f"SELECT place AS n, {N} AS N FROM v GROUP BY place", "N FROM", "its own"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "place", "hint"), REFUSED, ids=[one[0][:60] for one in REFUSED])
def test_everything_else_is_refused_at_its_place(text, place, hint):
    session = of_units()
    with pytest.raises(errors.SqlError) as caught:
        session.sql(text, epsilon=1)
    found = caught.value
    assert hint in str(found), found
    at = found.values["place"]
    assert text[at:].startswith(place) if place else at == len(text), (text[at:], found)
    assert not any(session.spent.values())


JUNK = [
    *("{", "}", "{# x #}", ",", ";", "(", ")", "[", "`", "$", "@", "?", ".", "*", "=", "-", "1", "'a'", '"a"'),
    *("DISTINCT", "EXCLUDE age", "N'a'", "WHERE", "FROM x", "FOR UPDATE", "{fn", "=> 1", "#", "//"),
]  # fmt: skip


def test_no_word_of_a_query_is_read_over():
    """One word more is refused, or asks another question; a name may call a column."""
    rng, session = random.Random(7), of_units()
    for _ in range(3000):
        text, asked = rng.choice(UNITS)
        gaps = [at for at, sign in enumerate(text) if sign == " "] + [len(text)]
        at, junk = rng.choice(gaps), rng.choice(JUNK)
        if any(sign in text[:at] for sign in ("'", '"', "--", "/*")):
            continue  # within a text, a name or a comment all may stand
        more = f"{text[:at]} {junk} {text[at:]}"
        try:
            found = session.question(more, epsilon=1)
        except errors.OnesidedError:
            continue
        allowed = {";": text[at:].strip() in ("", ";"), '"a"': True}
        assert allowed.get(junk) or found != asked, more


def test_an_option_and_an_argument_do_not_contradict_each_other():
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed=2) COUNT(DISTINCT person) FROM v"
    assert of_units().question(text, epsilon=1, max_groups=2).max_groups == 2
    with pytest.raises(errors.SqlError, match="Give it once"):
        of_units().question(text, epsilon=1, max_groups=3)


def test_rows_have_words_of_their_own():
    for text, word in (("SELECT COUNT(DISTINCT person) FROM v", "COUNT\\(\\*\\)"),):
        with pytest.raises(errors.SqlError, match=word):
            of_rows().question(text, epsilon=1)


def test_there_are_many_queries():
    assert len(UNITS) + len(ROWS) + len(OF_ROWS) + len(OPTIONS) + len(REFUSED) >= 120


@pytest.mark.parametrize("text", ["", " ", 3, "SELECT \0", "SELECT \ud800", "x" * 200_000])
def test_what_is_no_text_of_a_query(text):
    with pytest.raises(errors.SqlError):
        of_units().sql(text, epsilon=1)


def test_answers_prices_and_plans_are_those_of_the_question():
    text = "SELECT place, COUNT(DISTINCT person) FROM visits WHERE age > 18 GROUP BY place"
    seeded = [of_units(noise=NotPrivateSeededNoise(4)) for _ in range(2)]
    first = seeded[0].sql(text, epsilon=2, keys=["a", "b"], id="x")
    second = seeded[1].count(by="place", keys=["a", "b"], where="age > 18", epsilon=2, id="x")
    assert first.columns() == second.columns()
    assert seeded[0].spent == seeded[1].spent
    told = seeded[0].count(
        by="place", keys=["a", "b"], where="age > 18", epsilon=2, id="x", again=True
    )
    assert told.told_again
    plan = seeded[0].sql("EXPLAIN " + text, epsilon=2, keys=["a", "b"])
    assert isinstance(plan, od.session.Plan)
    assert (
        plan.charge == seeded[1].plan(seeded[0].question(text, epsilon=2, keys=["a", "b"])).charge
    )
    assert seeded[0].spent == seeded[1].spent


def test_several_aggregates_are_one_charge():
    session = of_units()
    answers = session.sql(
        "SELECT COUNT(DISTINCT person), SUM_PER_UNIT(age) FROM visits",
        epsilon=2, total_bounds=(0, 100), id="both", weights=[1, 3],
    )  # fmt: skip
    assert len(session.ledger.entries(kind="spend")) == 1
    assert [one.guarantee.headline for one in answers] == [HALF, Fraction(3, 2)]


def test_keys_bounds_and_grids_come_from_the_schema():
    schema = od.Schema(
        unit="person",
        max_rows=2,
        columns={
            "place": od.column("text", keys=["a", "b"]),
            "age": od.column("integer", bounds=(0, 110)),
        },
    )
    session = od.Session(
        VISITS,
        schema=schema,
        policy=od.policy.addition_only(),
        budget=10**4,
        noise=NotPrivateSeededNoise(7),
    )
    text = "SELECT place, COUNT(DISTINCT person), SUM(age) FROM v GROUP BY place"
    counts, sums = session.sql(text, epsilon=1000, max_groups=2)
    assert counts.labels == sums.labels == ["a", "b"]
    assert sums.interval.upper.tolist() == [70, 90]
    assert abs(session.sql("SELECT MEDIAN(age) FROM v", epsilon=900).value - 30) <= 10


def test_further_arguments_are_those_of_the_questions():
    with pytest.raises(errors.ParameterError, match="bins= is no argument"):
        of_units().sql("SELECT COUNT(DISTINCT person) FROM v", epsilon=1, bins=3)
    with pytest.raises(errors.SqlError, match="No ε is given"):
        of_units().sql("SELECT COUNT(DISTINCT person) FROM v")
    question = of_units().question(
        "SELECT COUNT(DISTINCT person) FROM v", epsilon=1, confidence="0.9"
    )
    assert question == Count(epsilon=1, confidence="0.9")
