"""The catalogue: every module of this folder yields lines of the table by ``cases()``.

To register a mechanism, add a file (or a line to one):

    def cases():
        yield shipped(TopK(k=2, upper_rate=1), policy.presence(max_groups=2))

Its claims are what its own ``loss`` says. ``tests/verify/test_catalogue.py`` walks the public
mechanisms and fails for one that has no line here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from onesided.verify._case import Case


@cache  # each process builds it once, not once for each line it checks
def catalogue() -> tuple[Case, ...]:
    """Every line, the sound ones first; always in the same order."""
    lines = [case for module in _modules() for case in import_module(module).cases()]
    return tuple(sorted(lines, key=lambda case: not case.sound))


def _modules() -> Iterator[str]:
    return (f"{__name__}.{found.name}" for found in iter_modules(__path__))
