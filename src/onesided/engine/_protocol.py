"""What an engine must do, in which types, and how its errors are told."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

import narwhals as nw
from numpy.typing import NDArray

from onesided._english import a
from onesided.conditions import Both, Condition, Node, Terms, Translator
from onesided.errors import DataError, OnesidedError, SchemaError, UnknownColumnError, first_line
from onesided.noise import IntArray
from onesided.policy import Predicate, Rule
from onesided.schema import Reading, Schema, Type
from onesided.store import CheckedFiles

if TYPE_CHECKING:
    from onesided.engine._snapshot import Draw, Keeping, Samples, Subject

# An engine's own errors as ours, with what became of the charge.

BEFORE: Final = "Nothing was drawn and nothing was recorded."
STANDS: Final = "The charge stands, and nothing was drawn: ask for its answer again."
AFTER: Final = "The charge stands, and nothing was published."


@contextmanager
def reading(state: str = BEFORE) -> Iterator[None]:
    """Errors: DataError for whatever an engine says; KeyboardInterrupt for Ctrl-C.

    >>> with reading(AFTER):  # doctest: +ELLIPSIS
    ...     raise OSError("no such file")
    Traceback (most recent call last):
      ...
    onesided.errors.DataError: The table could not be read: no such file
    Hint: ... The charge stands, and nothing was published.
    """
    try:
        yield
    except OnesidedError:
        raise
    except BaseException as error:
        name = type(error).__name__
        if name == "InterruptException":
            raise KeyboardInterrupt from error  # DuckDB's word for Ctrl-C
        if not isinstance(error, Exception) and name != "PanicException":  # Polars' own
            raise
        raise DataError(
            f"The table could not be read: {first_line(error)}",
            hint="The file may be damaged or may have changed, or a column may not hold what it "
            f"should. {state}",
        ) from error


# What a room must be able to do.
#
# A question reads the columns that it uses once, as a snapshot, in which they are called c0, c1 and
# so on: no expression of ours ever holds a name of the caller's, nor calls what his catalogue
# holds. All else is relational algebra on snapshots, which narwhals spells alike for every engine.

Lazy: TypeAlias = nw.LazyFrame[Any]
Column: TypeAlias = NDArray[Any] | nw.Series[Any] | Sequence[Any]

KeyTypes: TypeAlias = Mapping[str, nw.dtypes.DType]

# Columns of our own beside the caller's.
KIND: Final = "onesided_kind"
LENGTH: Final = "onesided_length"
ORDER: Final = "onesided_order"
ROW: Final = "onesided_row"
_RANK: Final = "onesided_rank"


@dataclass(frozen=True, slots=True)
class Objects:
    """What a column of Python objects holds that is no text: how many, and some by their rows."""

    kind: str
    count: int
    some: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What one engine says of a snapshot, and how it takes what a translator wrote.

    held, types: by column, its own type and what conditions see in it. terms: how it writes.
    """

    held: Mapping[str, str]
    types: Mapping[str, Type | None]
    terms: Terms[Any]
    add: Callable[[Any, str], Any]
    keep: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class OfFiles:
    """A table, and the files that it was made of, which tell whether it is the same still."""

    table: Any
    files: CheckedFiles | None


@dataclass(frozen=True, slots=True)
class Taking:
    """How a snapshot is taken.

    rows: False takes none, so that types can be asked of. records: columns that ride along in
    samples may be among them, and NaN stays. texts: each column of text that is read as another
    type has two beside it: in :func:`text_of` its place what it held, null for no value, and in
    :func:`unread_of` its place whether that could not be read.
    """

    rows: bool = True
    records: bool = False
    texts: bool = False


