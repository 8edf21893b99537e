"""Milliseconds per step of the monitor, and whether its memory stays flat.

    python benchmarks/monitor.py [--full] [--places 100000] [--people 500] [--folder FOLDER]

Each step takes a batch of --people visits, answers for all places and stores the answer durably
(SQLite, synchronous=EXTRA) before it returns. The default is 300 steps; --full is 10,000. The
window holds 100 batches, so memory should stay where it is after that many steps.

    python benchmarks/monitor.py --rows 1000000 [--places 100000] [--text]

Instead: one step of that many visits, stored on disk, beside a plain distinct count of the same
rows in Polars: seconds of CPU, and the most memory above the start. Then the median step without
rows, and opening the state again.

    python benchmarks/monitor.py --rows 1000000 --files

Instead: `onesided monitor --once` over one CSV or Parquet file of that many visits (persons as
numbers and as text, times of their own or not), in a process of its own: seconds of CPU and the
most memory, above the same command over a file of ten visits.

    python benchmarks/monitor.py --traces peopleflow_tokyo_traces.parquet [--decisions 10000000]

Instead: streams of real visits (columns user, slot, region; a batch per slot) under many
thresholds, windows, ε and m, every answer against the truth. Prints how many certificates and
bounds were wrong (must be 0) and how many were certified against the sum of 1 - e^(-a (t + 1 - f)).
"""

import argparse
import contextlib
import itertools
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from onesided import Monitor, policy

