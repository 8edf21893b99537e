"""``onesided plan``: what an ε buys, and which ε something needs, before there are any data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Final

import duckdb
import typer
from rich.table import Table

from onesided._numbers import percent, positive, readable, text, whole
from onesided.cli._options import AsJson, Config, Quiet
from onesided.cli._policies import read_policy
from onesided.cli._terminal import Terminal, print_json
from onesided.errors import OutputError, ParameterError
from onesided.policy import Policy
from onesided.session import AtMost, Count, Plan, Session

_GROUP: Final = "group"
_MANY: Final = 300  # among so many groups no noise is drawn for all at once
_DAYS: Final = 14
_ENDLESS: Final = 10**9  # a plan is for choosing ε, not for what is left


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be planned. The command line and the configuration fill this."""

    policy: Annotated[str, typer.Argument(help="Policy name or TOML file; see 'explain'.")]
    epsilon: Annotated[str, typer.Option(help="Privacy loss of one publication.")] = "1"
    max_groups: Annotated[
        int | None, typer.Option(help="Groups of one unit that ε hides together.")
    ] = None
    at_most: Annotated[
        int | None, typer.Option(help="Certify groups with at most this many units.")
    ] = None
    times: Annotated[int, typer.Option(help="Number of publications about the same people.")] = (
        _DAYS
    )
    error: Annotated[str | None, typer.Option(help="Find the ε that is enough for this error.")] = (
        None
    )
    certified: Annotated[
        str | None,
        typer.Option(help="Find the ε that certifies this share of groups with --at units."),
    ] = None
    at: Annotated[int, typer.Option(help="True count that --certified is about.")] = 0
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the error against ε into this .html, .png or .svg file."),
    ] = None
    as_json: AsJson = False
    quiet: Quiet = False
    config: Config = None


def plan(wanted: Wanted) -> None:
    """Say how far off counts will be, what will be certified, and what publications add up to.

    It is about counts of units by group, with each unit in at most --max-groups
    groups. Needs no data. 'publish --plan' prices one publication of a table.

    Example: onesided plan presence --max-groups 3 --epsilon 1 --at-most 5
    """
    times = whole(wanted.times, name="times", least=1)
    epsilon = positive(wanted.epsilon, name="epsilon")
    asked = _Asked(*_session(wanted), wanted.at_most)
    bought = [asked.buys(epsilon), asked.buys(epsilon / times)]
    needed = _needed(wanted, asked, epsilon)
    if wanted.plot is not None:
        _draw(bought[0].count, wanted.plot, times)
    if wanted.as_json:
        print_json(_document(bought, needed, times))
        return
    _print(Terminal(quiet=wanted.quiet), wanted, bought, needed)


@dataclass(frozen=True, slots=True)
class _Bought:
    """What an ε buys: how well a count is known, and what is certified."""

    count: Plan
    certifies: Mapping[int, float]

    @property
    def error(self) -> float:
        """Of a count, root mean square."""
        return float(self.count.options[0].error or 0)


@dataclass(frozen=True, slots=True)
class _Asked:
    """Questions about made-up groups. most: how many of them a unit may be in."""

    session: Session
    most: int | None
    at_most: int | None

    def about(self, epsilon: Fraction) -> dict[str, Any]:
        """What both questions say."""
        keys = made_up(self.session.policy, self.most)
        return {"by": _GROUP, "keys": keys, "epsilon": epsilon, "max_groups": self.most}

    def buys(self, epsilon: Fraction) -> _Bought:
        """Errors: ParameterError for a policy that no count can be made under."""
        count = self.session.plan(Count(**self.about(epsilon)))
        if self.at_most is None:
            return _Bought(count, {})
        told = self.session.plan(AtMost(self.at_most, **self.about(epsilon)))
        return _Bought(count, dict(told.certifies))


def made_up(policy: Policy, most: int | None) -> list[int]:
    """Groups, where nobody knows them yet: twice as many as a unit may be in.

    Where a unit may be in most of them, a session draws for all at once and errs less than a plan
    may promise before the groups are known.
    """
    return list(range(min(2 * (policy.covers or most or 1), _MANY)))


def _session(wanted: Wanted) -> tuple[Session, int | None]:
    """A session over no rows, and the bound that a question under this policy takes."""
    policy = read_policy(wanted.policy, max_groups=wanted.max_groups, sensitive=None)
    if policy.rules or policy.view:
        raise ParameterError(
            f"The policy '{policy.name}' reads columns of a table, and none is here.",
            hint="Plan with the table: onesided publish DATA ... --plan. Nothing is spent.",
        )
    empty = duckdb.connect().sql('SELECT 1 AS unit, 1 AS "group" WHERE false')
    session = Session(empty, unit="unit", policy=policy, budget=_ENDLESS)
    return session, _most(policy, wanted.max_groups)


def _most(policy: Policy, asked: int | None) -> int | None:
    if policy.covers is not None or policy.single_valued:
        return None
    return 1 if asked is None else asked


def _needed(wanted: Wanted, asked: _Asked, epsilon: Fraction) -> tuple[str, Fraction] | None:
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
    console: Terminal,
    wanted: Wanted,
    bought: Sequence[_Bought],
    needed: tuple[str, Fraction] | None,
) -> None:
    one = bought[0].count
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
    table.add_row("error of a count (r.m.s.)", *(f"{each.error:.3g}" for each in bought))
    for count in () if wanted.at_most is None else _counts(wanted.at_most):
        shares = [percent(each.certifies.get(count, 0)) for each in bought]
        told = f"certified at most {wanted.at_most}, if truly {count}"
        table.add_row(told, *shares)
    console.print(table)
    if needed is not None:
        console.print(f"For {needed[0]}: ε = {readable(needed[1])}.")


def _counts(threshold: int) -> list[int]:
    """Empty, about half, and just at the threshold."""
    return sorted({0, (threshold + 1) // 2, threshold})


def _document(
    bought: Sequence[_Bought], needed: tuple[str, Fraction] | None, times: int
) -> dict[str, Any]:
    one, shared = bought
    return {
        "policy": one.count.guarantee.policy,
        "certain": list(one.count.certain),
        "remarks": list(one.count.remarks),
        "one": _told(one),
        "times": times,
        "together": {edge: text(loss * times) for edge, loss in one.count.charge.items()},
        "each_of_them_sharing": _told(shared),
        "needed": None if needed is None else {"for": needed[0], "epsilon": text(needed[1])},
    }


def _told(bought: _Bought) -> dict[str, Any]:
    return {
        "charge": {edge: text(loss) for edge, loss in bought.count.charge.items()},
        "error": bought.error,
        "certified": {str(count): share for count, share in bought.certifies.items()},
    }


def _draw(plan: Plan, out: Path, times: int) -> None:
    """The curve of the error by ε. Errors: OutputError; ParameterError for another kind of file."""
    if out.suffix not in (".html", ".png", ".svg"):
        raise ParameterError(
            f"A picture {out.suffix or 'without a suffix'!r} cannot be drawn.",
            hint="Name a .html, .png or .svg file.",
        )
    drawn = plan.plot(times=times, backend="plotly" if out.suffix == ".html" else "matplotlib")
    try:
        if out.suffix == ".html":
            drawn.write_html(out, include_plotlyjs=True)
        else:
            drawn.savefig(out)
    except OSError as error:
        raise OutputError(
            f"The picture {str(out)!r} could not be written: {error.strerror}.",
            hint="Name a file in a folder that exists.",
        ) from error
