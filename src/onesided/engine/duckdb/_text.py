"""What narwhals does not tell of a DuckDB relation: text in which different words are equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from onesided.errors import DataError

# In each pair the first comes after the second byte by byte. Collations that ignore capitals,
# accents or how a letter is put together, and those of languages, see at least one otherwise.
_PAIRS: Final = "('a', 'A'), ('a', 'B'), (chr(233), 'f'), (chr(233), 'e' || chr(769))"


def refuse_collated(native: Any, names: Sequence[str]) -> None:
    """Refuse columns of text that are not compared byte by byte. Looks at no row.

    Where words that differ count as equal, the engine shows one spelling for all, somebody's own,
    and a row joins several keys that differ in spelling. Errors: DataError naming the column.
    """
    texts = {n for n, kind in zip(native.columns, native.types, strict=True) if kind == "VARCHAR"}
    for name in names:
        if name not in texts:
            continue
        column = quoted(name)
        probe = (
            f"SELECT bool_or(x <= y) FROM (SELECT {column} AS x, {column} AS y FROM onesided_rows "  # noqa: S608
            f"WHERE false UNION ALL SELECT * FROM (VALUES {_PAIRS}))"
        )
        ((collated,),) = native.query("onesided_rows", probe).fetchall()
        if collated:
            raise DataError(
                f"The column {name!r} has a collation, in which texts that differ count as equal.",
                hint='Keys are told apart byte by byte: select it with COLLATE "binary", and set '
                "default_collation back if that is where it comes from.",
                column=name,
            )


def quoted(name: str) -> str:
    """A column's name as SQL text takes it.

    >>> print(quoted('the "best" column'))
    "the ""best"" column"
    """
    return '"' + name.replace('"', '""') + '"'
