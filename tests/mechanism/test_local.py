import math
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onesided as od
from onesided import verify
from onesided.mechanism import local
from onesided.mechanism.local._channel import AliasTable, solve_ones
from onesided.policy import local as local_policy

ABC, ABCD = ["a", "b", "c"], ["a", "b", "c", "d"]
EPSILONS = st.fractions(min_value=Fraction(1, 1000), max_value=20)


def chances(randomiser, letter):
    """The exact check's view of the shipped client: how likely each report is."""
    found = defaultdict(float)
    for report, weight in verify.paths(
        lambda noise: randomiser.report(letter, noise=noise), tail=1e-15
    ):
        found[report.answer] += weight
    return dict(found)


def test_warner_and_mangat_answer_as_published():
    warner, mangat = local.warner(epsilon=1), local.mangat(epsilon=1)
    told = math.e / (1 + math.e)
    assert chances(warner, "yes") == pytest.approx({"yes": told, "no": 1 - told})
    assert chances(warner, "no") == pytest.approx({"no": told, "yes": 1 - told})
    assert chances(mangat, "yes") == pytest.approx({"yes": 1})
    assert chances(mangat, "no") == pytest.approx({"yes": math.exp(-1), "no": 1 - math.exp(-1)})


def test_k_ary_and_utility_optimised_response_answer_as_published():
    told = math.exp(2) / (3 + math.exp(2))
    found = chances(local.k_ary_response(ABCD, epsilon=2), "b")
    assert found == pytest.approx({x: told if x == "b" else (1 - told) / 3 for x in ABCD})
    some = local.utility_optimised_response(ABCD, sensitive=["a", "b"], epsilon=2)
    under = 2 + math.exp(2) - 1
    assert chances(some, "a") == pytest.approx({"a": math.exp(2) / under, "b": 1 / under})
    assert chances(some, "c") == pytest.approx({"a": 1 / under, "b": 1 / under, "c": 1 - 2 / under})


def test_bits_are_those_of_rappor_and_of_its_utility_optimised_form():
    half = math.exp(0.5)
    told = half / (1 + half)
    plain = chances(local.rappor(ABC, epsilon=1), "a")
    assert plain["100"] == pytest.approx(told**3)
    assert plain["011"] == pytest.approx((1 - told) ** 3)
    # d1 and d2 of Murakami and Kawamoto (2019) at θ = told.
    first = told / ((1 - told) * math.e + told)
    second = ((1 - told) * math.e + told) / math.e
    some = local.utility_optimised_rappor(ABC, sensitive=["a", "b"], epsilon=1)
    assert chances(some, "a")["100"] == pytest.approx(told * (1 - first))
    assert chances(some, "c")["001"] == pytest.approx((1 - first) ** 2 * (1 - second))
    assert not any(answer[2] == "1" for answer in chances(some, "a"))


@pytest.mark.parametrize("epsilon", [Fraction(1, 2**30), "1/7", 1, "2.5", 9, 60])
def test_no_family_ever_loses_more_than_it_says_and_hardly_less(epsilon):
    exact = Fraction(epsilon)
    for randomiser, sensitive in (
        (local.warner(epsilon=epsilon), {"yes", "no"}),
        (local.mangat(epsilon=epsilon), {"yes"}),
        (local.k_ary_response(ABC, epsilon=epsilon), set(ABC)),
        (local.utility_optimised_response(ABC, sensitive="a", epsilon=epsilon), {"a"}),
        (local.rappor(ABC, epsilon=epsilon), set(ABC)),
        (local.optimised_unary(ABC, epsilon=epsilon), set(ABC)),
        (local.utility_optimised_rappor(ABC, sensitive=["b"], epsilon=epsilon), {"b"}),
    ):
        for x, y in product(randomiser.alphabet, repeat=2):
            loss = randomiser.loss(x, y)
            if x == y:
                assert loss == 0
            elif x in sensitive:
                assert exact - Fraction(1, 2**52) <= loss <= exact
            else:
                assert loss == od.INFINITE


@given(EPSILONS)
def test_losses_are_rounded_up_and_stay_within_epsilon(epsilon):
    warner = local.warner(epsilon=epsilon)
    assert warner.loss("yes", "no") <= epsilon
    # e^loss is at least the odds: the logarithm was not rounded down.
    low, high = od._numbers.exp_neg_bounds(warner.loss("yes", "no"), bits=200)
    assert low * warner.odds("yes", "no") <= 1
    assert high > 0


