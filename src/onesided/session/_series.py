"""Answers to one question at several times, side by side, with what all of them cost together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from typing import Any, Final

import numpy as np

from onesided._english import a, many, one_line
from onesided._numbers import readable, shown, text
from onesided.accounting import compose
from onesided.errors import ParameterError, PolicyError
from onesided.fields import settle
from onesided.policy import Guarantee
from onesided.session._chart import panels_of
from onesided.session._release import Release
from onesided.session._statement import Statement
from onesided.show import SIDES, Page, RoleColumn, RoleTable, Shape, cell_text

_MOST: Final = 1_000
_WORDS: Final = {"lower": "at least", "upper": "at most"}
_BY_NAME: Final = (
    "What came from a file or a server names its policy alone: the sum holds if what has one name "
    "is one policy of one unit, its parameters included."
)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Series(Release):
    """Answers to one question side by side, such as those of several weeks; it costs nothing.

    releases: from a session, a file, the ledger or a server; a mapping says what each is called.
    They answer one question under one policy, for the same keys. What tells them apart is the
    table that was asked, or their ``where``, which then stands on each column.
    guarantee: what all of them promise together, the sum on each edge (proof:
    :func:`onesided.accounting.compose`); they must protect the same units.
    Errors: ParameterError for answers that cannot stand side by side; PolicyError for answers under
    different policies.

    >>> import polars as pl, onesided as od
    >>> policy, ledger = od.policy.presence(max_groups=1), od.Ledger.open(None)
    >>> def week(people):
    ...     visits = pl.DataFrame({"person": range(people), "place": ["gym"] * people})
    ...     session = od.Session(visits, unit="person", policy=policy, budget=150, ledger=ledger)
    ...     return session.count(by="place", keys=["gym", "bar"], epsilon=70)
    >>> series = od.Series({"week 1": week(3), "week 2": week(5)})
    >>> series.guarantee.headline, series.at_most(4)
    (Fraction(140, 1), [('gym', 'week 1'), ('bar', 'week 1'), ('bar', 'week 2')])
    >>> series.side_by_side.columns()["week 2"]
    ['5, at least 5 (95 %), at most 5 (certain)', '0, at least 0 (95 %), at most 0 (certain)']
    """

    parts: Mapping[str, Release]

    def __init__(self, releases: Mapping[str, Release] | Sequence[Release]) -> None:
        parts = _named(releases)
        told, cuts = list(parts.values()), [f"{name}: {one.cut}" for name, one in parts.items()]
        first = told[0]
        alike = len({replace(one.asked, heading="") for one in told}) == 1
        asked = first.asked if alike else _question(first)
        if len({one.asked.heading for one in told}) > 1:
            asked = replace(asked, heading="")
        each = dict.fromkeys(one.bound_words for one in told)  # which hold by themselves
        sure = [words.replace("all at once", "all at once in each") for words in each]
        Release.__init__(
            self,
            guarantee=_together(parts, asked.title()),
            entry=None,
            told=_long(parts),
            kind="Series",
            bound_words=" or ".join(sure),
            asked=replace(asked, parts=tuple(replace(o.asked, entry=o.entry) for o in told)),
            cut=first.cut if len({one.cut for one in told}) == 1 else " ".join(cuts),
        )
        settle(self, parts=parts)

    @property
    def releases(self) -> tuple[Release, ...]:
        """The answers, in the order they were given."""
        return tuple(self.parts.values())

    @property
    def counted(self) -> str:
        """What the numbers are, for an axis."""
        return self.releases[0].counted

    @property
    def side_by_side(self) -> RoleTable:
        """A row per key and a column of text per answer, in which certain bounds say so."""
        keys = [one for one in self.releases[0].table.parts if one.role in ("key", "beside")]
        cells = [RoleColumn(name, "fact", _cells(one)) for name, one in self.parts.items()]
        return RoleTable((*keys, *cells))

    def shape(self, *, positions: object = None, at_most: int | None = None) -> Shape:
        """A line per key over the answers. Errors: ParameterError."""
        if positions is not None and positions is not False:
            raise ParameterError(
                "A series is drawn from one time to the next, not on a map.",
                hint="Leave positions= out, or plot one of its releases.",
            )
        if at_most is not None:
            self.certainly_at_most(at_most)
        limits = self.asked.limits if at_most is None else {"at most": at_most}
        return panels_of(self.table, list(self.parts), self.bound_words, limits=limits)

    def page(self, table: RoleTable) -> Page:
        """Words and table of a page of them, without a picture."""
        del table
        total = self.guarantee
        return replace(
            Release.page(self, self.side_by_side),
            lines=(
                f"{many(len(self.parts), 'answer')} side by side.",
                total.promise,
                *self._costs(),
            ),
            facts=(("privacy loss ε of all together", text(total.headline)),),
            edges=tuple(
                (edge, text(loss), shown(total.delta[edge], up=True))
                for edge, loss in total.epsilon.items()
            ),
        )

    def _first(self, rows: int) -> tuple[RoleTable, tuple[str, ...]]:
        del rows
        return self.side_by_side, ()

    def _entry_words(self) -> str:
        return " ".join(self._costs())

    def _costs(self) -> list[str]:
        """What each answer lost, and where it stands."""
        told = []
        for name, one in self.parts.items():
            delta, where = one.guarantee.delta, one.entry
            losses = [
                f"ε = {readable(loss)}"
                f"{f', δ {shown(delta[edge], up=True)}' if delta.get(edge) else ''} on {edge}"
                for edge, loss in one.guarantee.epsilon.items()
            ]
            entry = "" if where is None else f"; ledger entry {where}"
            drawn = f", drawn {one.drawn[:10]}" * one.told_again
            told.append(f"{name}: {', '.join(losses)}{entry}{drawn}.")
        return told


def _question(release: Release) -> Statement:
    """What was asked, whatever the condition on rows and however text was read."""
    return replace(release.asked, where="", unknown="recorded", heading="", reading="")


def _named(given: object) -> dict[str, Release]:
    """The answers by what each is called, with its condition where that tells them apart."""
    if isinstance(given, str) or not isinstance(given, Mapping | Sequence):
        raise ParameterError(
            f"A series is made of releases, got {a(type(given).__name__)}.",
            hint='Write od.Series([release, ...]) or od.Series({"week 1": release, ...}).',
        )
    found: list[Any] = list(given.values() if isinstance(given, Mapping) else given)
    called = given if isinstance(given, Mapping) else range(1, len(found) + 1)
    names = [one_line(str(name)) for name in called]
    twice = len(set(names)) < len(names) or len(set(map(id, found))) < len(found)
    if not 1 <= len(found) <= _MOST or twice:
        raise ParameterError(
            f"A series has 1 to {_MOST:,} answers, each with a name of its own; these are "
            f"{', '.join(map(repr, names[:9])) or 'none'}.",
            hint="Give each release once.",
        )
    for name, one in zip(names, found, strict=True):
        _require_alike(name, one, names[0], found[0])
    entries: dict[int | None, list[int]] = {}
    for place, own in enumerate(found):
        for other in entries.setdefault(own.entry, []) if own.entry is not None else ():
            before = found[other]
            again = own.told_again or before.told_again
            drawn = {part.drawn for part in (own, before) if part.told_again}
            same = own.guarantee.epsilon == before.guarantee.epsilon and own.table == before.table
            if again and len(drawn) == 1 and same:
                raise ParameterError(
                    f"{names[place]!r} is {names[other]!r}, told again: entry {own.entry}.",
                    hint="Give each release once.",
                )
        entries.setdefault(own.entry, []).append(place)
    rows = [one.asked.rows for one in found]
    if len(set(rows)) > 1:
        names = [f"{name}, {words}" for name, words in zip(names, rows, strict=True)]
    taken = found[0].table.columns().keys()
    return {
        f"{name} (answer)" if name in taken else name: one
        for name, one in zip(names, found, strict=True)
    }


def _require_alike(name: str, one: Any, called: str, first: Any) -> None:
    """Refuse what cannot stand beside the first answer. Errors: ParameterError."""
    kind = one.kind if isinstance(one, Release) else type(one).__name__
    if not isinstance(one, Release) or kind == "Series":
        raise ParameterError(
            f"{name!r} of the series is {a(kind)} and no answer.",
            hint="Give what a session answered or release_from_json read; of a series, its parts.",
        )
    if not {"estimate", *SIDES} & set(one.table.roles.values()):
        raise ParameterError(
            f"{name!r} of the series, {one.title!r}, has no numbers by key.",
            hint="Of several answers give one of each, such as answers[0].",
        )
    if (one.kind, _question(one)) != (first.kind, _question(first)):
        raise ParameterError(
            f"{name!r} is {a(one.kind)}, {one.title!r}, and {called!r} is {a(first.kind)}, "
            f"{first.title!r}: these are two questions.",
            hint="A series is of one question, whose where alone may differ. Make one of each.",
        )
    if (own := one.table.labels()) != (keys := first.table.labels()):
        odd = next((key for key in (*own, *keys) if (key in own) != (key in keys)), "their order")
        raise ParameterError(
            f"{name!r} and {called!r} differ in their keys: {odd!r}.",
            hint="Ask with the same keys each time, in the same order.",
        )


def _together(parts: Mapping[str, Release], asked: str) -> Guarantee:
    """The sum of what the answers promise. Errors: PolicyError for different policies."""
    promises = {name: one.guarantee for name, one in parts.items()}
    named = next((name for name, one in promises.items() if one.made_for), next(iter(promises)))
    for name, one in promises.items():
        if not promises[named].same_policy(one) or set(promises[named].epsilon) != set(one.epsilon):
            same = ", with other parameters" if one.policy == promises[named].policy else ""
            units = [part.unit for part in (one, promises[named])]
            if same and None not in units and units[0] != units[1]:
                same = f", and they protect {units[0] or 'each row'} and {units[1] or 'each row'}"
            raise PolicyError(
                f"{name!r} was answered under the policy {one.policy!r}, and {named!r} under "
                f"{promises[named].policy!r}{same}: their losses are about different edges.",
                hint="Make a series of each policy's answers; total_guarantee(ledger) says what "
                "all of a ledger promise together.",
            )
    by_name = len(promises) > 1 and not all(one.made_for for one in promises.values())
    about = (
        f"That is the sum of {many(len(promises), 'answer')}, edge by edge.",
        *(one.about for one in promises.values()),
        _BY_NAME if by_name else "",
    )
    total = compose(list(promises.values()))
    return replace(
        total,
        delta={edge: total.delta.get(edge, Fraction(0)) for edge in total.epsilon},
        about=" ".join(filter(None, dict.fromkeys(about))),
        scope="; ".join(filter(None, dict.fromkeys(one.scope for one in promises.values()))),
        asked=asked,
    )


def _long(parts: Mapping[str, Release]) -> RoleTable:
    """All rows, one answer after the other; what each answer is called is a key of its rows."""
    tables = [one.table for one in parts.values()]
    keys, plain = tables[0].names("key"), [one.columns() for one in tables]
    beside = [name for name in tables[0].names("beside") if all(name in one for one in plain)]
    called = next(name for n in count() if (name := f"answer{'_' * n}") not in plain[0])
    told: dict[str, Any] = {
        **{key: [value for one in plain for value in one[key]] for key in keys},
        called: [name for name in parts for _ in range(len(tables[0]))],
        **{name: [value for one in plain for value in one[name]] for name in beside},
    }
    for role in ("estimate", *SIDES):
        found = [one.column(role) for one in tables]
        if not any(found):
            continue
        told[role] = [v for one in found for v in (one.plain() if one else [None] * len(tables[0]))]
        if role in SIDES:
            told[f"{role}_certain"] = np.concatenate([one.certain(role) for one in tables])
    return RoleTable.of(told, beside=beside, roles=dict.fromkeys([*keys, called], "key"))


def _cells(release: Release) -> list[str]:
    """Each row of an answer in words, as a picture says it."""
    told: list[list[str]] = [[] for _ in range(len(release.table))]
    for role in ("estimate", *SIDES):
        column = release.table.column(role)
        for row, value in enumerate(column.plain() if column else ()):
            said = cell_text(value, role)
            if role in SIDES and value is not None:
                sure = release.table.certain(role)[row]
                how = "certain" if sure else release.bound_words or "not certain"
                said = f"{_WORDS[role]} {said} ({how})"
            told[row].append(said)
    return [", ".join(cells) for cells in told]
