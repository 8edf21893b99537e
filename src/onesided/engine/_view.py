"""Kinds by the answer of a query: which groups are marked, by a table's own rows or another's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import narwhals as nw

from onesided._english import many
from onesided.engine._protocol import KIND, LENGTH, Lazy
from onesided.engine._reading import BEFORE, reading
from onesided.engine._snapshot import Snapshot, whole_of
from onesided.engine._table import Table
from onesided.errors import DataError, ParameterError
from onesided.policy import GroupRule, Rule

_MARK: Final = "onesided_mark"


def require_view(view: GroupRule, table: Table, other: Table | None) -> None:
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


def rule_of(view: GroupRule) -> Rule:
    """The condition as a rule on rows, for what looks at rules.

    >>> from onesided.policy import view
    >>> rule_of(view("minor", over="home", members=2).view).kind
    'sensitive'
    """
    return Rule("sensitive", view.condition)


def other_table(view: GroupRule | None, tables: Mapping[str, object] | None) -> Table | None:
    """The table that marks groups, by its name; None where the data's own rows do.

    Errors: ParameterError where it is not given, or tables are given that no policy reads.

    >>> other_table(None, None) is None
    True
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
    view: GroupRule,
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
    large = _large(table, view, unit)
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
    view: GroupRule, rows: Snapshot, other: Snapshot | None, unit: str | None
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
    several = _in_several(rows, view.over, unit) if unit is not None and told else 0
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


def _in_several(rows: Snapshot, over: str, unit: str) -> int:
    """How many units are in several groups."""
    own, place = rows.at(unit), rows.at(over)
    if own == place:
        return 0
    pairs = rows.engine.distinct(rows.frame.select(own, place))
    groups = pairs.group_by(own).agg(nw.len().alias(LENGTH)).filter(nw.col(LENGTH) > 1)
    return whole_of(rows.scalar(groups.select(nw.len().alias(LENGTH))))


def _marked(table: Snapshot, view: GroupRule, other: Snapshot | None) -> Lazy:
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


def _large(table: Snapshot, view: GroupRule, unit: str | None) -> Lazy:
    """The groups of more units than may change kind in one move."""
    over = table.at(view.over)
    names = [over] if unit in (None, over) else [unit, over]
    units = table.frame.select(*names)
    units = units if unit is None else table.engine.distinct(units)
    sizes = units.group_by(over).agg(nw.len().alias(LENGTH))
    return sizes.filter(nw.col(LENGTH) > view.members).select(over)


def _groups(table: Snapshot, rows: Lazy, over: str) -> Lazy:
    known = rows.filter(~nw.col(over).is_null())
    return table.engine.distinct(known.select(over))
