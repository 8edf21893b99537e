"""What all pages share: who reads, what a form said, and refusals as pages."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import secrets
from collections.abc import Callable, Coroutine, Mapping
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, Final
from urllib.parse import parse_qs, quote

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, PrefixLoader, StrictUndefined
from jinja2.loaders import ChoiceLoader
from markupsafe import Markup

from onesided.errors import OnesidedError
from onesided.numbers import INFINITE, many, rough, text
from onesided.session.kit import pointed
from onesided.show import moment, resource
from onesided_service._doors import (
    COOKIE,
    At,
    at_dataset,
    body_of,
    count_known,
    count_unknown,
    service_of,
    signed_in,
)
from onesided_service._errors import ServiceError, told
from onesided_service._people import Person, csrf_holds, csrf_of

# Our own files, and those that reports and monitors have already.
FILES: Final[Mapping[str, tuple[str, str]]] = {
    "look.css": ("onesided.show", "text/css"),
    "report.css": ("onesided.show", "text/css"),
    "kit.js": ("onesided.show", "text/javascript"),
    "page.css": ("onesided.monitor", "text/css"),
    "service.css": ("onesided_service", "text/css"),
    "service.js": ("onesided_service", "text/javascript"),
    "onesided.js": ("onesided_service", "text/javascript"),
    "monitor.js": ("onesided.monitor", "text/javascript"),
    "icon.svg": ("onesided_service", "image/svg+xml"),
}
_DIGITS: Final = 4


@cache
def static_text(name: str) -> str:
    """The text of a file of :data:`FILES`."""
    package, _ = FILES[name]
    return resource(f"static/{name}" if package == "onesided_service" else name, package=package)


@cache
def static_address(name: str) -> str:
    """Where a file is, under a name that changes with its text: it may be kept for ever.

    >>> static_address("look.css").startswith("/static/look.css?v=")
    True
    """
    digest = hashlib.sha256(static_text(name).encode()).hexdigest()
    return f"/static/{name}?v={digest[:16]}"


def amount(value: object) -> str:
    """An exact amount, given as text, for people; what is not exact says so.

    >>> amount("1/2"), amount("1/3"), amount("3")
    ('0.5', '≈ 0.3333', '3')
    """
    written = str(value)
    if written == text(INFINITE):
        return written
    exact = Fraction(written)
    shown = f"{float(exact):,.{_DIGITS}g}" if abs(exact) < 1000 else f"{float(exact):,.0f}"
    same = Fraction(shown.replace(",", "")) == exact
    return shown if same else f"≈ {shown}"


def clock(value: object) -> Markup:
    """The time of day of an instant, to the second."""
    at = dt.datetime.fromisoformat(str(value)).astimezone(dt.UTC)
    return Markup('<time datetime="{}">{} UTC</time>').format(value, f"{at:%H:%M:%S}")


@cache
def templates() -> Environment:
    """The service's templates; everything is escaped, and a word that is missing is an error."""
    own = PackageLoader("onesided_service")
    shared = PrefixLoader(
        {name: PackageLoader(f"onesided.{name}", ".") for name in ("show", "monitor")}
    )
    made = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=ChoiceLoader([own, shared]),
    )
    made.filters |= {"amount": amount, "moment": moment, "clock": clock, "rough": rough}
    made.filters["many"] = many
    # What tells one loading of a page with a form that charges from another.
    made.globals |= {"static": static_address, "once": lambda: secrets.token_hex(8)}
    return made


def filled(template: str, **words: Any) -> str:
    """A template with its words."""
    return templates().get_template(template).render(**words)


