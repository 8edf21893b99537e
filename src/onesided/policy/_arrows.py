"""Directed, weighted arrows between values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final, TypeAlias

from onesided._numbers import INFINITE, Loss, positive
from onesided.errors import PolicyError
from onesided.policy._shift import listed_edges

Value: TypeAlias = str | int
_ONE: Final = Fraction(1)


@dataclass(frozen=True)
class Arrows:
    """Directed, weighted arrows between values: each pair at most once, and no loops.

    Errors: PolicyError for values that are not text or whole numbers, loops, repeated arrows with
    different weights, or no arrows at all.
    """

    listed: tuple[tuple[Value, Value, Fraction], ...]
    values: tuple[Value, ...]

    @classmethod
    def of(
        cls, edges: Iterable[Sequence[object]], *, directed: bool, values: Iterable[object] = ()
    ) -> Arrows:
        """From ``(source, target)`` or ``(source, target, weight)``; both ways unless directed."""
        weights: dict[tuple[Value, Value], Fraction] = {}
        shared: dict[object, Fraction] = {1: _ONE}
        for parts in listed_edges(edges, example='("home", "office")'):
            source, target, weight = _arrow(parts, shared)
            for pair in ((source, target),) if directed else ((source, target), (target, source)):
                if weights.setdefault(pair, weight) != weight:
                    raise PolicyError(
                        f"The edge {source!r} -> {target!r} is given twice with different weights.",
                        hint="Give each pair once; directed=True lets the two ways differ.",
                        edge=source,
                    )
        if not weights:
            raise PolicyError(
                "The policy has no edges, so it protects nobody.",
                hint='Add at least one, such as ("home", "office").',
            )
        mentioned = {value for pair in weights for value in pair}
        known = mentioned | {_value(value) for value in values}
        return cls(
            tuple((*pair, weights[pair]) for pair in sorted(weights, key=pair_order)),
            tuple(sorted(known, key=order)),
        )

    @cached_property
    def weights(self) -> Mapping[tuple[Value, Value], Fraction]:
        """The weight of each arrow."""
        return {(source, target): weight for source, target, weight in self.listed}

    def weight(self, source: Value, target: Value) -> Loss:
        """The weight of one arrow; INFINITE if there is none."""
        return self.weights.get((source, target), INFINITE)

    def within(self, other: Arrows) -> bool:
        """Whether each arrow is one of ``other`` with no larger weight there."""
        return all(other.weight(s, t) <= weight for s, t, weight in self.listed)

    def stored(self) -> list[list[object]]:
        """For TOML."""
        return [[source, target, str(weight)] for source, target, weight in self.listed]


def _arrow(
    parts: Sequence[object], shared: dict[object, Fraction]
) -> tuple[Value, Value, Fraction]:
    """An arrow from its parts; the weight may be left out. Equal weights become one object."""
    source, target, *rest = parts
    ends = (_value(source), _value(target))
    if ends[0] == ends[1]:
        raise PolicyError(
            f"The edge {source!r} -> {target!r} leads nowhere.",
            hint="A value passes as itself anyway.",
            edge=source,
        )
    if not rest:
        return (*ends, _ONE)
    weight = positive(rest[0], name="weight of an edge")
    return (*ends, shared.setdefault(weight, weight))


def _value(value: object) -> Value:
    if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
        return value
    raise PolicyError(
        f"A value of a graph must be text or a whole number, got {value!r}.",
        hint="Name each place or cell.",
    )


def order(value: Value) -> tuple[bool, Value]:
    return isinstance(value, str), value


def pair_order(pair: tuple[Value, Value]) -> tuple[object, object]:
    return order(pair[0]), order(pair[1])
