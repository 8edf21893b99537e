"""Pages that need no account: the first page, what was published, and the files of the look."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from onesided_service._doors import service_of
from onesided_service._errors import not_found
from onesided_service._look import FILES, static_text
from onesided_service._page_kit import PageRoute, page, reader_of
from onesided_service._page_words import parts_of
from onesided_service._people import CURATOR
from onesided_service._views import ReleaseView

router = APIRouter(
    route_class=PageRoute, include_in_schema=False, default_response_class=HTMLResponse
)
_LATEST: Final = 6
_FOR_EVER: Final = "public, max-age=31536000, immutable"


@router.get("/static/{name}")
async def static(name: str) -> Response:
    """A style sheet, script or icon; its address changes with its text."""
    if name not in FILES:
        raise not_found()
    headers = {"Cache-Control": _FOR_EVER}
    return Response(static_text(name), media_type=FILES[name][1], headers=headers)


@router.get("/")
async def home(request: Request) -> Response:
    """Datasets of the reader, live monitors, and what was published last."""
    service, reader = service_of(request), await reader_of(request)
    person = reader.person

    def listed() -> list[dict[str, Any]]:
        if person is None:
            return []
        return [
            {
                "name": one.name,
                "title": one.title,
                "open": one.open,
                "curator": person.may(CURATOR, one.name),
            }
            for one in service.datasets.values()
            if person.sees(one.name)
        ]

    return await page(
        request,
        "home.html",
        datasets=await service.run(listed),
        monitors=list(service.config.monitors.values()),
        published=(await service.run(service.publishing.all))[:_LATEST],
    )


@router.get("/published")
async def published(request: Request) -> Response:
    """All that was published."""
    service = service_of(request)
    every = await service.run(service.publishing.all)
    return await page(request, "published.html", published=every)


@router.get("/published/{name}")
async def release(request: Request, name: str) -> Response:
    """A published release with its picture, table and certificate."""
    service = service_of(request)
    found = await service.run(service.publishing.one, name)
    views = await service.run(lambda: [ReleaseView.of(one) for one in parts_of(found.text)])
    return await page(request, "release.html", published=found, releases=views)
