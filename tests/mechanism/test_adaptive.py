"""The sparse vector that pays half for counts far above their thresholds."""

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onesided as od
from onesided import errors, verify
from onesided.mechanism import AdaptiveSparseVector, SparseVector
from onesided.mechanism._certify import decide_adaptively
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Shift

COUNTS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(0, 5)), max_size=9)


def one_by_one(queries, margin, purse):
    """The rules, query by query."""
    left, said = 2 * purse, []
    for coarse, fine, level in queries:
        far = coarse > level + (margin if left > 1 else 0)
        if left == 0:
            said.append(("not reached", 0))
        elif far:
            said.append(("coarse", coarse))
            left -= 1
        elif left > 1 and fine > level:
            said.append(("fine", fine))
            left -= 2
        else:
            said.append(("certified", 0))
    return said


@given(COUNTS, st.integers(0, 5), st.integers(1, 3))
def test_all_at_once_decides_as_one_by_one(queries, margin, purse):
    coarse, fine, levels = np.array(queries, dtype=np.int64).reshape(-1, 3).T
    found = decide_adaptively(coarse, fine, levels, margin=margin, purse=purse)
    names = ["not reached", "certified", "fine", "coarse"]
    kinds = found.certified + 2 * found.answered + (found.answered & found.coarse)
    said = [(names[kind], int(v)) for kind, v in zip(kinds.tolist(), found.values, strict=True)]
    assert said == one_by_one(queries, margin, purse)


@given(st.lists(st.integers(0, 50), max_size=30), st.integers(0, 50), st.integers(1, 5))
def test_answers_keep_their_word(counts, threshold, limit):
    mechanism = AdaptiveSparseVector(threshold, upper_rate="1/2", max_answers=limit, margin=7)
    truth = np.array(counts, dtype=np.int64)
    found = mechanism.release(truth, noise=NotPrivateSeededNoise(len(counts)))
    assert (truth[found.certified] <= threshold).all()
    assert (found.values[found.answered] > threshold).all()
    assert (found.values[found.answered] >= truth[found.answered]).all()
    shares = (2 - found.coarse[found.answered]).sum()
    assert shares <= 2 * limit
    assert found.answered.sum() <= 2 * limit


def test_counts_far_above_give_twice_as_many_answers():
    mechanism = AdaptiveSparseVector(5, upper_rate=1, max_answers=10, margin=4)
    found = mechanism.release(np.full(100, 1_000), noise=NotPrivateSeededNoise(1))
    assert found.answered.sum() == 20
    assert found.coarse[found.answered].all()


@pytest.mark.parametrize(("count", "level", "margin"), [(5, 5, 3), (3, 5, 0), (9, 5, 6)])
def test_the_law_of_one_query(count, level, margin):
    # 200,000 queries, five deviations: false alarm 6e-7 each.
    a, size = Fraction(1, 2), 200_000
    mechanism = AdaptiveSparseVector(level, upper_rate=a, max_answers=size, margin=margin)
    found = mechanism.release(np.full(size, count), noise=NotPrivateSeededNoise(3))
    far = math.exp(-float(a) / 2 * max(level + margin - count + 1, 0))
    near = (1 - far) * math.exp(-float(a) * max(level - count + 1, 0))
    for seen, chance in ((found.coarse.sum(), far), ((~found.certified).sum(), far + near)):
        assert abs(seen / size - chance) <= 5 * math.sqrt(chance * (1 - chance) / size)


def test_the_loss_is_that_of_the_plain_sparse_vector():
    for fall in range(5):
        shift = Shift(rise=0, fall=fall)
        mine = AdaptiveSparseVector(0, upper_rate=2, max_answers=2, margin=1).loss(shift)
        assert mine == SparseVector(0, upper_rate=2, max_answers=2).loss(shift)
    assert (
        AdaptiveSparseVector(0, upper_rate=2, max_answers=2).loss(Shift(rise=1, fall=0))
        == od.INFINITE
    )


def test_the_loss_holds_exactly_and_half_price_is_used():
    policy = od.policy.presence(max_groups=2)
    universe = verify.Universe(groups=("a", "b"), units=2)
    mechanism = AdaptiveSparseVector.for_policy(
        policy, thresholds=0, epsilon=4, max_answers=1, margin=0
    )
    report = verify.exact(mechanism, policy, universe)
    assert report.keeps(4)
    assert report.loss > 3.5


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"max_answers": 0}, "max_answers"),
        ({"max_answers": None}, "max_answers"),
        ({"max_answers": 1, "margin": -1}, "margin"),
        ({"max_answers": 1, "epsilon": float("nan")}, "epsilon"),
    ],
)
def test_bad_input_is_refused(given, words):
    policy, asked = od.policy.presence(max_groups=1), {"thresholds": 3, "epsilon": 1, **given}
    with pytest.raises(errors.ParameterError, match=words):
        AdaptiveSparseVector.for_policy(policy, **asked)


def test_a_policy_with_rises_is_refused():
    with pytest.raises(errors.UnprotectableError):
        AdaptiveSparseVector.for_policy(
            od.policy.bounded(), thresholds=3, epsilon=1, max_answers=2, max_groups=1
        )


def test_a_session_asks_adaptively():
    people = [(p, f"place {p % 7}") for p in range(700)]
    visits = pl.DataFrame(people, schema=["person", "place"], orient="row")
    policy = od.policy.presence(max_groups=1)
    session = od.Session(visits, unit="person", policy=policy, budget=100)
    asked = {"by": "place", "keys": [f"place {i}" for i in range(7)], "epsilon": 3}
    plain = session.above(5, max_answers=2, id="plain", **asked)
    found = session.above(5, max_answers=2, adaptive=True, id="adaptive", **asked)
    assert len(plain.above) == 2
    assert len(found.above) == 4
    assert found.guarantee.epsilon == plain.guarantee.epsilon
    assert found.frame["coarse"].to_list() == [True] * 4
    again = session.above(5, max_answers=2, adaptive=True, id="adaptive", again=True, **asked)
    assert again.told_again
    assert again.frame.equals(found.frame)
    with pytest.raises(errors.OnesidedError):
        session.above(5, max_answers=2, id="adaptive", again=True, **asked)
    with pytest.raises(errors.ParameterError, match="adaptive"):
        session.above(5, max_answers=None, adaptive=True, **asked)
