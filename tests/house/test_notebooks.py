"""The tutorials as notebooks: each runs, and shows pictures and tables, not only text."""

import importlib.util
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.heavy
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs" / "tutorials").glob("*.md")), ids=lambda page: page.stem
)
def test_a_tutorial_shows_a_picture_and_a_table(page, monkeypatch):
    for module in ("nbclient", "ipykernel", "polars", "jinja2"):
        pytest.importorskip(module)
    found = importlib.util.spec_from_file_location("notebooks", ROOT / "scripts" / "notebooks.py")
    script = importlib.util.module_from_spec(found)
    found.loader.exec_module(script)
    monkeypatch.setenv("PYTHONWARNINGS", "")
    made = script.notebook(page)
    script.run(made)
    shown = script.shown(made)
    assert 'class="plot-area"' in shown
    assert "<table>" in shown
    assert (" km</text>" in shown) == (page.stem == "map")
    # What has a look of its own is never printed at the end of a cell.
    looks = r"print\((release|step|sample|\w*plan|session\.plan\(\w+\))\)$"
    code = [cell.source for cell in made.cells if cell.cell_type == "code"]
    assert not [one for one in code if re.search(looks, one) and "for " not in one]
