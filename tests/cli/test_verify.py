"""``onesided verify`` prints three tables and says by its exit code whether all is well."""

from dataclasses import replace
from itertools import islice

import pytest
from typer.testing import CliRunner

from onesided import policy, verify
from onesided.cli._app import app
from onesided.mechanism import Counts

COMMAND = "onesided.cli._verify"


@pytest.fixture(autouse=True)
def few_of_their_own_kind(monkeypatch):
    """Three checks of their own kind instead of all; tests/verify/test_own.py runs them all."""
    three = list(islice(verify.own_checks(), 3))
    monkeypatch.setattr(f"{COMMAND}.own_checks", lambda: iter(three))


@pytest.fixture
def few(monkeypatch):
    """Three lines instead of all of them; tests/verify runs them all."""
    lines = verify.catalogue("onesided")
    plain = next(c for c in lines if (c.name, c.policy.name) == ("Counts", "bounded"))
    chosen = [plain, next(c for c in lines if not c.sound)]
    monkeypatch.setattr(f"{COMMAND}.verdicts", lambda **_: [case.run() for case in chosen])
    return chosen


def run(*arguments):
    return CliRunner().invoke(app, ["verify", *arguments])


def test_all_is_well(few):
    done = run()
    assert done.exit_code == 0, done.output
    assert "verdicts are right" in done.output
    assert "Broken on purpose" in done.output
    assert "rejected" in done.output


def test_quiet_prints_one_line(few):
    done = run("--quiet")
    assert done.exit_code == 0
    assert "Broken on purpose" not in done.output


def test_tables_as_markdown_and_into_a_page(few, tmp_path):
    page = tmp_path / "page.md"
    begin = "<!-- tables: onesided verify --update page.md -->"
    page.write_text(f"{begin}\n{verify._markdown.END}\n")
    done = run("--markdown", "--update", str(page))
    assert done.exit_code == 0
    assert "| Counts | bounded | all | 1.0000 | 1.0000 | kept, tight |" in done.output
    assert few[1].flaw in page.read_text()


def test_a_wrong_verdict_is_shown_and_fails(monkeypatch):
    line = verify.catalogue("onesided")[0]
    broken = replace(line, program=Counts(9, 9))
    monkeypatch.setattr(f"{COMMAND}.verdicts", lambda **_: [broken.run()])
    done = run()
    assert done.exit_code == 1
    assert "WRONG" in done.output


def test_a_case_tells_how_far_it_is():
    case = verify.Case(Counts(1, 1), policy.presence(max_groups=1), 1)
    seen = []
    assert case.verdict(progress=lambda done, total: seen.append((done, total))).right
    assert seen[-1] == (9, 9)
