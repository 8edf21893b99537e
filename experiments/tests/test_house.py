"""The experiments stand on what onesided makes public; files and functions stay short."""

import ast
import importlib
from pathlib import Path

import pytest

import onesided_experiments

SOURCE = Path(onesided_experiments.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
# One folder for each publication; what they share stands beside them.
PAPERS = {"adp_2021", "adp_2022", "delta_neighbourhood", "one_sided_note", "osdp"}


def imports(path):
    """Module and name of each import."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)


def named(path):
    return str(path.relative_to(SOURCE))


@pytest.mark.parametrize("path", FILES, ids=named)
def test_of_onesided_only_public_names_are_used(path):
    for module, name in imports(path):
        if module.split(".")[0] != "onesided":
            continue
        assert not any(part.startswith("_") for part in module.split(".")), module
        if name is not None:
            whole = importlib.import_module(module)
            public = getattr(whole, "__all__", [n for n in vars(whole) if not n.startswith("_")])
            assert name in public, f"{module}.{name}"


@pytest.mark.parametrize("path", FILES, ids=named)
def test_publications_do_not_know_each_other(path):
    own = path.relative_to(SOURCE).parts[0]
    others = PAPERS - {own}
    for module, name in imports(path):
        if module.startswith("onesided_experiments.") and own in PAPERS | {"baselines", "gallery"}:
            assert module.split(".")[1] not in others, module
        if module == "onesided_experiments" and own in PAPERS:
            assert name not in others, name


@pytest.mark.parametrize("path", FILES, ids=named)
def test_files_and_functions_stay_short_and_nothing_is_asserted(path):
    text = path.read_text()
    assert text.count("\n") < 400
    for node in ast.walk(ast.parse(text)):
        assert not isinstance(node, ast.Assert)
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            assert lines <= 40, f"{node.name} has {lines} lines"
