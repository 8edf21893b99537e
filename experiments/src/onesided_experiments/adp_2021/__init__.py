"""Takagi, Kato, Cao and Yoshikawa 2021: asymmetric differential privacy; top-k and monitoring."""

from onesided_experiments._model import Paper
from onesided_experiments.adp_2021 import _fig2, _fig3, _fig4, _fig567, _stream

__all__ = ["PAPER"]

PAPER = Paper(
    name="adp-2021",
    title="Takagi, Kato, Cao, Yoshikawa: Asymmetric Differential Privacy (arXiv 2103.00996 v1)",
    experiments=(
        _fig2.EXPERIMENT,
        _fig3.EXPERIMENT,
        _fig4.EXPERIMENT,
        _fig567.EXPERIMENT,
        _stream.EXPERIMENT,
    ),
)
