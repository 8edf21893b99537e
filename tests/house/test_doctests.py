"""Every public class and function has an example in its docstring, and all examples run."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import onesided

# Parts that need what may not be there, or that run when they are imported.
APART = ("onesided.engine.spark", "onesided.spark")
MODULES = sorted(
    found.name
    for found in pkgutil.walk_packages(onesided.__path__, "onesided.")
    if not found.name.startswith(APART) and not found.name.endswith("__main__")
)
PACKAGES = [
    name
    for name in ("onesided", *MODULES)
    if not any(part.startswith("_") for part in name.split("."))
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    ran = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert ran.failed == 0


def without_example():
    """Public classes and functions whose docstring has no example."""
    missing = set()
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", ()):
            found = getattr(module, name)
            plain = inspect.isclass(found) or inspect.isfunction(found)
            if plain and ">>>" not in (found.__doc__ or ""):
                missing.add(f"{found.__module__}.{found.__qualname__}")
    return sorted(missing)


def test_public_names_have_examples():
    assert not without_example()
