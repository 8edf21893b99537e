"""What is checked: lines of the catalogue with their verdicts, and cases of the user's own."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from onesided._numbers import INFINITE, Infinite, Loss, Number, positive, round_up
from onesided._numbers import exact as exact_number
from onesided.errors import OnesidedError, ParameterError, UnprotectableError, first_line
from onesided.fields import settle
from onesided.mechanism import CheckRecord
from onesided.mechanism.kit import named_shifts, refuse_no_policy, source_of
from onesided.noise import Noise
from onesided.policy import Edge, GroupCount, Policy, Shift
from onesided.verify._exact import ROUNDING, ExactReport, Progress, exact, refuse_no_program
from onesided.verify._universe import Data, Households, SumUniverse, Universe, World

# Cut tails may hide this much and no more, unless a case says otherwise.
UNSEEN: Final = 1e-6
CASE_TAIL: Final = 1e-10


@dataclass(frozen=True, slots=True)
class Line:
    """A program, the policy it is said to keep, what it claims to lose, and whether it does.

    claims: per edge. flaw: what is wrong with a broken one; empty for a sound one. seen: where
    the flaw was met. loose: why a sound one's claim is not reached in this universe; empty if
    it is. delta: probability with which the claim may fail. unseen: how much cut tails may hide.
    sealed: False where the program may read the clock, for a journal that writes down times.
    epsilon: what the mechanism was made for; its own ``loss`` may then say no more than that.
    spends: whether it must charge all of ε on some edge, unless it charges nothing at all.

    >>> from onesided.policy import presence
    >>> def told(data, noise):
    ...     return sum(bool(record.value) for record in data)
    >>> policy = presence(max_groups=1)
    >>> line = Line("leak", policy, told, {edge: 1 for edge in policy.edges}, flaw="no noise")
    >>> line.sound, line.run().accepted
    (False, False)
    """

    name: str
    policy: Policy
    program: Any
    claims: Mapping[Edge, Loss]
    query: GroupCount = field(default_factory=GroupCount)
    universe: World = field(default_factory=Universe)
    flaw: str = ""
    seen: str = ""
    loose: str = ""
    tail: float = CASE_TAIL
    delta: float = 0.0
    unseen: float = UNSEEN
    sealed: bool = True
    epsilon: Number | None = None
    spends: bool = True

    def __repr__(self) -> str:
        return f"Line({self.title!r}, policy {self.policy.name!r})"

    @property
    def sound(self) -> bool:
        """Whether the claim is said to hold."""
        return not self.flaw

    @property
    def title(self) -> str:
        """The name, and the flaw of a broken one."""
        return f"{self.name}: {self.flaw}" if self.flaw else self.name

    def mentions(self, text: str) -> bool:
        """Whether its title, its policy or its program has ``text``, in any case."""
        told = f"{self.title} {self.policy.name} {self.program!r}"
        return text.lower() in told.lower()

    @property
    def promises(self) -> Mapping[Edge, Loss]:
        """Per edge the least of what the mechanism claims and ε times the edge's weight."""
        return {edge: min(claim, self._most(edge)) for edge, claim in self.claims.items()}

    @property
    def overdrawn(self) -> tuple[Edge, ...]:
        """The edges along which it claims to lose more than the ε that it was made for."""
        return tuple(edge for edge, claim in self.claims.items() if claim > self._most(edge))

    @property
    def underspent(self) -> bool:
        """Whether it charges something, but nowhere near the ε that it was made for."""
        charged = [edge for edge, claim in self.claims.items() if claim > 0]
        return self.spends and bool(charged) and all(self._left(edge) > 1e-6 for edge in charged)

    def _left(self, edge: Edge) -> float:
        most, claim = self._most(edge), self.claims[edge]
        if isinstance(most, Infinite) or isinstance(claim, Infinite):
            return 0.0
        return float(most - claim)

    def _most(self, edge: Edge) -> Loss:
        if self.epsilon is None:
            return INFINITE
        return exact_number(self.epsilon, name="epsilon") * edge.weight

    def run(self, *, progress: Progress = False) -> Verdict:
        """Check this case exactly. A program that cannot be checked has the verdict *refused*.

        progress: as :func:`exact` takes it.
        """
        try:
            report = exact(
                self.program,
                self.policy,
                self.universe,
                query=self.query,
                tail=self.tail,
                sealed=self.sealed,
                progress=progress,
            )
        except OnesidedError as error:
            return Verdict(self, ExactReport({}, 1.0, 0, 0), 1.0, error.reason)
        return Verdict(self, report.light(), report.delta(self.promises))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the exact check said of one case.

    proven: the δ at which the claim is proven along every edge, cut tails included. refused: why
    the program could not be checked; empty if it could.

    >>> from onesided import INFINITE
    >>> from onesided.mechanism import Counts
    >>> from onesided.policy import presence
    >>> verdict = shipped(Counts(1, INFINITE), presence(max_groups=1)).run()
    >>> verdict.word, verdict.found_text
    ('kept, tight', '1.0000')
    """

    case: Line
    report: ExactReport
    proven: float
    refused: str = ""

    def __repr__(self) -> str:
        return f"Verdict({self.case.title!r}: {self.word})"

    @property
    def promised(self) -> float:
        """The claim on the edge that was found worst against its claim; NaN if none was run."""
        return round_up(self.case.promises[self._edge]) if self.report.findings else math.nan

    @property
    def found(self) -> float:
        """The certain loss on that edge; NaN if none was run."""
        return self.report.findings[self._edge].loss if self.report.findings else math.nan

    @property
    def impossible(self) -> bool:
        """Whether the worst output was never seen on the other data: an infinite loss."""
        if not self.report.findings:
            return False
        finding = self.report.findings[self._edge]
        return finding.impossible and finding.loss > self.promised + ROUNDING

    @property
    def tight(self) -> bool:
        """Whether some edge loses all that it claims, so that no less noise would do."""
        return any(
            not isinstance(claim := self.case.promises[edge], Infinite)
            and abs(finding.loss - round_up(claim)) <= 1e-5
            for edge, finding in self.report.findings.items()
        )

    @property
    def accepted(self) -> bool:
        """Every edge was tested, none seen above its claim, and what was cut can hide little."""
        case = self.case
        kept = case.delta > 0 or self.report.keeps_losses(case.promises)
        return (
            not (self.refused or case.overdrawn)
            and kept
            and self.proven <= case.delta + case.unseen
        )

    @property
    def right(self) -> bool:
        """Whether the check told sound from broken, tested every edge, and reached the claim.

        A sound line that loses less than it claims has more noise than is due, or says why not.
        A broken one must be seen to break its claim: that paths were left out shows nothing.
        """
        told = self.accepted == self.case.sound and not self.report.untested
        if not self.case.sound:
            return told and not self._unshown
        return told and not self.case.underspent and bool(self.tight or self.case.loose)

    @property
    def word(self) -> str:
        """The verdict in a word or a few."""
        if self.refused:
            return f"refused{': ' if self.case.sound else ', as it must be: '}{self.refused}"
        if self.report.untested:
            return f"NOT TESTED: {', '.join(edge.name for edge in self.report.untested)}"
        if not self.right:
            return self._unshown or f"WRONG: {self._mistake}"
        if not self.accepted:
            return "rejected, as it must be"
        return "kept, tight" if self.tight else f"kept ({self.case.loose})"

    @property
    def _unshown(self) -> str:
        """Why a claim is neither kept nor broken: nothing seen is above it; paths are missing."""
        case = self.case
        decided = self.refused or self.accepted or case.overdrawn or case.delta > 0
        if decided or not self.report.keeps_losses(case.promises):
            return ""
        return (
            f"NOT SHOWN: nothing seen is surely above the claim, but paths left out may hide "
            f"δ = {self.proven:.0e}; take a smaller tail, a smaller universe or a larger rate"
        )

    @property
    def _mistake(self) -> str:
        if not self.case.sound:
            return "a broken one accepted"
        if self.case.overdrawn:
            return f"made for ε = {self.case.epsilon}, and charges more"
        if self.accepted and self.case.underspent:
            return f"made for ε = {self.case.epsilon}, and charges less: the noise is too large"
        return "less is lost than is charged, and nothing says why" if self.accepted else "not kept"

    @property
    def found_text(self) -> str:
        """The loss in four digits, or that it is infinite, or was not found."""
        if self.refused:
            return "-"
        return "infinite" if self.impossible else f"{self.found:.4f}"

    @property
    def _edge(self) -> Edge:
        """The edge with the most loss above its claim; the largest claim among equals."""

        def above(edge: Edge) -> tuple[float, float]:
            claim = self.case.promises[edge]
            if isinstance(claim, Infinite):
                return (-float("inf"), 0.0)
            loss = self.report.findings[edge].loss
            return (round(loss - round_up(claim), 6), round_up(claim))

        return max(self.report.findings, key=above)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One line: what was checked on whom, what came out, and whether that is as it must be.

    >>> CheckResult("audit", "a broken one", "ε >= 2", accepted=False, sound=False).right
    True
    """

    name: str
    subject: str
    measured: str
    accepted: bool
    sound: bool

    @property
    def right(self) -> bool:
        """Whether the check told sound from broken."""
        return self.accepted == self.sound

    @property
    def word(self) -> str:
        """The verdict in a word."""
        if not self.right:
            return "WRONG"
        return "accepted" if self.accepted else "rejected, as it must be"


