"""Steinke's note on one-sided differential privacy: addition-only, removal-only and samples."""

from onesided_experiments._model import Paper
from onesided_experiments.one_sided_note import _halves, _region, _stairs, _theorems

__all__ = ["PAPER"]

PAPER = Paper(
    name="one-sided-note",
    title="One-Sided Differential Privacy (DifferentialPrivacy.org)",
    experiments=(_halves.EXPERIMENT, _theorems.EXPERIMENT, _region.EXPERIMENT, _stairs.EXPERIMENT),
)
