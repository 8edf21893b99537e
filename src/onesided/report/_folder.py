"""A release as a folder: tables, guarantee and report, all there or not there at all."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import shown, text
from onesided.engine.kit import position_columns
from onesided.ledger import Entry
from onesided.policy import Policy
from onesided.report._notes import notes_of
from onesided.report._page import Page
from onesided.report._render import write
from onesided.session import CountRelease, Statement
from onesided.show import NewFolder, outline_around, unwritable, write_tables

Degrees: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A release and what a reader needs beside it. Every value is public.

    threshold: T of "at most T", or None. outline: of the map, as in ``release.plot``.
    entries: the ledger extract. noun: what a group is, in the singular.
    told_again: when the answer was drawn, if it was told from the ledger and no data were read.
    excel: whether there is a workbook, too.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": [1, 2], "place": ["gym", "bar"]})
    >>> policy = od.policy.presence(max_groups=1)
    >>> session = od.Session(visits, unit="person", policy=policy, budget=90)
    >>> release = session.count(by="place", keys=["gym", "bar"], epsilon=60)
    >>> words = {"title": "Visits", "noun": "place", "threshold": 3, "head": "", "entries": ()}
    >>> left = session.remaining
    >>> Publication(release=release, policy=policy, remaining=left, **words).certified.tolist()
    [True, True]
    """

    release: CountRelease
    policy: Policy
    entries: tuple[Entry, ...]
    head: str
    remaining: Mapping[str, Fraction]
    title: str
    noun: str
    threshold: int | None = None
    outline: object = None
    told_again: str | None = None
    excel: bool = False

    @property
    def statement(self) -> Statement:
        """What the page is about."""
        told = self.release.statement
        return told if self.threshold is None else told.at_most(self.threshold)

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


def write_folder(publication: Publication, folder: NewFolder) -> Path:
    """Write release.parquet, release.csv, guarantee.json, policy.toml, report.html; release.xlsx.

    The folder appears under its name only once everything is in it. Errors: OutputError.

    >>> import polars as pl, onesided as od
    >>> from onesided.show import new_folder
    >>> policy = od.policy.addition_only()
    >>> session = od.Session(pl.DataFrame({"p": [1, 2]}), unit="p", policy=policy, budget=9)
    >>> release, left = session.count(epsilon=2), session.remaining
    >>> words = {"title": "People", "noun": "person", "head": "", "entries": ()}
    >>> with new_folder("out") as folder:
    ...     told = Publication(release=release, policy=policy, remaining=left, **words)
    ...     path = write_folder(told, folder)
    >>> sorted(file.name for file in path.iterdir())
    ['guarantee.json', 'policy.toml', 'release.csv', 'release.parquet', 'report.html']
    """
    partial = folder.partial
    try:
        folder.release()
        _write_tables(publication, partial)
        document = json.dumps(stated(publication), indent=2, ensure_ascii=False)
        (partial / "guarantee.json").write_text(document + "\n", encoding="utf-8")
        (partial / "policy.toml").write_text(publication.policy.to_toml(), encoding="utf-8")
        write(page(publication), partial / "report.html")
        return folder.publish()
    except OSError as error:
        raise unwritable(folder.target, error, charged=True) from error


def _write_tables(publication: Publication, folder: Path) -> None:
    """The release as Parquet, exactly; as CSV and Excel, in which no text is a formula."""
    columns = publication.release.columns()
    if publication.certified is not None:
        status = np.where(publication.certified, "certified", "unknown")
        columns[f"at_most_{publication.threshold}"] = status.tolist()
    formats = ("parquet", "csv", "xlsx") if publication.excel else ("parquet", "csv")
    about = (
        publication.title,
        *_kept_in_mind(publication),
        *replace(publication.statement, first=()).sentences(),
    )
    write_tables(
        columns,
        folder / "release",
        formats,
        first=publication.first,
        about=about,
        statement=publication.statement.to_json(),
    )


