"""The charge that an answer is stored for, and the answer that was stored."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from onesided.errors import LedgerError, ParameterError
from onesided.ledger._entry import Receipt, StoredRelease, detail_of, question_of, receipt_of
from onesided.ledger._rows import SPEND, STORE, Row, tampered

if TYPE_CHECKING:
    from onesided.ledger._view import View


def charge_of_receipt(view: View, receipt: Receipt, *, policy_id: str) -> Row:
    """The charge that an answer is to be stored for. Errors: ParameterError; LedgerError."""
    charge = view.at(receipt.number)
    if charge is None or charge.kind != SPEND or receipt_of(charge) != receipt:
        raise ParameterError(
            f"receipt {receipt.number} is not of a charge in this ledger.",
            hint="Store a release in the ledger that charged it.",
            number=receipt.number,
        )
    if charge.policy_id != policy_id:
        raise ParameterError(
            f"receipt {receipt.number} is of another account.",
            hint="Store a release in the account that charged it.",
            number=receipt.number,
        )
    if view.find(policy_id=policy_id, kind=STORE, release_id=charge.release_id):
        raise LedgerError(
            f"charge {receipt.number} already has its stored answer.",
            hint=f"Recall release {charge.release_id!r} and publish that; discard this one.",
            number=receipt.number,
            release_id=charge.release_id,
            state="stored",
        )
    return charge


def release_of(charge: Row, *, stored: Row, payload: bytes | None) -> StoredRelease:
    """The answer that was stored. Errors: TamperedLedgerError."""
    facts = detail_of(stored)
    if payload is None or hashlib.sha256(payload).hexdigest() != facts.get("sha256"):
        raise tampered(stored.number, "the stored answer is not the one that was recorded")
    return StoredRelease(
        release_id=charge.release_id,
        number=charge.number,
        time=charge.time,
        label=charge.label,
        detail=detail_of(charge),
        question=question_of(charge),
        content_type=str(facts.get("content_type", "")),
        payload=payload,
    )
