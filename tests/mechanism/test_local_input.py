import json
import math
import sys

import numpy as np
import pytest

import onesided as od
from onesided.errors import (
    DataError,
    MissingDependencyError,
    NoiseError,
    ParameterError,
    PolicyError,
)
from onesided.mechanism import local
from onesided.policy import local as local_policy

ABC = ["a", "b", "c"]
MAKERS = (
    local.k_ary_response,
    local.rappor,
    local.optimised_unary,
    lambda letters, epsilon: local.utility_optimised_response(
        letters, sensitive=letters[:1], epsilon=epsilon
    ),
    lambda letters, epsilon: local.utility_optimised_rappor(
        letters, sensitive=letters[:1], epsilon=epsilon
    ),
)


def everyone():
    return (
        local.warner(ABC[:2], epsilon=1),
        local.utility_optimised_response(ABC, sensitive=["a"], epsilon=1),
        local.rappor(ABC, epsilon=1),
        local.utility_optimised_rappor(ABC, sensitive=["a"], epsilon=1),
        local.context_aware(local_policy(ABC, edges=[("a", "b", 2)]), epsilon=1),
    )


class NoNoise:
    """Fails the test when anything is drawn."""

    def __getattr__(self, name):
        raise AssertionError(name)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    "epsilon", [0, -1, math.nan, math.inf, "nan", "x", None, True, [1], od.INFINITE, 2**11, "1e-30"]
)
def test_an_epsilon_that_cannot_be_meant_is_refused(make, epsilon):
    with pytest.raises(ParameterError) as caught:
        make(ABC, epsilon=epsilon)
    assert caught.value.hint


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    "letters",
    [["a"], [], ["a", "a"], ["a", "b", "a"], ["a", ""], ["a", 1], ["a", None], ["a", "b->c"], "ab"],
)
def test_alphabets_that_say_nothing_or_repeat_are_refused(make, letters):
    with pytest.raises(ParameterError) as caught:
        make(letters, epsilon=1)
    assert caught.value.hint


@pytest.mark.parametrize("sensitive", [[], ["z"], ["a", "a"], [None], [1]])
def test_sensitive_letters_must_be_letters(sensitive):
    for make in (local.utility_optimised_response, local.utility_optimised_rappor):
        with pytest.raises(ParameterError):
            make(ABC, sensitive=sensitive, epsilon=1)


def test_two_letters_are_asked_for_where_there_must_be_two():
    for make in (local.warner, local.mangat):
        with pytest.raises(ParameterError, match="two letters"):
            make(["yes", "no", "maybe"], epsilon=1)
    with pytest.raises(ParameterError, match="'maybe'"):
        local.mangat(sensitive="maybe", epsilon=1)


@pytest.mark.parametrize("truth", [0, 1, -1, 2, math.nan, None, "x"])
def test_a_chance_of_truth_that_hides_or_tells_nothing_is_refused(truth):
    with pytest.raises(ParameterError):
        local.RandomisedResponse(ABC, ABC, truth)


@pytest.mark.parametrize(
    ("own", "other"),
    [
        (["1/2"] * 3, ["1/2"] * 3),
        (["1/3"] * 3, ["1/2"] * 3),
        (["1/2"] * 2, ["1/3"] * 3),
        ([2] * 3, ["1/3"] * 3),
        ([math.nan] * 3, ["1/3"] * 3),
    ],
)
def test_bits_that_tell_nothing_are_refused(own, other):
    with pytest.raises(ParameterError):
        local.UnaryResponse(ABC, own, other)


@pytest.mark.parametrize(
    "rows",
    [
        [["1/2", "1/2"]],
        [["1/2", "1/2"], ["1/2", "1/3"]],
        [["1/2", "1/2"], [1]],
        [[0.1, 0.9], [0.3, 0.7]],
        [["3/2", "-1/2"], [0, 1]],
        [[math.nan, 1], [0, 1]],
    ],
)
def test_tables_that_are_no_channel_are_refused(rows):
    with pytest.raises(ParameterError):
        local.Channel(["a", "b"], rows)


def test_a_channel_that_cannot_be_turned_back_says_so_when_asked():
    channel = local.Channel(["a", "b"], [["1/2", "1/2"], ["1/2", "1/2"]])
    assert channel.loss("a", "b") == 0
    with pytest.raises(ParameterError, match="linearly dependent"):
        channel.estimate(np.array([0, 1]))
    with pytest.raises(ParameterError, match="no output"):
        channel.possible("c")


