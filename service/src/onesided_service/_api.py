"""The HTTP API, version 1."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute

import onesided
from onesided.errors import ParameterError
from onesided.numbers import INFINITE, text
from onesided.session import Plan, Several, Suggestion, question_to_json, release_to_json
from onesided.session.kit import rehearse
from onesided_service._accuracy import accurate, half_width, sought
from onesided_service._asking import Ask
from onesided_service._border import NAMED, SQL_FIELDS, asked_in
from onesided_service._clock import Clock, keeping, text_of
from onesided_service._curation import ACTS, Act, log_of, published_as
from onesided_service._datasets import Dataset
from onesided_service._doors import At, Curated, Known, Seen, Sent, person_of, service_of
from onesided_service._errors import ServiceError, not_found
from onesided_service._made_up import made_up, preview_of, within_bytes
from onesided_service._monitors import LiveMonitor
from onesided_service._people import CURATOR, EVERY, Person
from onesided_service._published import Published
from onesided_service._service import Service


def body_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What the description says of a body; what is read is closed, and checked by hand."""
    content = {"application/json": {"schema": schema}}
    return {"requestBody": {"required": True, "content": content}}


def _object(required: Mapping[str, Any], **optional: Any) -> dict[str, Any]:
    properties = {**required, **optional}
    return {"type": "object", "properties": properties, "required": list(required)}


_TEXT: Final = {"type": "string"}
_OBJECT: Final = {"type": "object"}
_LIST: Final = {"type": "array"}

# What may be told instead of an answer, by status; docs/http.md says when.
_REFUSALS: Final = {
    "400": "The body is not JSON.",
    "401": "No valid token was given.",
    "403": "More than is left, or not allowed.",
    "404": "Does not exist, or is not yours to see.",
    "408": "The body came too slowly.",
    "409": "The id was used before, or the answer is not there yet.",
    "410": "The answer was late, and is lost; or the release was withdrawn.",
    "413": "The body is too large.",
    "415": "The body is not declared as JSON.",
    "422": "An invalid question; nothing was charged.",
    "429": "Too many requests.",
    "500": "A mistake in onesided.",
    "503": "The dataset is closed, or the records cannot be reached.",
}
_REFUSAL: Final = _object(
    {"error": _object({"type": _TEXT, "message": _TEXT, "hint": _TEXT, "values": _OBJECT})}
)
_TOLD: Final[dict[str, dict[str, Any]]] = {
    "202": {"description": "Charged; the answer is on its way."},
    "304": {"description": "Nothing changed since."},
    **{
        status: {"description": words, "content": {"application/json": {"schema": _REFUSAL}}}
        for status, words in _REFUSALS.items()
    },
}
# Beside what every address may tell, by what it is about.
_OWN: Final = {"published": ("410",), "asks": ("409", "410", "422")}


