"""Asking by accuracy: what is promised holds, and the price refuses what the ask would."""

import importlib.util
import json
import math
from pathlib import Path
from urllib.parse import quote

import numpy as np
import polars as pl
import pytest

pytest.importorskip("fastapi")

from tests.covering import drawn

import onesided as od
from onesided.errors import ParameterError
from onesided.noise import NotPrivateSeededNoise
from onesided.session import Count, Histogram, Sum
from onesided_service._accuracy import accurate, half_width
from onesided_service._api import WANTED
from onesided_service._form import examples_of

spec = importlib.util.spec_from_file_location("pages", Path(__file__).with_name("test_pages.py"))
pages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pages)
Browser = pages.Browser

VISITS = "/api/v1/datasets/visits"
COUNT = {"version": 1, "question": "Count", "fields": {"epsilon": 1, "by": "place"}}
SCHEMA = od.Schema(
    unit="person",
    columns={
        "person": od.column("integer"),
        "place": od.column("text", keys=["gym", "bar", "inn"]),
        "age": od.column("integer", bounds=(0, 110), step=5),
    },
)
ROWS = pl.DataFrame(
    {
        "person": [row // 2 for row in range(6000)],
        "place": [("gym", "bar", "inn")[row % 3] for row in range(6000)],
        "age": [5 * (row % 20) for row in range(6000)],
    }
)
ASKED = [
    (Count(by="place", max_groups=2, epsilon=1), 20),
    (Count(epsilon=1), 7),
    (Histogram("age", bins=range(0, 111, 10), epsilon=1), 12),
    (Sum("age", of="rows", max_rows=3, by="place", max_groups=2, epsilon=1), 9000),
]
POLICIES = {"presence": od.policy.presence(max_groups=2), "unbounded": od.policy.unbounded()}
DRAWS = 1_800


def _least(promised=0.95, alarm=1e-8):
    """The share that so many draws reach, but for once in 10^8, where the promise holds.

    By Chernoff's bound: a share ``a`` or less comes with a chance of at most exp(-n KL(a, p)).
    """
    low, high = 0.5, promised
    for _ in range(60):
        a = (low + high) / 2
        far = a * math.log(a / promised) + (1 - a) * math.log((1 - a) / (1 - promised))
        low, high = (low, a) if DRAWS * far < -math.log(alarm) else (a, high)
    return low


LEAST = _least()


def session_of(policy, noise=None):
    more = {} if noise is None else {"noise": noise}
    return od.Session(
        ROWS, schema=SCHEMA, policy=POLICIES[policy], budget=10**9, delta_budget="1/2", **more
    )


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("question", "within"), ASKED, ids=["groups", "count", "bins", "sum"])
def test_so_many_answers_are_so_close(policy, question, within):
    session = session_of(policy, NotPrivateSeededNoise(5))
    if half_width(question, session.plan(question)) is None:
        with pytest.raises(ParameterError, match="cannot be said"):
            accurate(session.plan, question, within)
        return
    asked = accurate(session.plan, question, within)
    width = half_width(asked, session.plan(asked))
    assert width <= within * 1.0001
    smaller = asked.epsilon * 9 / 10
    less = type(asked)(**{**_fields(asked), "epsilon": smaller})
    assert half_width(less, session.plan(less)) > within * 0.7
    exact = type(asked)(**{**_fields(asked), "epsilon": 90})
    truth = np.asarray(session.ask(exact).estimate, dtype=float)
    answers = drawn(session, asked, DRAWS)
    far = np.array([np.abs(np.asarray(one.estimate, dtype=float) - truth) for one in answers])
    shares = {part: (far <= part * within).mean(axis=0).min() for part in (1, 0.65)}
    assert shares[1] >= LEAST
    # The check sees a width that is a third too narrow, where the promise is not kept by far. Noise
    # that falls by e^3 over the width lies within 0.65 of it with 0.86: in 1,800 draws the share is
    # LEAST once in 10^12.
    assert shares[0.65] < LEAST or shares[1] > 0.96 or within < 10


