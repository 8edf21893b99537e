"""Examples in docstrings run, and say what the code says."""

import doctest
import importlib
import pkgutil

import pytest

PACKAGES = ["policy", "linear", "mechanism", "bounds", "noise", "accounting"]
# Public classes and functions that have no example yet; none may be added.
MOST_WITHOUT = 104


def modules():
    for package in PACKAGES:
        whole = importlib.import_module(f"onesided.{package}")
        yield whole.__name__
        for found in pkgutil.walk_packages(whole.__path__, f"{whole.__name__}."):
            yield found.name


@pytest.mark.parametrize("name", ["onesided._frozen", *modules()])
def test_examples_run(name):
    result = doctest.testmod(importlib.import_module(name), raise_on_error=False)
    assert not result.failed


def public():
    for package in PACKAGES:
        whole = importlib.import_module(f"onesided.{package}")
        for name in whole.__all__:
            value = getattr(whole, name)
            if callable(value) and getattr(value, "__module__", "").startswith("onesided."):
                yield f"{package}.{name}", value


def test_no_public_name_is_added_without_an_example():
    without = sorted(name for name, value in public() if ">>>" not in (value.__doc__ or ""))
    assert len(without) <= MOST_WITHOUT, without


def test_the_check_sees_an_example_that_is_wrong():
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(verbose=False)

    class Wrong:
        """>>> 1 + 1
        3
        """

    (example,) = finder.find(Wrong, "Wrong", globs={})
    assert runner.run(example, out=lambda _: None).failed == 1