def shipped(
    mechanism: Any,
    policy: Policy,
    query: GroupCount | None = None,
    *,
    name: str = "",
    **options: Any,
) -> Line:
    """The one line that registers a mechanism: claims are what its own ``loss`` says.

    query: which count the policy prices; None is the policy's own. options: fields of
    :class:`Line`, such as ``universe`` or ``loose``. Errors: ParameterError for what is no
    mechanism.

    >>> from onesided.mechanism import Counts
    >>> from onesided.policy import bounded
    >>> line = shipped(Counts(1, 1), bounded(), GroupCount(max_groups=1))
    >>> line.name, [str(claim) for claim in line.claims.values()]
    ('Counts', ['2'])
    """
    if not (hasattr(mechanism, "release") and hasattr(mechanism, "loss")):
        raise ParameterError(
            f"mechanism must have release(data, noise) and loss(shift), got {mechanism!r}.",
            hint="Give one of onesided.mechanism, or an object of your own with both; for a "
            "function that claims ε there is verify.program.",
        )
    count = GroupCount() if query is None else query
    claims = losses_of(mechanism, policy, count)
    return Line(name or type(mechanism).__name__, policy, mechanism, claims, query=count, **options)


def program(
    name: str, run: Callable[[Data, Noise], Any], policy: Policy, epsilon: Number, **options: Any
) -> Line:
    """A case for a function ``(data, noise)`` that claims ``epsilon`` times each edge's weight.

    >>> from onesided.policy import addition_only
    >>> silent = program("silence", lambda data, noise: None, addition_only(), 1, loose="silent")
    >>> silent.run().right
    True
    """
    claim = exact_number(epsilon, name="epsilon")
    claims = {edge: claim * edge.weight for edge in policy.edges}
    return Line(name, policy, run, claims, **options)


