import dataclasses
import inspect
from itertools import pairwise

import pytest

import onesided as od
from onesided import mechanism, policy, verify
from onesided.verify.cases import local, selection

CASES = verify.catalogue("onesided")


def whole(test):
    """Asks for every line: heavy, and one process asks, not each of them."""
    return pytest.mark.heavy(pytest.mark.xdist_group("catalogue")(test))


@pytest.fixture(scope="module")
def verdicts():
    return verify.verdicts(source="onesided", processes=2)


@pytest.mark.parametrize("case", CASES[2::8], ids=lambda case: f"{case.title}-{case.policy.name}")
def test_every_eighth_line_is_told_right(case):
    """The short form of the next: one process each, so that all take their part."""
    assert case.run().right


@whole
def test_every_line_of_the_table_is_told_right(verdicts):
    wrong = [
        f"{v.case.title} under {v.case.policy.name}: {v.word}" for v in verdicts if not v.right
    ]
    assert not wrong


@whole
def test_sound_lines_are_tight_or_say_why_not(verdicts):
    unexplained = [
        f"{v.case.name} under {v.case.policy.name}: {v.found:.5f} of {v.promised:.5f}"
        for v in verdicts
        if v.case.sound and not v.tight and not v.case.loose
    ]
    assert not unexplained


@whole
def test_selection_and_local_reports_are_exact_not_only_enough(verdicts):
    ours = ("TopK", "SparseVector", "ALap", "AGeo")
    due = {case.title for case in selection.cases() if case.name.startswith(ours)}
    due |= {case.title for case in local.cases()}
    assert not [
        v.case.title for v in verdicts if v.case.sound and v.case.title in due and not v.tight
    ]


def test_every_promised_control_of_selection_is_there():
    flaws = {case.flaw for case in selection.cases() if not case.sound}
    assert flaws >= {
        "ε where ε/k is due",
        "ε where ε/c is due",
        "stop rule ignored",
        "answers with fresh noise, unpaid",
        "answers the true count",
        "one draw of noise for all queries",
        "ties broken by the true counts",
        "a symmetrised policy",
    }


# Controls with a small fault among them: too little noise by a little.
SLIGHT = {"CubeCounts", "Cumulative", "OpenShape", "SeveralQuantiles", "ShuffledCounts", "Warner"}


@whole
def test_controls_are_rejected_by_far(verdicts):
    """What a broken one loses beyond its claim is no matter of rounding or of tails."""
    close = [
        f"{v.case.title}: {v.found:.5f} of {v.promised:.5f}"
        for v in verdicts
        if not (v.case.sound or v.refused or v.case.delta or v.case.name in SLIGHT)
        and not v.found > v.promised * 1.2
    ]
    assert not close


def test_every_public_mechanism_has_an_exact_check():
    """A new mechanism without a line in onesided/verify/cases fails here."""
    checked = {kind for case in CASES if case.sound for kind in _held(case.program)}
    missing = [
        name
        for place in (mechanism, mechanism.local)
        for name in place.__all__
        if inspect.isclass(found := getattr(place, name))
        and not getattr(found, "_is_protocol", False)
        and not inspect.isabstract(found)
        and hasattr(found, "release")
        and hasattr(found, "loss")
        and found not in checked
    ]
    assert not missing, f"register {missing} in src/onesided/verify/cases"


def _held(program):
    """The program's type, and those of what it was made from: a mechanism may run inside one."""
    yield type(program)
    parts = list(getattr(program, "args", ())) + list(getattr(program, "keywords", {}).values())
    if dataclasses.is_dataclass(program):
        parts += [getattr(program, part.name) for part in dataclasses.fields(program)]
    for part in parts:
        if dataclasses.is_dataclass(part):
            yield from _held(part)


def test_the_walk_would_see_a_mechanism_without_a_check():
    checked = {type(case.program) for case in CASES if case.sound}
    assert mechanism.Counts in checked
    assert type("New", (), {}) not in checked


def test_there_are_at_least_twenty_controls_each_saying_what_is_wrong_and_where_it_was_seen():
    broken = [case for case in CASES if not case.sound]
    assert len(broken) >= 20
    assert all(case.flaw and case.seen for case in broken)
    assert len({case.title for case in broken}) >= 20


def test_four_of_the_six_variants_of_lyu_su_and_li_are_broken():
    variants = {case.name: case.sound for case in CASES if case.name in set(_names("SVT", 6))}
    assert variants == {
        "SVT 1": True,
        "SVT 2": True,
        "SVT 3": False,
        "SVT 4": False,
        "SVT 5": False,
        "SVT 6": False,
    }


def test_titles_are_unique_enough_to_find_a_line():
    keys = [(case.title, case.policy.to_toml(), case.query, repr(case.claims)) for case in CASES]
    assert all(case.sound >= after.sound for case, after in pairwise(CASES))
    assert len(keys) == len(CASES)


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


def test_every_mechanism_that_is_made_for_a_policy_says_for_which_epsilon():
    """A shipped line without ε takes its claim from the mechanism: only for rates given by hand."""
    free = {case.name for case in CASES if case.sound and case.epsilon is None}
    made = {case.name for case in CASES if case.epsilon is not None}
    assert {"Counts", "AtMost", "TopK", "SparseVector", "RecordSample", "UnknownKeys"} <= made
    assert {"Ahp", "AGrid", "Dawa", "Hierarchical", "ContinualCount", "Warner", "uRAP"} <= made
    assert "Counts" not in free


def _names(stem, count):
    return [f"{stem} {number}" for number in range(1, count + 1)]


def test_every_public_policy_family_is_checked():
    """A new family without a line in verify/cases/counts.py fails here."""
    families = {
        "bounded",
        "unbounded",
        "addition_only",
        "removal_only",
        "sensitive",
        "extended_sensitive",
        "proposition",
        "tiers",
        "presence",
        "attributes",
        "graph",
        "neighbourhood",
        "local",
        "custom",
    }
    makers = {name for name in families if hasattr(policy, name)}
    unknown = {
        name
        for name in policy.__all__
        if inspect.isfunction(maker := getattr(policy, name))
        and name not in families | {"from_toml"}
        and str(inspect.signature(maker).return_annotation).endswith("Policy")
    }
    assert not unknown
    assert makers <= {case.policy.name for case in CASES if case.sound}


@pytest.mark.parametrize("wrong", [3, None, "Counts", mechanism.Counts.loss])
def test_what_is_no_mechanism_cannot_be_registered(wrong):
    with pytest.raises(od.errors.ParameterError, match=r"release.*loss.*got"):
        verify.shipped(wrong, policy.bounded())
