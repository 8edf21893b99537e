"""``onesided publish``: a table of visits to certified counts, with report and ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import duckdb
import typer
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from onesided._numbers import positive, whole
from onesided.cli._files import table_folder
from onesided.cli._key_table import with_degrees
from onesided.cli._options import AsJson, Config, Quiet
from onesided.cli._policies import read_policy
from onesided.cli._result import NEVER, CuratorNotes, Result, say, say_to_curator
from onesided.cli._schema import as_declared, file_of_keys, read_schema
from onesided.cli._tables import FromFiles, reading
from onesided.cli._terminal import Terminal, print_json
from onesided.engine.kit import OfFiles
from onesided.errors import LedgerUnavailableError, ParameterError, ReleaseExistsError
from onesided.ledger import Ledger
from onesided.policy import Policy
from onesided.report import Publication, write_folder
from onesided.schema import Schema
from onesided.session import Count, CountRelease, Session
from onesided.show import NewFolder, new_folder, read_outline, require_sheet
from onesided.store import CheckedFiles

_LEDGER = "onesided.ledger.db"
_ROOM = 2**24  # the page's scripts are five megabytes; the rest grows with the keys
EMPTY = "0" * 64  # the head of a ledger without rows
_STEPS = ("reading", "looking at bounds", "counting, charging and drawing", "writing")
_BYTES_PER_KEY = 1024  # in the files of a release


@dataclass(frozen=True, slots=True, kw_only=True)
class Publish(FromFiles):
    """What one publication is asked to be. Command line, configuration and demo all fill this."""

    data: Annotated[
        Path | None, typer.Argument(help="A .parquet or .csv file of rows about people.")
    ] = None
    by: Annotated[list[str], typer.Option(help="Grouping column; repeat for several.")]
    policy: Annotated[str, typer.Option(help="Policy name or TOML file; see 'explain'.")]
    epsilon: Annotated[str, typer.Option(help="Privacy loss of this release, such as 1 or 1/2.")]
    out: Annotated[Path | None, typer.Option(help="Folder to make for the results.")] = None
    input: Annotated[
        str | None,
        typer.Option(help="Instead of DATA: a folder, or a pattern such as 'visits/*.parquet'."),
    ] = None
    unit: Annotated[str | None, typer.Option(help="Column that says whose row it is.")] = None
    keys: Annotated[Path | None, typer.Option(help="File of the public groups.")] = None
    schema: Annotated[
        Path | None, typer.Option(help="TOML file of types, unit and keys; see 'explain'.")
    ] = None
    at_most: Annotated[
        int | None, typer.Option(help="Certify groups with at most this many units.")
    ] = None
    max_groups: Annotated[
        int | None, typer.Option(help="Groups of one unit that ε hides together.")
    ] = None
    on_excess: Annotated[
        str | None,
        typer.Option(help="What to do with units in more groups: keep, truncate or error."),
    ] = None
    where: Annotated[str | None, typer.Option(help="Condition that selects rows.")] = None
    unknown: Annotated[
        str | None,
        typer.Option(
            help="Rows for which --where is unknown: possible counts them, recorded does not; by "
            "default possible with --at-most."
        ),
    ] = None
    sensitive: Annotated[
        str | None, typer.Option(help="Condition that says who is sensitive, for that policy.")
    ] = None
    count: Annotated[str | None, typer.Option(help="Kind of unit to count, such as open.")] = None
    budget: Annotated[
        str | None, typer.Option(help="Most that may ever be spent; by default this epsilon.")
    ] = None
    ledger: Annotated[
        str | None,
        typer.Option(
            envvar="ONESIDED_LEDGER",
            help=f"Ledger file or URL; by default {_LEDGER} beside the data.",
        ),
    ] = None
    further: Annotated[
        bool, typer.Option("--further", help="Allow a further policy in a ledger that has others.")
    ] = False
    id: Annotated[
        str | None, typer.Option(help="Name of this release; refused if it has an answer already.")
    ] = None
    again: Annotated[
        bool, typer.Option("--again", help="Return the stored answer of --id again, at no charge.")
    ] = False
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None
    outline: Annotated[
        Path | None,
        typer.Option(help="GeoJSON to draw under the map; by default coasts, if the map is wide."),
    ] = None
    excel: Annotated[bool, typer.Option("--excel", help="Write a workbook, too: release.xlsx.")] = (
        False
    )
    plan: Annotated[
        bool, typer.Option("--plan", help="Show the cost and the expected error, and stop.")
    ] = False
    as_json: AsJson = False
    quiet: Quiet = False
    config: Config = None

    @property
    def target(self) -> Path:
        """Where the results go. Errors: ParameterError."""
        if self.out is None:
            raise ParameterError("Missing --out.", hint="Name a folder to make for the results.")
        return self.out

    def ledger_place(self, files: tuple[Path, ...]) -> str:
        """The ledger: as named, or beside the configuration or the data, links resolved.

        One for all files of a folder, wherever the command is run. Errors: ParameterError.
        """
        if self.ledger is not None:
            return self.ledger
        if self.config is not None:
            return str(self.config.resolve().parent / _LEDGER)
        folders = {table_folder(path) for path in files}
        if len(folders) != 1:
            raise ParameterError(
                "The data are in several folders, so no ledger stands beside them.",
                hint="Name one with --ledger.",
            )
        return str(folders.pop() / _LEDGER)

    def question(self, keys: Any) -> Count:
        """The question that it asks."""
        return Count(
            by=tuple(self.by),
            keys=keys,
            epsilon=self.epsilon,
            max_groups=None if self.policy == "presence" else self.max_groups,
            on_excess=self.on_excess,  # type: ignore[arg-type]
            counted=self.count,
            where=self.where,
            unknown=self.unknown or ("recorded" if self.at_most is None else "possible"),  # type: ignore[arg-type] # it refuses others
            id=self.id,
            again=self.again,
        )


def publish(asked: Publish) -> None:
    """Publish how many units are in each group; where the policy allows, one bound is never wrong.

    The ledger records the charge before any noise is drawn. The output folder
    appears complete or not at all. Other columns of the keys file, such as names
    and positions, are published beside the keys.

    Example: onesided publish visits.parquet --unit person --by place
    --policy presence --max-groups 3 --keys places.parquet --epsilon 1
    --at-most 5 --out out/
    """
    if asked.plan:
        _say_plan(asked)
    else:
        say(perform(asked), as_json=asked.as_json, quiet=asked.quiet)


def perform(asked: Publish) -> Result:
    """Make the publication, showing progress and the curator's facts on the error stream."""
    notices = Terminal(stderr=True, quiet=asked.quiet)
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with (
        new_folder(asked.target, room=_ROOM) as folder,
        _saying_what_is_kept(folder),
        Progress(
            *columns, console=notices, transient=True, disable=not notices.is_terminal
        ) as progress,
    ):
        task = progress.add_task(_STEPS[0], total=len(_STEPS))

        def step(number: int) -> None:
            progress.update(task, completed=number, description=_STEPS[number])

        result, notes = _published(asked, folder, step)
    say_to_curator(notices, notes, epsilon=asked.epsilon)
    return result


