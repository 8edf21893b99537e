"""Narrow keys as one number: one to one, by types alone, and the same groups on every path."""

import narwhals as nw
import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided.engine._snapshot import CODE, KeyCodes
from onesided.engine._table import Table
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Record
from onesided.verify import Universe

from .conftest import ENGINES
from .test_contract import read

EXACT = 1000
SOME = Table(pl.DataFrame({"x": [1]})).engine
MIXES = [
    (nw.Boolean,),
    (nw.Int32,),
    (nw.UInt32, nw.Int16, nw.Boolean),
    (nw.Int8,) * 5,
    (nw.UInt8, nw.Int32),
    (nw.Int16, nw.UInt16, nw.Int16),
    (nw.Int8,) * 7,
]


@pytest.fixture(params=["polars", "polars-lazy", "duckdb"])
def numbering(request):
    """Makes a table of one of the engines in which keys are numbered."""
    return ENGINES[request.param]


def types_of(mix):
    return {f"k{place}": kind() for place, kind in enumerate(mix)}


def columns_of(types, count=200, seed=1):
    """Keys with the least and the greatest values of each type, as numpy columns."""
    random = np.random.default_rng(seed)
    columns = {}
    for name, kind in types.items():
        if kind == nw.Boolean:
            columns[name] = random.integers(0, 2, count).astype(bool)
            continue
        limits = np.iinfo(type(kind).__name__.lower())
        values = random.integers(limits.min, limits.max, count, dtype=limits.dtype, endpoint=True)
        values[:2] = limits.min, limits.max
        columns[name] = values
    return columns


@pytest.mark.parametrize("mix", MIXES, ids=str)
def test_keys_come_back_from_their_numbers_in_order(numbering, mix):
    types = types_of(mix)
    codes = KeyCodes.of(types, SOME)
    columns = columns_of(types)
    rows = nw.from_native(numbering({n: c.tolist() for n, c in columns.items()})).lazy()
    numbers = codes.coded(rows, None).collect()[CODE].to_numpy().astype(np.int64)
    assert numbers.min() >= 0
    assert numbers.max() < 2**codes.bits
    back = codes.columns(numbers)
    wanted = set(zip(*(c.tolist() for c in columns.values()), strict=True))
    assert set(zip(*(c.tolist() for c in back.values()), strict=True)) == wanted
    assert len(set(numbers.tolist())) == len(wanted)
    turned = codes.columns(np.sort(numbers))
    told = list(zip(*(c.tolist() for c in turned.values()), strict=True))
    assert told == sorted(told)
    assert [turned[n].dtype for n in types] == [columns[n].dtype for n in types]


@pytest.mark.parametrize(
    "mix", [(nw.Int64,), (nw.String,), (nw.Date,), (nw.Int32, nw.Int32)], ids=str
)
def test_wide_keys_have_no_numbers(mix):
    assert KeyCodes.of(types_of(mix), SOME) is None


@pytest.mark.parametrize("unit", [pl.Int8, pl.UInt64, pl.String, pl.Boolean])
def test_units_of_any_type(unit):
    people = pl.Series("person", [0, 1, 0, 1, 1]).cast(pl.Int8 if unit == pl.String else unit)
    data = pl.DataFrame(
        {"person": people.cast(unit), "place": [1, 1, 1, -1, -1], "minor": [False] * 5},
        schema_overrides={"place": pl.Int8},
    )
    policy = od.policy.sensitive("minor")
    made = od.Session(
        data, unit="person", policy=policy, budget=10**4, noise=NotPrivateSeededNoise(7)
    )
    told = read(made.discover(by="place", epsilon=EXACT, max_groups=2).frame)
    assert list(zip(told["place"], told["lower"], strict=True)) == [(1, 2), (-1, 1)]


@pytest.mark.parametrize("large", [2**10, 2**61])
@pytest.mark.parametrize("mix", [(nw.Int32, nw.Int16), (nw.Int8,)], ids=str)
def test_large_counts_come_first_whether_or_not_they_fit_one_number(mix, large):
    codes = KeyCodes.of(types_of(mix), SOME)
    numbers = np.arange(50)
    lower = np.where(numbers % 2, large, 3)
    told = codes.published({CODE: numbers}, lower)
    assert told["lower"].tolist() == [large] * 25 + [3] * 25
    keys = list(zip(*(told[name].tolist() for name in codes.types), strict=True))
    assert keys[:25] == sorted(keys[:25])
    assert keys[25:] == sorted(keys[25:])


WORLD = Universe(
    values=(Record("sensitive", frozenset({1})), Record("open", frozenset({1, 2}))), ordered=True
)


@pytest.mark.heavy
@pytest.mark.parametrize("most", [1, 2])
def test_the_session_keeps_its_promise_exactly_with_numbered_keys(most):
    policy = od.policy.sensitive("private")

    def program(data, noise):
        rows = [(u, g, r.kind == "sensitive") for u, r in enumerate(data) for g in sorted(r.value)]
        schema = {"person": pl.Int64, "place": pl.Int8, "private": pl.Boolean}
        table = pl.DataFrame(rows, schema=schema, orient="row")
        made = od.Session(table, unit="person", policy=policy, budget=4, noise=noise)
        told = made.discover(by="place", epsilon=4, max_groups=most).frame
        return tuple(zip(told["place"], told["lower"], strict=True))

    report = od.verify.exact(program, policy, WORLD, tail=1e-5, sealed=False)
    losses = {edge.name: finding.loss for edge, finding in report.findings.items()}
    assert losses["sensitive -> open"] == pytest.approx(4, abs=1e-3)
