"""What a mechanism is: what it does, and what it costs."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from onesided._numbers import MAX_COUNT, Loss, regular
from onesided.errors import DataError
from onesided.noise import IntArray, Noise
from onesided.policy import Shift


class Mechanism(Protocol):
    """One frozen value. ``release`` never looks at ``loss``, nor the other way round.

    >>> from onesided import INFINITE, Shift
    >>> from onesided.mechanism import Counts
    >>> mechanism: Mechanism = Counts(1, INFINITE)
    >>> mechanism.loss(Shift(rise=0, fall=2)), mechanism.loss(Shift(rise=1, fall=0))
    (Fraction(2, 1), INFINITE)
    """

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> Any:
        """The published answer; ``noise`` defaults to fresh secure noise."""
        ...

    def loss(self, shift: Shift) -> Loss:
        """The exact worst log-ratio along a move that shifts the values by ``shift``, in nats."""
        ...


def counts_of(values: ArrayLike) -> IntArray:
    """``values`` as a one-dimensional array of counts in [0, 2^62]; no float is accepted.

    Errors: DataError naming the first offending position.

    >>> counts_of([3, 0]).dtype
    dtype('int64')
    >>> counts_of([1.5])
    Traceback (most recent call last):
        ...
    onesided.errors.DataError: Counts must be a one-dimensional array of whole numbers, got float64
    with shape (1,). Hint: Convert with numpy.asarray(counts, dtype=numpy.int64) once they are
    whole.
    """
    array = regular(values)
    if array.size == 0 and array.ndim == 1:
        return np.zeros(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(
            f"Counts must be a one-dimensional array of whole numbers, got {array.dtype} "
            f"with shape {array.shape}.",
            hint="Convert with numpy.asarray(counts, dtype=numpy.int64) once they are whole.",
        )
    bad = (array < 0) | (array > MAX_COUNT)
    if bad.any():
        where = int(np.argmax(bad))
        raise DataError(
            f"Count {array[where]} at position {where} is outside 0 .. 2^62.",
            hint="Counts of people cannot be negative; check the table for overflow.",
            position=where,
        )
    return array.astype(np.int64)
