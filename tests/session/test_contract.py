"""What every engine must do, the same way."""

import datetime as dt

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise

EXACT = 1000  # at this epsilon the noise is zero in all but e^-300 of the draws


def read(frame):
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if hasattr(frame, "get_backend"):  # a table of Ibis
        return frame.to_pyarrow().to_pydict()
    if isinstance(frame, pl.DataFrame):
        return frame.to_dict(as_series=False)
    if isinstance(frame, pd.DataFrame):
        return {name: frame[name].tolist() for name in frame}
    if isinstance(frame, pa.Table):
        return frame.to_pydict()
    rows = frame.collect() if hasattr(frame, "sparkSession") else frame.fetchall()
    return {name: [row[i] for row in rows] for i, name in enumerate(frame.columns)}


VISITS = {
    "person": [1, 1, 1, 2, 2, 3, 4, 4, 4, 4, 5],
    "place": ["a", "a", "b", "a", "c", "b", "a", "b", "c", "d", "z"],
    "age": [20, 20, 20, 30, 30, 15, 40, 40, 40, 40, 50],
}
COUNTS = {"a": 3, "b": 3, "c": 2, "d": 1, "e": 0}


def session(data, policy=None, **more):
    policy = policy or od.policy.addition_only()
    noise = NotPrivateSeededNoise(7)  # ε is beyond what production answers
    return od.Session(
        data, **{"unit": "person", "policy": policy, "budget": 10**4, "noise": noise, **more}
    )


def counts(release):
    values = read(release.frame)
    return dict(zip(values["place"], values["estimate"], strict=True))


def test_distinct_units_are_counted_per_public_key(engine):
    release = session(engine(VISITS)).count(
        by="place", keys=list(COUNTS), epsilon=EXACT, max_groups=4
    )
    assert counts(release) == COUNTS


def test_the_answer_is_a_frame_of_the_callers_type_with_all_columns(engine):
    data = engine(VISITS)
    frame = session(data).count(by="place", keys=["b", "a"], epsilon=1, max_groups=4).frame
    assert type(frame) is type(data)
    values = read(frame)
    assert list(values) == ["place", "estimate", "lower", "upper", "lower_certain", "upper_certain"]
    assert values["place"] == ["b", "a"]
    assert values["upper_certain"] == [True, True]
    assert values["lower_certain"] == [False, False]
    for name in ("estimate", "lower", "upper"):
        assert all(isinstance(value, int | np.integer) for value in values[name])
    assert all(u >= t for u, t in zip(values["upper"], (3, 3), strict=True))


def test_rows_are_the_unit_when_none_is_named(engine):
    release = session(engine(VISITS), unit=None).count(by="place", keys=["a", "z"], epsilon=EXACT)
    assert counts(release) == {"a": 4, "z": 1}


def test_totals_need_no_keys(engine):
    release = session(engine(VISITS)).count(epsilon=EXACT)
    assert read(release.frame)["estimate"] == [5]
    assert release.at_most(5) == [()]


def test_several_grouping_columns(engine):
    release = session(engine(VISITS)).count(
        by=["place", "age"], keys=[("a", 20), ("b", 15), ("b", 99)], epsilon=EXACT, max_groups=4
    )
    assert read(release.frame)["estimate"] == [1, 1, 0]
    assert release.at_most(0) == [("b", 99)]


def test_where_picks_rows(engine):
    release = session(engine(VISITS)).count(
        by="place",
        keys=list(COUNTS),
        epsilon=EXACT,
        max_groups=4,
        where="age < 35 and place <> 'c'",
    )
    assert counts(release) == {"a": 2, "b": 2, "c": 0, "d": 0, "e": 0}


@pytest.mark.parametrize("where", [nw.col("age") < 35, "any(age < 35)", "age + 1"], ids=str)
def test_what_is_no_condition_is_refused_before_anything_is_charged(engine, where):
    asked = session(engine(VISITS))
    with pytest.raises(errors.ConditionError):
        asked.count(by="place", keys=["a"], epsilon=1, max_groups=1, where=where)
    assert asked.spent == {"record -> absent": 0}


def test_truncation_keeps_each_unit_in_at_most_the_bound(engine):
    release = session(engine(VISITS)).count(
        by="place", keys=list(COUNTS), epsilon=EXACT, max_groups=1, on_excess="truncate"
    )
    # Persons 1, 2 and 4 are each cut to one place; 3 was in one; 5 was in no public place.
    assert sum(counts(release).values()) == 4
    assert "bounded data" in release.guarantee.about


def test_truncation_depends_on_the_unit_alone(engine):
    alone = {
        name: [v for v, p in zip(VISITS[name], VISITS["person"], strict=True) if p == 4]
        for name in VISITS
    }
    kept = [
        {
            place
            for place, count in counts(
                session(engine(data)).count(
                    by="place",
                    keys=list(COUNTS),
                    epsilon=EXACT,
                    max_groups=2,
                    where="person = 4",
                    on_excess="truncate",
                )
            ).items()
            if count
        }
        for data in (VISITS, alone)
    ]
    assert kept[0] == kept[1]
    assert len(kept[0]) == 2


