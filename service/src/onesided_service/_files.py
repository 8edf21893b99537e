"""Answers as files: CSV, a spreadsheet, a picture, JSON; published, or the asker's own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from fastapi import APIRouter, Request, Response

from onesided.errors import OnesidedError
from onesided.session import Release, release_from_json, release_to_json
from onesided.show import svg_text
from onesided_service._api import Described, Known, conditional
from onesided_service._doors import service_of
from onesided_service._errors import ServiceError, not_found
from onesided_service._page_kit import PageRoute, SignedIn
from onesided_service._people import Person

api = APIRouter(prefix="/api/v1", route_class=Described)
pages = APIRouter(route_class=PageRoute, include_in_schema=False)
_WIDE: Final = 720


def _csv(release: Release) -> bytes:
    return release.table.csv().encode()


def _sheet(release: Release) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        release.write_into(Path(folder), ["xlsx"])
        return Path(folder, "release.xlsx").read_bytes()


def _picture(release: Release) -> bytes:
    """Errors: ServiceError where there is none."""
    try:
        return svg_text(release.chart(), width=_WIDE).encode()
    except OnesidedError:
        raise not_found() from None


def _json(release: Release) -> bytes:
    return release_to_json(release).encode()


# What each ending holds of one answer: in words, as what it is sent, and how it is made.
KINDS: Final[Mapping[str, tuple[str, str, Callable[[Release], bytes]]]] = {
    "csv": ("as CSV", "text/csv; charset=utf-8", _csv),
    "json": ("as JSON (docs/json.md)", "application/json", _json),
    "xlsx": (
        "as a spreadsheet, with what it is about",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        _sheet,
    ),
    "svg": ("as a picture", "image/svg+xml", _picture),
}


@lru_cache(maxsize=16)  # answers do not change
def made(text: str, kind: str, part: int) -> bytes:
    """One of the answers that were charged as one, as a file; 0: of all, or of the only one.

    Errors: ServiceError where there is none, or part must say which.
    """
    found = release_from_json(text).releases
    if part == 0 and kind == "json":
        return text.encode()
    if part == 0 and len(found) > 1:
        raise ServiceError(
            422,
            "ParameterError",
            f"This holds {len(found)} answers, each with a file of its own.",
            hint=f"Say which: ?part=1 to ?part={len(found)}.",
            parts=len(found),
        )
    if not 0 <= part <= len(found):
        raise not_found()
    return KINDS[kind][2](found[max(part, 1) - 1])


async def _own(request: Request, id: str, person: Person, kind: str, part: int) -> Response:  # noqa: A002
    service = service_of(request)
    body = await service.run(made, (await service.read(person, id)).answer, kind, part)
    headers = {"Content-Disposition": f'attachment; filename="{_name(id, kind, part)}"'}
    return Response(body, media_type=KINDS[kind][1], headers=headers)


def _name(id: str, kind: str, part: int) -> str:  # noqa: A002
    return f"{id}-{part}.{kind}" if part else f"{id}.{kind}"


def _add(kind: str) -> None:
    words = KINDS[kind][0]

    async def published(request: Request, id: str, part: int = 0) -> Response:  # noqa: A002
        service = service_of(request)
        found = await service.run(service.publishing.one, id)
        body = await service.run(made, found.text, kind, part)
        name = "" if kind == "svg" else _name(id, kind, part)  # which stands in pages
        return conditional(request, body, KINDS[kind][1], file=name)

    async def own(request: Request, id: str, person: Known, part: int = 0) -> Response:  # noqa: A002
        return await _own(request, id, person, kind, part)

    async def shown(request: Request, id: str, person: SignedIn, part: int = 0) -> Response:  # noqa: A002
        return await _own(request, id, person, kind, part)

    told = f"One answer of a published release {words}; part: which, of several."
    api.add_api_route(f"/published/{{id}}.{kind}", published, summary=told, description=told)
    mine = f"One of your own answers {words}; part: which, of several."
    api.add_api_route(f"/asks/{{id}}.{kind}", own, summary=mine, description=mine)
    pages.add_api_route(f"/asks/{{id}}.{kind}", shown)


for _kind in KINDS:
    _add(_kind)
