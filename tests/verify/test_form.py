"""Outputs are told apart as an observer would tell them, not as ``==`` does."""

import copy
import datetime as dt
from collections import namedtuple
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from fractions import Fraction

import numpy as np
import pytest

from onesided import INFINITE, errors
from onesided.policy import Record
from onesided.verify._seal import form, numbers, shown

Pair = namedtuple("Pair", "a b")  # noqa: PYI024 - the plain kind is what is tested


@dataclass(frozen=True)
class Hidden:
    told: int
    kept: int = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Slotted:
    value: int
    own: int = field(compare=False)


class Plain:
    def __init__(self, value):
        self.value = value


class Tagged(int):
    pass


class Colour(Enum):
    RED = 1


def nan(bits):
    return float(np.array([bits], dtype=np.uint64).view(np.float64)[0])


class Said(str):
    __slots__ = ()

    def __str__(self):
        return ""


class Listed(list):
    def __iter__(self):
        return iter(())


@dataclass
class Both(int):
    value: int = 0


DIFFERENT = [
    (True, 1),
    (1, 1.0),
    (0.0, -0.0),
    (Fraction(1), 1),
    (Decimal("1.0"), Decimal("1.00")),
    (nan(0x7FF8000000000000), nan(0x7FF8000000000001)),
    ("a", b"a"),
    ((1, 2), [1, 2]),
    ((1, 2), Pair(1, 2)),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    (np.int64(1), 1),
    (np.int32(1), np.int64(1)),
    (np.float32(1), np.float64(1)),
    (np.array([1], dtype=np.int32), np.array([1], dtype=np.int64)),
    (np.array([1]), np.array([1], dtype=">i8")),
    (np.array([0.0]), np.array([-0.0])),
    (np.array([[1, 2]]), np.array([1, 2])),
    (np.zeros((2, 2)), np.zeros((2, 2), order="F")),
    (np.array([1, True], dtype=object), np.array([1, 1], dtype=object)),
    (np.array(["a"]), np.array(["a"], dtype="<U9")),
    (np.array([(1, 2)], dtype=[("a", "i8"), ("b", "i8")]), np.array([(1, 2)], dtype="i8,i8")),
    (Hidden(1, 2), Hidden(1, 3)),
    (Slotted(1, 2), Slotted(1, 3)),
    (dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 1, fold=1)),  # noqa: DTZ001 - zones differ
    (dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 1, tzinfo=dt.UTC)),  # noqa: DTZ001
    (None, False),
    (range(0), range(1, 1)),
]


# Copies of these are not the same: a copy has no base.
HIDING = [
    (np.array([1, 2])[:1], np.array([1, 3])[:1]),
    (np.array([1, 2])[:1], np.array([1])),
    (np.broadcast_to(np.array([1]), (2,)), np.array([1, 1])),
]


@pytest.mark.parametrize(
    ("one", "other"), [*DIFFERENT, *HIDING], ids=lambda value: type(value).__name__
)
def test_what_an_observer_tells_apart_has_two_forms(one, other):
    assert form(one) != form(other)
    assert form([one]) != form([other])
    assert form({"k": one}) != form({"k": other})


@pytest.mark.parametrize(
    "one", [each for pair in DIFFERENT for each in pair], ids=lambda value: type(value).__name__
)
def test_an_output_has_the_form_of_its_copy(one):
    assert form(one) == form(copy.deepcopy(one))
    assert hash(form(one)) == hash(form(copy.deepcopy(one)))


def test_nan_equals_nan_of_the_same_bits():
    assert form(float("nan")) == form(float("nan"))
    assert form(np.array([np.nan])) == form(np.array([np.nan]))


@pytest.mark.parametrize(
    "output",
    [
        {1, 2},
        frozenset(),
        iter("ab"),
        (x for x in "ab"),
        len,
        lambda: 0,
        object(),
        memoryview(b"x"),
        np.array([1], dtype=np.longdouble),
        np.array([(1, 2)], dtype="i8,i8")[["f0"]],  # whose bytes still hold the 2
        np.zeros(1, dtype=np.dtype("i4,f8", align=True)),
        np.longdouble(1),
        Record("record", frozenset("a")),
        type("Denies", (), {"__dict__": property(lambda _self: {})})(),
        Plain(1),
        Tagged(1),
        Said("a"),
        Listed([1]),
        Both(1),
        type("More", (Slotted,), {"__slots__": ("hidden",)})(1, 2),
        Colour.RED,
        type("Noted", (Pair,), {})(1, 2),
        np.ma.array([1, 2], mask=[0, 1]),
        type("Half", (Fraction,), {})(1),
        type("Scalar", (np.float64,), {"tobytes": lambda _self: b""})(1.0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_has_no_fixed_form_is_refused_with_the_next_step(output):
    with pytest.raises(errors.ParameterError, match=r"cannot be compared[\s\S]*Return"):
        form(output)
    with pytest.raises(errors.ParameterError, match="cannot be compared"):
        form({"k": [output]})


def test_a_frame_is_refused_by_name():
    pl, pd = pytest.importorskip("polars"), pytest.importorskip("pandas")
    for frame in (pl.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]}), pd.Timestamp(0)):
        with pytest.raises(errors.ParameterError, match="cannot be compared"):
            form(frame)


def test_what_holds_itself_is_refused():
    endless = []
    endless.append(endless)
    with pytest.raises(errors.ParameterError, match="holds itself"):
        form(endless)


def test_a_form_can_be_shown():
    output = {"a": (1, 2.5), "b": np.array([[1, 2]]), "c": INFINITE, "d": np.int32(3)}
    assert shown(form(output)) == {"a": (1, 2.5), "b": ((1, 2),), "c": INFINITE, "d": 3}
    assert shown(form(Hidden(1, 2))) == "Hidden(told=1, kept=2)"
    assert shown(form(Pair(1, 2))) == (1, 2)
    assert shown(form(np.array([1, "x"], dtype=object))) == (1, "x")
    assert numbers(form((1, np.array([2.5]), True))) == (1.0, 2.5, 1.0)
    assert numbers(form((1, "a"))) == ()


def test_a_locked_array_has_another_form():
    locked = np.array([1])
    locked.setflags(write=False)
    assert form(locked) != form(np.array([1]))