def test_asserting_the_bound_refuses_and_charges_nothing(engine):
    asked = session(engine(VISITS))
    with pytest.raises(errors.ContributionError, match="more than 2") as caught:
        asked.count(by="place", keys=list(COUNTS), epsilon=1, max_groups=2, on_excess="error")
    assert caught.value.values == {"units": 1, "largest": 4}
    assert asked.spent == {"record -> absent": 0}
    release = asked.count(
        by="place", keys=list(COUNTS), epsilon=EXACT, max_groups=4, on_excess="error"
    )
    assert counts(release) == COUNTS


def test_presence_counts_everyone_whole_by_default(engine):
    release = session(engine(VISITS), od.policy.presence(max_groups=1)).count(
        by="place", keys=list(COUNTS), epsilon=EXACT
    )
    assert counts(release) == COUNTS
    assert release.guarantee.about == "About the data as recorded."
    assert release.interval.upper_certain


def test_truncating_under_presence_gives_up_certainty(engine):
    release = session(engine(VISITS), od.policy.presence(max_groups=1)).count(
        by="place", keys=list(COUNTS), epsilon=EXACT, on_excess="truncate"
    )
    assert not release.interval.upper_certain
    with pytest.raises(errors.ParameterError, match="at most"):
        release.at_most(3)


KINDS = {
    "person": [1, 1, 2, 3, 4, 5, 5],
    "place": ["a", "a", "a", "a", "a", "a", "b"],
    "age": [20, 12, 30, None, 17, 40, 41],
    "opt_in": [True, True, True, True, True, None, True],
}


@pytest.mark.parametrize(
    ("predicate", "open_units"),
    [
        ("age < 18", 2),  # 1 (one row under 18), 3 (unknown) and 4 are sensitive
        ("age < 18 or not opt_in", 1),  # 5 has an unknown consent
    ],
    ids=["one", "two"],
)
def test_a_unit_is_sensitive_if_any_row_is_or_may_be(engine, predicate, open_units):
    asked = session(engine(KINDS), od.policy.sensitive(predicate))
    question = {"by": "place", "keys": ["a"], "epsilon": EXACT, "max_groups": 2}
    assert counts(asked.count(**question, counted="open")) == {"a": open_units}
    assert counts(asked.count(**question, counted="sensitive")) == {"a": 5 - open_units}
    assert counts(asked.count(**question)) == {"a": 5}
    undecided = 2 if open_units == 1 else 1
    notes = asked.inspect(od.Count(**question))
    assert notes.rows_of_undecided_kind == undecided


def test_nan_is_unknown_too(engine):
    data = {**KINDS, "age": [20.0, 30.0, 30.0, float("nan"), 17.0, 40.0, 41.0]}
    asked = session(engine(data), od.policy.sensitive("age < 18"))
    release = asked.count(by="place", keys=["a"], epsilon=EXACT, counted="open", max_groups=2)
    assert counts(release) == {"a": 3}


def test_the_kind_is_decided_before_where(engine):
    asked = session(engine(KINDS), od.policy.sensitive("age < 18"))
    release = asked.count(
        by="place", keys=["a"], epsilon=EXACT, counted="open", max_groups=2, where="age >= 18"
    )
    assert counts(release) == {"a": 2}


def test_units_of_rows_are_sensitive_row_by_row(engine):
    asked = session(engine(KINDS), od.policy.sensitive("age < 18"), unit=None)
    release = asked.count(by="place", keys=["a", "b"], epsilon=EXACT, counted="open")
    assert counts(release) == {"a": 3, "b": 1}


KEY_TYPES = {
    "int8": (np.array([1, 2, 2], np.int8), [1, 2]),
    "int16": (np.array([1, 2, 2], np.int16), [1, 2]),
    "int32": (np.array([1, 2, 2], np.int32), [1, 2]),
    "int64": (np.array([1, 2, 2], np.int64), [1, 2]),
    "uint8": (np.array([1, 2, 2], np.uint8), [1, 2]),
    "uint32": (np.array([1, 2, 2], np.uint32), [1, 2]),
    "uint64": (np.array([1, 2, 2], np.uint64), [1, 2]),
    "text": (["1", "2", "2"], ["1", "2"]),
    "boolean": ([False, True, True], [False, True]),
    "date": ([dt.date(2024, 1, d) for d in (1, 2, 2)], [dt.date(2024, 1, 1), dt.date(2024, 1, 2)]),
    "datetime": (
        [dt.datetime(2024, 1, d) for d in (1, 2, 2)],  # noqa: DTZ001
        [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2)],  # noqa: DTZ001
    ),
}


