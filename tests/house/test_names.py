"""A public name stands for one thing, wherever it is listed."""

import importlib
import importlib.util
import pkgutil
from collections import defaultdict

import onesided

# A question and the mechanism that answers it share their stem; `local` is a family and its room.
SHARED = {"AtMost", "TopK", "local"}
PACKAGES = [
    "onesided",
    *(
        found.name
        for found in pkgutil.walk_packages(onesided.__path__, "onesided.")
        if found.ispkg and "._" not in found.name and "engine" not in found.name
    ),
]


def test_no_public_name_stands_for_two_things():
    things = defaultdict(dict)
    for package in PACKAGES:
        if package == "onesided.spark" and importlib.util.find_spec("pyspark") is None:
            continue
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", ()):
            found = getattr(module, name)
            things[name][id(found)] = package
    twice = {name: list(where.values()) for name, where in things.items() if len(where) > 1}
    assert set(twice) <= SHARED, twice
