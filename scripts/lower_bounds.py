"""Print ``name==lower bound`` for the core's dependencies and the extras named as arguments."""

import re
import sys
import tomllib
from pathlib import Path


def main() -> None:
    """Read pyproject.toml beside this script's folder."""
    root = Path(__file__).resolve().parent.parent
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    wanted = list(project["dependencies"])
    for extra in sys.argv[1:]:
        wanted += project["optional-dependencies"][extra]
    for requirement in sorted(set(wanted)):
        name, bound = re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\w.]+)", requirement).groups()
        print(f"{name}=={bound}")


if __name__ == "__main__":
    main()
