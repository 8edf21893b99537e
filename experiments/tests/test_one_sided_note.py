"""The note's numbers: what is measured is what is proven, and the figures show it."""

import math

import pytest

from onesided.mechanism import Counts, Subsampled
from onesided_experiments import Setup, reproduce
from onesided_experiments.one_sided_note import PAPER, _halves, _region, _stairs, _theorems


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    out = tmp_path_factory.mktemp("note")
    done = reproduce(PAPER, Setup(data=out / "nowhere", quick=True), out)
    return {outcome.experiment.name: outcome for outcome in done}


def test_it_runs_without_data_and_writes_numbers_and_plots(outcomes):
    assert list(outcomes) == ["halves", "theorems", "region", "stairs"]
    for outcome in outcomes.values():
        assert not outcome.skipped
        assert {path.suffix for path in outcome.files} == {".csv", ".parquet", ".png"}
        assert all(path.stat().st_size > 0 for path in outcome.files)


def test_every_proposition_and_theorem_holds_by_enumeration():
    setup = Setup(quick=True)
    rows = [row for job in _theorems.jobs(setup) for row in job.function(**job.arguments)]
    claims = _theorems.result(rows, setup).claims()
    assert len(claims) == 6
    assert {claim.verdict for claim in claims} == {"holds"}


def test_a_false_theorem_is_judged_false():
    """Half the noise that Proposition 3 asks for."""

    class Half(Counts):
        def release(self, values, *, noise=None):
            return Counts(2, self.lower_rate).release(values, noise=noise)

    rows = _theorems.check(
        name="Proposition 3", mechanism=Half(1, "1"), rate="1", keep="all", units=1
    )
    assert rows[0]["found"] == pytest.approx(2, abs=1e-6)
    assert rows[0]["promised"] == 1


def test_variance_halves_and_zeros_stay_zero_below():
    # 200,000 draws; the variance's standard error is 0.7 %, and 4 % is more than five of them.
    rows = {row["noise"]: row for row in _halves.measure(epsilon="1", draws=200_000, seed=4)}
    two = rows["two-sided"]
    for name in ("addition-only", "removal-only"):
        one = rows[name]
        assert one["variance_formula"] == pytest.approx(two["variance_formula"] / 2, rel=1e-12)
        assert one["variance"] / two["variance"] == pytest.approx(0.5, rel=0.04)
        assert abs(one["bias_unbiased"]) < 5 * one["standard_error"]
    assert rows["addition-only"]["bias"] > 0 > rows["removal-only"]["bias"]
    assert rows["removal-only"]["zeros_changed"] == 0
    assert rows["addition-only"]["zeros_changed"] == pytest.approx(math.exp(-1), abs=0.06)


def test_measured_errors_are_those_of_the_formula():
    for row in _region.measured(epsilon="1", count=3, draws=50_000, seed=2):
        assert abs(row["ours"] - row["ours_formula"]) < 5 * row["standard_error"]
        assert row["two_sided"] == pytest.approx(row["two_sided_formula"], rel=0.05)
        assert row["ours_formula"] > row["two_sided_formula"]


def test_the_region_is_what_the_page_says():
    found = {
        (row["noise"], row["form"], epsilon): row["wins_below"]
        for epsilon in ("0.05", "1", "4")
        for row in _region.reach(epsilon=epsilon)
    }
    assert [found["real", "unbiased, squared", e] for e in ("0.05", "1", "4")] == [0, 1, 4]
    assert [found["whole", "unbiased, squared", e] for e in ("0.05", "1", "4")] == [1, 1, 1]
    assert [found["whole", "unbiased, absolute", e] for e in ("0.05", "1", "4")] == [0, 0, 0]


def test_stairs_are_measured_as_they_are_shipped():
    (row,) = _stairs.measure(largest=5, epsilon="2", draws=100_000, seed=1)
    assert row["never_below"]
    off = abs(row["variance_stairs"] - row["variance_stairs_formula"])
    assert off < 5 * row["standard_error"]
    assert row["variance_stairs_formula"] < 0.92 * row["variance_geometric_formula"]


def test_equation_3_as_the_note_prints_it():
    """λ = 1/ln(1 + e^ε) is the scale, so the rate is ln(1 + e^ε)."""
    from onesided.policy import unbounded

    mechanism = Subsampled.for_policy(unbounded(), epsilon=1)
    assert float(mechanism.mechanism.upper_rate) == pytest.approx(math.log(1 + math.e))
    assert mechanism.share == pytest.approx(1 - math.exp(-1))
