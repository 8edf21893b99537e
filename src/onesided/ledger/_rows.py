"""Rows as they are stored: text and whole numbers only, chained by their hashes.

A row's hash is ``sha256(previous hash, newline, canonical JSON of every other column)``, so no
column of any earlier row can change without changing every later hash. What a column means under
a given ``format`` never changes; a new meaning gets a new format number.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Final

from onesided._english import a
from onesided.errors import LedgerFormatError, ParameterError, TamperedLedgerError
from onesided.store import canonical, now, read_json

GENESIS: Final = "0" * 64
# Rows of format 2 say whom their account protects (UNIT); those of 0.1.0 have format 1 and do not.
FORMAT: Final = 2
FORMATS: Final = frozenset({1, FORMAT})

OPEN: Final = "open"
SPEND: Final = "spend"
STORE: Final = "store"
KINDS: Final = (OPEN, SPEND, STORE)

# Reserved in every row's detail: who wrote the row, as the writing process said; whom the account
# protects (null where its opener did not say); and what identifies the question that was charged.
WHO: Final = "onesided.who"
UNIT: Final = "onesided.unit"
QUESTION: Final = "onesided.question"
# The instant since which an asker's charges count against an allowance; only where there is one.
SINCE: Final = "onesided.since"
RESERVED: Final = (WHO, UNIT, QUESTION, SINCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One stored row, exactly as the database holds it (amounts and detail are JSON text)."""

    number: int
    format: int
    time: str
    kind: str
    policy_id: str
    release_id: str
    label: str
    detail: str
    epsilon: str
    delta: str
    total_epsilon: str
    total_delta: str
    releases: int
    nonce: str
    previous: str
    hash: str


COLUMNS: Final = tuple(field.name for field in fields(Row))
_SHOWN: Final = 200
_HASHED: Final = tuple(name for name in COLUMNS if name not in {"previous", "hash"})
_WHOLE: Final = frozenset({"number", "format", "releases"})


def digest(row: Row) -> str:
    """The hash that ``row`` must carry; "" for a row whose columns have types we never write."""
    for name in COLUMNS:
        # An edit in SQLite may leave any type in any column.
        if type(getattr(row, name)) is not (int if name in _WHOLE else str):
            return ""
    body = canonical({name: getattr(row, name) for name in _HASHED})
    return hashlib.sha256(f"{row.previous}\n{body}".encode("utf-8", "backslashreplace")).hexdigest()


def intact(row: Row) -> Row:
    """``row`` itself.

    Errors: TamperedLedgerError when its hash is not the hash of its columns; LedgerFormatError
    when a later release of this library wrote it, for its meaning is not known.
    """
    if row.hash and digest(row) == row.hash:
        if row.format not in FORMATS:
            raise LedgerFormatError(
                f"row {row.number} of the ledger has format {row.format}; this library knows "
                f"formats up to {FORMAT}.",
                hint="Install a newer release of onesided. Nothing was changed.",
                format=row.format,
                known=FORMAT,
            )
        return row
    raise tampered(row.number, "its hash is not the hash of what it holds")


def tampered(number: object, problem: str, **values: object) -> TamperedLedgerError:
    """The error that names the first bad row."""
    return TamperedLedgerError(
        f"row {number} of the ledger is bad: {problem}.",
        hint="Stop publishing from this ledger. Restore a copy whose head hash you kept, "
        "and find out who can write to the store.",
        number=number,
        problem=problem,
        **values,
    )


def next_row(
    last: Row | None,
    *,
    kind: str,
    policy_id: str,
    release_id: str,
    label: str,
    detail: str,
    amounts: Mapping[str, str],
    releases: int,
) -> Row:
    """The row after ``last``: numbered, stamped, chained. ``amounts`` holds the four JSON texts.

    The nonce lets a writer recognise its own row after a lost connection, and keeps a published
    head hash from confirming guesses of a label. The time is for people; order is the number.
    """
    row = Row(
        number=last.number + 1 if last else 1,
        format=FORMAT,
        time=now(),
        kind=kind,
        policy_id=policy_id,
        release_id=release_id,
        label=label,
        detail=detail,
        **amounts,
        releases=releases,
        nonce=secrets.token_hex(16),
        previous=last.hash if last else GENESIS,
        hash="",
    )
    return replace(row, hash=digest(row))


def detail_text(detail: Mapping[str, object] | None, *, own: Mapping[str, object]) -> str:
    """``detail`` as canonical JSON, with our ``own`` facts under their reserved keys.

    Errors: ParameterError for what would not come back as it was given.
    """
    given = {} if detail is None else detail
    try:
        # Sorting keys of several types fails; keys of one other type are caught after.
        written = canonical({**given, **own})
        read_json(written)
    except (TypeError, ValueError, RecursionError):
        raise ParameterError(
            f"detail must map text to JSON values, and not too many, got {shortened(detail)}.",
            hint="Write numbers and dates as text.",
        ) from None
    _refuse_unfaithful(written, detail=detail, given=given)
    return written


def shortened(value: object) -> str:
    """The repr of ``value``, cut where nobody would read on."""
    try:
        said = repr(value)
    except RecursionError:
        return f"{a(type(value).__name__)} too deep to show"
    return said if len(said) <= _SHOWN else f"{said[:_SHOWN]}..."


def _refuse_unfaithful(written: str, *, detail: object, given: Mapping[str, object]) -> None:
    """Refuse detail that would not come back: keys that are no text, unpaired surrogates."""
    reserved = [key for key in RESERVED if key in given]
    if reserved:
        raise ParameterError(
            f"detail must not use the reserved key {reserved[0]!r}, got {shortened(detail)}.",
            hint="The ledger writes it: see Ledger.open(who=...) and Ledger.account(unit=...).",
            value=detail,
        )
    if all(isinstance(key, str) for key in given):
        with contextlib.suppress(UnicodeEncodeError):
            json.dumps(json.loads(written), ensure_ascii=False).encode()
            return
    raise ParameterError(
        f"detail must map ordinary text to JSON values, got {shortened(detail)}.",
        hint="Use text as keys, without unpaired surrogates.",
        value=detail,
    )
