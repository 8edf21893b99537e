"""A line of the table: registered in one call, and told right only for the right reason."""

import pytest

import onesided as od
from onesided import mechanism, policy, verify


def test_a_mechanism_is_registered_in_one_line():
    case = verify.shipped(mechanism.Counts(1, od.INFINITE), policy.presence(max_groups=1))
    verdict = case.run()
    assert verdict.right
    assert verdict.tight
    assert verdict.word == "kept, tight"


def test_a_claim_that_is_too_low_is_rejected():
    case = verify.shipped(mechanism.Counts(1, od.INFINITE), policy.presence(max_groups=1))
    low = verify.Line(
        case.name,
        case.policy,
        case.program,
        {edge: claim * 9 / 10 for edge, claim in case.claims.items()},
    )
    verdict = low.run()
    assert not verdict.right
    assert verdict.word == "WRONG: not kept"
    assert verdict.proven > 0.01


def test_a_mechanism_that_was_made_for_less_than_it_charges_is_rejected():
    """With rates_for doubled, 27 of 31 lines of Counts passed: claims came from the mechanism."""
    one_group = policy.presence(max_groups=1)
    doubled = mechanism.Counts.for_policy(one_group, epsilon=2)
    verdict = verify.shipped(doubled, one_group, epsilon=1).run()
    assert not verdict.accepted
    assert verdict.word == "WRONG: made for ε = 1, and charges more"
    assert verify.shipped(doubled, one_group, epsilon=2).run().word == "kept, tight"


def test_a_mechanism_that_does_not_spend_the_epsilon_it_was_made_for_is_not_right():
    """Odds too small by a tenth passed: the line was tight against the mechanism's own loss."""
    one_group = policy.presence(max_groups=1)
    thrifty = mechanism.Counts.for_policy(one_group, epsilon="9/10")
    verdict = verify.shipped(thrifty, one_group, epsilon=1).run()
    assert verdict.accepted
    assert not verdict.right
    assert "charges less" in verdict.word


def test_a_mechanism_that_loses_more_than_it_says_is_rejected_though_made_for_more():
    one_group = policy.presence(max_groups=1)

    class Understates(mechanism.Counts):
        def loss(self, shift):
            return super().loss(shift) * 9 / 10

    sly = Understates.for_policy(one_group, epsilon=1)
    assert verify.shipped(sly, one_group, epsilon=1).run().word == "WRONG: not kept"


def test_more_noise_than_is_due_is_not_right_without_a_reason():
    one_group = policy.presence(max_groups=1)
    more = mechanism.Counts("9/10", od.INFINITE)
    claims = dict.fromkeys(one_group.edges, 1)
    verdict = verify.Line("Counts", one_group, more, claims).run()
    assert verdict.accepted
    assert not verdict.right
    assert "nothing says why" in verdict.word


@pytest.mark.parametrize("wrong", [3, None, "Counts", mechanism.Counts.loss])
def test_what_is_no_mechanism_cannot_be_registered(wrong):
    with pytest.raises(od.errors.ParameterError, match=r"release.*loss.*got"):
        verify.shipped(wrong, policy.bounded())
