"""A declared field, said once: how it is read, its words, its example, and how TOML holds it.

    @dataclass(frozen=True)
    class Noisy:
        upper_rate: Field[Loss | Number, Loss] = Field(rate)     # takes "1/2", holds Fraction(1, 2)
        most: Whole = Field(whole, least=1, default=1)

A field takes what its reader takes and holds what that returns; a reader gets the field's name
for its errors. What concerns several fields stands in ``__post_init__``, and may :func:`settle`
them. Such a class has no slots: the values lie where any object's do.

A table that somebody wrote is read by :func:`read`, by the fields of a class or by a mapping of
fields. An error in it says in ``values["at"]`` which keys and places of lists lead to what is
wrong; :func:`onesided.store.toml_document` adds the line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, Final, Generic, TypeAlias, TypeVar, cast, overload

from onesided._numbers import Loss, Number
from onesided.errors import OnesidedError, ParameterError

Taken = TypeVar("Taken")
Held = TypeVar("Held")
Made = TypeVar("Made")
Raised = TypeVar("Raised", bound=OnesidedError)
Reader: TypeAlias = Callable[..., Held]
_NOTHING: Final = object()
_SHOWN: Final = 60


class Field(Generic[Taken, Held]):
    """A field that takes one type and holds another.

    >>> from dataclasses import dataclass
    >>> from onesided._numbers import positive
    >>> @dataclass(frozen=True)
    ... class Price:
    ...     epsilon: Exact = Field(positive, example="1/2")
    >>> Price("1/2")
    Price(epsilon=Fraction(1, 2))
    >>> read(fields_of(Price), {"epsilon": 3}, what="the price")
    {'epsilon': Fraction(3, 1)}
    """

    def __init__(
        self,
        read: Reader[Held],
        *,
        default: Any = _NOTHING,
        optional: bool = False,
        example: str = "",
        **more: Any,
    ) -> None:
        """optional: None is held as it is. more: what the reader takes beside value and name.

        example: a value as TOML has it, for errors.
        """
        self._read, self._default, self._optional, self._more = read, default, optional, more
        self.example = example

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self._default is _NOTHING

    def read(self, value: Any, *, name: str) -> Held:
        """What the field holds of a value. Errors: those of its reader, which say ``name``."""
        if value is None and self._optional:
            return cast("Held", value)  # which then has None
        try:
            return self._read(value, name=name, **self._more)
        except OnesidedError as error:
            if self.example and "For example" not in error.hint:
                key = name.rpartition(".")[2]
                error.hint = f"{error.hint} For example {key} = {self.example}".lstrip()
            raise

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, held: None, owner: type) -> Taken: ...
    @overload
    def __get__(self, held: object, owner: type) -> Held: ...
    def __get__(self, held: object | None, owner: type) -> Any:
        if held is not None:
            return vars(held)[self._name]
        if self.required:  # how a dataclass learns that there is no default
            raise AttributeError(self._name)
        return self._default

    def __set__(self, held: object, value: Taken) -> None:
        vars(held)[self._name] = self.read(value, name=self._name)


Fields: TypeAlias = Mapping[str, Field[Any, Any]]
Rate: TypeAlias = Field[Loss | Number, Loss]
MaybeRate: TypeAlias = Field[Loss | Number | None, Loss | None]
Exact: TypeAlias = Field[Number, Fraction]
Whole: TypeAlias = Field[int, int]
MaybeWhole: TypeAlias = Field[int | None, int | None]
Text: TypeAlias = Field[str, str]
Flag: TypeAlias = Field[bool, bool]


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


def fields_of(kind: type) -> dict[str, Field[Any, Any]]:
    """The declared fields of a class, in their order."""
    return {name: one for name, one in vars(kind).items() if isinstance(one, Field)}


def read(fields: Fields, table: object, *, what: str, name: str = "") -> dict[str, Any]:
    """Each field's value out of a table that somebody wrote; what is not there is left out.

    what: how errors call the table. name: what the names of its fields begin with in errors.
    Errors: ParameterError for names that are unknown or missing; those of the fields' readers.

    >>> read({"rows": Field(is_number)}, {"row": 3}, what="the file")
    Traceback (most recent call last):
        ...
    onesided.errors.ParameterError: the file has no 'row'. Hint: Its fields: rows.
    """
    if not isinstance(table, Mapping):
        raise _misfit(name or what, "a table", table)
    for key in table:
        if key not in fields:
            listed = ", ".join(fields) or "none"
            reason = f"{what} has no {shortened(key)}."
            raise inside(ParameterError(reason, hint=f"Its fields: {listed}."), key)
    for key, one in fields.items():
        if one.required and key not in table:
            example = f"Write {key} = {one.example}" if one.example else "Give it a value."
            raise ParameterError(f"{key} is missing: {what} needs it.", hint=example)
    found: dict[str, Any] = {}
    for key in (one for one in fields if one in table):
        try:
            found[key] = fields[key].read(table[key], name=f"{name}.{key}" if name else key)
        except OnesidedError as error:
            raise inside(error, key) from error.__cause__
    return found


def inside(error: Raised, *keys: str | int) -> Raised:
    """An error of a part, as one of the whole: the part's keys come first."""
    at = error.values.get("at", ())
    error.values["at"] = (*keys, *(at if isinstance(at, tuple) else ()))
    return error


