"""Hold the sums of lines in .ci/lines: they fall freely, and rise only with a reason.

    python scripts/lines.py            # exit 1 where there are more lines than .ci/lines says
    python scripts/lines.py --write    # lower what can be lowered

Each row of .ci/lines is a name, a sum, and why it rose the last time. To let one rise, write the
new sum and a new reason; a sum that rose beside its old reason is refused.
"""

import itertools
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STATED = ROOT / ".ci" / "lines"
SUMS = {"wheel": ["src"], "shipped": ["src", "*/src"], "tests": ["conftest.py", "tests", "*/tests"]}


def counted(places: list[str]) -> int:
    """Lines of Python below these places, as ``wc -l`` counts them."""
    found = {path for place in places for path in ROOT.glob(place)}
    files = {file for path in found for file in ([path] if path.is_file() else path.rglob("*.py"))}
    return sum(file.read_bytes().count(b"\n") for file in files)


def rows(text: str) -> dict[str, tuple[int, str]]:
    """Sum and reason by name; lines that begin with # say what the file is."""
    told = (line.split(maxsplit=2) for line in text.splitlines() if line and line[0] != "#")
    return {name: (int(number), reason) for name, number, reason in told}


def versions() -> list[str]:
    """The file as it stands, and as each commit had it before; the newest first."""
    history = _git("log", "--first-parent", "--format=%H", "--", ".ci/lines").split()
    return [STATED.read_text(), *(_git("show", f"{commit}:.ci/lines") for commit in history)]


def _git(*words: str) -> str:
    told = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return told.stdout


def mistakes(told: list[str], now: dict[str, int]) -> list[str]:
    """What does not hold, in words. told: the versions of the file, the newest first."""
    versions = [rows(text) for text in told]
    wrong = [
        f"{name}: {now[name]:,} lines, {number:,} stated. Delete {now[name] - number:,}, or write "
        f"the new sum and why into .ci/lines."
        for name, (number, _) in versions[0].items()
        if now[name] > number
    ]
    for newer, older in itertools.pairwise(versions):
        wrong += [
            f"{name}: rose from {older[name][0]:,} to {number:,} for no new reason."
            for name, (number, reason) in newer.items()
            if name in older and number > older[name][0] and reason == older[name][1]
        ]
    return wrong


def main() -> None:
    """Compare, or lower."""
    text = STATED.read_text()
    now = {name: counted(places) for name, places in SUMS.items()}
    if "--write" in sys.argv[1:]:
        for name, (number, _) in rows(text).items():
            if now[name] < number:
                text = text.replace(f"{name} {number} ", f"{name} {now[name]} ")
        STATED.write_text(text)
        return
    wrong = mistakes(versions(), now)
    print("\n".join(wrong) or ", ".join(f"{name} {number:,}" for name, number in now.items()))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
