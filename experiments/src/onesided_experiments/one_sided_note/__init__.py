"""Steinke's note on one-sided differential privacy: addition-only, removal-only and samples."""

from onesided_experiments.one_sided_note._paper import PAPER

__all__ = ["PAPER"]
