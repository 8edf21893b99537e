"""Stored answers: kept under their question, and told again to no other."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

from onesided.engine.kit import BEFORE, STANDS
from onesided.errors import (
    DataError,
    LedgerError,
    OnesidedError,
    ParameterError,
    ReleaseExistsError,
)
from onesided.ledger import Account, StoredRelease, decode_columns, encode_columns, holds_columns
from onesided.session import _legacy
from onesided.session._context import QueryContext
from onesided.session._identity import identity_of
from onesided.session._question import Answer, PreparedQuery, Question, Result
from onesided.session._release import Release


def asked_as(
    question: Question[Any], prepared: PreparedQuery[Any, Any], context: QueryContext
) -> str | None:
    """What tells the question from others, as a digest.

    An answer without an id is never asked for again, so nothing is worked out to tell it by.
    Errors: ParameterError for a question that cannot be told from others.
    """
    if question.id is None:
        return None
    asked = json.dumps(identity_of(question, prepared, context), sort_keys=True)
    return hashlib.sha256(asked.encode()).hexdigest()


def recalled(
    question: Question[Any],
    context: QueryContext,
    account: Account,
    asked: str | None,
    *,
    again: bool,
) -> StoredRelease | None:
    """What is stored under the question's id, if that was asked; None if nothing was charged.

    Errors: ReleaseExistsError; it names the change where the same words meant something else in
    0.2, and that is what was answered.
    """
    name = str(question.id)
    try:
        return account.recall(name, question=asked, again=again)
    except ReleaseExistsError as error:
        if error.values.get("state") != "other":
            raise
        error.hint = f"{_changes(question)}{error.hint}"
        old = formerly(question)
        if old is None:
            raise
        try:
            before = old.prepare(context)
            account.recall(name, question=asked_as(old, before, context))
        except OnesidedError:
            raise error from None
        raise ReleaseExistsError(
            f"The release stored under the id {name!r} is of an earlier version, in which the same "
            "words were about units: each counted once, with its total or its own mean.",
            hint="Use another id for what they ask today; to be told the old answer, ask "
            f"{_words_of(old)}.",
            **error.values,
        ) from None


def formerly(question: Any) -> Any:
    """What the same words asked in 0.2, where they ask something else today; or None."""
    parts = getattr(question, "questions", None)
    if parts is None:
        return getattr(question, "formerly", None)
    old = [formerly(part) for part in parts]
    if not any(old):
        return None
    return replace(question, questions=[o or part for o, part in zip(old, parts, strict=True)])


def _words_of(question: Any) -> str:
    """How a question about units is told from one about rows."""
    of = getattr(question, "of", None)
    if of is None:
        return "about units"
    total = getattr(question, "total_bounds", None)
    return f'with of="{of}"{"" if total is None else " and total_bounds="}, again=True'


def kept(prepared: PreparedQuery[Any, Any], answer: Answer) -> bytes:
    """An answer as the ledger keeps it."""
    return encode_columns(*prepared.pack(answer))


def _changes(question: Any) -> str:
    """What the same words meant before, for an id that is refused as another question's."""
    parts = (question, *getattr(question, "questions", ()))
    told = dict.fromkeys(getattr(part, "changed", "") for part in parts)
    return "".join(f"{one} " for one in told if one)


def told_again(
    question: Question[Result],
    prepared: PreparedQuery[Any, Result],
    context: QueryContext,
    asked: str | None,
    stored: StoredRelease,
) -> Result:
    """The stored answer as a release that says so. The data are not read.

    Errors: ReleaseExistsError if it is an answer to another question, or to one without an id.
    """
    if holds_columns(stored.payload):
        same, packed = stored.question == asked, decode_columns(stored.payload)
    else:
        same, packed = _legacy.packed(stored.payload, question, prepared, context)
    if not same:
        raise ReleaseExistsError(
            f"The release stored under the id {stored.release_id!r} is an answer to another "
            "question.",
            hint=f"{_changes(question)}Ask exactly the same again, or use another id.",
            release_id=stored.release_id,
            number=stored.number,
            state="other",
            drawn=stored.time,
        )
    release: Any = prepared.result(prepared.unpack(packed), stored.number)
    return replace(release, told_again=True, drawn=stored.time)  # type: ignore[no-any-return]


def with_left(release: Result, account: Account) -> Result:
    """The release, with what its account had left after it, if that can be read.

    It is charged and stored by then: an answer is not lost for a line on its card.
    """
    if not isinstance(release, Release) or release.entry is None:
        return release
    try:
        return replace(release, left=account.left_after(release.entry))
    except LedgerError:
        return release


def is_free(prepared: PreparedQuery[Any, Any]) -> bool:
    """Whether no move of the policy can change the answer."""
    plan = prepared.plan
    return not any(plan.charge.values()) and not any(plan.guarantee.delta.values())


def refuse_asserting(prepared: PreparedQuery[Any, Any]) -> None:
    """Refuse to charge what rows decide the answering of. Errors: ParameterError.

    >>> import polars as pl, onesided as od
    >>> session = od.Session(pl.DataFrame({"age": [7]}), policy=od.policy.bounded(), budget=1)
    >>> asked = od.session.Sum("age", of="units", total_bounds=(0, 9), epsilon=1, id="a")
    >>> session.charge(asked)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    onesided.errors.ParameterError: This question asserts something of the rows, and would fail ...
    """
    if prepared.fails_by_rows:
        raise ParameterError(
            "This question asserts something of the rows, and would fail after its charge where "
            "that is not true.",
            hint='Give max_groups with on_excess="truncate", missing="drop" and '
            'outside="clamp", or ask it with Session.ask, which looks before it charges.',
        )


def named(asked: str | None) -> str:
    """What tells a question from others. Errors: ParameterError for one without an id."""
    if asked is None:
        raise ParameterError(
            "A question that is charged before it is answered needs an id.", hint="Give id=."
        )
    return asked


def read_for(prepared: PreparedQuery[Any, Any]) -> Any:
    """What a charge of before was made for. Errors: those of reading, which say that it stands."""
    try:
        return prepared.read()
    except DataError as error:
        error.hint = error.hint.replace(BEFORE, STANDS)
        raise
