"""``onesided monitor``: follow a folder of batches and keep a public status page current."""

from __future__ import annotations

import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from onesided._english import many
from onesided.cli._batches import BatchFile, BatchTime, Layout, Places, read_places
from onesided.cli._files import is_table
from onesided.cli._options import Config, Quiet
from onesided.cli._policies import read_policy
from onesided.cli._result import ledger_line, unread
from onesided.cli._schema import read_schema
from onesided.cli._terminal import Terminal, clean, print_line
from onesided.errors import DataError, OnesidedError, ParameterError, SchemaError
from onesided.monitor import Monitor, MonitorRelease
from onesided.monitor.kit import Folder, Look, duration, open_ledger, read_window
from onesided.schema import Schema
from onesided.show import read_outline


class Unknown(StrEnum):
    """What becomes of rows at places that are not among the keys."""

    ERROR = "error"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Everything that following a folder needs; the command line's options as a value."""

    input: Path
    out: Path
    every: float
    once: bool
    layout: Layout
    look: Look
    new: bool
    quiet: bool = False
    as_json: bool = False


def monitor(
    *,
    input: Annotated[Path, typer.Option(help="Folder of .parquet or .csv batches.")],  # noqa: A002
    epsilon: Annotated[
        str, typer.Option(help="Privacy loss that hides any --max-groups visits of a person.")
    ],
    at_most: Annotated[int, typer.Option(help="Certify places with at most this many people.")],
    window: Annotated[
        str, typer.Option(help="How long a visit counts: 90s, 5m, 2h, 14d, or a whole number.")
    ],
    state: Annotated[str, typer.Option(help="State file, or a PostgreSQL URL.")],
    out: Annotated[Path, typer.Option(help="Folder for the page and its data.")],
    keys: Annotated[
        Path | None, typer.Option(help="File of the public places; by default the schema's.")
    ] = None,
    schema: Annotated[
        Path | None, typer.Option(help="TOML file of types, unit and keys; see 'explain'.")
    ] = None,
    every: Annotated[str, typer.Option(help="How often to look for new batches.")] = "5s",
    policy: Annotated[str, typer.Option(help="Policy name or TOML file.")] = "presence",
    max_groups: Annotated[
        int | None, typer.Option(help="Visits of a person that ε hides together.")
    ] = None,
    charges: Annotated[
        int, typer.Option(help="How many answers above the threshold a record may be charged for.")
    ] = 1,
    person: Annotated[
        str | None,
        typer.Option(help="Column that says whose visit it is; the schema's unit, or 'person'."),
    ] = None,
    place: Annotated[str, typer.Option(help="Column of the place; also in the keys.")] = "place",
    time: Annotated[str | None, typer.Option(help="Column of event times.")] = None,
    batch_time: Annotated[
        BatchTime, typer.Option(help="Where a batch's public time comes from; see docs/monitor.md.")
    ] = BatchTime.AUTO,
    unknown_places: Annotated[
        Unknown, typer.Option(help="Rows at other places: an error, or left out.")
    ] = Unknown.ERROR,
    ledger: Annotated[
        str | None,
        typer.Option(envvar="ONESIDED_LEDGER", help="Ledger; by default beside the state."),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="Most that may ever be spent; by default epsilon.")
    ] = None,
    ahead: Annotated[str, typer.Option(help="How far a batch may be ahead of the clock.")] = "5m",
    title: Annotated[str, typer.Option(help="Title of the page.")] = "Monitor",
    outline: Annotated[
        Path | None,
        typer.Option(help="GeoJSON to draw under the map; by default coasts, if the map is wide."),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Process the files that are there, and stop.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a line of JSON for each step.")
    ] = False,
    quiet: Quiet = False,
    config: Config = None,  # noqa: ARG001 - it fills the others
) -> None:
    """Follow a folder; certify, never wrongly, which places had at most so many people.

    Each file is one batch. Its name is the batch's id and is accepted once. Every
    answer is drawn once, stored, then published. Stop with Ctrl-C or SIGTERM; the
    same command continues from there.

    Example: onesided monitor --input batches/ --every 5s --keys places.parquet
    --max-groups 3 --epsilon 1 --at-most 5 --window 14d --state state.db
    --out public/
    """
    _refuse_no_folder(input)
    wait = duration(every, name="--every") / 10**6
    length = int(window) if window.isdecimal() else window
    declared = read_schema(schema) or Schema()
    places = read_places(keys, place, declared)
    names = (declared.unit_of(person) or "person", place, time)
    layout = _layout(names, declared, batch_time, window=length)
    look = _look(places, layout, title=title, window=window, outline=outline)
    book = open_ledger(ledger, state)
    new = next(iter(book.accounts()), None) is None
    opened = Monitor(
        list(places.names),
        at_most=at_most,
        window=length,
        epsilon=epsilon,
        policy=read_policy(policy, max_groups=max_groups, sensitive=None),
        charges=charges,
        state=state,
        published=out,
        ledger=book,
        budget=budget,
        on_unknown=unknown_places.value,
        read_as=layout.read_as,
        ahead=ahead,
    )
    with book, opened:
        job = Job(
            input=input,
            out=out,
            every=wait,
            once=once,
            layout=layout,
            look=look,
            new=new,
            quiet=quiet,
            as_json=as_json,
        )
        raise typer.Exit(Follower(job, opened).run())


