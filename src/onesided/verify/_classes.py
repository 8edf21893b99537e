"""The classes of outputs: a program may not change them, for they are seen as well.

What a class holds is no field of any output, yet whoever is given the output can look at it. So
what is known of a class when its first object is seen must be the same after every data set.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from types import FunctionType, MappingProxyType
from typing import Any, Final

from onesided.errors import ParameterError

_DEEP: Final = 5
MRO: Final = type.__dict__["__mro__"].__get__
HELD: Final = type.__dict__["__dict__"].__get__
"""The real order of bases and the real contents of a class, whatever its own class says."""


class _Same:
    """Equal to itself alone, and alive for as long as it is compared."""

    __slots__ = ("held",)

    def __init__(self, held: object) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.held is other.held

    def __hash__(self) -> int:
        return id(self.held)


class Classes:
    """What each class that was seen held at first; ``data`` tells data by its form.

    >>> class Told:
    ...     secret = 0
    >>> known = Classes(repr)
    >>> known.see([Told])
    >>> known.refuse_changed()
    >>> Told.secret = 1
    >>> known.refuse_changed()  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    onesided.errors.ParameterError: The program changes the class Told of what it returns.
    """

    def __init__(self, data: Callable[[Any], Any]) -> None:
        self._data = data
        self._first: dict[type, Any] = {}
        self._here = threading.local()

    def see(self, kinds: Iterable[type]) -> None:
        """Remember these classes as they are, unless they were seen before."""
        for kind in kinds:
            if kind not in self._first:
                self._first[kind] = self._state(kind)
            self._lately().add(kind)

    def begin(self) -> None:
        """Forget which were seen lately."""
        self._here.kinds = set()

    def _lately(self) -> set[type]:
        """Of this thread alone: others may be at a check of their own."""
        if not hasattr(self._here, "kinds"):
            self.begin()
        kinds: set[type] = self._here.kinds
        return kinds

    def refuse_changed(self) -> None:
        """Errors: ParameterError if a class that was seen lately is not as it was at first."""
        for kind in self._lately():
            if self._first[kind] != self._state(kind):
                raise ParameterError(
                    f"The program changes the class {kind.__name__} of what it returns.",
                    hint="Keep what is told in the object itself: its class is seen as well.",
                )

    def _state(self, kind: type) -> Any:
        own = [base for base in MRO(kind) if base.__module__ != "builtins"]
        # Python itself adds empty annotations when somebody asks for them.
        return [
            {
                name: self._deep(value, _DEEP)
                for name, value in HELD(base).items()
                if name != "__annotations__" or value
            }
            for base in own
        ]

    def _deep(self, value: Any, left: int) -> Any:
        if left == 0:
            return _Same(value)
        if isinstance(value, FunctionType):
            held = (value.__defaults__, value.__kwdefaults__, vars(value), *_filled(value))
            return value.__code__, *(self._deep(one, left - 1) for one in held)
        if isinstance(value, property):
            parts = (value.fget, value.fset, value.fdel)
            return tuple(self._deep(one, left - 1) for one in parts)
        if isinstance(value, classmethod | staticmethod):
            return self._deep(value.__func__, left - 1)
        return self._plain(value, left)

    def _plain(self, value: Any, left: int) -> Any:
        if isinstance(value, tuple | list):
            return type(value), [self._deep(one, left - 1) for one in value]
        if isinstance(value, dict | MappingProxyType):
            return type(value), self._items(value, left)
        try:
            return self._data(value)
        except ParameterError:
            return _Same(value), sorted(map(repr, value)) if isinstance(value, set) else ()

    def _items(self, value: Mapping[Any, Any], left: int) -> list[Any]:
        return [(_Same(key), self._deep(one, left - 1)) for key, one in value.items()]


def _filled(function: FunctionType) -> Iterator[Any]:
    """What the function's closure holds, where it holds anything yet."""
    for cell in function.__closure__ or ():
        with suppress(ValueError):
            yield cell.cell_contents
