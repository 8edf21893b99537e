"""Fields that are read once: what they take, what they hold, and that they never change."""

import copy
import pickle
from dataclasses import KW_ONLY, FrozenInstanceError, dataclass, fields, replace
from fractions import Fraction

import pytest

from onesided._numbers import INFINITE, positive, rate, whole
from onesided.errors import ParameterError
from onesided.fields import Exact, Field, MaybeWhole, Rate, Whole, settle


@dataclass(frozen=True)
class Value:
    upper: Rate = Field(rate)
    _: KW_ONLY
    share: Exact = Field(positive, default="1/3")
    most: Whole = Field(whole, least=1, default=1)
    limit: MaybeWhole = Field(whole, least=2, default=None, optional=True)
    total: Fraction = Fraction(0)

    def __post_init__(self):
        settle(self, total=self.share + self.most)


def test_a_field_holds_what_its_reader_returns():
    value = Value("1/2", most=3)
    assert (value.upper, value.share, value.most) == (Fraction(1, 2), Fraction(1, 3), 3)
    assert value.limit is None
    assert value.total == Fraction(10, 3)
    assert Value(INFINITE).upper == INFINITE
    assert [field.name for field in fields(Value)] == ["upper", "share", "most", "limit", "total"]


def test_equal_values_are_equal_however_they_were_written():
    one, two = Value("0.5"), Value(Fraction(1, 2), share=Fraction(1, 3))
    assert one == two
    assert hash(one) == hash(two)
    assert repr(one) == repr(two)
    assert one != replace(one, most=2)
    assert replace(one, upper="3/4").upper == Fraction(3, 4)


@pytest.mark.parametrize(
    "double", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))]
)
def test_copies_are_equal_and_as_frozen(double):
    value = double(Value(2, limit=5))
    assert value == Value(2, limit=5)
    for name in ("upper", "most", "limit", "new"):
        with pytest.raises(FrozenInstanceError):
            setattr(value, name, 1)
    with pytest.raises(FrozenInstanceError):
        del value.upper


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        (lambda: Value(float("nan")), "upper"),
        (lambda: Value(-1), "upper"),
        (lambda: Value(1, share=0), "share"),
        (lambda: Value(1, most=0), "most"),
        (lambda: Value(1, most=None), "most"),
        (lambda: Value(1, limit=1), "limit"),
    ],
)
def test_what_a_reader_refuses_is_refused_by_the_fields_name(wrong, name):
    with pytest.raises(ParameterError, match=name):
        wrong()


def test_a_field_without_a_default_must_be_given():
    with pytest.raises(TypeError, match="upper"):
        Value()
