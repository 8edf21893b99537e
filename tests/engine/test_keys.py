"""Keys are columns: typed, told apart byte by byte, and never a tuple for each of them."""

import datetime as dt

import duckdb
import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.engine import PublicKeys, public_keys


def test_cross_gives_every_value_of_one_with_each_of_the_other():
    keys = public_keys(od.cross(place=["a", "b"], hour=range(3)), ("place", "hour"))
    assert keys.rows == tuple((p, h) for p in "ab" for h in range(3))
    assert public_keys(od.cross(hour=[1], place=["a"]), ("place", "hour")).rows == (("a", 1),)
    with pytest.raises(errors.KeysError, match="one text"):
        od.cross(place="ab")
    with pytest.raises(errors.KeysError, match="no value"):
        od.cross(place=[])


FORMS = {
    "list": [1, 2, 3],
    "range": range(1, 4),
    "int32": np.array([1, 2, 3], dtype=np.int32),
    "polars": pl.Series("k", [1, 2, 3], dtype=pl.UInt8),
    "frame": pl.DataFrame({"k": [1, 2, 3]}),
    "tuples": [(1,), (2,), (3,)],
    "mapping": {"k": (k for k in (1, 2, 3))},
}


@pytest.mark.parametrize("form", FORMS)
def test_the_same_keys_have_the_same_digest_however_they_are_given(form):
    given = FORMS[form]
    given = {"k": [1, 2, 3]} if form == "mapping" else given
    keys = public_keys(given, ("k",))
    assert keys.arrays[0].dtype == np.int64
    assert keys == PublicKeys.of(("k",), [(1,), (2,), (3,)])
    assert keys.digest == public_keys([1, 2, 3], ("k",)).digest


def test_keys_that_differ_have_different_digests():
    several = [
        (["a", "b"], "k"),
        (["ab", ""], "k"),
        (["a", "b"], "l"),
        ([1, 2], "k"),
        (["1", "2"], "k"),
        ([True, False], "k"),
        ([dt.date(2024, 1, 1), dt.date(2024, 1, 2)], "k"),
        ([dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2)], "k"),  # noqa: DTZ001
        (["b", "a"], "k"),
    ]
    digests = {public_keys(keys, (name,)).digest for keys, name in several}
    assert len(digests) == len(several)


@pytest.mark.parametrize(
    "keys", [[1, 1], np.array([3, 1, 3]), ["a", "a"], pl.Series(["x", "x"]), [True, True]], ids=str
)
def test_keys_that_are_given_twice_are_refused(keys):
    with pytest.raises(errors.KeysError, match="given twice"):
        public_keys(keys, ("k",))


def test_moments_finer_than_keys_can_be_are_refused():
    fine = pl.Series("k", [1, 2]).cast(pl.Datetime("ns"))
    with pytest.raises(errors.KeysError, match="finer than a microsecond"):
        public_keys(fine, ("k",))
    coarse = pl.Series("k", [1000, 2000]).cast(pl.Datetime("ns"))
    assert public_keys(coarse, ("k",)).size == 2


@pytest.mark.parametrize("found", [True, False])
@pytest.mark.parametrize("text", [True, False])
def test_many_keys_reach_a_connection_that_finds_no_tables_of_pythons(found, text):
    connection = duckdb.connect(config={"python_enable_replacements": found})
    connection.execute(
        "CREATE TABLE visits AS SELECT i % 7 AS person, i AS place FROM range(9) t(i)"
    )
    if text:
        connection.execute("ALTER TABLE visits ALTER place TYPE VARCHAR")
    keys = pl.Series("place", range(3000))
    session = od.Session(
        connection.table("visits"), unit="person", policy=od.policy.bounded(), budget=10**4
    )
    given = keys.cast(pl.String) if text else keys
    told = session.count(by="place", keys=given, max_groups=3, epsilon=100, on_excess="error")
    assert told.estimate.tolist() == [1] * 9 + [0] * 2991


@pytest.mark.parametrize("size", [10**7 + 1, 10**12, 10**30])
def test_a_range_too_long_to_hold_is_refused_before_it_is_made(size):
    for make in (
        lambda: public_keys(range(size), ("place",)),
        lambda: public_keys(range(-size, size, 2), ("place",)),
        lambda: public_keys(range(size, 0, -1), ("place",)),
        lambda: public_keys({"place": range(size)}, ("place",)),
        lambda: public_keys(range(size), ("place", "hour")),
        lambda: od.cross(place=range(size), hour=range(24)),
    ):
        with pytest.raises(
            errors.KeysError, match=f"{size:,} keys, more than 10,000,000"
        ) as caught:
            make()
        assert "shorter range" in caught.value.hint
    rows = pl.DataFrame({"place": [1]})
    session = od.Session(rows, unit=None, policy=od.policy.addition_only(), budget=1)
    with pytest.raises(errors.KeysError, match=f"{size:,} keys"):
        session.count(by="place", keys=range(size), epsilon=1)
    assert set(session.remaining.values()) == {1}


def test_a_cross_of_too_many_keys_is_refused_before_it_is_made():
    with pytest.raises(errors.KeysError, match="10,000 × 2,000 are 20,000,000 keys, more than"):
        od.cross(place=range(10**4), hour=range(2000))
    assert len(public_keys(range(10, 0, -3), ("place",)).labels()) == 4
    with pytest.raises(errors.KeysError, match="empty"):
        public_keys(range(5, 1), ("place",))
