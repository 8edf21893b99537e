"""What a mechanism of one's own is: a frozen dataclass of plain fields, in one file.

A closed definition: what does not fit is refused, so that a hash of the file and of the fields says
which mechanism it is. It guards against mistakes, such as a record that is about another version of
the file. It does not guard against the author of the file, whom no check of this kind can.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from importlib.util import find_spec
from inspect import getattr_static
from pathlib import Path
from types import CodeType, FunctionType, MappingProxyType, MemberDescriptorType
from typing import Any, Final, TypeAlias

import numpy as np

from onesided._english import many
from onesided._numbers import Infinite, shown
from onesided.errors import ParameterError
from onesided.policy import Edge, GroupCount, Policy, Shift

_PLAIN: Final = (
    *(type(None), bool, int, float, complex, str, bytes, Fraction, Decimal, date, timedelta),
    Infinite,
)
_OURS: Final = ("onesided", "numpy")
# Where installers put packages: of Python itself, of a user, of Debian.
_PACKAGES: Final = frozenset(["site-packages", "dist-packages"])
_WAY: Final = (
    "Write it as a frozen dataclass of numbers, text, arrays or such dataclasses, or as a function "
    "without a closure, at the top of a file that imports only installed packages."
)


def source_of(mechanism: object) -> str:
    """The hash of a mechanism: the text of its file, its name there, and its fields.

    A frozen dataclass, or a function of ``(data, noise)``, at the top of one file that can be
    imported. Fields hold numbers, text, dates, policies, arrays, tuples, lists and mappings of
    these, and other such dataclasses; what a file of its own imports is installed.
    Errors: ParameterError for what is no such mechanism.

    >>> from onesided.mechanism import Counts
    >>> one, other = Counts(1, 1), Counts(2, 1)
    >>> source_of(one) == source_of(Counts(1, 1)), source_of(one) == source_of(other)
    (True, False)
    """
    try:
        parts = "\n".join(_told(mechanism))
    except RecursionError:
        raise _unfit(mechanism, "holds values too many levels deep") from None
    return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()


def _told(value: Any) -> Iterator[str]:
    """What a value is, as lines of text that differ where values do."""
    kind = type(value)
    if kind in _PLAIN:
        yield f"{kind.__qualname__} {value!r}"
    elif isinstance(value, Policy):
        yield f"policy {value.to_toml()}"
    elif (kind is np.ndarray or isinstance(value, np.generic)) and not value.dtype.hasobject:
        yield f"array {value.dtype.descr} {value.shape} {np.asarray(value).tobytes().hex()}"
    elif kind in (tuple, list, dict, MappingProxyType):
        held = list(value.items()) if isinstance(value, Mapping) else value
        yield f"{kind.__qualname__} {len(held)}"
        for one in held:
            yield from _told(one)
    elif isinstance(value, FunctionType):
        if value.__closure__ or value.__kwdefaults__ or vars(value):
            raise _unfit(value, "is a function that holds more than its text")
        yield _place(value, value)
        yield from _told(value.__defaults__)
    elif is_dataclass(kind) and not isinstance(value, type):
        for base in kind.__mro__:
            if base is kind or base.__module__.partition(".")[0] in _OURS:
                yield _place(base, value)
        for name in _names(value):
            yield name
            yield from _told(getattr(value, name))
    else:
        raise _unfit(value, "is no frozen dataclass, and no plain value")


def _names(value: Any) -> list[str]:
    """The fields of a frozen dataclass. Errors: ParameterError if it holds anything else."""
    kind: Any = type(value)
    names = [one.name for one in fields(value)]
    held = [*getattr(value, "__dict__", ())]
    more = [
        name
        for name in held
        if name not in names and not isinstance(getattr_static(kind, name, None), cached_property)
    ]
    if not kind.__dataclass_params__.frozen or more:
        raise _unfit(value, f"holds {more[0]}, no field" if more else "is not frozen")
    return names


def _place(code: Any, value: object) -> str:
    """The name of a class or function, and the hash of the file that it stands in."""
    module, name = sys.modules.get(code.__module__), code.__qualname__
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    file = getattr(module, "__file__", None)
    if found is not code or file is None or Path(file).suffix != ".py":
        raise _unfit(value, "does not stand at the top of a file that can be imported")
    text = Path(file).read_bytes()
    if code.__module__.partition(".")[0] not in _OURS:
        _refuse_others(text, value)
        _refuse_older(text, vars(module), code, value)
    return f"{name} {hashlib.sha256(text).hexdigest()}"


def _refuse_others(text: bytes, value: object) -> None:
    """Refuse a file that imports others that are not installed. Errors: ParameterError."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.level:
            raise _unfit(value, "is in a file that imports from its own package")
        named = [node.module] if isinstance(node, ast.ImportFrom) else []
        named += [one.name for one in node.names] if isinstance(node, ast.Import) else []
        for name in named:
            if not _is_installed(str(name).partition(".")[0]):
                raise _unfit(value, f"is in a file that imports {name}, which is not installed")


