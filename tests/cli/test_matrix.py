"""Questions down, policies across: no cell is empty, and every refusal has a reason of the list."""

import json
from pathlib import Path

import pytest

from onesided import errors, policy
from onesided.cli import _matrix
from onesided.session.kit import QUESTIONS

DOCS = Path(__file__).parents[2] / "docs"
APART = {"Several", "Ratio"}  # others together


@pytest.fixture(scope="module")
def matrix():
    return _matrix.matrix()


def gaps(matrix):
    """What the matrix does not say, or says without a reason of the list."""
    found = []
    for name, cells in matrix.items():
        asked = {type(one.asked).__name__ for one in cells}
        found += [f"{one} under {name} is not there" for one in QUESTIONS.keys() - asked - APART]
        for one in cells:
            if one.gives not in _matrix.GIVES:
                found.append(f"{one.question} under {name} is empty")
            if (one.gives == _matrix.REFUSED) != (one.reason in _matrix.REASONS):
                found.append(f"{one.question} under {name}: {one.error}")
    return found + [f"no {name}" for name in policy.families().keys() - matrix.keys()]


def test_no_cell_is_empty_and_every_reason_is_on_the_list(matrix):
    assert gaps(matrix) == []
    used = {one.reason for cells in matrix.values() for one in cells} - {None}
    assert used == {*_matrix.REASONS}
    assert all((DOCS / one.proof).exists() for one in _matrix.REASONS)
    assert len({tuple(one.question for one in cells) for cells in matrix.values()}) == 1


@pytest.mark.parametrize("wrong", ["empty", "other reason", "no question", "no family"])
def test_gaps_are_seen(matrix, wrong):
    first, *others = matrix["bounded"]
    cells = {
        "empty": (_matrix.Cell("Count", first.asked, ""), *others),
        "other reason": (_matrix.Cell("Count", first.asked, _matrix.REFUSED, None, "?"), *others),
        "no question": others[:-1],
    }
    made = {**matrix, "bounded": cells.get(wrong, ())}
    if wrong == "no family":
        del made["bounded"]
    assert gaps(made)


def test_each_cell_is_asked_as_its_example_says(matrix):
    class Written:
        def __getattr__(self, name):
            return getattr(_matrix.Asks, name).question

    for name, cells in matrix.items():
        for one in cells:
            told = eval(_matrix.call(one.asked), {"session": Written()})  # noqa: S307 - our own text
            assert told == one.asked, f"{one.question} under {name}"


def test_each_refusal_means_one_reason(matrix):
    refused = [one for cells in matrix.values() for one in cells if one.reason]
    for one in refused:
        assert [r for r in _matrix.REASONS if _matrix.re.search(r.said, one.error)] == [one.reason]


@pytest.mark.parametrize(
    ("chosen", "question", "gives"),
    [
        (policy.addition_only(), "AtMost", "certain from above"),
        (policy.removal_only(), "AtLeast", "certain from below"),
        (policy.presence(max_groups=3), "Enclosed", "certain on both sides"),
        (policy.bounded(), "Count of all", "exact"),
        (policy.unbounded(), "Count of all", "noise on both sides"),
        (policy.sensitive("not consent and born > DATE '2010-01-01'"), "Sample", "true records"),
        (policy.sensitive("city = 'x' or height > 1.5"), "AtLeast of open", "certain from below"),
        (policy.attributes({"job": "*"}), "Count", "noise on both sides"),
        (policy.neighbourhood(radius=5), "Count", "noise on both sides"),
    ],
)
def test_the_column_of_a_policy_of_ones_own(chosen, question, gives):
    assert {one.question: one.gives for one in _matrix.column(chosen)}[question] == gives


def test_a_policy_whose_columns_nobody_knows_is_told_so():
    many = policy.sensitive("a = 1 or b = 1 or c = 1 or d = 1")
    (told,) = _matrix.sentences(many)
    assert told.startswith("What questions give depends on the table.")
    with pytest.raises(errors.ParameterError, match="4 columns"):
        _matrix.column(many)


def test_explain_prints_the_column(world):
    done = world.run("explain", "presence", "--max-groups", "2")
    assert "• Certain on both sides: Enclosed, Discover with δ." in done.stdout
    told = json.loads(world.run("explain", "bounded", "--json").stdout)
    assert told["gives"][0] == "Exact: Count of all."
