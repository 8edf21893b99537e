"""True-record samples: whole units, decided once, and nothing of those left out."""

import io
import math
import pickle

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.covering import drawn

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Record
from onesided.session import Sample
from onesided.verify import Universe

from .test_contract import read

# Older versions of DuckDB close a relation's connection when nobody else holds it.
CONNECTION = duckdb.connect()

PRIVATE = od.policy.sensitive("age < 18")
ALL = 1000  # at this epsilon a unit is dropped with probability e^-1000

VISITS = {
    "person": [1, 1, 2, 2, 3, 3, 4, 5],
    "place": ["a", "b", "a", "c", "b", "d", "a", "e"],
    "age": [20, 20, 17, 40, None, 50, 18, 3],
}


def session(data, policy=PRIVATE, **more):
    noise = NotPrivateSeededNoise(7)  # ε is beyond what production answers
    given = {"unit": "person", "policy": policy, "budget": 10**4, "noise": noise}
    return od.Session(data, **given | more)


def people(frame):
    return sorted(set(read(frame)["person"]))


def test_open_units_come_whole_and_protected_ones_never(rows_engine):
    # 2 has one sensitive row, 3 has one of unknown age, 5 is sensitive.
    release = session(rows_engine(VISITS)).sample(epsilon=ALL)
    assert people(release.frame) == [1, 4]
    assert sorted(read(release.frame)["place"]) == ["a", "a", "b"]
    assert dict(release.units) == {"open": 2}


def test_rows_are_open_or_not_on_their_own_where_the_row_is_the_unit(rows_engine):
    release = session(rows_engine(VISITS), unit=None).sample(epsilon=ALL)
    assert sorted(read(release.frame)["place"]) == ["a", "a", "b", "c", "d"]


def test_the_sample_is_of_the_callers_type_and_schema(rows_engine):
    data = rows_engine(VISITS)
    for unit in ("person", None):
        frame = session(data, unit=unit).sample(epsilon=ALL).frame
        assert type(frame) is type(data)
        if isinstance(data, pl.DataFrame):
            assert frame.schema == data.schema
        elif isinstance(data, pl.LazyFrame):
            assert frame.collect_schema() == data.collect_schema()
        elif isinstance(data, pd.DataFrame):
            assert (frame.dtypes == data.dtypes).all()
        elif isinstance(data, pa.Table) or hasattr(data, "sparkSession"):
            assert frame.schema == data.schema
        elif hasattr(data, "sparkSession"):
            assert frame.dtypes == data.dtypes
        else:
            ibis = hasattr(frame, "get_backend")
            assert (frame.schema() == data.schema()) if ibis else (frame.types == data.types)
            assert frame.columns == data.columns


def test_an_answer_read_twice_is_the_same(rows_engine):
    many = {"person": list(range(500)), "age": [30] * 500}
    for unit in ("person", None):
        frame = session(rows_engine(many), unit=unit).sample(epsilon="1/2").frame
        assert people(frame) == people(frame)
        assert 0 < len(people(frame)) < 500


def test_the_order_of_the_table_is_kept(rows_engine):
    if hasattr(rows_engine({"x": [1]}), "sparkSession"):
        return  # a Spark table has no order, and the sample has one of its own
    many = {"person": list(range(300, 0, -1)), "age": [30] * 300}
    for unit in ("person", None):
        found = read(session(rows_engine(many), unit=unit).sample(epsilon=1).frame)["person"]
        assert found == sorted(found, reverse=True)


def test_values_come_back_as_they_were_nan_included(rows_engine):
    data = rows_engine({"person": [1, 2], "age": [30.0, math.nan], "x": [math.nan, 1.0]})
    for unit in ("person", None):
        found = read(session(data, unit=unit).sample(epsilon=ALL).frame)
        assert found["person"] == [1]
        assert found["age"] == [30.0]
        if not isinstance(data, pd.DataFrame):  # Arrow-backed pandas may take it for unknown
            assert math.isnan(found["x"][0])


def test_units_are_kept_with_the_right_chance(rows_engine):
    # 2,000 units, six deviations: false alarm 2e-9; a rate wrong by 25% is seen.
    many = {"person": [*range(2000), *range(2000)], "age": [30] * 4000}
    release = session(rows_engine(many), noise=NotPrivateSeededNoise(4)).sample(epsilon=1)
    keep = 1 - math.exp(-1)
    kept = people(release.frame)
    assert len(kept) == release.units["open"]
    assert len(read(release.frame)["person"]) == 2 * len(kept)
    assert abs(len(kept) - 2000 * keep) < 6 * math.sqrt(2000 * keep * (1 - keep))
    assert release.keep["open"] == pytest.approx(keep)


