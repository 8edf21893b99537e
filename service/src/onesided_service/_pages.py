"""The pages: what everybody reads, asking and answers for who signs in, the curator's own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from fastapi import Request, Response
from fastapi.responses import HTMLResponse

from onesided.errors import OnesidedError, ParameterError
from onesided.numbers import INFINITE, positive, text
from onesided.schema import Schema
from onesided.session import (
    Release,
    question_from_json,
    release_from_json,
    statement_of,
    total_guarantee,
)
from onesided.session.kit import sql_of
from onesided.show import drawn_twice
from onesided_service._accuracy import accurate, sought
from onesided_service._api import conditional, described, planned, preview_text, programs, seen
from onesided_service._asking import Ask
from onesided_service._border import asked_in
from onesided_service._border import text_of as question_text
from onesided_service._clock import text_of
from onesided_service._curation import published_as
from onesided_service._datasets import Dataset
from onesided_service._doors import COOKIE, At, count_known, count_unknown, service_of
from onesided_service._errors import ServiceError, not_found
from onesided_service._form import (
    CLOSE,
    FORM,
    LINES,
    NEEDS_COLUMN,
    NEEDS_NUMBER,
    NEEDS_ROWS,
    ONCE,
    SQL,
    UNKNOWNS,
    WITHIN,
    Asked,
    condition_of,
    examples_of,
    named_once,
)
from onesided_service._made_up import MOST_ROWS, made_up_csv
from onesided_service._monitor_pages import status_of
from onesided_service._page_kit import (
    FILES,
    Filled,
    Form,
    Shown,
    SignedIn,
    filled,
    first,
    form_of,
    local,
    own_form_of,
    page,
    pages_router,
    reader_of,
    refused,
    see,
    static_text,
)
from onesided_service._people import COOKIE_HOURS, CURATOR
from onesided_service._service import Service

router = pages_router()
_LATEST: Final = 6
SHOWN_ROWS: Final = 200
_FOR_EVER: Final = "public, max-age=31536000, immutable"
_NEEDS: Final = {
    "column": " ".join(NEEDS_COLUMN),
    "number": " ".join(NEEDS_NUMBER),
    "rows": " ".join(NEEDS_ROWS),
    "close": " ".join(CLOSE),
}


@router.get("/static/{name}")
async def static(request: Request, name: str) -> Response:
    """A style sheet, script or icon; its address changes with its text."""
    if name not in FILES:
        raise not_found()
    if "v" not in request.query_params:  # pages of others load the module by its bare name
        return conditional(request, static_text(name).encode(), FILES[name][1])
    headers = {"Cache-Control": _FOR_EVER}
    return Response(static_text(name), media_type=FILES[name][1], headers=headers)


@router.get("/")
async def home(request: Request) -> Response:
    """Datasets of the reader, live monitors, and what was published last."""
    service, person = service_of(request), await reader_of(request)
    mine = [] if person is None else await service.run(seen, service, person)
    return await page(
        request,
        "home.html",
        datasets=mine,
        curated=[one["name"] for one in mine if person and person.may(CURATOR, one["name"])],
        monitors=await service.run(lambda: list(map(status_of, service.monitors.values()))),
        published=(await service.run(service.publishing.all))[:_LATEST],
    )


@router.get("/sign-in")
async def sign_in_page(request: Request, next: str = "/") -> Response:  # noqa: A002
    """The form to sign in."""
    return await page(request, "sign_in.html", next=local(next), error=None)


@router.post("/sign-in")
async def sign_in(request: Request) -> Response:
    """Sign in with a token; the browser gets a cookie of its own."""
    service, form = service_of(request), await form_of(request)
    found = await service.run(service.people.sign_in, first(form, "token").strip())
    back = local(first(form, "next") or "/")
    if found is None:
        count_unknown(request)
        error = {"title": "Not signed in", "message": "This token does not hold."}
        error |= {"hint": "", "place": ""}
        return await page(request, "sign_in.html", status=401, next=back, error=error)
    count_known(request, found[0])
    answer = see(back)
    answer.set_cookie(
        COOKIE,
        found[1],
        max_age=COOKIE_HOURS * 3600,
        httponly=True,
        samesite="strict",
        secure=service.config.tls,
        path="/",
    )
    return answer


@router.post("/sign-out")
async def sign_out(request: Request) -> Response:
    """Forget the browser's cookie, here and there."""
    await own_form_of(request)
    service = service_of(request)
    await service.run(service.people.sign_out, request.cookies[COOKIE])
    answer = see("/")
    answer.delete_cookie(COOKIE, path="/")
    return answer


@router.get("/datasets/{name}")
async def dataset_page(request: Request, at: Shown) -> Response:
    """A dataset: policy, columns, what is left."""
    return await page(request, "dataset.html", dataset=await at.run(dataset_view, at))


