"""A table as questions see it: as it is, as a view, per unit, joined to public columns."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Final

import narwhals as nw

from onesided._english import many
from onesided._numbers import whole
from onesided._process import this_process
from onesided.engine._keys import PublicKeys, check_types, public_keys
from onesided.engine._protocol import (
    BEFORE,
    KIND,
    LENGTH,
    ORDER,
    Column,
    Engine,
    Lazy,
    Taking,
    declare,
    enter,
    places_of,
    reading,
)
from onesided.engine._snapshot import Snapshot, comparable_keys, is_wide, joinable, whole_of
from onesided.errors import DataError, ParameterError, UnknownColumnError
from onesided.fields import settle
from onesided.policy import Predicate, Rule, View
from onesided.schema import Schema

# A caller's table, as prepared questions see it: its columns and their types, never a row.
#
# Rows are looked at by :meth:`Table.take` alone, which takes a snapshot of the columns it is given.
# Grouping and counting run inside the engine; what comes back is one number per group.

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
    that were joined with it from others. made: columns that it did not have, and what they are in
    words. step: how it is made of another one. owner: the column of units without which a row is
    left out wherever rows are looked at; None leaves none out. dated: the columns of units and of
    dates, and how many dates of a unit count, the first ones. home: the process that opened it.
    opened: what tells this opening from others. answers: conditions that its columns were found to
    answer.

    >>> import polars as pl
    >>> sorted(Table(pl.DataFrame({"person": [1, 1, None], "age": [7.0, None, 9.0]})).schema)
    ['age', 'person']
    """

    engine: Engine
    schema: Mapping[str, nw.dtypes.DType]
    read_as: Mapping[str, str]
    joined: str
    made: Mapping[str, str]
    step: Step | None
    owner: str | None = None
    dated: tuple[str, str, int] | None = None
    home: tuple[int, int] = field(init=False)
    opened: object = field(init=False, repr=False)
    answers: set[Predicate] = field(init=False, repr=False)

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
        settle(self, engine=engine, schema=dict(engine.types), read_as=texts, joined="", made={})
        settle(self, step=None, home=this_process(), opened=object(), answers=set())

    def made_by(
        self,
        step: Step,
        *,
        schema: Mapping[str, nw.dtypes.DType],
        joined: str | None = None,
        made: Mapping[str, str] = MappingProxyType({}),
    ) -> Table:
        """The table that a step makes, with these columns. made: how the new ones came about."""
        joined = self.joined if joined is None else joined
        return self._with(schema=dict(schema), joined=joined, made={**self.made, **made}, step=step)

    def of_somebody(self, owner: str) -> Table:
        """The same table, of which rows that are nobody's are never looked at.

        >>> import polars as pl
        >>> visits = Table(pl.DataFrame({"person": ["1", "", None]})).of_somebody("person")
        >>> with visits.take(()) as rows:
        ...     rows.height()
        1
        """
        return self._with(owner=owner)

    def of_first_dates(self, unit: str, column: str, most: int) -> Table:
        """The same table, of which each unit's rows of its first dates alone are looked at.

        No date is one of them, after all others. Which dates these are follows from the unit's own
        rows, and a later date never takes an earlier one's place.

        >>> import datetime as dt, polars as pl
        >>> days = [dt.date(2026, 1, day) for day in (3, 1, 3, 2)]
        >>> visits = Table(pl.DataFrame({"person": [1, 1, 1, 2], "day": days}))
        >>> with visits.of_first_dates("person", "day", 1).take(["person"]) as rows:
        ...     rows.height()
        2
        """
        return self._with(dated=(unit, column, most))

    def _with(self, **changed: object) -> Table:
        """The same engine's table, of which something else is so."""
        made = object.__new__(Table)
        held = {one.name: getattr(self, one.name) for one in fields(self)}
        settle(made, **{**held, "answers": set(), **changed})
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
                    f"The table has no column {name!r}.", hint=self._columns, column=name
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
        new = [one for one in predicates if one not in self.answers]
        if not new:
            return
        plain = [name for name, dtype in self.schema.items() if not dtype.is_nested()]
        usable = [name for name in plain if name not in self.engine.refused]
        named = {name for one in new for name in one.readable().columns}
        # Only where one is missing do the others help to say what was meant.
        wanted = [name for name in usable if name in named] if named <= {*usable} else usable
        with self.take(wanted, rows=False) as empty:
            for predicate in new:
                empty.check(predicate)
                self.refuse_collated(*predicate.readable().columns)
        self.answers.update(new)

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
        needed = [*([] if self.owner is None else [self.owner]), *(self.dated or ())[:2]]
        wanted = list(dict.fromkeys([*columns, *needed])) if needed else columns
        with self._held(wanted, Taking(rows=rows, records=records, texts=texts)) as held:
            found = held if self.owner is None else held.of_somebody(held.at(self.owner))
            if self.dated is not None and rows:
                unit, column, most = self.dated
                found = found.of_first_dates(found.at(unit), found.at(column), most)
            yield found

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


