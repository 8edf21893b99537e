"""Files replaced in one step, names held by one process, folders that nobody else may read."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar
from urllib.parse import parse_qsl

from onesided.errors import ParameterError
from onesided.store._text import canonical, read_json

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

PRIVATE: Final = 0o600
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def replace_file(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Write beside the target, then rename: readers see the old file or the new one.

    >>> replace_file(Path("page.html"), "new")
    >>> Path("page.html").read_text()
    'new'
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(mode)  # mkstemp makes private files; a page is there to be read
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def first_bytes(path: Path, most: int) -> bytes:
    """The first ``most`` bytes of a regular file. A pipe or a device might never end, or begin.

    Errors: OSError.

    >>> with tempfile.NamedTemporaryFile() as file:
    ...     first_bytes(Path(file.name), 9)
    b''
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is no regular file")
    with path.open("rb") as file:
        return file.read(most)


def remove_drafts(path: Path) -> None:
    """Remove what :func:`replace_file` left beside ``path`` when its process was killed.

    >>> Path(".page.html.1.tmp").touch()
    >>> remove_drafts(Path("page.html"))
    >>> Path(".page.html.1.tmp").exists()
    False
    """
    for draft in path.parent.glob(f".{path.name}.*.tmp"):
        draft.unlink(missing_ok=True)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold ``path`` as a lock, which the system lets go of when the process ends in any way.

    Errors: BlockingIOError if another process holds it; OSError if it cannot be made.

    >>> with held(Path("job.lock")):
    ...     Path("job.lock").exists()
    True
    >>> Path("job.lock").exists()
    False
    """
    handle = _locked(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is held: whoever waits finds another file
        os.close(handle)


def _locked(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    while True:
        handle = os.open(path, flags, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), path.stat()):
                    return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # its last owner removed it between our two calls


@contextmanager
def scratch(base: Path | None = None) -> Iterator[Path]:
    """A folder of this user alone, gone at the end; what killed processes left goes first.

    base: where to make it; the system's folder for temporary files by default.

    >>> with scratch() as folder:
    ...     oct(folder.stat().st_mode & 0o777)
    '0o700'
    >>> folder.exists()
    False
    """
    place = Path(tempfile.gettempdir()) if base is None else base
    # Remove folders whose process is gone. The lock is made before its folder, and goes after.
    for left in place.glob(f"{_PREFIX}*"):
        lock = left.with_suffix(".lock")
        with suppress(OSError):
            if hasattr(os, "getuid") and left.lstat().st_uid != os.getuid():
                continue
            with held(lock):
                shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
    folder = place / f"{_PREFIX}{secrets.token_hex(8)}"
    with held(folder.with_suffix(".lock")):
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


_PREFIX = "onesided-scratch-"


class PermissionsWarning(UserWarning):
    """A file that should be its owner's alone can be read or written by others.

    >>> import warnings
    >>> path = Path("open.db")
    >>> path.touch()
    >>> path.chmod(0o644)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     tell_if_open_to_others(path, noun="The ledger")
    >>> caught[0].category is PermissionsWarning
    True
    """


def make_private(path: Path) -> None:
    """Make an empty file that only its owner can read and write. Errors: OSError if it exists."""
    # The mode is given when the file is made, so that there is no moment at which others can open
    # it. A umask can only take rights away; the change that follows gives the owner's back.
    handle = os.open(
        path, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_CLOEXEC", 0), PRIVATE
    )
    try:
        if hasattr(os, "fchmod"):
            os.fchmod(handle, PRIVATE)
    finally:
        os.close(handle)


def tell_if_open_to_others(path: Path, *, noun: str) -> None:
    """Warn (:class:`PermissionsWarning`) if ``path`` is open to more than its owner.

    Changes nothing: the owner may have meant it, and a file that was readable may have been read.

    >>> path = Path("ledger.db")
    >>> path.touch(mode=0o600)
    >>> tell_if_open_to_others(path, noun="The ledger")
    """
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return
    if os.name == "posix" and mode & _OTHERS:
        warnings.warn(
            f"{noun} {path} is open to others than its owner (mode {mode:03o}). "
            f"Close it: chmod 600 {path}",
            PermissionsWarning,
            stacklevel=2,
        )


# What was found of files once, kept for as long as they stay as they are.

_SUFFIX: Final = ".checked"
_END: Final = 2**16
_LARGEST_END: Final = 2**26  # of a footer
_SETTLED: Final = 2 * 10**9  # nanoseconds: a change within one tick of a clock leaves no mark
_MOST: Final = 100
_LARGEST: Final = 2**20


class CheckedFiles:
    """The files of one table as they are now, and what was found of such files before.

    What is known stands in a file beside the ledger, which its owner alone reads: that files of
    this place, size, times and end were held to these facts. It says nothing of rows. Where it
    cannot be read or written, or is somebody else's, nothing is known.
    ledger: the file that the ledger is in; None where it is in none.

    >>> _ = Path("visits.csv").write_text("person")
    >>> os.utime("visits.csv", (0, 0))
    >>> CheckedFiles([Path("visits.csv")], None).knows({"unit": "person"})
    False
    """

    def __init__(self, files: Sequence[Path], ledger: Path | None) -> None:
        self._files, self._ledger = list(files), ledger
        self._found = list[dict[str, Any]]()
        began = time.time_ns()
        first = self._marks()
        newest = max((max(mark[2:4]) for mark in first or ()), default=0)
        self._first = first if began - newest > _SETTLED else None

    def same(self) -> bool:
        """Whether the files are for certain those that they were at first."""
        return self._first is not None and self._marks() == self._first

    def knows(self, facts: Mapping[str, Any]) -> bool:
        """Whether files like these were held to such facts before."""
        return self.same() and self._entry(facts) in self._kept()

    def learn(self, facts: Mapping[str, Any]) -> None:
        """Say that these files were held to such facts, once :meth:`save` is called."""
        if self.same():
            self._found.append(self._entry(facts))

    def save(self) -> None:
        """Write what was found beside the ledger, if there is one."""
        if not self._found or self._ledger is None or not self._ledger.is_file():
            return
        told = [*self._found, *(one for one in self._kept() if one not in self._found)][:_MOST]
        with suppress(OSError):
            replace_file(self._place, canonical(told), mode=0o600)

    @property
    def _place(self) -> Path:
        ledger = Path() if self._ledger is None else self._ledger
        return ledger.with_name(ledger.name + _SUFFIX)

    def _entry(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        marks = hashlib.sha256(canonical(self._first).encode()).hexdigest()
        return {"files": marks, "facts": dict(facts)}

    def _kept(self) -> list[Any]:
        """What stands in the file; nothing where anybody but its owner might have written it."""
        if self._ledger is None:
            return []
        try:
            handle = os.open(self._place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(handle, "rb") as file:
                held = os.fstat(handle)
                plain = stat.S_ISREG(held.st_mode) and not stat.S_IMODE(held.st_mode) & 0o077
                if not plain or held.st_uid != os.geteuid() or held.st_size > _LARGEST:
                    return []
                told: Any = read_json(file.read().decode())
        except (OSError, ValueError, RecursionError):
            return []
        return told if isinstance(told, list) else []

    def _marks(self) -> list[tuple[Any, ...]] | None:
        """Of each file its place, size and times, and a digest of its end; None without them."""
        try:
            return [_mark(path) for path in self._files]
        except OSError:
            return None


def _mark(given: Path) -> tuple[Any, ...]:
    path = given.resolve()
    with path.open("rb") as file:
        held = os.fstat(file.fileno())
        last = os.pread(file.fileno(), 8, max(held.st_size - 8, 0))
        footer = int.from_bytes(last[:4], "little") + 8 if last.endswith(b"PAR1") else 0
        size = min(max(footer, _END), _LARGEST_END, held.st_size)
        end = hashlib.sha256(os.pread(file.fileno(), size, held.st_size - size)).hexdigest()
    times = held.st_mtime_ns, held.st_ctime_ns
    return str(path), held.st_size, *times, held.st_ino, held.st_dev, end


# The address of a PostgreSQL database, which never shows its password.

Place = TypeVar("Place")
_POSTGRES: Final = frozenset({"postgresql", "postgres"})
# libpq's options that neither hold a secret nor change which tables or settings a session sees.
_PLAIN: Final = frozenset({
    "application_name", "channel_binding", "connect_timeout", "gssencmode", "host", "hostaddr",
    "keepalives", "keepalives_count", "keepalives_idle", "keepalives_interval", "krbsrvname",
    "passfile", "port", "require_auth", "service", "sslcert", "sslcertmode", "sslcrl", "sslkey",
    "sslmode", "sslnegotiation", "sslrootcert", "sslsni", "ssl_max_protocol_version",
    "ssl_min_protocol_version", "target_session_attrs", "tcp_user_timeout",
})  # fmt: skip
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
            drivername="postgresql+psycopg", query=query, password=password or url.password
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
