"""Conditions in linear queries: whoever a move may put in or leave out is charged for."""

from itertools import product

import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided import linear
from onesided.errors import ContributionError, DataError, OnesidedError
from onesided.session import LinearQuery, RangeQuery

NEAR = od.policy.neighbourhood
EPSILON = 2


class Still:
    """No noise: the strategy's own sums, of which every move's shift can be seen."""

    def two_sided(self, upper, lower, size):
        del upper, lower
        return np.zeros(size, dtype=np.int64)


def worst(policy, rows, joined, question):
    """The largest loss between tables of one row (or none) that a move joins; by enumeration."""
    sums, mechanism = {}, None
    schema = {"x": pl.String if isinstance(question, LinearQuery) else pl.Int64, "day": pl.Int64}
    for row in rows:
        frame = pl.DataFrame([] if row is None else [row], schema=schema, orient="row")
        asked = od.Session(frame, policy=policy, budget=EPSILON, noise=Still())
        release = asked.ask(question)
        sums[row], mechanism = release.noisy, release.mechanism
    found = 0
    for one, two in product(rows, rows):
        if joined(one, two):
            step = sums[two] - sums[one]
            shift = od.Shift(rise=int(step[step > 0].sum()), fall=int(-step[step < 0].sum()))
            found = max(found, mechanism.loss(shift))
    return found


POINTS = [*product(range(-1, 5), (0, 1)), None]


def near(one, two):
    """Values within 1; what else is in the row may differ, and nobody comes or goes."""
    return one is not None and two is not None and abs(one[0] - two[0]) <= 1


def by_zero(one, two):
    present = one or two
    comes = (one is None) != (two is None) and abs(present[0]) <= 1
    return near(one, two) or comes


@pytest.mark.parametrize("where", ["day = 1", "x > 2"])
@pytest.mark.parametrize(
    ("strategy", "bins"),
    [
        ("prefix", range(5)),
        ("wavelet", range(5)),
        ("suffix", [0, 1, 3, 4]),
        ("identity", [0, 2, 3]),
    ],
)
def test_ranges_are_charged_for_whom_a_condition_may_put_in_or_leave_out(where, strategy, bins):
    question = RangeQuery("x", "cells", bins=bins, epsilon=EPSILON, strategy=strategy, where=where)
    assert worst(NEAR(radius=1, sources=[(0,)]), POINTS, by_zero, question) <= EPSILON


def test_a_session_that_forgot_them_would_be_seen(monkeypatch):
    question = RangeQuery(
        "x", "cells", bins=range(5), epsilon=EPSILON, strategy="prefix", where="day = 1"
    )
    assert worst(NEAR(radius=1), POINTS, near, question) == EPSILON
    monkeypatch.setattr(linear.Moves, "conditioned", lambda moves: moves)
    assert worst(NEAR(radius=1), POINTS, near, question) == 4 * EPSILON


ARROWS = [("a", "b"), ("b", "c"), ("b", "d", 2), ("absent", "a")]


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize(
    ("where", "strategy", "keys"),
    [("day = 1", "edge counts", "abcd"), ("x <> 'b'", "prefix", "abc")],
)
def test_so_are_groups_on_a_graph(where, strategy, keys, directed):
    policy = od.policy.graph(ARROWS, directed=directed)
    question = LinearQuery(
        np.eye(len(keys), dtype=int), by="x", keys=list(keys), epsilon=EPSILON, strategy=strategy,
        where=where,
    )  # fmt: skip
    rows = [*product("abcd", (0, 1)), None]
    weights = {(s, t): w for s, t, w in policy.arrows.listed}

    def of_weight(weight):
        def joined(one, two):
            ends = tuple("absent" if row is None else row[0] for row in (one, two))
            return weights.get(ends) == weight

        return joined

    for weight in {*weights.values()}:
        assert worst(policy, rows, of_weight(weight), question) <= EPSILON * weight


@pytest.mark.parametrize("name", ["bounded", "unbounded", "addition_only", "removal_only"])
def test_so_are_kinds(name):
    policy = getattr(od.policy, name)()

    def joined(one, two):
        comes, goes = one is None, two is None
        return {
            "bounded": not comes and not goes,
            "unbounded": comes != goes,
            "addition_only": goes and not comes,
            "removal_only": comes and not goes,
        }[name]

    # Without a condition the total is public, and the last prefix sum costs nothing.
    for where in ("day = 1", None):
        question = RangeQuery(
            "x", "cells", bins=range(5), epsilon=EPSILON, strategy="prefix", where=where
        )
        assert worst(policy, POINTS, joined, question) == EPSILON


