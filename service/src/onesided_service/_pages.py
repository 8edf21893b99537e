"""The pages of people who sign in: datasets, asking, answers, history."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse

from onesided.errors import OnesidedError
from onesided_service._asking import Ask
from onesided_service._curator import published_as
from onesided_service._datasets import Dataset
from onesided_service._doors import COOKIE, count_unknown, service_of
from onesided_service._errors import ServiceError, not_found
from onesided_service._form import (
    KINDS,
    NEEDS_COLUMN,
    NEEDS_NUMBER,
    NEEDS_ROWS,
    SQL,
    UNKNOWNS,
    Asked,
)
from onesided_service._look import filled
from onesided_service._page_kit import (
    PageRoute,
    error_words,
    first,
    form_of,
    local,
    own_form_of,
    page,
    person_of_page,
    reader_of,
    refusal_of,
    see,
)
from onesided_service._page_words import (
    ask_line,
    csv_of,
    dataset_view,
    example,
    file,
    filled_in,
    parts_of,
    previewed,
    priced,
    told_words,
    ways_asked,
)
from onesided_service._people import COOKIE_HOURS, Person
from onesided_service._views import (
    ReleaseView,
)

router = APIRouter(
    route_class=PageRoute, include_in_schema=False, default_response_class=HTMLResponse
)
SignedIn = Annotated[Person, Depends(person_of_page)]
_NEEDS: Final = {
    "column": " ".join(NEEDS_COLUMN),
    "number": " ".join(NEEDS_NUMBER),
    "rows": " ".join(NEEDS_ROWS),
}


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
    service.limits.count(found[0].name, now=service.clock.now())
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
    service, reader = service_of(request), await reader_of(request)
    await service.run(service.people.sign_out, reader.cookie)
    answer = see("/")
    answer.delete_cookie(COOKIE, path="/")
    return answer


@router.get("/datasets/{name}")
async def dataset_page(request: Request, name: str, person: SignedIn) -> Response:
    """A dataset: policy, columns, what is left."""
    service = service_of(request)
    found = service.dataset(name, person)
    view = await service.run(dataset_view, service, found, person)
    return await page(request, "dataset.html", dataset=view)


@router.get("/datasets/{name}/ask")
async def ask_page(request: Request, name: str, person: SignedIn, how: str = "form") -> Response:
    """The form, or the box for SQL."""
    found = service_of(request).dataset(name, person)
    asked = Asked(how=SQL if how == SQL else "form", sql=example(found))
    return await _asking(request, found, person, asked)


@router.post("/datasets/{name}/price")
async def price_part(request: Request, name: str) -> Response:
    """The part of the page that follows the form."""
    person, form = await own_form_of(request)
    service = service_of(request)
    found = service.dataset(name, person)
    asked = filled_in(form)
    words = await service.free(person, priced, service, found, person, asked)
    return HTMLResponse(filled("price.html", **words), headers={"X-Part": "price"})


@router.post("/datasets/{name}/ask")
async def ask(request: Request, name: str) -> Response:
    """Ask, or look at the price or a preview: which button was pressed."""
    person, form = await own_form_of(request)
    service = service_of(request)
    found, asked = service.dataset(name, person), filled_in(form)
    try:
        if first(form, "do") == "ask":
            charged = await service.ask(person, found, asked.body)
            return see(f"/asks/{charged.id}")
        shown = []
        if first(form, "do") == "preview":
            shown = await service.free(person, previewed, found, asked)
    except (ServiceError, OnesidedError) as error:
        refusal = refusal_of(error)
        words = error_words(refusal)
        return await _asking(request, found, person, asked, error=words, status=refusal.status)
    return await _asking(request, found, person, asked, preview=shown)


@router.get("/asks/{id}.csv")
async def ask_csv(request: Request, id: str, person: SignedIn, part: int = 1) -> Response:  # noqa: A002
    """An answer as a table for spreadsheets."""
    asked, _ = await _own(request, id, person)
    return csv_of(parts_of(asked.answer), part, name=asked.id)


@router.get("/asks/{id}.json")
async def ask_json(request: Request, id: str, person: SignedIn) -> Response:  # noqa: A002
    """An answer as it was kept."""
    asked, _ = await _own(request, id, person)
    return file(asked.answer, f"{asked.id}.json", "application/json")


@router.get("/asks/{id}")
async def ask_told(request: Request, id: str, person: SignedIn) -> Response:  # noqa: A002
    """An answer with its picture, table and certificate; or when it will be there."""
    asked, found = await _own(request, id, person, told=False)
    service = service_of(request)
    return await page(
        request,
        "answer.html",
        error=None,
        **await service.run(told_words, service, found, person, asked),
    )


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
        seen = [one for one in service.datasets.values() if person.sees(one.name)]
        asks = [ask for one in seen for ask in service.asking.history(person, one, everybody=False)]
        asks.sort(key=lambda ask: ask.asked, reverse=True)
        return [ask_line(ask, service) for ask in asks if ask.charged]

    return await page(request, "history.html", asks=await service.run(listed))


async def _own(
    request: Request, name: str, person: Person, *, told: bool = True
) -> tuple[Ask, Dataset]:
    """A person's own charged ask. Errors: ServiceError."""
    service = service_of(request)
    asked = await service.run(service.asking.found, name)
    found = service.dataset(asked.dataset, person)
    asked = await service.run(lambda: service.asking.of(person, name, dataset=found))
    if not asked.charged:
        raise not_found()
    asked = await service.resumed(asked, found)
    if told and (not asked.answer or service.clock.now() < asked.due):
        raise ServiceError(409, "Due", "The answer is on its way.", hint="Look again in a moment.")
    return asked, found


async def _asking(
    request: Request,
    found: Dataset,
    person: Person,
    asked: Asked,
    *,
    error: dict[str, str] | None = None,
    status: int = 200,
    preview: list[ReleaseView] | None = None,
) -> Response:
    service = service_of(request)
    words = await service.free(person, priced, service, found, person, asked)
    view = await service.run(dataset_view, service, found, person)
    return await page(
        request,
        "ask.html",
        status=status,
        dataset=view,
        asked=asked,
        kinds=[(value, said) for value, said, _ in KINDS],
        unknowns=UNKNOWNS,
        needs=_NEEDS,
        error=error,
        preview=preview or [],
        ways=await service.free(person, ways_asked, service, found, asked) if preview else [],
        **words,
    )