def losses_of(mechanism: Any, policy: Policy, query: GroupCount) -> dict[Edge, Loss]:
    """Per edge, what a mechanism says it loses by its own ``loss``.

    >>> from onesided.mechanism import Counts
    >>> from onesided.policy import unbounded
    >>> found = losses_of(Counts(1, 2), unbounded(), GroupCount(max_groups=1))
    >>> {edge.name: str(loss) for edge, loss in found.items()}
    {'record -> absent': '1', 'absent -> record': '2'}
    """
    return {
        edge: max(mechanism.loss(shift) for shift in shifts)
        for edge, shifts in policy.shifts(query).items()
    }


def in_place_of(
    right: Any, wrong: Any, policy: Policy, flaw: str, seen: str, **options: Any
) -> Line:
    """A broken program that claims what the right mechanism loses. options: fields of Line.

    >>> from onesided.mechanism import Counts
    >>> from onesided.policy import presence
    >>> right, wrong = Counts(1, INFINITE), Counts(2, INFINITE)
    >>> line = in_place_of(right, wrong, presence(max_groups=1), "twice the rate", "nowhere yet")
    >>> line.sound, line.run().word
    (False, 'rejected, as it must be')
    """
    query = options.setdefault("query", GroupCount())
    claims = losses_of(right, policy, query)
    return Line(type(right).__name__, policy, wrong, claims, flaw=flaw, seen=seen, **options)


_NOT_TIGHT = "less than was promised, in this universe"


