"""Attacks on linear queries: moves that were priced too low."""

from __future__ import annotations

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
