"""What a curator does to a dataset: one table, which the API, the page and the log are made from.

Each act is for a curator of that very dataset, is written into the audit log in the transaction
that does it, and does nothing when it is sent twice, except that a token is made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from sqlalchemy import select

from onesided.errors import OnesidedError, ParameterError
from onesided.numbers import text
from onesided.store import plain_text
from onesided_service._border import plain_line
from onesided_service._datasets import Dataset
from onesided_service._errors import ServiceError, not_found
from onesided_service._people import CURATOR, EVERY, Person
from onesided_service._service import Service
from onesided_service._store import State, actions

MOST: Final = 200
_LONGEST: Final = 500
_MOST_DAYS: Final = 3650
Fields = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Something to do: what it needs, and what is told. optional: may be left out or be ""."""

    run: Callable[[Service, Dataset, Person, Fields], dict[str, Any]]
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What it does."""
        return str(self.run.__doc__)

    def read(self, given: object) -> Fields:
        """The fields of a body or a form. Errors: ParameterError."""
        known = (*self.required, *self.optional)
        if not isinstance(given, Mapping) or not set(given) <= set(known):
            named = ", ".join(known) or "no fields"
            raise ParameterError(f"Send an object with {named}.", hint="Each is a text.")
        told = {}
        for name in known:
            value = "" if given.get(name) is None else given[name]
            value = str(value) if isinstance(value, int) else value
            told[name] = plain_line(plain_text(value, name=name).strip(), name=name)[:_LONGEST]
            if name in self.required and not told[name]:
                raise ParameterError(f"The {name} is not filled in.", hint="Fill it in.")
        return told


def add(service: Service, found: Dataset, curator: Person, given: Fields) -> dict[str, Any]:
    """Give a person a role; who is new gets a token, told this once."""
    people, role = service.people, {found.name: [given["role"]]}
    days, name = _days(service, given), given["person"]
    token = people.add(name, role, days=days, by=curator)
    return {"person": name, "token": token or None, **_roles(service, found, name)}


def rotate(service: Service, found: Dataset, curator: Person, given: Fields) -> dict[str, Any]:
    """Revoke a person's tokens and make a new one, told this once."""
    name, days = _here(service, found, given), _days(service, given)
    return {"person": name, "token": service.people.rotate(name, days=days, by=curator)}


def revoke(service: Service, found: Dataset, curator: Person, given: Fields) -> dict[str, Any]:
    """Take away a person's roles in the dataset; their charges stay."""
    if given["person"] == curator.name:
        raise ServiceError(409, "Yourself", "This would lock you out.", hint="Ask another curator.")
    service.people.revoke(given["person"], found.name, by=curator.name)
    return {"person": given["person"], **_roles(service, found, given["person"])}


def allow(service: Service, found: Dataset, curator: Person, given: Fields) -> dict[str, Any]:
    """Set what a person may spend; without epsilon, what the configuration says."""
    name = _here(service, found, given)
    service.people.allow(name, found.name, given["epsilon"] or None, by=curator.name)
    own = service.people.allowed(name, found.name)
    return {"person": name, "allowance": None if own is None else text(own)}


def close(service: Service, found: Dataset, curator: Person, given: Fields) -> dict[str, Any]:  # noqa: ARG001 - one shape
    """Answer nothing more, for a reason that curators alone read."""
    if found.open:
        found.close(f"Closed by {curator.name}: {given['reason']}", by=curator.name)
    return {"name": found.name, "open": False}


def reopen(service: Service, found: Dataset, curator: Person, given: Fields) -> dict[str, Any]:  # noqa: ARG001 - one shape
    """Open it again, if its rows are those that were checked."""
    if not found.open:
        _alone(service, found, lambda: found.reopen(by=curator.name))
    return {"name": found.name, "open": True}


def check(service: Service, found: Dataset, curator: Person, given: Fields) -> dict[str, Any]:  # noqa: ARG001 - one shape
    """Check the rows of a closed dataset anew, and open it."""
    told = _alone(service, found, lambda: found.check(by=curator.name))
    return {"name": found.name, "open": True, **told, "words": found.words_of(told)}


