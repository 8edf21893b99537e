"""Takagi, Kato, Cao and Yoshikawa 2022: asymmetric differential privacy and one-sided error."""

from onesided_experiments.adp_2022._paper import PAPER

__all__ = ["PAPER"]
