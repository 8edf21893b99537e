"""The page's tables are those of the catalogue."""

from pathlib import Path

from onesided import verify

PAGE = Path(__file__).parents[1] / "VERIFICATION.md"


def cells(text):
    lines = (line for line in text.splitlines() if line.startswith("| "))
    return [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in lines]


def first_words(page):
    """The mechanisms and the checks that a page has lines on."""
    return {row[0] for row in cells(page.read_text())} - {"mechanism", "check", "---"}


def test_the_table_of_the_page_is_the_catalogue():
    """If this fails: onesided verify --only onesided --update proofs/VERIFICATION.md."""
    rows = cells(PAGE.read_text())
    for case in verify.catalogue("onesided"):
        mark = case.policy.name if case.sound else case.flaw
        assert any(row[:2] == (case.name, mark) for row in rows), case.title
    assert not any("WRONG" in cell for row in rows for cell in row)
