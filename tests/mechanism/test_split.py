import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onesided as od
from onesided import errors, verify
from onesided.mechanism import Counts
from onesided.mechanism._fit import variance
from onesided.mechanism.histograms._open_shape import (
    OpenShape,
    OpenShapeCounts,
    Rates,
    View,
    _cheapest,
    open_counts,
    plan,
    threshold,
)
from onesided.mechanism.histograms._split import Parts, SplitCounts, SplitHistogram
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Shift

SENSITIVE = od.policy.sensitive("hidden")
EXTENDED = od.policy.extended_sensitive("hidden")
TIERS = od.policy.tiers({"strict": (1, "s"), "mild": (2, "m"), "open": od.INFINITE})
SPLITTABLE = (SENSITIVE, EXTENDED, TIERS)
STAYS = Shift(rise=0, fall=0)


@given(
    epsilon=st.fractions(Fraction(1, 1000), 20),
    policy=st.sampled_from(SPLITTABLE),
    method=st.sampled_from((SplitHistogram, OpenShape)),
)
@settings(max_examples=40)
def test_no_edge_is_charged_more_than_its_epsilon_and_the_worst_all_of_it(epsilon, policy, method):
    losses = method.for_policy(policy, epsilon=epsilon).losses(policy)
    assert set(losses) == set(policy.edges)
    for edge, loss in losses.items():
        assert loss <= epsilon * edge.weight
    assert max(losses.values()) == epsilon


def test_a_split_is_charged_less_than_its_parts_one_after_the_other():
    mechanism = SplitHistogram.for_policy(SENSITIVE, epsilon=1)
    above, below, opened = mechanism.upper_rate, mechanism.lower_rate, mechanism.open_rate
    assert below == opened
    assert above + below == 1
    # Plain composition adds the worst of each part: a record that does everything at once.
    assert (above + below) + opened > Fraction(3, 2)


def test_split_rates_have_the_least_variance():
    mechanism = SplitHistogram.for_policy(SENSITIVE, epsilon=1)
    best = sum(
        variance(float(one))
        for one in (mechanism.upper_rate, mechanism.lower_rate, mechanism.open_rate)
    )
    for step in range(1, 100):
        assert variance(step / 100) + 2 * variance(1 - step / 100) >= best * (1 - 1e-6)
    free = SplitHistogram.for_policy(EXTENDED, epsilon=1)
    assert (free.upper_rate, free.lower_rate, free.open_rate) == (1, 1, 1)


def test_an_open_count_that_falls_is_never_covered():
    assert SplitHistogram(1, 1, open_rate=1).loss(STAYS, Shift(rise=0, fall=1)) == od.INFINITE
    shape = OpenShape((1, 1), ((1, 1, 2),))
    assert shape.loss(STAYS, Shift(rise=0, fall=1)) == od.INFINITE
    assert shape.loss(Shift(rise=2, fall=1), Shift(rise=3, fall=0)) == 2 + 4 + 6


@given(
    counts=st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=40),
    seed=st.integers(0, 1000),
    policy=st.sampled_from(SPLITTABLE),
)
@settings(max_examples=60)
def test_what_is_published_of_open_records_is_never_above_the_truth(counts, seed, policy):
    hidden, free = (np.array(part) for part in zip(*counts, strict=True))
    split = SplitHistogram.for_policy(policy, epsilon=1)
    released = split.release(hidden, free, noise=NotPrivateSeededNoise(seed))
    assert (released.open <= free).all()
    total = split.estimate(released)
    assert total.dtype == np.int64
    assert (total >= 0).all()

    shape = OpenShape.for_policy(policy, epsilon=1, block=8)
    measured = shape.measure(hidden, free, noise=NotPrivateSeededNoise(seed))
    assert (measured.lower <= free).all()
    assert measured.totals.size == measured.labels.max() + 1
    assert (measured.records is None) == (shape.records is None)
    assert (shape.estimate(measured, keep="cells") >= 0).all()
    estimate = shape.estimate(measured)
    assert estimate.shape == hidden.shape
    assert (estimate >= 0).all()
    again = shape.release(hidden, free, noise=NotPrivateSeededNoise(seed))
    assert (again == estimate).all()


