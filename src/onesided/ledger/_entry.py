"""The ledger's rows, and what readers get of them: entries, receipts, balances, all exact."""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import json
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Final, Self, cast

from onesided._english import a
from onesided._numbers import ORDER_UNIT, Loss
from onesided.errors import LedgerFormatError, ParameterError, TamperedLedgerError
from onesided.ledger import _amounts
from onesided.ledger._amounts import Amounts
from onesided.ledger._calendar import Calendar, Cohorts
from onesided.store import canonical, now, plain_text, read_json

# Rows as they are stored: text and whole numbers only, chained by their hashes.
#
# A row's hash is ``sha256(previous hash, newline, canonical JSON of every other column)``, so no
# column of any earlier row can change without changing every later hash. What a column means
# under a given ``format`` never changes; a new meaning gets a new format number.


GENESIS: Final = "0" * 64
# Rows of format 2 say whom their account protects (UNIT); those of 0.1.0 have format 1 and do not.
FORMAT: Final = 2
# Rows of a renyi account, which hold divergences, too; an earlier library refuses them.
BY_RENYI: Final = 3
# Rows of an account by cohort, pure or renyi: their charges are of certain dates alone.
BY_COHORT: Final = 4
FORMATS: Final = frozenset({1, FORMAT, BY_RENYI, BY_COHORT})

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
# In rows of a renyi account: the divergences that it charged, and their sums including it.
DIVERGENCES: Final = "onesided.divergences"
# In charges of an account by cohort: the dates that they are about.
COHORTS: Final = "onesided.cohorts"
RESERVED: Final = (WHO, UNIT, QUESTION, SINCE, DIVERGENCES, COHORTS)


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
                f"formats up to {max(FORMATS)}.",
                hint="Install a newer release of onesided. Nothing was changed.",
                format=row.format,
                known=max(FORMATS),
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
    detail: Mapping[str, object],
    charge: Amounts,
    total: Amounts,
    releases: int,
    by_cohort: bool = False,
    time: str = "",
) -> Row:
    """The row after ``last``: numbered, stamped, chained. charge, total: what it says of amounts.

    The nonce lets a writer recognise its own row after a lost connection, and keeps a published
    head hash from confirming guesses of a label. The time is for people; order is the number.
    """
    epsilon, delta = charge.texts()
    total_epsilon, total_delta = total.texts()
    if total.orders:
        orders = {"charged": charge.orders_text(), "total": total.orders_text()}
        detail = {**detail, DIVERGENCES: orders}
    row = Row(
        number=last.number + 1 if last else 1,
        format=BY_COHORT if by_cohort else BY_RENYI if total.orders else FORMAT,
        time=time or now(),
        kind=kind,
        policy_id=policy_id,
        release_id=release_id,
        label=label,
        detail=canonical(detail),
        epsilon=epsilon,
        delta=delta,
        total_epsilon=total_epsilon,
        total_delta=total_delta,
        releases=releases,
        nonce=secrets.token_hex(16),
        previous=last.hash if last else GENESIS,
        hash="",
    )
    return replace(row, hash=digest(row))


def whole_detail(
    detail: Mapping[str, object] | None, *, own: Mapping[str, object]
) -> Mapping[str, object]:
    """``detail`` with our ``own`` facts under their reserved keys, as its JSON text is read back.

    Errors: ParameterError for what would not come back as it was given.
    """
    given = {} if detail is None else detail
    try:
        # Sorting keys of several types fails; keys of one other type are caught after.
        written = canonical({**given, **own})
        found = read_json(written)
    except (TypeError, ValueError, RecursionError):
        raise ParameterError(
            f"detail must map text to JSON values, and not too many, got {shortened(detail)}.",
            hint="Write numbers and dates as text.",
        ) from None
    if reserved := [key for key in RESERVED if key in given]:
        raise ParameterError(
            f"detail must not use the reserved key {reserved[0]!r}, got {shortened(detail)}.",
            hint="The ledger writes it: see Ledger.open(who=...) and Ledger.account(unit=...).",
            value=detail,
        )
    # What would not come back: keys that are no text, unpaired surrogates.
    if all(isinstance(key, str) for key in given):
        with contextlib.suppress(UnicodeEncodeError):
            json.dumps(found, ensure_ascii=False).encode()
            return cast("Mapping[str, object]", found)
    raise ParameterError(
        f"detail must map ordinary text to JSON values, got {shortened(detail)}.",
        hint="Use text as keys, without unpaired surrogates.",
        value=detail,
    )