def _published(
    asked: Publish, folder: NewFolder, step: Callable[[int], None]
) -> tuple[Result, CuratorNotes]:
    """Parse, check, charge, write."""
    if asked.at_most is not None:
        whole(asked.at_most, name="threshold")
    positive(asked.epsilon, name="epsilon")
    outline = None if asked.outline is None else read_outline(asked.outline)
    policy, files, (asked, schema) = _policy(asked), asked.files, _declared(asked)
    with _tables(asked, files, schema) as (data, keys), _ledger_of(asked, files) as ledger:
        question, new = asked.question(keys), ledger.head() == EMPTY
        session = _session(asked, data, policy, ledger, schema)
        told_again = _drawn(ledger, policy, asked.id)
        if told_again is not None and not asked.again:
            raise ReleaseExistsError(
                f"The id {asked.id!r} has an answer, drawn on {told_again}.",
                hint="Return it again with --again, or draw anew under another --id.",
            )
        step(1)
        # What is told again is about the data of then, and those of today are not read.
        looks = told_again is None and session.plan(question).affordable
        facts = session.inspect(question) if looks else None
        folder.reserve(_room(_rows(keys), excel=asked.excel))
        step(2)
        release = session.ask(question)
        step(3)
        publication = _publication(asked, session, release, told_again, outline)
        written = write_folder(publication, folder)
        result = Result(
            publication=publication,
            ledger=ledger.name,
            new=new,
            unit=asked.unit,
            files=files,
            written=written,
        )
    return result, CuratorNotes(facts)


def _declared(asked: Publish) -> tuple[Publish, Schema | None]:
    """The schema, and what is asked with the unit and the file of keys that it brings."""
    schema = read_schema(asked.schema)
    if schema is None:
        return asked, None
    one = asked.by[0] if len(asked.by) == 1 else ""
    keys = file_of_keys(schema, one) if asked.keys is None else asked.keys
    return replace(asked, unit=schema.unit_of(asked.unit), keys=keys), schema


def _policy(asked: Publish) -> Policy:
    return read_policy(asked.policy, max_groups=asked.max_groups, sensitive=asked.sensitive)


