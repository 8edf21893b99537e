"""What ``onesided verify`` prints: programs, claims and verdicts; and checks of other kinds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from onesided._numbers import INFINITE, Infinite, Loss, Number, round_up
from onesided._numbers import exact as exact_number
from onesided.errors import OnesidedError, ParameterError
from onesided.noise import Noise
from onesided.policy import Edge, GroupCount, Policy
from onesided.verify._exact import exact
from onesided.verify._households import Households
from onesided.verify._progress import Progress
from onesided.verify._report import ROUNDING, ExactReport
from onesided.verify._sum_universe import SumUniverse
from onesided.verify._table_moves import Tables
from onesided.verify._universe import Data, Universe

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
    universe: Universe | SumUniverse | Households | Tables = field(default_factory=Universe)
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
    name: str,
    run: Callable[[Data, Noise], Any],
    policy: Policy,
    epsilon: Number,
    **options: Any,
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
