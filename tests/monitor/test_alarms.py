"""Safe places and alarms: who is told of, what is certain, what rests, what is refused."""

import json

import numpy as np
import pytest

from onesided import Monitor, errors
from onesided import policy as p
from onesided.ledger import Unit
from onesided.monitor import rules_for
from onesided.monitor.kit import Folder, Look
from onesided.noise import NotPrivateSeededNoise
from onesided.session import release_from_json, release_to_json

VISITS = p.sensitive_presence("NOT agreed", max_groups=1)
GIVEN = {"at_most": 1, "at_least": 3, "window": 2, "epsilon": 40, "policy": VISITS}


def monitor(places=("gym", "bar"), **changed):
    return Monitor(list(places), **{**GIVEN, **changed})


def visits(*rows):
    person, place, agreed = zip(*rows, strict=True)
    return {"person": list(person), "place": list(place), "agreed": list(agreed)}


GYM = [(1, "gym", True), (2, "gym", True), (3, "gym", True)]


def test_an_alarm_counts_open_visits_and_safe_counts_all():
    hidden = [(n, "bar", agreed) for n, agreed in enumerate((True, True, False, None))]
    found = monitor().step(visits(*GYM, *hidden), id="a", time=1)
    assert found.status == ["alarm", "unknown"]
    assert (found.upper_bounds, found.lower_bounds) == ([3, 4], [3, 2])
    assert found.counts == {"safe": 0, "alarm": 1, "unknown": 1, "resting": 0}
    assert found.at_most() == []
    assert list(found.columns()) == ["place", "status", "at_most", "open_at_least"]


def test_a_person_counts_once_and_an_open_visit_does_not_open_others():
    rows = [
        (1, "gym", True),
        (1, "gym", True),
        (1, "gym", False),
        (2, "gym", False),
        (3, "gym", True),
    ]
    assert monitor().step(visits(*rows), id="a", time=1).lower_bounds == [2, 0]


def test_red_rests_as_green_does_and_is_asked_again_when_the_window_has_passed():
    one = monitor(["gym"])
    first = one.step(visits((1, "gym", True), (2, "gym", True)), id="a", time=1)
    assert first.status == ["unknown"]  # both were drawn, and are marked
    second = one.step(visits(*[(n, "gym", True) for n in (3, 4)]), id="b", time=2)
    assert (second.status, second.upper_bounds, second.lower_bounds) == (
        ["resting"],
        [None],
        [None],
    )
    third = one.step(visits((5, "gym", True)), id="c", time=3)
    assert (third.status, third.lower_bounds) == (["alarm"], [3])
    quiet = monitor(["gym"])
    told = [quiet.step(id=str(at), time=at) for at in range(1, 6)]
    assert [step.lower_bounds for step in told] == [[0], [None], [0], [None], [0]]
    assert all(step.status == ["safe"] for step in told)


def test_never_safe_and_an_alarm_whatever_is_drawn():
    for seed in range(40):
        one = monitor(epsilon=1, noise=NotPrivateSeededNoise(seed))
        found = one.step(visits(*GYM, (7, "bar", True)), id="a", time=1)
        assert not (found.certified & found.alarm).any()
        assert not found.certified[0]  # three are more than one
        assert not found.alarm[1]


def test_it_goes_on_from_its_state(tmp_path):
    state = tmp_path / "state.db"
    with monitor(state=state) as one:
        first = one.step(visits(*GYM), id="a", time=1)
    with monitor(state=state) as one:
        again = one.step(visits(*GYM), id="a", time=1)
        assert again.told_again
        assert (again.status, again.lower_bounds) == (first.status, first.lower_bounds)
        assert one.step(id="b", time=2).status[0] == "alarm"  # they are still in the window
        assert one.check() == 2
    with pytest.raises(errors.PolicyMismatchError, match="alarm"):
        monitor(state=state, at_least=4)


def test_what_it_promises():
    promise = monitor(epsilon=1).guarantees()
    assert (promise.visit, promise.person(places=1)) == (1, 4)
    assert promise.alarm_power(3) == pytest.approx(1 - np.exp(-1))
    assert promise.alarm_power(2) == 0.0
    assert monitor().ledger.accounts()[0].unit == Unit(None)  # it is about visits
    told = " ".join(monitor(charges=2).guarantees().sentences)
    assert "a place without alarm is asked 2 times in a window at this ε" in told


