"""``onesided verify`` prints three tables and says by its exit code whether all is well."""

from dataclasses import replace

import pytest
from typer.testing import CliRunner

from onesided import INFINITE, policy, verify
from onesided.cli import _verify as command
from onesided.cli._app import app
from onesided.errors import MissingDependencyError
from onesided.mechanism import Counts

DROPS = policy.presence(max_groups=1)
PLAIN = verify.shipped(Counts(1, INFINITE), DROPS)
BROKEN = verify.in_place_of(Counts(1, INFINITE), Counts(2, INFINITE), DROPS, "too quiet", "here")


@pytest.fixture
def told(monkeypatch):
    """What the command finds: these lines, and one check of its own kind."""
    check = verify.CheckResult("repeats", "Counts", "no", accepted=True, sound=True)

    def tell(*lines):
        monkeypatch.setattr(command, "verdicts", lambda **_: [line.run() for line in lines])
        monkeypatch.setattr(command, "own_checks", lambda _source: iter([check]))

    return tell


@pytest.fixture
def few(told):
    told(PLAIN, BROKEN)
    return [PLAIN, BROKEN]


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
    page.write_text(f"{begin}\n{verify._catalogue.END}\n")
    done = run("--markdown", "--update", str(page))
    assert done.exit_code == 0
    assert "| Counts | presence | all | 1.0000 | 1.0000 | kept, tight |" in done.output
    assert "| repeats | Counts |" in done.output
    assert few[1].flaw in page.read_text()


def test_a_wrong_verdict_is_shown_and_fails(told):
    told(replace(BROKEN, flaw=""))
    done = run()
    assert done.exit_code == 1
    assert "WRONG" in done.output


def test_without_the_catalogue_the_command_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr("onesided.verify._catalogue.plugins", lambda _group: {})
    verify.catalogue.cache_clear()
    for arguments in ((), ("--only", "Counts"), ("--only", "onesided"), ("--json",)):
        done = run(*arguments)
        assert isinstance(done.exception, MissingDependencyError)
        assert "pip install onesided-proofs" in done.exception.hint
    mine = tmp_path / "mine_alone.py"
    mine.write_text(
        "import onesided as od; policy = od.policy.presence(max_groups=1)\n"
        "case = od.verify.Case(od.mechanism.Counts(1, od.INFINITE), policy, 1)\n"
    )
    assert run(str(mine)).exit_code == 0


def test_a_case_tells_how_far_it_is():
    case = verify.Case(Counts(1, 1), policy.presence(max_groups=1), 1)
    seen = []
    assert case.verdict(progress=lambda done, total: seen.append((done, total))).right
    assert seen[-1] == (9, 9)