class Engine(ABC):
    """One table in its engine.

    types: of every column, as snapshots hold it. refused: columns that may not be used, with what
    they hold. readings: how columns of text are read. odd: columns of objects that are not all
    text; these are refused until a schema says what they are read as. packs: whether whole numbers
    packed into one are faster than columns of them. fixed: whether the rows are for good those that
    it was opened with. files: those that the rows are read from, where they are known.
    """

    packs: ClassVar[bool] = True
    fixed: bool = False
    files: CheckedFiles | None = None

    types: Mapping[str, nw.dtypes.DType]
    refused: Mapping[str, str]
    readings: Mapping[str, Reading] = MappingProxyType({})
    odd: Mapping[str, Objects] = MappingProxyType({})

    @property
    def same(self) -> bool:
        """Whether what was found of the rows when they were opened is true of them still."""
        return self.fixed or (self.files is not None and self.files.same())

    @abstractmethod
    def snapshot(self, columns: Sequence[str], how: Taking) -> AbstractContextManager[Lazy]:
        """These columns as they are now, called ``c0``, ``c1`` ...; nothing changes them any more.

        Within, every reading finds the same rows; afterwards there are none. Values are of types
        of the gate's list: enums and categories are text, NaN is null, text is read as declared.
        Without columns there is one, ``c0``, that holds nothing of the rows but their number.
        """

    def read_as(self, readings: Mapping[str, Reading]) -> None:
        """Read columns of text as declared; what is not of its form is null."""
        self.readings = dict(readings)
        self.retype(list(readings))
        self.refused = {n: kind for n, kind in self.refused.items() if n not in readings}

    def retype(self, names: Sequence[str]) -> None:
        """Ask for the types of these columns, as snapshots hold them."""
        with self.snapshot(names, Taking(rows=False)) as empty:
            found = empty.collect_schema().values() if names else ()
            self.types = {**self.types, **dict(zip(names, found, strict=True))}

    def numbered(self, frame: Lazy) -> Lazy | None:
        """The rows with their places from 1 in :data:`ROW`; None where they have no order."""
        del frame
        return None

    def refuse_collated(self, names: Sequence[str]) -> None:  # noqa: B027 - few have collations
        """Refuse columns of text not compared byte by byte. Errors: DataError."""

    def distinct(self, frame: Lazy) -> Lazy:
        """Each row once."""
        return frame.unique()

    def null_rows(self, frame: Lazy, column: str) -> int:
        """How many rows have no value in ``column``."""
        found = self.fetch(frame.filter(nw.col(column).is_null()).select(nw.len().alias(LENGTH)))
        return int(found[LENGTH][0])

    def key_counts(
        self, rows: Lazy, keys: Mapping[str, Column], types: KeyTypes, *, unit: str | None
    ) -> tuple[IntArray, IntArray]:
        """``(places, counts)``: distinct units (rows if None) per public key that occurs. Secret.

        keys: the key columns, and beside them their places in :data:`ORDER`. types: by key column,
        a type in which the rows' values and the keys can be compared.
        """
        # Grouped first: few groups meet the keys in place of many rows.
        pairs = rows if unit is None else self.distinct(rows.select(unit, *types))
        grouped = pairs.group_by(*types).agg(nw.len().alias(LENGTH))
        found = self.fetch(self.listed(grouped, keys, types).select(ORDER, LENGTH))
        return found[ORDER], found[LENGTH]

    def listed(self, rows: Lazy, keys: Mapping[str, Column], types: KeyTypes) -> Lazy:
        """Rows whose group is a public key, with the key's place in :data:`ORDER`."""
        same = [nw.col(name).cast(dtype) for name, dtype in types.items()]
        small = self.small(keys, like=types).with_columns(*same)
        return rows.with_columns(*same).join(small, on=list(types))

    @abstractmethod
    def small(self, columns: Mapping[str, Column], *, like: KeyTypes) -> Lazy:
        """A public table in the same engine. like: types that columns are compared in, if known."""

    def cast(self, columns: Mapping[str, Column], types: Mapping[str, nw.dtypes.DType]) -> Lazy:
        """A public table in the same engine, with columns of these types."""
        small = self.small(columns, like=types)
        casts = [nw.col(name).cast(dtype) for name, dtype in types.items()]
        return small.with_columns(*casts) if casts else small

    @abstractmethod
    def fetch(self, frame: Lazy) -> dict[str, NDArray[Any]]:
        """Aggregates, whole numbers in every column, as arrays."""

    def columns(self, frame: Lazy) -> dict[str, nw.Series[Any] | list[Any]]:
        """Every column in memory, as a series or as Python's values. Secret."""
        found = frame.collect()
        return {name: found[name] for name in found.columns}

    def groups(self, frame: Lazy) -> nw.DataFrame[Any]:
        """Groups that occur, in memory. Secret.

        Errors: DataError for bytes that an engine takes for text, which could not be told when all
        is paid.
        """
        found = frame.collect()
        if found.implementation.is_pyarrow():
            with reading():
                nw.to_native(found).validate(full=True)
        return found

    @abstractmethod
    def with_hash(self, frame: Lazy, names: Sequence[str], hashed: str) -> Lazy:
        """Add whole numbers of 64 bits, the same wherever the values of ``names`` are."""

    def leading(self, rows: Lazy, unit: str, order: Sequence[str], *, most: int) -> Lazy:
        """The first ``most`` rows of each unit, in the order of columns in which no two tie."""
        one = rows.with_columns(nw.lit(1).alias(_RANK))
        ranked = one.with_columns(nw.col(_RANK).cum_sum().over(unit, order_by=order).alias(_RANK))
        return ranked.filter(nw.col(_RANK) <= most).drop(_RANK)

    def first_codes(self, rows: Lazy, unit: str, code: str, *, most: int) -> Lazy | None:
        """Units' first groups by number, in a column ``code``; None where nothing is faster.

        rows: the unit and the number of a group, never null, repeated or not.
        """
        del rows, unit, code, most
        return None

    @abstractmethod
    def words(self, native: Any) -> Words:
        """How conditions are asked of a table of this engine."""

    def refuse_uncut(self) -> None:  # noqa: B027 - most engines have nothing to refuse
        """Refuse columns that cannot be cut out cleanly. Looks at no row. Errors: DataError."""

    @abstractmethod
    def sampler(self, subject: Subject, samples: Samples, keeping: Keeping | None) -> Draw:
        """Check the rows; what is returned flips the coins and cuts. Errors: DataError."""

    def answer(self, columns: Mapping[str, Column], types: Mapping[str, nw.dtypes.DType]) -> Any:
        """A public table of the caller's own type; ``types`` are those of the key columns."""
        named = dict(zip(columns, places_of(len(columns)), strict=True))
        held = {named[name]: column for name, column in columns.items()}
        kinds = {named[name]: dtype for name, dtype in types.items()}
        return self.told(held, kinds, list(columns))

    @abstractmethod
    def told(self, columns: Mapping[str, Column], types: KeyTypes, names: Sequence[str]) -> Any:
        """As :meth:`answer`, of columns called c0, c1 ...; they are to be called ``names``."""


