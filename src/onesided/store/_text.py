"""Text that every store keeps unchanged."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Final

from onesided.errors import ParameterError

_MOST_BYTES: Final = 2**25
_MOST_PARTS: Final = 10**6
_ENCODER: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
)


def read_json(written: str | bytes, *, once: bool = False) -> object:
    """The value of JSON text that somebody else may have written.

    once: an object that gives a name twice is refused; readers differ in which value they take.
    Errors: ValueError for what is no JSON, or is too long, too wide or too deep to be ours. A
    reader needs at most about 150 MB and a second for what is let through.

    >>> read_json('{"a": [1, 2]}')
    {'a': [1, 2]}
    """
    parts = (b"[", b"{", b",", b":") if isinstance(written, bytes) else ("[", "{", ",", ":")
    if len(written) > _MOST_BYTES or sum(map(written.count, parts)) > _MOST_PARTS:  # type: ignore[arg-type]
        raise ValueError("the text is too long")
    try:
        return json.loads(written, object_pairs_hook=_named_once if once else None)
    except RecursionError:
        raise ValueError("the text is too deep") from None


def _named_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object gives a name twice")
    return found


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
