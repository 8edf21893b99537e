"""The exact distribution of a program's output at one input, enumerated twice."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from onesided._numbers import whole
from onesided.errors import OnesidedError, ParameterError
from onesided.verify._enumerate import MAX_PATHS, PathNoise, Walk, unsteady, whole_tail
from onesided.verify._form import CLASSES, Form, form
from onesided.verify._report import Table
from onesided.verify._watch import PATIENCE

TAIL: Final = 1e-12
_TOO_COARSE: Final = 0.5
_RUNS_AT_LEAST: Final = 32
_REPEATS_AT_LEAST: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to enumerate.

    tail: paths less likely than this are left out. limit: the most paths for one input.
    patience: seconds that one run may take. sealed: refuse all chance but the noise.
    Errors: ParameterError.
    """

    tail: float = TAIL
    limit: int = MAX_PATHS
    patience: float = PATIENCE
    sealed: bool = True

    def __post_init__(self) -> None:
        whole_tail(self.tail)
        whole(self.limit, name="limit", least=1)

    def walk(self, run: Callable[[PathNoise], Any], *, repeats: int = 0) -> Walk[Any]:
        """A walk over all paths of ``run``."""
        return Walk(
            run,
            tail=self.tail,
            limit=self.limit,
            patience=self.patience,
            sealed=self.sealed,
            repeats=repeats,
        )


def distribution(run: Callable[[PathNoise], Any], how: Settings) -> tuple[Table, int]:
    """The weight of each output, and how many paths there are.

    Everything is run twice, in the same order, and must come to the same: a program that keeps
    something from run to run, or has chance of its own, is refused. So that what changes every
    second time is seen, the second round runs its first paths more than once.
    Errors: ParameterError; any error of the program that is not ours comes as its cause.
    """
    try:
        return _twice(run, how)
    except OnesidedError:
        raise
    except Exception as error:
        raise ParameterError(
            f"The program failed with {type(error).__name__}: {error}",
            hint="It must give an output for every data set and every noise; who sees that it "
            "fails, and when, learns from it.",
        ) from error


def _twice(run: Callable[[PathNoise], Any], how: Settings) -> tuple[Table, int]:
    CLASSES.begin()
    walk = how.walk(run)
    weights: dict[Form, list[float]] = {}
    first = 0
    for output, weight in walk:
        key = form(output)
        weights.setdefault(key, []).append(weight)
        first = hash((first, key, weight))
    too_coarse(walk.lost, how.tail)
    again = how.walk(run, repeats=max(_REPEATS_AT_LEAST, _RUNS_AT_LEAST - walk.count))
    second = 0
    for output, weight in again:
        second = hash((second, form(output), weight))
    if second != first:
        raise unsteady()
    CLASSES.refuse_changed()
    return Table({key: math.fsum(many) for key, many in weights.items()}, walk.lost), walk.count


def too_coarse(lost: float, tail: float) -> None:
    """Errors: ParameterError if so much was cut that nothing follows."""
    if lost > _TOO_COARSE:
        raise ParameterError(
            f"Paths of probability below {tail:g} hold up to {lost:.3g} of all "
            "probability, so nothing would follow from the others.",
            hint="Use a smaller tail, fewer draws, or larger rates. A program whose draws "
            "never come to an end is cut the same way.",
            lost=lost,
        )