@dataclass(frozen=True, slots=True)
class Case:
    """A mechanism of your own, the policy it keeps, and its ε: checked as ours are.

    mechanism: an object with ``release(counts, noise=...)`` and, if a session is to price it,
        ``loss(shift)``; or a plain function of ``(data, noise)``, data a tuple of records.
    epsilon: loss per unit of edge weight, in nats, along every edge of ``policy``. Its own
        ``loss`` may say less and is then held to that, but not more.
    universe: the small world to try it in; a :class:`SumUniverse` for one that is given sums,
        :class:`Households` under a view.
    query: which counts ``release`` is given; of sums, the universe says it.
    delta: the probability with which ε may fail. tail: paths less likely are left out; unseen:
        how much they may hide. Sessions charge no δ: they take no record made with a ``delta``, or
        with an ``unseen`` above the default. name: in the table.
    flaw: what is wrong with one that must be rejected, a control of the check itself. Its record
        never passes.
    Promise: ``run()`` passes only if no noise, on any pair of data sets of the universe, shows
    more loss, and every edge was tried. Says nothing about larger data: that needs a proof. Where
    the policy's moves go further than any here, the record says so, and the guarantee with it.
    Errors: ParameterError, PolicyError.

    >>> from onesided import INFINITE, mechanism, policy, verify
    >>> world = verify.Universe(max_groups=1)
    >>> counts = mechanism.Counts(1, INFINITE)
    >>> case = verify.Case(counts, policy.addition_only(), 1, universe=world)
    >>> case.run().passed
    True
    """

    mechanism: Any
    policy: Policy
    epsilon: Number
    _: KW_ONLY
    universe: Universe | SumUniverse | Households = field(default_factory=Universe)
    query: GroupCount = field(default_factory=GroupCount)
    delta: Number = 0
    name: str = ""
    tail: float = CASE_TAIL
    unseen: float = UNSEEN
    flaw: str = ""

    def __post_init__(self) -> None:
        refuse_no_policy(self.policy)
        if not isinstance(self.universe, Universe | SumUniverse | Households):
            raise ParameterError(
                f"universe must be a Universe, got {self.universe!r}.",
                hint='For example onesided.verify.Universe(groups=("a", "b"), units=2).',
            )
        if isinstance(self.universe, SumUniverse):
            settle(self, query=self.universe.query)
        positive(self.epsilon, name="epsilon")
        refuse_no_program(self.mechanism)
        if isinstance(self.mechanism, type):
            raise ParameterError(
                f"{self.mechanism.__name__} is a class, not a mechanism.",
                hint=f"Make one of it: {self.mechanism.__name__}(...).",
            )

    @property
    def line(self) -> Line:
        """The line of the table. Errors: ParameterError if its own loss cannot be computed."""
        name = self.name or getattr(self.mechanism, "__name__", type(self.mechanism).__name__)
        return Line(
            name,
            self.policy,
            self.mechanism,
            self._claims(),
            query=self.query,
            universe=self.universe,
            loose=_NOT_TIGHT,
            tail=self.tail,
            delta=float(exact_number(self.delta, name="delta")),
            unseen=self.unseen,
            epsilon=self.epsilon,
            spends=False,
            flaw=self.flaw,
        )

    def verdict(self, *, progress: Progress = False) -> Verdict:
        """What the exact check says: the worst loss, the move and the output that show it.

        progress: True for an estimate and a bar on stderr, or a function ``(done, total)``.
        """
        return self.line.run(progress=progress)

    def run(self) -> CheckRecord:
        """Check it, and give the record that a session asks for.

        Errors: ParameterError for a mechanism that no record can be about: it is a frozen dataclass
        of plain fields, or a function, at the top of one file.
        """
        source_of(self.mechanism)
        return self.record(self.verdict())

    def record(self, verdict: Verdict) -> CheckRecord:
        """The record of a verdict on this case."""
        found = "nothing was run" if verdict.refused else f"worst loss {verdict.found_text}"
        # With what probability the check lets ε fail; what it hides by default is not counted.
        hidden = exact_number(self.unseen, name="unseen")
        return CheckRecord(
            name=verdict.case.name,
            source=source_of(self.mechanism),
            policy=self.policy.to_toml(),
            epsilon=Fraction(exact_number(self.epsilon, name="epsilon")),
            query=self.query,
            universe=f"{self.universe}{'' if verdict.refused else self._short}",
            passed=verdict.accepted and not self.flaw,
            said=f"{verdict.word}; {found}",
            sums=None if self._sums is None else named_shifts(self._sums),
            delta=exact_number(self.delta, name="delta") + (hidden if self.unseen > UNSEEN else 0),
        )

    @property
    def _sums(self) -> Mapping[Edge, tuple[Shift, ...]] | None:
        """How far sums move along each edge; None for a mechanism that is given counts."""
        world = self.universe
        return world.shifts(self.policy) if isinstance(world, SumUniverse) else None

    @property
    def _short(self) -> str:
        """Where no move of the universe goes as far as some of the policy, in words; else empty.

        What a mechanism loses along longer moves is then what it says of itself: no run shows it.
        """
        if self._sums is not None or not hasattr(self.mechanism, "release"):
            return ""
        tried = self._tried()
        for edge, many in self.policy.shifts(self.query).items():
            wanted = max(s.fall for s in many), max(s.rise for s in many)
            for word, seen, most in zip(("lower", "raise"), tried[edge], wanted, strict=True):
                if seen < most:
                    far = f"{seen} in all, the policy's by up to {most}"
                    return f"; its moves {word} counts by {far}"
        return ""

    def _tried(self) -> dict[Edge, tuple[int, int]]:
        """By how much the universe's moves along each edge lower and raise counts in all."""
        tried = dict.fromkeys(self.policy.edges, (0, 0))
        world: Any = self.universe
        for real, other, edge in world.moves(self.policy):
            change = world.count(real, self.query) - world.count(other, self.query)
            fallen, risen = int(change[change > 0].sum()), -int(change[change < 0].sum())
            tried[edge] = max(tried[edge][0], fallen), max(tried[edge][1], risen)
        return tried

    def _claims(self) -> dict[Edge, Loss]:
        epsilon = exact_number(self.epsilon, name="epsilon")
        loss = getattr(self.mechanism, "loss", None)
        if loss is None or not hasattr(self.mechanism, "release"):
            return {edge: epsilon * edge.weight for edge in self.policy.edges}
        try:
            shifts = self._sums or self.policy.shifts(self.query)
            claims = {
                edge: max(_said(loss(shift)) for shift in many) for edge, many in shifts.items()
            }
        except (TypeError, AttributeError) as error:
            raise ParameterError(
                f"The loss of {type(self.mechanism).__name__} could not be computed: {error}.",
                hint="Write it as def loss(self, shift): ..., an exact number of shift.rise and "
                "shift.fall, or leave it out.",
            ) from error
        for edge, claim in claims.items():
            if isinstance(claim, Infinite):
                raise UnprotectableError(
                    f"By its own loss, {type(self.mechanism).__name__} hides nothing along the "
                    f"move {edge.name} of the policy '{self.policy.name}'.",
                    hint="Give it noise on the other side too, or check it under a policy "
                    "whose moves it hides.",
                )
        return claims