def shortened(value: object) -> str:
    """A value for an error, of bearable length."""
    try:
        told = repr(value)
    except ValueError:  # a whole number of more digits than Python writes
        told = "a number of thousands of digits"
    return told if len(told) <= _SHOWN else f"{told[:_SHOWN]}..."


def _misfit(name: str, words: str, value: object) -> ParameterError:
    return ParameterError(
        f"{name} must be {words}, got {value!r}.", hint=f"Give {words}.", value=value
    )


def of(words: str, *types: type) -> Reader[Any]:
    """A reader of values of these types; True and False are no numbers.

    >>> of("text", str)(3, name="over")
    Traceback (most recent call last):
        ...
    onesided.errors.ParameterError: over must be text, got 3. Hint: Give text.
    """

    def value_of(value: object, *, name: str) -> Any:
        if isinstance(value, types) and (bool in types or not isinstance(value, bool)):
            return value
        raise _misfit(name, words, value)

    return value_of


def one_of(value: object, *, name: str, words: Iterable[str]) -> Any:
    """One of these words. Errors: ParameterError, which lists them."""
    known = tuple(words)
    if isinstance(value, str) and value in known:
        return value
    reason = f"{name} must be {', '.join(map(repr, known[:-1]))} or {known[-1]!r}, got "
    raise ParameterError(
        f"{reason}{shortened(value)}.", hint=f"One of {', '.join(known)}.", value=value
    )


def listing(
    each: Reader[Held], words: str = "a list", *, least: int = 0, most: int | None = None
) -> Reader[list[Held]]:
    """A reader of a list, of at least and at most so many items.

    >>> listing(is_text, "a list of names")(["a", 1], name="kinds")
    Traceback (most recent call last):
        ...
    onesided.errors.ParameterError: kinds[1] must be text, got 1. Hint: Give text.
    """

    def list_of(value: object, *, name: str) -> list[Held]:
        sized = isinstance(value, list | tuple) and least <= len(value)
        if not sized or (most is not None and len(value) > most):  # type: ignore[arg-type]
            raise _misfit(name, words, value)
        return [item for _, item in _parts(enumerate(value), each, f"{name}[", "]")]  # type: ignore[arg-type]

    return list_of


def table(each: Reader[Held], words: str = "a table") -> Reader[dict[str, Held]]:
    """A reader of a table with any names."""

    def table_of(value: object, *, name: str) -> dict[str, Held]:
        if not isinstance(value, Mapping):
            raise _misfit(name, words, value)
        return dict(_parts(value.items(), each, f"{name}."))

    return table_of


def _parts(
    items: Iterable[tuple[Any, object]], each: Reader[Held], before: str, after: str = ""
) -> list[tuple[Any, Held]]:
    key: Any = None
    found = []
    try:
        for key, value in items:
            found.append((key, each(value, name=f"{before}{key}{after}")))
    except OnesidedError as error:
        raise inside(error, key) from error.__cause__
    return found


def made(kind: type[Made], **own: Any) -> Reader[Made]:
    """A reader of a value of the class ``kind``, or of a table of its fields.

    own: fields of the class that the table does not have.
    """

    def value_of(value: object, *, name: str) -> Made:
        if isinstance(value, kind):
            return value
        return kind(**read(fields_of(kind), value, what=f"[{name}]", name=name), **own)

    return value_of


def is_name(value: object, *, name: str) -> str:
    """A reader of text that is not empty."""
    if isinstance(value, str) and value:
        return value
    raise _misfit(name, "a name", value)


def is_bool(value: object, *, name: str) -> bool:
    """A reader of True and False, as Python writes them."""
    if isinstance(value, bool):
        return value
    raise _misfit(name, "True or False", value)


is_text: Final[Reader[str]] = of("text", str)
is_flag: Final[Reader[bool]] = of("true or false", bool)
is_number: Final[Reader[Any]] = of("text or a number", str, int, float)
