"""What is Spark's own: its SQL, its types, its executors, and what its tables carry along."""

import datetime as dt
import json
import math

import numpy as np
import pyarrow as pa
import pytest

import onesided as od
from onesided import errors
from onesided.engine._table import Table
from onesided.engine.spark import _engine as _spark_rows
from onesided.engine.spark._engine import Flips
from onesided.mechanism import RecordSample
from onesided.noise import NotPrivateSeededNoise
from onesided.noise._noise import new_secret

from .conftest import spark_table
from .test_contract import read

pytestmark = pytest.mark.xdist_group("spark")

EXACT = 100
VISITS = {
    "person": [i // 2 for i in range(40)],
    "place": ["ab"[i % 2] for i in range(40)],
    "age": [3 if i // 2 == 7 else 30 for i in range(40)],
    "x": [float("nan") if i % 4 == 0 else float(i) for i in range(40)],
}
PRIVATE = od.policy.sensitive("age < 18")


def session(data, policy=PRIVATE, **more):
    return od.Session(data, **{"unit": "person", "policy": policy, "budget": 10**5, **more})


def test_an_answer_without_rows_has_the_types_of_one_with_rows(spark):
    asked = session(spark_table(spark, VISITS))
    none = asked.discover(by="place", epsilon=1, max_groups=2, threshold=1000)
    some = asked.discover(by="place", epsilon=1, max_groups=2, threshold=0)
    assert (none.frame.count(), none.frame.schema) == (0, some.frame.schema)


# What reaches Python.


def test_only_aggregates_reach_the_driver(spark, monkeypatch):
    from pyspark.sql.classic.dataframe import DataFrame

    heights = []

    def watched(name):
        real = getattr(DataFrame, name)

        def collect(self, *args, **kwargs):
            found = real(self, *args, **kwargs)
            heights.append(found.num_rows if name == "toArrow" else len(found))
            return found

        return collect

    for name in ("collect", "toArrow"):
        monkeypatch.setattr(DataFrame, name, watched(name))
    for name in ("toPandas", "toLocalIterator", "foreach"):
        monkeypatch.setattr(DataFrame, name, lambda *_: pytest.fail("rows asked for"))
    made = session(spark_table(spark, VISITS))
    made.count(by="place", keys=["a", "b"], epsilon=1, max_groups=2, on_excess="error")
    made.sum(
        "age",
        of="units",
        total_bounds=(0, 99),
        epsilon=1,
        by="place",
        keys=["a", "b"],
        max_groups=2,
    )
    made.discover(by="place", epsilon=1, max_groups=2)
    made.ngrams(by="place", order="age", n=2, epsilon=1, max_groups=2)
    made.sample(epsilon=1)
    made.inspect(od.Count(by="place", keys=["a"], epsilon=1, max_groups=2))
    # Two places, two pairs of places: never more than a row for each of them.
    assert max(heights) <= 2
    assert len(heights) > 10


# Conditions in Spark's own SQL.

REFUSED = [
    "age > (select 3)",
    "rand() < 0.5",
    "uuid() = 'x'",
    "monotonically_increasing_id() < 5",
    "spark_partition_id() = 0",
    "input_file_name() = 'x'",
    "row_number() over (order by age) < 3",
    "`avg`(age) > 3",
    "exists(array(age), x -> x > 3)",
    '"/*" = place or age > avg(age) or "*/" = place',
    "age < 18 --\r or age > avg(age)",
    "`'` = 1 or avg(age) > 3 or `'` = 1",
    "date '2020-01-01' < current_date",
]


@pytest.mark.parametrize("condition", REFUSED)
def test_conditions_that_may_reach_beyond_the_row_are_refused(spark, condition):
    made = session(spark_table(spark, VISITS), od.policy.addition_only())
    with pytest.raises(errors.OnesidedError):
        made.count(epsilon=1, where=condition)
    assert not any(made.spent.values())


def test_conditions_work_on_spark(spark):
    made = session(spark_table(spark, VISITS), od.policy.addition_only(), unit=None)
    for where, rows in {
        '"age" < 18': 2,
        "place = 'a' and date '2020-01-01' < date '2021-01-01'": 20,
        "substring(place, 1, 1) = 'a' or place like 'b'": 40,
        "x > 5": 26,  # NaN is unknown, though Spark has it above all numbers
        "not (x > 5)": 4,
        "x = x": 30,
        "x is null": 10,
    }.items():
        assert read(made.count(epsilon=EXACT, where=where).frame)["estimate"] == [rows], where


# Tables that cannot be read.


def test_a_table_that_is_computed_anew_each_time_is_taken_once(spark):
    from pyspark.sql import functions as sql

    data = spark_table(spark, {"person": [1, 1, 2, 2], "row": [1, 2, 3, 4]})
    noisy = data.withColumn("place", sql.when(sql.rand() < 0.5, "a").otherwise("b"))
    held = spark.sparkContext._jsc.getPersistentRDDs
    before, answered = set(held()), 0
    for _ in range(4):
        made = session(noisy, od.policy.addition_only())
        try:
            told = made.count(
                by="place", keys=["a", "b"], epsilon=EXACT, max_groups=1, on_excess="error"
            )
        except errors.ContributionError:
            continue
        answered += 1
        assert told.estimate.sum() == 2
    assert set(held()) == before  # nothing stays in the executors
    for steps in (data.limit(3), data.sample(0.5), data.dropDuplicates(["person"])):
        assert 0 <= session(steps, od.policy.addition_only()).count(epsilon=EXACT).value <= 2
    stream = spark.readStream.format("rate").load()
    with pytest.raises(errors.DataError, match="stream"):
        od.Session(stream, policy=od.policy.bounded(), budget=1)


def test_a_name_is_a_name(spark):
    data = spark_table(spark, {"person": [1], "v": [2]})
    for name in ("a.b", "a`b", "Onesided_kind", "PERSON", "c0", "*"):
        made = session(data.toDF("person", name), od.policy.addition_only())
        told = made.count(by=name, keys=[2], epsilon=EXACT, max_groups=1)
        assert told.estimate.tolist() == [1]
        assert told.frame.columns[0] == name
    texts = data.selectExpr("person", "collate('a', 'UTF8_LCASE') as v")
    with pytest.raises(errors.DataError, match="count as equal"):
        session(texts)


def test_only_the_published_rows_stay_in_the_executors(spark):
    data = spark_table(spark, {"person": [1, 2, 3], "age": [30, 3, 40]})
    held = spark.sparkContext._jsc.getPersistentRDDs
    before = set(held())
    frame = session(data).sample(epsilon=EXACT).frame
    assert len(set(held()) - before) == 1
    assert frame.count() == 2


def test_other_kinds_of_spark_are_refused():
    class DataFrame:
        __module__ = "pyspark.sql.connect.dataframe"

    with pytest.raises(errors.DataError, match="DataFrame of pyspark") as caught:
        Table(DataFrame())
    assert "Connect" in caught.value.hint


@pytest.mark.parametrize(
    "column",
    ["array('a') as k", "struct('a' as f) as k", "map('a', 'b') as k", "1.5 as k", "x'00' as k"],
)
def test_columns_that_are_no_keys(spark, column):
    data = spark_table(spark, {"person": [1], "age": [30]}).selectExpr("*", column)
    made = session(data)
    with pytest.raises((errors.KeysError, errors.DataError), match="'k' holds"):
        made.count(by="k", keys=["a"], epsilon=1, max_groups=1)
    with pytest.raises((errors.KeysError, errors.DataError), match="'k' holds"):
        made.discover(by="k", epsilon=1, max_groups=1)
    assert not any(made.spent.values())


def test_moments_are_instants_whatever_the_zone_of_the_session(spark):
    zone = dt.timezone(dt.timedelta(hours=9))
    key = dt.datetime(2024, 5, 1, 20, 0, tzinfo=zone)
    data = spark_table(spark, {"person": [1, 2, 3], "age": [30, 30, 30]}).selectExpr(
        "*",
        "timestamp '2024-05-01 20:00:00' as moment",
        "timestamp_ntz '2024-05-01 20:00:00' as wall",
    )
    made = session(data)
    for given in (key, key.astimezone(dt.UTC)):
        found = made.count(by="moment", keys=[given], epsilon=EXACT, max_groups=1)
        assert read(found.frame)["estimate"] == [3]
    wall = made.count(by="wall", keys=[key.replace(tzinfo=None)], epsilon=EXACT, max_groups=1)
    assert read(wall.frame) | {"estimate": [3]} == read(wall.frame)
    assert read(wall.frame)["wall"] == [key.replace(tzinfo=None)]
    with pytest.raises(errors.KeysError, match="never match"):
        made.count(by="moment", keys=[key.replace(tzinfo=None)], epsilon=1, max_groups=1)
    with pytest.raises(errors.KeysError, match="never match"):
        made.count(by="wall", keys=[key], epsilon=1, max_groups=1)
    told = made.discover(by="wall", epsilon=EXACT, max_groups=1)
    assert read(told.frame)["wall"] == [key.replace(tzinfo=None)]
    with pytest.raises(errors.KeysError, match="time zone"):
        made.discover(by="moment", epsilon=1, max_groups=1)


def test_a_table_that_breaks_is_reported_and_not_charged(spark, tmp_path):
    path = tmp_path / "t"
    spark_table(spark, VISITS).write.parquet(str(path))
    made = session(spark.read.parquet(str(path)))
    for file in path.glob("*.parquet"):
        file.write_bytes(b"PAR1 not a table PAR1")
    with pytest.raises(errors.DataError, match="could not be read"):
        made.count(epsilon=1)
    assert not any(made.spent.values())


# Samples.


@pytest.mark.parametrize("unit", ["person", None])
def test_coins_do_not_depend_on_how_spark_splits_the_table(spark, unit):
    data = spark_table(spark, {**VISITS, "row": list(range(40))})
    kept = []
    for split in (data, data.repartition(7), data.orderBy("row", ascending=False).coalesce(1)):
        made = session(split, unit=unit, noise=NotPrivateSeededNoise(3))
        kept.append(sorted(read(made.sample(epsilon=1).frame)["row"]))
    assert kept[0] == kept[1] == kept[2]
    other = session(data, unit=unit, noise=NotPrivateSeededNoise(4)).sample(epsilon=1)
    assert sorted(read(other.frame)["row"]) != kept[0]


def test_rows_that_hold_the_same_have_coins_of_their_own(spark):
    # 1,000 equal rows, six deviations: false alarm 2e-9; one coin for all gives 0 or 1,000.
    data = spark_table(spark, {"person": [1] * 1000, "age": [30] * 1000})
    release = session(data, unit=None).sample(epsilon=1)
    keep = 1 - math.exp(-1)
    assert abs(release.units["open"] - 1000 * keep) < 6 * math.sqrt(1000 * keep * (1 - keep))
    assert release.frame.count() == release.units["open"]


def test_nothing_but_the_kept_rows_is_in_the_sample(spark):
    from pyspark.sql import functions as sql

    data = spark_table(spark, VISITS)
    named = data.withMetadata("place", {"categories": ["the-name-of-a-protected-person"]})
    data = named.withColumn("both", sql.struct("place", "age"))
    for unit in ("person", None):
        frame = session(data, unit=unit).sample(epsilon=EXACT).frame
        assert frame.dtypes == data.dtypes
        assert "protected-person" not in frame.schema.json()
        assert all(age == 30 for age in read(frame)["age"])
        jdf = frame._jdf
        assert "onesided_coin" not in jdf.queryExecution().toString()
        lineage = jdf.queryExecution().toRdd().toDebugString()
        assert "LocalCheckpointRDD" in lineage
        assert "Python" not in lineage
        assert "Shuffled" not in lineage
        # Spark's estimate of its size is not that of the table.
        size = jdf.queryExecution().analyzed().stats().sizeInBytes()
        assert int(str(size)) > 2**62


def test_values_come_back_as_they_were(spark):
    data = spark_table(spark, {"person": [1, 2], "age": [30, 30]}).selectExpr(
        "*",
        "double('NaN') as d",
        "cast(1.5 as decimal(20, 3)) as e",
        "array(1, null) as a",
        "named_struct('x', timestamp '2024-01-01 00:00:00', 'y', float('NaN')) as s",
        "x'0102' as b",
        "timestamp_ntz '2024-01-01 00:00:00' as n",
        "cast(null as string) as z",
    )
    for unit in ("person", None):
        frame = session(data, unit=unit).sample(epsilon=EXACT).frame
        assert frame.dtypes == data.dtypes
        assert repr(sorted(frame.collect())) == repr(sorted(data.collect()))


def test_columns_that_have_no_order_are_refused_before_the_charge(spark):
    data = spark_table(spark, {"person": [1], "age": [30]}).selectExpr("*", "map('a', 1) as m")
    for unit in ("person", None):
        made = session(data, unit=unit)
        with pytest.raises(errors.DataError, match="hash nor sort"):
            made.sample(epsilon=1)
        assert not any(made.spent.values())


def test_executors_that_cannot_flip_coins_are_found_before_the_charge(spark, monkeypatch):
    from pyspark.sql.functions import arrow_udf

    def without(*_):
        def coin(part: pa.Array, number: pa.Array) -> pa.Array:
            import a_package_that_executors_lack  # noqa: F401

        return arrow_udf(coin, "boolean")

    monkeypatch.setattr(_spark_rows, "_coins", without)
    made = session(spark_table(spark, VISITS))
    with pytest.raises(errors.DataError, match="a_package_that_executors_lack") as caught:
        made.sample(epsilon=1)
    assert "PYSPARK_PYTHON" in caught.value.hint
    assert not any(made.spent.values())


def test_a_task_that_is_run_again_repeats_its_own_coins():
    secret = new_secret(None)
    part, number = np.repeat([0, 2, 5], [900, 100, 3000]), np.tile([0, 1], 2000)
    samples = [RecordSample(1), RecordSample("1/2")]
    first = Flips(secret, 8, samples)(part, number)
    assert (first == Flips(secret, 8, samples)(part, number)).all()
    assert (first != Flips(new_secret(None), 8, samples)(part, number)).any()
    # A task that has only some of the parts gives them the same coins.
    alone = Flips(secret, 8, samples)(part[1000:], number[1000:])
    assert (alone == first[1000:]).all()
    # Six deviations: false alarm 2e-9 for each.
    for place, rate in ((0, 1), (1, 0.5)):
        keep = 1 - math.exp(-rate)
        kept = first[number == place].sum()
        assert abs(kept - 2000 * keep) < 6 * math.sqrt(2000 * keep * (1 - keep))


def test_batches_of_one_part_do_not_start_its_bits_again():
    flips = Flips(new_secret(None), 1, [RecordSample("1/1000")])
    many = [flips(np.zeros(64, int), np.zeros(64, int)) for _ in range(400)]
    assert 0 < sum(one.any() for one in many) < 400
    kinds = Flips(new_secret(None), 1, [RecordSample(1)])
    first, second = (kinds(np.zeros(64, int), np.zeros(64, int)) for _ in range(2))
    assert (first != second).any()
    assert not kinds(np.zeros(64, int), np.full(64, -1)).any()
    assert kinds(np.zeros(0, int), np.zeros(0, int)).size == 0


def test_parts_that_come_back_are_refused():
    flips = Flips(new_secret(None), 4, [RecordSample(1)])
    with pytest.raises(errors.NoiseError, match="twice"):
        flips(np.array([1, 2, 1]), np.zeros(3, int))


def test_the_metadata_of_nested_columns_goes_too():
    field = {"name": "f", "type": "string", "nullable": True, "metadata": {"vals": ["x"]}}
    schema = {
        "type": "struct",
        "fields": [{**field, "type": {"type": "struct", "fields": [field]}}],
    }
    assert "vals" not in json.dumps(_spark_rows._bare(schema))


def test_all_other_keys_are_one_group(spark):
    rows = {"person": [1, 1, 2, 3, 4], "place": ["a", "b", "c", None, "b"], "pay": [1, 2, 3, 4, 5]}
    made = session(spark_table(spark, rows), od.policy.presence(max_groups=2))
    by = {"by": "place", "keys": ["a"], "others": True, "epsilon": EXACT}
    assert made.count(**by).estimate.tolist() == [1, 3]
    assert made.sum("pay", of="units", total_bounds=(0, 9), **by).interval.upper.tolist() == [1, 10]
