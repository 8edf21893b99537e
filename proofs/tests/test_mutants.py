"""Small mistakes in the shipped code are noticed; those that may live are listed with reasons."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "mutants.py"


def test_all_that_may_live_has_a_reason():
    reasons = json.loads(SCRIPT.with_suffix(".json").read_text(encoding="utf-8"))
    assert all(len(reason.split()) > 6 for reason in reasons.values())
    assert not any("OPEN" in reason for reason in reasons.values())
    assert all(name.startswith("onesided.") for name in reasons)


@pytest.mark.heavy
@pytest.mark.xdist_group("proofs")  # minutes, so among the first
def test_what_onesided_verify_would_run_sees_small_mistakes(long_form):
    """The first twelve of the 200 that ``make mutants`` and the long form plant."""
    sample = 200 if long_form else 12
    command = [sys.executable, SCRIPT, "--sample", str(sample)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{sample} of the rest are" in done.stdout
