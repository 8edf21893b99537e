"""Verdicts in documents are those that the program wrote."""

import re
from pathlib import Path

import pytest

from onesided.errors import DataError
from onesided_experiments import PAPERS
from onesided_experiments._model import Claim
from onesided_experiments._verdicts import filled, load, save, table

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


@pytest.mark.parametrize(
    "text", ["nothing", "<!-- verdicts: paper/gone -->\n<!-- end of verdicts -->"]
)
def test_pages_that_cannot_be_filled_are_refused(tmp_path, text):
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(DataError):
        filled(page)
