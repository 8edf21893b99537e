"""A person's list of questions, asked at once, and answers side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi import APIRouter, Request, Response

from onesided.errors import OnesidedError, ParameterError
from onesided.session import Release, question_from_json, release_from_json, statement_of
from onesided.show import RoleTable, cell_text
from onesided_service._api import ASKED, Described
from onesided_service._datasets import Dataset
from onesided_service._doors import At, Seen, Sent, service_of
from onesided_service._errors import ServiceError, not_found
from onesided_service._kept import together
from onesided_service._page_kit import (
    Filled,
    Form,
    Shown,
    SignedIn,
    first,
    page,
    pages_router,
    refused,
    see,
)
from onesided_service._pages import (
    SHOWN_ROWS,
    charged_once,
    dataset_view,
    epsilon_of,
    line_of,
    priced_body,
    put_on_list,
    shown,
)

router = pages_router()
api = APIRouter(prefix="/api/v1", route_class=Described)
_MOST: Final = 6  # answers on one page


@api.get("/datasets/{name}/list")
async def listed(at: Seen) -> Any:
    """The questions that you keep of a dataset, to ask them together as "Several"."""
    rows = await _rows(at)
    return [{**_line(row, at.found), "question": json.loads(row["question"])} for row in rows]


@api.post("/datasets/{name}/list", openapi_extra=ASKED)
async def keep(at: Seen, body: Sent) -> Any:
    """Keep a question, which costs nothing. What an ask would refuse is refused."""
    return {"id": await put_on_list(at, body)}


@api.delete("/datasets/{name}/list/{id}")
async def remove(at: Seen, id: str) -> Any:  # noqa: A002
    """Keep a question no longer."""
    if not await at.run(at.service.kept.remove, at.person.name, at.found.name, id):
        raise not_found()
    return {"removed": id}


@router.get("/datasets/{name}/list")
async def kept_page(request: Request, at: Shown) -> Response:
    """The questions that a person keeps, and what they cost together."""
    return await _listed(request, at)


async def _listed(request: Request, at: At, **more: Any) -> Response:
    rows = await _rows(at)
    price: dict[str, Any] = {"price": None, "refused": None}
    if rows:
        price = await at.free(priced_body, at, together(rows))
    words = {
        "dataset": await at.run(dataset_view, at),
        "questions": [_line(row, at.found) for row in rows],
        "shown": _shown(rows),
        "error": None,
        **price,
        **more,
    }
    return await page(request, "list.html", **words)


async def _rows(at: At) -> Sequence[Mapping[str, Any]]:
    return await at.run(at.service.kept.of, at.person.name, at.found.name)


def _shown(rows: Sequence[Mapping[str, Any]]) -> str:
    """What tells a list from another: it is charged as it was shown, or not at all."""
    return " ".join(row["id"] for row in rows)


def _line(row: Mapping[str, Any], found: Dataset) -> dict[str, Any]:
    question = question_from_json(row["question"])
    about = statement_of(question, unit=found.schema.unit, schema=found.schema)
    return {"id": row["id"], "words": about.whole(), "epsilon": epsilon_of(question)}


@router.post("/datasets/{name}/list")
async def act(request: Request, filled: Filled) -> Response:
    """Remove one, or ask them all: under one charge, which is refused as a whole."""
    at, form = filled
    if gone := first(form, "remove"):
        await at.run(at.service.kept.remove, at.person.name, at.found.name, gone)
        return see(f"/datasets/{at.found.name}/list")
    rows = await _rows(at)
    try:
        if not rows:
            raise ParameterError("Your list is empty.", hint="Put questions on it first.")
        _require_shown(form, rows)
        return await charged_once(at, form, together(rows))
    except (ServiceError, OnesidedError) as error:
        return await _listed(request, at, **refused(error))


def _require_shown(form: Form, rows: Sequence[Mapping[str, Any]]) -> None:
    """Errors: ServiceError where the list is not as its page showed it."""
    if first(form, "shown") != _shown(rows):
        raise ServiceError(
            409,
            "Changed",
            "Your list is not as it was when its price was shown. Nothing was charged.",
            hint="Look at it and at its price once more.",
        )


@router.get("/compare")
async def compare(request: Request, person: SignedIn) -> Response:
    """Answers that a person has, side by side."""
    service = service_of(request)
    chosen = list(dict.fromkeys(request.query_params.getlist("ask")))[:_MOST]
    asked = [(await service.own(person, one))[0] for one in chosen]
    if not all(one.charged and service.ready(one) for one in asked):
        raise not_found()

    def words() -> dict[str, Any]:
        told: list[dict[str, Any]] = []
        for ask in asked:
            line, found = line_of(ask, service), release_from_json(ask.answer).releases
            for part, one in enumerate(found, 1):
                called = line["title"] if len(found) == 1 else one.title
                told.append({"line": line, "part": part, "of": one, "called": called})
        told = told[:_MOST]
        answers = [{**shown(one["of"]), **one} for one in told]
        return {"answers": answers, "joined": joined([one["of"] for one in told])}

    return await page(request, "compare.html", **await service.run(words))


def joined(releases: Sequence[Release]) -> dict[str, Any] | None:
    """One table of answers about the same groups: each group, and what each answer says of it.

    The first :data:`SHOWN_ROWS` groups of them all, and how many more there are. None where they
    are about different ones.
    """
    keys = [one.table.names("key") for one in releases]
    if len(keys) < 2 or not keys[0] or any(one != keys[0] for one in keys):
        return None
    found = [{label: at for at, label in enumerate(one.table.labels())} for one in releases]
    every = list(dict.fromkeys(label for places in found for label in places))
    groups = every[:SHOWN_ROWS]
    heads, sides = [], []
    for release, places in zip(releases, found, strict=True):
        there = [label for label in groups if label in places]
        rest = RoleTable(tuple(one for one in release.table.parts if one.role != "key"))
        told = rest.shown(release.bound_words, [places[label] for label in there])
        cells = zip(*(one.cells for one in told), strict=True)
        heads.append(told)
        sides.append(dict(zip(there, cells, strict=True)) if told else {})
    named = [label if len(keys[0]) > 1 else (label,) for label in groups]
    rows = [
        (
            [cell_text(part, "key") for part in key],
            [side.get(label, ["–"] * len(own)) for side, own in zip(sides, heads, strict=True)],
        )
        for key, label in zip(named, groups, strict=True)
    ]
    return {"keys": keys[0], "heads": heads, "rows": rows, "more": len(every) - len(groups)}
