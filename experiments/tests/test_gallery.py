"""The gallery: every family is there, and the page says what the code gives today."""

import re
from functools import cache
from pathlib import Path

import pytest

import onesided as od
from onesided.numbers import text
from onesided_experiments.gallery import TASKS, page, run, write

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "gallery.md").read_text()
FAMILIES = sorted(task.family for task in TASKS)


@cache
def gallery():
    return {task.family: run(task) for task in TASKS}


def test_the_gallery_shows_families_and_none_is_lost():
    """A new family may come without a task: the gallery is of another distribution."""
    assert set(gallery()) <= set(od.policy.families())
    assert len(gallery()) == len(TASKS) >= 15


def section(family):
    return re.search(rf"^## {family}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)[1]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_page_says_what_the_code_gives(family):
    shown, part = gallery()[family], section(family)
    assert shown.task.code in part
    assert f"- **Promise.** {shown.answer.guarantee.promise}\n" in part
    assert all(f"{edge}: {text(loss)}" in part for edge, loss in shown.cost.items())
    assert shown.answer.printed in part
    (picture,) = re.findall(r"\]\((gallery/[\w-]+\.png)\)", part)
    assert 2_000 < (DOCS / picture).stat().st_size < 60_000


@pytest.mark.parametrize("family", FAMILIES)
def test_the_code_is_short_and_is_what_ran(family):
    code = gallery()[family].task.code
    assert 1 <= len(code.splitlines()) <= 12
    assert "seeded" not in code
    assert "return" not in code
    compile(code, family, "exec")


def test_equal_seeds_make_equal_pages():
    """All of it but the pictures, which depend on the version of matplotlib."""
    assert page(list(gallery().values())) == PAGE
    assert run(TASKS[0], seed=2).figure != gallery()[TASKS[0].family].figure


def test_removal_only_carries_its_warning():
    assert "A p-fraction of the gifts in the clear satisfies it" in section("removal_only")


def test_certain_bounds_of_the_pictures_hold():
    checked = 0
    for shown in gallery().values():
        for panel in shown.figure.panels:
            drawn = {curve.look.name: curve.y for curve in panel.curves}
            truth = drawn.get("truth (generated)")
            for name, sign in (("certainly at most", 1), ("certainly at least", -1)):
                if truth is not None and name in drawn:
                    pairs = zip(truth, drawn[name], strict=True)
                    # A sum is rounded to whole units, row by row; 240 rows move it by at most 120.
                    slack = 120 if shown.task.family == "removal_only" else 0
                    assert all(not sign * (bound - true) < -slack for true, bound in pairs)
                    checked += 1
    assert checked >= 6


def test_a_gallery_is_written_with_its_pictures(tmp_path):
    files = write(tmp_path, tasks=TASKS[:2])
    assert [file.name for file in files] == ["gallery.md", "bounded.png", "unbounded.png"]
    assert files[1].read_bytes().startswith(b"\x89PNG")
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(od.errors.OutputError):
        write(blocked, tasks=TASKS[:1])
