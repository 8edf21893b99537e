"""What a question would cost and give, as a server says it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from onesided._numbers import Loss, Number, from_text, readable
from onesided.errors import ParameterError, ServiceError
from onesided.session import question_from_json

Planned = Callable[[Number], "RemotePlan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemotePlan:
    """What a question would cost and give; nothing was charged. ``print`` shows it.

    charge, delta: the exact loss per edge. remaining: what is left for you on each edge. error: the
    predicted root mean square error; None where it depends on the data. due: seconds until an
    answer would leave, by the public clock. told: all that the server said, such as what the
    answer promises, and the same question in ``python``, ``sql`` and ``shell``.

    >>> charge, left = {"present -> not present": Fraction(1, 2)}, {"present -> not present": 3}
    >>> plan = RemotePlan(charge=charge, delta={}, remaining=left, error=1.98, due=2, told={})
    >>> print(plan)
    Charge -- present -> not present: 1/2 of 3 left.
    Predicted error (r.m.s.): 1.98.
    The answer leaves 2 s after the question, at the next public tick.
    """

    charge: Mapping[str, Loss]
    delta: Mapping[str, Fraction]
    remaining: Mapping[str, Fraction]
    error: float | None
    due: float
    told: Mapping[str, Any] = field(repr=False)
    planned: Planned | None = field(default=None, repr=False, compare=False)

    @property
    def affordable(self) -> bool:
        """Whether every edge has that much ε left for you."""
        return all(loss <= self.remaining.get(edge, 0) for edge, loss in self.charge.items())

    def at(self, epsilon: Number) -> RemotePlan:
        """The plan of the same question at another ε. Errors: ParameterError."""
        if self.planned is None:
            raise ParameterError(
                "This plan is not of one question with one ε.",
                hint="Ask session.plan(question) for each ε.",
            )
        return self.planned(epsilon)

    def __str__(self) -> str:
        edges = ", ".join(
            f"{edge}: {readable(loss)} of {readable(self.remaining.get(edge, Fraction(0)))} left"
            for edge, loss in self.charge.items()
        )
        error = "depends on the data" if self.error is None else f"{self.error:.3g}"
        return "\n".join(
            [
                f"Charge -- {edges}.{'' if self.affordable else ' More than is left.'}",
                f"Predicted error (r.m.s.): {error}.",
                f"The answer leaves {self.due:g} s after the question, at the next public tick.",
            ]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteSuggestion:
    """A question with the parameters that were looked for, and its plan; nothing was charged.

    question: ready to be asked. epsilon: the least that is enough. error: predicted, root mean
    square; relative: to the guess. compared: by ``max_groups``, the errors that were weighed.
    """

    question: Any
    epsilon: Fraction
    plan: RemotePlan
    error: float | None
    relative: float | None
    compared: Mapping[int, float]

    def __str__(self) -> str:
        return f"ε = {readable(self.epsilon)}.\n{self.plan}"


def suggestion_of(told: Any, *, remaining: Mapping[str, Fraction]) -> RemoteSuggestion:
    """A server's suggestion. Errors: ServiceError for another form."""
    try:
        return RemoteSuggestion(
            question=question_from_json(json.dumps(told["question"])),
            epsilon=Fraction(told["epsilon"]),
            plan=plan_of(told["plan"], remaining=remaining, planned=None),
            error=told["error"],
            relative=told["relative"],
            compared={int(most): error for most, error in told["compared"].items()},
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ServiceError(
            "The server's suggestion has another form.",
            hint="Install the version of onesided that the server runs.",
        ) from error


def plain(value: Any) -> Any:
    """A wanted number as JSON takes it: whole ones, texts and tables of whole ones as they are."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def plan_of(told: Any, *, remaining: Mapping[str, Fraction], planned: Planned | None) -> RemotePlan:
    """A server's plan. Errors: ServiceError for another form."""
    try:
        error = told["error"]
        return RemotePlan(
            charge={edge: from_text(loss) for edge, loss in told["charge"].items()},
            delta={edge: Fraction(loss) for edge, loss in told["delta"].items()},
            remaining=remaining,
            error=None if error is None else float(error),
            due=float(Fraction(str(told["due_seconds"]))),
            told=told,
            planned=planned,
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ServiceError(
            "The server's plan has another form.",
            hint="Install the version of onesided that the server runs.",
        ) from error
