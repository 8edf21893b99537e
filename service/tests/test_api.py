"""The HTTP API: what it answers, what it refuses, and what each costs."""

import copy
import time

import pytest

from onesided import policy

COUNT = {"version": 1, "question": "Count", "fields": {"epsilon": 1, "by": "place"}}


def named(question, name):
    found = copy.deepcopy(question)
    found["fields"]["id"] = name
    return found


def test_it_is_there(service):
    assert service.get("/healthz", who=None).json() == {"status": "ok"}


def test_who_one_is(service):
    assert service.get("/api/v1/me").json() == {"person": "ann", "roles": {"visits": ["analyst"]}}
    assert service.get("/api/v1/me", who=None).status_code == 401


def test_a_dataset_says_what_is_public(service):
    assert service.get("/api/v1/datasets").json()[0]["open"]
    found = service.get("/api/v1/datasets/visits").json()
    assert found["allowance_left"] == {"present -> not present": "40"}
    assert found["remaining"] == {"present -> not present": "100"}
    assert service.get("/api/v1/datasets/visits", who="stranger").status_code == 404
    assert service.get("/api/v1/datasets", who="stranger").json() == []


def test_an_answer_is_charged_told_and_read_again(service):
    first = service.ask(named(COUNT, "monday"))
    assert first.status_code == 200, first.text
    told = first.json()
    assert dict(told["release"]["columns"])["place"] == ["gym", "bar", "inn"]
    assert service.ask(named(COUNT, "monday")).status_code == 409
    more = named(COUNT, "monday")
    more["fields"]["again"] = True
    again = service.ask(more)
    assert again.content == first.content
    read = service.get(f"/api/v1/asks/{told['ask']}").json()
    assert read["state"] == "told"
    assert read["release"] == told["release"]
    left = service.get("/api/v1/datasets/visits").json()["allowance_left"]
    assert left == {"present -> not present": "39"}
    assert service.get(f"/api/v1/asks/{told['ask']}", who="bob").status_code == 404


def test_sql_is_a_question_too(service):
    body = {
        "sql": "SELECT place, COUNT(DISTINCT person) FROM visits GROUP BY place",
        "epsilon": "1/2",
    }
    plan = service.post("/api/v1/datasets/visits/plan", body).json()
    assert plan["charge"] == {"present -> not present": "1/2"}
    assert service.post("/api/v1/datasets/visits/ask", body).status_code == 200


def test_a_title_heads_the_answer_and_is_no_part_of_the_question(service):
    question = named(COUNT, "tuesday")
    question["fields"] |= {"title": "Who came?", "again": True}
    first = service.ask(question).json()
    assert first["release"]["statement"]["title"].startswith("Who came? Number of")
    question["fields"]["title"] = "Another"
    assert service.ask(question).json()["ask"] == first["ask"]
    body = {"sql": "SELECT COUNT(DISTINCT person) FROM visits", "epsilon": 1, "title": "All"}
    told = service.post("/api/v1/datasets/visits/ask", body).json()
    assert told["release"]["statement"]["heading"] == "All"
    body["title"] = "x" * 201
    assert service.post("/api/v1/datasets/visits/ask", body).status_code == 422


def test_an_allowance_is_held(service):
    big = copy.deepcopy(COUNT)
    big["fields"]["epsilon"] = 30
    assert service.ask(big).status_code == 200
    refused = service.ask(big)
    assert refused.status_code == 403
    assert "allowance" in refused.json()["error"]["message"]
    assert service.ask(big, who="bob").status_code == 200
    assert service.ask(COUNT).status_code == 200


@pytest.fixture
def renyi(folder):
    """The same dataset with an account that adds divergences."""
    (folder / "policy.toml").write_text(policy.unbounded().to_toml())
    toml = (folder / "onesided.toml").read_text().replace('budget = "100"', 'budget = "4"')
    toml += 'delta_budget = "1/1000000"\naccounting = "renyi"\n'
    (folder / "onesided.toml").write_text(toml)


MANY = {"by": "place", "keys": [f"p{n}" for n in range(60)], "max_groups": 60, "epsilon": "1/20"}
TABLE = {
    "by": ["place", "age"],
    "keys": {"tuple": [{"tuple": [place, age]} for place in ("gym", "bar") for age in (20, 21)]},
    "max_groups": 1,
    "on_excess": "truncate",
    "epsilon": "1/20",
}


