"""``onesided ledger``: what was spent, by whom, what is left, and whether the record is intact."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from fractions import Fraction
from functools import partial
from textwrap import shorten
from typing import Annotated, Any, Final, TypeAlias

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from onesided._english import many
from onesided._numbers import Loss, round_down, round_up, shown, text
from onesided.accounting import SessionTotal, charge_divergences, total_of
from onesided.cli._options import Printed, command
from onesided.cli._terminal import Terminal, clean, print_json
from onesided.errors import ParameterError, PolicyError, PolicyMismatchError
from onesided.ledger import PURE, Balance, Entry, Ledger
from onesided.policy import Guarantee, from_toml
from onesided.session import ledger_total, total_guarantee
from onesided.session.kit import free_sample, offered
from onesided.show import csv_text

app = typer.Typer(
    help="Look at a ledger, and check that nobody edited it.",
    no_args_is_help=True,
    add_completion=False,
)

Location = Annotated[
    str, typer.Argument(help="A ledger file, or a database URL.", envvar="ONESIDED_LEDGER")
]

# Okabe and Ito's blue and vermilion, which colour-blind readers can tell apart; the words beside
# each bar say the same without any colour.
_SPENT, _USED_UP, _NARROW = "#0072B2", "#D55E00", 100
_MOST_EDGES: Final = 20
_MOST_LINES: Final = 6
Accounts: TypeAlias = Mapping[str, Balance]


def show(
    ledger: Location,
    *,
    printed: Printed,
    as_csv: bool = False,
    last: Annotated[
        int | None, typer.Option(help="List only this many of the latest charges.", min=0)
    ] = None,
    delta: str | None = None,
    by: str | None = None,
) -> None:
    """Show each account's budget, who charged what to it and when, and what is left.

    Bars are per edge: a direction in which the policy protects, such as
    "sensitive -> open". Rows are shown as stored; 'onesided ledger check' verifies
    them.
    """
    as_json, quiet = printed.as_json, printed.quiet
    if as_json and as_csv:
        raise ParameterError("--json and --csv exclude each other.", hint="Choose one.")
    if by is not None and (by != "cohort" or as_csv):
        raise ParameterError(
            f"--by is {by!r}{' with --csv' * as_csv}.", hint="Write --by cohort, or leave it out."
        )
    with Ledger.open(ledger, create=False) as opened:
        if by is not None:
            _by_cohort(opened.balances(), as_json=as_json, quiet=quiet)
            return
        if as_json or as_csv:
            entries = opened.entries()
            accounts = {account.policy_id: account for account in opened.balances()}
        else:
            console = Terminal(quiet=quiet)
            console.print(_page(opened, last=last, width=console.width, delta=delta))
            return
    if as_json:
        _write(json.dumps([_plain(e, accounts) for e in entries], indent=2, ensure_ascii=False))
    else:
        lines = (row for entry in entries for row in _lines(entry, accounts))
        _write(csv_text(_CSV, lines), end="")


def check(ledger: Location, *, head: str | None = None, printed: Printed) -> None:
    """Recompute every hash, sum and answer; exit 4 and name the first bad row if one fails.

    Rows removed from the end leave a valid chain. To detect that, give the head
    hash that you kept elsewhere (see 'onesided ledger head').
    """
    with Ledger.open(ledger, create=False) as opened:
        report = opened.check(head=head, laws=charge_divergences)
    if printed.as_json:
        print_json({**asdict(report), "kept_head": head is not None})
        return
    table = Table.grid(padding=(0, 2))
    table.add_row("rows", f"{report.entries:,}")
    table.add_row("charges", f"{report.charges:,}, none over budget")
    table.add_row("answers", f"{report.stored:,} stored, each as it was recorded")
    for name, numbers, counted, why in (
        ("no answer", report.unanswered, "charge",
         "spent, but its process stopped before it stored an answer, or has not stored it yet"),
        ("dates", report.backwards, "row",
         "dated before an earlier row: a clock was wrong, and budgets that grow by date may have "
         "grown early"),
        ("confirmed", report.ahead, "charge",
         "long after the last one: somebody said that the clock was right"),
    ):  # fmt: skip
        if numbers:
            rows, more = ", ".join(map(str, numbers[:_MOST_EDGES])), len(numbers) - _MOST_EDGES
            told = f"row {rows}{f' and {more:,} more' if more > 0 else ''}"
            table.add_row(name, f"{many(len(numbers), counted)} ({told}): {why}")
    kept = "not given, so rows cut from the end would not show" if head is None else "in the chain"
    table.add_row("kept head", kept)
    console = Terminal(quiet=printed.quiet)
    console.print(Text("Intact: every row, sum and stored answer holds.", style="bold"))
    console.print(_indented(table))
    # On a line of its own, so that 64 digits are copied whole from a narrow window.
    console.print(f"Head: {report.head}", soft_wrap=True)


def create(ledger: Location, *, printed: Printed) -> None:
    """Make an empty ledger. Otherwise the first charge makes it.

    The owner of a database does this once, so that users who charge need only the
    rights to read and to add rows (see docs/ledger.md).
    """
    with Ledger.open(ledger) as opened:
        opened.make()
        _tell(
            {"ledger": opened.name},
            f"{clean(opened.name)} is ready. It has no account and no budget yet.",
            printed,
        )


def head(ledger: Location, *, printed: Printed) -> None:
    """Print the head hash. Keep it elsewhere: it shows later whether rows were removed.

    Later: onesided ledger check LEDGER --head HASH
    """
    with Ledger.open(ledger, create=False) as opened:
        found = opened.head()
    _tell({"head": found}, found, printed)


_OWN: Final = {
    "delta": "Say what the charges lose together at this δ, such as 1e-6.",
    "by": "Only 'cohort': what each date spent and has left.",
    "head": "A head hash that you kept elsewhere.",
}
for _one in (show, check, create, head):
    app.command(_one.__name__)(command(_one, words=_OWN))


def _tell(document: Mapping[str, str], words: str, printed: Printed) -> None:
    if printed.as_json:
        print_json(document)
    elif not printed.quiet:
        typer.echo(words)


def _write(words: str, end: str = "\n") -> None:
    """Print text that an edited ledger may have filled with anything."""
    typer.echo(words.encode("utf-8", "backslashreplace").decode() + end, nl=False)


Answered: TypeAlias = set[tuple[str, str]]


def _tight(opened: Ledger, account: Balance, delta: str) -> SessionTotal:
    """What one account's charges lose together. Errors: PolicyError."""
    charges = opened.entries(kind="spend", policy_id=account.policy_id)
    policy = from_toml(account.policy_toml, on_record=True)
    whole = Guarantee(policy.name, *account.promised, made_for=policy)
    return replace(total_of(policy, charges, delta=delta), budget=whole)


