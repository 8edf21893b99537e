"""A released table, once: columns with roles, which every page, file and picture reads alike."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onesided._english import one_line
from onesided._numbers import quantity, readable

Side = Literal["lower", "upper"]
Role: TypeAlias = Literal[
    "key", "beside", "row", "estimate", "lower", "upper", "lower_certain", "upper_certain",
    "certified", "likely", "fact",
]  # fmt: skip
SIDES: Final[tuple[Side, Side]] = ("lower", "upper")
# What answers call their own columns; every other column is a key, or came with one.
_ROLES: Final[Mapping[str, Role]] = {
    "estimate": "estimate",
    "lower": "lower",
    "upper": "upper",
    "lower_certain": "lower_certain",
    "upper_certain": "upper_certain",
    "certified": "certified",
    "likely": "likely",
    "coarse": "fact",
    "own_most": "fact",
    "own_least": "fact",
    "standard_deviation": "fact",
}
# Columns of thresholds, where each row has its own.
OWN_LIMITS: Final[Mapping[str, str]] = {"own_most": "at most", "own_least": "at least"}
_MARKS: Final = ("lower_certain", "upper_certain")
# What names a row, and rows themselves: a number there is written as it stands.
_NAMES: Final = ("key", "beside", "row")
# What spreadsheets take for a formula, by its first character; some read full-width forms alike.
_FORMULA: Final = "[=+\\-@|%\uff1d\uff0b\uff0d\uff20]"
# Where a cell may start to whoever separates cells by another sign.
_STARTS: Final = re.compile(rf"(\A|[;\t\r\n])(?=\s*{_FORMULA})")
_WORD: Final = re.compile(r"\w+")
_PLAIN: Final = re.compile(r"[\w.:+ -]*")


@dataclass(frozen=True, slots=True, eq=False)
class RoleColumn:
    """One column: its name, what it is for, and its values as they are held.

    values: an array, a series or a list; ``plain`` gives Python's own values. sure: of a bound that
    has no column of marks, whether it is certain by what it is. unit: what they are measured in.
    none: what people read where there is no value.

    >>> RoleColumn("estimate", "estimate", np.array([3, 1])).plain()
    [3, 1]
    """

    name: str
    role: Role
    values: Any
    sure: bool = False
    unit: str = ""
    none: str = "–"

    def plain(self) -> list[Any]:
        """Python's own values; moments finer than a microsecond as text, for it has none."""
        held = self.values
        if isinstance(held, np.ndarray):
            fine = held.dtype.str.endswith("[ns]")
            told: list[Any] = (held.astype(str) if fine else held).tolist()
            return told
        return list(held.to_list() if hasattr(held, "to_list") else held)

    def part(self, places: Sequence[int] | NDArray[Any]) -> RoleColumn:
        """Some of the rows."""
        held, chosen = self.values, np.asarray(places, dtype=np.intp)
        if isinstance(held, list | tuple):
            return replace(self, values=[held[place] for place in chosen.tolist()])
        return replace(self, values=held[chosen])

    def cells(self) -> list[str]:
        """The values as people read them; see :func:`cell_text`."""
        return [self.none if v is None else cell_text(v, self.role) for v in self.plain()]


