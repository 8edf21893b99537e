"""The monitor over whole streams; see onesided.verify._cases_monitor."""

from onesided.verify._cases_monitor import cases

__all__ = ["cases"]
