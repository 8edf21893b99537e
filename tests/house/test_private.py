"""Packages use what other packages declare, never their private modules."""

import ast
import importlib
import importlib.util
from collections import Counter
from pathlib import Path

import pytest

import onesided

SOURCE = Path(onesided.__file__).parent


def private_imports(path, own):
    """Modules of other packages that begin with an underscore."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom) or not node.module:
            continue
        names = node.module.split(".")
        if len(names) < 2 or names[0] != "onesided" or names[1] == own or names[1].startswith("_"):
            continue
        inside = [*names[2:], *(alias.name for alias in node.names)]
        if any(name.startswith("_") for name in inside):
            yield node.module


def test_no_package_imports_another_ones_private_modules():
    found = Counter()
    for path in SOURCE.rglob("*.py"):
        own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        found.update(module.split(".")[1] for module in private_imports(path, own))
    assert not found, f"make these names public, or move them down a floor: {found}"


def imports(text):
    """Module and name of each import of the library."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)


def is_public(module, name):
    if module.split(".")[0] != "onesided":
        return True
    if any(part.startswith("_") for part in module.split(".")):
        return False
    whole = importlib.import_module(module)
    public = getattr(whole, "__all__", [n for n in vars(whole) if not n.startswith("_")])
    if name is None or name in public:
        return True
    inside = not name.startswith("_") and hasattr(whole, "__path__")
    return inside and importlib.util.find_spec(f"{module}.{name}") is not None


def test_other_distributions_use_only_public_names():
    files = [file for source in SOURCE.parents[1].glob("*/src") for file in source.rglob("*.py")]
    found = {
        file: {one for one in imports(file.read_text()) if not is_public(*one)} for file in files
    }
    assert files
    assert not {file: names for file, names in found.items() if names}


def test_the_check_sees_a_name_that_is_not_public():
    bad = "from onesided.verify._line import Line\nfrom onesided.verify import Line, _line\n"
    assert [is_public(*one) for one in imports(bad)] == [False, True, False]


def test_the_check_sees_a_private_import(tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text(
        "from onesided.policy._base import Policy\nfrom onesided.linear import _grid, Grid\n"
        "from onesided._numbers import whole\nfrom onesided.session._plan import Plan\n"
    )
    assert list(private_imports(bad, "session")) == ["onesided.policy._base", "onesided.linear"]


# The operator & of the base makes a policy itself: the one import that points up.
ALLOWED = {("_base", "_intersection")}


@pytest.mark.parametrize(
    "package", ["policy", "noise", "linear", "bounds", "mechanism", "mechanism/local"]
)
def test_files_of_a_package_form_layers(package):
    """Imports never go round, wherever in a file they stand."""
    folder, inside = SOURCE / package, f"onesided.{package.replace('/', '.')}._"
    arrows = {}
    for path in folder.glob("_*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        modules = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module}
        ends = {name.removeprefix(inside) for name in modules if name.startswith(inside)}
        arrows[path.stem] = {f"_{end}" for end in ends if (path.stem, f"_{end}") not in ALLOWED}
    arrows.pop("__init__")
    while arrows:
        free = {name for name, ends in arrows.items() if not ends & arrows.keys()}
        assert free, f"these import each other in a circle: {sorted(arrows)}"
        arrows = {name: ends for name, ends in arrows.items() if name not in free}
