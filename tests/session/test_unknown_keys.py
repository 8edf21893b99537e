"""Keys that nobody listed: found by noisy counts, ordered by the answer, bounded per unit."""

import datetime as dt
import io
import math
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Record
from onesided.session import Discover
from onesided.verify import Universe

from .test_contract import read

PRIVATE = od.policy.sensitive("minor")
EXACT = 1000

VISITS = {
    "person": [1, 1, 1, 2, 2, 3, 4, 5, 5],
    "place": ["a", "a", "b", "a", "c", "a", "b", "x", None],
    "hour": [1, 2, 1, 1, 1, 1, 1, 1, 1],
    "minor": [False, False, False, False, False, False, None, True, False],
}


def session(data, policy=PRIVATE, **more):
    noise = NotPrivateSeededNoise(7)  # ε is beyond what production answers
    return od.Session(
        data, **{"unit": "person", "policy": policy, "budget": 10**4, "noise": noise, **more}
    )


def found(release, *names):
    values = read(release.frame)
    keys = zip(*(values[name] for name in names), strict=True)
    return dict(zip(keys, values["lower"], strict=True))


def test_keys_of_open_units_are_found_and_no_others(engine):
    made = session(engine(VISITS))
    release = made.discover(by="place", epsilon=EXACT, max_groups=2)
    # 4 is of unknown kind and 5 is sensitive, so x is never told; null is no key.
    assert found(release, "place") == {("a",): 3, ("b",): 1, ("c",): 1}
    assert read(release.frame)["place"] == ["a", "b", "c"]
    assert len(release) == 3
    assert made.spent == {"sensitive -> sensitive": 0, "sensitive -> open": EXACT}


def test_several_columns_and_rows_as_units(engine):
    made = session(engine(VISITS), unit=None)
    release = made.discover(by=["place", "hour"], epsilon=EXACT)
    # Row by row: 5 has one row that is open, and it has no place.
    assert found(release, "place", "hour") == {("a", 1): 3, ("a", 2): 1, ("b", 1): 1, ("c", 1): 1}


def test_the_answer_is_a_frame_of_the_callers_type_with_all_columns(engine):
    data = engine(VISITS)
    release = session(data).discover(by=["hour", "place"], epsilon=1, max_groups=2)
    assert type(release.frame) is type(data)
    assert list(read(release.frame)) == ["hour", "place", "estimate", "lower", "lower_certain"]


def test_bounds_are_never_above_the_truth_and_the_estimate_is_above_them(engine):
    many = {
        "person": list(range(300)),
        "place": [i % 7 for i in range(300)],
        "minor": [False] * 300,
    }
    release = session(engine(many)).discover(by="place", epsilon="1/4", max_groups=1)
    truth = {(place,): 43 if place < 6 else 42 for place in range(7)}
    assert all(lower <= truth[key] for key, lower in found(release, "place").items())
    assert (release.estimate >= release.lower).all()
    assert all(read(release.frame)["lower_certain"])


def test_the_order_is_by_count_then_by_key_whatever_the_order_of_the_table(engine):
    rows = [(p, k) for k, size in (("z", 3), ("m", 3), ("b", 5), ("q", 1)) for p in range(size)]
    for turned in (rows, rows[::-1]):
        data = {"person": [p for p, _ in turned], "place": [k for _, k in turned]}
        data["minor"] = [False] * len(turned)
        release = session(engine(data)).discover(by="place", epsilon=EXACT * 4, max_groups=4)
        assert read(release.frame)["place"] == ["b", "m", "z", "q"]


def test_a_pandas_answer_does_not_number_what_it_leaves_out():
    many = {"person": list(range(50)), "place": [f"p{i:02}" for i in range(50)]}
    data = pd.DataFrame({**many, "minor": [False] * 50})
    frame = session(data).discover(by="place", epsilon=1, max_groups=1).frame
    assert 0 < len(frame) < 50
    assert frame.index.tolist() == list(range(len(frame)))


