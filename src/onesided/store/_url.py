"""The address of a PostgreSQL database, which never shows its password."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Self, TypeVar
from urllib.parse import parse_qsl

from onesided.errors import ParameterError

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

Place = TypeVar("Place")
_POSTGRES: Final = frozenset({"postgresql", "postgres"})
# libpq's options that neither hold a secret nor change which tables or settings a session sees.
_PLAIN: Final = frozenset(
    {
        "application_name",
        "channel_binding",
        "connect_timeout",
        "gssencmode",
        "host",
        "hostaddr",
        "keepalives",
        "keepalives_count",
        "keepalives_idle",
        "keepalives_interval",
        "krbsrvname",
        "passfile",
        "port",
        "require_auth",
        "service",
        "sslcert",
        "sslcertmode",
        "sslcrl",
        "sslkey",
        "sslmode",
        "sslnegotiation",
        "sslrootcert",
        "sslsni",
        "ssl_max_protocol_version",
        "ssl_min_protocol_version",
        "target_session_attrs",
        "tcp_user_timeout",
    }
)
# How URLs of 0.1.0 named the schema.
_OLD_SCHEMA: Final = re.compile(r"-c ?search_path=([A-Za-z_][A-Za-z0-9_]*)")
_LONGEST_NAME: Final = 63
_EXAMPLE: Final = 'Write it as "postgresql+psycopg://user@host/database?schema=public".'


class DatabaseUrl:
    """A PostgreSQL URL, read once; its text, repr and errors show ``***`` for the password.

    ``?schema=NAME`` names the schema that holds the tables (default "public"); the server's
    search path is never asked. Leave the password out of the URL and let PGPASSFILE or PGPASSWORD
    tell it, so that it stands on no command line. Errors: ParameterError for what is no such URL
    and for options that are not known; none of them repeats the URL.

    >>> DatabaseUrl("postgresql+psycopg://ann:secret@host/db?schema=audit")
    DatabaseUrl('postgresql+psycopg://ann:***@host/db?schema=audit')
    """

    __slots__ = ("_url", "schema", "schema_named")

    def __init__(self, text: str) -> None:
        url, query = _parsed(text)
        found = _schema(query)
        self.schema_named = found is not None
        self.schema = found or "public"
        password = query.pop("password", None)
        unknown = sorted(set(query) - _PLAIN)
        if unknown:
            raise ParameterError(
                f"the database URL has an option that is not known: {unknown[0]!r}.",
                hint=f"Known: {', '.join(sorted(_PLAIN | {'password', 'schema'}))}. A secret "
                "belongs in the file that PGPASSFILE names.",
                option=unknown[0],
            )
        self._url = url.set(
            drivername="postgresql+psycopg",
            query=query,
            password=password or url.password,
        )

    @classmethod
    def is_for(cls, text: str) -> bool:
        """Whether ``text`` names a PostgreSQL database."""
        return text.partition("://")[0].partition("+")[0].lower() in _POSTGRES

    @classmethod
    def of(cls, given: str | Self) -> Self:
        """``given`` read, unless it already is."""
        return given if isinstance(given, cls) else cls(str(given))

    def __str__(self) -> str:
        named = {"schema": self.schema} if self.schema_named else {}
        return self._url.update_query_dict(named).render_as_string(hide_password=True)

    def __repr__(self) -> str:
        return f"DatabaseUrl({str(self)!r})"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a database URL holds a password and is not pickled.")

    def for_driver(self) -> URL:
        """The URL with its password, for the driver alone."""
        return self._url


def address(given: Place) -> Place | DatabaseUrl:
    """``given``, as a :class:`DatabaseUrl` if it is the text of one: no frame then shows it.

    Errors: as :class:`DatabaseUrl`.

    >>> address("postgresql://ann:secret@host/db")
    DatabaseUrl('postgresql+psycopg://ann:***@host/db')
    >>> address("ledger.db")
    'ledger.db'
    """
    return DatabaseUrl(given) if isinstance(given, str) and DatabaseUrl.is_for(given) else given


def _parsed(text: str) -> tuple[URL, dict[str, str]]:
    from sqlalchemy.engine import make_url  # noqa: PLC0415 - SQLAlchemy loads on use
    from sqlalchemy.exc import ArgumentError  # noqa: PLC0415

    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        url = None
    if url is None or url.get_backend_name() not in _POSTGRES:
        # The text is not repeated: what cannot be read cannot be masked.
        raise ParameterError("the database URL cannot be read.", hint=_EXAMPLE) from None
    query: dict[str, str] = {}
    # SQLAlchemy leaves out an option without a value, such as that of a variable that is not set.
    for name, value in parse_qsl(text.partition("?")[2], keep_blank_values=True):
        if name in query or not value:
            raise ParameterError(
                f"the database URL gives {name!r} more than once, or without a value.",
                hint="Give it once.",
                option=name,
            )
        query[name] = value
    return url, query


def _schema(query: dict[str, str]) -> str | None:
    """The schema that the URL names, taken out of ``query``."""
    options = query.pop("options", None)
    named = query.pop("schema", None)
    old = _OLD_SCHEMA.fullmatch(options) if options is not None else None
    if options is not None and (old is None or named is not None):
        raise ParameterError(
            "the database URL sets options= of the server.",
            hint="Name the schema with ?schema=NAME; other settings belong to the role "
            "(ALTER ROLE ... SET).",
            option="options",
        )
    found = old.group(1) if old else named
    if found is not None and not (0 < len(found.encode()) <= _LONGEST_NAME and "\x00" not in found):
        raise ParameterError(
            "the schema's name must have between 1 and 63 bytes.", hint=_EXAMPLE, option="schema"
        )
    return found