def test_several_kinds_have_coins_of_their_own(rows_engine):
    policy = od.policy.custom(
        kinds=("vip", "staff", "guest"),
        edges=[("vip", "staff", 1000), ("vip", "guest", "1/1000")],
        rules=[("vip", "role = 'vip'"), ("staff", "role = 'staff'")],
        default="guest",
    )
    roles = {"person": list(range(60)), "role": ["vip", "staff", "guest"] * 20}
    for unit in ("person", None):
        made = session(rows_engine(roles), policy, unit=unit)
        release = made.sample(epsilon=1)
        found = read(release.frame)["role"]
        assert found.count("staff") == 20 == release.units["staff"]
        assert found.count("guest") == release.units["guest"] < 5
        assert "vip" not in found
        left = {edge: 10**4 * weight for edge, weight in _weights(policy).items()}
        assert made.spent == {"vip -> staff": 1000, "vip -> guest": left["vip -> guest"] / 10**4}


def _weights(policy):
    return {edge.name: edge.weight for edge in policy.edges}


def test_only_edges_into_open_kinds_are_charged():
    made = session(pl.DataFrame(VISITS))
    made.sample(epsilon=2)
    assert made.spent == {"sensitive -> sensitive": 0, "sensitive -> open": 2}
    tiers = od.policy.tiers({"a": (1, "age < 18"), "b": (3, "age < 30"), "rest": od.INFINITE})
    other = session(pl.DataFrame(VISITS), tiers)
    plan = other.plan(Sample(epsilon=2))
    assert plan.charge == {e.name: 2 if e.target == "rest" else 0 for e in tiers.edges}
    assert "1 - exp(-2)" in str(plan.guarantee)


def test_removal_only_is_poisson_sampling_and_says_what_it_is_worth():
    made = session(pl.DataFrame(VISITS), od.policy.removal_only())
    release = made.sample(epsilon=ALL)
    assert people(release.frame) == [1, 2, 3, 4, 5]
    assert "in the clear" in str(release)
    assert "in the clear" not in str(session(pl.DataFrame(VISITS)).sample(epsilon=1))


@pytest.mark.parametrize(
    "policy",
    [
        od.policy.bounded(),
        od.policy.unbounded(),
        od.policy.addition_only(),
        od.policy.presence(max_groups=1),
        od.policy.proposition("age > 18"),
    ],
    ids=lambda policy: policy.name,
)
def test_policies_that_protect_every_record_are_refused(policy):
    made = session(pl.DataFrame(VISITS), policy)
    with pytest.raises(errors.UnprotectableError, match="as it is"):
        made.sample(epsilon=1)
    assert not any(made.spent.values())


def test_an_open_kind_that_no_row_can_be_is_refused():
    policy = od.policy.custom(kinds=("a", "b"), edges=[("a", "b")], default="a")
    with pytest.raises(errors.UnprotectableError, match="No rule"):
        session(pl.DataFrame(VISITS), policy).sample(epsilon=1)


def test_a_table_that_is_all_open_is_still_sampled_and_one_all_sensitive_is_empty(rows_engine):
    many = {"person": list(range(400)), "age": [30] * 400}
    assert 0 < session(rows_engine(many)).sample(epsilon=1).units["open"] < 400
    many["age"] = [3] * 400
    for unit in ("person", None):
        release = session(rows_engine(many), unit=unit).sample(epsilon=1)
        assert read(release.frame) == {"person": [], "age": []}
        assert "noisy counts" in str(release)


def test_empty_tables_give_empty_samples():
    empty = pl.DataFrame({"person": [], "age": []}, schema={"person": pl.Int64, "age": pl.Int64})
    con = duckdb.connect()
    for data in (empty, empty.lazy(), empty.to_pandas(), empty.to_arrow(), con.from_arrow(empty)):
        for unit in ("person", None):
            release = session(data, unit=unit).sample(epsilon=1)
            assert read(release.frame)["person"] == []
            assert release.total().standard_error == math.inf


def test_null_units_are_refused_before_anything_is_charged(rows_engine):
    rows = rows_engine({"person": [1, None, 2], "age": [20, 20, 20]})
    # pandas makes floats of ids of which one is missing.
    with pytest.raises(errors.DataError, match=r"1 row has no value|'person' holds Float64"):
        session(rows)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, True, "x", None])
def test_epsilons_that_cannot_be_meant(epsilon):
    with pytest.raises(errors.ParameterError):
        session(pl.DataFrame(VISITS)).sample(epsilon=epsilon)


