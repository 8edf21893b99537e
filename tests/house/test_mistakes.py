"""What people get wrong first: each mistake is answered with its reason and the next step."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import onesided as od
from onesided.errors import (
    BudgetExceededError,
    DataError,
    OnesidedError,
    ParameterError,
    PolicyError,
    UnprotectableError,
    first_line,
)

PRESENCE = od.policy.presence(max_groups=1)
OSDP = od.policy.sensitive("age < 18")


@pytest.mark.parametrize(
    ("mistake", "kind", "says"),
    [
        (lambda: od.mechanism.Counts(1, 1).release([[1], [2, 3]]), DataError, "differ in length"),
        (
            lambda: od.mechanism.Dawa(learn_rate=1, upper_rate=1, lower_rate=1).release(
                [[1], [2, 3]]
            ),
            DataError,
            "differ in length",
        ),
        (lambda: od.linear.Dense([[1, 0], [1]]), DataError, "differ in length"),
        (lambda: od.mechanism.zeros("dawa"), ParameterError, "got 'dawa'"),
        (lambda: od.mechanism.zeros(od.mechanism.Counts), ParameterError, "two phases"),
        (
            lambda: od.mechanism.zeros(od.mechanism.Ahp).for_policy(OSDP, epsilon=1, keys=3),
            ParameterError,
            "Ahp.fit: got an unexpected keyword argument 'keys'",
        ),
        (
            lambda: od.mechanism.zeros(od.mechanism.Dawa).for_policy(OSDP, epsilon=1, query="all"),
            ParameterError,
            "got 'all'",
        ),
        (
            lambda: od.mechanism.zeros(od.mechanism.AGrid).for_policy(OSDP, epsilon=1),
            ParameterError,
            "'records'",
        ),
        (lambda: od.policy.tiers("strict"), PolicyError, "got 'strict'"),
        (lambda: od.policy.attributes("diagnosis"), PolicyError, "got 'diagnosis'"),
        (lambda: od.policy.local(["yes"]), PolicyError, "at least two letters"),
        (lambda: od.policy.neighbourhood(radius=1, sources=[0]), PolicyError, "got 0"),
        (lambda: od.policy.presence(max_groups="x"), ParameterError, "whole number from 1 to 2^62"),
        (lambda: od.policy.from_toml(Path("policy.toml")), PolicyError, "must be text"),
        (
            lambda: od.mechanism.Counts.for_policy(PRESENCE, epsilon="1e-300"),
            ParameterError,
            "rate 1e-300, outside",
        ),
        (
            lambda: od.mechanism.TopK.for_policy(PRESENCE, k=1, epsilon=1e300),
            ParameterError,
            "rate 1.00e+300, outside",
        ),
        (
            lambda: od.risk(od.mechanism.Counts(1, 1), PRESENCE, proposition="a"),
            ParameterError,
            "got 'a'",
        ),
        (
            lambda: od.verify.exact(od.mechanism.Counts(1, 1), "presence"),
            PolicyError,
            "got 'presence'",
        ),
        (lambda: od.verify.audit(od.mechanism.Counts(1, 1), ([1],)), ParameterError, "two inputs"),
    ],
)
def test_a_mistake_is_answered_with_its_value_and_a_hint(mistake, kind, says):
    with pytest.raises(kind) as caught:
        mistake()
    assert says in caught.value.reason
    assert caught.value.hint


@pytest.mark.parametrize("made", ["TruncatedCounts", "Staircase"])
def test_what_is_offered_instead_answers_the_same_question(made):
    more = {"delta": "1e-6"} if made == "TruncatedCounts" else {"largest": 3}
    with pytest.raises(PolicyError) as caught:
        getattr(od.mechanism, made).for_policy(od.policy.bounded(), epsilon=1, **more)
    assert "Gap" not in caught.value.hint
    assert {"TruncatedCounts": "Counts", "Staircase": "ALap"}[made] in caught.value.hint


def test_a_path_in_place_of_a_policys_text_is_told_how_to_read_it():
    with pytest.raises(PolicyError) as caught:
        od.policy.from_toml("policy.toml")
    assert "read_text()" in caught.value.hint


def test_the_first_line_of_an_error_without_words_is_its_class():
    assert first_line(ValueError(" ")) == "ValueError"
    assert first_line(ValueError("no such column\n\nRESOLVED PLAN ...")) == "no such column"


def test_an_audit_needs_no_main_guard():
    script = "import onesided as od\n"
    script += "sampler = od.verify.EachCount(od.mechanism.Counts(1, od.INFINITE))\n"
    script += "print(od.verify.audit(sampler, (1, 0), sampler=True, samples=10_000))"
    pytest.importorskip("scipy")
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "loss >= " in done.stdout


def test_other_processes_that_cannot_start_say_why(tmp_path):
    """A script without a main guard would start processes that start processes."""
    script = tmp_path / "careless.py"
    script.write_text(
        "import onesided as od\n"
        "try:\n"
        "    od.verify.exact(od.mechanism.Counts(1, 1), od.policy.unbounded(), processes=2)\n"
        "except od.errors.ParameterError as error:\n"
        "    print(error.hint)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert "__main__" in done.stdout


class TestSessions:
    frame = pytest.importorskip("polars").DataFrame({"person": [1, 2], "place": ["a", "b"]})

    def session(self, policy=PRESENCE):
        return od.Session(self.frame, unit="person", policy=policy, budget=1)

    @pytest.mark.parametrize("given", ["count", od.Count, None])
    def test_a_plan_is_of_a_question(self, given):
        with pytest.raises(ParameterError, match="question was expected") as caught:
            self.session().plan(given)
        assert "Count(" in caught.value.hint

    def test_a_bound_of_no_groups_is_refused_as_what_it_is(self):
        policy = od.policy.addition_only()
        with pytest.raises(ParameterError, match="got 0"):
            self.session(policy).count(by="place", keys=["a"], max_groups=0, epsilon=1)

    @pytest.mark.parametrize("given", [3, {"place": 1}.values()])
    def test_columns_are_names(self, given):
        with pytest.raises(ParameterError, match="by must be a name"):
            self.session().count(by=given, keys=["a"], epsilon=1)
        with pytest.raises(ParameterError, match="counted must be a name"):
            self.session().count(counted=3, epsilon=1)

    @pytest.mark.parametrize(
        ("ask", "says"),
        [
            (lambda s: s.above(5, by="place", keys=["a"], epsilon=1), "'max_answers'"),
            (lambda s: s.at_most(5, by="place", keys=["a"]), "'epsilon'"),
            (lambda s: s.count(by="place", key=["a"], epsilon=1), "'key'"),
            (lambda s: s.sum("person", of="units", total_bounds=(0, 1)), "'epsilon'"),
            (lambda s: s.quantile(epsilon=1), "'column'"),
        ],
    )
    def test_an_argument_that_is_missing_or_unknown_is_named_with_those_there_are(self, ask, says):
        asked = self.session()
        with pytest.raises(ParameterError, match=says) as caught:
            ask(asked)
        assert "It needs" in caught.value.hint
        assert "by, keys" in caught.value.hint
        assert not asked.spent["present -> not present"]

    @pytest.mark.parametrize(
        ("ask", "says"),
        [
            (lambda s: s.sum("person", of="units", epsilon=1), "Within which bounds"),
            (lambda s: s.median("person", epsilon=1), "Which candidates"),
            (lambda s: s.histogram("person", epsilon=1), "Which bins"),
        ],
    )
    def test_what_neither_question_nor_schema_says_is_asked_for(self, ask, says):
        with pytest.raises(ParameterError, match=says) as caught:
            ask(self.session())
        assert "Pass " in caught.value.hint

    def test_who_names_a_bound_per_person_and_no_person_is_told(self):
        two = od.policy.presence(max_groups=2)
        asked = {"by": "place", "keys": ["a"], "epsilon": 1}
        rows = od.Session(self.frame, policy=two, budget=1).count(**asked)
        assert "give the session unit=" in str(rows.guarantee)
        assert "unit=" not in str(self.session(two).count(**asked).guarantee)
        single = od.Session(self.frame, policy=PRESENCE, budget=1).count(**asked)
        assert "unit=" not in str(single.guarantee)

    def test_bins_of_no_groups_are_refused_too(self):
        asked = self.session(od.policy.addition_only())
        with pytest.raises(ParameterError, match="got 0"):
            asked.histogram("person", bins=2, bounds=(0, 2), max_groups=0, epsilon=1)

    @pytest.mark.parametrize("rule", ["agee < 18", "place <", "place"])
    def test_a_policy_that_the_table_cannot_answer_is_refused_before_its_account_is_opened(
        self, rule, tmp_path
    ):
        path = tmp_path / "ledger.db"
        with pytest.raises(OnesidedError, match=r"no column|cannot be read|not true or false"):
            od.Session(
                self.frame, unit="person", policy=od.policy.sensitive(rule), budget=1, ledger=path
            )
        assert not path.exists()

    def test_a_column_that_was_meant_as_text_is_told_of_quotes(self):
        with pytest.raises(DataError) as caught:
            self.session().count(by="place", keys=["a"], epsilon=1, where='place = "a"')
        assert "'single quotes'" in caught.value.hint
        with pytest.raises(DataError) as caught:
            self.session().count(by="place", keys=["a"], epsilon=1, where="place = a")
        assert "quotes" not in caught.value.hint

    def test_a_float_that_does_not_fit_is_told_why(self):
        asked = self.session()
        for _ in range(9):
            asked.count(by="place", keys=["a"], epsilon=0.1)
        with pytest.raises(BudgetExceededError) as caught:
            asked.count(by="place", keys=["a"], epsilon=0.1)
        assert "about 0.1 (exactly" in caught.value.reason
        assert 'write "0.1"' in caught.value.hint
        assert "about 0.1 (exactly" in str(
            asked.plan(od.Count(by="place", keys=["a"], epsilon=0.1))
        )
        with pytest.raises(BudgetExceededError) as caught:
            asked.count(by="place", keys=["a"], epsilon="1/2")
        assert "float" not in caught.value.hint

    @pytest.mark.parametrize("unit", [None, "person"])
    def test_an_answer_says_where_it_does_not_protect_people(self, unit):
        asked = od.Session(self.frame, unit=unit, policy=PRESENCE, budget=1)
        told = str(asked.count(by="place", keys=["a"], epsilon=1).guarantee)
        assert ("Each row is protected on its own" in told) == (unit is None)

    def test_a_policy_under_which_nothing_can_be_found_is_refused_as_that(self):
        with pytest.raises(UnprotectableError):
            self.session().discover(by="place", epsilon=1)
        with pytest.raises(ParameterError, match="How many groups"):
            self.session(od.policy.removal_only()).discover(by="place", epsilon=1)

    def test_an_engines_words_are_cut_to_their_first_line(self):
        with pytest.raises(DataError) as caught:
            self.session().count(by="place", keys=["a"], epsilon=1, where="town = 'x'")
        assert "town" in caught.value.reason
        assert "\n" not in caught.value.reason

    def test_without_a_budget_of_delta_the_next_step_is_one(self):
        with pytest.raises(OnesidedError) as caught:
            self.session().enclose(by="place", keys=["a"], epsilon=1, delta="1e-3")
        assert "delta_budget=" in caught.value.hint

    def test_a_printed_answer_holds_the_number(self):
        asked = od.Session(
            self.frame.with_columns(age=30), policy=od.policy.addition_only(), budget=9
        )
        median = asked.median("age", candidates=[20, 40], epsilon=1)
        assert f"{median.value:g}" in str(median)
        total = asked.sum("age", of="units", total_bounds=(0, 10**9), epsilon=1)
        assert f"{total.value:,.0f}" in str(total)


def test_whole_numbers_of_any_type_are_accepted():
    assert od.policy.presence(max_groups=np.int64(2)).max_groups == 2
