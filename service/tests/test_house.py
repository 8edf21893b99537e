"""The service stands on what onesided makes public; files stay short and their examples run."""

import ast
import doctest
import importlib
import inspect
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

import onesided_service
from onesided import serve

SOURCE = Path(onesided_service.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
APART = {"__init__"}
MODULES = [
    "onesided_service",
    *(f"onesided_service.{p.stem}" for p in FILES if p.stem not in APART),
]


def imports(path):
    """Module and name of each import."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)


def public(module):
    whole = importlib.import_module(module)
    return getattr(whole, "__all__", [name for name in vars(whole) if not name.startswith("_")])


def test_of_onesided_only_public_names_are_used():
    for module, name in {one for path in FILES for one in imports(path)}:
        if module.split(".")[0] != "onesided":
            continue
        assert not any(part.startswith("_") for part in module.split(".")), module
        if name is not None and name not in public(module):
            # A package inside, whose name is public: it is loaded on use alone.
            assert not name.startswith("_"), f"{module}.{name}"
            importlib.import_module(f"{module}.{name}")


def test_files_and_functions_stay_short_and_nothing_is_asserted():
    for path in FILES:
        text = path.read_text()
        assert text.count("\n") < 800, path
        for node in ast.walk(ast.parse(text)):
            assert not isinstance(node, ast.Assert), path
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
                assert lines <= 60, f"{node.name} has {lines} lines"


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


def test_public_names_are_those_of_onesided_serve_and_have_examples():
    names = ["DatasetConfig", "MonitorConfig", "OidcConfig", "ServiceConfig", "create_app"]
    assert onesided_service.__all__ == serve.__all__ == names
    for name in names:
        found = getattr(onesided_service, name)
        assert getattr(serve, name) is found
        assert ">>>" in inspect.getdoc(found)


def test_the_extra_serve_is_what_the_service_needs_of_others():
    root = SOURCE.parents[2]
    told = [
        tomllib.loads((root / name / "pyproject.toml").read_text()) for name in (".", "service")
    ]
    library, service = (one["project"] for one in told)
    assert service["dependencies"][0] == f"onesided[cli]=={library['version']}"
    assert service["version"] == library["version"]
    wanted = {*library["optional-dependencies"]["cli"], *service["dependencies"][1:]}
    assert set(library["optional-dependencies"]["serve"]) == wanted
