"""Stored answers: kept under their question, and told again to no other."""

from __future__ import annotations

import hashlib
import json
from dataclasses import MISSING, replace
from typing import Any, Final

from onesided._numbers import INFINITE, text
from onesided.engine.kit import BEFORE, STANDS
from onesided.errors import (
    DataError,
    LedgerError,
    OnesidedError,
    ParameterError,
    ReleaseExistsError,
)
from onesided.ledger import (
    Account,
    StoredRelease,
    at_delta,
    decode_columns,
    encode_columns,
    holds_columns,
)
from onesided.session._context import QueryContext
from onesided.session._fields import asked_fields, plain
from onesided.session._question import Answer, PreparedQuery, Question, Result
from onesided.session._release import Release

# How an answer is called and told is no part of what was asked.
# The law of its noise is told by what was drawn.
_UNTOLD: Final = frozenset({"id", "again", "title", "law"})
_LONG: Final = 200
_PURE_BEFORE: Final = 'An answer with noise of a pure law is told again to law="pure". '


def identity_of(
    question: Any, prepared: PreparedQuery[Any, Any], context: QueryContext
) -> dict[str, object]:
    """The question, the policy, the unit and the noise, as JSON: two answers differ where it does.

    Every field counts, also one that is added tomorrow. Fields at their default are left out, so
    that a further field with a default leaves older answers answers to the same question.
    Numbers count by their value ("1/2" is 0.5), conditions by what they say, kinds as a set. Keys
    and ``by`` count in their order: what is stored stands in it, and what is told of one group may
    rest on those before it. The mechanism and its charge count too: were rates chosen in another
    way one day, an older answer's bounds and guarantee would be told wrong.
    Errors: ParameterError for a value that cannot be told from others.
    """
    return {
        "question": type(question).__name__,
        "asked": told_of(question, context),
        "policy": context.policy.identity,
        "unit": context.unit,
        "noise": _short(plain(prepared.noise or prepared.plan.mechanism)),
        "charge": {edge: text(loss) for edge, loss in prepared.plan.charge.items()},
        **({"joined": context.table.joined} if context.table.joined else {}),
        **({} if context.declared is None else {"schema": context.declared.identity}),
    }


def told_of(question: Any, context: QueryContext) -> dict[str, object]:
    """The fields that are not at their default."""
    if hasattr(question, "identified"):
        question = question.identified(context)
    told: dict[str, object] = {}
    for name, field in asked_fields(question.__class__).items():
        given, usual = getattr(question, name), question.__dataclass_fields__[name].default
        if name in _UNTOLD:
            continue
        if name == "unknown":
            # Older answers counted what is recorded, also where that is no default any more.
            usual = None
        value, usual = (
            one if one is None or one is MISSING else field.told(one, question, context)
            for one in (given, usual)
        )
        if value != usual:
            told[name] = _short(value)
    meaning = getattr(question, "meaning", {})
    return {**told, **(meaning(context) if callable(meaning) else meaning)}


def _short(value: object) -> object:
    """Itself, or its digest where it is long."""
    written = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    if len(written) <= _LONG:
        return value
    return {"sha256": hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()}


def asked_as(
    question: Question[Any], prepared: PreparedQuery[Any, Any], context: QueryContext
) -> str | None:
    """What tells the question from others, as a digest; None without an id."""
    if question.id is None:
        return None
    asked = json.dumps(identity_of(question, prepared, context), sort_keys=True)
    return hashlib.sha256(asked.encode()).hexdigest()


def recalled(
    question: Question[Any],
    prepared: PreparedQuery[Any, Any],
    context: QueryContext,
    account: Account,
    *,
    again: bool,
) -> StoredRelease | None:
    """What is stored under the question's id, if that was asked; None if nothing was charged.

    Errors: ReleaseExistsError; it names the change where the same words meant something else in
    0.2, and that is what was answered.
    """
    name = str(question.id)
    written = replace(context, spelled=True)
    try:
        asked = asked_as(question, prepared, context)
        return account.recall(name, question=asked, again=again)
    except ReleaseExistsError as error:
        if error.values.get("state") != "other":
            raise
        try:
            asked = asked_as(question, prepared, written)
            return account.recall(name, question=asked, again=again)
        except ReleaseExistsError as other:
            if other.values.get("state") != "other":
                raise
        law = _PURE_BEFORE if INFINITE in prepared.plan.charge.values() else ""
        error.hint = f"{_changes(question)}{law}{error.hint}"
        old = formerly(question)
        if old is None:
            raise
        try:
            account.recall(name, question=asked_as(old, old.prepare(context), written))
        except OnesidedError:
            raise error from None
        of, told = getattr(old, "of", None), "about units"
        if of is not None:
            bounds = "" if getattr(old, "total_bounds", None) is None else " and total_bounds="
            told = f'with of="{of}"{bounds}, again=True'
        raise ReleaseExistsError(
            f"The release stored under the id {name!r} is of an earlier version, in which the same "
            "words were about units: each counted once, with its total or its own mean.",
            hint=f"Use another id for what they ask today; to be told the old answer, ask {told}.",
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


def kept(prepared: PreparedQuery[Any, Any], answer: Answer) -> bytes:
    """An answer as the ledger keeps it."""
    return encode_columns(*prepared.pack(answer))


def _changes(question: Any) -> str:
    """What the same words meant before, for an id that is refused as another question's."""
    parts = (question, *getattr(question, "questions", ()))
    told = dict.fromkeys(getattr(part, "changed", "") for part in parts)
    return "".join(f"{one} " for one in told if one)


def told_again(
    question: Question[Result], prepared: PreparedQuery[Any, Result], stored: StoredRelease
) -> Result:
    """The stored answer as a release that says so. The data are not read.

    Errors: ReleaseExistsError if nothing says which question it answers, or if it is of 0.1.
    """
    facts = {"release_id": stored.release_id, "number": stored.number, "drawn": stored.time}
    if not holds_columns(stored.payload):
        raise ReleaseExistsError(
            f"The release stored under the id {stored.release_id!r} is of onesided 0.1, whose "
            "answers are not told again: some of its questions meant something else.",
            hint="Its charge counts in every total. Use another id, or the copy that you saved.",
            state="other",
            **facts,
        )
    if stored.question is None:
        raise ReleaseExistsError(
            f"The release stored under the id {stored.release_id!r} is an answer to another "
            "question.",
            hint=f"{_changes(question)}Ask exactly the same again, or use another id.",
            state="other",
            **facts,
        )
    packed = prepared.unpack(decode_columns(stored.payload))
    release: Any = prepared.result(packed, stored.number)
    return replace(release, told_again=True, drawn=stored.time)  # type: ignore[no-any-return]


def with_left(release: Result, account: Account) -> Result:
    """The release, with what its account had left after it, if that can be read.

    It is charged and stored by then: an answer is not lost for a line on its card.
    """
    if not isinstance(release, Release) or release.entry is None:
        return release
    try:
        left = account.left_after(release.entry)
        return replace(release, left=left, left_at=at_delta(account))
    except LedgerError:
        return release


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
