"""The HTTP API, version 1."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse

from onesided.numbers import text
from onesided.session import release_to_json
from onesided_service._asking import Ask
from onesided_service._border import SQL_FIELDS, asked_in
from onesided_service._clock import text_of
from onesided_service._datasets import Dataset
from onesided_service._doors import json_of, person_of, service_of
from onesided_service._errors import ServiceError
from onesided_service._people import CURATOR, Person
from onesided_service._plans import plan_document
from onesided_service._preview import previewed_as_one
from onesided_service._service import Service

router = APIRouter(prefix="/api/v1")
# What the description says of a body; what is read is closed, and checked by hand.
_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "oneOf": [
                        {
                            "type": "object",
                            "properties": {"question": {"type": "object"}},
                            "required": ["question"],
                        },
                        {
                            "type": "object",
                            "properties": {
                                "sql": {"type": "string"},
                                **{name: {} for name in SQL_FIELDS},
                            },
                            "required": ["sql"],
                        },
                    ]
                }
            }
        },
    }
}
Known = Annotated[Person, Depends(person_of)]


@router.get("/me")
async def me(person: Known) -> Any:
    """Who the token says you are, and what you may do."""
    return {"person": person.name, "roles": person.told()}


@router.get("/datasets")
async def datasets(request: Request, person: Known) -> Any:
    """The datasets that you may see."""
    service = service_of(request)

    def listed() -> list[dict[str, Any]]:
        return [
            {"name": one.name, "title": one.title, "open": one.open}
            for one in service.datasets.values()
            if person.sees(one.name)
        ]

    return await service.run(listed)


@router.get("/datasets/{name}")
async def dataset(request: Request, name: str, person: Known) -> Any:
    """What is public about a dataset, and what you may still spend."""
    service = service_of(request)
    found = service.dataset(name, person)
    return await service.run(described, service, found, person)


@router.post("/datasets/{name}/plan", openapi_extra=_BODY)
async def plan(request: Request, name: str, person: Known) -> Any:
    """What a question would cost and give. Free; looks at no row."""
    service, body = service_of(request), await json_of(request)
    found = service.dataset(name, person)
    return await service.free(person, planned, service, found, body)


@router.post("/datasets/{name}/preview", openapi_extra=_BODY)
async def preview(request: Request, name: str, person: Known) -> Any:
    """The same question of made-up rows of the schema: free, and about nobody."""
    service, body = service_of(request), await json_of(request)
    found = service.dataset(name, person)
    return await service.free(person, previewed, found, body)


@router.post("/datasets/{name}/ask", openapi_extra=_BODY)
async def ask(request: Request, name: str, person: Known) -> Any:
    """Ask a question: charged first, answered at the public clock's tick."""
    service, body = service_of(request), await json_of(request)
    found = service.dataset(name, person)
    asked = await service.ask(person, found, body)
    if "respond-async" in request.headers.get("prefer", ""):
        return JSONResponse({"ask": asked.id, "due": text_of(asked.due)}, status_code=202)
    return told(await service.told(asked, found))


@router.get("/asks/{id}")
async def one_ask(request: Request, id: str, person: Known) -> Any:  # noqa: A002
    """Your own ask: "due", or "told" with its release. A charged ask can always be read again."""
    service = service_of(request)
    asked = await service.run(service.asking.found, id)
    found = service.dataset(asked.dataset, person)
    asked = await service.run(lambda: service.asking.of(person, id, dataset=found))
    if not asked.charged:
        raise ServiceError(409, "NotCharged", "This question was not charged.", hint="Ask again.")
    asked = await service.resumed(asked, found)
    if not asked.answer or service.clock.now() < asked.due:
        return {"ask": asked.id, "state": "due", "due": text_of(asked.due)}
    return {"state": "told", "due": text_of(asked.due), **json.loads(bytes(told(asked).body))}


@router.get("/datasets/{name}/asks")
async def history(request: Request, name: str, person: Known) -> Any:
    """Your own asks, the latest first; the curator sees everybody's questions, not answers."""
    service = service_of(request)
    found = service.dataset(name, person)
    everybody = person.may(CURATOR, name)
    rows = await service.run(lambda: service.asking.history(person, found, everybody=everybody))
    return [line(one) for one in rows]


def told(asked: Ask) -> Response:
    """An answer as it was kept, byte for byte."""
    body = f'{{"ask":{json.dumps(asked.id)},"release":{asked.answer}}}'
    return Response(body.encode(), media_type="application/json")


def line(asked: Ask) -> dict[str, Any]:
    """An ask in a list."""
    return {
        "ask": asked.id,
        "person": asked.person,
        "id": asked.name,
        "asked": asked.asked,
        "due": text_of(asked.due),
        "charged": asked.charged,
        "question": json.loads(asked.question),
    }


def planned(service: Service, found: Dataset, body: object) -> dict[str, Any]:
    """A plan as JSON. Errors: as the library's, from public facts alone."""
    session = found.session()
    question, _ = asked_in(body, session, cells=found.config.cells)
    return plan_document(session.plan(question), question, found, service.clock)


def previewed(found: Dataset, body: object) -> dict[str, Any]:
    """An answer about made-up rows as JSON. Errors: as :func:`planned`."""
    question, _ = asked_in(body, found.session(), cells=found.config.cells)
    release = previewed_as_one(question, schema=found.schema, policy=found.policy)
    return {"made_up": True, "release": json.loads(release_to_json(release))}


def described(service: Service, found: Dataset, person: Person) -> dict[str, Any]:
    """A dataset as JSON."""
    facts: dict[str, Any] = {
        "name": found.name,
        "title": found.title,
        "open": found.open,
        "policy": {
            "name": found.policy.name,
            "toml": found.policy.to_toml(),
            "words": found.policy.explain().splitlines(),
        },
        "unit": found.schema.unit,
        "schema": {
            "toml": found.schema.to_toml(),
            "columns": columns_of(found),
            "max_rows": found.schema.max_rows,
        },
        "declared_rows": found.config.declared_rows,
        "refills": found.config.refills,
    }
    return facts | spending(service, found, person)


def spending(service: Service, found: Dataset, person: Person) -> dict[str, Any]:
    """What was spent and is left, by everybody and by the person."""
    session = found.session()
    standing = session.account.standing()
    allowance = service.asking.allowance(person, found)
    mine = session.account.allowed(allowance)
    return {
        "budget": {edge: text(some) for edge, some in session.account.budget.items()},
        "spent": {edge: text(some) for edge, some in standing.spent.items()},
        "remaining": {edge: text(some) for edge, some in standing.remaining.items()},
        "delta_remaining": {edge: text(some) for edge, some in standing.delta_remaining.items()},
        "allowance_spent": {edge: text(some) for edge, some in mine.spent.items()},
        "allowance_left": {
            edge: text(min(some, standing.remaining[edge])) for edge, some in mine.remaining.items()
        },
        "allowance_since": allowance.since,
    }


def columns_of(found: Dataset) -> dict[str, dict[str, Any]]:
    """The declared columns by name, as public as these."""
    return {
        name: {
            "type": one.type,
            "bounds": None if one.bounds is None else [str(end) for end in one.bounds],
            "step": None if one.step is None else text(one.step),
            "keys": None if one.keys is None or isinstance(one.keys, str) else len(one.keys),
            "about": one.about,
        }
        for name, one in found.schema.columns.items()
    }
