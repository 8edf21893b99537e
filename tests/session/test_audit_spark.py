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
    # Nested columns ride along in samples; nobody is told apart by one.
    for unit in (None,) if free.startswith("array") else ("person", None):
        frame = session(data, unit=unit).sample(epsilon=EXACT).frame
        assert read(frame.select("age"))["age"] == [30]
        assert frame.exceptAll(data.where("age = 30")).isEmpty()


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
