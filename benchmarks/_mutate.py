"""Small mistakes, one at a time: where they can be made, and how to plant one.

A mutant is one function with one thing changed: a number by one, a comparison, a sign, the side of
a rate or a shift, min for max, one draw where several are due. Refusals and texts are left alone:
they change no law, and tests look at them. Where promises are reckoned (:data:`MEANT`) parts can
be left out as well: a conjunct, a factor, a divisor, a condition of a loop, all of a loop but its
first round.
"""

import __future__

import ast
import gc
import types
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import walk_packages

SWAPPED = {
    "upper_rate": "lower_rate",
    "lower_rate": "upper_rate",
    "rise": "fall",
    "fall": "rise",
    "upper": "lower",
    "lower": "upper",
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "floor": "ceil",
    "ceil": "floor",
    "any": "all",
    "all": "any",
    "sum": "max",
}
NAMES = ("min", "max", "any", "all", "sum")
COMPARED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
COUNTED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
JOINED = {ast.And: ast.Or, ast.Or: ast.And}
# Where what is promised of several releases, or of policies, is reckoned.
MEANT = (
    "onesided.accounting",
    "onesided.policy._intersection",
    "onesided.conditions._truths",
    "onesided.policy._base",
    "onesided.policy._presence",
    "onesided.policy._shift",
    "onesided.policy._guarantee",
    "onesided.session._own_mechanism",
    "onesided.session._total",
)
# What stands in the same files beside that: by the function, or by its class.
BESIDE = {
    "onesided.policy._base": ("Predicate", "Rule"),
    "onesided.policy._guarantee": ("Path", "paths_from", "path", "data_distance", "_cheapest"),
    "onesided.policy._presence": ("SensitivePresence", "sensitive_presence", "View", "view"),
    "onesided.policy._shift": (
        *("Arrows", "_arrow", "_value", "order", "pair_order", "Addition", "implied_places"),
        *("_reached", "chains", "copied", "traps", "widened_arrows", "require", "draw"),
        *("_layout", "_box", "_way", "_line", "_weight", "_border"),
    ),
    "onesided.conditions._truths": (
        *("Span", "Held", "apart", "values_in", "equals", "_disjoint", "_further", "_values"),
        *("_joined", "_common", "_between", "_of_part"),
    ),
}
# And where one release, one move or one account is priced, function by function.
PRICED = {
    "onesided.bounds._correlated": ("_scaled", "_worst"),
    "onesided.ledger._allowance": ("Allowance.limits", "Askers.spent"),
    "onesided.ledger._amounts": (
        "Amounts.left",
        "Amounts.over",
        "Amounts.times",
        "Amounts.used",
        "_by_law",
        "_share",
        "_added",
        "read_charge",
        "settle",
    ),
    "onesided.ledger._calendar": (
        "Calendar.share",
        "Cells.require",
        "Cells._moved",
        "_end",
        "promised",
    ),
    "onesided.linear._moves": (
        "_Laid.of_points",
        "listed_moves",
        "placed_moves",
        "sensitivity",
        "strategy_shifts",
    ),
    "onesided.mechanism._certify": (
        "AdaptiveSparseVector.coarse_rate",
        "AdaptiveSparseVector.fit",
        "TruncatedCounts.delta",
        "TruncatedCounts.fit",
        "TruncatedCounts.loss",
        "_delta",
        "_least_width",
        "_safe",
    ),
    "onesided.mechanism._cube": ("CubeCounts.loss",),
    "onesided.mechanism._fit": (
        "Directed.loss",
        "Fitted._largest",
        "Fitted.fit",
        "Fitted.for_policy",
        "TwoRates.fit",
        "TwoRates.loss",
        "count_moves",
        "largest_rate",
        "moves_over",
        "paid_loss",
        "part_of",
        "rates_over",
    ),
    "onesided.mechanism._linear": ("Linear.for_policy", "Linear.loss", "Linear.losses"),
    "onesided.mechanism._quantiles": (
        "Cumulative._added",
        "Cumulative.loss",
        "NoisyMaxQuantile.loss",
        "NoisyMaxQuantile.span",
        "NoisyMaxRank.loss",
        "NoisyMaxRank.span",
        "SeveralQuantiles._rate",
        "SeveralQuantiles.level_rate",
        "SeveralQuantiles.loss",
    ),
    "onesided.mechanism._sampling": (
        "RecordSample.loss",
        "Subsampled._arriving",
        "Subsampled._leaving",
        "Subsampled.delta",
        "Subsampled.fit",
        "Subsampled.loss",
        "_after",
        "_grown",
        "_share_up",
    ),
    "onesided.mechanism._selection": ("TopK.loss", "UnknownKeys.loss"),
    "onesided.mechanism.histograms._dawa": (
        "Dawa.fit",
        "Dawa.learn_loss",
        "Dawa.loss",
        "Dawa.measure_loss",
        "Hierarchical.learn_loss",
        "_both_ways_rate",
        "least_rate",
    ),
    "onesided.mechanism.histograms._grids": ("UniformGrid.fit", "UniformGrid.learn_loss"),
    "onesided.mechanism.histograms._open_shape": (
        "OpenShape._loss",
        "OpenShape.for_policy",
        "OpenShape.loss",
        "OpenShape.losses",
        "_further",
        "_less",
    ),
    "onesided.mechanism.histograms._split": (
        "Demands.lower",
        "Demands.most_upper",
        "Demands.open_lower",
        "Demands.records",
        "Parts.shifts",
        "SplitHistogram.loss",
        "SplitHistogram.losses",
        "_least",
    ),
    "onesided.mechanism.histograms._two_phase": (
        "TwoPhase.loss",
        "Zeroed.loss",
        "Zeroed.losses",
        "Zeros.for_policy",
        "together",
    ),
    "onesided.mechanism.law": (
        "ALap.fit",
        "StairSums.loss",
        "Staircase.fit",
        "Staircase.loss",
        "Staircase.upper",
        "shared",
    ),
    "onesided.mechanism.local._channel": ("Channel.odds",),
    "onesided.mechanism.local._randomiser": ("Randomiser.loss", "Randomiser.losses"),
    "onesided.mechanism.local._response": ("RandomisedResponse.odds", "UnaryResponse.odds"),
    "onesided.mechanism.local._shuffled": ("ShuffledCounts.lone_loss",),
    "onesided.policy._attributes": ("Attributes.shifts",),
    "onesided.policy._base": ("Policy.moves", "Policy.one_value_shifts"),
    "onesided.policy._kinds": ("KindPolicy._truths", "KindPolicy.shifts"),
    "onesided.policy._neighbourhood": ("Graph.shifts", "Neighbourhood.moves_along"),
    "onesided.policy._presence": ("View.decides", "View.shifts"),
    "onesided.session._count": ("short_share",),
    "onesided.session._plan": ("priced",),
    "onesided.session.several._several": ("_added",),
    "onesided.session._suggest": ("SizeLook._priced",),
    "onesided.session.values._noisy_max": ("_apart", "_shared", "_span"),
    "onesided.session.values._shifts": (
        "Moved.along",
        "Moved.of",
        "_extreme",
        "_together",
        "_weighted",
        "value_shifts",
    ),
    "onesided.session.values._sum": ("Sum.shifts", "SumNoise.for_shifts", "_moved"),
    "onesided.session.workloads._cells": ("_Laid._on_globe", "_Laid.of_graph", "_Laid.of_points"),
    "onesided.session.workloads._ranges": ("RangeQuery.prepare",),
}
DRAWS = ("geometric", "two_sided", "bernoulli", "bernoulli_exp", "uniform")
TEXT = ("__repr__", "__str__", "_repr_html_", "__reduce__")
TOLD = ("str", "NoReturn", "NoiseError", "ParameterError", "PolicyError", "UnprotectableError")


