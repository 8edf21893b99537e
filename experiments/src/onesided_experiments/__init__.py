"""Publications, reproduced: every table and figure as numbers, a plot and a verdict.

One folder per publication. Randomness here is seeded, so that results can be repeated: nothing in
this package protects anybody. Importing it loads no engine and no plotting library.
"""

from onesided_experiments import adp_2021, adp_2022, delta_neighbourhood, one_sided_note, osdp
from onesided_experiments._model import Claim, Experiment, Figure, Job, Paper, Result, Setup
from onesided_experiments._run import Outcome, reproduce

__all__ = [
    "PAPERS", "Claim", "Experiment", "Figure", "Job", "Outcome", "Paper", "Result", "Setup",
    "reproduce",
]  # fmt: skip

PAPERS = {
    paper.name: paper
    for paper in (
        adp_2021.PAPER,
        adp_2022.PAPER,
        osdp.PAPER,
        delta_neighbourhood.PAPER,
        one_sided_note.PAPER,
    )
}
