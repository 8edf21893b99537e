"""What a mechanism is made of, as text: its code, and every value that its code can see.

A closed language: what is not in it is refused, so that no two mechanisms that answer in different
ways look alike.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, partial
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np

from onesided._numbers import Infinite
from onesided.errors import ParameterError
from onesided.mechanism._written import (
    imports_in,
    in_packages,
    is_fixed,
    is_installed,
    package,
    text_of,
    text_of_module,
)
from onesided.policy import Policy

_PLAIN: Final = (
    *(type(None), bool, int, float, complex, str, bytes, range, type(...), type(NotImplemented)),
    *(Fraction, Decimal, date, timedelta, Infinite, TypeVar),
)
_LISTS: Final = (list, tuple)
_SETS: Final = (set, frozenset)
_TABLES: Final = (dict, MappingProxyType)
# What a class says of itself and no call reads; the fields of a dataclass are in its __init__.
_ABOUT: Final = frozenset(
    {
        *("__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__slots__"),
        *("__annotations__", "__firstlineno__", "__static_attributes__", "__match_args__"),
        *("__dataclass_fields__", "__dataclass_params__", "__orig_bases__", "__parameters__"),
        *("__abstractmethods__", "_abc_impl", "__annotate__", "__annotate_func__"),
        *("__annotations_cache__", "__classdictcell__"),
    }
)


class _Named(NamedTuple):
    """To know the kind of the fields of such classes by."""

    field: int


def source_of(mechanism: object) -> str:
    """The hash of a mechanism: its modules' text, its classes, and all values they hold.

    Values are its parameters, attributes of its classes, what its functions closed over, and the
    globals that they name. Functions and classes of onesided, numpy, Python and other installed
    packages are told by name; of any other module, its text and what code names of it.
    Errors: ParameterError if a text cannot be read, or for a value that holds what is not seen or
    lies too deep, and for code that imports such a module only when it runs.

    >>> from onesided.mechanism import Counts
    >>> one, other = Counts(1, 1), Counts(2, 1)
    >>> source_of(one) == source_of(Counts(1, 1)), source_of(one) == source_of(other)
    (True, False)
    """
    code = mechanism if isinstance(mechanism, FunctionType | type) else type(mechanism)
    try:
        parts = "\n".join(_Telling(package(code.__module__)).of(mechanism))
    except RecursionError as error:
        raise ParameterError(
            f"A value of {code.__qualname__} holds others too many levels deep, so no check can be "
            "told to be about it.",
            hint="Hold numbers, text, arrays, or lists of them.",
        ) from error
    return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class _Telling:
    """Tells each thing once; ``seen`` keeps what was told, and its number, by its identity.

    home: the package of the mechanism, of which nothing is told by name alone.
    """

    home: str
    seen: dict[int, tuple[int, object]] = field(default_factory=dict)

    def of(self, value: Any) -> Iterator[str]:
        """Everything that ``value`` is made of, as lines of text."""
        if type(value) in _PLAIN:
            yield f"{type(value).__qualname__} {value!r}"
        elif id(value) in self.seen:
            yield f"again {self.seen[id(value)][0]}"
        else:
            self.seen[id(value)] = len(self.seen), value
            yield from self._once(value)

    def _once(self, value: Any) -> Iterator[str]:
        kind = type(value)
        if (name := self._name_in_library(value)) is not None:
            yield f"library {name}"
        elif isinstance(value, ModuleType):
            yield from self.of_module(value)
        elif (tell := _KINDS.get(kind)) is not None:
            yield from tell(self, value)
        elif isinstance(value, type):
            yield from self.of_class(value)
        elif isinstance(value, Policy):
            yield f"{kind.__qualname__} {text_of(kind)} {value.to_toml()}"
        elif isinstance(value, np.generic):
            yield from self.of_array(np.asarray(value))
        else:
            yield from self.of_object(value)

    def of_module(self, value: ModuleType) -> Iterator[str]:
        yield f"module {value.__name__}"
        if not self._of_library(value.__name__):
            yield text_of_module(value.__name__, value.__name__)

    def of_many(self, value: Any) -> Iterator[str]:
        yield f"{type(value).__qualname__} {len(value)}"
        for one in value:
            yield from self.of(one)

    def of_table(self, value: Any) -> Iterator[str]:
        yield f"mapping {len(value)}"
        for pair in value.items():
            yield from self.of(tuple(pair))

    def of_set(self, value: Any) -> Iterator[str]:
        # In no order, so each on its own.
        yield f"set {len(value)}"
        yield from sorted("\n".join(_Telling(self.home, dict(self.seen)).of(one)) for one in value)

    def of_array(self, value: Any) -> Iterator[str]:
        yield f"array {value.dtype.descr} {value.shape}"
        if value.dtype.hasobject:
            yield from self.of(value.tolist())
        else:
            yield hashlib.sha256(value.tobytes()).hexdigest()

    def of_partial(self, value: Any) -> Iterator[str]:
        yield "partial"
        yield from self.of([value.func, value.args, value.keywords, vars(value)])

    def of_method(self, value: Any) -> Iterator[str]:
        yield "method"
        yield from self.of([value.__func__, value.__self__])

    def of_built_in(self, value: Any) -> Iterator[str]:
        yield f"built-in {value.__name__}"
        yield from self.of(value.__self__)

    def of_wrapped(self, value: Any) -> Iterator[str]:
        yield type(value).__qualname__
        yield from self.of(value.__func__)

    def of_property(self, value: Any) -> Iterator[str]:
        yield "property"
        yield from self.of([value.fget, value.fset, value.fdel])

    def of_cached(self, value: Any) -> Iterator[str]:
        yield "cached"
        yield from self.of(value.func)

    def of_slot(self, value: Any) -> Iterator[str]:
        yield f"slot {value.__name__}"

    def of_field(self, value: Any) -> Iterator[str]:
        yield f"field {value.__reduce__()[1][0]}"

    def of_part(self, value: Any) -> Iterator[str]:
        yield f"part {value.__name__}"
        yield from self.of(value.__objclass__)

    def of_function(self, value: Any) -> Iterator[str]:
        yield f"{value.__qualname__} {text_of(value)}"
        held = [_held(cell) for cell in value.__closure__ or ()]
        yield from self.of([value.__defaults__, value.__kwdefaults__, held, vars(value)])
        yield from self.of(value.__code__)
        if not is_fixed(value.__module__):
            self._refuse_late_imports(value)
            yield from self.of_named(value.__globals__, sorted(_names_in(value.__code__)), [])

    def of_named(
        self, around: dict[str, Any], names: list[str], passed: list[object]
    ) -> Iterator[str]:
        """What code sees by these names in a module, and through the modules that it sees there."""
        passed.append(around)
        found = {name: around[name] for name in names if name in around}
        yield from self.of(found)
        for one in found.values():
            if isinstance(one, ModuleType) and not self._of_library(one.__name__):
                inside = vars(one)
                if not any(inside is other for other in passed):
                    yield from self.of_named(inside, names, passed)

    def of_code(self, value: Any) -> Iterator[str]:
        # The text of a module does not tell two functions of one name in it apart.
        yield f"code {value.co_code.hex()} {value.co_flags}"
        yield from self.of([value.co_consts, value.co_names, value.co_varnames])

    def of_class(self, value: Any) -> Iterator[str]:
        yield f"{value.__qualname__} {text_of(value)}"
        if not is_fixed(value.__module__):
            yield from self.of([base for base in value.__mro__[1:] if base is not object])
            told = {name: one for name, one in vars(value).items() if name not in _ABOUT}
            yield from self.of(dict(sorted(told.items())))

    def of_object(self, value: Any) -> Iterator[str]:
        kinds = type(value).__mro__[:-1]
        for kind in kinds:
            if kind in _INSIDE:
                yield from _INSIDE[kind](self, value)
            elif kind in _PLAIN:
                plain: Any = kind
                yield f"{kind.__qualname__} {plain.__repr__(value)}"
            else:
                _refuse_hidden(kind)
                yield f"{kind.__qualname__} {text_of(kind)}"
                if not is_fixed(kind.__module__):
                    yield from self.of(kind)
        yield from self.of(_fields(value))

    def _name_in_library(self, value: Any) -> str | None:
        """The name of a function or class under which a library has it; else None."""
        module = getattr(value, "__module__", None)
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        if isinstance(value, np.ufunc):
            module = "numpy"
        if not (isinstance(module, str) and isinstance(name, str) and self._of_library(module)):
            return None
        found: Any = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is not value:
            return None
        written = isinstance(value, FunctionType) and not is_fixed(module)
        return f"{module}.{name} {text_of(value) if written else ''}"

    def _refuse_late_imports(self, function: FunctionType) -> None:
        """Refuse code that imports what nobody can tell before it runs. Errors: ParameterError."""
        if self._of_library(function.__module__):
            return
        for name in imports_in(function.__code__):
            if not is_installed(name, apart_from=self.home):
                raise ParameterError(
                    f"{function.__qualname__} imports {name or 'its own package'} when it runs, "
                    "so no check can be told to be about it.",
                    hint="Import it at the top of the file.",
                )

    def _of_library(self, module: str) -> bool:
        """Whether a module is of Python, of ours, or of another package that is installed."""
        if is_fixed(module):
            return True
        return package(module) != self.home and in_packages(module)


_KINDS: Final[dict[type, Callable[[_Telling, Any], Iterator[str]]]] = {
    **dict.fromkeys(_LISTS, _Telling.of_many),
    **dict.fromkeys(_TABLES, _Telling.of_table),
    **dict.fromkeys(_SETS, _Telling.of_set),
    np.ndarray: _Telling.of_array,
    partial: _Telling.of_partial,
    MethodType: _Telling.of_method,
    BuiltinFunctionType: _Telling.of_built_in,
    FunctionType: _Telling.of_function,
    CodeType: _Telling.of_code,
    type(vars(_Named)["field"]): _Telling.of_field,
    staticmethod: _Telling.of_wrapped,
    classmethod: _Telling.of_wrapped,
    property: _Telling.of_property,
    cached_property: _Telling.of_cached,
    MemberDescriptorType: _Telling.of_slot,
    GetSetDescriptorType: _Telling.of_slot,
    WrapperDescriptorType: _Telling.of_part,
    MethodDescriptorType: _Telling.of_part,
    ClassMethodDescriptorType: _Telling.of_part,
}
# What an object of a class derived from one of these holds besides its fields.
_INSIDE: Final[dict[type, Callable[[_Telling, Any], Iterator[str]]]] = {
    list: lambda telling, value: telling.of(list(list.__iter__(value))),
    tuple: lambda telling, value: telling.of(list(tuple.__iter__(value))),
    dict: lambda telling, value: telling.of(dict(dict.items(value))),
    set: lambda telling, value: telling.of(set(set.__iter__(value))),
    frozenset: lambda telling, value: telling.of(set(frozenset.__iter__(value))),
    np.ndarray: lambda telling, value: telling.of(value.view(np.ndarray)),
}


def _names_in(code: CodeType) -> set[str]:
    """The names that a function's code, and functions within it, may look up."""
    inner = [_names_in(one) for one in code.co_consts if isinstance(one, CodeType)]
    return set(code.co_names).union(*inner)


def _held(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not yet set
        return None


def _refuse_hidden(kind: type) -> None:
    """Refuse a class whose objects hold more than slots and a ``__dict__``. Errors: ParameterError.

    Whatever is written in Python keeps all it holds there; what is written in C may not.
    """
    base = kind.__base__ or object
    own = vars(kind)
    slots = sum(isinstance(one, MemberDescriptorType) for one in own.values())
    room = slots + ("__dict__" in own) + ("__weakref__" in own)
    inside = any(one in base.__mro__ for one in (*_INSIDE, *_PLAIN))
    size = kind.__basicsize__ - base.__basicsize__
    if size > room * _POINTER or (kind.__itemsize__ and not inside):
        raise ParameterError(
            f"A value of {kind.__module__}.{kind.__qualname__} has no fixed form, so no check can "
            "be told to be about a mechanism that holds one.",
            hint="Hold numbers, text, arrays, lists, or objects of classes written in Python.",
        )


_POINTER: Final = object.__basicsize__ // 2


def _fields(value: object) -> dict[str, object]:
    slots = {
        name: one
        for kind in type(value).__mro__
        for name, one in vars(kind).items()
        if isinstance(one, MemberDescriptorType)
    }
    held = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return {**held, **getattr(value, "__dict__", {})}