@lru_cache(maxsize=256)
def _is_installed(package: str) -> bool:
    if package in _OURS or package in sys.stdlib_module_names:
        return True
    try:
        found = find_spec(package)
    except ValueError:  # a module that was made by hand
        return False
    origin = None if found is None else found.origin
    return origin is not None and not _PACKAGES.isdisjoint(Path(origin).parts)


def _refuse_older(text: bytes, loaded: Mapping[str, Any], code: Any, value: object) -> None:
    """Refuse what was loaded before its file was changed. Errors: ParameterError.

    Compared are the functions of the file that the code reaches, however they are wrapped, and
    what the file writes out as the value of a name there.
    """
    file = str(loaded["__file__"])
    written = set(_codes(compile(text, file, "exec", dont_inherit=True)))
    codes = set(_loaded(code, loaded, set()))
    names = {name for one in codes for name in one.co_names}
    body = [
        one
        for one in ast.parse(text).body
        if not isinstance(one, ast.ClassDef) or one.name in names | {code.__qualname__}
    ]
    if not codes <= written or not _as_written(body, loaded, names):
        raise _unfit(value, f"is not what {Path(file).name} says now")


def _loaded(held: Any, module: Mapping[str, Any], seen: set[int]) -> Iterator[CodeType]:
    """The code of a module that an object reaches: its functions, and what these wrap and name."""
    if id(held) in seen:
        return
    seen.add(id(held))
    parts = [getattr(held, name, None) for name in ("fget", "func", "__func__", "__wrapped__")]
    parts += [cell.cell_contents for cell in getattr(held, "__closure__", None) or ()]
    code = getattr(held, "__code__", None)
    if isinstance(code, CodeType) and code.co_filename == module["__file__"]:
        for one in _codes(code):
            yield one
            parts += [module.get(name) for name in one.co_names]
    if isinstance(held, type) and held.__module__ == module["__name__"]:
        parts += [*vars(held).values(), *held.__bases__]
    for part in parts:
        if part is not None:
            yield from _loaded(part, module, seen)


def _as_written(
    body: Iterable[ast.stmt], loaded: Mapping[str, Any], asked: Container[str] | None = None
) -> bool:
    """Whether names, or those asked for, have the one value that is written out for them."""
    parts = [part for one in body for part in ast.walk(one) if isinstance(part, ast.Name)]
    stored = Counter(part.id for part in parts if isinstance(part.ctx, ast.Store))
    for one in body:
        held = loaded.get(getattr(one, "name", ""))
        if isinstance(one, ast.ClassDef) and isinstance(held, type):
            same = _as_written(one.body, vars(held))
        elif isinstance(one, ast.Assign | ast.AnnAssign):
            names = one.targets if isinstance(one, ast.Assign) else [one.target]
            once = [n.id for n in names if isinstance(n, ast.Name) and stored[n.id] == 1]
            same = all(_is(loaded.get(n), one.value) for n in once if asked is None or n in asked)
        else:
            same = True
        if not same:
            return False
    return True


def _is(held: Any, written: ast.expr | None) -> bool:
    """Whether a value is what is written out; True where nothing is, or a slot is in its place."""
    try:
        plain = ast.literal_eval(written)  # type: ignore[arg-type] # None is refused, too
    except (ValueError, TypeError):
        return True
    return isinstance(held, MemberDescriptorType) or repr(held) == repr(plain)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _codes(one)


def _unfit(value: object, why: str) -> ParameterError:
    name = getattr(value, "__qualname__", None) or type(value).__qualname__
    return ParameterError(f"{name} {why}, so no check can be told to be about it.", hint=_WAY)


# What a passing check of somebody's own mechanism leaves behind, for sessions to read.
#
# The record is made by ``onesided.verify`` and read without it: production imports no verifier.

