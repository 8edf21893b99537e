"""The catalogue: what installed distributions say is to be checked, found by entry points.

A plug-in is a name with a function that takes no arguments. In the group ``onesided.verify`` the
function returns lines of the table; in ``onesided.verify.checks`` it returns results of checks of
their own kind. What is checked of this library stands in the distribution onesided-proofs, under
the name "onesided".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any, Final

from onesided._english import a
from onesided._plugins import CHECKS, LINES, broken, load, plugins
from onesided.errors import MissingDependencyError, OnesidedError, ParameterError, first_line
from onesided.verify._line import CheckResult, Line

OWN: Final = "onesided"


def sources() -> list[str]:
    """Where lines and checks come from: "onesided", then the other plug-ins by name.

    >>> sources()[0]
    'onesided'
    """
    return [OWN, *sorted({*plugins(LINES), *plugins(CHECKS)} - {OWN})]


@cache  # each process builds it once, not once for each line it checks
def catalogue(source: str | None = None) -> tuple[Line, ...]:
    """Every line, the sound ones first; always in the same order.

    source: only the lines of this library ("onesided"), or of one plug-in.
    Errors: ParameterError for an unknown source; MissingDependencyError if the lines of this
    library are asked for and onesided-proofs is not installed; PluginError for a plug-in that
    cannot be used.
    """
    lines = [line for name in _chosen(source) for line in _made(LINES, name, Line)]
    return tuple(sorted(lines, key=lambda line: not line.sound))


def own_checks(source: str | None = None) -> Iterator[CheckResult]:
    """Checks of what enumeration cannot see, each run as it is read; half a minute for ours.

    source and errors: as for :func:`catalogue`.

    >>> next(own_checks()).right
    True
    """
    for name in _chosen(source):
        yield from _made(CHECKS, name, CheckResult)


def _chosen(source: str | None) -> list[str]:
    if source is not None and source not in sources():
        raise ParameterError(
            f"There are no checks from {source!r}.",
            hint=f"Use one of {', '.join(sources())}.",
            value=source,
        )
    if source in {None, OWN} and OWN not in plugins(LINES):
        raise MissingDependencyError(
            "What is checked of onesided itself is a distribution of its own, and not installed.",
            hint="pip install onesided-proofs, or give a file with Cases of your own: "
            "onesided verify mine.py.",
        )
    return sources() if source is None else [source]


def _made(group: str, name: str, kind: type[Any]) -> Iterator[Any]:
    """What the function of a plug-in returns, each of it a ``kind``; nothing if it has none."""
    if name not in plugins(group):
        return
    make = load(group, name, Callable)
    (entry,) = plugins(group)[name]
    for one in _told(entry, make):
        if not isinstance(one, kind):
            raise broken(entry, f"returns {type(one).__name__} where {a(kind.__name__)} is due")
        yield one


def _told(entry: EntryPoint, make: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    try:
        yield from make()
    except OnesidedError:
        raise
    except Exception as error:  # somebody else's code can fail in any way
        why = f"{type(error).__name__}: {first_line(error)}"
        raise broken(entry, f"cannot say what it checks ({why})") from error
