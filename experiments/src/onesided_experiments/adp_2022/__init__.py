"""Takagi, Kato, Cao and Yoshikawa 2022: asymmetric differential privacy and one-sided error."""

from onesided_experiments._model import Paper
from onesided_experiments.adp_2022 import _fig4, _fig23, _fig56

__all__ = ["PAPER"]

PAPER = Paper(
    name="adp-2022",
    title="Takagi, Kato, Cao, Yoshikawa: Asymmetric Differential Privacy (IEEE BigData 2022)",
    experiments=(_fig23.EXPERIMENT, _fig4.EXPERIMENT, _fig56.EXPERIMENT),
)
