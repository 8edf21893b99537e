"""``onesided publish``: a table of visits to certified counts, with report and ledger."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from onesided._numbers import positive, text, whole
from onesided.cli._batches import position_columns
from onesided.cli._policies import read_policy
from onesided.cli._tables import reading
from onesided.engine.duckdb._text import quoted
from onesided.ledger import Entry, Ledger
from onesided.policy import Policy
from onesided.report import Publication, check_target, write_folder
from onesided.session import Count, Diagnostics, Plan, Release, Session

_STEPS = ("reading", "looking at bounds", "counting, charging and drawing", "writing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Everything that one publication needs; the command line's options as a value."""

    data: Path
    unit: str | None
    by: tuple[str, ...]
    policy: str
    epsilon: str
    keys: Path | None
    out: Path
    at_most: int | None = None
    max_groups: int | None = None
    on_excess: str | None = None
    where: str | None = None
    sensitive: str | None = None
    count: str | None = None
    budget: str | None = None
    ledger: str | None = None
    further: bool = False
    id: str | None = None
    title: str | None = None
    plan: bool = False


def publish(
    data: Annotated[Path, typer.Argument(help="A .parquet or .csv file, one row per visit.")],
    *,
    by: Annotated[list[str], typer.Option(help="Grouping column; repeat for several.")],
    policy: Annotated[str, typer.Option(help="Policy name or TOML file; see 'explain'.")],
    epsilon: Annotated[str, typer.Option(help="Privacy loss of this release, such as 1 or 1/2.")],
    out: Annotated[Path, typer.Option(help="Folder to make for the results.")],
    unit: Annotated[str | None, typer.Option(help="Column that says whose row it is.")] = None,
    keys: Annotated[Path | None, typer.Option(help="File of the public groups.")] = None,
    at_most: Annotated[int | None, typer.Option(help="Certify groups with at most this.")] = None,
    max_groups: Annotated[int | None, typer.Option(help="Groups of one unit covered by ε.")] = None,
    on_excess: Annotated[
        str | None, typer.Option(help="Units in more groups: keep, truncate or error.")
    ] = None,
    where: Annotated[str | None, typer.Option(help="SQL that picks rows.")] = None,
    sensitive: Annotated[str | None, typer.Option(help="SQL, for the sensitive policy.")] = None,
    count: Annotated[str | None, typer.Option(help="Kind of unit to count, such as open.")] = None,
    budget: Annotated[
        str | None, typer.Option(help="Most that may ever be spent; by default this epsilon.")
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="Ledger file or URL; by default <data name>.ledger.db here.")
    ] = None,
    further: Annotated[
        bool, typer.Option("--further", help="Open a further policy in a ledger that has others.")
    ] = False,
    id: Annotated[  # noqa: A002 - the option's name
        str | None, typer.Option(help="Name of this release; asking again re-reads it, free.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Say what it would cost and give, and stop.")
    ] = False,
) -> None:
    """Publish how many units are in each group, with bounds that are never wrong on one side.

    The charge is recorded in the ledger before any noise is drawn; the output folder appears
    complete or not at all. The keys file may have latitude and longitude columns for the map.

    Example: onesided publish visits.parquet --unit person --by place --policy presence
    --max-groups 3 --keys places.parquet --epsilon 1 --at-most 5 --out out/
    """
    perform(
        Job(
            data=data,
            unit=unit,
            by=tuple(by),
            policy=policy,
            epsilon=epsilon,
            keys=keys,
            out=out,
            at_most=at_most,
            max_groups=max_groups,
            on_excess=on_excess,
            where=where,
            sensitive=sensitive,
            count=count,
            budget=budget,
            ledger=ledger,
            further=further,
            id=id,
            title=title,
            plan=plan,
        )
    )


