"""Mechanisms of the user's own: the same checks, a record, a file of cases, and clear errors."""

import importlib
import json
import random
import sys
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import onesided as od
from onesided import errors, policy, verify
from onesided.cli._app import app
from onesided.mechanism import CheckRecord, Counts
from onesided.mechanism.kit import source_of
from onesided.policy import GroupCount, Record
from onesided.verify import Case, Universe

ONE = Universe(groups=("a",), units=2)
ADDED = policy.addition_only()


@dataclass(frozen=True)
class Doubled:
    """Twice each count, and noise above."""

    rate: Fraction

    def release(self, counts, *, noise):
        return 2 * counts + noise.geometric(self.rate, counts.size)

    def loss(self, shift):
        return self.rate * 2 * shift.fall + od.INFINITE * shift.rise


class Silent(Doubled):
    """The same, without a word on its loss."""

    loss = None


def plain(data, noise):
    return sum(record.kind == "record" for record in data) + int(noise.geometric(1, 1)[0])


@pytest.mark.parametrize("mechanism", [Doubled(Fraction(1, 2)), Silent(Fraction(1, 2)), plain])
def test_a_mechanism_of_ones_own_is_checked_as_ours_are(mechanism):
    record = Case(mechanism, ADDED, 1, universe=ONE).run()
    assert record.passed
    assert record.epsilon == 1
    assert record.policy == ADDED.to_toml()
    assert "tight" in record.said
    assert "passed at ε = 1 on every bag of 2 records" in str(record)


@pytest.mark.parametrize("mechanism", [Doubled(Fraction(1)), Silent(Fraction(1)), Counts(2, 2)])
def test_too_little_noise_does_not_pass(mechanism):
    record = Case(mechanism, ADDED, 1, universe=ONE).run()
    assert not record.passed
    assert "did NOT pass" in str(record)
    assert "WRONG" in str(record)


def test_a_control_must_be_rejected_and_its_record_never_passes(tmp_path):
    broken = Case(Silent(Fraction(1)), ADDED, 1, universe=ONE, flaw="half the noise")
    assert broken.verdict().right
    assert "rejected, as it must be" in broken.run().said
    fine = Case(Silent(Fraction(1, 2)), ADDED, 1, universe=ONE, flaw="none, in truth")
    assert not fine.verdict().right
    assert not fine.run().passed
    unseen = Case(Silent(Fraction(1, 2)), ADDED, 1, universe=ONE, flaw="unseen", tail=1e-4)
    assert not unseen.verdict().right, "rejected for the paths left out alone"
    assert "NOT SHOWN" in unseen.run().said


def test_a_file_may_hold_its_own_controls(tmp_path):
    (tmp_path / "with_control.py").write_text(
        "import onesided as od\n"
        "policy = od.policy.addition_only()\n"
        "world = od.verify.Universe(groups=('a',), units=2)\n"
        "def count(data): return sum(record.kind == 'record' for record in data)\n"
        "def loud(data, noise): return count(data) + int(noise.geometric(1, 1)[0])\n"
        "def quiet(data, noise): return count(data) + int(noise.geometric(2, 1)[0])\n"
        "cases = [od.verify.Case(loud, policy, 1, universe=world), "
        "od.verify.Case(quiet, policy, 1, universe=world, flaw='half the noise')]\n"
    )
    done = CliRunner().invoke(app, ["verify", str(tmp_path / "with_control.py")])
    assert done.exit_code == 0, done.output
    assert "half the noise" in done.output
    assert "2 of 2 verdicts are right" in done.output


def test_what_was_not_enumerated_is_no_mistake_of_the_mechanism_and_no_pass():
    """A right mechanism read WRONG where the paths that were cut could hide too much."""
    right = Case(Doubled(Fraction(1, 2)), ADDED, 1, universe=ONE, tail=1e-4).run()
    assert not right.passed
    assert "NOT SHOWN: nothing seen is surely above the claim" in right.said
    assert "WRONG" not in right.said
    wrong = Case(Doubled(Fraction(1)), ADDED, 1, universe=ONE, tail=1e-4).run()
    assert "WRONG" in wrong.said


class Sly(Doubled):
    """Half of what it loses."""

    def loss(self, shift):
        return super().loss(shift) / 2


def test_a_loss_that_understates_does_not_pass():
    assert not Case(Sly(Fraction(1)), ADDED, 1, universe=ONE).run().passed


