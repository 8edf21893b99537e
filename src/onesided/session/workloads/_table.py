"""A table whose rows, columns and margins add up, under one charge.

Claim: each margin is the sum of its cells, by what it is: of rows, of units of one cell each, or of
numbers that a unit adds to each of its cells. So what moves a cell by a shift moves each measured
margin by no more in all, and a strategy of margins with weights w by at most ``sum(w)`` times the
shift of all cells; in L2 as :func:`onesided.linear._margins.square_most` has it or, for units of
one cell, ``square_shifts``. Certain bounds travel by
:func:`onesided.linear._margins.tightened`: they are about those sums, in which everybody who is
counted lies in a cell, and nobody else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from typing import Any, ClassVar, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onesided._english import many
from onesided._numbers import MAX_COUNT, Infinite, Number, positive, rough
from onesided.engine.kit import MOST_ROWS
from onesided.errors import DataError, KeysError, ParameterError, PolicyError
from onesided.fields import one_of
from onesided.linear import Identity, Kron, Moves, Operator, kron, moves_of
from onesided.linear.kit import (
    Margins,
    best_weights,
    held_factors,
    kept_within,
    residuals,
    square_most,
    square_shifts,
    tightened,
    whole_cells,
)
from onesided.mechanism import GaussianSums
from onesided.mechanism import Linear as Mechanism
from onesided.mechanism.kit import CONFIDENCE
from onesided.noise import DiscreteGaussian, IntArray
from onesided.policy import Edge, Shift
from onesided.session._confidence import Confidence
from onesided.session._context import QueryContext, Taken
from onesided.session._fields import Edges
from onesided.session._gaussian import BEST, Law, by_law, with_law
from onesided.session._groups import RESULT_COLUMNS, Grouped, Groups
from onesided.session._plan import Plan, PlanOption
from onesided.session._question import Answer, Check, PreparedQuery, all_of
from onesided.session._release import Release
from onesided.session._statement import Nouns
from onesided.session._ways import Way
from onesided.session.values._moments import asserted as valued
from onesided.session.values._moments import moments
from onesided.session.values._sum import Sum
from onesided.session.values._value import Missing, Of, Value, counted_rows, most_rows
from onesided.session.workloads._cells import moves_of_places, public_totals
from onesided.session.workloads._linear import (
    SEVERAL,
    Choice,
    asserted,
    choose,
    drawn,
    measured,
    plan_of,
    single_cells,
)
from onesided.show import RoleTable
from onesided.store import read_json

Outside = Literal["leave", "refuse"]
Level = tuple[int, ...]
Table = dict[str, Any]  # the columns of numbers, as results have them
_MOST_AXES: Final = 4
_MOST_NUMBERS: Final = 2**21
_EXACT: Final = 2.0**53  # below which a float is any whole number
_OF_SUM: Final = ("of", "bounds", "total_bounds", "step", "missing", "max_rows")


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossTable(Grouped):
    """A table of up to four attributes with its margins, which add up: whole, none below 0.

    by, keys: the attributes, and their public values: ``onesided.cross(...)`` or the schema's.
    margins: True for all subtotals and the total; False for the cells alone; "rollup" for those of
        SQL's ROLLUP; or lists of the columns of each margin wanted, such as [["sex"], []].
    hierarchy: public levels above a column, such as {"county": {"state": ["North", "North",
        "South"]}}: for each key its parent, in the order of the keys, or as a mapping.
    column: adds up this column instead of counting, of values from 0 up; ``of``, ``bounds``,
        ``total_bounds``, ``step``, ``missing`` and ``max_rows`` are those of
        :class:`onesided.session.Sum`. of="rows" without a column counts rows of units, at most
        ``max_rows`` of each in a cell: persons of households.
    proportions: True tells each number as a part of the total.
    outside: "leave" leaves out rows that are in no cell; "refuse" refuses data with such rows,
        before any charge, so that a total that no move changes is public.
    strategy: "cells", "margins", "weighted margins" or "levels", or None for the least predicted
        error of all numbers that are published; ``plan`` compares them, and each margin.
    law: as in :class:`onesided.session.Count`: with Gaussian noise no side is certain.
    A margin is the sum of its cells: a unit that a policy lets into several counts in each, which
    the answer says first.
    Direction and loss: noise on the sums that are measured, where moves need it; the other side is
    certain, and a certain bound of a margin or a cell is one of what it is made of, or is part of.
    The other arguments are those of :class:`onesided.session.Count`.

    >>> import polars as pl, onesided as od
    >>> people = pl.DataFrame({"sex": ["f", "m", "f"], "town": ["a", "b", "b"]})
    >>> session = od.Session(people, policy=od.policy.addition_only(), budget=1000)
    >>> keys = od.cross(sex=["f", "m"], town=["a", "b"])
    >>> table = session.table(by=["sex", "town"], keys=keys, epsilon=99)
    >>> table.estimate.tolist(), table.upper_certain
    ([3, 1, 2, 2, 1, 1, 1, 0, 1], True)
    """

    margins: Edges = True
    hierarchy: Edges = None
    column: str | None = None
    of: Of | None = None
    bounds: Sequence[Number] | None = None
    total_bounds: Sequence[Number] | None = None
    step: Number | None = None
    missing: Missing = "refuse"
    max_rows: int | None = None
    proportions: bool = False
    outside: Outside = "leave"
    strategy: str | None = None
    law: Law = BEST
    confidence: Number = CONFIDENCE
    simultaneous: bool = False

    work: ClassVar = 6  # as many counts may take
    later: ClassVar = ("margins", "hierarchy", "proportions", "outside", "strategy", "law")

    def measure(self, nouns: Nouns) -> str:
        """What the numbers are."""
        if self.column is not None:
            told = f"Sum of {nouns.column(self.column)}"
        else:
            told = f"Number of {'rows of ' if self.of == 'rows' else ''}{nouns.units}"
        return f"{told}, as parts of the total" if self.proportions else told

    def ways(self, context: QueryContext) -> Iterator[Way]:
        """This question, and the same with Gaussian noise; for plans."""
        own = Way("Linear", self, closed=not self.proportions, certain=True)
        yield from by_law(own, "Linear, Gaussian noise", context)

    def truth(self, public: QueryContext) -> NDArray[Any]:
        """The numbers that are asked for, of a public table."""
        counted = self._counted(public)
        layout = Layout.of(counted.groups, self.hierarchy, self.margins, total=self.proportions)
        told = layout.asked.apply(np.asarray(self.prepare(public).read()))
        return told / max(told[0], 1) if self.proportions else told * float(counted.step)

    def prepare(self, context: QueryContext) -> PreparedQuery[IntArray, Release]:
        """Check and price the question. Looks at no row."""
        self._check()
        counted = self._counted(context)
        layout = Layout.of(counted.groups, self.hierarchy, self.margins, total=self.proportions)
        choice, plan = self._planned(context, counted, layout)
        mechanism: Mechanism = plan.mechanism
        if choice.strategy.largest * MOST_ROWS * counted.most > MAX_COUNT:
            raise ParameterError(
                "Weighted margins of so large values would not fit 62 bits.",
                hint='Pass strategy="cells", narrower bounds, or a coarser step.',
            )
        groups, sure = counted.groups, Confidence(self.confidence, self.simultaneous)
        share = sure.of_each(layout.full.shape[0])
        share = 1 - (1 - share) / 2 if self.proportions else share

        def result(answer: Answer, entry: int | None) -> Release:
            told, unbiased = _fitted(layout, mechanism, answer, share)
            facts = groups.published(context, plan, entry)
            if self.column is None and self.of is None and groups.excess == "keep":
                facts["cut"] = f"{SEVERAL} {facts['cut']}".strip()
            return Release(
                kind="TableRelease",
                told=layout.told(told, counted.step, proportions=self.proportions),
                summary=f"{many(unbiased.size, 'number')} that add up, by {choice.name}.",
                bound_words=sure.words,
                own={"mechanism": mechanism, "noisy": measured(answer)[0], "unbiased": unbiased,
                     "strategy": choice.name, **sure.facts},
                **facts,
            )  # fmt: skip

        return PreparedQuery(
            detail={**groups.detail, "margins": [list(one) for one in layout.asked.chosen],
                    **counted.detail},
            plan=plan,
            context=context,
            columns=counted.columns,
            look=counted.look,
            asserts=all_of(counted.asserts, self._held(counted)),
            draw=partial(drawn, mechanism),
            result=result,
        )  # fmt: skip

    def _planned(
        self, context: QueryContext, counted: _Counted, layout: Layout
    ) -> tuple[Choice, Plan]:
        """What is measured, with which noise."""
        epsilon, groups = positive(self.epsilon, name="epsilon"), counted.groups
        pure = self._choice(context, counted, layout, epsilon)

        def plan(choice: Choice) -> Plan:
            made, said = replace(choice, workload=layout.full), f"{groups.sentence} {_SUMS}"
            told = plan_of(context, groups, choice, mechanism := made.as_noise(), said, sums=True)
            return replace(told, margins=layout.priced(mechanism, choice, epsilon))

        def squares(strategy: Operator) -> dict[Edge, int]:
            if counted.shifts is None:
                return square_shifts(strategy, pure.moves)
            if counted.units and not context.policy.between_values:
                with suppress(PolicyError):  # a move that takes several, and brings several
                    among = moves_of(context.policy, pure.moves.cells, query=groups.query)
                    # Under a view several units may move in one cell.
                    return square_shifts(strategy, among, apart=context.policy.view is None)
            return {edge: square_most(strategy, on) for edge, on in counted.shifts.items()}

        @cache
        def normal() -> Choice:
            """The strategy of least error at an L2 price, by what each edge loses; at σ = 1."""
            known = pure.public is not None and pure.public.of_all
            lost = {edge: step.epsilon for edge, step in pure.steps.items()}
            makers = [*layout.makers(known=known).items()]
            if layout.full.balanced:
                own = partial(residuals, layout.full, layout.asked, known=known)
                makers[-1:] = [(makers[-1][0], partial(own, pairs=one)) for one in (False, True)]
            found: list[tuple[float, Choice]] = []
            for name, make in makers:
                if self.strategy not in (None, name):
                    continue
                strategy = make()
                # Sums that would not fit 62 bits are passed over, unless named.
                large = strategy.largest * MOST_ROWS * counted.most > MAX_COUNT
                if large and self.strategy is None and name != "cells":
                    continue
                moved = squares(strategy)
                factor = float(np.mean(held_factors(strategy, layout.asked, pure.public)))
                given_up = ((one, lost[edge.name]) for edge, one in moved.items())
                costs = [float(one / e**2) for one, e in given_up if isinstance(e, Fraction) and e]
                one = replace(pure, name=name, strategy=strategy, squares=moved, why=_NORMAL)
                price = factor * max(costs, default=1.0)
                found.append((price, replace(one, error=math.sqrt(factor))))
            return min(found, key=lambda pair: pair[0])[1]

        def widened(made: GaussianSums) -> Plan:
            return plan(_of_variance(normal(), made.variance))

        found = with_law(self.law, plan(pure), GaussianSums(1), widened, context)
        wide = found.mechanism.gaussian
        return (pure if wide is None else _of_variance(normal(), wide)), found

    def _check(self) -> None:
        """Errors: ParameterError for arguments that have no meaning."""
        one_of(self.outside, name="outside", words=("leave", "refuse"))
        if self.column is None and self.of != "rows":
            named = [one for one in (*_OF_SUM[:4], "max_rows") if getattr(self, one) is not None]
            if named:
                raise ParameterError(
                    f"{named[0]}= is about a column that is added up, and there is none.",
                    hint='Pass column=, or of="rows" with max_rows=, or leave it out.',
                )
        if self.outside == "refuse" and (self.column is not None or self.of == "rows"):
            raise ParameterError(
                'outside="refuse" makes totals of counts public, and these are no counts of units.',
                hint="Leave outside= out.",
            )

    def _counted(self, context: QueryContext) -> _Counted:
        """What is in each cell: units, rows of units, or sums."""
        if self.column is None and not (self.of == "rows" and context.unit is not None):
            return self._units(context)
        if self.column is None:
            rows, words = counted_rows(context, self.max_rows)
            asked = Sum("", bounds=(0, rows.high), **self.shared())
            return self._values(context, asked, rows, None, words)
        given = {name: getattr(self, name) for name in _OF_SUM}
        asked = Sum(self.column, **self.shared(**given))
        value = asked.value(context)
        if value.low < 0:
            raise ParameterError(
                f"Values of {self.column!r} may be below 0, down to {value.ends}, and a table "
                "tells of none.",
                hint="Give bounds from 0 up, or ask session.sum by groups.",
            )
        kept = most_rows(context, asked)
        return self._values(context, asked, value, kept, asked.words(context, value, kept))

    def _units(self, context: QueryContext) -> _Counted:
        if self.max_groups not in (None, 1, context.policy.covers):
            raise ParameterError(
                f"max_groups={self.max_groups}: a unit in several cells counts once in a margin, "
                "and such a table does not add up.",
                hint='Leave max_groups out, or count rows: of="rows" with max_rows=.',
            )
        groups = single_cells(context, self)
        if self.counted is not None or self.on_excess is not None:
            single = groups.query.max_groups
            excess = self.on_excess or (groups.excess if single and context.unit else None)
            most = single if context.unit else None
            groups = Grouped(**self.shared(max_groups=most, on_excess=excess)).groups(context)
        if self.outside == "refuse":
            groups = replace(groups, left_out=replace(groups.left_out, keys=()))
        by_moves = context.policy.between_values and len(groups.by) == 1
        return _Counted(
            groups,
            groups.columns(context),
            groups.counts,
            asserted(context, groups),
            None if by_moves else context.policy.shifts(groups.query),
            units=True,
        )

    def _values(
        self, context: QueryContext, asked: Sum, value: Value, most: int | None, words: str
    ) -> _Counted:
        groups = asked.groups(context)
        groups = replace(groups, left_out=replace(groups.left_out, rises=True), words=words)
        return _Counted(
            groups,
            groups.columns(context, *value.columns),
            lambda taken: moments(taken, groups, value, max_rows=most, farthest=True).total,
            valued(groups, value),
            asked.shifts(context, groups, value, most),
            value.step,
            value.high * (most or 1),
            {**value.detail, "max_rows": str(most or value.high if self.column is None else most)},
        )

    def _held(self, counted: _Counted) -> Check | None:
        """Refuses rows in no cell, where that is asked for."""
        if self.outside == "leave":
            return None

        def refuse(taken: Taken) -> None:
            groups = counted.groups
            rows = taken.rows((), where=groups.where, counted=groups.query.counted)
            every = taken.table.total(rows, unit=taken.unit)
            beside = every - int(np.sum(groups.counts(taken)))
            if beside:
                raise DataError(
                    f"{many(beside, 'row' if taken.unit is None else 'unit')} in no cell of the "
                    "table.",
                    hint='List every key, or pass outside="leave". This number is not for '
                    "publication. Nothing was drawn and nothing was recorded.",
                )

        return refuse

    def _choice(
        self, context: QueryContext, counted: _Counted, layout: Layout, epsilon: Fraction
    ) -> Choice:
        """What is measured at ε."""
        groups, cells = counted.groups, layout.full.shape[1]
        public, moves = None, Moves(cells, context.policy.edges, (), ())
        if counted.shifts is None:
            moves = moves_of_places(context.policy, groups.keys.labels(), groups.query)
            moves = moves if groups.where is None else moves.conditioned()
        elif self.outside == "refuse" and groups.where is None:
            # Whether every move leaves the number of those in some cell: it takes one to another.
            still = (Shift(rise=1, fall=1), Shift(rise=0, fall=0))
            if all(s in still for some in counted.shifts.values() for s in some):
                moves = replace(moves, whole=True)
        # Moves that are known by their shifts alone may take a unit out of every cell.
        if counted.step == counted.most == 1 and (counted.shifts is None or moves.whole):
            public = public_totals(moves, context, groups, groups.by)
        known = public is not None and public.of_all

        def shifts(strategy: Operator) -> Mapping[Edge, tuple[Shift, ...]]:
            times = _margins_of_a_cell(strategy)
            return {
                edge: tuple(Shift(rise=times * s.rise, fall=times * s.fall) for s in some)
                for edge, some in (counted.shifts or {}).items()
            }

        return choose(
            self.strategy,
            moves,
            layout.asked,
            epsilon,
            partial(layout.makers, known=known),
            public=public,
            shifts=None if counted.shifts is None else shifts,
        )


def _margins_of_a_cell(strategy: Operator) -> int:
    """What a cell adds to all sums together, of which all cells add the same."""
    first = np.zeros(1, dtype=np.int64)
    meets = strategy.meets(first, first)
    return 0 if meets is None else int(np.max(meets.plus_plus))


def _of_variance(choice: Choice, variance: Fraction) -> Choice:
    """The same, with Gaussian noise of such a σ²; its error was that of σ = 1."""
    spread = DiscreteGaussian(variance).variance()
    return replace(choice, gaussian=variance, error=choice.error * math.sqrt(spread))


class _Counted(NamedTuple):
    """What is in each cell. shifts: of all cells together, per edge; None where moves tell them.

    units: whether each unit counts once, in its cell.
    """

    groups: Groups
    columns: tuple[str, ...]
    look: Callable[[Taken], Any]
    asserts: Check | None
    shifts: Mapping[Edge, tuple[Shift, ...]] | None
    step: Fraction = Fraction(1)
    most: int = 1
    detail: Mapping[str, object] = {}
    units: bool = False


_PARENTS: Final = 'Such as hierarchy={"county": {"state": ["North", "North", "South"]}}.'
_SUMS: Final = "Each margin is the sum of its cells."
_NORMAL: Final = "discrete Gaussian noise, at what its sums move by in L2"


class Layout(NamedTuple):
    """The axes of a table with their levels, and its margins.

    names: for each axis the columns of its levels, from coarse to fine. values: for each its
    groups' names. asked: the margins that are published, from coarse to fine; full: these and all
    cells, the last.
    """

    names: tuple[tuple[str, ...], ...]
    values: tuple[tuple[list[Any], ...], ...]
    asked: Margins
    full: Margins

    @classmethod
    def of(cls, groups: Groups, hierarchy: Any, margins: Any, *, total: bool) -> Layout:
        """Errors: KeysError, ParameterError."""
        by = groups.by
        above_all = hierarchy or {}
        if isinstance(hierarchy, str):
            with suppress(ValueError):
                above_all = read_json(hierarchy)
        if not isinstance(above_all, Mapping):
            raise ParameterError(f"hierarchy={hierarchy!r} is no mapping.", hint=_PARENTS)
        if not 1 <= len(by) <= _MOST_AXES:
            raise ParameterError(
                f"A table has 1 to {_MOST_AXES} attributes, got {len(by)}.",
                hint='Such as by=["sex", "county"].',
            )
        names, values, levels = [], [], []
        for column, places in zip(by, _axes(groups), strict=True):
            above = _above(column, places, above_all.get(column) or {})
            names.append((*(name for name, _, _ in above), column))
            values.append((*(groups_of for _, groups_of, _ in above), places))
            levels.append([labels for _, _, labels in above])
        _refuse_names(by, names, above_all)
        grid = [len(one[-1]) for one in values]
        if math.prod(grid) > _MOST_NUMBERS:
            raise ParameterError(
                f"{math.prod(grid):,} cells are more than {_MOST_NUMBERS:,}.",
                hint="Use fewer or coarser keys.",
            )
        finest = tuple(len(one) + 1 for one in levels)
        table = Margins(levels, [finest], grid=grid)
        chosen = _chosen(table, names, margins)
        chosen += [table.every[0]] * (total and table.every[0] not in chosen)
        asked = table.with_margins(
            dict.fromkeys(sorted(chosen, key=lambda one: (sum(one), one)), 1)
        )
        whole = [*asked.chosen, *([] if table.every[-1] in asked.chosen else [table.every[-1]])]
        full = table.with_margins(dict.fromkeys(whole, 1))
        return cls(tuple(names), tuple(values), asked, full)

    def makers(self, *, known: bool) -> dict[str, Callable[[], Operator]]:
        """The strategies. known: the total of all cells is public, so that it needs no noise."""
        table, cells = self.full, self.full.shape[1]
        wanted = {one: 1 for one in self.full.chosen if any(one) or not known}
        found: dict[str, Callable[[], Operator]] = {"cells": lambda: Identity(cells)}
        if table.balanced:
            found["margins"] = lambda: table.with_margins(wanted)
            found["weighted margins"] = lambda: best_weights(table, self.asked, known=known)
        else:
            along = [  # of each axis all of its levels
                Margins([axis[1:-1]], [(k,) for k in range(len(axis))], grid=[axis[-1].size])
                for axis in table.levels
            ]
            found["levels"] = lambda: kron(*along)
        return found

    def name(self, one: Level) -> str:
        """A margin in words."""
        named = [self.names[axis][k - 1] for axis, k in enumerate(one) if k]
        return " × ".join(named) or "total"

    def priced(
        self, mechanism: Mechanism, choice: Choice, epsilon: Fraction
    ) -> tuple[PlanOption, ...]:
        """For each margin its predicted error, and which part of ε measures it."""
        found = mechanism.variance
        if found is None:
            return ()
        spreads = self.full.parts(found)
        weights = {one: w for one, w, _ in _measured(choice.strategy, self.full)}
        every = sum(weights.values())
        told = []
        for one, part in zip(self.full.chosen, spreads, strict=True):
            if one in self.asked.chosen:
                own = epsilon * Fraction(weights.get(one, 0), every)
                note = f"measured for ε = {rough(float(own))}" if own else "from what is measured"
                if own and choice.gaussian is not None:
                    wide = math.sqrt(choice.gaussian) / weights[one]
                    split = getattr(choice.strategy, "splits", lambda one: one[:0])(one)
                    apart = "what sets it apart " if math.prod(split) > 1 else ""
                    note = f"{apart}measured with a deviation of {rough(wide / math.prod(split))}"
                told.append(
                    PlanOption(name=self.name(one), error=math.sqrt(np.mean(part)), note=note)
                )
        return tuple(told)

    def told(self, told: Table, step: Fraction, *, proportions: bool) -> Any:
        """The table: a row for each number of each margin asked for; null is the sum over all."""
        columns: dict[str, Any] = {name: [] for axis in self.names for name in axis}
        keep = []
        parts = self.full.parts(np.arange(self.full.shape[0]))
        for one, part in zip(self.full.chosen, parts, strict=True):
            if one in self.asked.chosen:
                keep.append(part.reshape(-1))
                for axis, places in enumerate(np.indices(part.shape)):
                    self._named(columns, axis, one[axis], places.reshape(-1))
        rows = np.concatenate(keep)
        roles: dict[str, Any] = dict.fromkeys(columns, "key")
        numbers = _parts(told) if proportions else _steps(told, step)
        return RoleTable.of(
            {**columns, **{name: np.asarray(part)[rows] for name, part in numbers.items()}},
            roles=roles,
        )

    def _named(self, columns: dict[str, Any], axis: int, level: int, places: Any) -> None:
        """Writes each group's names on its own level and those above."""
        for up, name in enumerate(self.names[axis], start=1):
            if up > level:
                columns[name] += [None] * places.size
                continue
            labels, own = self.full.levels[axis][up], self.full.levels[axis][level]
            parent = np.zeros(int(own.max()) + 1, dtype=np.int64)
            parent[own] = labels
            values = self.values[axis][up - 1]
            columns[name] += [values[k] for k in parent[places].tolist()]


