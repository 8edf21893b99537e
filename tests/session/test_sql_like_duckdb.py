"""SQL is SQL: random queries that are read, without noise, against DuckDB's own answers."""

import random
from fractions import Fraction

import duckdb
import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided.session import Variance
from onesided.session.values._value import Value

ROWS_OF_A_PERSON, LARGEST = 4, 60
EPSILON = 1000  # so that the middle of the noise is 0
GROUPS = {"place": ["x", "y", "z"], "open": [True, False]}


class NoNoise:
    """Noise that is 0, and the candidate that is nearest."""

    def geometric(self, _, size):
        return np.zeros(size, dtype=np.int64)

    def two_sided(self, _, __, size):
        return np.zeros(size, dtype=np.int64)

    def bernoulli(self, _, size):
        return np.zeros(size, dtype=bool)

    bernoulli_exp = bernoulli
    uniform = geometric

    def permutation(self, length):
        return np.arange(length)

    def permute_and_flip(self, _, deficits, __):
        return int(np.argmin(deficits))


def table(rng):
    """People with one to four rows, all in one place each, of whole and half values in bounds."""
    rows = []
    for person in range(rng.randint(40, 90)):
        place, is_open = rng.choice("xyz"), rng.random() < 0.5
        for _ in range(rng.randint(1, ROWS_OF_A_PERSON)):
            small = rng.randint(-10, 10) if rng.random() < 0.8 else None
            rows.append((person, place, is_open, rng.randint(0, 2 * LARGEST) / 2, small))
    return pl.DataFrame(rows, schema=["person", "place", "open", "cost", "small"], orient="row")


SCHEMA = od.Schema(
    unit="person",
    max_rows=ROWS_OF_A_PERSON,
    columns={
        "place": od.column("text", keys=GROUPS["place"]),
        "open": od.column("boolean", keys=GROUPS["open"]),
        "cost": od.column("number", bounds=(0, LARGEST), step="1/2"),
        "small": od.column("integer", bounds=(-10, 10)),
    },
)
SPREADS = ("VARIANCE", "VAR_SAMP", "VAR_POP", "STDDEV", "STDDEV_SAMP", "STDDEV_POP")
CONDITIONS = (
    "cost > 12",
    "cost BETWEEN 5 AND 40.5",
    "place IN ('x', 'z')",
    "NOT open OR small >= 0",
    "small IS NOT NULL",
    "place LIKE 'x%' OR cost < 20",
    "abs(small) < 6",
)


def aggregate(rng):
    """An aggregate in our words, and its step."""
    column, step = rng.choice((("cost", 0.5), ("small", 1)))
    share = rng.choice(("0.1", "0.25", "0.5", "0.9", "0.37"))
    return rng.choice(
        (
            ("COUNT(*)", 1),
            ("COUNT(small)", 1),
            ("COUNT(DISTINCT person)", 0),
            (f"SUM({column})", step),
            (f"AVG({column})", 0.02),  # about the mean of the noise
            (f"{rng.choice(SPREADS)}({column})", 0.02 * LARGEST),
            (f"MEDIAN({column})", step),
            (f"QUANTILE({column}, {share})", step),
            (f"PERCENTILE_CONT({column}, {share})", step),
            (f"PERCENTILE_DISC({column}, {share})", step),
        )
    )


def in_duckdb(text):
    """The two spellings that DuckDB has of its own."""
    text = text.replace("PERCENTILE_CONT", "QUANTILE_CONT")
    return text.replace("PERCENTILE_DISC", "QUANTILE_DISC")