class SteppedEngine(Engine):
    """An engine that reads columns as declared itself, in a few steps.

    reader: the module of its room that writes how text is read.
    """

    reader: ClassVar[Any]

    def steps(self, columns: Sequence[str], how: Taking) -> list[dict[str, Any]]:
        """What is read of columns called c0, c1 ...: step by step, expressions by their names."""
        held = dict(zip(places_of(len(columns)), columns, strict=True))
        read = {at: self.readings[name] for at, name in held.items() if name in self.readings}
        plain = {at: self.plain(name, at, how) for at, name in held.items()}
        if not read:
            return [plain]
        reader, texts = self.reader, {at: text_of(at) for at in read}
        others = {at: reader.column(at) for at in held if at not in read}
        known = {texts[at]: reader.known(at, one) for at, one in read.items()}
        beside = [at for at, one in read.items() if how.texts and one.kind != "text"]
        told = {texts[at]: reader.column(texts[at]) for at in beside}
        values = {at: reader.value(at, one) for at, one in read.items()}
        shaped = {at: reader.canonical(texts[at], one) for at, one in read.items()}
        lost = {unread_of(at): reader.lost(texts[at], values[at]) for at in beside}
        return [
            plain,
            {**others, **known},
            {**others, **told, **shaped},
            {**{at: values[at] if at in read else others[at] for at in held}, **told, **lost},
        ]

    @abstractmethod
    def plain(self, name: str, place: str, how: Taking) -> Any:
        """A column before it is read, in which NaN is null."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Tables of one library, and the engine that they enter.

    library: its module; what is not loaded has no table here. tables: their classes' names in it.
    opens: the module and the name of what makes an engine of a table; it may import the library.
    names: reads the columns' names.
    """

    library: str
    tables: tuple[str, ...]
    opens: str
    names: Callable[[Any], Sequence[object]]

    def open(self, native: Any) -> Engine:
        """The engine of a table of this library."""
        module, name = self.opens.split(":")
        made: Engine = getattr(import_module(f"onesided.engine.{module}"), name)(native)
        return made


