"""Counts of one group ("a") with noise that is wrong in one way each; and right twins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from onesided.mechanism import Counts
from onesided.noise import IntArray, Noise
from onesided.numbers import INFINITE, Loss
from onesided.policy import Shift
from onesided.verify import Data


@dataclass(frozen=True, slots=True)
class Claims:
    """A mechanism that does one thing and claims the loss of another."""

    does: Counts
    claims: Counts

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """What ``does`` does."""
        return self.does.noisy(values, noise=noise)

    def loss(self, shift: Shift) -> Loss:
        """What ``claims`` costs."""
        return self.claims.loss(shift)


def half_noise(right: Counts) -> Claims:
    """Twice the rate, so half the noise that the claim needs."""
    return Claims(Counts(right.upper_rate * 2, right.lower_rate * 2), right)


def wrong_side(right: Counts) -> Claims:
    """Noise subtracted where it must be added, or the other way round."""
    return Claims(Counts(right.lower_rate, right.upper_rate), right)


def folded(right: Counts) -> Claims:
    """Both directions taken as one sensitivity and hidden by noise above the truth alone."""
    return Claims(Counts(min(right.upper_rate, right.lower_rate), INFINITE), right)


def count(data: Data, group: str = "a") -> int:
    """How many records are in the group."""
    return sum(group in record.value for record in data)  # type: ignore[operator]


def up(noise: Noise, rate: object = 1) -> int:
    """One draw of noise above the truth."""
    return int(noise.geometric(rate, 1)[0])  # type: ignore[arg-type]


def reused(data: Data, noise: Noise) -> Any:
    """One draw for two counts: their difference is published without any noise."""
    drawn = up(noise)
    return count(data, "a") + drawn, count(data, "b") + drawn


def drawn_again(data: Data, noise: Noise) -> Any:
    """The same question answered afresh, charged once."""
    return count(data) + up(noise), count(data) + up(noise)


def read_again(data: Data, noise: Noise) -> Any:
    """Right: the stored answer is published again."""
    answer = count(data) + up(noise)
    return answer, answer


def clipped_noise(data: Data, noise: Noise) -> int:
    """The noise, not the answer, is clipped at 0: what lay below the truth is gone."""
    return count(data) + max(0, int(noise.two_sided("1/2", "1/2", 1)[0]))


def clipped_answer(data: Data, noise: Noise) -> int:
    """Right: the noisy answer is clipped at 0."""
    return max(0, count(data) + int(noise.two_sided(1, 1, 1)[0]))


def true_zero_stays(data: Data, noise: Noise) -> int:
    """Zero stays zero, judged by the truth instead of the noisy answer."""
    return count(data) + up(noise) if count(data) else 0


def rounded_first(data: Data, noise: Noise) -> bool:
    """The true count is rounded to fives before noise: one person may make it five more."""
    return (count(data) + 2) // 5 * 5 + up(noise) <= 4


def rounded_last(data: Data, noise: Noise) -> bool:
    """Right: the noisy count is rounded."""
    return (count(data) + up(noise) + 2) // 5 * 5 <= 4


def until_positive(data: Data, noise: Noise) -> int:
    """Draws again until the answer is not negative; how likely that is depends on the secret."""
    while True:
        answer = count(data) + int(noise.two_sided(1, 1, 1)[0])
        if answer >= 0:
            return answer


def relative_noise(data: Data, noise: Noise) -> int:
    """Noise in proportion to the count: the spread tells the secret."""
    return count(data) + up(noise, f"1/{max(1, count(data))}")


def capped_at_total(data: Data, noise: Noise) -> int:
    """No answer above the number of records, which is a secret here."""
    return min(count(data) + up(noise), sum(record.kind != "absent" for record in data))


def shared_budget(data: Data, noise: Noise) -> tuple[int, ...]:
    """ε is split over the groups that occur, and how many occur is a secret."""
    counts = count(data, "a"), count(data, "b")
    rate = f"1/{max(1, sum(c > 0 for c in counts))}"
    return tuple(c + up(noise, rate) for c in counts)