@st.composite
def policies(draw):
    letters = ABCD[: draw(st.integers(2, 4))]
    pairs = [(x, y) for x in letters for y in letters if x != y]
    chosen = draw(st.lists(st.sampled_from(pairs), min_size=1, unique=True))
    weights = st.sampled_from([Fraction(1, 4), Fraction(1), Fraction(2), Fraction(5)])
    return local_policy(letters, edges=[(x, y, draw(weights)) for x, y in chosen])


@given(policies(), st.fractions(min_value=Fraction(1, 20), max_value=4))
@settings(max_examples=60)
def test_a_channel_for_any_policy_keeps_every_edge_and_can_be_estimated_from(policy, epsilon):
    pytest.importorskip("scipy")
    channel = local.context_aware(policy, epsilon=epsilon)
    assert all(sum(row) == 1 for row in channel.chances)
    for edge, loss in channel.losses(policy).items():
        assert loss <= epsilon * edge.weight
        x, y = (channel.chances[channel.alphabet.index(end)] for end in (edge.source, edge.target))
        low, _ = od._numbers.exp_neg_bounds(epsilon * edge.weight, bits=200)
        # Pr[o | x] <= e^(ε w) Pr[o | y], in exact numbers and the cautious way round.
        assert all(p * low <= q for p, q in zip(x, y, strict=True))
    table = np.array([[float(p) for p in row] for row in channel.chances])
    assert channel._weights @ table.T == pytest.approx(np.eye(len(table)), abs=1e-8)


def test_what_the_client_draws_is_the_channel():
    """A cycle that is easier one way than the other, and a letter that only hides others."""
    edges = [("a", "b", 1), ("b", "a", 2), ("b", "c", "1/2"), ("c", "b", 3), ("a", "d", 1)]
    channel = local.context_aware(local_policy(ABCD, edges=edges), epsilon=1)
    for letter, row in zip(channel.alphabet, channel.chances, strict=True):
        expected = {o: float(p) for o, p in zip(channel.outputs, row, strict=True) if p}
        assert chances(channel, letter) == pytest.approx(expected)


@given(
    st.lists(
        st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any), min_size=1, max_size=3
    )
)
def test_cells_and_coins_add_up_to_exactly_the_chances(weights):
    rows = [[Fraction(weight, sum(row)) for weight in row] for row in weights]
    table = AliasTable.of(rows)
    for row, which, alias in zip(rows, table.which, table.alias, strict=True):
        found = [Fraction(0)] * 4
        for column, (coin, other) in enumerate(zip(which, alias, strict=True)):
            found[column] += table.coins[coin] / 4
            found[other] += (1 - table.coins[coin]) / 4
        assert found == row


@pytest.mark.parametrize(
    ("matrix", "solution"),
    [
        ([[2, 0], [0, 4]], ["1/2", "1/4"]),
        ([[0, 1], [1, 1]], [0, 1]),
        ([[1, "1/2"], ["1/2", 1]], ["2/3", "2/3"]),
        ([[1, 1], [1, 1]], None),
        ([[0, 0], [1, 1]], None),
    ],
)
def test_linear_systems_are_solved_exactly(matrix, solution):
    rows = [[Fraction(entry) for entry in row] for row in matrix]
    assert solve_ones(rows) == (solution and [Fraction(entry) for entry in solution])


def test_one_construction_gives_the_published_channels():
    for policy, known in (
        (local_policy(["no", "yes"]), local.warner(["no", "yes"], epsilon=1)),
        (local_policy(["no", "yes"], sensitive=["yes"]), local.mangat(["no", "yes"], epsilon=1)),
        (local_policy(ABCD), local.k_ary_response(ABCD, epsilon=1)),
        (
            local_policy(ABCD, sensitive=["b", "d"]),
            local.utility_optimised_response(ABCD, sensitive=["b", "d"], epsilon=1),
        ),
    ):
        own, other = known._marks()
        expected = tuple(
            tuple(own[o] if x == o else other[o] for o in range(len(own))) for x in range(len(own))
        )
        assert local.context_aware(policy, epsilon=1).chances == expected
        assert local.for_policy(policy, epsilon=1) == known


