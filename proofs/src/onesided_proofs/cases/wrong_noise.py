"""Counts whose noise is wrong in one way each, and their right twins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from onesided import policy as policies
from onesided.mechanism import Counts
from onesided.noise import Noise
from onesided.numbers import INFINITE
from onesided.policy import GroupCount, Policy
from onesided.verify import Data, Line, Universe, program, shipped
from onesided_proofs.cases.counts import ONE_GROUP, SINGLE
from onesided_proofs.zoo import wrong_noise as zoo

_ONE = Universe(groups=("a",))
_HABIT = "a common slip"
_Line: TypeAlias = tuple[str, Callable[[Data, Noise], Any], Policy, Universe, str, str]


def cases() -> Iterator[Line]:
    """Wrong rates, wrong sides, wrong order of steps."""
    # A mechanism of ours with a claim that belongs to another.
    bounded, unbounded = policies.bounded(), policies.unbounded()
    presence, added = policies.presence(max_groups=1), policies.addition_only()
    up, down, both = Counts(1, INFINITE), Counts(INFINITE, 1), Counts("1/2", "1/2")
    wrong: tuple[tuple[object, Policy, str, str], ...] = (
        (zoo.half_noise(up), presence, "half the noise", _HABIT),
        (
            zoo.half_noise(both),
            bounded,
            "half the noise (ε for ε/2: a replacement counts twice)",
            _HABIT,
        ),
        (zoo.wrong_side(up), added, "noise below where a fall must be hidden", _HABIT),
        (
            zoo.wrong_side(down),
            policies.removal_only(),
            "noise above where a rise must be hidden",
            _HABIT,
        ),
        (
            zoo.folded(both),
            unbounded,
            "both directions folded into one sensitivity",
            "auditing tools that sort or swap a pair (STYLE section 3 A)",
        ),
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
    unbounded, presence, up = (
        policies.unbounded(),
        policies.presence(max_groups=1),
        Counts(1, INFINITE),
    )
    yield Line(
        "Counts",
        unbounded,
        up,
        dict.fromkeys(unbounded.edges, up.upper_rate),
        query=ONE_GROUP,
        universe=SINGLE,
        flaw="a symmetrised policy: one direction's loss claimed for both",
        seen="one-sided note, remark after Proposition 4",
    )
    yield Line(
        "Counts (units cut down)",
        presence,
        up,
        dict.fromkeys(presence.edges, up.upper_rate),
        query=GroupCount(max_groups=1, truncated=True),
        flaw="one-sided noise although cutting a unit down makes counts rise",
        seen="our own design (docs/guarantees.md)",
    )


def _programs() -> Iterator[Line]:
    """Functions of data and noise."""
    # Draws and clipping.
    bounded, added = policies.bounded(), policies.addition_only()
    for name, run, policy, universe, flaw, seen in (
        *(
            ("count", zoo.reused, added, Universe(), "one draw used for two counts", _HABIT),
            (
                "count",
                zoo.drawn_again,
                added,
                _ONE,
                "a release drawn again instead of re-read",
                "caches and restarts without a ledger",
            ),
            (
                "count",
                zoo.clipped_noise,
                bounded,
                _ONE,
                "clipping before noise is added, on the wrong side",
                _HABIT,
            ),
            (
                "clipped count",
                zoo.true_zero_stays,
                added,
                _ONE,
                "zero stays zero by the truth, not by the answer",
                "a misreading of OSDP Algorithm 2",
            ),
        ),
        *_late_slips(),
    ):
        yield program(name, run, policy, 1, universe=universe, flaw=flaw, seen=seen)


def _late_slips() -> tuple[_Line, ...]:
    """What depends on the secret although it must not."""
    bounded, added = policies.bounded(), policies.addition_only()
    return (
        (
            "decision",
            zoo.rounded_first,
            added,
            Universe(groups=("a",), units=3),
            "threshold compared after rounding the true count",
            "reports that round to fives",
        ),
        (
            "count",
            zoo.until_positive,
            bounded,
            _ONE,
            "drawn again until the answer is not negative",
            _HABIT,
        ),
        ("count", zoo.relative_noise, added, _ONE, "noise in proportion to the secret", _HABIT),
        (
            "count",
            zoo.capped_at_total,
            added,
            _ONE,
            "capped at the number of records, a secret",
            _HABIT,
        ),
        (
            "histogram",
            zoo.shared_budget,
            added,
            Universe(max_groups=1),
            "ε split over the groups that occur",
            _HABIT,
        ),
    )


def _right() -> Iterator[Line]:
    """Twins of some of the wrong ones."""
    bounded, added, unbounded = policies.bounded(), policies.addition_only(), policies.unbounded()
    yield program("count, re-read", zoo.read_again, added, 1, universe=_ONE)
    yield program("count, answer clipped", zoo.clipped_answer, unbounded, 1, universe=_ONE)
    yield program("decision, answer rounded", zoo.rounded_last, added, 1, universe=_ONE)
    yield program("count, whole record", zoo.clipped_answer, bounded, 1, universe=_ONE)
