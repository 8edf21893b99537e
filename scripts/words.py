"""Words that a reader of the site reads, by section of mkdocs.yml: prose, lists, tables.

    python scripts/words.py        # exit 1 where there are more than LIMITS say

Not counted: code blocks, ``proves:`` lines, tables between ``<!--`` marks and pages that a program
writes. The experiments, and what is said of other libraries, are a part of their own.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
APART = "Experiments"
LIMITS = {"site": 42_000, APART: 25_000}
OF_OTHERS = "coming-from.md"
WRITTEN = ("reference/", "gallery.md")  # by programs
_ITEM = re.compile(r"^(?:  - ([^:]+):|\s+- (?:.*: )?([\w./-]+\.md))$", re.MULTILINE)
# An indented block is code, unless it is a list.
_SKIPPED = re.compile(
    r"^```.*?^```\s*$|^<!-- (tables|verdicts): .*?^<!-- end of \1 -->|^proves: .*?$|\]\([^)]*\)"
    r"|(?<=\n\n)    (?![-*] |\d\. ).*?(?=\n\n|\Z)",
    re.MULTILINE | re.DOTALL,
)


def words(text: str) -> int:
    """How many words stand outside of what is not counted."""
    return sum(any(map(str.isalnum, word)) for word in _SKIPPED.sub("]", text).split())


def sections() -> Counter[str]:
    """Words by section of the site; pages that stand nowhere in it are under their folder."""
    nav = (ROOT / "mkdocs.yml").read_text("utf-8").split("\nnav:\n")[1]
    place, found = "", Counter[str]()
    where = {"README.md": "Start"}
    for section, page in _ITEM.findall(nav):
        place = section or place
        where[page] = APART if page == OF_OTHERS else place
    for page in sorted(DOCS.rglob("*.md")):
        name = page.relative_to(DOCS).as_posix()
        if not name.startswith(WRITTEN):
            found[where.get(name, name)] += words(page.read_text("utf-8"))
    return found


def sums() -> dict[str, int]:
    """The words of the site, and of the experiments' part of it."""
    found = sections()
    return {"site": found.total() - found[APART], APART: found[APART]}


if __name__ == "__main__":
    for name, number in [*sections().most_common(), *sums().items()]:
        sys.stdout.write(f"{number:7,}  {name}\n")
    sys.exit(any(number > LIMITS[name] for name, number in sums().items()))
