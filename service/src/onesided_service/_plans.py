"""What a question would cost and give, as JSON: from the request and public facts alone."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any

from onesided.numbers import text
from onesided.session import Plan, Several, question_to_json
from onesided_service._clock import Clock
from onesided_service._datasets import Dataset


def plan_document(plan: Plan, question: Any, dataset: Dataset, clock: Clock) -> dict[str, Any]:
    """The plan, and the same question as Python, JSON and a command."""
    return {
        **plan.as_dict(),
        "due_seconds": text(
            clock.takes(question, dataset.config, dataset.schema) + dataset.config.grace
        ),
        "question": json.loads(question_to_json(question)),
        "python": f"session.ask({python_of(question)})",
        "shell": shell_of(question, dataset.name),
    }


def python_of(question: Any) -> str:
    """The question as Python writes it."""
    kind = type(question).__name__
    where = "od" if kind == "Count" else "od.session"
    if isinstance(question, Several):
        inner = ", ".join(python_of(one) for one in question.questions)
        return f"{where}.Several([{inner}]{_more(question, {'questions'})})"
    return f"{where}.{kind}({_more(question, set()).removeprefix(', ')})"


def shell_of(question: Any, dataset: str) -> str:
    """The question as a command that any shell runs."""
    body = json.dumps({"question": json.loads(question_to_json(question))})
    return (
        f"curl --header 'Content-Type: application/json' --header \"Authorization: Bearer $TOKEN\" "
        f'--data {shlex.quote(body)} "$SERVICE/api/v1/datasets/{dataset}/ask"'
    )


def _more(question: Any, but: set[str]) -> str:
    told = []
    for one in fields(question):
        value = getattr(question, one.name)
        if one.init and one.name not in but and value is not one.default:
            told.append(f", {one.name}={_python(value)}")
    return "".join(told)


def _python(value: Any) -> str:
    if isinstance(value, Fraction):
        return repr(text(value))
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_python(key)}: {_python(part)}" for key, part in value.items())
        return f"{{{inner}}}"
    if isinstance(value, list | tuple):
        inner = ", ".join(map(_python, value))
        return f"[{inner}]"
    written = getattr(value, "text", None)  # a condition
    return repr(written if isinstance(written, str) else value)
