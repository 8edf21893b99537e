"""An ε at which nothing is promised is refused; a large one is remarked on wherever it is told."""

import pytest

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise

pl = pytest.importorskip("polars")

ROWS = pl.DataFrame({"id": [1, 2, 3], "at": ["a", "a", "b"]})
BY = {"by": "at", "keys": ["a", "b"], "max_groups": 1, "on_excess": "error"}


def session(policy=None, **more):
    policy = policy or od.policy.addition_only()
    return od.Session(ROWS, unit="id", policy=policy, budget=10**6, **more)


@pytest.mark.parametrize("epsilon", ["100.01", 101, 1000])
def test_nothing_is_asked_at_an_epsilon_that_promises_nothing(epsilon):
    made = session()
    question = od.Count(epsilon=epsilon, id="x")
    for ask in (made.ask, made.plan, made.charge):
        with pytest.raises(errors.ParameterError, match="promises nothing") as caught:
            ask(question)
        assert "at most 100" in caught.value.hint
    assert not made.ledger.entries(kind="spend")
    assert made.ask(od.Count(epsilon=100, id="x")).entry is not None


def test_together_questions_are_one_question():
    made, half = session(), od.Count(epsilon=60)
    with pytest.raises(errors.ParameterError, match="ε = 120 on record -> absent"):
        made.ask_all([half, half])


def test_an_edge_counts_by_its_weight():
    policy = od.policy.tiers({"shy": ("1/2", "at = 'a'"), "open": 40})
    made = od.Session(ROWS, policy=policy, unit="id", budget=10**6)
    assert max(edge.weight for edge in policy.edges) > 1
    assert made.plan(od.Count(epsilon=2, **BY)).charge
    with pytest.raises(errors.ParameterError, match="promises nothing"):
        made.plan(od.Count(epsilon=101, **BY))


def test_a_noise_double_may_ask_for_more():
    assert session(noise=NotPrivateSeededNoise(0)).count(epsilon=1000).value == 3


@pytest.mark.parametrize(("epsilon", "said"), [(10, False), (11, True), (100, True)])
def test_every_form_of_an_answer_remarks_on_a_large_epsilon(epsilon, said, tmp_path):
    release = session().count(epsilon=epsilon, **BY)
    release.write(tmp_path / "out", formats=["csv", "json", "html"])
    forms = [str(release), repr(release), release._repr_html_(), release.chart().first[-1:]]
    forms += [(tmp_path / "out" / name).read_text() for name in ("release.html", "guarantee.json")]
    for form in map(str, forms):
        assert (f"by a factor of e^{epsilon}" in form) is said


def test_what_was_charged_before_is_told_all_the_same(tmp_path):
    ledger, question = tmp_path / "ledger.db", {"epsilon": 1000, "id": "x"}
    told = session(noise=NotPrivateSeededNoise(0), ledger=ledger).count(**question)
    again = session(ledger=ledger).count(**question, again=True)
    assert (again.value, again.told_again) == (told.value, True)