class Sites(ast.NodeTransformer):
    """Counts the places of a function that can be changed, and changes the one asked for."""

    def __init__(self, wanted=-1, *, meant=False):
        self.wanted, self.found, self.meant = wanted, [], meant

    def _hit(self, node, what):
        self.found.append((node.lineno, what))
        return len(self.found) - 1 == self.wanted

    def visit_FunctionDef(self, node):
        node.body = [self.visit(part) for part in node.body]
        return node

    def visit_Raise(self, node):
        return node

    def visit_If(self, node):
        if all(isinstance(part, ast.Raise) for part in node.body):
            node.orelse = [self.visit(part) for part in node.orelse]
            return node
        return self.generic_visit(node)

    def visit_Expr(self, node):
        return node if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_AnnAssign(self, node):
        node.value = node.value and self.visit(node.value)
        return node

    def visit_JoinedStr(self, node):
        return node

    def visit_Constant(self, node):
        if type(node.value) is int and self._hit(node, f"{node.value} -> {node.value + 1}"):
            return ast.copy_location(ast.Constant(node.value + 1), node)
        return node

    def visit_Compare(self, node):
        self.generic_visit(node)
        for place, one in enumerate(node.ops):
            self._other(node, COMPARED, one, lambda new, at=place: node.ops.__setitem__(at, new))
        return node

    def visit_BinOp(self, node):
        self.generic_visit(node)
        self._other(node, COUNTED, node.op, lambda new: setattr(node, "op", new))
        if self.meant and isinstance(node, ast.BinOp):
            sides = {ast.Mult: ("left", "right"), ast.Div: ("left",)}.get(type(node.op), ())
            for side in sides:
                if self._hit(node, f"{side} side alone"):
                    return getattr(node, side)
        return node

    visit_AugAssign = visit_BinOp  # noqa: N815 - named by ast

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        self._other(node, JOINED, node.op, lambda new: setattr(node, "op", new))
        for place in range(len(node.values) if self.meant else 0):
            if self._hit(node, f"without part {place + 1}"):
                rest = [part for at, part in enumerate(node.values) if at != place]
                return rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
        return node

    def visit_comprehension(self, node):
        self.generic_visit(node)
        for place in range(len(node.ifs) if self.meant else 0):
            if self._hit(node.ifs[place], "the condition dropped"):
                node.ifs = [one for at, one in enumerate(node.ifs) if at != place]
        return self._first_round(node)

    def visit_For(self, node):
        self.generic_visit(node)
        return self._first_round(node)

    def _first_round(self, node):
        if self.meant and self._hit(node.iter, "the first round alone"):
            listed = ast.Call(ast.Name("list", ast.Load()), [node.iter], [])
            node.iter = ast.copy_location(
                ast.Subscript(listed, ast.Slice(upper=ast.Constant(1)), ast.Load()), node.iter
            )
        return node

    def _other(self, node, table, old, put):
        new = table.get(type(old))
        if new and self._hit(node, f"{type(old).__name__} -> {new.__name__}"):
            put(new())

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        signed = isinstance(node.op, ast.USub | ast.Not | ast.Invert)
        return node.operand if signed and self._hit(node, "sign or not, dropped") else node

    def visit_Call(self, node):
        if isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass"):
            node.args[0] = self.visit(node.args[0])
            return node
        self.generic_visit(node)
        drawn = isinstance(node.func, ast.Attribute) and node.func.attr in DRAWS
        drawn = drawn and not (node.args and getattr(node.args[-1], "value", None) == 1)
        if drawn and len(node.args) > 1 and self._hit(node, "one draw for all"):
            node.args[-1] = ast.copy_location(ast.Constant(1), node.args[-1])
        return node

    def visit_Attribute(self, node):
        self.generic_visit(node)
        other = SWAPPED.get(node.attr) if isinstance(node.ctx, ast.Load) else None
        if other and self._hit(node, f"{node.attr} -> {other}"):
            node.attr = other
        return node

    def visit_Name(self, node):
        if node.id in NAMES and self._hit(node, f"{node.id} -> {SWAPPED[node.id]}"):
            node.id = SWAPPED[node.id]
        return node