@dataclass(frozen=True, slots=True, eq=False)
class RoleTable:
    """Columns with roles, each as long as the others. All of it is public.

    Roles: "key" names a row, "beside" came with a key, "row" is published as it was. "estimate",
    "lower" and "upper" are numbers; "lower_certain" and "upper_certain" say where their first
    column is never wrong, "certified" which rows are at most a threshold, "likely" on which side of
    one they are; "fact" is all else.

    >>> bounds = {"upper": [3, 1], "upper_certain": [True, True]}
    >>> table = RoleTable.of({"place": ["gym", "bar"], **bounds})
    >>> table.labels(), table.names("upper"), table.certain("upper").all()
    (['gym', 'bar'], ['upper'], np.True_)
    """

    parts: tuple[RoleColumn, ...] = ()

    @classmethod
    def of(
        cls,
        columns: Mapping[str, Any],
        *,
        beside: Collection[str] = (),
        roles: Mapping[str, Role] = MappingProxyType({}),
        sure: Collection[str] = (),
    ) -> RoleTable:
        """From columns by name, which tell their roles.

        beside: those that came with keys. roles: where names do not tell. sure: bounds that are
        certain by what they are.
        """
        told: dict[str, Any] = {**_ROLES, **dict.fromkeys(beside, "beside"), **roles}
        return cls(
            tuple(
                RoleColumn(name, told.get(name, "key"), values, name in sure)
                for name, values in columns.items()
            )
        )

    def __len__(self) -> int:
        return len(self.parts[0].values) if self.parts else 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RoleTable):
            return NotImplemented
        return self.roles == other.roles and self.columns() == other.columns()

    def __hash__(self) -> int:
        return hash(tuple(self.roles))

    @property
    def roles(self) -> dict[str, Role]:
        """What each column is for."""
        return {one.name: one.role for one in self.parts}

    def names(self, *roles: Role) -> list[str]:
        """The columns of these roles."""
        return [one.name for one in self.parts if one.role in roles]

    def column(self, role: Role) -> RoleColumn | None:
        """The first column of a role."""
        return next((one for one in self.parts if one.role == role), None)

    def held(self, *roles: Role) -> dict[str, Any]:
        """The columns as they are held: all, or those of these roles."""
        return {one.name: one.values for one in self.parts if not roles or one.role in roles}

    def columns(self) -> dict[str, list[Any]]:
        """The columns as Python's own values."""
        return {one.name: one.plain() for one in self.parts}

    def numbers(self, role: Role) -> NDArray[Any] | None:
        """A column of numbers as an array; None without one."""
        found = self.column(role)
        return None if found is None else np.asarray(found.values)

    def labels(self) -> list[Any]:
        """What each row is about: a key, or a tuple of several."""
        keys = [one.plain() for one in self.parts if one.role == "key"]
        if len(keys) == 1:
            return keys[0]
        return list(zip(*keys, strict=True)) if keys else [()] * len(self)

    def certain(self, side: Side) -> NDArray[np.bool_]:
        """Row by row, whether a bound is never wrong."""
        told, bound = self.column(_MARKS[SIDES.index(side)]), self.column(side)
        if told is None:
            return np.full(len(self), bound is not None and bound.sure)
        return np.asarray(told.values, dtype=np.bool_)

    def part(self, places: Sequence[int] | NDArray[Any]) -> RoleTable:
        """Some of the rows."""
        return RoleTable(tuple(one.part(places) for one in self.parts))

    def plus(self, name: str, values: Any, role: Role = "fact") -> RoleTable:
        """With one more column."""
        return RoleTable((*self.parts, RoleColumn(name, role, values)))

    def measured(self, unit_of: Callable[[str, Role], str], none: str = "–") -> RoleTable:
        """With what the columns are measured in, by name and role; ``none``: what keys are not."""
        units = ((one, unit_of(one.name, one.role)) for one in self.parts)
        return RoleTable(
            tuple(
                replace(one, unit=unit, none=none if one.role == "key" else one.none)
                for one, unit in units
            )
        )

    def shown(self, share: str = "", rows: Sequence[int] | None = None) -> list[Shown]:
        """The columns as text, marked with what is certain; what people see is made of these.

        share: how sure a bound is that is not certain. rows: those whose cells are told; None: all.
        """
        return [
            self._shown(one, share, range(len(self)) if rows is None else rows)
            for one in self.parts
            if one.role not in _MARKS
        ]

    def _shown(self, column: RoleColumn, share: str, rows: Sequence[int]) -> Shown:
        told, note = column.part(rows), ""
        values, cells = told.plain(), told.cells()
        if column.role in SIDES and column is self.column(column.role):
            sure = self.certain(column.role)
            note = "certain" if len(self) and sure.all() else "" if sure.any() else share
            if sure.any() and not note:
                marked = zip(cells, sure[list(rows)].tolist(), strict=True)
                cells = [f"{cell} certain" if certain else cell for cell, certain in marked]
        words = any(isinstance(value, str) for value in values) or not values
        notes = one_line(", ".join(filter(None, (column.unit, note))))
        return Shown(name=one_line(column.name), note=notes, number=not words, cells=cells)

    def lines(self, *, rows: int, share: str = "") -> list[str]:
        """A heading and at most ``rows`` lines of text.

        >>> table = RoleTable.of({"place": ["gym"], "upper": [3], "upper_certain": [True]})
        >>> for line in table.lines(rows=5):
        ...     print(line)
        place  upper (certain)
        gym                  3
        """
        if not len(self):
            return ["(no rows)"]
        told = [one.padded() for one in self.shown(share, range(min(rows, len(self))))]
        found = ["  ".join(line).rstrip() for line in zip(*told, strict=True)]
        return [*found, f"... and {len(self) - rows:,} more"] if len(self) > rows else found

    def csv(self) -> str:
        """All rows as a CSV file that no spreadsheet computes with."""
        columns = self.columns()
        return csv_text(tuple(columns), zip(*columns.values(), strict=True))

    def html(self, share: str = "", *, first: int | None = None, last: int = 0) -> str:
        """The table as HTML; where it is longer, its ``first`` and ``last`` rows."""
        size = len(self)
        whole = first is None or size <= first + last
        rows = range(size) if whole else (*range(first or 0), *range(size - last, size))
        told = self.shown(share, rows)
        lines = [f"<tr>{''.join(one.cell(row) for one in told)}</tr>" for row in range(len(rows))]
        wide = f'<tr><td colspan="{len(told)}">'
        if not whole:
            lines.insert(first or 0, f"{wide}… {size - len(rows):,} more …</td></tr>")
        if not size:
            lines.append(f"{wide}(no rows)</td></tr>")
        heads = "".join(f'<th scope="col">{html.escape(one.head)}</th>' for one in told)
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


