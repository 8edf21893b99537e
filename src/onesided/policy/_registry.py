"""Every family of policies, as files, the command line, the gallery and the tests read them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Final

from onesided.policy._family import Family

# A closed table: a stored policy can name the families of this folder and nothing else.
_FOLDER: Final = str(Path(__file__).parent)


@cache
def _families() -> Mapping[str, Family]:
    """What the files of this folder hold as ``FAMILY`` or ``FAMILIES``, in the files' order."""
    found: list[Family] = []
    for file in iter_modules([_FOLDER]):
        module = import_module(f"onesided.policy.{file.name}")
        found += getattr(module, "FAMILIES", ())
        found += [module.FAMILY] if hasattr(module, "FAMILY") else []
    return MappingProxyType({family.name: family for family in found})


def families() -> Mapping[str, Family]:
    """Every family of policies by its name.

    >>> from onesided import policy
    >>> sorted(policy.families())[:3]
    ['addition_only', 'attributes', 'bounded']
    """
    return _families()
