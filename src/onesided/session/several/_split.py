"""How questions that are asked at once share a budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any, Final

from onesided._english import a
from onesided._numbers import Number, exact, positive
from onesided.errors import ParameterError
from onesided.session._context import QueryContext

# Shares are whole 2^20ths, so that they stay short; rounds until errors agree to a thousandth.
_GRAIN: Final = 2**20
_ROUNDS: Final = 12
_ALIKE: Final = 1.001


def with_shares(
    questions: Sequence[Any],
    context: QueryContext,
    *,
    epsilon: Number | None,
    weights: Sequence[Number] | None,
    guesses: Sequence[Number] | None,
) -> tuple[Any, ...]:
    """The questions, each with its share of ε; unchanged where nothing is said.

    Errors: ParameterError for questions without an ε, and for weights or guesses that cannot be.
    """
    if epsilon is None and weights is None and guesses is None:
        return tuple(questions)
    total = _total(questions, epsilon)
    if guesses is None:
        parts = _numbers(weights or [1] * len(questions), questions, name="weights")
        return _at(questions, [total * part / sum(parts) for part in parts])
    if weights is not None:
        raise ParameterError(
            "weights and guesses both say how to share the budget.", hint="Give one of them."
        )
    sizes = [float(size) for size in _numbers(guesses, questions, name="guesses")]
    return _to_equal_errors(questions, context, total, sizes)


def _total(questions: Sequence[Any], epsilon: Number | None) -> Fraction:
    for place, question in enumerate(questions, 1):
        if "epsilon" not in {one.name for one in fields(question)}:
            raise ParameterError(
                f"Question {place} is {a(type(question).__name__)}, whose loss is its mechanism's: "
                "it has no share of a budget.",
                hint="Leave epsilon=, weights= and guesses= out; each question then keeps its own.",
            )
    if epsilon is not None:
        return positive(epsilon, name="epsilon")
    return sum((positive(one.epsilon, name="epsilon") for one in questions), Fraction(0))


def _numbers(
    given: Sequence[Number], questions: Sequence[Any], *, name: str
) -> tuple[Fraction, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != len(questions):
        raise ParameterError(
            f"{name} must be a list with one number for each of {len(questions)} questions, got "
            f"{given!r}.",
            hint="Give them in the order of the questions.",
            value=given,
        )
    return tuple(positive(exact(one, name=name), name=name) for one in given)


def _at(questions: Sequence[Any], shares: Sequence[Fraction]) -> tuple[Any, ...]:
    return tuple(replace(one, epsilon=part) for one, part in zip(questions, shares, strict=True))


def _to_equal_errors(
    questions: Sequence[Any], context: QueryContext, total: Fraction, sizes: Sequence[float]
) -> tuple[Any, ...]:
    """Shares at which each answer's predicted error is the same part of its guess.

    Errors fall as 1/ε or nearly, so a share that is as many times larger as its error is too
    large is nearly right at once. From the plans alone: no row is looked at.
    """
    shares = [1 / len(questions)] * len(questions)
    found = _at(questions, _rounded(shares, total))
    for _ in range(_ROUNDS):
        parts = [
            _error(question, context, place) / size
            for place, (question, size) in enumerate(zip(found, sizes, strict=True), 1)
        ]
        if max(parts) <= _ALIKE * min(parts):
            break
        wanted = [share * part for share, part in zip(shares, parts, strict=True)]
        shares = [one / sum(wanted) for one in wanted]
        found = _at(questions, _rounded(shares, total))
    return found


def _error(question: Any, context: QueryContext, place: int) -> float:
    plan = question.prepare(context).plan
    if not plan.standard_deviation:
        raise ParameterError(
            f"The error of question {place} is not known before it is asked.",
            hint="Share the budget by weights=.",
            question=place,
        )
    return math.hypot(plan.standard_deviation, plan.bias)


def _rounded(shares: Sequence[float], total: Fraction) -> list[Fraction]:
    """Exact shares that add up to the total."""
    parts = [max(1, int(share * _GRAIN)) for share in shares]
    return [total * Fraction(part, sum(parts)) for part in parts]