def _said(told: Callable[[], Guarantee | SessionTotal]) -> Guarantee | SessionTotal | str:
    """What can be told, or why it cannot."""
    try:
        return told()
    except (PolicyError, PolicyMismatchError) as error:
        return error.reason


def _whole(told: object) -> Padding:
    return _indented(Text("\n".join(map(clean, str(told).splitlines()))))


def _page(
    opened: Ledger, *, last: int | None, width: int, delta: str | None = None
) -> RenderableType:
    """The whole table, from the accounts to the single charges.

    Reads the rows that it shows and each account's totals; the charges first, so that no account
    of theirs is missing.
    """
    charges = list(opened.entries(kind="spend", last=last))
    stored = opened.entries(kind="store", after=charges[0].number) if charges else ()
    accounts = {account.policy_id: account for account in opened.balances()}
    count = sum(account.releases for account in accounts.values())
    how_many = f"{many(len(accounts), 'account')}, {many(count, 'charge')}"
    parts: list[RenderableType] = [
        Text.assemble((clean(opened.name[:1].upper() + opened.name[1:]), "bold")),
        f"{how_many}. Not checked here; 'onesided ledger check' tells whether all rows hold.",
    ]
    for place, account in enumerate(accounts.values(), start=1):
        title = f"Account {place}, policy " if len(accounts) > 1 else "Policy "
        parts += [
            "",
            Text.assemble((f"{title}{clean(account.policy_name)}", "bold")),
            _indented(_facts(account, opened.entry(account.opened))),
            _indented(_bars(account, width=width)),
            *_free(account),
            *([] if delta is None else [_whole(_said(partial(_tight, opened, account, delta)))]),
        ]
    if len(accounts) > 1:
        joint = _said(partial(total_guarantee, opened))
        parts += ["", Text("All accounts together", style="bold"), _indented(_joint(joint))]
        if delta is not None and not isinstance(joint, str):
            parts.append(_whole(_said(partial(ledger_total, opened, delta=delta))))
    if count:
        answered = {(entry.policy_id, entry.release_id) for entry in stored}
        narrow = width < _NARROW
        parts += ["", _charges(charges, accounts, answered, of=count, narrow=narrow)]
    return Group(*parts)


