"""Counts of one group ("a") whose noise is wrong in one way each, and their right twins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from onesided import policy as policies
from onesided.mechanism import Counts
from onesided.noise import IntArray, Noise
from onesided.numbers import INFINITE, Loss
from onesided.policy import GroupCount, Policy, Shift
from onesided.verify import Data, Line, Universe, program, shipped
from onesided_proofs.cases.counts import ONE_GROUP, SINGLE

_ONE = Universe(groups=("a",))
_HABIT = "a common slip"


def cases() -> Iterator[Line]:
    """Wrong rates, wrong sides, wrong order of steps."""
    # A mechanism of ours with a claim that belongs to another.
    bounded, unbounded = policies.bounded(), policies.unbounded()
    presence, added = policies.presence(max_groups=1), policies.addition_only()
    upper, down, both = Counts(1, INFINITE), Counts(INFINITE, 1), Counts("1/2", "1/2")
    removed = policies.removal_only()
    twice = "half the noise (ε for ε/2: a replacement counts twice)"
    sides = "both directions folded into one sensitivity"
    sort = "auditing tools that sort or swap a pair (STYLE section 3 A)"
    wrong: tuple[tuple[object, Policy, str, str], ...] = (
        (half_noise(upper), presence, "half the noise", _HABIT),
        (half_noise(both), bounded, twice, _HABIT),
        (wrong_side(upper), added, "noise below where a fall must be hidden", _HABIT),
        (wrong_side(down), removed, "noise above where a rise must be hidden", _HABIT),
        (folded(both), unbounded, sides, sort),
    )
    for mechanism, policy, flaw, seen in wrong:
        yield shipped(
            mechanism, policy, ONE_GROUP, name="Counts", universe=SINGLE, flaw=flaw, seen=seen
        )
    yield from _wrong_policies()
    yield from _programs()
    yield from _right()


def _wrong_policies() -> Iterator[Line]:
    """Right noise for another policy."""
    unbounded, presence = policies.unbounded(), policies.presence(max_groups=1)
    upper, cut = Counts(1, INFINITE), GroupCount(max_groups=1, truncated=True)
    for name, policy, query, world, flaw, seen in (
        (
            "Counts",
            unbounded,
            ONE_GROUP,
            SINGLE,
            "a symmetrised policy: one direction's loss claimed for both",
            "one-sided note, remark after Proposition 4",
        ),
        (
            "Counts (units cut down)",
            presence,
            cut,
            Universe(),
            "one-sided noise although cutting a unit down makes counts rise",
            "our own design (docs/guarantees.md)",
        ),
    ):
        claims = dict.fromkeys(policy.edges, upper.upper_rate)
        about: dict[str, Any] = {"query": query, "universe": world, "flaw": flaw, "seen": seen}
        yield Line(name, policy, upper, claims, **about)


def _programs() -> Iterator[Line]:
    """Draws and clipping, and what depends on the secret although it must not."""
    bounded, added = policies.bounded(), policies.addition_only()
    three, again = Universe(groups=("a",), units=3), "drawn again until the answer is not negative"
    early = "clipping before noise is added, on the wrong side"
    rounded = "threshold compared after rounding the true count"
    caches, fives = "caches and restarts without a ledger", "reports that round to fives"
    zero = "zero stays zero by the truth, not by the answer"
    total, read = "capped at the number of records, a secret", "a misreading of OSDP Algorithm 2"
    for name, run, policy, universe, flaw, seen in (
        ("count", reused, added, Universe(), "one draw used for two counts", _HABIT),
        ("count", drawn_again, added, _ONE, "a release drawn again instead of re-read", caches),
        ("count", clipped_noise, bounded, _ONE, early, _HABIT),
        ("clipped count", true_zero_stays, added, _ONE, zero, read),
        ("decision", rounded_first, added, three, rounded, fives),
        ("count", until_positive, bounded, _ONE, again, _HABIT),
        ("count", relative_noise, added, _ONE, "noise in proportion to the secret", _HABIT),
        ("count", capped_at_total, added, _ONE, total, _HABIT),
        ("histogram", shared_budget, added, SINGLE, "ε split over the groups that occur", _HABIT),
    ):
        yield program(name, run, policy, 1, universe=universe, flaw=flaw, seen=seen)


def _right() -> Iterator[Line]:
    """Twins of some of the wrong ones."""
    bounded, added, unbounded = policies.bounded(), policies.addition_only(), policies.unbounded()
    yield program("count, re-read", read_again, added, 1, universe=_ONE)
    yield program("count, answer clipped", clipped_answer, unbounded, 1, universe=_ONE)
    yield program("decision, answer rounded", rounded_last, added, 1, universe=_ONE)
    yield program("count, whole record", clipped_answer, bounded, 1, universe=_ONE)


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
