import math
import re
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onesided as od
from onesided import errors, verify
from onesided.mechanism import SparseVector, StreamAnswer
from onesided.mechanism._certify import decide
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Shift

COUNTS = st.lists(st.integers(0, 50), max_size=30)
LIMITS = st.one_of(st.none(), st.integers(1, 5))


@given(COUNTS, st.integers(0, 50), LIMITS, st.integers(0, 2**32))
def test_answers_keep_their_word(counts, threshold, limit, seed):
    mechanism = SparseVector(threshold, upper_rate="1/2", max_answers=limit)
    truth = np.array(counts, dtype=np.int64)
    found = mechanism.release(truth, noise=NotPrivateSeededNoise(seed))
    assert (truth[found.certified] <= threshold).all()
    assert (found.values[found.answered] > threshold).all()
    assert (found.values[found.answered] >= truth[found.answered]).all()
    assert (found.values[~found.answered] == 0).all()
    assert not (found.certified & found.answered).any()
    reached = found.certified | found.answered
    assert (np.diff(reached.astype(int)) <= 0).all()
    if limit is None or found.answered.sum() < limit:
        assert reached.all()
    else:
        assert found.answered.sum() == limit
        assert found.answered[reached][-1]


@given(COUNTS, st.integers(0, 50), LIMITS)
def test_the_stream_and_the_array_answer_alike(counts, threshold, limit):
    """Without noise they must agree exactly; with noise they share ``decide``."""
    mechanism = SparseVector(threshold, upper_rate=od.INFINITE, max_answers=limit)
    certified, answered, values = mechanism.release(np.array(counts, dtype=np.int64))
    whole = [
        StreamAnswer(bool(c), int(v) if a else None)
        for c, a, v in zip(certified, answered, values, strict=True)
        if c or a
    ]
    assert list(mechanism.answers(counts)) == whole


def test_the_stream_and_the_array_have_the_same_distribution():
    mechanism = SparseVector([1, 0, 2], upper_rate=3, max_answers=2)

    def array(noise):
        found = mechanism.release([1, 1, 2], noise=noise)
        return tuple(zip(*(part.tolist() for part in found), strict=True))

    def stream(noise):
        said = list(mechanism.answers([1, 1, 2], noise=noise))
        full = [(a.certified, not a.certified, a.value or 0) for a in said]
        return tuple(full + [(False, False, 0)] * (3 - len(full)))

    def table(run):
        found = {}
        for output, weight in verify.paths(run, tail=1e-9):
            found[output] = found.get(output, 0) + weight
        return found

    one, two = table(array), table(stream)
    for output in one.keys() | two.keys():
        assert one.get(output, 0) == pytest.approx(two.get(output, 0), abs=1e-6)


def test_certified_share_is_the_best_possible():
    # 100,000 queries per count; six deviations: false alarm 2e-9 each, and a rate 10 % off fails.
    mechanism = SparseVector(5, upper_rate="1/2")
    for count in range(7):
        found = mechanism.release(np.full(100_000, count), noise=NotPrivateSeededNoise(count))
        share = found.certified.mean()

        def fits(rate, share=share, count=count):
            p = -math.expm1(-rate * (6 - count))
            return abs(share - p) <= 6 * math.sqrt(p * (1 - p) / 100_000) + 1e-9

        if count <= 5:
            assert fits(0.5)
            assert not fits(0.55)
        else:
            assert share == 0


def test_no_false_certificate_in_a_million():
    mechanism = SparseVector(5, upper_rate=3)
    found = mechanism.release(np.full(1_000_000, 6), noise=NotPrivateSeededNoise(3))
    assert not found.certified.any()


def test_a_stream_may_be_asked_adaptively():
    mechanism = SparseVector(3, upper_rate=od.INFINITE, max_answers=2)
    stream = mechanism.stream()
    assert stream.ask(3) == (True, None)
    assert stream.ask(3, threshold=2) == (False, 3)
    assert not stream.stopped
    assert stream.ask(9) == (False, 9)
    assert stream.stopped
    with pytest.raises(errors.ParameterError, match="stopped") as caught:
        stream.ask(0)
    assert "new stream" in caught.value.hint


def test_queries_may_be_made_from_the_answers():
    seen = []

    def queries():
        yield 4
        yield 7 if seen[-1].certified else 1
        yield 0

    for answer in SparseVector(4, upper_rate=od.INFINITE).answers(queries()):
        seen.append(answer)  # noqa: PERF402 - the queries look at the answers so far
    assert [a.value for a in seen] == [None, 7, None]


def test_no_query_is_taken_once_it_has_stopped():
    taken = []

    def queries():
        for count in (9, 9, 9):
            taken.append(count)
            yield count

    assert len(list(SparseVector(0, upper_rate=1, max_answers=1).answers(queries()))) == 1
    assert len(taken) == 1


