"""Metrics for Prometheus: how many requests there were, and nothing that a row could change.

Durations are left out: those of the machine would tell of rows what the public clock hides.
"""

from __future__ import annotations

import os
from typing import Final

from prometheus_client import CollectorRegistry, Counter, disable_created_metrics, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

SHARED: Final = "PROMETHEUS_MULTIPROC_DIR"


class Metrics:
    """The counters of one worker; of all, where they share a folder."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "onesided_requests",
            "Requests by method, route and status.",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self._charges = Counter(
            "onesided_asks", "Questions that were charged.", ("dataset",), registry=self._registry
        )
        self._closed = Counter(
            "onesided_closed", "Datasets that were closed.", ("dataset",), registry=self._registry
        )

    def request(self, method: str, route: str, status: int) -> None:
        """Count a request."""
        self._requests.labels(method, route, str(status)).inc()

    def asked(self, dataset: str) -> None:
        """Count a question that was charged."""
        self._charges.labels(dataset).inc()

    def closed(self, dataset: str) -> None:
        """Count a dataset that was closed."""
        self._closed.labels(dataset).inc()

    def text(self) -> bytes:
        """What Prometheus reads."""
        if SHARED not in os.environ:
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
