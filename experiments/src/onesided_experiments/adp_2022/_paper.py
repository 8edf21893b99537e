"""What of ADP-2022 is reproduced."""

from onesided_experiments._model import Paper
from onesided_experiments.adp_2022 import _fig4, _fig23, _fig56

PAPER = Paper(
    name="adp-2022",
    title="Takagi, Kato, Cao, Yoshikawa: Asymmetric Differential Privacy (IEEE BigData 2022)",
    experiments=(_fig23.EXPERIMENT, _fig4.EXPERIMENT, _fig56.EXPERIMENT),
)
