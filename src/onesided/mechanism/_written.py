"""Where code is written: its module's text, whose package it is, and what it imports."""

from __future__ import annotations

import dis
import hashlib
import inspect
import sys
import sysconfig
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

from onesided.errors import ParameterError

_NEXT: Final = "Write the mechanism to a file and import it from there."
_OWN: Final = ("onesided", "numpy")
# Where installers put packages: of Python itself, of a user, of Debian.
_PACKAGES: Final = frozenset(["site-packages", "dist-packages"])


def text_of(code: Any) -> str:
    """The hash of the text of the module that ``code`` is written in."""
    module = code.__module__
    if module == f"namedtuple_{package(code.__qualname__)}":
        return "made by namedtuple"
    if is_fixed(module) and package(module) != _OWN[0]:
        return str(module)
    return text_of_module(module, code.__qualname__)


def text_of_module(module: str, name: str) -> str:
    """The hash of a module's text. name: what is told by it, for the error."""
    try:
        text = "" if _is_empty(sys.modules[module]) else inspect.getsource(sys.modules[module])
    except (KeyError, OSError, TypeError) as error:
        raise ParameterError(
            f"The source of {name} cannot be read ({error}), so no check can be told "
            "to be about it.",
            hint=_NEXT,
        ) from error
    return hashlib.sha256(text.encode()).hexdigest()


def _is_empty(module: ModuleType) -> bool:
    """Whether it is a folder without a text, or with an empty one: inspect knows neither."""
    file = getattr(module, "__file__", None)
    if file is None:
        return hasattr(module, "__path__")
    return Path(file).suffix == ".py" and Path(file).is_file() and not Path(file).stat().st_size


def is_installed(module: str, *, apart_from: str) -> bool:
    """Whether a module, loaded or not, is of Python, of ours, or of another installed package."""
    top = package(module)
    if top in _OWN:
        return True
    try:
        found = find_spec(top) if top and top != apart_from else None
    except ValueError:  # a module that was made by hand
        return False
    if found is None:
        return False
    python = top in sys.stdlib_module_names
    return _in_packages(found.origin) or (
        python and (found.origin in ("built-in", "frozen") or _in_python(found.origin))
    )


def imports_in(code: CodeType) -> Iterator[str]:
    """The modules that a function's code, and functions within it, import; "" for relative ones."""
    # Before each import its level and the names that are wanted are put on the stack.
    steps = [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]
    for level, _, step in zip(steps, steps[1:], steps[2:], strict=False):
        if step.opname == "IMPORT_NAME":
            yield "" if level.argval else step.argval
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from imports_in(one)


def package(module: object) -> str:
    """The first part of a module's name."""
    return str(module).partition(".")[0]


def is_fixed(module: object) -> bool:
    """Whether a module is of onesided, numpy or Python itself, whose classes nobody changes."""
    top, name = package(module), str(module)
    if top in _OWN:
        return True
    own = _in_python(_file_of(name)) and not in_packages(name)
    return top in sys.stdlib_module_names and (name in sys.builtin_module_names or own)


def in_packages(module: str) -> bool:
    """Whether a module lies where packages are installed."""
    return _in_packages(_file_of(module))


def _in_packages(file: str | None) -> bool:
    return file is not None and not _PACKAGES.isdisjoint(Path(file).parts)


def _in_python(file: str | None) -> bool:
    return file is not None and any(
        Path(file).is_relative_to(sysconfig.get_path(place)) for place in ("stdlib", "platstdlib")
    )


def _file_of(module: str) -> str | None:
    return getattr(sys.modules.get(module), "__file__", None)
