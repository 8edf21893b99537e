"""Publications, reproduced: every table and figure as numbers, a plot and a verdict.

One folder per publication. Randomness here is seeded, so that results can be repeated: nothing in
this package protects anybody. Importing it loads no engine and no plotting library.
"""

from onesided_experiments._catalogue import PAPERS
from onesided_experiments._model import Claim, Experiment, Figure, Job, Paper, Result, Setup
from onesided_experiments._run import Outcome, reproduce

__all__ = [
    "PAPERS",
    "Claim",
    "Experiment",
    "Figure",
    "Job",
    "Outcome",
    "Paper",
    "Result",
    "Setup",
    "reproduce",
]
