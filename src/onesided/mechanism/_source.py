"""What a mechanism of one's own is: a frozen dataclass of plain fields, in one file.

A closed definition: what does not fit is refused, so that a hash of the file and of the fields says
which mechanism it is. It guards against mistakes, such as a record that is about another version of
the file. It does not guard against the author of the file, whom no check of this kind can.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from importlib.util import find_spec
from inspect import getattr_static
from pathlib import Path
from types import CodeType, FunctionType, MappingProxyType, MemberDescriptorType
from typing import Any, Final

import numpy as np

from onesided._numbers import Infinite
from onesided.errors import ParameterError
from onesided.policy import Policy

_PLAIN: Final = (
    *(type(None), bool, int, float, complex, str, bytes, Fraction, Decimal, date, timedelta),
    Infinite,
)
_OURS: Final = ("onesided", "numpy")
# Where installers put packages: of Python itself, of a user, of Debian.
_PACKAGES: Final = frozenset(["site-packages", "dist-packages"])
_WAY: Final = (
    "Write it as a frozen dataclass of numbers, text, arrays or such dataclasses, or as a function "
    "without a closure, at the top of a file that imports only installed packages."
)


def source_of(mechanism: object) -> str:
    """The hash of a mechanism: the text of its file, its name there, and its fields.

    A frozen dataclass, or a function of ``(data, noise)``, at the top of one file that can be
    imported. Fields hold numbers, text, dates, policies, arrays, tuples, lists and mappings of
    these, and other such dataclasses; what a file of its own imports is installed.
    Errors: ParameterError for what is no such mechanism.

    >>> from onesided.mechanism import Counts
    >>> one, other = Counts(1, 1), Counts(2, 1)
    >>> source_of(one) == source_of(Counts(1, 1)), source_of(one) == source_of(other)
    (True, False)
    """
    try:
        parts = "\n".join(_told(mechanism))
    except RecursionError:
        raise _unfit(mechanism, "holds values too many levels deep") from None
    return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()


def _told(value: Any) -> Iterator[str]:
    """What a value is, as lines of text that differ where values do."""
    kind = type(value)
    if kind in _PLAIN:
        yield f"{kind.__qualname__} {value!r}"
    elif isinstance(value, Policy):
        yield f"policy {value.to_toml()}"
    elif (kind is np.ndarray or isinstance(value, np.generic)) and not value.dtype.hasobject:
        yield f"array {value.dtype.descr} {value.shape} {np.asarray(value).tobytes().hex()}"
    elif kind in (tuple, list, dict, MappingProxyType):
        held = list(value.items()) if isinstance(value, Mapping) else value
        yield f"{kind.__qualname__} {len(held)}"
        for one in held:
            yield from _told(one)
    elif isinstance(value, FunctionType):
        if value.__closure__ or value.__kwdefaults__ or vars(value):
            raise _unfit(value, "is a function that holds more than its text")
        yield _place(value, value)
        yield from _told(value.__defaults__)
    elif is_dataclass(kind) and not isinstance(value, type):
        for base in kind.__mro__:
            if base is kind or base.__module__.partition(".")[0] in _OURS:
                yield _place(base, value)
        for name in _names(value):
            yield name
            yield from _told(getattr(value, name))
    else:
        raise _unfit(value, "is no frozen dataclass, and no plain value")


def _names(value: Any) -> list[str]:
    """The fields of a frozen dataclass. Errors: ParameterError if it holds anything else."""
    kind: Any = type(value)
    names = [one.name for one in fields(value)]
    held = [*getattr(value, "__dict__", ())]
    more = [
        name
        for name in held
        if name not in names and not isinstance(getattr_static(kind, name, None), cached_property)
    ]
    if not kind.__dataclass_params__.frozen or more:
        raise _unfit(value, f"holds {more[0]}, no field" if more else "is not frozen")
    return names


def _place(code: Any, value: object) -> str:
    """The name of a class or function, and the hash of the file that it stands in."""
    module, name = sys.modules.get(code.__module__), code.__qualname__
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    file = getattr(module, "__file__", None)
    if found is not code or file is None or Path(file).suffix != ".py":
        raise _unfit(value, "does not stand at the top of a file that can be imported")
    text = Path(file).read_bytes()
    if code.__module__.partition(".")[0] not in _OURS:
        _refuse_others(text, value)
        _refuse_older(text, vars(module), code, value)
    return f"{name} {hashlib.sha256(text).hexdigest()}"


def _refuse_others(text: bytes, value: object) -> None:
    """Refuse a file that imports others that are not installed. Errors: ParameterError."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.level:
            raise _unfit(value, "is in a file that imports from its own package")
        named = [node.module] if isinstance(node, ast.ImportFrom) else []
        named += [one.name for one in node.names] if isinstance(node, ast.Import) else []
        for name in named:
            if not _is_installed(str(name).partition(".")[0]):
                raise _unfit(value, f"is in a file that imports {name}, which is not installed")


