"""One digest for one set of rows, in any order and on any engine; another for every other set."""

import hashlib
import itertools

import pytest

from onesided.monitor import Batch


def test_the_digest_is_what_its_page_says(rows_digest):
    """By hand: a leaf for each place, a root over them."""
    leaf = hashlib.sha256((-1).to_bytes(8, signed=True) + (5).to_bytes(8)).digest()
    root = b"onesided monitor rows, version 2\nint\n" + (3).to_bytes(8) + leaf
    assert rows_digest([3], [-1], [5]) == hashlib.sha256(root).digest()
    assert Batch("1", 5, ((3, -1, 5),)).digest() == hashlib.sha256(root).digest()
    leaf = hashlib.sha256((3).to_bytes(4) + "éa".encode() + (5).to_bytes(8)).digest()
    root = b"onesided monitor rows, version 2\nstr\n" + (0).to_bytes(8) + leaf
    assert rows_digest([0], ["éa"], [5]) == hashlib.sha256(root).digest()
    assert Batch("1", 5, ((0, "éa", 5),)).digest() == hashlib.sha256(root).digest()


@pytest.mark.parametrize("people", [(1, -1, 2**62), ("1", "", "é"), (1, 2**70, -(2**64))])
def test_order_and_earlier_visits_are_no_facts_and_all_else_is(people):
    rows = tuple((place, person, 4) for place in (0, 7) for person in people)
    one = Batch("1", 9, rows).digest()
    shuffled = (*rows[::-1], (0, people[0], 3), rows[0])
    assert Batch("2", 9, shuffled).digest() == one
    others = [rows[1:], rows[:-1], rows[:3], ((0, people[0], 5), *rows[1:]), ((1, people[0], 4),)]
    found = [one, *(Batch("1", 9, other).digest() for other in others), Batch("1", 9).digest()]
    assert all(a != b for a, b in itertools.combinations(found, 2))
