"""A release as a folder: tables, guarantee and report, all there or not there at all.

Nothing here sees secret data: a report is made of released values and words.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onesided._english import many
from onesided._numbers import shown, text
from onesided.engine.kit import position_columns
from onesided.ledger import Entry
from onesided.policy import Policy
from onesided.session import Release, Statement
from onesided.show import NewFolder, Page, Places, RoleColumn, RoleTable, unwritable, write_tables

_WRONG = {"'lower'": "above the true number", "'upper'": "below the true number"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A release and what a reader needs beside it. Every value is public.

    threshold: T of "at most T", or None. outline: of the map, as in ``release.plot``.
    entries: the ledger extract. noun: what a group is, in the singular. unit: whose rows they are.
    ledger: which was charged, without password; new: whether it was empty before.
    at: of a renyi account the δ at which ``remaining`` is meant (:func:`onesided.ledger.at_delta`).
    told_again: when the answer was drawn, if it was told from the ledger and no data were read.
    excel: whether there is a workbook, too. files: what was read. written: where it went.
    """

    release: Release
    policy: Policy
    entries: tuple[Entry, ...]
    head: str
    remaining: Mapping[str, Fraction]
    noun: str
    unit: str | None
    ledger: str
    new: bool
    files: tuple[Path, ...]
    written: Path
    at: str = ""
    threshold: int | None = None
    outline: object = None
    told_again: str | None = None
    excel: bool = False

    @property
    def statement(self) -> Statement:
        """What the page is about."""
        told = self.release.statement
        return told if self.threshold is None else told.certified(self.threshold)

    @property
    def first(self) -> tuple[str, ...]:
        """What must be said before anything else."""
        again = self.told_again
        words = f"Told again: drawn on {again}; the data were not read." if again else ""
        return tuple(filter(None, (words, self.release.cut)))

    @property
    def certified(self) -> NDArray[np.bool_] | None:
        """Which groups certainly have at most the threshold; None if nothing can be certain."""
        if self.threshold is None or not self.release.interval.upper_certain:
            return None
        return self.release.certainly_at_most(self.threshold)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should keep in mind."""
        return notes_of(self.release, threshold=self.threshold, certified=self.certified)

    @property
    def in_words(self) -> tuple[str, ...]:
        """What is promised, at the ε per unit of edge weight that it was made with.

        That is at least 2^-40 for its words.
        """
        weights = {edge.name: edge.weight for edge in self.policy.edges}
        losses = self.release.guarantee.epsilon.items()
        per_weight = [Fraction(loss) / weights[edge] for edge, loss in losses]  # type: ignore[arg-type]
        epsilon = max(*per_weight, Fraction(1, 2**40))
        return tuple(self.policy.explain(epsilon=epsilon).splitlines())

    def write_into(self, folder: NewFolder) -> Path:
        """Write release.parquet, .csv and .xlsx, guarantee.json, policy.toml and report.html.

        The folder appears under its name only once everything is in it. Errors: OutputError.
        """
        partial, certified = folder.partial, self.certified
        try:
            folder.release()
            table = self.release.table
            if certified is not None:
                status = np.where(certified, "certified", "unknown")
                table = table.plus(f"at_most_{self.threshold}", status)
            # As Parquet, exactly; as CSV and Excel, in which no text is a formula.
            write_tables(
                table,
                partial / "release",
                ("parquet", "csv", "xlsx") if self.excel else ("parquet", "csv"),
                first=self.first,
                about=(*replace(self.statement, first=()).sentences(), *self.notes),
                statement=self.statement.to_json(),
            )
            document = json.dumps(self.as_dict(), indent=2, ensure_ascii=False)
            (partial / "guarantee.json").write_text(document + "\n", encoding="utf-8")
            (partial / "policy.toml").write_text(self.policy.to_toml(), encoding="utf-8")
            (partial / "report.html").write_text(self.page().html(), encoding="utf-8")
            return folder.publish()
        except OSError as error:
            raise unwritable(folder.target, error, charged=True) from error

    def as_dict(self) -> dict[str, Any]:
        """The guarantee for programs. What a reader must know first stands first."""
        release, certified = self.release, self.certified
        return {
            "told_again": self.told_again,
            "cut_data": release.guarantee.scope or None,
            "read_first": list(release.warnings),
            "statement": self.statement.to_json(),
            "onesided": version("onesided"),
            "guarantee": release.guarantee.as_dict(),
            "policy_identity": self.policy.identity,
            "mechanism": {
                "name": "Counts",
                "upper_rate": text(release.mechanism.upper_rate),
                "lower_rate": text(release.mechanism.lower_rate),
            },
            "certain": {
                "lower": release.interval.lower_certain,
                "upper": release.interval.upper_certain,
            },
            "confidence": str(release.confidence),
            "groups": release.keys.size,
            "at_most": self.threshold,
            "certified_groups": None if certified is None else int(certified.sum()),
            "ledger": {
                "entry": release.entry,
                "head": self.head,
                "remaining": {edge: text(left) for edge, left in self.remaining.items()},
                **({"remaining_at": self.at.removeprefix(", ")} if self.at else {}),
            },
            "in_words": list(self.in_words),
        }

    def page(self) -> Page:
        """The report: the page of the release, and what a publication has beside it."""
        release, certified, promise = self.release, self.certified, self.release.guarantee
        heading, under = self.statement.headed()
        limit = None if certified is None else self.threshold
        charts = [release.chart(outline=self.outline, at_most=limit)]
        if isinstance(charts[0].shape, Places):
            charts.append(release.chart(positions=False, at_most=limit))
        columns = release.table.parts
        where = position_columns([one.name for one in columns]) or ()  # they are on the map
        key, *others = [one for one in columns if one.name not in where]
        if certified is not None:
            words = np.where(certified, "certified", "unknown").tolist()
            others.insert(0, RoleColumn("status", "fact", words))
        left = ", ".join(shown(v, up=False) for v in self.remaining.values())
        return replace(
            release.page(RoleTable((key, *others))),
            title=heading,
            asked=under,
            first=self.first,
            charts=charts,
            noun=self.noun,
            threshold=limit,
            certified=0 if certified is None else int(certified.sum()),
            scope=promise.scope,
            facts=(
                ("privacy loss ε", text(promise.headline)),
                ("budget left", left + self.at),
                ("ledger entry", str(release.entry)),
            ),
            lines=(),
            promise=self.in_words,
            edges=tuple(
                (edge, text(loss), shown(promise.delta[edge], up=True))
                for edge, loss in promise.epsilon.items()
            ),
            notes=self.notes,
            ledger=tuple(
                {
                    "number": str(entry.number),
                    "time": f"{entry.time[:19].replace('T', ' ')} UTC",
                    "kind": entry.kind,
                    "what": entry.label,
                    "charge": ", ".join(f"{edge}: {some}" for edge, some in entry.epsilon.items()),
                    "hash": entry.hash[:16],
                }
                for entry in self.entries
            ),
        )


def notes_of(
    release: Release, *, threshold: int | None, certified: NDArray[np.bool_] | None
) -> tuple[str, ...]:
    """What a reader should keep in mind, in sentences with the publication's own numbers.

    certified: which groups certainly have at most ``threshold``.
    """
    notes = [release.guarantee.about]
    if certified is not None and not certified.all():
        open_ = many(int((~certified).sum()), "group", one="is", more="are")
        told = f"That does not mean more than {threshold}: the noise leaves it open."
        notes.append(f"{open_} 'unknown'. {told}")
    notes += _misses(release)
    widths = release.interval.upper - release.interval.lower
    widths = widths[np.isfinite(widths)]
    if widths.size:
        half = math.ceil(float(np.median(widths)))
        which = "For half of the groups, the" if widths.size > 1 else "The"
        notes.append(f"{which} bounds are no more than {half:,} apart.")
    return tuple(notes)


def _misses(release: Release) -> Iterator[str]:
    bounds, share = release.interval, Fraction(str(release.confidence))
    chance = [
        name
        for name, certain in (("'lower'", bounds.lower_certain), ("'upper'", bounds.upper_certain))
        if not certain
    ]
    if not chance:
        return
    said, size = f"{float(share) * 100:g} % confidence", len(release)
    alone, wrong = len(chance) == 1, _WRONG[chance[0]] if len(chance) == 1 else "wrong"
    if size == 1:
        first = f"The bound {chance[0]}" if alone else "The bounds"
        yield f"{first} {'holds' if alone else 'hold'} with {said}."
    elif release.simultaneous:
        what = f"{chance[0]} holds" if alone else "the bounds hold"
        yield f"With {said}, {what} for all groups at once."
    else:
        what = f"Each {chance[0]}" if alone else "Each pair of bounds"
        missed = math.ceil((1 - share) * size)
        yield f"{what} holds with {said}: of {size:,}, expect at most {missed:,} to be {wrong}."
