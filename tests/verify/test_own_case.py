"""Mechanisms of the user's own: the same checks, a record, a file of cases, and clear errors."""

import importlib
import json
import linecache
import math
import os
import random
import re
import subprocess
import sys
import threading
from collections import Counter, deque
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import lru_cache, partial

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


def test_a_loss_that_understates_does_not_pass():
    class Sly(Doubled):
        def loss(self, shift):
            return super().loss(shift) / 2

    assert not Case(Sly(Fraction(1)), ADDED, 1, universe=ONE).run().passed


def test_an_edge_that_is_not_tried_is_no_pass():
    values = tuple(Record("sensitive", frozenset(place)) for place in "ab")
    world = Universe(units=1, values=values)
    secret = policy.sensitive("minor")
    record = Case(Counts.for_policy(secret, epsilon=1), secret, 1, universe=world).run()
    assert not record.passed
    assert "NOT TESTED: sensitive -> open" in record.said


def test_chance_of_its_own_is_no_pass():
    record = Case(lambda _data, _noise: od.noise.SecureNoise().uniform(2, 1)[0], ADDED, 1)
    assert not record.run().passed


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
    assert "cannot be called" in Case(lambda _data: 0, ADDED, 1).run().said
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


def test_a_source_that_cannot_be_read_is_refused():
    def typed(_data, _noise):
        return 0

    typed.__module__ = "nowhere"
    with pytest.raises(errors.ParameterError, match="cannot be read"):
        source_of(typed)


OWN_MODULE = """
from typing import NamedTuple
RATE = 1
class Globals:
    def release(self, counts, *, noise):
        return counts + noise.geometric(RATE, counts.size)
class Held:
    def __init__(self, held):
        self.held = held
class Attribute:
    rate = 1
class Pair(NamedTuple):
    rate: int
class Whole(int):
    pass
class Helper:
    def __init__(self, rate):
        self.rate = rate
    def draw(self):
        return self.rate
def made(rate):
    class Inside:
        def release(self, counts, *, noise):
            return counts + noise.geometric(rate, counts.size)
    return Inside()
def changed(owner, name, value, then):
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        return then()
    finally:
        setattr(owner, name, before)
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    (folder / "own_module_of_a_test.py").write_text(OWN_MODULE)
    sys.path.insert(0, str(folder))
    yield importlib.import_module("own_module_of_a_test")
    sys.path.remove(str(folder))
    del sys.modules["own_module_of_a_test"]


@pytest.mark.parametrize(
    "two",
    [
        lambda own: (own.made(1), own.made(50)),
        lambda own: (own.Held(own.Helper(1).draw), own.Held(own.Helper(50).draw)),
        lambda own: (own.Held(math.sin), own.Held(math.cos)),
        lambda own: (own.Held([1].index), own.Held([2].index)),
        lambda own: (own.Held(np.add), own.Held(np.subtract)),
        lambda own: (own.Held(1j), own.Held(2j)),
        lambda own: (own.Held(date(2020, 1, 1)), own.Held(date(2021, 1, 1))),
        lambda own: (own.Held(Counter("a")), own.Held(Counter("b"))),
        lambda own: (own.Held(lambda: 1), own.Held(lambda: 2)),
        lambda own: (own.Held(partial(own.made, 1)), own.Held(partial(own.made, 2))),
        lambda own: (own.Held(np.array([Fraction(1)])), own.Held(np.array([Fraction(2)]))),
        lambda own: (own.Pair(1), own.Pair(2)),
        lambda own: (own.Pair(1), (1,)),
        lambda own: (own.Whole(1), own.Whole(2)),
        lambda own: (own.Held(own.Helper), own.Held(own.Pair)),
    ],
)
def test_what_a_mechanism_holds_is_part_of_its_source(own, two):
    one, other = two(own)
    again, _ = two(own)
    assert source_of(one) == source_of(again)
    assert source_of(one) != source_of(other)


def test_what_its_code_names_is_part_of_its_source(own):
    """Globals, attributes of classes and replaced functions: the text alone does not tell them."""
    for owner, name, value, mechanism in (
        (own, "RATE", 50, own.Globals()),
        (own.Attribute, "rate", 50, own.Attribute()),
        (own.Globals, "release", own.Helper.draw, own.Globals()),
        (own.Helper, "draw", lambda self: 2 * self.rate, own.Held(own.Helper(1))),
    ):
        before = source_of(mechanism)
        assert own.changed(owner, name, value, lambda made=mechanism: source_of(made)) != before
        assert source_of(mechanism) == before


REACHING = """
import own_params_of_a_test as params
class Reaching:
    def release(self, counts, *, noise):
        return counts + noise.geometric(params.inner.RATE, counts.size)
