"""Tables with margins as statistical offices print them: one attribute across, the others down."""

from __future__ import annotations

import html
from typing import Any, Final, NamedTuple

from onesided.show._table import RoleTable, cell_text

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