def test_over_budget_nothing_is_drawn(monkeypatch):
    made = session(pl.DataFrame(VISITS), budget=1, noise=None)
    monkeypatch.setattr(od.mechanism.RecordSample, "choose", lambda *_, **__: pytest.fail("drawn"))
    with pytest.raises(errors.BudgetExceededError):
        made.sample(epsilon=2)
    assert not any(made.spent.values())


def test_the_charge_is_on_record_before_a_coin_is_flipped(monkeypatch):
    made, seen = session(pl.DataFrame(VISITS)), []
    real = od.mechanism.RecordSample.choose

    def choose(self, size, *, noise=None):
        seen.append(dict(made.spent))
        return real(self, size, noise=noise)

    monkeypatch.setattr(od.mechanism.RecordSample, "choose", choose)
    made.sample(epsilon=2)
    assert seen == [{"sensitive -> sensitive": 0, "sensitive -> open": 2}]


def test_a_sample_is_not_kept_and_not_drawn_again(tmp_path):
    ledger = str(tmp_path / "ledger.db")
    made = session(pl.DataFrame(VISITS), ledger=ledger)
    made.sample(epsilon=1, id="spring")
    spent = made.spent
    with pytest.raises(errors.LedgerError, match="not kept") as caught:
        made.sample(epsilon=1, id="spring", again=True)
    assert "copy that you saved" in caught.value.hint
    assert made.spent == spent
    made.ledger.close()
    stored = (tmp_path / "ledger.db").read_bytes()
    assert b"place" not in stored


def test_a_table_that_is_broken_when_it_is_taken_costs_nothing(tmp_path):
    pl.DataFrame(VISITS).write_parquet(tmp_path / "v.parquet")
    made = session(pl.scan_parquet(tmp_path / "v.parquet"), unit=None)
    (tmp_path / "v.parquet").write_bytes(b"gone")
    with pytest.raises(errors.DataError, match="could not be read") as caught:
        made.sample(epsilon=1)
    assert "nothing was recorded" in caught.value.hint
    assert not any(made.spent.values())


# What a data frame carries beside its rows.

NAME = "the-name-of-a-protected-person-077"


def secretive(rows=100):
    names = [f"the-name-of-a-protected-person-{i:03}" for i in range(rows)]
    return {"person": list(range(rows)), "age": [3 if i == 77 else 30 for i in range(rows)]}, names


def stored(frame):
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    out = pickle.dumps(frame)
    if isinstance(frame, pl.DataFrame):
        file = io.BytesIO()
        frame.write_ipc(file)
        out += file.getvalue()
    return out


@pytest.mark.parametrize("unit", ["person", None])
@pytest.mark.parametrize("rows", [100, 20_000])
def test_suppressed_text_is_nowhere_in_what_is_returned(rows_engine, unit, rows):
    columns, names = secretive(rows)
    data = rows_engine({**columns, "name": names})
    frame = session(data, unit=unit).sample(epsilon=ALL).frame
    if isinstance(frame, pl.DataFrame | pl.LazyFrame | pd.DataFrame | pa.Table):
        assert NAME.encode() not in stored(frame)
        assert b"protected-person-078" in stored(frame)
    assert NAME not in read(frame)["name"]


@pytest.mark.parametrize("unit", ["person", None])
def test_suppressed_text_in_nested_columns_is_gone_too(unit):
    columns, names = secretive(20_000)
    data = pl.DataFrame(
        {**columns, "names": [[n] for n in names], "raw": [n.encode() for n in names]}
    )
    frame = session(data, unit=unit).sample(epsilon=ALL).frame
    assert NAME.encode() not in stored(frame)
    assert frame.equals(data.filter(pl.col("person") != 77))


@pytest.mark.parametrize("unit", ["person", None])
def test_categories_of_suppressed_rows_are_gone(unit):
    columns, names = secretive()
    made = pd.DataFrame({**columns, "name": pd.Categorical(names)})
    frame = session(made, unit=unit).sample(epsilon=ALL).frame
    assert NAME not in frame["name"].cat.categories
    table = pa.table({**columns, "name": pa.array([*names[:-1], None]).dictionary_encode()})
    table = pa.concat_tables([table.slice(0, 50), table.slice(50)])
    sample = session(table, unit=unit).sample(epsilon=ALL).frame
    assert NAME.encode() not in pickle.dumps(sample)
    assert sample["name"].to_pylist() == [*names[:77], *names[78:-1], None]
    assert sample.schema == table.schema