WINDOW = 100


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--full", action="store_true", help="10,000 steps")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--places", type=int, default=100_000)
    parser.add_argument("--people", type=int, default=500)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--text", action="store_true", help="persons and places as text")
    parser.add_argument("--files", action="store_true", help="through the command line")
    parser.add_argument("--traces", type=Path)
    parser.add_argument("--decisions", type=int, default=10_000_000)
    options = parser.parse_args()
    if options.traces:
        check_traces(options.traces, options.decisions)
        return
    if options.rows:
        with tempfile.TemporaryDirectory() as folder:
            if options.files:
                files(Path(folder), options.rows)
                return
            one_batch(Path(folder), options.rows, options.places, text=options.text)
        return
    steps = options.steps or (10_000 if options.full else 300)
    with contextlib.ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        monitor = stack.enter_context(opened(folder, options.places))
        dice, times, memory = np.random.default_rng(1), [], []
        for step in range(steps):
            batch = {
                "person": dice.integers(0, 10**6, options.people),
                "place": np.minimum(dice.zipf(1.3, options.people), options.places) - 1,
            }
            began = time.perf_counter()
            monitor.step(batch, id=f"batch {step}", time=step)
            times.append(time.perf_counter() - began)
            if step >= WINDOW and step % max(1, steps // 20) == 0:
                memory.append(resident())
        last = monitor.last
        report(folder, times, memory, last)
        began = time.perf_counter()
        with opened(folder, options.places) as again:
            again.step(None, id="resumed", time=steps)
        print(f"open the state again and step once: {1000 * (time.perf_counter() - began):.0f} ms")


def one_batch(folder, rows, places, *, text):
    import polars as pl

    dice = np.random.default_rng(1)
    people = {"person": dice.integers(0, 10**6, rows), "place": dice.integers(0, places, rows)}
    frame, names = pl.DataFrame(people), list(range(places))
    if text:
        frame = frame.select(pl.format(f"{name} {{}}", name).alias(name) for name in people)
        names = [f"place {place}" for place in names]
    frame = frame.rechunk()
    with opened(folder, names) as monitor:
        monitor.step(frame.head(100), id="first", time=0)
        plain = measured(lambda: frame.group_by("place").agg(pl.col("person").n_unique()))
        ours = measured(lambda: monitor.step(frame, id="all", time=1))
        empty = [
            measured(lambda at=at: monitor.step(id=f"{at}", time=at))[0] for at in range(2, 22)
        ]
    with opened(folder, names) as again:
        resumed = measured(lambda: again.step(id="resumed", time=22))
    for name, (seconds, memory) in {"plain": plain, "ours": ours, "resumed": resumed}.items():
        print(f"{name}: {seconds:.2f} s of CPU, {memory:.0f} MiB above the start")
    print(f"a step without rows: median {1000 * statistics.median(empty):.1f} ms of CPU")


def files(folder, rows):
    import polars as pl

    keys = folder / "places.csv"
    pl.DataFrame({"place": [f"place {place}" for place in range(10**5)]}).write_csv(keys)
    for kind, text, timed in itertools.product(("csv", "parquet"), (False, True), (False, True)):
        start, whole = (
            command(folder / f"{kind}{text}{timed}{size}", keys, size, kind=kind, how=(text, timed))
            for size in (10, rows)
        )
        seconds, memory = (b - a for a, b in zip(start, whole, strict=True))
        said = f"{kind}, persons as {'text' if text else 'numbers'}"
        said += ", times of their own" if timed else ""
        print(f"{said}: {seconds:.2f} s of CPU, {memory:.0f} MiB above ten visits")


def command(folder, keys, rows, *, kind, how):
    """Seconds of CPU and the most MiB of the command over one file of so many visits."""
    import polars as pl

    text, timed = how
    dice = np.random.default_rng(1)
    frame = pl.DataFrame(
        {"person": dice.integers(0, 10**6, rows), "place": dice.integers(0, 10**5, rows)}
    ).with_columns(pl.format("place {}", "place").alias("place"))
    if text:
        frame = frame.with_columns(pl.format("person {}", "person").alias("person"))
    if timed:
        seconds = pl.Series("time", dice.integers(0, 86_400, rows)) * 1_000_000
        moments = seconds + 1_767_225_600_000_000  # 2026-01-01
        frame = frame.with_columns(moments.cast(pl.Datetime("us")))
    (folder / "in").mkdir(parents=True)
    (folder / "out").mkdir()
    path = folder / "in" / f"visits-2026-01-02.{kind}"
    frame.write_parquet(path) if kind == "parquet" else frame.write_csv(path)
    words = f"--epsilon 1 --max-groups 1 --at-most 5 --window 14d --once --quiet --keys {keys}"
    words += f" --input {folder / 'in'} --state {folder / 'state.db'} --out {folder / 'out'}"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = (
        "import resource, sys; from onesided.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: print(end.code or '', end='', file=sys.stderr)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "monitor", *words.split()],
        check=True,
        capture_output=True,
        text=True,
    )
    if done.stderr.strip():
        raise SystemExit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, int(done.stdout.splitlines()[-1]) / 1024


def measured(work):
    """Seconds of CPU, and the most MiB above the start."""
    start, most, done = resident(), [0.0], threading.Event()

    def watch():
        while not done.wait(0.002):
            most[0] = max(most[0], resident())

    thread = threading.Thread(target=watch)
    thread.start()
    began = time.process_time()
    work()
    seconds = time.process_time() - began
    done.set()
    thread.join()
    return seconds, max(0.0, most[0] - start)


def opened(folder, places):
    return Monitor(
        list(range(places)) if isinstance(places, int) else places,
        at_most=5,
        window=WINDOW,
        epsilon=1,
        policy=policy.presence(max_groups=1),
        state=folder / "state.db",
    )


def report(folder, times, memory, last):
    ordered = sorted(1000 * second for second in times)
    late = sorted(1000 * second for second in times[len(times) // 2 :])
    print(f"{len(times):,} steps, {last.rules.size:,} places")
    print(
        f"step: median {statistics.median(ordered):.1f} ms, "
        f"95 % {ordered[len(ordered) * 95 // 100]:.1f} ms, worst {ordered[-1]:.1f} ms; "
        f"second half: median {statistics.median(late):.1f} ms"
    )
    if memory:
        print(
            f"resident memory: {memory[0]:.0f} MiB after {WINDOW} steps or a little more, "
            f"{memory[-1]:.0f} MiB at the end, at most {max(memory):.0f} MiB"
        )
    size = (folder / "state.db").stat().st_size / 2**20
    print(f"state on disk: {size:.1f} MiB, {1024 * size / len(times):.1f} KiB per step")
    print(
        f"last step: {last.certified.sum():,} certified, {last.unknown.sum():,} unknown, "
        f"{last.resting.sum():,} resting"
    )


def check_traces(path, wanted):
    import polars as pl

    table = pl.read_parquet(path).select("user", "slot", "region")
    regions = sorted(table["region"].unique().to_list())
    size, position = len(regions), {region: i for i, region in enumerate(regions)}
    place = np.array([position[region] for region in table["region"].to_list()])
    user, slot = table["user"].to_numpy().astype(np.int64), table["slot"].to_numpy()
    slots = {int(s): (user[slot == s], place[slot == s]) for s in np.unique(slot)}
    dice, told = np.random.default_rng(0), np.zeros(5)
    while told[0] < wanted:
        told += check_stream(slots, size, dice)
    decisions, wrong, certified, expected, variance = told
    print(
        f"{decisions:,.0f} decisions, {wrong:,.0f} wrong; {certified:,.0f} certified, "
        f"{expected:,.0f} expected ({(certified - expected) / variance**0.5:+.2f} σ)"
    )


def check_stream(slots, size, dice):
    """Decisions, wrong ones, certificates, their expectation and its variance."""
    limit, window, charges = (int(dice.integers(*ends)) for ends in ((0, 30), (1, 6), (1, 3)))
    epsilon = int(dice.integers(1, 5)) / 2
    promise = policy.presence(max_groups=1)
    monitor = Monitor(
        list(range(size)),
        at_most=limit,
        window=window,
        epsilon=epsilon,
        policy=promise,
        charges=charges,
    )
    told = np.zeros(5)
    for at, (user, place) in slots.items():
        release = monitor.step({"person": user, "place": place}, id=str(at), time=at)
        inside = [slots[s][0] * size + slots[s][1] for s in slots if at - window < s <= at]
        truth = np.bincount(np.unique(np.concatenate(inside)) % size, minlength=size)
        wrong = (truth[release.certified] > limit).sum()
        wrong += (truth[release.unknown] > release.values[release.unknown]).sum()
        room = np.maximum(limit + 1 - truth[~release.resting], 0)
        chance = 1 - np.exp(-epsilon / charges * room)
        variance = (chance * (1 - chance)).sum()
        told += [size, wrong, release.certified.sum(), chance.sum(), variance]
    return told


def resident():
    """MiB in memory now, not at the most."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    main()
