"""Tables behind one protocol: one room per engine, and the keys that answers are about.

No other package asks which engine it has.
"""

from onesided.engine._keys import PublicKeys, cross, public_keys
from onesided.engine._table import Table

__all__ = ["PublicKeys", "Table", "cross", "public_keys"]
