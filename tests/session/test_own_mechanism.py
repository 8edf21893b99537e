"""A mechanism of the curator's own: checked before, priced by its loss, charged like ours."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

import onesided as od
from onesided import errors
from onesided.policy import GroupCount
from onesided.verify import Case, Universe

pl = pytest.importorskip("polars")

POLICY = od.policy.presence(max_groups=1)
PLACES = ["p", "q"]


@dataclass(frozen=True)
class Doubled:
    """Twice each count, and noise above."""

    rate: Fraction

    def release(self, counts, *, noise):
        return 2 * counts + noise.geometric(self.rate, counts.size)

    def loss(self, shift):
        return self.rate * 2 * shift.fall + od.INFINITE * shift.rise


HALF = Doubled(Fraction(1, 2))


@pytest.fixture(scope="module")
def record():
    return Case(HALF, POLICY, 1, universe=Universe(units=1)).run()


@pytest.fixture
def session():
    frame = pl.DataFrame({"person": [1, 1, 2], "place": ["p", "q", "p"]})
    return od.Session(frame, unit="person", policy=POLICY, budget=3)


def ask(session, mechanism=HALF, **options):
    asked = {"statistic": "count", "by": "place", "keys": PLACES, "epsilon": 1, **options}
    return session.release(mechanism, **asked)


def test_it_is_charged_its_loss_and_says_what_the_guarantee_rests_on(session, record):
    release = ask(session, check=record)
    assert all(left == 2 for left in session.remaining.values())
    assert release.frame["place"].to_list() == PLACES
    assert (release.frame["estimate"].to_numpy() >= np.array([4, 2])).all()
    assert "not proved" in str(release)
    assert "Checked on every noise in one small universe" in release.guarantee.about
    assert release.entry is not None


def test_it_is_refused_without_a_record_and_nothing_is_charged(session, record):
    other = Doubled(Fraction(1, 3))
    for mechanism, check, word in (
        (HALF, None, "no record"),
        (other, record, "other parameters"),
        (HALF, replace(record, passed=False), "did not pass"),
        (HALF, replace(record, epsilon=Fraction(2)), "ε = 2"),
        (HALF, replace(record, policy=od.policy.unbounded().to_toml()), "another policy"),
        (HALF, replace(record, query=GroupCount(max_groups=2)), "made for"),
    ):
        with pytest.raises(errors.ParameterError, match=word) as caught:
            ask(session, mechanism, check=check)
        assert "Case(" in caught.value.hint
    assert all(left == 3 for left in session.remaining.values())


def test_unverified_goes_without_and_says_so(session):
    assert "Not checked" in str(ask(session, unverified=True))
    with pytest.raises(errors.ParameterError):
        ask(session, unverified="yes")


def test_a_loss_above_epsilon_is_refused(session):
    with pytest.raises(errors.ParameterError, match="more than 1"):
        ask(session, Doubled(Fraction(1)), unverified=True)
    assert all(left == 3 for left in session.remaining.values())


def test_an_answer_of_another_form_is_refused_before_it_is_charged(session):
    class Odd(Doubled):
        def release(self, counts, *, noise):
            return noise.geometric(1, 1 + 0 * counts.size)

    with pytest.raises(errors.DataError, match="one number per group"):
        ask(session, Odd(Fraction(1, 2)), unverified=True)
    with pytest.raises(errors.ParameterError, match="statistic"):
        ask(session, statistic="everything", unverified=True)
    assert all(left == 3 for left in session.remaining.values())


def test_the_answer_is_told_again_under_its_id_and_over_budget_is_refused(session, record):
    first = ask(session, check=record, id="mine")
    again = ask(session, check=record, id="mine", again=True)
    assert again.values.tolist() == first.values.tolist()
    assert all(left == 2 for left in session.remaining.values())
    with pytest.raises(errors.ReleaseExistsError):
        ask(session, Doubled(Fraction(1, 4)), unverified=True, id="mine")
    ask(session, check=record)
    ask(session, check=record)
    with pytest.raises(errors.BudgetExceededError):
        ask(session, check=record)
