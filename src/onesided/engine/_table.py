"""A caller's table, as prepared questions see it: its columns and their types, never a row.

Rows are looked at by :meth:`Table.take` alone, which takes a snapshot of the columns it is given.
Grouping and counting run inside the engine; what comes back is one number per group.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, Final

import narwhals as nw

from onesided._process import this_process
from onesided.engine._declared import declare
from onesided.engine._gate import enter
from onesided.engine._protocol import KIND, LENGTH, ORDER, Column, Engine, Lazy, Taking, places_of
from onesided.engine._reading import reading
from onesided.engine._snapshot import Snapshot, is_wide, joinable
from onesided.errors import DataError, UnknownColumnError
from onesided.fields import settle
from onesided.policy import Predicate
from onesided.schema import Schema

__all__ = ["KIND", "LENGTH", "ORDER", "Lazy", "Step", "Table"]

OBJECTS: Final = (
    ' In pandas: frame["x"].astype("Int64"), "boolean" or "date32[pyarrow]"; pd.to_datetime for '
    'moments; decimals as text, .astype("str"), with a schema that declares a number.'
)


@dataclass(frozen=True, eq=False)
class Step:
    """What is made of a snapshot: columns beside its own, or in their place.

    before: the table that it is made of. made: the columns, with their types. needs: of which
    columns. make: adds them to a snapshot. thins: made columns of which some are taken of many
    rows, and leave out those without a value: each with the column of the values.

    >>> import polars as pl
    >>> ages = Table(pl.DataFrame({"age": [7, 40]}))
    >>> made = {"half": nw.Int64()}
    >>> step = Step(ages, made, ("age",), lambda s: s.with_columns({"half": nw.col("c0") // 2}))
    >>> with ages.made_by(step, schema=made).take(["half"]) as rows:
    ...     rows.columns(["c1"])["c1"].to_list()
    [3, 20]
    """

    before: Table
    made: Mapping[str, nw.dtypes.DType]
    needs: tuple[str, ...]
    make: Callable[[Snapshot], Snapshot]
    thins: Mapping[str, str] | None = None


@dataclass(frozen=True, eq=False)
class Table:
    """A caller's table: what its columns are, and how snapshots of them are taken.

    declared: a schema, by which columns of text are read. unit: the column of units, if it does not
    name it. complete: it must fit all of them.
    read_as: the columns of text that it had read as other types. joined: what tells public tables
    that were joined with it from others. step: how it is made of another one. owner: the column of
    units without which a row is left out wherever rows are looked at; None leaves none out. home:
    the process that opened it.

    >>> import polars as pl
    >>> sorted(Table(pl.DataFrame({"person": [1, 1, None], "age": [7.0, None, 9.0]})).schema)
    ['age', 'person']
    """

    engine: Engine
    schema: Mapping[str, nw.dtypes.DType]
    read_as: Mapping[str, str]
    joined: str
    step: Step | None
    owner: str | None = None
    home: tuple[int, int] = field(init=False)

    def __init__(
        self,
        data: object,
        *,
        declared: Schema | None = None,
        unit: str | None = None,
        complete: bool = True,
    ) -> None:
        engine, schema = enter(data), Schema() if declared is None else declared
        texts = declare(engine, schema, unit=unit, complete=complete)
        settle(self, engine=engine, schema=dict(engine.types), read_as=texts, joined="", step=None)
        settle(self, home=this_process())

    def made_by(
        self, step: Step, *, schema: Mapping[str, nw.dtypes.DType], joined: str | None = None
    ) -> Table:
        """The table that a step makes, with these columns."""
        return self._with(
            schema=dict(schema), joined=self.joined if joined is None else joined, step=step
        )

    def of_somebody(self, owner: str) -> Table:
        """The same table, of which rows that are nobody's are never looked at.

        >>> import polars as pl
        >>> visits = Table(pl.DataFrame({"person": ["1", "", None]})).of_somebody("person")
        >>> with visits.take(()) as rows:
        ...     rows.height()
        1
        """
        return self._with(owner=owner)

    def _with(self, **changed: object) -> Table:
        """The same engine's table, of which something else is so."""
        made = object.__new__(Table)
        held = {one.name: getattr(self, one.name) for one in fields(self)}
        settle(made, **{**held, **changed})
        return made

    @property
    def _columns(self) -> str:
        named = ", ".join(self.schema)
        return f"The table's columns are {named}." if named else "The table has no columns."

    def require(self, *columns: str) -> None:
        """Refuse columns that the table does not have, or of types that nothing can be asked of.

        Errors: UnknownColumnError; DataError naming the type.
        """
        for name in columns:
            if not isinstance(name, str):
                raise UnknownColumnError(
                    f"A column is named by text, got {name!r}.", hint=self._columns, column=name
                )
            kind = self.engine.refused.get(name)
            if kind is None and name not in self.schema:
                raise UnknownColumnError(
                    f"The table has no column {name!r}.",
                    hint=self._columns,
                    column=name,
                )
            if kind is not None or self.schema[name].is_nested():
                raise DataError(
                    f"Column {name!r} holds {kind or self.schema[name]}, of which nothing can be "
                    "asked.",
                    hint="Give the column a plain type: text, booleans, whole numbers, numbers, "
                    f"dates or moments.{'' if name not in self.engine.odd else OBJECTS}",
                    column=name,
                )

    def refuse_collated(self, *names: str) -> None:
        """Refuse text that the engine compares in another way than byte by byte.

        Two units would count as one, and a row in every key that is spelt another way.
        Errors: DataError.
        """
        self.engine.refuse_collated([name for name in names if name in self.engine.types])

    def require_conditions(self, predicates: Sequence[Predicate]) -> None:
        """Refuse conditions that these columns cannot answer. Looks at no row.

        Found here, and not when they are first asked, nothing was charged for what nobody meant.
        Errors: as :class:`Conditions`.
        """
        if not predicates:
            return
        plain = [name for name, dtype in self.schema.items() if not dtype.is_nested()]
        usable = [name for name in plain if name not in self.engine.refused]
        with self.take(usable, rows=False) as empty:
            for predicate in predicates:
                empty.check(predicate)
                self.refuse_collated(*predicate.readable().columns)

    def sources(self, columns: Sequence[str]) -> tuple[str, ...]:
        """The caller's own columns that these are made of.

        Errors: as :meth:`require`.
        """
        self.require(*columns)
        if self.step is None:
            return tuple(dict.fromkeys(columns))
        made = self.step.made
        below = [name for name in columns if name not in made]
        needs = self.step.needs if len(below) < len(columns) or not below else ()
        return self.step.before.sources([*below, *needs])

    def owns(self, name: str) -> bool:
        """Whether a column is the caller's own, and not made by a step."""
        if self.step is None or name not in self.schema:
            return name in self.schema
        return name not in self.step.made and self.step.before.owns(name)

    def thins(self, name: str, filled: Container[str]) -> bool:
        """Whether a column is made without rows that had no value, as far as anybody can know.

        filled: the caller's own columns that have a value in each row.
        """
        if self.step is None:
            return False
        before, many = self.step.before, self.step.thins
        if name not in self.step.made:
            return before.thins(name, filled)
        if many is None:
            return any(before.thins(one, filled) for one in self.step.needs)
        if name not in many:
            return False
        column = many[name]
        return before.thins(column, filled) or not (before.owns(column) and column in filled)

    @contextmanager
    def source(
        self,
        columns: Sequence[str],
        *,
        rows: bool = True,
        records: bool = False,
        texts: bool = False,
    ) -> Iterator[Snapshot]:
        """A snapshot of the caller's own columns, and of the owner's.

        Errors: DataError if they cannot be read.
        """
        wanted = columns if self.owner is None else list(dict.fromkeys([*columns, self.owner]))
        with self._held(wanted, Taking(rows=rows, records=records, texts=texts)) as held:
            yield held if self.owner is None else held.of_somebody(held.at(self.owner))

    @contextmanager
    def _held(self, columns: Sequence[str], how: Taking) -> Iterator[Snapshot]:
        if this_process() != self.home:  # the threads that read it stayed behind, with their locks
            raise DataError(
                "The table was opened before this process was forked, and would never answer.",
                hint="Open it, and its session, in the process that asks, or start processes by "
                "multiprocessing.get_context('spawn'). Nothing was drawn and nothing was recorded.",
            )
        names = dict(zip(columns, places_of(len(columns)), strict=True))
        with reading():
            taking = self.engine.snapshot(columns, how)
            frame = taking.__enter__()
        try:
            yield Snapshot(self.engine, frame, names, self._refused)
        finally:
            taking.__exit__(None, None, None)

    def over(self, source: Snapshot, columns: Sequence[str]) -> Snapshot:
        """These columns, made of a snapshot of those that :meth:`sources` names."""
        if self.step is None:
            return source.only(columns)
        below = [name for name in columns if name not in self.step.made]
        if below and len(below) == len(columns):
            return self.step.before.over(source, below)
        wanted = list(dict.fromkeys([*below, *self.step.needs]))
        return self.step.make(self.step.before.over(source, wanted)).only(columns)

    @property
    def _refused(self) -> Mapping[str, str]:
        """Columns that no condition looks into, with what they hold."""
        held = self.engine.types.items()
        nested = {name: str(dtype) for name, dtype in held if dtype.is_nested()}
        return {**nested, **self.engine.refused}

    @contextmanager
    def take(self, columns: Sequence[str], *, rows: bool = True) -> Iterator[Snapshot]:
        """A snapshot of these columns, for as long as it is looked at. Secret.

        rows: False takes the columns without rows. Errors: those of :meth:`require`; DataError if
        the table cannot be read.
        """
        with self.source(self.sources(columns), rows=rows) as source:
            yield self.over(source, columns)

    def texts(
        self, columns: Sequence[str], *, records: bool = False
    ) -> AbstractContextManager[Snapshot]:
        """A snapshot of the caller's own columns, owner or not, with the texts that were read.

        Errors: as :meth:`source`.
        """
        return self._held(columns, Taking(records=records, texts=True))

    def unreadable(self) -> dict[str, int]:
        """How many texts of a column cannot be read as declared, where some cannot. Secret."""
        if not self.doubtful:
            return {}
        with self.texts(self.doubtful) as held:
            return held.unreadable()

    @property
    def doubtful(self) -> list[str]:
        """Columns of which some value may not be of the declared form."""
        held = self.engine.readings.items()
        return [name for name, one in held if one.kind != "text" or name in self.engine.odd]

    def comparable(self, name: str) -> nw.dtypes.DType:
        """A type in which a column's values and public ones can be compared."""
        return joinable(self.schema[name])

    def result(self, columns: Mapping[str, Column], *, like: Sequence[str]) -> Any:
        """A public table in the caller's own frame type, lazy if the caller's was."""
        types = {name: joinable(self.schema[name]) for name in like if name in columns}
        told = dict(columns)
        for name, dtype in types.items():
            if is_wide(dtype):
                told[name] = [None if value is None else str(value) for value in columns[name]]
        return self.engine.answer(told, types)
