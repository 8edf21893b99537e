"""Monitor: a stream of batches to statuses that are never "at most t" by mistake.

Importing this package does not load SQLAlchemy, an engine or plotly; using it does.
"""

from onesided.monitor._batch import Batch
from onesided.monitor._machine import Machine, MonitorRelease
from onesided.monitor._monitor import Monitor
from onesided.monitor._rules import Guarantees, rules_for

__all__ = ["Batch", "Guarantees", "Machine", "Monitor", "MonitorRelease", "rules_for"]