def test_a_path_gives_the_truncated_geometric():
    joined = list(pairwise(ABCD))
    path = local_policy(ABCD, edges=[*joined, *((y, x) for x, y in joined)])
    channel = local.for_policy(path, epsilon=1)
    rate = math.exp(-1)
    inner = [(1 - rate) / (1 + rate) * rate ** abs(1 - o) for o in range(4)]
    inner[0] /= 1 - rate
    inner[3] /= 1 - rate
    assert [float(p) for p in channel.chances[1]] == pytest.approx(inner)


def test_many_letters_that_pass_as_one_need_the_programme_and_keep_the_policy():
    pytest.importorskip("scipy")
    policy = local_policy([*ABCD, "x"], edges=[(letter, "x") for letter in ABCD])
    channel = local.context_aware(policy, epsilon="1/4")
    losses = channel.losses(policy)
    assert all(
        Fraction(1, 4) - Fraction(1, 10**4) < loss <= Fraction(1, 4) for loss in losses.values()
    )
    assert channel.possible("x") == ("x",)
    # Truer than k-ary response, which protects x as well.
    told = local.k_ary_response(policy.kinds, epsilon="1/4")._marks()[0][0]
    assert all(channel.chances[place][place] > told for place in range(4))


def test_what_a_report_tells_for_certain():
    some = local.utility_optimised_response(ABC, sensitive=["a"], epsilon=1)
    estimate = some.estimate(np.array([0, 0, 0, 1, 1, 2]))
    assert estimate.least.tolist() == [0, 2, 1]
    assert estimate.most.tolist() == [3, 5, 4]
    mangat = local.mangat(epsilon=1).estimate(np.array([0, 0, 0, 1]))
    assert (mangat.least.tolist(), mangat.most.tolist()) == ([0, 1], [3, 4])
    channel = local.context_aware(local_policy(ABC, sensitive=["a"]), epsilon=1)
    again = channel.estimate(np.array([0, 0, 0, 1, 1, 2]))
    assert (again.least.tolist(), again.most.tolist()) == ([0, 2, 1], [3, 5, 4])


@given(st.lists(st.sampled_from(ABC), min_size=1, max_size=40), st.integers(0, 2**32))
def test_certain_numbers_are_never_wrong(values, seed):
    truth = np.array([values.count(letter) for letter in ABC])
    policy = local_policy(ABC, edges=[("a", "b", 1), ("b", "a", 2)])
    for randomiser in (
        local.utility_optimised_response(ABC, sensitive=["a"], epsilon=1),
        local.utility_optimised_rappor(ABC, sensitive=["a"], epsilon=1),
        local.UnaryResponse(ABC, [1, 1, "1/2"], ["1/3", 0, "1/4"]),
        local.context_aware(policy, epsilon=1),
    ):
        noise = od.noise.NotPrivateSeededNoise(seed)
        estimate = randomiser.estimate(randomiser.release(values, noise=noise))
        assert (estimate.least <= truth).all()
        assert (truth <= estimate.most).all()
        lower, upper = estimate.interval()
        assert (lower * len(values) >= estimate.least - 1e-9).all()
        assert (upper * len(values) <= estimate.most + 1e-9).all()


def test_a_guarantee_says_it_edge_by_edge():
    policy = local_policy(["no", "yes"], sensitive=["yes"])
    guarantee = local.mangat(epsilon="1/2").guarantee(policy)
    assert set(guarantee.epsilon) == {"yes -> no"}
    assert guarantee.headline == Fraction(1, 2)
    assert "yes -> no: ε = 1/2" in str(guarantee)
    assert local.mangat(sensitive="no", epsilon=1).guarantee(policy).headline == od.INFINITE


@given(EPSILONS)
def test_a_guarantee_is_plain_and_never_below_the_loss(epsilon):
    warner = local.warner(epsilon=epsilon)
    policy = local_policy(["yes", "no"])
    said, loss = warner.guarantee(policy).headline, warner.loss("yes", "no")
    assert loss <= said <= loss + Fraction(1, 2**48)
    assert said == epsilon or epsilon.denominator > 1000


def test_bits_of_many_people_are_drawn_anew_for_each():
    bits = local.rappor(ABC, epsilon=1).release(["a"] * 4000)
    assert bits.shape == (4000, 3)
    assert len(np.unique(bits, axis=0)) == 8
