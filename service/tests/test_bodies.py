"""Bodies that are few bytes and much work, or no text: refused before anything is done."""

import json
import time

import pytest

PLAN = "/api/v1/datasets/visits/plan"
SQL = "SELECT place, COUNT(DISTINCT person) FROM visits GROUP BY place"


def count(**fields):
    return {"question": {"version": 1, "question": "Count", "fields": {"epsilon": 1, **fields}}}


DEEP = "[" * 300 + "]" * 300
HARD = {
    "exponent": json.dumps(count(epsilon={"number": "1e9000000"})),
    "range": json.dumps(count(by="age", keys={"range": [0, 10**12, 1]})),
    "range in SQL": json.dumps({"sql": SQL, "epsilon": 1, "keys": {"range": [0, 10**12, 1]}}),
    "depth": json.dumps(count(by="age", keys="deep")).replace('"deep"', DEEP),
    "depth in SQL": json.dumps({"sql": SQL, "epsilon": 1, "keys": "deep"}).replace('"deep"', DEEP),
    "NaN": json.dumps(count(epsilon=float("nan"))),
    "infinity": json.dumps({"sql": SQL, "epsilon": float("inf")}),
    "surrogate": json.dumps(count(id="\ud800")),
    "NUL": json.dumps(count(id="a\x00b")),
    "questions": '{"question":{"version":1,"question":"Several","fields":{"questions":"abc"}}}',
    "parts": json.dumps(count(epsilon={"number": f"1/{10**300 + 1}"})),
}


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("way", ["plan", "ask"])
def test_what_is_too_much_or_no_text_is_refused_at_once(service, name, way):
    headers = {"Authorization": f"Bearer {service.tokens['ann']}"}
    headers |= {"Content-Type": "application/json"}
    began = time.process_time()
    path = f"/api/v1/datasets/visits/{way}"
    told = service.client.post(path, content=HARD[name], headers=headers)
    assert told.status_code in (400, 422), told.text
    assert time.process_time() - began < 5
    assert service.get("/api/v1/datasets/visits").json()["open"]


def test_no_asker_leaves_a_sum_that_nothing_can_be_added_to(service):
    """What ε may be has one denominator for all: sums stay short, whoever asks what."""
    for epsilon in ("1/97", "0.000000000000000000000001", "1/64", 0.1, 1e-5, "1/3"):
        told = service.post(PLAN, count(epsilon=epsilon))
        assert told.status_code == 200 or "outside 2^-40" in told.text
    odd = service.post(PLAN, count(epsilon=f"1/{10**9 + 7}"))
    assert odd.status_code == 422
    several = count()["question"] | {"question": "Several"}
    parts = [{"question": "Count", "fields": {"epsilon": f"1/{10**9 + 7}"}}]
    several["fields"] = {"questions": parts}
    assert service.post(PLAN, {"question": several}).status_code == 422


def test_a_refused_ask_fills_no_disk(service):
    before = len(service.get("/api/v1/datasets/visits/asks").json())
    refused = service.post("/api/v1/datasets/visits/ask", count(epsilon=99))
    assert refused.status_code == 403
    assert len(service.get("/api/v1/datasets/visits/asks").json()) == before
