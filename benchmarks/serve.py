"""The service under 50 analysts, beside plain DuckDB behind FastAPI, in turns within one run.

    python benchmarks/serve.py [--record] [--analysts 50] [--seconds 120] [--rows 100000] ...

Both sides answer the same question over the same Parquet file: people per place. Each analyst asks,
waits for the answer, thinks, and asks again. *Above the tick* is how long after its due time on the
public clock a response was there; for plain DuckDB it is all of it. CPU is that of all processes of
a side; *to pad* is what one that has read takes until its turn ends, so that nobody feels when it
was done. The state and the ledger are in memory if the machine has /dev/shm: what a disk's syncs
cost is in benchmarks/ledger.py.
--record writes what was found into benchmarks/RESULTS.md, in the place of what stood there.
"""

import argparse
import importlib.util
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import duckdb
import httpx

import onesided as od
from onesided.session import question_from_json
from onesided.session.kit import read_ahead
from onesided_service import ServiceConfig
from onesided_service._clock import Clock
from onesided_service._service import Service

TESTS = Path(__file__).parents[1] / "service" / "tests"
PLACES = [f"place {number}" for number in range(20)]
PLAIN = """
import sys, duckdb, fastapi, uvicorn
app = fastapi.FastAPI()
connection = duckdb.connect()
text = f"SELECT place, COUNT(DISTINCT person) FROM '{sys.argv[1]}' GROUP BY place"

@app.get("/healthz")
def healthz():
    return {"status": "ok"}

@app.post("/ask")
def ask(question: dict):
    with connection.cursor() as cursor:
        return {"release": cursor.execute(text).fetchall()}

uvicorn.run(app, port=int(sys.argv[2]), log_level="error", access_log=False)
"""
RESULTS = Path(__file__).with_name("RESULTS.md")
TITLE, NEXT = "## Service under load (`benchmarks/serve.py`)", "## Verification"
HEAD = (
    "| | answers | failed | a second | median, ms above the tick | p95 | CPU, ms per answer | "
    "of it, to pad |\n|---|--:|--:|--:|--:|--:|--:|--:|"
)
QUESTION = {"version": 1, "question": "Count", "fields": {"epsilon": 1, "by": "place"}}


