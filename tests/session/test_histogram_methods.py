from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise
from onesided.session.histograms import _histogram

RNG = np.random.default_rng(3)
N = 4000
TABLE = pl.DataFrame(
    {
        "person": range(N),
        "age": np.clip(RNG.normal(40, 15, N), 0, 99).astype(int),
        "pay": RNG.exponential(20, N),
        "opted_in": RNG.random(N) < 0.7,
    }
)
TRUTH = np.bincount(TABLE["age"], minlength=100)
ASK = {"bins": 100, "bounds": (0, 100), "epsilon": 1}
ALWAYS = ("dawa", "ahp", "hierarchical")
SPLIT = ("split", "open_shape", "dawaz", "ahpz", "hierarchicalz")
SS, SO = "sensitive -> sensitive", "sensitive -> open"


def session(policy=None, **more):
    given = {"policy": policy or od.policy.sensitive("not opted_in"), "budget": 50, **more}
    return od.Session(TABLE, unit="person", noise=NotPrivateSeededNoise(9), **given)


@pytest.mark.parametrize("method", [*ALWAYS, *SPLIT])
def test_every_method_is_near_the_truth_and_charges_at_most_epsilon(method):
    asked = session()
    made = asked.histogram("age", **ASK, method=method)
    assert made.estimate.shape == (100,)
    assert np.abs(made.estimate - TRUTH).mean() < 12
    # A tree's estimates are unbiased, sums of them too; cut at 0 cell by cell they would not be.
    assert (made.estimate >= 0).all() or method.startswith("hierarchical")
    assert (made.non_negative >= 0).all()
    assert np.abs(made.non_negative - TRUTH).mean() < 12
    assert max(made.guarantee.epsilon.values()) == 1
    assert asked.spent == dict(made.guarantee.epsilon)
    frame = made.frame
    assert frame["age_from"].to_list()[:3] == [0, 1, 2]
    assert frame["age_to"].to_list()[-1] == 100


def test_edges_are_charged_apart():
    asked = session()
    assert asked.histogram("age", **ASK, method="dawaz").guarantee.epsilon == {
        SS: Fraction(9, 10),
        SO: 1,
    }
    assert asked.histogram("age", **ASK, method="split").guarantee.epsilon == {SS: 1, SO: 1}


@pytest.mark.parametrize("method", SPLIT)
@pytest.mark.parametrize(
    "policy",
    [
        od.policy.sensitive("not opted_in"),
        od.policy.tiers(
            {"strict": ("1/2", "age < 18"), "mild": (1, "not opted_in"), "open": od.INFINITE}
        ),
    ],
)
def test_a_histogram_of_parts_is_charged_as_its_mechanism_says(policy, method):
    plan = session(policy).plan(od.Histogram("age", **ASK, method=method))
    asked = (
        {} if method in ("split", "open_shape") else {"query": od.policy.GroupCount(max_groups=1)}
    )
    losses = plan.mechanism.losses(policy, **asked)
    assert plan.charge == {edge.name: loss for edge, loss in losses.items()}


def test_a_split_histogram_has_certain_lower_bounds():
    asked = session()
    for _ in range(10):
        made = asked.histogram("age", **ASK, method="split")
        assert (made.lower <= TRUTH).all()
        assert made.frame["lower"].sum() > 0


@pytest.mark.parametrize("method", ["agrid", "agridz", "dawa", "open_shape", "split"])
def test_two_columns_make_a_table(method):
    cells = {"age": range(0, 101, 5), "pay": range(0, 201, 10)}
    made = session().histogram(cells, epsilon=1, method=method, records=N)
    assert made.estimate.shape == (20, 20)
    truth, *_ = np.histogram2d(TABLE["age"], TABLE["pay"], bins=[np.arange(0, 101, 5), np.arange(0, 201, 10)])  # fmt: skip # noqa: E501
    assert np.abs(made.estimate - truth).mean() < 12


def test_the_same_id_reads_the_answer_and_another_method_is_another_question():
    asked = session()
    first = asked.histogram("age", **ASK, method="dawa", id="ages")
    again = asked.histogram("age", **ASK, method="dawa", id="ages", again=True)
    assert np.array_equal(first.estimate, again.estimate)
    assert asked.spent == {SS: 1, SO: 1}
    for other in ("ahp", "counts"):
        with pytest.raises(errors.ReleaseExistsError, match="another question"):
            asked.histogram("age", **ASK, method=other, id="ages")