@router.get("/datasets/{name}/ask")
async def ask_page(request: Request, at: Shown, how: str = "form") -> Response:
    """The form, or the box for SQL with a query to begin with."""
    schema, name = at.found.schema, at.found.name
    counted = "COUNT(*)" if schema.unit is None else f"COUNT(DISTINCT {schema.unit})"
    query = f"SELECT {counted}\nFROM {name}"
    if groups := _groups(schema):
        query = f"SELECT {groups[0]}, {counted}\nFROM {name}\nGROUP BY {groups[0]}"
    given = dict(request.query_params)
    asked = Asked.of({**given, "sql": query}, request.query_params.getlist("by"))
    if not asked.epsilon and not asked.within:
        asked = replace(asked, within=WITHIN)
    return await _asking(request, at, replace(asked, how=SQL if how == SQL else FORM))


@router.get("/datasets/{name}/made-up.csv")
async def made_up_rows(at: Shown) -> Response:
    """Made-up rows of the declared size and schema: they are about nobody."""
    written = await at.free(made_up_csv, at.found.schema, at.found.config.declared_rows)
    headers = {"Content-Disposition": f'attachment; filename="{at.found.name}-made-up.csv"'}
    return Response(written.encode(), media_type="text/csv; charset=utf-8", headers=headers)


@router.post("/datasets/{name}/price")
async def price_part(sent: Filled) -> Response:
    """The part of the page that follows the form."""
    at, form = sent
    words = await at.free(priced, at, _filled_in(form))
    words["dataset"] = {"counted": counted_of(at.found)[1]}
    return HTMLResponse(filled("price.html", **words), headers={"X-Part": "price"})


@router.post("/datasets/{name}/ask")
async def ask(request: Request, sent: Filled) -> Response:
    """Ask, or look at the price or a preview: which button was pressed."""
    at, form = sent
    asked, words = _filled_in(form), {}
    try:
        if first(form, "do") == "ask":
            settled = await at.free(settle, at.found, asked)
            return await charged_once(at, form, settled.body)
        if first(form, "do") == "keep":
            settled = await at.free(settle, at.found, replace(asked, name=""))
            await put_on_list(at, settled.body)
            return see(f"/datasets/{at.found.name}/list")
        if first(form, "do") == "preview":
            words = await at.free(previewed, at.found, asked)
            releases = release_from_json(words["preview"]).releases
            words["preview"] = [shown(one, made_up=True) for one in releases]
    except (ServiceError, OnesidedError) as error:
        words = refused(error, asked.written)
    return await _asking(request, at, asked, **words)


@router.get("/asks/{id}")
async def ask_told(request: Request, id: str, person: SignedIn) -> Response:  # noqa: A002
    """An answer with its picture, table and certificate; or when it will be there."""
    service = service_of(request)
    asked = await service.charged(person, id)
    found = service.dataset(asked.dataset, person)

    def words() -> dict[str, Any]:
        line, releases, ways = line_of(asked, service), [], {}
        if service.ready(asked):
            releases = list(map(shown, release_from_json(asked.answer).releases))
            ways = ways_of(found, question_from_json(asked.question))
        address = service.publishing.of(asked)
        wait = 1 + max(1, math.ceil(asked.due - Fraction(service.clock.now())))
        return {
            "ask": {**line, "due": text_of(asked.due), "published": address, "wait": wait},
            "releases": releases,
            "ways": ways,
            "may_publish": person.may(CURATOR, found.name) or found.config.analysts_publish,
        }

    return await page(request, "answer.html", error=None, **await service.run(words))


@router.post("/asks/{id}/publish")
async def publish(request: Request, id: str) -> Response:  # noqa: A002
    """Let everybody read the answer, under a title."""
    person, form = await own_form_of(request)
    service = service_of(request)
    address = await service.run(published_as, service, person, id, first(form, "title").strip())
    return see(f"/published/{address}")


@router.get("/history")
async def history(request: Request, person: SignedIn) -> Response:
    """All that the person asked."""
    service = service_of(request)

    def listed() -> list[dict[str, Any]]:
        mine = [one for one in service.datasets.values() if person.sees(one.name)]
        asks = [ask for one in mine for ask in service.asking.history(person, one, everybody=False)]
        asks.sort(key=lambda ask: ask.asked, reverse=True)
        return [line_of(ask, service) for ask in asks if ask.charged]

    return await page(request, "history.html", asks=await service.run(listed))


async def charged_once(at: At, form: Form, body: dict[str, Any]) -> Response:
    """Ask what a form asks. Sent twice by one page it is one ask, with one charge and one answer.

    Errors: ServiceError; OnesidedError.
    """
    if not (once := first(form, "once")):
        raise ServiceError(
            409,
            "Changed",
            "This form did not say which page it was sent from. Nothing was charged.",
            hint="Load the page again, and send it from there.",
        )
    charged = await at.service.ask(at.person, at.found, named_once(body, once))
    return see(f"/asks/{charged.id}")


