"""One-sided differential privacy (OSDP): its figures and tables on public data."""

from onesided_experiments.osdp._paper import PAPER

__all__ = ["PAPER"]
