"""One release: the same answer from a session, a file, the ledger, a service and a client."""

import dataclasses
import json
from functools import cache

import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.session import release_from_json, release_to_json
from onesided.show import RoleTable

ROWS = pl.DataFrame(
    {
        "person": [1, 1, 2, 3, 4],
        "place": ["a", "b", "b", "b", "c"],
        "age": [9, 9, 30, 70, 12],
        "minor": [True, True, False, False, False],
    }
)
KEYS = {"place": ["a", "b", "c"], "name": ["Arena", "Bar", None], "zip": [55267, 55268, 1]}
PLACE = {"by": "place", "keys": KEYS}
PRESENCE = od.policy.presence(max_groups=2)
ADDED = od.policy.addition_only()
SENSITIVE = od.policy.sensitive("minor")
BINS = {"bins": [0, 18, 100], "max_groups": 1, "on_excess": "truncate", "epsilon": 60}
TOTALS = {"of": "units", "total_bounds": (0, 100), "max_groups": 2}
S = od.session
QUESTIONS = {
    "count": (PRESENCE, S.Count(**PLACE, epsilon=60)),
    "of all": (ADDED, S.Count(epsilon=60)),
    "others": (ADDED, S.Count(by="place", keys=["a"], others=True, max_groups=1, epsilon=60)),
    "top_k": (PRESENCE, S.TopK(2, **PLACE, epsilon=60)),
    "top_k sure": (PRESENCE, S.TopK(2, **PLACE, epsilon=60, confidence="0.9")),
    "above": (PRESENCE, S.Above(1, max_answers=1, **PLACE, epsilon=60)),
    "adaptive": (PRESENCE, S.Above(1, max_answers=1, adaptive=True, **PLACE, epsilon=60)),
    "at_most": (PRESENCE, S.AtMost(1, **PLACE, epsilon=60)),
    "own limits": (PRESENCE, S.AtMost([1, 2, 3], **PLACE, epsilon=60)),
    "likely": (od.policy.bounded(), S.AtMost(1, **PLACE, max_groups=2, epsilon=60)),
    "at_least": (SENSITIVE, S.AtLeast(1, **PLACE, counted="open", max_groups=2, epsilon=60)),
    "enclose": (PRESENCE, S.Enclosed(**PLACE, epsilon=1, delta="1/100")),
    "sum": (ADDED, S.Sum("age", **TOTALS, **PLACE, epsilon=90)),
    "row_count": (ADDED, S.RowCount(max_rows=3, epsilon=90)),
    "mean": (ADDED, S.Mean("age", bounds=(0, 100), epsilon=90)),
    "variance": (ADDED, S.Variance("age", bounds=(0, 100), epsilon=90)),
    "histogram": (ADDED, S.Histogram("age", **BINS)),
    "by group": (ADDED, S.Histogram("age", **BINS, by="place", keys=["a", "b"])),
    "dawa": (ADDED, S.Histogram("age", **BINS, method="dawa")),
    "split": (SENSITIVE, S.Histogram("age", **BINS, method="split")),
    "median": (ADDED, S.Quantile("age", bounds=(0, 99), epsilon=60)),
    "quantiles": (ADDED, S.Quantile("age", ["1/4", "3/4"], bounds=(0, 99), epsilon=60)),
    "maximum": (ADDED, S.Quantile("age", 1, candidates=[18, 65], max_groups=2, epsilon=60)),
    "discover": (SENSITIVE, S.Discover(by="place", epsilon=60, max_groups=2)),
    "none found": (SENSITIVE, S.Discover(by="place", epsilon=60, max_groups=2, threshold=99)),
    "linear": (ADDED, S.LinearQuery([[1, 1, 0]], by="place", keys=["a", "b", "c"], epsilon=60)),
    "ranges": (ADDED, S.RangeQuery("age", "cells", bins=[0, 18, 100], epsilon=60)),
    "several": (PRESENCE, S.Several([S.Count(**PLACE, epsilon=50), S.Count(epsilon=50)])),
}
UNKEPT = "sample"