async def put_on_list(at: At, body: Any) -> str:
    """By what name a question is kept. Errors: what the ask would refuse."""
    kept = await at.free(kept_as, at, body)
    return await at.run(at.service.kept.add, at.person.name, at.found.name, kept)


async def _asking(request: Request, at: At, asked: Asked, **words: Any) -> Response:
    found = at.found
    price = await at.free(priced, at, asked)
    view = await at.run(dataset_view, at)
    common: dict[str, Any] = {
        "dataset": view,
        "asked": asked,
        "kinds": [
            (kind, line.words.replace("units", view["counted"]))
            for kind, (line, _) in LINES.items()
        ],
        "unknowns": UNKNOWNS,
        "needs": _NEEDS,
        "error": None,
        "preview": [],
        "ways": {},
        "condition": condition_of(found.schema) or "age >= 18",
        "examples": await at.free(examples_of, found) if found.open else [],
    }
    return await page(request, "ask.html", **{**common, **price, **words})


def _filled_in(form: Mapping[str, list[str]]) -> Asked:
    return Asked.of({name: values[0] for name, values in form.items()}, form.get("by", ()))


def dataset_view(at: At) -> dict[str, Any]:
    """A dataset as its pages show it: what programs are told, and more of its schema."""
    found = at.found
    facts, columns = described(at), found.schema.columns
    each = at.service.asking.allowance(at.person, found).epsilon or {}
    words = facts["policy"]["words"]
    if len(found.policy.edges) == 1:  # whose name tells it from no other
        only = f" ({found.policy.edges[0].name})"
        words = [one.replace(only, "", 1) for one in words]
    return {
        **facts,
        "policy": {**facts["policy"], "words": words},
        "picture": found.policy.to_svg(),
        "one": counted_of(found)[0],
        "counted": counted_of(found)[1],
        "made_up_rows": min(found.config.declared_rows, MOST_ROWS),
        "columns": columns,
        "groups": _groups(found.schema),
        "numbers": [
            name
            for name, one in columns.items()
            if one.type in ("integer", "number") and name != found.schema.unit
        ],
        "edges": [
            {
                "name": edge,
                "budget": budget,
                "left": facts["remaining"][edge],
                "share": _share(facts["remaining"][edge], budget),
                **_own_share(facts["allowance_left"].get(edge), each.get(edge)),
            }
            for edge, budget in facts["budget"].items()
        ],
        "curator": at.person.may(CURATOR, found.name),
        "together": _together(found) if facts["open"] else "",
    }


def counted_of(found: Dataset) -> tuple[str, str]:
    """What one, and what several, of those are called whom a dataset counts."""
    schema = found.schema
    return schema.noun or (("row", "rows") if schema.unit is None else ("unit", "units"))


def _groups(schema: Schema) -> list[str]:
    """The columns that can be grouped by: those with declared keys."""
    return [name for name, one in schema.columns.items() if one.keys is not None]


def _own_share(left: str | None, allowed: Fraction | None) -> dict[str, Any]:
    """What is left of a person's own allowance, which may have been made smaller since."""
    if left is None or allowed is None:
        return {"allowance": None}
    own = max(Fraction(left), Fraction(0))
    return {
        "allowance": text(allowed),
        "allowance_left": text(own),
        "allowance_share": _share(own, allowed),
    }


def _share(part: str | Fraction, whole: str | Fraction) -> float:
    return float(Fraction(part) / Fraction(whole)) if Fraction(whole) else 0.0


def _together(found: Dataset) -> str:
    """What the accounts of its ledger promise together, where there are several."""
    ledger = found.session().ledger
    if len(list(ledger.accounts())) < 2:
        return ""
    try:
        return str(total_guarantee(ledger, found.policy, of="budget", policies=[found.policy]))
    except OnesidedError:  # a policy on record that this version cannot read
        return "Its ledger holds accounts of several policies; together they promise less."


def shown(release: Release, *, made_up: bool = False) -> dict[str, Any]:
    """A release as its page shows it: the first rows of its table, and its picture if it has one.

    made_up: it is about nobody, under a ledger that is forgotten.
    """
    heads = release.table.shown(release.bound_words, range(min(len(release), SHOWN_ROWS)))
    try:
        chart = release.chart()
    except OnesidedError:
        chart = None
    # As it stands beside the word "about"; of all data as they are, there is nothing to say.
    about = release.guarantee.about.removeprefix("About ").removeprefix("the data as they are.")
    heading, under = release.asked.headed()
    return {
        "release": replace(release, entry=None) if made_up else release,
        "made_up": made_up,
        "heading": heading,
        "under": under,
        "heads": heads,
        "rows": list(zip(*(one.cells for one in heads), strict=True)),
        "picture": None if chart is None else drawn_twice(chart),
        "left_out": () if chart is None else chart.notes,
        "asked": f"{release.statement.whole()}.",
        "about": about[:-1] if about.endswith(".") and ". " not in about else about,
        "losses": [
            (edge, text(loss), text(release.guarantee.delta.get(edge, Fraction(0))))
            for edge, loss in release.guarantee.epsilon.items()
        ],
    }