# Kinds by the answer of a query: which groups are marked, by a table's own rows or another's.

_MARK: Final = "onesided_mark"


def require_view(view: View, table: Table, other: Table | None) -> None:
    """Refuse columns that a view cannot be asked of. Looks at no row.

    Errors: UnknownColumnError; ConditionError; DataError for a group column that holds no text and
    no whole numbers, text that is not compared byte by byte, or another type in the other table.

    >>> import polars as pl
    >>> from onesided.policy import view
    >>> homes = Table(pl.DataFrame({"home": ["a"], "age": [9]}))
    >>> require_view(view("age < 18", over="home", members=2).view, homes, None)
    """
    for one in (table, *([] if other is None else [other])):
        one.require(view.over)
        one.refuse_collated(view.over)
        dtype = one.schema[view.over]
        wide = isinstance(dtype, nw.UInt64 | nw.UInt128 | nw.Int128)
        if wide or not (dtype.is_integer() or isinstance(dtype, nw.String)):
            raise DataError(
                f"Column {view.over!r} holds {dtype}, by which a view groups no units.",
                hint="Give the groups text, or whole numbers of 64 bits.",
                column=view.over,
            )
    (table if other is None else other).require_conditions([view.condition])
    if other is not None and table.schema[view.over] != other.schema[view.over]:
        raise DataError(
            f"Column {view.over!r} holds {table.schema[view.over]} in the data and "
            f"{other.schema[view.over]} in the table {view.table!r}.",
            hint="Give both the same type, so that keys are equal in one way alone.",
            column=view.over,
        )


def rule_of(view: View) -> Rule:
    """The condition as a rule on rows, for what looks at rules."""
    return Rule("sensitive", view.condition)


def other_table(view: View | None, tables: Mapping[str, object] | None) -> Table | None:
    """The table that marks groups, by its name; None where the data's own rows do.

    Errors: ParameterError where it is not given, or tables are given that no policy reads.
    """
    wanted = None if view is None else view.table
    given = {} if tables is None else tables
    if not isinstance(given, Mapping) or list(given) != ([wanted] if wanted else []):
        names = ", ".join(map(repr, given)) if isinstance(given, Mapping) else repr(given)
        raise ParameterError(
            f"The policy reads {f'the table {wanted!r}' if wanted else 'no other table'}, and "
            f"tables= gives {names or 'none'}.",
            hint=f"Pass tables={{{wanted!r}: ...}}." if wanted else "Leave tables= out.",
        )
    return Table(given[wanted]) if wanted else None


def of_kinds(
    table: Snapshot,
    view: View,
    other: Snapshot | None,
    *,
    unit: str | None,
    counted: frozenset[str],
) -> Snapshot:
    """The rows of units of these kinds. Secret.

    Kinds are decided over all rows, before anything else picks some of them.
    unit: as it is called in the snapshot. Rows are as :func:`require_households` holds them.
    Errors: ParameterError where the other table is wanted and is not there.

    >>> import polars as pl
    >>> from onesided.policy import view
    >>> people = Table(pl.DataFrame({"home": ["a", "a", "b"], "age": [9, 40, 50]}))
    >>> rule = view("age < 18", over="home", members=2).view
    >>> with people.take(["home", "age"]) as rows:
    ...     of_kinds(rows, rule, None, unit=None, counted=frozenset({"open"})).height()
    1
    """
    if other is None and view.table is not None:
        raise ParameterError(
            f"Which groups are marked is in the table {view.table!r}, which a public table beside "
            "the data does not say.",
            hint="Plan without like=, or count all kinds.",
        )
    over = table.at(view.over)
    marks = _marked(table, view, other)
    # The groups of more units than may change kind in one move.
    units = table.frame.select(*([over] if unit in (None, over) else [unit, over]))
    units = units if unit is None else table.engine.distinct(units)
    sizes = units.group_by(over).agg(nw.len().alias(LENGTH))
    large = sizes.filter(nw.col(LENGTH) > view.members).select(over)
    frame = table.frame
    for name, groups in ((f"{_MARK}_1", marks), (f"{_MARK}_2", large)):
        told = groups.with_columns(nw.lit(True).alias(name))  # noqa: FBT003
        frame = frame.join(told, on=over, how="left")
        frame = frame.with_columns(nw.col(name).fill_null(False))  # noqa: FBT003
    alone = nw.col(over).is_null()
    marked = nw.any_horizontal(
        nw.col(f"{_MARK}_1"), nw.col(f"{_MARK}_2"), alone, ignore_nulls=False
    )
    kind = nw.when(marked).then(nw.lit("sensitive")).otherwise(nw.lit("open"))
    frame = frame.with_columns(kind.alias(KIND))
    return table.of_rows(frame.filter(nw.col(KIND).is_in(sorted(counted))).select(*table.schema))


