"""The one release: what was published, wherever it comes from.

A session, a file, the ledger, a service and ``od.connect`` all give this object. It holds one
table, whose columns have roles, and reads everything off it: ``frame``, ``interval``, ``labels``,
``estimate``, ``value``, ``at_most(threshold)``, ``at_least(threshold)``. What only its question
says stands in ``own`` and is reached by name, such as ``release.mechanism``; it is not written, and
not there to be read back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided._numbers import readable, whole
from onesided.engine import PublicKeys
from onesided.engine.kit import Beside
from onesided.errors import OnesidedError, ParameterError
from onesided.mechanism import Interval
from onesided.policy import Guarantee
from onesided.session._chart import left_out, outlined, shape_of
from onesided.session._statement import UNSAID, Statement, unsaid
from onesided.show import (
    EMPTY,
    SIDES,
    TABLE_LIMIT,
    Card,
    Chart,
    Page,
    RoleTable,
    Shape,
    crossed,
    crossed_html,
    figure,
    new_folder,
    require_formats,
    require_structure,
    svg_text,
    unwritable,
    write_tables,
)

FrameMaker = Callable[[Mapping[str, Any]], Any]
FORMATS: Final = ("csv", "json")
_ROWS: Final = 20
_FEW: Final = 4
_CARD: Final = 10
_FRAMES: Final[tuple[Literal["polars", "pandas", "pyarrow"], ...]] = (
    "polars",
    "pandas",
    "pyarrow",
)  # the first that is installed makes frames
# Whose measure says something else than what the numbers are.
_COUNTED: Final = {
    "OwnRelease": "answer",
    "SampleRelease": "true records",
    "SyntheticRelease": "rows",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Release:
    """What was published, and under which guarantee. Everything here is public.

    guarantee: what it promises, edge by edge. asked: what it is about; ``statement`` says all that
    must be said with it. entry: its number in the ledger; None if it cost nothing, or came from a
    server. told_again: whether it was read from the ledger, where it stands since ``drawn``,
    without a look at the data. cut: what must be known first: which rows
    may be missing, whether units may have been cut down to a bound; "" where neither is so.
    told: the table, which :attr:`table` gives. kind: what it is called in JSON. summary: what was
    found, in a few words; "" where the numbers say it. bound_words: how sure a bound is that is not
    certain. notes: what the policy leaves open. own: what only its question says of it.

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
    told: RoleTable = EMPTY
    kind: str = ""
    summary: str = ""
    bound_words: str = ""
    notes: tuple[str, ...] = ()
    asked: Statement = UNSAID
    told_again: bool = False
    drawn: str = ""
    cut: str = ""
    own: Mapping[str, Any] = field(default_factory=dict, compare=False)
    left: Mapping[str, Fraction] = field(default_factory=dict, compare=False)
    left_at: str = field(default="", compare=False)
    _make_frame: FrameMaker | None = field(default=None, compare=False)

    def __getattr__(self, name: str) -> Any:
        if name != "own" and not name.startswith("_") and name in self.own:
            return self.own[name]
        raise AttributeError(
            f"This {type(self).__name__} has no {name!r}. What only a session knows of its answer "
            "is not there in one that was read from a file or came from a server."
        )

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self.own})

    def __len__(self) -> int:
        return len(self.table)

    @property
    def title(self) -> str:
        """What it is about, in one line."""
        return self.asked.title()

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

    @property
    def table(self) -> RoleTable:
        """The answer: columns with roles, which every surface reads."""
        margins = any(one.kind == "TableRelease" for one in self.releases)
        none = "all others" if self.asked.others else "all" if margins else "–"
        return self.told.measured(self.asked.unit_of, none)

    @property
    def releases(self) -> tuple[Release, ...]:
        """The answers that this one is made of: itself, or those of several questions."""
        return (self,)

    def columns(self) -> dict[str, list[Any]]:
        """The answer column by column, as plain Python values."""
        return self.table.columns()

    @property
    def frame(self) -> Any:
        """The answer as a table of the caller's own type.

        Of what was read from a file or a server, one of the type that was asked for there, else of
        the first library that is installed of Polars, pandas and PyArrow.
        """
        if self._make_frame is not None:
            return self._make_frame(self.table.held())
        return frame_of(self.table.columns())

    def to_frame(self) -> Any:
        """The same as :attr:`frame`."""
        return self.frame

    @property
    def interval(self) -> Interval:
        """The bounds: lower and upper, a row each, and whether a side is never wrong.

        Where there are upper bounds alone they are of counts, which are at least 0.
        """
        table = self._bounded
        lower, upper = (table.numbers(side) for side in SIDES)
        if lower is None and upper is None:
            raise self._has_no("bounds")
        sure = {side: bool(table.certain(side).all()) for side in SIDES}
        if lower is None:
            lower, sure["lower"] = np.zeros(len(table), dtype=np.int64), True
        if upper is None:
            upper, sure["upper"] = np.full(len(table), np.inf), False
        return Interval(lower, upper, sure["lower"], sure["upper"])

    @property
    def lower(self) -> NDArray[Any]:
        """The lower bounds, a row each."""
        return self.interval.lower

    @property
    def upper(self) -> NDArray[Any]:
        """The upper bounds, a row each; infinite where there is none."""
        return self.interval.upper

    @property
    def lower_certain(self) -> bool:
        """Whether no lower bound is ever wrong."""
        return self.interval.lower_certain

    @property
    def upper_certain(self) -> bool:
        """Whether no upper bound is ever wrong."""
        return self.interval.upper_certain

    @property
    def _bounded(self) -> RoleTable:
        """The rows that have a bound, of an answer in which some have none."""
        found = self.table.numbers("upper")
        if found is None or found.dtype.kind != "O":
            return self.table
        return self.table.part(np.flatnonzero([one is not None for one in found.tolist()]))

    @property
    def estimate(self) -> NDArray[Any]:
        """The best guesses, a row each; of a histogram, an axis for each column and the groups."""
        found = self.table.numbers("estimate")
        if found is None:
            raise self._has_no("estimate")
        if self.kind != "HistogramRelease":
            return found
        ends = self.table.held("key")
        sizes = [len(np.unique(v)) for name, v in ends.items() if name.endswith("_from")]
        grouped = len(ends) > 2 * len(sizes)
        return found.reshape((-1, *sizes) if grouped else sizes)

    @property
    def keys(self) -> PublicKeys:
        """What the rows are about, and what came with that."""
        held = self.table.held("key")
        arrays = (
            np.fromiter(values, dtype=object, count=len(values))
            if isinstance(values, list)
            else values
            for values in held.values()
        )
        came = {name: list(values) for name, values in self.table.held("beside").items()}
        return PublicKeys(tuple(held), tuple(arrays), len(self), Beside(came))

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns that are no keys and came with them, such as a name or a position."""
        return tuple(self.table.names("beside"))

    @property
    def labels(self) -> list[Any]:
        """What the rows of :attr:`interval` are about: a key, or a tuple of keys."""
        return self._bounded.labels()

    @property
    def value(self) -> float:
        """The answer, where it is one number. Errors: ParameterError where it is not."""
        numbers = self.table.numbers("estimate")
        if numbers is None or len(numbers) != 1:
            raise self._has_no("single value")
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

    def certainly_at_least(self, threshold: int) -> NDArray[np.bool_]:
        """True for the groups that certainly have at least ``threshold``, a row each.

        Errors: ParameterError if the lower bounds are not certain.
        """
        least, bounds = whole(threshold, name="threshold", least=1), self.interval
        if not bounds.lower_certain:
            raise ParameterError(
                "No 'at least' is certain here: this policy needs noise above the truth, so a "
                "lower bound can be wrong.",
                hint="The column 'lower' holds a bound, at the confidence that was asked for.",
            )
        return np.asarray(bounds.lower >= least)

    def at_most(self, threshold: int | None = None) -> list[Any]:
        """The groups certified to have at most ``threshold``; the others are unknown, not larger.

        None: of an answer about thresholds, each at most its own. Values for one grouping column,
        tuples for several. Errors: as :meth:`certainly_at_most`.
        """
        if threshold is None:
            return self._certified("upper", certain=True)
        return self._bounded.part(np.flatnonzero(self.certainly_at_most(threshold))).labels()

    def at_least(self, threshold: int | None = None) -> list[Any]:
        """The groups certified to have at least ``threshold``; the others are unknown, not smaller.

        None and values as in :meth:`at_most`. Errors: as :meth:`certainly_at_least`.
        """
        if threshold is None:
            return self._certified("lower", certain=True)
        return self._bounded.part(np.flatnonzero(self.certainly_at_least(threshold))).labels()

    @property
    def above(self) -> Any:
        """Of an answer about thresholds, the groups that are *unknown*: probably larger.

        Of cumulative counts, bounds on how many units are above each candidate.
        """
        return self.own["above"] if "above" in self.own else self._certified("upper", certain=False)

    @property
    def below(self) -> Any:
        """Of an answer about thresholds, the groups that are *unknown*: probably smaller.

        Of cumulative counts, bounds on how many units are at or below each candidate.
        """
        return self.own["below"] if "below" in self.own else self._certified("lower", certain=False)

    @property
    def likely(self) -> dict[Any, str]:
        """Of an answer about thresholds that is not certain, what is likely of each group.

        Such as "at most 5" or "more than 5"; "undecided" where the noise leaves it open.
        """
        told = self.table.column("likely")
        if told is None:
            raise self._has_no("likely decision")
        return dict(zip(self.table.labels(), told.plain(), strict=True))

    def _certified(self, side: Literal["lower", "upper"], *, certain: bool) -> list[Any]:
        told = self.table.numbers("certified")
        if self.table.column("likely") is not None:
            raise ParameterError(
                f"{self.title}: nothing is certified here.",
                hint="release.likely says what is likely of each group.",
            )
        if told is None or self.table.numbers(side) is None:
            most = "most" if side == "upper" else "least"
            raise ParameterError(
                f"{self.title}: at {most} what?", hint=f"Give a threshold: at_{most}(5)."
            )
        return self.table.part(np.flatnonzero(told.astype(np.bool_) == certain)).labels()

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
    def counted(self) -> str:
        """What the numbers are, for an axis."""
        measure, units = self.asked.measure, self.asked.units
        first = measure.rpartition(", over ")[0] or measure
        if self.kind in _COUNTED:
            return _COUNTED[self.kind]
        if self.kind == "Estimates" or self.kind.startswith("Quantile"):
            return f"{first[:1].lower()}{first[1:]}"
        return f"number of {units}" if units else "count"

    def shape(self, *, positions: object = None, at_most: int | None = None) -> Shape:
        """What :meth:`plot` draws. Errors: ParameterError."""
        told = self.table
        if at_most is not None:
            told = told.plus("certified", self.certainly_at_most(at_most), "certified")
        if self.kind == "TableRelease":  # cells beside each other, not beside their sums
            keys = [one.plain() for one in told.parts if one.role == "key"]
            cells = [row for row, label in enumerate(zip(*keys, strict=True)) if None not in label]
            told = told.part(cells) if cells else told
        if self.kind == "SyntheticRelease":  # how often each value of the first column comes
            first = told.parts[0]
            values, number = np.unique([str(one) for one in first.plain()], return_counts=True)
            told = RoleTable.of({first.name: values.tolist(), "estimate": number})
        limits = self.asked.limits if at_most is None else {"at most": at_most}
        return shape_of(told, self.bound_words, positions=positions, limits=limits)

    def chart(
        self, *, positions: object = None, outline: object = None, at_most: int | None = None
    ) -> Chart:
        """The picture with its words, apart from who draws it. Errors: ParameterError."""
        shape = outlined(self.shape(positions=positions, at_most=at_most), outline)
        return Chart(
            title=self.title,
            shape=shape,
            value_name=self.counted,
            first=self.warnings,
            notes=left_out(shape),
            caption=self._promise,
        )

    def plot(
        self,
        *,
        positions: object = None,
        outline: object = None,
        at_most: int | None = None,
        backend: str = "svg",
    ) -> Any:
        """A picture: groups with their bounds, bins, fields or places, by what the columns are.

        Certain bounds end in a bar on a solid line, the others in a circle on a dotted one.
        positions: a (latitude, longitude) in degrees per row, where the keys have no such columns;
        False for groups with their bounds where a map could be drawn.
        outline: of a map: GeoJSON, as a file's name or a mapping; False for none; by default the
        coasts, where the map is wide enough for them.
        at_most: a threshold, so that groups that certainly have no more are told apart.
        backend: "svg" for a picture that a notebook shows and that ``write("name.svg")`` keeps;
        "plotly" or "matplotlib" for a figure of theirs.
        Errors: ParameterError; MissingDependencyError.
        """
        chart = self.chart(positions=positions, outline=outline, at_most=at_most)
        return figure(chart, backend)

    def write(
        self,
        folder: str | Path,
        *,
        formats: Sequence[str] = FORMATS,
        outline: object = None,
        structure: str = "",
    ) -> Path:
        """Write ``release.csv`` and so on, as ``formats`` asks, and ``guarantee.json``.

        formats: of "csv", "json", "parquet", "xlsx", "html", a page with the picture, and "sdmx",
        SDMX-CSV of the dataflow ``structure``, such as "EXAMPLE:VISITS(1.0)".
        outline: of a map in that page, as in :meth:`plot`.
        The folder must be new; it appears once everything is in it. Errors: OutputError;
        ParameterError for unknown formats; MissingDependencyError.
        """
        require_structure(structure, require_formats(formats))
        if not isinstance(folder, str | Path):
            raise ParameterError(f"folder must be a path, got {folder!r}.", hint='Write "out".')
        with new_folder(folder) as made:
            try:
                self.write_into(made.partial, formats, outline=outline, structure=structure)
                return made.publish()
            except OSError as error:
                raise unwritable(made.target, error, charged=True) from error

    def write_into(
        self, place: Path, formats: Sequence[str], *, outline: object = None, structure: str = ""
    ) -> None:
        """As :meth:`write`, into a folder that is there."""
        chosen = require_formats(formats)
        page = ""
        if "html" in chosen:
            page = replace(self.page(self.table), charts=(self.chart(outline=outline),)).html()
        statement = self.statement
        document = {
            "title": self.title,
            "statement": statement.to_json(),
            "read_first": list(self.warnings),
            "notes": list(self.notes),
            "guarantee": self.guarantee.as_dict(),
            "entry": self.entry,
            "told_again": self.told_again,
            "drawn": self.drawn,
        }
        written = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        write_tables(
            self.table,
            place / "release",
            chosen,
            first=self.warnings,
            about=(*replace(statement, first=()).sentences(), *self.notes, self._entry_words()),
            statement=statement.to_json(),
            layout=crossed(self.table) if self.kind == "TableRelease" else None,
            structure=structure,
            unnamed="_T" if self.kind == "TableRelease" else "_O",
        )
        (place / "guarantee.json").write_text(written, encoding="utf-8")
        if page:
            (place / "release.html").write_text(page, encoding="utf-8")

    def page(self, table: RoleTable) -> Page:
        """Words and table of a page of this answer, without a picture."""
        shown = min(len(table), TABLE_LIMIT)
        heading, under = self.asked.headed()
        return Page(
            title=heading,
            asked=under,
            first=self.warnings,
            lines=(*self._summary(), *self._ending()),
            table=crossed_html(table, self.bound_words)
            if self.kind == "TableRelease" and shown == len(table)
            else table.part(range(shown)).html(self.bound_words),
            rows=(shown, len(table)),
        )

    @property
    def _promise(self) -> str:
        """What it promises, without what was said before any number."""
        return unsaid(self.guarantee.promise, self.warnings)

    def _ending(self) -> tuple[str, ...]:
        return self._promise, *self.notes, self._entry_words()

    def _entry_words(self) -> str:
        if self.entry is not None:
            left = ", ".join(f"ε {readable(some)} ({edge})" for edge, some in self.left.items())
            return f"Ledger entry {self.entry}." + (
                f" Left after it: {left}{self.left_at}." if left else ""
            )
        promise = self.guarantee
        spent = any(promise.epsilon.values()) or any(promise.delta.values())
        return "It is in its server's ledger." if spent else "It cost nothing."

    def _repr_html_(self) -> str:
        """A table for notebooks: first and last rows, certain bounds, its cost and what is left."""
        shown, more = self._first(_CARD)
        heading, under = self.asked.headed()
        return Card(
            title=heading,
            asked=under,
            first=self.warnings,
            table=shown,
            confidence=self.bound_words,
            picture=self._picture(),
            lines=(*self._summary(), *more, *self._ending()),
        ).html()

    def _picture(self) -> str:
        """The picture without the words that a notebook has around it; "" where there is none."""
        try:
            return svg_text(self.chart(), words=False)
        except OnesidedError:
            return ""

    def _first(self, rows: int) -> tuple[RoleTable, tuple[str, ...]]:
        """What a notebook or text shows ``rows`` rows of, and what must be said of the others."""
        del rows
        return self.table, ()

    def __str__(self) -> str:
        told = "\n".join([*self._head(), *self._table(_ROWS), self._promise])
        return " ".join([told, *self.notes])

    def __repr__(self) -> str:
        return "\n".join([*self._head(), *self._table(_FEW)])

    def _head(self) -> list[str]:
        """What stands before the numbers."""
        return [*self.warnings, f"{self.title}.", *self._summary()]

    def _summary(self) -> tuple[str, ...]:
        return (self.summary,) if self.summary else ()

    def _table(self, rows: int) -> list[str]:
        shown, more = self._first(rows)
        return [*shown.lines(rows=rows, share=self.bound_words), *more]

    def _has_no(self, what: str) -> ParameterError:
        return ParameterError(
            f"{self.title}: this answer has no {what}.", hint="See its frame, or print it."
        )


def of_groups(keys: PublicKeys, columns: Mapping[str, Any]) -> RoleTable:
    """The table of an answer by group: the keys, what came with them, and the answer's columns.

    columns: True and False stand for all rows; a column that is None is left out.
    """
    size, came = keys.size, keys.beside.columns
    told = {
        name: np.full(size, values) if isinstance(values, bool) else values
        for name, values in columns.items()
        if values is not None
    }
    roles: dict[str, Any] = dict.fromkeys(keys.names, "key")
    return RoleTable.of({**keys.by_name(), **came, **told}, beside=tuple(came), roles=roles)


def sides(bounds: Interval) -> dict[str, Any]:
    """Bounds as columns."""
    return {
        "lower": bounds.lower,
        "upper": bounds.upper,
        "lower_certain": bounds.lower_certain,
        "upper_certain": bounds.upper_certain,
    }


def frame_of(columns: Mapping[str, Any]) -> Any:
    """A table of the first library that is installed of Polars, pandas and PyArrow; else columns.

    >>> type(frame_of({"place": ["gym"]})).__name__
    'DataFrame'
    """
    found = next((name for name in _FRAMES if find_spec(name)), None)
    return columns if found is None else nw.from_dict(columns, backend=found).to_native()
