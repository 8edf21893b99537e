"""A mechanism of one's own that the golden answers ask; its text is part of their identity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Added:
    """Counts with noise on both sides, at one rate."""

    rate: int

    def release(self, counts: Any, *, noise: Any) -> Any:
        """The counts with noise."""
        return np.asarray(counts) + noise.two_sided(self.rate, self.rate, len(counts))

    def loss(self, shift: Any) -> int:
        """The rate times how far the counts move."""
        return self.rate * (shift.rise + shift.fall)
