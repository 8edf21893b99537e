"""What the curator configures once: a closed table, every unknown name refused."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar

from onesided.errors import ParameterError
from onesided.numbers import positive, whole
from onesided.store import first_bytes, plain_text, read_toml

Made = TypeVar("Made")
REFILLS: Final = ("never", "daily", "monthly")
ENGINES: Final = ("duckdb", "spark")
NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_LONGEST: Final = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcConfig:
    """Whose tokens are believed: ``[service.oidc]``.

    jwks: a file of public keys, or an https URL of one. claim: which claim names the person.

    >>> OidcConfig(issuer="https://id.example", audience="onesided", jwks="keys.json").claim
    'sub'
    """

    issuer: str
    audience: str
    jwks: str
    algorithms: tuple[str, ...] = ("RS256", "ES256")
    claim: str = "sub"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetConfig:
    """One dataset: ``[datasets.NAME]``.

    budget, delta_budget, allowance, delta_allowance: per unit of edge weight, exact. allowance:
    what each person may spend of the budget; None for as much as there is. refills: when each
    person's allowance starts anew, in UTC; the budget never does. declared_rows: how many rows
    the public may think there are, which sets how long answers take. seconds: how long a plain
    question of a million declared rows may take. grace: seconds that an answer waits beyond that,
    for a machine that is busy at times; it is no time of the next question's. cells: how many a
    histogram or a map may have, which bounds what a free plan takes of the machine. data: a file,
    a folder that Spark reads, or the URL of a PostgreSQL database. table: which one, where there
    are several. engine: what reads files.

    >>> files = {"data": "visits.parquet", "schema": "visits.toml", "policy": "policy.toml"}
    >>> DatasetConfig(name="visits", budget=Fraction(4), **files).refills
    'never'
    """

    name: str
    data: str
    schema: str
    policy: str
    budget: Fraction
    title: str = ""
    ledger: str = ""
    table: str = ""
    engine: str = "duckdb"
    declared_rows: int = 1_000_000
    seconds: Fraction = Fraction(1)
    grace: Fraction = Fraction(0)
    cells: int = 1024
    delta_budget: Fraction = Fraction(0)
    allowance: Fraction | None = None
    delta_allowance: Fraction = Fraction(0)
    refills: str = "never"
    analysts_publish: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorConfig:
    """One live monitor: ``[monitors.NAME]``; its rules are those of :class:`onesided.Monitor`.

    keys: a file of the public places, with latitude and longitude for a map. state: where its
    secret state is. dataset: the dataset whose senders may send; by default its own name.

    >>> files = {"keys": "places.csv", "policy": "policy.toml"}
    >>> MonitorConfig(name="places", at_most=20, epsilon=Fraction(1), **files).window
    '14d'
    """

    name: str
    keys: str
    policy: str
    at_most: int
    epsilon: Fraction
    window: str = "14d"
    title: str = ""
    dataset: str = ""
    state: str = ""
    ledger: str = ""
    charges: int = 1
    person: str = "person"
    place: str = "place"
    time: str = "time"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceConfig:
    """The whole service. Read it with :meth:`read`.

    state: where people, tokens and published releases are kept: a file or a PostgreSQL URL.
    tick: seconds between the instants at which answers leave. tls: whether it stands behind TLS.
    folder: what file names are relative to.

    >>> ServiceConfig.from_toml("service = {tick = '1/2'}", folder=Path()).tick
    Fraction(1, 2)
    """

    state: str = "service.db"
    title: str = "onesided"
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    tick: Fraction = Fraction(1)
    tls: bool = False
    requests_per_minute: int = 600
    largest_body: int = 1_000_000
    slowest_body: Fraction = Fraction(10)
    token_days: int = 90
    oidc: OidcConfig | None = None
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
        try:
            document = read_toml(text, number=str)
        except (tomllib.TOMLDecodeError, ValueError) as error:
            raise ParameterError(
                f"This is not valid TOML: {error}.", hint="See docs/service.md."
            ) from error
        _refuse_unknown(document, {"service", "datasets", "monitors"}, "the file")
        service = _table(document.get("service", {}), "service")
        oidc = service.pop("oidc", None)
        return _made(
            cls,
            service,
            "service",
            oidc=None if oidc is None else _made(OidcConfig, _table(oidc, "oidc"), "service.oidc"),
            datasets=_named(DatasetConfig, document.get("datasets", {}), "datasets"),
            monitors=_named(MonitorConfig, document.get("monitors", {}), "monitors"),
            folder=folder,
        )

    def place(self, name: str) -> str:
        """A file of the configuration, or a URL as it is."""
        return name if "://" in name else str(self.folder / name)

    def ledger_of(self, dataset: DatasetConfig) -> str:
        """Where a dataset's ledger is."""
        return self.place(dataset.ledger or f"{dataset.name}.ledger.db")