def ways_of(found: Dataset, question: Any) -> dict[str, str]:
    """The same question for programs. None where the dataset is closed."""
    try:
        query = sql_of(question, found.session(), table=found.name)
    except (ServiceError, OnesidedError):
        return {}
    told = programs(question, found.name)
    ways = {"Python": told["python"], "SQL": query or "", "Shell": told["shell"]}
    return {name: way for name, way in ways.items() if way}


def line_of(asked: Ask, service: Service) -> dict[str, Any]:
    """An ask in a list."""
    question, found = question_from_json(asked.question), service.datasets.get(asked.dataset)
    schema = Schema() if found is None else found.schema
    about = statement_of(question, unit=schema.unit, schema=schema)
    own = "" if asked.name.startswith(ONCE) else asked.name  # which a person gave
    return {
        "id": asked.id,
        "dataset": asked.dataset,
        "asked": asked.asked,
        "title": f"{own}: {about.title()}" if own else about.title(),
        "epsilon": epsilon_of(question),
        "state": "answered" if service.ready(asked) else "lost" if asked.lost else "on its way",
    }


def epsilon_of(question: Any) -> str:
    """The ε that a question asks for; of a list, what its answers have together."""
    if (own := getattr(question, "epsilon", None)) is not None:
        return text(positive(own, name="epsilon"))
    each = [positive(one.epsilon, name="epsilon") for one in question.questions]
    return text(max(each) if question.disjoint else sum(each, Fraction(0)))


def settle(found: Dataset, asked: Asked) -> Asked:
    """What was filled in, with the least ε that is close enough where that is what was said.

    Errors: as the library's, from public facts alone.
    """
    if not asked.within:
        return asked
    if asked.epsilon:
        raise ParameterError(
            "Both accuracy and ε are filled in.", hint="Leave one of them empty.", field="epsilon"
        )
    session = found.session()
    question, _ = asked_in(replace(asked, epsilon="1").body, session, sought(found.config))
    made = accurate(session.plan, question, asked.within)
    return replace(asked, within="", epsilon=text(max(made.epsilon, found.config.min_epsilon)))


def priced(at: At, asked: Asked) -> dict[str, Any]:
    """The price, as a program is told it, or why there is none yet."""
    try:
        body = settle(at.found, asked).body
    except (ServiceError, OnesidedError) as error:
        return {"price": None, "refused": refused(error, asked.written)["error"]}
    return priced_body(at, body, asked.written)


def kept_as(at: At, body: Any) -> str:
    """A question to keep, as JSON. Errors: what the ask would refuse."""
    at.service.asking.require_askable(at.person, at.found, body)
    return question_text(asked_in(body, at.found.session(), at.found.config)[0])


def priced_body(at: At, body: Mapping[str, Any], written: str = "") -> dict[str, Any]:
    """The price of a request, or why it is refused. written: the text where its word is shown."""
    try:
        plan = planned(at, body)
        at.service.asking.require_askable(at.person, at.found, body)
        mine = described(at)["allowance_left"]
    except (ServiceError, OnesidedError) as error:
        return {"price": None, "refused": refused(error, written)["error"]}
    within = all(
        edge in mine and size_of(e) <= size_of(mine[edge]) for edge, e in plan["charge"].items()
    )
    seconds = math.ceil(Fraction(str(plan["due_seconds"])))
    many = [
        math.floor(size_of(mine.get(edge, "0")) / size_of(e))
        for edge, e in plan["charge"].items()
        if size_of(e) not in (0, math.inf)
    ]
    more = min(many, default=None)
    price = {**plan, "affordable": plan["affordable"] and within, "seconds": seconds, "more": more}
    return {"price": price, "refused": None}


def previewed(found: Dataset, asked: Asked) -> dict[str, Any]:
    """Answers about made-up data, and the question for programs. Errors: ServiceError; others."""
    body = settle(found, asked).body
    question, _ = asked_in(body, found.session(), found.config)
    # As text, as which it comes from another process.
    return {"preview": preview_text(found, body), "ways": ways_of(found, question)}


def size_of(amount: str) -> Fraction | float:
    """An amount of the API as a number."""
    return math.inf if amount == text(INFINITE) else Fraction(amount)
