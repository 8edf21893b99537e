"""What an audit of Spark found: values that become others on their way, NaN in its own types."""

import pytest

import onesided as od
from onesided import errors

from .conftest import spark_table
from .test_contract import read
from .test_spark import EXACT, session

pytestmark = pytest.mark.xdist_group("spark")

# As Java's objects, which follow an older calendar and hold text as UTF-16, the first value of each
# pair would become the second.
ALIKE = {
    "date": ("date '1582-10-10'", "date '1582-10-15'"),
    "moment": ("timestamp '1582-10-10 01:00:00'", "timestamp '1582-10-20 01:00:00'"),
    "text": ("cast(X'ff' as string)", "'\ufffd'"),
    "nested": ("array(cast(X'ff' as string))", "array('\ufffd')"),
}


@pytest.mark.parametrize(("free", "secret"), ALIKE.values(), ids=ALIKE)
def test_no_unit_becomes_another_on_its_way_into_a_sample(spark, free, secret):
    data = spark.sql(
        f"select {free} as person, 30 as age, {free} as v union all select {secret}, 3, {secret}"
    )
    # Nested columns ride along in samples, and text that is no UTF-8 is unknown: nobody's name.
    for unit in (None,) if "X'ff'" in free else ("person", None):
        frame = session(data, unit=unit).sample(epsilon=EXACT).frame
        assert read(frame.select("age"))["age"] == [30]
        known = data.where("age = 30").selectExpr(
            *["try_validate_utf8(person) as person", "age", "try_validate_utf8(v) as v"]
            if free.startswith("cast")
            else ["*"]
        )
        assert frame.exceptAll(known).isEmpty()


def test_bytes_that_are_no_text_are_unknown_as_on_other_engines(spark):
    data = spark.sql(
        "select 1 as person, cast(X'ff' as string) as place union all select 2, 'a' "
        "union all select 3, cast(X'fe61' as string)"
    )
    made = session(data, od.policy.sensitive("place = 'home'"))
    assert read(made.sample(epsilon=EXACT).frame)["place"] == ["a"]
    found = session(data, od.policy.sensitive("person > 9")).discover(
        by="place", epsilon=EXACT, max_groups=1
    )
    assert read(found.frame)["place"] == ["a"]
    with pytest.raises(errors.DataError, match="2 rows have no value"):
        session(data, od.policy.addition_only(), unit="place").count(epsilon=1)


@pytest.mark.parametrize("unit", ["person", None])
def test_a_cast_that_fails_is_found_before_the_charge(spark, unit):
    data = spark.sql("select 1 as person, 30 as age, '7' as v union all select 2, 3, 'seven'")
    data = data.selectExpr("person", "age", "cast(v as int) as v")
    made = session(data, unit=unit)
    with pytest.raises(errors.DataError, match="nothing was recorded"):
        made.sample(epsilon=1)
    assert not any(made.spent.values())


def test_a_draw_that_fails_leaves_nothing_in_the_executors(spark, monkeypatch):
    from onesided.engine.spark import _engine

    data = spark_table(spark, {"person": [1, 2, 3], "age": [30, 3, 40]})
    held = spark.sparkContext._jsc.getPersistentRDDs
    before = set(held())

    def fails(*_):
        raise RuntimeError("no room")

    monkeypatch.setattr(_engine, "_by_kind", fails)
    with pytest.raises(errors.DataError, match="charge stands"):
        session(data).sample(epsilon=EXACT)
    assert len(set(held()) - before) <= 1  # of the sample, until it is collected


def test_text_that_is_no_unicode_is_no_key(spark):
    # Spark would read each of them as the last one, and count one person in all three.
    data = spark_table(spark, {"person": [1], "place": ["\ufffd"]})
    made = session(data, od.policy.presence(max_groups=1))
    with pytest.raises(errors.KeysError, match="never match"):
        made.count(by="place", keys=["\ud800", "\udfff", "\ufffd"], epsilon=1)
    assert not any(made.spent.values())


def test_conditions_do_not_look_into_maps_and_variants(spark):
    data = spark.sql(
        "select 1 as person, map('x', double('NaN')) as m, "
        "to_variant_object(named_struct('x', double('NaN'))) as v"
    )
    for condition in ("m is null", "v is null"):
        with pytest.raises(errors.OnesidedError):
            session(data, od.policy.sensitive(condition), unit=None)