@pytest.mark.parametrize(
    "question",
    [
        od.session.Histogram("age", **ASK, method="dawaz"),
        od.session.Mean("pay", bounds=(0, 100), step=1, epsilon=1),
        od.session.Sample(epsilon=1),
    ],
)
def test_a_plan_says_what_is_left_of_delta_whatever_is_asked(question):
    plan = session(delta_budget="1e-6").plan(question)
    assert set(plan.delta_remaining.values()) == {Fraction("1e-6")}


def test_a_plan_lists_what_fits_the_policy():
    names = [
        [option.name for option in session(policy).plan(_question()).options]
        for policy in (None, od.policy.bounded())
    ]
    assert all(f'method="{method}"' in names[0] for method in (*ALWAYS, *SPLIT))
    everywhere = [f'method="{m}"' for m in ("best", *ALWAYS)]
    assert [name for name in names[1] if "method" in name] == everywhere
    text = str(session().plan(_question()))
    assert "depends on the data" in text
    assert "exact answer is released" not in text


def test_the_text_of_a_plan_cuts_the_column_into_bins_no_more_than_twice(monkeypatch):
    made, cells = [], _histogram.with_bins
    monkeypatch.setattr(_histogram, "with_bins", lambda *a, **kw: made.append(1) or cells(*a, **kw))
    question = od.session.Histogram("age", bins=1000, bounds=(0, 1000), epsilon=1)
    plan = session().plan(question)
    assert "depends on the data" in str(plan)
    assert len(made) == 3  # its own, and two grids that need one column more


def test_a_public_guess_tells_what_methods_would_err_by():
    opened = np.bincount(TABLE.filter(pl.col("opted_in"))["age"], minlength=100)
    for like in (TRUTH, (TRUTH - opened, opened)):
        plan = session().plan(od.session.Histogram("age", **ASK, like=like))
        errors_of = {option.name: option.error for option in plan.options}
        assert 0.5 < errors_of['method="dawa"'] < 20
        assert (errors_of['method="dawaz"'] is None) == (like is TRUTH)
    alone = session().plan(od.session.Histogram("age", **ASK, method="dawa", like=TRUTH))
    assert alone.standard_deviation == errors_of['method="dawa"']


@pytest.mark.parametrize("like", [[1, 2], (TRUTH, TRUTH, TRUTH), TRUTH / 2, "last year's"])
def test_guesses_that_are_no_histogram_of_these_bins(like):
    with pytest.raises(errors.DataError):
        session().plan(od.session.Histogram("age", **ASK, like=like))


def _question():
    return od.session.Histogram("age", **ASK)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"method": "magic"}, "no method"),
        ({"method": None}, "no method"),
        ({"method": "dawa", "counted": "open"}, "counted="),
        ({"method": "dawa", "max_groups": 2}, "one cell"),
        ({"method": "dawa", "by": "opted_in", "keys": [True, False], "max_groups": 1}, "by="),
        ({"method": "agrid", "records": 10}, "column"),
    ],
)
def test_what_a_method_cannot_do_is_said(more, said):
    with pytest.raises(errors.ParameterError, match=said):
        session().histogram("age", **ASK, **more)


def test_grids_need_a_public_size():
    cells = {"age": [0, 50, 100], "pay": [0, 10, 200]}
    with pytest.raises(errors.ParameterError, match="how many records"):
        session().histogram(cells, epsilon=1, method="agrid")
    assert session().histogram(cells, epsilon=1, method="agrid", records=1000).estimate.size == 4


@pytest.mark.parametrize("method", SPLIT)
def test_methods_for_open_records_need_some(method):
    with pytest.raises(errors.PolicyError, match="nothing to split"):
        session(od.policy.bounded()).histogram("age", **ASK, method=method)


def test_a_unit_in_two_cells_is_refused():
    table = pl.DataFrame({"person": [1, 1], "age": [1, 2], "opted_in": [True, True]})
    asked = od.Session(table, unit="person", policy=od.policy.sensitive("not opted_in"), budget=9)
    with pytest.raises(errors.ContributionError):
        asked.histogram("age", **ASK, method="dawa", on_excess="error")
    assert asked.spent == {SS: 0, SO: 0}
    cut = asked.histogram("age", **ASK, method="dawa")  # the policy's first mode
    assert "may have been cut" in cut.warnings[0]


