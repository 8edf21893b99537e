"""What the code says is what it said; ``make golden`` compares every document, this a share."""

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("polars")
pytest.importorskip("typer")
ROOT = Path(__file__).parents[2]
SHARE = ["check", "--share", "12", "--only", "answers/*", "help/*", "policies/*", "files/*"]
CHANGE = '[[change]]\ndocument = "answers/Count/*"\nfield = "plan.words"\nreason = "More words."\n'


@pytest.fixture
def golden(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import golden

    return golden


def test_a_share_of_the_documents_is_as_it_was():
    command = [sys.executable, str(ROOT / "scripts" / "golden.py"), *SHARE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


NAME = "answers/Count/in all/presence"
BEFORE = {"engines": "polars duckdb", "plan": {"words": ["a"], "charge": "1"}}
NEW_WORDS = {**BEFORE, "plan": {"words": ["b"], "charge": "1"}}
NEW_CHARGE = {**BEFORE, "plan": {"words": ["a"], "charge": "2"}}


@pytest.fixture
def judged(golden, tmp_path, capsys):
    """Whether a document that is now ``after`` is right, and what is told of it."""

    def judge(after, changes="", *, whole=True, accepted=None, engines=None):
        (tmp_path / "changes.toml").write_text(changes)
        (tmp_path / "changed.json").write_text(golden.pretty(accepted or {}))
        pair = golden.Pair(NAME, BEFORE, after)
        code = golden.judged(tmp_path, [pair], whole=whole, engines=engines)
        return code == 0, capsys.readouterr().out

    return judge


def test_a_difference_that_nobody_intended_fails(judged):
    assert judged(BEFORE)[0]
    right, told = judged(NEW_CHARGE)
    assert not right
    assert f"{NAME}: plan.charge is not in changes.toml" in told
    assert not judged(NEW_CHARGE, whole=False)[0]
    assert not judged(NEW_CHARGE, CHANGE)[0]
    assert not judged(NEW_CHARGE, CHANGE, accepted={NAME: NEW_CHARGE})[0]


def test_a_change_that_is_none_fails(judged):
    right, told = judged(BEFORE, CHANGE)
    assert not right
    assert "names what did not change: answers/Count/*, plan.words" in told
    assert judged(BEFORE, CHANGE, whole=False)[0]


@pytest.mark.parametrize("engines", [None, ("polars",)])
def test_an_intended_change_is_pinned_as_it_was_accepted(judged, engines):
    after = NEW_WORDS if engines is None else {**NEW_WORDS, "engines": "polars"}
    how = {"engines": engines, "whole": engines is None}
    right, told = judged(after, CHANGE, **how)
    assert not right
    assert "but not accepted" in told
    assert judged(after, CHANGE, accepted={NAME: NEW_WORDS}, **how)[0]
    right, told = judged(after, CHANGE, accepted={NAME: NEW_CHARGE}, **how)
    assert not right
    assert "is not as it was accepted" in told


def test_a_change_needs_its_reason(golden, tmp_path):
    (tmp_path / "changes.toml").write_text(CHANGE.replace("More words.", ""))
    with pytest.raises(SystemExit, match="reason"):
        golden.judged(tmp_path, [], whole=True)


def test_every_field_that_differs_is_found(golden):
    before = {"a": {"b": 1, "c": [1, 2]}, "d": "x"}
    after = {"a": {"c": [2, 1], "b": 1.0}, "e": "x"}
    found = {field: (was, now) for field, was, now in golden.compared(before, after)}
    assert set(found) == {"a.b", "a.c", "a.(order)", "d", "e"}
    assert found["e"] == (golden.ABSENT, "x")
    assert not list(golden.compared(before, before))


def test_a_real_document_that_changes_is_told(golden, tmp_path, capsys):
    """From the files themselves: an edited document fails, and accepting it makes it pass."""
    (tmp_path / "files").mkdir()
    for name in ("files/policies.toml", "policies.json", "changes.toml", "changed.json"):
        (tmp_path / name).write_bytes((ROOT / "golden" / name).read_bytes())
    given = argparse.Namespace(at=tmp_path, only=["policies/*"], share=1)
    assert golden._check(given) == 0
    text = (tmp_path / "policies.json").read_text()
    (tmp_path / "policies.json").write_text(text.replace('"name": "presence"', '"name": "was"'))
    assert golden._check(given) == 1
    assert 'was "was"' in capsys.readouterr().out
    change = '[[change]]\ndocument = "policies/*"\nfield = "name"\nreason = "Renamed."\n'
    intended = (tmp_path / "changes.toml").read_text()
    (tmp_path / "changes.toml").write_text(f"{intended}\n{change}")
    assert golden._check(given) == 1
    golden._accept(given)
    assert golden._check(given) == 0


def test_every_question_family_and_engine_is_asked(golden):
    from onesided.policy import families
    from onesided.session.kit import require_question

    asked = list(golden.answers.names())
    tables = golden.answers.tables
    here = {policy.name for policy in tables.POLICIES.values()}
    assert here == set(families())
    first = {(question, policy) for question, _, policy, engines in asked if len(engines) > 2}
    assert first >= {(one, policy) for one in tables.QUESTIONS for policy in tables.POLICIES}
    for name, variants in tables.QUESTIONS.items():
        assert {type(one.question).__name__ for one in variants} == {name}
        for one in variants:
            require_question(one.question)


def test_every_question_is_there(golden):
    import onesided as od

    asked = {
        name
        for name in od.session.__all__
        if hasattr(getattr(od.session, name), "prepare") and name != "Question"
    }
    assert asked == set(golden.answers.tables.QUESTIONS)
