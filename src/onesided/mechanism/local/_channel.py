"""Any table of chances from letters to outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from onesided._numbers import Loss, Number, probability
from onesided.errors import ParameterError
from onesided.fields import settle
from onesided.mechanism.local._alias import AliasTable
from onesided.mechanism.local._alphabet import letters_of
from onesided.mechanism.local._estimate import FloatArray
from onesided.mechanism.local._odds import ratio
from onesided.mechanism.local._randomiser import Randomiser, shares_of
from onesided.mechanism.local._response import count_answers, count_places
from onesided.mechanism.local._tally import Tally
from onesided.noise import IntArray, Noise


@dataclass(frozen=True, eq=True)
class Channel(Randomiser):
    """Report output o with chance ``chances[x][o]`` if the true letter is x; exact fractions.

    Promise: x passes as y with odds exactly the largest ``chances[x][o] / chances[y][o]``.
    Estimates need rows that are linearly independent: the shares are then ``M seen / people`` with
    M the pseudo-inverse of the transposed table, which is unbiased.
    Errors: ParameterError for outputs that repeat, or rows that are not chances that add up to 1.

    >>> noisy = Channel(["yes", "no"], [["3/4", "1/4"], ["0", "1"]])
    >>> noisy.possible("yes"), noisy.odds("no", "yes"), noisy.odds("yes", "no")
    (('yes',), Fraction(4, 1), INFINITE)
    """

    alphabet: tuple[str, ...]
    outputs: tuple[str, ...]
    chances: tuple[tuple[Fraction, ...], ...]

    def __init__(
        self,
        alphabet: Iterable[str],
        chances: Sequence[Sequence[Number | Fraction]],
        *,
        outputs: Iterable[str] | None = None,
    ) -> None:
        letters = letters_of(alphabet)
        names = letters if outputs is None else letters_of(outputs)
        table = tuple(tuple(probability(p, name="chance") for p in row) for row in chances)
        wrong = [len(row) != len(names) or sum(row) != 1 for row in table]
        if len(table) != len(letters) or any(wrong):
            where = wrong.index(True) if any(wrong) else len(table)
            raise ParameterError(
                f"The table needs {len(letters)} rows of {len(names)} chances that add up to "
                f"exactly 1; row {where} does not fit.",
                hint='Give fractions such as "1/3": floats rarely add up to exactly 1.',
            )
        settle(self, alphabet=letters, outputs=names, chances=table)

    def odds(self, source: str, target: str) -> Loss:
        real, other = (self.chances[self._places[letter]] for letter in (source, target))
        return max(ratio(p, q) for p, q in zip(real, other, strict=True))

    def possible(self, output: str) -> tuple[str, ...]:
        """The letters that a report may come from: what it tells for certain."""
        if output not in self.outputs:
            raise ParameterError(
                f"There is no output {output!r}.",
                hint=f"The outputs are {', '.join(self.outputs[:12])}.",
            )
        place = self.outputs.index(output)
        return tuple(x for x, row in zip(self.alphabet, self.chances, strict=True) if row[place])

    @property
    def configuration(self) -> dict[str, object]:
        return {
            "randomiser": "channel",
            "alphabet": list(self.alphabet),
            "outputs": list(self.outputs),
            "chances": [[str(chance) for chance in row] for row in self.chances],
        }

    def variance(self, frequencies: ArrayLike, people: int, *, sampled: bool = False) -> FloatArray:
        shares = shares_of(frequencies, len(self.alphabet))
        squares = self._weights**2 @ self._floats.T @ shares
        known = shares**2 if sampled else shares
        found: FloatArray = (squares - known) / people
        return found

    @cached_property
    def _floats(self) -> FloatArray:
        return np.array([[float(p) for p in row] for row in self.chances], dtype=np.float64)

    @cached_property
    def _weights(self) -> FloatArray:
        """What each output adds to the estimate of each letter."""
        if np.linalg.matrix_rank(self._floats) < len(self.alphabet):
            raise ParameterError(
                "This channel's rows are linearly dependent: different shares of letters give "
                "the same reports, so they cannot be estimated.",
                hint="Its reports can be sent and counted, but need another channel to be "
                "turned into shares.",
            )
        return np.asarray(np.linalg.pinv(self._floats.T), dtype=np.float64)

    @cached_property
    def _table(self) -> AliasTable:
        return AliasTable.of(self.chances)

    def _draw(self, codes: IntArray, noise: Noise) -> IntArray:
        return self._table.draw(codes, noise)

    def _answer(self, output: Any) -> str:
        return self.outputs[int(output)]

    def _seen_in(self, answers: Mapping[str, int]) -> IntArray:
        return count_answers(answers, self.outputs)

    def _seen(self, outputs: Any) -> IntArray:
        return count_places(outputs, len(self.outputs))

    def _frequencies(self, tally: Tally) -> FloatArray:
        found: FloatArray = self._weights @ (tally.seen / tally.people)
        return found

    def _widths(self) -> FloatArray:
        # Outputs that never occur cannot move anything.
        used = self._weights[:, self._floats.any(axis=0)]
        found: FloatArray = used.max(axis=1) - used.min(axis=1)
        return found

    def _certain(self, tally: Tally) -> tuple[IntArray, IntArray]:
        """An output counts for a letter if only it gives it, against it if it never does."""
        can = np.array([[chance > 0 for chance in row] for row in self.chances])
        alone = can & (can.sum(axis=0) == 1)
        return alone @ tally.seen, can @ tally.seen

    @property
    def _outputs(self) -> int:
        return len(self.outputs)