def _require_lenient(schema: Schema, names: Sequence[str]) -> None:
    """Refuse a schema that would refuse a batch for its rows: its absence shows in public.

    Errors: SchemaError.
    """
    for name in names:
        one = schema.columns.get(name)
        if one is not None and (
            one.required or (one.type != "text" and schema.refuses_unreadable(name))
        ):
            raise SchemaError(
                f"With the schema, one value of {name!r} could refuse a whole batch, and everybody "
                "would see that it is missing.",
                hint=f'Write unreadable = "missing" for {name!r}, and leave required out. What '
                "could not be read is told on the error stream with each batch.",
                column=name,
            )


def _layout(
    names: tuple[str, str, str | None], schema: Schema, source: BatchTime, *, window: int | str
) -> Layout:
    """Which columns are the person, the place and, if it is named, the time."""
    person, place, time = names
    _require_lenient(schema, (person, place, time or "time"))
    return Layout(
        person=person,
        place=place,
        time=time or "time",
        time_required=time is not None,
        source=source,
        scale=read_window(window)[0],
        schema=schema,
    )


def _look(places: Places, layout: Layout, *, title: str, window: str, outline: Path | None) -> Look:
    """How the page shows the places. Errors: ParameterError for what is no outline."""
    return Look(
        title=title,
        noun=layout.place,
        window=window,
        notes=layout.notes,
        latitude=places.latitude,
        longitude=places.longitude,
        outline=None if outline is None else read_outline(outline),
    )


def _told(release: MonitorRelease) -> dict[str, object]:
    """A step in numbers, for programs."""
    answer = release.answer
    certified, unknown = int(answer.certified.sum()), int(answer.positions.size)
    return {
        "step": release.number,
        "batch": release.batch,
        "time": release.time,
        "certified": certified,
        "unknown": unknown,
        "resting": int(answer.certified.size) - certified - unknown,
        "head": release.head,
    }


def _refuse_no_folder(path: Path) -> None:
    if not path.is_dir():
        raise DataError(f"There is no folder {str(path)!r}.", hint="Make it first.")


