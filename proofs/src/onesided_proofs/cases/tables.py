"""Tables with margins, as a session prices them; and broken ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

import onesided
from onesided import policy as policies
from onesided.linear import moves_of
from onesided.linear.kit import Margins, Totals, square_shifts
from onesided.mechanism import Linear
from onesided.mechanism.kit import Gaussian
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import GroupCount, Policy, Record
from onesided.session import Plan
from onesided.session.kit import prepared
from onesided.verify import Line, Universe
from onesided_proofs.cases import gaussian, linear, sessions

_CELLS: Final = ("a", "b")
_EPSILON: Final = 12
_INSIDE: Final = tuple(Record("record", frozenset({name})) for name in _CELLS)


def cases() -> Iterator[Line]:
    """The sound first. Nothing where no engine is installed that could hold a table."""
    if not sessions.has_engine():
        return
    everybody = (policies.bounded(), policies.unbounded(), policies.addition_only())
    for policy in (*everybody, policies.removal_only()):
        for strategy in ("margins", "weighted margins"):
            yield _line(policy, _table(policy, strategy), strategy)
    closed = _table(policies.bounded(), "margins", outside="refuse")
    inside = Universe(groups=_CELLS, units=1, values=_INSIDE)
    yield replace(_line(policies.bounded(), closed, "public total"), universe=inside)
    yield from _one_cell()
    added = policies.addition_only()
    right = _table(added, "margins")
    for wrong, flaw, seen in (
        (linear.counted_twice(right), "the margin counted twice", "a total printed on each page"),
        (
            linear.free_total(right, len(_CELLS)),
            "a total not in the budget",
            "published totals beside noisy cells",
        ),
    ):
        yield replace(_line(added, wrong, ""), name="Table", flaw=flaw, seen=seen, epsilon=None,
                      loose="", claims=right.losses)  # fmt: skip
    for policy in (*everybody, policies.removal_only()):
        for strategy in ("cells", "margins"):
            yield _normal(policy, strategy)
        yield _residuals(policy)
    yield _residuals(policies.bounded(), flaw="two cells' rows priced as if they never met")
    flaw = "cells and margins priced in L2 as the cells alone"
    yield _normal(added, "margins", priced="cells", flaw=flaw)
    flaw = "one cell for another priced as one that goes"
    yield _normal(policies.bounded(), "cells", of=added, flaw=flaw)


def _one_cell() -> Iterator[Line]:
    """Of two places one is listed: whoever is there may be in no cell after a move."""
    policy, apart = policies.bounded(), Universe(groups=_CELLS[:1], units=1, values=_INSIDE)
    made = _table(policy, "cells", keys=_CELLS[:1])
    loose = "a cell is priced as one of several, of which a move may leave one for another"
    line = replace(_line(policy, made, "one cell"), universe=apart, loose=loose)
    yield line
    told = linear.Measured(replace(made, public=Totals([0])))
    flaw, seen = "the only cell told as a public total", "a table of the one place that is asked"
    yield replace(line, name="Table", program=told, flaw=flaw, seen=seen, epsilon=None, loose="")


def _table(policy: Policy, strategy: str, **more: Any) -> Linear:
    """What a session measures of two cells and their total."""
    return _plan(policy, strategy, **more).mechanism  # type: ignore[no-any-return]


def _plan(policy: Policy, strategy: str, **more: Any) -> Plan:
    rows, noise = sessions.table_of_rows([]), NotPrivateSeededNoise(1)
    kind: dict[str, Any] = {"accounting": "renyi", "delta_budget": gaussian.DELTA}
    kind = kind if "law" in more else {}
    session = onesided.Session(rows, policy=policy, budget=99, noise=noise, **kind)
    given = {"by": "place", "keys": _CELLS, "epsilon": _EPSILON, "strategy": strategy, **more}
    asked = onesided.CrossTable(**given)
    return prepared(session, asked).plan


def _normal(
    policy: Policy, strategy: str, *, priced: str = "", of: Policy | None = None, flaw: str = ""
) -> Line:
    """Gaussian noise of σ² = 1 on what a session measures, at the L2 norm that it tells."""
    made = _plan(policy, strategy, law="gaussian").mechanism
    told = _plan(of or policy, priced or strategy, law="gaussian").noise["edges"]
    squares: list[int] = [one["squares"] for one in told.values()]  # type: ignore[attr-defined]
    return _priced(f"Gaussian, {strategy}", policy, replace(made, gaussian=1), squares, flaw)


def _residuals(policy: Policy, flaw: str = "") -> Line:
    """The same of two cells, centred, and of their total, which meet below 0."""
    cells = Margins([[]], [(1,)], grid=[2])
    strategy = cells.with_margins(dict.fromkeys(cells.every, 1), centred=cells.every)
    moves = moves_of(policy, 2, query=GroupCount(max_groups=1))
    told = [*square_shifts(strategy, moves).values()]
    if flaw:  # each cell's own length alone
        own = int(np.square(strategy.dense()[:, 0]).sum())
        told = [2 * own for _ in told]
    made = Linear(strategy, cells, 1, 1, gaussian=3)
    return _priced("Gaussian, residuals", policy, made, told, flaw)


def _priced(name: str, policy: Policy, made: Linear, squares: Sequence[int], flaw: str) -> Line:
    claims = {
        edge: gaussian.claim([Gaussian(made.gaussian or Fraction(1), one)])
        for edge, one in zip(policy.edges, squares, strict=True)
    }
    why: dict[str, Any] = {"flaw": flaw, "seen": gaussian.SEEN} if flaw else {"loose": gaussian.MET}
    return Line(
        f"Table ({name}, at δ = 1/1000)",
        policy,
        linear.Measured(made),
        claims,
        delta=float(gaussian.DELTA),
        universe=Universe(groups=_CELLS, units=1, max_groups=1),
        **why,
    )


def _line(policy: Policy, mechanism: Linear, what: str) -> Line:
    return Line(
        f"Table ({what})",
        policy,
        linear.Measured(mechanism),
        mechanism.losses,
        epsilon=_EPSILON,
        universe=Universe(groups=_CELLS, units=1, max_groups=1),
        tail=1e-11,
        unseen=2e-4,
        loose="a margin that a move leaves as it is costs its part",
    )
