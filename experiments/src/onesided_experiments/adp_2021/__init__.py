"""Takagi, Kato, Cao and Yoshikawa 2021: asymmetric differential privacy; top-k and monitoring."""

from onesided_experiments.adp_2021._paper import PAPER

__all__ = ["PAPER"]
