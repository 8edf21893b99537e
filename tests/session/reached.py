"""Which functions are reached from reading, drawing and telling an answer, by the sources alone.

A name means what its module defines or imports under it. A method means every method of that name
in a module that is imported there, so more is reached than is ever called; of ways that lead back
to preparing a question, which ends before anything is read, none is followed.
"""

import ast
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import onesided

SOURCE = Path(onesided.__file__).parent
STEPS = {"look", "draw", "result", "tell", "asserts"}
BEFORE = {"prepare", "_prepared", "plan", "for_policy", "fit", "for_shifts"}
# Called through a table of methods, a descriptor, or a field of a type that is not named there.
HIDDEN = ("_Binder.column", "Bits.words", "Engine.refuse_uncut", "Field.__get__")


@dataclass(eq=False)
class Function:
    """A function: the names and methods in it, its raise statements, and the functions inside."""

    module: str
    name: str
    line: int
    is_property: bool
    outer: "Function | None"
    names: set = field(default_factory=set)
    methods: set = field(default_factory=set)
    raises: list = field(default_factory=list)
    inner: dict = field(default_factory=dict)
    steps: list = field(default_factory=list)

    @property
    def file(self):
        return self.module.removeprefix("onesided.").replace(".", "/")


class Sources:
    """All functions of the package, and what names in a module mean."""

    def __init__(self):
        self.top, self.imports, self.all = {}, defaultdict(dict), []
        self.methods, self.bases = defaultdict(list), defaultdict(list)
        files = {self._module(path): path for path in SOURCE.rglob("*.py")}
        self._near = {}
        self.files = set(files)
        for module, path in files.items():
            self._read(module, ast.parse(path.read_text(encoding="utf-8")))
        self.below = defaultdict(list)
        for own, names in self.bases.items():
            for name in names:
                if told := self.meaning(own[0], name):
                    self.below[told[0], told[2]].append(own)

    @staticmethod
    def _module(path):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def _read(self, module, tree):
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("onesided"):
                for one in node.names:
                    self.imports[module][one.asname or one.name] = (node.module, one.name)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                self.top[module, node.name] = self._function(module, node.name, node, None)
            elif isinstance(node, ast.ClassDef):
                own = [one for one in node.body if isinstance(one, ast.FunctionDef)]
                made = {
                    one.name: self._function(module, f"{node.name}.{one.name}", one, None)
                    for one in own
                }
                self.top[module, node.name] = made
                above = (one for base in node.bases for one in ast.walk(base))
                names = [one.id for one in above if isinstance(one, ast.Name)]
                self.bases[module, node.name] = names
                for name, one in made.items():
                    self.methods[name].append(one)

    def _function(self, module, name, node, outer):
        marks = getattr(node, "decorator_list", ())
        told = any("property" in ast.unparse(one) for one in marks)
        made = Function(module, name, node.lineno, told, outer)
        self.all.append(made)
        todo = list(ast.iter_child_nodes(node))
        while todo:
            one = todo.pop()
            if isinstance(one, ast.FunctionDef):
                own = self._function(module, f"{name}.{one.name}", one, made)
                made.inner[one.name] = own
                continue
            if isinstance(one, ast.keyword) and one.arg in STEPS:
                if isinstance(one.value, ast.Lambda):
                    own = self._function(module, f"{name}.<lambda>", one.value, made)
                    made.steps.append(own)
                    continue
                made.steps.append(one.value)
            self._note(made, one)
            todo.extend(ast.iter_child_nodes(one))
        return made

    @staticmethod
    def _note(made, node):
        if isinstance(node, ast.Name):
            made.names.add(node.id)
        elif isinstance(node, ast.Attribute):
            made.methods.add((node.attr, False))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            made.methods.add((node.func.attr, True))
        elif isinstance(node, ast.Raise) and node.exc is not None:
            called = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            made.raises.append(ast.unparse(called))

    def meaning(self, module, name):
        """The function, or the methods of the class, that a name stands for; None for others."""
        for _ in range(8):
            if (module, name) in self.top:
                return module, self.top[module, name], name
            if name not in self.imports[module]:
                break
            module, name = self.imports[module][name]
        return None

    def near(self, module):
        """The modules whose classes a module names, and those above and below these."""
        if module not in self._near:
            found, todo, seen = {module}, [], set()
            todo += [(module, name) for name in self.imports[module]]
            todo += [own for own in self.top if own[0] == module]
            while todo:
                inside, name = todo.pop()
                told = self.meaning(inside, name)
                if told and (told[0], told[2]) not in seen:
                    seen.add((told[0], told[2]))
                    found.add(told[0])
                    todo += [(told[0], base) for base in self.bases[told[0], told[2]]]
                    todo += self.below[told[0], told[2]]
            self._near[module] = found
        return self._near[module]

    def named(self, function, name):
        """What a bare name in a function may call."""
        inside = function
        while inside is not None:
            if name in inside.inner:
                return [inside.inner[name]]
            inside = inside.outer
        found = self.meaning(function.module, name)
        if found is None:
            return []
        if isinstance(found[1], Function):
            return [found[1]]
        return [one for name, one in found[1].items() if name in ("__init__", "__post_init__")]

    def called(self, function):
        """What a function may call."""
        for name in function.names:
            yield from self.named(function, name)
        near = self.near(function.module)
        whole = [".".join(told) for told in self.imports[function.module].values()]
        for name, is_call in function.methods:
            for one in self.methods[name]:
                if one.module in near and name not in BEFORE and not (is_call and one.is_property):
                    yield one
            for module in whole:
                if isinstance(self.top.get((module, name)), Function):
                    yield self.top[module, name]

    def first(self):
        """The functions that questions hand on as their steps, and what takes them."""
        for function in self.all:
            inside = function.module.startswith("onesided.session")
            if function.name.endswith((".read", *HIDDEN) if inside else HIDDEN):
                yield function
            for step in function.steps if inside else ():
                yield from self._of_step(function, step)

    def _of_step(self, function, step):
        """What is handed on: a function, or what the names in an expression stand for."""
        if isinstance(step, Function):
            yield step
            return
        near = self.near(function.module)
        for node in ast.walk(step):
            if isinstance(node, ast.Name):
                for one in self.named(function, node.id):
                    yield from (one, *one.inner.values())
            elif isinstance(node, ast.Attribute):
                yield from (one for one in self.methods[node.attr] if one.module in near)

    def reached(self):
        """All functions that are reached from the steps of a question."""
        found, todo = [], list(self.first())
        known = set()
        while todo:
            one = todo.pop()
            if id(one) in known:
                continue
            known.add(id(one))
            found.append(one)
            todo.extend(self.called(one))
        return found
