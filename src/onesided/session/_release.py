"""The one protocol of everything that is published.

Every answer, whatever was asked, has ``frame`` (and ``to_frame()``), ``guarantee``, ``entry``,
``told_again``, ``write()``, ``plot()``, a ``repr`` of at most ten lines (in a notebook a table),
and a ``str`` that tells the answer: what must be known first, the numbers with their bounds, and
the guarantee. Answers with bounds have ``interval``, answers that are one number ``value``, and
answers by group ``at_most(threshold)``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import Number, readable, whole
from onesided.engine import PublicKeys
from onesided.errors import ParameterError
from onesided.mechanism import Interval
from onesided.noise import IntArray
from onesided.policy import Guarantee
from onesided.session._chart import fewer, outlined, shape_of
from onesided.session._statement import UNSAID, Statement
from onesided.session._text import share_words, table
from onesided.show import (
    Card,
    Chart,
    Shape,
    figure,
    html_page,
    new_folder,
    require_formats,
    unwritable,
    write_tables,
)

FrameMaker = Callable[[Mapping[str, Any]], Any]
FORMATS: Final = ("csv", "json")
_ROWS: Final = 20
_FEW: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Release:
    """What was published, and under which guarantee. Everything here is public.

    guarantee: what it promises, edge by edge. asked: what it is about; ``statement`` says all that
    must be said with it. entry: its number in the ledger; None if it cost nothing, or came from a
    server. told_again: whether it was read from the ledger, where it stands since ``drawn``,
    without a look at the data. cut: what must be known first: which rows
    may be missing, whether units may have been cut down to a bound; "" where neither is so.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": [1, 2, 3], "place": ["gym", "gym", "bar"]})
    >>> policy = od.policy.presence(max_groups=1)
    >>> session = od.Session(visits, unit="person", policy=policy, budget=100)
    >>> release = session.count(by="place", keys=["gym", "bar"], epsilon=60)
    >>> release.at_most(1)
    ['bar']
    >>> release.interval.upper_certain, release.told_again, release.entry
    (True, False, 2)
    """

    guarantee: Guarantee
    entry: int | None
    asked: Statement = UNSAID
    told_again: bool = False
    drawn: str = ""
    cut: str = ""
    left: Mapping[str, Fraction] = field(default_factory=dict, compare=False)
    _make_frame: FrameMaker | None = field(default=None, compare=False)

    @property
    def title(self) -> str:
        """What it is about, in one line."""
        return self.asked.title()

    @property
    def summary(self) -> str:
        """What was found, in a few words; "" where the numbers say it."""
        return ""

    @property
    def statement(self) -> Statement:
        """What it is about, and all that must be said with it, as one value."""
        return replace(
            self.asked,
            first=self.warnings,
            promise=self.guarantee.promise,
            confidence=self.bound_words,
            entry=self.entry,
            drawn=self.drawn if self.told_again else "",
        )

    def columns(self) -> dict[str, list[Any]]:
        """The answer column by column, as plain Python values."""
        raise _has_no(self, "columns")

    @property
    def frame(self) -> Any:
        """The answer as a table of the caller's own type."""
        made = self.columns()
        return made if self._make_frame is None else self._make_frame(made)

    def to_frame(self) -> Any:
        """The same as :attr:`frame`."""
        return self.frame

    @property
    def interval(self) -> Interval:
        """The bounds: lower and upper, a row each, and whether a side is never wrong."""
        raise _has_no(self, "bounds")

    @property
    def labels(self) -> list[Any]:
        """What the rows of :attr:`interval` are about: a key, or a tuple of keys."""
        raise _has_no(self, "groups")

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns that are no keys and came with them, such as a name or a position."""
        keys = getattr(self, "keys", None)
        return tuple(keys.beside.columns) if isinstance(keys, PublicKeys) else ()

    @property
    def value(self) -> float:
        """The answer, where it is one number. Errors: ParameterError where it is not."""
        numbers = self.columns().get("estimate", [])
        if len(numbers) != 1:
            raise _has_no(self, "single value")
        return float(numbers[0])

    def certainly_at_most(self, threshold: int) -> NDArray[np.bool_]:
        """True for the groups that certainly have at most ``threshold``, a row each.

        Errors: ParameterError if the upper bounds are not certain.
        """
        most, bounds = whole(threshold, name="threshold"), self.interval
        if not bounds.upper_certain:
            raise ParameterError(
                "No 'at most' is certain here: this policy needs noise below the truth, so an "
                "upper bound can be wrong.",
                hint="Use a policy without rising counts, such as presence or addition_only; the "
                "column 'upper' still holds a bound, at the confidence that was asked for.",
            )
        return np.asarray(bounds.upper <= most)

    def at_most(self, threshold: int) -> list[Any]:
        """The groups certified to have at most ``threshold``; the others are unknown, not larger.

        Values for one grouping column, tuples for several. Errors: as :meth:`certainly_at_most`.
        """
        return self._named(np.flatnonzero(self.certainly_at_most(threshold)))

    def _named(self, places: IntArray) -> list[Any]:
        """What some rows of :attr:`interval` are about."""
        labels = self.labels
        return [labels[place] for place in places.tolist()]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What must be known before any number."""
        entry = "" if self.entry is None else f" (ledger entry {self.entry})"
        day = self.drawn[:19].replace("T", " ")
        again = f"Told again: drawn on {day} UTC{entry}; the data were not read."
        told = ((again, self.told_again), (self.cut, bool(self.cut)))
        said = (words for words, holds in told if holds)
        return *said, *self.guarantee.remarks

    @property
    def bound_words(self) -> str:
        """How sure a bound is that is not certain: "95 %"; "" where none is like that."""
        return ""

    @property
    def counted(self) -> str:
        """What the numbers are, for an axis."""
        return "count"

    def shape(self, *, positions: object = None) -> Shape:
        """What :meth:`plot` draws. Errors: ParameterError."""
        return shape_of(self.columns(), self.bound_words, positions=positions, beside=self.beside)

    def chart(self, *, positions: object = None, outline: object = None) -> Chart:
        """The picture with its words, apart from who draws it. Errors: ParameterError."""
        shape, notes = fewer(outlined(self.shape(positions=positions), outline))
        return Chart(
            title=self.title,
            shape=shape,
            value_name=self.counted,
            first=self.warnings,
            notes=notes,
            caption=self.guarantee.promise,
        )

    def plot(
        self, *, positions: object = None, outline: object = None, backend: str = "plotly"
    ) -> Any:
        """A picture: groups with their bounds, bins, fields or places, by what the columns are.

        Certain bounds end in a bar on a solid line, the others in a circle on a dotted one.
        positions: a (latitude, longitude) in degrees per row, where the keys have no such columns.
        outline: of a map: GeoJSON, as a file's name or a mapping; False for none; by default the
        coasts, where the map is wide enough for them.
        backend: "plotly" or "matplotlib". Errors: ParameterError; MissingDependencyError.
        """
        return figure(self.chart(positions=positions, outline=outline), backend)

    def write(
        self, folder: str | Path, *, formats: Sequence[str] = FORMATS, outline: object = None
    ) -> Path:
        """Write ``release.csv`` and so on, as ``formats`` asks, and ``guarantee.json``.

        formats: of "csv", "json", "parquet", "xlsx" and "html", a page with the picture.
        outline: of a map in that page, as in :meth:`plot`.
        The folder must be new; it appears once everything is in it. Errors: OutputError;
        ParameterError for unknown formats; MissingDependencyError.
        """
        require_formats(formats)
        if not isinstance(folder, str | Path):
            raise ParameterError(f"folder must be a path, got {folder!r}.", hint='Write "out".')
        with new_folder(folder) as made:
            try:
                self.write_into(made.partial, formats, outline=outline)
                return made.publish()
            except OSError as error:
                raise unwritable(made.target, error, charged=True) from error

    def write_into(self, place: Path, formats: Sequence[str], *, outline: object = None) -> None:
        """As :meth:`write`, into a folder that is there."""
        chosen, told = require_formats(formats), self.columns()
        page = self._page(outline) if "html" in chosen else ""
        written = json.dumps(self._document(), indent=2, ensure_ascii=False) + "\n"
        statement = self.statement
        write_tables(
            told,
            place / "release",
            chosen,
            first=self.warnings,
            about=(*replace(statement, first=()).sentences(), self._entry_words()),
            statement=statement.to_json(),
        )
        (place / "guarantee.json").write_text(written, encoding="utf-8")
        if page:
            (place / "release.html").write_text(page, encoding="utf-8")

    def _document(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "statement": self.statement.to_json(),
            "read_first": list(self.warnings),
            "guarantee": self.guarantee.as_dict(),
            "entry": self.entry,
            "told_again": self.told_again,
            "drawn": self.drawn,
        }

    def _page(self, outline: object) -> str:
        return html_page(
            self.chart(outline=outline),
            title=self.title,
            first=self.warnings,
            lines=(*self._summary(), self.guarantee.promise, self._entry_words()),
            columns=self.columns(),
            confidence=self.bound_words,
        )

    def _entry_words(self) -> str:
        if self.entry is not None:
            left = ", ".join(f"ε {readable(some)} ({edge})" for edge, some in self.left.items())
            return f"Ledger entry {self.entry}." + (f" Left after it: {left}." if left else "")
        promise = self.guarantee
        spent = any(promise.epsilon.values()) or any(promise.delta.values())
        return "It is in its server's ledger." if spent else "It cost nothing."

    def _repr_html_(self) -> str:
        """A table for notebooks: first and last rows, certain bounds, its cost and what is left."""
        return Card(
            title=self.title,
            first=self.warnings,
            columns=self._shown(),
            confidence=self.bound_words,
            lines=(
                *self._summary(),
                *self._left_out(),
                self.guarantee.promise,
                self._entry_words(),
            ),
        ).html()

    def _shown(self) -> dict[str, list[Any]]:
        """The columns that a notebook shows some rows of."""
        return self.columns()

    def _left_out(self) -> tuple[str, ...]:
        """What to say of rows that were not read to be shown."""
        return ()

    def __str__(self) -> str:
        return "\n".join([*self._head(), *self._table(_ROWS), self.guarantee.promise])

    def __repr__(self) -> str:
        return "\n".join([*self._head(), *self._table(_FEW)])

    def _head(self) -> list[str]:
        """What stands before the numbers."""
        return [*self.warnings, f"{self.title}.", *self._summary()]

    def _summary(self) -> tuple[str, ...]:
        return (self.summary,) if self.summary else ()

    def _table(self, rows: int) -> list[str]:
        return table(self.columns(), rows=rows, share=self.bound_words)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CountRelease(Release):
    """Counts per group with bounds. Everything here is public.

    keys: the groups. estimate: the best guess. interval: bounds; a certain side is never wrong
    about the data named in ``guarantee.about``. The interval holds with ``confidence``: each
    group's on its own, or those of all groups at once if ``simultaneous``.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": [1, 2, 3], "place": ["gym", "gym", "bar"]})
    >>> policy = od.policy.presence(max_groups=1)
    >>> session = od.Session(visits, unit="person", policy=policy, budget=100)
    >>> release = session.count(by="place", keys=["gym", "bar"], epsilon=60)
    >>> print(release)
    Rows without a value of 'place' are in no group. A certain upper bound is about rows with a
    value of 'place'.
    ε = 60 on present -> not present is large: an answer may change the odds that somebody holds
    about one person by a factor of e^60.
    Number of units (person) by place.
    place  estimate  lower (95 %)  upper (certain)
    gym           2             2                2
    bar           1             1                1
    Under the policy 'presence' -- present -> not present: ε = 60 (pure, δ = 0). About the data as
    recorded.
    """

    keys: PublicKeys
    noisy: NDArray[np.int64]
    mechanism: Any
    confidence: Number
    bounds: Interval
    simultaneous: bool = False

    @property
    def estimate(self) -> NDArray[Any]:
        """The answers after correction and clipping."""
        found: NDArray[Any] = self.mechanism.estimate(self.noisy)
        return found

    @property
    def interval(self) -> Interval:
        """The bounds, a row per group."""
        return self.bounds

    @property
    def labels(self) -> list[Any]:
        """The groups."""
        return self.keys.labels()

    def _named(self, places: IntArray) -> list[Any]:
        return self.keys.part(places).labels()

    def columns(self) -> dict[str, list[Any]]:
        """The keys, what came with them, the estimate and its bounds."""
        return {**self.keys.columns(), "estimate": self.estimate.tolist(), **sides(self.bounds)}

    @property
    def frame(self) -> Any:
        """The same columns as a table of the caller's own type."""
        size = self.noisy.size
        told = {
            **self.keys.by_name(),
            **self.keys.beside.columns,
            "estimate": self.estimate,
            "lower": self.bounds.lower,
            "upper": self.bounds.upper,
            "lower_certain": np.full(size, self.bounds.lower_certain),
            "upper_certain": np.full(size, self.bounds.upper_certain),
        }
        return self.columns() if self._make_frame is None else self._make_frame(told)

    @property
    def bound_words(self) -> str:
        """How sure a bound is that is not certain."""
        return share_words(self.confidence, together=self.simultaneous)

    def framed(self, columns: Mapping[str, list[Any]]) -> Any:
        """Columns as a table of the caller's own type."""
        return columns if self._make_frame is None else self._make_frame(columns)


def sides(bounds: Interval) -> dict[str, list[Any]]:
    """Bounds as columns."""
    size = len(bounds.lower)
    return {
        "lower": bounds.lower.tolist(),
        "upper": bounds.upper.tolist(),
        "lower_certain": [bounds.lower_certain] * size,
        "upper_certain": [bounds.upper_certain] * size,
    }


def _has_no(release: Release, what: str) -> ParameterError:
    return ParameterError(
        f"{release.title}: this answer has no {what}.",
        hint="See its frame, or print it.",
    )
