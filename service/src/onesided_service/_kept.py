"""Questions that an analyst keeps, to price them together and to ask them at once."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import delete, insert, select

from onesided.errors import ParameterError
from onesided.store import now
from onesided_service._store import State, kept

MOST: Final = 32


class Kept:
    """The questions that people keep of a dataset. Nothing is charged for keeping one.

    >>> state = State.open(None)
    >>> questions = Kept(state)
    >>> name = questions.add("ann", "visits", '{"version": 2, "question": "Count", "fields": {}}')
    >>> together(questions.of("ann", "visits"))["question"]["fields"]["questions"]
    [{'question': 'Count', 'fields': {}}]
    >>> questions.of("bob", "visits")
    []
    """

    def __init__(self, state: State) -> None:
        self._state = state

    def add(self, person: str, dataset: str, question: str) -> str:
        """Keep a question, as JSON; by what name. Errors: ParameterError beyond :data:`MOST`."""
        own = {"person": person, "dataset": dataset}
        name = secrets.token_hex(8)
        with self._state.write() as connection:
            query = select(kept.c.id).where(*_own(person, dataset))
            if len(connection.execute(query).all()) >= MOST:
                raise ParameterError(
                    f"Your list has {MOST} questions, as many as it may have.",
                    hint="Remove one first.",
                )
            row = {"id": name, **own, "question": question, "time": now()}
            connection.execute(insert(kept).values(**row))
        return name

    def of(self, person: str, dataset: str) -> list[Mapping[str, Any]]:
        """A person's own, the first first."""
        query = select(kept).where(*_own(person, dataset))
        return self._state.all(query.order_by(kept.c.time, kept.c.id))

    def remove(self, person: str, dataset: str, id: str) -> bool:  # noqa: A002
        """Keep one no longer; whether it was there."""
        return self._state.run(delete(kept).where(*_own(person, dataset), kept.c.id == id)) > 0


def _own(person: str, dataset: str) -> tuple[Any, Any]:
    return kept.c.person == person, kept.c.dataset == dataset


def together(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The body of a request that asks them all, under one charge."""
    parts = [json.loads(row["question"]) for row in rows]
    for one in parts:
        del one["version"]
    several = {"version": 2, "question": "Several", "fields": {"questions": parts}}
    return {"question": several}
