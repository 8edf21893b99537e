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
from onesided_service._doors import At
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

    run: Callable[[At, Fields], dict[str, Any]]
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


def add(at: At, given: Fields) -> dict[str, Any]:
    """Give a person a role; who is new gets a token, told this once."""
    name, role = given["person"], {at.found.name: [given["role"]]}
    token = at.service.people.add(name, role, days=_days(at, given), by=at.person)
    return {"person": name, "token": token or None, **_roles(at, name)}


def rotate(at: At, given: Fields) -> dict[str, Any]:
    """Revoke a person's tokens and make a new one, told this once."""
    name, days = _here(at, given), _days(at, given)
    return {"person": name, "token": at.service.people.rotate(name, days=days, by=at.person)}


def revoke(at: At, given: Fields) -> dict[str, Any]:
    """Take away a person's roles in the dataset; their charges stay."""
    if (name := given["person"]) == at.person.name:
        raise ServiceError(409, "Yourself", "This would lock you out.", hint="Ask another curator.")
    at.service.people.revoke(name, at.found.name, by=at.person.name)
    return {"person": name, **_roles(at, name)}


def allow(at: At, given: Fields) -> dict[str, Any]:
    """Set what a person may spend; without epsilon, what the configuration says."""
    name, people = _here(at, given), at.service.people
    people.allow(name, at.found.name, given["epsilon"] or None, by=at.person.name)
    own = people.allowed(name, at.found.name)
    return {"person": name, "allowance": None if own is None else text(own)}


def close(at: At, given: Fields) -> dict[str, Any]:
    """Answer nothing more, for a reason that curators alone read."""
    if at.found.open:
        by = at.person.name
        at.found.close(f"Closed by {by}: {given['reason']}", by=by)
    return {"name": at.found.name, "open": False}


def reopen(at: At, _: Fields) -> dict[str, Any]:
    """Open it again, if its rows are those that were checked."""
    if not at.found.open:
        _alone(at, lambda: at.found.reopen(by=at.person.name))
    return {"name": at.found.name, "open": True}


def check(at: At, _: Fields) -> dict[str, Any]:
    """Check the rows of a closed dataset anew, and open it."""
    told = _alone(at, lambda: at.found.check(by=at.person.name))
    return {"name": at.found.name, "open": True, **told, "words": at.found.words_of(told)}


def publish(at: At, given: Fields) -> dict[str, Any]:
    """Let everybody read an answer, under a title."""
    if at.service.asking.found(given["ask"]).dataset != at.found.name:
        raise not_found()
    return {"published": published_as(at.service, at.person, given["ask"], given["title"])}


def withdraw(at: At, given: Fields) -> dict[str, Any]:
    """Let nobody read a release any more; its address says why."""
    release, reason = given["release"], given["reason"]
    at.service.publishing.withdraw(release, at.found.name, reason, by=at.person.name)
    return {"withdrawn": release}


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


def _alone(at: At, step: Callable[[], Any]) -> Any:
    """What reads all rows, and so would make questions late, once there are none.

    What failed on the rows is a refusal for the curator, who may read why. Errors: 409.
    """
    with at.found.turns.alone(now=Fraction(at.service.clock.now())) as free:
        if at.found.open or not free:
            hint = "Close it first, and wait for them, or for another check."
            raise ServiceError(409, "Open", "Questions may be under way.", hint=hint)
        try:
            return step()
        except OnesidedError as error:
            raise ServiceError(409, type(error).__name__, error.reason, hint=error.hint) from error


def _here(at: At, given: Fields) -> str:
    """The name of somebody with a role here. Errors: ServiceError."""
    person = at.service.people.named(given["person"])
    if person is None or not {at.found.name, EVERY} & set(person.roles):
        raise ServiceError(404, "NotFound", "Nobody of this name has a role here.")
    return person.name


def _roles(at: At, name: str) -> dict[str, Any]:
    person = at.service.people.named(name)
    held = {} if person is None else person.roles
    return {"roles": sorted(held.get(at.found.name, ()))}


def _days(at: At, given: Fields) -> int:
    """How many days a token holds. Errors: ParameterError."""
    days = given["days"] or str(at.service.config.token_days)
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