NamedShifts: TypeAlias = Mapping[str, tuple[tuple[int, int], ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRecord:
    """That a mechanism was run on every noise in one small universe, and what came of it.

    It is no proof: it says nothing of larger data. source: the hash of the mechanism's code and
    of its fields, as :func:`source_of` has it. policy: its TOML text.
    epsilon: the loss per unit of edge weight that was checked. delta: with what probability the
    check let it lose more; above 0 it speaks for no session, which charges none. universe: in
    words. said: the verdict in words. sums: for a mechanism that is given sums, how far they move
    along each edge, as (rise, fall); None if it is given counts. Units: nats.

    >>> from onesided import policy
    >>> from onesided.mechanism import Counts
    >>> claim = {"epsilon": Fraction(1), "query": GroupCount()}
    >>> presence = policy.presence(max_groups=1)
    >>> words = {"name": "Own", "source": "", "universe": "", "said": "lost", "passed": False}
    >>> record = CheckRecord(policy=presence.to_toml(), **words, **claim)
    >>> record.misfit(Counts(1, 1), policy=presence, **claim)
    'the check did not pass: lost'
    """

    name: str
    source: str
    policy: str
    epsilon: Fraction
    query: GroupCount
    universe: str
    passed: bool
    said: str
    sums: NamedShifts | None = None
    delta: Fraction = Fraction(0)

    def __str__(self) -> str:
        how = "passed" if self.passed else "did NOT pass"
        loss = f"ε = {self.epsilon}" + (f", δ = {shown(self.delta, up=True)}" if self.delta else "")
        return f"{self.name} {how} at {loss} on {self.universe}: {self.said}"

    def misfit(
        self,
        mechanism: object,
        *,
        policy: Policy,
        epsilon: Fraction,
        query: GroupCount,
        sums: Mapping[Edge, Iterable[Shift]] | None = None,
    ) -> str:
        """Why this record does not speak for this use of ``mechanism``; empty if it does.

        Of sums it speaks if none moves further than some that were checked.
        """
        if not self.passed:
            return f"the check did not pass: {self.said}"
        return self._other(mechanism, policy, epsilon) or self._elsewhere(query, sums)

    def _other(self, mechanism: object, policy: Policy, epsilon: Fraction) -> str:
        """Why it is about something else."""
        if self.source != source_of(mechanism):
            return "it is of another source or of other parameters"
        if self.policy != policy.to_toml():
            return "it is about another policy"
        if self.epsilon != epsilon:
            return f"it was made at ε = {self.epsilon}, not {epsilon}"
        if self.delta:
            allowed = shown(self.delta, up=True)
            return f"it lets ε fail with probability {allowed}, and a session charges no δ for it"
        return ""

    def _elsewhere(self, query: GroupCount, sums: Mapping[Edge, Iterable[Shift]] | None) -> str:
        """Why it is about other numbers, or other moves of them."""
        if (self.sums is None) != (sums is None):
            return "it was made for counts or for sums, and the other is asked for"
        if sums is not None:
            checked = self.sums or {}
            asked = named_shifts(sums)
            for edge, shifts in asked.items():
                for rise, fall in shifts:
                    if not any(
                        rise <= most[0] and fall <= most[1] for most in checked.get(edge, ())
                    ):
                        return (
                            f"sums may rise by {rise} and fall by {many(fall, 'step')} along "
                            f"{edge}, further than in the universe that was checked"
                        )
            return ""
        return "" if self.query == query else f"it was made for {self.query}, not {query}"

    def to_json(self) -> str:
        """As text, to be kept beside the mechanism."""
        query = self.query
        return json.dumps(
            {
                "onesided_check": 1,
                "name": self.name,
                "source": self.source,
                "policy": self.policy,
                "epsilon": str(self.epsilon),
                "delta": str(self.delta),
                "max_groups": query.max_groups,
                "counted": None if query.counted is None else sorted(query.counted),
                "truncated": query.truncated,
                "universe": self.universe,
                "passed": self.passed,
                "said": self.said,
                "sums": self.sums,
            },
            indent=1,
        )

    @classmethod
    def from_json(cls, text: str) -> CheckRecord:
        """What :meth:`to_json` wrote. Errors: ParameterError for anything else."""
        try:
            read = json.loads(text)
            version = {1: True}[read.pop("onesided_check")]
            read["passed"] = version and read["passed"] is True
            counted = read.pop("counted")
            query = GroupCount(
                max_groups=read.pop("max_groups"),
                counted=None if counted is None else frozenset(map(str, counted)),
                truncated=read.pop("truncated") is True,
            )
            read["epsilon"], read["delta"] = Fraction(read["epsilon"]), Fraction(read["delta"])
            read["sums"] = _read_sums(read.get("sums"))
            return cls(query=query, **read)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ParameterError(
                f"This is not the record of a check: {error}.",
                hint="Run the check again with onesided.verify.Case(...).run().",
            ) from error


def named_shifts(shifts: Mapping[Edge, Iterable[Shift]]) -> NamedShifts:
    """Per edge, by its name, the shifts as (rise, fall).

    >>> from onesided import policy
    >>> named_shifts(policy.addition_only().shifts(GroupCount(max_groups=2)))
    {'record -> absent': ((0, 2),)}
    """
    return {edge.name: tuple((s.rise, s.fall) for s in each) for edge, each in shifts.items()}


def _read_sums(told: Any) -> NamedShifts | None:
    if told is None:
        return None
    return {str(edge): tuple((int(r), int(f)) for r, f in each) for edge, each in told.items()}
