"""What helps to ask well, at no charge: the ε that is enough, and made-up rows to try code on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request

from onesided.errors import ParameterError
from onesided.numbers import text
from onesided.session import question_to_json
from onesided_service._border import asked_in
from onesided_service._datasets import Dataset
from onesided_service._doors import json_of, person_of, service_of
from onesided_service._made_up import made_up
from onesided_service._people import Person
from onesided_service._plans import plan_document
from onesided_service._service import Service

router = APIRouter(prefix="/api/v1")
Known = Annotated[Person, Depends(person_of)]
WANTED: Final = ("error", "relative", "guess", "certified", "count", "groups_of_units")
# Some thirty plans are made to find an ε; of larger questions the asker makes them one by one.
_CELLS: Final = 64


@router.post("/datasets/{name}/suggest")
async def suggest(request: Request, name: str, person: Known) -> Any:
    """The question with the least ε for what is wanted of it, from public facts. Free."""
    service, body = service_of(request), await json_of(request)
    found = service.dataset(name, person)
    return await service.free(person, suggested, service, found, body)


@router.get("/datasets/{name}/made-up")
async def made_up_rows(request: Request, name: str, person: Known) -> Any:
    """Made-up rows of the dataset's schema, by column: to try code on. They are about nobody."""
    service = service_of(request)
    found = service.dataset(name, person)
    return await service.free(person, columns_of, found)


def suggested(service: Service, found: Dataset, body: object) -> dict[str, Any]:
    """A suggestion as JSON. Errors: as the library's, from public facts alone."""
    if not isinstance(body, Mapping) or not isinstance(body.get("wanted"), Mapping):
        raise ParameterError(
            'Send {"question": {...}, "wanted": {...}}.', hint=f"Wanted: {', '.join(WANTED)}."
        )
    wanted = dict(body["wanted"])
    for name in wanted:
        if name not in WANTED:
            raise ParameterError(
                f"{name!r} cannot be wanted here.",
                hint=f"Known: {', '.join(WANTED)}. A look at sizes is a question: it is charged.",
            )
    if isinstance(groups := wanted.get("groups_of_units"), Mapping):
        wanted["groups_of_units"] = {_whole(most): units for most, units in groups.items()}
    session, cells = found.session(), min(_CELLS, found.config.cells)
    rest = {key: value for key, value in body.items() if key != "wanted"}
    question, _ = asked_in(rest, session, cells=cells)
    made = session.suggest(question, **wanted)
    return {
        "question": json.loads(question_to_json(made.question)),
        "epsilon": text(made.epsilon),
        "error": made.error,
        "relative": made.relative,
        "compared": {str(most): error for most, error in (made.compared or {}).items()},
        "plan": plan_document(made.plan, made.question, found, service.clock),
    }


def columns_of(found: Dataset) -> dict[str, Any]:
    """Made-up rows as JSON: numbers, truth values and texts; all else as it is written."""
    made = made_up(found.schema)
    rows = made.fetchall()
    columns = {
        name: [_plain(row[place]) for row in rows] for place, name in enumerate(made.columns)
    }
    return {"made_up": True, "columns": columns}


def _whole(written: object) -> object:
    """JSON writes the keys of an object as texts."""
    short = isinstance(written, str) and written.isascii() and written.isdecimal()
    return int(written) if short and len(str(written)) < 10 else written  # type: ignore[call-overload]


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
