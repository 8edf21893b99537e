"""``onesided plan``, ``check`` and ``explain``: all that can be known before anything is spent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Final, Self

import duckdb
import typer
from rich.table import Table

from onesided._numbers import percent, positive, readable, shown, text, whole
from onesided.accounting import NOTE, repeated
from onesided.bounds import correlation_from_toml
from onesided.cli._exits import FAILED
from onesided.cli._matrix import sentences as column_in_sentences
from onesided.cli._options import FromFiles, Printed
from onesided.cli._tables import read_policy, read_schema, read_toml_text, reading, write_text
from onesided.cli._terminal import Terminal, clean, print_json
from onesided.errors import ParameterError
from onesided.policy import Policy
from onesided.schema import Schema
from onesided.session import AtMost, Count, Plan, Session, health_of
from onesided.store import first_bytes

_GROUP: Final = "group"
_MANY: Final = 300  # among so many groups no noise is drawn for all at once
_DAYS: Final = 14
_DELTA: Final = "1/1000000"
_ENDLESS: Final = 10**9  # a plan is for choosing ε, not for what is left
_LOOKED_AT: Final = 2**20
_SCHEMA: Final = re.compile(
    rb"^[ \t]*(?:(?:unit|columns)[ \t]*[=.]|\[[ \t]*columns\b)", re.MULTILINE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted(Printed):
    """What is to be planned. The command line and the configuration fill this."""

    policy: Annotated[str, typer.Argument(help="Policy name or TOML file; see 'explain'.")]
    epsilon: Annotated[str, typer.Option(help="Privacy loss of one publication.")] = "1"
    max_groups: int | None = None
    at_most: int | None = None
    times: int = _DAYS
    days: int | None = None
    delta: str = _DELTA
    error: str | None = None
    certified: str | None = None
    at: int = 0
    plot: Path | None = None


WORDS: Final = {
    "times": "Number of publications about the same people.",
    "days": "Say what so many daily answers lose together at --delta, three ways.",
    "delta": "The δ that --days is told at.",
    "error": "Find the ε that is enough for this error.",
    "certified": "Find the ε that certifies this share of groups with --at units.",
    "at": "True count that --certified is about.",
    "plot": "Draw the error against ε into this .html, .png or .svg file.",
    "out": "Draw the kinds and moves into this SVG.",
    "correlation": "TOML file of what an attacker may know about several records together.",
    "toml": "Print the policy as TOML instead.",
}


def plan(wanted: Wanted) -> None:
    """Say how far off counts will be, what will be certified, and what publications add up to.

    It is about counts of units by group, with each unit in at most --max-groups
    groups. Needs no data. 'publish --plan' prices one publication of a table.

    Example: onesided plan presence --max-groups 3 --epsilon 1 --at-most 5
    """
    if wanted.days is not None and wanted.times != _DAYS:
        raise ParameterError("--times and --days exclude each other.", hint="Choose one.")
    times = whole(wanted.times if wanted.days is None else wanted.days, name="times", least=1)
    epsilon = positive(wanted.epsilon, name="epsilon")
    policy = read_policy(wanted.policy, max_groups=wanted.max_groups, sensitive=None)
    if policy.rules or policy.view:
        raise ParameterError(
            f"The policy '{policy.name}' reads columns of a table, and none is here.",
            hint="Plan with the table: onesided publish DATA ... --plan. Nothing is spent.",
        )
    asked = MadeUp.of(policy, wanted.max_groups, wanted.at_most)
    bought = [asked.buys(epsilon), asked.buys(epsilon / times)]
    needed = _needed(wanted, asked, epsilon)
    daily = None
    if wanted.days is not None:  # what so many answers lose together on each edge
        one = bought[0]
        loss = {edge: some for edge, some in one.charge.items() if isinstance(some, Fraction)}
        daily = repeated({NOTE: one.noise}, epsilon=loss, times=times, delta=wanted.delta)
    if wanted.plot is not None:
        bought[0].plot(times=times).write(wanted.plot)
    if wanted.as_json:
        first, shared = bought
        document: dict[str, Any] = {
            "policy": first.guarantee.policy,
            "certain": list(first.certain),
            "remarks": list(first.remarks),
            "one": _told(first),
            "times": times,
            "together": {edge: text(loss * times) for edge, loss in first.charge.items()},
            "each_of_them_sharing": _told(shared),
            "needed": None if needed is None else {"for": needed[0], "epsilon": text(needed[1])},
        }
        if daily is not None:
            edges = {e: {k: text(v) for k, v in o._asdict().items()} for e, o in daily.items()}
            document["days"] = {"delta": wanted.delta, "edges": edges}
        print_json(document)
        return
    console = Terminal(quiet=wanted.quiet)
    _print(console, replace(wanted, times=times), bought, needed)
    if daily is not None:
        table = Table(
            f"ε of {times:,} days, at δ = {wanted.delta}",
            *("added up", "renyi account", "a plan, fixed before"),
        )
        for edge, told in daily.items():
            table.add_row(edge, *(shown(n, up=True) for n in told if isinstance(n, Fraction)))
        console.print(table)


@dataclass(frozen=True, slots=True)
class MadeUp:
    """Questions about made-up groups, over no rows. most: how many of them a unit may be in."""

    session: Session
    most: int | None
    at_most: int | None

    @classmethod
    def of(cls, policy: Policy, most: int | None, at_most: int | None) -> Self:
        """The bound is what a question under this policy takes."""
        empty = duckdb.connect().sql('SELECT 1 AS unit, 1 AS "group" WHERE false')
        session = Session(empty, unit="unit", policy=policy, budget=_ENDLESS)
        bounded = policy.covers is not None or policy.single_valued
        return cls(session, None if bounded else most or 1, at_most)

    def about(self, epsilon: Fraction) -> dict[str, Any]:
        """What both questions say. There are twice as many groups as a unit may be in.

        Where a unit may be in most of them, a session draws for all at once and errs less than a
        plan may promise before the groups are known.
        """
        keys = list(range(min(2 * (self.session.policy.covers or self.most or 1), _MANY)))
        return {"by": _GROUP, "keys": keys, "epsilon": epsilon, "max_groups": self.most}

    def buys(self, epsilon: Fraction) -> Plan:
        """Of a count, and what is certified or likely then.

        Errors: ParameterError for a policy that no count can be made under.
        """
        count = self.session.plan(Count(**self.about(epsilon)))
        if self.at_most is None:
            return count
        told = self.session.plan(AtMost(self.at_most, **self.about(epsilon)))
        return replace(count, certifies=told.certifies, likely=told.likely)


def _needed(wanted: Wanted, asked: MadeUp, epsilon: Fraction) -> tuple[str, Fraction] | None:
    """What is wanted, in words, and the least ε that gives it. Errors: ParameterError."""
    if wanted.error is not None and wanted.certified is not None:
        raise ParameterError("--error and --certified exclude each other.", hint="Choose one.")
    about = asked.about(epsilon)
    if wanted.error is not None:
        found = asked.session.suggest(Count(**about), error=wanted.error)
        return f"an error of {wanted.error}", found.epsilon
    if wanted.certified is None:
        return None
    if asked.at_most is None:
        raise ParameterError(
            "--certified needs a threshold.", hint="Say what is certified: --at-most 5."
        )
    question = AtMost(asked.at_most, **about)
    found = asked.session.suggest(question, certified=wanted.certified, count=wanted.at)
    return f"a share of {wanted.certified} certified, if truly {wanted.at}", found.epsilon


def _print(
    console: Terminal, wanted: Wanted, bought: Sequence[Plan], needed: tuple[str, Fraction] | None
) -> None:
    one, most = bought[0], wanted.at_most
    for remark in one.remarks:
        console.print(remark)
    each = ", ".join(f"{edge}: {readable(loss)}" for edge, loss in one.charge.items())
    total = ", ".join(
        f"{edge}: {readable(loss * wanted.times)}" for edge, loss in one.charge.items()
    )
    console.print(f"Under '{one.guarantee.policy}', one publication costs -- {each}.")
    console.print(f"{wanted.times} of them add up to -- {total}.")
    for side in one.certain:
        never = {"upper": "low", "lower": "high"}[side]
        console.print(f"The {side} bound is certain: it is never too {never}.")
    table = Table("", f"at ε = {wanted.epsilon}", f"{wanted.times} sharing ε = {wanted.epsilon}")
    table.add_row("error of a count (r.m.s.)", *(f"{error_of(each):.3g}" for each in bought))
    # A group that is empty, about half full, and just at the threshold.
    for count in () if most is None else sorted({0, (most + 1) // 2, most}):
        shares = [percent(dict(each.certifies or each.likely).get(count, 0)) for each in bought]
        word = "likely" if one.likely else "certified"
        table.add_row(f"{word} at most {most}, if truly {count}", *shares)
    console.print(table)
    if needed is not None:
        console.print(f"For {needed[0]}: ε = {readable(needed[1])}.")


def _told(plan: Plan) -> dict[str, Any]:
    return {
        "charge": {edge: text(loss) for edge, loss in plan.charge.items()},
        "error": error_of(plan),
        "certified": {str(count): share for count, share in plan.certifies},
        **({"likely": {str(n): s for n, s in plan.likely}} if plan.likely else {}),
    }


def error_of(plan: Plan) -> float:
    """Of a count, root mean square."""
    return float(plan.options[0].error or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(FromFiles):
    """Which data are looked at. Command line and configuration fill this."""

    max_groups: Annotated[
        int | None, typer.Option(help="Count units in more groups than this.")
    ] = None


def check(asked: Check) -> None:
    """Look at the data before anything is spent: types, missing and unreadable values, ids.

    Opens no ledger. What it prints is for the curator, not for publication. It
    exits with 1 if a session over these data would be refused.

    Example: onesided check visits.csv --schema visits.schema.toml
    """
    declared = read_schema(asked.schema)
    with reading(asked.files, schema=declared, base=asked.base) as (data,):
        health = health_of(data, declared, unit=asked.unit, max_groups=asked.max_groups)
    if asked.as_json:
        print_json(health.as_dict())
    else:
        Terminal(quiet=asked.quiet).print(str(health))
    if not health.ok:
        raise typer.Exit(FAILED)


def explain(
    policy: Annotated[
        str, typer.Argument(help="A policy's name, or a policy's or schema's TOML file.")
    ],
    *,
    epsilon: Annotated[str, typer.Option(help="ε at which to state the odds.")] = "1",
    max_groups: int | None = None,
    sensitive: str | None = None,
    out: Path | None = None,
    correlation: Path | None = None,
    toml: bool = False,
    printed: Printed,
) -> None:
    """Say what a policy protects, what it does not, and how well; or what a schema declares.

    Example: onesided explain presence --max-groups 3
    """
    as_json = printed.as_json
    if toml and as_json:
        raise ParameterError("--toml and --json exclude each other.", hint="Choose one.")
    known = None
    if correlation is not None:
        known = correlation_from_toml(read_toml_text(correlation, "correlation"))
    schema = Schema.read(Path(policy)) if _is_schema(policy) else None
    if schema is not None and known is not None:
        raise ParameterError("A schema has no moves.", hint="Leave out --correlation.")
    if schema is not None and out is not None:
        raise ParameterError("There is no picture of a schema.", hint="Leave out --out.")
    chosen = schema or read_policy(policy, max_groups=max_groups, sensitive=sensitive)
    if toml:
        typer.echo(chosen.to_toml(), nl=False)
        return
    told: dict[str, Any]
    if isinstance(chosen, Schema):
        sentences = chosen.explain().splitlines()
        told = {"unit": chosen.unit, "identity": chosen.identity, "sentences": sentences}
        parts = {f"Schema {clean(policy)}": sentences}
    else:
        sentences = chosen.explain(epsilon=epsilon, correlation=known).splitlines()
        gives = column_in_sentences(chosen)
        edges = [{"name": edge.name, "weight": str(edge.weight)} for edge in chosen.edges]
        told = {"policy": chosen.name, "identity": chosen.identity, "edges": edges}
        told |= {"epsilon": epsilon, "sentences": sentences, "gives": gives}
        heading = f"Policy '{chosen.name}' at ε = {epsilon}"
        parts = {heading: sentences, "What questions give": gives}
    if as_json:
        print_json(told)
    console = Terminal(quiet=printed.quiet or as_json)
    for heading, lines in parts.items():
        console.print(heading, style="bold")
        for line in lines:
            console.print(f"• {clean(line)}")
    if isinstance(chosen, Policy) and out is not None:
        write_text(out, chosen.to_svg())
        console.print(f"Drawn into {out}.")


def _is_schema(name: str) -> bool:
    """Whether a file is a schema rather than a policy, by what it says."""
    try:
        text = first_bytes(Path(name), _LOOKED_AT)
    except (OSError, ValueError):
        return False
    return b"onesided_policy" not in text and _SCHEMA.search(text) is not None