def _by_cohort(accounts: Iterable[Balance], *, as_json: bool, quiet: bool) -> None:
    """What each date of the accounts by cohort spent and has left. Errors: ParameterError."""
    found = [(account, account.by_cohort()) for account in accounts if account.calendar]
    if not found:
        raise ParameterError(
            "No account of this ledger is by cohort.", hint="Leave --by out; see docs/ledger.md."
        )
    if as_json:
        told = [
            {
                "policy": account.policy_name,
                "policy_id": account.policy_id,
                "calendar": account.calendar.written() if account.calendar else None,
                "cohorts": [
                    {
                        **one.dates.written(),
                        "epsilon_spent": {edge: text(some) for edge, some in one.spent.items()},
                        "epsilon_left": {edge: text(some) for edge, some in one.remaining.items()},
                    }
                    for one in cohorts
                ],
            }
            for account, cohorts in found
        ]
        _write(json.dumps(told, indent=2, ensure_ascii=False))
        return
    console = Terminal(quiet=quiet)
    for account, cohorts in found:
        table = Table("dates", "edge", "spent ε", "left of ε", box=SIMPLE_HEAD)
        for one in cohorts:
            for edge, some in one.spent.items():
                left = shown(one.remaining[edge], up=False)
                table.add_row(str(one.dates), clean(edge), shown(some, up=True), left)
        promise = "" if account.calendar is None else account.calendar.promise
        console.print(Text(f"Policy {clean(account.policy_name)}", style="bold"))
        console.print(_indented(Text(clean(promise))))
        console.print(_indented(table))


def _facts(account: Balance, opening: Entry | None) -> Text:
    """Whom it protects, who opened it when, and what tells its policy from others."""
    units = " or ".join(sorted("not said whom" if u is None else str(u) for u in account.units))
    lines = [f"protects {clean(units)}; policy id {account.policy_id[:12]}"]
    if account.accounting != PURE:
        lines.append("accounting renyi: promises its whole budget (ε, δ) for all charges together")
    if account.calendar is not None:
        lines.append(clean(account.calendar.promise))
        lines.append("bars are of the dates with least left; --by cohort tells each")
    if opening is not None:
        by = f" by {clean(opening.who)}" if opening.who else ""
        lines.append(f"opened {_when(opening)} UTC{by}")
    given = [line for line in account.policy_toml.splitlines() if " = " in line]
    given = [line for line in given if not line.startswith(("onesided_policy", "family"))]
    return Text("\n".join([*lines, *([shorten(clean("; ".join(given)), 200)] if given else [])]))


def _free(account: Balance) -> list[RenderableType]:
    """The sample that is free beside its charges, in a line; none if none is."""
    if account.accounting != PURE or account.calendar is not None:
        return []
    try:
        policy = from_toml(account.policy_toml, on_record=True)
    except PolicyError:
        return []
    offer = offered(free_sample(policy, account.spent))
    return [_indented(Text(offer))] if offer else []


