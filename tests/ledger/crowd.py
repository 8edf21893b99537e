"""Many processes spend from one budget; run as ``crowd.py WHERE PROCESSES SPENDS BUDGET KIND``.

Prints one JSON object: what each process was told (accepted entry numbers, refusals, other
errors) and how long it took. Children are forked before any ledger is open and start together.
"""

import json
import os
import sys
import time
from fractions import Fraction

from onesided.errors import BudgetExceededError, OnesidedError
from onesided.ledger import Ledger

# In a renyi account each charge of 1 adds a half at every order.
HALF = {"edge": (Fraction(1, 2),) * 11}


def open_account(ledger, budget, kind):
    return ledger.account(
        policy_id="crowd",
        policy_toml="",
        policy_name="crowd",
        budget={"edge": budget},
        delta_budget={"edge": "1/1000000"},
        accounting=kind,
    )


def spend_all(where, spends, budget, kind, go):
    told = {"accepted": [], "refused": 0, "errors": []}
    with Ledger.open(where) as ledger:
        account = open_account(ledger, budget, kind)
        os.read(go, 1)  # returns when the parent closes the other end
        for turn in range(spends):
            try:
                receipt = account.spend(
                    {"edge": 1}, divergences=HALF, label=f"{os.getpid()} {turn}"
                )
                told["accepted"].append(receipt.number)
            except BudgetExceededError:
                told["refused"] += 1
            except OnesidedError as error:
                told["errors"].append(str(error))
    return told


def start(where, spends, budget, kind, go):
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return child, reader
    status = 1
    try:
        os.close(reader)
        os.close(go[1])
        with os.fdopen(writer, "w") as out:
            json.dump(spend_all(where, spends, budget, kind, go[0]), out)
        status = 0
    finally:
        os._exit(status)


def main(where, processes, spends, budget, kind):
    with Ledger.open(where) as ledger:
        open_account(ledger, budget, kind)
    go = os.pipe()
    children = [start(where, spends, budget, kind, go) for _ in range(processes)]
    time.sleep(0.2)  # let them open; correctness does not depend on it
    began = time.perf_counter()
    os.close(go[1])
    told = []
    for child, reader in children:
        with os.fdopen(reader) as answer:
            text = answer.read()
        _, status = os.waitpid(child, 0)
        told.append(json.loads(text) if status == 0 else {"died": status})
    seconds = time.perf_counter() - began
    print(json.dumps({"told": told, "seconds": seconds}))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1], *(int(word) for word in sys.argv[2:5]), sys.argv[5])
