"""Small monitors over text places and whole-number times."""

import hashlib
import itertools

import pytest

from onesided import Monitor, policy


@pytest.fixture
def make(tmp_path):
    """Open a monitor; the same state again unless told otherwise."""

    def opened(**given):
        options = {
            "keys": ["a", "b", "c"],
            "at_most": 2,
            "window": 10,
            "epsilon": 1,
            "policy": policy.presence(max_groups=1),
            "state": tmp_path / "state.db",
        } | given
        made.append(Monitor(options.pop("keys"), **options))
        return made[-1]

    made = []
    yield opened
    for monitor in made:
        monitor.close()


@pytest.fixture(scope="session")
def rows_digest():
    """The digest of rows in any order, by its definition alone."""
    return plain_digest


def plain_digest(places, persons, times):
    kind, latest = "", {}
    if len(persons):
        small = not isinstance(persons[0], str) and all(-(2**63) <= one < 2**63 for one in persons)
        kind = "str" if isinstance(persons[0], str) else "int" if small else "long"

    def word(person):
        if kind == "int":
            return int(person).to_bytes(8, signed=True)
        text = str(person).encode("utf-8", "surrogatepass")
        return len(text).to_bytes(4) + text

    for place, person, time in zip(places, persons, times, strict=True):
        row = int(place), word(person)
        latest[row] = max(int(time), latest.get(row, int(time)))
    root = b"onesided monitor rows, version 2\n" + kind.encode() + b"\n"
    for place, group in itertools.groupby(sorted(latest), key=lambda row: row[0]):
        body = b"".join(name + latest[at, name].to_bytes(8, signed=True) for at, name in group)
        root += place.to_bytes(8) + hashlib.sha256(body).digest()
    return hashlib.sha256(root).digest()