def _bars(account: Balance, *, width: int) -> Table:
    """A bar for each edge's ε, and for its δ where the account has any."""
    table = Table.grid(padding=(0, 2))
    pure, deltas = account.accounting == PURE, account.delta_budget
    at = {edge: "" if pure else f", at δ = {shown(deltas[edge], up=True)}" for edge in deltas}
    used, lost = account.spent, account.delta_spent
    if account.calendar is not None:  # of the dates that have least left
        left, rest = account.remaining, account.delta_remaining
        used = {edge: limit - left[edge] for edge, limit in account.budget.items()}
        lost = {edge: max(limit - rest[edge], Fraction(0)) for edge, limit in deltas.items()}
        pure = True
    rows = [(f"{edge}{at[edge]}", used[edge], limit) for edge, limit in account.budget.items()]
    if not pure:  # the part of δ that is kept for charges that carry one
        lost = dict(account.total.delta)
        deltas = {edge: some + account.delta_remaining[edge] for edge, some in lost.items()}
    rows += [
        (f"δ{'' if pure else ' of charges'}, {edge}", lost[edge], limit)
        for edge, limit in deltas.items()
        if limit and (pure or lost[edge])
    ]
    hidden = len(rows) - _MOST_EDGES
    if hidden > 0:
        rows = sorted(rows, key=lambda row: row[1] / row[2] if row[2] else Fraction(0))
        rows = rows[: hidden - 1 : -1]
    for name, spent, limit in rows:
        table.add_row(
            clean(name), _bar(spent, limit, 12 if width < _NARROW else 30), _state(spent, limit)
        )
    if hidden > 0:
        table.add_row(f"and {many(hidden, 'edge')}", "", "less used than these; see --csv")
    return table


