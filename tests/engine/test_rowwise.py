import narwhals as nw
import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.engine._rowwise import require_rowwise
from onesided.policy import Predicate

GOOD = [
    "age < 18 or not opt_in",
    "place = 'select over (avg(x))' and \"over\" > 3",
    "hour(time) between 7 and 9 and dayofweek(time) in (1, 2)",
    "date_trunc('hour', t) = TIMESTAMP '2012-04-14 20:00'",
    "local_time::date = DATE '2012-04-14'",
    "coalesce(age, 0) < 18 and name <> '-- /*'",
    "case when (age > 3) then true else false end",
    "extract(hour from time) = 3 and name like 'a%'",
    "name is not distinct from 'x' and trim(both ' ' from name) = 'a'",
    nw.col("age") < 18,
    (nw.col("age").is_between(1, 2)) | ~nw.col("opt_in").fill_null(value=False),
    nw.col("name").str.starts_with("a") & nw.col("x").is_in([1, 2]),
    nw.col("t").dt.hour() == 3,
]
BAD = [
    ("age > avg(age)", "avg"),
    ("age > (select max(age) from t)", "select"),
    ("row_number() over () < 10", "over"),
    ("COUNT(*) > 3", "count"),
    ("age.max() = age", "max"),
    ("random() < 0.5", "random"),
    ("born < current_date", "current_date"),
    ("at < localtimestamp", "localtimestamp"),
    ("age < 3; drop table x", ";"),
    ("exists (x)", "exists"),
    ("age > (from v)", "from"),
    ("age in (table v)", "table"),
    ("age < 18 -- of age", "--"),
    # DuckDB ends a comment at a carriage return too, and would read what follows.
    ("age < 18 --\r or age > avg(age)", "--"),
    ("age < 18 /* of age */", "/*"),
    ("$$'$$ = '' or age > 3", "$"),
    (nw.col("age") > nw.col("age").mean(), "mean"),
    (nw.col("age").rank().over("place") > 1, "rank"),
    (nw.col("age").shift(1) > 1, "shift"),
    (nw.len() > 3, "len"),
    (nw.col("age").fill_null(strategy="forward") > 3, "fill_null(strategy=...)"),
    (nw.col("age").is_duplicated(), "is_duplicated"),
]


@pytest.mark.parametrize("condition", GOOD, ids=str)
def test_conditions_on_one_row_are_allowed(condition):
    require_rowwise(Predicate.of(condition))


@pytest.mark.parametrize(("condition", "word"), BAD, ids=[str(b[0]) for b in BAD])
def test_conditions_that_may_reach_further_are_refused_by_name(condition, word):
    with pytest.raises(errors.PolicyError, match="one row alone") as caught:
        require_rowwise(Predicate.of(condition))
    assert caught.value.values["word"] == word


def test_a_session_refuses_them_before_it_looks_at_anything():
    data = pl.DataFrame({"person": [1], "place": ["a"], "age": [3]})
    policy = od.policy.sensitive("age > avg(age)")
    with pytest.raises(errors.PolicyError, match="avg"):
        od.Session(data, unit="person", policy=policy, budget=1)
    session = od.Session(data, unit="person", policy=od.policy.bounded(), budget=1)
    with pytest.raises(errors.PolicyError, match="avg"):
        session.count(by="place", keys=["a"], epsilon=1, max_groups=1, where="age > avg(age)")


def test_a_condition_about_other_rows_breaks_the_promise():
    """Why: with ``age > avg(age)`` one person decides whether another is counted."""
    with_old, without = [30, 40, 90], [30, 40]

    def counted(ages):
        return sum(age > sum(ages) / len(ages) for age in ages if age < 50)

    # Dropping one person of 90, who is not even counted, raises the count of the others.
    assert counted(with_old) == 0
    assert counted(without) == 1