def session_of(policy, name):
    unit = None if name in ("linear", "ranges") else "person"
    return od.Session(ROWS, unit=unit, policy=policy, budget=10**4, delta_budget="1/10")


@cache
def answered(name):
    """The session, and its answer to a question with an id."""
    policy, question = QUESTIONS[name]
    session, asked = session_of(policy, name), dataclasses.replace(question, id="monday")
    return session, asked, session.ask(asked)


def a_file(name):
    return release_from_json(release_to_json(answered(name)[2]))


def the_ledger(name):
    session, asked, _ = answered(name)
    return session.ask(dataclasses.replace(asked, again=True))


def a_service(name):
    published = pytest.importorskip("onesided_service._published")
    text = release_to_json(answered(name)[2])
    return published.Published(id="1", dataset="visits", title="", time="", text=text).release


def a_client(name):
    httpx = pytest.importorskip("httpx")
    policy, _ = QUESTIONS[name]

    def told(request):
        facts = {
            "name": "visits",
            "open": True,
            "policy": {"name": policy.name, "toml": policy.to_toml(), "words": ""},
            "unit": "person",
            "schema": {"columns": {}},
        }
        answer = {"ask": "1", "release": json.loads(release_to_json(answered(name)[2]))}
        asked = request.url.path.endswith("/ask")
        return httpx.Response(200, json=answer if asked else facts)

    given = {"token": "made-up", "dataset": "visits", "transport": httpx.MockTransport(told)}
    with od.connect("http://localhost:8000", **given) as session:
        return session.ask(answered(name)[1])


SOURCES = {"file": a_file, "ledger": the_ledger, "service": a_service, "client": a_client}


def tried(read):
    """What it gives, or how it is refused."""
    try:
        found = read()
    except errors.ParameterError as error:
        return str(error)
    if isinstance(found, pl.DataFrame):
        return found.to_dict(as_series=False)
    return found.tolist() if isinstance(found, np.ndarray) else found


def told(release):
    """All that everybody can read off a release, and no more than a written one has."""
    if isinstance(release, od.session.Answers):
        return [told(one) for one in release], release.columns(), release.title
    interval = tried(lambda: release.interval)
    if not isinstance(interval, str):
        sides = (interval.lower.tolist(), interval.upper.tolist())
        interval = (*sides, interval.lower_certain, interval.upper_certain)
    frame = release.frame
    return {
        "kind": release.kind,
        "roles": release.table.roles,
        "columns": release.columns(),
        "frame": (type(frame).__name__, frame.columns, frame.to_dict(as_series=False)),
        "interval": interval,
        "labels": release.labels,
        "keys": (release.keys.names, release.keys.labels(), dict(release.keys.beside.columns)),
        "beside": release.beside,
        "estimate": tried(lambda: release.estimate),
        "value": tried(lambda: release.value),
        "at_most": [tried(lambda t=t: release.at_most(t)) for t in (None, 0, 1, 3)],
        "certainly": [tried(lambda t=t: release.certainly_at_most(t)) for t in (0, 2)],
        "at_least": [tried(lambda t=t: release.at_least(t)) for t in (1, 3)],
        "above": tried(lambda: release.above) if release.table.column("certified") else "",
        "sure": (tried(lambda: release.lower_certain), tried(lambda: release.upper_certain)),
        "words": (release.title, release.summary, release.bound_words, release.counted),
        "cut": release.cut,
        "notes": release.notes,
        "printed": (str(dataclasses.replace(release, told_again=False)), release.statement.asked),
        "rows": len(release),
        "lines": release.table.lines(rows=9, share=release.bound_words),
        "html": release.table.html(release.bound_words),
        "csv": release.table.csv(),
        "chart": repr(release.chart().shape),
        "promise": release.guarantee.promise,
        "releases": len(release.releases),
    }


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", QUESTIONS)
def test_every_source_tells_the_same(name, source):
    first = answered(name)[2]
    again = SOURCES[source](name)
    assert type(again) is type(first)
    assert told(again) == told(first)
    assert again.told_again is (source == "ledger")