def test_text_of_unpublished_keys_is_nowhere_in_the_answer():
    names = [f"a-key-that-only-one-person-has-{i:05}" for i in range(20_000)]
    data = pl.DataFrame({"person": range(20_000), "place": names, "minor": [False] * 20_000})
    frame = session(data).discover(by="place", epsilon=5, max_groups=1).frame
    file = io.BytesIO()
    frame.write_ipc(file)
    hidden = set(names) - set(frame["place"])
    assert hidden
    out = file.getvalue() + pickle.dumps(frame)
    assert not any(name.encode() in out for name in hidden)


def test_units_in_many_groups_are_cut_down_by_their_own_groups_alone(engine):
    rows = [(p, g) for p in range(40) for g in range(p % 5 + 1)]
    data = {"person": [p for p, _ in rows], "place": [f"p{g}" for _, g in rows]}
    data["minor"] = [False] * len(rows)
    release = session(engine(data)).discover(by="place", epsilon=EXACT * 2, max_groups=2)
    counts = found(release, "place")
    assert sum(counts.values()) == sum(min(2, p % 5 + 1) for p in range(40))
    # Somebody in all groups gets the same two, whoever else is there.
    alone = {"person": [1] * 5, "place": [f"p{g}" for g in range(5)], "minor": [False] * 5}
    first = found(
        session(engine(alone)).discover(by="place", epsilon=EXACT * 2, max_groups=2), "place"
    )
    other = {
        "person": [1] * 5 + [2, 3, 3, 4],
        "place": [f"p{g}" for g in range(4, -1, -1)] + ["p4", "p4", "q", "p3"],
        "minor": [False] * 9,
    }
    both = found(
        session(engine(other)).discover(by="place", epsilon=EXACT * 2, max_groups=2), "place"
    )
    for key in first:
        both[key] -= 1
    rest = {("p4",): 2, ("q",): 1, ("p3",): 1}
    assert {key: count for key, count in both.items() if count} == rest


@pytest.mark.parametrize("dtype", ["cat", "int", "date", "datetime", "bool", "enum", "uint"])
def test_key_types_survive_the_ledger(dtype):
    values, kind = {
        "cat": (["b", "a"], pl.Categorical),
        "enum": (["b", "a"], pl.Enum(["b", "a"])),
        "int": ([-(2**62), 3], pl.Int64),
        "uint": ([200, 3], pl.UInt8),
        "bool": ([True, False], pl.Boolean),
        "date": ([dt.date(1900, 1, 1), dt.date(2030, 5, 6)], pl.Date),
        "datetime": ([-(10**13), 10**12], pl.Datetime("ms")),
    }[dtype]
    column = pl.Series("key", values).cast(kind)
    data = pl.DataFrame({"person": [1, 2], "minor": [False, False], "key": column})
    made = session(data)
    first = made.discover(by="key", epsilon=EXACT, max_groups=1, id="k")
    again = made.discover(by="key", epsilon=EXACT, max_groups=1, id="k", again=True)
    assert first.frame.equals(again.frame)
    assert first.entry == again.entry
    assert sorted(map(str, first.frame["key"])) == sorted(map(str, column))
    wanted = pl.String if dtype in ("cat", "enum") else kind
    assert first.frame.schema["key"] == wanted
    assert made.spent["sensitive -> open"] == EXACT


def test_asking_again_reads_the_stored_answer_and_another_question_is_refused(engine):
    made = session(engine(VISITS), noise=NotPrivateSeededNoise(1))
    first = made.discover(by="place", epsilon=1, max_groups=2, id="q")
    again = made.discover(by="place", epsilon=1, max_groups=2, id="q", again=True)
    assert found(first, "place") == found(again, "place")
    assert made.spent["sensitive -> open"] == 1
    for other in ({"threshold": 1}, {"max_groups": 1}, {"by": "hour"}, {"epsilon": 2}):
        question = {"by": "place", "epsilon": 1, "max_groups": 2, "id": "q", **other}
        with pytest.raises(errors.ReleaseExistsError):
            made.discover(**question)


def test_the_threshold_leaves_small_groups_out():
    release = session(pl.DataFrame(VISITS)).discover(
        by="place", epsilon=EXACT, max_groups=2, threshold=2
    )
    assert found(release, "place") == {("a",): 3}
    assert release.at_least(3) == ["a"]
    assert release.at_least(4) == []