@dataclass(frozen=True)
class Mutant:
    """One function, one thing changed. ``name`` says which, whatever its line's number is."""

    module: str
    function: str
    site: int
    name: str
    meant: bool = False

    def planted(self):
        """The changed code in the place of the right one, for the rest of this process."""
        source = source_of(self.module)
        tree = ast.parse(source)
        node = dict(functions(tree))[self.function]
        Sites(self.site, meant=self.meant).visit(node)
        new = codes(compiled(tree, self.module))
        code = next(c for c in new if c.co_qualname == self.function)
        holders = [
            one
            for one in gc.get_objects()
            if isinstance(one, types.FunctionType)
            and one.__module__ == self.module
            and one.__code__.co_qualname == self.function
        ]
        for holder in holders:
            holder.__code__ = code
        if not holders:
            raise LookupError(self.name)


def compiled(tree: ast.AST, module: str) -> types.CodeType:
    """The tree of a module, changed."""
    ast.fix_missing_locations(tree)
    flags = __future__.annotations.compiler_flag
    return compile(tree, path_of(module), "exec", flags, dont_inherit=True)


def functions(tree: ast.AST, within: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """The outermost functions and the methods of a module's tree, by qualified name."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from functions(node, f"{within}{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            yield f"{within}{node.name}", node


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """This and every code inside."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from codes(inner)


def modules(packages: tuple[str, ...]) -> list[str]:
    """The modules of these packages, and those of them that are modules themselves."""
    found = set()
    for package in packages:
        path = getattr(import_module(package), "__path__", None)
        found |= {one.name for one in walk_packages(path or [], f"{package}.")} or {package}
    return sorted(found)


@cache
def path_of(module: str) -> str:
    return find_spec(module).origin


@cache
def source_of(module: str) -> str:
    return Path(path_of(module)).read_text(encoding="utf-8")


def mutants_of(module: str, *, meant: bool = False) -> Iterator[Mutant]:
    """Every mutant of a module; one name for one place: equal ones are numbered.

    meant: with those that leave a part out.
    """
    lines = source_of(module).splitlines()
    for function, node in functions(ast.parse("\n".join(lines))):
        told = isinstance(node.returns, ast.Name) and node.returns.id in TOLD
        if told or node.name in TEXT:
            continue
        sites, seen = Sites(meant=meant), Counter()
        sites.visit(node)
        for site, (line, what) in enumerate(sites.found):
            name = f"{module}.{function} | {lines[line - 1].strip()} | {what}"
            seen[name] += 1
            name += f" #{seen[name]}" * (seen[name] > 1)
            yield Mutant(module, function, site, name, meant)


def promises() -> Iterator[Mutant]:
    """Every mutant, by meaning, of what prices, totals, relaxes, composes or converts."""
    for module in modules(MEANT):
        beside = BESIDE.get(module, ())
        told = mutants_of(module, meant=True)
        yield from (one for one in told if one.function.split(".")[0] not in beside)
    for module, priced in PRICED.items():
        found = dict(functions(ast.parse(source_of(module))))
        if missing := sorted({*priced} - {*found}):
            raise LookupError(f"{module} has no {', '.join(missing)}")
        yield from (one for one in mutants_of(module, meant=True) if one.function in priced)


RUN: set[tuple[str, str]] = set()
"""Which of the watched functions ran, until somebody clears it."""


class Told(ast.NodeTransformer):
    """Has a function, and all inside, say in :data:`RUN` that it runs."""

    def __init__(self, named):
        self.call = f"__ran__({named!r})"

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        node.body.insert(ast.get_docstring(node) is not None, ast.parse(self.call).body[0])
        return node

    def visit_Lambda(self, node):
        self.generic_visit(node)
        both = ast.Tuple([ast.parse(self.call, mode="eval").body, node.body], ast.Load())
        node.body = ast.Subscript(both, ast.Constant(1), ast.Load())
        return node


@contextmanager
def watched(wanted: set[tuple[str, str]]) -> Iterator[None]:
    """While open, each ``(module, outermost function)`` is noted in :data:`RUN` when it runs."""
    told = {}
    for module in {module for module, _ in wanted}:
        tree = ast.parse(source_of(module))
        for name, node in functions(tree):
            if (module, name) in wanted:
                Told((module, name)).visit(node)
        vars(import_module(module))["__ran__"] = RUN.add
        told |= {(module, code.co_qualname): code for code in codes(compiled(tree, module))}
    before = [
        (one, one.__code__)
        for one in gc.get_objects()
        if isinstance(one, types.FunctionType)
        and (one.__module__, one.__code__.co_qualname) in wanted
    ]
    for one, code in before:
        one.__code__ = told[one.__module__, code.co_qualname]
    yield
    for one, code in before:
        one.__code__ = code
