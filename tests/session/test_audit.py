"""What an audit of this library found, each with the smallest table that showed it."""

import datetime as dt
import zoneinfo
from decimal import Decimal

import pandas as pd
import polars as pl
import pytest

import onesided as od
from onesided import errors, verify
from onesided.policy import GroupCount
from onesided.verify import Universe, exact

P = od.policy


def table(rows, columns=("u", "p")):
    return pl.DataFrame(rows, schema=list(columns), orient="row")


def law(data, policy, **question):
    """The exact law of the counts, and what they are charged."""
    asked = od.Count(epsilon=1, **question)
    plan = od.Session(data, policy=policy, unit="u", budget=100).plan(asked)
    return verify.law(asked, data, policy, unit="u", tail=1e-4), plan.charge


@pytest.mark.parametrize(
    ("policy", "counted"),
    [
        (P.addition_only(), []),
        (P.unbounded(), "absent"),
        (P.bounded(), []),
        (P.local(["x", "y"], sensitive=["x"]), "x"),
        (P.custom(kinds=["a", "b", "absent"], edges=[("a", "absent")]), "b"),
        (P.presence(max_groups=1), "zzz"),
        (P.graph([("x", "y")]), "absent"),
        (P.extended_sensitive("u = 'a'"), "absent"),
    ],
    ids=lambda v: getattr(v, "name", str(v)),
)
def test_kinds_that_the_table_cannot_tell_apart_are_not_counted(policy, counted):
    """They were counted all, at the price of none: exact counts came out free."""
    session = od.Session(table([("a", "x"), ("b", "x")]), policy=policy, unit="u", budget=9)
    for ask in (session.count, lambda **q: session.top_k(1, **q)):
        with pytest.raises((errors.ParameterError, errors.PolicyError)):
            ask(by="p", keys=["x", "y"], epsilon=1, counted=counted)


@pytest.mark.parametrize("counted", ["unit & open", "unit & sensitive"])
def test_a_record_that_changes_its_kind_takes_all_its_groups_along(counted):
    """The intersection took the least of its parts' shifts, also where one end is not counted."""
    policy = P.presence(max_groups=1) & P.sensitive("s")
    query = GroupCount(max_groups=2, counted=frozenset({counted}))
    mechanism = od.mechanism.Counts.for_policy(policy, epsilon=1, max_groups=2, counted=[counted])
    report = exact(mechanism, policy, Universe(groups=("p", "q"), units=1), query=query)
    assert report.keeps(1)
    assert not report.worst[1].impossible


@pytest.mark.heavy
def test_a_session_prices_a_change_of_kind():
    policy = P.presence(max_groups=1) & P.sensitive("s")
    columns = ("u", "p", "s")
    real = table([("a", "x", True), ("a", "y", True), ("b", "x", False)], columns)
    other = table([("a", "x", False), ("b", "x", False)], columns)
    ask = {"by": "p", "keys": ["x", "y"], "max_groups": 2, "counted": "unit & open"}
    here, charged = law(real, policy, **ask)
    there, _ = law(other, policy, **ask)
    assert here.loss(there) <= max(charged.values()) + 1e-3


EARLY = dt.datetime(2025, 10, 26, 0, 30, tzinfo=dt.UTC)
LATE = dt.datetime(2025, 10, 26, 1, 30, tzinfo=dt.UTC)
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")


def exactly(data, keys, **more):
    given = {"policy": P.presence(max_groups=3), "unit": "u", "budget": 2000}
    release = od.Session(data, **given).count(by="p", keys=keys, epsilon=100, **more)
    return release.interval.upper.tolist()


def test_two_hours_of_one_clock_face_are_two_groups():
    data = table([("a", EARLY), ("b", EARLY), ("c", LATE)]).with_columns(
        pl.col("p").dt.convert_time_zone("Europe/Berlin")
    )
    first = dt.datetime(2025, 10, 26, 2, 30, tzinfo=BERLIN)
    assert exactly(data, [EARLY]) == [2]
    assert exactly(data, [first]) == [2]
    assert exactly(data, [first, first.replace(fold=1)]) == [2, 1]
    assert exactly(data, [first, first.replace(fold=1)], on_excess="error") == [2, 1]


def test_nanoseconds_are_not_cut_to_microseconds():
    data = table([("a", 0), ("b", 0), ("c", 1)]).with_columns(pl.col("p").cast(pl.Datetime("ns")))
    assert exactly(data, [dt.datetime(1970, 1, 1)]) == [2]  # noqa: DTZ001 - a naive column


@pytest.mark.parametrize("kind", [pl.Float32, pl.Float64, pl.Decimal(10, 2)], ids=str)
def test_floats_and_decimals_are_no_groups(kind):
    data = table([("a", 0.5), ("b", 0.5)]).with_columns(pl.col("p").cast(kind))
    for key in (0.5, Decimal("0.5"), 1):
        with pytest.raises(errors.KeysError, match="cannot be grouped"):
            exactly(data, [key])


@pytest.mark.parametrize(
    ("values", "keys"),
    [
        ([Decimal("1.00"), Decimal("2.00")], [Decimal("1.0"), Decimal("2.0")]),
        ([True, False, 1], [1, 0]),
        ([1, "1"], [1, "1"]),
        ([dt.date(2024, 1, 1)], ["2024-01-01"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("mode", ["keep", "truncate", "error"])
def test_columns_of_mixed_objects_are_refused_in_every_mode(values, keys, mode):
    data = pd.DataFrame({"u": range(len(values)), "p": pd.Series(values, dtype=object)})
    with pytest.raises((errors.DataError, errors.KeysError)):
        exactly(data, keys, on_excess=mode)


def test_an_answer_is_recalled_for_its_own_unit_and_form_only():
    data = table([("a", "x")] * 3 + [("b", "x")])
    ledger = od.Ledger.open(None)
    session = od.Session(data, policy=P.addition_only(), unit="u", budget=2000, ledger=ledger)
    session.count(epsilon=90, id="z")
    with pytest.raises(errors.LedgerError):
        od.Session(data, policy=P.addition_only(), budget=2000, ledger=ledger)
    session.at_most(3, by="p", keys=["x"], max_groups=1, epsilon=90, id="y")
    with pytest.raises(errors.LedgerError):
        session.count(by="p", keys=["x"], max_groups=1, epsilon=90, id="y")


def test_names_of_our_own_columns_are_free_to_take():
    data = table([("a", "x", False)], ("c1", "c0", "onesided_holds_0_0"))
    made = od.Session(data, policy=P.bounded(), unit="c1", budget=999)
    told = made.count(by="c0", keys=["x"], max_groups=1, epsilon=90, where="NOT onesided_holds_0_0")
    assert told.estimate.tolist() == [1]