def text_of(place: str) -> str:
    """What the text is called that a column held before it was read."""
    return f"onesided_text_{place}"


def unread_of(place: str) -> str:
    """What it is called whether the text of a column could not be read."""
    return f"onesided_unread_{place}"


def places_of(number: int) -> list[str]:
    """What columns are called inside."""
    return [f"c{place}" for place in range(number)]


# Conditions on rows, translated to the engine's own expressions: true, false or unknown.


class Conditions:
    """Conditions on the rows of one snapshot, in the words of its engine.

    words: of the snapshot in its engine. names: what the columns that conditions name are called
    there. refused: columns that may not be used, with what they hold.
    Errors of all: UnknownColumnError; DataError for a column of a type that conditions cannot look
    at; ConditionError for mixtures of types.
    """

    def __init__(self, words: Words, names: Mapping[str, str], refused: Mapping[str, str]) -> None:
        self._words, self._refused, self._names = words, refused, names
        self._translator: Translator[Any] = Translator(_Named(words.terms, names))

    def with_values(self, predicate: Predicate, name: str) -> Lazy:
        """Add a column: true, false or null."""
        return self._added(self._translator.three_valued(self._tree(predicate)), name)

    def with_not_false(self, predicate: Predicate, name: str) -> Lazy:
        """Add a column: true where the condition is true or unknown, else false."""
        return self._added(self._translator.not_false(self._tree(predicate)), name)

    def where(self, predicate: Predicate) -> Lazy:
        """The rows for which the condition is true."""
        return self._filtered(self._translator.where(self._tree(predicate)))

    def where_not_false(self, predicate: Predicate) -> Lazy:
        """The rows for which the condition is true or unknown."""
        return self._filtered(self._translator.not_false(self._tree(predicate)))

    def of_kinds(self, rules: Sequence[Rule], default: str, counted: frozenset[str]) -> Lazy:
        """The rows of some kinds: the first rule all of whose conditions hold, or are unknown."""
        trees = []
        for rule in rules:
            parts = tuple(map(self._tree, rule.predicates))
            tree = parts[0] if len(parts) == 1 else Both(op="AND", members=parts)
            trees.append((tree, rule.kind in counted))
        return self._filtered(self._translator.kept(trees, default=default in counted))

    def _tree(self, predicate: Predicate) -> Node:
        condition: Condition = predicate.readable()
        held = {name: self._words.held[place] for name, place in self._names.items()}
        types = {name: self._words.types[place] for name, place in self._names.items()}
        # The condition with types. Errors: as :class:`Conditions`.
        natives = {**held, **self._refused}
        for column in condition.columns:
            if column in natives and types.get(column) is None:
                raise DataError(
                    f"The condition {condition.text!r} looks into {column}, which holds "
                    f"{natives[column]}.",
                    hint="Conditions look at text, booleans, numbers, dates and moments. Put the "
                    "value into a column of its own, of such a type.",
                    column=column,
                )
        return condition.bind({name: kind for name, kind in types.items() if kind}).tree

    def _added(self, made: Any, name: str) -> Lazy:
        return nw.from_native(self._words.add(made, name))  # type: ignore[no-any-return]

    def _filtered(self, made: Any) -> Lazy:
        return nw.from_native(self._words.keep(made))  # type: ignore[no-any-return]


class _Named:
    """Words of an engine, asked by the names that people use."""

    def __init__(self, terms: Any, names: Mapping[str, str]) -> None:
        self._terms, self._names = terms, names

    def column(self, name: str, kind: Type) -> Any:
        return self._terms.column(self._names[name], kind)

    def __getattr__(self, operation: str) -> Any:
        return getattr(self._terms, operation)


# A table as a schema declares it: typed columns must be of their types, text is read as them.

# What engines call a column that holds nothing at all.
_NOTHING: Final = ("Null", "void")


