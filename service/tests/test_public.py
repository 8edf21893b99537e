"""What everybody may read, what the curator sees, and how a dataset closes and opens."""

import copy

COUNT = {"version": 1, "question": "Count", "fields": {"epsilon": 1, "by": "place"}}


def test_an_answer_is_published_by_the_curator_alone(service):
    ask = service.ask(COUNT).json()["ask"]
    path = f"/api/v1/asks/{ask}/publish"
    assert service.post(path, {"title": "Mine"}).status_code == 403
    assert service.post(path, {"title": "Mine"}, who="bob").status_code == 404
    told = service.post(path, {"title": "Visits, 2026"}, who="curator").json()["published"]
    assert service.post(path, {"title": "Again"}, who="curator").json()["published"] == told
    found = service.get(f"/api/v1/published/{told}", who=None)
    assert found.json()["title"] == "Visits, 2026"
    assert found.json()["release"]["release"] == "CountRelease"
    same = {"If-None-Match": found.headers["etag"]}
    assert service.get(f"/api/v1/published/{told}", who=None, headers=same).status_code == 304
    assert service.get(f"/api/v1/published/{told}.csv", who=None).text.startswith("place,estimate")
    assert service.get(f"/api/v1/published/{told}.json", who=None).json()["version"] == 2
    assert [one["id"] for one in service.get("/api/v1/published", who=None).json()] == [told]
    assert service.get("/api/v1/published/none", who=None).status_code == 404


def test_a_file_that_was_replaced_closes_the_dataset(service, folder):
    path = folder / "visits.parquet"
    held = path.read_bytes()
    service.ask(COUNT)
    path.write_bytes(held[:-9] + b"something")
    closed = service.ask(COUNT)
    assert closed.status_code == 503
    assert closed.json()["error"]["type"] == "DatasetClosed"
    for who in ("ann", "bob", "curator"):
        assert service.ask(COUNT, who=who).content == closed.content
    for free in ("plan", "preview"):  # as on its pages
        told = service.post(f"/api/v1/datasets/visits/{free}", {"question": COUNT})
        assert (told.status_code, told.content) == (503, closed.content)
        assert not service.get("/api/v1/datasets/visits", who=who).json()["open"]
    assert service.get("/api/v1/datasets/visits/notes").status_code == 403
    notes = service.get("/api/v1/datasets/visits/notes", who="curator").json()
    assert "not the one that was checked" in notes[0]["note"]
    reopen = "/api/v1/datasets/visits/reopen"
    assert service.post(reopen, {}).status_code == 403
    assert service.post(reopen, {}, who="curator").status_code == 409
    path.write_bytes(held)
    assert service.post(reopen, {}, who="curator").json()["open"]
    assert service.ask(COUNT).status_code == 200


def test_a_charge_that_failed_is_answered_after_reopening(service, folder):
    path = folder / "visits.parquet"
    held = path.read_bytes()
    path.unlink()
    question = copy.deepcopy(COUNT)
    question["fields"]["id"] = "monday"
    assert service.ask(question).status_code == 503
    path.write_bytes(held)
    assert service.post("/api/v1/datasets/visits/reopen", {}, who="curator").status_code == 200
    assert service.ask(question).status_code == 200
    left = service.get("/api/v1/datasets/visits").json()["allowance_left"]
    assert left == {"present -> not present": "39"}
    who = [
        one["who"] for one in service.get("/api/v1/datasets/visits/ledger", who="curator").json()
    ]
    assert "ann" in who