def shortened(value: object) -> str:
    """The repr of ``value``, cut where nobody would read on."""
    try:
        said = repr(value)
    except RecursionError:
        return f"{a(type(value).__name__)} too deep to show"
    return said if len(said) <= _SHOWN else f"{said[:_SHOWN]}..."


_EACH_ROW: Final = "each row"  # how 0.1.0 wrote it


@dataclass(frozen=True, slots=True)
class Unit:
    """Whom an account's charges protect: everybody named in a column, or each row on its own.

    column: the column that says whose row it is; None for each row. A column may be called
    "each row": it is still another unit than the row. read_as: the type that a schema had the
    column's text read as; as numbers 7 and 07 are one unit, as text they are two.

    >>> str(Unit("person")), str(Unit(None))
    ("each 'person'", 'each row')
    >>> Unit("each row") == Unit(None)
    False
    """

    column: str | None
    read_as: str | None = None

    def __post_init__(self) -> None:
        if self.column is not None:
            plain_text(self.column, name="unit", empty=False)
        if self.read_as is not None:
            plain_text(self.read_as, name="the type of a unit", empty=False)

    def __str__(self) -> str:
        read = "" if self.read_as is None else f" read as {self.read_as}"
        return "each row" if self.column is None else f"each {self.column!r}{read}"

    def written(self) -> dict[str, object]:
        """As the ledger keeps it."""
        if self.column is None:
            return {"row": True}
        read = {} if self.read_as is None else {"read_as": self.read_as}
        return {"column": self.column, **read}

    @classmethod
    def read(cls, written: object) -> Self:
        """What :meth:`written` gave. Errors: ValueError for anything else."""
        if isinstance(written, Mapping):
            if written == {"row": True}:
                return cls(None)
            column, read = written.get("column"), written.get("read_as")
            known = {"column"} if read is None else {"column", "read_as"}
            if set(written) == known and isinstance(column, str) and isinstance(read, str | None):
                return cls(column, read)
        raise ParameterError("a unit is a row or a column.", hint="Check the ledger.")


