"""What was published, for everybody: gallery, releases and feed; and answers as files."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

from fastapi import APIRouter, Request, Response

from onesided.errors import OnesidedError
from onesided.session import Release, release_from_json, release_to_json
from onesided.show import svg_text
from onesided_service._api import Described, conditional
from onesided_service._doors import Known, service_of
from onesided_service._errors import ServiceError, not_found
from onesided_service._monitor_pages import status_of
from onesided_service._page_kit import PageRoute, SignedIn, page, pages_router
from onesided_service._pages import shown
from onesided_service._people import Person
from onesided_service._published import Published
from onesided_service._service import Service

router = pages_router()
EACH: Final = 10  # releases of one page of the gallery
_FED: Final = 50
_NO_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CARD: Final = 540


@router.get("/published")
async def gallery(request: Request, number: int = 1) -> Response:
    """What was published, each with its statement and picture, and what monitors say now."""
    service = service_of(request)

    def words() -> dict[str, Any]:
        every = service.publishing.all()
        last = max(1, -(-len(every) // EACH))
        if not 1 <= number <= last:
            raise not_found()
        some = every[(number - 1) * EACH : number * EACH]
        return {
            "published": [(one, views_of(one.text)) for one in some],
            "number": number,
            "last": last,
            "monitors": [status_of(one) for one in service.monitors.values()],
        }

    return await page(request, "published.html", **await service.run(words))


@router.get("/published/{name}")
async def release(request: Request, name: str) -> Response:
    """A published release with its statement, picture, table and certificate."""
    return await page(request, "release.html", **await _words(request, name))


@router.get("/published/{name}/embed")
async def embedded(request: Request, name: str) -> Response:
    """The same in short, to stand in a frame of another page."""
    return await page(request, "release_embed.html", **await _words(request, name))


async def _words(request: Request, name: str) -> dict[str, Any]:
    service = service_of(request)

    def words() -> dict[str, Any]:
        found = service.publishing.one(name)
        releases = views_of(found.text)
        address = f"{service.config.address}/published/{found.id}"
        return {"published": found, "releases": releases, "address": address}

    return await service.run(words)


@router.get("/published.atom")
async def feed(request: Request) -> Response:
    """What was published last, for readers of feeds."""
    service = service_of(request)
    body = await service.run(_atom, service)
    return conditional(request, body.encode(), "application/atom+xml")


@lru_cache(maxsize=64)  # what is published does not change
def views_of(text: str) -> tuple[dict[str, Any], ...]:
    """What pages show of a published release."""
    return tuple(map(_small, release_from_json(text).releases))


def _small(release: Release) -> dict[str, Any]:
    """As pages show it, with a picture for cards."""
    told = shown(release)
    if told["picture"] is None:
        return {**told, "card": None}
    wide = svg_text(release.chart(), width=_CARD, words=False)
    return {**told, "card": (wide, told["picture"][1])}


def _atom(service: Service) -> str:
    every, at = service.publishing.all()[:_FED], f"{service.config.address}/published"
    latest = every[0].time if every else "1970-01-01T00:00:00+00:00"
    entries = "".join(_entry(one, f"{at}/{one.id}") for one in every)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f"<title>{_xml(service.config.title)}</title>\n<id>{_xml(at)}</id>\n"
        f"<updated>{_xml(latest)}</updated>\n<author><name>{_xml(service.config.title)}"
        f"</name></author>\n<link href={quoteattr(at)}/>\n"
        f'<link rel="self" href={quoteattr(at + ".atom")}/>\n{entries}</feed>\n'
    )


def _entry(one: Published, address: str) -> str:
    views = views_of(one.text)
    said = " ".join(w for view in views for w in (*view["release"].warnings, view["asked"]))
    return (
        f"<entry><title>{_xml(one.title)}</title><id>{_xml(address)}</id>"
        f"<updated>{_xml(one.time)}</updated><link href={quoteattr(address)}/>"
        f"<summary>{_xml(said)}</summary></entry>\n"
    )


def _xml(words: str) -> str:
    r"""Words as XML 1.0 holds them: what it has no way to write is left out.

    >>> _xml("a\x1b\uffff < b")
    'a &lt; b'
    """
    return escape(_NO_XML.sub("", words))


# Answers as files: CSV, a spreadsheet, a picture, JSON; published, or the asker's own.

api = APIRouter(prefix="/api/v1", route_class=Described)
files = APIRouter(route_class=PageRoute, include_in_schema=False)
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
    files.add_api_route(f"/asks/{{id}}.{kind}", shown)


for _kind in KINDS:
    _add(_kind)
