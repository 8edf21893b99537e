"""How many small mistakes in the shipped code does ``onesided verify`` see?

    python benchmarks/mutants.py                     200 mutants, the same for the same --seed
    python benchmarks/mutants.py --sample 0          all of them, which takes hours
    python benchmarks/mutants.py --sample 20         the short form
    python benchmarks/mutants.py --only _rates       those of modules with this text in their name

A mutant is one function with one thing changed: a number by one, a comparison, a sign, the side of
a rate or a shift, min for max. The functions that a line of the catalogue runs are found once;
for each mutant those lines, and those certificates, are made and run anew. It lives if all of
them are still right. Lives are listed; those in KNOWN come with the reason why nothing changes.
"""

from __future__ import annotations
import __future__

import argparse
import ast
import copy
import importlib
import inspect
import json
import pkgutil
import random
import signal
import sys
import textwrap
import time
from collections import defaultdict
from pathlib import Path

from onesided import errors
from onesided.verify import _own, cases
from onesided.verify._certified import certificates
from onesided.verify._distribution import Settings
from onesided.verify._exact import Task, _data_sets, _distinct_moves

KNOWN = Path(__file__).with_suffix(".json")
PACKAGES = ("onesided.mechanism", "onesided.policy", "onesided.session.values", "onesided.noise")
EXTRA = ("onesided.session._plan",)
SKIPPED = ("_explain", "_picture", "_schema", "_toml", "_compare", "_checked", "_closure")
SECONDS = 20
OWN = ("_laws", "_draws", "_floats", "_repeats", "_audits")
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
}
COMPARED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
COUNTED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
}


class TooSlow(BaseException):
    """A mutant that does not end is seen."""


def functions():
    """``(owner, name, function)`` of every function of the listed modules."""
    for name in sorted({*modules(), *EXTRA}):
        module = importlib.import_module(name)
        for key, value in sorted(vars(module).items()):
            if getattr(value, "__module__", None) != name:
                continue
            if inspect.isfunction(value):
                yield module, key, value
            elif inspect.isclass(value):
                yield from methods(value)


def modules():
    """The names of the modules that are looked at."""
    for package in PACKAGES:
        path = importlib.import_module(package).__path__
        for found in pkgutil.walk_packages(path, f"{package}."):
            if found.name.rpartition(".")[2] not in SKIPPED:
                yield found.name


def methods(kind):
    """A class's own functions, also behind properties and class methods."""
    for name, member in vars(kind).items():
        plain = getattr(member, "__func__", getattr(member, "fget", member))
        if inspect.isfunction(plain) and plain.__module__ == kind.__module__:
            yield kind, name, plain


class Sites(ast.NodeTransformer):
    """Counts the places that can be changed, and changes the one that is asked for."""

    def __init__(self, wanted=-1):
        self.wanted, self.seen, self.what = wanted, -1, ""

    def _hit(self, what):
        self.seen += 1
        if self.seen == self.wanted:
            self.what = what
        return self.seen == self.wanted

    def visit_Raise(self, node):  # noqa: D102 - named by ast
        return node

    def visit_arguments(self, node):  # noqa: D102 - named by ast
        return node

    def visit_Expr(self, node):  # noqa: D102 - named by ast
        return node if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_JoinedStr(self, node):  # noqa: D102 - named by ast
        return node

    def visit_Constant(self, node):  # noqa: D102 - named by ast
        if type(node.value) is int and self._hit(f"{node.value} -> {node.value + 1}"):
            return ast.copy_location(ast.Constant(node.value + 1), node)
        return node

    def visit_Compare(self, node):  # noqa: D102 - named by ast
        self.generic_visit(node)
        other = COMPARED.get(type(node.ops[0]))
        if other and self._hit(f"{type(node.ops[0]).__name__} -> {other.__name__}"):
            node.ops[0] = other()
        return node

    def visit_BinOp(self, node):  # noqa: D102 - named by ast
        self.generic_visit(node)
        other = COUNTED.get(type(node.op))
        if other and self._hit(f"{type(node.op).__name__} -> {other.__name__}"):
            node.op = other()
        return node

    def visit_UnaryOp(self, node):  # noqa: D102 - named by ast
        self.generic_visit(node)
        signed = isinstance(node.op, ast.USub | ast.Not | ast.Invert)
        return node.operand if signed and self._hit("sign or not, dropped") else node

    def visit_Attribute(self, node):  # noqa: D102 - named by ast
        self.generic_visit(node)
        other = SWAPPED.get(node.attr)
        if other and self._hit(f"{node.attr} -> {other}"):
            node.attr = other
        return node

    def visit_Name(self, node):  # noqa: D102 - named by ast
        other = SWAPPED.get(node.id) if isinstance(node.ctx, ast.Load) else None
        if other in ("min", "max", "any", "all") and self._hit(f"{node.id} -> {other}"):
            node.id = other
        return node


def parsed(function):
    """The function's tree without its decorators, or None if it cannot be made anew."""
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except OSError:
        return None  # made by dataclass
    if "super()" in text or "__class__" in text or "nonlocal" in text:
        return None
    tree = ast.parse(text)
    if not isinstance(tree.body[0], ast.FunctionDef) or function.__closure__:
        return None
    tree.body[0].decorator_list = []
    tree.body[0].name = function.__name__
    return tree


def mutants(found):
    """``(owner, name, function, number of the site)`` for every site."""
    for owner, name, function in found:
        tree = parsed(function)
        if tree is None:
            continue
        sites = Sites()
        sites.visit(copy.deepcopy(tree))
        yield from ((owner, name, function, site) for site in range(sites.seen + 1))