def require_households(
    view: View, rows: Snapshot, other: Snapshot | None, unit: str | None
) -> None:
    """Hold rows to what a view relies on: each unit in one group, each mark of a group.

    Whoever is in two groups would carry the mark of one into the other.
    rows, other: with the columns that were taken; what is not among them is not asked. unit: as
    people call it. Errors: DataError.

    >>> import polars as pl
    >>> from onesided.policy import view
    >>> people = Table(pl.DataFrame({"person": [1, 1], "home": ["a", "b"]}))
    >>> rule = view("age < 18", over="home", members=2).view
    >>> with people.take(["person", "home"]) as rows:
    ...     require_households(rule, rows, None, "person")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    onesided.errors.DataError: 1 value of 'person' has more than one value in 'home', or ...
    """
    told = view.over in rows.names and unit in rows.names
    several = 0
    if unit is not None and told and rows.at(unit) != rows.at(view.over):
        own = rows.at(unit)
        pairs = rows.engine.distinct(rows.frame.select(own, rows.at(view.over)))
        groups = pairs.group_by(own).agg(nw.len().alias(LENGTH)).filter(nw.col(LENGTH) > 1)
        several = whole_of(rows.scalar(groups.select(nw.len().alias(LENGTH))))
    if several:
        raise DataError(
            f"{many(several, 'value')} of {unit!r} {'has' if several == 1 else 'have'} more than "
            f"one value in {view.over!r}, or one in some rows and none in others.",
            hint=f"A view needs each {unit} in one {view.over}: keep one for each, or take "
            f"unit={view.over!r}. These numbers are not for publication. {BEFORE}",
            units=several,
        )
    lost = 0 if other is None else other.null_rows(other.at(view.over))
    if lost:
        raise DataError(
            f"{many(lost, 'row', one='has', more='have')} no value in the column {view.over!r} of "
            f"the table {view.table!r}.",
            hint=f"Fill it, or remove those rows first. {BEFORE}",
            rows=lost,
            column=view.over,
        )


def _marked(table: Snapshot, view: View, other: Snapshot | None) -> Lazy:
    """The groups that a row of the data, or of the other table, marks, in the data's own engine."""
    over = table.at(view.over)
    if other is None:
        return _groups(table, table.not_false(view.condition), over)
    there = other.at(view.over)
    rows = _groups(other, other.not_false(view.condition), there)
    with reading():
        found = other.engine.groups(rows)[there].to_list()
    if not found:
        return table.frame.select(over).head(0)
    small = table.engine.small({over: found}, like={over: table.schema[over]})
    return small.with_columns(nw.col(over).cast(table.schema[over]))


def _groups(table: Snapshot, rows: Lazy, over: str) -> Lazy:
    known = rows.filter(~nw.col(over).is_null())
    return table.engine.distinct(known.select(over))


# One row for each unit: its rows counted, its values added up, or its largest or smallest kept.
#
# What it does to moves of whole units: nothing. A unit's row here follows from its own rows alone,
# and every unit with a row has one. So tables that differ by all that one unit holds are mapped to
# tables that differ by that unit's one row. Proof: docs/proofs/per-unit.md.

_HINT: Final = (
    'Give "count", ("sum", column, (lowest, highest)), ("max", column), or ("min", column).'
)
_MOST: Final = 2**30  # so that 2^33 rows of a unit add up within 64 bits