@pytest.mark.parametrize("name", QUESTIONS)
def test_writing_it_twice_changes_nothing(name):
    text = release_to_json(answered(name)[2])
    assert release_to_json(release_from_json(text)) == text


def test_rows_that_were_published_are_rows_wherever_they_are_read():
    release = session_of(SENSITIVE, UNKEPT).sample(epsilon=60)
    again = release_from_json(release_to_json(release))
    assert set(again.table.roles.values()) == set(release.table.roles.values()) == {"row"}
    assert again.columns() == release.columns()
    assert (again.kind, again.title, again.summary) == (
        release.kind,
        release.title,
        release.summary,
    )
    assert again.frame.equals(release.frame)


def test_steps_of_a_monitor_read_alike():
    monitor = od.Monitor(["a", "b"], at_most=1, window=9, epsilon=60, policy=ADDED)
    release = monitor.step(ROWS.head(3), id="monday", time=1)
    again = release_from_json(release_to_json(release))
    assert again.at_most(1) == release.at_most(1) == ["a"]
    assert again.interval.upper.tolist() == release.interval.upper.tolist() == [1, 2]
    assert again.interval.upper_certain
    assert again.table == release.table
    shapes = [one.chart().shape for one in (release, again)]
    assert repr(shapes[0]) == repr(shapes[1])
    assert [one.said for one in shapes[1].limits] == ["at most 1"]
    assert shapes[1].decided.tolist() == [True, False]


@pytest.mark.parametrize("name", ["at_most", "own limits", "likely", "at_least", "above"])
def test_thresholds_are_drawn_wherever_an_answer_comes_from(name):
    release = a_file(name)
    drawn = str(release.plot())
    own = name == "own limits"
    assert [one.one for one in release.chart().shape.limits] == [None if own else 1]
    side = "least" if name == "at_least" else "most"
    assert f"at {side} {'its own limit' if own else 1}<" in drawn
    words = ("likely", "undecided") if name == "likely" else ("certified", "unknown")
    assert all(f">{one}<" in drawn for one in words)


def test_the_frame_is_of_the_type_that_the_caller_names():
    text = release_to_json(answered("count")[2])
    assert release_from_json(text, frame=dict).frame["place"] == ["a", "b", "c"]
    assert isinstance(release_from_json(text).frame, pl.DataFrame)


def test_what_only_a_session_knows_is_named_where_it_is_missing():
    first = answered("count")[2]
    assert first.noisy.tolist() == [1, 3, 1]
    assert {"noisy", "mechanism", "confidence"} <= set(dir(first))
    with pytest.raises(AttributeError, match=r"no 'noisy'.*read from a file"):
        _ = a_file("count").noisy


def test_numbers_print_in_one_way_on_every_surface():
    """What names a row stands as it is; quantities are grouped, and none is in powers of ten."""
    large, sure = 3_583_391.25, 2_974_301.253728
    table = {"zip": [55267], "estimate": [large], "lower": [sure], "upper": [np.inf]}
    release = dataclasses.replace(
        answered("count")[2],
        told=RoleTable.of({**table, "lower_certain": [True], "upper_certain": [False]}),
    )
    for text in (str(release), repr(release), release._repr_html_()):
        assert "55267" in text
        assert "3,583,391" in text
        assert "2,974,301" in text
        assert "no bound" in text
        assert "e+06" not in text
        assert "E+6" not in text


@pytest.mark.parametrize("name", QUESTIONS)
def test_no_fraction_is_shown_as_python_writes_it(name):
    release = answered(name)[2]
    for text in (str(release), repr(release), release._repr_html_()):
        assert "Fraction(" not in text
