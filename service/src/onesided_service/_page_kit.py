"""What all pages share: who reads, what a form said, and refusals as pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs, quote

from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute

from onesided.errors import OnesidedError
from onesided_service._doors import COOKIE, body_of, service_of, signed_in
from onesided_service._errors import ServiceError, told
from onesided_service._look import filled
from onesided_service._people import Person, csrf_holds, csrf_of

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
_LOCAL: Final = re.compile(r"/[A-Za-z0-9_/.?=&-]*")
_MOST_FIELDS: Final = 200
_TITLES: Final = {
    400: "This cannot be read",
    401: "Sign in first",
    403: "Refused",
    404: "Not found",
    409: "This was done before",
    413: "Too much at once",
    429: "Too many requests",
    503: "Not available now",
}


class PageRoute(APIRoute):
    """A route whose refusals are pages; who is not signed in is sent to sign in."""

    def get_route_handler(self) -> Handler:
        """FastAPI's own handler, and what a refusal looks like."""
        inner = super().get_route_handler()

        async def handler(request: Request) -> Response:
            try:
                return await inner(request)
            except (ServiceError, OnesidedError) as error:
                refusal = refusal_of(error)
                if refusal.status == 401 and request.method == "GET":
                    return to_sign_in(request)
                return await error_page(request, refusal)

        return handler


def refusal_of(error: ServiceError | OnesidedError) -> ServiceError:
    """The refusal that a page shows."""
    return told(error) if isinstance(error, OnesidedError) else error


def error_words(refusal: ServiceError) -> dict[str, str]:
    """A refusal in the words of a page."""
    title = _TITLES.get(refusal.status, "This was refused")
    if refusal.type == "BudgetExceededError":
        title = "Refused: this costs more than is left"
    text = (
        "There is no such page here."
        if (refusal.type, refusal.status) == ("Http", 404)
        else str(refusal)
    )
    said, _, place = text.partition("\n")
    words = {"message": _sentence(said), "place": place, "hint": _sentence(refusal.hint)}
    return {"title": title, **words}


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


async def error_page(request: Request, refusal: ServiceError) -> Response:
    """A refusal as a page."""
    return await page(request, "error.html", status=refusal.status, error=error_words(refusal))


async def page(request: Request, template: str, *, status: int = 200, **words: Any) -> HTMLResponse:
    """A template, with what every page says."""
    reader = await reader_of(request)
    common = {
        "service": service_of(request).config.title,
        "here": request.url.path,
        "person": reader.name,
        "csrf": reader.csrf,
        "embedded": False,
    }
    return HTMLResponse(filled(template, **{**common, **words}), status_code=status)


@dataclass(frozen=True, slots=True)
class Reader:
    """Whose browser this is; nobody's if they have not signed in."""

    person: Person | None
    cookie: str

    @property
    def name(self) -> str:
        """Their name, or ""."""
        return "" if self.person is None else self.person.name

    @property
    def csrf(self) -> str:
        """What their forms carry."""
        return "" if self.person is None else csrf_of(self.cookie)


async def reader_of(request: Request) -> Reader:
    """Whose browser this is; looked up once for each request."""
    found: Reader | None = getattr(request.state, "reader", None)
    if found is None:
        found = Reader(await signed_in(request), request.cookies.get(COOKIE, ""))
        request.state.reader = found
    return found


async def person_of_page(request: Request) -> Person:
    """The signed-in person. Errors: ServiceError 401."""
    reader = await reader_of(request)
    if reader.person is None:
        raise ServiceError(401, "Unauthorized", "You are not signed in.", hint="Sign in.")
    return reader.person


async def form_of(request: Request) -> dict[str, list[str]]:
    """A form that was sent from one of our own pages. Errors: ServiceError 400, 403, 415."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise _foreign()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise ServiceError(415, "NotForm", "Send a form.")
    try:
        text = (await body_of(request)).decode("ascii")
        return parse_qs(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise ServiceError(400, "NotForm", "The form cannot be read.") from None


async def own_form_of(request: Request) -> tuple[Person, dict[str, list[str]]]:
    """A signed-in person's form, with the mark of our own page. Errors: ServiceError 401, 403."""
    person, form = await person_of_page(request), await form_of(request)
    reader = await reader_of(request)
    if not csrf_holds(reader.cookie, first(form, "csrf")):
        raise _foreign()
    return person, form


def first(form: dict[str, list[str]], name: str) -> str:
    """A field of a form, "" where it is not there."""
    return form.get(name, [""])[0]


def to_sign_in(request: Request) -> Response:
    """To the page to sign in, and back afterwards."""
    back = local(request.url.path + (f"?{request.url.query}" if request.url.query else ""))
    return see(f"/sign-in?next={quote(back, safe='/')}")


def local(address: str) -> str:
    """An address of ours, or the first page: nobody is sent elsewhere.

    >>> local("/history"), local("//evil.example"), local("https://evil.example")
    ('/history', '/', '/')
    """
    fine = _LOCAL.fullmatch(address) is not None and not address.startswith("//")
    return address if fine else "/"


def see(address: str) -> RedirectResponse:
    """Go on there, by GET."""
    return RedirectResponse(address, status_code=303)


def _foreign() -> ServiceError:
    return ServiceError(
        403,
        "Foreign",
        "This form did not come from a page of this service, or you signed in anew since.",
        hint="Load the page again, and send it from there.",
    )