def perform(job: Job) -> None:
    """Do the job, showing progress on the error stream and a summary at the end."""
    if job.plan:
        Console().print(str(_planned(job)), markup=False, highlight=False, soft_wrap=True)
        return
    console, notices = Console(), Console(stderr=True)
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with _interruptible(notices), Progress(*columns, console=notices, transient=True) as progress:
        task = progress.add_task(_STEPS[0], total=len(_STEPS))

        def step(number: int) -> None:
            progress.update(task, completed=number, description=_STEPS[number])

        publication, diagnostics, place = _run(job, step)
    _say_to_curator(notices, job, diagnostics)
    unit = f"each {job.unit}" if job.unit else "each row on its own (--unit protects people)"
    console.print(_summary(publication, place, unit=escape(unit)))


def _run(job: Job, step: Callable[[int], None]) -> tuple[Publication, Diagnostics, Path]:
    """Check, charge, draw and write."""
    check_target(job.out)
    if job.at_most is not None:
        whole(job.at_most, name="threshold")
    positive(job.epsilon, name="epsilon")
    policy = read_policy(job.policy, max_groups=job.max_groups, sensitive=job.sensitive)
    with _files(job) as (data, keys):
        return _recorded(job, policy, data, keys, step)


def _recorded(
    job: Job, policy: Policy, data: Any, keys: Any, step: Callable[[int], None]
) -> tuple[Publication, Diagnostics, Path]:
    question = _question(job, keys)
    step(1)
    diagnostics = _tried_out(job, data, policy, question)
    with Ledger.open(job.ledger or f"{job.data.stem}.ledger.db") as ledger:
        budget = job.budget or _stated_budget(ledger, policy) or job.epsilon
        session = Session(
            data, unit=job.unit, policy=policy, budget=budget, ledger=ledger, further=job.further
        )
        step(2)
        release = session.ask(question)
        step(3)
        publication = _publication(job, session, release, keys)
        return publication, diagnostics, write_folder(publication, job.out)


def _tried_out(job: Job, data: Any, policy: Policy, question: Count) -> Diagnostics:
    """Facts for the curator; finds mistakes while the ledger has no account that they would bind.

    An account's policy and budget are for ever, so a misspelt column must not leave one behind.
    """
    with Ledger.open(None) as blank:
        budget = job.budget or job.epsilon
        trial = Session(data, unit=job.unit, policy=policy, budget=budget, ledger=blank)
        trial.plan(question)
        return trial.inspect(question)


def _planned(job: Job) -> Plan:
    """What the publication would cost and give. Looks at no row; writes and records nothing."""
    policy = read_policy(job.policy, max_groups=job.max_groups, sensitive=job.sensitive)
    with _files(job) as (data, keys):
        return _priced(job, policy, data, keys)


@contextmanager
def _files(job: Job) -> Iterator[tuple[Any, Any]]:
    with reading([job.data], *([] if job.keys is None else [[job.keys]])) as (data, *keys):
        yield data, keys[0] if keys else None


def _priced(job: Job, policy: Policy, data: Any, keys: Any) -> Plan:
    place = job.ledger or f"{job.data.stem}.ledger.db"
    # A ledger that is not there yet is not made for the sake of a plan.
    known = place if "://" in place or Path(place).exists() else None
    with Ledger.open(known) as ledger:
        budget = job.budget or _stated_budget(ledger, policy) or job.epsilon
        held = any(account.policy_id == policy.identity for account in ledger.accounts())
        with Ledger.open(None) as blank:
            session = Session(
                data,
                unit=job.unit,
                policy=policy,
                budget=budget,
                ledger=ledger if held else blank,
                further=held,
            )
            return session.plan(_question(job, keys))


def _question(job: Job, keys: Any) -> Count:
    return Count(
        by=job.by,
        keys=keys,
        epsilon=job.epsilon,
        max_groups=None if job.policy == "presence" else job.max_groups,
        on_excess=job.on_excess,  # type: ignore[arg-type]
        counted=job.count,
        where=job.where,
        id=job.id,
    )


