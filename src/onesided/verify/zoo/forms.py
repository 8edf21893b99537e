"""Programs whose secret is in the form of the output, where ``==`` does not see it.

Each adds enough noise to the number of records in group "a"; what leaks is how it is told.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from onesided.noise import IntArray, Noise
from onesided.verify._universe import Data
from onesided.verify.zoo.wrong_noise import count, up


@dataclass(frozen=True, slots=True)
class Told:
    """An answer with a field that does not take part in comparisons."""

    answer: int
    note: int = field(compare=False)


def ordered_by_truth(data: Data, noise: Noise) -> dict[str, int]:
    """A dictionary whose keys come in the order of the true counts."""
    truth = {"a": count(data), "b": count(data, "b")}
    return {key: truth[key] + up(noise) for key in sorted(truth, key=truth.__getitem__)}


def signed_zero(data: Data, noise: Noise) -> tuple[int, float]:
    """A zero whose sign says whether anybody is there."""
    return count(data) + up(noise), -0.0 if count(data) else 0.0


def true_or_one(data: Data, noise: Noise) -> tuple[int, object]:
    """True or 1, by the secret."""
    return count(data) + up(noise), True if count(data) else 1


def other_width(data: Data, noise: Noise) -> IntArray:
    """The narrowest type that the true count fits into."""
    noisy = np.array([count(data) + up(noise)])
    return noisy.astype(np.int32 if count(data) < 1 else np.int64)


def hidden_field(data: Data, noise: Noise) -> Told:
    """The truth in a field that ``==`` leaves out."""
    return Told(count(data) + up(noise), note=count(data))


def payload_of_nan(data: Data, noise: Noise) -> tuple[int, float]:
    """A missing value whose bits hold the truth."""
    bits = np.array([0x7FF8000000000000 + count(data)], dtype=np.uint64)
    return count(data) + up(noise), float(bits.view(np.float64)[0])


def sorted_keys(data: Data, noise: Noise) -> dict[str, int]:
    """Right: the same dictionary in an order that everybody knows."""
    return {key: count(data, key) + up(noise) for key in ("a", "b")}
