"""Attacks on linear queries: moves that were priced too low."""

from __future__ import annotations

import math
from fractions import Fraction

import polars as pl
import pytest

import onesided as od
from onesided import linear, policy
from onesided.errors import ParameterError
from onesided.mechanism import Linear


def test_a_graph_over_numbered_keys_is_priced_by_the_keys_and_not_by_their_places() -> None:
    data = pl.DataFrame({"v": [1, 1, 2]})
    session = od.Session(data, policy=policy.graph([(1, 2)], directed=True), budget=9)
    asked = {"by": "v", "epsilon": 1, "strategy": "identity"}
    both = session.linear([[1, 0], [0, 1]], keys=[1, 2], **asked)
    (shifts,) = both.mechanism.shifts.values()
    assert shifts == (od.Shift(rise=1, fall=1),)
    away = session.linear([[1]], keys=[1], **asked)
    (shifts,) = away.mechanism.shifts.values()
    assert shifts == (od.Shift(rise=0, fall=1),)
    into = session.linear([[1]], keys=[2], **asked)
    (shifts,) = into.mechanism.shifts.values()
    assert shifts == (od.Shift(rise=1, fall=0),)


def test_numbers_that_may_be_a_shape_or_values_of_a_graph_are_refused() -> None:
    protected = policy.graph([(1, 2)])
    with pytest.raises(ParameterError, match="may be the shape"):
        linear.moves_of(protected, (1, 2))
    found = Linear.for_policy(protected, workload=[[1, 0], [0, 1]], epsilon=1, cells=[1, 2])
    assert [s for many in found.shifts.values() for s in many if s != od.Shift(rise=0, fall=0)]


def test_a_place_that_is_no_cell_is_elsewhere() -> None:
    places = {"a": (0,), "b": (5,), "c": (1,)}
    near = policy.neighbourhood(radius=1, places=places)
    found = Linear.for_policy(
        near, workload=[[1, 0], [0, 1]], epsilon=1, cells=["a", "b"], strategy=linear.Identity(2)
    )
    (shifts,) = found.shifts.values()
    assert set(shifts) == {od.Shift(rise=1, fall=0), od.Shift(rise=0, fall=1)}
    assert (found.upper_rate, found.lower_rate) == (1, 1)


def test_a_grid_of_one_column_has_strategies() -> None:
    found = Linear.for_policy(
        policy.neighbourhood(radius=1),
        workload=linear.Ranges((3, 1), [[0, 0]], [[2, 1]]),
        epsilon=1,
    )
    assert found.strategy.shape[1] == 3


def worst_loss(release, apart) -> Fraction:
    """The largest loss between two of the strategy's columns that are ``apart``."""
    mechanism = release.mechanism
    matrix = mechanism.strategy.dense()
    found = Fraction(0)
    for x in range(matrix.shape[1]):
        for y in range(matrix.shape[1]):
            if apart(x, y):
                step = matrix[:, y] - matrix[:, x]
                rise, fall = int(step[step > 0].sum()), int(-step[step < 0].sum())
                found = max(found, mechanism.loss(od.Shift(rise=rise, fall=fall)))
    return found


@pytest.mark.parametrize("radius", ["1", "1.5", "2", "2.9"])
@pytest.mark.parametrize("distance", [1, 2, 3, 4])
def test_whole_numbers_are_assured_no_better_than_their_moves_hide_them(radius, distance) -> None:
    # Whole numbers 3 apart are three moves apart if a move leads 1.5 far, not two.
    data = pl.DataFrame({"x": [0, 1, 2, 3, 4]})
    session = od.Session(data, policy=policy.neighbourhood(radius=radius), budget=9)
    release = session.ranges("x", "cells", bins=range(6), epsilon=1, strategy="prefix")
    (promised,) = release.assurance(distance)
    assert worst_loss(release, lambda x, y: abs(x - y) <= distance) <= promised.epsilon
    assert promised.moves == -(-distance // math.floor(Fraction(radius)))


@pytest.mark.parametrize("radius", ["1", "1.5", "2"])
@pytest.mark.parametrize("distance", ["1", "1.5", "2.3", "3"])
def test_whole_numbers_in_a_plane_are_assured_no_better_either(radius, distance) -> None:
    data = pl.DataFrame({"x": [0, 1], "y": [0, 1]})
    session = od.Session(data, policy=policy.neighbourhood(radius=radius), budget=9)
    release = session.ranges(
        ("x", "y"), "cells", bins=(4, 4), bounds=((0, 4), (0, 4)), epsilon=1, strategy="summed area"
    )
    (promised,) = release.assurance(distance)

    def apart(one, two) -> bool:
        (r, c), (s, d) = divmod(one, 4), divmod(two, 4)
        return (r - s) ** 2 + (c - d) ** 2 <= Fraction(distance) ** 2

    assert worst_loss(release, apart) <= promised.epsilon


def test_nothing_is_assured_where_no_moves_lead() -> None:
    session = od.Session(
        pl.DataFrame({"x": [0, 3], "p": ["a", "b"]}),
        policy=policy.neighbourhood(radius="1/2", places={"a": (0,), "b": (3,), "c": ("1/2",)}),
        budget=9,
    )
    points = session.ranges("x", "cells", bins=range(5), epsilon=1)
    with pytest.raises(ParameterError, match="No moves"):
        points.assurance(3)
    named = session.linear([[1, 0], [0, 1]], by="p", keys=["a", "b"], epsilon=1)
    assert named.assurance(1)[0].moves == 1
    with pytest.raises(ParameterError, match="No moves lead from 'a' to 'b'"):
        named.assurance(3)
