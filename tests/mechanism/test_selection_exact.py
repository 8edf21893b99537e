"""The exact checks of top-k and sparse vector, line by line.

They are part of the catalogue too; here each is named, and a flaw must be found by its loss.
"""

import pytest

from onesided.verify.cases import selection

LINES = list(selection.cases())


def name(case):
    groups = getattr(case.policy, "max_groups", case.query.max_groups)
    return f"{case.title}-{case.policy.name}-{groups}"


@pytest.mark.parametrize("case", LINES, ids=name)
def test_the_exact_check_tells_sound_from_broken(case):
    verdict = case.run()
    assert verdict.right, verdict.word
    if case.sound:
        assert verdict.found <= verdict.promised + 1e-9
    else:
        assert verdict.found > verdict.promised * 1.3


def test_our_own_losses_are_exact_not_only_enough():
    for case in LINES:
        if case.sound and case.name.startswith(("TopK", "SparseVector", "ALap", "AGeo")):
            assert case.run().tight, case.title


def test_every_promised_control_is_there():
    flaws = {case.flaw for case in LINES if not case.sound}
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
