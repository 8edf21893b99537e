"""Made-up rows: all margins that are measured for them, as a session reads and charges them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any, Final

from onesided import policy as policies
from onesided import session as questions
from onesided.mechanism.kit import Gaussian, samples_for
from onesided.noise import Noise
from onesided.policy import Policy, Record
from onesided.session.kit import prepared
from onesided.verify import Data, Line, Universe
from onesided_proofs._worlds import of_kinds
from onesided_proofs.cases import gaussian, sessions

_EPSILON: Final = 12
_LOOSE: Final = "a margin that a move leaves as it is costs its part"


def cases() -> Iterator[Line]:
    """The sound first. Nothing where no engine is installed that could hold a table."""
    if not sessions.has_engine():
        return
    private = policies.sensitive("kind = 'sensitive'")
    shapes: tuple[tuple[Policy, dict[str, Any]], ...] = (
        (policies.addition_only(), {}),
        (policies.removal_only(), {}),
        (policies.unbounded(), {}),
        (policies.bounded(), {}),
        (private, {}),
        (private, {"counted": "sensitive"}),
        (private, {"counted": "open"}),
        (policies.presence(max_groups=1), {}),
        (policies.presence(max_groups=2), {}),
        (policies.attributes({"place": ["p"]}), {"keys": {"place": ["p"], "v": [0]}}),
    )
    for policy, more in shapes:
        yield _line(policy, sessions.Asked(policy, _asked(**more)))
        if policy.name in ("addition_only", "bounded", "sensitive") and not more:
            cut = _asked(on_excess="truncate")
            yield _line(policy, sessions.Asked(policy, cut), "cut to one cell", rows=2)
    wide = _asked(pairs=[], keys={"place": ["p"], "v": [0, 1]})
    yield _line(private, sessions.Asked(private, wide), "of columns alone")
    counted = _asked(counted="sensitive")
    yield _line(private, Beside(private, counted), "beside a free sample")
    added = policies.addition_only()
    columns = Mispriced(added, _asked(pairs=[]), read=_asked())
    added_later = "where pairs are added to a workload after it was priced"
    spent = "where what is left over is not spent by the first"
    gained = "where open units are counted, and what they gain is forgotten"
    free = "a sample taken for free beside margins of everybody"
    twice, beside = Beside(private, counted, times=2), Beside(private, wide)
    measured = "a margin that is measured, and not charged"
    for policy, program, what, flaw, seen in (
        (added, columns, "priced by its columns", measured, added_later),
        (private, twice, "beside two samples", "the free sample taken twice", spent),
        (private, beside, "of everybody beside a sample", free, gained),
    ):
        yield _line(policy, program, what, flaw=flaw, seen=seen, claims=_EPSILON)
    for policy in (added, policies.bounded(), private):
        yield _normal(policy, _asked(law="gaussian"))
    yield _normal(added, _asked(pairs=[], law="gaussian"), flaw=measured)


def _asked(**more: Any) -> questions.Synthetic:
    """One cell of each margin, so that all noisy numbers of a table can be listed."""
    given: dict[str, Any] = {"keys": {"place": ["p"], "v": [1]}, "pairs": [["place", "v"]], **more}
    return questions.Synthetic(columns=["place", "v"], records=9, epsilon=_EPSILON, **given)


@dataclass(frozen=True, slots=True)
class Normal(sessions.Asked):
    """Gaussian noise of σ² = 1 on all margins, in a renyi account."""

    def __call__(self, data: Data, noise: Noise) -> Any:
        """The noisy counts."""
        if data not in self._read:
            step = prepared(self.session(data), self.question)
            made = replace(step.plan.mechanism, gaussian=Fraction(1))
            self._read[data] = made, step.read()
        made, cells = self._read[data]
        return tuple(made.noisy(cells, noise=noise).tolist())

    def session(self, data: Data) -> questions.Session:
        """A session over a table of this data."""
        kind: dict[str, Any] = {"accounting": "renyi", "delta_budget": gaussian.DELTA}
        table = sessions.table_of(data)
        return questions.Session(table, policy=self.policy, unit=self.unit, budget=20, **kind)


def _normal(policy: Policy, priced: questions.Synthetic, *, flaw: str = "") -> Line:
    program = Normal(policy, _asked(law="gaussian"))
    told: Any = program.session(()).plan(priced).noise["edges"]
    why: dict[str, Any] = {"flaw": flaw, "seen": gaussian.SEEN} if flaw else {"loose": gaussian.MET}
    return Line(
        "session: Synthetic with Gaussian noise (at δ = 1/1000)",
        policy,
        program,
        {
            edge: gaussian.claim([Gaussian(Fraction(1), told[edge.name]["squares"])])
            for edge in policy.edges
        },
        universe=_world(policy, 1),
        delta=float(gaussian.DELTA),
        **{"tail": 1e-13, "sealed": False, **why},
    )


class Mispriced(sessions.Mispriced):
    """Noise for the margins of columns on those of pairs, too."""

    def __call__(self, data: Data, noise: Noise) -> Any:
        """The noisy sums, each with the noise of the margins that were charged."""
        session = self.session(data)
        mechanism = prepared(session, self.question).plan.mechanism
        cells = prepared(session, self.read).read()
        drawn = noise.two_sided(mechanism.upper_rate, mechanism.lower_rate, cells.size)
        return tuple((cells + drawn).tolist())


@dataclass(frozen=True, slots=True)
class Beside(sessions.Asked):
    """Margins, and samples of open records at half of ε each, as an edge to them leaves free."""

    times: int = 1

    def __call__(self, data: Data, noise: Noise) -> Any:
        """The noisy sums, and which open records each sample tells."""
        told = sessions.Asked.__call__(self, data, noise)
        samples = samples_for(self.policy, epsilon=Fraction(_EPSILON, 2))
        kept = []
        for _ in range(self.times):
            for record in data:
                one = samples.get(record.kind)
                kept.append(
                    tuple(sorted(map(str, _held(record))))
                    if one is not None and one.choose(1, noise=noise)[0]
                    else None
                )
        return told, tuple(kept)


def _held(record: Record) -> frozenset[object]:
    return record.value if isinstance(record.value, frozenset) else frozenset()


def _line(
    policy: Policy, program: Any, what: str = "", *, rows: int = 1, claims: int = 0, **more: Any
) -> Line:
    charge = program.session(()).plan(program.question).charge
    bound: dict[Any, Any] = {edge: charge[edge.name] for edge in policy.edges}
    if claims or isinstance(program, Beside):
        bound = {edge: Fraction(_EPSILON) * edge.weight for edge in policy.edges}
    return Line(
        f"session: Synthetic{what and ' '}{what}",
        policy,
        program,
        bound,
        universe=_world(policy, rows),
        epsilon=_EPSILON,
        **{"loose": _LOOSE, "tail": 1e-11, "unseen": 2e-4, "sealed": False, **more},
    )


def _world(policy: Policy, rows: int) -> Universe:
    """A unit with a value at a place, or several; or not there."""
    if policy.single_valued:
        return Universe(groups=("p", "q"), units=1, max_groups=1)
    cells = [f"{place}{v}" for place, v in product("pq", (0, 1))]
    least, most = (0, 2) if policy.covers else (1, 1)
    held = [frozenset(some) for n in range(least, most + 1) for some in combinations(cells, n)]
    held += [frozenset(("p1", "q1")), frozenset(("p0", "q1"))] if rows > 1 else []
    return Universe(units=1, values=of_kinds(policy, held))
