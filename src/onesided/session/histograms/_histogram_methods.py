"""Histograms by other mechanisms than independent counts: for ``histogram(method=...)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args

import numpy as np

from onesided._numbers import INFINITE, Number
from onesided.errors import DataError, ParameterError, PolicyError
from onesided.mechanism.histograms import (
    AGrid,
    Ahp,
    Dawa,
    Hierarchical,
    OpenShape,
    SplitCounts,
    SplitHistogram,
    Zeroed,
    zeros,
)
from onesided.mechanism.histograms.kit import Parts, histogram_of
from onesided.noise import IntArray, Noise, NotPrivateSeededNoise, TwoSidedGeometric
from onesided.policy import GroupCount, Policy
from onesided.session._context import Taken
from onesided.session._groups import Groups, kinds_of
from onesided.session._plan import Plan, PlanOption, promised
from onesided.session._question import Answer, PreparedQuery, all_of
from onesided.session.histograms._binned import Binned, bin_name
from onesided.session.histograms._bins import BinEdges
from onesided.session.histograms._histogram_release import HistogramRelease

Method = Literal[
    "counts", "split", "open_shape", "dawa", "ahp", "hierarchical", "agrid",
    "dawaz", "ahpz", "hierarchicalz", "agridz",
]  # fmt: skip
METHODS: Final[tuple[str, ...]] = get_args(Method)
_TWO_PHASE: Final[Mapping[str, Any]] = {
    "dawa": Dawa,
    "ahp": Ahp,
    "hierarchical": Hierarchical,
    "agrid": AGrid,
}
_TWO_PARTS: Final[Mapping[str, Any]] = {"split": SplitHistogram, "open_shape": OpenShape}

Histograms = tuple[IntArray, ...]
_TRIES: Final = 5
# What these methods ask of units, except where a policy covers several groups of them.
_ONE_CELL: Final = GroupCount(max_groups=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramMethod:
    """How a histogram is to be made. ``records``, ``like``: public guesses."""

    method: str
    epsilon: Number
    records: int | None = None
    like: object = None

    def require_guess(self, bins: Mapping[str, BinEdges]) -> None:
        """Refuse a guess that is no histogram over these bins. Errors: DataError."""
        _guessed(self.like, self.method, tuple(one.number for one in bins.values()))

    def error(self, mechanism: Any, sizes: tuple[int, ...]) -> float | None:
        """Its root mean square error per bin on the public guess; None if there is none.

        Errors: DataError for a guess that is no histogram over these bins.
        """
        parts = _guessed(self.like, self.method, sizes)
        if parts is None:
            return None
        truth = np.sum(parts, axis=0) if self.method in _TWO_PARTS else parts[0]
        noise = NotPrivateSeededNoise(0)  # nothing secret is in it
        drawn = [_drawing(mechanism)(parts, noise)["estimate"] for _ in range(_TRIES)]
        missed = np.asarray(drawn, dtype=np.float64) - truth.ravel()
        return float(np.sqrt(np.mean(missed**2)))

    def mechanism(self, policy: Policy) -> Any:
        """The mechanism at this ε. Errors: ParameterError, PolicyError."""
        if self.method in _TWO_PARTS:
            return _TWO_PARTS[self.method].for_policy(policy, epsilon=self.epsilon)
        name = self.method.removesuffix("z")
        # A tree's estimates stay as they are: cut at 0 one by one, their sums would be too large.
        options: dict[str, Any] = {"clip": name != "hierarchical"}
        if name == "agrid":
            if self.records is None:
                raise ParameterError(
                    "A grid needs to know about how many records there are.",
                    hint="Pass records=, a guess from public knowledge; a bad one costs accuracy "
                    "alone.",
                )
            options["records"] = self.records
        if "keep" not in policy.excess_modes:
            options["query"] = _ONE_CELL
        maker: Any = zeros(_TWO_PHASE[name]) if self.method != name else _TWO_PHASE[name]
        if self.method != name:
            options["open_kinds"] = sorted(Parts.of(policy).open)
        return maker.for_policy(policy, epsilon=self.epsilon, **options)


def shaped(
    binned: Binned, bins: Mapping[str, BinEdges], shape: HistogramMethod
) -> PreparedQuery[Histograms, HistogramRelease]:
    """The question about one histogram over everybody, by another mechanism than counts.

    Errors: ParameterError where it is about groups, or a unit may be in several cells.
    """
    context = binned.context
    groups = binned.question.groups(context)
    _refuse_unfit(groups, bins, shape.method)
    _refuse_apart(groups, context.policy, shape.method)
    mechanism = shape.mechanism(context.policy)
    sizes = tuple(one.number for one in bins.values())
    tried = shape.error(mechanism, sizes)
    plan = _plan(binned, groups, mechanism, shape.method, tried)
    parts = _parts(groups, context.policy, shape.method)

    def look(taken: Taken) -> Histograms:
        return tuple(part.counts(taken).reshape(sizes) for part in parts)

    def result(answer: Answer, entry: int | None) -> HistogramRelease:
        lower = answer.get("lower")
        return HistogramRelease(
            method=shape.method,
            bins=bins,
            estimate=np.asarray(answer["estimate"], dtype=np.float64).reshape(sizes),
            lower=None if lower is None else np.asarray(lower, dtype=np.int64).reshape(sizes),
            _fitted=_fitting(mechanism),
            guarantee=plan.guarantee,
            entry=entry,
            cut=groups.cut(plan.certain),
            _make_frame=lambda columns: context.table.result(columns, like=()),
        )

    return PreparedQuery(
        detail={**groups.detail, **binned.detail, "method": shape.method},
        plan=plan,
        context=context,
        columns=tuple(dict.fromkeys(name for one in parts for name in binned.columns(one))),
        look=look,
        draw=_drawing(mechanism),
        result=result,
        asserts=all_of(binned.asserts, *(part.asserts for part in parts)),
    )


def options(
    binned: Binned, groups: Groups, shape: HistogramMethod, bins: Mapping[str, BinEdges]
) -> list[PlanOption]:
    """What else could make this histogram at the same ε; for plans."""
    found = []
    for method in METHODS[1:]:
        if method.startswith("agrid") and (len(bins) != 2 or shape.records is None):
            continue
        try:
            _refuse_unfit(groups, bins, method)
            _refuse_apart(groups, binned.context.policy, method)
            mechanism = replace(shape, method=method).mechanism(binned.context.policy)
        except (ParameterError, PolicyError):
            continue  # this policy has no such histogram
        tried = replace(shape, method=method)
        sizes = tuple(one.number for one in bins.values())
        found.append(_option(mechanism, method, tried.error(mechanism, sizes)))
    return found


def _guessed(like: object, method: str, sizes: tuple[int, ...]) -> Histograms | None:
    """The public guess in the parts that the method takes; None if it does not have them."""
    if like is None:
        return None
    paired = isinstance(like, tuple)
    given = [histogram_of(part) for part in (like if isinstance(like, tuple) else (like,))]
    if any(part.shape != sizes for part in given) or len(given) > 2:
        raise DataError(
            f"like= must be one histogram of shape {sizes}, or a pair (sensitive, open) of them.",
            hint="Give whole counts from public knowledge, such as last year's release.",
        )
    if method in _TWO_PHASE:
        return (np.sum(given, axis=0),)
    if not paired:
        return None
    return tuple(given) if method in _TWO_PARTS else (np.sum(given, axis=0), given[1])


def _option(mechanism: Any, method: str, tried: float | None = None) -> PlanOption:
    name = f'method="{method}"'
    if not isinstance(mechanism, SplitHistogram):
        return PlanOption(name=name, error=tried, note=_NOTES[method])
    hidden = TwoSidedGeometric(mechanism.upper_rate, mechanism.lower_rate)
    free = TwoSidedGeometric(INFINITE, mechanism.open_rate)
    error = float((hidden.variance() + free.variance()) ** 0.5)
    return PlanOption(name=name, error=error, certain=("lower",), note=_NOTES[method])


_NOTES: Final = {
    "split": "open and sensitive records counted apart",
    "open_shape": "the open records' shape lent to the sensitive ones",
    "dawa": "totals of runs of bins that seem alike",
    "ahp": "totals of sets of bins that seem alike",
    "hierarchical": "a tree of totals, for ranges",
    "agrid": "rectangles as fine as the data allow",
    "dawaz": "dawa, with zeros where no open record is",
    "ahpz": "ahp, with zeros where no open record is",
    "hierarchicalz": "hierarchical, with zeros where no open record is",
    "agridz": "agrid, with zeros where no open record is",
}


def _plan(binned: Binned, groups: Groups, mechanism: Any, method: str, tried: float | None) -> Plan:
    policy = binned.context.policy
    if method in _TWO_PHASE:
        shifts = policy.shifts(groups.query)
        losses = {edge: max(mechanism.loss(s) for s in many) for edge, many in shifts.items()}
    elif method in _TWO_PARTS:
        losses = mechanism.losses(policy)
    else:
        kinds = sorted(Parts.of(policy).open)
        losses = mechanism.losses(policy, open_kinds=kinds, query=_ONE_CELL)
    charge = {edge.name: loss for edge, loss in losses.items()}
    option = _option(mechanism, method, tried)
    return Plan(
        mechanism=mechanism,
        charge=charge,
        account=binned.context.account,
        guarantee=promised(
            binned.context,
            charge,
            about=groups.sentence,
            scope=groups.left_out.scope(option.certain),
        ),
        certain=option.certain,
        standard_deviation=option.error,
        why=option.note,
    )


def _parts(groups: Groups, policy: Policy, method: str) -> tuple[Groups, ...]:
    """What is counted apart for the method."""
    if method in _TWO_PHASE:
        return (groups,)
    parts = Parts.of(policy)
    kinds = (parts.sensitive, parts.open) if method in _TWO_PARTS else (None, parts.open)
    return tuple(replace(groups, query=replace(groups.query, counted=one)) for one in kinds)


def _drawing(mechanism: Any) -> Callable[[Histograms, Noise | None], Answer]:
    def draw(histograms: Histograms, noise: Noise | None) -> Answer:
        made = mechanism.release(*histograms, noise=noise)
        if isinstance(made, SplitCounts):
            estimate = mechanism.estimate(made).ravel()
            return {"estimate": estimate, "lower": np.maximum(made.open, 0).ravel()}
        return {"estimate": np.asarray(made).ravel()}

    return draw


def _fitting(mechanism: Any) -> Callable[[Any], Any] | None:
    """What makes a histogram of at least 0 of unbiased estimates; zeros that were found stay."""
    if isinstance(mechanism, Hierarchical):
        return mechanism.non_negative
    if not isinstance(mechanism, Zeroed) or not isinstance(mechanism.algorithm, Hierarchical):
        return None
    tree = mechanism.algorithm
    return lambda estimate: np.where(estimate == 0, 0.0, tree.non_negative(estimate))


def _refuse_apart(groups: Groups, policy: Policy, method: str) -> None:
    """Refuse parts that the table cannot tell apart, and units whose kept cell a move may swap.

    Without rules everybody would be in both parts. And the parts' charges know no truncation:
    where dropping a kept cell brings a cut one back, a count rises that they take to fall only.
    """
    if method in _TWO_PHASE:
        return
    parts = Parts.of(policy)
    kinds_of(sorted(parts.sensitive | parts.open), policy)
    if policy.shifts(groups.query) != policy.shifts(replace(groups.query, truncated=False)):
        raise ParameterError(
            f"method={method!r} cannot cut units down to one cell under the policy "
            f"{policy.name!r}: dropping one cell would bring another back.",
            hint='Use on_excess="error", or method="counts".',
        )


def _refuse_unfit(groups: Groups, bins: Mapping[str, BinEdges], method: str) -> None:
    if len(groups.by) > len(bins) or groups.query.counted is not None:
        raise ParameterError(
            f"method={method!r} makes one histogram of everybody, without by= or counted=.",
            hint='Use where= to pick rows, or method="counts".',
        )
    if (groups.query.max_groups or 1) != 1:
        raise ParameterError(
            f"method={method!r} needs every unit in one cell, got max_groups="
            f"{groups.query.max_groups}.",
            hint='Use max_groups=1, or method="counts".',
        )
    if len(bins) > 2 or (method.startswith("agrid") and len(bins) != 2):
        raise ParameterError(
            f"method={method!r} does not make histograms over {len(bins)} column(s): "
            f"{', '.join(map(bin_name, bins))}.",
            hint='Use one or two columns (a grid needs two), or method="counts".',
        )
