"""What an analyst may ask: questions as JSON or SQL, less all that could tell of rows by itself.

Not offered: ``on_excess="error"`` and ``missing="refuse"``, which fail where rows are so;
mechanisms and strategies of one's own; samples, whose rows no ledger keeps; names of files.
Whether a value is missing is never told: where nothing is said, such rows are left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Final

from onesided.errors import ParameterError
from onesided.numbers import positive, text
from onesided.session import (
    Question,
    Sample,
    Session,
    Several,
    Synthetic,
    question_from_json,
    question_to_json,
)
from onesided.session.kit import explains, prepared, refuse_asserting, refuse_changed
from onesided.store import canonical, plain_text
from onesided_service._clock import refuse_large, refuse_slow
from onesided_service._config import DatasetConfig

SQL_FIELDS: Final = (
    "epsilon",
    "keys",
    "max_groups",
    "max_rows",
    "on_excess",
    "counted",
    "confidence",
    "simultaneous",
    "unknown",
    "bounds",
    "total_bounds",
    "step",
    "candidates",
    "method",
    "missing",
    "others",
    "weights",
    "guesses",
)
NAMED: Final = ("id", "again", "title")
_LONGEST: Final = 200
_DEEPEST: Final = 32
_LARGEST: Final = 100_000
# Charges are added up exactly: with unrelated denominators the sums would outgrow a ledger's row,
# and one asker could leave no charge to the others. These have one denominator together.
_PARTS_OF_ONE: Final = 2**100 * 5**24 * math.lcm(*range(1, 101))
# Controls, ends of lines, what turns text around, and the code points that are no characters.
_LAST: Final = "".join(chr(plane << 16 | end) for plane in range(17) for end in (0xFFFE, 0xFFFF))
_ODD: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufdd0-\ufdef" + _LAST + "]"
)
_FILES: Final = ("keys", "workload", "strategy")


def asked_in(body: object, session: Session, config: DatasetConfig) -> tuple[Any, str]:
    """The question of a request, and the name that its asker gives it; "" for none.

    Errors: ParameterError, which depend on the request and public facts alone.
    """
    _refuse_stated(body)
    if not isinstance(body, Mapping) or ("sql" in body) == ("question" in body):
        raise ParameterError(
            "Send an object with either 'question' or 'sql'.", hint="See docs/http.md."
        )
    question = _of_sql(body, session) if "sql" in body else _of_json(body)
    name = question.id
    if name is not None and not (isinstance(name, str) and 0 < len(name) <= _LONGEST):
        raise ParameterError("An id is a text of 1 to 200 characters.", hint="Shorten it.")
    plain_line(name or "", name="id")
    asked = offered(replace(question, id=None, again=False))
    refuse_large(asked, session.schema, most=config.cells)
    refuse_slow(asked, session.schema, config)
    refuse_asserting(prepared(session, asked))
    for one in getattr(asked, "questions", (asked,)):
        _refuse_amount(one.epsilon, config)
    return asked, name or ""


def tells_again(body: Any) -> bool:
    """Whether a request that :func:`asked_in` read wants an answer that is there told again."""
    told = body if "sql" in body else body["question"].get("fields", {})
    return told.get("again") is True


def offered(question: Any) -> Any:
    """The question as it is asked here. Errors: ParameterError for what is not offered."""
    if isinstance(question, Several):
        return replace(question, questions=[offered(one) for one in question.questions])
    if isinstance(question, Sample):
        raise ParameterError(
            "Samples are not offered here: no ledger keeps their rows.",
            hint="Ask for counts or totals; the curator can draw a sample.",
        )
    if isinstance(question, Synthetic):
        raise ParameterError(
            "Made-up rows are not offered here: how long a model takes to fit is not bounded.",
            hint="Ask for counts or a table; the curator can make rows.",
        )
    if getattr(question, "on_excess", None) == "error":
        raise ParameterError(
            'on_excess="error" is not offered here: a failure would reveal facts about rows.',
            hint='Use on_excess="truncate", or "keep" where the policy allows it.',
        )
    for name in _FILES:
        if isinstance(getattr(question, name, None), str) and name != "strategy":
            raise ParameterError(
                f"{name} names a file, or something else than values.",
                hint="Send the values; those of the schema need no keys at all.",
                field=name,
            )
    _refuse_odd_parts(getattr(question, "epsilon", None))
    known = {one.name for one in fields(question)}
    if "missing" in known and question.missing == "refuse":
        return replace(question, missing="drop")
    return question


def refuse_explain(body: Any) -> None:
    """Refuse to charge what wants its plan alone. Errors: ParameterError."""
    if "sql" not in body:
        return
    if explains(body["sql"]):
        raise ParameterError(
            "EXPLAIN asks for the price alone, which costs nothing.",
            hint="Send it to .../plan, or leave EXPLAIN out.",
        )


def plain_line(value: object, *, name: str, empty: bool = True) -> str:
    r"""Text on one line that every reader shows as it is, and every document of ours may hold.

    Errors: ParameterError, also for controls, noncharacters, and signs that turn what follows.

    >>> plain_line("Visits, 2026", name="title")
    'Visits, 2026'
    """
    text = plain_text(value, name=name, empty=empty)
    if (odd := _ODD.search(text)) is not None:
        raise ParameterError(
            f"The {name.removeprefix('the ')} holds the sign U+{ord(odd[0]):04X}, which is not "
            "shown, or turns what follows.",
            hint="Leave it out.",
        )
    return text


def text_of(question: Question[Any]) -> str:
    """The question as it is kept and told."""
    return question_to_json(question)


def _of_json(body: Mapping[str, Any]) -> Any:
    _refuse_unknown(body, {"question"})
    return question_from_json(canonical(body["question"]))


def _of_sql(body: Mapping[str, Any], session: Session) -> Any:
    _refuse_unknown(body, {"sql", *NAMED, *SQL_FIELDS})
    if not isinstance(body["sql"], str):
        raise ParameterError("sql must be text.", hint="See docs/sql.md.")
    more = {name: body[name] for name in (*SQL_FIELDS, *NAMED) if body.get(name) is not None}
    if "max_rows" not in more:  # before there was such a field, the same words were about units
        refuse_changed(body["sql"], session.unit)
    return session.question(body["sql"], **more)


def _refuse_stated(given: Any, deep: int = 0) -> None:
    """Refuse ``missing="refuse"`` where it is said; where nothing is said, "drop" is meant.

    So is what is deep, or few characters that stand for many values.
    """
    if deep > _DEEPEST:
        raise ParameterError(f"This nests deeper than {_DEEPEST} levels.", hint="See docs/json.md.")
    if isinstance(given, Mapping):
        if given.get("missing") == "refuse":
            raise ParameterError(
                'missing="refuse" is not offered here: a failure would reveal facts about rows.',
                hint='Leave it out, or write "drop": rows without a value are left out.',
            )
        _refuse_long(given.get("range"))
        for part in given.values():
            _refuse_stated(part, deep + 1)
    elif isinstance(given, list):
        for part in given:
            _refuse_stated(part, deep + 1)


def _refuse_long(ends: Any) -> None:
    """Refuse a range of more values than a body could list."""
    if isinstance(ends, list) and any(isinstance(end, int) and abs(end) > _LARGEST for end in ends):
        raise ParameterError(
            f"A range ends beyond {_LARGEST:,}.", hint="List the values that you ask for."
        )


def _refuse_amount(epsilon: Any, config: DatasetConfig) -> None:
    """Refuse an ε that is less or more than one question of the dataset may have."""
    given = positive(epsilon, name="epsilon")
    least, most = config.min_epsilon, config.max_epsilon or given
    if not least <= given <= most:
        bound = f"at least {text(least)}" if given < least else f"at most {text(most)}"
        raise ParameterError(
            f"epsilon is {text(given)}; one question here has {bound}.",
            hint="Ask with another epsilon.",
            field="epsilon",
            value=given,
        )


def _refuse_odd_parts(epsilon: Any) -> None:
    """Refuse an ε that cannot be added to others'; what is no number is refused later."""
    try:
        parts = positive(epsilon, name="epsilon").denominator
    except ParameterError:
        return
    if _PARTS_OF_ONE % parts:
        raise ParameterError(
            "epsilon is no multiple of a small part of 1.",
            hint="Write it with at most 24 decimals, or with a denominator up to 100.",
            field="epsilon",
        )


def _refuse_unknown(body: Mapping[str, Any], known: set[str]) -> None:
    for name in body:
        if name not in known:
            raise ParameterError(
                f"A request has no field {str(name)[:_LONGEST]!r}.",
                hint=f"Known: {', '.join(sorted(known))}.",
            )
