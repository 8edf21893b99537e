"""Kill -9 a spending process at random moments; run as ``crash.py WHERE KILLS SEED KIND``.

A forked child opens the ledger, spends and stores without end, and writes the number of each
charge to a pipe once it is acknowledged. The parent kills it, then looks: the chain must hold and
hold every acknowledged charge. Prints one JSON object with the counts.
"""

import importlib
import json
import os
import random
import signal
import sys
import time

from onesided.ledger import Ledger

BUDGET = 10**9
READY = b"ready\n"
KIND = sys.argv[4]


def open_account(ledger):
    return ledger.account(
        policy_id="crash",
        policy_toml="",
        policy_name="crash",
        budget={"edge": BUDGET},
        delta_budget={"edge": "1/1000000"},
        accounting=KIND,
    )


def spend_for_ever(where, out):
    with Ledger.open(where) as ledger:
        account = open_account(ledger)
        os.write(out, READY)
        while True:
            receipt = account.spend({"edge": 1}, label="crash")
            os.write(out, f"spent {receipt.number}\n".encode())
            account.store(receipt, b"x" * 2000, "text/plain")
            os.write(out, f"stored {receipt.number}\n".encode())


def run_once(where, delay, *, ready):
    """What the child acknowledged before it was killed.

    It dies ``delay`` seconds after its start or, with ``ready``, after it opened its account: on
    a busy machine opening alone can take longer than the delay.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reader)
            spend_for_ever(where, writer)
        finally:
            os._exit(1)
    os.close(writer)
    if ready:
        os.read(reader, len(READY))
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reader) as pipe:
        lines = pipe.read().splitlines()
    if os.WIFEXITED(status):
        raise SystemExit("the child failed by itself")
    words = [line.split() for line in lines]
    return [told for told in words if len(told) == 2]


def main(where, kills, seed):
    # Load the database libraries here: a child that dies while importing tests nothing.
    for module in ("_places",):
        importlib.import_module(f"onesided.ledger.{module}")
    chance = random.Random(seed)
    spent, stored = set(), set()
    for kill in range(kills):
        # Some deaths fall into opening and creating, most into spending and storing.
        found = run_once(where, chance.uniform(0, 0.25), ready=kill % 4 != 0)
        for word, number in found:
            (spent if word == "spent" else stored).add(int(number))
        if kill % 20 == 19 or kill == kills - 1:
            look(where, spent, stored)
    print(json.dumps(look(where, spent, stored) | {"kills": kills}))  # noqa: T201


def look(where, spent, stored):
    with Ledger.open(where) as ledger:
        open_account(ledger)
        report = ledger.check(laws=lambda *_, **__: {})
        charges = {entry.number for entry in ledger.entries() if entry.kind == "spend"}
    answered = charges - set(report.unanswered)
    lost = sorted(spent - charges) + sorted(stored - answered)
    if lost:
        raise SystemExit(f"acknowledged but lost: {lost}")
    return {
        "acknowledged": len(spent),
        "recorded": len(charges),
        "wasted": len(charges - spent),
        "unanswered": len(report.unanswered),
        "lost": len(lost),
    }


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
