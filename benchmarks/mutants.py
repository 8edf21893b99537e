"""How many small mistakes in the shipped code does ``onesided verify`` see?

    python benchmarks/mutants.py                     200 mutants, the same for the same --seed
    python benchmarks/mutants.py --sample 12         the short form, as in proofs/tests
    python benchmarks/mutants.py --update            writes the table in RESULTS.md as well
    python benchmarks/mutants.py --sample 0          all of them, which takes hours
    python benchmarks/mutants.py --only _rates _tails     those whose name has one of these
    python benchmarks/mutants.py --promises               what totals, relaxes, composes, converts,
                                                          with parts left out as well
    python benchmarks/mutants.py --lines promises         seen by the lines of these modules alone
    python benchmarks/mutants.py --lines accounted        or by these of the other checks

A mutant is one function with one thing changed (``_mutate.py``). Which lines of the catalogue,
which certificates and which other checks run a function is found once, on a few random paths. For
each mutant those are made and run anew in a forked process, up to the first that notices: the
cheapest first, and lines of broken twins last, which a second mistake rarely makes right. A mutant
that none notices lives. ``mutants.json`` lists those that may, each with the reason why nothing
changes that is promised: whole functions, which are then not tried, and single mutants. Any other
that lives is a failure, and so is an entry that fits nothing any more.
"""

import argparse
import gc
import hashlib
import json
import os
import resource
import signal
import sys
import time
from collections import Counter, defaultdict
from functools import _lru_cache_wrapper, partial
from importlib import import_module, reload
from itertools import islice
from pathlib import Path
from pkgutil import iter_modules

sys.path.insert(0, str(Path(__file__).parent))

from _mutate import RUN, modules, mutants_of, promises, watched

from onesided.errors import OnesidedError
from onesided.verify._enumerate import Settings, Walk
from onesided.verify._exact import Task, _data_sets, distinct_moves
from onesided_proofs import cases
from onesided_proofs.checks import _certified, _own

KNOWN = Path(__file__).with_suffix(".json")
PACKAGES = (
    "onesided.mechanism",
    "onesided.policy",
    "onesided.noise",
    "onesided.session._session",
    "onesided.session._plan",
    "onesided.session._groups",
    "onesided.session._count",
    "onesided.session._above",
    "onesided.session.several",
    "onesided.session.values",
)
RESULTS = Path(__file__).with_name("RESULTS.md")
BEGINS, ENDS = "<!-- mutants: begin -->", "<!-- mutants: end -->"
LIVES = "LIVES"
# What noticed a mutant, by the first word of what is told; all else is another check.
KINDS = ("line", "certificate", "error", "does not end", LIVES)
SAID = {"line": "seen by a line", "error": "an error", LIVES: "live"}
CERTIFICATES = "certificates"
OWN_CHECKS = (
    "_accounted",
    "_moved",
    "_floats",
    "_draws",
    "_charges",
    "_definitions",
    "_samplers",
    "_laws",
    "_repeats",
)
DIVES, SETS = 3, 2
# CPU seconds for one check: whoever runs the command would give up as well.
PATIENCE = 60
# CPU seconds for all checks of one mutant: what was not noticed by then lives,
# on a machine five times as slow as ours, too.
ENOUGH = 600
# Bytes: a number that is far too long must not take all there is.
MEMORY = 4 * 2**30


def case_modules():
    """The catalogue's modules, by name."""
    return [f"{cases.__name__}.{one.name}" for one in iter_modules(cases.__path__)]


def checks(module):
    """``(title, what tells whether it is right, the line)`` of every check, made anew."""
    if module == CERTIFICATES:
        for one in _certified.certificates():
            yield f"certificate {one.name}", lambda one=one: (not one.fault()) == one.sound, None
    elif module in OWN_CHECKS:
        run = _own.GROUPS.get(module) or getattr(_own, module)
        yield module.strip("_"), lambda: all(check.right for check in run()), None
    else:
        for line in reload(import_module(module)).cases():
            title = f"line {line.title} under {line.policy.name}"
            yield title, lambda line=line: line.run().right, line


