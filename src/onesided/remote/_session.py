"""A session whose rows are on a server."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from time import sleep
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import quote, urlsplit

from onesided import errors
from onesided._numbers import Loss, Number, from_text, readable
from onesided._plugins import optional
from onesided.errors import OnesidedError, ParameterError, ServiceError
from onesided.policy import Policy, from_toml
from onesided.schema import Schema
from onesided.session import (
    Release,
    Statement,
    Suggestion,
    question_from_json,
    question_to_json,
    release_from_json,
    statement_of,
)
from onesided.session.kit import Asks, frame_of, question_of, require_question

if TYPE_CHECKING:
    import httpx

# A server's refusals as the errors that a session raises itself.

_OTHER: Final = "Install the version of onesided that the server runs."
# A closed table: a name that a server sends never makes an error of another module.
KNOWN: Final[dict[str, type[OnesidedError]]] = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, OnesidedError)
}
_WORDS: Final = {
    401: "The token is missing, wrong, expired or revoked.",
    403: "The token's owner may not do this.",
    404: "The server has nothing at this address for this token.",
    413: "The request is too large for the server.",
    429: "The server asks for fewer requests.",
    503: "The server cannot answer now.",
}


def failure(status: int, told: Any) -> OnesidedError:
    """The error of a response that is no success: by its type, with its hint and values."""
    said = told.get("error") if isinstance(told, dict) else None
    if not isinstance(said, dict) or not isinstance(said.get("message"), str):
        return ServiceError(
            f"The server answered {status}. {_WORDS.get(status, '')}".strip(),
            hint="See whether the address is that of onesided serve.",
            status=status,
        )
    values = said.get("values")
    facts = dict(values) if isinstance(values, dict) else {}
    kind = KNOWN.get(str(said.get("type")), ServiceError)
    if kind is ServiceError:
        facts |= {"status": status, "type": str(said.get("type"))}
    hint = said.get("hint")
    return kind(
        said["message"],
        hint=hint if isinstance(hint, str) else "",
        **{str(name): one for name, one in facts.items() if name not in ("reason", "hint")},
    )


# Requests to a server: JSON there and back, tried again where that can do no harm.

API: Final = "/api/v1"
ATTEMPTS: Final = 5
LONGEST_WAIT: Final = 60.0
_FIRST_WAIT: Final = 0.5
_PASSING: Final = (502, 504)
_SAID_WHEN: Final = (429, 503)
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


def address_of(url: str, *, plain_http: bool) -> str:
    """The address without a slash at its end. Errors: ParameterError."""
    parts = urlsplit(url) if isinstance(url, str) else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise ParameterError(
            "A server's address begins with https:// or http://.",
            hint='Write od.connect("https://statistics.example.org", token=...).',
        )
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ParameterError(
            "A server's address holds no name, password or query.", hint="Pass the token as token=."
        )
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK and not plain_http:
        raise ParameterError(
            "http:// carries the token and all answers in the clear.",
            hint="Use https://, or pass plain_http=True on a network that nobody else reads.",
        )
    return url.rstrip("/")


class Server:
    """Where to ask, and as whom. Its ``repr`` never shows the token."""

    def __init__(self, address: str, token: str | None, *, wait: float, transport: Any) -> None:
        headers = {"Accept": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        self.address, self._wait = address, wait
        self._client: httpx.Client = _httpx().Client(
            base_url=address, headers=headers, timeout=wait, transport=transport
        )

    def call(self, path: str, body: Any = None) -> Any:
        """What stands at ``path``, or the answer to ``body``, after as many attempts as it takes.

        A body must mean the same however often it arrives. Errors: those of the server;
        ServiceError.
        """
        method, sent = ("GET", {}) if body is None else ("POST", {"json": body})
        failed: OnesidedError = ServiceError("The server was not asked.")
        for attempt in range(ATTEMPTS):
            try:
                response = self._client.request(method, f"{API}{path}", **sent)
            except _httpx().TransportError as error:
                failed = ServiceError(
                    f"{self.address} cannot be reached: {type(error).__name__}.",
                    hint="See whether the address is right and the server runs.",
                    status=None,
                )
                pause: float | None = _backoff(attempt)
            else:
                told = _json(response)
                if response.is_success:
                    return told
                failed = failure(response.status_code, told)
                pause = _pause(response, attempt)
            if pause is None or pause > LONGEST_WAIT or attempt + 1 == ATTEMPTS:
                break
            sleep(pause)
        raise failed

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __repr__(self) -> str:
        return f"Server({self.address!r})"


def _pause(response: httpx.Response, attempt: int) -> float | None:
    """How long to wait before the next attempt; None where another would be refused alike."""
    if response.status_code in _PASSING:
        return _backoff(attempt)
    said = response.headers.get("Retry-After", "")
    if response.status_code in _SAID_WHEN and said.isascii() and said.isdigit():
        return max(float(said), _FIRST_WAIT)
    return None


def _backoff(attempt: int) -> float:
    return _FIRST_WAIT * float(2**attempt)


def _json(response: httpx.Response) -> Any:
    """What a response holds. Errors: ServiceError where a success is no JSON."""
    try:
        return response.json()
    except (ValueError, RecursionError):
        if response.is_success:
            raise ServiceError(
                "The server's answer is not JSON.",
                hint="See whether the address is that of onesided serve.",
                status=response.status_code,
            ) from None
        return None


def _httpx() -> Any:
    hint = 'Run pip install "onesided[client]".'
    return optional("httpx", "Asking a server needs httpx.", hint)


# What a question would cost and give, as a server says it.

Planned = Callable[[Number], "RemotePlan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemotePlan:
    """What a question would cost and give; nothing was charged. ``print`` shows it.

    charge, delta: the exact loss per edge. remaining: what is left for you on each edge. error: the
    predicted root mean square error; None where it depends on the data. due: seconds until an
    answer would leave, by the public clock. told: all that the server said, such as what the
    answer promises, and the same question in ``python``, ``sql`` and ``shell``.

    >>> charge, left = {"present -> not present": Fraction(1, 2)}, {"present -> not present": 3}
    >>> plan = RemotePlan(charge=charge, delta={}, remaining=left, error=1.98, due=2, told={})
    >>> print(plan)
    Charge -- present -> not present: 1/2 of 3 left.
    Predicted error (r.m.s.): 1.98.
    The answer leaves 2 s after the question, at the next public tick.
    """

    charge: Mapping[str, Loss]
    delta: Mapping[str, Fraction]
    remaining: Mapping[str, Fraction]
    error: float | None
    due: float
    told: Mapping[str, Any] = field(repr=False)
    planned: Planned | None = field(default=None, repr=False, compare=False)

    @property
    def certifies(self) -> list[tuple[int, float]]:
        """By true count, how often a group is certified."""
        return [(int(count), float(share)) for count, share in self.told.get("certified", ())]

    @property
    def affordable(self) -> bool:
        """Whether every edge has that much ε left for you."""
        return all(loss <= self.remaining.get(edge, 0) for edge, loss in self.charge.items())

    def at(self, epsilon: Number) -> RemotePlan:
        """The plan of the same question at another ε. Errors: ParameterError."""
        if self.planned is None:
            raise ParameterError(
                "This plan is not of one question with one ε.",
                hint="Ask session.plan(question) for each ε.",
            )
        return self.planned(epsilon)

    def __str__(self) -> str:
        edges = ", ".join(
            f"{edge}: {readable(loss)} of {readable(self.remaining.get(edge, Fraction(0)))} left"
            for edge, loss in self.charge.items()
        )
        error = "depends on the data" if self.error is None else f"{self.error:.3g}"
        return "\n".join(
            [
                f"Charge -- {edges}.{'' if self.affordable else ' More than is left.'}",
                f"Predicted error (r.m.s.): {error}.",
                f"The answer leaves {self.due:g} s after the question, at the next public tick.",
            ]
        )


def plain(value: Any) -> Any:
    """A wanted number as JSON takes it: whole ones, texts and tables of whole ones as they are."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def plan_of(told: Any, *, remaining: Mapping[str, Fraction], planned: Planned | None) -> RemotePlan:
    """A server's plan. Errors: ServiceError for another form."""
    try:
        error = told["error"]
        return RemotePlan(
            charge={edge: from_text(loss) for edge, loss in told["charge"].items()},
            delta={edge: Fraction(loss) for edge, loss in told["delta"].items()},
            remaining=remaining,
            error=None if error is None else float(error),
            due=float(Fraction(str(told["due_seconds"]))),
            told=told,
            planned=planned,
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ServiceError("The server's plan has another form.", hint=_OTHER) from error


Tables = Callable[[Mapping[str, Any]], Any]
_FACTS: Final = {"name", "open", "policy", "unit", "schema"}


class RemoteSession(Asks):
    """Ask questions of a dataset on a server; made by :func:`onesided.connect`.

    Every question goes under an id. Where the caller names none, a fresh one is made, so that a
    request that got lost can be sent again: the server charges an id once, and then tells its
    answer again.
    Errors: those of :class:`onesided.Session`, by their type; ServiceError.

    >>> import onesided as od
    >>> help(od.connect)  # doctest: +ELLIPSIS
    Help on function connect in module onesided.remote._session:
    ...
    """

    def __init__(self, server: Server, dataset: str, *, tables: Tables | None = None) -> None:
        if not isinstance(dataset, str) or not dataset:
            raise ParameterError(
                f"dataset={dataset!r} is no name.", hint="Give the name of a dataset."
            )
        self.dataset, self._server, self._tables = dataset, server, tables
        self._path = f"/datasets/{quote(dataset, safe='')}"
        self._facts = self._dataset()

    def _read(self, text: str, question: dict[str, Any]) -> tuple[Any, bool]:
        schema = self._facts["schema"]
        columns, most = list(schema["columns"]), schema.get("max_rows")
        return question_of(text, unit=self.unit, columns=columns, declared_rows=most, **question)

    def plan(self, question: Any) -> RemotePlan:
        """What ``question`` would cost and give. Looks at no row and spends nothing."""
        require_question(question)
        told = self._server.call(f"{self._path}/plan", _body(question))
        single = getattr(question, "epsilon", None) is not None
        planned = (
            (lambda epsilon: self.plan(replace(question, epsilon=epsilon))) if single else None
        )
        return plan_of(told, remaining=self.remaining, planned=planned)

    def statement(self, question: Any) -> Statement:
        """What the answer to ``question`` would be about. Asks nothing, also not the server."""
        require_question(question)
        schema = Schema.from_toml(self._facts["schema"]["toml"])
        return statement_of(question, unit=self.unit, schema=schema)

    def suggest(self, question: Any, **wanted: Any) -> Suggestion:
        """The question with the least ε for what is wanted, from public facts. Free.

        wanted: ``within``, how far off it may be 95 of 100 times; or, as in
        :meth:`onesided.Session.suggest`, ``error``; ``relative`` with ``guess``; ``certified`` with
        ``count``; or ``groups_of_units``. A look at the data is no part of it: it would be charged,
        and a service charges questions alone.
        """
        require_question(question)
        body = {**_body(question), "wanted": {key: plain(one) for key, one in wanted.items()}}
        told = self._server.call(f"{self._path}/suggest", body)
        try:
            plan: Any = plan_of(told["plan"], remaining=self.remaining, planned=None)
            return Suggestion(
                question=question_from_json(json.dumps(told["question"])),
                epsilon=Fraction(told["epsilon"]),
                plan=plan,  # a RemotePlan, which says as much
                error=told["error"],
                relative=told["relative"],
                compared={int(most): error for most, error in told["compared"].items()},
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ServiceError("The server's suggestion has another form.", hint=_OTHER) from error

    def made_up(self) -> Any:
        """Made-up rows of the dataset's schema, by column: to try code on. About nobody."""
        columns = self._server.call(f"{self._path}/made-up")["columns"]
        return frame_of(columns) if self._tables is None else self._tables(columns)

    def preview(self, question: Any) -> Release:
        """A release on made-up data of the schema: free, and about nobody."""
        told = self._server.call(f"{self._path}/preview", _body(question))
        return self._release(told)

    def ask(self, question: Any) -> Any:
        """Answer ``question``; what every method named after a question does.

        Errors: BudgetExceededError (nothing drawn, nothing recorded), and those of bad input;
        ServiceError after several attempts; its ``values["id"]`` names the question.
        """
        require_question(question)
        asked = question
        if question.id is None:
            asked = replace(question, id=f"remote-{secrets.token_hex(16)}", again=True)
        try:
            told = self._server.call(f"{self._path}/ask", _body(asked))
        except ServiceError as error:
            again = f"Asked again with id={asked.id!r} and again=True, it is charged at most once."
            raise ServiceError(
                error.reason,
                hint=f"{error.hint} {again}".strip(),
                **{**error.values, "id": asked.id},
            ) from error
        return self._release(told)

    @property
    def remaining(self) -> Mapping[str, Fraction]:
        """What is left for you to spend on each edge: of your allowance, or of the budget."""
        return self._amounts("allowance_left")

    @property
    def spent(self) -> Mapping[str, Fraction]:
        """What everybody together spent on each edge."""
        return self._amounts("spent")

    @property
    def unit(self) -> str | None:
        """The column that says whose row it is; None protects each row on its own."""
        found: str | None = self._facts["unit"]
        return found

    @property
    def policy(self) -> Policy:
        """The dataset's policy."""
        return from_toml(self._facts["policy"]["toml"])

    @property
    def facts(self) -> Mapping[str, Any]:
        """All that the server says of the dataset: policy in words, columns, budget, size."""
        return self._dataset()

    @property
    def history(self) -> list[dict[str, Any]]:
        """What you asked of this dataset, and what became of it."""
        found: list[dict[str, Any]] = self._server.call(f"{self._path}/asks")
        return found

    @property
    def published(self) -> list[dict[str, Any]]:
        """The releases that everybody may read, of all datasets."""
        found: list[dict[str, Any]] = self._server.call("/published")
        return found

    def read(self, ask: str) -> Release:
        """The answer to a question of yours, by the name that ``history`` has for it; free."""
        told = self._server.call(f"/asks/{quote(ask, safe='')}")
        return self._release(told)

    def _release(self, told: Any) -> Release:
        """The release in a response, or several that were charged as one. Errors: ServiceError."""
        try:
            found = told.get("release") if isinstance(told, dict) else None
            return release_from_json(json.dumps(found), frame=self._tables)
        except ParameterError as error:
            raise ServiceError(
                f"The server's answer is not a release: {error.reason}", hint=_OTHER
            ) from error

    def close(self) -> None:
        """Close the connections to the server."""
        self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _amounts(self, name: str) -> dict[str, Fraction]:
        """Exact amounts per edge. Errors: ServiceError where the dataset is closed."""
        facts = self._dataset()
        if name not in facts:
            raise ServiceError(
                f"The dataset {self.dataset!r} is closed.", hint="Its curator can reopen it."
            )
        return {edge: Fraction(some) for edge, some in facts[name].items()}

    def _dataset(self) -> dict[str, Any]:
        found = self._server.call(self._path)
        if not isinstance(found, dict) or not set(found) >= _FACTS:
            raise ServiceError("The server describes its dataset in another form.", hint=_OTHER)
        return found

    def __repr__(self) -> str:
        left = ", ".join(f"{edge}: {readable(some)}" for edge, some in self.remaining.items())
        return (
            f"RemoteSession({self.dataset!r} on {self._server.address}, policy "
            f"{self._facts['policy']['name']!r}, unit {self.unit or 'row'!r}; left of ε: {left})"
        )


def _body(question: Any) -> dict[str, Any]:
    return {"question": json.loads(question_to_json(question))}


# Opening a session on a server.

TOKEN: Final = "ONESIDED_TOKEN"  # noqa: S105 - the name of a variable
_WAIT: Final = 300.0


def connect(
    url: str,
    *,
    token: str | None = None,
    dataset: str | None = None,
    tables: Callable[[Mapping[str, Any]], Any] | None = None,
    plain_http: bool = False,
    wait: float = _WAIT,
    transport: Any = None,
) -> RemoteSession:
    """A session on a server: the methods of :class:`onesided.Session`, and rows that stay there.

    token: yours; None takes that of the environment variable ``ONESIDED_TOKEN``.
    dataset: its name; None takes the only one that you may see.
    tables: makes ``release.frame`` of columns, such as ``pandas.DataFrame``; None is the first that
        is installed of Polars, pandas and PyArrow.
    plain_http: True allows an address without TLS that is not this machine's own.
    wait: seconds for one response; an answer leaves on the server's public clock.
    transport: an httpx transport, for proxies of your own and for tests.
    Errors: ParameterError; ServiceError; MissingDependencyError without httpx.

    >>> connect("http://statistics.example.org", token="of mine", dataset="visits")
    Traceback (most recent call last):
    onesided.errors.ParameterError: http:// carries the token and all answers in the clear.
    Hint: Use https://, or pass plain_http=True on a network that nobody else reads.
    """
    address = address_of(url, plain_http=plain_http)
    secret = os.environ.get(TOKEN) if token is None else token
    if secret is not None and not (secret.isascii() and secret.isprintable() and secret.strip()):
        raise ParameterError(
            "The token holds characters that no token has.", hint="Paste it again, as it was given."
        )
    if not 0 < wait < float("inf"):
        raise ParameterError(f"wait={wait!r} is no time in seconds.", hint="Leave it out.")
    server = Server(address, secret, wait=wait, transport=transport)
    try:
        name = _only(server) if dataset is None else dataset
        return RemoteSession(server, name, tables=tables)
    except BaseException:
        server.close()
        raise


def _only(server: Server) -> str:
    """The one dataset that may be seen. Errors: ParameterError."""
    names = [str(one["name"]) for one in server.call("/datasets")]
    if len(names) != 1:
        raise ParameterError(
            f"{len(names)} datasets may be seen with this token.",
            hint=f"Pass dataset=, one of {', '.join(map(repr, names))}."
            if names
            else "Ask the curator for a role in one.",
        )
    return names[0]
