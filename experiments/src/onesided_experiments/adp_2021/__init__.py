"""Takagi, Kato, Cao and Yoshikawa 2021: asymmetric differential privacy; top-k and monitoring."""

from onesided.papers.adp_2021._paper import PAPER

__all__ = ["PAPER"]
