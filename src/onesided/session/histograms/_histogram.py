"""How many units have values in each bin of one or several columns, per group?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Integral
from typing import Any

from onesided._numbers import Number
from onesided.errors import ParameterError
from onesided.session._context import QueryContext
from onesided.session._count import Count
from onesided.session._groups import Grouped
from onesided.session._plan import PlanOption
from onesided.session._question import Answer, PreparedQuery, all_of
from onesided.session._release import CountRelease
from onesided.session._statement import joined
from onesided.session.histograms._binned import Binned, with_bins
from onesided.session.histograms._bins import BinEdges, bins_of
from onesided.session.histograms._histogram_methods import (
    METHODS,
    HistogramMethod,
    Method,
    options,
    shaped,
)
from onesided.session.histograms._histogram_release import HistogramRelease
from onesided.session.values._value import Missing


@dataclass(frozen=True, slots=True)
class Histogram(Count):
    """How many units have values in each bin of a column, or of several jointly?

    column: a column of numbers; or a mapping from columns to bins, for a joint histogram.
    bins: how many equal bins between ``bounds``, or the edges in rising order. A bin holds its
        lower edge and not its upper one, but between bounds the last bin holds the highest value;
        values outside all bins are not counted.
        Without bounds those of the session's schema; without bins one for each step of its grid.
    missing: rows without a value (null or NaN) are refused, or left out with ``"drop"``.
    method: "counts" draws noise for each cell on its own and bounds each count. The others look
        at the whole histogram, give estimates alone, and need every unit
        in one cell: "dawa", "ahp", "hierarchical", and "agrid" (two columns; ``records`` is a
        public guess of how many there are); "split" and "open_shape" where a policy has open
        records; and "dawaz", "ahpz", "hierarchicalz", "agridz", with zeros where no open record is.
        ``session.plan`` lists those that fit, with their errors.
    like: for plans: a *public* histogram that the answer may resemble, such as last year's release,
        or a pair (sensitive, open). Methods whose error depends on the data are tried on it.
    The other arguments are those of :class:`onesided.session.Count`; with ``by``, one histogram
    per public group.

    >>> import polars as pl, onesided as od
    >>> people = pl.DataFrame({"person": [1, 2, 3], "age": [7, 12, 40]})
    >>> policy = od.policy.addition_only()
    >>> session = od.Session(people, unit="person", policy=policy, budget=1000)
    >>> session.histogram("age", bins=[0, 18, 65], epsilon=90).estimate.tolist()
    [2, 1]
    """

    column: str | Mapping[str, object]
    bins: object = field(default=None, kw_only=True)
    bounds: Sequence[Number] | None = field(default=None, kw_only=True)
    missing: Missing = field(default="refuse", kw_only=True)
    method: Method = field(default="counts", kw_only=True)
    records: int | None = field(default=None, kw_only=True)
    like: object = field(default=None, kw_only=True)

    def measure(self, units: str) -> str:
        """What the numbers are."""
        return f"Number of {units} in bins of {joined(self.column)}"

    def prepare(self, context: QueryContext) -> PreparedQuery[Any, Any]:
        """Check and price the question. Looks at no row."""
        binned = self.binned(context)
        bins = binned.bins
        if self.method not in METHODS:
            raise ParameterError(
                f"There is no method {self.method!r} for histograms.",
                hint=f"Use one of {', '.join(map(repr, METHODS))}.",
                value=self.method,
            )
        shape = HistogramMethod(
            method=self.method, epsilon=self.epsilon, records=self.records, like=self.like
        )
        if self.method != "counts":
            return shaped(binned, bins, shape)
        shared = {part.name: getattr(self, part.name) for part in fields(Count)}
        cells = {part.name: getattr(binned.question, part.name) for part in fields(Grouped)}
        prepared = Count(**{**shared, **cells}).prepare(binned.context)
        groups = binned.question.groups(binned.context)
        shape.require_guess(bins)

        def others() -> tuple[PlanOption, ...]:
            return (*prepared.plan.others, *options(binned, groups, shape, bins))

        def result(answer: Answer, entry: int | None) -> HistogramRelease:
            return _in_bins(prepared.result(answer, entry), bins)

        return PreparedQuery(
            detail={**prepared.detail, **binned.detail},
            plan=replace(prepared.plan, alternatives=others),
            context=binned.context,
            columns=binned.columns(groups),
            look=prepared.look,
            draw=prepared.draw,
            result=result,
            asserts=all_of(binned.asserts, prepared.asserts),
        )

    def binned(self, context: QueryContext) -> Binned:
        """The question over groups alone, the bins among them."""
        if self.others:
            raise ParameterError(
                "others=True is for counts and sums, not for histograms.",
                hint="A histogram's bins can reach outwards: give wider ends.",
            )
        return with_bins(context, self, self._bins(), missing=self.missing)

    @property
    def meaning(self) -> dict[str, object]:
        """What tells it from the same words of before: the last of equal bins holds its end."""
        return {"last bin": "closed"} if isinstance(self.bins, Integral) else {}

    @property
    def changed(self) -> str:
        """What an answer to the same words of before is told beside; "" where nothing changed."""
        said = "The last of equal bins holds the highest value now; answers of before leave it out."
        return said if self.meaning else ""

    def _bins(self) -> dict[str, BinEdges]:
        if isinstance(self.column, Mapping):
            if self.bins is not None or self.bounds is not None:
                raise ParameterError(
                    "column= names the bins of each column already, so bins= and bounds= have no "
                    "meaning.",
                    hint='Write histogram({"age": [0, 18, 65], "visits": [0, 1, 5]}, ...).',
                )
            return {name: bins_of(edges, None) for name, edges in self.column.items()}
        if self.bins is None:
            raise ParameterError(
                f"Which bins of {self.column!r}?",
                hint="Pass bins= as edges, or as a number together with bounds=.",
            )
        return {self.column: bins_of(self.bins, self.bounds)}


def _in_bins(counts: CountRelease, bins: Mapping[str, BinEdges]) -> HistogramRelease:
    """Counts of cells as a histogram: an axis for the groups, if any, then one for each column."""
    sizes = tuple(one.number for one in bins.values())
    grouped = len(counts.keys.names) > len(sizes)
    return HistogramRelease(
        method="counts",
        bins=bins,
        estimate=counts.estimate.reshape((-1, *sizes) if grouped else sizes),
        counts=counts,
        guarantee=counts.guarantee,
        entry=counts.entry,
        cut=counts.cut,
        _make_frame=counts.framed,
    )
