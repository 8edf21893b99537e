"""Click and basket data: how many records hold each item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

import numpy as np

from onesided.noise import IntArray
from onesided_experiments._tables import locate, query

Group = Literal["paper", "more", "scaled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickFile:
    """A data set as found.

    group: "paper" if ADP-2021 used it, "more" if not, and "scaled" for a part whose counts are
        multiplied by ``times`` so that they are about as large as those of the whole set.
    """

    name: str
    path: Path
    whole: bool
    group: Group
    times: float = 1.0

    @property
    def label(self) -> str:
        """Its name, and whether this is a part only."""
        if self.group == "scaled":
            return f"{self.name} (part, counts x {self.times:.2g})"
        return self.name if self.whole else f"{self.name} (part)"

    def read(self) -> Clicks:
        """The counts, scaled if that is what this is."""
        found = read_clicks(self.path)
        if self.times == 1.0:
            return found
        counts = np.rint(found.counts * self.times).astype(np.int64)
        return Clicks(counts=counts, longest=found.longest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clicks:
    """Counts by item in order of item id, and the most items that one record holds."""

    counts: IntArray
    longest: int


# Name; file names of the whole set; the part we have, and how many times larger the whole is.
_PAPER: Final = (
    ("BMS-POS", ("bms_pos", "BMS-POS"), "bms_pos_first100k", 5.15597),
    ("Kosarak", ("kosarak",), "kosarak_first100k", 9.90002),
    ("T40I10D100K", ("t40i10d100k", "T40I10D100K"), "t40i10d100k_first10k", 10.0),
)
_MORE: Final = (
    ("Retail", "retail"),
    ("BMS-WebView-1", "bms_webview1"),
    ("T10I4D100K", "t10i4d100k"),
)
_SUFFIXES: Final = (".parquet", ".dat", ".txt")


def find_clicks(data: Path | None) -> list[ClickFile]:
    """The click data sets under ``data/clicks`` or ``data``; the whole set before a part of it."""
    found, scaled = [], []
    for name, stems, part, times in _PAPER:
        whole = _first(data, stems)
        path = whole or _first(data, (part,))
        if path:
            file = ClickFile(name=name, path=path, whole=whole is not None, group="paper")
            found.append(file)
            if whole is None:
                scaled.append(replace(file, group="scaled", times=times))
    for name, stem in _MORE:
        path = _first(data, (stem,))
        if path:
            found.append(ClickFile(name=name, path=path, whole=True, group="more"))
    return found + scaled


def _first(data: Path | None, stems: Sequence[str]) -> Path | None:
    """The first file of one of these names, in any format that can be read."""
    return locate(data, "clicks", *(f"{stem}{suffix}" for stem in stems for suffix in _SUFFIXES))


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
        f"SELECT max(n) AS longest FROM "  # noqa: S608
        f"(SELECT count(*) AS n FROM ({pairs}) GROUP BY record)",
        str(path),
    )
    return Clicks(
        counts=np.ascontiguousarray(counts["n"], dtype=np.int64), longest=int(sizes["longest"][0])
    )
