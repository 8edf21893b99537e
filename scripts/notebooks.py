"""Turn every tutorial into a notebook and run it: text and code alternate as on the page.

    python scripts/notebooks.py FOLDER [PAGE...]

writes FOLDER/<page>.ipynb with its outputs. A cell that fails, or warns, fails this script, and so
does a page that shows no picture or no table.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

TUTORIALS = Path(__file__).resolve().parent.parent / "docs" / "tutorials"
# A block with a title is a file that the page has its reader write.
_CODE = re.compile(r"^```python( title=\"[\w.]+\")?\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
# What a page shows of its output comes from the cells themselves.
_OUTPUT = re.compile(r"^```text\n.*?^```\n", re.MULTILINE | re.DOTALL)


def cells_of(text: str) -> list[tuple[str, str]]:
    """The page's parts in order, as ("markdown" or "code", its text)."""
    cells, end = [], 0
    for found in _CODE.finditer(text):
        title = (found[1] or "").removeprefix(" title=").strip('"')
        cells.append(("markdown", text[end : found.start()]))
        cells.append(("code", (f"%%writefile {title}\n" if title else "") + found[2]))
        end = found.end()
    cells.append(("markdown", text[end:]))
    plain = [(kind, _OUTPUT.sub("", part).strip()) for kind, part in cells]
    return [(kind, part) for kind, part in plain if part]


def notebook(page: Path) -> nbformat.NotebookNode:
    """The page as a notebook without outputs; the same page gives the same notebook."""
    made = nbformat.v4.new_notebook()
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    for number, (kind, text) in enumerate(cells_of(page.read_text("utf-8"))):
        new = getattr(nbformat.v4, f"new_{kind}_cell")
        made.cells.append(new(text, id=f"{page.stem}-{number}"[-64:]))
    nbformat.validate(made)
    return made


def run(made: nbformat.NotebookNode) -> None:
    """Run the cells in a folder of their own; the notebook then holds what they show."""
    os.environ["PYTHONWARNINGS"] = "error:::__main__"
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryDirectory() as sockets:
        NotebookClient(
            made,
            timeout=300,
            kernel_name="python3",
            resources={"metadata": {"path": place}},
            config=Config({"KernelManager": {"transport": "ipc", "ip": f"{sockets}/kernel"}}),
        ).execute()


def shown(made: nbformat.NotebookNode) -> str:
    """All that the cells show beside plain text, as HTML and SVG."""
    outputs = (one for cell in made.cells for one in cell.get("outputs", ()))
    told = (one.get("data", {}) for one in outputs)
    return "".join(data.get(kind, "") for data in told for kind in ("text/html", "image/svg+xml"))


def main() -> int:
    """Write and run the notebooks."""
    folder, *names = sys.argv[1:]
    out = Path(folder).resolve()
    out.mkdir(parents=True, exist_ok=True)
    for page in sorted(TUTORIALS.glob("*.md")):
        if names and page.stem not in names:
            continue
        made = notebook(page)
        run(made)
        nbformat.write(made, out / f"{page.stem}.ipynb")
        told = shown(made)
        print(f"{page.stem}: {told.count('<svg')} pictures, {told.count('<table')} tables")
        if "<svg" not in told or "<table" not in told:
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
