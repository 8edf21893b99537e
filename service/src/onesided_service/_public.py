"""The HTTP API for everybody: published releases and live monitors, without an account."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request, Response

from onesided_service._doors import json_of, person_of, service_of
from onesided_service._errors import ServiceError, not_found
from onesided_service._monitors import LiveMonitor
from onesided_service._people import Person
from onesided_service._published import Published

router = APIRouter(prefix="/api/v1")
Known = Annotated[Person, Depends(person_of)]
_FRESH: Final = "public, max-age=0, must-revalidate"


@router.get("/published")
async def published(request: Request) -> Any:
    """All published releases, the latest first."""
    service = service_of(request)
    return [_line(one) for one in await service.run(service.publishing.all)]


@router.get("/published/{id}.csv")
async def published_csv(request: Request, id: str, part: int = 1) -> Response:  # noqa: A002
    """One answer of a published release as CSV."""
    service = service_of(request)
    found = await service.run(service.publishing.one, id)
    text = await service.run(found.csv, part)
    return conditional(request, text.encode(), "text/csv; charset=utf-8", file=f"{id}.csv")


@router.get("/published/{id}.json")
async def published_json(request: Request, id: str) -> Response:  # noqa: A002
    """A published release as JSON (docs/json.md)."""
    service = service_of(request)
    found = await service.run(service.publishing.one, id)
    return conditional(request, found.text.encode(), "application/json", file=f"{id}.json")


@router.get("/published/{id}")
async def one_published(request: Request, id: str) -> Response:  # noqa: A002
    """A published release with its title."""
    service = service_of(request)
    found = await service.run(service.publishing.one, id)
    head = json.dumps(_line(found), ensure_ascii=False, separators=(",", ":"))
    body = f'{head[:-1]},"release":{found.text}}}'
    return conditional(request, body.encode(), "application/json")


@router.get("/monitors")
async def monitors(request: Request) -> Any:
    """All live monitors."""
    every = service_of(request).monitors.values()
    return [{"name": one.name, "title": one.title} for one in every]


@router.get("/monitors/{name}")
async def monitor(request: Request, name: str) -> Response:
    """The latest statuses; with If-None-Match, 304 as long as nothing changed."""
    service = service_of(request)
    found = _monitor(request, name)
    told = await service.run(found.document)
    body = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    return conditional(request, body.encode(), "application/json")


@router.post("/monitors/{name}/batches")
async def batches(request: Request, name: str, person: Known) -> Any:
    """Hand a batch to a monitor, once; the same batch again gives the same answer again."""
    service, found = service_of(request), _monitor(request, name)
    if not found.may_send(person):
        raise ServiceError(403, "Forbidden", "You are no sender of this monitor.")
    return await service.run(found.send, await json_of(request))


def conditional(request: Request, body: bytes, kind: str, *, file: str = "") -> Response:
    """A body with its tag; 304 without one for who has it."""
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": _FRESH}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if file:
        headers["Content-Disposition"] = f'attachment; filename="{file}"'
    return Response(body, media_type=kind, headers=headers)


def _monitor(request: Request, name: str) -> LiveMonitor:
    found = service_of(request).monitors.get(name)
    if found is None:
        raise not_found()
    return found


def _line(one: Published) -> dict[str, Any]:
    return {"id": one.id, "dataset": one.dataset, "title": one.title, "time": one.time}