def units_of(table: Table, unit: str, columns: Mapping[str, object]) -> Table:
    """The table of units, with these columns. Looks at no row.

    columns: by name, ``"count"`` of rows; ``("sum", column, (lowest, highest))`` of whole numbers,
        each row clipped to the bounds; ``("max", column)`` or ``("min", column)`` of whole numbers
        or dates. Null values are left out; a unit without any has a sum of 0 and no largest.
    Errors: ParameterError for what is none of these; DataError for columns of other types, and for
    names that the table has.

    >>> import polars as pl
    >>> visits = Table(pl.DataFrame({"person": [1, 1, 2], "spent": [5, 900, 7]}))
    >>> made = units_of(visits, "person", {"n": "count", "spent_all": ("sum", "spent", (0, 100))})
    >>> with made.take(["person", "n", "spent_all"]) as rows:
    ...     sorted(rows.frame.collect().rows())
    [(1, 2, 105), (2, 1, 7)]
    """
    if not columns:
        raise ParameterError("Nothing is asked of each unit's rows.", hint=_HINT)
    told = {name: _column(table, name, given) for name, given in columns.items()}
    said = json.dumps([table.joined, unit, columns], default=str, sort_keys=True)
    types: dict[str, nw.dtypes.DType] = {
        unit: table.schema[unit],
        **{name: one.type for name, one in told.items()},
    }
    needs = tuple(dict.fromkeys([unit, *(one.column for one in told.values() if one.column)]))
    of = {name: one.column for name, one in told.items() if one.column}
    step = Step(table, types, needs, lambda rows: _units(rows, unit, told), thins=of)
    how = {name: f"{one.words}{_of(table, one.column)}" for name, one in told.items()}
    digest = hashlib.sha256(said.encode()).hexdigest()
    return table.made_by(step, schema=types, joined=digest, made=how)


def _of(table: Table, column: str) -> str:
    """How a column came about that others are made of; "" where the table had it."""
    return f" ({column}: {table.made[column]})" if column in table.made else ""


@dataclass(frozen=True, slots=True)
class _Made:
    """What a unit's rows become. column: of what; "" of nothing. how: sum, max or min."""

    type: nw.dtypes.DType
    column: str
    how: str
    words: str
    row: Callable[[nw.Expr], nw.Expr]


def _units(rows: Snapshot, unit: str, told: Mapping[str, _Made]) -> Snapshot:
    """One row for each unit."""
    own = rows.at(unit)
    places = rows.fresh(told)
    given = {
        places[name]: one.row(nw.col(rows.at(one.column) if one.column else own))
        for name, one in told.items()
    }
    frame = rows.frame.select(nw.col(own), *(row.alias(n) for n, row in given.items()))
    added = (getattr(nw.col(places[name]), one.how)() for name, one in told.items())
    frame = frame.group_by(own).agg(*added)
    sums = [nw.col(places[n]).cast(nw.Int64()) for n, one in told.items() if one.how == "sum"]
    frame = frame.with_columns(*sums) if sums else frame
    return replace(rows, frame=frame, names={unit: own, **places})


def _column(table: Table, name: str, given: object) -> _Made:
    """What each row brings, and how a unit's rows become one. Errors: as :func:`units_of`."""
    if name in table.schema or name in table.engine.refused:
        raise DataError(
            f"{name!r} is a column of the table already.",
            hint="Give the new column another name.",
            column=name,
        )
    if given == "count":
        words = "the number of a unit's rows"
        return _Made(nw.Int64(), "", "sum", words, lambda _: nw.lit(1).cast(nw.Int64()))
    how, column, *bounds = given if isinstance(given, tuple) and len(given) > 1 else (given, "")
    if how not in ("sum", "max", "min") or len(bounds) != (how == "sum"):
        raise ParameterError(f"{name}={given!r} is nothing to keep of a unit's rows.", hint=_HINT)
    table.require(column)
    dtype = table.schema[column]
    number = dtype.is_integer() and not is_wide(dtype)
    if not number and not (isinstance(dtype, nw.Date) and how != "sum"):
        raise DataError(
            f"Column {column!r} holds {dtype}, of which a unit's {how} is not taken.",
            hint="Whole numbers of 64 bits have all three, dates a largest and a smallest. Cast "
            "it, or round it to whole steps, first.",
            column=column,
        )
    if how != "sum":
        words = f"the {'largest' if how == 'max' else 'smallest'} {column} of a unit's rows"
        return _Made(dtype, column, str(how), words, lambda value: value)
    low, high = _ends(bounds[0])
    words = f"the sum of {column} over a unit's rows, each clipped to {low:,} to {high:,}"
    return _Made(nw.Int64(), column, "sum", words, lambda value: _clipped(value, low, high))


def _ends(bounds: Any) -> tuple[int, int]:
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ParameterError(
            f"The bounds of a sum are a pair (lowest, highest), got {bounds!r}.", hint=_HINT
        )
    low, high = (whole(one, name="bounds", least=-_MOST, most=_MOST) for one in bounds)
    if low >= high:
        raise ParameterError(f"bounds={bounds!r}: the lowest is not below the highest.", hint=_HINT)
    return low, high