def test_the_folder_tells_four_states(tmp_path):
    one = monitor(("gym", "bar", "spa"))
    look = Look(title="x", positions=(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])))
    folder = Folder(path=tmp_path / "out", look=look, guarantees=one.guarantees())
    rows = [(n, "bar", False) for n in range(3)]
    folder.write(one.step(visits(*GYM, *rows), id="a", time=1), since=one.history())
    told = json.loads((tmp_path / "out" / "status.json").read_text())
    assert told["alarm"] == 3
    assert told["counts"] == {"safe": 1, "alarm": 1, "unknown": 1, "resting": 0}
    assert told["places"] == [
        {"place": "gym", "status": "alarm", "at_most": 3, "open_at_least": 3},
        {"place": "bar", "status": "unknown", "at_most": 3, "open_at_least": 0},
        {"place": "spa", "status": "safe", "at_most": 1, "open_at_least": 0},
    ]
    points = json.loads((tmp_path / "out" / "status.geojson").read_text())["features"]
    assert points[0]["properties"]["open_at_least"] == 3
    page = (tmp_path / "out" / "index.html").read_text()
    assert all(f"<b>{word}" in page for word in ("Safe", "Alarm", "Unknown", "Resting"))


WRONG = {
    "s = t": ({"at_least": 1}, errors.ParameterError, "safe and an alarm"),
    "s below t": ({"at_most": 5, "at_least": 5}, errors.ParameterError, "6 or more"),
    "presence": (
        {"policy": p.presence(max_groups=1)},
        errors.UnprotectableError,
        "policy of a map",
    ),
    "persons": (
        {"policy": p.sensitive_presence("NOT agreed", max_groups=2)},
        errors.UnprotectableError,
        "visit by visit",
    ),
    "answers": ({"max_answers": 1, "window": None}, errors.ParameterError, "both decisions"),
    "no boolean": (
        {"policy": p.sensitive_presence("age < 18", max_groups=1)},
        errors.ConditionError,
        "age",
    ),
    "no number": ({"at_least": "x"}, errors.ParameterError, "at_least"),
    "lengths": ({"at_least": [3]}, errors.ParameterError, "2 places"),
}


@pytest.mark.parametrize(("changed", "kind", "words"), WRONG.values(), ids=WRONG)
def test_what_is_refused(changed, kind, words):
    with pytest.raises(kind) as caught:
        monitor(**changed)
    assert words in str(caught.value)


def test_a_batch_without_who_agreed_is_refused_and_changes_nothing():
    one = monitor()
    with pytest.raises(errors.UnknownColumnError, match="agreed"):
        one.step({"person": [1], "place": ["gym"]}, id="a", time=1)
    with pytest.raises(errors.DataError, match="'yes'"):
        one.step(visits((1, "gym", "yes")), id="a", time=1)
    assert one.last is None


def test_without_alarms_nothing_changes():
    given = {"place": "place", "at_most": 5, "window": 7, "epsilon": 1, "charges": 1}
    rules = rules_for(["a"], policy=p.presence(max_groups=1), max_answers=None, **given)
    assert "alarm" not in rules.config()
    assert rules.cells == rules.size


@pytest.mark.parametrize("column", ["person", "place", "time"])
def test_what_says_where_a_visit_is_decides_no_kind(column):
    policy = p.sensitive_presence(f"NOT {column}", max_groups=1)
    with pytest.raises(errors.ParameterError, match="where, when or whose"):
        Monitor([True, False], at_most=1, at_least=3, window=2, epsilon=1, policy=policy)


def test_what_is_certain_of_open_visits_stays_so_in_json():
    policy = p.sensitive_presence("NOT agreed", max_groups=1)
    given = {"at_most": 1, "at_least": 3, "window": 7, "epsilon": 90, "policy": policy}
    with Monitor(["gym", "bar"], **given) as monitor:
        rows = {"person": [1, 2, 3, 4], "place": ["gym"] * 4, "agreed": [True] * 4}
        step = monitor.step(rows, id="monday", time=1)
    back = release_from_json(release_to_json(step))
    assert back.table.columns() == step.table.columns()
    for side in ("lower", "upper"):
        assert back.table.certain(side).tolist() == step.table.certain(side).tolist()