def test_an_edge_that_is_not_tried_is_no_pass():
    values = tuple(Record("sensitive", frozenset(place)) for place in "ab")
    world = Universe(units=1, values=values)
    secret = policy.sensitive("minor")
    record = Case(Counts.for_policy(secret, epsilon=1), secret, 1, universe=world).run()
    assert not record.passed
    assert "NOT TESTED: sensitive -> open" in record.said


def chancy(_data, _noise):
    return od.noise.SecureNoise().uniform(2, 1)[0]


def without_noise(_data):
    return 0


def test_chance_of_its_own_is_no_pass():
    assert not Case(chancy, ADDED, 1).run().passed


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "word"),
    [
        ((3, ADDED, 1), {}, errors.ParameterError, "neither a mechanism nor a function"),
        ((Doubled, ADDED, 1), {}, errors.ParameterError, "is a class"),
        ((plain, "addition_only", 1), {}, errors.PolicyError, "must be a Policy"),
        ((plain, ADDED, 0), {}, errors.ParameterError, "epsilon"),
        ((plain, ADDED, float("nan")), {}, errors.ParameterError, "epsilon"),
        ((plain, ADDED, 1), {"universe": ("a",)}, errors.ParameterError, "must be a Universe"),
    ],
)
def test_wrong_input_is_refused_with_the_next_step(arguments, options, kind, word):
    with pytest.raises(kind, match=word) as caught:
        Case(*arguments, **options)
    assert caught.value.hint


def test_a_policy_that_it_cannot_keep_is_said_so():
    case = Case(Doubled(Fraction(1, 2)), policy.removal_only(), 1, universe=ONE)
    with pytest.raises(errors.UnprotectableError, match="hides nothing along the move") as caught:
        case.run()
    assert caught.value.hint


def test_a_program_with_other_arguments_and_an_empty_world_do_not_pass():
    assert "cannot be called" in Case(without_noise, ADDED, 1).run().said
    empty = Universe(groups=(), units=1)
    assert (
        not Case(Counts(1, od.INFINITE), policy.presence(max_groups=1), 1, universe=empty)
        .run()
        .passed
    )
    with pytest.raises(errors.ParameterError, match="loss"):
        Case(replace_loss(), ADDED, 1).run()


@pytest.mark.parametrize("loss", [float("nan"), -1, "much", None])
def test_a_loss_that_is_no_number_is_refused(loss):
    class Odd(Doubled):
        def loss(self, _shift):
            return loss

    with pytest.raises(errors.ParameterError) as caught:
        Case(Odd(Fraction(1, 2)), ADDED, 1, universe=ONE).run()
    assert caught.value.hint


def replace_loss():
    class Odd(Doubled):
        def loss(self):
            return 0

    return Odd(Fraction(1))


def test_a_record_speaks_for_its_own_mechanism_only():
    mechanism, query = Doubled(Fraction(1, 2)), GroupCount()
    record = Case(mechanism, ADDED, 1, universe=ONE).run()
    use = {"policy": ADDED, "epsilon": Fraction(1), "query": query}
    assert record.misfit(mechanism, **use) == ""
    assert record.misfit(Doubled(Fraction(1, 2)), **use) == ""
    assert "other parameters" in record.misfit(Doubled(Fraction(1, 3)), **use)
    assert "other parameters" in record.misfit(Silent(Fraction(1, 2)), **use)
    assert "another policy" in record.misfit(mechanism, **{**use, "policy": policy.unbounded()})
    assert "ε = 1" in record.misfit(mechanism, **{**use, "epsilon": Fraction(2)})
    wide = GroupCount(max_groups=2)
    assert "made for" in record.misfit(mechanism, **{**use, "query": wide})
    assert "did not pass" in replace(record, passed=False).misfit(mechanism, **use)


def test_a_record_survives_being_written_and_nothing_else_is_read():
    record = Case(Doubled(Fraction(1, 2)), ADDED, 1, universe=ONE).run()
    assert CheckRecord.from_json(record.to_json()) == record
    for wrong in ("", "[]", "{}", "3", record.to_json().replace(": 1,", ": 2,", 1)):
        with pytest.raises(errors.ParameterError, match="not the record"):
            CheckRecord.from_json(wrong)


