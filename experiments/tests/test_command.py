"""The command: what it writes, what it says, and what it refuses."""

import json
import re
import subprocess
import sys

import pytest

from onesided.errors import MissingDependencyError, OutputError
from onesided_experiments import PAPERS, Setup, reproduce


def run(*words, cwd):
    command = [sys.executable, "-m", "onesided", "papers", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_papers_are_listed(tmp_path):
    done = run("list", cwd=tmp_path)
    assert done.returncode == 0
    for paper in PAPERS.values():
        assert paper.name in done.stdout


def test_missing_data_are_said_and_are_no_failure(tmp_path):
    done = run("run", "adp-2022", "--data", "nowhere", "--out", "made", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("skipped: data not found") == len(PAPERS["adp-2022"].experiments)
    assert "skipped: data not found" in (tmp_path / "made" / "index.html").read_text()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("run", "adp-1999"), 2, "There is no paper 'adp-1999'"),
        (("run", "adp-2021", "--only", "fig9"), 2, "no experiment 'fig9'"),
        (("run", "adp-2021", "--only", "fig4", "--quick", "--out", "taken"), 5, "cannot be made"),
    ],
)
def test_what_cannot_be_done_is_refused(tmp_path, words, code, said):
    (tmp_path / "taken").write_text("a file")
    done = run(*words, cwd=tmp_path)
    assert done.returncode == code
    assert said in done.stderr


def test_quick_runs_judge_nothing_and_results_stay_out_of_the_way(tmp_path):
    done = run("run", "adp-2021", "--only", "fig4", "--quick", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "too small to judge" in done.stdout
    assert "hold" not in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out" / "papers" / ".gitignore").read_text() == "*\n"
    made = {path.name for path in (tmp_path / "out" / "papers" / "adp-2021").iterdir()}
    assert made == {"index.html", "fig4.csv", "fig4.parquet", "fig4.png"}


def test_a_whole_run_says_what_ran(tmp_path):
    reproduce(PAPERS["adp-2022"], Setup(data=tmp_path), tmp_path)
    told = json.loads((tmp_path / "run.json").read_text())
    assert (told["seed"], told["experiments"]) == (1, [])
    assert re.fullmatch(r"[0-9a-f]{12}( with changes)?|version \S+", told["commit"])


def test_the_same_seed_gives_the_same_numbers_however_many_processes(tmp_path):
    texts = []
    for name, seed, processes in (("a", 1, 1), ("b", 1, 2), ("c", 2, 1)):
        setup = Setup(data=tmp_path, quick=True, seed=seed)
        reproduce(
            PAPERS["adp-2021"], setup, tmp_path / name,
            only=frozenset({"fig4"}), processes=processes,
        )  # fmt: skip
        texts.append((tmp_path / name / "fig4.csv").read_text())
    assert texts[0] == texts[1] != texts[2]


# Of the papers' own numbers, those that no test of one paper looks at.
FIGURES = {("osdp", "fig2-3"): {"fig2", "fig3"}, ("osdp", "fig4-5"): {"fig4", "fig5"}}


@pytest.mark.parametrize("paper", PAPERS)
def test_the_quick_form_writes_numbers_and_plots_that_need_no_network(tmp_path, data, paper):
    seen = []
    outcomes = reproduce(
        PAPERS[paper], Setup(data=data, quick=True), tmp_path,
        progress=lambda name, done, total: seen.append((name, done, total)),
    )  # fmt: skip
    for outcome in outcomes:
        assert not outcome.skipped
        drawn = {path.stem for path in outcome.files if path.suffix == ".png"}
        assert drawn >= FIGURES.get((paper, outcome.experiment.name), set())
        suffixes = {path.suffix for path in outcome.files}
        assert suffixes == {".csv", ".parquet", ".png"}
        assert outcome.claims == ()
        assert all(path.stat().st_size > 0 for path in outcome.files)
    last = {name: (done, total) for name, done, total in seen}
    assert all(done == total for done, total in last.values())
    for page in tmp_path.glob("*.html"):
        sources = re.findall(r"(?:src|href)=[\"']([^\"']+)", page.read_text())
        assert not [source for source in sources if "//" in source]
        assert all((tmp_path / source).exists() for source in sources)


@pytest.mark.parametrize("module", ["duckdb", "matplotlib"])
def test_a_missing_package_is_said_before_any_work(tmp_path, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=module) as caught:
        reproduce(PAPERS["adp-2021"], Setup(data=tmp_path, quick=True), tmp_path / "out")
    assert "pip install" in caught.value.hint


def test_an_output_folder_that_cannot_be_written_is_an_output_error(tmp_path):
    taken = tmp_path / "fig4.csv"
    taken.mkdir()
    with pytest.raises(OutputError):
        reproduce(
            PAPERS["adp-2021"], Setup(data=tmp_path, quick=True), tmp_path,
            only=frozenset({"fig4"}),
        )  # fmt: skip