@pytest.mark.parametrize(
    "policy",
    [
        od.policy.bounded(),
        od.policy.unbounded(),
        od.policy.addition_only(),
        od.policy.presence(max_groups=2),
        od.policy.proposition("not minor"),
    ],
    ids=lambda policy: policy.name,
)
def test_policies_with_falls_are_refused_with_the_reason(policy):
    made = session(pl.DataFrame(VISITS), policy)
    with pytest.raises(errors.UnprotectableError, match="give it away") as caught:
        made.discover(by="place", epsilon=1, max_groups=2)
    assert "public keys" in caught.value.hint
    assert not any(made.spent.values())


FALLING = (
    od.policy.bounded(),
    od.policy.unbounded(),
    od.policy.addition_only(),
    od.policy.presence(max_groups=2),
    od.policy.proposition("not minor"),
    od.policy.presence(max_groups=2) & od.policy.bounded(),
)


@pytest.mark.parametrize("policy", FALLING, ids=lambda policy: policy.name)
@pytest.mark.parametrize("by", ["place", "hour"])
def test_where_counts_fall_keys_are_found_at_a_delta(engine, policy, by):
    people = range(90)
    data = {
        "person": [p for p in people for _ in range(2)],
        "place": [at for p in people for at in ("ab"[p % 2], "cdef"[p] if p < 4 else "a")],
        "minor": [False] * 180,
    }
    data["hour"] = [ord(place) for place in data["place"]]
    made = session(engine(data), policy, budget=99, delta_budget="1e-5")
    wanted = {"by": by, "epsilon": 20, "delta": "1e-6", "max_groups": 2, "id": "k"}
    release = made.discover(**wanted)
    truth = {}
    for _, key in {*zip(data["person"], data[by], strict=True)}:
        truth[key] = truth.get(key, 0) + 1
    told = read(release.frame)
    lower = dict(zip(told[by], told["lower"], strict=True))
    assert {key for key, many in truth.items() if many > 9} <= lower.keys() <= truth.keys()
    assert all(many <= truth[key] for key, many in lower.items())
    uncut = "upper" in told
    assert uncut == (policy.covers is not None)  # nobody is cut down to two groups
    if uncut:
        assert all(most >= truth[k] for k, most in zip(told[by], told["upper"], strict=True))
    shown = made.account.delta_remaining
    assert all(left == Fraction("9e-6") for edge, left in shown.items() if made.spent[edge])
    assert any(made.spent.values())
    again = made.discover(**wanted, again=True)
    assert read(again.frame) == told
    with pytest.raises(errors.ReleaseExistsError):
        made.discover(**{**wanted, "delta": "1e-7"})


def test_kinds_that_nothing_protects_are_found_at_no_delta():
    made = session(pl.DataFrame(VISITS), delta_budget=1)
    release = made.discover(by="place", epsilon=EXACT, max_groups=2, delta="1e-6")
    assert found(release, "place") == {("a",): 3, ("b",): 1, ("c",): 1}
    assert set(made.account.delta_remaining.values()) == {1}
    made.discover(by="place", epsilon=1, max_groups=2, counted=["open", "sensitive"], delta="1e-6")
    assert set(made.account.delta_remaining.values()) == {1 - Fraction(1, 10**6)}


def lost_beyond(steps, other, *, epsilon):
    """The δ at which an n-gram question of one or two n-grams a unit tells two tables apart."""
    policy = od.policy.unbounded()
    asked = od.Ngrams(by="place", order="hour", n=2, epsilon=3, delta="1/10", max_groups=2)
    here, there = (
        od.verify.law(asked, pl.DataFrame(one), policy, unit="person", delta_budget=1)
        for one in (steps, other)
    )
    told = ((key, chance) for key, (_, chance) in here.chances.items())
    over = (chance - math.exp(epsilon) * there.chances.get(k, (0, 0.0))[1] for k, chance in told)
    return sum(max(one, 0.0) for one in over)


