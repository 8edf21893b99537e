"""The tight total of charges on record, against enumeration and against what is on record."""

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import exp

import polars as pl
import pytest

import onesided as od
from onesided import accounting as acc
from onesided import errors
from onesided.accounting import NOTE, charge_loss, noise_note, total_of
from onesided.accounting._charges import noted
from onesided.mechanism import Counts, NoisyTopK, PeeledTopK, Sums
from onesided.mechanism.kit import steps_in
from onesided.policy import Shift

POLICY = od.policy.bounded()
(EDGE,) = (edge.name for edge in POLICY.edges)
TWO_SIDED = Counts("1/2", "1/4")
SHIFTS = {EDGE: [Shift(rise=1, fall=1)]}


@dataclass
class Charge:
    epsilon: dict
    delta: dict = field(default_factory=dict)
    detail: dict = field(default_factory=dict)


def charge(mechanism=TWO_SIDED, shifts=SHIFTS, **changes):
    epsilon = {edge: max(map(mechanism.loss, many)) for edge, many in shifts.items()}
    return Charge(
        **({"epsilon": epsilon, "detail": {NOTE: noise_note(mechanism, shifts)}} | changes)
    )


def pmf(upper, lower, value):
    p, q = exp(-upper), exp(-lower)
    return (1 - p) * (1 - q) / (1 - p * q) * (p**value if value >= 0 else q**-value)


@pytest.mark.parametrize(("rise", "fall"), [(0, 1), (1, 0), (1, 1)])
def test_the_tight_total_is_never_below_what_enumeration_finds(rise, fall):
    """Two answers about a count that falls and one that rises, each with a cut tail."""
    shifts = {EDGE: [Shift(rise=rise, fall=fall)]}
    one = charge(shifts=shifts)
    loss = charge_loss(one.detail[NOTE], edge=EDGE, epsilon=one.epsilon[EDGE])
    span, a, b = range(-60, 61), 0.5, 0.25
    single = [
        (pmf(a, b, x) * pmf(a, b, y), pmf(a, b, x + fall) * pmf(a, b, y - rise))
        for x, y in product(span, repeat=2)
    ]
    twice = {}
    for p, q in single:
        twice[round(p / q, 9)] = twice.get(round(p / q, 9), 0) + p
    for epsilon in (0.1, 0.3, 0.6, 0.9):
        found = sum(
            p * r * max(0, 1 - exp(epsilon) / (s * t))
            for (s, p), (t, r) in product(twice.items(), repeat=2)
        )
        stated = float((loss + loss).delta(Fraction(epsilon)))
        assert found <= stated + 1e-9
        assert stated == pytest.approx(found, abs=1e-6)


def test_many_charges_are_told_tighter_than_their_sum():
    total = total_of(POLICY, [charge()] * 200, delta="1e-6")
    assert total.charges == 200
    assert total.plain.epsilon[EDGE] == 150
    assert not any(total.plain.delta.values())
    assert total.tight.epsilon[EDGE] < 75
    assert total.tight.delta[EDGE] == Fraction(1, 10**6)
    assert "200 charges" in str(total)


def test_directions_are_not_joined():
    """The way back has rates exchanged: its total is another, and neither is their maximum."""
    fall, rise = ({EDGE: [shift]} for shift in (Shift(rise=0, fall=1), Shift(rise=1, fall=0)))
    told = [
        total_of(POLICY, [charge(shifts=shifts)] * 100, delta="1e-6").tight.epsilon[EDGE]
        for shifts in (fall, rise)
    ]
    assert told[0] > told[1]


def test_noise_on_one_side_gains_nothing_and_says_nothing():
    assert noise_note(Counts(1, od.INFINITE), SHIFTS) == {}
    total = total_of(POLICY, [Charge({EDGE: Fraction(1)})] * 5, delta="1e-6")
    assert total.plain.epsilon == total.tight.epsilon == {EDGE: 5}
    assert not any(total.tight.delta.values())


GOOD = noise_note(TWO_SIDED, SHIFTS)


@pytest.mark.parametrize(
    "note",
    [
        None,
        [],
        "counts",
        GOOD | {"version": 2},
        GOOD | {"kind": "other"},
        GOOD | {"edges": {}},
        GOOD | {"edges": {EDGE: []}},
        GOOD | {"edges": {EDGE: [[1]]}},
        GOOD | {"edges": {EDGE: [[-1, 2]]}},
        GOOD | {"edges": {EDGE: [[0, 1]]}},
        GOOD | {"upper": "0"},
        GOOD | {"upper": "1/4"},
        GOOD | {"upper": "nan"},
        GOOD | {"lower": None},
        GOOD | {"lower": "9" * 4000},
    ],
)
def test_a_note_that_does_not_fit_the_charge_is_not_believed(note):
    total = total_of(POLICY, [charge(detail={NOTE: note})] * 50, delta="1e-6")
    assert total.tight.epsilon == total.plain.epsilon == {EDGE: Fraction(75, 2)}


