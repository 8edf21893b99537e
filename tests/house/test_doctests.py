"""Every public class and function has an example in its docstring, and all examples run."""

import doctest
import importlib.util
import inspect
import pkgutil

import pytest

import onesided

# Parts that need what may not be there, or that run when they are imported.
APART = ("onesided.engine.spark", "onesided.spark")
PATHS = {"onesided": onesided.__path__}
if proofs := importlib.util.find_spec("onesided_proofs"):
    PATHS["onesided_proofs"] = proofs.submodule_search_locations
else:  # their examples run checks of our own
    APART += ("onesided.verify._catalogue",)
MODULES = sorted(
    found.name
    for name, path in PATHS.items()
    for found in pkgutil.walk_packages(path, f"{name}.")
    if not found.name.startswith(APART) and not found.name.endswith("__main__")
)
PACKAGES = [
    name
    for name in ("onesided", *MODULES)
    if not any(part.startswith("_") for part in name.split("."))
]


ROOMS = sorted({".".join(name.split(".")[:2]) for name in MODULES})


@pytest.mark.parametrize("room", ROOMS)
def test_examples_run(room, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed = [
        name
        for name in MODULES
        if f"{name}.".startswith(f"{room}.")
        and doctest.testmod(
            importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE
        ).failed
    ]
    assert not failed


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