Handler = Callable[[Request], Coroutine[Any, Any, Response]]
_LOCAL: Final = re.compile(r"/[A-Za-z0-9_/.?=&-]*")
_MOST_FIELDS: Final = 200
_QUOTED: Final = re.compile(r"'([^'\n]+)'")
_WIDE: Final = 72  # letters around a word
_TITLES: Final = {
    400: "This cannot be read",
    401: "Sign in first",
    403: "Refused",
    404: "Not found",
    409: "Not as things stand",
    410: "This answer is lost",
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
                if refusal.status == 401 and request.method == "GET":  # and back afterwards
                    query = f"?{request.url.query}" if request.url.query else ""
                    back = local(request.url.path + query)
                    return see(f"/sign-in?next={quote(back, safe='/')}")
                return await error_page(request, refusal)

        return handler


def pages_router() -> APIRouter:
    """For addresses of pages, which no description of the API names."""
    return APIRouter(
        route_class=PageRoute, include_in_schema=False, default_response_class=HTMLResponse
    )


def refusal_of(error: ServiceError | OnesidedError) -> ServiceError:
    """The refusal that a page shows."""
    return told(error) if isinstance(error, OnesidedError) else error


def error_words(refusal: ServiceError, written: str = "") -> dict[str, str]:
    """A refusal in the words of a page. written: the text in which its word is shown."""
    title = _TITLES.get(refusal.status, "This was refused")
    title = {
        "BudgetExceededError": "Refused: this costs more than is left",
        "Withdrawn": "This release was withdrawn",
    }.get(refusal.type, title)
    text = (
        "There is no such page here."
        if (refusal.type, refusal.status) == ("Http", 404)
        else str(refusal)
    )
    said, _, place = text.partition("\n")
    place = place or marked(said, written)
    words = {"message": _sentence(said), "place": place, "hint": _sentence(refusal.hint)}
    return {"title": title, **words}


def refused(error: ServiceError | OnesidedError, written: str = "") -> dict[str, Any]:
    """The words of a page that shows a refusal beside what it showed, and its status."""
    refusal = refusal_of(error)
    return {"error": error_words(refusal, written), "status": refusal.status}


def marked(said: str, written: str) -> str:
    """Where the word that a message quotes stands in a text; "" where it does not stand once.

    >>> print(marked("The table has no column 'plaec'.", "age = 1 AND plaec = 2"))
      line 1, column 13:
        age = 1 AND plaec = 2
                    ^
    """
    quoted = _QUOTED.search(said)
    word = re.escape(quoted[1]) if quoted else ""
    places = [one.start() for one in re.finditer(rf"(?<!\w){word}(?!\w)", written)] if word else []
    return pointed(written, places[0], _WIDE)[0] if len(places) == 1 else ""


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


async def error_page(request: Request, refusal: ServiceError) -> Response:
    """A refusal as a page, which looks nothing up: what was refused may be looking up."""
    # Whether they are signed in is then not known, and not said.
    request.state.unsure = not hasattr(request.state, "reader") and COOKIE in request.cookies
    request.state.reader = getattr(request.state, "reader", None)
    return await page(request, "error.html", status=refusal.status, error=error_words(refusal))


async def page(request: Request, template: str, *, status: int = 200, **words: Any) -> HTMLResponse:
    """A template, with what every page says."""
    person = await reader_of(request)
    common = {
        "service": service_of(request).config.title,
        "here": request.url.path,
        "person": "" if person is None else person.name,
        "csrf": "" if person is None else csrf_of(request.cookies[COOKIE]),
        "embedded": False,
        "unsure": getattr(request.state, "unsure", False),
    }
    return HTMLResponse(filled(template, **{**common, **words}), status_code=status)


async def reader_of(request: Request) -> Person | None:
    """Whose browser this is, if they signed in; looked up once for each request."""
    if not hasattr(request.state, "reader"):
        request.state.reader = await signed_in(request)
    found: Person | None = request.state.reader
    return found


async def person_of_page(request: Request) -> Person:
    """The signed-in person. Errors: ServiceError 401."""
    person = await reader_of(request)
    if person is None:
        if COOKIE in request.cookies:
            count_unknown(request)
        raise ServiceError(401, "Unauthorized", "You are not signed in.", hint="Sign in.")
    count_known(request, person)
    return person


SignedIn = Annotated[Person, Depends(person_of_page)]
Form = dict[str, list[str]]


async def form_of(request: Request) -> Form:
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


async def own_form_of(request: Request) -> tuple[Person, Form]:
    """A signed-in person's form, with the mark of our own page. Errors: ServiceError 401, 403."""
    person, form = await person_of_page(request), await form_of(request)
    if not csrf_holds(request.cookies[COOKIE], first(form, "csrf")):
        raise _foreign()
    return person, form


async def _shown(request: Request, name: str, person: SignedIn) -> At:
    return await at_dataset(request, name, person)


async def _filled(request: Request, name: str) -> tuple[At, Form]:
    person, form = await own_form_of(request)
    return await at_dataset(request, name, person), form


# The dataset of a page's address, and with it a form that the page sent.
Shown = Annotated[At, Depends(_shown)]
Filled = Annotated[tuple[At, Form], Depends(_filled)]


def first(form: Form, name: str) -> str:
    """A field of a form, "" where it is not there."""
    return form.get(name, [""])[0]


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
