"""What all accounts of one ledger protect together, and for any policy that is asked about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import product
from operator import and_
from typing import Final, Literal, TypeAlias

from onesided._numbers import INFINITE, ORDERS, Infinite, Loss, Number, probability
from onesided.accounting import (
    Bound,
    Charged,
    SessionTotal,
    by_orders,
    certain_loss,
    guarantee,
    less,
    total_loss,
    worst_of,
)
from onesided.errors import LedgerError, PolicyError, PolicyMismatchError
from onesided.fields import one_of
from onesided.ledger import PURE, Balance, Entry, Ledger
from onesided.policy import Edge, Guarantee, Policy, from_toml, possible_pairs
from onesided.session._sample import seen_changes

Of: TypeAlias = Literal["spent", "budget"]
# The edges of one policy that the moves along an edge of another may lie on; None if one of
# those moves is, as far as can be told, no move of that policy.
Along: TypeAlias = frozenset[Edge] | None


def total_guarantee(
    ledger: Ledger,
    policy: Policy | None = None,
    *,
    of: Of = "spent",
    policies: Iterable[Policy] = (),
    accept_unprotected: bool = False,
) -> Guarantee:
    """What all accounts on ``ledger`` promise together, per edge, as (ε, δ).

    ledger: its accounts, read once, as of one moment.
    policy: None states it for the intersection of the accounts' policies; otherwise for this
        one. An edge is INFINITE where some account does not, as far as can be told, protect
        every move along it: then nothing is promised there.
    of: "spent" counts the charges on record; "budget" everything that may ever be charged.
    policies: where to find policies that their text on record cannot rebuild.
    accept_unprotected: an intersection with presence may leave somebody no move at all: who is in
        one group only leaves the table by the one move that presence has for her, and bounded
        privacy, say, does not hide that. Such a total is refused, as INFINITE, unless it is
        accepted that it is for the moves that all allow; ``explain()`` names who has none.

    The mathematics. Let account i run mechanisms that along the moves on edge e of its policy
    P_i lose (ε_i(e), δ_i(e)) in sum. Let X -> Y be a move of every P_i, on edge e_i of P_i.
    Then for every set S of joint outputs

        Pr[M(X) in S] <= exp(sum_i ε_i(e_i)) Pr[M(Y) in S] + sum_i δ_i(e_i),

    also if each mechanism is chosen after seeing the earlier answers. Proof for two, the rest by
    induction: let M2 see o, the answer of M1, and S_o be what completes it. Bound the inner
    probability by ``min(1, exp(ε2) Pr[M2(Y; o) in S_o]) + δ2``; the minimum is a function of o
    with values in [0, 1], to which the promise of M1 applies. Only the inequality from X to Y is
    used, so nothing follows, and nothing is claimed, for the way back.

    A move that some P_i lacks may cost that account's releases anything, hence the intersection.
    An account without charges counts too: what no move of its policy can change is told exactly
    and at no charge, and another policy's moves may change it. For an asked policy, an edge
    gets the sum over the accounts of the worst edge that its moves can lie on.

    With charges chosen in the light of earlier answers, "spent" holds answer by answer when all
    δ are 0, and "budget" always: each edge is a privacy filter. A renyi account's (ε, δ) add up
    with the others' in the same way (docs/proofs/renyi.md). The accounts must protect the
    same units (all the people of one column, or all each row); those of 0.1.0 that do not say
    whom they protect are counted as if they did, and the statement says so.
    Errors: PolicyError if the accounts' policies have no move in common and none is asked about,
    if there is no account and none is asked about, or if a policy cannot be rebuilt from the
    record; PolicyMismatchError if the accounts protect different units;
    TamperedLedgerError.

    >>> import polars as pl, onesided as od
    >>> rows, ledger = pl.DataFrame({"person": [1, 2]}), od.Ledger.open(None)
    >>> policy = od.policy.addition_only()
    >>> session = od.Session(rows, unit="person", policy=policy, budget=9, ledger=ledger)
    >>> answers = [session.count(epsilon=1), session.count(epsilon="1/2")]
    >>> total_guarantee(ledger).headline, total_guarantee(ledger, od.policy.bounded()).headline
    (Fraction(3, 2), INFINITE)
    """
    one_of(of, name="of", words=("spent", "budget"))
    asked, held, unknown = _held(ledger, policy, policies)
    spent = of == "spent"
    tables = [(own, (one.spent, one.delta_spent) if spent else one.promised) for own, one in held]
    epsilon: dict[str, Loss] = {}
    delta: dict[str, Fraction] = {}
    for edge in asked.edges:
        wider = () if accept_unprotected else asked.wider(edge)
        losses = [_worst(_along(asked, edge, own, wider), *told) for own, told in tables]
        # Two edges of one name would share a line: the line then tells the worse of them.
        epsilon[edge.name] = max(
            epsilon.get(edge.name, Fraction(0)), sum((loss for loss, _ in losses), Fraction(0))
        )
        delta[edge.name] = max(
            delta.get(edge.name, Fraction(0)), sum((loss for _, loss in losses), Fraction(0))
        )
    accounts = [own for own, _ in held]
    renyi = any(one.accounting != PURE for _, one in held)
    about = _about(accounts, epsilon, of=of) + (_BY_RENYI if renyi and spent else "")
    endless = (edge for edge in asked.edges if isinstance(epsilon[edge.name], Infinite))
    left = not accept_unprotected and any(map(asked.wider, endless))
    about += f"{_LEFT if left else ''}{unknown}{_seen(ledger, accounts)}"
    return Guarantee(asked.name, epsilon, delta, about, made_for=asked)


def _held(
    ledger: Ledger, policy: Policy | None, policies: Iterable[Policy]
) -> tuple[Policy, list[tuple[Policy, Balance]], str]:
    """The policy asked about, each account with its own, and what must be said of their units."""
    if policy is not None and not isinstance(policy, Policy):
        raise PolicyError(
            f"policy must be a Policy or None, got {policy!r}.",
            hint="Make one with onesided.policy, for example presence(max_groups=3).",
        )
    known = {one.identity: one for one in policies}
    balances = ledger.balances()
    unknown = _refuse_other_units(balances)
    held = [(_policy_of(balance, known), balance) for balance in balances]
    if policy is None and not held:
        raise PolicyError(
            "The ledger has no accounts, so there is no policy to state a promise for.",
            hint="Name the policy that you ask about.",
        )
    asked = reduce(and_, (own for own, _ in held)) if policy is None else policy
    return asked, held, unknown


def ledger_total(
    ledger: Ledger,
    policy: Policy | None = None,
    *,
    delta: Number,
    policies: Iterable[Policy] = (),
    accept_unprotected: bool = False,
) -> SessionTotal:
    """What all accounts on ``ledger`` lose together: added up, by their budgets, and tight at δ.

    Per edge and in its direction. ``plain`` and ``budget`` are those of :func:`total_guarantee`,
    whose arguments these are, and hold in any case; for ``tight`` see
    :class:`onesided.accounting.SessionTotal`. A move on an edge lies on one edge of each account's
    policy, so each account loses by the law of its charges along that edge; where it may be one of
    several, by the worst of them at each level of loss. Accounts draw independently: laws add up.
    Where some account does not protect every move, nothing is promised.
    Errors: as :func:`total_guarantee`.

    >>> import polars as pl, onesided as od
    >>> rows, ledger = pl.DataFrame({"minor": [True, False]}), od.Ledger.open(None)
    >>> more = {"budget": 1, "ledger": ledger, "further": True}
    >>> for policy in (od.policy.bounded(), od.policy.sensitive("minor")):
    ...     session = od.Session(rows, policy=policy, **more)
    ...     answers = [session.count(where="minor", epsilon="1/50") for _ in range(20)]
    >>> total = ledger_total(ledger, delta="1/1000000")
    >>> total.charges, total.plain.headline, total.tight.headline < Fraction(3, 5)
    (40, Fraction(4, 5), True)
    """
    allowed = probability(delta, name="delta")
    known = list(policies)
    for _ in range(_TRIES):
        head = ledger.head()
        found = _of_all(ledger, policy, allowed, known, accept_unprotected)
        if ledger.head() == head:  # all of it is of one moment
            return found
    raise LedgerError(
        "The ledger was charged again and again while it was read.", hint="Ask once more."
    )


_TRIES: Final = 20


def _of_all(
    ledger: Ledger,
    policy: Policy | None,
    allowed: Fraction,
    known: list[Policy],
    accept_unprotected: bool,  # noqa: FBT001 - of the caller's own
) -> SessionTotal:
    """As :func:`ledger_total`, of a ledger that stays as it is meanwhile."""
    by_account: dict[str, list[Entry]] = {}
    for entry in ledger.entries(kind="spend"):
        by_account.setdefault(entry.policy_id, []).append(entry)

    def promised(of: Of) -> Guarantee:
        accepted = accept_unprotected
        return total_guarantee(ledger, policy, of=of, policies=known, accept_unprotected=accepted)

    plain = promised("spent")
    asked, held, _ = _held(ledger, policy, known)
    charged = [(own, Charged.grouped(own, by_account.get(own.identity, ()))) for own, _ in held]
    tight: dict[str, Bound] = {}
    for edge in asked.edges:
        wider = () if accept_unprotected else asked.wider(edge)
        added = Bound(plain.epsilon[edge.name], min(1, plain.delta.get(edge.name, 0)))
        laws, orders, rest = [], [Fraction(0)] * len(ORDERS), allowed
        for own, account in charged:
            along = _along(asked, edge, own, wider)
            if along is None:
                laws.append(certain_loss(INFINITE))
                orders = []
            elif along:
                worst = dict.fromkeys(account.loss(one.name) for one in along)
                laws.append(worst_of(list(worst)))
                each = zip(*(account.divergences(one.name) for one in along), strict=True)
                orders = [one + max(at) for one, at in zip(orders, each, strict=False)]
                rest -= max(account.plain(one.name).delta for one in along)
        found = less(added, total_loss(laws), allowed, by_orders(orders, rest))
        # Two edges of one name share a line, which tells the worse of them.
        other = tight.get(edge.name, found)
        tight[edge.name] = Bound(max(other.epsilon, found.epsilon), max(other.delta, found.delta))
    count = sum(account.count for _, account in charged)
    planned = replace(guarantee(asked, tight), about=plain.about)
    return SessionTotal(plain=plain, tight=planned, charges=count, budget=promised("budget"))


def _seen(ledger: Ledger, accounts: Iterable[Policy]) -> str:
    """What streams told for certain. These are of kinds with rules, and of ledgers in files."""
    ids = [own.identity for own in accounts if own.rules and ledger.file]
    return seen_changes(one for name in ids for one in ledger.entries(kind="spend", policy_id=name))


_LEFT: Final = " accept_unprotected=True states what holds for those who stay in the table."
_BY_RENYI: Final = (
    " Of renyi accounts this is for charges that were fixed beforehand; where they were chosen "
    "from earlier answers, their whole budget (ε, δ) is what holds."
)


def _refuse_other_units(balances: Iterable[Balance]) -> str:
    """What must be said of accounts that do not say whom they protect; "" if all do.

    Errors: PolicyMismatchError if they protect different units.
    """
    stated = {unit: one for one in balances for unit in one.units}
    units = sorted((unit for unit in stated if unit is not None), key=str)
    if len(units) > 1:
        said = " and ".join(
            f"the policy {stated[unit].policy_name!r} protects {unit}" for unit in units[:2]
        )
        raise PolicyMismatchError(
            f"In this ledger {said}: their losses have no sum.",
            hint="State each account's promise on its own, and keep accounts of different units "
            "in different ledgers.",
            units=tuple(units),
        )
    if None not in stated:
        return ""
    name = stated[None].policy_name
    return f" Charges under {name!r} do not all say whom they protect; they are counted as if."


def _policy_of(balance: Balance, known: Mapping[str, Policy]) -> Policy:
    """The account's policy. Errors: PolicyError if it is not the one that was charged."""
    try:
        policy = known.get(balance.policy_id) or from_toml(balance.policy_toml, on_record=True)
    except PolicyError as error:
        raise PolicyError(
            f"The policy {balance.policy_name!r} ({balance.policy_id[:12]}) cannot be rebuilt from "
            f"the ledger: {error.reason}",
            hint="Give it: total_guarantee(ledger, policies=[...]).",
            policy_id=balance.policy_id,
        ) from error
    edges = {edge.name for edge in policy.edges}
    if policy.identity != balance.policy_id or edges != set(balance.budget):
        raise PolicyError(
            f"The text kept for the policy {balance.policy_name!r} is not that of the policy "
            f"{balance.policy_id[:12]} that was charged.",
            hint="It may be of another version of onesided; check the ledger, and give the policy: "
            "total_guarantee(ledger, policies=[...]).",
            policy_id=balance.policy_id,
        )
    return policy


