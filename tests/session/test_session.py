import datetime as dt
import json
import math
from dataclasses import replace
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.covering import drawn

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise
from onesided.session._context import QueryContext

DATA = pl.DataFrame({"person": [1, 1, 2, 3], "place": ["a", "b", "a", "a"]})
ASK = {"by": "place", "keys": ["a", "b"], "max_groups": 2}
EDGE = "record -> absent"


def session(data=DATA, **more):
    given = {"unit": "person", "policy": od.policy.addition_only(), "budget": 1, **more}
    return od.Session(data, **given)


class Recorder:
    """A noise that notes whether anything was drawn."""

    def __init__(self):
        self.drawn = 0

    def two_sided(self, upper, lower, size):
        self.drawn += 1
        return NotPrivateSeededNoise(0).two_sided(upper, lower, size)


def test_ten_tenths_fill_a_budget_of_one_exactly():
    asked = session()
    for _ in range(10):
        asked.count(**ASK, epsilon="0.1")
    assert asked.remaining == {EDGE: 0}
    with pytest.raises(errors.BudgetExceededError):
        asked.count(**ASK, epsilon="0.0000001")


def test_over_budget_nothing_is_drawn_and_nothing_recorded():
    noise = Recorder()
    asked = session(noise=noise)
    asked.count(**ASK, epsilon="4/5")
    before = asked.ledger.head(), noise.drawn
    with pytest.raises(errors.BudgetExceededError, match="1/5") as caught:
        asked.count(**ASK, epsilon="1/2")
    assert "ask for at most 1/5" in caught.value.hint
    assert (asked.ledger.head(), noise.drawn) == before


def test_charges_are_per_edge_and_weights_count():
    policy = od.policy.custom(
        kinds=["strict", "relaxed", "absent"],
        edges=[("strict", "absent", "1/2"), ("relaxed", "absent", 2)],
        rules=[("strict", "person = 1")],
        default="relaxed",
    )
    asked = session(policy=policy, budget=2)
    plan = asked.plan(od.Count(**ASK, epsilon=1))
    assert asked.remaining == {"strict -> absent": 1, "relaxed -> absent": 4}
    assert plan.charge == {"strict -> absent": Fraction(1, 2), "relaxed -> absent": Fraction(1, 2)}
    only_relaxed = asked.plan(od.Count(**ASK, epsilon=1, counted="relaxed"))
    assert only_relaxed.charge == {"strict -> absent": 0, "relaxed -> absent": 2}


def test_a_plan_looks_at_nothing_and_spends_nothing():
    noise = Recorder()
    asked = session(noise=noise)
    plan = asked.plan(od.Count(**ASK, epsilon="1/2"))
    assert plan.charge == {EDGE: Fraction(1, 2)}
    assert plan.affordable
    assert plan.certain == ("upper",)
    assert plan.standard_deviation == pytest.approx(1 / (2 * math.sinh(0.125)), rel=1e-9)
    assert "upper" in str(plan)
    assert not asked.plan(od.Count(**ASK, epsilon=2)).affordable
    assert asked.spent == {EDGE: 0}
    assert noise.drawn == 0


def test_the_charge_is_on_record_when_noise_is_drawn():
    class Watch(Recorder):
        def two_sided(self, upper, lower, size):
            seen.append(asked.spent[EDGE])
            return super().two_sided(upper, lower, size)

    seen = []
    asked = session(noise=Watch())
    asked.count(**ASK, epsilon="1/2")
    assert seen == [Fraction(1, 2)]


def test_the_same_id_is_answered_once_and_re_read_after(tmp_path):
    asked = session(ledger=tmp_path / "l.db")
    first = asked.count(**ASK, epsilon="1/2", id="monday")
    with pytest.raises(errors.ReleaseExistsError, match="already has an answer") as refused:
        session(ledger=tmp_path / "l.db").count(**ASK, epsilon="1/2", id="monday")
    assert refused.value.values["number"] == first.entry
    again = session(ledger=tmp_path / "l.db").count(
        **ASK, epsilon=Fraction(1, 2), id="monday", again=True
    )
    assert again.columns() == first.columns()
    assert (again.entry, again.guarantee) == (first.entry, first.guarantee)
    assert (first.told_again, again.told_again) == (False, True)
    assert str(again).startswith("Told again: drawn on 2")
    assert "the data were not read" in repr(again)
    assert session(ledger=tmp_path / "l.db").spent == {EDGE: Fraction(1, 2)}
    with pytest.raises(errors.ReleaseExistsError, match="another question"):
        asked.count(by="place", keys=["a"], max_groups=2, epsilon="1/2", id="monday", again=True)
    with pytest.raises(errors.ReleaseExistsError, match="another question"):
        asked.count(**ASK, epsilon="1/4", id="monday")
    with pytest.raises(errors.ReleaseExistsError, match="another question"):
        asked.count(**ASK, epsilon="1/2", id="monday", where="person > 1")