"""


def test_what_its_code_reaches_through_modules_is_part_of_its_source(tmp_path, monkeypatch):
    """A rate in a file of parameters, and one that such a file has from another."""
    monkeypatch.syspath_prepend(tmp_path)
    names = ("own_inner_of_a_test", "own_params_of_a_test", "own_reaching_of_a_test")

    def told(rate, note):
        texts = (f"RATE = {rate}", f"# {note}\nimport {names[0]} as inner", REACHING)
        for name, text in zip(names, texts, strict=True):
            sys.modules.pop(name, None)
            (tmp_path / f"{name}.py").write_text(text)
        importlib.invalidate_caches()
        linecache.clearcache()
        return source_of(importlib.import_module(names[-1]).Reaching())

    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    one = told(1, "a")
    assert told(1, "a") == one
    assert len({one, told(50, "a"), told(1, "another text")}) == 3
    made = sys.modules[names[-1]].Reaching()
    before = source_of(made)
    monkeypatch.setattr(sys.modules[names[0]], "RATE", 50)
    assert source_of(made) != before
    for name in names:
        del sys.modules[name]


DEEP = """
import own_folder_of_a_test.part.deep
class Deep:
    def release(self, counts, *, noise):
        return counts + noise.geometric(own_folder_of_a_test.part.deep.RATE, counts.size)
"""
SAID = """
import own_deep_of_a_test
from onesided.mechanism.kit import source_of
print(source_of(own_deep_of_a_test.Deep()))
"""


@pytest.mark.parametrize("package", [True, False])
def test_packages_without_a_text_are_passed_and_every_process_says_the_same(tmp_path, package):
    """An empty __init__.py, and none: what lies within them is told."""
    part = tmp_path / "own_folder_of_a_test" / "part"
    part.mkdir(parents=True)
    if package:
        (part / "__init__.py").touch()
        (part.parent / "__init__.py").touch()
    (tmp_path / "own_deep_of_a_test.py").write_text(DEEP)

    def told(rate, seed):
        (part / "deep.py").write_text(f"RATE = {rate}")
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-c", SAID]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    assert told(1, "1") == told(1, "2") != told(50, "1")


MANY_NAMES = "; ".join(f"a{number} = counts.b{number}" for number in range(300))


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
        pytest.param(f"{MANY_NAMES}; from math import pi", False, id="many names and math"),
        pytest.param(f"{MANY_NAMES}; from . import helper", True, id="many names and its own"),
    ],
)
def test_code_that_imports_its_own_files_only_when_it_runs_is_refused(
    tmp_path, monkeypatch, line, refused
):
    monkeypatch.syspath_prepend(tmp_path)
    text = f"def made(counts, noise):\n    {line}\n    return counts\n"
    (tmp_path / "own_late_of_a_test.py").write_text(text)
    (tmp_path / "own_helper_of_a_test.py").write_text("RATE = 1\n")
    late = importlib.import_module("own_late_of_a_test")
    try:
        if not refused:
            assert source_of(late.made) == source_of(late.made)
            return
        with pytest.raises(errors.ParameterError, match=r"imports .* when it runs") as caught:
            source_of(late.made)
        assert "top of the file" in caught.value.hint
    finally:
        del sys.modules[late.__name__]


def test_values_within_values_without_end_are_refused(own):
    deep = []
    for _ in range(10**5):
        deep = [deep]
    with pytest.raises(errors.ParameterError, match="too many levels"):
        source_of(own.Held(deep))
    while deep:  # or Python itself takes it apart level within level
        deep = deep.pop()


def test_a_record_is_about_the_globals_that_were_checked(own):
    record = Case(own.Globals(), ADDED, 1, universe=ONE).run()
    use = {"policy": ADDED, "epsilon": Fraction(1), "query": GroupCount()}
    assert record.passed
    assert record.misfit(own.Globals(), **use) == ""
    told = own.changed(own, "RATE", 50, lambda: record.misfit(own.Globals(), **use))
    assert "other parameters" in told


@pytest.mark.parametrize(
    "held",
    [
        np.random.default_rng(1),
        random.Random(1),
        threading.Lock(),
        re.compile("a"),
        iter([1]),
        (one for one in [1]),
        deque([1]),
        lru_cache(source_of),
        np.frompyfunc(abs, 1, 1),
        memoryview(b"a"),
    ],
)
def test_a_value_that_hides_what_it_holds_is_refused(own, held):
    with pytest.raises(errors.ParameterError, match="no fixed form") as caught:
        source_of(own.Held([held]))
    assert caught.value.hint


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
