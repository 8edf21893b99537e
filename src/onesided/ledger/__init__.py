"""What was spent, durably: check, then record, then draw.

Importing this package does not load SQLAlchemy; opening a ledger does.
"""

from onesided.ledger._account import Account
from onesided.ledger._allowance import Allowance
from onesided.ledger._balance import Balance, Standing, balances
from onesided.ledger._columns import decode_columns, encode_columns, holds_columns
from onesided.ledger._entry import CheckReport, Entry, Receipt, StoredRelease
from onesided.ledger._ledger import Ledger
from onesided.ledger._unit import Unit

__all__ = [
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
    "balances",
    "decode_columns",
    "encode_columns",
    "holds_columns",
]
