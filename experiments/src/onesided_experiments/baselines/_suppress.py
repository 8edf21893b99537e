"""Suppress, the baseline of personalised privacy: drop the strict records, tell the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

import numpy as np
from numpy.typing import ArrayLike

from onesided.errors import DataError, ParameterError
from onesided.mechanism import Counts
from onesided.mechanism.kit import counts_of, settle
from onesided.noise import IntArray, Noise
from onesided.numbers import INFINITE, Infinite, Loss, Number, positive, rate
from onesided.policy import ABSENT, GroupCount, Policy, Shift

ACCEPTED: Final = "open to exclusion attacks"


@dataclass(frozen=True, slots=True)
class Suppress:
    """Counts of the records that ask for at least ``threshold``, with noise at that rate.

    A baseline, not a recommendation. A record's own ε is what it asks for. Those that ask for less
    than τ = ``threshold`` are dropped; the rest are counted with two-sided geometric noise at rate
    τ, a τ-private computation for adding and removing records.

    Promise: along a move with ``Shift(rise, fall)`` of the *kept* counts the loss is exactly
    ``threshold * (rise + fall)``, however little the dropped records asked for. Under
    ``sensitive`` with τ > ε: sensitive -> open costs τ and not ε, since an open record that was
    not counted now is; sensitive -> sensitive costs 0. So freedom from exclusion attacks is φ = τ
    (``onesided.bounds.suppress_freedom``); with τ = INFINITE counts are bare, and it is infinite.
    A kept record replaced by another kept one costs 2τ: one count falls and one rises.
    Units: nats per count. Source: OSDP section 3.4 and Theorem 3.4.
    Errors: ParameterError unless ``accept`` is the text ``"open to exclusion attacks"``.
    """

    threshold: Loss
    accept: str = field(repr=False)

    def __init__(self, threshold: Loss | Number, *, accept: str = "") -> None:
        settle(self, threshold=rate(threshold, name="threshold"), accept=accept)
        if not isinstance(accept, str) or accept != ACCEPTED:
            raise ParameterError(
                "Suppress leaves people out because of what they ask for, and so gives them away: "
                f"whoever is missing has something to hide, with odds up to e^τ for the threshold "
                f"τ = {threshold}, not e^ε.",
                hint=f'If that is meant, as in an experiment, say so: accept="{ACCEPTED}". '
                "To keep ε, use a one-sided mechanism such as Counts.",
                threshold=threshold,
                accept=accept,
            )

    def keeps(self, asked: Loss | Number) -> bool:
        """Whether a record that asks for ``asked`` (its own ε, or INFINITE) is counted."""
        own = asked if isinstance(asked, Infinite) else positive(asked, name="a record's own ε")
        return own >= self.threshold

    def query(self, policy: Policy, *, epsilon: Number) -> GroupCount:
        """The count that is published: of the kinds kept at ``epsilon``. Price it by the policy.

        A kind asks for ``epsilon`` times the least weight of the edges out of it; a kind without
        such edges asks for nothing, which is INFINITE.
        """
        scale = positive(epsilon, name="epsilon")
        kept = []
        for kind in policy.kinds:
            weights = [edge.weight for edge in policy.edges if policy.ends(edge)[0] == kind]
            own = scale * min(weights) if weights else INFINITE
            if kind != ABSENT and self.keeps(own):
                kept.append(kind)
        return GroupCount(counted=frozenset(kept))

    def release(
        self, values: ArrayLike | Mapping[Loss | Number, ArrayLike], *, noise: Noise | None = None
    ) -> IntArray:
        """Noisy counts of the kept records.

        values: one histogram of the kept records, or a mapping from own ε to the histogram of the
        records that ask for it: then the strict ones are dropped here.
        Errors: DataError unless the histograms are one-dimensional counts of one length.
        """
        kept = self._kept(values) if isinstance(values, Mapping) else counts_of(values)
        return Counts(self.threshold, self.threshold).noisy(kept, noise=noise)

    def loss(self, shift: Shift) -> Loss:
        """Exactly ``threshold * (rise + fall)``, for a shift of the kept counts."""
        return self.threshold * (shift.rise + shift.fall)

    def _kept(self, groups: Mapping[Any, ArrayLike]) -> IntArray:
        """The kept records' histogram."""
        parts = {asked: counts_of(counts) for asked, counts in groups.items()}
        sizes = {part.size for part in parts.values()}
        if len(sizes) != 1:
            raise DataError(
                f"The histograms have {sorted(sizes)} bins; one length is needed.",
                hint="Give each own ε a histogram over the same bins.",
            )
        total = np.zeros(sizes.pop(), dtype=np.int64)
        for asked, part in parts.items():
            if self.keeps(cast("Loss | Number", asked)):
                total = counts_of(total.astype(np.uint64) + part.astype(np.uint64))
        return total
