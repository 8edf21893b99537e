"""Workers of one service, forked, that ask at once or are killed at random instants.

``crowd.py FOLDER WORKERS ASKS``: each worker asks so often, as analysts who collude.
``crowd.py FOLDER kill KILLS SEED``: one worker after the other is killed in the midst of asking.
Prints one JSON object: every ask that was told, with the hash of its answer.
"""

import hashlib
import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

from onesided.errors import BudgetExceededError
from onesided_service import ServiceConfig
from onesided_service._people import Person
from onesided_service._service import Service

PEOPLE = ("ann", "bob", "cleo")


def asked(worker, turn):
    """A question of one place, under an id of its own."""
    fields = {"epsilon": {"number": "1/2"}, "by": "place", "id": f"{worker} {turn}"}
    return {"question": {"version": 1, "question": "Count", "fields": fields}}


def worker(folder, number, asks, out):
    """Ask, keep the answer, and only then say what was told."""
    service = Service(ServiceConfig.read(Path(folder) / "onesided.toml"))
    dataset = service.datasets["visits"]
    for turn in range(asks):
        name = PEOPLE[turn % len(PEOPLE)]
        person = Person(name=name, roles={"visits": frozenset({"analyst"})})
        try:
            ask, _ = service.asking.begin(person, dataset, asked(number, turn))
        except BudgetExceededError:
            continue
        told = service.asking.draw(ask, dataset)
        line = {
            "ask": ask.id,
            "who": name,
            "hash": hashlib.sha256(told.answer.encode()).hexdigest(),
        }
        os.write(out, (json.dumps(line) + "\n").encode())


def started(folder, number, asks):
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return child, reader
    status = 1
    try:
        os.close(reader)
        worker(folder, number, asks, writer)
        status = 0
    except Exception:  # noqa: BLE001 - it is told, and this process ends here
        traceback.print_exc()
    finally:
        os._exit(status)


def read(reader):
    """Whole lines: the last one of a worker that was killed may be cut."""
    with os.fdopen(reader) as lines:
        return [json.loads(line) for line in lines.read().split("\n")[:-1]]


def crowd(folder, workers, asks):
    children = [started(folder, number, asks) for number in range(workers)]
    told, died = [], 0
    for child, reader in children:
        told += read(reader)
        died += os.waitpid(child, 0)[1] != 0
    return {"told": told, "died": died}


def killed(folder, kills, seed):
    chance, told, early = random.Random(seed), [], 0
    for number in range(kills):
        child, reader = started(folder, f"{seed} {number}", 10**6)
        time.sleep(chance.uniform(0.2, 1.2))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        lines = read(reader)
        told += lines
        early += not lines
    return {"told": told, "early": early}


if __name__ == "__main__":
    place, *words = sys.argv[1:]
    if words[0] == "kill":
        found = killed(place, int(words[1]), int(words[2]))
    else:
        found = crowd(place, int(words[0]), int(words[1]))
    print(json.dumps(found))  # noqa: T201
