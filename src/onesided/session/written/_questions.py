"""Questions as JSON, and back."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, Final

from onesided.errors import ParameterError, called
from onesided.policy import Predicate
from onesided.session._asks import QUESTIONS
from onesided.session._question import require_question
from onesided.session.values._sum import Sum
from onesided.session.written._document import VERSION, document, opened
from onesided.session.written._values import value_of, written


def question_to_json(question: Any) -> str:
    """A question as JSON, exactly: reading it back gives an equal one.

    Fields at their default are left out. Errors: ParameterError for what has no form there, such
    as a mechanism or a strategy of one's own.

    >>> import onesided as od
    >>> question_to_json(od.Count(by="place", keys=["a"], epsilon=1))
    '{"version":2,"question":"Count","fields":{"epsilon":1,"by":"place","keys":["a"]}}'
    """
    require_question(question)
    return document(_told(question))


def question_from_json(text: str) -> Any:
    """The question that was written; of version 1, what it meant in 0.2.

    Errors: ParameterError for another version, for unknown questions or fields, and for what is
    no JSON of this form.

    >>> import onesided as od
    >>> question = od.Count(by="place", keys=["a", "b"], epsilon="1/2")
    >>> question_from_json(question_to_json(question)) == question
    True
    """
    found = opened(text, {"question", "fields"})
    return _read(found, found["version"])


def questions_schema() -> dict[str, Any]:
    """The form of a question as a JSON Schema.

    >>> "anyOf" in questions_schema() or "oneOf" in questions_schema()
    True
    """
    kinds = [
        {
            "type": "object",
            "properties": {
                "version": {"const": VERSION},
                "question": {"const": name},
                "fields": {
                    "type": "object",
                    "properties": {one.name: {} for one in fields(kind) if one.init},
                    "required": sorted(_required(kind)),
                    "additionalProperties": False,
                },
            },
            "required": ["question", "fields"],
            "additionalProperties": False,
        }
        for name, kind in sorted(QUESTIONS.items())
    ]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "oneOf": kinds}


def _told(question: Any) -> dict[str, Any]:
    name = type(question).__name__
    if QUESTIONS.get(name) is not type(question):
        raise ParameterError(
            f"{name} has no form in JSON.", hint=f"These have: {', '.join(QUESTIONS)}."
        )
    told = {}
    for one in fields(question):
        value = getattr(question, one.name)
        if one.init and value is not one.default:
            told[one.name] = _value(one.name, value)
    return {"question": name, "fields": told}


def _value(name: str, value: Any) -> Any:
    if name == "questions":
        return [_told(part) for part in value]
    return written(value.text if isinstance(value, Predicate) else value)


def _read(given: Any, version: int) -> Any:
    if not isinstance(given, dict) or set(given) - {"version"} != {"question", "fields"}:
        raise ParameterError(
            "This is not a question.", hint='Write {"question": "Count", "fields": {...}}.'
        )
    kind, told = QUESTIONS.get(str(given["question"])), given["fields"]
    if kind is None or not isinstance(told, dict):
        raise ParameterError(
            f"There is no question {given['question']!r}.",
            hint=f"These are: {', '.join(QUESTIONS)}.",
        )
    if not isinstance(told.get("questions", []), list):
        raise ParameterError("questions must be a list of questions.", hint="See docs/json.md.")
    later = _LATER.get(kind.__name__, ()) if version == 1 else ()
    known = [one.name for one in fields(kind) if one.init and one.name not in later]
    unknown = set(told) - set(known)
    missing = _required(kind) - set(told)
    if unknown or missing:
        word, name = ("no", min(unknown)) if unknown else ("not its", min(missing))
        raise ParameterError(
            f"{kind.__name__} has {word} field {name!r}.",
            hint=f"Its fields are {', '.join(known)}.",
            field=name,
        )
    read = {
        name: [_read(part, version) for part in value]
        if name == "questions" and isinstance(value, list)
        else value_of(value)
        for name, value in told.items()
    }
    if version == 1 and kind is Sum:
        # Its bounds were those of a unit's total, and a schema's bounds of a row were taken for it.
        read |= {"of": "units", "total_bounds": read.pop("bounds", None) or "column"}
    return called(kind, **read)


# What questions of version 1 did not know.
_LATER: Final = {
    "Quantile": ("of", "max_rows", "interpolate"),
    "Sum": ("of", "max_rows", "total_bounds"),
}


def _required(kind: Any) -> set[str]:
    return {
        one.name
        for one in fields(kind)
        if one.init and one.default is MISSING and one.default_factory is MISSING
    }