@contextmanager
def _tables(
    asked: Publish, files: tuple[Path, ...], schema: Schema | None
) -> Iterator[tuple[Any, Any]]:
    """The data, and the keys as they are declared, if a file has them."""
    tables, place = (
        [files, *([] if asked.keys is None else [[asked.keys]])],
        asked.ledger_place(files),
    )
    checked = CheckedFiles(files, None if "://" in place else Path(place).expanduser())
    with reading(*tables, schema=schema, base=asked.base) as (rows, *keys):
        data = OfFiles(rows, checked)
        if not keys:
            yield data, None
        else:
            with as_declared(keys[0], schema) as told:
                yield data, with_degrees(told, asked.by)
    checked.save()


@contextmanager
def _ledger_of(asked: Publish, files: tuple[Path, ...]) -> Iterator[Ledger]:
    """The ledger. Errors: LedgerUnavailableError that names --ledger where nobody chose a place."""
    try:
        with Ledger.open(asked.ledger_place(files)) as ledger:
            yield ledger
    except LedgerUnavailableError as error:
        if asked.ledger is not None:
            raise
        raise LedgerUnavailableError(
            f"{error.reason} It stands beside the data because no other place was named.",
            hint="Name a ledger that you may write to with --ledger or ONESIDED_LEDGER, and the "
            f"same one each time. {error.hint}",
            **error.values,
        ) from error


def _session(
    asked: Publish, data: Any, policy: Policy, ledger: Ledger, schema: Schema | None
) -> Session:
    budget = asked.budget or _stated_budget(ledger, policy) or asked.epsilon
    return Session(
        data,
        unit=asked.unit,
        schema=schema,
        policy=policy,
        budget=budget,
        ledger=ledger,
        further=asked.further,
    )


def _say_plan(asked: Publish) -> None:
    """What the publication would cost and give. Looks at no row; writes and records nothing."""
    with session_of(asked) as (session, keys):
        plan = session.plan(asked.question(keys))
        told = plan if asked.at_most is None else plan.certifying(asked.at_most)
        if asked.as_json:
            print_json(told.as_dict())
            return
        terminal = Terminal(quiet=asked.quiet)
        terminal.print(str(told))
        if asked.at_most is not None and not told.certifies:
            terminal.print(f"Certified at most {asked.at_most}: {NEVER}")


@contextmanager
def session_of(asked: Publish) -> Iterator[tuple[Session, Any]]:
    """The session over these data and this ledger, and the keys if a file has them."""
    policy, files, (asked, schema) = _policy(asked), asked.files, _declared(asked)
    with _tables(asked, files, schema) as (data, keys), _ledger_of(asked, files) as ledger:
        yield _session(asked, data, policy, ledger, schema), keys


def _publication(
    asked: Publish,
    session: Session,
    release: CountRelease,
    told_again: str | None,
    outline: object,
) -> Publication:
    own = session.policy.identity
    # What was asked under other policies is not ours to publish.
    entries = session.ledger.entries(policy_id=own, last=20)
    return Publication(
        release=release,
        policy=session.policy,
        entries=entries,
        head=session.ledger.head(),
        remaining=session.remaining,
        title=asked.title or release.title,
        noun=asked.by[0],
        threshold=asked.at_most,
        outline=outline,
        told_again=told_again,
        excel=asked.excel,
    )


def _drawn(ledger: Ledger, policy: Policy, name: str | None) -> str | None:
    """When the answer of that id was drawn, if it is on record."""
    accounts = [one for one in ledger.accounts() if one.policy_id == policy.identity]
    stored = next((one.recall(name) for one in accounts), None) if name else None
    entry = None if stored is None else ledger.entry(stored.number)
    return None if entry is None else f"{entry.time[:16].replace('T', ' ')} UTC"


def _stated_budget(ledger: Ledger, policy: Policy) -> Fraction | None:
    """The budget that the ledger was opened with, so that it need not be repeated."""
    for account in ledger.accounts():
        if account.policy_id == policy.identity:
            edge = policy.edges[0]
            return account.budget[edge.name] / edge.weight
    return None


def _rows(keys: duckdb.DuckDBPyRelation | None) -> int:
    ((count,),) = [(1,)] if keys is None else keys.aggregate("count(*)").fetchall()
    return int(count)


def _room(rows: int, *, excel: bool) -> int:
    """How much of the disk the results may take. Errors: as :func:`onesided.show.require_sheet`."""
    if excel:
        require_sheet(rows)
    return _ROOM + _BYTES_PER_KEY * rows


@contextmanager
def _saying_what_is_kept(folder: NewFolder) -> Iterator[None]:
    """When it is interrupted, say what there is now."""
    try:
        yield
    except KeyboardInterrupt:
        kept = (
            f"It was published in {folder.target}."
            if folder.published
            else "Nothing was published; what was charged stays charged."
        )
        Terminal(stderr=True).print(f"Interrupted. {kept}")
        raise
