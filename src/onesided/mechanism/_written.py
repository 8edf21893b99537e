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
from types import CodeType
from typing import Any, Final

from onesided.errors import ParameterError

_NEXT: Final = "Write the mechanism to a file and import it from there."
_OWN: Final = ("onesided", "numpy")
_PACKAGES: Final = ("purelib", "platlib")
_PYTHON: Final = ("stdlib", "platstdlib")


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
        text = inspect.getsource(sys.modules[module])
    except (KeyError, OSError, TypeError) as error:
        raise ParameterError(
            f"The source of {name} cannot be read ({error}), so no check can be told "
            "to be about it.",
            hint=_NEXT,
        ) from error
    return hashlib.sha256(text.encode()).hexdigest()


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
    return _lies_at(found.origin, *_PACKAGES) or (
        python and (found.origin in ("built-in", "frozen") or _lies_at(found.origin, *_PYTHON))
    )


def imports_in(code: CodeType) -> Iterator[str]:
    """The modules that a function's code, and functions within it, import; "" for relative ones."""
    steps = list(dis.get_instructions(code))
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
    own = lies_in(name, "stdlib", "platstdlib") and not lies_in(name, "purelib", "platlib")
    return top in sys.stdlib_module_names and (name in sys.builtin_module_names or own)


def lies_in(module: str, *places: str) -> bool:
    """Whether a module lies in one of these folders of the installation."""
    return _lies_at(getattr(sys.modules.get(module), "__file__", None), *places)


def _lies_at(file: str | None, *places: str) -> bool:
    return file is not None and any(
        Path(file).is_relative_to(sysconfig.get_path(place)) for place in places
    )
