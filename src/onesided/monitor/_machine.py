"""The state machine: window, marks, and one step. No storage here.

Why a step costs so little, and why a rest ends when it does: docs/proofs/monitor.md.
"""

from __future__ import annotations

import numpy as np

from onesided.errors import DataError
from onesided.monitor._answer import StepAnswer
from onesided.monitor._rules import Rules
from onesided.monitor._supply import Counter, Visits
from onesided.monitor._time import NEVER
from onesided.monitor._window import Window
from onesided.noise import BoolArray, IntArray, PlaceNoise


class Machine:
    """Everything between two steps: the clock, the window and the marks.

    The clock is the latest time of any batch so far. An answer above the threshold marks all
    batches in the window, the newest of which bears the clock's own time; so a mark is the clock
    at the answer, and it is gone when a batch of that time has expired. That is public: which
    records a batch holds, or whether any, changes no mark. window: of an engine that counts
    elsewhere.

    >>> from onesided import INFINITE, Monitor, policy
    >>> from onesided.monitor import Batch
    >>> from onesided.noise import FreshNoise, SecureNoise
    >>> given = {"at_most": 1, "window": 7, "epsilon": 99, "policy": policy.addition_only()}
    >>> machine = Machine(Monitor(["gym", "bar"], **given).rules)
    >>> visits = Batch("monday", 1, ((0, 7, 1), (0, 8, 1)))
    >>> machine.step(visits, noise=FreshNoise(SecureNoise())).certified.tolist()
    [False, True]
    """

    def __init__(self, rules: Rules, window: Counter | None = None) -> None:
        self.rules = rules
        self.clock: int | None = None
        self.steps = 0
        self._window: Counter = Window(rules.size) if window is None else window
        # The clock at each place's last m answers, oldest first.
        self._marks: IntArray = np.full((rules.charges, rules.size), NEVER, dtype=np.int64)
        self._answered = 0

    def refuse(self, batch: Visits) -> None:
        """Errors: DataError for a batch that has expired already. Changes nothing."""
        self._window.refuse_other_type(batch)
        if self.clock is None or self.rules.window is None:
            return
        cutoff = self.clock - self.rules.window
        if batch.time <= cutoff:
            said = self.rules.scale.text
            raise DataError(
                f"Batch {batch.id!r} of {said(batch.time)} comes too late: the clock stands at "
                f"{said(self.clock)}, and what is not after {said(cutoff)} has expired.",
                hint="It can no longer change an answer. Check the clocks if it should be current. "
                "Nothing was drawn or stored.",
                time=said(batch.time),
                clock=said(self.clock),
            )

    def step(self, batch: Visits, *, noise: PlaceNoise) -> StepAnswer:
        """Take in a batch, let go of what has expired, and answer for every place."""
        self.refuse(batch)
        self.advance(batch)
        asked = ~self.resting
        left = self._left
        if left == 0:
            asked[:] = False
        positions = np.flatnonzero(asked)
        noisy = self._window.counts[positions] + noise.geometric(self.rules.rate, positions)
        above = noisy > self.rules.thresholds[positions]
        reached: BoolArray = np.ones(positions.size, dtype=np.bool_)
        if left is not None:
            reached &= np.cumsum(above) - above < left
        certified = np.zeros(self.rules.size, dtype=np.bool_)
        certified[positions[~above & reached]] = True
        picked = above & reached
        answer = StepAnswer(certified, positions[picked], noisy[picked])
        self.mark(answer, clock=self.clock or 0)
        return answer

    @property
    def resting(self) -> BoolArray:
        """The places that have used up a batch which is still in the window."""
        cutoff = self.rules.cutoff(self.clock or 0)
        still: BoolArray = self._marks[0] > (NEVER if cutoff is None else cutoff)
        return still

    def advance(self, batch: Visits) -> None:
        """Move the clock and the window."""
        self.clock = batch.time if self.clock is None else max(self.clock, batch.time)
        self.steps += 1
        self._window.add(batch)
        self._window.expire(self.rules.cutoff(self.clock))

    def mark(self, answer: StepAnswer, *, clock: int) -> None:
        """Charge what an answer used."""
        used = answer.positions
        self._marks[:-1, used] = self._marks[1:, used]
        self._marks[-1, used] = clock
        self._answered += used.size

    def resume(self, batch: Visits) -> None:
        """Take in a stored batch that is still in the window; see :meth:`set_clock`."""
        self._window.add(batch)

    def set_clock(self, clock: int, *, steps: int) -> None:
        """Stand where the stored steps ended."""
        self.clock, self.steps = clock, steps
        self._window.expire(self.rules.cutoff(clock))

    @property
    def _left(self) -> int | None:
        limit = self.rules.max_answers
        return None if limit is None else limit - self._answered