def test_two_looks_at_an_open_count_are_one_look_at_the_sum_of_their_rates():
    noise = NotPrivateSeededNoise(3)
    larger = -np.minimum(noise.geometric("0.1", 60_000), noise.geometric("0.3", 60_000))

    def law(rate):
        return lambda k: 1.0 if k >= 0 else math.exp(rate * k)

    # A right sampler is rejected once in 10,000 runs; this one is seeded.
    assert verify.agrees(larger, law(0.4), false_alarm=1e-4).accepted
    assert not verify.agrees(larger, law(0.44), false_alarm=1e-4).accepted


@pytest.mark.parametrize("part", ["sensitive", "open"])
def test_split_noise_has_its_own_rate_on_each_side(part):
    size = 40_000
    mechanism = SplitHistogram(2, 1, open_rate="1/2")
    zeros = np.zeros(size, dtype=np.int64)
    released = mechanism.release(zeros + 100, zeros + 100, noise=NotPrivateSeededNoise(5))
    drawn = getattr(released, part) - 100

    def law(scale):
        if part == "open":
            return lambda k: 1.0 if k >= 0 else math.exp(scale * k / 2)
        up, down = math.exp(-2 * scale), math.exp(-scale)
        head = (1 - up) * (1 - down) / (1 - up * down)
        below = down * (1 - up) / (1 - up * down)
        return lambda k: (
            below * down ** (-k - 1) if k < 0 else below + head * (1 - up ** (k + 1)) / (1 - up)
        )

    assert verify.agrees(drawn, law(1.0), false_alarm=1e-4).accepted
    assert not verify.agrees(drawn, law(1.1), false_alarm=1e-4).accepted


def test_cells_that_only_one_part_can_reach_get_noise_for_that_part_alone():
    mechanism = SplitHistogram.for_policy(
        SENSITIVE, epsilon="1/100", holds=("sensitive", "open", "mixed")
    )
    released = mechanism.release([5, 0, 5], [0, 5, 5], noise=NotPrivateSeededNoise(1))
    assert released.sensitive[1] == 0
    assert released.open[0] == 0
    assert (released.sensitive[[0, 2]] != 5).all()
    assert mechanism.estimate(released)[1] == max(released.open[1] + 69, 0) * (released.open[1] > 0)
    with pytest.raises(errors.DataError, match="open records only"):
        mechanism.release([5, 1, 5], [0, 5, 5])
    with pytest.raises(errors.DataError, match="3 cells"):
        mechanism.release([5, 0], [0, 5])
    with pytest.raises(errors.ParameterError, match="mixed"):
        SplitHistogram(1, 1, open_rate=1, holds=("both",))


def test_the_median_put_back_in_algorithm_2_is_the_geometric_noises_own():
    for rate in ("1", "1/10", "1/100"):
        mechanism = Counts.for_policy(
            SENSITIVE, epsilon=rate, counted=["open"], correction="median", clip=True
        )
        assert mechanism.upper_rate == od.INFINITE
        law = mechanism.distribution
        median = math.ceil(math.log(2) / float(Fraction(rate))) - 1
        assert law.median() == -median
        assert mechanism.estimate(np.array([-3, 0, 1, 7])).tolist() == [
            0,
            0,
            1 + median,
            7 + median,
        ]
        # ln 2 / rate, the continuous noise's, would be too much for whole numbers.
        assert median < math.log(2) / float(Fraction(rate))