def declare(
    engine: Engine, schema: Schema, *, unit: str | None = None, complete: bool = True
) -> dict[str, str]:
    """Read the engine's text as ``schema`` declares it, and say which. Looks at no row.

    unit: the column of units, if the schema does not name it. complete: every declared column must
    be there.
    Errors: UnknownColumnError; SchemaError where a typed column is of another type, and where
    several texts would be one unit.
    """
    held = dict(engine.types)
    readings: dict[str, Reading] = {}
    unit = schema.unit if unit is None else unit
    for name, column in schema.columns.items():
        dtype, refused = held.get(name), engine.refused.get(name)
        if dtype is None and refused is None:
            if complete:
                raise UnknownColumnError(
                    f"The schema declares a column {name!r}, which the table does not have.",
                    hint=f"Its columns are {', '.join(list(held)[:50])}.",
                    column=name,
                )
        elif (
            refused in _NOTHING
            or name in engine.odd
            or (refused is None and isinstance(dtype, nw.String))
        ):
            reading = schema.reading(name)
            reading = reading.of_unit(name) if name == unit else reading
            if reading != Reading("text") or refused:
                readings[name] = reading
        elif refused is not None or dtype is None or not _holds(dtype, column.type):
            raise SchemaError(
                f"The schema declares {name!r} as {column.type}, but the table holds "
                f"{refused or dtype}.",
                hint="Correct the schema, or cast the column: only text is read as what a schema "
                "says.",
                column=name,
            )
    if isinstance(unit, str) and unit not in schema.columns and unit not in engine.refused:
        text = isinstance(held.get(unit), nw.String)
        readings |= {unit: Reading("text", schema.missing)} if text and schema.missing else {}
    if readings:
        engine.read_as(readings)
    return {name: one.kind for name, one in readings.items() if one.kind != "text"}


def _holds(dtype: nw.dtypes.DType, kind: str) -> bool:
    """Whether a typed column is of a declared type."""
    if isinstance(dtype, nw.Datetime):
        return kind == ("datetime with zone" if dtype.time_zone is not None else "datetime")
    if kind == "number":
        return dtype.is_float() or dtype.is_decimal()
    plain: Mapping[str, type[nw.dtypes.DType]] = {
        "boolean": nw.Boolean,
        "date": nw.Date,
        "time": nw.Time,
        "duration": nw.Duration,
    }
    return (
        dtype.is_integer()
        if kind == "integer"
        else kind in plain and isinstance(dtype, plain[kind])
    )


# The one gate through which a table enters: which engine claims it, and columns of known types.


def enter(data: object) -> Engine:
    """The table in its engine.

    Errors: DataError for an object that no engine claims, and for columns of the same name.
    """
    if isinstance(data, OfFiles):
        engine = enter(data.table)
        engine.files = data.files
        return engine
    native: Any = nw.to_native(data, pass_through=True)
    for room in _rooms():
        library = sys.modules.get(room.library)
        known = () if library is None else tuple(getattr(library, name) for name in room.tables)
        if isinstance(native, known):
            with reading():
                _refuse_names(room.names(native))
                return room.open(native)
    kind = type(native)
    origin = kind.__module__.split(".")[0]
    called = kind.__name__ if origin == "builtins" else f"{kind.__name__} of {origin}"
    raise DataError(
        f"Cannot read {a(called)} as a table.",
        hint="Give a Polars, pandas or PyArrow table, a DuckDB relation, a table of Ibis, or one "
        "of Spark itself (not Spark Connect); read files with the library of your choice.",
    )


@cache
def _rooms() -> tuple[Room, ...]:
    """Every room is a folder beside this file, which says what it takes."""
    folders = [found.name for found in iter_modules([str(Path(__file__).parent)]) if found.ispkg]
    rooms = (import_module(f"onesided.engine.{name}").ROOMS for name in folders)
    return tuple(room for several in rooms for room in several)


def _refuse_names(names: Sequence[object]) -> None:
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str) or name in seen:
            why = "has the name of another one" if name in seen else "is named by no text"
            raise DataError(f"The column {name!r} {why}.", hint="Rename it.", column=name)
        seen.add(name)
