"""Text and TOML that every store keeps unchanged: canonical, bounded, read back as written."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any, Final, TypeAlias

from onesided.errors import OnesidedError, ParameterError

_MOST_BYTES: Final = 2**25
_MOST_PARTS: Final = 10**6
_ENCODER: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
)


def read_json(written: str | bytes, *, once: bool = False) -> object:
    """The value of JSON text that somebody else may have written.

    once: an object that gives a name twice is refused, as readers differ in which value they take;
    so are NaN and Infinity, which are no JSON.
    Errors: ValueError for what is no JSON, or is too long, too wide or too deep to be ours. A
    reader needs at most about 150 MB and a second for what is let through.

    >>> read_json('{"a": [1, 2]}')
    {'a': [1, 2]}
    """
    parts = (b"[", b"{", b",", b":") if isinstance(written, bytes) else ("[", "{", ",", ":")
    if len(written) > _MOST_BYTES or sum(map(written.count, parts)) > _MOST_PARTS:  # type: ignore[arg-type]
        raise ValueError("the text is too long")
    try:
        strict: Any = {"object_pairs_hook": _named_once, "parse_constant": _no_number}
        return json.loads(written, **(strict if once else {}))
    except RecursionError:
        raise ValueError("the text is too deep") from None


def _named_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object gives a name twice")
    return found


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def canonical(value: object) -> str:
    """The one JSON text of ``value``: sorted keys, no spaces, ASCII only, no NaN.

    >>> canonical({"b": 1, "a": "x"})
    '{"a":"x","b":1}'
    """
    return _ENCODER.encode(value)


def now() -> str:
    """The wall clock in UTC, for people; nothing depends on it.

    >>> len(now()), now().endswith("+00:00")
    (32, True)
    """
    return datetime.now(UTC).isoformat(timespec="microseconds")


def plain_text(value: object, *, name: str, empty: bool = True) -> str:
    """``value`` as text that every store keeps unchanged: valid Unicode without NUL.

    Errors: ParameterError for anything else.

    >>> plain_text("count by place", name="label")
    'count by place'
    """
    good = isinstance(value, str) and "\x00" not in value and (empty or bool(value))
    if isinstance(value, str) and good:
        try:
            value.encode()
        except UnicodeEncodeError:
            good = False
        else:
            return value
    kind = "text" if empty else "text that is not empty"
    raise ParameterError(
        f"{name} must be {kind} without NUL or unpaired surrogates, got {value!r}.",
        hint="Give ordinary text.",
        value=value,
    )


# TOML that somebody wrote: its table, and on which line of it something wrong stands.

Path: TypeAlias = tuple[str | int, ...]
_LONGEST_TOML: Final = 2**23
_MOST_TABLES: Final = 2 * 10**5
_DEEPEST_KEY: Final = 32
_QUOTED: Final = re.compile(r""" "[^"\n]*" | '[^'\n]*' """, re.VERBOSE)
_DOTTED: Final = re.compile(r"[A-Za-z0-9_\-. \t]+")
# Lines are given in files and values of bearable length, in characters; in others keys say where.
_MOST_READ: Final = 2**17
_LONGEST_KEYS: Final = 200
_MOST_TRIED: Final = 2**17
_ENDS: Final = (
    *("".join(end) for size in (1, 2, 3) for end in product("]}", repeat=size)),
    '"""',
    "'''",
)


def read_toml(written: str, *, number: Callable[[str], object] = float) -> dict[str, object]:
    """The table of TOML text that somebody else may have written.

    number: what makes a number with a point of its digits.
    Errors: tomllib.TOMLDecodeError for what is no TOML; ValueError for what is too long, too wide
    or too deep to be ours.

    >>> read_toml("a = 1")
    {'a': 1}
    """
    tables = written.count("=") + written.count("\n[") + written.count("{")
    if len(written) > _LONGEST_TOML or tables > _MOST_TABLES or written.count(",") > _MOST_PARTS:
        raise ValueError("the text is too long")
    # A key of many parts is a table of that depth, each part of which the parser copies.
    unquoted = _QUOTED.sub("q", written)
    if any(run.group().count(".") > _DEEPEST_KEY for run in _DOTTED.finditer(unquoted)):
        raise ValueError("the text has a key of too many parts")
    try:
        return tomllib.loads(written, parse_float=number)
    except RecursionError:
        raise ValueError("the text is too deep") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:
        raise ValueError("a number in the text is too long") from None