class Described(APIRoute):
    """An address whose description says which statuses it may tell, and no others."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        known, holds = _asks_who(self.dependant), "{" in self.path
        told = {"500", "503", *(("404", "422") if holds else ())}
        told |= {"401", "403", "429"} if known else {"304"} if holds else set()
        told |= {"400", "408", "413", "415", "422"} if self.openapi_extra else set()
        told |= set(_OWN.get(self.path.split("/")[3], ()) if holds else ())
        told |= {"202", "409", "410"} if self.path.endswith("/ask") else set()
        told |= {"409"} if self.name in (*ACTS, "keep", "batches") else set()
        self.responses = {status: _TOLD[status] for status in sorted(told)}


def _asks_who(dependant: Dependant) -> bool:
    return dependant.call is person_of or any(map(_asks_who, dependant.dependencies))


router = APIRouter(prefix="/api/v1", route_class=Described)
MOST: Final = 1000
_FRESH: Final = "public, max-age=0, must-revalidate"


WANTED: Final = ("within", "error", "relative", "guess", "certified", "count", "groups_of_units")


def _asked(**more: Any) -> dict[str, Any]:
    """A body that asks a question in either form, and what else it holds."""
    of_sql = _object({"sql": _TEXT, **more}, **{name: {} for name in (*SQL_FIELDS, *NAMED)})
    return body_of({"oneOf": [_object({"question": _OBJECT, **more}), of_sql]})


ASKED: Final = _asked()
_WANTED: Final = _asked(wanted={"type": "object", "properties": {name: {} for name in WANTED}})
_BATCH: Final = body_of(
    _object({"id": _TEXT, "time": _TEXT, "columns": {**_OBJECT, "additionalProperties": _LIST}})
)


@router.get("/published")
async def published(request: Request) -> Any:
    """All published releases, the latest first."""
    service = service_of(request)
    return [_line(one) for one in await service.run(service.publishing.all)]


@router.get("/published/{id}")
async def one_published(request: Request, id: str) -> Response:  # noqa: A002
    """A published release with its title."""
    service = service_of(request)
    found = await service.run(service.publishing.one, id)
    said = await service.run(lambda: [one.statement.sentences() for one in found.release.releases])
    page = f"{service.config.address}/published/{found.id}"
    told = {**_line(found), "page": page, "sentences": said}
    head = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    body = f'{head[:-1]},"release":{found.text}}}'
    return conditional(request, body.encode(), "application/json")


@router.get("/monitors")
async def monitors(request: Request) -> Any:
    """All live monitors."""
    every = service_of(request).monitors.values()
    return [{"name": one.name, "title": one.title} for one in every]


@router.get("/monitors/{name}.geojson")
async def monitor_geojson(request: Request, name: str) -> Response:
    """The latest statuses of the places with a position, as points for maps."""
    body = await service_of(request).run(monitor_of(request, name).geojson)
    return conditional(request, body.encode(), "application/geo+json")


@router.get("/monitors/{name}")
async def monitor(request: Request, name: str) -> Response:
    """The latest statuses; with If-None-Match, 304 as long as nothing changed."""
    service = service_of(request)
    found = monitor_of(request, name)
    told = await service.run(found.document)
    body = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    return conditional(request, body.encode(), "application/json")


@router.post("/monitors/{name}/batches", openapi_extra=_BATCH)
async def batches(request: Request, name: str, person: Known, body: Sent) -> Any:
    """Hand a batch to a monitor, once; the same batch again gives the same answer again."""
    found = monitor_of(request, name)
    if not found.may_send(person):
        raise ServiceError(403, "Forbidden", "You are no sender of this monitor.")
    return await service_of(request).run(found.send, body)


def conditional(request: Request, body: bytes, kind: str, *, file: str = "") -> Response:
    """A body with its tag; 304 without one for who has it."""
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": _FRESH}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if file:
        headers["Content-Disposition"] = f'attachment; filename="{file}"'
    return Response(body, media_type=kind, headers=headers)


def monitor_of(request: Request, name: str) -> LiveMonitor:
    """A live monitor, for everybody. Errors: ServiceError."""
    found = service_of(request).monitors.get(name)
    if found is None:
        raise not_found()
    return found


def _written(amounts: Mapping[str, Any]) -> dict[str, str]:
    """Amounts per edge, each exact, as text."""
    return {edge: text(some) for edge, some in amounts.items()}


def _line(one: Published) -> dict[str, Any]:
    return {"id": one.id, "dataset": one.dataset, "title": one.title, "time": one.time}


@router.post("/asks/{id}/publish", openapi_extra=body_of(_object({"title": _TEXT})))
async def publish(request: Request, id: str, person: Known, body: Sent) -> Any:  # noqa: A002
    """Publish an answer that was told, under a title."""
    service = service_of(request)
    if not isinstance(body, dict) or set(body) != {"title"}:
        raise ServiceError(422, "ParameterError", 'Send {"title": "..."}.')
    return {"published": await service.run(published_as, service, person, id, body["title"])}


@router.get("/datasets/{name}/notes")
async def notes(at: Curated) -> Any:
    """Why the dataset was closed, the latest first. For the curator, not for publication."""
    return await at.run(at.found.notes)


@router.get("/datasets/{name}/ledger")
async def ledger(at: Curated) -> Any:
    """The latest entries of the dataset's ledger, with who was charged."""
    return await at.run(entries, at.found)