def _bar(spent: Fraction, limit: Fraction, cells: int) -> Text:
    """Never full before the budget is used up, never empty once something was spent."""
    share = spent / limit if limit else Fraction(0)
    full = cells if share >= 1 else min(cells - 1, -(-share.numerator * cells // share.denominator))
    return Text.assemble(
        ("█" * full, _USED_UP if share >= 1 else _SPENT), ("░" * (cells - full), "bright_black")
    )


def _state(spent: Fraction, limit: Fraction) -> str:
    if not limit:
        return "no budget: nothing may be charged"
    if spent >= limit:
        return f"{shown(spent, up=True)} of {shown(limit, up=False)} spent, used up"
    share, left = min(-(-100 * spent // limit), 99), shown(limit - spent, up=False)
    return f"{shown(spent, up=True)} of {shown(limit, up=False)} spent ({share} %), {left} left"


def _joint(joint: Any) -> RenderableType:
    if isinstance(joint, str):
        return f"Nothing can be promised for all of them: {clean(joint)}"
    table = Table.grid(padding=(0, 2))
    edges = sorted(joint.epsilon, key=lambda edge: joint.epsilon[edge], reverse=True)
    for edge in edges[:_MOST_EDGES]:
        loss, delta = joint.epsilon[edge], joint.delta[edge]
        extra = f", δ = {shown(delta, up=True)}" if delta else ""
        said = shown(loss, up=True) if isinstance(loss, Fraction) else "unlimited"
        table.add_row(clean(edge), f"ε = {said}{extra}")
    if len(edges) > _MOST_EDGES:
        table.add_row(f"and {many(len(edges) - _MOST_EDGES, 'edge')}", "of no larger ε")
    words = "Along moves that every policy protects, all charges together lose at most:"
    return Group(words, table)


def _charges(
    chosen: list[Entry], accounts: Accounts, answered: Answered, *, of: int, narrow: bool
) -> Table:
    """Who charged what, when, how much, and what was left then."""
    earlier = of - len(chosen)
    title = f"Charges, the last {len(chosen):,} of {of:,}" if earlier else "Charges"
    table = Table(
        title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, padding=(0, 1)
    )
    table.add_column("row", justify="right", no_wrap=True)
    if len(accounts) > 1:
        table.add_column("acc.", justify="right", no_wrap=True)
    table.add_column("when (UTC), who", overflow="fold")
    table.add_column("what", overflow="fold")
    table.add_column("charged, and left then", overflow="fold")
    places = {policy: str(place) for place, policy in enumerate(accounts, start=1)}
    for entry in chosen:
        account = [places[entry.policy_id]] if len(accounts) > 1 else []
        there = (entry.policy_id, entry.release_id) in answered
        # The label, and the release's id where a person chose it.
        name = entry.release_id
        drawn = len(name) == 32 and not set(name) - set("0123456789abcdef")
        table.add_row(
            *(str(entry.number), *account),
            f"{_when(entry)}\n{clean(entry.who) or 'not recorded'}",
            (clean(entry.label) + ("" if drawn else f"\nid {clean(name)}"))
            + ("" if there else "\n(no answer stored)"),
            "\n".join(_charged(entry, accounts[entry.policy_id], narrow=narrow)),
        )
    return table


def _charged(entry: Entry, account: Balance, *, narrow: bool) -> list[str]:
    """A line for each edge that was charged; one for all of them where they are alike."""
    left, delta_left = account.left_after(entry)
    said = {
        edge: [
            _spent(entry.epsilon[edge], left[edge], "ε"),
            _spent(entry.delta[edge], delta_left[edge], "δ"),
        ]
        for edge in account.budget
    }
    found = {edge: "; ".join(filter(None, parts)) for edge, parts in said.items() if any(parts)}
    if len(found) == len(said) > 2 and len(set(found.values())) == 1:
        return [f"each of {len(found)} edges: {next(iter(found.values()))}"]
    gap = "\n  " if narrow else " "
    lines = [f"{clean(edge)}:{gap}{words}" for edge, words in found.items()]
    more = len(lines) - _MOST_LINES
    return lines if more <= 0 else [*lines[:_MOST_LINES], f"and {more:,} more; see --csv"]


def _spent(charged: Loss, left: Fraction, sign: str) -> str:
    said = f"{sign} {shown(charged, up=True)}" if isinstance(charged, Fraction) else "no pure ε"
    return f"{said}, {shown(left, up=False)} left" if charged else ""


def _indented(part: RenderableType) -> Padding:
    return Padding(part, (0, 2), expand=False)


def _when(entry: Entry) -> str:
    return clean(entry.time[:16].replace("T", " "))


def _plain(entry: Entry, accounts: Accounts) -> dict[str, object]:
    """An entry for programs: exact numbers as text."""
    account = accounts[entry.policy_id]
    names = ("epsilon", "total_epsilon", "delta", "total_delta")
    tables = {name: getattr(entry, name) for name in names}
    tables |= {"budget": account.budget, "delta_budget": account.delta_budget}
    orders = {"divergences": entry.divergences, "total_divergences": entry.total_divergences}
    by_renyi = {
        name: {edge: [text(one) for one in some] for edge, some in table.items()}
        for name, table in orders.items()
    }
    return {
        **{name: getattr(entry, name) for name in ("number", "time", "who", "kind")},
        **{name: getattr(entry, name) for name in ("policy_id", "release_id", "label")},
        "policy": account.policy_name,
        "detail": dict(entry.detail),
        **{
            name: {edge: text(amount) for edge, amount in table.items()}
            for name, table in tables.items()
        },
        **({} if account.accounting == PURE else {"accounting": account.accounting, **by_renyi}),
        **({} if entry.cohorts is None else {"cohorts": entry.cohorts.written()}),
        "previous": entry.previous,
        "hash": entry.hash,
    }


_CSV: Final = (
    *("row", "time", "who", "kind", "policy", "policy_id", "release_id", "what", "edge"),
    *("epsilon", "epsilon_spent", "epsilon_budget", "epsilon_left", "epsilon_exact"),
    *("delta", "delta_spent", "delta_budget", "delta_left", "delta_exact", "hash", "accounting"),
)


def _lines(entry: Entry, accounts: Accounts) -> Iterator[tuple[object, ...]]:
    """A line per edge; decimals are rounded toward caution, exact fractions beside."""
    account = accounts[entry.policy_id]
    words = (entry.time, entry.who, entry.kind, account.policy_name, entry.policy_id)
    (left, delta_left), deltas = account.left_after(entry), account.delta_budget
    total, delta_total = entry.total_epsilon, entry.total_delta
    for edge, limit in account.budget.items():
        yield (
            *(entry.number, *words, entry.release_id, entry.label, edge),
            *_decimals(entry.epsilon[edge], total[edge], limit, left[edge]),
            *_decimals(entry.delta[edge], delta_total[edge], deltas[edge], delta_left[edge]),
            *(entry.hash, account.accounting),
        )


def _decimals(
    charged: Loss, total: Loss, limit: Fraction, left: Fraction
) -> tuple[float | str, ...]:
    return round_up(charged), round_up(total), round_down(limit), round_down(left), text(charged)