def _fields(question):
    from dataclasses import fields

    return {one.name: getattr(question, one.name) for one in fields(question) if one.init}


def test_it_is_in_the_api_and_free(service):
    wanted = {"question": COUNT, "wanted": {"within": 20}}
    told = service.post(f"{VISITS}/suggest", wanted)
    assert told.status_code == 200, told.text
    assert told.json()["plan"]["within"] <= 20
    assert set(service.get(VISITS).json()["spent"].values()) == {"0"}
    for bad in ({"within": 0}, {"within": "nan"}, {"within": 5, "error": 5}, {"within": []}):
        refused = service.post(f"{VISITS}/suggest", {"question": COUNT, "wanted": bad})
        assert refused.status_code == 422, bad


FAR = ["1e400", "1e-400", "1" + "0" * 400, "1/" + "9" * 400, "1e99999999999", "-1e400"]


@pytest.mark.parametrize("far", FAR, ids=lambda far: far[:8])
def test_no_number_is_beyond_what_is_worked_with(service, far):
    """Whatever number is sent, by program or page, is worked with exactly or refused."""
    for name in WANTED:
        for value in (far, int(far) if far.isdecimal() else far):
            given = {value: 1} if name == "groups_of_units" else value
            told = service.post(f"{VISITS}/suggest", {"question": COUNT, "wanted": {name: given}})
            assert told.status_code in (200, 422), (name, told.text)
    for field in ("epsilon", "confidence", "max_groups", "weights"):
        asked = {"question": {**COUNT, "fields": {**COUNT["fields"], field: far}}}
        for way in ("plan", "preview", "ask"):
            assert service.post(f"{VISITS}/{way}", asked).status_code in (200, 403, 422), field
    raw = f'{{"question": {json.dumps(COUNT)}, "wanted": {{"within": {far}}}}}'
    headers = {"Authorization": f"Bearer {service.tokens['ann']}"}
    headers["Content-Type"] = "application/json"
    told = service.client.post(f"{VISITS}/suggest", content=raw, headers=headers)
    assert told.status_code in (200, 400, 422), told.text
    browser = Browser(service).sign_in("ann")
    for name in ("within", "epsilon", "number", "max_rows", "max_groups"):
        query = f"?{name}={quote(far)}&by=place"
        assert browser.get(f"/datasets/visits/ask{query}").status_code == 200, name
        form = {"how": "form", "kind": "count", "by": "place", "within": "5", name: far}
        form |= {"within": ""} if name == "epsilon" else {}
        assert browser.post("/datasets/visits/price", form).status_code == 200, name


@pytest.mark.parametrize(
    "fields", [{"where": "shoe = 3"}, {"by": "shoe", "keys": ["a"]}, {"where": "person = 'x'"}]
)
def test_the_price_refuses_what_the_ask_would(service, fields):
    question = {**COUNT, "fields": {"epsilon": 1, **fields}}
    for way in ("plan", "ask"):
        assert service.post(f"{VISITS}/{way}", {"question": question}).status_code == 422


def test_examples_are_of_the_datasets_own_columns_and_are_answered(service):
    found = examples_of(service.inner.datasets["visits"])
    assert len(found) >= 4
    assert any("place" in one["title"] for one in found)
    assert any("age" in one["title"] for one in found)


def test_made_up_data_are_of_the_declared_size_and_depend_on_no_row(service, folder):
    from onesided_service._made_up import made_up_csv

    schema = service.inner.datasets["visits"].schema
    assert made_up_csv(schema, 1000).count("\n") == 1001
    told = service.get(f"{VISITS}/made-up").json()["columns"]
    assert {len(some) for some in told.values()} == {1000}
    (folder / "visits.parquet").unlink()
    assert service.get(f"{VISITS}/made-up").json()["columns"] == told
