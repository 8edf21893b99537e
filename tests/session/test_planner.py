"""Ways to answer, ranked: errors predicted on public data against errors on other data."""

import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise
from onesided.session import (
    Count,
    Histogram,
    LinearQuery,
    Mean,
    PlanOption,
    Quantile,
    RangeQuery,
    Sum,
    TopK,
)
from onesided.session._ways import RoughNoise

P = od.policy
PLACES = list("abcdefgh")


def people(seed, number=3000):
    """Made up: ages about 45, places of rising size."""
    chance = np.random.default_rng(seed)
    shares = np.arange(1, 9) / 36
    return pl.DataFrame(
        {
            "person": np.arange(number),
            "place": chance.choice(PLACES, number, p=shares),
            "age": np.clip(chance.normal(45, 15, number).round(), 0, 99).astype(int),
        }
    )


ROWS, PUBLIC = people(1), people(2)
BY = {"by": "place", "keys": PLACES}
AGES = {"bounds": (0, 99)}
TOTALS = {"of": "units", "total_bounds": (0, 99)}
BINS = {"bins": 20, "bounds": (0, 100)}
TOPS = [25, 35, 45, 55, 65, 99]

# Policy, unit, question, how the measured answers are read off, how often they are drawn.
SETTINGS = {
    "counts, one side": (P.presence(max_groups=2), None, Count(**BY, epsilon=1), 300),
    "counts, two sides": (P.bounded(), None, Count(**BY, epsilon="1/2", max_groups=1), 300),
    "a sum, one side": (P.addition_only(), None, Sum("age", **TOTALS, epsilon=1), 800),
    "a sum, two sides": (P.bounded(), "person", Sum("age", **TOTALS, epsilon="1/5"), 800),
    "a mean": (P.unbounded(), None, Mean("age", **AGES, epsilon="1/10"), 800),
    "a mean of a known number": (P.bounded(), "person", Mean("age", **AGES, epsilon=1), 800),
    "means by group": (P.unbounded(), None, Mean("age", **AGES, **BY, epsilon=1), 400),
    "a median": (P.addition_only(), None, Quantile("age", **AGES, epsilon="1/80"), 400),
    "quartiles": (P.unbounded(), None, Quantile("age", [0.25, 0.75], **AGES, epsilon="1/25"), 400),
    "a median by counts": (
        P.unbounded(),
        None,
        Quantile("age", candidates=TOPS, method="cumulative", epsilon="1/200"),
        700,
    ),
    "a histogram": (P.unbounded(), None, Histogram("age", **BINS, epsilon="1/10"), 200),
    "a histogram by dawa": (
        P.unbounded(),
        None,
        Histogram("age", **BINS, method="dawa", epsilon="1/10"),
        200,
    ),
    "ranges": (P.addition_only(), None, RangeQuery("age", "all", **BINS, epsilon="1/10"), 100),
    "prefixes, two sides": (
        P.unbounded(),
        None,
        RangeQuery("age", "prefixes", **BINS, epsilon=1),
        200,
    ),
    "top k": (P.presence(max_groups=1), "person", TopK(3, **BY, epsilon="1/20"), 400),
}


def measured(session, question, times):
    """Errors of the session's own answers, against the truth of its own table by Polars."""
    context = session._context()
    prepared = question.prepare(context)
    secret, noise = prepared.read(), NotPrivateSeededNoise(5)
    squares = []
    for _ in range(times):
        release = prepared.result(prepared.draw(secret, noise), None)
        told = np.asarray(getattr(release, "estimates", None), dtype=object)
        told = release.estimate if told.ndim == 0 else np.array(release.columns()["estimate"])
        squares.append(np.mean((np.asarray(told, float).ravel() - truth(question, release)) ** 2))
    return float(np.sqrt(np.mean(squares)))


