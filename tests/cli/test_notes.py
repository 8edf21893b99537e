"""What a report tells a reader to keep in mind: sentences with the publication's own numbers."""

import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided.cli._publication import notes_of

PLACES = [f"place {number}" for number in range(40)]


FILLED = od.Schema(columns={"place": od.column("text", required=True)})


def counted(policy, keys=PLACES, schema=FILLED, **question):
    visits = pl.DataFrame({"person": range(80), "place": [PLACES[n % 40] for n in range(80)]})
    session = od.Session(visits, unit="person", policy=policy, budget=1000, schema=schema)
    return session.count(by="place", keys=keys, epsilon=40, **question)


def said(release, **about):
    about = {"threshold": None, "certified": None, **about}
    return notes_of(release, **about)


def test_it_says_what_the_figures_are_about_and_how_often_a_bound_fails():
    notes = said(counted(od.policy.presence(max_groups=1)))
    assert notes == (
        "About the data as they are.",
        "Each 'lower' holds with 95 % confidence: of 40, expect at most 2 to be above the true "
        "number.",
        "For half of the groups, the bounds are no more than 0 apart.",
    )


def test_bounds_that_are_not_certain_on_either_side_fail_together():
    release = counted(od.policy.unbounded(), max_groups=1, on_excess="error")
    assert (
        "Each pair of bounds holds with 95 % confidence: of 40, expect at most 2"
        in said(release)[1]
    )
    assert said(release)[0].startswith("About the data as they are.")
    assert "Asserted, and found true" in said(release)[0]


def test_bounds_that_hold_at_once_are_not_told_to_fail():
    release = counted(od.policy.presence(max_groups=1), simultaneous=True)
    assert said(release)[1] == ("With 95 % confidence, 'lower' holds for all groups at once.")


def test_where_rows_may_be_missing_it_is_about_what_is_recorded():
    notes = said(counted(od.policy.presence(max_groups=1), schema=None))
    assert notes[0] == "About the data as recorded."


def test_bounded_data_are_not_called_the_data_as_given():
    release = counted(od.policy.presence(max_groups=1), max_groups=1, on_excess="truncate")
    assert said(release)[0].startswith("About bounded data")


@pytest.mark.parametrize(("unknown", "words"), [(1, "1 group is"), (3, "3 groups are")])
def test_unknown_is_said_not_to_mean_more(unknown, words):
    certified = np.arange(40) >= unknown
    release = counted(od.policy.presence(max_groups=1))
    note = said(release, threshold=5, certified=certified)[1]
    assert note.startswith(f"{words} 'unknown'. That does not mean more than 5")


def test_one_count_is_not_told_as_many():
    session = od.Session(
        pl.DataFrame({"person": [1, 2]}), unit="person", policy=od.policy.addition_only(), budget=9
    )
    assert said(session.count(epsilon=9))[1:] == (
        "The bound 'lower' holds with 95 % confidence.",
        "The bounds are no more than 0 apart.",
    )
