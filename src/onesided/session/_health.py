"""The data's health before anything is spent. For the curator alone, never for publication."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from functools import reduce
from operator import or_
from typing import Any, Final, TypeAlias

import narwhals as nw

from onesided._english import many
from onesided.engine import Table, public_keys
from onesided.engine.kit import (
    LENGTH,
    Snapshot,
    check_types,
    examples,
    misfits,
    reading,
    refuse_floats,
    text_of,
)
from onesided.errors import OnesidedError, ParameterError
from onesided.schema import Column, Schema, proposals
from onesided.session._completed import Completer
from onesided.session._context import QueryContext
from onesided.session._count import Count
from onesided.session._groups import Grouped
from onesided.session.histograms._binned import Binned
from onesided.session.histograms._histogram import Histogram
from onesided.session.values._moments import numbers_of
from onesided.session.values._moments import outside as outside_bounds
from onesided.session.values._quantile import Quantile
from onesided.session.values._sum import Valued
from onesided.session.values._value import Value
from onesided.session.workloads._ranges import RangeQuery

SECRET: Final = "For the curator alone, not for publication. Nothing was spent."  # noqa: S105 - it is words
_MOST: Final = 10**5  # texts, and ids, that are looked at one by one
_SHOWN: Final = 5
_NO_VALUE: Final = frozenset(
    ["", "-", "--", "?", ".", "NA", "N/A", "n/a", "NULL", "null", "None", "none", "nan", "NaN"]
)
Inspected: TypeAlias = Grouped | RangeQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnHealth:
    """One column: how many rows have no value or one that cannot be read, and are out of bounds.

    examples: values that cannot be read, after their rows. over, most: units in more than
    ``max_groups`` of the keys, and the most of any; None without keys, bounds or a unit.
    proposal: lines for the schema with which everything can be read, in one way alone.
    """

    name: str
    type: str
    missing: int = 0
    unreadable: int = 0
    examples: tuple[str, ...] = ()
    outside_keys: int | None = None
    outside_bounds: int | None = None
    over: int | None = None
    most: int | None = None
    proposal: str = ""

    def lines(self, rows: int) -> Iterable[str]:
        """What is said of it."""
        yield f"{self.name}: {self.type}"
        if self.missing:
            yield f"  {_share(self.missing, rows)} without a value"
        if self.unreadable:
            lost = _share(self.unreadable, rows)
            yield f"  {lost} that cannot be read: {', '.join(self.examples)}"
        if self.proposal:
            yield f"  With this under [columns.{self.name}] in the schema all of it can be read:"
            yield from (f"    {line}" for line in self.proposal.split("\n"))
        if self.outside_keys:
            yield f"  {_share(self.outside_keys, rows)} outside the keys"
        if self.outside_bounds:
            yield f"  {_share(self.outside_bounds, rows)} outside the bounds"
        if self.over:
            yield f"  {many(self.over, 'unit')} in more groups than max_groups"
        if self.most:
            yield f"  the most groups of a unit: {self.most:,}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Facts about a table for the curator's eyes. NOT for publication.

    largest: the units with most rows, and how many. alike: ids that differ in spelling alone.
    refused: why a session would not open; none where it does.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": ["1", "2", "2"], "cost": ["1,5", "7", None]})
    >>> schema = od.Schema(unit="person", columns={"cost": od.column("number")})
    >>> health = health_of(visits, schema)
    >>> health.columns[0].proposal, health.largest[0], health.ok
    ('decimal = ","', ('2', 2), False)
    """

    rows: int
    unit: str | None
    without_unit: int = 0
    largest: tuple[tuple[str, int], ...] = ()
    alike: tuple[tuple[str, ...], ...] = ()
    columns: tuple[ColumnHealth, ...] = ()
    refused: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether a session would open."""
        return not self.refused

    def as_dict(self) -> dict[str, Any]:
        """The same for programs."""
        return {"for": SECRET, "ok": self.ok, **asdict(self)}

    def __str__(self) -> str:
        lines = [SECRET, f"{many(self.rows, 'row')}."]
        if self.unit is not None:
            lines.append(f"The unit is {self.unit!r}.")
            if self.without_unit:
                lines.append(f"  {_share(self.without_unit, self.rows)} without a unit")
            for value, count in self.largest:
                lines.append(f"  {value!r} has {_share(count, self.rows)}")
            if self.alike:
                told = "; ".join(" and ".join(map(repr, some)) for some in self.alike[:_SHOWN])
                lines.append(f"  Several units that differ in spelling alone: {told}")
        lines += [line for one in self.columns for line in one.lines(self.rows)]
        lines += [f"Refused: {why}" for why in self.refused]
        return "\n".join(lines)


def _share(count: int, rows: int) -> str:
    return f"{many(count, 'row')} ({100 * count / max(rows, 1):.3g} %)"


def health_of(
    data: object, schema: Schema | None, *, unit: str | None = None, max_groups: int | None = None
) -> Health:
    """Read the whole table, and say what is in it. Spends nothing, opens no ledger.

    max_groups: what units in more groups are counted by.
    Errors: those of a table that cannot be read at all, or lacks a declared column.

    >>> import polars as pl
    >>> health_of(pl.DataFrame({"person": ["1", "2"]}), None, unit="person").ok
    True
    """
    declared = Schema() if schema is None else schema
    unit = declared.unit_of(unit)
    table = Table(data, declared=declared, unit=unit)
    if unit is not None:
        table.require(unit)
    return health_in(table, declared, unit=unit, max_groups=max_groups)


def health_in(
    table: Table, declared: Schema, *, unit: str | None, max_groups: int | None
) -> Health:
    """As :func:`health_of`, of a table that was read as declared, in one snapshot."""
    held, refused = table.engine.types, table.engine.refused
    names = (*declared.columns, *(n for n in (*held, *refused) if n not in declared.columns))
    with table.texts([name for name in held if name not in refused]) as rows:
        look = _Look(rows, declared, unit, max_groups, rows.height(), rows.unreadable())
        columns = tuple(
            ColumnHealth(name=name, type=refused[name]) if name in refused else look.column(name)
            for name in dict.fromkeys(names)
        )
        why = []
        if unit is not None:
            try:
                refuse_floats(table, unit, "unit")
            except OnesidedError as error:
                why.append(error.reason)
        why += [error.reason for error in misfits(rows, declared, unit)]
        more = {} if unit is None else _units(rows, unit)
    return Health(rows=look.rows, unit=unit, columns=columns, refused=tuple(why), **more)


def _units(rows: Snapshot, unit: str) -> dict[str, Any]:
    at, engine = rows.at(unit), rows.engine
    known = rows.of_somebody(at).frame.select(at)
    sizes = known.group_by(at).agg(nw.len().alias(LENGTH))
    with reading():
        top = engine.columns(sizes.sort(LENGTH, at, descending=[True, False]).head(3))
        alike: tuple[tuple[str, ...], ...] = ()
        if isinstance(rows.schema[at], nw.String):
            # Ids that read alike: full-width, accents put together, capitals, blanks, zeros before.
            ids = list(engine.columns(engine.distinct(known).head(_MOST))[at])
            found: defaultdict[str, list[str]] = defaultdict(list)
            for one in ids:
                if one is not None:
                    plain = unicodedata.normalize("NFKC", one).strip().casefold()
                    plain = re.sub(r"^0+(?=[0-9])", "", re.sub(r"^([0-9]+)\.0*$", r"\1", plain))
                    found[plain].append(one)
            alike = tuple(sorted(tuple(sorted(some)) for some in found.values() if len(some) > 1))
    largest = zip(map(str, top[at]), map(int, top[LENGTH]), strict=True)
    lost = rows.rows_where(rows.nobodys(at))
    return {"without_unit": lost, "largest": tuple(largest), "alike": alike}


@dataclass(frozen=True, slots=True)
class _Look:
    """The rows with their texts, and what is asked of each column."""

    held: Snapshot
    declared: Schema
    unit: str | None
    covered: int | None
    rows: int
    unread: Mapping[str, int]

    def column(self, name: str) -> ColumnHealth:
        """What is found in a column that can be used."""
        held, one, unread = self.held, self.declared.columns.get(name), self.unread.get(name, 0)
        at = held.at(name)
        found = ColumnHealth(
            name=name,
            type=str(held.schema[at]) if one is None else one.type,
            missing=held.null_rows(at) - unread,
            unreadable=unread,
        )
        if one is None:
            return found
        more: dict[str, Any] = {"outside_bounds": _outside(held, at, one)}
        if unread:
            told = (
                text if row is None else f"row {row:,} ({text})"
                for row, text in examples(held, name)
            )
            more |= {"examples": tuple(told), "proposal": self._proposal(name)}
        if one.keys is not None:
            more |= self._keyed(name)
        return replace(found, **more)

    def _keyed(self, name: str) -> dict[str, Any]:
        """How many rows have a key that is not listed, and units more of them than max_groups."""
        held, at = self.held, self.held.at(name)
        keys = public_keys(Completer(self.declared).values(name), (name,))
        check_types(keys, {name: held.schema[at]})
        keys = replace(keys, names=(at,))
        rows = held.frame.filter(~nw.col(at).is_null())
        found: dict[str, Any] = {"outside_keys": held.outside(rows.select(at), keys, unit=None)}
        if self.unit is not None and self.unit != name:
            unit = held.at(self.unit)
            pairs = rows.select(unit, at)
            over, most = held.units_over(pairs, keys, unit=unit, most=self.covered or 1)
            found |= {"most": most, "over": None if self.covered is None else over}
        return found

    def _proposal(self, name: str) -> str:
        """A line for the schema with which all text is read, where no other reads it otherwise."""
        rows, declared = self.held, self.declared
        one, text = declared.columns[name], text_of(rows.at(name))
        if name in rows.engine.odd:
            return ""
        with reading():
            held = rows.engine.distinct(rows.frame.select(text)).head(_MOST + 1)
            texts = [found for found in rows.engine.columns(held)[text] if found is not None]
        if len(texts) > _MOST:
            return ""
        reader = rows.engine.readings[name]
        odd = sorted(text for text in texts if reader.is_unreadable(text))
        if _NO_VALUE.issuperset(odd):
            return _line({"missing": (*reader.missing, *odd)})
        fit: list[dict[str, Any]] = []
        for forms in () if name == self.unit else proposals(one.type):  # they merge units
            reader = replace(declared, columns={name: replace(one, **forms)}).reading(name)
            # One that says more than another that fits is no other reading of these texts.
            more = any(other.items() <= forms.items() for other in fit)
            if not more and all(reader.read(text) is not None for text in texts):
                fit.append(forms)
        return _line(fit[0]) if len(fit) == 1 else ""


def _outside(rows: Snapshot, at: str, one: Column) -> int | None:
    if one.bounds is None:
        return None
    low, high = (
        (int(end) if end.denominator == 1 else float(end)) if isinstance(end, Fraction) else end
        for end in one.bounds
    )
    return rows.rows_where((nw.col(at) < low) | (nw.col(at) > high))


def _line(forms: Mapping[str, Any]) -> str:
    return "\n".join(f"{name} = {_toml(value)}" for name, value in forms.items())


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)  # TOML takes these escapes, too


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """Facts about the real data for the curator's eyes. NOT for publication.

    unreadable: how many texts of a column are not of the form that the schema declares.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": [1, 1, 2, 3], "place": ["a", "b", "b", "b"]})
    >>> policy = od.policy.presence(max_groups=2)
    >>> session = od.Session(visits, unit="person", policy=policy, budget=1000)
    >>> session.inspect(od.Count(by="place", keys=["a"], epsilon=1)).counted_outside_keys
    3
    """

    rows: int
    rows_without_unit: int
    rows_of_undecided_kind: int
    counted_outside_keys: int
    units_over_bound: int
    most_groups_of_a_unit: int
    values_outside_bounds: int = 0
    values_missing: int = 0
    unreadable: Mapping[str, int] = field(default_factory=dict)


def inspected(context: QueryContext, question: Inspected) -> Diagnostics:
    """Facts about the real data behind a question. Errors: ParameterError."""
    binned: Binned | None = None
    value: Value | None = None
    noisy_max = isinstance(question, Quantile) and question.chosen_method == "noisy_max"
    if isinstance(question, Histogram | Quantile | RangeQuery) and not noisy_max:
        binned = question.binned(context)
        context, groups = binned.context, binned.question.groups(binned.context)
    elif isinstance(question, Grouped):
        groups = question.groups(context)
    else:
        raise ParameterError(
            f"There is nothing to inspect for {question!r}.",
            hint="Give a question over public groups, bins or candidates, such as "
            'onesided.Count(by="place", keys=places, epsilon=1).',
        )
    if isinstance(question, Quantile) and noisy_max:
        value = question.values(context).value
    elif isinstance(question, Valued):
        value = question.value(context)
    elif isinstance(question, Count) and question.weight is not None:
        value = Valued.value(question.weights(), context)
    more = (*(binned.bins if binned else ()), *(value.columns if value else ()))
    every = context.using(counted=frozenset())
    columns = dict.fromkeys([*groups.columns(context, *more), *every])
    unreadable = context.table.unreadable()
    with context.taken(tuple(columns), checked=False) as taken:
        beyond, empty = 0, 0
        if binned is not None:
            places = taken.at(tuple(binned.bins))
            counted = taken.rows(places, where=groups.where, counted=groups.query.counted)
            lost = reduce(or_, (nw.col(place).is_null() for place in places))
            ends = zip(places, binned.bins.values(), strict=True)
            outer = reduce(or_, (one.beyond(place, taken.schema[place]) for place, one in ends))
            beyond, empty = numbers_of(taken, counted, ~lost & outer, lost)
        elif value is not None:
            beyond, empty = outside_bounds(taken, groups, value)
        inner, inside = replace(groups, others=False).inside(taken)
        rows, table, unit = inside.rows(inner), inner.table, inner.unit
        over, largest = 0, 1
        if unit is not None and groups.by:
            bound = groups.query.max_groups or taken.policy.covers or 1
            over, largest = table.units_over(rows, inside.keys, unit=unit, most=bound)
        return Diagnostics(
            rows=table.height(),
            rows_without_unit=table.null_rows(unit) if unit else 0,
            rows_of_undecided_kind=taken.undecided_rows(),
            counted_outside_keys=table.outside(rows, inside.keys, unit=unit) if groups.by else 0,
            units_over_bound=over,
            most_groups_of_a_unit=largest,
            values_outside_bounds=beyond,
            values_missing=empty,
            unreadable=unreadable,
        )
