"""Print ``name==lower bound`` for what a project of this repository needs.

    python scripts/lower_bounds.py FOLDER [EXTRA...] [--group GROUP...]

FOLDER holds the pyproject.toml; the extras named are added to its dependencies, or the dependency
groups alone are printed.
"""

import re
import sys
import tomllib
from pathlib import Path

OURS = "onesided"  # installed from here, at whatever version it has


def main() -> None:
    """Read the project's pyproject.toml."""
    folder, *extras = sys.argv[1:]
    root = Path(__file__).resolve().parent.parent
    told = tomllib.loads((root / folder / "pyproject.toml").read_text())
    project = told["project"]
    wanted: list[str] = []
    if "--group" in extras:
        for group in extras[extras.index("--group") + 1 :]:
            wanted += told["dependency-groups"][group]
        extras = []
    else:
        wanted += project["dependencies"]
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    for requirement in sorted(set(wanted)):
        name, bound = re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])?[>=]=([\w.]+)", requirement).groups()
        if name != OURS:
            print(f"{name}=={bound}")


if __name__ == "__main__":
    main()
