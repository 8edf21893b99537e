"""Releases that everybody may read: copies of answers, with a title, under an address."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import delete, insert, select, update

from onesided.session import Release, release_from_json
from onesided.store import now
from onesided_service._asking import Ask
from onesided_service._border import plain_line
from onesided_service._datasets import Dataset
from onesided_service._errors import ServiceError, not_found
from onesided_service._people import CURATOR, Person
from onesided_service._store import State, logged, published, put_if_absent, withdrawn

MOST: Final = 1000
_LONGEST: Final = 200
_READ: Final = (
    select(published)
    .where(published.c.id.not_in(select(withdrawn.c.id)))
    .order_by(published.c.time.desc())
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A release as the public reads it. text: its JSON (docs/json.md)."""

    id: str
    dataset: str
    title: str
    time: str
    text: str

    @property
    def release(self) -> Release:
        """The release, read back."""
        return release_from_json(self.text)


class Publishing:
    """The published releases, in the service's state."""

    def __init__(self, state: State) -> None:
        self._state = state

    def publish(self, person: Person, ask: Ask, dataset: Dataset, title: object) -> str:
        """Publish an answer that was told; the same answer again is the same address.

        The curator may publish every answer of the dataset; an analyst their own, where the
        curator allows it and did not withdraw it. Errors: ServiceError; ParameterError for a
        title that is no text on one line.
        """
        if not (
            person.may(CURATOR, dataset.name)
            or (dataset.config.analysts_publish and ask.person == person.name)
        ):
            raise ServiceError(403, "Forbidden", "The curator publishes this dataset's releases.")
        name = plain_line(title, name="title", empty=False)
        if len(name) > _LONGEST:
            raise ServiceError(422, "ParameterError", f"A title has at most {_LONGEST} characters.")
        row = {
            "id": secrets.token_hex(8),
            "ask": ask.id,
            "dataset": dataset.name,
            "person": person.name,
            "title": name,
            "time": now(),
            "release": ask.answer,
        }
        with self._state.write() as connection:
            query = select(published.c.id).where(published.c.ask == ask.id)
            address = connection.execute(query).scalar()
            again = delete(withdrawn).where(withdrawn.c.id == address)
            if address is None:
                connection.execute(insert(published).values(**row))
            elif connection.execute(again).rowcount:
                if not person.may(CURATOR, dataset.name):
                    raise ServiceError(
                        403,
                        "Forbidden",
                        "A curator withdrew this release.",
                        hint="A curator alone publishes it again.",
                    )
                own = published.c.id == address
                connection.execute(update(published).where(own).values(title=name, time=now()))
            else:
                return str(address)
            found = str(address or row["id"])
            told = {"subject": found, "text": name}
            logged(connection, "publish", by=person.name, dataset=dataset.name, **told)
            return found

    def withdraw(self, id: str, dataset: str, reason: object, *, by: str) -> None:  # noqa: A002
        """Let nobody read a release any more; what was copied stays out there. Twice is fine.

        Errors: ServiceError for no release of this dataset; ParameterError for a reason that is no
        text.
        """
        why = plain_line(reason, name="reason")[:_LONGEST]
        own = published.c.id == id, published.c.dataset == dataset
        with self._state.write() as connection:
            if connection.execute(select(published.c.id).where(*own)).scalar() is None:
                raise not_found()
            if put_if_absent(connection, withdrawn, {"id": id, "time": now(), "reason": why}):
                logged(connection, "withdraw", by=by, dataset=dataset, subject=id, text=why)

    def of(self, ask: Ask) -> str:
        """The address of a published answer; "" where it was not published."""
        row = self._state.one(_READ.where(published.c.ask == ask.id))
        return "" if row is None else str(row["id"])

    def asks(self, dataset: str) -> set[str]:
        """The asks of a dataset whose answers everybody reads."""
        rows = self._state.all(_READ.where(published.c.dataset == dataset))
        return {str(row["ask"]) for row in rows}

    def all(self, dataset: str | None = None) -> list[Published]:
        """The latest first, of one dataset or of all."""
        query = _READ if dataset is None else _READ.where(published.c.dataset == dataset)
        return [_of(row) for row in self._state.all(query.limit(MOST))]

    def one(self, id: str) -> Published:  # noqa: A002 - its public name
        """Errors: ServiceError."""
        row = self._state.one(select(published).where(published.c.id == id))
        if row is None:
            raise not_found()
        gone = self._state.one(select(withdrawn).where(withdrawn.c.id == id))
        if gone is not None:
            why = f" Why: {gone['reason']}" if gone["reason"] else ""
            message = f"This release was withdrawn on {gone['time'][:10]}.{why}"
            raise ServiceError(410, "Withdrawn", message)
        return _of(row)


def _of(row: Mapping[str, Any]) -> Published:
    names = ("id", "dataset", "title", "time")
    return Published(text=row["release"], **{name: row[name] for name in names})
