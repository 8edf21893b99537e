"""Conditions on rows, translated to the engine's own expressions: true, false or unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import narwhals as nw

from onesided.conditions import Both, Condition, Node, Translator
from onesided.engine._protocol import Words
from onesided.errors import DataError
from onesided.policy import Predicate, Rule
from onesided.schema import Type

Lazy: TypeAlias = nw.LazyFrame[Any]


class Conditions:
    """Conditions on the rows of one snapshot, in the words of its engine.

    words: of the snapshot in its engine. names: what the columns that conditions name are called
    there. refused: columns that may not be used, with what they hold.
    Errors of all: UnknownColumnError; DataError for a column of a type that conditions cannot look
    at; ConditionError for mixtures of types.
    """

    def __init__(self, words: Words, names: Mapping[str, str], refused: Mapping[str, str]) -> None:
        self._words, self._refused, self._names = words, refused, names
        self._translator: Translator[Any] = Translator(_Named(words.terms, names))

    def with_values(self, predicate: Predicate, name: str) -> Lazy:
        """Add a column: true, false or null."""
        return self._added(self._translator.three_valued(self._tree(predicate)), name)

    def with_not_false(self, predicate: Predicate, name: str) -> Lazy:
        """Add a column: true where the condition is true or unknown, else false."""
        return self._added(self._translator.not_false(self._tree(predicate)), name)

    def where(self, predicate: Predicate) -> Lazy:
        """The rows for which the condition is true."""
        return self._filtered(self._translator.where(self._tree(predicate)))

    def where_not_false(self, predicate: Predicate) -> Lazy:
        """The rows for which the condition is true or unknown."""
        return self._filtered(self._translator.not_false(self._tree(predicate)))

    def of_kinds(self, rules: Sequence[Rule], default: str, counted: frozenset[str]) -> Lazy:
        """The rows of some kinds: the first rule all of whose conditions hold, or are unknown."""
        trees = []
        for rule in rules:
            parts = tuple(map(self._tree, rule.predicates))
            tree = parts[0] if len(parts) == 1 else Both(op="AND", members=parts)
            trees.append((tree, rule.kind in counted))
        return self._filtered(self._translator.kept(trees, default=default in counted))

    def _tree(self, predicate: Predicate) -> Node:
        condition = predicate.readable()
        held = {name: self._words.held[place] for name, place in self._names.items()}
        types = {name: self._words.types[place] for name, place in self._names.items()}
        return _typed(condition, {**held, **self._refused}, types)

    def _added(self, made: Any, name: str) -> Lazy:
        return nw.from_native(self._words.add(made, name))  # type: ignore[no-any-return]

    def _filtered(self, made: Any) -> Lazy:
        return nw.from_native(self._words.keep(made))  # type: ignore[no-any-return]


def _typed(
    condition: Condition, natives: Mapping[str, str], types: Mapping[str, Type | None]
) -> Node:
    """The condition with types. Errors: as :class:`Conditions`."""
    for column in condition.columns:
        if column in natives and types.get(column) is None:
            raise DataError(
                f"The condition {condition.text!r} looks into {column}, which holds "
                f"{natives[column]}.",
                hint="Conditions look at text, booleans, numbers, dates and moments. Put the "
                "value into a column of its own, of such a type.",
                column=column,
            )
    return condition.bind({name: kind for name, kind in types.items() if kind}).tree


class _Named:
    """Words of an engine, asked by the names that people use."""

    def __init__(self, terms: Any, names: Mapping[str, str]) -> None:
        self._terms, self._names = terms, names

    def column(self, name: str, kind: Type) -> Any:
        return self._terms.column(self._names[name], kind)

    def __getattr__(self, operation: str) -> Any:
        return getattr(self._terms, operation)
