"""Conditions on one row: a closed language, parsed, typed, and only then translated.

:meth:`Condition.parse` reads a text, :meth:`Condition.bind` gives it types, and
:class:`Translator` writes it in an engine's own expressions; :func:`evaluate` says in plain Python
what it means. The user's text never reaches an engine.
"""

from onesided.conditions._bind import BoundCondition, Condition, bind
from onesided.conditions._evaluate import evaluate
from onesided.conditions._parse import parse
from onesided.conditions._translate import Translator
from onesided.conditions._tree import Both, Node, Scalar, Terms, balanced, columns
from onesided.conditions._truths import ANY, Truth, apart, equals, truths, values_in

__all__ = [
    "ANY", "Both", "BoundCondition", "Condition", "Node", "Scalar", "Terms", "Translator", "Truth",
    "apart", "balanced", "bind", "columns", "equals", "evaluate", "parse", "truths", "values_in",
]  # fmt: skip