class Planted:
    """While open, the mutated function stands everywhere that the right one did."""

    def __init__(self, owner, name, function, site):
        tree = parsed(function)
        change = Sites(site)
        tree = ast.fix_missing_locations(change.visit(tree))
        flags = __future__.annotations.compiler_flag
        held = {}
        code = compile(tree, "<mutant>", "exec", flags, dont_inherit=True)
        exec(code, function.__globals__, held)  # noqa: S102 - our own code, one thing changed
        made = held[function.__name__]
        made.__kwdefaults__, made.__defaults__ = function.__kwdefaults__, function.__defaults__
        self.what, self._undo = change.what, []
        own = vars(owner)[name] if inspect.isclass(owner) else function
        kind = type(own)
        new = made if inspect.isfunction(own) else kind(made)
        if inspect.isclass(owner):
            self._places = [(owner, name, own, new)]
        else:
            self._places = [
                (module, key, function, made)
                for module in list(sys.modules.values())
                if getattr(module, "__name__", "").startswith("onesided")
                for key, value in list(vars(module).items())
                if value is function
            ]

    def __enter__(self):
        for place, name, _, new in self._places:
            type.__setattr__(place, name, new) if inspect.isclass(place) else setattr(
                place, name, new
            )
        return self

    def __exit__(self, *_):
        for place, name, old, _ in self._places:
            type.__setattr__(place, name, old) if inspect.isclass(place) else setattr(
                place, name, old
            )


def lines():
    """Every line of our own, made anew."""
    for module in pkgutil.iter_modules(cases.__path__):
        yield from importlib.import_module(f"{cases.__name__}.{module.name}").cases()


def touched():
    """For each code object, which lines and certificates run it."""
    users = defaultdict(set)
    now = set()

    def look(frame, event, _):
        if event == "call":
            now.add(frame.f_code)

    def drained(key):
        for code in now:
            users[code].add(key)
        now.clear()

    sys.setprofile(look)
    for place, line in enumerate(lines()):
        sys.setprofile(None)
        try:
            task = Task(line.program, line.universe, line.query, Settings(tail=1e-4, sealed=False))
            sets = list(_data_sets(_distinct_moves(task, line.policy)).values())
            sys.setprofile(look)
            for data in sets[:: max(1, len(sets) // 4)]:
                task.how.walk(task.bound(data)).probe(6, seed=0)
        except errors.OnesidedError:
            pass
        sys.setprofile(None)
        drained(("line", place))
        sys.setprofile(look)
    sys.setprofile(None)
    sys.setprofile(look)
    for place, one in enumerate(certificates()):
        one.fault()
        sys.setprofile(None)
        drained(("certificate", place))
        sys.setprofile(look)
    for name in OWN:
        list(getattr(_own, name)())
        sys.setprofile(None)
        drained(("own", name))
        sys.setprofile(look)
    sys.setprofile(None)
    return users


def seen(keys, cost):
    """The first line, certificate or check that notices, or nothing."""
    wanted = {
        kind: {place for k, place in keys if k == kind} for kind in ("line", "certificate", "own")
    }
    for place, one in enumerate(certificates()):
        if place in wanted["certificate"] and (not one.fault()) != one.sound:
            return f"certificate {one.name}"
    for name in wanted["own"]:
        if not all(check.right for check in getattr(_own, name)()):
            return f"check {name}"
    chosen = [
        (cost[place], place, line) for place, line in enumerate(lines()) if place in wanted["line"]
    ]
    for _, _, line in sorted(chosen, key=lambda one: one[:2]):
        if not line.run().right:
            return f"line {line.title}"
    return ""


def killed(mutant, keys, cost):
    """By what, or nothing; errors of any kind and runs without an end are seen too."""

    def late(*_):
        raise TooSlow

    signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        with Planted(*mutant) as planted:
            try:
                return planted.what, seen(keys, cost)
            except TooSlow:
                return planted.what, ""  # not seen in time: lives, unless looked at by hand
            except Exception as error:  # noqa: BLE001 - whatever it is, the command would fail
                return planted.what, f"error {type(error).__name__}"
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=200, help="how many; 0 for all of them")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--strict", action="store_true", help="fail if an unknown one lives")
    parser.add_argument("--only", default="", help="modules whose name has this text")
    asked = parser.parse_args()
    users = touched()
    found = [one for one in mutants(functions()) if users.get(one[2].__code__)]
    found = [one for one in found if asked.only in one[2].__module__]
    total = len(found)
    if asked.sample and asked.sample < total:
        found = random.Random(asked.seed).sample(found, asked.sample)
    print(f"{total} mutants of {len({one[2] for one in found})} functions; {len(found)} are run")
    cost = {place: line.tail and len(repr(line.universe)) for place, line in enumerate(lines())}
    known = json.loads(KNOWN.read_text()) if KNOWN.exists() else {}
    living, start = [], time.time()
    for number, mutant in enumerate(found, start=1):
        _, _, function, site = mutant
        what, by = killed(mutant, users[function.__code__], cost)
        name = f"{function.__module__}.{function.__qualname__} [{site}] {what}"
        print(f"{number}/{len(found)} {name}: {by or 'LIVES'}", flush=True)
        if not by:
            living.append(name)
    new = [name for name in living if name not in known]
    print(f"\n{len(found) - len(living)} of {len(found)} are seen, in {time.time() - start:.0f} s.")
    for name in living:
        print(f"lives: {name}: {known.get(name, 'no reason is known')}")
    return int(bool(new) and asked.strict)


if __name__ == "__main__":
    sys.exit(main())
