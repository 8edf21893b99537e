"""Fang and Chang 2014: differential privacy under delta-neighbourhood, for spatial data."""

from onesided_experiments._model import Paper
from onesided_experiments.delta_neighbourhood import _city, _line, _plane, _tables

__all__ = ["PAPER"]

PAPER = Paper(
    name="delta-neighbourhood",
    title="Differential privacy under delta-neighbourhood (sections 4 to 5.2 and 5.5)",
    experiments=(_tables.EXPERIMENT, _line.EXPERIMENT, _plane.EXPERIMENT, _city.EXPERIMENT),
)