def _said(loss: Any) -> Loss:
    """What a mechanism says it loses, as a number. Errors: ParameterError."""
    said = loss if isinstance(loss, Infinite) else exact_number(loss, name="loss")
    if said < 0:
        raise ParameterError(
            f"A loss cannot be below 0, got {loss!r}.",
            hint="Say how much the mechanism loses along the move: 0 if nothing.",
            value=loss,
        )
    return said


def cases_in(path: Path) -> list[Case]:
    """Every :class:`Case` that the module at ``path`` holds, by itself or in a list.

    Runs the file. Errors: ParameterError if it cannot be run or holds none.

    >>> words = "import onesided as od; policy = od.policy.presence(max_groups=1); "
    >>> case = "case = od.verify.Case(od.mechanism.Counts(1, od.INFINITE), policy, 1)"
    >>> written = Path("mine_in_the_docs.py").write_text(words + case)
    >>> len(cases_in(Path("mine_in_the_docs.py")))
    1
    """
    spec = spec_from_file_location(path.stem, path)
    if not path.is_file() or path.suffix != ".py" or spec is None or spec.loader is None:
        raise ParameterError(
            f"{path} is not a Python file.", hint="Give a file such as mine.py that holds Cases."
        )
    if path.stem in sys.modules:
        raise ParameterError(
            f"{path.name} has the name of a module that is already loaded.",
            hint="Rename the file, for example to my_mechanism.py.",
        )
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.resolve().parent))  # so that it finds its neighbours
    try:
        spec.loader.exec_module(module)
    except OnesidedError:
        raise
    except Exception as error:
        del sys.modules[path.stem]
        raise ParameterError(
            f"{path.name} could not be run: {type(error).__name__}: {first_line(error)}.",
            hint="Run it with python first.",
        ) from error
    finally:
        sys.path.remove(str(path.resolve().parent))
    found = list(_held(module))
    if not found:
        raise ParameterError(
            f"{path.name} holds no onesided.verify.Case.",
            hint="Write for example: case = onesided.verify.Case(mechanism, policy, epsilon).",
        )
    return found


def _held(module: ModuleType) -> Iterator[Case]:
    seen: set[int] = set()
    for name, value in vars(module).items():
        for case in value if isinstance(value, list | tuple) else (value,):
            if isinstance(case, Case) and id(case) not in seen and not name.startswith("__"):
                seen.add(id(case))
                yield case
