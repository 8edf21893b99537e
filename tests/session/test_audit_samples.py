"""Attacks on samples and on counts whose keys nobody listed."""

from __future__ import annotations

import polars as pl
import pytest

import onesided as od
from onesided.errors import UnprotectableError


def test_rows_of_kinds_that_no_rule_tells_apart_are_never_published() -> None:
    protected = od.policy.local(["no", "yes"], sensitive=["yes"])
    session = od.Session(pl.DataFrame({"v": ["yes", "no"]}), policy=protected, budget=50)
    with pytest.raises(UnprotectableError, match="tells them apart"):
        session.sample(epsilon=40)
    assert session.remaining == {"yes -> no": 50}