@pytest.mark.parametrize("come", [True, False])
def test_ngrams_of_several_keys_a_unit_keep_their_delta(come):
    """By every answer: a unit with three steps comes or goes; two of its n-grams move."""
    own = {"person": [1, 1, 1], "place": ["a", "b", "c"], "hour": [1, 2, 3]}
    more = {"person": [1, 1, 1, 2, 2], "place": [*"abc", *"ab"], "hour": [1, 2, 3, 1, 2]}
    less = {"person": [2, 2], "place": ["a", "b"], "hour": [1, 2]}
    empty = {name: [held[0]] for name, held in own.items()}  # one step is no n-gram
    for one, other in ((more, less), (own, empty)):
        pair = (other, one) if come else (one, other)
        assert lost_beyond(*pair, epsilon=3) <= 0.1 + 1e-6
    assert lost_beyond(own, empty, epsilon=3) > 0.09  # no price of one n-gram is enough


DROPPED = {
    "presence": od.policy.presence(max_groups=2),
    "sensitive_presence": od.policy.sensitive_presence("minor", max_groups=2),
    "attributes": od.policy.attributes({"place": ["a"]}),
    "graph": od.policy.graph([("a", "b")]),
    "view": od.policy.view("minor", over="home", members=3),
}


@pytest.mark.parametrize("name", DROPPED)
def test_ngrams_of_units_that_stay_with_other_steps_have_no_delta(name):
    visits = pl.DataFrame(VISITS).with_columns(home="person")
    made = session(visits, DROPPED[name], delta_budget=1)
    more = {"by": "place", "order": "hour", "n": 2, "epsilon": 1, "max_groups": 2}
    with pytest.raises(errors.UnprotectableError, match="may stay and have other steps"):
        made.ngrams(**more, delta="1e-6")
    assert not any(made.spent.values())


def test_without_a_budget_of_delta_nothing_is_drawn():
    made = session(pl.DataFrame(VISITS), od.policy.unbounded(), budget=9)
    with pytest.raises(errors.BudgetExceededError, match="δ") as caught:
        made.discover(by="place", epsilon=1, max_groups=1, delta="1e-6")
    assert "delta_budget" in caught.value.hint
    assert not any(made.spent.values())
    with pytest.raises(errors.UnprotectableError, match="give it away") as caught:
        made.ngrams(by="place", order="hour", n=2, epsilon=1, max_groups=1)
    with pytest.raises(errors.UnprotectableError, match="give it away") as caught:
        made.discover(by="place", epsilon=1, max_groups=1)
    assert "delta=" in caught.value.hint


def test_counting_protected_kinds_is_refused():
    with pytest.raises(errors.UnprotectableError, match="sensitive -> sensitive"):
        session(pl.DataFrame(VISITS)).discover(
            by="place", epsilon=1, max_groups=2, counted=["open", "sensitive"]
        )


def test_removal_only_counts_everybody():
    made = session(pl.DataFrame(VISITS), od.policy.removal_only())
    release = made.discover(by="place", epsilon=EXACT, max_groups=2)
    assert found(release, "place") == {("a",): 3, ("b",): 2, ("c",): 1, ("x",): 1}


