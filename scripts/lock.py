"""Write requirements.lock: every package that any part of this repository needs, with hashes.

    make lock                          # solve anew
    python scripts/lock.py --wanted    # print what is needed, without versions of a lock

One lock serves Python 3.11 to 3.14 on all systems. ``scripts/install.sh`` installs from it alone;
what our own distributions need from each other is installed from here, and so is not in it.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
# What builds the rest, and what makes editable installations; nothing names these as needed.
BUILDING = ["editables>=0.5", "pip", "setuptools"]
# Not installed with the rest: a competitor that needs an old scikit-learn.
APART = {"peers"}
# Newest releases that are not green yet, each with the reason why.
HELD: dict[str, str] = {}


def parts() -> list[Path]:
    """The project files of all distributions in this repository."""
    return sorted([ROOT / "pyproject.toml", *ROOT.glob("*/pyproject.toml")])


def wanted() -> list[str]:
    """What all parts, their extras, their groups and their builds need from others."""
    told = [tomllib.loads(path.read_text()) for path in parts()]
    ours = {one["project"]["name"] for one in told}
    needed = set(BUILDING)
    for one in told:
        needed.update(one["build-system"]["requires"])
        needed.update(one["project"].get("dependencies", []))
        for name, extra in one["project"].get("optional-dependencies", {}).items():
            needed.update(() if name in APART else extra)
        for group in one.get("dependency-groups", {}).values():
            needed.update(group)
    named = {text: re.match(r"[\w.-]+", text) for text in needed}
    return sorted(text for text, name in named.items() if name and name.group() not in ours)


def main() -> None:
    """Solve anew, from the package index that the environment names; write no address of it."""
    if "--wanted" in sys.argv[1:]:
        print("\n".join(wanted()))
        return
    held = ROOT / ".held"
    held.write_text("".join(f"{name}=={version}\n" for name, version in HELD.items()))
    try:
        solve = ["-m", "uv", "pip", "compile", "-", "--universal", "--generate-hashes", "--upgrade"]
        told = ["--python-version", "3.11", "--constraint", str(held), "--no-header", "--quiet"]
        plain = ["--no-emit-index-url", "--no-annotate", "--output-file", str(LOCK)]
        subprocess.run(
            [sys.executable, *solve, *told, *plain],
            input="\n".join(wanted()),
            text=True,
            check=True,
            env={**os.environ, "UV_NO_CONFIG": "1"},
        )
    finally:
        held.unlink()


if __name__ == "__main__":
    main()
