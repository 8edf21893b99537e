"""How far one answer can move somebody's belief about one record, computed exactly."""

from onesided.belief._risk import RiskReport, risk

__all__ = ["RiskReport", "risk"]