def _worst(
    along: Along, epsilon: Mapping[str, Loss], delta: Mapping[str, Fraction]
) -> tuple[Loss, Fraction]:
    """The most that the account loses on any of the edges."""
    if along is None:
        return INFINITE, Fraction(0)
    return (
        max((epsilon[edge.name] for edge in along), default=Fraction(0)),
        max((delta[edge.name] for edge in along), default=Fraction(0)),
    )


def _along(asked: Policy, edge: Edge, own: Policy, wider: Sequence[Policy]) -> Along:
    """The edges of ``own`` that moves along ``edge`` of ``asked`` may lie on.

    A move is one of an intersection exactly if it is one of every part, so it is enough that one
    part of ``asked`` shows it for each part of ``own``. wider: the parts that may show it, where
    ``own`` must hide whatever those allow along the edge, and not only what all parts do.
    """
    if asked.identity == own.identity:
        return frozenset({edge})
    showing, pieces = wider or asked.parts, []
    for needed in own.parts:
        shown = [
            found
            for part, step in zip(asked.parts, asked.joins[edge], strict=True)
            if part in showing and (found := _compare(part, step, needed)) is not None
        ]
        if not shown:
            return None
        pieces.append(frozenset.intersection(*shown))
    return frozenset(
        one
        for one, joint in own.joins.items()
        if all(step in piece for step, piece in zip(joint, pieces, strict=True))
    )