def test_open_counts_get_no_more_back_than_they_show():
    back = open_counts(np.array([-5, 0, 1, 50, 1000]), Fraction(1, 100))
    assert back.tolist() == [0, 0, 2, 100, 1069]
    assert open_counts(np.array([3]), od.INFINITE).tolist() == [3]


def test_a_dense_part_is_measured_cell_by_cell_and_a_thin_one_in_one_bucket():
    options = (
        Rates(Fraction(1, 20), Fraction(9, 10), Fraction(9, 10)),
        Rates(Fraction(9, 20), Fraction(1, 2), Fraction(1, 2)),
    )
    seen = np.full(64, 50.0)
    few, labels = plan(View(seen, np.full(64, 0.01), np.zeros(64), np.zeros(64)), options)
    assert (few, labels.max()) == (0, 0)
    many, labels = plan(View(seen, np.full(64, 99.0), np.zeros(64), np.zeros(64)), options)
    assert (many, labels.max()) == (1, 63)


def test_the_partition_is_the_best_of_all_aligned_ones():
    random = np.random.default_rng(2)
    option = Rates(Fraction(1, 2), Fraction(1, 2), Fraction(1, 2))

    def every(start, size):
        """(cost, starts) of all partitions of one aligned interval."""
        together = cost[start : start + size].sum() + (
            weighted[start : start + size].sum() / mass[start : start + size].sum() * option.error
        )
        if size == 1:
            return [(single[start], (start,))]
        halves = [
            (left[0] + right[0], left[1] + right[1])
            for left in every(start, size // 2)
            for right in every(start + size // 2, size // 2)
        ]
        return [*halves, (together, (start,))]

    for _ in range(30):
        single, cost, weighted, mass = random.random((4, 8)) + 0.01
        cost *= 0.5
        starts, value = _cheapest((single, cost, weighted, mass, np.zeros(8)), option.error)
        best = min(every(0, 8))
        assert value == pytest.approx(best[0])
        assert tuple(np.flatnonzero(starts)) == best[1]


def test_the_number_of_records_costs_nothing_where_records_only_change_place():
    shape = OpenShape.for_policy(SENSITIVE, epsilon=1)
    plain = OpenShape(shape.look[:2], shape.options)
    assert shape.records is not None
    assert shape.losses(SENSITIVE) == plain.losses(SENSITIVE)
    # One rate more than is left is charged.
    above, below = shape.records[0]
    more = OpenShape(shape.look[:2], shape.options[:1], records=[(above * 2, below)])
    assert max(more.losses(SENSITIVE).values()) > 1
    # Where records leave altogether nothing is left over.
    assert OpenShape.for_policy(EXTENDED, epsilon=1).records is None


def test_corners_are_the_dearest_moves():
    shape = OpenShape((1, 2), ((3, 4, 5),), records=((7, 6),))
    charged = shape.loss(Shift(rise=1, fall=2), Shift(rise=1, fall=0))
    every = [
        4 * f + 6 * r + 5 * o + 7 * max(f - r - o, 0) + 6 * max(r + o - f, 0)
        for f in range(3)
        for r in range(2)
        for o in range(2)
    ]
    assert charged == max(every) == 23


def test_dense_data_below_the_noise_keep_their_records():
    random = np.random.default_rng(5)
    # 40 each, a tenth of them open: nothing of it shows beside noise of 180.
    truth = random.poisson(40, 4096)
    free = random.binomial(truth, 0.1)
    shape = OpenShape.for_policy(SENSITIVE, epsilon="0.01")
    told = shape.measure(truth - free, free, noise=NotPrivateSeededNoise(1))
    whole, cells = shape.estimate(told), shape.estimate(told, keep="cells")
    assert whole.sum() == pytest.approx(truth.sum(), rel=0.1)
    assert cells.sum() < 0.5 * truth.sum()
    assert np.abs(whole - truth).sum() < 0.5 * np.abs(cells - truth).sum()
    with pytest.raises(errors.ParameterError, match="'records' or 'cells'"):
        shape.estimate(told, keep="both")


def test_sparse_data_below_the_noise_are_not_spread_over_empty_cells():
    random = np.random.default_rng(6)
    truth = np.where(random.random(4096) < 0.02, random.integers(500, 3000, 4096), 0)
    free = random.binomial(truth, 0.5)
    shape = OpenShape.for_policy(SENSITIVE, epsilon="0.01")
    found = shape.release(truth - free, free, noise=NotPrivateSeededNoise(1))
    assert found.sum() == pytest.approx(truth.sum(), rel=0.1)
    assert (found[truth == 0] > 0).mean() < 0.1


def test_one_large_cell_is_measured_whatever_its_neighbours_ratio():
    free, hidden = np.full(256, 2000), np.full(256, 100)
    hidden[77] = 500_000
    shape = OpenShape.for_policy(SENSITIVE, epsilon=1)
    found = shape.release(hidden, free, noise=NotPrivateSeededNoise(1))
    assert abs(found[77] - 502_000) < 300


def test_hidden_cells_are_cut_where_most_are_empty_and_kept_where_none_is():
    option = Rates(Fraction(1, 2), Fraction(1, 2), Fraction(1, 2))
    noise = NotPrivateSeededNoise(4)
    empty = noise.two_sided("1/2", "1/2", 200).astype(float)
    assert threshold(empty, option) >= 8
    assert threshold(empty + 60, option) < (empty + 60).min()
    # One cell alone proves nothing.
    assert threshold(np.array([3.0]), option) > 3


@pytest.mark.parametrize("cells", [1, 2, 3, 7, 63, 64, 65, 257])
def test_open_shape_takes_any_number_of_cells(cells):
    hidden = np.arange(cells) % 5
    shape = OpenShape.for_policy(SENSITIVE, epsilon=500)
    found = shape.release(hidden, hidden * 3, noise=NotPrivateSeededNoise(1))
    assert found.tolist() == (4 * hidden).tolist()


def test_a_bucket_over_several_blocks_is_spread_by_their_ratios():
    option = (Fraction(1, 20), Fraction(9, 10), Fraction(9, 10))
    shape = OpenShape((2, 2), (option,), block=32)
    blocks = np.array([0, 320])
    found = shape.estimate(
        OpenShapeCounts(
            np.full(64, 20), blocks, 0, np.zeros(64, dtype=np.int64), np.array([320 + 13])
        )
    )
    # All sensitive records were seen in the second block.
    assert found[:32].max() <= 20 + 1
    assert found[32:].sum() == pytest.approx(32 * 20 + 320, rel=0.05)


def test_open_shape_is_better_than_a_split_on_sparse_data():
    random = np.random.default_rng(1)
    free = np.where(random.random(1024) < 0.1, random.integers(1, 200, 1024), 0)
    hidden = random.binomial(free, 0.3)
    noise = NotPrivateSeededNoise(2)
    split, shape = (kind.for_policy(SENSITIVE, epsilon=1) for kind in (SplitHistogram, OpenShape))
    plain = split.estimate(split.release(hidden, free, noise=noise))
    ours = shape.release(hidden, free, noise=noise)
    truth = hidden + free
    assert np.abs(ours - truth).mean() < np.abs(plain - truth).mean() / 2


@pytest.mark.parametrize("method", [SplitHistogram, OpenShape])
@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, True, "many", 2**-60])
def test_bad_epsilons_are_refused(method, epsilon):
    with pytest.raises(errors.OnesidedError):
        method.for_policy(SENSITIVE, epsilon=epsilon)