def test_thresholds_of_its_own_end_a_stream():
    stream = SparseVector([5, 1], upper_rate=od.INFINITE).stream()
    assert stream.ask(2).certified
    assert not stream.ask(2).certified
    assert stream.stopped
    assert list(SparseVector([], upper_rate=1).answers([1, 2])) == []


def test_a_stream_never_answers_more_often_from_many_threads():
    stream = SparseVector(0, upper_rate=1, max_answers=50).stream()

    def ask(_):
        try:
            return stream.ask(5).value is not None
        except errors.ParameterError:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(400))) == 50


@given(st.integers(0, 30), LIMITS, st.integers(1, 4))
def test_loss_is_for_answers_only(fall, limit, per_key):
    mechanism = SparseVector(5, upper_rate="1/3", max_answers=limit, per_key=per_key)
    paid = fall if limit is None else min(fall, limit * per_key)
    assert mechanism.loss(Shift(rise=0, fall=fall)) == Fraction(paid, 3)
    assert mechanism.loss(Shift(rise=2, fall=fall)) == od.INFINITE


def test_rates_follow_from_the_policy():
    busy = od.policy.presence(max_groups=3)

    def rate(policy, c):
        return SparseVector.for_policy(policy, thresholds=5, epsilon=1, max_answers=c).upper_rate

    third = Fraction(1, 3)
    assert [rate(busy, c) for c in (1, 2, 50, None)] == [1, Fraction(1, 2), third, third]
    with pytest.raises(errors.UnprotectableError, match="at most"):
        rate(od.policy.bounded(), 3)


def test_rounding_before_the_comparison_breaks_certificates():
    """The flaw costs no privacy, so the loss cannot show it: the certificate is wrong instead."""

    def rounded(noise):
        noisy = np.array([6]) + noise.geometric(1, 1)
        return bool(decide((noisy // 5) * 5, np.array([5]), left=None).certified[0])

    def shipped(noise):
        return bool(SparseVector(5, upper_rate=1).release([6], noise=noise).certified[0])

    assert any(wrong for wrong, _ in verify.paths(rounded, tail=1e-9))
    assert not any(wrong for wrong, _ in verify.paths(shipped, tail=1e-9))


class NoDraw:
    def __getattr__(self, name):
        pytest.fail(f"{name} was drawn")


@pytest.mark.parametrize("values", [[1, -1], [1.0], [math.nan], [[1]], [2**62 + 1], ["a"], 3])
def test_bad_counts_are_refused_before_anything_is_drawn(values):
    with pytest.raises(errors.DataError):
        SparseVector(1, upper_rate=1).release(values, noise=NoDraw())


@pytest.mark.parametrize("count", [-1, 1.5, math.nan, "3", None, 2**63])
def test_a_bad_count_uses_up_nothing(count):
    stream = SparseVector([1], upper_rate=1).stream(noise=NoDraw())
    with pytest.raises(errors.DataError):
        stream.ask(count)
    assert not stream.stopped


def test_thresholds_must_fit_the_counts():
    with pytest.raises(errors.DataError, match="thresholds"):
        SparseVector([1, 2], upper_rate=1).release([1, 2, 3], noise=NoDraw())


@pytest.mark.parametrize("bad", [-1, 1.5, "nan", math.nan, math.inf, None, [1, -1], [math.nan]])
def test_bad_thresholds_are_refused(bad):
    with pytest.raises(errors.ParameterError):
        SparseVector(bad, upper_rate=1)
    if bad is not None:
        with pytest.raises(errors.ParameterError):
            SparseVector(1, upper_rate=1).stream(noise=NoDraw()).ask(1, threshold=bad)


@pytest.mark.parametrize("bad", [0, -1, 1.5, "nan", math.nan, math.inf, True])
def test_bad_limits_and_rates_are_refused(bad):
    with pytest.raises(errors.ParameterError):
        SparseVector(1, upper_rate=1, max_answers=bad)
    if bad != 1.5:
        with pytest.raises(errors.ParameterError):
            SparseVector(1, upper_rate=bad)


def test_mechanisms_are_frozen_and_comparable():
    assert SparseVector([1, 2], upper_rate=1) == SparseVector(np.array([1, 2]), upper_rate="1")
    assert hash(SparseVector([1, 2], upper_rate=1))
    with pytest.raises(AttributeError):
        SparseVector(1, upper_rate=1).upper_rate = 5


def test_the_example_of_the_documentation_runs():
    page = (Path(__file__).parents[2] / "docs" / "mechanisms.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names = {}
    exec(example, names)  # noqa: S102 - our own page
    assert names["places"].upper_rate == Fraction(1, 3)
    assert names["values"][2] >= 40
