"""What an analyst learns about rows comes from charged releases alone.

Two datasets under each policy; a double in place of the mechanisms reads the rows and gives the
same answer on both. Then everything that leaves is the same, byte for byte, headers included.
"""

import importlib.util
import random
import sys
from pathlib import Path

import polars as pl
import pytest

from onesided import policy as policies

pytest.importorskip("fastapi")
pytest.importorskip("httpx")
pytest.importorskip("duckdb")


def beside(name):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


hour, world = beside("hour"), beside("world")
TYPES = {"person": pl.Int64, "place": pl.String, "age": pl.Int64}


def table(rows):
    return pl.DataFrame(rows, schema=TYPES, orient="row")


ROWS = [(p, hour.PLACES[(p + 2 * v) % 4], 18 + 7 * p % 60) for p in range(25) for v in range(2)]


def odd_rows(rng):
    """Rows of every sort that a file may have: many places, none, unknown ones, absurd ages."""
    places = [*hour.PLACES, None, "", "nowhere", "ä" * 300, "gym\x00"]
    ages = [None, -(2**63), 2**63 - 1, 0, 17, 30, 111]
    return [(rng.randrange(40), rng.choice(places), rng.choice(ages)) for _ in range(3000)]


# A policy, and two tables that it must keep apart from nobody; the last are any two tables at all.
PAIRS = {
    "a visit is dropped": (policies.presence(max_groups=2), ROWS, ROWS[:-1]),
    "a person is gone": (policies.unbounded(), ROWS, ROWS[:-2]),
    "a person is another": (
        policies.bounded(),
        ROWS,
        [*ROWS[:-2], (24, "zoo", 99), (24, "zoo", None)],
    ),
    "the sensitive person's rows": (
        policies.sensitive("age < 30"),
        [*ROWS, (77, "gym", 20)],
        [*ROWS, (77, "zoo", 90)],
    ),
    "anything": (policies.presence(max_groups=2), odd_rows(random.Random(1)), [(1, "gym", 30)]),
    "nothing": (policies.addition_only(), odd_rows(random.Random(2)), []),
}


@pytest.fixture
def swift():
    with world.in_memory() as made:
        yield Path(made)


def told(folder, rows, policy, requests, **more):
    with pytest.MonkeyPatch.context() as patch:
        place = world.written(folder, table(rows), policy)
        service = world.World(place, patch, **more)
        try:
            return service.responses(requests)
        finally:
            service.close()


def requests(long_form):
    return list(hour.hour(random.Random(20), 500 if long_form else 30))


@pytest.mark.heavy
@pytest.mark.parametrize("pair", PAIRS)
def test_every_response_is_the_same_byte_for_byte(pair, swift, long_form):
    policy, first, second = PAIRS[pair]
    sent = requests(long_form)
    one = told(swift / "first", first, policy, sent)
    other = told(swift / "a folder of another name", second, policy, sent)
    for request, mine, theirs in zip(sent, one, other, strict=True):
        assert mine == theirs, request
    statuses = {status for status, _, _ in one}
    assert {200, 401, 403, 404, 405, 413, 415, 422} <= statuses
    assert not {status for status in statuses if status >= 500}
    answers = sum(
        status == 200 and request.path.endswith("/ask") and request.method == "POST"
        for request, (status, _, _) in zip(sent, one, strict=True)
    )
    assert answers >= (100 if long_form else 3)


@pytest.mark.heavy
def test_the_check_sees_answers_that_depend_on_rows(swift):
    policy, first, second = PAIRS["anything"]
    sent = requests(long_form=False)
    one = told(swift / "first", first, policy, sent, coupled=False)
    other = told(swift / "second", second, policy, sent, coupled=False)
    differing = [request for request, a, b in zip(sent, one, other, strict=True) if a != b]
    assert differing