def _publication(job: Job, session: Session, release: Release, keys: Any) -> Publication:
    latitude, longitude = _positions(keys, job.by)
    return Publication(
        release=release,
        policy=session.policy,
        entries=_own_entries(session)[-20:],
        head=session.ledger.head(),
        remaining=session.remaining,
        title=job.title or f"Counts by {', '.join(job.by)}",
        noun=job.by[0],
        threshold=job.at_most,
        latitude=latitude,
        longitude=longitude,
    )


def _own_entries(session: Session) -> tuple[Entry, ...]:
    """The rows of this policy; what was asked under other policies is not ours to publish."""
    own = session.policy.identity
    return tuple(entry for entry in session.ledger.entries() if entry.policy_id == own)


def _stated_budget(ledger: Ledger, policy: Policy) -> Fraction | None:
    """The budget that the ledger was opened with, so that it need not be repeated."""
    for account in ledger.accounts():
        if account.policy_id == policy.identity:
            edge = policy.edges[0]
            return account.budget[edge.name] / edge.weight
    return None


Degrees = NDArray[np.float64] | None


def _positions(keys: Any, by: tuple[str, ...]) -> tuple[Degrees, Degrees]:
    """Coordinates of the keys, in their order, where the file has them."""
    names = [] if keys is None else [name for name in keys.columns if name not in by]
    found = position_columns(names)
    if found is None:
        return None, None
    quotes = ", ".join(f"TRY_CAST({quoted(name)} AS DOUBLE)" for name in found)
    table = np.array(keys.project(quotes).fetchall(), dtype=np.float64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


@contextmanager
def _interruptible(notices: Console) -> Iterator[None]:
    """On Ctrl-C or a polite termination, remove partial output and say what was kept."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        notices.print("Interrupted. Nothing was published; what was charged stays charged.")
        raise typer.Exit(130) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _say_to_curator(notices: Console, job: Job, diagnostics: Diagnostics) -> None:
    """What only the curator may know; printed to the error stream and written nowhere."""
    facts = (
        (diagnostics.counted_outside_keys, "counted in groups that are not in the keys (left out)"),
        (diagnostics.rows_of_undecided_kind, "rows of undecided kind (counted as protected)"),
        (
            diagnostics.units_over_bound,
            f"units in more groups than covered by ε = {job.epsilon} "
            f"(up to {diagnostics.most_groups_of_a_unit} groups)",
        ),
    )
    lines = [f"  {number:,} {words}" for number, words in facts if number]
    if lines:
        notices.print("For you, not for publication:", style="bold yellow")
        notices.print("\n".join(lines), markup=False, highlight=False)


def _summary(publication: Publication, place: Path, *, unit: str) -> Table:
    """What was published, about whom, and what it cost."""
    release, certified = publication.release, publication.certified
    table = Table(title=publication.title, show_header=False, title_justify="left")
    table.add_column(style="bold")
    table.add_column()
    table.add_row("protected", unit)
    table.add_row("groups", f"{len(release.keys.rows):,}")
    if certified is not None:
        table.add_row(f"certified at most {publication.threshold}", f"{int(certified.sum()):,}")
        table.add_row("unknown", f"{int((~certified).sum()):,}")
    elif publication.threshold is not None:
        table.add_row("certified", "none: this policy allows no certain upper bound")
    table.add_row("upper bound", _side(certain=release.interval.upper_certain))
    table.add_row("lower bound", _side(certain=release.interval.lower_certain))
    for edge, loss in release.guarantee.epsilon.items():
        left = text(publication.remaining[edge])
        table.add_row(f"charged on {edge}", f"ε = {text(loss)}, {left} left")
    table.add_row("ledger entry", f"{release.entry}, head {publication.head[:16]}")
    table.add_row("written to", f"{place}/ (open report.html)")
    return table


def _side(*, certain: bool) -> str:
    return "certain, never wrong" if certain else "holds with 95 % per group"
