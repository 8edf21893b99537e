"""What helps to ask, for nothing: suggestions, made-up rows, and the curator's list of people."""

import pytest

pytest.importorskip("fastapi")

VISITS = "/api/v1/datasets/visits"
COUNT = {"version": 1, "question": "Count", "fields": {"epsilon": 1, "by": "place"}}


def suggest(service, question=COUNT, **wanted):
    return service.post(f"{VISITS}/suggest", {"question": question, "wanted": wanted})


def test_a_suggestion_is_the_least_that_is_enough_and_free(service):
    told = suggest(service, error=5)
    assert told.status_code == 200, told.text
    found = told.json()
    assert 4.9 < found["error"] <= 5
    asked = service.post(f"{VISITS}/plan", {"question": found["question"]}).json()
    assert asked["charge"] == found["plan"]["charge"]
    assert set(service.get(VISITS).json()["spent"].values()) == {"0"}


def test_groups_are_chosen_by_a_public_guess(service):
    found = suggest(service, groups_of_units={"1": 50, "2": 1}).json()
    assert set(found["compared"]) == {"1", "2"}
    assert found["question"]["fields"]["max_groups"] in (1, 2)


@pytest.mark.parametrize(
    "wanted", [{}, {"look": "1/20"}, {"like": []}, {"error": 0}, {"error": 1, "certified": "0.9"}]
)
def test_what_cannot_be_suggested_is_refused(service, wanted):
    refused = suggest(service, **wanted)
    assert refused.status_code == 422
    assert set(service.get(VISITS).json()["spent"].values()) == {"0"}


@pytest.mark.parametrize("body", [{}, [], {"question": COUNT}, {"wanted": {"error": 1}}])
def test_half_a_request_is_refused(service, body):
    assert service.post(f"{VISITS}/suggest", body).status_code == 422


def test_suggestions_are_for_questions_of_few_cells(service):
    bins = {"epsilon": 1, "column": "age", "bins": 110}
    large = {"version": 1, "question": "Histogram", "fields": bins}
    assert service.post(f"{VISITS}/plan", {"question": large}).status_code == 200
    assert suggest(service, large, error=5).status_code == 422


def test_made_up_rows_fit_the_schema_and_are_the_same_for_all(service):
    told = service.get(f"{VISITS}/made-up")
    assert told.status_code == 200
    columns = told.json()["columns"]
    assert set(columns) == {"person", "place", "age"}
    assert set(columns["place"]) <= {"gym", "bar", "inn"}
    assert all(0 <= age <= 110 for age in columns["age"])
    assert service.get(f"{VISITS}/made-up", "bob").content == told.content
    assert service.get(f"{VISITS}/made-up", "stranger").status_code == 404


def test_the_curator_sees_who_may_ask_and_what_is_left_to_them(service):
    assert service.ask(COUNT).status_code == 200
    told = service.get(f"{VISITS}/people", "curator").json()
    by_name = {one["person"]: one for one in told}
    assert set(by_name) == {"ann", "bob", "carol"}
    assert by_name["ann"]["roles"] == ["analyst"]
    assert by_name["ann"]["questions"] == 1
    assert set(by_name["ann"]["spent"].values()) == {"1"}
    assert set(by_name["ann"]["left"].values()) == {"39"}
    assert set(by_name["bob"]["left"].values()) == {"40"}
    assert set(by_name["carol"]["left"].values()) == {"99"}
    assert service.get(f"{VISITS}/people").status_code == 403
