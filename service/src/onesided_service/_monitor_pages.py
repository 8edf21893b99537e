"""Live monitors as pages: what holds now, what was said of a place, and the page in a frame."""

from __future__ import annotations

import gzip
import json
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np
from fastapi import Request, Response

from onesided.monitor import MonitorRelease
from onesided.monitor.kit import counted, first_rows, frame, located, places_of, said, shown, titled
from onesided.show import Chart, Lines, drawn_twice
from onesided_service._api import conditional, monitor_of
from onesided_service._doors import service_of
from onesided_service._errors import not_found
from onesided_service._monitors import LiveMonitor
from onesided_service._page_kit import page, pages_router

router = pages_router()
_KEPT: Final[WeakKeyDictionary[LiveMonitor, tuple[bytes, bytes]]] = WeakKeyDictionary()
_MOST_STEPS: Final = 500


@router.get("/monitors/{name}")
async def monitor_page(request: Request, name: str) -> Response:
    """What holds now, for everybody."""
    return await _page(request, name, embedded=False)


@router.get("/monitors/{name}/embed")
async def embedded(request: Request, name: str) -> Response:
    """The same to stand in a frame of another page."""
    return await _page(request, name, embedded=True)


@router.get("/monitors/{name}/state.json")
async def state(request: Request, name: str) -> Response:
    """The latest step in short; with If-None-Match, 304 as long as it is the same."""
    found = monitor_of(request, name)
    body, small = await service_of(request).run(lambda: written(_state(found)))
    return packed(request, body, small)


@router.get("/monitors/{name}/places.json")
async def places(request: Request, name: str) -> Response:
    """The public places, in the order of the states."""
    found = monitor_of(request, name)

    def kept() -> tuple[bytes, bytes]:
        """They never change: they are written once."""
        if found not in _KEPT:
            names = [str(row[0]) for row in found.open().rules.keys.rows]
            most, least = found.config.at_most, found.config.at_least
            _KEPT[found] = written(places_of(names, most, found.positions, alarms=least))
        return _KEPT[found]

    return packed(request, *await service_of(request).run(kept))


@router.get("/monitors/{name}/places/{row}")
async def place(request: Request, name: str, row: int) -> Response:
    """What was said of one place, step by step."""
    found = monitor_of(request, name)
    words = await service_of(request).run(_history, found, row)
    return await page(request, "place.html", **words)


async def _page(request: Request, name: str, *, embedded: bool) -> Response:
    found = monitor_of(request, name)
    words = await service_of(request).run(_words, found)
    own = f"/monitors/{found.name}"
    links = {  # where the page's data are
        "state": f"{own}/state.json",
        "places": f"{own}/places.json",
        "past": f"{own}/places/",
        "steps": "",
        "json": f"/api/v1/monitors/{found.name}",
        "geojson": "" if found.positions is None else f"/api/v1/monitors/{found.name}.geojson",
        "embed": f"{service_of(request).config.address}{own}/embed",
    }
    return await page(request, "monitor.html", **words, links=links, embedded=embedded)


def _words(found: LiveMonitor) -> dict[str, Any]:
    monitor = found.open()
    names = [str(row[0]) for row in monitor.rules.keys.rows]
    more = {"size": len(names), "located": located(found.positions)[2].size, "notes": []}
    return {
        "monitor": {**_named(found), **more, "sentences": monitor.guarantees().sentences},
        "state": counted(_state(found), len(names)),
        "first": first_rows(names, monitor.last),
    }


def _named(found: LiveMonitor) -> dict[str, Any]:
    config = found.config
    return {
        "name": found.name,
        **titled(found.title, config.place, config.at_most, config.window, config.at_least),
    }


def _state(found: LiveMonitor) -> dict[str, Any]:
    monitor = found.open()
    last = monitor.last
    if last is None:
        size = monitor.rules.size
        return {"number": 0, "batch": "", "time": "", "runs": f"{size}r", "values": []}
    return frame(last)


def status_of(found: LiveMonitor) -> dict[str, Any]:
    """How many places a monitor certifies now, and since when."""
    size = found.open().rules.size
    return {**_named(found), "size": size, **counted(_state(found), size)}


def _history(found: LiveMonitor, row: int) -> dict[str, Any]:
    monitor = found.open()
    last = monitor.last
    if not 0 <= row < monitor.rules.size:
        raise not_found()
    after = 0 if last is None else max(0, last.number - _MOST_STEPS)
    steps = list(monitor.history(after=after))
    bounds = {"at most": [step.upper_bounds[row] for step in steps]}
    if found.config.at_least is not None:
        bounds["open, at least"] = [step.lower_bounds[row] for step in steps]
    return {
        "monitor": _named(found),
        "place": str(monitor.rules.keys.rows[row][0]),
        "chart": _chart(steps, bounds) if steps else None,
        "rows": [
            (step.time, *said(step, row), shown(step.lower_bounds[row])) for step in reversed(steps)
        ],
    }


def _chart(steps: list[MonitorRelease], bounds: dict[str, list[int | None]]) -> tuple[str, str]:
    values = {
        name: np.array([np.nan if one is None else one for one in told], dtype=float)
        for name, told in bounds.items()
    }
    times = [step.time.removesuffix("Z").replace("T", " ")[5:16] for step in steps]
    shape = Lines(x=times, y=values, x_name="time", steps=True)
    name = "at most" if len(values) == 1 else "people"
    return drawn_twice(Chart(title="What was said of it", shape=shape, value_name=name))


def written(told: dict[str, Any]) -> tuple[bytes, bytes]:
    """Public facts as JSON, and compressed: 100,000 places are 1 MB."""
    body = json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()
    return body, gzip.compress(body, mtime=0)


def packed(request: Request, body: bytes, small: bytes) -> Response:
    """Public JSON under its tag, compressed for who takes it."""
    answer = conditional(request, body, "application/json")
    answer.headers["Vary"] = "Accept-Encoding"
    if answer.status_code == 200 and "gzip" in request.headers.get("accept-encoding", ""):
        answer.body = small
        answer.headers["Content-Encoding"] = "gzip"
        answer.headers["Content-Length"] = str(len(small))
    return answer