def work(line):
    """About how many paths a line has; runs some of them."""
    try:
        task = Task(line.program, line.universe, line.query, Settings(tail=line.tail))
        sets = list(_data_sets(distinct_moves(task, line.policy)).values())
        some = sets[:: max(1, len(sets) // SETS)][:SETS]
        return sum(Walk(task.bound(one), task.how).probe(DIVES, seed=0) for one in some) * len(sets)
    except OnesidedError:
        return 0


def touched(module):
    """``(module, function, [(work, module, place), ...])`` of the checks of one module."""
    users, made, place = defaultdict(list), checks(module), 0
    while True:
        RUN.clear()
        one = next(made, None)
        amount = 0
        if one is not None and one[2] is not None:
            amount = work(one[2])
        elif one is not None:
            one[1]()
        if one is None:
            return [[*function, keys] for function, keys in users.items()]
        for function in RUN:
            users[function].append((amount, module, place))
        place += 1


def all_touched(processes, functions, lines=None):
    """The checks that run each function, and the CPU seconds that it took to find out."""
    users, total = defaultdict(list), 0.0
    every = (CERTIFICATES, *OWN_CHECKS, *case_modules())
    if lines is not None:
        every = [one for one in every if one.rpartition(".")[2].strip("_") in lines]
    tasks = [partial(touched, module) for module in every]
    with watched(functions):
        for found, seconds in spread(tasks, processes):
            total += seconds
            for module, function, keys in found:
                users[module, function] += keys
    return users, total


def notices(mutant, keys):
    """The first check that notices the mutant, or nothing. For a process of its own."""
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        mutant.planted()
        for title, right in due(keys):
            if time.process_time() > ENOUGH:
                break
            signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
            if not right():
                return title
    except Exception as error:  # noqa: BLE001 - whatever it is, the command would fail
        return f"error {type(error).__name__}"
    return ""


def due(keys):
    """The checks that run a function, made anew; those that take least first, twins last."""
    cost = {(module, place): amount for amount, module, place in keys}
    wanted, found = defaultdict(set), []
    for module, place in cost:
        wanted[module].add(place)
    for module, places in wanted.items():
        made = enumerate(islice(checks(module), max(places) + 1))
        found += [(cost[module, place], *one) for place, one in made if place in places]
    found.sort(key=lambda one: (one[3] is not None and not one[3].sound, one[0]))
    return [one[1:3] for one in found]


def forked(task):
    """Run ``task`` in a child; its number, and where to read what it returns."""
    read, write = os.pipe()
    child = os.fork()
    if child:
        os.close(write)
        return child, read
    try:
        os.close(read)
        with os.fdopen(write, "w") as out:
            out.write(json.dumps(task()))
    finally:
        os._exit(0)


def answer(child, read):
    """What it returned, or None; and its CPU seconds."""
    with os.fdopen(read) as source:
        text = source.read()
    _, _, used = os.wait4(child, 0)
    return (json.loads(text) if text else None), used.ru_utime + used.ru_stime


def spread(tasks, processes):
    """``(answer, seconds)`` of each task, in order."""
    running = []
    for task in tasks:
        running.append(forked(task))
        if len(running) >= processes:
            yield answer(*running.pop(0))
    for one in running:
        yield answer(*one)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=200, help="how many; 0 for all of them")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", nargs="+", default=[""], help="names that have one of these")
    parser.add_argument("--promises", action="store_true", help="those of promises, by meaning")
    parser.add_argument("--lines", nargs="+", help="the modules of the catalogue that may see it")
    parser.add_argument("--update", action="store_true", help="write the table in RESULTS.md")
    parser.add_argument("--all", action="store_true", help="try those that are listed as well")
    return parser.parse_args()


def main():
    asked, start = arguments(), time.time()
    for one in gc.get_objects():
        if isinstance(one, _lru_cache_wrapper):
            one.cache_clear()
    every = [mutant for name in modules(PACKAGES) for mutant in mutants_of(name)]
    meant = list(promises())
    known = json.loads(KNOWN.read_text()) if KNOWN.exists() else {}
    idle = stale(known, [*every, *meant])
    every = meant if asked.promises else every
    apart = {} if asked.all else known
    tried = [m for m in every if any(t in m.name for t in asked.only) and not excused(m, apart)]
    size = min(asked.sample or len(tried), len(tried))
    chosen = sorted(tried, key=lambda mutant: drawn(asked.seed, mutant))[:size]
    functions = {(one.module, one.function) for one in chosen}
    users, used = all_touched(asked.processes, functions, asked.lines)
    print(f"{len(every)} mutants, {len(every) - len(tried)} not tried; {size} of the rest are.")
    print(f"Which checks run what was found in {used:.0f} s of CPU.", flush=True)
    told = outcomes(chosen, users, asked.processes)
    living = [one.name for one, by in zip(chosen, told, strict=True) if by == LIVES]
    seconds = sum(os.times()[:4])
    print(f"{size - len(living)} of {size} are seen, in {time.time() - start:.0f} s.")
    if asked.update:
        update(f"seed {asked.seed}, {size} of {len(every)}", chosen, told, known, seconds)
    for name in living:
        print(f"LIVES: {name}: {known.get(name, 'and nothing says why it may')}")
    for name in idle:
        print(f"STALE: {name} fits no mutant any more")
    return int(bool(idle) or any(name not in known for name in living))


def drawn(seed, mutant):
    """A random number of each mutant's own: a new entry in the list changes no other's turn."""
    return hashlib.sha256(f"{seed} {mutant.name}".encode()).digest()


def excused(mutant, known):
    """Whether the mutant, its function or its module is listed."""
    names = (mutant.name, f"{mutant.module}.{mutant.function}", mutant.module)
    return any(name in known for name in names)


def stale(known, every):
    """What is listed and does not exist."""
    names = {m.name for m in every} | {m.module for m in every}
    names |= {f"{m.module}.{m.function}" for m in every}
    return [name for name in known if name not in names]


def outcomes(chosen, users, processes):
    """Runs each mutant; which check noticed it, or that none did."""
    nothing, told = [], []
    keys = [users.get((m.module, m.function), nothing) for m in chosen]
    tasks = [partial(notices, m, k) for m, k in zip(chosen, keys, strict=True)]
    for number, (by, seconds) in enumerate(spread(tasks, processes)):
        told.append("does not end" if by is None else by or LIVES)
        more = " (no check runs it)" if told[-1] == LIVES and not keys[number] else ""
        name = f"{chosen[number].name}: {told[-1]}{more}"
        print(f"{number + 1}/{len(chosen)} {seconds:.1f} s {name}", flush=True)
    return told


def update(what, chosen, told, known, seconds):
    """The table of a run, in the place of the last one."""
    rows = defaultdict(Counter)
    for mutant, by in zip(chosen, told, strict=True):
        place = ".".join(mutant.module.split(".")[1:2])
        rows[place]["planted"] += 1
        rows[place][next((kind for kind in KINDS if by.startswith(kind)), "other check")] += 1
    columns = ("planted", *KINDS[:2], "other check", *KINDS[2:])
    text = [
        f"`python benchmarks/mutants.py --update`: {what} mutants, {seconds:.0f} s of CPU; "
        f"{len(known)} entries are listed with their reasons.",
        "",
        "| package | " + " | ".join((*columns[:1], *(SAID.get(c, c) for c in columns[1:]))) + " |",
        "|---|" + "--:|" * len(columns),
    ]
    for place, found in (*sorted(rows.items()), ("all", sum(rows.values(), Counter()))):
        text.append(f"| {place} | " + " | ".join(str(found[c]) for c in columns) + " |")
    before, _, rest = RESULTS.read_text(encoding="utf-8").partition(BEGINS)
    after = rest.partition(ENDS)[2]
    RESULTS.write_text(
        "\n".join([f"{before}{BEGINS}", "", *text, "", f"{ENDS}{after}"]), encoding="utf-8"
    )


if __name__ == "__main__":
    sys.exit(main())