@pytest.mark.parametrize("seed", range(12))
def test_a_query_means_what_it_means_in_duckdb(seed):
    rng = random.Random(seed)
    rows = table(rng)
    policy = rng.choice((od.policy.unbounded(), od.policy.addition_only()))
    asked = od.Session(rows, schema=SCHEMA, policy=policy, budget=10**9, noise=NoNoise())
    with duckdb.connect() as own:
        own.register("visits", rows.to_arrow())
        for _ in range(8):
            word, step = aggregate(rng)
            group = rng.choice((None, "place", "open"))
            where = f" WHERE {rng.choice(CONDITIONS)}" if rng.random() < 0.6 else ""
            keys, by = (f"{group} AS g, ", " GROUP BY g") if group else ("", "")
            text = f"SELECT {keys}{word} FROM visits{where}{by}"
            given = {"max_groups": 1} if group else {}
            told = (
                asked.sql(text, epsilon=EPSILON, missing="drop", **given)
                if "COUNT" not in word
                else (asked.sql(text, epsilon=EPSILON, **given))
            )
            found = dict(zip(told.labels, told.columns()["estimate"], strict=True))
            due = own.execute(in_duckdb(text)).fetchall()
            for row in due:
                value = found[row[0]] if group else next(iter(found.values()))
                if row[-1] is not None:
                    assert abs(float(value) - float(row[-1])) <= step + 1e-9, (text, row)


def test_the_test_sees_another_meaning():
    """Each unit once, with its own mean, is not what a query of rows says."""
    rows = pl.DataFrame({"person": [1, 1, 1, 2], "cost": [10.0, 10.0, 10.0, 50.0]})
    schema = od.Schema(unit="person", max_rows=3, columns={"cost": SCHEMA.columns["cost"]})
    asked = od.Session(
        rows, schema=schema, policy=od.policy.unbounded(), budget=10**9, noise=NoNoise()
    )
    by_rows = asked.sql("SELECT AVG(cost) FROM v", epsilon=EPSILON).value
    by_units = asked.sql("SELECT AVG_PER_UNIT(cost) FROM v", epsilon=EPSILON).value
    assert (by_rows, by_units) == (20, 30)


@pytest.mark.parametrize("word", SPREADS)
@pytest.mark.parametrize("values", [[1.0, 4.0], [0.0, 1.0, 5.0, 9.5], [3.0, 3.0, 3.0]])
def test_few_values_vary_as_they_do_in_duckdb(word, values):
    """Of few, n and n - 1 are told apart."""
    rows = pl.DataFrame({"x": values})
    text = f"SELECT {word}(x) FROM rows"
    asked = od.Session(rows, policy=od.policy.bounded(), budget=10**9, noise=NoNoise())
    told = asked.sql(text, epsilon=EPSILON, bounds=(0, 10), step="1/2")
    with duckdb.connect() as own:
        own.register("rows", rows.to_arrow())
        (due,) = own.execute(text).fetchone()
    assert told.value == pytest.approx(due, abs=1e-9)
    assert told.interval.lower[0] - 1e-9 <= due <= told.interval.upper[0] + 1e-9


def test_a_spread_says_what_it_divides_by():
    rows = pl.DataFrame({"x": [1, 2, 3]})
    asked = od.Session(rows, policy=od.policy.bounded(), budget=9)
    said = [
        asked.statement(
            asked.question(f"SELECT {word}(x) FROM v", epsilon=1, bounds=(0, 9))
        ).title()
        for word in ("VAR_POP", "STDDEV")
    ]
    assert said == [
        "Variance of x, over rows (divides by n)",
        "Standard deviation of x, over rows (divides by n - 1)",
    ]


@pytest.mark.parametrize(
    ("divisor", "variance"), [("n", Fraction(9, 4)), ("n - 1", Fraction(9, 2))]
)
def test_a_spread_of_public_numbers_lies_between_its_bounds(divisor, variance):
    """Where nothing is hidden both bounds are the statistic, each rounded to its own side."""
    value = Value(column="x", step=Fraction(1, 2), low=0, high=20, missing="refuse")
    sums = [2 + 8, 2**2 + 8**2]  # of the values 1 and 4, in steps of a half
    for root in (False, True):
        asked = Variance("x", divisor=divisor, root=root, epsilon=1)
        low, high = map(Fraction, asked._exact(2, sums, 0, value))
        assert low <= high
        if root:
            low, high = low**2, high**2
            assert low < variance < high or root is False
        assert low <= variance <= high
    alone = Variance("x", divisor=divisor, root=True, epsilon=1)._exact(1, [3, 9], 0, value)
    assert alone == (0, 0)