def test_a_crash_between_charge_and_answer_loses_the_answer_not_the_charge(tmp_path):
    class Dies:
        def two_sided(self, *_):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        session(ledger=tmp_path / "l.db", noise=Dies()).count(**ASK, epsilon="1/2", id="x")
    after = session(ledger=tmp_path / "l.db")
    assert after.spent == {EDGE: Fraction(1, 2)}
    with pytest.raises(errors.LedgerError, match="spent"):
        after.count(**ASK, epsilon="1/2", id="x", again=True)


def test_another_policy_or_budget_on_the_same_ledger_is_refused(tmp_path):
    session(ledger=tmp_path / "l.db").count(**ASK, epsilon="1/2")
    with pytest.raises(errors.PolicyMismatchError, match="bounded"):
        session(ledger=tmp_path / "l.db", policy=od.policy.bounded())
    with pytest.raises(errors.PolicyMismatchError):
        session(ledger=tmp_path / "l.db", budget=2)


def test_at_most_is_never_wrong():
    for release in drawn(session(), od.Count(**ASK, epsilon=5), 60, NotPrivateSeededNoise(1)):
        assert "a" not in release.at_most(2)
        assert set(release.at_most(10**6)) == {"a", "b"}


def test_the_guarantee_speaks():
    release = session().count(**ASK, epsilon="1/2")
    assert release.guarantee.promise == (
        "Under the policy 'addition_only' -- record -> absent: ε = 1/2 (pure, δ = 0). About "
        "bounded data: whoever is in more than 2 groups is counted in 2."
    )
    assert "2 groups" in str(release)
    json.dumps(release.guarantee.as_dict())


BAD_KEYS = {
    "none": (None, "public keys"),
    "empty": ([], "empty"),
    "null": (["a", None], "null"),
    "nan": ([1.0, math.nan], "null"),
    "twice": (["a", "b", "a"], "given twice"),
    "text": ("ab", "list, series or table"),
    "wrong type": ([1, 2], "could never match"),
    "bool": ([True], "could never match"),
    "too many parts": ([("a", "b")], "parts"),
    "frame without the column": (pl.DataFrame({"x": ["a"]}), "no column 'place'"),
    "not iterable": (3, "list, series or table"),
}


@pytest.mark.parametrize(("keys", "says"), BAD_KEYS.values(), ids=BAD_KEYS)
def test_bad_keys_are_refused(keys, says):
    asked = session()
    with pytest.raises(errors.DataError, match=says) as caught:
        asked.count(by="place", keys=keys, epsilon=1, max_groups=2)
    assert caught.value.hint
    assert asked.spent == {EDGE: 0}


@pytest.mark.parametrize(
    "keys",
    [
        ["a", "b"],
        ("a", "b"),
        np.array(["a", "b"]),
        pl.Series(["a", "b"]),
        pd.Series(["a", "b"]),
        pl.DataFrame({"place": ["a", "b"], "more": [1, 2]}),
        pl.LazyFrame({"place": ["a", "b"]}),
        pd.DataFrame({"place": ["a", "b"]}),
        {"place": ["a", "b"]},
        (k for k in "ab"),
        [("a",), ("b",)],
    ],
    ids=lambda k: type(k).__module__ + "." + type(k).__name__,
)
def test_keys_come_in_many_forms(keys):
    release = session(budget=1000).count(by="place", keys=keys, epsilon=100, max_groups=2)
    assert release.frame["estimate"].to_list() == [3, 1]


