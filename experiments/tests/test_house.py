"""Publications stand beside each other; tests/house holds what is true of all distributions."""

import ast
from pathlib import Path

import onesided_experiments

SOURCE = Path(onesided_experiments.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
# One folder for each publication; what they share stands beside them.
APART = {"baselines", "gallery"}
PAPERS = {"adp_2021", "adp_2022", "delta_neighbourhood", "one_sided_note", "osdp"}


def imports(path):
    """Module and name of each import."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)


def test_publications_do_not_know_each_other():
    for path in FILES:
        own = path.relative_to(SOURCE).parts[0]
        others = PAPERS - {own}
        for module, name in imports(path):
            if module.startswith("onesided_experiments.") and own in {*PAPERS, *APART}:
                assert module.split(".")[1] not in others, (path, module)
            if module == "onesided_experiments" and own in PAPERS:
                assert name not in others, (path, name)
