"""Frozen values whose fields are read once, when they are made: the one way to write them.

    @dataclass(frozen=True)
    class Noisy:
        upper_rate: Given[Loss | Number, Loss] = Given(rate)     # takes "1/2", holds Fraction(1, 2)
        most: Whole = Given(whole, least=1, default=1)

A field takes what its reader takes and holds what that returns; a reader gets the field's name
for its errors. What concerns several fields stands in ``__post_init__``, and may :func:`settle`
them. Such a class has no slots: the values lie where any object's do.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, Generic, TypeAlias, TypeVar, overload

from onesided._numbers import Loss, Number

Taken = TypeVar("Taken")
Held = TypeVar("Held")
_NOTHING: Final = object()


class Given(Generic[Taken, Held]):
    """A field that takes one type and holds another.

    >>> from dataclasses import dataclass
    >>> from onesided._numbers import positive
    >>> @dataclass(frozen=True)
    ... class Price:
    ...     epsilon: Exact = Given(positive)
    >>> Price("1/2")
    Price(epsilon=Fraction(1, 2))
    """

    def __init__(
        self,
        read: Callable[..., Held],
        *,
        default: Any = _NOTHING,
        optional: bool = False,
        **more: Any,
    ) -> None:
        """optional: None is held as it is. more: what the reader takes beside value and name."""
        self._read, self._default, self._optional, self._more = read, default, optional, more

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, held: None, owner: type) -> Taken: ...
    @overload
    def __get__(self, held: object, owner: type) -> Held: ...
    def __get__(self, held: object | None, owner: type) -> Any:
        if held is not None:
            return vars(held)[self._name]
        if self._default is _NOTHING:  # how a dataclass learns that there is no default
            raise AttributeError(self._name)
        return self._default

    def __set__(self, held: object, value: Taken) -> None:
        kept = value is None and self._optional
        found = value if kept else self._read(value, name=self._name, **self._more)
        vars(held)[self._name] = found


Rate: TypeAlias = Given[Loss | Number, Loss]
Exact: TypeAlias = Given[Number, Fraction]
Whole: TypeAlias = Given[int, int]
MaybeWhole: TypeAlias = Given[int | None, int | None]


def settle(value: object, /, **fields: object) -> None:
    """Set fields of a frozen value while it is being made, and never later.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Halved:
    ...     half: int
    ...     def __post_init__(self):
    ...         settle(self, half=self.half // 2)
    >>> Halved(10)
    Halved(half=5)
    """
    for name, field in fields.items():
        object.__setattr__(value, name, field)