def test_keys_that_can_never_match_are_refused_where_only_values_tell():
    days = pd.Series([dt.date(2024, 1, 1)], dtype="date32[pyarrow]")
    data = pd.DataFrame({"person": [1], "place": days})
    with pytest.raises(errors.KeysError, match="could never match"):
        session(data, policy=od.policy.presence(max_groups=1)).count(
            by="place", keys=["2024-01-01"], epsilon=1
        )


def test_a_naive_time_is_not_a_time_with_a_zone():
    moment = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    data = pl.DataFrame({"person": [1], "place": [moment]})
    with pytest.raises(errors.KeysError, match="could never match"):
        session(data).count(by="place", keys=[moment.replace(tzinfo=None)], epsilon=1, max_groups=1)


BAD_QUESTIONS = {
    "no bound": ({"max_groups": None}, errors.ParameterError, "How many groups"),
    "zero bound": ({"max_groups": 0}, errors.ParameterError, "max_groups"),
    "epsilon": ({"epsilon": "nan"}, errors.ParameterError, "epsilon"),
    "confidence": ({"confidence": 2}, errors.ParameterError, "confidence"),
    "confidence nan": ({"confidence": math.nan}, errors.ParameterError, "confidence"),
    "kind": ({"counted": "open"}, errors.ParameterError, "told apart"),
    "no kinds": ({"counted": []}, errors.ParameterError, "told apart"),
    "absent": ({"counted": "absent"}, errors.ParameterError, "told apart"),
    "excess": ({"on_excess": "keep"}, errors.ParameterError, "on_excess"),
    "by the unit": ({"by": "person"}, errors.ParameterError, "one person"),
    "by twice": ({"by": ["place", "place"]}, errors.ParameterError, "repeated"),
    "correction": ({"correction": "mode"}, errors.ParameterError, "correction"),
    "where": ({"where": "  "}, errors.PolicyError, "empty"),
    "where type": ({"where": 3}, errors.PolicyError, "is a text"),
}


@pytest.mark.parametrize(("change", "kind", "says"), BAD_QUESTIONS.values(), ids=BAD_QUESTIONS)
def test_bad_questions_are_refused_and_cost_nothing(change, kind, says):
    asked = session()
    with pytest.raises(kind, match=says) as caught:
        asked.count(**{**ASK, "epsilon": 1, **change})
    assert caught.value.hint
    assert asked.spent == {EDGE: 0}


@pytest.mark.parametrize("budget", [0, -1, "nan", math.inf, "abc", None])
def test_bad_budgets_are_refused(budget):
    with pytest.raises(errors.ParameterError):
        session(budget=budget)


def test_what_is_no_table_or_no_policy_is_refused():
    with pytest.raises(errors.DataError, match="list"):
        session([1, 2])
    with pytest.raises(errors.PolicyError, match="Policy"):
        session(policy="presence")


def test_presence_brings_its_own_bound():
    asked = session(policy=od.policy.presence(max_groups=2))
    with pytest.raises(errors.ParameterError, match="covers 2"):
        asked.count(by="place", keys=["a"], epsilon=1, max_groups=3)
    with pytest.raises(errors.ParameterError, match="no meaning"):
        asked.count(epsilon=1, max_groups=3)
    plan = asked.plan(od.Count(by="place", keys=["a", "b", "c"], epsilon=1))
    assert plan.mechanism.upper_rate == Fraction(1, 2)
    # Of one group it lowers no more than one count.
    assert asked.plan(od.Count(by="place", keys=["a"], epsilon=1)).mechanism.upper_rate == 1
    # A unit is in one total, so a total needs only the noise for one group.
    assert asked.plan(od.Count(epsilon=1)).mechanism.upper_rate == 1


def test_names_of_result_columns_are_taken():
    data = pl.DataFrame({"person": [1], "upper": ["a"]})
    with pytest.raises(errors.ParameterError, match="result column"):
        session(data).count(by="upper", keys=["a"], epsilon=1, max_groups=1)


def test_what_nobody_needs_hidden_is_told_exactly_and_costs_nothing():
    policy = od.policy.custom(
        kinds=["secret", "free"],
        edges=[("secret", "secret")],
        rules=[("secret", "person = 1")],
        default="free",
    )
    asked = session(policy=policy)
    release = asked.count(**ASK, epsilon=1, counted="free")
    assert release.frame["upper"].to_list() == release.frame["lower"].to_list() == [2, 0]
    assert release.interval.lower_certain
    assert release.interval.upper_certain
    assert asked.ledger.entries(kind="spend")[-1].number == release.entry
    assert asked.spent == {"secret -> secret": 0}