EMPTY: Final = RoleTable()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One column as text.

    note: its unit, and how sure its bounds are, where all are alike. number: whether it stands to
    the right.

    >>> column = RoleTable.of({"upper": [3], "upper_certain": [True]}).shown()[0]
    >>> column.head, column.cells
    ('upper (certain)', ['3'])
    """

    name: str
    note: str
    number: bool
    cells: Sequence[str]

    @property
    def head(self) -> str:
        """The name, its unit, and how sure it is."""
        return f"{self.name} ({self.note})" if self.note else self.name

    def padded(self) -> list[str]:
        """The head and the cells, all equally wide."""
        told = [self.head, *self.cells]
        width = max(map(len, told))
        return [cell.rjust(width) if self.number else cell.ljust(width) for cell in told]

    def cell(self, row: int) -> str:
        """A cell of a table in HTML."""
        side = "right" if self.number else "left"
        return f'<td style="text-align:{side}">{html.escape(self.cells[row])}</td>'


def cell_text(value: Any, role: Role = "fact") -> str:  # noqa: PLR0911 - a line for each kind
    """A value as people read it, the same on every surface.

    What names a row stands as it is; numbers are grouped, in six digits where more are long to
    read, and a bound is rounded away from what it bounds.

    >>> cell_text(55267, "key"), cell_text(55267, "estimate"), cell_text(3583391.25, "estimate")
    ('55267', '55,267', '3,583,391')
    >>> cell_text(Fraction(1, 2)), cell_text(float("inf"), "upper"), cell_text(None)
    ('1/2', 'no bound', '–')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value != value:  # noqa: PLR0124 - not a number
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Fraction):
        return readable(value)
    if isinstance(value, int | float | Decimal) and role in _NAMES:
        return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    if isinstance(value, int | float):
        if value in (np.inf, -np.inf):
            return "no bound" if role in SIDES else "∞" if value > 0 else "-∞"
        return quantity(value, up=None if role not in SIDES else role == "upper")
    return one_line(value)


def cell(value: object) -> object:
    """``value``, as it is if it is a number; text that would be a formula behind an apostrophe.

    >>> cell("=1+1"), cell("a;=1+1"), cell(-1)
    ("'=1+1", "a;'=1+1", -1)
    """
    if isinstance(value, str):
        return _STARTS.sub(r"\1'", value)
    return str(value).lower() if isinstance(value, bool) else value