@router.get("/datasets/{name}/people")
async def everybody(at: Curated) -> Any:
    """Who may ask of the dataset, what they spent of it, and what is left to them."""
    return await at.run(people_of, at.service, at.found)


@router.get("/datasets/{name}/log")
async def log(at: Curated) -> Any:
    """What curators did to the dataset, the latest first; by "" for a command."""
    return await at.run(log_of, at.service.state, at.found.name)


def _add_act(path: str, act: Act) -> None:
    """An address for an act of the curator."""

    async def acted(at: Curated, body: Sent) -> Any:
        return await at.run(act.run, at, act.read(body))

    required, optional = (dict.fromkeys(one, _TEXT) for one in (act.required, act.optional))
    router.add_api_route(
        f"/datasets/{{name}}/{path}",
        acted,
        methods=["POST"],
        name=path,
        summary=act.words,
        description=act.words,
        openapi_extra=body_of(_object(required, **optional)),
    )


for _path, _act in ACTS.items():
    _add_act(_path, _act)


def entries(found: Dataset) -> list[dict[str, Any]]:
    """The ledger's latest entries as JSON."""
    return [
        {
            "number": one.number,
            "time": one.time,
            "who": one.who,
            "kind": one.kind,
            "ask": one.release_id,
            "label": one.label,
            "epsilon": _written(one.epsilon),
            "delta": _written(one.delta),
        }
        for one in reversed(found.session().ledger.entries(last=MOST))
    ]


def people_of(service: Service, found: Dataset) -> list[dict[str, Any]]:
    """Everybody with a role in the dataset, as JSON. left: of the allowance, or of the budget."""
    account = found.session().account
    remaining, told = account.remaining, []
    for row in service.people.list():
        person = Person(
            name=row["person"], roles={key: frozenset(held) for key, held in row["roles"].items()}
        )
        held = {role for key in (found.name, EVERY) for role in person.roles.get(key, ())}
        if not held:
            continue
        mine = account.allowed(service.asking.allowance(person, found))
        left = {edge: min(some, remaining[edge]) for edge, some in mine.remaining.items()}
        own = service.people.allowed(person.name, found.name)
        told.append(
            {
                "person": person.name,
                "roles": sorted(held),
                "token_until": row["expires"],
                "allowance": None if own is None else text(own),
                "questions": mine.releases,
                "spent": _written(mine.spent),
                "left": _written({edge: max(some, Fraction(0)) for edge, some in left.items()}),
            }
        )
    return told


def plan_document(plan: Plan, question: Any, dataset: Dataset, clock: Clock) -> dict[str, Any]:
    """The plan, and the same question as Python, JSON and a command."""
    told = plan.as_dict()
    told.pop("free_sample", None)  # samples are not offered here
    return {
        **told,
        "within": half_width(question, plan),
        "due_seconds": text(
            clock.takes(question, dataset.config, dataset.schema) + keeping(dataset.config)
        ),
        "question": json.loads(question_to_json(question)),
        **programs(question, dataset.name),
    }


def programs(question: Any, dataset: str) -> dict[str, str]:
    """The question for programs: in Python, and as a command that any shell runs."""
    body = json.dumps({"question": json.loads(question_to_json(question))})
    shell = (
        f"curl --header 'Content-Type: application/json' --header \"Authorization: Bearer $TOKEN\" "
        f'--data {shlex.quote(body)} "$SERVICE/api/v1/datasets/{dataset}/ask"'
    )
    return {"python": f"session.ask({python_of(question)})", "shell": shell}


def python_of(question: Any) -> str:
    """The question as Python writes it."""
    kind = type(question).__name__
    where = "od" if hasattr(onesided, kind) else "od.session"
    told = []
    if isinstance(question, Several):
        told.append(f"[{', '.join(map(python_of, question.questions))}]")
    for one in fields(question):
        value = getattr(question, one.name)
        if one.init and one.name != "questions" and value is not one.default:
            told.append(f"{one.name}={_python(value)}")
    return f"{where}.{kind}({', '.join(told)})"


