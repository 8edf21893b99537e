"""Known proofs by alignment hold, and wrong ones do not."""

import pytest

from onesided import verify
from onesided.verify import Universe, aligned
from onesided_proofs.checks import _alignments as known

# Every path of the noise, for every mechanism.
pytestmark = pytest.mark.heavy

CASES = [*known._right(), *known._wrong()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.subject)
def test_right_alignments_hold_and_wrong_ones_do_not(case):
    assert bool(case.fault()) != case.sound


@pytest.mark.parametrize("case", [c for c in CASES if c.sound], ids=lambda case: case.subject)
def test_what_is_aligned_is_as_private_as_it_says(case):
    world = Universe(groups=("a", "b", "c"), units=1)
    found = verify.exact(case.program, case.policy, world, tail=1e-5)
    assert found.keeps(case.epsilon)
    report = aligned(
        case.program, case.alignment, case.policy, world, epsilon=case.epsilon, tail=1e-4
    )
    assert max(report.cost.values()) == pytest.approx(float(case.epsilon))