@contextmanager
def toml_document(
    text: object,
    *,
    what: str,
    hint: str,
    error: type[OnesidedError],
    number: Callable[[str], object] = float,
    version: tuple[str, int] | None = None,
) -> Iterator[dict[str, Any]]:
    r"""The table of TOML text; errors raised about it inside get their line, and are ``error``.

    what: what the text should be, in words. number: as for :func:`read_toml`. version: the key that
        says of which version it is, and the one that is read; it is no part of the table.
    Errors: ``error`` for what is no such text.

    >>> from onesided.errors import ParameterError
    >>> from onesided.fields import Field, is_text, read
    >>> with toml_document("# a\nb = 3", what="list", hint="", error=ParameterError) as document:
    ...     read({"b": Field(is_text)}, document, what="the list")
    Traceback (most recent call last):
        ...
    onesided.errors.ParameterError: Line 2: b must be text, got 3. Hint: Give text.
    """
    if not isinstance(text, str):
        raise error(f"A {what} in TOML must be text, got {text!r}.", hint=hint)
    try:
        document = read_toml(text, number=number)
    except tomllib.TOMLDecodeError as wrong:
        end = f"line {text.count(chr(10)) + 1}, the end of the document"
        place = str(wrong).replace("end of document", end)
        raise error(f"The {what} is not valid TOML: {place}.", hint=hint) from None
    except ValueError as wrong:
        raise error(f"The {what} could not be read: {wrong}.", hint=hint) from None
    try:
        if version is not None:
            _check_version(document, *version)
        yield document
    except OnesidedError as wrong:
        values = {name: value for name, value in wrong.values.items() if name != "line"}
        line = _line(wrong, text, document)
        at = values.get("at")
        keys = ".".join(map(str, at)) if isinstance(at, tuple) else ""
        where = f"Line {line}: " if line else f"{keys[:_LONGEST_KEYS]}: " if keys else ""
        kind = type(wrong) if isinstance(wrong, error) else error
        found = {**values, "line": line} if line else values
        raise kind(f"{where}{wrong.reason}", hint=wrong.hint or hint, **found) from None


def _check_version(document: dict[str, Any], key: str, number: int) -> None:
    given = document.pop(key, None)
    if type(given) is not int or given != number:
        hint = f"Write '{key} = {number}'; a higher number needs a newer onesided."
        raise ParameterError(f"{key} must be {number}, got {given!r}.", hint=hint, at=(key,))


def _line(error: OnesidedError, text: str, document: object) -> int | None:
    """The line of the value, key or table that an error is about; None where none can be told.

    ``values["at"]`` leads there. If that is a table, it may hold the key ``values["key"]``, or else
    one of the other values that the error names.
    """
    at, key = error.values.get("at"), error.values.get("key")
    if len(text) > _MOST_READ:
        return None
    path: Path = (*(at if isinstance(at, tuple) else ()), *([key] if isinstance(key, str) else []))
    part: Any = document
    for name in path:
        found = isinstance(part, list) or name in part
        part = part[name] if found else None
        if not isinstance(part, Mapping | list):
            break
    held: dict[str, Path] = {}
    for within, value in _nodes(part):
        if _is_short(value):
            held.setdefault(str(value), within)
    named = [one for name, one in error.values.items() if name not in ("at", "key")]
    known = (held[str(one)] for one in named if _is_short(one) and str(one) in held)
    path, lines = (*path, *next(known, ())), lines_of(text)
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path)


def _is_short(value: object) -> bool:
    """Whether it is text or a number that can be written out."""
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    return isinstance(value, str | float | Decimal | Fraction) and value != ""


def lines_of(text: str) -> dict[Path, int]:
    r"""The line on which each table, key and item of valid TOML begins, read by the parser itself.

    A statement is the least run of lines that the parser takes. Of a value over several lines, an
    item begins on the line that first makes it part of the value.

    >>> lines_of("[a]\nb = [\n  1,\n  2,\n]")
    {('a',): 1, ('a', 'b'): 2, ('a', 'b', 0): 3, ('a', 'b', 1): 4}
    """
    found: dict[Path, int] = {}
    table: Path = ()
    sizes: dict[Path, int] = {}
    tried = 0
    for first, lines in _statements(text):
        if not lines[0].lstrip().startswith("["):
            begun = 0  # the first line that no part of the value has been told for
            for place in range(len(lines)):
                part, whole = "\n".join(lines[: place + 1]), place == len(lines) - 1
                tried += 0 if whole else len(part)
                said = _partly(part, whole=whole) if whole or tried < _MOST_TRIED else {}
                for path, _ in _nodes(said, lists=len(lines) > 1):
                    found.setdefault((*table, *path), first + begun)
                begun = place + 1 if said else begun
            continue
        header = max((path for path, _ in _nodes(tomllib.loads(lines[0]))), key=len)
        names = [name for name in header if name != 0]
        table = ()
        for place, name in enumerate(names, 1):
            table = (*table, name)
            found.setdefault(table, first)
            if place == len(names) < len(header):  # one more table of an array
                sizes[table] = sizes.get(table, 0) + 1
            if table in sizes:
                table = (*table, sizes[table] - 1)
        found.setdefault(table, first)
    return found


def _statements(text: str) -> Iterator[tuple[int, list[str]]]:
    """The lines of each statement, and the number of its first line."""
    lines = text.replace("\r\n", "\n").split("\n")
    start, tried = 0, 0
    for end in range(1, len(lines) + 1):
        part = "\n".join(lines[start:end])
        tried += len(part)
        if tried > _MOST_READ + 4 * _MOST_TRIED:
            return
        try:
            said = tomllib.loads(part)
        except ValueError:
            continue
        if said:
            yield start + 1, lines[start:end]
        start = end


def _partly(part: str, *, whole: bool) -> dict[str, Any]:
    """What the first lines of a statement say already."""
    for end in ("",) if whole else _ENDS:
        try:
            return tomllib.loads(part + end)
        except ValueError:
            continue
    return {}


def _nodes(part: object, *, lists: bool = True) -> Iterator[tuple[Path, object]]:
    """Where each value in a table is, and the value; tables and lists before what they hold."""
    items: Iterable[tuple[Any, object]] = ()
    if isinstance(part, Mapping):
        items = part.items()
    elif isinstance(part, list) and lists:
        items = enumerate(part)
    for key, value in items:
        yield (key,), value
        yield from (((key, *path), one) for path, one in _nodes(value, lists=lists))
