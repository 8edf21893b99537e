"""Who is asking, and what they sent: tokens, cookies, bodies of bounded size and time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar

from fastapi import Depends, Request

from onesided.store import read_json
from onesided_service._datasets import Dataset
from onesided_service._errors import ServiceError
from onesided_service._people import CURATOR, Person
from onesided_service._service import Service

T = TypeVar("T")
COOKIE: Final = "onesided"


def service_of(request: Request) -> Service:
    """The worker's service."""
    found: Service = request.app.state.service
    return found


async def person_of(request: Request) -> Person:
    """The person of a bearer token, or of an organisation's own. Errors: ServiceError 401."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        raise unknown()
    service, token = service_of(request), token.strip()
    person = await service.run(service.person_of, token)
    if person is None:
        count_unknown(request)
        raise unknown()
    request.state.person = person.name
    count_known(request, person)
    return person


Known = Annotated[Person, Depends(person_of)]


@dataclass(frozen=True, slots=True)
class At:
    """A dataset, and somebody who sees it."""

    service: Service
    found: Dataset
    person: Person

    def curated(self) -> At:
        """The same for its curator. Errors: ServiceError."""
        if not self.person.may(CURATOR, self.found.name):
            raise ServiceError(403, "Forbidden", "This is for the curator.")
        return self

    async def run(self, function: Callable[..., T], *args: Any) -> T:
        """As :meth:`Service.run`."""
        return await self.service.run(function, *args)

    async def free(self, function: Callable[..., T], *args: Any) -> T:
        """As :meth:`Service.free`, for this person."""
        return await self.service.free(self.person, function, *args)


async def at_dataset(request: Request, name: str, person: Known) -> At:
    """The dataset of an address. Errors: ServiceError, the same for what they may not see."""
    service = service_of(request)
    return At(service, service.dataset(name, person), person)


Seen = Annotated[At, Depends(at_dataset)]


async def at_own(at: Seen) -> At:
    """The same for its curator. Errors: ServiceError."""
    return at.curated()


Curated = Annotated[At, Depends(at_own)]


async def signed_in(request: Request) -> Person | None:
    """The person whose browser this is; None for a reader without an account.

    It counts against nobody: what is public is read with any cookie, or with none.
    """
    service, cookie = service_of(request), request.cookies.get(COOKIE, "")
    if not cookie:
        return None
    person = await service.run(lambda: service.people.of_token(cookie, kind="cookie"))
    if person is not None:
        request.state.person = person.name
    return person


def count_known(request: Request, person: Person) -> None:
    """Count a request of somebody who signed in. Errors: ServiceError 429."""
    service = service_of(request)
    service.limits.count(person.name, now=service.clock.now())


def count_unknown(request: Request) -> None:
    """Count a token that does not hold against its address. Errors: ServiceError 429."""
    service = service_of(request)
    service.limits.count(_address(request), now=service.clock.now())


def _address(request: Request) -> str:
    """Where a request without a person came from; no name of a person looks like it."""
    return f"@ {request.client.host if request.client else ''}"


def unknown() -> ServiceError:
    """One refusal for every token that does not hold: why is nobody's business."""
    return ServiceError(
        401, "Unauthorized", "No valid token was given.", hint="Send: Authorization: Bearer TOKEN."
    )


async def body_of(request: Request) -> bytes:
    """The body, of bounded size, within a bounded time. Errors: ServiceError 413 or 408."""
    config = service_of(request).config
    found = bytearray()
    try:
        async with asyncio.timeout(float(config.slowest_body)):
            async for part in request.stream():
                found += part
                if len(found) > config.largest_body:
                    raise ServiceError(
                        413, "TooLarge", f"A body has at most {config.largest_body:,} bytes."
                    )
    except TimeoutError:
        raise ServiceError(408, "TooSlow", "The body came too slowly.") from None
    return bytes(found)


async def json_of(request: Request) -> Any:
    """The body as JSON. Errors: ServiceError 400, 408, 413 or 415."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise ServiceError(415, "NotJson", "Send JSON.", hint="Content-Type: application/json.")
    try:
        found = read_json((await body_of(request)).decode(), once=True)
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()  # text and numbers alone
    except (ValueError, RecursionError):
        raise ServiceError(400, "NotJson", "The body is not JSON that is read here.") from None
    return found


Sent = Annotated[Any, Depends(json_of)]