def stated(publication: Publication) -> dict[str, Any]:
    """The guarantee for programs. What a reader must know first stands first.

    >>> import polars as pl, onesided as od
    >>> people, policy = pl.DataFrame({"person": [1, 2]}), od.policy.addition_only()
    >>> session = od.Session(people, unit="person", policy=policy, budget=9)
    >>> release, left = session.count(epsilon=2), session.remaining
    >>> words = {"title": "People", "noun": "person", "head": "", "entries": ()}
    >>> told = stated(Publication(release=release, policy=policy, remaining=left, **words))
    >>> told["guarantee"]["edges"]["record -> absent"]["epsilon"]
    '2'
    """
    from onesided import __version__  # noqa: PLC0415 - the package's top knows its version

    release = publication.release
    certified = publication.certified
    return {
        "told_again": publication.told_again,
        "cut_data": release.guarantee.scope or None,
        "read_first": list(release.warnings),
        "statement": publication.statement.to_json(),
        "onesided": __version__,
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
        },
        "in_words": publication.policy.explain(epsilon=_epsilon(publication)).splitlines(),
    }


def _epsilon(publication: Publication) -> Fraction:
    """ε per unit of edge weight that the release was made with, at least 2^-40 for its words."""
    weights = {edge.name: edge.weight for edge in publication.policy.edges}
    losses = publication.release.guarantee.epsilon.items()
    per_weight = [Fraction(loss) / weights[edge] for edge, loss in losses]  # type: ignore[arg-type]
    return max(*per_weight, Fraction(1, 2**40))


def page(publication: Publication) -> Page:
    """The report page of a publication."""
    release, certified = publication.release, publication.certified
    told = release.keys.beside.columns
    where = _where(told)
    latitude, longitude = where or (None, None)
    return Page(
        title=publication.title,
        question=publication.statement.title(),
        keys=tuple(" · ".join(map(str, row)) for row in release.keys.rows),
        key_name=publication.noun,
        estimate=release.estimate,
        lower=release.interval.lower,
        upper=release.interval.upper,
        lower_certain=release.interval.lower_certain,
        upper_certain=release.interval.upper_certain,
        first=publication.first,
        scope=release.guarantee.scope,
        confidence=f"{float(Fraction(str(release.confidence))) * 100:g} %",
        threshold=publication.threshold if certified is not None else None,
        certified=certified,
        latitude=latitude,
        longitude=longitude,
        beside=_texts(told),
        outline=() if where is None else outline_around(*where, publication.outline),
        facts=_facts(publication),
        sentences=tuple(publication.policy.explain(epsilon=_epsilon(publication)).splitlines()),
        edges=tuple(
            (edge, text(loss), shown(release.guarantee.delta[edge], up=True))
            for edge, loss in release.guarantee.epsilon.items()
        ),
        ledger=tuple(_ledger_row(entry) for entry in publication.entries),
        notes=_kept_in_mind(publication),
    )


def _kept_in_mind(publication: Publication) -> tuple[str, ...]:
    return notes_of(
        publication.release,
        threshold=publication.threshold,
        certified=publication.certified,
    )


def _where(told: Mapping[str, Sequence[Any]]) -> tuple[Degrees, Degrees] | None:
    """Where each group is, in degrees, if that came with its key; NaN where it is not known."""
    sides = position_columns(told)
    if sides is None:
        return None
    latitude, longitude = (np.array(told[name], dtype=np.float64) for name in sides)
    return latitude, longitude


def _texts(told: Mapping[str, Sequence[Any]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What else came with the keys; positions are on the map, and in the tables."""
    sides = position_columns(told) or ()
    return tuple(
        (name, tuple("" if value is None else str(value) for value in values))
        for name, values in told.items()
        if name not in sides
    )


def _facts(publication: Publication) -> tuple[tuple[str, str], ...]:
    left = ", ".join(shown(value, up=False) for value in publication.remaining.values())
    return (
        ("privacy loss ε", text(publication.release.guarantee.headline)),
        ("budget left", left),
        ("ledger entry", str(publication.release.entry)),
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
