"""n-grams of trajectories: consecutive rows of a unit in order, whatever the order of the table."""

import math
import random
from collections import Counter

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Record
from onesided.session import Ngrams
from onesided.verify import Universe

from .test_contract import read

# Older versions of DuckDB close a relation's connection when nobody else holds it.
CONNECTION = duckdb.connect()

PRIVATE = od.policy.sensitive("minor")
EXACT = 1000

WALKS = {
    "person": [1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4],
    "time": [1, 2, 3, 4, 7, 8, 9, 1, 1, 1, 2, 3],
    "place": ["a", "b", "a", "b", "b", "a", "b", "b", "a", "x", "y", "z"],
    "minor": [False] * 9 + [True, False, False],
}


def session(data, **more):
    noise = NotPrivateSeededNoise(7)  # ε is beyond what production answers
    return od.Session(
        data, **{"unit": "person", "policy": PRIVATE, "budget": 10**5, "noise": noise, **more}
    )


def grams(release, n):
    values = read(release.frame)
    keys = zip(*(values[f"place_{i}"] for i in range(1, n + 1)), strict=True)
    return dict(zip(keys, values["lower"], strict=True))


def by_hand(rows, n):
    """Distinct n-grams per person, counted."""
    walks, counts = {}, Counter()
    for person, time, place, minor in rows:
        walks.setdefault(person, []).append((time, place, minor))
    for steps in walks.values():
        if not any(minor for _, _, minor in steps):
            places = [place for _, place, _ in sorted(steps)]
            counts.update({tuple(places[i : i + n]) for i in range(len(places) - n + 1)})
    return dict(counts)


def test_consecutive_steps_of_open_units(engine):
    made = session(engine(WALKS))
    ask = {"by": "place", "order": "time", "max_groups": 9, "epsilon": EXACT * 9}
    # 3 was at a and b at once: a comes first, as a < b.
    assert grams(made.ngrams(n=2, **ask), 2) == {("a", "b"): 3, ("b", "a"): 2}
    assert grams(made.ngrams(n=3, **ask), 3) == {("b", "a", "b"): 2, ("a", "b", "a"): 1}
    assert grams(made.ngrams(n=1, **ask), 1) == {("a",): 3, ("b",): 3}
    assert grams(made.ngrams(n=4, **ask), 4) == {("a", "b", "a", "b"): 1}
    assert grams(made.ngrams(n=5, **ask), 5) == {}


STEPS = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.integers(0, 5),
        st.sampled_from("abc"),
        st.sampled_from([True] + [False] * 9),
    ),
    min_size=1,
    max_size=30,
)


@settings(max_examples=8)
@given(STEPS, st.integers(1, 4), st.randoms(use_true_random=False))
def test_it_does_not_matter_how_the_table_is_sorted(rows, n, chance):
    chance.shuffle(rows)
    table = {
        name: list(column) for name, column in zip(WALKS, zip(*rows, strict=True), strict=True)
    }
    expected = by_hand(rows, n)
    arrow = pa.table(table)
    for data in (pl.LazyFrame(table), pd.DataFrame(table), arrow, CONNECTION.from_arrow(arrow)):
        release = session(data).ngrams(
            by="place", order="time", n=n, max_groups=30, epsilon=EXACT * 30
        )
        assert grams(release, n) == expected


def test_repeated_rows_are_steps(engine):
    data = {"person": [1, 1], "time": [5, 5], "place": ["a", "a"], "minor": [False, False]}
    release = session(engine(data)).ngrams(
        by="place", order="time", n=2, max_groups=1, epsilon=EXACT
    )
    assert grams(release, 2) == {("a", "a"): 1}


def test_a_null_step_breaks_the_sequences_through_it(engine):
    data = {
        "person": [1] * 5,
        "time": [1, 2, 3, 4, 5],
        "place": ["a", "b", None, "c", "d"],
        "minor": [False] * 5,
    }
    release = session(engine(data)).ngrams(
        by="place", order="time", n=2, max_groups=4, epsilon=EXACT * 4
    )
    assert grams(release, 2) == {("a", "b"): 1, ("c", "d"): 1}


def test_whole_numbers_stay_whole(engine):
    big = 2**53 + 1
    data = {
        "person": [1, 1, 2],
        "time": [1, 2, 1],
        "place": [big, big + 2, 7],
        "minor": [False] * 3,
    }
    release = session(engine(data)).ngrams(
        by="place", order="time", n=2, max_groups=1, epsilon=EXACT
    )
    assert grams(release, 2) == {(big, big + 2): 1}