def test_units_may_be_categories_moments_or_large_numbers():
    con = duckdb.connect()
    for column in (
        pl.Series([f"u{i}" for i in range(9)]).cast(pl.Categorical),
        pl.Series([f"u{i}" for i in range(9)]).cast(pl.Enum([f"u{i}" for i in range(9)])),
        pl.Series(range(9)).cast(pl.Datetime("us")),
        pl.Series([2**63 + i for i in range(9)], dtype=pl.UInt64),
    ):
        data = pl.DataFrame({"person": column, "age": [3, *[30] * 8], "at": range(9)})
        arrow = data.to_arrow()
        for made in (data, data.lazy(), data.to_pandas(), arrow, con.from_arrow(arrow)):
            frame = session(made).sample(epsilon=ALL).frame
            assert sorted(read(frame)["at"]) == list(range(1, 9))


@pytest.mark.parametrize("unit", ["person", None])
def test_row_numbers_and_metadata_are_gone(unit):
    columns, _ = secretive()
    made = pd.DataFrame(columns)
    made.attrs["note"] = NAME
    frame = session(made, unit=unit).sample(epsilon=ALL).frame
    assert frame.index.tolist() == list(range(99))
    assert frame.attrs == {}
    table = pa.Table.from_pandas(pd.DataFrame(columns))
    assert b'"stop": 100' in table.schema.metadata[b"pandas"]
    sample = session(table, unit=unit).sample(epsilon=ALL).frame
    assert sample.schema.metadata is None
    assert sample["age"].num_chunks == 1


def test_columns_that_cannot_be_cut_cleanly_are_refused():
    nested = pa.array([["x"], ["y"]], pa.list_(pa.dictionary(pa.int32(), pa.string())))
    made = session(pa.table({"person": [1, 2], "age": [20, 20], "n": nested}))
    with pytest.raises(errors.DataError, match="'n' holds"):
        made.sample(epsilon=1)
    con = duckdb.connect()
    bits = con.sql("SELECT 1 AS person, 20 AS age, '101'::BIT AS b")
    with pytest.raises(errors.DataError, match="BIT"):
        session(bits).sample(epsilon=1)


@pytest.mark.parametrize("coded", [False, True])
def test_arrow_tables_with_lists_have_units_too(coded):
    # PyArrow joins no table that has lists in it.
    units = pa.array([f"u{person}" for person in VISITS["person"]])
    units = units.dictionary_encode() if coded else units
    lists = [[place] for place in VISITS["place"]]
    table = pa.table({**VISITS, "person": units, "lists": lists, "s": [{"x": 1}] * 8})
    made = session(table)
    found = made.sample(epsilon=ALL).frame
    assert found["lists"].to_pylist() == [["a"], ["b"], ["a"]]
    assert made.count(epsilon=ALL, counted="open").estimate.tolist() == [2]


def test_a_pandas_frame_that_runs_backwards_is_read():
    made = session(pd.DataFrame({"person": [1, 2, 3], "age": [20.0, 3, 40]})[::-1])
    assert made.sample(epsilon=ALL).frame["person"].tolist() == [3, 1]


def test_duckdb_types_survive():
    con = duckdb.connect()
    data = con.sql(
        "SELECT 1 AS person, 20 AS age, 12::HUGEINT AS h, [1, NULL] AS l,"
        " 1.5::DECIMAL(10, 2) AS d, INTERVAL 1 DAY AS i, {'a': 'b'} AS s, uuid() AS u"
    )
    data = con.from_arrow(
        data.to_arrow_table() if hasattr(data, "to_arrow_table") else data.arrow()
    )
    frame = session(data).sample(epsilon=ALL).frame
    assert frame.types == data.types
    assert frame.fetchall() == data.fetchall()


# Totals.