OWN_MODULE = """
import math
from dataclasses import dataclass
import numpy as np
RATE = 1
@dataclass(frozen=True)
class Held:
    held: object
    def release(self, counts, *, noise):
        return counts + noise.geometric(RATE, counts.size)
    @dataclass(frozen=True)
    class Inner:
        rate: int
class Derived(Held):
    pass
@dataclass
class Thawed:
    rate: int
class Loose:
    def __init__(self, rate):
        self.rate = rate
def with_default(data, noise, rate=1):
    return rate
def made(rate):
    def inside(data, noise):
        return rate
    return inside
def local(rate):
    @dataclass(frozen=True)
    class Inside:
        rate: int
    return Inside(rate)
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    name = "own_module_of_a_test"
    (tmp_path / f"{name}.py").write_text(OWN_MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    importlib.invalidate_caches()
    yield importlib.import_module(name)
    del sys.modules[name]


@pytest.mark.parametrize(
    "two",
    [
        lambda own: (own.Held(1), own.Held(2)),
        lambda own: (own.Held(held=1), own.Held(held=True)),
        lambda own: (own.Held(1), own.Held("1")),
        lambda own: (own.Held(1j), own.Held(2j)),
        lambda own: (own.Held(Fraction(1, 2)), own.Held(Fraction(1, 3))),
        lambda own: (own.Held(od.INFINITE), own.Held(None)),
        lambda own: (own.Held(date(2020, 1, 1)), own.Held(date(2021, 1, 1))),
        lambda own: (own.Held((1, (2,))), own.Held((1, 2))),
        lambda own: (own.Held([1]), own.Held((1,))),
        lambda own: (own.Held({"a": 1, "b": 2}), own.Held({"b": 2, "a": 1})),
        lambda own: (own.Held(np.array([1, 2])), own.Held(np.array([[1, 2]]))),
        lambda own: (own.Held(np.array([1.0])), own.Held(np.array([1]))),
        lambda own: (own.Held(ADDED), own.Held(policy.unbounded())),
        lambda own: (own.Held(own.Held.Inner(1)), own.Held(own.Held.Inner(2))),
        lambda own: (own.Held(Counts(1, 1)), own.Held(Counts(1, 2))),
        lambda own: (own.Held(1), own.Derived(1)),
        lambda own: (own.with_default, own.Held(own.with_default)),
    ],
)
def test_what_a_mechanism_holds_is_part_of_its_source(own, two):
    one, other = two(own)
    again, _ = two(own)
    assert source_of(one) == source_of(again)
    assert source_of(one) != source_of(other)


@pytest.mark.parametrize(
    ("unfit", "why"),
    [
        (lambda own: own.Loose(1), "no frozen dataclass"),
        (lambda own: own.Thawed(1), "not frozen"),
        (lambda own: own.local(1), "top of a file"),
        (lambda own: own.made(1), "holds more than its text"),
        (lambda _own: lambda _data, _noise: 0, "top of a file"),
        (lambda own: own.Held(own.Loose(1)), "no frozen dataclass"),
        (lambda own: own.Held({1}), "no plain value"),
        (lambda own: own.Held(own.math), "no plain value"),
        (lambda own: own.Held(random.Random(1)), "no plain value"),
        (lambda own: own.Held(np.random.default_rng(1)), "no plain value"),
        (lambda own: own.Held(np.array([object()])), "no plain value"),
        (lambda own: own.Held(iter([1])), "no plain value"),
        (lambda own: own.Held(own.Held), "no plain value"),
        (lambda own: with_more(own.Held(1)), "holds extra, no field"),
    ],
)
def test_what_is_no_frozen_dataclass_of_plain_fields_is_refused(own, unfit, why):
    with pytest.raises(errors.ParameterError, match=why) as caught:
        source_of(unfit(own))
    assert "frozen dataclass" in caught.value.hint


def with_more(mechanism):
    object.__setattr__(mechanism, "extra", 1)
    return mechanism


def test_a_record_is_about_the_file_as_it_was_loaded(own):
    """The file is what is hashed: what was loaded before it changed is another mechanism."""
    mechanism, path = own.Held(1), Path(own.__file__)
    record = Case(mechanism, ADDED, 1, universe=ONE).run()
    use = {"policy": ADDED, "epsilon": Fraction(1), "query": GroupCount()}
    assert record.passed
    assert record.misfit(mechanism, **use) == ""
    path.write_text(OWN_MODULE.replace("geometric(RATE", "geometric(2 * RATE"))
    with pytest.raises(errors.ParameterError, match="not what own_module_of_a_test"):
        record.misfit(mechanism, **use)
    for old, new in (("RATE = ", "RATE = 9 # "), ("return", "return 0 or")):
        assert old in OWN_MODULE
        path.write_text(OWN_MODULE.replace(old, new))
        with pytest.raises(errors.ParameterError, match="not what own_module_of_a_test"):
            record.misfit(mechanism, **use)
    path.write_text(OWN_MODULE + "# a word more\n")
    assert "another source" in record.misfit(mechanism, **use)


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("import own_helper_of_a_test", True),
        ("from own_helper_of_a_test import RATE", True),
        ("from . import helper", True),
        ("import math, json", False),
        ("import numpy.linalg", False),
        ("import polars", False),
        ("from onesided import policy", False),
    ],
)
@pytest.mark.parametrize("late", [False, True])
def test_a_file_that_imports_files_of_its_own_is_refused(
    tmp_path, monkeypatch, line, refused, late
):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    text = f"def made(counts, noise):\n    if len(counts) > 9:\n        {line}\n    return counts\n"
    if not late:
        text = f"import sys\nif sys.maxsize < 9:\n    {line}\n{text}"
    (tmp_path / "own_late_of_a_test.py").write_text(text)
    (tmp_path / "own_helper_of_a_test.py").write_text("RATE = 1\n")
    importlib.invalidate_caches()
    found = importlib.import_module("own_late_of_a_test")
    try:
        if not refused:
            assert source_of(found.made) == source_of(found.made)
            return
        with pytest.raises(errors.ParameterError, match="is in a file that imports"):
            source_of(found.made)
    finally:
        del sys.modules[found.__name__]


def test_values_within_values_without_end_are_refused(own):
    deep = []
    for _ in range(10**5):
        deep = [deep]
    with pytest.raises(errors.ParameterError, match="too many levels"):
        source_of(own.Held(deep))
    while deep:  # or Python itself takes it apart level within level
        deep = deep.pop()


MINE = """
from onesided import INFINITE, policy, verify
from onesided.mechanism import Counts
world = verify.Universe(groups=("a",), units=1)
good = verify.Case(Counts(1, INFINITE), policy.addition_only(), 1, universe=world)
bad = [verify.Case(Counts(2, INFINITE), policy.addition_only(), 1, universe=world, name="half")]
"""


def test_the_cases_of_a_file_are_run_and_written_as_records(tmp_path):
    file = tmp_path / "my_cases.py"
    file.write_text(MINE)
    junit = tmp_path / "out" / "junit.xml"
    done = CliRunner().invoke(
        app,
        ["verify", str(file), "--json", "--junit", str(junit), "--records", str(tmp_path / "r")],
    )
    assert done.exit_code == 1
    lines = json.loads(done.stdout)["lines"]
    assert [line["accepted"] for line in lines] == [True, False]
    assert 'tests="2" failures="1"' in junit.read_text()
    read = [CheckRecord.from_json(p.read_text()) for p in sorted((tmp_path / "r").iterdir())]
    assert [record.passed for record in read] == [True, False]


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("none.py", "x = 1", "holds no"),
        ("fails.py", "1 / 0", "ZeroDivisionError"),
        ("json.py", "", "already loaded"),
        ("cases.txt", "", "not a Python file"),
        ("missing.py", None, "not a Python file"),
    ],
)
def test_a_file_without_cases_is_refused(tmp_path, name, text, word):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(errors.ParameterError, match=word):
        verify.cases_in(tmp_path / name)


class Understated(Doubled):
    """Plain counts, said to lose no more when more than two of them fall."""

    def release(self, counts, *, noise):
        return counts + noise.geometric(self.rate, counts.size)

    def loss(self, shift):
        return self.rate * min(shift.fall, 2) + od.INFINITE * shift.rise


def test_a_record_says_where_the_policy_goes_further_than_the_world():
    """Two groups cannot show what three lose: the record says so, and so does the guarantee."""
    mechanism, three = Understated(Fraction(1)), policy.presence(max_groups=3)
    rows = pl.DataFrame({"person": [1, 1, 1], "place": ["a", "b", "c"]})
    session = od.Session(rows, unit="person", policy=three, budget=9)
    short = Case(mechanism, three, 2, universe=Universe(units=1)).run()
    assert short.passed
    asked = {"by": "place", "keys": ["a", "b", "c"], "statistic": "count", "check": short}
    told = session.release(mechanism, epsilon=2, **asked)
    assert "lower counts by 2 in all, the policy's by up to 3" in told.guarantee.about
    whole = Case(mechanism, three, 2, universe=Universe(groups=("a", "b", "c"), units=1)).run()
    assert not whole.passed
    assert "up to" not in whole.universe
    assert "up to" not in Case(mechanism, policy.presence(max_groups=2), 2).run().universe
