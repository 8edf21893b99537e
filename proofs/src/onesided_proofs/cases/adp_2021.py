"""ADP-2021 Algorithm 3 as it is printed, under the neighbours of the paper's own definitions.

Definitions 8 and 9: a record stays in its batch, and only its value changes. A bit says whether it
counts at the place; 1 may pass as 0. Marks are on records, whatever their bits, so when a rest ends
does not depend on the data, and the loss is ε. Where a visit that was not made leaves no record, it
does depend on them: the broken monitor "a rest ends with the last marked record".
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from onesided import policy as policies
from onesided.noise import Noise
from onesided.verify import Data, Line, Universe

_THERE = "there=yes"
_TAIL = 1e-11


@dataclass(frozen=True, slots=True)
class Printed:
    """Algorithm 3: one record a batch, in the order of the data, for ``window`` batches each."""

    rate: Fraction
    window: int
    threshold: int = 1

    def __call__(self, data: Data, noise: Noise) -> tuple[int | None, ...]:
        """Per batch: a noisy count, 0 for below the threshold, None for a rest."""
        queue: deque[tuple[bool, bool]] = deque()
        said: list[int | None] = []
        for record in data:
            there = isinstance(record.value, frozenset) and _THERE in record.value
            queue.append((there, False))
            if len(queue) > self.window:
                queue.popleft()
            if any(marked for _, marked in queue):
                said.append(None)
                continue
            noisy = sum(bit for bit, _ in queue) + int(noise.geometric(self.rate, 1)[0])
            if noisy >= self.threshold:
                queue = deque((bit, True) for bit, _ in queue)
            said.append(noisy if noisy >= self.threshold else 0)
        return tuple(said)


def cases() -> Iterator[Line]:
    """Sound, at windows of one batch to three."""
    policy = policies.attributes({"there": ["yes"]})
    world = Universe(groups=(_THERE, "there=no"), units=4, ordered=True)
    for window in (1, 2, 3):
        yield Line(
            f"ADP-2021 Algorithm 3, records stay, window {window}",
            policy,
            Printed(Fraction(2), window),
            {edge: Fraction(2) for edge in policy.edges},
            universe=world,
            tail=_TAIL,
        )
