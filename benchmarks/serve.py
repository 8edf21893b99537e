"""The service under 50 analysts, beside plain DuckDB behind FastAPI, in turns within one run.

    python benchmarks/serve.py [--record] [--analysts 50] [--seconds 120] [--rows 100000] ...

Both sides answer the same question over the same Parquet file: people per place. Each analyst asks,
waits for the answer, thinks, and asks again. *Above the tick* is how long after its due time on the
public clock a response was there; for plain DuckDB it is all of it. The state and the ledger are in
memory if the machine has /dev/shm: what a disk's syncs cost is in benchmarks/ledger.py.
--record writes what was found into benchmarks/RESULTS.md, in the place of what stood there.
"""

import argparse
import importlib.util
import json
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from datetime import datetime
from pathlib import Path

import duckdb
import httpx

import onesided as od

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
    "| | answers | failed | a second | median, ms above the tick | p95 |\n|---|--:|--:|--:|--:|--:|"
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


def line(name, beyond, failed, took):
    if failed or not beyond:
        sys.exit(f"{name}: {failed} requests failed; the machine is too slow for --takes, or busy")
    found = beyond = sorted(beyond)
    middle, high = statistics.median(beyond), beyond[int(len(beyond) * 0.95)]
    row = (
        f"| {name} | {len(found)} | {failed} | {len(found) / took:.1f} | {middle * 1e3:.0f} "
        f"| {high * 1e3:.0f} |"
    )
    print(row, flush=True)
    return high, row


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
        found, failed, took = crowd(url, f"{path}/ask", body, headers=headers, **options)
        beyond = []
        for _, there, response in found:
            name = response.json()["ask"]
            told = httpx.get(f"{url}/api/v1/asks/{name}", headers=headers, timeout=60).json()
            beyond.append(there - datetime.fromisoformat(told["due"]).timestamp())
    return line("onesided serve", beyond, failed, took)


def plain(folder, options):
    port = running().free_port()
    command = [sys.executable, "-c", PLAIN, str(folder / "visits.parquet"), str(port)]
    process = subprocess.Popen(command)
    url = f"http://127.0.0.1:{port}"
    try:
        running().wait_for(url)
        found, failed, took = crowd(url, "/ask", {"question": QUESTION}, headers={}, **options)
    finally:
        process.terminate()
        process.wait()
    taken = [one for one, _, _ in found]
    return line("plain DuckDB behind FastAPI", taken, failed, took)


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
        (beside, first), (high, second) = plain(folder, options), ours(folder, options)
    ratio = f"p95 above the tick: {high / beside:.2f} times plain DuckDB's (goal: at most 1.5)."
    print(f"\n{ratio}")
    if given.record:
        about = (
            f"{given.analysts} analysts for {given.seconds:g} s, who think {given.think:g} s "
            f"between questions; {given.rows:,} rows, one worker, both sides in turns. "
        )
        record(f"{about}{ratio}\n\n{HEAD}\n{first}\n{second}")


if __name__ == "__main__":
    main()