@dataclass(slots=True)
class Follower:
    """Takes in new files, oldest first, and republishes after each round."""

    job: Job
    monitor: Monitor
    _folder: Folder = field(init=False)
    _done: dict[str, tuple[int, int]] = field(default_factory=dict)
    _complained: dict[str, tuple[int, int]] = field(default_factory=dict)
    _console: Terminal = field(init=False)
    _notices: Terminal = field(default_factory=lambda: Terminal(stderr=True))

    def run(self) -> int:
        """Follow until told to stop; returns the exit code: of the signal, or 2 for refusals."""
        monitor = self.monitor
        self._console = Terminal(quiet=self.job.quiet or self.job.as_json)
        self._folder = Folder(
            path=self.job.out, look=self.job.look, guarantees=monitor.guarantees()
        )
        last = monitor.last
        self._console.print(self._ledger(), style="bold")
        self._console.print("\n".join(monitor.guarantees().sentences), style="dim")
        if last is not None:
            kept = self._folder.frames.maxlen or 0
            self._folder.add(monitor.history(after=max(0, last.number - kept)))
            self._publish(last)
            self._console.print(f"Resumed after step {last.number:,} (batch {last.batch}).")
        if monitor.awaited:
            self._notices.print(
                f"The state is {many(len(monitor.awaited), 'step')} behind what was published. "
                "The same "
                "batches will get the same answers; nothing else is taken in before them."
            )
        with _stoppable() as stop:
            while True:
                refused = self._round(stop)
                if self.job.once or stop.wait(self.job.every):
                    break
        last = monitor.last
        if stop.is_set():
            self._notices.print(
                f"Stopped after step {last.number if last else 0:,}. The same command goes on "
                "from there."
            )
            return stop.code
        return 2 if refused and self.job.once else 0

    def _ledger(self) -> str:
        """Where the monitor is charged, and what is left there."""
        book, own = self.monitor.ledger, self.monitor.rules.policy.identity
        left = next(one.remaining for one in book.balances() if one.policy_id == own)
        return ledger_line(clean(book.name), new=self.job.new, left=left)

    def _round(self, stop: Stop) -> int:
        """Take in what is new; publish if anything was."""
        refused, releases = 0, deque[MonitorRelease](maxlen=self._folder.frames.maxlen)
        for file in self._waiting():
            if stop.is_set():
                break
            try:
                release = self._step(file)
            except (DataError, ParameterError) as error:
                refused += 1
                self._complain(file, error)
                continue
            self._done[file.name] = file.stamp
            if release is not None:
                releases.append(release)
                self._console.print(release.summary)
                if self.job.as_json:
                    print_line(_told(release))
        if releases:
            self._folder.add(releases)
            self._publish(releases[-1])
        return refused

    def _publish(self, release: MonitorRelease) -> None:
        since = self.monitor.history(after=self._folder.steps.last)
        self._folder.write(release, since=since)

    def _waiting(self) -> list[BatchFile]:
        """New or changed files by their public time; a file without a time goes last."""
        files = []
        for path in sorted(self.job.input.iterdir()):
            if not is_table(path):
                continue
            try:
                stat = path.stat()
            except OSError:
                continue  # gone again
            file = BatchFile(path, (stat.st_mtime_ns, stat.st_size))
            if self._done.get(file.name) != file.stamp:
                files.append(file)
        awaited = {name: place for place, name in enumerate(self.monitor.awaited)}
        first = {file: awaited.get(file.name, len(awaited)) for file in files}
        return sorted(files, key=lambda file: (first[file], self.job.layout.order(file)))

    def _step(self, file: BatchFile) -> MonitorRelease | None:
        """Take in one file; None if it was accepted before and has not been written to since."""
        accepted = self.monitor.accepted(file.name)
        if accepted is not None and file.older_than(accepted):
            return None
        batch = self.job.layout.read(file)
        release = self.monitor.step(batch.columns, id=file.name, time=batch.time)
        for name, count in batch.unread.items():
            self._notices.print(f"{clean(file.name)}: {count:,} {unread(name, count)}")
        return None if accepted is not None else release

    def _complain(self, file: BatchFile, error: OnesidedError) -> None:
        """Once for each version of a file, to the curator only; it is tried again each round."""
        if self._complained.get(file.name) != file.stamp:
            self._complained[file.name] = file.stamp
            self._notices.print(Text("Not taken in: ", style="bold yellow"), end="")
            self._notices.print(f"{clean(file.name)}: {error.reason} {error.hint}")


class Stop(threading.Event):
    """Set once a signal asks to stop; ``code`` is what the command then ends with."""

    code = 0


@contextmanager
def _stoppable() -> Iterator[Stop]:
    """Ctrl-C and SIGTERM end the round after the current batch, which is stored and published."""
    stop = Stop()

    def ask(number: int, frame: object) -> None:  # noqa: ARG001 - what the system hands over
        stop.code = 128 + number
        stop.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
