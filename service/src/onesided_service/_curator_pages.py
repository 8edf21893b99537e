"""The curator's page: state, charges, notes; and the one button that reopens a dataset."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse

from onesided.numbers import INFINITE, text
from onesided_service._curator import curated, entries, people_of
from onesided_service._datasets import Dataset
from onesided_service._doors import service_of
from onesided_service._page_kit import PageRoute, own_form_of, page, person_of_page, see
from onesided_service._page_words import dataset_view
from onesided_service._people import Person
from onesided_service._service import Service

router = APIRouter(
    route_class=PageRoute, include_in_schema=False, default_response_class=HTMLResponse
)
SignedIn = Annotated[Person, Depends(person_of_page)]
_MOST: Final = 200


@router.get("/curator/{name}")
async def curator_page(request: Request, name: str, person: SignedIn) -> Response:
    """What the curator alone sees."""
    service = service_of(request)
    found = curated(service, name, person)
    words = await service.run(_words, service, found, person)
    return await page(request, "curator.html", error=None, **words)


@router.post("/curator/{name}/reopen")
async def reopen(request: Request, name: str) -> Response:
    """Open the dataset again, if its file is still the one that was checked."""
    person, _ = await own_form_of(request)
    service = service_of(request)
    found = curated(service, name, person)
    await service.run(found.reopen)
    return see(f"/curator/{found.name}")


def _words(service: Service, found: Dataset, person: Person) -> dict[str, Any]:
    charges = [one for one in entries(found) if one["kind"] == "spend"]
    return {
        "dataset": dataset_view(service, found, person),
        "notes": found.notes(),
        "people": [
            {
                **one,
                "roles": ", ".join(one["roles"]),
                "spent": max(one["spent"].values(), key=_size, default="0"),
                "left": min(one["left"].values(), key=_size, default="0"),
            }
            for one in people_of(service, found)
        ],
        "charges": [
            {**one, "epsilon": max(one["epsilon"].values(), key=_size, default="0")}
            for one in charges[:_MOST]
        ],
    }


def _size(amount: str) -> float:
    return math.inf if amount == text(INFINITE) else float(Fraction(amount))
