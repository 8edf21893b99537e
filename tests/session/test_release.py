"""One protocol for everything that is published."""

import csv
import doctest
import importlib
import inspect
import json
import pkgutil
import re
import sys
from dataclasses import dataclass
from functools import cache

import polars as pl
import pytest

import onesided
import onesided as od
from onesided import errors

ROWS = pl.DataFrame(
    {
        "person": [1, 1, 2, 3, 4],
        "place": ["a", "b", "b", "b", "c"],
        "age": [9, 9, 30, 70, 12],
        "minor": [True, True, False, False, False],
    }
)
PLACE = {"by": "place", "keys": ["a", "b", "c"]}
PRESENCE = od.policy.presence(max_groups=2)
ADDED = od.policy.addition_only()
SENSITIVE = od.policy.sensitive("minor")


@dataclass(frozen=True)
class Plus:
    """A mechanism of the curator's own: the counts plus geometric noise."""

    def release(self, counts, *, noise):
        return counts + noise.geometric(1, len(counts))

    def loss(self, shift):
        return od.mechanism.Counts(1, od.INFINITE).loss(shift)


def session(policy, **more):
    return od.Session(ROWS, unit="person", policy=policy, budget=10**4, **more)


def answers():
    """A release by every question."""
    delta = session(PRESENCE, delta_budget="1/10")
    yield "count", session(PRESENCE).count(**PLACE, epsilon=60)
    yield "single", session(ADDED).count(epsilon=60)
    yield "top_k", session(PRESENCE).top_k(2, **PLACE, epsilon=60)
    yield "above", session(PRESENCE).above(1, max_answers=1, **PLACE, epsilon=60)
    yield "at_most", session(PRESENCE).at_most(1, **PLACE, epsilon=60)
    yield "enclose", delta.enclose(**PLACE, epsilon=1, delta="1/100")
    totals = {"of": "units", "total_bounds": (0, 100), "max_groups": 2}
    yield "sum", session(ADDED).sum("age", **totals, **PLACE, epsilon=90)
    yield "mean", session(ADDED).mean("age", bounds=(0, 100), epsilon=90)
    yield "variance", session(ADDED).variance("age", bounds=(0, 100), epsilon=90)
    bins = {"bins": [0, 18, 100], "max_groups": 1, "on_excess": "truncate", "epsilon": 60}
    yield "histogram", session(ADDED).histogram("age", **bins)
    yield "dawa", session(ADDED).histogram("age", **bins, method="dawa")
    yield "median", session(ADDED).median("age", bounds=(0, 99), epsilon=60)
    yield "quantile", session(ADDED).maximum("age", candidates=[18, 65], max_groups=2, epsilon=60)
    yield "discover", session(SENSITIVE).discover(by="place", epsilon=60, max_groups=2)
    yield "sample", session(SENSITIVE).sample(epsilon=60)
    own = {"statistic": "count", "unverified": True, **PLACE, "epsilon": 60}
    yield "own", session(PRESENCE).release(Plus(), **own)
    two = [od.Count(**PLACE, epsilon=50), od.Count(epsilon=50)]
    yield "several", session(PRESENCE).ask_all(two)
    told = od.session.release_to_json(session(PRESENCE).count(**PLACE, epsilon=60))
    yield "written", od.session.release_from_json(told)
    monitor = od.Monitor(["a", "b"], at_most=1, window=9, epsilon=60, policy=ADDED)
    yield "monitor", monitor.step(ROWS.head(3), id="monday", time=1)
    rows = od.Session(ROWS, policy=ADDED, budget=1000)
    yield "linear", rows.linear([[1, 1, 0]], **PLACE, epsilon=60)
    yield "ranges", rows.ranges("age", "cells", bins=[0, 18, 100], epsilon=60)


# Made where they are looked at: collecting tests asks nothing.
NAMES = re.findall(r'^    yield "(\w+)"', inspect.getsource(answers), re.MULTILINE)


@cache
def released():
    found = list(answers())
    assert [name for name, _ in found] == NAMES
    return dict(found)


@pytest.mark.parametrize("name", NAMES)
def test_every_answer_keeps_the_protocol(name, tmp_path):
    keeps_the_protocol(released()[name], tmp_path / name)


def keeps_the_protocol(release, place):
    assert isinstance(release, od.Release)
    assert release.frame is not None
    assert len(release.to_frame()) == len(release.frame)
    assert all(one.entry is not None for one in release.releases)
    assert release.told_again is False
    assert len(repr(release).splitlines()) <= 10
    text = str(release)
    assert release.title in text
    assert all(one.strip(".") in text for one in release.guarantee.promise.split(". "))
    assert str(release.guarantee).startswith(release.title)
    for warning in release.warnings:
        assert warning in text.partition(release.title)[0]
    assert "_make_frame" not in text
    release.write(place, formats=("csv", "json", "parquet"))
    written = json.loads((place / "release.json").read_text())
    assert written["statement"] == release.statement.to_json()
    written = written["rows"]
    assert len(written) == len(next(iter(release.columns().values()), ()))
    assert pl.read_parquet(place / "release.parquet").height == len(written)
    facts = json.loads((place / "guarantee.json").read_text())
    assert facts["told_again"] is False
    assert facts["read_first"] == list(release.warnings)


