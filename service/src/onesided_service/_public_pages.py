"""What was published, for everybody: the gallery, each release, its files, and the feed."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

from fastapi import Request, Response

from onesided.session import Release, release_from_json
from onesided.show import svg_text
from onesided_service._api import conditional
from onesided_service._doors import service_of
from onesided_service._errors import not_found
from onesided_service._monitor_pages import status_of
from onesided_service._page_kit import page, pages_router
from onesided_service._pages import shown
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
