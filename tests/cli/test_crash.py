"""A person in the data who dies at the worst moment: no output may exist without its charge."""

import json
import random
import resource
import shutil
import signal
import subprocess
import sys
import time

import pytest

# Each is a command of its own, some are several.
pytestmark = pytest.mark.heavy

STEPS = """
import os, sys, signal
from onesided.ledger import Account
from onesided.mechanism import Counts
from onesided.cli import _publication

def die(*args, **kwargs):
    os.kill(os.getpid(), signal.SIGKILL)

def after(call):
    def wrapped(*args, **kwargs):
        call(*args, **kwargs)
        die()
    return wrapped

where = sys.argv.pop(1)
if where == "before the charge": Account.spend = die
if where == "after the charge": Account.spend = after(Account.spend)
if where == "while drawing": Counts.noisy = die
if where == "before storing": Account.store = die
if where == "after storing": Account.store = after(Account.store)
if where == "before writing": _publication.write_tables = die
if where == "after the tables": _publication.write_tables = after(_publication.write_tables)
if where == "after the report": _publication.NewFolder.publish = die
from onesided.cli import main
main()
"""
PLACES = [
    "before the charge",
    "after the charge",
    "while drawing",
    "before storing",
    "after storing",
    "before writing",
    "after the tables",
    "after the report",
]


def charges(world):
    ledger = world.folder / "onesided.ledger.db"
    if not ledger.exists():
        return []
    from onesided import Ledger

    with Ledger.open(ledger) as opened:
        opened.check()
        return [entry for entry in opened.entries() if entry.kind == "spend"]


@pytest.mark.parametrize("where", PLACES)
def test_killed_at_every_step_no_output_is_without_its_charge(world, where):
    command = [sys.executable, "-c", STEPS, where, *world.words, "--id", "x"]
    done = subprocess.run(
        command, cwd=world.folder, capture_output=True, env=world.environment, check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert not (world.folder / "out").exists()
    assert len(charges(world)) == (0 if where == "before the charge" else 1)
    again = world.publish("--id", "x", "--again")
    if where in ("after the charge", "while drawing", "before storing"):
        assert again.returncode == 4  # charged, and the answer is lost: it is not drawn again
        assert not (world.folder / "out").exists()
    else:
        assert again.returncode == 0, again.stderr
        assert len(charges(world)) == 1


def test_killed_at_random_no_output_is_without_its_charge(world, long_form):
    # 200 kills in the long form; the short one samples the same interval with a fixed seed.
    kills, dice = (200, random.Random(1)) if long_form else (4, random.Random(2))
    start = time.monotonic()
    assert world.alone(*world.words, "--out", "warm", "--ledger", "warm.db").returncode == 0
    whole = time.monotonic() - start
    published = 0
    for number in range(kills):
        command = [sys.executable, "-m", "onesided", *world.words]
        child = subprocess.Popen(
            command,
            cwd=world.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=world.environment,
        )
        # Most of the time goes into imports; aim at the second half, where things happen.
        time.sleep(whole * dice.uniform(0.3, 0.95))
        child.send_signal(signal.SIGKILL if number % 4 else signal.SIGINT)
        child.wait()
        recorded = charges(world)
        if (world.folder / "out").exists():
            published += 1
            stated = json.loads((world.folder / "out" / "guarantee.json").read_text())
            assert [entry.number for entry in recorded] == [stated["ledger"]["entry"]]
            assert len(list((world.folder / "out").iterdir())) == 5
        for name in ("out", "onesided.ledger.db"):
            target = world.folder / name
            shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)
        for left in world.folder.glob("onesided.ledger.db-*"):
            left.unlink()
    sys.stdout.write(f"{kills} kills, {published} had published\n")


