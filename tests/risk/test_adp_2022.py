"""ADP-2022 Definitions II.5, II.6 and Propositions III.1 to III.3; ADP-2021 Definition 13.

One place, two people. "Safe" is a count of at most t = 0. Every proposition is tried on the shipped
code over every noise path, and what a policy leaves open is shown by the risk.
"""

import math

import pytest

import onesided as od
from onesided import bounds
from onesided.mechanism import AtMost, Counts, RecordSample
from onesided.policy import GroupCount, Record
from onesided.verify import Universe, exact, paths, risk

EPSILON = 1
PRESENCE = od.policy.presence(max_groups=1)
HERE = Universe(groups=("a",), units=2)
RECORDS = PRESENCE.records(["a"], max_groups=1)
# Two people by how many of them are there.
DATA = {0: 0, 1: 1, 2: 2}


def visited(record):
    return "a" in record.value


def certified(count, decision):
    """The chance of "safe", summed over every noise path."""
    return sum(
        weight
        for output, weight in paths(
            lambda noise: bool(decision.release([count], noise=noise)[0]), tail=1e-12
        )
        if output
    )


@pytest.mark.parametrize("threshold", [0, 1])
def test_definition_ii_5_and_definition_13_a_certificate_is_the_proposition_never_wrong(threshold):
    """OTP: "yes" is possible where the answer is yes, impossible where it is no."""
    decision = AtMost(threshold, upper_rate=EPSILON)
    for count in DATA:
        share = certified(count, decision)
        if count <= threshold:  # the threshold proposition of Definition II.5
            assert share == pytest.approx(decision.power(count), abs=1e-9)
            assert share > 0
        else:
            assert share == 0


def test_definition_ii_6_and_proposition_iii_1_one_sidedness_and_what_it_needs():
    """(q, α, β)-one-sided for X: a set S with α Pr[X in S] > β Pr[X' in S] for every unsafe X'."""
    decision = AtMost(0, upper_rate=EPSILON)
    beta, alpha = certified(0, decision), 1e-6
    assert beta == pytest.approx(1 - math.exp(-EPSILON), abs=1e-9)
    for unsafe in (1, 2):
        wrong = certified(unsafe, decision)
        assert wrong < alpha
        assert alpha * beta > beta * wrong
    # Noise on both sides cannot: its "yes" at z <= 0 is wrong at 1 too often for (7).
    share = {
        count: sum(
            weight
            for output, weight in paths(
                lambda noise, count=count: int(
                    Counts(EPSILON, EPSILON).release([count], noise=noise)[0]
                ),
                tail=1e-10,
            )
            if output <= 0
        )
        for count in (0, 1)
    }
    assert not alpha * share[0] > beta * share[1]
    needed = float(bounds.epsilon_needed_dp("1e-6", "1/2", to_false=1))
    assert needed == pytest.approx(math.log(0.5 / 1e-6))


def test_proposition_iii_2_a_graph_must_leave_visits_open_both_ways():
    """Blowfish: with the edge a certificate fails; without it both answers may be told."""
    two = ("visit", "none")
    joined, apart = od.policy.graph([two]), od.policy.graph([("visit", "other")])
    world = Universe(groups=two, units=1, max_groups=1)

    def certify(data, noise):
        count = sum("visit" in str(record.value) for record in data)
        return bool(AtMost(0, upper_rate=EPSILON).release([count], noise=noise)[0])

    assert exact(certify, joined, world).worst[1].impossible

    def tell(data, _noise):
        return "visit" in str(data[0].value)

    wide = Universe(groups=("visit", "other", "none"), units=1, max_groups=1)

    def told_apart(data, _noise):
        """Visits and what may pass for them are one answer, none is another."""
        return "none" in str(data[0].value)

    assert exact(told_apart, apart, wide).loss == 0
    for proposition in (
        lambda record: "none" in str(record.value),
        lambda record: "none" not in str(record.value),
    ):
        assert risk(told_apart, apart, proposition=proposition, universe=wide).factor == math.inf
    assert exact(tell, joined, world).worst[1].impossible


def test_erratum_proposition_iii_3_visits_may_be_sensitive_it_is_the_others_that_may_not():
    """Printed: who was there must be open (c true). AtMost is one-sided with them sensitive."""
    policy = od.policy.sensitive("visited")
    there, elsewhere = Record("sensitive", frozenset("a")), Record("open", frozenset())
    twice = Record("sensitive", frozenset("ab"))
    visits_hidden = Universe(values=(there, twice, elsewhere), units=2)

    def certify(data, noise):
        return bool(
            AtMost(0, upper_rate=EPSILON).release([sum(map(visited, data))], noise=noise)[0]
        )

    report = exact(certify, policy, visits_hidden)
    assert report.loss == pytest.approx(EPSILON)
    assert report.keeps(EPSILON)
    # As meant: where who was elsewhere is sensitive, the certificate cannot be private.
    swapped = (Record("open", frozenset("a")), Record("sensitive", frozenset()))
    assert exact(certify, policy, Universe(values=swapped, units=2)).worst[1].impossible


def test_proposition_iii_3_what_is_open_may_be_told_with_all_that_it_says():
    """OSDP keeps a true-record sample: who was elsewhere and ill is known for certain."""
    policy = od.policy.sensitive("visited")
    sample = RecordSample.for_policy(policy, epsilon=EPSILON)
    world = Universe(groups=("ill", "well"), units=1, max_groups=1)
    report = risk(
        sample,
        policy,
        proposition=lambda record: record.kind == "open" and "ill" in record.value,
        universe=world,
        query=GroupCount(max_groups=1, counted=frozenset({"open"})),
    )
    assert report.impossible
    assert report.factor == math.inf or report.factor > 1e9
