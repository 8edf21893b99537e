"""What of the note is reproduced, and its exercise."""

from onesided_experiments._model import Paper
from onesided_experiments.one_sided_note import _halves, _region, _stairs, _theorems

PAPER = Paper(
    name="one-sided-note",
    title="One-Sided Differential Privacy (DifferentialPrivacy.org)",
    experiments=(_halves.EXPERIMENT, _theorems.EXPERIMENT, _region.EXPERIMENT, _stairs.EXPERIMENT),
)
