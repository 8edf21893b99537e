"""Print ``name==lower bound`` for what a project of this repository needs.

    python scripts/lower_bounds.py FOLDER [EXTRA...]

FOLDER holds the pyproject.toml; the extras named are added to its dependencies.
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
    project = tomllib.loads((root / folder / "pyproject.toml").read_text())["project"]
    wanted = list(project["dependencies"])
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    for requirement in sorted(set(wanted)):
        name, bound = re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])?>=([\w.]+)", requirement).groups()
        if name != OURS:
            print(f"{name}=={bound}")


if __name__ == "__main__":
    main()