def _parts(told: Table) -> Table:
    """As parts of the total, the first number: within 0 and 1, and all of it where it may be 0."""
    estimate, least, most, least_sure, most_sure = told.values()
    total, low, high = estimate[0], float(least[0]), float(most[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        lower = np.nextafter(np.nan_to_num(np.clip(least / high, 0, 1)), 0)
        upper = np.clip(most / low, 0, 1) if low > 0 else np.ones(most.size)
        upper = np.where(most > 0, np.nextafter(upper, 1), 0)  # a division rounds: outwards
        estimate = estimate / total if total else np.zeros(estimate.size)
    return {
        "estimate": estimate,
        "lower": np.minimum(lower, estimate),
        "upper": np.maximum(upper, estimate),
        "lower_certain": least_sure & most_sure[0],
        "upper_certain": (most_sure & least_sure[0]) | (upper >= 1),
    }


def _steps(told: Table, step: Fraction) -> Table:
    """In the column's own unit; whole numbers of a whole step stay whole, bounds go outwards."""
    estimate = told["estimate"] * step.numerator
    return {
        **told,
        "estimate": estimate if step.denominator == 1 else estimate / step.denominator,
        "lower": _outward(told["lower"], step, -np.inf),
        "upper": _outward(told["upper"], step, np.inf),
    }


def _outward(steps: Any, step: Fraction, way: float) -> Any:
    """Bounds in the column's unit: what is no float, as one that is further out."""
    if steps.dtype.kind == "i" and step.denominator == 1:
        return steps * step.numerator
    with np.errstate(invalid="ignore"):
        told = steps * step.numerator / step.denominator
        known = (steps % step.denominator == 0) & (np.abs(steps * step.numerator) < _EXACT)
    return np.where(known, told, np.nextafter(np.nextafter(told, way), way))


def _fitted(
    layout: Layout, mechanism: Mechanism, answer: Answer, share: Fraction
) -> tuple[Table, Any]:
    """Certain bounds from what was measured, whole cells between them, and intervals.

    And the answers that nothing was fitted to.
    """
    noisy, totals = measured(answer)
    unbiased = mechanism.estimate(noisy, totals).estimate
    table, low, high = _certain(layout, mechanism, noisy, totals)
    whole = None if totals is None or totals.size > 1 else int(totals[0])
    held = whole if mechanism.public is not None and mechanism.public.of_all else None
    cells = whole_cells(
        layout.asked, layout.full.parts(unbiased)[-1].reshape(-1), low[-1].reshape(-1),
        high[-1].reshape(-1), held,
    )  # fmt: skip
    cells = kept_within(table, cells, low, high)
    estimate = layout.full.apply(cells)
    bounds = mechanism.interval(noisy, totals, confidence=share, estimate=unbiased)
    by_margin = dict(zip(table.chosen, zip(low, high, strict=True), strict=True))
    sides = ([by_margin[one][k].reshape(-1) for one in layout.full.chosen] for k in (0, 1))
    least, most = map(np.concatenate, sides)
    known = least == most
    lower_sure = known | isinstance(mechanism.upper_rate, Infinite)
    upper_sure = known | (isinstance(mechanism.lower_rate, Infinite) & np.isfinite(most))
    likely = np.minimum(np.maximum(np.ceil(bounds.lower), least), estimate)
    lower = np.where(lower_sure, least, likely)
    likely = np.maximum(np.minimum(np.floor(bounds.upper), most), estimate)
    upper = np.where(upper_sure, most, likely)
    if np.isfinite(upper).all():
        upper = upper.astype(np.int64)
    told = (estimate, lower.astype(np.int64), upper, lower_sure, upper_sure)
    return dict(zip(RESULT_COLUMNS, told, strict=False)), unbiased


def _measured(strategy: Operator, table: Margins) -> list[tuple[Level, int, IntArray]]:
    """Which margins a strategy measures, at which weights, and the places of their sums by axis."""
    rows = np.arange(strategy.shape[0])
    if isinstance(strategy, Margins) and len(strategy.grid) == len(table.grid):
        return list(zip(strategy.chosen, strategy.weights, strategy.parts(rows), strict=True))
    axes = _factors(strategy, len(table.grid))
    sizes = [n if one is None else one.shape[0] for one, n in zip(axes, table.grid, strict=True)]
    found: list[tuple[Level, int, IntArray]] = [((), 1, rows.reshape(sizes))]
    for axis, one in enumerate(axes):
        own, ends = [(len(table.levels[axis]) - 1, 1)], []
        if one is not None:
            own, ends = [(k, w) for (k,), w in zip(one.chosen, one.weights, strict=True)], one.ends
        found = [
            ((*level, k), v * w, part)
            for level, v, whole in found
            for (k, w), part in zip(own, np.split(whole, ends[:-1], axis=axis), strict=True)
        ]
    return found


def _factors(strategy: Operator, axes: int) -> list[Margins | None]:
    """The factors of a product, one for each axis; None for the places themselves."""
    if isinstance(strategy, Kron):
        return [*_factors(strategy.first, axes - 1), *_factors(strategy.second, 1)]
    return [strategy] if isinstance(strategy, Margins) else [None] * axes


def _certain(
    layout: Layout, mechanism: Mechanism, noisy: IntArray, totals: IntArray | None
) -> tuple[Margins, list[Any], list[Any]]:
    """Bounds that are never wrong: from 0 up, and of margins measured with noise on one side."""
    table, parts = layout.full, _measured(mechanism.strategy, layout.full)
    wanted = {*table.chosen, *(level for level, _, _ in parts)}
    wanted |= {table.every[0]} if totals is not None else set()
    every = table.with_margins(dict.fromkeys(sorted(wanted, key=lambda one: (sum(one), one)), 1))
    shapes = [every.groups(one) for one in every.chosen]
    low, high = [np.zeros(n) for n in shapes], [np.full(n, np.inf) for n in shapes]
    above = isinstance(mechanism.lower_rate, Infinite)
    below = isinstance(mechanism.upper_rate, Infinite)
    for one, w, rows in parts:
        place = every.chosen.index(one)
        if above:
            high[place] = np.maximum(noisy[rows] // w, 0).astype(float)
        if below:
            low[place] = np.maximum(-(-noisy[rows] // w), 0).astype(float)
    if totals is not None and mechanism.public is not None and mechanism.public.of_all:
        low[0] = high[0] = np.full(shapes[0], float(totals[0]))
    return every, *tightened(every, low, high)


def _axes(groups: Groups) -> list[list[Any]]:
    """The values of each column. Errors: KeysError unless the keys are all their combinations."""
    columns = list(zip(*groups.keys.rows, strict=True))
    values = [list(dict.fromkeys(column)) for column in columns]
    grid = [len(one) for one in values]
    due = np.indices(grid).reshape(len(grid), -1) if math.prod(grid) == len(columns[0]) else None
    codes = [{value: place for place, value in enumerate(one)} for one in values]
    told = [[code[v] for v in column] for code, column in zip(codes, columns, strict=True)]
    if due is None or not np.array_equal(due, told):
        raise KeysError(
            "The keys of a table are all combinations of its attributes' values, the last "
            "attribute's fastest.",
            hint=f"Pass keys=onesided.cross({', '.join(f'{name}=[...]' for name in groups.by)}).",
        )
    return values


def _above(column: str, places: list[Any], given: Any) -> list[tuple[str, list[Any], list[int]]]:
    """The levels above a column, from coarse to fine: names, groups, and each place's group."""
    if not isinstance(given, Mapping):
        raise ParameterError(
            f"The levels above {column!r} are a mapping from names to parents, got {given!r}.",
            hint=_PARENTS,
        )
    found = []
    for name, parents in given.items():
        if isinstance(parents, Mapping):
            missing = [one for one in places if one not in parents]
            listed = [] if missing else [parents[one] for one in places]
        else:
            listed = list(parents) if isinstance(parents, Sequence) else []
        if isinstance(parents, str) or len(listed) != len(places) or None in listed:
            raise ParameterError(
                f"{name!r} needs a parent for each of {many(len(places), 'key')} of {column!r}.",
                hint="Give them in the order of the keys, or as a mapping from keys.",
            )
        groups = list(dict.fromkeys(listed))
        code = {value: place for place, value in enumerate(groups)}
        found.append((str(name), groups, [code[one] for one in listed]))
    return sorted(found, key=lambda one: len(one[1]))


def _refuse_names(by: Sequence[str], names: Sequence[Sequence[str]], hierarchy: Any) -> None:
    every = [name for axis in names for name in axis]
    wrong = [name for name in hierarchy if name not in by]
    twice = [name for name in every if every.count(name) > 1 or name in RESULT_COLUMNS]
    if wrong or twice:
        raise ParameterError(
            f"{(wrong or twice)[0]!r} is no attribute of the table."
            if wrong
            else f"{twice[0]!r} is the name of two columns of the answer.",
            hint=f"Attributes are {', '.join(map(repr, by))}; levels have names of their own.",
        )


def _chosen(table: Margins, names: Sequence[tuple[str, ...]], margins: Any) -> list[Level]:
    """The margins that are asked for. Errors: ParameterError."""
    if margins is False:
        return [table.every[-1]]
    if margins is True or margins == "cube":
        return list(table.every)
    steps = [(axis, k) for axis, some in enumerate(names) for k in range(1, len(some) + 1)]
    if margins == "rollup":
        found, now = [(0,) * len(names)], [0] * len(names)
        for axis, k in steps:
            now[axis] = k
            found.append(tuple(now))
        return found
    places = {names[axis][k - 1]: (axis, k) for axis, k in steps}
    told = []
    for some in margins if isinstance(margins, list | tuple) else [None]:
        listed = [some] if isinstance(some, str) else some
        if not isinstance(listed, list | tuple) or any(one not in places for one in listed):
            raise ParameterError(
                f"margins={margins!r}: each is a list of {', '.join(map(repr, places))}.",
                hint='Or True for all, False for the cells alone, "rollup".',
            )
        own = [0] * len(names)
        for axis, k in (places[one] for one in listed):
            own[axis] = max(own[axis], k)
        told.append(tuple(own))
    if not told:
        raise ParameterError("No margin is asked for.", hint="Write [[]] for the total alone.")
    return list(dict.fromkeys(told))
