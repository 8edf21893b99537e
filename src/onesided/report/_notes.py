"""What a reader should keep in mind, in plain sentences with the publication's own numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from onesided._english import many
from onesided.session import CountRelease

_WRONG = {"'at least'": "above the true number", "'at most'": "below the true number"}


def notes_of(
    release: CountRelease, *, threshold: int | None, certified: NDArray[np.bool_] | None
) -> tuple[str, ...]:
    """Sentences about a publication, each of what is public in it.

    certified: which groups certainly have at most
    ``threshold``.

    >>> import polars as pl, onesided as od
    >>> policy = od.policy.presence(max_groups=1)
    >>> visits = pl.DataFrame({"person": [1, 2, 3], "place": ["gym", "gym", "bar"]})
    >>> session = od.Session(visits, unit="person", policy=policy, budget=100)
    >>> release = session.count(by="place", keys=["gym", "bar"], epsilon=60)
    >>> for line in notes_of(release, threshold=None, certified=None):
    ...     print(line)
    About the data as recorded.
    Each 'at least' holds with 95 % confidence: of 2, expect at most 1 to be above the true number.
    For half of the groups, 'at least' and 'at most' are no more than 0 apart.
    """
    return (
        release.guarantee.about,
        *_unknown(threshold, certified),
        *_misses(release),
        *_width(release),
    )


def _unknown(threshold: int | None, certified: NDArray[np.bool_] | None) -> Iterator[str]:
    if certified is None or certified.all():
        return
    open_ = many(int((~certified).sum()), "group", one="is", more="are")
    yield (
        f"{open_} 'unknown'. That does not mean more than {threshold}: the noise leaves it open."
    )


def _misses(release: CountRelease) -> Iterator[str]:
    bounds, share = release.interval, Fraction(str(release.confidence))
    chance = [
        name
        for name, certain in (
            ("'at least'", bounds.lower_certain),
            ("'at most'", bounds.upper_certain),
        )
        if not certain
    ]
    if not chance:
        return
    said, size = f"{float(share) * 100:g} % confidence", release.noisy.size
    alone, wrong = len(chance) == 1, _WRONG[chance[0]] if len(chance) == 1 else "wrong"
    if size == 1:
        first = chance[0].replace("at", "At", 1) if alone else "The bounds"
        yield f"{first} {'holds' if alone else 'hold'} with {said}."
    elif release.simultaneous:
        what = f"{chance[0]} holds" if alone else "the bounds hold"
        yield f"With {said}, {what} for all groups at once."
    else:
        what = f"Each {chance[0]}" if alone else "Each pair of bounds"
        missed = math.ceil((1 - share) * size)
        yield f"{what} holds with {said}: of {size:,}, expect at most {missed:,} to be {wrong}."


def _width(release: CountRelease) -> Iterator[str]:
    widths = release.interval.upper - release.interval.lower
    widths = widths[np.isfinite(widths)]
    if widths.size:
        half = math.ceil(float(np.median(widths)))
        which = "For half of the groups, 'at least'" if widths.size > 1 else "'At least'"
        yield f"{which} and 'at most' are no more than {half:,} apart."