@lru_cache(maxsize=256)
def _is_installed(package: str) -> bool:
    if package in _OURS or package in sys.stdlib_module_names:
        return True
    try:
        found = find_spec(package)
    except ValueError:  # a module that was made by hand
        return False
    origin = None if found is None else found.origin
    return origin is not None and not _PACKAGES.isdisjoint(Path(origin).parts)


def _refuse_older(text: bytes, loaded: Mapping[str, Any], code: Any, value: object) -> None:
    """Refuse what was loaded before its file was changed. Errors: ParameterError.

    Compared are the functions of the file that the code reaches, however they are wrapped, and
    what the file writes out as the value of a name there.
    """
    file = str(loaded["__file__"])
    written = set(_codes(compile(text, file, "exec", dont_inherit=True)))
    codes = set(_loaded(code, loaded, set()))
    names = {name for one in codes for name in one.co_names}
    body = [
        one
        for one in ast.parse(text).body
        if not isinstance(one, ast.ClassDef) or one.name in names | {code.__qualname__}
    ]
    if not codes <= written or not _as_written(body, loaded, names):
        raise _unfit(value, f"is not what {Path(file).name} says now")


def _loaded(held: Any, module: Mapping[str, Any], seen: set[int]) -> Iterator[CodeType]:
    """The code of a module that an object reaches: its functions, and what these wrap and name."""
    if id(held) in seen:
        return
    seen.add(id(held))
    parts = [getattr(held, name, None) for name in ("fget", "func", "__func__", "__wrapped__")]
    parts += [cell.cell_contents for cell in getattr(held, "__closure__", None) or ()]
    code = getattr(held, "__code__", None)
    if isinstance(code, CodeType) and code.co_filename == module["__file__"]:
        for one in _codes(code):
            yield one
            parts += [module.get(name) for name in one.co_names]
    if isinstance(held, type) and held.__module__ == module["__name__"]:
        parts += [*vars(held).values(), *held.__bases__]
    for part in parts:
        if part is not None:
            yield from _loaded(part, module, seen)


def _as_written(
    body: Iterable[ast.stmt], loaded: Mapping[str, Any], asked: Container[str] | None = None
) -> bool:
    """Whether names, or those asked for, have the one value that is written out for them."""
    parts = [part for one in body for part in ast.walk(one) if isinstance(part, ast.Name)]
    stored = Counter(part.id for part in parts if isinstance(part.ctx, ast.Store))
    for one in body:
        held = loaded.get(getattr(one, "name", ""))
        if isinstance(one, ast.ClassDef) and isinstance(held, type):
            same = _as_written(one.body, vars(held))
        elif isinstance(one, ast.Assign | ast.AnnAssign):
            names = one.targets if isinstance(one, ast.Assign) else [one.target]
            once = [n.id for n in names if isinstance(n, ast.Name) and stored[n.id] == 1]
            same = all(_is(loaded.get(n), one.value) for n in once if asked is None or n in asked)
        else:
            same = True
        if not same:
            return False
    return True


def _is(held: Any, written: ast.expr | None) -> bool:
    """Whether a value is what is written out; True where nothing is, or a slot is in its place."""
    try:
        plain = ast.literal_eval(written)  # type: ignore[arg-type] # None is refused, too
    except (ValueError, TypeError):
        return True
    return isinstance(held, MemberDescriptorType) or repr(held) == repr(plain)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _codes(one)


def _unfit(value: object, why: str) -> ParameterError:
    name = getattr(value, "__qualname__", None) or type(value).__qualname__
    return ParameterError(f"{name} {why}, so no check can be told to be about it.", hint=_WAY)