def _clipped(value: nw.Expr, low: int, high: int) -> nw.Expr:
    """A row's value within the bounds, 0 where there is none."""
    given = value.cast(nw.Int64())
    inside = nw.when(given > high).then(nw.lit(high)).otherwise(given)
    inside = nw.when(given < low).then(nw.lit(low)).otherwise(inside)
    return nw.when(given.is_null()).then(nw.lit(0)).otherwise(inside).cast(nw.Int64())


# Public columns beside the rows: each row gets those of one public row at most, or nulls.
#
# What a join does to moves: nothing. Public values stand once each in ``on``, so a row is joined
# with one public row or none, whatever the other rows are: rows are mapped one by one, and a table
# that differs by some rows of a unit is mapped to one that differs by the images of the same rows
# of the same unit. Groups by a public column are unions of groups by ``on``: who drops d of these
# drops at most d of their unions. Where a policy says which values a record may pass as, it says so
# of ``on`` and not of what follows from it: there a join is refused.

_PLAIN: Final = (bool, int, float, str, dt.date)


def joined_with(table: Table, frame: object, on: str) -> Table:
    """The table with the columns of a public one. Looks at no row.

    Errors: KeysError for values of ``on`` that stand there twice, or could never match;
    DataError for columns that the table has already, or of other types.

    >>> import polars as pl
    >>> visits = Table(pl.DataFrame({"place": ["gym", "bar"]}))
    >>> joined = joined_with(visits, {"place": ["gym"], "area": ["north"]}, "place")
    >>> with joined.take(["area"]) as rows:
    ...     sorted(rows.columns(["c1"])["c1"], key=str)
    [None, 'north']
    """
    table.require(on)
    table.refuse_collated(on)
    given = public_keys(frame, (on,))
    check_types(given, table.schema)
    added = {name: _of_one_type(name, v) for name, v in given.beside.columns.items()}
    for label in added:
        if label in table.schema or label in table.engine.refused:
            raise DataError(
                f"The public column {label!r} has the name of a column of the table.",
                hint="Rename it: the table's own columns stay as they are.",
                column=label,
            )
    if not added:
        raise DataError(
            "The public table has no column but the one that it is joined on.",
            hint="Give a table with what is known of each value.",
        )
    types = {name: _type_of(values) for name, values in added.items()}
    step = Step(table, types, (on,), lambda rows: _joined(rows, given, added, on))
    told = json.dumps([table.joined, on, given.digest, added], default=str, sort_keys=True)
    digest = hashlib.sha256(told.encode()).hexdigest()
    words = f"public, by {on}, of table {digest[:12]}{_of(table, on)}"
    whole_schema = {**table.schema, **types}
    return table.made_by(step, schema=whole_schema, joined=digest, made=dict.fromkeys(types, words))


def _joined(
    rows: Snapshot, given: PublicKeys, added: Mapping[str, Sequence[Any]], on: str
) -> Snapshot:
    own, dtype = rows.at(on), rows.comparable(rows.at(on))
    places = rows.fresh(added)
    columns: dict[str, Column] = {own: comparable_keys(given, rows.schema, [own])[own]}
    columns |= {places[name]: values for name, values in added.items()}
    small = rows.engine.small(columns, like={own: dtype}).with_columns(nw.col(own).cast(dtype))
    frame = rows.frame.with_columns(nw.col(own).cast(dtype)).join(small, on=[own], how="left")
    return replace(rows, frame=frame, names={**rows.names, **places})


def _type_of(values: Sequence[Any]) -> nw.dtypes.DType:
    first = next(value for value in values if value is not None)
    kinds = {bool: nw.Boolean(), int: nw.Int64(), float: nw.Float64(), str: nw.String()}
    return kinds.get(type(first), nw.Date())


def _of_one_type(name: str, values: Sequence[Any]) -> list[Any]:
    """Values of a type that every engine has: beside floats whole numbers become floats."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return [None if value is None else float(value) for value in values]
    if len(kinds) == 1 and kinds <= set(_PLAIN):
        small = kinds != {int} or all(v is None or -(2**63) <= v < 2**63 for v in values)
        if small:
            return list(values)
    raise DataError(
        f"The public column {name!r} is not all text, all booleans, all whole numbers of 64 bits, "
        "all numbers or all dates.",
        hint="Leave it out, or give it one of these types.",
        column=name,
    )
