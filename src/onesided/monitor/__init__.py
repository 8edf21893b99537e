"""Monitor: a stream of batches to statuses that are never "at most t" by mistake.

Importing this package does not load SQLAlchemy, an engine or plotly; using it does.
"""

from onesided.monitor._answer import MonitorRelease
from onesided.monitor._guarantees import Guarantees
from onesided.monitor._monitor import Monitor

__all__ = ["Guarantees", "Monitor", "MonitorRelease"]
