"""The lines: every module of this folder yields lines of the table by ``cases()``.

To register a mechanism, add a file (or a line to one):

    def cases():
        yield shipped(TopK(k=2, upper_rate=1), policy.presence(max_groups=2))

Its claims are what its own ``loss`` says. ``proofs/tests/test_catalogue.py`` walks the public
mechanisms and fails for one that has no line here.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from onesided.verify import Line

__all__ = ["cases"]


def cases() -> Iterator[Line]:
    """Every line of every module, by the modules' names. ``onesided verify`` finds this.

    >>> bool(next(cases()).name)
    True
    """
    for found in iter_modules(__path__):
        yield from import_module(f"{__name__}.{found.name}").cases()
