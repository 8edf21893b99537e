"""A release as a folder: tables, guarantee and report, all there or not there at all."""

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
    entries: the ledger extract. noun: what a group is, in the singular.
    at: of a renyi account the δ at which ``remaining`` is meant (:func:`onesided.ledger.at_delta`).
    told_again: when the answer was drawn, if it was told from the ledger and no data were read.
    excel: whether there is a workbook, too.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": [1, 2], "place": ["gym", "bar"]})
    >>> policy = od.policy.presence(max_groups=1)
    >>> session = od.Session(visits, unit="person", policy=policy, budget=90)
    >>> release = session.count(by="place", keys=["gym", "bar"], epsilon=60)
    >>> words = {"noun": "place", "threshold": 3, "head": "", "entries": ()}
    >>> left = session.remaining
    >>> Publication(release=release, policy=policy, remaining=left, **words).certified.tolist()
    [True, True]
    """

    release: Release
    policy: Policy
    entries: tuple[Entry, ...]
    head: str
    remaining: Mapping[str, Fraction]
    noun: str
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


def write_folder(publication: Publication, folder: NewFolder) -> Path:
    """Write release.parquet, release.csv, guarantee.json, policy.toml, report.html; release.xlsx.

    The folder appears under its name only once everything is in it. Errors: OutputError.

    >>> import polars as pl, onesided as od
    >>> from onesided.show import new_folder
    >>> policy = od.policy.addition_only()
    >>> session = od.Session(pl.DataFrame({"p": [1, 2]}), unit="p", policy=policy, budget=9)
    >>> release, left = session.count(epsilon=2), session.remaining
    >>> words = {"noun": "person", "head": "", "entries": ()}
    >>> with new_folder("out") as folder:
    ...     told = Publication(release=release, policy=policy, remaining=left, **words)
    ...     path = write_folder(told, folder)
    >>> sorted(file.name for file in path.iterdir())
    ['guarantee.json', 'policy.toml', 'release.csv', 'release.parquet', 'report.html']
    """
    partial = folder.partial
    try:
        folder.release()
        table = publication.release.table
        if publication.certified is not None:
            status = np.where(publication.certified, "certified", "unknown")
            table = table.plus(f"at_most_{publication.threshold}", status)
        # As Parquet, exactly; as CSV and Excel, in which no text is a formula.
        write_tables(
            table,
            partial / "release",
            ("parquet", "csv", "xlsx") if publication.excel else ("parquet", "csv"),
            first=publication.first,
            about=(*replace(publication.statement, first=()).sentences(), *publication.notes),
            statement=publication.statement.to_json(),
        )
        document = json.dumps(stated(publication), indent=2, ensure_ascii=False)
        (partial / "guarantee.json").write_text(document + "\n", encoding="utf-8")
        (partial / "policy.toml").write_text(publication.policy.to_toml(), encoding="utf-8")
        page = _report_page(publication).html()
        (partial / "report.html").write_text(page, encoding="utf-8")
        return folder.publish()
    except OSError as error:
        raise unwritable(folder.target, error, charged=True) from error


def stated(publication: Publication) -> dict[str, Any]:
    """The guarantee for programs. What a reader must know first stands first.

    >>> import polars as pl, onesided as od
    >>> people, policy = pl.DataFrame({"person": [1, 2]}), od.policy.addition_only()
    >>> session = od.Session(people, unit="person", policy=policy, budget=9)
    >>> release, left = session.count(epsilon=2), session.remaining
    >>> words = {"noun": "person", "head": "", "entries": ()}
    >>> told = stated(Publication(release=release, policy=policy, remaining=left, **words))
    >>> told["guarantee"]["edges"]["record -> absent"]["epsilon"]
    '2'
    """
    release = publication.release
    certified = publication.certified
    return {
        "told_again": publication.told_again,
        "cut_data": release.guarantee.scope or None,
        "read_first": list(release.warnings),
        "statement": publication.statement.to_json(),
        "onesided": version("onesided"),
        "guarantee": release.guarantee.as_dict(),
        "policy_identity": publication.policy.identity,
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
        "at_most": publication.threshold,
        "certified_groups": None if certified is None else int(certified.sum()),
        "ledger": {
            "entry": release.entry,
            "head": publication.head,
            "remaining": {edge: text(left) for edge, left in publication.remaining.items()},
            **({"remaining_at": publication.at.removeprefix(", ")} if publication.at else {}),
        },
        "in_words": publication.policy.explain(epsilon=_epsilon(publication)).splitlines(),
    }


def _epsilon(publication: Publication) -> Fraction:
    """ε per unit of edge weight that the release was made with, at least 2^-40 for its words."""
    weights = {edge.name: edge.weight for edge in publication.policy.edges}
    losses = publication.release.guarantee.epsilon.items()
    per_weight = [Fraction(loss) / weights[edge] for edge, loss in losses]  # type: ignore[arg-type]
    return max(*per_weight, Fraction(1, 2**40))


def _report_page(publication: Publication) -> Page:
    """The report: the page of the release, and what a publication has beside it."""
    release, certified = publication.release, publication.certified
    heading, under = publication.statement.headed()
    limit = None if certified is None else publication.threshold
    charts = [release.chart(outline=publication.outline, at_most=limit)]
    if isinstance(charts[0].shape, Places):
        charts.append(release.chart(positions=False, at_most=limit))
    columns = release.table.parts
    where = position_columns([one.name for one in columns]) or ()  # they are on the map
    first, *others = [one for one in columns if one.name not in where]
    if certified is not None:
        words = np.where(certified, "certified", "unknown").tolist()
        others.insert(0, RoleColumn("status", "fact", words))
    return replace(
        release.page(RoleTable((first, *others))),
        title=heading,
        asked=under,
        first=publication.first,
        charts=charts,
        noun=publication.noun,
        threshold=limit,
        certified=0 if certified is None else int(certified.sum()),
        scope=release.guarantee.scope,
        facts=(
            ("privacy loss ε", text(release.guarantee.headline)),
            (
                "budget left",
                ", ".join(shown(v, up=False) for v in publication.remaining.values())
                + publication.at,
            ),
            ("ledger entry", str(release.entry)),
        ),
        lines=(),
        promise=tuple(publication.policy.explain(epsilon=_epsilon(publication)).splitlines()),
        edges=tuple(
            (edge, text(loss), shown(release.guarantee.delta[edge], up=True))
            for edge, loss in release.guarantee.epsilon.items()
        ),
        notes=publication.notes,
        ledger=tuple(_ledger_row(entry) for entry in publication.entries),
    )


def _ledger_row(entry: Entry) -> dict[str, str]:
    charge = ", ".join(f"{edge}: {amount}" for edge, amount in entry.epsilon.items())
    return {
        "number": str(entry.number),
        "time": f"{entry.time[:19].replace('T', ' ')} UTC",
        "kind": entry.kind,
        "what": entry.label,
        "charge": charge,
        "hash": entry.hash[:16],
    }


def notes_of(
    release: Release, *, threshold: int | None, certified: NDArray[np.bool_] | None
) -> tuple[str, ...]:
    """What a reader should keep in mind, in sentences with the publication's own numbers.

    certified: which groups certainly have at most ``threshold``.

    >>> import polars as pl, onesided as od
    >>> policy = od.policy.presence(max_groups=1)
    >>> visits = pl.DataFrame({"person": [1, 2, 3], "place": ["gym", "gym", "bar"]})
    >>> session = od.Session(visits, unit="person", policy=policy, budget=100)
    >>> release = session.count(by="place", keys=["gym", "bar"], epsilon=60)
    >>> for line in notes_of(release, threshold=None, certified=None):
    ...     print(line)
    About the data as recorded.
    Each 'lower' holds with 95 % confidence: of 2, expect at most 1 to be above the true number.
    For half of the groups, the bounds are no more than 0 apart.
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