def test_deltas_count_in_both():
    one = Charge({EDGE: Fraction(1, 2)}, {EDGE: Fraction(1, 10**7)}, {})
    total = total_of(POLICY, [one] * 4, delta="1e-6")
    assert total.plain.delta[EDGE] == Fraction(4, 10**7)
    assert total.tight.epsilon[EDGE] <= 2


def test_charges_of_another_policy_are_refused():
    with pytest.raises(errors.PolicyError, match="not on the edges"):
        total_of(POLICY, [Charge({"a -> b": Fraction(1)})], delta=0)


def test_a_session_tells_its_total_from_the_ledger():
    people = pl.DataFrame({"place": ["a", "b"]})
    with od.Ledger.open() as ledger:
        session = od.Session(people, policy=POLICY, budget=9, ledger=ledger)
        assert session.total(delta="1e-6").charges == 0
        for _ in range(40):
            session.count(by="place", keys=["a", "b"], epsilon="1/10")
        total = session.total(delta="1e-6")
        assert total.plain.epsilon == session.spent == {EDGE: 4}
        assert total.tight.epsilon[EDGE] < 4
        assert ledger.entries(kind="spend")[0].detail[NOTE]["version"] == 1


def test_sums_have_the_law_of_counts_in_their_steps():
    note = noise_note(Sums("1/2", 1), {EDGE: [Shift(rise=0, fall=2)]})
    assert note == noise_note(Counts("1/2", 1), {EDGE: [Shift(rise=0, fall=2)]})
    assert noise_note(Sums("1/2", od.INFINITE), {EDGE: [Shift(rise=0, fall=2)]}) == {}


class Louder(Counts):
    """Draws what it likes."""


def test_what_inherits_from_counts_has_no_note():
    assert noise_note(Louder("1/2", 1), {EDGE: [Shift(rise=0, fall=2)]}) == {}


STEPS = noise_note(PeeledTopK(2, pick_rate="1/8", upper_rate=1, lower_rate=1), SHIFTS)


def test_the_note_of_steps_is_read_back():
    (told,) = STEPS["edges"].values()
    steps = steps_in(told)
    assert steps.written() == told
    loss = charge_loss(STEPS, edge=EDGE, epsilon=steps.epsilon)
    assert loss.largest == steps.epsilon
    assert loss.delta(0) < acc.certain_loss(steps.epsilon).delta(0)


DEEP = {"forward": "1", "backward": "1"}
for _ in range(20_000):
    DEEP = {"one_of": [DEEP]}


@pytest.mark.parametrize(
    "told",
    [
        None,
        [],
        {},
        {"one_of": []},
        {"one_of": [None]},
        {"together": [], "times": 0},
        {"together": [], "times": 10**7},
        {"together": 3, "times": 1},
        {"forward": "-1", "backward": "1"},
        {"forward": "nan", "backward": "1"},
        {"forward": "1", "backward": None},
        {"forward": "1"},
        {"forward": "2", "backward": "1"},
        {"forward": "1", "backward": "1", "more": 1},
        {"upper": "0", "lower": "1", "rise": 0, "fall": 1},
        {"upper": "1", "lower": "1", "rise": 0, "fall": -1},
        {"upper": "1", "lower": "1", "rise": 0, "fall": 0.5},
        DEEP,
    ],
    ids=lambda told: str(told)[:60] if told is not DEEP else "deep",
)
def test_steps_that_cannot_be_read_are_not_believed(told):
    note = {"version": 1, "kind": "steps", "edges": {EDGE: told}}
    for delta in (Fraction(0), Fraction(1, 9)):
        loss = charge_loss(note, edge=EDGE, epsilon=Fraction(1), delta=delta)
        assert loss == acc.bound_loss(acc.Bound(1, delta))
        charged = {"epsilon": {EDGE: Fraction(1)}, "delta": {EDGE: delta}}
        orders = acc.charge_divergences({NOTE: note}, **charged)[EDGE]
        assert set(orders) == {1}


def test_what_inherits_or_was_written_elsewhere_tells_no_steps():
    class Louder(PeeledTopK):
        """It may draw other noise."""

    class Other:
        """Not of this library."""

        def steps(self, _):
            """Too kind."""
            return steps_in({"forward": "1", "backward": "1"})

    made = {"pick_rate": "1/8", "upper_rate": 1, "lower_rate": 1}
    assert noise_note(Louder(2, **made), SHIFTS) == noise_note(Other(), SHIFTS) == {}


def test_steps_that_hide_one_way_gain_nothing():
    one_way = PeeledTopK(2, pick_rate=od.INFINITE, upper_rate=1, lower_rate=od.INFINITE)
    assert noise_note(one_way, {EDGE: [Shift(rise=0, fall=0)]}) == {}
    assert noise_note(NoisyTopK(1, upper_rate=1, lower_rate=od.INFINITE), SHIFTS) == {}


def test_a_note_that_nests_too_deep_or_loses_one_way_alone_is_none():
    deep = {"forward": "1", "backward": "1"}
    for _ in range(900):
        deep = {"together": [deep], "times": 1}
    for steps in (deep, {"forward": "1", "backward": "0"}, {"forward": "0", "backward": "1"}):
        note = {"version": 1, "kind": "steps", "edges": {"a -> b": steps}}
        assert noted(note, edge="a -> b") is None