def test_a_policy_about_tables_or_with_too_many_letters_is_refused():
    for make in (local.for_policy, local.context_aware):
        with pytest.raises(PolicyError, match="not local"):
            make(od.policy.bounded(), epsilon=1)
        with pytest.raises(ParameterError):
            make(local_policy(ABC, edges=[("a", "b")]), epsilon=math.nan)
    many = local_policy([f"l{n}" for n in range(65)])
    with pytest.raises(ParameterError, match="65 letters"):
        local.context_aware(many, epsilon=1)
    assert local.for_policy(many, epsilon=1).loss("l1", "l2") <= 1
    tiny = local_policy(ABC, edges=[("a", "b", "1e-12")])
    with pytest.raises(ParameterError, match="too small"):
        local.context_aware(tiny, epsilon="1/1000")


def test_without_scipy_only_policies_that_need_the_programme_are_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    assert local.context_aware(local_policy(ABC), epsilon=1)
    gathered = local_policy([*ABC, "x"], edges=[(letter, "x") for letter in ABC])
    with pytest.raises(MissingDependencyError, match="scipy"):
        local.context_aware(gathered, epsilon="1/4")


@pytest.mark.parametrize("randomiser", everyone(), ids=lambda r: type(r).__name__)
@pytest.mark.parametrize("value", ["z", "", None, 0, 1.5, math.nan, ["a"], b"a"])
def test_a_stranger_is_refused_and_nothing_is_drawn(randomiser, value):
    with pytest.raises(DataError, match="position 0"):
        randomiser.report(value, noise=NoNoise())
    with pytest.raises(DataError, match="position 1"):
        randomiser.release(["a", value], noise=NoNoise())


@pytest.mark.parametrize("randomiser", everyone(), ids=lambda r: type(r).__name__)
def test_bare_text_is_not_a_list_of_values_nor_of_reports(randomiser):
    with pytest.raises(DataError):
        randomiser.release("ab", noise=NoNoise())
    report = randomiser.report("a")
    for single in (report, report.to_json(), report.to_dict()):
        with pytest.raises(DataError, match="single"):
            randomiser.estimate(single)


@pytest.mark.parametrize("randomiser", everyone(), ids=lambda r: type(r).__name__)
def test_no_reports_give_no_estimate(randomiser):
    for nothing in ([], iter(()), randomiser.release([]), randomiser.tally([])):
        with pytest.raises(DataError, match="no reports"):
            randomiser.estimate(nothing)


@pytest.mark.parametrize("randomiser", everyone(), ids=lambda r: type(r).__name__)
def test_reports_of_another_configuration_are_refused(randomiser):
    for other in (
        *everyone(),
        local.rappor(ABC, epsilon="1.5"),
        local.warner(["b", "a"], epsilon=1),
    ):
        if other == randomiser:
            continue
        assert other.fingerprint != randomiser.fingerprint
        report = other.report("a")
        for sent in (report, report.to_json()):
            with pytest.raises(DataError, match="configuration"):
                randomiser.estimate([randomiser.report("a"), sent])
        with pytest.raises(DataError, match="configuration"):
            randomiser.tally([]) + other.tally([report])
        with pytest.raises(DataError, match="configuration"):
            randomiser.estimate(other.tally([report]))


@pytest.mark.parametrize("randomiser", everyone(), ids=lambda r: type(r).__name__)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "3",
        "nan",
        "{}",
        '{"answer":"a"}',
        '{"answer":"a","configuration":"x","format":"onesided-local/2"}',
        '{"answer":1,"configuration":"x","format":"onesided-local/1"}',
        '{"answer":"a","configuration":null,"format":"onesided-local/1"}',
        '{"answer":"a","configuration":"x","format":"onesided-local/1","more":1}',
        "[" * 100_000,
    ],
)
def test_malformed_texts_are_refused(randomiser, text):
    with pytest.raises(DataError) as caught:
        randomiser.estimate([text])
    assert caught.value.hint
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("randomiser", everyone(), ids=lambda r: type(r).__name__)
@pytest.mark.parametrize("answer", ["z", "", "0", "1111111", "01x", "0 1", "٠٠١", '"', "\\"])
def test_impossible_answers_are_refused(randomiser, answer):
    forged = local.Report(randomiser.fingerprint, answer)
    for sent in (forged, forged.to_json(), json.dumps(forged.to_dict())):
        with pytest.raises(DataError, match="answers"):
            randomiser.estimate([sent])


