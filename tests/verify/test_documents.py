"""The pages say what the code does."""

import re
from pathlib import Path

import pytest

from onesided import errors, verify
from onesided.verify._catalogue import END

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "verification.md"


def test_tables_go_between_the_marks(tmp_path):
    page = tmp_path / "page.md"
    begin = "<!-- tables: onesided verify --update page.md -->"
    page.write_text(f"before\n{begin}\nold\n{END}\nafter\n")
    verify.update(page, "| new |")
    assert page.read_text() == f"before\n{begin}\n\n| new |\n\n{END}\nafter\n"
    page.write_text("no marks")
    with pytest.raises(errors.OutputError, match="no place"):
        verify.update(page, "| new |")


def test_the_errata_page_names_tests_that_exist():
    text = (ROOT / "docs" / "papers-errata.md").read_text()
    assert [int(n) for n in re.findall(r"^## (\d+)\.", text, re.MULTILINE)] == list(range(1, 17))
    files = set(re.findall(r"`(tests/[\w/]+\.py)`", text))
    assert len(files) >= 4
    for file in files:
        assert (ROOT / file).is_file(), file


def test_every_erratum_has_a_test_in_the_file_that_the_page_names():
    text = (ROOT / "docs" / "papers-errata.md").read_text()
    for number, section in re.findall(r"^## (\d+)\.(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL):
        if int(number) <= 11:
            file = re.search(r"`(tests/[\w/]+test_errata\.py)`", section)[1]
            assert f"def test_erratum_{number}_" in (ROOT / file).read_text()
    suites = (ROOT / "tests", *ROOT.glob("*/tests"))
    defined = "".join(one.read_text() for suite in suites for one in suite.rglob("test_*.py"))
    for name in re.findall(r"`(test_\w+)`", text):
        assert f"def {name}" in defined, name


def test_the_examples_of_the_page_run():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    world = {}
    for block in blocks[:3]:
        exec(block.replace("10**6", "10**4"), world)  # noqa: S102 - our own page
    assert world["report"].loss == pytest.approx(1, abs=1e-6)
    assert world["proof"].holds
    assert world["found"].loss > 0.8