@pytest.mark.parametrize("method", [SplitHistogram, OpenShape])
@pytest.mark.parametrize(
    ("policy", "word"),
    [
        (od.policy.bounded(), "sensitive"),
        (od.policy.proposition("p"), "sensitive"),
        (od.policy.removal_only(), "open"),
    ],
)
def test_policies_without_two_parts_say_what_to_use_instead(method, policy, word):
    with pytest.raises(errors.PolicyError, match=f"every record is {word}") as caught:
        method.for_policy(policy, epsilon=1)
    assert "Counts" in str(caught.value)


@pytest.mark.parametrize("method", [SplitHistogram, OpenShape])
@pytest.mark.parametrize(
    ("hidden", "free"),
    [
        ([-1, 0], [0, 0]),
        ([1, 2], [1]),
        ([1.5], [1]),
        ([], []),
        ([2**53], [1]),
        ([2**63], [1]),
        ([[[1]]], [[[1]]]),
        (["a"], [1]),
    ],
)
def test_bad_counts_are_refused(method, hidden, free):
    with pytest.raises(errors.DataError):
        method.for_policy(SENSITIVE, epsilon=1).release(hidden, free)


def test_tables_keep_their_shape_and_their_cells():
    table = np.arange(15).reshape(3, 5)
    released = SplitHistogram.for_policy(SENSITIVE, epsilon=500).release(table, table)
    assert isinstance(released, SplitCounts)
    assert released.open.shape == (3, 5)
    shape = OpenShape.for_policy(SENSITIVE, epsilon=500)
    assert (shape.release(table, table) == 2 * table).all()
    assert shape.measure(table, table).labels.shape == (15,)