@pytest.mark.parametrize("reports", [[None], [3], [["a"]], [b"{}"], [{}]])
def test_things_that_are_no_reports_are_refused(reports):
    with pytest.raises(DataError):
        local.warner(epsilon=1).estimate(reports)


@pytest.mark.parametrize(
    "outputs",
    [
        np.array([0, 2]),
        np.array([-1]),
        np.array([0.0]),
        np.array([math.nan]),
        np.array([[0, 1]]),
        np.array(5),
    ],
)
def test_arrays_that_no_release_gave_are_refused(outputs):
    with pytest.raises(DataError):
        local.warner(epsilon=1).estimate(outputs)
    with pytest.raises(DataError):
        local.rappor(ABC, epsilon=1).estimate(outputs)


def test_bits_that_no_release_gave_are_refused():
    some = local.utility_optimised_rappor(ABC, sensitive=["a"], epsilon=1)
    with pytest.raises(DataError, match="something other than bits"):
        some.estimate(np.array([[0, 1, 2]]))
    with pytest.raises(DataError, match="position 1 sets two bits"):
        some.estimate(np.array([[0, 1, 0], [0, 1, 1]]))
    with pytest.raises(DataError, match="sets two bits"):
        some.estimate([local.Report(some.fingerprint, "011")])


@pytest.mark.parametrize("confidence", [0, 1, -1, 2, math.nan, "x", None])
def test_a_confidence_that_cannot_be_meant_is_refused(confidence):
    estimate = local.warner(epsilon=1).estimate(np.array([0, 1]))
    with pytest.raises(ParameterError):
        estimate.interval(confidence=confidence)


def test_a_confidence_beyond_floats_still_gives_an_interval():
    estimate = local.warner(epsilon=1).estimate(np.array([0, 1] * 50))
    for confidence in ("0." + "9" * 30, "0." + "9" * 390):
        for exact_coverage in (False, True):
            lower, upper = estimate.interval(confidence=confidence, exact_coverage=exact_coverage)
            assert (lower < 0.5).all()
            assert (upper > 0.5).all()


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.uint64, np.int64])
def test_outputs_of_any_whole_type_are_counted(kind):
    assert local.warner(epsilon=1).tally(np.array([0, 1, 1], dtype=kind)).seen.tolist() == [1, 2]


def test_strangers_are_named_wherever_they_are_asked_for():
    warner = local.warner(epsilon=1)
    for ask in (lambda: warner.loss("yes", "maybe"), lambda: warner.loss("maybe", "yes")):
        with pytest.raises(ParameterError, match="'maybe'"):
            ask()
    with pytest.raises(ParameterError, match="'maybe'"):
        warner.estimate(np.array([0])).share("maybe")
    for shares in ([1], [math.nan, 1], [[1, 0]]):
        with pytest.raises(DataError):
            warner.variance(shares, 5)


def test_one_person_says_nothing_of_the_spread_of_a_population():
    estimate = local.warner(epsilon=1).estimate(np.array([0]), sampled=True)
    for exact_coverage in (False, True):
        lower, upper = estimate.interval(exact_coverage=exact_coverage)
        assert (lower.tolist(), upper.tolist()) == ([0, 0], [1, 1])


def test_without_random_bits_nothing_is_sent(monkeypatch):
    def fail(_count):
        raise OSError("no entropy")

    monkeypatch.setattr("os.urandom", fail)
    with pytest.raises(NoiseError):
        local.warner(epsilon=1).report("yes")


def test_letters_in_any_script_survive_the_way():
    letters = ["é", 'say "no"', "back\\slash", "日本"]
    randomiser = local.utility_optimised_response(letters, sensitive=letters[:1], epsilon=20)
    texts = [randomiser.report(letter).to_json() for letter in letters]
    assert texts[0].isascii()
    assert randomiser.tally(texts).people == 4
    again = local.Report.from_json(texts[1])
    assert randomiser.tally([again, texts[1]]).seen.max() == 2
