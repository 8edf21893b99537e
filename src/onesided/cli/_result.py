"""What is said of a publication: to everybody, and to the curator alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.table import Table

from onesided._english import many
from onesided._numbers import text
from onesided.cli._terminal import Terminal, clean, print_json
from onesided.report import Publication, stated
from onesided.session import Diagnostics

_MOST_FILES = 20
NEVER = "none: this policy allows no certain upper bound"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A publication, where it went, and the ledger that was charged for it, without password."""

    publication: Publication
    ledger: str
    new: bool
    unit: str | None
    files: tuple[Path, ...]
    written: Path

    @property
    def first(self) -> str:
        """The ledger, whether it is new, and what is left."""
        return ledger_line(self.ledger, new=self.new, left=self.publication.remaining)

    @property
    def document(self) -> dict[str, Any]:
        """The same for programs."""
        found = stated(self.publication)
        found["ledger"] |= {"where": self.ledger, "new": self.new}
        return {**found, "written": str(self.written)}


def ledger_line(name: str, *, new: bool, left: Mapping[str, Fraction]) -> str:
    """A command's first line: its ledger, whether it is new, and what is left.

    >>> ledger_line("ledger city.db", new=True, left={"a -> b": Fraction(1, 2)})
    'Ledger city.db (new): 1/2 left on a -> b.'
    """
    rest = "; ".join(f"{text(much)} left on {edge}" for edge, much in left.items())
    return f"{name[:1].upper()}{name[1:]} ({'new' if new else 'it was there'}): {rest}."


def say(result: Result, *, as_json: bool, quiet: bool) -> None:
    """Print the result: first its ledger, then what else must be known first, then the rest."""
    if as_json:
        print_json(result.document)
    if as_json or quiet:
        return
    terminal, publication = Terminal(), result.publication
    first = publication.first
    told = first[0] + " " if publication.told_again else ""
    terminal.print(told + result.first, style="bold")
    for words in first[1:] if told else first:
        terminal.print(words, style="bold yellow")
    if len(result.files) > 1:
        names = [clean(str(path)) for path in result.files[:_MOST_FILES]]
        more = len(result.files) - len(names)
        rest = f" and {more:,} more" if more else ""
        terminal.print(f"Read {many(len(result.files), 'file')}: {', '.join(names)}{rest}")
    terminal.print(_table(result))


def _table(result: Result) -> Table:
    """What was published, about whom, and what it cost."""
    publication = result.publication
    release, certified = publication.release, publication.certified
    unit = f"each {result.unit}" if result.unit else "each row on its own (--unit protects people)"
    table = Table(title=clean(publication.title), show_header=False, title_justify="left")
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    table.add_row("protected", clean(unit))
    table.add_row("groups", f"{release.keys.size:,}")
    if certified is not None:
        table.add_row(f"certified at most {publication.threshold}", f"{int(certified.sum()):,}")
        table.add_row("unknown", f"{int((~certified).sum()):,}")
    elif publication.threshold is not None:
        table.add_row("certified", NEVER)
    about = release.guarantee.scope
    table.add_row("upper bound", _side(certain=release.interval.upper_certain, about=about))
    table.add_row("lower bound", _side(certain=release.interval.lower_certain, about=about))
    for edge, loss in release.guarantee.epsilon.items():
        charged = "nothing, it was told again" if publication.told_again else f"ε = {text(loss)}"
        table.add_row(f"charged on {clean(edge)}", charged)
    table.add_row("ledger entry", f"{release.entry}, head {publication.head[:16]}")
    table.add_row("written to", f"{clean(str(result.written))}/ (open report.html)")
    return table


def _side(*, certain: bool, about: str) -> str:
    if not certain:
        return "holds with 95 % per group" + (f", about {about}" if about else "")
    return f"certain, about {about or 'the data as they are'}"


@dataclass(frozen=True, slots=True)
class CuratorNotes:
    """What only the curator may know.

    facts: about the data behind the question, None where they were not read.
    """

    facts: Diagnostics | None

    def lines(self, *, epsilon: str) -> list[str]:
        """One line for each that is not nothing."""
        found = []
        if self.facts is not None:
            facts = self.facts
            found += [(count, unread(name, count)) for name, count in facts.unreadable.items()]
            found += [
                (
                    facts.counted_outside_keys,
                    "counted in groups that are no keys (left out)",
                ),
                (facts.rows_of_undecided_kind, "rows of undecided kind (counted as protected)"),
                (
                    facts.units_over_bound,
                    f"units in more groups than covered by ε = {epsilon} "
                    f"(up to {many(facts.most_groups_of_a_unit, 'group')})",
                ),
            ]
        return [f"  {number:,} {words}" for number, words in found if number]


def unread(name: str, count: int) -> str:
    """What is said of texts that are not of the form that a schema declares."""
    many = "text is" if count == 1 else "texts are"
    return f"{many} not of the declared form of {clean(name)!r} (taken as unknown)"


def say_to_curator(notices: Terminal, notes: CuratorNotes, *, epsilon: str) -> None:
    """Print them to the error stream; they are written nowhere."""
    lines = notes.lines(epsilon=epsilon)
    if lines:
        notices.print("For you, not for publication:", style="bold yellow")
        notices.print("\n".join(lines))
