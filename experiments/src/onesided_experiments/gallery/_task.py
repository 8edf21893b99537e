"""What a task of the gallery is, and what is shown of it."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

import onesided
from onesided.noise import NotPrivateSeededNoise
from onesided.numbers import Loss
from onesided_experiments._model import Curve, Figure, Look, Panel

Random = np.random.Generator
TRUTH: Final = Look("truth (generated)", "grey")
TOLD: Final = Look("released", "blue")
UPPER: Final = Look("certainly at most", "vermillion", "triangle")
LOWER: Final = Look("certainly at least", "green", "diamond")
_SEED: Final = re.compile(r",? ?noise=od\.seeded")
_NOQA: Final = re.compile(r"  # noqa.*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAnswer:
    """What a task's code came to: a release or randomiser's guarantee, and what it printed."""

    release: Any
    guarantee: Any
    printed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One use of one family.

    family: its name in ``onesided.policy``. ask: the code of the page, down to its ``return``; it
    gets a stand-in for ``onesided`` with seeded noise, and the table. draw: the picture, from table
    and answer. learn: what an observer may learn for certain.
    """

    family: str
    title: str
    text: str
    data: Callable[[Random], Any]
    ask: Callable[[Any, Any], TaskAnswer]
    draw: Callable[[Any, Any], Figure]
    learn: str

    @property
    def table(self) -> str:
        """What the code calls its table."""
        return list(inspect.signature(self.ask).parameters)[1]

    @property
    def code(self) -> str:
        """The lines that are run, without those that return."""
        lines = inspect.getsource(self.ask).splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith(("def", ") ->")))
        body = textwrap.dedent("\n".join(lines[start + 1 :])).splitlines()
        kept = body[: next(i for i, line in enumerate(body) if line.startswith("return"))]
        return "\n".join(_NOQA.sub("", _SEED.sub("", line)) for line in kept).strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A task that was run."""

    task: Task
    rows: int
    columns: tuple[str, ...]
    answer: TaskAnswer
    figure: Figure

    @property
    def cost(self) -> dict[str, Loss]:
        """The loss along each edge."""
        return dict(self.answer.guarantee.epsilon)


class Seeded:
    """``onesided`` with noise that can be repeated: for pictures, never for people."""

    def __init__(self, seed: int) -> None:
        self.seeded = NotPrivateSeededNoise(seed)
        self.Session = partial(onesided.Session, noise=self.seeded)

    def __getattr__(self, name: str) -> Any:
        return getattr(onesided, name)


def beside(
    title: str,
    names: tuple[str, list[Any]],
    values: tuple[str, list[float]],
    told: list[float],
    *,
    upper: list[float] | None = None,
    lower: list[float] | None = None,
) -> Figure:
    """Truth and release as pairs of bars, with certain bounds as dots; each with its axis' name."""
    places = list(range(len(told)))
    curves = [
        Curve(look=TRUTH, x=places, y=values[1], kind="bar"),
        Curve(look=TOLD, x=places, y=told, kind="bar"),
    ]
    for look, bound in ((UPPER, upper), (LOWER, lower)):
        if bound is not None:
            curves.append(Curve(look=look, x=places, y=bound, kind="dots"))
    panel = Panel(
        title="",
        x_label=names[0],
        y_label=values[0],
        curves=curves,
        x_names=[str(name) for name in names[1]],
    )
    return Figure(title, [panel], columns=1)


def true_counts(column: Any, keys: list[Any]) -> list[float]:
    """How often each key occurs."""
    values = list(column)
    return [float(values.count(key)) for key in keys]


__all__ = ["Seeded", "Shown", "Task", "TaskAnswer", "beside", "true_counts"]