def csv_text(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A CSV file that no spreadsheet computes with; the one place where cells are made.

    All text is in quotes: what separates cells or lines to one reader may not to another. Columns
    that are called by one word alone are not.

    >>> print(csv_text(["place", "count"], [["=1+1", 3]]))
    place,count
    "'=1+1",3
    """
    heading = (name if _WORD.fullmatch(name) else _written(name) for name in names)
    lines = (",".join(cells) for cells in (heading, *(map(_written, row) for row in rows)))
    return "".join(f"{line}\n" for line in lines)


def _written(value: object) -> str:
    text = "" if value is None else str(cell(value))
    if not isinstance(value, str) and _PLAIN.fullmatch(text):
        return text
    return '"' + text.replace('"', '""') + '"'


# Tables with margins as statistical offices print them: one attribute across, the others down.


TOTAL: Final = "Total"
_WIDEST: Final = 200


class Crossed(NamedTuple):
    """A table laid out in rows and columns; a place is a row of the table, or None.

    down: the columns named on the left. heads, stubs: what stands above each column and
    beside each row.

    >>> found = crossed(RoleTable.of({"sex": [None, "f", None, "f"], "age": [None, None, 1, 1],
    ...                               "estimate": [3, 2, 3, 2]}))
    >>> found.heads, found.stubs, found.places
    (['Total', '1'], [['Total'], ['f']], [[0, 2], [1, 3]])
    """

    down: list[str]
    across: str
    heads: list[str]
    stubs: list[list[str]]
    places: list[list[int | None]]


def crossed(table: RoleTable) -> Crossed | None:
    """The layout; None for one attribute alone, or where a page would not hold it.

    The last attribute stands across, with the levels above it. Of each, sums come first.

    >>> crossed(RoleTable.of({"sex": ["f", "m"], "estimate": [2, 1]})) is None
    True
    """
    keys = {name: list(values) for name, values in table.held("key").items()}
    if len(keys) < 2 or not len(table):
        return None
    last = list(keys)[-1]
    above = [name for name in keys if name != last and _above(keys[name], keys[last])]
    down = [name for name in keys if name != last and name not in above]
    tops = list(zip(*(keys[name] for name in (*above, last)), strict=True))
    sides = list(zip(*(keys[name] for name in down), strict=True))
    columns, rows = _ordered(tops), _ordered(sides)
    if not down or len(columns) > _WIDEST:
        return None
    places: dict[Any, int] = {(s, t): k for k, (s, t) in enumerate(zip(sides, tops, strict=True))}
    return Crossed(
        down=down,
        across=last,
        heads=[_told([part for part in one if part is not None][-1:]) for one in columns],
        stubs=[_stub(one) for one in rows],
        places=[[places.get((side, top)) for top in columns] for side in rows],
    )


def _ordered(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Each once: sums before what they are made of, keys as they come."""
    found = list(dict.fromkeys(rows))
    places = [{None: -1} | {v: k for k, v in enumerate(dict.fromkeys(part)) if v is not None}
              for part in zip(*found, strict=True)]  # fmt: skip
    return sorted(found, key=lambda row: [p[v] for p, v in zip(places, row, strict=True)])


def _above(values: list[Any], last: list[Any]) -> bool:
    """Whether a column is a level above the last one: each of its keys has one parent."""
    found: dict[Any, set[Any]] = {}
    for value, key in zip(values, last, strict=True):
        if key is not None:
            found.setdefault(key, set()).add(value)
    return (
        bool(found)
        and all(len(one) == 1 and None not in one for one in found.values())
        and (
            None in last
            and any(v is not None for v, k in zip(values, last, strict=True) if k is None)
        )
    )


def _told(parts: list[Any]) -> str:
    return cell_text(parts[0], "key") if parts else TOTAL


def _stub(row: tuple[Any, ...]) -> list[str]:
    told = ["" if part is None else cell_text(part, "key") for part in row]
    return [TOTAL, *told[1:]] if not any(told) else told


def crossed_html(table: RoleTable, share: str = "") -> str:
    """The layout in HTML, the bounds under each number; "" where there is none.

    >>> keys = {"sex": [None, "f"], "age": [None, None]}
    >>> print(crossed_html(RoleTable.of({**keys, "estimate": [3, 2]}))[:36])
    <table><caption>age across</caption>
    """
    found = crossed(table)
    if found is None:
        return ""
    numbers = {one.name: one.cells for one in table.shown(share)}
    notes = ", ".join(one.head for one in table.shown(share) if one.name in ("lower", "upper"))
    heads = "".join(_head(one, "col") for one in (*found.down, *found.heads))
    lines = []
    for stub, places in zip(found.stubs, found.places, strict=True):
        cells = "".join(_number(numbers, place) for place in places)
        lines.append(f"<tr>{''.join(_head(one, 'row') for one in stub)}{cells}</tr>")
    about = f"{found.across} across{f'; under each number {notes}' if notes else ''}"
    return (
        f"<table><caption>{html.escape(about)}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def _head(words: str, scope: str) -> str:
    return f'<th scope="{scope}">{html.escape(words)}</th>'


def _number(numbers: dict[str, Any], place: int | None) -> str:
    if place is None:
        return "<td></td>"
    told = html.escape(numbers["estimate"][place])
    ends = [numbers[side][place] for side in ("lower", "upper") if side in numbers]
    under = f"<br><small>{html.escape(' – '.join(ends))}</small>" if ends else ""
    return f'<td style="text-align:right">{told}{under}</td>'