def test_places_that_are_no_keys_and_points_on_the_globe_are_charged_too():
    policy = NEAR(radius=1, places={"a": (0,), "b": (1,), "c": (2,), "d": (9,)})
    question = LinearQuery([[1, 0]], by="x", keys=["b", "d"], epsilon=EPSILON, where="day = 1")
    place = {name: point[0] for name, point in policy.places}

    def joined(one, two):
        return None not in (one, two) and abs(place[one[0]] - place[two[0]]) <= 1

    assert worst(policy, [*product("abcd", (0, 1)), None], joined, question) <= EPSILON
    globe = NEAR(radius=500_000, metric="haversine")
    frame = pl.DataFrame({"lat": [1.0], "lon": [1.0], "day": [1]})
    asked = od.Session(frame, policy=globe, budget=9)
    ask = {"bins": (4, 4), "bounds": ((0, 40), (0, 40)), "outside": "refuse", "epsilon": 1}
    total = {"strategy": np.ones((1, 16), dtype=int), "ranges": [((0, 40), (0, 40))]}
    column = ("lat", "lon")
    free = asked.plan(RangeQuery(column, total["ranges"], strategy=total["strategy"], **ask))
    paid = asked.plan(
        RangeQuery(column, total["ranges"], strategy=total["strategy"], where="day = 1", **ask)
    )
    assert set(free.charge.values()) == {0}
    assert set(paid.charge.values()) == {1}


def test_only_rows_that_satisfy_the_condition_are_counted_and_null_does_not(engine):
    frame = engine({"x": [0, 0, 1, 3, 3, 3], "day": [1, 2, 1, None, 1, 1]})
    asked = od.Session(frame, policy=NEAR(radius=1), budget=99, noise=Still())
    ask = {"bins": range(5), "epsilon": 1, "where": "day = 1"}
    release = asked.ranges("x", "cells", **ask)
    counts = [1, 1, 0, 2]
    assert np.array_equal(release.noisy, release.mechanism.strategy.apply(np.array(counts)))
    assert not any("total is public" in note for note in release.notes)


def test_an_answer_is_kept_under_its_condition():
    frame = pl.DataFrame({"x": [0, 1], "day": [1, 2]})
    asked = od.Session(frame, policy=NEAR(radius=1), budget=9)
    ask = {"bins": range(3), "epsilon": 1, "id": "kept"}
    first = asked.ranges("x", "cells", where="day = 1", **ask)
    again = asked.ranges("x", "cells", where="day = 1", again=True, **ask)
    assert again.noisy.tolist() == first.noisy.tolist()
    for other in (None, "day = 2"):
        with pytest.raises(OnesidedError, match="another question"):
            asked.ranges("x", "cells", where=other, **ask)
    with pytest.raises(OnesidedError):
        asked.ranges("x", "cells", where="nothing = 1", bins=range(3), epsilon=1)


def test_a_unit_has_one_value_whether_or_not_the_condition_picks_it():
    """Else a short move of each could put a far value in the place of the one that counted."""
    frame = pl.DataFrame({"who": [1, 1, 2], "x": [0, 4, 1], "day": [1, 2, 1]})
    near_by = od.Session(frame, policy=NEAR(radius=1), unit="who", budget=9)
    with pytest.raises(ContributionError):
        near_by.ranges("x", "cells", bins=range(6), epsilon=1, where="day = 1")
    nobody = frame.with_columns(who=pl.lit(None, dtype=pl.Int64))
    with pytest.raises(DataError, match="no value in the unit"):
        od.Session(nobody, policy=NEAR(radius=1), unit="who", budget=9).ranges(
            "x", "cells", bins=range(6), epsilon=1, where="day = 1"
        )
    anything = od.Session(frame, policy=od.policy.bounded(), unit="who", budget=9, noise=Still())
    release = anything.ranges(
        "x", "cells", bins=range(6), epsilon=1, where="day = 1", strategy="identity"
    )
    assert release.noisy.tolist() == [1, 1, 0, 0, 0]