def test_an_account_holds_losses_of_one_unit_only(tmp_path):
    session(ledger=tmp_path / "l.db").count(**ASK, epsilon="1/2")
    with pytest.raises(errors.PolicyMismatchError, match="each row"):
        session(ledger=tmp_path / "l.db", unit=None)
    with pytest.raises(errors.PolicyMismatchError, match="person"):
        session(ledger=tmp_path / "l.db", unit="place")


def test_a_further_policy_has_to_be_asked_for(tmp_path):
    session(ledger=tmp_path / "l.db").count(**ASK, epsilon="1/2")
    other = od.policy.presence(max_groups=1)
    with pytest.raises(errors.PolicyMismatchError, match="further"):
        session(ledger=tmp_path / "l.db", policy=other)
    further = session(ledger=tmp_path / "l.db", policy=other, further=True)
    further.count(by="place", keys=["a"], epsilon="1/2")
    assert further.spent == {"present -> not present": Fraction(1, 2)}


class Changing:
    """A table whose rows change between a charge and its answer."""

    def __init__(self):
        self.connection = duckdb.connect()
        self.connection.execute("CREATE TABLE t (person VARCHAR, place VARCHAR, x VARCHAR)")
        self.insert("('1', 'a', '1'), ('2', 'b', '2')")

    def insert(self, rows):
        self.connection.execute(f"INSERT INTO t VALUES {rows}")

    def session(self, *, rows=None, **more):
        schema = od.Schema(unit="person", columns={"x": od.column("integer")})
        given = {"policy": od.policy.addition_only(), "budget": 99, **more}
        table = self.connection.table("t")
        return od.Session(table if rows is None else table.limit(rows), schema=schema, **given)


UNFIT = ["('', 'a', '3')", "(NULL, 'a', '3')", "('3', 'a', 'no number')"]


@pytest.mark.parametrize("rows", UNFIT)
def test_rows_that_change_are_checked_before_a_charge_and_not_after(rows):
    table = Changing()
    asked = table.session()
    grid = {"bounds": (0, 9), "missing": "drop"}
    question = od.session.Sum("x", of="rows", max_rows=1, epsilon=40, id="monday", **grid)
    asked.charge(question)
    table.insert(rows)
    assert asked.answer(question).estimate.round() == 3
    assert asked.answer(question).told_again
    assert not asked._held
    with pytest.raises(errors.DataError, match=r"unit column|cannot be read"):
        asked.charge(replace(question, id="tuesday"))
    assert asked.spent == {EDGE: 40}


@pytest.mark.parametrize("rows", [*UNFIT, "('4', 'b', '5')"])
def test_what_is_stored_is_told_again_whatever_became_of_the_table(rows, monkeypatch):
    table = Changing()
    asked = table.session()
    grid = {"bounds": (0, 9), "missing": "drop"}
    question = od.session.Sum("x", of="rows", max_rows=1, epsilon=40, id="monday", **grid)
    first = asked.ask(question)
    table.insert(rows)
    if rows in UNFIT:
        with pytest.raises(errors.DataError, match=r"unit column|cannot be read"):
            table.session(ledger=asked.ledger)
    # A table that no longer opens is told of over its columns without rows.
    later = table.session(ledger=asked.ledger, rows=0)

    def read(*_, **__):
        raise AssertionError("the data are not read")

    monkeypatch.setattr(QueryContext, "source", read)
    for one in (asked, later):
        again, answer = one.ask(replace(question, again=True)), one.answer(question)
        assert again.told_again
        assert answer.told_again
        assert again.value == answer.value == first.value
    assert asked.spent == {EDGE: 40}


def test_a_charge_for_another_session_looks_at_no_rows():
    table = Changing()
    front = table.session()
    back = table.session(ledger=front.ledger)
    table.insert(UNFIT[0])
    question = od.Count(epsilon=40, id="monday")
    front.charge(question, elsewhere=True)
    with pytest.raises(errors.DataError, match="The charge stands"):
        back.answer(question)
