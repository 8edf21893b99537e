"""One-sided differential privacy (OSDP): its figures and tables on public data."""

from onesided.papers.osdp._paper import PAPER

__all__ = ["PAPER"]
