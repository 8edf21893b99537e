"""Several processes on one ledger: crowds, kills, forks."""

import json
import os
import subprocess
import sys
import warnings
from fractions import Fraction
from pathlib import Path

import pytest

from onesided import errors

HERE = Path(__file__).parent
EDGE = "sensitive -> open"


def run(script, *words):
    done = subprocess.run(
        [sys.executable, HERE / script, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", ["pure", "renyi"])
def test_a_crowd_never_passes_the_budget(shared_place, open_ledger, long_form, kind):
    processes, spends, budget = (8, 500, 3000) if long_form else (4, 25, 60)
    # A half at each order, of B(1025) = ε - 0.0135: one less than twice the half of a budget.
    granted = budget if kind == "pure" else (budget + 1) // 2 + 1
    found = run("crowd.py", shared_place, processes, spends, granted, kind)["told"]
    budget = budget if kind == "pure" else 2 * granted - 1
    accepted = sorted(number for told in found for number in told["accepted"])
    assert [told["errors"] for told in found] == [[]] * processes
    assert sum(told["refused"] for told in found) == processes * spends - budget
    ledger = open_ledger(shared_place)
    report = ledger.check(laws=lambda *_, **__: {})
    recorded = [entry.number for entry in ledger.entries() if entry.kind == "spend"]
    assert accepted == recorded == list(range(2, budget + 2))
    assert report.charges == budget
    assert 0 <= ledger.accounts()[0].remaining["edge"] < Fraction(1, 2)


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["pure", "renyi"])
def test_kill_at_any_moment_loses_nothing_acknowledged(shared_place, long_form, kind):
    found = run("crash.py", shared_place, 500 if long_form else 20, 20260101, kind)
    assert found["lost"] == 0
    assert 0 < found["acknowledged"] <= found["recorded"]
    # A killed process wastes at most the charge that it was recording.
    assert found["wasted"] <= found["kills"]


def test_a_budget_that_another_process_just_spent(shared_place, open_ledger, open_account):
    ledger = open_ledger(shared_place)
    account = open_account(ledger, budget={EDGE: 1})
    assert account.remaining[EDGE] == 1
    other = (
        "import sys\nfrom onesided.ledger import Ledger\n"
        "with Ledger.open(sys.argv[1]) as ledger:\n"
        f"    ledger.accounts()[0].spend({{{EDGE!r}: '9/10'}}, label='theirs')\n"
    )
    subprocess.run([sys.executable, "-c", other, str(shared_place)], check=True)
    with pytest.raises(errors.BudgetExceededError, match=r"1/10 left of 1 \(1 release so far"):
        account.spend({EDGE: "1/2"}, label="mine")
    assert account.remaining[EDGE] == pytest.approx(0.1)


def in_a_fork(action):
    """What ``action`` returns, or the name of what it raises, in a forked child."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Other tests' machinery may run threads; this child touches nothing of theirs.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        try:
            os.close(reader)
            try:
                said = str(action())
            except errors.OnesidedError as error:
                said = type(error).__name__
            os.write(writer, said.encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_uses_a_connection_of_its_own(shared_place, open_ledger, open_account):
    ledger = open_ledger(shared_place)
    account = open_account(ledger)
    account.spend({EDGE: "1/10"}, label="parent")
    assert in_a_fork(lambda: account.spend({EDGE: "1/10"}, label="child").number) == "3"
    assert account.spend({EDGE: "1/10"}, label="parent").number == 4
    assert ledger.check().charges == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_ledger_in_memory_cannot_be_spent_twice_by_forking(open_ledger, open_account):
    account = open_account(open_ledger())
    assert in_a_fork(lambda: account.spend({EDGE: 1}, label="c")) == "LedgerUnavailableError"
    account.spend({EDGE: 1}, label="parent")


def test_processes_that_create_one_ledger_at_once(tmp_path):
    path = tmp_path / "ledger.db"
    code = (
        "import sys\nfrom onesided.ledger import Ledger\n"
        "with Ledger.open(sys.argv[1]) as ledger:\n"
        "    account = ledger.account(policy_id='p', policy_toml='', policy_name='p', "
        "budget={'e': 1})\n"
        "    account.spend({'e': '1/10'}, label='x')\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, path]) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert [item.name for item in tmp_path.iterdir()] == ["ledger.db"]