def _python(value: Any) -> str:
    if isinstance(value, Fraction):
        return repr(text(value))
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_python(key)}: {_python(part)}" for key, part in value.items())
        return f"{{{inner}}}"
    if isinstance(value, list | tuple):
        inner = ", ".join(map(_python, value))
        return f"[{inner}]"
    written = getattr(value, "text", None)  # a condition
    return repr(written if isinstance(written, str) else value)


@router.get("/me")
async def me(person: Known) -> Any:
    """Who the token says you are, and what you may do."""
    return {"person": person.name, "roles": person.told()}


@router.get("/datasets")
async def datasets(request: Request, person: Known) -> Any:
    """The datasets that you may see."""
    return await service_of(request).run(seen, service_of(request), person)


@router.get("/datasets/{name}")
async def dataset(at: Seen) -> Any:
    """What is public about a dataset, and what you may still spend."""
    return await at.run(described, at)


@router.post("/datasets/{name}/plan", openapi_extra=ASKED)
async def plan(at: Seen, body: Sent) -> Any:
    """What a question would cost and give. Free; looks at no row."""
    return await at.free(planned, at, body)


@router.post("/datasets/{name}/preview", openapi_extra=ASKED)
async def preview(at: Seen, body: Sent) -> Any:
    """The same question of made-up rows of the schema: free, and about nobody."""
    return await at.free(previewed, at.found, body)


@router.post("/datasets/{name}/ask", openapi_extra=ASKED)
async def ask(request: Request, at: Seen, body: Sent) -> Any:
    """Ask a question: charged first, answered at the public clock's tick."""
    asked = await at.service.ask(at.person, at.found, body)
    if "respond-async" in request.headers.get("prefer", ""):
        return JSONResponse({"ask": asked.id, "due": text_of(asked.due)}, status_code=202)
    return told(await at.service.told(asked, at.found))


@router.get("/asks/{id}")
async def one_ask(request: Request, id: str, person: Known) -> Any:  # noqa: A002
    """Your own ask: "due", or "told" with its release. A charged ask can always be read again."""
    service = service_of(request)
    asked = await service.charged(person, id)
    if not service.ready(asked):
        return {"ask": asked.id, "state": "due", "due": text_of(asked.due)}
    return {"state": "told", "due": text_of(asked.due), **json.loads(bytes(told(asked).body))}


@router.get("/datasets/{name}/asks")
async def history(at: Seen) -> Any:
    """Your own asks, the latest first; the curator sees everybody's questions, not answers."""
    own = at.person, at.found
    everybody = at.person.may(CURATOR, at.found.name)
    rows = await at.run(lambda: at.service.asking.history(*own, everybody=everybody))
    return [
        {
            "ask": one.id,
            "person": one.person,
            "id": one.name,
            "asked": one.asked,
            "due": text_of(one.due),
            "charged": one.charged,
            "question": json.loads(one.question),
        }
        for one in rows
    ]


def told(asked: Ask) -> Response:
    """An answer as it was kept, byte for byte."""
    body = f'{{"ask":{json.dumps(asked.id)},"release":{asked.answer}}}'
    return Response(body.encode(), media_type="application/json")


def seen(service: Service, person: Person) -> list[dict[str, Any]]:
    """The datasets that a person may see, as JSON."""
    every = (one for one in service.datasets.values() if person.sees(one.name))
    return [{"name": one.name, "title": one.title, "open": one.open} for one in every]


_PURE_TAKEN: Final = 'law="pure" is taken, as the allowance counts ε'


def planned(at: At, body: object) -> dict[str, Any]:
    """A plan as JSON. Errors: as the library's, from public facts alone."""
    session = at.found.opened()
    asked, _ = asked_in(body, session, at.found.config)
    question = at.service.asking.allowed(at.person, at.found, asked)
    plan = session.plan(question)
    if question != asked and INFINITE in session.plan(asked).charge.values():
        plan = replace(plan, why=f"{plan.why}; {_PURE_TAKEN}")
    rehearse(session, question)  # what the ask would refuse, the price does
    return plan_document(plan, question, at.found, at.service.clock)


