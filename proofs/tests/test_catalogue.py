import dataclasses
import inspect
import json
from collections import Counter
from functools import cache
from importlib.metadata import entry_points
from itertools import pairwise
from pathlib import Path

import pytest

from onesided import errors, mechanism, policy, verify
from onesided_proofs import zoo
from onesided_proofs.cases import local, one_sided_note, selection

PARTS = 8
ROOT = Path(__file__).parents[2]


@cache
def catalogue():
    """Every line, made where it is looked at: collecting tests makes none."""
    return verify.catalogue("onesided")


def whole(test):
    """Asks for every line: heavy, and one process asks, not each of them."""
    return pytest.mark.heavy(pytest.mark.xdist_group("catalogue")(test))


@pytest.fixture(scope="module")
def verdicts():
    return verify.verdicts(source="onesided", processes=2)


@pytest.mark.parametrize("part", range(PARTS))
def test_some_lines_are_told_right(part):
    """The short form of the next: in parts, so that all processes take theirs."""
    lines = catalogue()[2::32]
    assert len(lines) >= PARTS
    for case in lines[part::PARTS]:
        assert case.run().right, f"{case.title} under {case.policy.name}"


@whole
def test_every_line_of_the_table_is_told_right(verdicts):
    wrong = [
        f"{v.case.title} under {v.case.policy.name}: {v.word}" for v in verdicts if not v.right
    ]
    assert not wrong


@whole
def test_losses_and_words_are_those_on_record(verdicts):
    """``golden/verdicts.json``: a line that is new, gone or moved is written there on purpose."""
    told = Counter()
    kept = json.loads((ROOT / "golden" / "verdicts.json").read_text(encoding="utf-8"))
    for one in json.loads(verify.as_json(verdicts, []))["lines"]:
        name = " / ".join(one[part] for part in ("name", "policy", "flaw") if one[part])
        told[name] += 1
        before = kept[f"lines/{name}" + (f" #{told[name]}" if told[name] > 1 else "")]
        assert one["verdict"] == before["verdict"], name
        for field in ("promised", "found"):
            same = one[field] == before[field] or one[field] == pytest.approx(before[field], 1e-5)
            assert same, (name, field, one[field], before[field])


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
SLIGHT |= {"session: Quantile of two rows at the price of one"}  # of two candidates


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
    """A new mechanism without a line in onesided_proofs/cases fails here."""
    checked = {kind for case in catalogue() if case.sound for kind in _held(case.program)}
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
    assert not missing, f"register {missing} in proofs/src/onesided_proofs/cases"


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
    checked = {type(case.program) for case in catalogue() if case.sound}
    assert mechanism.Counts in checked
    assert type("New", (), {}) not in checked


def test_there_are_at_least_twenty_controls_each_saying_what_is_wrong_and_where_it_was_seen():
    broken = [case for case in catalogue() if not case.sound]
    assert len(broken) >= 20
    assert all(case.flaw and case.seen for case in broken)
    assert len({case.title for case in broken}) >= 20


def test_four_of_the_six_variants_of_lyu_su_and_li_are_broken():
    variants = {case.name: case.sound for case in catalogue() if case.name in set(_names("SVT", 6))}
    assert variants == {
        "SVT 1": True,
        "SVT 2": True,
        "SVT 3": False,
        "SVT 4": False,
        "SVT 5": False,
        "SVT 6": False,
    }


def test_titles_are_unique_enough_to_find_a_line():
    keys = [
        (case.title, case.policy.to_toml(), case.query, repr(case.claims)) for case in catalogue()
    ]
    assert all(case.sound >= after.sound for case, after in pairwise(catalogue()))
    assert len(keys) == len(catalogue())


def test_every_mechanism_that_is_made_for_a_policy_says_for_which_epsilon():
    """A shipped line without ε takes its claim from the mechanism: only for rates given by hand."""
    free = {case.name for case in catalogue() if case.sound and case.epsilon is None}
    made = {case.name for case in catalogue() if case.epsilon is not None}
    assert {"Counts", "AtMost", "TopK", "SparseVector", "RecordSample", "UnknownKeys"} <= made
    assert {"Ahp", "AGrid", "Dawa", "Hierarchical", "Warner", "uRAP"} <= made
    assert "Counts" not in free


def _names(stem, count):
    return [f"{stem} {number}" for number in range(1, count + 1)]


def test_every_public_policy_family_is_checked():
    """A new family without a line in cases/counts.py fails here."""
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
    assert makers <= {case.policy.name for case in catalogue() if case.sound}


def test_local_mechanisms_have_their_controls():
    assert sum(not case.sound for case in local.cases()) >= 10


def test_every_public_randomiser_has_a_line():
    checked = {type(case.program.randomiser) for case in local.cases() if case.sound}
    shipped = {
        found
        for name in mechanism.local.__all__
        if isinstance(found := getattr(mechanism.local, name), type)
        and issubclass(found, mechanism.local.Randomiser)
        and found is not mechanism.local.Randomiser
    }
    assert checked == shipped


TRUNCATED = [case for case in one_sided_note.cases() if case.name.startswith("Truncated")]


@pytest.mark.parametrize("case", TRUNCATED, ids=lambda case: case.title)
def test_the_delta_of_truncated_noise_is_met_and_no_more(case):
    verdict = case.run()
    assert verdict.right, verdict.word
    # The δ of a sound one is met; that of a broken one is passed by far.
    if case.sound:
        assert verdict.proven == pytest.approx(case.delta, abs=1e-6)
    else:
        assert verdict.proven > case.delta * 1.3


def test_only_some_lines_can_be_asked_for():
    titles = []
    found = verify.verdicts(
        only="atmost INSIDE",
        processes=1,
        progress=lambda _done, _total, title: titles.append(title),
    )
    assert found
    assert all(v.case.name.startswith("Subsampled (AtMost inside)") for v in found)
    assert len(titles) == len(found)
    with pytest.raises(errors.ParameterError, match="mentions"):
        verify.verdicts(only="nonesuch")


def test_the_zoo_is_public_and_each_says_what_is_wrong():
    assert len(zoo.broken()) > 100
    assert all(line.flaw and line.seen for line in zoo.broken())
    assert not any(line.flaw for line in zoo.sound())


def test_lines_and_checks_are_found_by_their_entry_points():
    for group in ("onesided.verify", "onesided.verify.checks"):
        (entry,) = entry_points(group=group, name="onesided")
        assert entry.dist.name == "onesided-proofs"
    assert next(verify.own_checks("onesided")).right