def every_class(of=od.Release):
    return {of}.union(*(every_class(one) for one in of.__subclasses__()))


def classes():
    """Every class of release, by its name: a class with slots is made twice."""
    for _, module, _ in pkgutil.walk_packages(onesided.__path__, "onesided."):
        if not module.startswith(
            ("onesided.engine.spark", "onesided.spark")
        ) and not module.endswith("__main__"):
            importlib.import_module(module)
    ours = [one for one in every_class() if one.__module__.startswith("onesided.")]
    return sorted({getattr(sys.modules[one.__module__], one.__name__) for one in ours}, key=str)


@pytest.mark.parametrize("kind", classes())
def test_the_example_of_every_class_of_release_is_one_that_keeps_the_protocol(kind, tmp_path):
    """So a new class is held to the protocol by its own example, and no list is longer for it."""
    names = dict(vars(sys.modules[kind.__module__]))
    example = doctest.DocTestParser().get_doctest(kind.__doc__, names, kind.__name__, None, 0)
    doctest.DocTestRunner(verbose=False).run(example, out=lambda _: None, clear_globs=False)
    (release, *_) = [value for value in example.globs.values() if isinstance(value, kind)]
    keeps_the_protocol(release, tmp_path / "out")


@pytest.mark.parametrize("kind", classes())
def test_no_class_of_release_has_words_of_its_own_for_the_protocol(kind):
    for name in ("to_frame", "write", "certainly_at_most", "warnings", "__repr__"):
        assert getattr(kind, name) is getattr(od.Release, name), name
    for name in ("guarantee", "entry", "told_again", "drawn", "cut"):
        assert name in kind.__dataclass_fields__


@pytest.mark.parametrize("name", NAMES)
def test_bounds_and_labels_go_together(name):
    release = released()[name]
    if name in ("sample", "dawa", "own", "several", "median"):
        with pytest.raises(errors.ParameterError, match="no bounds"):
            _ = release.interval
        return
    interval = release.interval
    assert len(interval.lower) == len(interval.upper) == len(release.labels)
    assert (interval.lower <= interval.upper).all()
    if not interval.upper_certain:
        with pytest.raises(errors.ParameterError, match="at most"):
            release.at_most(3)
    else:
        assert all(label in release.labels for label in release.at_most(2))


def test_text_tells_the_answer_and_marks_what_is_certain():
    text = str(session(PRESENCE).top_k(2, **PLACE, epsilon=80))
    assert "upper (certain)" in text
    assert "b " in text
    assert " 3" in text
    assert "lower (95 %)" in str(session(PRESENCE).count(**PLACE, epsilon=80))


def test_a_single_number_has_a_value():
    release = session(ADDED).count(epsilon=80)
    assert release.value == 4
    with pytest.raises(errors.ParameterError, match="single value"):
        _ = session(PRESENCE).count(**PLACE, epsilon=80).value


def test_cut_data_are_said_first():
    release = session(ADDED).count(**PLACE, max_groups=1, on_excess="truncate", epsilon=9)
    assert "may have been cut" in str(release).splitlines()[0]
    assert "may have been cut" in repr(release).splitlines()[0]
    whole = session(ADDED).count(**PLACE, max_groups=2, on_excess="error", epsilon=9)
    assert "may have been cut" not in whole.cut


def test_a_share_of_cut_data_is_not_certain():
    release = session(ADDED).median(
        "age",
        candidates=[18, 65],
        max_groups=1,
        on_excess="truncate",
        epsilon=60,
        method="cumulative",
    )
    with pytest.raises(errors.ParameterError, match="units were cut"):
        release.certified_share(65, of=4)
    assert release.below.upper.shape == release.above.upper.shape == (1, 3)  # what the hint names


def test_no_cell_of_a_spreadsheet_is_a_formula(tmp_path):
    rows = pl.DataFrame({"person": [1, 2], "place": ["=1+1", "\t@SUM(1)"]})
    made = od.Session(rows, unit="person", policy=od.policy.presence(max_groups=1), budget=9)
    made.count(by="place", keys=["=1+1", "\t@SUM(1)"], epsilon=1).write(tmp_path / "out")
    with (tmp_path / "out" / "release.csv").open(newline="") as file:
        cells = [row[0] for row in csv.reader(file)][1:]
    assert [cell[0] for cell in cells] == ["'", "'"]


def test_nothing_is_overwritten_and_nothing_half_is_left(tmp_path):
    release = session(PRESENCE).count(**PLACE, epsilon=1)
    release.write(tmp_path / "out")
    with pytest.raises(errors.OutputError, match="exists"):
        release.write(tmp_path / "out")
    with pytest.raises(errors.ParameterError, match="'pdf' is unknown"):
        release.write(tmp_path / "other", formats=("csv", "pdf"))
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (release.write(tmp_path / "new" / "out") / "release.csv").is_file()


def test_a_session_shows_itself_shortly():
    made = session(PRESENCE)
    assert repr(made).startswith("Session(policy 'presence', unit 'person'")
    assert len(repr(made).splitlines()) <= 10
