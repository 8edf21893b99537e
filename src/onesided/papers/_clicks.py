"""Click and basket data: how many records hold each item."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from onesided.noise import IntArray
from onesided.papers._tables import query


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickFile:
    """A data set as found. ``whole``: not a part; ``in_paper``: one that ADP-2021 used."""

    name: str
    path: Path
    whole: bool
    in_paper: bool

    @property
    def label(self) -> str:
        """Its name, and whether this is a part only."""
        return self.name if self.whole else f"{self.name} (part)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clicks:
    """Counts by item in order of item id, and the most items that one record holds."""

    counts: IntArray
    longest: int
    records: int


# Name, whether the paper used it, file names of the whole set, file name of the part we have.
_KNOWN: Final = (
    ("BMS-POS", True, ("bms_pos", "BMS-POS"), "bms_pos_first100k"),
    ("Kosarak", True, ("kosarak",), "kosarak_first100k"),
    ("T40I10D100K", True, ("t40i10d100k", "T40I10D100K"), "t40i10d100k_first10k"),
    ("Retail", False, ("retail",), None),
    ("BMS-WebView-1", False, ("bms_webview1",), None),
    ("T10I4D100K", False, ("t10i4d100k",), None),
)
_SUFFIXES: Final = (".parquet", ".dat", ".txt")


def find_clicks(data: Path) -> list[ClickFile]:
    """The click data sets under ``data/clicks`` or ``data``; the whole set before a part of it."""
    found = []
    for name, in_paper, wholes, part in _KNOWN:
        stems = [(stem, True) for stem in wholes] + ([(part, False)] if part else [])
        paths = (
            (folder / f"{stem}{suffix}", whole)
            for stem, whole in stems
            for folder in (data / "clicks", data)
            for suffix in _SUFFIXES
        )
        for path, whole in paths:
            if path.is_file():
                found.append(ClickFile(name=name, path=path, whole=whole, in_paper=in_paper))
                break
    return found


@lru_cache(maxsize=8)
def read_clicks(path: Path) -> Clicks:
    """Read ``(record, item)`` Parquet, or FIMI text: one record per line, items apart by spaces.

    An item counts once per record, however often the record names it.
    """
    if path.suffix == ".parquet":
        pairs = "SELECT DISTINCT record, item FROM read_parquet(?)"
    else:
        pairs = (
            "SELECT DISTINCT record, item::BIGINT AS item FROM ("
            "SELECT row_number() OVER () AS record, unnest(string_split(trim(line), ' ')) AS item "
            "FROM read_csv(?, columns={'line': 'VARCHAR'}, header=false, delim='\t', quote='')"
            ") WHERE item <> ''"
        )
    counts = query(f"SELECT count(*) AS n FROM ({pairs}) GROUP BY item ORDER BY item", str(path))  # noqa: S608
    sizes = query(
        f"SELECT max(n) AS longest, count(*) AS records FROM "  # noqa: S608
        f"(SELECT count(*) AS n FROM ({pairs}) GROUP BY record)",
        str(path),
    )
    return Clicks(
        counts=np.ascontiguousarray(counts["n"], dtype=np.int64),
        longest=int(sizes["longest"][0]),
        records=int(sizes["records"][0]),
    )
