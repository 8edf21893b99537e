"""What the curator configures once: a closed table, every unknown name refused."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, cast

from onesided.errors import ParameterError
from onesided.fields import (
    Exact,
    Field,
    Fields,
    Flag,
    Reader,
    Text,
    Whole,
    inside,
    is_flag,
    listing,
    made,
    of,
    one_of,
    read,
    table,
)
from onesided.ledger import ACCOUNTING, PURE
from onesided.numbers import Number, non_negative, positive, whole
from onesided.store import first_bytes, plain_text, toml_document

REFILLS: Final = ("never", "daily", "monthly")
ENGINES: Final = ("duckdb", "spark")
NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_LONGEST: Final = 2**20
_ORIGIN: Final = re.compile(r"https?://[a-z0-9.-]+(:(?!443$|80$)[0-9]{1,5})?")
_ADDRESS: Final = re.compile(r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]*)?")


def _texts(value: object, *, name: str) -> tuple[str, ...]:
    """A list of texts, not empty."""
    words = "a list of texts"
    return tuple(listing(partial(plain_text, empty=False), words, least=1)(value, name=name))


def _origins(value: object, *, name: str) -> tuple[str, ...]:
    """Origins as browsers send them: a scheme and a host, and no path."""
    found = tuple(listing(plain_text, "a list of texts")(value, name=name))
    for one in found:
        if not _ORIGIN.fullmatch(one):
            hint = 'Write a scheme and a host in lower case, such as "https://news.example".'
            raise ParameterError(f"{name} has {one!r}, which is no origin.", hint=hint, value=one)
    return found


def _address(value: object, *, name: str) -> str:
    """Where others reach the service: an origin, and perhaps a path; "" for nowhere."""
    found = plain_text(value, name=name)
    if found and not _ADDRESS.fullmatch(found):
        hint = 'Write it as "https://statistics.example".'
        raise ParameterError(f"{name} is {found!r}, which is no address.", hint=hint, value=found)
    return found


@dataclass(frozen=True, kw_only=True)
class OidcConfig:
    """Whose tokens are believed: ``[service.oidc]``.

    jwks: a file of public keys, or an https URL of one. claim: which claim names the person.

    >>> OidcConfig(issuer="https://id.example", audience="onesided", jwks="keys.json").claim
    'sub'
    """

    issuer: Text = Field(plain_text)
    audience: Text = Field(plain_text)
    jwks: Text = Field(plain_text)
    algorithms: Field[Sequence[str], tuple[str, ...]] = Field(_texts, default=("RS256", "ES256"))
    claim: Text = Field(plain_text, default="sub")


@dataclass(frozen=True, kw_only=True)
class DatasetConfig:
    """One dataset: ``[datasets.NAME]``.

    budget, delta_budget, allowance, delta_allowance: per unit of edge weight, exact. accounting:
    "pure", or "renyi", where what is asked within an allowance keeps a pure law. allowance:
    what each person may spend of the budget; None for as much as there is. refills: when each
    person's allowance starts anew, in UTC; the budget never does. declared_rows: how many rows
    the public may think there are, which sets how long answers take. seconds: how long a plain
    question of a million declared rows may take; None for 1, or what a check sets.
    grace: seconds beyond that in which an answer is drawn and written down, which no row makes
    longer; it is no time of the next question's.
    cells: how many a histogram or a map may have, which bounds what a free plan takes of the
    machine. min_epsilon, max_epsilon: of one question. overruns: how many questions may be late
    before it closes; each is lost, and tells a bit. threads: how many cores read its rows. memory:
    GiB that reading may take. data: a file, a folder that Spark reads, or the URL of a PostgreSQL
    database. table: which one, where there are several. engine: what reads files.

    >>> files = {"data": "visits.parquet", "schema": "visits.toml", "policy": "policy.toml"}
    >>> DatasetConfig(name="visits", budget=Fraction(4), **files).refills
    'never'
    """

    name: str
    data: Text = Field(plain_text, example='"visits.parquet"')
    schema: Text = Field(plain_text, example='"visits.schema.toml"')
    policy: Text = Field(plain_text, example='"policy.toml"')
    budget: Exact = Field(positive, example="4")
    title: Text = Field(plain_text, default="")
    ledger: Text = Field(plain_text, default="")
    table: Text = Field(plain_text, default="")
    engine: Text = Field(one_of, words=ENGINES, default="duckdb")
    declared_rows: Whole = Field(whole, least=1, default=1_000_000)
    seconds: Field[Number | None, Fraction | None] = Field(positive, default=None, optional=True)
    grace: Exact = Field(non_negative, default=1)
    cells: Whole = Field(whole, least=1, default=1024)
    delta_budget: Exact = Field(non_negative, default=0)
    accounting: Text = Field(one_of, words=ACCOUNTING, default=PURE)
    allowance: Field[Number | None, Fraction | None] = Field(
        non_negative, default=None, optional=True
    )
    delta_allowance: Exact = Field(non_negative, default=0)
    refills: Text = Field(one_of, words=REFILLS, default="never")
    min_epsilon: Exact = Field(non_negative, default=0)
    max_epsilon: Field[Number | None, Fraction | None] = Field(
        positive, default=None, optional=True
    )
    overruns: Whole = Field(whole, least=1, default=8)
    threads: Whole = Field(whole, least=1, default=1)
    memory: Whole = Field(whole, least=1, default=4)
    analysts_publish: Flag = Field(is_flag, default=False)


@dataclass(frozen=True, kw_only=True)
class MonitorConfig:
    """One live monitor: ``[monitors.NAME]``; its rules are those of :class:`onesided.Monitor`.

    keys: a file of the public places, with latitude and longitude for a map. at_least: how many
    open visitors are an alarm; None for no alarms. state: where its secret state is. dataset: the
    dataset whose senders may send; by default its own name.

    >>> files = {"keys": "places.csv", "policy": "policy.toml"}
    >>> MonitorConfig(name="places", at_most=20, epsilon=Fraction(1), **files).window
    '14d'
    """

    name: str
    keys: Text = Field(plain_text, example='"places.csv"')
    policy: Text = Field(plain_text, example='"policy.toml"')
    at_most: Whole = Field(whole, least=1, example="20")
    at_least: Field[int | None, int | None] = Field(whole, least=2, default=None, optional=True)
    epsilon: Exact = Field(positive, example='"1/2"')
    window: Text = Field(plain_text, default="14d")
    title: Text = Field(plain_text, default="")
    dataset: Text = Field(plain_text, default="")
    state: Text = Field(plain_text, default="")
    ledger: Text = Field(plain_text, default="")
    charges: Whole = Field(whole, least=1, default=1)
    person: Text = Field(plain_text, default="person")
    place: Text = Field(plain_text, default="place")
    time: Text = Field(plain_text, default="time")


@dataclass(frozen=True, kw_only=True)
class ServiceConfig:
    """The whole service. Read it with :meth:`read`.

    state: where people, tokens and published releases are kept: a file or a PostgreSQL URL.
    public_url: what its addresses begin with for others; without, its host and port. origins:
    whose pages may read what is published, such as "https://news.example". tick: seconds between
    the instants at which answers leave. tls: whether it stands behind a proxy that speaks TLS.
    folder: what file names are relative to.

    >>> ServiceConfig.from_toml("service = {tick = '1/2'}", folder=Path()).tick
    Fraction(1, 2)
    """

    state: Text = Field(plain_text, default="service.db")
    title: Text = Field(plain_text, default="onesided")
    host: Text = Field(plain_text, default="127.0.0.1")
    port: Whole = Field(whole, default=8000)
    public_url: Text = Field(_address, default="")
    origins: Field[Sequence[str], tuple[str, ...]] = Field(_origins, default=())
    workers: Whole = Field(whole, least=1, default=1)
    tick: Exact = Field(positive, default=1)
    tls: Flag = Field(is_flag, default=False)
    requests_per_minute: Whole = Field(whole, least=1, default=600)
    largest_body: Whole = Field(whole, least=1, default=1_000_000)
    slowest_body: Exact = Field(positive, default=10)
    token_days: Whole = Field(whole, least=1, default=90)
    oidc: Field[OidcConfig | None, OidcConfig | None] = Field(
        made(OidcConfig), default=None, optional=True
    )
    datasets: Mapping[str, DatasetConfig] = field(default_factory=dict)
    monitors: Mapping[str, MonitorConfig] = field(default_factory=dict)
    folder: Path = Path()

    @classmethod
    def read(cls, path: str | Path) -> ServiceConfig:
        """The service in a TOML file. Errors: ParameterError naming what is wrong, and where."""
        file = Path(path)
        try:
            text = first_bytes(file, _LONGEST + 1).decode()
        except (OSError, UnicodeDecodeError) as error:
            raise ParameterError(
                f"Cannot read {str(path)!r}: {error}.",
                hint="Name a TOML file; docs/service.md shows one.",
            ) from error
        return cls.from_toml(text, folder=file.resolve().parent)

    @classmethod
    def from_toml(cls, text: str, *, folder: Path) -> ServiceConfig:
        """The service that a text describes. Errors: ParameterError."""
        with toml_document(
            text,
            what="configuration",
            hint="docs/service.md shows one.",
            error=ParameterError,
            number=str,
        ) as document:
            given = read(_FILE, document, what="the file")
            service: ServiceConfig = given.pop("service", cls())
            return replace(service, folder=folder, **given)

    @property
    def address(self) -> str:
        """What its addresses begin with, for whoever reads them elsewhere."""
        scheme = "https" if self.tls else "http"
        return self.public_url.rstrip("/") or f"{scheme}://{self.host}:{self.port}"

    def place(self, name: str) -> str:
        """A file of the configuration, or a URL as it is."""
        return name if "://" in name else str(self.folder / name)

    def ledger_of(self, dataset: DatasetConfig) -> str:
        """Where a dataset's ledger is."""
        return self.place(dataset.ledger or f"{dataset.name}.ledger.db")


def _named(kind: type[Any]) -> Reader[Mapping[str, Any]]:
    """A reader of a table of tables, each a value of the class, by their names."""

    def values_of(tables: object, *, name: str) -> Mapping[str, Any]:
        for one in table(of("a table", dict))(tables, name=name):
            if not NAME.fullmatch(one):
                reason = f"[{name}.{one}] has no name for addresses."
                hint = "Use lower-case letters, digits, _ and -, and begin with a letter."
                raise inside(ParameterError(reason, hint=hint), one)
        found: Fields = {one: Field(made(kind, name=one)) for one in cast("dict[str, Any]", tables)}
        return MappingProxyType(read(found, tables, what=name, name=name))

    return values_of


_FILE: Final[Fields] = {
    "service": Field(made(ServiceConfig), default=None),
    "datasets": Field(_named(DatasetConfig), default=None),
    "monitors": Field(_named(MonitorConfig), default=None),
}