def test_contributions_are_bounded(engine):
    walk = random.Random(3).choices("abcdef", k=200)
    data = {"person": [1] * 200, "time": list(range(200)), "place": walk, "minor": [False] * 200}
    made = session(engine(data))
    release = made.ngrams(by="place", order="time", n=3, max_groups=5, epsilon=EXACT * 5)
    assert len(release) == 5
    assert release.mechanism.lower_rate == EXACT
    assert made.spent["sensitive -> open"] == EXACT * 5


def test_rows_are_picked_before_they_are_strung_together(engine):
    release = session(engine(WALKS)).ngrams(
        by="place", order="time", n=2, max_groups=5, epsilon=EXACT * 5, where="place = 'a'"
    )
    assert grams(release, 2) == {("a", "a"): 1}


def test_several_columns_of_order(engine):
    data = {
        "person": [1, 1, 1],
        "day": [2, 1, 1],
        "hour": [0, 9, 3],
        "place": ["c", "b", "a"],
        "minor": [False] * 3,
    }
    release = session(engine(data)).ngrams(
        by="place", order=["day", "hour"], n=3, max_groups=1, epsilon=EXACT
    )
    assert grams(release, 3) == {("a", "b", "c"): 1}


def test_rows_without_a_time_are_no_step_and_the_answer_says_so(engine):
    data = {
        "person": [1, 1, 1],
        "time": [1, None, 3],
        "place": ["a", "b", "c"],
        "minor": [False] * 3,
    }
    release = session(engine(data)).ngrams(by="place", order="time", n=2, max_groups=3, epsilon=90)
    assert release.labels == [("a", "c")]
    assert "Rows without a value in time are no step." in release.guarantee.about


@pytest.mark.parametrize(
    ("question", "error"),
    [
        ({"n": 0}, errors.ParameterError),
        ({"n": 65}, errors.ParameterError),
        ({"n": "2.5"}, errors.ParameterError),
        ({"by": "nope"}, errors.UnknownColumnError),
        ({"by": "person"}, errors.ParameterError),
        ({"order": "nope"}, errors.UnknownColumnError),
        ({"order": "person"}, errors.ParameterError),
        ({"order": "place"}, errors.ParameterError),
        ({"max_groups": None}, errors.ParameterError),
        ({"max_groups": 0}, errors.ParameterError),
        ({"epsilon": math.nan}, errors.ParameterError),
        ({"epsilon": -1}, errors.ParameterError),
        ({"counted": "nobody"}, errors.ParameterError),
        ({"by": "weight"}, errors.KeysError),
    ],
)
def test_questions_that_cannot_be_meant(question, error):
    made = session(pl.DataFrame(WALKS).with_columns(weight=pl.lit(1.5)))
    asked = {"by": "place", "order": "time", "n": 2, "max_groups": 2, "epsilon": 1, **question}
    with pytest.raises(error):
        made.ask(Ngrams(**asked))
    assert not any(made.spent.values())


def test_rows_have_no_trajectories():
    with pytest.raises(errors.ParameterError, match="unit is the row"):
        session(pl.DataFrame(WALKS), unit=None).ngrams(by="place", order="time", n=2, epsilon=1)


def test_policies_with_falls_are_refused():
    made = session(pl.DataFrame(WALKS), policy=od.policy.addition_only())
    with pytest.raises(errors.UnprotectableError):
        made.ngrams(by="place", order="time", n=2, max_groups=1, epsilon=1)


def test_asking_again_reads_the_stored_answer(engine):
    made = session(engine(WALKS))
    ask = {"by": "place", "order": "time", "n": 2, "max_groups": 2, "epsilon": 2, "id": "w"}
    assert grams(made.ngrams(**ask), 2) == grams(made.ngrams(**ask, again=True), 2)
    with pytest.raises(errors.ReleaseExistsError):
        made.ngrams(**{**ask, "n": 3})


@pytest.mark.heavy
def test_the_session_keeps_its_promise_exactly():
    policy = od.policy.sensitive("minor")
    world = Universe(
        values=(Record("sensitive", ("a", "b")), Record("open", ("a", "b", "a"))), ordered=True
    )

    def program(data, noise):
        rows = [
            (u, t, place, record.kind == "sensitive")
            for u, record in enumerate(data)
            for t, place in enumerate(record.value)
        ]
        # pandas gives groups in one order, so that a noise path decides the answer.
        table = pl.DataFrame(rows, schema=list(WALKS), orient="row").to_pandas()
        made = session(table, policy=policy, noise=noise)
        release = made.ngrams(by="place", order="time", n=2, max_groups=2, epsilon=4)
        return tuple(release.frame.itertuples(index=False, name=None))

    report = od.verify.exact(program, policy, world, tail=1e-5, sealed=False)
    losses = {edge.name: finding.loss for edge, finding in report.findings.items()}
    assert losses["sensitive -> open"] == pytest.approx(4, abs=1e-3)
