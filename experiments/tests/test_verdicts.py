"""Verdicts in documents are those that the program wrote."""

import json
import re
from pathlib import Path

import pytest

from onesided.errors import DataError
from onesided_experiments import PAPERS
from onesided_experiments._model import Claim
from onesided_experiments._tables import write
from onesided_experiments._verdicts import filled, load, save, save_run, table

DOCS = Path(__file__).parents[2] / "docs" / "papers"
PAGES = [page for page in sorted(DOCS.glob("*.md")) if "<!-- verdicts: " in page.read_text()]

CLAIMS = [
    Claim(judges="as run", text="a | b", measured="1", verdict="holds"),
    Claim(judges="ours", text="c", measured="2", verdict="does not hold"),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_says_what_the_program_wrote(page):
    """If this fails: onesided papers pages docs/papers/*.md."""
    assert filled(page) == page.read_text()


def test_every_experiment_that_judges_is_on_a_page():
    told = set(re.findall(r"<!-- verdicts: ([\w/-]+) -->", "".join(p.read_text() for p in PAGES)))
    ours = {f"{paper.name}/{one.name}" for paper in PAPERS.values() for one in paper.experiments}
    assert told == ours


def test_pages_are_of_one_whole_run_and_say_so():
    runs = {name: json.loads((DOCS / name / "run.json").read_text()) for name in PAPERS}
    for name, run in runs.items():
        assert run["experiments"] == [one.name for one in PAPERS[name].experiments]
    (commit,) = {run["commit"] for run in runs.values()}
    assert re.fullmatch(r"[0-9a-f]{12}", commit), "of a clean working copy"
    for page in PAGES:
        text = page.read_text()
        shown = set(re.findall(r"<!-- (?:verdicts|tables): ([\w-]+)/", text))
        assert shown == set(re.findall(r"<!-- run: ([\w-]+) -->", text)), page


def test_what_is_written_is_read_back(tmp_path):
    save(CLAIMS, tmp_path / "fig1")
    assert load(tmp_path / "fig1") == CLAIMS


def test_a_table_names_what_each_verdict_judges():
    rows = table(CLAIMS).splitlines()
    assert rows[2] == "| a \\| b | as run | 1 | **holds** |"
    assert rows[3] == "| c | ours | 2 | **does not hold** |"


def test_a_page_is_filled_in_its_places_only(tmp_path):
    (tmp_path / "paper").mkdir()
    save(CLAIMS, tmp_path / "paper" / "fig1")
    page = tmp_path / "page.md"
    begin, end = "<!-- verdicts: paper/fig1 -->", "<!-- end of verdicts -->"
    page.write_text(f"before\n{begin}\nold\n{end}\nafter\n")
    assert filled(page) == f"before\n{begin}\n\n{table(CLAIMS)}\n\n{end}\nafter\n"
    page.write_text(filled(page))
    assert filled(page) == page.read_text()


def test_a_page_is_made_anew_from_a_run(tmp_path):
    """Verdicts, the run, the pictures it shows, and tables by query."""
    made = tmp_path / "made" / "paper"
    made.mkdir(parents=True)
    save(CLAIMS, made / "fig1")
    save_run(made, commit="abc", seed=1, experiments=["fig1"], seconds=5, processor_seconds=9)
    write([{"name": "a", "n": 1200, "x": 0.12345}, {"name": "b", "n": 3, "x": None}], made / "fig1")
    (made / "fig1.png").write_bytes(b"picture")
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- run: paper -->\n<!-- end of run -->\n<!-- verdicts: paper/fig1 -->\n"
        "<!-- end of verdicts -->\n<!-- tables: paper/fig1\n"
        "SELECT name, n, x FROM rows ORDER BY place DESC -->\n"
        "old\n<!-- end of tables -->\n![1](paper/fig1.png)\n"
    )
    told = filled(page, tmp_path / "made")
    assert "Made by commit abc, seed 1, in 9 s of processor time: fig1." in told
    assert table(CLAIMS) in told
    assert "| name | n | x |\n| --- | ---: | ---: |\n| b | 3 | – |\n| a | 1,200 | 0.123 |" in told
    assert (tmp_path / "paper" / "fig1.png").read_bytes() == b"picture"
    page.write_text(told)
    assert filled(page) == filled(page, tmp_path / "made") == told
    (made / "fig1.png").unlink()
    with pytest.raises(DataError, match="missing"):
        filled(page, tmp_path / "made")


@pytest.mark.parametrize(
    "text", ["nothing", "<!-- verdicts: paper/gone -->\n<!-- end of verdicts -->"]
)
def test_pages_that_cannot_be_filled_are_refused(tmp_path, text):
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(DataError):
        filled(page)
