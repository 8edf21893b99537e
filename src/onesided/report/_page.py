"""What a report page says: released values and words, nothing secret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from onesided.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from onesided.show import Outline

Side = Literal["upper", "lower", "estimate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Everything the report shows; every value must already be public.

    Args:
        title: headline of the page.
        question: what was asked, as a question: "Which places had at most 5 people?".
        keys: label of each row; all columns are as long as this.
        key_name: what a row is, in the singular: "place".
        estimate: best guess per row; not finite means that none was made.
        lower: lower bound per row; not finite means that there is none.
        upper: upper bound per row; not finite means that there is none.
        lower_certain: whether ``lower`` is never wrong (else it holds with ``confidence``).
        upper_certain: whether ``upper`` is never wrong (else it holds with ``confidence``).
        first: what must be said before anything else, such as that units may have been cut.
        scope: what a certain bound is about where that is not the data as they are, as it stands
            after "about": "the bounded data (at most 3 places per person)".
        confidence: of the sides that are not certain, as text: "95 %".
        threshold: T of "at most T", if that was the question.
        certified: per row, whether it certainly has at most T; needs a threshold and a certain
            upper bound, and may be true only where ``upper`` is at most T.
        latitude: degrees per row; NaN where the position is not known.
        longitude: degrees per row; NaN where the position is not known.
        beside: what else is public about each row, (column, a text per row).
        outline: lines to draw below the map, as (latitudes, longitudes).
        facts: headline numbers, (label, text).
        sentences: the guarantee in plain words.
        edges: the guarantee per edge of the policy, (edge, epsilon, delta) as text.
        ledger: extract of the ledger; the keys of the first entry become the columns.
        notes: caveats.

    Raises:
        ParameterError: the columns do not fit together, or a certificate has no bound to back it.

    >>> import numpy as np
    >>> counts = {name: np.array([4.0, 0.0]) for name in ("estimate", "lower", "upper")}
    >>> words = {"title": "Visits", "question": "How many?", "key_name": "place"}
    >>> page = Page(keys=("a", "b"), lower_certain=False, upper_certain=True, **words, **counts)
    >>> page.main_side
    'upper'
    """

    title: str
    question: str
    keys: tuple[str, ...]
    key_name: str
    estimate: NDArray[Any]
    lower: NDArray[Any]
    upper: NDArray[Any]
    lower_certain: bool
    upper_certain: bool
    first: tuple[str, ...] = ()
    scope: str = ""
    confidence: str = "95 %"
    threshold: int | None = None
    certified: NDArray[np.bool_] | None = None
    latitude: NDArray[np.float64] | None = None
    longitude: NDArray[np.float64] | None = None
    beside: tuple[tuple[str, tuple[str, ...]], ...] = ()
    outline: Outline = ()
    facts: tuple[tuple[str, str], ...] = ()
    sentences: tuple[str, ...] = ()
    edges: tuple[tuple[str, str, str], ...] = ()
    ledger: tuple[Mapping[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("estimate", "lower", "upper", "certified", "latitude", "longitude"):
            column = getattr(self, name)
            if column is not None and column.shape != (len(self.keys),):
                raise ParameterError(
                    f"{name} has shape {column.shape}, but there are {len(self.keys)} keys",
                    hint="give one value per key",
                )
        for name, texts in self.beside:
            if len(texts) != len(self.keys):
                raise ParameterError(
                    f"{name} has {len(texts):,} texts, but there are {len(self.keys):,} keys",
                    hint="give one text per key",
                )
        if (self.latitude is None) != (self.longitude is None):
            raise ParameterError(
                "only one of latitude and longitude is given", hint="give both or neither"
            )
        if self.certified is not None:
            self._check_certificates(self.certified)

    def _check_certificates(self, certified: NDArray[np.bool_]) -> None:
        """Refuse to print a certificate that the published bound does not carry."""
        if self.threshold is None or not self.upper_certain:
            raise ParameterError(
                "a certificate needs a threshold and a certain upper bound",
                hint="leave certified=None, or give threshold= and upper_certain=True",
            )
        wrong = np.flatnonzero(certified & ~(self.upper <= self.threshold))
        if wrong.size:
            raise ParameterError(
                f"{self.keys[wrong[0]]!r} is certified to have at most {self.threshold}, "
                f"but its upper bound is {self.upper[wrong[0]]}",
                hint="certify only where upper is at most the threshold",
            )

    @property
    def main_side(self) -> Side:
        """The column worth drawing: a certain side if there is one, else the estimate."""
        if self.upper_certain:
            return "upper"
        return "lower" if self.lower_certain else "estimate"

    @property
    def located(self) -> NDArray[np.bool_]:
        """Per row, whether its position is known."""
        if self.latitude is None or self.longitude is None:
            return np.zeros(len(self.keys), bool)
        return np.isfinite(self.latitude) & np.isfinite(self.longitude)
