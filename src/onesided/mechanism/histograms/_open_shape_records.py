"""Where the records are that no cell shows: put back from released totals, and free of charge.

Cells whose open count is hidden are published as 0 if nothing else is known, which is best for
relative errors and loses dense data: many small counts, each below the noise, hold most records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onesided.noise import IntArray, TwoSidedGeometric

Floats = NDArray[np.float64]
Level = dict[str, Floats]
TINY = 1e-9
# Cells of the least density are left out, up to this share of all records.
LEFT_OUT = 1 / 20
# What released counts say is believed from so many standard deviations on.
_SURE = 3.0
# The standard deviation of a squared Laplace number, beside its mean.
_SPREAD = 5**0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """What is missing from each cell, unbiased, and how sure it is.

    cells: released counts less what was found; opened: those of open records. found: what was
    found. room: where records go that are spread evenly. unsure: the variance of the noise of
    ``opened``. buckets: 1 where a bucket's first cell is. per_bucket: the variance of a bucket's
    total. all: what is missing in all.
    """

    cells: Floats
    opened: Floats
    found: Floats
    room: Floats
    unsure: Floats
    buckets: Floats
    per_bucket: float
    all: float


def records_put_back(missing: Missing) -> IntArray:
    """What was found, with the missing records, rounded so that sums of neighbours stay.

    Densest cells first, until no more than ``LEFT_OUT`` of all records are missing.
    """
    wanted = missing.all - LEFT_OUT * (missing.all + float(missing.found.sum()))
    density = densities(missing)
    falling = np.argsort(-density, kind="stable")
    before = np.cumsum(density[falling]) - density[falling]
    taken = falling[before < wanted]
    whole = missing.found.copy()
    whole[taken] += density[taken]
    counts: IntArray = np.diff(np.rint(np.cumsum(whole)), prepend=0).astype(np.int64)
    return counts


def faint(lower: IntArray, law: TwoSidedGeometric, most: float) -> Floats:
    """Open records expected in each cell that shows none, 0 in the others; at most ``most``.

    What the noisy counts and the noise's mean add up to beyond what is seen, less three standard
    deviations of it; where many cells hold a few each, this is most of them.
    """
    size = lower.size
    known = np.maximum(lower, 0)
    # Of a count far above the noise nothing is missing on average.
    back = np.asarray(known + np.minimum(known, -law.mean()), dtype=np.float64)
    cells: Floats = np.asarray(lower - law.mean() - back, dtype=np.float64)
    missing = min(float(cells.sum()) - _SURE * (law.variance() * size) ** 0.5, most)
    if missing <= 0:
        return np.zeros(size)
    hidden = (lower <= 0).astype(np.float64)
    given = Missing(
        cells=cells,
        opened=cells,
        found=np.zeros(size),
        room=hidden,
        unsure=np.full(size, law.variance()),
        buckets=np.zeros(size),
        per_bucket=0.0,
        all=missing,
    )
    found: Floats = np.minimum(densities(given), -law.mean()) * hidden
    return found


def densities(missing: Missing) -> Floats:
    """Estimates of at least 0, in sum what is missing in all.

    From the total down each interval's records go to its halves: evenly, or as what was found
    before, whichever released counts bear out on this level (or above, where they cannot tell);
    and then towards what was released, by as much as its difference from that is more than noise.
    """
    opened = float(missing.opened.sum())
    part = min(max(opened / max(float(missing.cells.sum()), opened, TINY), 0.0), 1.0)
    parts, like_found = np.array([max(missing.all, 0.0)]), True
    for level in reversed(_levels(missing)):
        node = Halves(level, parts, missing.per_bucket, part)
        like_found = node.like_found(otherwise=like_found)
        left = node.left(like_found=like_found)
        parts = np.column_stack([left, parts - left]).ravel()
    found: Floats = np.asarray(parts[: missing.cells.size], dtype=np.float64)
    return found


class Halves:
    """The intervals of one length: what each half should get of its interval's records."""

    def __init__(self, level: Level, parts: Floats, per_bucket: float, part: float) -> None:
        pairs = {name: one.reshape(-1, 2) for name, one in level.items()}
        self.parts = parts
        self.both = pairs["inside"][:, 1] > 0
        buckets = pairs["buckets"].sum(axis=1)
        apart = buckets > 1
        # Inside one bucket nothing but open counts tells where its records are.
        self.told = np.where(apart, 1.0, part)
        self.seen = np.where(apart, _difference(pairs["cells"]), _difference(pairs["opened"]))
        self.noise = pairs["unsure"].sum(axis=1) + np.where(apart, buckets * per_bucket, 0)
        empty = pairs["room"].sum(axis=1, keepdims=True) <= 0
        room = np.where(empty, pairs["inside"], pairs["room"])
        self.even = parts * _lean(room)
        some = pairs["found"].sum(axis=1) > 0
        self.found = np.where(some, parts * _lean(pairs["found"]), self.even)

    def like_found(self, *, otherwise: bool) -> bool:
        """Whether released counts say so by two standard deviations."""
        even, found = self.told * self.even, self.told * self.found
        noise = np.maximum(self.noise, TINY)
        gain = ((self.seen - even) ** 2 - (self.seen - found) ** 2) / noise
        sure = _SURE * 2 * float(np.sqrt(((even - found) ** 2 / noise)[self.both].sum()))
        better = float(gain[self.both].sum())
        return otherwise if abs(better) <= sure else better > 0

    def left(self, *, like_found: bool) -> Floats:
        """The left halves' records."""
        prior = self.found if like_found else self.even
        rest = self.seen - self.told * prior
        noise = self.noise[self.both]
        uneven = float((rest[self.both] ** 2 - noise).sum())
        if uneven <= _SURE * _SPREAD * float((noise**2).sum()) ** 0.5:
            uneven = 0.0
        true = self.parts**2 * uneven / max(float((self.parts[self.both] ** 2).sum()), TINY)
        apart = prior + rest * true / np.maximum(true + self.noise, TINY)
        apart = np.where(self.both, apart, self.parts)
        halved: Floats = np.clip((self.parts + apart) / 2, 0, self.parts)
        return halved


def _difference(pairs: Floats) -> Floats:
    apart: Floats = pairs[:, 0] - pairs[:, 1]
    return apart


def _lean(pairs: Floats) -> Floats:
    """How much more the left half has, as a part of both."""
    lean: Floats = _difference(pairs) / np.maximum(pairs.sum(axis=1), TINY)
    return lean


def _levels(missing: Missing) -> list[Level]:
    """Sums over aligned intervals of 1, 2, 4, ... cells, all but the last one."""
    size = missing.cells.size
    width = 1 << max(size - 1, 0).bit_length()
    given = {
        "cells": missing.cells, "opened": missing.opened, "unsure": missing.unsure,
        "buckets": missing.buckets, "found": missing.found, "room": missing.room,
        "inside": np.ones(size),
    }  # fmt: skip
    sums = {name: np.concatenate([one, np.zeros(width - size)]) for name, one in given.items()}
    levels = []
    while sums["cells"].size > 1:
        levels.append(sums)
        sums = {name: one.reshape(-1, 2).sum(axis=1) for name, one in sums.items()}
    return levels
