"""A preview: the same question of made-up rows, free of charge. No row of the data is read."""

from __future__ import annotations

from typing import Any, Final

from onesided.policy import Policy
from onesided.schema import Schema
from onesided.session import Release, Session
from onesided_service._made_up import made_up

_MUCH: Final = 10**9


def preview(question: Any, *, schema: Schema, policy: Policy) -> list[Release]:
    """Answers about made-up rows, under a ledger that is forgotten. Errors: as a session's.

    >>> import onesided as od
    >>> schema = od.Schema(unit="person", columns={"age": od.column("integer", bounds=(0, 110))})
    >>> asked = od.Count(where="age >= 18", epsilon=1)
    >>> [one.title for one in preview(asked, schema=schema, policy=od.policy.bounded())]
    ['Number of units (person), where age >= 18']
    """
    release = previewed_as_one(question, schema=schema, policy=policy)
    return list(getattr(release, "releases", (release,)))


def previewed_as_one(question: Any, *, schema: Schema, policy: Policy) -> Any:
    """The same as one release, as a session tells it."""
    session = Session(
        made_up(schema), schema=schema, policy=policy, budget=_MUCH, delta_budget="99/100"
    )
    return session.ask(question)
