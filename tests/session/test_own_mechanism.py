"""A mechanism of the curator's own: checked before, priced by its loss, charged like ours."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

import onesided as od
from onesided import errors
from onesided.mechanism import (
    CheckRecord,
    Counts,
    CubeCounts,
    CubeEstimates,
    Staircase,
    StairSums,
    Subsampled,
    TruncatedCounts,
)
from onesided.policy import GroupCount, Shift
from onesided.verify import Case, SumUniverse, Universe

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


@dataclass(frozen=True)
class SometimesOpen:
    """The counts as they are, once in four times."""

    def release(self, counts, *, noise):
        return counts * noise.bernoulli(Fraction(1, 4), counts.size)

    def loss(self, shift):
        return shift.rise + shift.fall


@pytest.mark.parametrize("allowed", [{"delta": "1/2"}, {"unseen": 0.5, "tail": 0.5}])
def test_a_check_that_lets_epsilon_fail_speaks_for_no_session(session, allowed):
    """A session charges no delta: it must not take what was checked with one."""
    query = GroupCount(max_groups=None)
    made = {"universe": Universe(units=1), "query": query, **allowed}
    record = Case(SometimesOpen(), POLICY, 1, **made).run()
    assert record.delta == Fraction(1, 2)
    passed = replace(record, passed=True)
    assert CheckRecord.from_json(passed.to_json()) == passed
    with pytest.raises(errors.ParameterError, match=r"fail with probability 0\.5"):
        ask(session, SometimesOpen(), check=passed)
    assert session.remaining == {"present -> not present": 3}


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


@dataclass(frozen=True)
class Shifted:
    """The sums, and noise above."""

    rate: Fraction

    def release(self, sums, *, noise):
        return sums + noise.geometric(self.rate, sums.size)

    def loss(self, shift):
        return self.rate * shift.fall + od.INFINITE * shift.rise


class Cheap(Shifted):
    """Says half of what it loses."""

    def loss(self, shift):
        return super().loss(shift) / 2


class Leaky(Shifted):
    """Tells odd sums as they are."""

    def release(self, sums, *, noise):
        noisy = super().release(sums, noise=noise)
        return np.where(sums % 2 == 1, sums, noisy)


THIRD = Shifted(Fraction(1, 3))
SUMS = SumUniverse(bounds=(0, 3), groups=2)
HOURS = {"statistic": "sum", "column": "hours", "bounds": (0, 3), "on_excess": "keep"}


@pytest.fixture
def hours():
    rows = {"person": [1, 1, 2, 3], "place": ["p", "q", "p", "q"], "hours": [1, 2, 9, 0]}
    return od.Session(pl.DataFrame(rows), unit="person", policy=POLICY, budget=3)


def test_sums_are_given_clipped_charged_and_told(hours):
    checked = Case(THIRD, POLICY, 1, universe=SUMS).run()
    assert checked.passed
    assert "tight" in checked.said
    assert CheckRecord.from_json(checked.to_json()) == checked
    release = ask(hours, THIRD, check=checked, **HOURS)
    assert all(left == 2 for left in hours.remaining.values())
    assert (release.values >= np.array([4, 2])).all()
    assert "2 sums in which a unit has from 0 to 3" in release.guarantee.about
    assert "clipped" in release.guarantee.about
    whole = ask(hours, THIRD, check=checked, **HOURS | {"by": (), "keys": None})
    assert whole.values.size == 1


@pytest.mark.heavy
def test_sums_in_steps_are_told_in_the_columns_unit(hours):
    fine = Shifted(Fraction(1, 6))
    checked = Case(fine, POLICY, 1, universe=SumUniverse(bounds=(0, 6), groups=2)).run()
    release = ask(hours, fine, check=checked, step="1/2", **HOURS)
    assert ((release.values * 2) % 1 == 0).all()
    assert (release.values >= np.array([4, 2])).all()


@pytest.mark.parametrize("mechanism", [Cheap(Fraction(2, 3)), Leaky(Fraction(1, 3))])
def test_sums_that_are_told_too_exactly_do_not_pass(mechanism, hours):
    checked = Case(mechanism, POLICY, 1, universe=SUMS).run()
    assert not checked.passed
    with pytest.raises(errors.ParameterError, match="did not pass"):
        ask(hours, mechanism, check=checked, **HOURS)


def test_a_record_speaks_for_no_sum_that_moves_further(hours, record):
    small = Case(THIRD, POLICY, 1, universe=SumUniverse(bounds=(0, 2), groups=2)).run()
    for check, word, changes in (
        (small, "further than in the universe", {}),
        (Case(THIRD, POLICY, 1, universe=SUMS).run(), "further", {"bounds": (-1, 3)}),
        (Case(THIRD, POLICY, 1, universe=SUMS).run(), "further", {"step": "1/2"}),
        (record, "another source|other parameters", {}),
        (replace(record, source=small.source), "counts or for sums", {}),
    ):
        with pytest.raises(errors.ParameterError, match=word) as caught:
            ask(hours, THIRD, check=check, **HOURS | changes)
        assert "SumUniverse" in caught.value.hint
    assert all(left == 3 for left in hours.remaining.values())


def test_bad_input_of_sums_is_refused_with_the_next_step(hours):
    for changes, word in (
        ({"column": None}, "Sums of which column"),
        ({"bounds": None}, "Within which bounds"),
        ({"statistic": "count"}, "no meaning for counts"),
        ({"bounds": (0, "1/3")}, "no whole number of steps"),
    ):
        with pytest.raises(errors.ParameterError, match=word) as caught:
            ask(hours, THIRD, unverified=True, **HOURS | changes)
        assert caught.value.hint
    for bounds, groups in (((3, 0), 1), ((0, 3), 9), ("03", 1), ((0, 10**6), 2)):
        with pytest.raises(errors.ParameterError):
            list(SumUniverse(bounds=bounds, groups=groups).moves(POLICY))


ASKED = {"statistic": "count", "by": "place", "keys": PLACES, "epsilon": 1}
TRUNCATED = TruncatedCounts(1, width=3)
ALONE = Shift(rise=0, fall=1)


def spender(delta):
    frame = pl.DataFrame({"person": [1, 1, 2], "place": ["p", "q", "p"]})
    return od.Session(frame, unit="person", policy=POLICY, budget=3, delta_budget=delta)


def test_the_delta_that_a_mechanism_says_is_charged():
    session, own = spender("1/10"), TRUNCATED.delta(ALONE)
    release = session.release(TRUNCATED, unverified=True, **ASKED)
    (told,) = release.guarantee.delta.values()
    assert own <= told < own + Fraction(1, 10**4)
    verdict = Case(TRUNCATED, POLICY, 1, delta=told, universe=Universe(units=1)).verdict()
    assert verdict.accepted
    # The control: at the δ of 0 that was told before, the same check finds it out.
    assert not Case(TRUNCATED, POLICY, 1, universe=Universe(units=1)).run().passed
    (left,) = session.ledger.balances()[0].delta_spent.values()
    assert left == told


def test_no_budget_of_delta_means_no_answer():
    session = spender(0)
    for mechanism in (TRUNCATED, Subsampled(TRUNCATED, keep_rate=1)):
        with pytest.raises(errors.BudgetExceededError, match="δ"):
            session.release(mechanism, unverified=True, **ASKED)
    assert all(left == 3 for left in session.remaining.values())


@pytest.mark.parametrize("delta", [Fraction(1, 10), lambda _: Fraction(3, 2)])
def test_a_delta_that_is_none_is_refused(session, delta):
    class Odd(Doubled):
        pass

    Odd.delta = delta if isinstance(delta, Fraction) else staticmethod(delta)
    with pytest.raises(errors.ParameterError, match="delta"):
        ask(session, Odd(Fraction(1, 2)), unverified=True)


def test_sums_need_a_loss_for_numbers_that_move_so_far(hours):
    asked = {"epsilon": 1, "by": "place", "keys": PLACES, "unverified": True, **HOURS}
    for one in (CubeCounts(1), CubeCounts(1, per_key=2), CubeCounts("1/3", per_key=2)):
        with pytest.raises(errors.ParameterError, match="per_key"):
            hours.release(one, **asked)
    assert all(left == 3 for left in hours.remaining.values())
    release = hours.release(CubeCounts("1/3", per_key=3), **asked)
    assert release.guarantee.headline == 1


def test_what_is_lost_on_such_sums_is_found_by_enumeration():
    world = SumUniverse(bounds=(0, 2), groups=1)
    assert Case(CubeCounts("1/2", per_key=2), POLICY, 1, universe=world).run().passed
    # The control: one count's loss for a sum that falls by two.
    assert not Case(CubeCounts(1), POLICY, 1, universe=world).run().passed


FIVE = ["p", "q", "r", "s", "t"]
STEEP = Staircase(1, largest=10, max_groups=3)


def visits(groups):
    rows = {"person": [1, 1, 2], "place": ["p", "q", "p"], "hours": [1, 2, 9]}
    policy = od.policy.presence(max_groups=groups)
    return od.Session(pl.DataFrame(rows), unit="person", policy=policy, budget=100)


def hours_to(most):
    return {"statistic": "sum", "column": "hours", "bounds": (0, most)}


@pytest.mark.parametrize(
    ("mechanism", "groups", "question", "word"),
    [
        (CubeEstimates(1, keys=5), 1, hours_to(100), "per_key.*at most 1; here it is up to 100"),
        (STEEP, 2, hours_to(15), "per_key.*at most 10; here it is up to 15"),
        (StairSums(STEEP), 2, hours_to(15), "per_key.*at most 10; here it is up to 15"),
        (STEEP, 5, {"statistic": "count"}, "max_groups.*at most 3; here it is up to 5"),
        (StairSums(STEEP), 5, {"statistic": "count"}, "max_groups.*at most 3; here it is up to 5"),
        (STEEP, 5, hours_to(10), "max_groups.*at most 3; here it is up to 5"),
    ],
)
def test_moves_beyond_what_a_loss_holds_for_are_refused(mechanism, groups, question, word):
    session = visits(groups)
    asked = {"by": "place", "keys": FIVE, "epsilon": 50, "unverified": True, **question}
    with pytest.raises(errors.ParameterError, match=word) as caught:
        session.release(mechanism, **asked)
    assert "is at least" in caught.value.hint
    assert all(left == 100 for left in session.remaining.values())


@pytest.mark.parametrize(
    ("mechanism", "groups", "keys", "question", "loss"),
    [
        (CubeEstimates(1, keys=5), 5, FIVE, {"statistic": "count"}, 1),
        (STEEP, 3, FIVE, {"statistic": "count"}, 3),
        (STEEP, 5, FIVE[:3], {"statistic": "count"}, 3),  # of three numbers at most three move
        (STEEP, 2, FIVE, hours_to(10), 3),
        (StairSums(STEEP), 3, FIVE, hours_to(10), 3),
        (Subsampled(Counts(1, od.INFINITE), keep_rate=1), 1, FIVE, {"statistic": "count"}, None),
    ],
)
def test_moves_that_a_loss_holds_for_are_charged_it(mechanism, groups, keys, question, loss):
    asked = {"by": "place", "keys": keys, "epsilon": 50, "unverified": True, **question}
    release = visits(groups).release(mechanism, **asked)
    assert loss in (None, release.guarantee.headline)


def test_a_limit_that_is_no_number_is_refused(session):
    class Odd(Doubled):
        max_groups = "few"

    with pytest.raises(errors.ParameterError, match="max_groups of Odd"):
        ask(session, Odd(Fraction(1, 2)), unverified=True)


def test_enumeration_finds_more_lost_beyond_these_limits():
    """What a session told before, in the least worlds where it is wrong."""
    two, pairs = od.policy.presence(max_groups=2), GroupCount(max_groups=2)
    world = SumUniverse(bounds=(0, 2), groups=1)
    assert not Case(CubeEstimates(1, keys=1), POLICY, 1, universe=world).run().passed
    fits = {"universe": Universe(units=1), "query": pairs}
    assert Case(Staircase(1, largest=2, max_groups=2), two, 2, **fits).run().passed
    assert not Case(Staircase(1, largest=2), two, 1, **fits).run().passed
    far = {"universe": SumUniverse(bounds=(0, 3), groups=2, query=pairs)}
    assert not Case(Staircase(4, largest=2, max_groups=3), two, 12, **far).run().passed


def test_sums_say_which_rows_are_left_out():
    frame = pl.DataFrame({"person": [1, 1, 2], "v": [1, None, 3]})
    session = od.Session(frame, unit="person", policy=od.policy.addition_only(), budget=99)
    asked = {"statistic": "sum", "column": "v", "bounds": (0, 4), "epsilon": 9, "unverified": True}
    told = session.release(HALF, missing="drop", **asked)
    said = "Rows without a value of 'v' are left out."
    assert said in told.cut
    assert said in told.guarantee.about
