"""What was spent, durably: check, then record, then draw.

Importing this package does not load SQLAlchemy; opening a ledger does.
"""

from onesided.ledger._account import Account, Allowance
from onesided.ledger._amounts import ACCOUNTING, PURE
from onesided.ledger._columns import decode_columns, encode_columns, holds_columns
from onesided.ledger._entry import (
    Balance,
    CheckReport,
    Entry,
    Receipt,
    Standing,
    StoredRelease,
    Unit,
    at_delta,
    balances,
)
from onesided.ledger._ledger import Ledger

__all__ = [
    "ACCOUNTING",
    "PURE",
    "Account",
    "Allowance",
    "Balance",
    "CheckReport",
    "Entry",
    "Ledger",
    "Receipt",
    "Standing",
    "StoredRelease",
    "Unit",
    "at_delta",
    "balances",
    "decode_columns",
    "encode_columns",
    "holds_columns",
]
