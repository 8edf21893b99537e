"""What an experiment is made of: jobs that give rows, and a result drawn from the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

Row = dict[str, Any]

# Okabe and Ito's palette: told apart by readers of every colour vision, and in grey.
COLOURS: Final = {
    "black": "#000000",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "green": "#009E73",
    "yellow": "#F0E442",
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "purple": "#CC79A7",
    "grey": "#999999",
}
Marker = Literal["circle", "square", "diamond", "triangle", "cross", "none"]
Judged = Literal["as run", "corrected", "ours"]
Verdict = Literal["holds", "holds in part", "does not hold", "not comparable"]


@dataclass(frozen=True, slots=True)
class Look:
    """How a method is drawn, in every figure of a paper."""

    name: str
    colour: str
    marker: Marker = "circle"
    dashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Points joined by a line, or bars, or separate dots; ``spread`` is half a 95 % interval."""

    look: Look
    x: Sequence[float]
    y: Sequence[float]
    spread: Sequence[float] | None = None
    kind: Literal["line", "bar", "dots"] = "line"

    @classmethod
    def of(
        cls,
        look: Look,
        rows: Sequence[Row],
        x: str,
        y: str,
        *,
        spread: bool = False,
        dots: bool = False,
    ) -> Curve:
        """Two columns of rows; with ``spread``, that of y too."""
        return cls(
            look=look,
            x=[float(row[x]) for row in rows],
            y=[row[y] for row in rows],
            spread=[row[f"{y}_spread"] for row in rows] if spread else None,
            kind="dots" if dots else "line",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One pair of axes.

    zero_y: a logarithmic y axis is linear from here down, so that 0 has a place. ``is_map``: x and
        y are longitude and latitude, drawn to scale.
    """

    title: str
    x_label: str
    y_label: str
    curves: Sequence[Curve]
    log_x: bool = False
    log_y: bool = False
    zero_y: float | None = None
    y_range: tuple[float, float] | None = None
    x_names: Sequence[str] | None = None
    is_map: bool = False

    def __post_init__(self) -> None:
        if self.log_y and any(curve.kind == "bar" for curve in self.curves):
            raise ValueError("A bar has no foot on a logarithmic axis: draw dots.")


@dataclass(frozen=True, slots=True)
class Figure:
    """Panels in a grid, ``columns`` wide; the legend is shared."""

    title: str
    panels: Sequence[Panel]
    columns: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What is said (in our words), what was measured, and whether that agrees.

    judges: the authors' own experiment or statement, "as run" or printed by them; the same
        "corrected", where our reading or a mended error stands in for theirs; or a claim of "ours".
    """

    judges: Judged
    text: str
    measured: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Result:
    """A figure's numbers, plots and verdicts.

    figures: by file name. claims: called in whole runs alone; the quick form judges nothing.
    """

    rows: Sequence[Row]
    figures: Mapping[str, Figure]
    claims: Callable[[], Sequence[Claim]]
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Where the data are (if anywhere), how much work to do, and the seed."""

    data: Path | None = None
    quick: bool = False
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Job:
    """One call in a worker process; ``arguments`` must pickle. Returns rows."""

    function: Callable[..., list[Row]]
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Experiment:
    """One figure or table. No jobs means that its data were not found."""

    name: str
    title: str
    needs: str
    jobs: Callable[[Setup], list[Job]]
    result: Callable[[list[Row], Setup], Result]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A publication and what of it is reproduced."""

    name: str
    title: str
    experiments: tuple[Experiment, ...]


def where(rows: Iterable[Row], **wanted: object) -> list[Row]:
    """The rows with these values."""
    return [row for row in rows if all(row.get(name) == one for name, one in wanted.items())]


def datasets(rows: Iterable[Row]) -> list[str]:
    """The data sets, in order."""
    return list(dict.fromkeys(row["dataset"] for row in rows))


def judge(held: Sequence[bool]) -> Verdict:
    """One verdict for a claim that was tried several times."""
    if not held:
        return "not comparable"
    if all(held):
        return "holds"
    return "holds in part" if any(held) else "does not hold"
