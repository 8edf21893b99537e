"""The HTTP API for curators: notes, the ledger, reopening; and publishing."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request

from onesided.errors import OnesidedError
from onesided.numbers import text
from onesided_service._datasets import Dataset
from onesided_service._doors import json_of, person_of, service_of
from onesided_service._errors import ServiceError, not_found
from onesided_service._people import CURATOR, EVERY, Person
from onesided_service._service import Service

router = APIRouter(prefix="/api/v1")
Known = Annotated[Person, Depends(person_of)]
MOST: Final = 1000


@router.post("/asks/{id}/publish")
async def publish(request: Request, id: str, person: Known) -> Any:  # noqa: A002
    """Publish an answer that was told, under a title."""
    service, body = service_of(request), await json_of(request)
    if not isinstance(body, dict) or set(body) != {"title"}:
        raise ServiceError(422, "ParameterError", 'Send {"title": "..."}.')
    return {"published": await service.run(published_as, service, person, id, body["title"])}


@router.get("/datasets/{name}/notes")
async def notes(request: Request, name: str, person: Known) -> Any:
    """Why the dataset was closed, the latest first. For the curator, not for publication."""
    service = service_of(request)
    return await service.run(curated(service, name, person).notes)


@router.get("/datasets/{name}/ledger")
async def ledger(request: Request, name: str, person: Known) -> Any:
    """The latest entries of the dataset's ledger, with who was charged."""
    service = service_of(request)
    found = curated(service, name, person)
    return await service.run(entries, found)


@router.get("/datasets/{name}/people")
async def everybody(request: Request, name: str, person: Known) -> Any:
    """Who may ask of the dataset, what they spent of it, and what is left to them."""
    service = service_of(request)
    found = curated(service, name, person)
    return await service.run(people_of, service, found)


@router.post("/datasets/{name}/reopen")
async def reopen(request: Request, name: str, person: Known) -> Any:
    """Open a dataset that was closed, if its file is the one that was checked."""
    service = service_of(request)
    found = curated(service, name, person)
    try:
        await service.run(found.reopen)
    except OnesidedError as error:
        raise ServiceError(409, type(error).__name__, error.reason, hint=error.hint) from error
    return {"name": found.name, "open": True}


def curated(service: Service, name: str, person: Person) -> Dataset:
    """A dataset for its curator. Errors: ServiceError."""
    found = service.dataset(name, person)
    if not person.may(CURATOR, name):
        raise ServiceError(403, "Forbidden", "This is for the curator.")
    return found


def published_as(service: Service, person: Person, id: str, title: object) -> str:  # noqa: A002
    """The address of an answer that is now published. Errors: ServiceError; ParameterError."""
    ask = service.asking.found(id)
    dataset = service.dataset(ask.dataset, person)
    if ask.person != person.name and not person.may(CURATOR, dataset.name):
        raise not_found()
    if not ask.answer or service.clock.now() < ask.due:
        raise ServiceError(409, "NotTold", "This answer was not told yet.", hint="Try again later.")
    return service.publishing.publish(person, ask, dataset, title)


def entries(found: Dataset) -> list[dict[str, Any]]:
    """The ledger's latest entries as JSON."""
    return [
        {
            "number": one.number,
            "time": one.time,
            "who": one.who,
            "kind": one.kind,
            "ask": one.release_id,
            "label": one.label,
            "epsilon": {edge: text(loss) for edge, loss in one.epsilon.items()},
            "delta": {edge: text(loss) for edge, loss in one.delta.items()},
        }
        for one in reversed(found.session().ledger.entries(last=MOST))
    ]


def people_of(service: Service, found: Dataset) -> list[dict[str, Any]]:
    """Everybody with a role in the dataset, as JSON. left: of the allowance, or of the budget."""
    account = found.session().account
    remaining, told = account.remaining, []
    for row in service.people.list():
        person = Person(
            name=row["person"], roles={key: frozenset(held) for key, held in row["roles"].items()}
        )
        held = {role for key in (found.name, EVERY) for role in person.roles.get(key, ())}
        if not held:
            continue
        mine = account.allowed(service.asking.allowance(person, found))
        left = {edge: min(some, remaining[edge]) for edge, some in mine.remaining.items()}
        told.append(
            {
                "person": person.name,
                "roles": sorted(held),
                "token_until": row["expires"],
                "questions": mine.releases,
                "spent": {edge: text(some) for edge, some in mine.spent.items()},
                "left": {edge: text(max(some, Fraction(0))) for edge, some in left.items()},
            }
        )
    return told