def publish(service: Service, found: Dataset, curator: Person, given: Fields) -> dict[str, Any]:
    """Let everybody read an answer, under a title."""
    if service.asking.found(given["ask"]).dataset != found.name:
        raise not_found()
    return {"published": published_as(service, curator, given["ask"], given["title"])}


def withdraw(service: Service, found: Dataset, curator: Person, given: Fields) -> dict[str, Any]:
    """Let nobody read a release any more; its address says why."""
    service.publishing.withdraw(given["release"], found.name, given["reason"], by=curator.name)
    return {"withdrawn": given["release"]}


ACTS: Final[Mapping[str, Act]] = {
    "people/add": Act(run=add, required=("person", "role"), optional=("days",)),
    "people/rotate": Act(run=rotate, required=("person",), optional=("days",)),
    "people/revoke": Act(run=revoke, required=("person",)),
    "people/allowance": Act(run=allow, required=("person",), optional=("epsilon",)),
    "close": Act(run=close, required=("reason",)),
    "reopen": Act(run=reopen),
    "check": Act(run=check),
    "publish": Act(run=publish, required=("ask", "title")),
    "withdraw": Act(run=withdraw, required=("release",), optional=("reason",)),
}


def log_of(state: State, dataset: str) -> list[dict[str, str]]:
    """What was done to a dataset and by whom, the latest first; by "" for a command."""
    own = select(actions).where(actions.c.dataset.in_((dataset, EVERY)))
    rows = state.all(own.order_by(actions.c.number.desc()).limit(MOST))
    names = ("time", "action", "subject", "text")
    return [{"by": row["person"], **{name: row[name] for name in names}} for row in rows]


def _alone(service: Service, found: Dataset, step: Callable[[], Any]) -> Any:
    """What reads all rows, and so would make questions late, once there are none.

    What failed on the rows is a refusal for the curator, who may read why. Errors: 409.
    """
    with found.turns.alone(now=Fraction(service.clock.now())) as free:
        if found.open or not free:
            hint = "Close it first, and wait for them, or for another check."
            raise ServiceError(409, "Open", "Questions may be under way.", hint=hint)
        try:
            return step()
        except OnesidedError as error:
            raise ServiceError(409, type(error).__name__, error.reason, hint=error.hint) from error


def _here(service: Service, found: Dataset, given: Fields) -> str:
    """The name of somebody with a role here. Errors: ServiceError."""
    person = service.people.named(given["person"])
    if person is None or not {found.name, EVERY} & set(person.roles):
        raise ServiceError(404, "NotFound", "Nobody of this name has a role here.")
    return person.name


def _roles(service: Service, found: Dataset, name: str) -> dict[str, Any]:
    person = service.people.named(name)
    held = {} if person is None else person.roles
    return {"roles": sorted(held.get(found.name, ()))}


def _days(service: Service, given: Fields) -> int:
    """How many days a token holds. Errors: ParameterError."""
    days = given["days"] or str(service.config.token_days)
    if not (days.isascii() and days.isdecimal() and 1 <= int(days[:9]) <= _MOST_DAYS):
        hint = f"Write a whole number from 1 to {_MOST_DAYS:,}."
        raise ParameterError("This is no number of days.", hint=hint, field="days")
    return int(days)


def published_as(service: Service, person: Person, id: str, title: object) -> str:  # noqa: A002
    """The address of an answer that is now published. Errors: ServiceError; ParameterError."""
    ask = service.asking.found(id)
    dataset = service.dataset(ask.dataset, person)
    if ask.person != person.name and not person.may(CURATOR, dataset.name):
        raise not_found()
    if not service.ready(ask):
        raise ServiceError(409, "NotTold", "This answer was not told yet.", hint="Try again later.")
    return service.publishing.publish(person, ask, dataset, title)


def curated(service: Service, name: str, person: Person) -> Dataset:
    """A dataset for its curator. Errors: ServiceError."""
    found = service.dataset(name, person)
    if not person.may(CURATOR, name):
        raise ServiceError(403, "Forbidden", "This is for the curator.")
    return found
