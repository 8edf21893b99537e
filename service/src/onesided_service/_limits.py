"""How often somebody may ask. Each worker counts its share; nothing depends on it but patience."""

from __future__ import annotations

import math
import threading
from collections import Counter
from typing import Final

from onesided_service._errors import ServiceError

_MINUTE: Final = 60


class Limits:
    """At most so many requests of one person, or of one address without one, in a minute."""

    def __init__(self, most: int, *, workers: int) -> None:
        self._most = math.ceil(most / workers)
        self._minute, self._numbers = 0, Counter[str]()
        self._mutex = threading.Lock()

    def count(self, who: str, *, now: float) -> None:
        """Count a request. Errors: ServiceError 429, with the seconds to wait."""
        minute = int(now) // _MINUTE
        with self._mutex:
            if minute != self._minute:
                self._minute, self._numbers = minute, Counter()
            self._numbers[who] += 1
            number = self._numbers[who]
        if number > self._most:
            wait = _MINUTE - int(now) % _MINUTE
            raise ServiceError(
                429,
                "TooMany",
                "Too many requests in this minute.",
                hint=f"Wait {wait} seconds.",
                seconds=wait,
            )
