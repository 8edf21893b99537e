"""How far the counts of dyadic intervals are from being equal, in whole numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from onesided.noise import IntArray


def deviations(counts: IntArray) -> Iterator[IntArray]:
    """For lengths 2, 4, 8, ...: ``sum |x_i - median|`` over each aligned interval.

    At length w the intervals are [0, w), [w, 2w), ...; the last one is cut off at the end and
    left out if nothing but one interval of length w/2 remains of it, for it is that interval.
    Stops when one interval holds everything.
    Direction: one count that moves by 1, either way, moves a deviation by -1, 0 or 1. For it is
    the least over t of ``sum |x_i - t|``, each of which moves by at most 1.
    Time O(n log^2 n), memory O(n). Exact while the total of ``counts`` is below 2^62.

    >>> import numpy as np
    >>> [level.tolist() for level in deviations(np.array([1, 5, 2, 2]))]
    [[4, 0], [4]]
    """
    line = counts.copy()
    size = line.size
    width = 1
    while width < size:
        half, width = width, 2 * width
        whole = size // width * width
        # Both halves of a row are sorted already, which the stable sort is quick to merge.
        rows = line[:whole].reshape(-1, width)
        rows.sort(axis=1, kind="stable")
        found = rows[:, half:].sum(axis=1) - rows[:, :half].sum(axis=1)
        if size - whole > half:
            rest = line[whole:]
            rest.sort(kind="stable")
            middle = rest.size // 2
            last = rest[rest.size - middle :].sum() - rest[:middle].sum()
            found = np.append(found, last)
        yield found