@pytest.mark.parametrize("mode", ["truncate", "error"])
def test_every_common_key_type_works(engine, mode):
    columns = {kind: column for kind, (column, _) in KEY_TYPES.items()}
    asked = session(engine({"person": [1, 2, 3], **columns}), budget=10**5)
    for kind, (_, keys) in KEY_TYPES.items():
        by = {"by": kind, "keys": keys, "max_groups": 1, "on_excess": mode}
        values = read(asked.count(**by, epsilon=EXACT).frame)
        assert values["estimate"] == [1, 2], kind
        assert [str(v)[:10] for v in values[kind]] == [str(k)[:10] for k in keys], kind


@pytest.mark.parametrize("mode", ["truncate", "error"])
@pytest.mark.parametrize("kind", ["categorical", "enum"])
def test_categories_work(kind, mode):
    values = ["x", "y", "y"]
    types = {"categorical": pl.Categorical(), "enum": pl.Enum(["x", "y"])}
    frames = [
        pl.DataFrame({"person": [1, 2, 3], "key": pl.Series(values, dtype=types[kind])}),
        pd.DataFrame({"person": [1, 2, 3], "key": pd.Categorical(values)}),
        pa.table({"person": [1, 2, 3], "key": pa.array(values).dictionary_encode()}),
    ]
    for data in frames:
        release = session(data).count(
            by="key", keys=["x", "y"], epsilon=EXACT, max_groups=1, on_excess=mode
        )
        assert read(release.frame)["estimate"] == [1, 2]


def test_columns_that_are_not_used_are_never_looked_at(engine):
    data = {**VISITS, "odd": [[i] for i in range(11)]}
    release = session(engine(data)).count(by="place", keys=["a"], epsilon=EXACT, max_groups=4)
    assert counts(release) == {"a": 3}


def test_an_empty_table_gives_noisy_zeros(engine):
    data = engine({"person": np.array([], np.int64), "place": np.array([], np.int64)})
    for mode in ("truncate", "error"):
        release = session(data).count(
            by="place", keys=[1, 2], epsilon=EXACT, max_groups=1, on_excess=mode
        )
        assert counts(release) == {1: 0, 2: 0}


def test_rows_of_nobody_are_refused_with_their_number(engine):
    data = engine({"person": [1, None, None], "place": ["a", "a", "b"]})
    # pandas makes floats of ids of which some are missing.
    with pytest.raises(errors.DataError, match=r"2 rows have no value|holds Float64") as caught:
        session(data)
    assert caught.value.values["column"] == "person"


def test_rows_outside_the_keys_are_reported_to_the_curator_only(engine):
    data = engine({"person": [1, 2, 3, 3], "place": ["a", "b", None, "c"]})
    asked = session(data)
    question = od.Count(by="place", keys=["a"], epsilon=EXACT, max_groups=1)
    notes = asked.inspect(question)
    assert (notes.rows, notes.counted_outside_keys) == (4, 3)
    assert counts(asked.ask(question)) == {"a": 1}


def test_unknown_columns_are_named(engine):
    with pytest.raises(errors.UnknownColumnError, match="'who'"):
        session(engine(VISITS), unit="who")
    asked = session(engine(VISITS))
    with pytest.raises(errors.UnknownColumnError, match="'where'"):
        asked.count(by="where", keys=["a"], epsilon=1, max_groups=1)
    with pytest.raises(errors.DataError, match="shoe_size"):
        asked.count(by="place", keys=["a"], epsilon=1, max_groups=1, where="shoe_size > 3")
    assert asked.spent == {"record -> absent": 0}


def test_a_unit_of_combined_policies_has_both_kinds(engine):
    policy = od.policy.sensitive("age < 18") & od.policy.sensitive("not opt_in")
    asked = session(engine(KINDS), policy)
    found = {}
    for kind in policy.kinds:
        release = asked.count(by="place", keys=["a"], epsilon=EXACT, counted=kind, max_groups=2)
        found[kind] = counts(release)["a"]
    # 1, 3 and 4 are or may be young; 5 may have opted out; 2 is neither.
    assert sum(found.values()) == 5
    assert found["open"] == 1


def test_a_record_of_one_value_is_counted_in_one_group(engine):
    data = engine({"person": [1, 1, 2], "place": ["a", "b", "a"]})
    for policy in (
        od.policy.graph([("a", "b")]),
        od.policy.attributes({"place": ["a"]}),
        od.policy.local(["a", "b"]),
    ):
        asked = session(data, policy)
        with pytest.raises(errors.ParameterError, match="one value"):
            asked.count(by="place", keys=["a", "b"], epsilon=EXACT, max_groups=2)
        with pytest.raises(errors.ContributionError):
            asked.count(by="place", keys=["a", "b"], epsilon=EXACT)
        cut = asked.count(by="place", keys=["a", "b"], epsilon=EXACT, on_excess="truncate")
        assert sum(counts(cut).values()) == 2