def unit_of_0_1_0(stated: object) -> Unit | None:
    """The unit that a charge of 0.1.0 stated in its detail; None if it stated none.

    A column of the name "each row" was written like the row; 0.1.0 did not tell them apart either.
    """
    if stated == _EACH_ROW:
        return Unit(None)
    return Unit(stated) if isinstance(stated, str) and stated else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One row of the ledger.

    ``kind`` is "open" (an account and its budget), "spend" (a charge, recorded before the draw)
    or "store" (the published answer of a charge was kept). ``epsilon`` and ``delta`` are what
    this row charged per edge, ``total_epsilon`` and ``total_delta`` the policy's sums including
    it, ``releases`` the number of charges so far. ``time`` and ``who`` are what the writing
    process said, for people; order is ``number``. ``unit`` is whom the account protects, None
    where nobody said (in 0.1.0 a session's charge said it in its detail). ``divergences`` and
    ``total_divergences`` are a renyi account's, per edge at each order; empty in a pure one. There
    ε is INFINITE of noise that keeps none, and of sums with it.
    ``cohorts`` are the dates that a charge of an account by cohort is about; None elsewhere.

    >>> import onesided as od
    >>> ledger = od.Ledger.open(None)
    >>> account = ledger.account(policy_id="p", policy_toml="", policy_name="p", budget={"up": 9})
    >>> receipt = account.spend({"up": 2}, label="a count")
    >>> [(entry.kind, str(entry.total_epsilon["up"])) for entry in ledger.entries()]
    [('open', '0'), ('spend', '2')]
    """

    number: int
    time: str
    who: str
    kind: str
    policy_id: str
    release_id: str
    label: str
    detail: Mapping[str, object] = field(repr=False)
    epsilon: Mapping[str, Loss]
    delta: Mapping[str, Fraction]
    total_epsilon: Mapping[str, Loss]
    total_delta: Mapping[str, Fraction]
    releases: int
    previous: str = field(repr=False)
    hash: str = field(repr=False)
    unit: Unit | None = None
    cohorts: Cohorts | None = None
    divergences: Mapping[str, tuple[Fraction, ...]] = field(default_factory=dict, repr=False)
    total_divergences: Mapping[str, tuple[Fraction, ...]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Proof that a charge is on durable record; only now may anything be drawn.

    >>> import onesided as od
    >>> ledger = od.Ledger.open(None)
    >>> account = ledger.account(policy_id="p", policy_toml="", policy_name="p", budget={"up": 9})
    >>> receipt = account.spend({"up": 2}, label="a count")
    >>> receipt.hash == ledger.head()
    True
    """

    number: int
    hash: str
    policy_id: str
    release_id: str
    label: str
    time: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRelease:
    """A release as it was published, to be published again; never drawn again.

    ``number`` and ``time`` are the charge's, after which it was drawn; ``detail`` and ``label``
    are what the charge was made with, and ``question`` what identified the question, so that a
    caller can tell whether the same is being asked. It is None in ledgers of 0.1.0.

    >>> import onesided as od
    >>> terms = {"policy_id": "p", "policy_toml": "", "policy_name": "p"}
    >>> account = od.Ledger.open(None).account(**terms, budget={"up": 9})
    >>> receipt = account.spend({"up": 2}, label="a count", release_id="monday")
    >>> account.store(receipt, b"[3, 1]", "application/json")
    >>> account.recall("monday").payload
    b'[3, 1]'
    """

    release_id: str
    number: int
    time: str
    label: str
    detail: Mapping[str, object] = field(repr=False)
    content_type: str
    payload: bytes = field(repr=False)
    question: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """What a check that found nothing wrong looked at.

    ``unanswered`` lists the charges without a stored release: spent, and lost to a crash or
    never stored by their owner. ``backwards`` lists the rows dated before an earlier one: a clock
    was wrong, so that budgets that grow by date may have grown early. ``ahead`` lists charges of
    such budgets more than 40 days after the account's last one: somebody said that the clock was
    right.

    >>> import onesided as od
    >>> ledger = od.Ledger.open(None)
    >>> account = ledger.account(policy_id="p", policy_toml="", policy_name="p", budget={"up": 1})
    >>> lost = account.spend({"up": 1}, label="a count", release_id="monday")
    >>> ledger.check().unanswered
    (2,)
    """

    entries: int
    charges: int
    stored: int
    unanswered: tuple[int, ...]
    backwards: tuple[int, ...]
    ahead: tuple[int, ...]
    head: str


def entry_of(row: Row) -> Entry:
    """``row`` decoded. Errors: TamperedLedgerError if it cannot be."""
    charged, total = amounts_of(row)
    return Entry(
        number=row.number,
        time=row.time,
        who=who_of(row),
        kind=row.kind,
        policy_id=row.policy_id,
        release_id=row.release_id,
        label=row.label,
        detail=detail_of(row),
        epsilon=charged.epsilon,
        delta=charged.delta,
        total_epsilon=total.epsilon,
        total_delta=total.delta,
        releases=row.releases,
        previous=row.previous,
        hash=row.hash,
        unit=unit_of(row),
        cohorts=cohorts_of(row) if row.format == BY_COHORT and row.kind == SPEND else None,
        divergences=_fractions(charged.orders),
        total_divergences=_fractions(total.orders),
    )


def _fractions(orders: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[Fraction, ...]]:
    return {edge: tuple(Fraction(n, ORDER_UNIT) for n in some) for edge, some in orders.items()}


def amounts_of(row: Row) -> tuple[Amounts, Amounts]:
    """What ``row`` charged, and the totals it states."""
    stated = row.total_epsilon, row.total_delta
    with reading(row.number, "amounts"):
        return charge_of(row), _with_orders(row, _amounts.read(*stated), "total")


def charge_of(row: Row) -> Amounts:
    """What ``row`` charged."""
    with reading(row.number, "amounts"):
        return _with_orders(row, _amounts.read(row.epsilon, row.delta), "charged")


@contextlib.contextmanager
def reading(number: int, what: str) -> Iterator[None]:
    """Whatever is not as we write it was changed. Errors: TamperedLedgerError."""
    try:
        yield
    except (KeyError, TypeError, ValueError, ParameterError):
        raise tampered(number, f"its {what} cannot be read") from None


def _with_orders(row: Row, amounts: Amounts, name: str) -> Amounts:
    """With the divergences that a row of a renyi account holds. Errors: ValueError; TypeError."""
    held = _detail(row).get(DIVERGENCES) if row.format >= BY_RENYI else None
    if row.format < BY_RENYI or (held is None and row.format == BY_COHORT):
        if len(amounts.known) < len(amounts.epsilon):
            raise ValueError(row.epsilon)
        return amounts
    return amounts.with_orders(held.get(name) if isinstance(held, Mapping) else None)


def detail_of(row: Row) -> Mapping[str, object]:
    """The detail of ``row`` as its writer gave it, read-only."""
    written = {1: 1, FORMAT: 4, BY_RENYI: 5}  # of the reserved keys, the first so many
    own = RESERVED[: written.get(row.format, len(RESERVED))]
    return MappingProxyType({key: value for key, value in _detail(row).items() if key not in own})


def who_of(row: Row) -> str:
    """Who wrote ``row``, as the writing process said; "" if it did not."""
    return _reserved(row, WHO) or ""


def question_of(row: Row) -> str | None:
    """What identified the question that ``row`` charged; None if nothing was said."""
    return None if row.format < FORMAT else _reserved(row, QUESTION)


def cohorts_of(row: Row) -> Cohorts:
    """The dates that a row of an account by cohort charged."""
    with reading(row.number, "dates"):
        return Cohorts.read(_detail(row).get(COHORTS))


def day_of(row: Row) -> dt.date:
    """The day, in UTC, on which a row was written."""
    with reading(row.number, "time"):
        return dt.date.fromisoformat(row.time[:10])


def calendar_in(number: int, detail: Mapping[str, object]) -> Calendar | None:
    """How an opening's detail parts its budget; None where it does not."""
    told = detail.get("calendar")
    with reading(number, "calendar"):
        return None if told is None else Calendar.read(told)


def since_of(row: Row) -> str:
    """Since when the asker's charges counted when ``row`` was charged; "" if nothing was said."""
    return _reserved(row, SINCE) or ""


def unit_of(row: Row) -> Unit | None:
    """Whom the account of ``row`` protects; None if nobody said."""
    written = None if row.format < FORMAT else _detail(row).get(UNIT)
    with reading(row.number, "detail"):
        return None if written is None else Unit.read(written)


def _reserved(row: Row, key: str) -> str | None:
    value = _detail(row).get(key)
    if value is None or isinstance(value, str):
        return value
    raise tampered(row.number, "its detail cannot be read")


def _detail(row: Row) -> dict[str, object]:
    with reading(row.number, "detail"):
        detail = read_json(row.detail)
        if isinstance(detail, dict):
            return detail
    raise tampered(row.number, "its detail cannot be read")


def receipt_of(row: Row) -> Receipt:
    """The receipt of a charge that is on record."""
    return Receipt(
        number=row.number,
        hash=row.hash,
        policy_id=row.policy_id,
        release_id=row.release_id,
        label=row.label,
        time=row.time,
    )
