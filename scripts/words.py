"""Words of the site that a reader reads, by section: prose, lists and hand-made tables.

    python scripts/words.py          of the pages as they stand

Code blocks, ``proves:`` lines and tables that a program writes (between ``<!--`` marks) are not
counted, nor are the reference and the experiments' own part.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
UNCOUNTED = re.compile(
    r"^```.*?^```\s*$|^<!-- (?:tables|verdicts): .*?<!-- end -->|^proves: .*?$|<!--.*?-->|\]\([^)]*\)",
    re.MULTILINE | re.DOTALL,
)


def words(text: str) -> int:
    """How many words the text has outside of what is not counted."""
    return sum(any(c.isalnum() for c in word) for word in UNCOUNTED.sub("]", text).split())


def sections(docs: Path = DOCS) -> Counter[str]:
    """Words by folder; pages of the folder itself by their names."""
    found: Counter[str] = Counter()
    for page in sorted(docs.rglob("*.md")):
        place = page.relative_to(docs)
        name = place.parts[0] if len(place.parts) > 1 else place.stem
        found[name] += words(page.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    told = sections(Path(sys.argv[1]) if sys.argv[1:] else DOCS)
    for name, number in sorted(told.items(), key=lambda item: item[1]):
        sys.stdout.write(f"{number:7,} {name}\n")
    sys.stdout.write(f"{sum(told.values()):7,}\n")