def truth(question, release):  # noqa: PLR0911 - by kind
    counts = dict(ROWS.group_by("place").len().iter_rows())
    ages = np.sort(ROWS["age"].to_numpy())
    if isinstance(question, TopK):
        return np.array([counts[place] for place in release.labels])
    if isinstance(question, Histogram):
        return np.histogram(ages, bins=np.linspace(0, 100, 21))[0]
    if isinstance(question, Count):
        return np.array([counts[place] for place in PLACES])
    if isinstance(question, Sum):
        return np.array([ages.sum()])
    if isinstance(question, Mean) and question.by:
        means = dict(ROWS.group_by("place").agg(pl.col("age").mean()).iter_rows())
        return np.array([means[place] for place in PLACES])
    if isinstance(question, Mean):
        return np.array([ages.mean()])
    if isinstance(question, Quantile):
        found = np.array([ages[int(np.ceil(q * ages.size)) - 1] for q in question.shares])
        if question.candidates is None:
            return found
        return np.array(TOPS)[np.searchsorted(TOPS, found)]
    below = np.concatenate([[0], np.cumsum(np.histogram(ages, bins=np.linspace(0, 100, 21))[0])])
    ends = np.linspace(0, 100, 21)
    told = release.frame
    places = [np.searchsorted(ends, told[name]) for name in ("age_from", "age_to")]
    return below[places[1]] - below[places[0]]


@pytest.mark.heavy
@pytest.mark.parametrize("name", SETTINGS)
def test_predicted_errors_are_those_of_other_data_of_the_same_kind(name):
    """Within a tenth. Draws are seeded, so there is no false alarm; about 3 standard errors."""
    policy, unit, question, times = SETTINGS[name]
    session = od.Session(ROWS, unit=unit, policy=policy, budget=100)
    plan = session.plan(question, like=PUBLIC)
    assert plan.options[0].error == pytest.approx(measured(session, question, times), rel=0.1)
    here = (way.error for way in plan.ranked if not way.elsewhere)
    errors_known = [one for one in here if one is not None]
    assert errors_known == sorted(errors_known)
    assert len(plan.ranked) >= 3
    assert all(way.note for way in plan.ranked)
    assert not any(session.spent.values())


def test_the_best_way_can_be_asked():
    session = od.Session(ROWS, policy=P.bounded(), budget=100)
    best = session.plan(Count(**BY, epsilon="1/2", max_groups=1)).ranked[0]
    assert isinstance(best.question, LinearQuery)  # their total is public under this policy
    assert session.ask(best.question).estimate.size == len(PLACES)


def test_two_sided_counts_by_trees_err_as_predicted():
    session = od.Session(ROWS, policy=P.bounded(), budget=100)
    plan = session.plan(Count(**BY, epsilon="1/2", max_groups=1))
    for way in plan.ranked:
        found = measured(session, Wrapped(way.question), 200) if way.question else way.error
        assert way.error == pytest.approx(found, rel=0.1)


class Wrapped(Count):
    """Any question whose numbers are the counts by place."""

    def __init__(self, question):
        object.__setattr__(self, "question", question)

    def prepare(self, context):
        return self.question.prepare(context)


def test_what_a_plan_is_tried_on_must_have_the_columns():
    session = od.Session(ROWS, policy=P.unbounded(), budget=100)
    with pytest.raises(errors.OnesidedError, match="age"):
        session.plan(Mean("age", **AGES, epsilon=1), like=PUBLIC.drop("age")).plot()
    with pytest.raises(errors.OnesidedError):
        session.plan(Mean("age", **AGES, epsilon=1), like=[1, 2]).plot()


def test_without_public_data_nothing_is_promised_that_depends_on_them():
    session = od.Session(ROWS, policy=P.unbounded(), budget=100)
    plan = session.plan(Mean("age", **AGES, epsilon=1))
    assert [way.error for way in plan.ranked] == [None] * len(plan.ranked)
    assert "depends on the data" in str(plan)
    assert isinstance(plan.ranked[-1], PlanOption)


def test_rough_noise_takes_items_as_the_exact_law_does():
    """40,000 draws; each share within 5 standard errors: false alarm below 1e-5."""
    deficits, sizes, rate = np.array([0, 2, 5]), np.array([1, 30, 100]), "1/2"
    accepted = np.exp(-0.5 * deficits)
    t, weights = np.polynomial.legendre.leggauss(400)
    t, weights = (t + 1) / 2, weights / 2
    each = 1 - accepted[:, None] * (1 - t)
    others = np.prod(each ** sizes[:, None], axis=0) / each
    exact = sizes * accepted * (others @ weights)
    assert exact.sum() == pytest.approx(1, abs=1e-9)
    noise = RoughNoise(3)
    found = [noise.permute_and_flip(rate, deficits, sizes) for _ in range(40_000)]
    shares = np.bincount(found, minlength=3) / len(found)
    assert shares == pytest.approx(exact, abs=5 * 0.5 / 200)
