"""The exact law of an answer: against formulas, and of what is promised of answers."""

import math

import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.verify import law

ADDED = od.policy.addition_only()
ROWS = pl.DataFrame({"person": [1, 2, 3], "place": ["a", "a", "b"], "age": [3, 5, None]})
GROUPED = {"by": "place", "keys": ["a", "b"], "max_groups": 1, "epsilon": 1}


def of(question, policy=ADDED, **more):
    return law(question, ROWS, policy, unit="person", **more)


def test_a_count_has_its_geometric_law():
    """Pr[G = k] = (1 - e^-ε) e^-εk below three people (DESIGN 4)."""
    found = of(od.Count(epsilon=1), tail=1e-12)
    assert found.lost < 1e-10
    assert [told.noisy[0] - 3 for told, _ in found][:3] == [0, 1, 2]
    for told, chance in found:
        assert chance == pytest.approx(-math.expm1(-1) * math.exp(3 - int(told.noisy[0])), rel=1e-9)


@pytest.mark.parametrize(
    ("question", "certain"),
    [
        (od.Count(**GROUPED), lambda told: told.upper[0] >= 2 and told.upper[1] >= 1),
        (od.AtMost(1, **GROUPED), lambda told: not told.frame["certified"][0]),
        (od.Sum("age", of="rows", max_rows=1, bounds=(0, 9), missing="drop", epsilon=1),
         lambda told: told.upper[0] >= 8),
    ],
)  # fmt: skip
def test_what_is_certain_has_probability_one(question, certain):
    found = of(question)
    assert found.chance(certain)[1] == 1.0
    assert found.chance(lambda told: not certain(told))[0] == 0.0
    assert all(certain(told) for told, _ in found)


def test_an_interval_holds_as_often_as_it_says():
    found = of(od.Count(epsilon=1), od.policy.unbounded(), tail=1e-12)
    low, high = found.chance(lambda told: told.lower[0] <= 3 <= told.upper[0])
    assert low >= 0.95 - 1e-9
    assert high - low < 1e-8
    # A control: half as wide, it holds too seldom.
    assert found.chance(lambda told: 2 * abs(told.noisy[0] - 3) <= told.upper[0] - 3)[0] < 0.95


def test_two_tables_lose_what_is_charged_in_that_direction_alone():
    one = law(od.Count(epsilon=1), ROWS.head(2), ADDED, unit="person")
    assert of(od.Count(epsilon=1)).loss(one) == pytest.approx(1, abs=1e-6)
    assert one.loss(of(od.Count(epsilon=1))) > 10  # 2 shows that there are not 3


def test_what_is_drawn_among_rows_is_listed_too():
    policy = od.policy.sensitive("age IS NULL")
    found = of(od.Sample(epsilon=1), policy)
    assert found.lost == 0
    assert sum(1 for _ in found) == 4  # of two open people each may be in it
    together = of(od.session.Several((od.Sample(epsilon=1), od.Count(epsilon=1))), policy)
    assert sum(1 for _ in together) == 4
    low, high = found.chance(lambda told: len(told.frame) == 2)
    assert low <= (1 - math.exp(-1)) ** 2 <= high


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"tail": 0}, "tail"),
        ({"tail": math.nan}, "tail"),
        ({"question": od.Count}, "question"),
        ({"question": od.Count(where="nobody = 1", epsilon=1)}, "nobody"),
    ],
)
def test_bad_input_is_refused(given, told):
    with pytest.raises(errors.OnesidedError, match=told):
        of(**{"question": od.Count(epsilon=1), **given})
