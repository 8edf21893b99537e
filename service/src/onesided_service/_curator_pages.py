"""The curator's page: what holds, who spent what and when, and what can be done about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final

import numpy as np
from fastapi import Request, Response

from onesided.errors import OnesidedError
from onesided.ledger import Entry
from onesided.numbers import INFINITE, Loss, round_up, text
from onesided.show import Chart, Lines, drawn_twice
from onesided_service._api import entries, people_of
from onesided_service._curation import ACTS, log_of
from onesided_service._datasets import Dataset
from onesided_service._doors import At
from onesided_service._errors import ServiceError, not_found
from onesided_service._page_kit import Filled, Shown, page, pages_router, refused, see
from onesided_service._pages import dataset_view, line_of, size_of
from onesided_service._people import ANALYST, CURATOR, ROLES

router = pages_router()
_MOST_CHARGES: Final = 200
_MOST_DRAWN: Final = 500


@router.get("/curator/{name}")
async def curator_page(request: Request, at: Shown) -> Response:
    """What the curator alone sees and does."""
    return await _curating(request, at.curated())


async def _curating(request: Request, at: At, **more: Any) -> Response:
    words = await at.run(curator_view, at)
    common: dict[str, Any] = {"error": None, "told": None, "me": at.person.name}
    return await page(request, "curator.html", **{**common, **words, **more})


@router.post("/curator/{name}/{path:path}")
async def act(request: Request, path: str, filled: Filled) -> Response:
    """One of the curator's acts; a token that it made is shown by this very response alone."""
    (at, form), act = filled, ACTS.get(path)
    at.curated()
    if act is None:
        raise not_found()
    given = {field: values[0] for field, values in form.items() if field != "csrf"}
    try:
        told = await at.run(lambda: act.run(at, act.read(given)))
    except (ServiceError, OnesidedError) as error:
        return await _curating(request, at, **refused(error))
    if path.startswith("people/") and "token" in told:
        return await _curating(request, at, told=told)
    return see(f"/curator/{at.found.name}")


def curator_view(at: At) -> dict[str, Any]:
    """All that the page shows."""
    service, found = at.service, at.found
    people, charges = people_of(service, found), entries(found)
    told = [
        {**one, "spent": _end(max, one["spent"]), "left": _end(min, one["left"])} for one in people
    ]
    everybody = service.asking.history(at.person, found, everybody=True)
    read = service.publishing.asks(found.name)
    answers = [
        line_of(one, service) | {"by": one.person}
        for one in everybody
        if service.ready(one) and one.id not in read
    ]
    own, done = found.session().account.policy_id, log_of(service.state, found.name)
    each = found.config.allowance
    spent = found.session().ledger.entries(last=_MOST_DRAWN, policy_id=own, kind="spend")
    return {
        "dataset": dataset_view(at),
        "notes": found.notes(),
        "log": done,
        "checked": next((one for one in done if one["action"] == "check"), None),
        "usual": "as much as there is" if each is None else f"ε = {text(each)}",
        "people": told,
        "roles": [ANALYST, CURATOR, *(one for one in ROLES if one not in (ANALYST, CURATOR))],
        "spending": _of_people(spent),
        "history": _of_budget(spent, found),
        "charges": [
            {**one, "epsilon": _end(max, one["epsilon"])}
            for one in charges
            if one["kind"] == "spend"
        ][:_MOST_CHARGES],
        "answers": answers,
        "releases": service.publishing.all(found.name),
    }


def _of_budget(spent: tuple[Entry, ...], found: Dataset) -> tuple[str, str] | None:
    """What was spent on each edge, charge by charge; None before there are any.

    None, too, from where no pure ε holds of all: that is no number to draw.
    """
    if not spent or any(INFINITE in one.total_epsilon.values() for one in spent):
        return None
    edges = [edge.name for edge in found.policy.edges]
    first = spent[0].epsilon
    before = {e: _of(spent[0], e) - round_up(first.get(e, Fraction(0))) for e in edges}
    each = {edge: np.array([before[edge], *(_of(one, edge) for one in spent)]) for edge in edges}
    times = ["before", *(one.time[5:16].replace("T", " ") for one in spent)]
    shape = Lines(x=times, y=each, x_name="charges, in their order", steps=True)
    return drawn_twice(Chart(title="ε spent", shape=shape, value_name="ε spent"))


def _of(one: Entry, edge: str) -> float:
    return round_up(one.total_epsilon.get(edge, Fraction(0)))


def _of_people(spent: tuple[Entry, ...]) -> list[tuple[str, str, float]]:
    """Who spent what on the edge where they spent most, and that share of the largest."""
    totals: dict[str, dict[str, Loss]] = {}
    for one in spent:
        own = totals.setdefault(one.who, {})
        for edge, epsilon in one.epsilon.items():
            own[edge] = own.get(edge, Fraction(0)) + epsilon
    most = {who: max(own.values(), default=Fraction(0)) for who, own in totals.items()}
    finite = [one for one in most.values() if isinstance(one, Fraction)]
    largest = max(finite, default=Fraction(0)) or Fraction(1)
    names = sorted(most, key=most.__getitem__, reverse=True)
    found = [(who, most[who]) for who in names]
    return [
        (who, text(one), float(one / largest)) if isinstance(one, Fraction) else (who, _NONE, 1.0)
        for who, one in found
    ]


_NONE: Final = "no pure ε"


def _end(choose: Callable[..., str], amounts: Mapping[str, str]) -> str:
    """The largest or the least of amounts per edge."""
    return choose(amounts.values(), key=size_of, default="0")
