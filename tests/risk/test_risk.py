"""The worst Bayes factor, against the propositions of ADP-2022 and by hand."""

import math

import pytest

import onesided as od
from onesided import errors
from onesided.mechanism import AtMost, Counts
from onesided.policy import GroupCount, Record
from onesided.verify import Universe, risk

HERE = Universe(groups=("a",), units=2)
TWO = Universe(groups=("a", "b"), units=1)
VISITED, ELSEWHERE = Record("unit", frozenset("a")), Record("unit", frozenset())
PRESENCE = od.policy.presence(max_groups=1)


def visited(record):
    return "a" in record.value


def not_visited(record):
    return "a" not in record.value


def test_one_sided_noise_protects_a_visit_and_tells_its_absence():
    """Propositions IV.3 and IV.4: presence is hidden at e^ε, absence is not hidden at all."""
    mechanism = Counts(1, od.INFINITE)
    hidden = risk(mechanism, PRESENCE, proposition=visited, universe=HERE)
    assert hidden.factor == pytest.approx(math.e)
    assert hidden.loss == pytest.approx(1)
    told = risk(mechanism, PRESENCE, proposition=not_visited, universe=HERE)
    assert told.impossible
    assert told.factor > 1e9


def test_symmetric_noise_protects_both():
    for proposition in (visited, not_visited):
        report = risk(Counts(1, 1), PRESENCE, proposition=proposition, universe=HERE)
        assert report.factor == pytest.approx(math.e)


def test_a_broader_prior_mixes_what_it_does_not_know():
    """Truth drawn from {a}, {a, b} against {}: the average, by hand."""
    records = [Record("unit", frozenset(x)) for x in ("a", "ab", "")]
    prior = dict(zip(records, ("1/4", "1/4", "1/2"), strict=True))
    query = GroupCount(max_groups=2)
    decision = AtMost(0, upper_rate=1)
    report = risk(
        decision,
        od.policy.presence(max_groups=2),
        proposition=visited,
        prior=prior,
        universe=TWO,
        query=query,
    )
    yes = 1 - math.exp(-1)
    # Answers are (a certified, b certified); with a visit to a the first is always unknown.
    true = {(0, 1): yes / 2, (0, 0): ((1 - yes) + 1) / 2}
    false = {(0, 1): (1 - yes) * yes, (0, 0): (1 - yes) ** 2}
    assert report.factor == pytest.approx(max(true[o] / false[o] for o in true))
    worst = risk(
        decision, od.policy.presence(max_groups=2), proposition=visited, universe=TWO, query=query
    )
    assert worst.factor >= report.factor


def test_a_prior_that_knows_already_learns_nothing():
    for prior in ({VISITED: 1}, {ELSEWHERE: 1}, {VISITED: 1, ELSEWHERE: 0}):
        report = risk(Counts(1, 1), PRESENCE, proposition=visited, prior=prior, universe=HERE)
        assert report.factor == 0
        assert report.loss == -math.inf


def test_the_factor_does_not_depend_on_how_the_prior_is_scaled():
    for scale in (1, 7):
        prior = {VISITED: scale, ELSEWHERE: 3 * scale}
        report = risk(Counts(2, 1), PRESENCE, proposition=visited, prior=prior, universe=HERE)
        assert report.factor == pytest.approx(math.exp(2))


def test_a_function_may_be_asked_and_certainty_is_infinite():
    report = risk(lambda data, _: len(data[0].value), PRESENCE, proposition=visited, universe=HERE)
    assert report.factor == math.inf
    assert report.impossible
    assert report.outside == 0


def test_the_risk_of_a_sensitive_record_is_e_to_the_epsilon_for_open_counts():
    policy = od.policy.sensitive("x")
    mechanism = Counts.for_policy(policy, epsilon=1, counted=["open"])
    report = risk(
        mechanism,
        policy,
        proposition=lambda r: r.kind == "sensitive",
        universe=Universe(groups=("a",), units=2, max_groups=1),
        query=GroupCount(max_groups=1, counted=frozenset({"open"})),
    )
    assert report.factor == pytest.approx(math.e)


def test_bad_questions_are_refused():
    ask = {"proposition": visited, "universe": HERE}
    for prior in ({VISITED: math.nan}, {VISITED: -1}, {VISITED: 0}, {}):
        with pytest.raises(errors.ParameterError):
            risk(Counts(1, 1), PRESENCE, prior=prior, **ask)
    with pytest.raises(errors.PolicyError, match="not a record"):
        risk(Counts(1, 1), PRESENCE, prior={Record("ghost"): 1}, **ask)
    with pytest.raises(errors.ParameterError, match="neither"):
        risk(3, PRESENCE, **ask)
    with pytest.raises(errors.ParameterError, match="tail"):
        risk(Counts(1, 1), PRESENCE, tail=math.nan, **ask)
