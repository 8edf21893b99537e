"""What was spent, durably: check, then record, then draw.

Importing this package does not load SQLAlchemy; opening a ledger does.
"""

from onesided.ledger._account import Account
from onesided.ledger._allowance import Allowance
from onesided.ledger._amounts import ACCOUNTING, PURE
from onesided.ledger._calendar import UNBOUNDED, Calendar, Cohort, Cohorts, Span, Standing, promised
from onesided.ledger._columns import decode_columns, encode_columns, holds_columns
from onesided.ledger._entry import CheckReport, Entry, Receipt, StoredRelease, Unit
from onesided.ledger._ledger import Ledger
from onesided.ledger._terms import Balance, at_delta

__all__ = [
    "ACCOUNTING", "PURE", "UNBOUNDED", "Account", "Allowance", "Balance", "Calendar",
    "CheckReport", "Cohort", "Cohorts", "Entry", "Ledger", "Receipt", "Span", "Standing",
    "StoredRelease", "Unit", "at_delta", "decode_columns", "encode_columns",
    "holds_columns", "promised",
]  # fmt: skip