@pytest.mark.parametrize(
    ("column", "edges"),
    [
        ("age", [-(2**126), 0]),
        ("age", [0, 10**400]),
        ("pay", [0, 10**400]),
        ("pay", [-(10**309), 0]),
    ],
)
def test_edges_that_no_value_comes_near_are_refused_before_rows_are_read(column, edges):
    """Some engines fail on them, as rows are read: a service would close its dataset."""
    ask = od.session.Histogram(column, bins=edges, epsilon=1)
    with pytest.raises(errors.ParameterError, match="farther from 0"):
        session().plan(ask)


def test_the_farthest_edges_are_taken():
    most = 2**63 - 1
    release = session().ask(od.session.Histogram("age", bins=[-most, 0, most], epsilon=1))
    assert release.frame.height == 2


@pytest.mark.parametrize(
    ("policy", "part"),
    [
        (od.policy.addition_only(), 0.5),
        (od.policy.bounded(), 0.5),
        (None, 0.5),
        # Where noise lies below alone, an empty cell is told as 0 anyway.
        (od.policy.removal_only(), 1.25),
    ],
)
def test_pooled_counts_keep_their_bounds_and_err_less_where_cells_are_empty(policy, part):
    """One seed draws the same noise for both, so what differs is what was made of it."""
    asked = {"bins": 400, "bounds": (0, 4_000), "epsilon": "1/4"}
    plain, found = (
        session(policy).histogram("age", **asked, method=method) for method in ("counts", "best")
    )
    assert (found.noisy == plain.noisy).all()
    for side in ("lower", "upper", "lower_certain", "upper_certain"):
        assert np.array_equal(getattr(found, side), getattr(plain, side))
    assert (found.lower <= found.estimate).all()
    assert (found.estimate <= found.upper).all()
    assert found.guarantee == plain.guarantee
    truth = np.bincount(TABLE["age"] // 10, minlength=400)
    wrong, less = (np.abs(one.non_negative - truth).sum() for one in (plain, found))
    assert less <= part * wrong
    assert "pooled over" in str(found)


def test_pooled_estimates_depend_on_noisy_counts_alone():
    """Two tables, and noise that makes up the difference: the answers are the same."""
    seen = [
        od.Session(
            pl.DataFrame({"age": ages}),
            policy=od.policy.addition_only(),
            budget=9,
            noise=_Fixed(rises),
        ).histogram("age", bins=3, bounds=(0, 3), epsilon=1, method="best")
        for ages, rises in (([0, 0, 1], [3, 2, 0]), ([0], [4, 3, 0]))
    ]
    assert seen[0].noisy.tolist() == seen[1].noisy.tolist() == [5, 3, 0]
    assert seen[0].estimate.tolist() == seen[1].estimate.tolist()


class _Fixed(NotPrivateSeededNoise):
    def __init__(self, rises):
        super().__init__(0)
        self.rises = np.array(rises)

    def two_sided(self, upper, lower, size):  # noqa: ARG002
        return self.rises[:size]


def test_a_plan_of_pooled_counts_says_what_it_is():
    plan = session().plan(od.session.Histogram("age", **ASK, method="best"))
    assert plan.standard_deviation is None
    assert "pooled over" in plan.why
    assert 'method="counts"' in [option.name for option in plan.options]
    other = session().plan(od.session.Histogram("age", **ASK))
    assert 'method="best"' in [option.name for option in other.options]
    assert other.certain == plan.certain


def test_no_more_cells_are_pooled_than_can_be_in_time():
    table = TABLE.with_columns(other=pl.col("age"))
    bins = {"age": [*range(501)], "other": [*range(264)]}
    asking = od.Session(table, policy=od.policy.bounded(), budget=9)
    with pytest.raises(errors.ParameterError, match="131500"):
        asking.plan(od.session.Histogram(bins, epsilon=1, method="best"))
    names = [one.name for one in asking.plan(od.session.Histogram(bins, epsilon=1)).options]
    assert 'method="best"' not in names
