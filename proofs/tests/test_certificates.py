"""Certificates are checked on every path: each line is told right, and each control is rejected."""

from dataclasses import replace
from fractions import Fraction

import pytest

import onesided as od
from onesided.mechanism import Counts
from onesided_proofs.checks._certificates import Certificate, of_interval
from onesided_proofs.checks._certified import certificates

LINES = list(certificates())


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.name)
def test_every_certificate_is_told_right(line):
    fault = line.fault()
    assert (not fault) == line.sound, fault


def test_each_fault_is_named():
    faults = [line.fault() for line in LINES if not line.sound]
    for word in ("certain bound is wrong", "could say more", "step closer", "said to be"):
        assert any(word in fault for fault in faults)


def test_a_confidence_that_is_too_high_is_seen():
    counts = Counts(1, od.INFINITE)
    honest = Certificate(
        name="at 50 %",
        run=lambda truth, noise: counts.noisy(truth, noise=noise),
        read=lambda noisy, truth: of_interval(counts.interval(noisy, confidence="1/2"), truth),
        truths=((30,),),
        confidence=Fraction(1, 2),
    )
    assert honest.fault() == ""
    assert "said to be at most 0.05" in replace(honest, confidence=Fraction(95, 100)).fault()


def test_a_mechanism_that_fails_is_a_fault_and_no_crash():
    line = replace(LINES[0], run=lambda _truth, noise: noise.geometric(-1, 1))
    assert "rate" in line.fault()
