"""The catalogue: every module of this folder yields lines of the table by ``cases()``.

To register a mechanism, add a file (or a line to one):

    def cases():
        yield shipped(TopK(k=2, upper_rate=1), policy.presence(max_groups=2))

Its claims are what its own ``loss`` says. ``tests/verify/test_catalogue.py`` walks the public
mechanisms and fails for one that has no line here. Another distribution adds lines by an entry
point in the group ``onesided.verify``: a function such as ``cases`` above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from onesided._plugins import CHECKS, broken, load, plugins
from onesided.errors import OnesidedError, ParameterError, first_line
from onesided.verify._line import Line

OWN: Final = "onesided"


def sources() -> list[str]:
    """Where lines come from: "onesided", then the plug-ins by name."""
    return [OWN, *(name for name in plugins(CHECKS) if name != OWN)]


@cache  # each process builds it once, not once for each line it checks
def catalogue(source: str | None = None) -> tuple[Line, ...]:
    """Every line, the sound ones first; always in the same order.

    source: only the lines of this library ("onesided"), or of one plug-in.
    Errors: ParameterError for an unknown source; PluginError for one that cannot be used.
    """
    if source is not None and source not in sources():
        raise ParameterError(
            f"There are no checks from {source!r}.",
            hint=f"Use one of {', '.join(sources())}.",
            value=source,
        )
    chosen = sources() if source is None else [source]
    lines = [case for name in chosen for case in (_own() if name == OWN else _of_plugin(name))]
    return tuple(sorted(lines, key=lambda case: not case.sound))


def _own() -> Iterator[Line]:
    for found in iter_modules(__path__):
        yield from import_module(f"{__name__}.{found.name}").cases()


def _of_plugin(name: str) -> list[Line]:
    """What the function of a plug-in returns, all of it lines of the table."""
    make = load(CHECKS, name, Callable)
    (entry,) = plugins(CHECKS)[name]
    try:
        lines = list(make())
    except OnesidedError:
        raise
    except Exception as error:  # somebody else's code can fail in any way
        why = f"{type(error).__name__}: {first_line(error)}"
        raise broken(entry, f"cannot say what it checks ({why})") from error
    strange = [type(line).__name__ for line in lines if not isinstance(line, Line)]
    if strange:
        raise broken(entry, f"returns {strange[0]} where a Line is due")
    return lines
