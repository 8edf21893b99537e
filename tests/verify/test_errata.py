"""Errata 7, 9 and 10 of docs/papers-errata.md; the others are in tests/policy and tests/bounds."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import onesided as od
from onesided import errors, verify
from onesided.mechanism import Counts
from onesided.verify import Universe

PLACES = ("p", "q")


def step(data, noise, marks, *, next_place):
    """One batch of ADP-2021 Algorithm 4; ``next_place`` is what line 7 should say."""
    answers = {}
    place = 0
    while place < len(PLACES):
        name = PLACES[place]
        if name in marks:
            place = next_place(place)
            continue
        noisy = sum(name in record.value for record in data) + int(noise.geometric(1, 1)[0])
        if noisy > 0:
            marks.add(name)
        answers[name] = max(0, noisy)
        place += 1
    return tuple(sorted(answers.items()))


def monitor(data, noise, *, next_place):
    marks = set()
    return tuple(step(data, noise, marks, next_place=next_place) for _ in range(2))


def test_erratum_7_back_to_line_4_never_ends_once_a_place_is_marked():
    """Line 7 as printed starts over with the first place, which is still marked."""
    policy = od.policy.presence(max_groups=1)
    printed = partial(monitor, next_place=lambda _place: 0)
    with pytest.raises(errors.ParameterError, match="took more than"):
        verify.exact(printed, policy, Universe(groups=PLACES, units=1), patience=0.3)


def test_erratum_7_the_next_place_is_meant_and_keeps_the_promise():
    policy = od.policy.presence(max_groups=1)
    meant = partial(monitor, next_place=lambda place: place + 1)
    report = verify.exact(meant, policy, Universe(groups=PLACES, units=1), tail=1e-10)
    assert report.keeps(1)
    assert report.loss == pytest.approx(1, abs=1e-5)
    assert report.delta(1) < 1e-5


def rescaled(bucket, zeros, factor):
    """OSDP Algorithm 3 for one bucket: zeros are put in, the others rescaled."""
    kept = [0 if place in zeros else value for place, value in enumerate(bucket)]
    return [value * factor for value in kept]


def ours(size, zeros):
    """|B| / (|B| - |Z n B|); a bucket that is all zeros keeps its zeros."""
    return Fraction(size, size - zeros) if zeros < size else Fraction(0)


def test_erratum_9_the_printed_factor_does_not_keep_the_total():
    """Three bins that hold 6 together; one is known to be empty."""
    bucket, zeros = [2, 2, 2], {2}
    assert sum(rescaled(bucket, zeros, Fraction(3, 1))) == 12  # |B| / |Z n B| as printed
    assert rescaled(bucket, zeros, ours(3, 1)) == [3, 3, 0]
    with pytest.raises(ZeroDivisionError):
        Fraction(3, 0)  # no zeros in the bucket: the printed factor does not exist
    assert rescaled(bucket, set(), ours(3, 0)) == bucket
    assert rescaled(bucket, {0, 1, 2}, ours(3, 3)) == [0, 0, 0]


@pytest.mark.parametrize("size", range(1, 8))
def test_erratum_9_ours_keeps_the_total_of_every_bucket(size):
    for zeros in range(size):
        bucket = rescaled([5] * size, set(range(zeros)), ours(size, zeros))
        assert sum(bucket) == 5 * size


def split(data, noise, *, upper, lower):
    """A histogram of sensitive and one of open records at once."""

    def counts(kind):
        return np.array(
            [sum(r.kind == kind and g in r.value for r in data) for g in PLACES], dtype=np.int64
        )

    sensitive = Counts(upper, lower).release(counts("sensitive"), noise=noise)
    opened = Counts(od.INFINITE, lower).release(counts("open"), noise=noise)
    return tuple(sensitive.tolist()), tuple(opened.tolist())


def test_erratum_10_a_replaced_record_is_charged_per_edge():
    """a + b on both edges; plain composition would charge a + 2b."""
    a, b = Fraction(3), Fraction(2)
    policy = od.policy.sensitive("private")
    program = partial(split, upper=a, lower=b)
    world = Universe(groups=PLACES, units=1, max_groups=1)
    report = verify.exact(program, policy, world, tail=1e-10)
    assert {edge.name for edge in report.findings} == {
        "sensitive -> sensitive",
        "sensitive -> open",
    }
    for finding in report.findings.values():
        assert finding.loss == pytest.approx(a + b, abs=1e-5)
    assert report.keeps(a + b)
    assert report.delta(a + b) < 1e-5


def test_erratum_10_the_sensitive_part_alone_would_not_do():
    """Charging a for sensitive -> open forgets that the open count rises."""
    policy = od.policy.sensitive("private")
    program = partial(split, upper=Fraction(3), lower=Fraction(2))
    report = verify.exact(
        program, policy, Universe(groups=PLACES, units=1, max_groups=1), tail=1e-10
    )
    (to_open,) = (edge for edge in report.findings if edge.target == "open")
    assert report.findings[to_open].loss > 3 + 1