def test_totals_are_unbiased_and_their_standard_errors_honest():
    # 150 samples: the mean within five deviations of the truth (false alarm 6e-7), their variance
    # within 60 % (over five deviations of a chi-square), the mean of those estimated within 10 %.
    data = pl.DataFrame(
        {
            "person": [i // 2 for i in range(200)],
            "age": [3 if i < 20 else 30 for i in range(200)],
            "spend": [float(i % 7) for i in range(200)],
        }
    )
    asked = od.session.Sample(epsilon="1/2")
    found = drawn(session(data), asked, 150, NotPrivateSeededNoise(9))
    totals = [one.total("spend") for one in found]
    units = data.filter(pl.col("age") > 18).group_by("person").agg(pl.col("spend").sum())["spend"]
    truth, keep = units.sum(), 1 - math.exp(-0.5)
    variance = (1 - keep) / keep * float((units**2).sum())
    estimates = np.array([total.estimate for total in totals])
    assert abs(estimates.mean() - truth) < 5 * math.sqrt(variance / 150)
    assert estimates.var() == pytest.approx(variance, rel=0.6)
    assert np.mean([t.standard_error**2 for t in totals]) == pytest.approx(variance, rel=0.1)


def test_totals_on_every_engine(rows_engine):
    data = rows_engine({**VISITS, "spend": [1.0, 2.0, 9.0, 9.0, 9.0, 9.0, None, 9.0]})
    release = session(data).sample(epsilon=ALL)
    total = release.total("spend")
    assert (total.estimate, total.standard_error, total.missing) == (3, 0, 1)
    assert "nothing of protected units" in str(total)
    assert release.total("age").estimate == 58
    count = release.total()
    assert (count.estimate, count.least) == (2, 2)
    rows = session(data, unit=None).sample(epsilon=ALL)
    assert rows.total("spend").estimate == 21


def test_totals_weigh_each_kind_by_its_own_chance():
    policy = od.policy.custom(
        kinds=("vip", "staff", "guest"),
        edges=[("vip", "staff", 1000), ("vip", "guest", 1)],
        rules=[("vip", "role = 'vip'"), ("staff", "role = 'staff'")],
        default="guest",
    )
    data = pl.DataFrame(
        {
            "person": [0, 0, *range(1, 41)],
            "role": ["staff", "other", *["other"] * 40],
            "x": [None, 5, *[1] * 40],
        }
    )
    release = session(data, policy).sample(epsilon=1)
    total, keep = release.total("x"), 1 - math.exp(-1)
    guests = release.units["guest"]
    # Person 0 is staff by a row that has no x; that row still decides.
    assert total.estimate == pytest.approx(5 + guests / keep)
    assert total.standard_error == pytest.approx(math.sqrt(guests * (1 - keep)) / keep)


def test_totals_of_what_has_none():
    release = session(pl.DataFrame(VISITS)).sample(epsilon=ALL)
    with pytest.raises(errors.ParameterError, match="no total"):
        release.total("place")
    with pytest.raises(errors.UnknownColumnError):
        release.total("nope")


# The session itself, on every noise path of every small table.


def rows_of(data):
    """Units 0, 1, ...: a row for each group; only the first row of a sensitive unit says so."""
    rows = [
        (unit, group, record.kind == "sensitive" and place == 0)
        for unit, record in enumerate(data)
        for place, group in enumerate(sorted(record.value))
    ]
    schema = {"person": pl.Int64, "place": pl.String, "private": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")


RECORDS = (
    Record("sensitive", frozenset("ab")),
    Record("open", frozenset("b")),
    Record("open", frozenset("ab")),
)


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["polars", "polars-lazy", "pandas", "pyarrow", "duckdb"])
def test_the_session_keeps_its_promise_exactly(kind, long_form):
    """Two units at once in Polars, and in the long form everywhere."""
    turn = {
        "polars": lambda frame: frame,
        "polars-lazy": lambda frame: frame.lazy(),
        "pandas": lambda frame: frame.to_pandas(),
        "pyarrow": lambda frame: frame.to_arrow(),
        "duckdb": lambda frame: CONNECTION.from_arrow(frame.to_arrow()),
    }[kind]
    policy = od.policy.sensitive("private")

    def program(data, noise):
        made = od.Session(turn(rows_of(data)), unit="person", policy=policy, budget=1, noise=noise)
        found = read(made.sample(epsilon=1).frame)
        return tuple(sorted(zip(found["person"], found["place"], strict=True)))

    # A unit's place is its name, so data sets are lists.
    units = 2 if long_form or kind == "polars" else 1
    world = Universe(values=RECORDS, units=units, ordered=True)
    report = od.verify.exact(program, policy, world, sealed=False)
    losses = {edge.name: finding.loss for edge, finding in report.findings.items()}
    assert losses["sensitive -> open"] == pytest.approx(1)


def test_publishing_everything_because_nobody_is_sensitive_would_break_the_promise():
    policy = od.policy.sensitive("private")

    def program(data, noise):
        if all(record.kind == "open" for record in data):
            return tuple(sorted(rows_of(data).rows()))
        made = od.Session(rows_of(data), unit="person", policy=policy, budget=1, noise=noise)
        return tuple(sorted(made.sample(epsilon=1).frame.rows()))

    report = od.verify.exact(program, policy, Universe(values=RECORDS, ordered=True), sealed=False)
    assert max(f.loss for f in report.findings.values()) > 10