def previewed(found: Dataset, body: object) -> dict[str, Any]:
    """An answer about made-up rows as JSON. Errors: as :func:`planned`."""
    return {"made_up": True, "release": json.loads(preview_text(found, body))}


def preview_text(found: Dataset, body: object) -> str:
    """The release of such an answer as text. Errors: as :func:`planned`."""
    question, _ = asked_in(body, found.opened(), found.config)
    rows = found.config.declared_rows
    told = preview_of(question, schema=found.schema, policy=found.policy, rows=rows)
    return within_bytes(release_to_json(told))


def described(at: At) -> dict[str, Any]:
    """A dataset as JSON."""
    found = at.found
    account = found.session().account
    standing, allowance = account.standing(), at.service.asking.allowance(at.person, found)
    mine = account.allowed(allowance)
    left = {edge: min(some, standing.remaining[edge]) for edge, some in mine.remaining.items()}
    return {
        "name": found.name,
        "title": found.title,
        "open": found.open,
        "policy": {
            "name": found.policy.name,
            "toml": found.policy.to_toml(),
            "words": found.policy.explain().splitlines(),
        },
        "unit": found.schema.unit,
        "schema": {
            "toml": found.schema.to_toml(),
            "columns": {
                name: {
                    "type": one.type,
                    "bounds": None if one.bounds is None else [str(end) for end in one.bounds],
                    "step": None if one.step is None else text(one.step),
                    "keys": None
                    if one.keys is None or isinstance(one.keys, str)
                    else len(one.keys),
                    "about": one.about,
                }
                for name, one in found.schema.columns.items()
            },
            "max_rows": found.schema.max_rows,
        },
        "declared_rows": found.config.declared_rows,
        "refills": found.config.refills,
        "budget": _written(account.budget),
        "delta_budget": _written(account.delta_budget),
        "spent": _written(standing.spent),
        "remaining": _written(standing.remaining),
        "delta_remaining": _written(standing.delta_remaining),
        "allowance_spent": _written(mine.spent),
        "allowance_left": _written(left),
        "allowance_since": allowance.since,
    }


@router.post("/datasets/{name}/suggest", openapi_extra=_WANTED)
async def suggest(at: Seen, body: Sent) -> Any:
    """The question with the least ε for what is wanted of it, from public facts. Free."""
    return await at.free(suggested, at, body)


@router.get("/datasets/{name}/made-up")
async def made_up_rows(at: Seen) -> Any:
    """Made-up rows of the dataset's schema, by column: to try code on. They are about nobody."""
    return {"made_up": True, "columns": await at.free(made_up_columns, at.found)}


def made_up_columns(found: Dataset) -> dict[str, Any]:
    """Made-up rows of a dataset, by column."""
    made = made_up(found.schema, rows=found.config.declared_rows)
    columns = zip(*made.fetchall(), strict=True)
    each = zip(made.columns, columns, strict=True)
    return {name: list(map(_plain, some)) for name, some in each}


def suggested(at: At, body: object) -> dict[str, Any]:
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
    session, found = at.found.opened(), at.found
    rest = {key: value for key, value in body.items() if key != "wanted"}
    question, _ = asked_in(rest, session, sought(found.config))
    question = at.service.asking.allowed(at.person, found, question)
    if "within" in wanted:
        if len(wanted) > 1:
            raise ParameterError("within is wanted alone.", hint="Leave the others out.")
        asked = accurate(session.plan, question, wanted["within"])
        made = Suggestion(question=asked, epsilon=asked.epsilon, plan=session.plan(asked))
    else:
        made = session.suggest(question, **wanted)
    return {
        "question": json.loads(question_to_json(made.question)),
        "epsilon": text(made.epsilon),
        "error": made.plan.options[0].error if made.error is None else made.error,
        "relative": made.relative,
        "compared": {str(most): error for most, error in (made.compared or {}).items()},
        "plan": plan_document(made.plan, made.question, found, at.service.clock),
    }


def _whole(written: object) -> object:
    """JSON writes the keys of an object as texts."""
    short = isinstance(written, str) and written.isascii() and written.isdecimal()
    return int(written) if short and len(str(written)) < 10 else written  # type: ignore[call-overload]


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
