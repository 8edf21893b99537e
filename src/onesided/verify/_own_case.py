"""The exact check for a mechanism of the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from typing import Any

from onesided._numbers import Infinite, Loss, Number, positive
from onesided._numbers import exact as exact_number
from onesided.errors import ParameterError, PolicyError, UnprotectableError
from onesided.fields import settle
from onesided.mechanism import CheckRecord
from onesided.mechanism.kit import named_shifts, source_of
from onesided.policy import Edge, GroupCount, Policy, Shift
from onesided.verify._households import Households
from onesided.verify._line import CASE_TAIL, UNSEEN, Line, Verdict
from onesided.verify._progress import Progress
from onesided.verify._sum_universe import SumUniverse
from onesided.verify._universe import Universe

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
        if not isinstance(self.policy, Policy):
            raise PolicyError(
                f"policy must be a Policy, got {self.policy!r}.",
                hint="Make one with onesided.policy, for example presence(max_groups=3).",
            )
        if not isinstance(self.universe, Universe | SumUniverse | Households):
            raise ParameterError(
                f"universe must be a Universe, got {self.universe!r}.",
                hint='For example onesided.verify.Universe(groups=("a", "b"), units=2).',
            )
        if isinstance(self.universe, SumUniverse):
            settle(self, query=self.universe.query)
        positive(self.epsilon, name="epsilon")
        if not (hasattr(self.mechanism, "release") or callable(self.mechanism)):
            raise ParameterError(
                f"Cannot verify {self.mechanism!r}: it is neither a mechanism nor a function.",
                hint="Give an object with release(counts, noise=...), or a function (data, noise).",
            )
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
        """Check it, and give the record that a session asks for."""
        return self.record(self.verdict())

    def record(self, verdict: Verdict) -> CheckRecord:
        """The record of a verdict on this case."""
        found = "nothing was run" if verdict.refused else f"worst loss {verdict.found_text}"
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
            delta=self._allowed,
        )

    @property
    def _allowed(self) -> Fraction:
        """With what probability the check lets ε fail; what it hides by default is not counted."""
        hidden = exact_number(self.unseen, name="unseen")
        return exact_number(self.delta, name="delta") + (hidden if self.unseen > UNSEEN else 0)

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