@pytest.mark.parametrize(
    ("question", "error"),
    [
        ({"by": "nope"}, errors.UnknownColumnError),
        ({"by": ()}, errors.ParameterError),
        ({"by": "person"}, errors.ParameterError),
        ({"by": ["place", "place"]}, errors.ParameterError),
        ({"max_groups": None}, errors.ParameterError),
        ({"max_groups": 0}, errors.ParameterError),
        ({"max_groups": "1/2"}, errors.ParameterError),
        ({"threshold": -1}, errors.ParameterError),
        ({"epsilon": 0}, errors.ParameterError),
        ({"epsilon": math.nan}, errors.ParameterError),
        ({"epsilon": math.inf}, errors.ParameterError),
        ({"epsilon": True}, errors.ParameterError),
        ({"counted": "nobody"}, errors.ParameterError),
        ({"counted": []}, errors.ParameterError),
        ({"where": "hour > avg(hour)"}, errors.PolicyError),
        ({"by": "weight"}, errors.KeysError),
        ({"by": "moment"}, errors.KeysError),
    ],
)
def test_questions_that_cannot_be_meant(question, error):
    data = pl.DataFrame(VISITS).with_columns(
        weight=pl.lit(1.5), moment=pl.lit(dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    )
    made = session(data)
    with pytest.raises(error):
        made.ask(Discover(**{"by": "place", "epsilon": 1, "max_groups": 2, **question}))
    assert not any(made.spent.values())


def test_max_groups_has_no_meaning_for_rows():
    with pytest.raises(errors.ParameterError, match="no meaning"):
        session(pl.DataFrame(VISITS), unit=None).discover(by="place", epsilon=1, max_groups=2)


def test_null_units_are_refused_and_empty_tables_have_no_keys(engine):
    rows = engine({"person": [1, None], "place": ["a", "b"], "minor": [False, False]})
    with pytest.raises(errors.DataError, match=r"no value|'person' holds Float64"):
        session(rows)
    hidden = session(engine({"person": [1, 2], "place": ["a", "b"], "minor": [True, True]}))
    release = hidden.discover(by="place", epsilon=1, max_groups=1, id="e")
    assert read(release.frame)["place"] == []
    again = hidden.discover(by="place", epsilon=1, max_groups=1, id="e", again=True)
    assert read(again.frame)["place"] == []


def test_bytes_that_are_no_text_are_unknown_and_in_no_group():
    broken = pa.array([b"\xff", b"a"], type=pa.binary()).view(pa.string())
    rows = {"person": [1, 2], "place": broken, "minor": [False, False]}
    release = session(pa.table(rows)).discover(by="place", epsilon=100, max_groups=1)
    assert read(release.frame)["place"] == ["a"]


def test_over_budget_nothing_is_drawn():
    made = session(pl.DataFrame(VISITS), budget=1)
    with pytest.raises(errors.BudgetExceededError):
        made.discover(by="place", epsilon=2, max_groups=1)
    assert not any(made.spent.values())


# The session itself, on every noise path of every small table.

WORLD = Universe(
    values=(Record("sensitive", frozenset("a")), Record("open", frozenset("ab"))), ordered=True
)


@pytest.mark.heavy
@pytest.mark.parametrize("most", [1, 2])
def test_the_session_keeps_its_promise_exactly(most):
    policy = od.policy.sensitive("private")

    def program(data, noise):
        rows = [(u, g, r.kind == "sensitive") for u, r in enumerate(data) for g in sorted(r.value)]
        schema = {"person": pl.Int64, "place": pl.String, "private": pl.Boolean}
        table = pl.DataFrame(rows, schema=schema, orient="row")
        made = od.Session(table, unit="person", policy=policy, budget=4, noise=noise)
        told = made.discover(by="place", epsilon=4, max_groups=most).frame
        return tuple(zip(told["place"], told["lower"], strict=True))

    report = od.verify.exact(program, policy, WORLD, tail=1e-5, sealed=False)
    losses = {edge.name: finding.loss for edge, finding in report.findings.items()}
    assert losses["sensitive -> open"] == pytest.approx(4, abs=1e-3)


def test_counts_agree_with_the_mechanism_alone():
    noise = NotPrivateSeededNoise
    data = pl.DataFrame({"person": range(600), "place": [i % 3 for i in range(600)]})
    data = data.with_columns(minor=pl.lit(value=False))
    release = session(data, noise=noise(2)).discover(by="place", epsilon="1/2", max_groups=1)
    told = od.mechanism.UnknownKeys("1/2").release([200] * 3, noise=noise(2))
    assert sorted(release.lower.tolist()) == sorted(told.tolist())
    assert np.all(release.lower <= 200)


@pytest.mark.parametrize("by_option", [True, False])
def test_a_query_finds_its_groups_where_it_says_so(by_option):
    made = session(pl.DataFrame(VISITS), od.policy.unbounded(), delta_budget="1e-5")
    options = "epsilon=1, delta=1e-6, group_selection_strategy=LAPLACE_THRESHOLD"
    head = f"WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) " if by_option else ""
    more = {} if by_option else {"epsilon": 1, "delta": Fraction("1e-6")}
    text = f"SELECT {head}place, COUNT(DISTINCT person) FROM v WHERE hour < 3 GROUP BY place"
    asked = made.question(text, max_groups=2, **more)
    share = Fraction("1e-6")
    assert asked == Discover(by="place", epsilon=1, delta=share, max_groups=2, where="hour < 3")
    plain = made.question(text.replace(head, ""), epsilon=1, max_groups=2, keys=["a"])
    assert type(plain) is od.Count