def _amount(value: object, name: str) -> Fraction:
    return Fraction(0) if value in (0, "0") else positive(value, name=name)


def _above(value: object, name: str) -> Fraction:
    return positive(value, name=name)


def _whole(value: object, name: str) -> int:
    return whole(value, name=name, least=1)


def _port(value: object, name: str) -> int:
    return whole(value, name=name, least=0)


def _flag(value: object, name: str) -> bool:
    if isinstance(value, bool):
        return value
    raise ParameterError(f"{name} must be true or false, got {value!r}.")


def _texts(value: object, name: str) -> tuple[str, ...]:
    if isinstance(value, list) and value:
        return tuple(plain_text(one, name=name, empty=False) for one in value)
    raise ParameterError(f"{name} must be a list of texts, got {value!r}.")


def _text(value: object, name: str) -> str:
    return plain_text(value, name=name)


# By a field's name or, for the others, its type.
_READ: Final[Mapping[str, Callable[[object, str], Any]]] = MappingProxyType(
    {
        "tick": _above,
        "seconds": _above,
        "budget": _above,
        "epsilon": _above,
        "slowest_body": _above,
        "port": _port,
        "Fraction": _amount,
        "Fraction | None": _amount,
        "int": _whole,
        "bool": _flag,
        "str": _text,
        "tuple[str, ...]": _texts,
    }
)
_OURS: Final = frozenset({"name", "oidc", "datasets", "monitors", "folder"})


def _made(kind: type[Made], table: dict[str, Any], where: str, **own: Any) -> Made:
    """A value of the dataclass ``kind``, each field read by its type. Errors: ParameterError."""
    known = {one.name: one for one in fields(kind) if one.name not in _OURS}  # type: ignore[arg-type]
    _refuse_unknown(table, set(known), f"[{where}]")
    missing = [name for name, one in known.items() if _needed(one) and name not in table]
    if missing:
        raise ParameterError(
            f"[{where}] does not say {missing[0]!r}.", hint=f"Known: {', '.join(sorted(known))}."
        )
    read = {name: _read(known[name], value, f"{where}.{name}") for name, value in table.items()}
    for name, allowed in (("refills", REFILLS), ("engine", ENGINES)):
        if read.get(name, allowed[0]) not in allowed:
            raise ParameterError(
                f"{where}.{name} is {read[name]!r}.", hint=f"One of {', '.join(allowed)}."
            )
    return kind(**read, **own)


def _read(one: Field[Any], value: object, name: str) -> Any:
    reader = _READ.get(one.name) or _READ[str(one.type)]
    return reader(value, name)


def _needed(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def _named(kind: type[Made], tables: object, where: str) -> Mapping[str, Made]:
    found = {}
    for name, table in _table(tables, where).items():
        if not NAME.fullmatch(name):
            raise ParameterError(
                f"[{where}.{name}] has no name for addresses.",
                hint="Use lower-case letters, digits, _ and -, and begin with a letter.",
            )
        found[name] = _made(kind, _table(table, f"{where}.{name}"), f"{where}.{name}", name=name)
    return MappingProxyType(found)


def _table(given: object, where: str) -> dict[str, Any]:
    if isinstance(given, dict):
        return dict(given)
    raise ParameterError(f"{where} must be a table, got {given!r}.", hint=f"Write [{where}].")


def _refuse_unknown(table: Mapping[str, object], known: set[str], where: str) -> None:
    for name in table:
        if name not in known:
            raise ParameterError(
                f"{where} has an unknown name {name!r}.", hint=f"Known: {', '.join(sorted(known))}."
            )
