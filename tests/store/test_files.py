"""Stores are made for their owner alone."""

import os
import stat

import pytest

from onesided.ledger import Ledger
from onesided.store import PermissionsWarning


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o277])
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_a_ledger_is_its_owners_whatever_the_umask(tmp_path, umask):
    path = tmp_path / "ledger.db"
    folder = mode(tmp_path)
    with Ledger.open(path) as ledger:
        ledger.account(policy_id="a", policy_toml="", policy_name="a", budget={"e": 1}).spend(
            {"e": 1}, label="x"
        )
    assert mode(path) == 0o600
    assert mode(tmp_path) == folder
    assert [one.name for one in tmp_path.iterdir()] == ["ledger.db"]


@pytest.mark.parametrize("wider", [0o640, 0o604, 0o666])
def test_a_ledger_found_wider_is_told_and_not_changed(tmp_path, wider):
    path = tmp_path / "ledger.db"
    with Ledger.open(path) as ledger:
        ledger.account(policy_id="a", policy_toml="", policy_name="a", budget={"e": 1}).spend(
            {"e": 1}, label="x"
        )
    path.chmod(wider)
    with pytest.warns(PermissionsWarning, match=f"mode {wider:o}.*chmod 600"):
        Ledger.open(path).close()
    assert mode(path) == wider
