"""Spends per second of the ledger, and what killing it costs.

    python benchmarks/ledger.py [--spends 500] [--processes 8] [--kills 500] [--folder FOLDER]
    python benchmarks/ledger.py --entries 100000     what looking costs with few and with many

Prints one table for SQLite (in FOLDER, default a temporary one) and, if ONESIDED_POSTGRES_URL is
set, for PostgreSQL. A durable spend cannot be faster than the disk, so the disk's own syncs per
second are printed first.
"""

import argparse
import contextlib
import json
import os
import secrets
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from onesided.ledger import Ledger, _store

TESTS = Path(__file__).parents[1] / "tests" / "ledger"
MANY = 10**9


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--spends", type=int, default=500, help="per process")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--entries", type=int, help="measure looking at so many, and stop")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if options.entries:
            look_at(folder, (10, options.entries))
            return
        print(f"disk: {syncs_per_second(folder):.0f} syncs of 4 KiB per second in {folder}")
        measure("memory", lambda _: None, options)
        measure("sqlite", lambda name: str(folder / f"{name}.db"), options)
        url = os.environ.get("ONESIDED_POSTGRES_URL")
        if url:
            measure("postgres", lambda _: stack.enter_context(schema_of(url)), options)
        else:
            print("postgres: skipped, ONESIDED_POSTGRES_URL not set")


def measure(store, place, options):
    where = place("single")
    print(f"{store}: {spends_per_second(where, options.spends):.0f} spends/s, one process")
    print(
        f"{store}: {in_turn_per_second(place('turns'), options.spends):.0f} spends/s, two accounts"
    )
    print(f"{store}: {stores_per_second(where, options.spends):.0f} spend+store/s, one process")
    print(f"{store}: {checks_per_second(where):.0f} rows/s checked")
    if where is None:
        return
    total = options.processes * options.spends
    crowd = child("crowd.py", place("crowd"), options.processes, options.spends, total * 3 // 4)
    accepted = sum(len(told["accepted"]) for told in crowd["told"])
    refused = sum(told["refused"] for told in crowd["told"])
    failed = sum(len(told["errors"]) for told in crowd["told"])
    print(
        f"{store}: {total / crowd['seconds']:.0f} attempts/s, {options.processes} processes "
        f"({accepted} accepted of a budget for {total * 3 // 4}, {refused} refused, "
        f"{failed} failed)"
    )
    if options.kills:
        print(f"{store}: {child('crash.py', place('crash'), options.kills, 1)}")


def look_at(folder, sizes):
    """Seconds of CPU, which other programs on the machine disturb less than seconds by the wall."""
    paths = [filled(folder / f"{size}.db", size) for size in sizes]
    looks = {
        "open": Ledger.head,
        "account()": open_account,
        "balances()": Ledger.balances,
        "entries(last=3)": lambda ledger: ledger.entries(kind="spend", last=3),
        "spend and store": spend_and_store,
        "entries()": Ledger.entries,
        "check()": Ledger.check,
    }
    print("s of CPU" + "".join(f"{size:>12,} rows" for size in sizes))
    for name, look in looks.items():
        print(f"{name:16}" + "".join(f"{cpu(path, look):>12.4f}     " for path in paths))


def cpu(path, look):
    began = time.process_time()
    with Ledger.open(path) as ledger:
        look(ledger)
    return time.process_time() - began


def spend_and_store(ledger):
    account = open_account(ledger)
    account.store(account.spend({"edge": 1}, label="count by place"), b"x" * 300, "text/plain")


def filled(path, size):
    """A ledger of that many rows, filled in memory and then written to its file at once."""
    with Ledger.open() as ledger:
        account = open_account(ledger)
        for _ in range((size - 1) // 2):
            receipt = account.spend({"edge": "1/10"}, label="count by place", detail={"by": "x"})
            account.store(receipt, b"x" * 300, "text/plain")
        raw = ledger._store.database.engine.raw_connection()  # noqa: SLF001 - set up, not measured
        raw.driver_connection.execute(f"PRAGMA application_id = {_store.KIND.mark}")
        target = sqlite3.connect(path)
        raw.driver_connection.backup(target)
        target.close()
        raw.close()
    path.chmod(0o600)
    return path


def open_account(ledger, name="b"):
    return ledger.account(
        policy_id=name, policy_toml="", policy_name=name, budget={"edge": MANY}, further=True
    )


def in_turn_per_second(where, count):
    """Each spend finds its account's last row behind one of the other account."""
    with Ledger.open(where) as ledger:
        accounts = [open_account(ledger, name) for name in "bc"]
        start = time.perf_counter()
        for place in range(count):
            accounts[place % 2].spend({"edge": 1}, label="benchmark")
        return count / (time.perf_counter() - start)


def spends_per_second(where, count):
    with Ledger.open(where) as ledger:
        account = open_account(ledger)
        began = time.perf_counter()
        for _ in range(count):
            account.spend({"edge": 1}, label="count by place")
        return count / (time.perf_counter() - began)


def stores_per_second(where, count):
    with Ledger.open(where) as ledger:
        account = open_account(ledger)
        began = time.perf_counter()
        for _ in range(count):
            receipt = account.spend({"edge": 1}, label="count by place")
            account.store(receipt, b"x" * 2000, "text/plain")
        return count / (time.perf_counter() - began)


def checks_per_second(where):
    with Ledger.open(where) as ledger:
        account = open_account(ledger)
        for _ in range(1000 - len(ledger.entries())):
            account.spend({"edge": 1}, label="count by place")
        began = time.perf_counter()
        rows = ledger.check().entries
        return rows / (time.perf_counter() - began)


def syncs_per_second(folder):
    path = folder / "syncs"
    with path.open("wb", buffering=0) as file:
        began = time.perf_counter()
        for _ in range(100):
            file.write(b"x" * 4096)
            os.fsync(file.fileno())
        rate = 100 / (time.perf_counter() - began)
    path.unlink()
    return rate


def child(script, *words):
    command = [sys.executable, str(TESTS / script), *map(str, words)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


@contextlib.contextmanager
def schema_of(url):
    import sqlalchemy

    name = f"bench_{secrets.token_hex(4)}"
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {name}")
    yield f"{url}?options=-csearch_path%3D{name}"
    with engine.begin() as connection:
        connection.exec_driver_sql(f"DROP SCHEMA {name} CASCADE")
    engine.dispose()


if __name__ == "__main__":
    main()