def _compare(asked: Policy, edge: Edge, own: Policy) -> Along:
    """As :func:`_along` for policies that are no intersections; None where it cannot be told."""
    if asked.identity == own.identity:
        return frozenset({edge})
    if asked.of_kinds and own.of_kinds:
        return _compare_kinds(asked, edge, own)
    try:
        covered = asked.relaxes(own)
    except PolicyError:
        return None
    return frozenset(own.edges) if covered else None


def _compare_kinds(asked: Policy, edge: Edge, own: Policy) -> Along:
    """By the pairs of kinds that one record can have under the two; weights do not matter here."""
    pairs = possible_pairs(asked, own)
    ends = {(one.source, one.target): one for one in own.edges}
    found = [
        ends.get((source, target))
        for (first, source), (second, target) in product(pairs, repeat=2)
        if (first, second) == (edge.source, edge.target)
    ]
    # An end that no record of the other policy can be: it knows no absent records.
    present = {first for first, _ in pairs}
    if None in found or not {edge.source, edge.target} <= present:
        return None
    return frozenset(one for one in found if one is not None)


def _about(accounts: Sequence[Policy], epsilon: Mapping[str, Loss], *, of: Of) -> str:
    if not accounts:
        return "Nothing was released."
    many = len(accounts) > 1
    names = ", ".join(f"'{policy.name}'" for policy in accounts)
    what = "What was released" if of == "spent" else "All that may ever be released"
    where = f"under the policies {names} together" if many else f"under the policy {names}"
    open_edges = [edge for edge, loss in epsilon.items() if isinstance(loss, Infinite)]
    limit = ""
    if open_edges:
        limit = f" Nothing is promised along {', '.join(open_edges)}."
    return f"{what} {where}.{limit}"
