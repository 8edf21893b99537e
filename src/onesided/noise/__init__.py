"""Randomness: bits, exact samplers, and the ``Noise`` that mechanisms are given.

The only floor that draws. Every draw is exactly distributed; see docs/exact-sampling.md.
"""

from onesided.noise._gaussian import DiscreteGaussian
from onesided.noise._geometric import TwoSidedGeometric
from onesided.noise._noise import (
    KEY_BYTES,
    FreshNoise,
    KeyedNoise,
    NotPrivateScriptedNoise,
    NotPrivateSeededNoise,
    PlaceNoise,
    SecureNoise,
)
from onesided.noise._source import BoolArray, IntArray, Noise, PlainNoise, Rates

__all__ = [
    "KEY_BYTES", "BoolArray", "DiscreteGaussian", "FreshNoise", "IntArray", "KeyedNoise", "Noise",
    "NotPrivateScriptedNoise", "NotPrivateSeededNoise", "PlaceNoise", "PlainNoise", "Rates",
    "SecureNoise", "TwoSidedGeometric",
]  # fmt: skip
