"""Answers of 0.1.0 are told to nobody: some questions meant something else. Their charges count.

``data/onesided-0.1.0.db`` was written by 0.1.0: one answer by each question, with scripted noise.
"""

import shutil
from pathlib import Path

import polars as pl
import pytest

import onesided as od
from onesided import errors

DATA = Path(__file__).parent / "data"
ROWS = pl.DataFrame({"person": [9], "place": ["b"], "pay": [1], "minor": [True]})


def test_charges_of_0_1_count_and_its_answers_are_not_told_again(tmp_path):
    shutil.copy(DATA / "onesided-0.1.0.db", tmp_path / "old.db")
    (tmp_path / "old.db").chmod(0o600)
    session = od.Session(
        ROWS,
        unit="person",
        policy=od.policy.presence(max_groups=2),
        budget=1000,
        delta_budget="1/100",
        ledger=tmp_path / "old.db",
        further=True,
    )
    spent = dict(session.spent)
    assert sum(spent.values())
    assert session.total(delta="1e-9").plain.headline == max(spent.values())
    asked = {"by": "place", "keys": ["a", "b"], "epsilon": "1/2", "where": "pay < 70"}
    for again in (False, True):
        with pytest.raises(errors.ReleaseExistsError) as caught:
            session.count(**asked, id="count", again=again)
    assert "onesided 0.1" in str(caught.value)
    assert session.spent == spent
