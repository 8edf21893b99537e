"""Fang and Chang 2014: differential privacy under delta-neighbourhood, for spatial data."""

from onesided_experiments.delta_neighbourhood._paper import PAPER

__all__ = ["PAPER"]
