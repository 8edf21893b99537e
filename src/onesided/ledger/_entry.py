"""What readers of the ledger get: frozen values with exact numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType

from onesided.errors import ParameterError
from onesided.ledger import _amounts
from onesided.ledger._amounts import Amounts
from onesided.ledger._rows import FORMAT, QUESTION, RESERVED, SINCE, UNIT, WHO, Row, tampered
from onesided.ledger._unit import Unit
from onesided.store import read_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One row of the ledger.

    ``kind`` is "open" (an account and its budget), "spend" (a charge, recorded before the draw)
    or "store" (the published answer of a charge was kept). ``epsilon`` and ``delta`` are what
    this row charged per edge, ``total_epsilon`` and ``total_delta`` the policy's sums including
    it, ``releases`` the number of charges so far. ``time`` and ``who`` are what the writing
    process said, for people; order is ``number``. ``unit`` is whom the account protects, None
    where nobody said (in 0.1.0 a session's charge said it in its detail).

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
    epsilon: Mapping[str, Fraction]
    delta: Mapping[str, Fraction]
    total_epsilon: Mapping[str, Fraction]
    total_delta: Mapping[str, Fraction]
    releases: int
    previous: str = field(repr=False)
    hash: str = field(repr=False)
    unit: Unit | None = None


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
    never stored by their owner.

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
    )


def amount_columns(charge: Amounts, total: Amounts) -> dict[str, str]:
    """The four columns of amounts as text."""
    epsilon, delta = charge.texts()
    total_epsilon, total_delta = total.texts()
    return {
        "epsilon": epsilon,
        "delta": delta,
        "total_epsilon": total_epsilon,
        "total_delta": total_delta,
    }


def amounts_of(row: Row) -> tuple[Amounts, Amounts]:
    """What ``row`` charged, and the totals it states."""
    try:
        return charge_of(row), _amounts.read(row.total_epsilon, row.total_delta)
    except (ValueError, TypeError, ParameterError):
        raise tampered(row.number, "its amounts cannot be read") from None


def charge_of(row: Row) -> Amounts:
    """What ``row`` charged."""
    try:
        return _amounts.read(row.epsilon, row.delta)
    except (ValueError, TypeError, ParameterError):
        raise tampered(row.number, "its amounts cannot be read") from None


def detail_of(row: Row) -> Mapping[str, object]:
    """The detail of ``row`` as its writer gave it, read-only."""
    own = RESERVED if row.format >= FORMAT else (WHO,)
    return MappingProxyType({key: value for key, value in _detail(row).items() if key not in own})


def who_of(row: Row) -> str:
    """Who wrote ``row``, as the writing process said; "" if it did not."""
    return _reserved(row, WHO) or ""


def question_of(row: Row) -> str | None:
    """What identified the question that ``row`` charged; None if nothing was said."""
    return None if row.format < FORMAT else _reserved(row, QUESTION)


def since_of(row: Row) -> str:
    """Since when the asker's charges counted when ``row`` was charged; "" if nothing was said."""
    return _reserved(row, SINCE) or ""


def unit_of(row: Row) -> Unit | None:
    """Whom the account of ``row`` protects; None if nobody said."""
    written = None if row.format < FORMAT else _detail(row).get(UNIT)
    try:
        return None if written is None else Unit.read(written)
    except ParameterError:
        raise tampered(row.number, "its detail cannot be read") from None


def _reserved(row: Row, key: str) -> str | None:
    value = _detail(row).get(key)
    if value is None or isinstance(value, str):
        return value
    raise tampered(row.number, "its detail cannot be read")


def _detail(row: Row) -> dict[str, object]:
    try:
        detail = read_json(row.detail)
    except (ValueError, TypeError):
        detail = None
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
