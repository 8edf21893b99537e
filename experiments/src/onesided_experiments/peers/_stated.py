"""What an audit recovers of the ε that another library states, in each direction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onesided.noise import Noise
from onesided.verify import AuditReport, audit

# What runs another library's mechanism the way an audit asks for it.


@dataclass(frozen=True, slots=True)
class Measured:
    """A measurement of OpenDP: what is called with data gives a release.

    It draws from its own source, so an audit's seed does not repeat it.

    >>> from onesided.noise import SecureNoise
    >>> Measured(sum)([1, 2], SecureNoise())
    3
    """

    measurement: Any

    def __call__(self, data: Any, _noise: Noise) -> Any:
        return self.measurement(data)


@dataclass(frozen=True, slots=True)
class Each:
    """A measurement of OpenDP that adds noise of its own to each number of a list, as a sampler.

    For ``audit(..., sampler=True)``: many equal numbers are that many releases of one.

    >>> from onesided.noise import SecureNoise
    >>> Each(lambda numbers: numbers)(5, 3, SecureNoise()).tolist()
    [5, 5, 5]
    """

    measurement: Any

    def __call__(self, number: Any, size: int, _noise: Noise) -> NDArray[Any]:
        return np.asarray(self.measurement([number] * size))


@dataclass(frozen=True, slots=True)
class Randomised:
    """A mechanism of diffprivlib: its ``randomise`` takes one value.

    >>> from onesided.noise import SecureNoise
    >>> class Same:
    ...     def randomise(self, value):
    ...         return value
    >>> Randomised(Same())(7, SecureNoise())
    7
    """

    mechanism: Any

    def __call__(self, value: Any, _noise: Noise) -> Any:
        return self.mechanism.randomise(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """A mechanism, two neighbouring inputs, and the ε that its library states for them.

    program: one of the adapters. sampler: whether it gives many releases at once. delta: what
    its library states beside ε.

    >>> said = Stated(library="none", name="told", program=min, pair=([1], [0]), epsilon=1.0)
    >>> said.delta
    0
    """

    library: str
    name: str
    program: Any
    pair: tuple[Any, Any]
    epsilon: float
    delta: float = 0
    sampler: bool = False


@dataclass(frozen=True, slots=True)
class Recovered:
    """One direction: ``real`` told from ``other``."""

    stated: Stated
    real: Any
    other: Any
    report: AuditReport

    @property
    def share(self) -> float:
        """The loss that was seen, as a share of the ε stated; above 1 the statement is false."""
        return self.report.loss / self.stated.epsilon


def audited(stated: Stated, *, samples: int = 100_000) -> Iterator[Recovered]:
    """Audit both directions of the pair, one after the other: neither says anything of the other.

    >>> from onesided import mechanism
    >>> from onesided.verify import EachCount
    >>> ours = EachCount(mechanism.Counts(1, 1))
    >>> said = Stated(
    ...     library="onesided", name="Counts", program=ours, pair=(1, 0), epsilon=1.0, sampler=True
    ... )
    >>> [0.8 < one.share <= 1 for one in audited(said)]
    [True, True]
    """
    for real, other in (stated.pair, stated.pair[::-1]):
        report = audit(
            stated.program,
            (real, other),
            samples=samples,
            delta=str(stated.delta),
            sampler=stated.sampler,
        )
        yield Recovered(stated, real, other, report)


def both_ways(table: list[Recovered]) -> str:
    """A table in Markdown, one line per direction."""
    lines = [
        "| library | mechanism | real, other | stated ε | recovered | share |",
        "|---|---|---|--:|--:|--:|",
    ]
    lines += [
        f"| {one.stated.library} | {one.stated.name} | {one.real}, {one.other} "
        f"| {one.stated.epsilon:.4g} | {one.report.loss:.4f} | {one.share:.3f} |"
        for one in table
    ]
    return "\n".join(lines)
