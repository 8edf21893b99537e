"""Many reports as a few counts, which can be added up across servers."""

from __future__ import annotations

from dataclasses import dataclass

from onesided.errors import DataError
from onesided.noise import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """How many people reported, and how often each output or bit was seen.

    Tallies of one configuration add up: count each batch where it arrives.

    >>> from onesided.mechanism.local import warner
    >>> asked = warner(epsilon=1)
    >>> both = asked.tally([asked.report("yes")]) + asked.tally([asked.report("no")])
    >>> both.people
    2
    """

    configuration: str
    people: int
    seen: IntArray

    def __add__(self, other: Tally) -> Tally:
        """Both together. Errors: DataError for tallies of different configurations."""
        check_configuration(other.configuration, self.configuration)
        return Tally(self.configuration, self.people + other.people, self.seen + other.seen)


def check_configuration(found: str, expected: str) -> None:
    """Refuse what another configuration made."""
    if found != expected:
        raise DataError(
            f"A report was made by the configuration {found[:40]!r}, not by {expected!r}.",
            hint="Estimate each configuration's reports with the randomiser that made them; "
            "probabilities or letters differ, so mixing them would give wrong numbers.",
            found=found,
            expected=expected,
        )
