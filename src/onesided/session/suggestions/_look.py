"""A small charged look at the data: how large values are, or in how many groups units are."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, Literal

import narwhals as nw
import numpy as np

from onesided._numbers import INFINITE, exact, positive, text
from onesided.engine import PublicKeys
from onesided.engine.kit import LENGTH, ORDER
from onesided.errors import ParameterError
from onesided.mechanism import NoisyMaxRank
from onesided.mechanism.kit import CONFIDENCE, Move, largest_rate
from onesided.noise import IntArray, Noise
from onesided.policy import Shift
from onesided.session._context import QueryContext, Taken
from onesided.session._estimates import Estimates
from onesided.session._groups import Groups
from onesided.session._plan import Plan, priced
from onesided.session._question import Answer, PreparedQuery
from onesided.session.values._moments import own_values
from onesided.session.values._shifts import values_move
from onesided.session.values._sum import Valued
from onesided.session.values._value import Value

Sized = Literal["sums", "means", "groups"]
_SURE: Final = Fraction(19, 20)


@dataclass(frozen=True, slots=True)
class SizeLook(Valued):
    """Which public size do about so many units exceed? For :meth:`onesided.Session.suggest`.

    sized: a unit's sum or own mean in a group, or ("groups") in how many of the keys it is.
    column: the numbers; of "groups" the unit itself. above: how many are to exceed the size.
    The sizes are 1, 2, 3, 4, 6, 8, 12, ... steps up to the farther bound, or to as many groups as
    there are keys. Errors: ParameterError without a bound that lies above 0.

    >>> SizeLook("age", bounds=(0, 99), epsilon=1, above=10).sized
    'sums'
    """

    above: int = field(default=0, kw_only=True)
    sized: Sized = field(default="sums", kw_only=True)

    def measure(self, units: str) -> str:
        """What the numbers are."""
        del units
        what = "in how many groups a unit is" if self.sized == "groups" else None
        return f"Look at {what or f'how large {self.column} is'}"

    def prepare(self, context: QueryContext) -> PreparedQuery[IntArray, Estimates]:
        """Check and price the look. Looks at no row."""
        groups = self.groups(context)
        value = None if self.sized == "groups" else self.value(context)
        most = groups.keys.size if value is None else max(value.high, -value.low)
        sizes, step = _sizes(most), Fraction(1) if value is None else value.step
        plan = self._priced(context, groups, len(sizes))
        mechanism = plan.mechanism
        what = "in how many groups a unit is" if value is None else f"how large {self.column} is"

        def result(answer: Answer, entry: int | None) -> Estimates:
            place = int(np.asarray(answer["place"]).reshape(-1)[0])
            ends = [float(one * step) for one in (sizes[place], 0, sizes[-1])]
            parts = tuple(np.array([end]) for end in ends)
            nobody = PublicKeys.of((), ((),))
            told = {**groups.published(context, plan, entry), "cut": ""}
            told["_make_frame"] = lambda columns: context.table.result(columns, like=())
            return Estimates.of(
                what,
                parts,  # type: ignore[arg-type] # three of them
                (False, False),
                keys=nobody,
                confidence=CONFIDENCE,
                **told,
            )

        def draw(counts: IntArray, noise: Noise | None) -> Answer:
            return {"place": np.array([mechanism.release(counts, noise=noise)])}

        return PreparedQuery(
            detail={**groups.detail, "sizes": len(sizes), "above": self.above, "look": self.sized},
            plan=plan,
            context=context,
            columns=groups.columns(context, *(() if value is None else value.columns)),
            look=lambda taken: self._read(taken, groups, value, np.array(sizes)),
            draw=draw,
            result=result,
        )

    def _priced(self, context: QueryContext, groups: Groups, candidates: int) -> Plan:
        """What the look costs on each edge."""
        pairs = groups.by and self.sized != "groups"
        dropped = context.unit is not None and values_move(context.policy) == "dropped"
        shifts = context.policy.shifts(groups.query)
        epsilon = positive(self.epsilon, name="epsilon")
        bare = NoisyMaxRank(INFINITE, above=self.above, candidates=candidates)

        def span(shift: Shift) -> int:
            """Of one value per unit, or per unit and group; one that is dropped may change."""
            if pairs:
                # Without rows that are dropped, what goes and what comes pair up as changes.
                both = shift.rise + shift.fall if dropped else max(shift.rise, shift.fall)
                return bare.span(Shift(rise=both, fall=0))
            moved = 1 if shift.rise or shift.fall else 0
            return bare.span(Shift(rise=moved, fall=moved if dropped else 0))

        moves = [
            Move(edge, shift, epsilon * edge.weight)
            for edge, some in shifts.items()
            for shift in some
            if shift.rise or shift.fall
        ]
        rate = largest_rate(moves, span)
        mechanism = NoisyMaxRank(rate, above=self.above, candidates=candidates)
        return priced(
            context,
            mechanism,
            shifts,
            loss=lambda shift: mechanism.noise_rate * span(shift) if span(shift) else Fraction(0),
            about=groups.sentence,
            why=f"noisy maximum over {candidates} sizes",
        )

    def _read(self, taken: Taken, groups: Groups, value: Value | None, sizes: IntArray) -> IntArray:
        """How many values count as each size: the next one from them upwards. Secret."""
        found = np.zeros(sizes.size, dtype=np.int64)
        if value is None:
            pieces = [_groups_of_units(taken, groups)]
        else:
            pieces = own_values(taken, groups, value, own_mean=self.sized == "means")  # type: ignore[assignment] # pairs
        for far, counts in pieces:
            places = np.minimum(np.searchsorted(sizes, np.abs(far)), sizes.size - 1)
            np.add.at(found, places, counts)
        return found


def _groups_of_units(taken: Taken, groups: Groups) -> tuple[IntArray, IntArray]:
    """In how many of the keys units are, and how many units are in so many. Secret."""
    taken, groups = groups.inside(taken)
    if taken.unit is None:
        raise ParameterError("Each row is a unit, in one group.", hint="Leave look= out.")
    pairs = taken.table.join_keys(groups.rows(taken), groups.keys)
    each = pairs.select(taken.unit, ORDER).unique().group_by(taken.unit)
    sizes = each.agg(nw.len().alias(LENGTH)).with_columns(nw.lit(1).alias(ORDER))
    counted = sizes.group_by(LENGTH).agg(nw.col(ORDER).sum())
    found = taken.table.arrays(counted.select(LENGTH, ORDER))
    return tuple(np.asarray(found[name], dtype=np.int64) for name in (LENGTH, ORDER))  # type: ignore[return-value] # a pair


def _sizes(most: int) -> list[int]:
    """1, 2, 3, 4, 6, 8, 12, ... up to ``most``. Errors: ParameterError."""
    if most < 1:
        raise ParameterError(
            "There is no size above 0 to look for.", hint="Give wider bounds, or leave look= out."
        )
    found, power = {most}, 1
    while power < most:
        found |= {power, min(power + power // 2, most)}
        power *= 2
    return sorted(found)


def rank_to_exceed(noise: float, size: float, *, epsilon: Fraction, number: int) -> int:
    """How many units may exceed a bound so that cutting and noise grow alike, and it is found.

    Noise of ``noise`` at a bound of ``size`` grows by ``noise / size`` with each unit of the bound,
    what is cut off falls by the number of units beyond: they are equal at that number. The look
    itself misses by so many ranks; below that, it could not tell any bound from the outermost.
    """
    rate = float(epsilon) / 2
    missed = (math.log(max(number, 2)) - math.log(1 - float(_SURE))) / rate
    return math.ceil(noise / size + missed)


def look_share(given: Any) -> Fraction:
    """The part of ε that a look may take. Errors: ParameterError."""
    share = exact(given, name="look")
    if not 0 < share < 1:
        raise ParameterError(
            f"look={text(share)} must lie between 0 and 1.",
            hint='Such as look="1/20", a twentieth of ε.',
            value=given,
        )
    return share
