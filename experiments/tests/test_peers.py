"""Other libraries' mechanisms through the audit: what they state is told from what they lose."""

import numpy as np
import pytest

from onesided.noise import NotPrivateSeededNoise
from onesided_experiments.peers import Each, Measured, Randomised, Stated, audited, both_ways

SOURCE = NotPrivateSeededNoise(5)


class OneSided:
    """Like a mechanism of diffprivlib that hides a fall and shows a rise."""

    def randomise(self, value):
        return value + int(SOURCE.geometric(1, 1)[0])


def stated(program, **changes):
    asked = {"library": "none", "name": "none", "pair": (1, 0), "epsilon": 1.0, **changes}
    return Stated(program=program, **asked)


def test_each_direction_is_audited_on_its_own():
    down, up = audited(stated(Randomised(OneSided())), samples=20_000)
    assert 0.9 < down.share <= 1
    assert up.share > 5
    assert up.real == 0
    table = both_ways([down, up])
    assert table.count("\n") == 3
    assert "| none | none | 1, 0 |" in table


def test_lists_are_sampled_at_once_and_data_as_they_are():
    each = Each(lambda numbers: np.array(numbers) + SOURCE.geometric(1, len(numbers)))
    assert next(audited(stated(each, sampler=True), samples=20_000)).share <= 1
    whole = Measured(lambda data: sum(data) + int(SOURCE.geometric(1, 1)[0]))
    assert next(audited(stated(whole, pair=([1], [0])), samples=5_000)).share <= 1


def test_opendp_keeps_what_it_states():
    dp = pytest.importorskip("opendp.prelude", reason="skipped: competitor not found (opendp)")
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int))
    laplace = dp.m.make_laplace(domain, dp.l1_distance(T=int), 1.0)
    said = stated(Each(laplace), pair=(5, 4), epsilon=laplace.map(1), sampler=True)
    for one in audited(said, samples=50_000):
        assert 0.9 < one.share <= 1


def test_diffprivlib_keeps_what_it_states():
    others = pytest.importorskip(
        "diffprivlib.mechanisms",
        reason="skipped: competitor not found (diffprivlib, with this scikit-learn)",
        exc_type=ImportError,
    )
    said = stated(Randomised(others.Geometric(epsilon=1.0, sensitivity=1)), pair=(5, 4))
    for one in audited(said, samples=20_000):
        assert 0.85 < one.share <= 1
