"""The data's health before anything is spent. For the curator alone, never for publication."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any, Final

import narwhals as nw

from onesided._english import many
from onesided.engine import Table, public_keys
from onesided.engine.kit import (
    LENGTH,
    check_types,
    examples,
    nobody,
    of_units,
    reading,
    refuse_floats,
    require_fit,
)
from onesided.errors import OnesidedError
from onesided.schema import Column, Schema, proposals
from onesided.session._completed import Completer

SECRET: Final = "For the curator alone, not for publication. Nothing was spent."  # noqa: S105 - it is words
_MOST: Final = 10**5  # texts, and ids, that are looked at one by one
_SHOWN: Final = 5
_NO_VALUE: Final = frozenset(
    ["", "-", "--", "?", ".", "NA", "N/A", "n/a", "NULL", "null", "None", "none", "nan", "NaN"]
)


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
    data: object,
    schema: Schema | None,
    *,
    unit: str | None = None,
    max_groups: int | None = None,
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
    table = Table(data, declared=declared)
    if unit is not None:
        table.require(unit)
    unread, rows = table.unreadable(), table.height()
    names = (*declared.columns, *(n for n in table.schema if n not in declared.columns))
    columns = tuple(
        _column(table, declared, name, unread=unread.get(name, 0), unit=unit, most=max_groups)
        for name in names
    )
    return Health(
        rows=rows,
        unit=unit,
        columns=columns,
        refused=tuple(_refusals(table, declared, unit)),
        **({} if unit is None else _units(table, unit)),
    )


def _refusals(table: Table, declared: Schema, unit: str | None) -> Iterable[str]:
    """By the checks of opening themselves."""
    checks: list[Callable[[], object]] = [lambda: require_fit(table, declared)]
    if unit is not None:
        drop = declared.missing_unit == "drop"
        checks.append(lambda: refuse_floats(table, unit, "unit"))
        checks.append(lambda: of_units(table, unit, drop=drop))
    for check in checks:
        try:
            check()
        except OnesidedError as error:
            yield error.reason


def _units(table: Table, unit: str) -> dict[str, Any]:
    known = table.frame.filter(~nobody(unit, table.schema[unit])).select(unit)
    sizes = known.group_by(unit).agg(nw.len().alias(LENGTH))
    with reading():
        top = table.engine.columns(sizes.sort(LENGTH, descending=True).head(3))
        alike: tuple[tuple[str, ...], ...] = ()
        if isinstance(table.schema[unit], nw.String):
            ids = table.engine.columns(table.engine.distinct(known).head(_MOST))
            alike = _alike(list(ids[unit]))
    largest = zip(map(str, top[unit]), map(int, top[LENGTH]), strict=True)
    lost = table.rows_where(nobody(unit, table.schema[unit]))
    return {"without_unit": lost, "largest": tuple(largest), "alike": alike}


def _alike(ids: Iterable[str | None]) -> tuple[tuple[str, ...], ...]:
    """Ids that read alike: full-width, accents put together, capitals, blanks, zeros before."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for one in ids:
        if one is not None:
            plain = unicodedata.normalize("NFKC", one).strip().casefold()
            plain = re.sub(r"^0+(?=[0-9])", "", re.sub(r"^([0-9]+)\.0*$", r"\1", plain))
            found[plain].append(one)
    return tuple(sorted(tuple(sorted(some)) for some in found.values() if len(some) > 1))


def _column(
    table: Table,
    declared: Schema,
    name: str,
    *,
    unread: int,
    unit: str | None,
    most: int | None,
) -> ColumnHealth:
    one, refused = declared.columns.get(name), table.engine.refused.get(name)
    if refused is not None:
        return ColumnHealth(name=name, type=refused)
    found = ColumnHealth(
        name=name,
        type=str(table.schema[name]) if one is None else one.type,
        missing=table.null_rows(name) - unread,
        unreadable=unread,
    )
    if one is None:
        return found
    more: dict[str, Any] = {"outside_bounds": _outside(table, name, one)}
    if unread:
        told = (
            text if row is None else f"row {row:,} ({text})" for row, text in examples(table, name)
        )
        more |= {"examples": tuple(told), "proposal": _proposal(table, declared, name)}
    if one.keys is not None:
        more |= _keyed(table, name, Completer(declared).values(name), unit=unit, covered=most)
    return replace(found, **more)


def _outside(table: Table, name: str, one: Column) -> int | None:
    if one.bounds is None:
        return None
    low, high = (_plain(end) for end in one.bounds)
    return table.rows_where((nw.col(name) < low) | (nw.col(name) > high))


def _plain(end: Any) -> Any:
    if not isinstance(end, Fraction):
        return end
    return int(end) if end.denominator == 1 else float(end)


def _keyed(
    table: Table, name: str, given: Any, *, unit: str | None, covered: int | None
) -> dict[str, Any]:
    """How many rows have a key that is not listed, and units more of them than max_groups."""
    keys = public_keys(given, (name,))
    check_types(keys, table.schema)
    rows = table.frame.filter(~nw.col(name).is_null())
    found: dict[str, Any] = {"outside_keys": table.outside(rows.select(name), keys, unit=None)}
    if unit is not None and unit != name:
        pairs = rows.select(unit, name)
        over, most = table.units_over(pairs, keys, unit=unit, most=covered or 1)
        found |= {"most": most, "over": None if covered is None else over}
    return found


def _proposal(table: Table, declared: Schema, name: str) -> str:
    """A line for the schema with which all text is read, where no other one reads it otherwise."""
    one, native = declared.columns[name], Table(table.given)
    if name in native.engine.refused:
        return ""
    with reading():
        held = native.engine.distinct(native.frame.select(name)).head(_MOST + 1)
        texts = [text for text in native.engine.columns(held)[name] if text is not None]
    if len(texts) > _MOST:
        return ""
    reader = declared.reading(name)
    texts = [text for text in texts if text not in reader.missing]
    odd = sorted(text for text in texts if reader.is_unreadable(text))
    if _NO_VALUE.issuperset(odd):
        return _line({"missing": (*reader.missing, *odd)})
    fit: list[dict[str, Any]] = []
    for forms in proposals(one.type):
        reader = replace(declared, columns={name: replace(one, **forms)}).reading(name)
        # One that says more than another that fits is no other reading of these texts.
        more = any(other.items() <= forms.items() for other in fit)
        if not more and all(reader.read(text) is not None for text in texts):
            fit.append(forms)
    return _line(fit[0]) if len(fit) == 1 else ""


def _line(forms: Mapping[str, Any]) -> str:
    return "\n".join(f"{name} = {_toml(value)}" for name, value in forms.items())


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)  # TOML takes these escapes, too