def running():
    spec = importlib.util.spec_from_file_location("running", TESTS / "running.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def filled(folder: Path, rows: int, seconds: str) -> None:
    duckdb.execute(
        "COPY (SELECT i // 3 AS person, 'place ' || (i * 7919 % 20) AS place "
        f"FROM range({rows}) t(i)) TO '{folder / 'visits.parquet'}' (FORMAT parquet)"
    )
    columns = {"person": od.column("integer"), "place": od.column("text", keys=PLACES)}
    (folder / "s.toml").write_text(od.Schema(unit="person", columns=columns).to_toml())
    (folder / "p.toml").write_text(od.policy.presence(max_groups=3).to_toml())
    (folder / "onesided.toml").write_text(
        '[service]\nstate = "service.db"\ntick = 1\nrequests_per_minute = 1_000_000\n'
        '[datasets.visits]\ndata = "visits.parquet"\nschema = "s.toml"\npolicy = "p.toml"\n'
        f'budget = 1_000_000\ndeclared_rows = {rows}\nseconds = "{seconds}"\ngrace = 3\n'
    )


def crowd(url, path, body, *, headers, analysts, seconds, think):
    """Seconds of each response, how many failed, and how long it all took."""
    found, failed, end = [], [], time.perf_counter() + seconds

    def analyst(number):
        chance = random.Random(number)
        kept = httpx.Limits(keepalive_expiry=1)  # the server gives up later
        with httpx.Client(base_url=url, timeout=120, headers=headers, limits=kept) as client:
            time.sleep(chance.random() * think)
            while time.perf_counter() < end:
                start = time.perf_counter()
                response = client.post(path, json=body)
                taken = time.perf_counter() - start
                (found if response.is_success else failed).append((taken, time.time(), response))
                time.sleep(chance.random() * 2 * think)

    threads = [threading.Thread(target=analyst, args=(one,)) for one in range(analysts)]
    start = time.perf_counter()
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return found, len(failed), time.perf_counter() - start


def spent():
    """Seconds of CPU of all processes that this one started, with theirs."""
    rows = [one.read_text().rpartition(")") for one in Path("/proc").glob("[0-9]*/stat")]
    found = {int(head.split()[0]): tail.split() for head, _, tail in rows}
    parents = {pid: int(tail[1]) for pid, tail in found.items()}
    ours, new = set(), {os.getpid()}
    while new := {pid for pid, parent in parents.items() if parent in new} - ours:
        ours |= new
    ticks = sum(int(found[pid][place]) for pid in ours for place in (11, 12, 13, 14))
    return ticks / os.sysconf("SC_CLK_TCK")


def line(name, beyond, failed, took, *, cpu, padded=0.0):
    if failed or not beyond:
        sys.exit(f"{name}: {failed} requests failed; the machine is too slow for --takes, or busy")
    found = beyond = sorted(beyond)
    middle, high = statistics.median(beyond), beyond[int(len(beyond) * 0.95)]
    row = (
        f"| {name} | {len(found)} | {failed} | {len(found) / took:.1f} | {middle * 1e3:.0f} "
        f"| {high * 1e3:.0f} | {cpu / len(found) * 1e3:.0f} | {padded / len(found) * 1e3:.0f} |"
    )
    print(row, flush=True)
    return high, (cpu - padded) / len(found), row


def record(words: str) -> None:
    """Put what was found into the table of results, in the place of what stood there."""
    text = RESULTS.read_text(encoding="utf-8")
    start = text.find(TITLE)
    if start >= 0:
        text = text[:start] + text[text.index("\n## ", start) + 1 :]
    before, following, rest = text.partition(NEXT)
    RESULTS.write_text(f"{before}{TITLE}\n\n{words}\n\n{following}{rest}", encoding="utf-8")


def ours(folder, options):
    started = running()
    with started.running(folder) as (url, tokens):
        headers = {"Authorization": f"Bearer {tokens['ann']}"}
        body, path = {"question": QUESTION}, "/api/v1/datasets/visits"
        crowd(url, f"{path}/ask", body, headers=headers, analysts=1, seconds=1, think=1)
        before = spent()
        found, failed, took = crowd(url, f"{path}/ask", body, headers=headers, **options)
        cpu, beyond = spent() - before, []
        for _, there, response in found:
            name = response.json()["ask"]
            told = httpx.get(f"{url}/api/v1/asks/{name}", headers=headers, timeout=60).json()
            beyond.append(there - datetime.fromisoformat(told["due"]).timestamp())
    return line("onesided serve", beyond, failed, took, cpu=cpu, padded=padding(folder, found))


def padding(folder, found):
    """Seconds of CPU that readers took to pad: of each turn what the same reading leaves, alone."""
    config = ServiceConfig.read(folder / "onesided.toml")
    dataset = Service(config).datasets["visits"]
    dataset.warm()
    question, taken = question_from_json(json.dumps(QUESTION)), []
    for place in range(9):
        asked = replace(question, id=f"alone {place}", again=True)
        dataset.session().charge(asked, elsewhere=True)
        start = time.process_time()
        read_ahead(dataset._opened(dataset._snapshot()), asked)  # noqa: SLF001 - no public step
        taken.append(time.process_time() - start)
    turn = float(Clock(config.tick).takes(question, dataset.config, dataset.schema))
    return len(found) * max(0.0, turn - statistics.median(taken))


def plain(folder, options):
    port = running().free_port()
    command = [sys.executable, "-c", PLAIN, str(folder / "visits.parquet"), str(port)]
    process = subprocess.Popen(command)
    url = f"http://127.0.0.1:{port}"
    try:
        running().wait_for(url)
        crowd(url, "/ask", {"question": QUESTION}, headers={}, analysts=1, seconds=1, think=1)
        before = spent()
        found, failed, took = crowd(url, "/ask", {"question": QUESTION}, headers={}, **options)
        cpu = spent() - before
    finally:
        process.terminate()
        process.wait()
    taken = [one for one, _, _ in found]
    return line("plain DuckDB behind FastAPI", taken, failed, took, cpu=cpu)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--analysts", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--think", type=float, default=15, help="seconds on average")
    parser.add_argument("--takes", default="1/5", help="the dataset's `seconds`")
    parser.add_argument("--record", action="store_true", help="write into benchmarks/RESULTS.md")
    given = parser.parse_args()
    memory = Path("/dev/shm")  # noqa: S108 - a folder of its own is made there
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as made:
        folder = Path(made)
        filled(folder, given.rows, given.takes)
        options = {name: getattr(given, name) for name in ("analysts", "seconds", "think")}
        print(json.dumps({**options, "rows": given.rows, "takes": given.takes}))
        print(HEAD)
        (beside, cheap, first), (high, dear, second) = plain(folder, options), ours(folder, options)
    ratio = (
        f"p95 above the tick: {high / beside:.2f} times plain DuckDB's (goal: at most 1.5); CPU "
        f"without padding: {dear / cheap:.1f} times (goal: at most 1.5)."
    )
    print(f"\n{ratio}")
    if given.record:
        about = (
            f"{given.analysts} analysts for {given.seconds:g} s, who think {given.think:g} s "
            f"between questions; {given.rows:,} rows, one worker, both sides in turns. "
        )
        record(f"{about}{ratio}\n\n{HEAD}\n{first}\n{second}")


if __name__ == "__main__":
    main()
