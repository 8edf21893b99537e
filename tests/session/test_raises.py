"""What reading, drawing and telling may raise: each statement stands in a list, with its reason.

``raises.txt`` has a line for each file and class of error: how many statements, and on which public
fact they depend; or "machine"; or "before the charge"; or that no table makes them raise. A
statement that depends on rows has no place there: it is made total, or moves into what is asserted.
"""

import importlib.util
import sys
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

import onesided as od
from onesided.session.kit import prepared

_SPEC = importlib.util.spec_from_file_location("reached", Path(__file__).with_name("reached.py"))
reached = sys.modules["reached"] = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(reached)

LIST = Path(__file__).with_name("raises.txt")
REASONS = ("public: ", "machine: ", "before the charge: ", "true of every table: ")
OWN = "the curator's own code, which no service offers"


@pytest.fixture(scope="module")
def sources():
    return reached.Sources()


@pytest.fixture(scope="module")
def functions(sources):
    return sources.reached()


def listed():
    lines = [line.split(" | ") for line in LIST.read_text(encoding="utf-8").splitlines()]
    return {(file, kind): (int(number), why) for file, kind, number, why in lines}


def test_every_statement_that_may_raise_stands_in_the_list(functions):
    found = Counter((one.file, kind) for one in functions for kind in one.raises)
    assert found == {key: number for key, (number, _) in listed().items()}


def test_every_line_says_on_what_it_depends():
    for key, (_, why) in listed().items():
        assert why.startswith(REASONS) or why == OWN, key


def test_what_depends_on_rows_is_asserted_before_the_charge():
    """The few refusals by rows, by the file that words them."""
    found = {file for (file, _), (_, why) in listed().items() if why.startswith(REASONS[2])}
    assert found == {
        "engine/_fit",
        "engine/_table",
        "session/_groups",
        "session/histograms/_binned",
        "session/values/_moments",
        "session/workloads/_ranges",
        "session/workloads/_table",
    }


ROWS = pl.DataFrame(
    {"u": [1, 1, 2, 3], "p": ["a", "b", "b", "a"], "v": [1, 2, 3, 4], "s": [False] * 4}
)
ASKED = [
    od.Count(by="p", keys=["a"], max_groups=1, epsilon=1),
    od.session.Sum("v", of="units", total_bounds=(0, 2**40), epsilon=1),
    od.session.Variance("v", bounds=(0, 9), epsilon=1),
    od.session.Quantile("v", bounds=(0, 9), epsilon=1),
    od.session.Quantile("v", [i / 12 for i in range(1, 12)], bounds=(0, 9), epsilon=1),
    od.session.Histogram("v", bins=[0, 2, 9], method="dawa", epsilon=1),
    od.session.RangeQuery("v", "all", bins=[0, 2, 9], epsilon=1),
    od.session.Discover(by="p", max_groups=1, epsilon=1),
    od.session.Sample(epsilon=1),
]


@pytest.mark.parametrize("question", ASKED, ids=lambda one: type(one).__name__)
def test_no_function_with_such_a_statement_is_called_that_was_not_reached(
    sources, functions, question
):
    """The sources are read roughly: what is really called must be among what was found."""
    places = {(one.file, one.line) for one in functions}
    raising = {(one.file, one.line): one for one in sources.all if one.raises}
    session = od.Session(ROWS, unit="u", policy=od.policy.sensitive("s"), budget=99)
    steps, called = prepared(session, question), set()

    def note(frame, event, _):
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(reached.SOURCE)):
            file = str(Path(name).relative_to(reached.SOURCE).with_suffix(""))
            called.add((file.removesuffix("/__init__"), frame.f_code.co_firstlineno))

    sys.setprofile(note)
    try:
        steps.result(steps.draw(steps.read(), None), None)
    finally:
        sys.setprofile(None)
    missed = [raising[place].name for place in called & set(raising) if place not in places]
    assert missed == []