def test_open_shape_refuses_rates_that_do_not_fit():
    for look, options in (((1,), ((1, 1, 1),)), ((1, 1), ()), ((1, 1), ((1, 1),))):
        with pytest.raises(errors.ParameterError, match="for_policy"):
            OpenShape(look, options)
    with pytest.raises(errors.ParameterError):
        OpenShape((1, 1), ((1, 1, 1),), block=0)
    for records in ((), ((1, 1), (1, 1)), ((1,),)):
        with pytest.raises(errors.ParameterError, match="two more"):
            OpenShape((1, 1), ((1, 1, 1),), records=records)
    with pytest.raises(errors.ParameterError, match="keep"):
        OpenShape((1, 1), ((1, 1, 1),), keep="all")


def test_noise_that_cannot_be_drawn_is_refused_before_it_is_charged():
    # The options' open rates differ by less than the least rate that can be drawn.
    with pytest.raises(errors.ParameterError, match="further open noise"):
        OpenShape((1, 1), ((1, 1, 1), (1, 1, 1 + Fraction(1, 2**41))))
    edges = [("s", "o"), ("s", "s"), ("absent", "o", "0.5000000000001")]
    policy = od.policy.custom(
        kinds=("s", "o", "absent"), edges=edges, rules=[("s", "hidden")], default="o"
    )
    with pytest.raises(errors.ParameterError, match="further open noise"):
        OpenShape.for_policy(policy, epsilon=1)
    shape = OpenShape((1, 1), ((1, 1, 1), (1, 1, 1 + Fraction(1, 2**40)), (1, 1, od.INFINITE)))
    assert shape.look.open == 1


@pytest.mark.parametrize("epsilon", ["1e-390", "1e-200", 10**9, "1e390"])
@pytest.mark.parametrize("method", [Counts, SplitHistogram, OpenShape])
def test_absurd_epsilons_are_refused_in_words(method, epsilon):
    with pytest.raises(errors.ParameterError, match="2\\^-40"):
        method.for_policy(SENSITIVE, epsilon=epsilon)


def test_the_largest_rates_of_all_can_be_chosen():
    made = Counts.for_policy(od.policy.bounded(), epsilon=2048)
    assert (made.upper_rate, made.lower_rate) == (1024, 1024)


def test_parts_follow_from_the_edges():
    assert Parts.of(TIERS) == Parts(frozenset({"strict", "mild"}), frozenset({"open"}))
    assert Parts.of(EXTENDED) == Parts(frozenset({"sensitive"}), frozenset({"open"}))