def test_interrupting_publishes_nothing_and_says_so(world):
    script = STEPS.replace("os.kill(os.getpid(), signal.SIGKILL)", "raise KeyboardInterrupt")
    command = [sys.executable, "-c", script, "while drawing", *world.words]
    done = subprocess.run(
        command,
        cwd=world.folder,
        capture_output=True,
        text=True,
        env=world.environment,
        check=False,
    )
    assert done.returncode == 130
    assert "Nothing was published" in done.stderr
    assert not (world.folder / "out").exists()
    assert len(charges(world)) == 1


def test_no_partial_folder_is_left_when_writing_fails(world):
    script = STEPS.replace(
        "os.kill(os.getpid(), signal.SIGKILL)", "raise OSError(28, 'No space left on device')"
    )
    command = [sys.executable, "-c", script, "after the tables", *world.words, "--id", "x"]
    done = subprocess.run(
        command,
        cwd=world.folder,
        capture_output=True,
        text=True,
        env=world.environment,
        check=False,
    )
    assert done.returncode == 5
    assert "No space left" in done.stderr
    assert "--id" in done.stderr
    assert [p.name for p in world.folder.iterdir() if p.is_dir()] == []
    assert world.publish("--id", "x", "--again").returncode == 0


def limited(size):
    """Files may not grow beyond this: writing more fails as on a full disk."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


def test_a_disk_that_is_full_is_found_before_the_charge(world):
    before = sorted(path.name for path in world.folder.iterdir())
    done = world.alone(*world.words, preexec_fn=limited(6_000))
    assert done.returncode == 5, done.stderr
    assert "Nothing was charged" in done.stderr
    assert sorted(path.name for path in world.folder.iterdir()) == before


def test_a_disk_that_is_full_while_recording_publishes_nothing(world):
    script = STEPS.replace(
        "from onesided.cli import main",
        "from onesided.show import NewFolder\nNewFolder.reserve = lambda self, size: None\n"
        "from onesided.cli import main",
    )
    command = [sys.executable, "-c", script, "nowhere", *world.words]
    done = subprocess.run(
        command,
        cwd=world.folder,
        capture_output=True,
        text=True,
        env=world.environment,
        check=False,
        preexec_fn=limited(6_000),
    )
    assert done.returncode == 4, done.stderr
    assert not (world.folder / "out").exists()
    assert "Traceback" not in done.stderr


STOPPED = """
import onesided.cli as cli

def run():
    exec("import os, signal, time; os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)")

cli._run = run
cli.main()
"""


def test_a_signal_inside_of_a_text_that_is_run_ends_in_its_code(tmp_path):
    (tmp_path / "stopped.py").write_text(STOPPED)
    ended = subprocess.run([sys.executable, "-m", "stopped"], cwd=tmp_path, check=False)
    assert ended.returncode == 128 + signal.SIGTERM


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_any_instant_ends_in_its_code_and_leaves_no_draft(world, number, long_form):
    start = time.monotonic()
    assert world.alone(*world.words, "--out", "warm", "--ledger", "warm.db").returncode == 0
    whole, times = time.monotonic() - start, 40 if long_form else 4
    for turn in range(times):
        child = subprocess.Popen(
            [sys.executable, "-m", "onesided", *world.words, "--budget", "1000", "--out", "o"],
            cwd=world.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=world.environment,
        )
        time.sleep(whole * (turn + 0.5) / times)
        child.send_signal(number)
        _, told = child.communicate()
        if child.returncode:  # it had not ended before; before our handlers the system's code
            assert child.returncode in (128 + number, -number), told
            assert b"Exception" not in told or child.returncode < 0
        assert not list(world.folder.glob(".o.*"))
        shutil.rmtree(world.folder / "o", ignore_errors=True)
    charges(world)  # checks the chain


def test_an_interruption_that_python_drops_is_raised_again():
    script = """
import signal, time
from onesided.cli._exits import Signals

class Cleaned:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)

try:
    with Signals() as signals:
        Cleaned()
        time.sleep(60)
except KeyboardInterrupt:
    print(signals.code)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=600
    )
    assert (done.stdout, done.stderr, done.returncode) == ("143\n", "", 0)
