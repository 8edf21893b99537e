"""Kill a monitored stream at random instants, and look at what is left.

    python tests/monitor/crash.py FOLDER KILLS SEED

Children are forked, resume the stream, send the last batch once more as a follower would, then
step on; every answer is appended to a file as soon as it is returned, which is the publication.
Prints a JSON summary; fails with an AssertionError if history, marks or ledger disagree.
"""

import hashlib
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np

from onesided import Monitor, policy

PLACES, WINDOW, AT_MOST = 60, 6, 3


def opened(folder):
    return Monitor(
        list(range(PLACES)),
        at_most=AT_MOST,
        window=WINDOW,
        epsilon=1,
        policy=policy.presence(max_groups=2),
        state=folder / "state.db",
    )


def batch(number):
    """The same rows for the same number, in every child."""
    dice = np.random.default_rng(number)
    size = int(dice.poisson(40))
    return {"person": dice.integers(0, 300, size), "place": dice.zipf(1.7, size) % PLACES}


def follow(folder, *, most=None):
    """Resume and step on until killed; publish each answer."""
    done = 0
    with opened(folder) as monitor, (folder / "published").open("ab", buffering=0) as out:
        last = monitor.last
        number = last.number if last else 1
        while most is None or done < most:
            release = monitor.step(batch(number), id=f"batch {number}", time=number)
            out.write(f"{release.batch}\t{fingerprint(release)}\n".encode())
            number, done = release.number + 1, done + 1


def fingerprint(release):
    facts = [release.number, release.time, release.status, release.values.tolist()]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def killed(folder, delay):
    """One child, killed after ``delay`` seconds."""
    child = os.fork()
    if child == 0:
        try:
            follow(folder)
        finally:
            os._exit(1)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def finished(folder, most):
    """One child that is left alone."""
    child = os.fork()
    if child == 0:
        follow(folder, most=most)
        os._exit(0)
    os.waitpid(child, 0)


def check(folder):
    """Published and stored agree; marks, certificates and the ledger are as they must be."""
    published, repeated = {}, 0
    for line in (folder / "published").read_text().splitlines():
        name, told = line.split("\t")
        repeated += name in published
        assert published.setdefault(name, told) == told, f"{name} was drawn again"
    with opened(folder) as monitor:
        history = list(monitor.history())
        assert monitor.check() == len(history)
        stored = {release.batch: fingerprint(release) for release in history}
        assert all(stored[name] == told for name, told in published.items())
        assert [release.number for release in history] == list(range(1, len(history) + 1))
        check_marks(history)
        report = monitor.ledger.check()
        (account,) = monitor.ledger.accounts()
        # A child killed between charging and storing the rules leaves the charge without them.
        assert report.charges == 1
        assert set(account.spent.values()) == {1}
    return len(history), repeated


def check_marks(history):
    """No place is answered while it should rest, none rests without reason, none is wrong."""
    marks = np.full(PLACES, -(10**9))
    for release in history:
        number = release.number
        rests = marks > number - WINDOW
        assert (release.resting == rests).all(), f"marks were lost at step {number}"
        inside = set()
        for n in range(max(1, number - WINDOW + 1), number + 1):
            rows = batch(n)
            inside |= set(zip(rows["person"].tolist(), rows["place"].tolist(), strict=True))
        truth = np.bincount([place for _, place in inside], minlength=PLACES)
        assert (truth[release.certified] <= AT_MOST).all()
        assert (truth[release.unknown] <= release.values[release.unknown]).all()
        marks[release.unknown] = number


def main():
    folder, kills, dice = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))
    began = time.perf_counter()
    finished(folder, 5)
    whole = 2 * (time.perf_counter() - began)
    died = sum(killed(folder, dice.uniform(0, whole)) for _ in range(kills))
    finished(folder, 3)
    steps, repeated = check(folder)
    json.dump({"killed": died, "steps": steps, "published again": repeated}, sys.stdout)


if __name__ == "__main__":
    main()
