"""One-sided differential privacy (OSDP): its figures and tables on public data."""

from onesided_experiments._model import Paper
from onesided_experiments.osdp import _fig1, _fig2_3, _fig4_5, _fig6_9, _grid2d, _tables

__all__ = ["PAPER"]

PAPER = Paper(
    name="osdp",
    title="One-sided Differential Privacy (PVLDB 10(11), 2017; arXiv 1712.05888)",
    experiments=(
        _tables.EXPERIMENT,
        _fig1.EXPERIMENT,
        _fig2_3.EXPERIMENT,
        _fig4_5.EXPERIMENT,
        _fig6_9.EXPERIMENT,
        _grid2d.EXPERIMENT,
    ),
)