@pytest.mark.parametrize("kind", ["Count", "CrossTable"])
def test_a_law_is_planned_asked_and_told_by_who_asks(renyi, service, kind):
    """Whoever has no allowance has the planner's choice; an allowance counts ε, so a pure law."""
    del renyi
    fields = {**(MANY if kind == "Count" else TABLE), "on_excess": "truncate"}

    def sent(**more):
        return {"version": 2, "question": kind, "fields": {**fields, **more}}

    def plan(who, **more):
        path = "/api/v1/datasets/visits/plan"
        told = service.post(path, {"question": sent(**more)}, who)
        assert told.status_code == 200, told.text
        return told.json()

    def charges(who, **more):
        return set(plan(who, **more)["charge"].values())

    assert charges("curator", law="gaussian") == {"INFINITE"}
    assert charges("ann") == charges("ann", law="pure") == charges("curator", law="pure")
    assert charges("ann") == {"1/20"}
    assert charges("curator") == {"INFINITE"}
    told = "as the allowance counts ε"
    assert told in plan("ann")["words"]
    assert told in plan("ann")["options"][0]["note"]
    assert told not in plan("ann", law="pure")["words"] + plan("curator")["words"]
    for who, name, pure in (("ann", "hers", True), ("curator", "his", False)):
        told = service.ask(sent(id=name), who)
        assert told.status_code == 200, told.text
        delta = set(told.json()["release"]["guarantee"]["delta"].values())
        assert delta == ({"0"} if pure else {"1/1000000"})
        again = service.ask(sent(id=name, again=True), who)
        assert again.json()["release"]["columns"] == told.json()["release"]["columns"]
    refused = service.ask(sent(law="gaussian"))
    assert refused.status_code == 403
    assert 'law=\\"pure\\"' in refused.text
    assert service.ask(sent(law="normal")).status_code == 422


def test_what_would_tell_of_rows_is_not_offered(service):
    error = copy.deepcopy(COUNT)
    error["fields"]["on_excess"] = "error"
    assert service.ask(error).status_code == 422
    total = {"version": 1, "question": "Sum", "fields": {"column": "age", "epsilon": 1}}
    assert service.ask(total).status_code == 200
    total["fields"]["missing"] = "refuse"
    assert service.ask(total).status_code == 422
    file = copy.deepcopy(COUNT)
    file["fields"]["keys"] = "/etc/passwd"
    assert service.ask(file).status_code == 422


def test_an_answer_may_be_waited_for_elsewhere(service):
    later = service.ask(COUNT, headers={"Prefer": "respond-async"})
    assert later.status_code == 202
    while (found := service.get(f"/api/v1/asks/{later.json()['ask']}").json())["state"] == "due":
        time.sleep(0.05)
    assert found["release"]["release"] == "CountRelease"


def test_sums_in_sql_say_how_many_rows_count_or_are_refused_with_the_new_spelling(service):
    """Before there was max_rows, the same words were about units."""
    body = {"epsilon": "1/2", "id": "sum"}
    for word, instead in (
        ("SUM(age)", "SUM_PER_UNIT(age)"),
        ("MEDIAN(age)", "MEDIAN_PER_UNIT(age)"),
        ("QUANTILE(age, 0.9)", "QUANTILE_PER_UNIT(age, 0.9)"),
    ):
        text = f"SELECT {word} FROM visits"
        refused = service.post("/api/v1/datasets/visits/ask", {**body, "sql": text})
        assert refused.status_code == 422, refused.text
        assert instead in refused.json()["error"]["hint"]
        assert "max_rows=" in refused.json()["error"]["hint"]
        asked = {"sql": text, "epsilon": "1/2", "max_rows": 3}
        assert service.post("/api/v1/datasets/visits/ask", asked).status_code == 200
    given = {"sql": "SELECT SUM_PER_UNIT(age) FROM visits", "epsilon": "1/2"}
    assert service.post("/api/v1/datasets/visits/plan", given).status_code == 422
    given["total_bounds"] = [0, 200]
    assert service.post("/api/v1/datasets/visits/plan", given).status_code == 200
