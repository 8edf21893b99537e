"""``onesided ask`` and ``publish``: a table of visits to answers, with ledger and report."""

from __future__ import annotations

import filecmp
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.table import Table

from onesided._english import many
from onesided._numbers import positive, shown, text, whole
from onesided.cli._options import FromFiles, arguments
from onesided.cli._publication import Publication
from onesided.cli._tables import (
    as_declared,
    file_of_keys,
    read_policy,
    read_schema,
    reading,
    table_folder,
    with_degrees,
)
from onesided.cli._terminal import Terminal, clean, print_json
from onesided.engine.kit import OfFiles
from onesided.errors import LedgerError, LedgerUnavailableError, ParameterError, ReleaseExistsError
from onesided.ledger import PURE, Account, Ledger, at_delta
from onesided.policy import Policy
from onesided.schema import Schema
from onesided.session import (
    Answers,
    Count,
    Diagnostics,
    Plan,
    Release,
    Series,
    Session,
    Synthetic,
    ask_releases,
    release_from_json,
    release_to_json,
)
from onesided.session.kit import IN_SQL, QUERIES
from onesided.show import NewFolder, new_folder, read_outline, require_sheet, unwritable
from onesided.store import CheckedFiles

LEDGER: Final = "onesided.ledger.db"
_ROOM: Final = 2**24  # the page's scripts are five megabytes; the rest grows with the keys
_EMPTY: Final = "0" * 64  # the head of a ledger without rows
_BYTES_PER_KEY: Final = 1024  # in the files of a release
_MOST_FILES: Final = 20
_NEVER: Final = "none: this policy allows no certain upper bound"
_OWN: Final = ("epsilon", "by", "keys", "id", "again", "title")
OF_COUNTS: Final = arguments([Count], without={*_OWN, *Count.later})
OF_QUERIES: Final = arguments(QUERIES, without={*IN_SQL, *_OWN})


@dataclass(frozen=True, slots=True, kw_only=True)
class Charged(FromFiles):
    """What is asked of a table and charged to a ledger. said: other arguments of the question."""

    policy: str
    epsilon: str | None = None
    keys: Path | None = None
    sensitive: str | None = None
    budget: str | None = None
    delta_budget: str | None = None
    accounting: str | None = None
    ledger: str | None = None
    another_ledger: bool = False
    further: bool = False
    today: str | None = None
    id: str | None = None
    again: bool = False
    title: str = ""
    plan: bool = False
    said: Mapping[str, Any] = field(default_factory=dict)

    def ledger_place(self, files: tuple[Path, ...]) -> str:
        """The ledger: as named, or beside the configuration, the schema or the data.

        Links are resolved: there is one for all files of a folder, wherever the command is run.
        Of several places it is the one where a ledger is. Errors: ParameterError.
        """
        if self.ledger is not None:
            return self.ledger
        folders = self._folders(files)
        there = [folder / LEDGER for folder in folders if (folder / LEDGER).exists()]
        return str((there or [folders[0] / LEDGER])[0])

    def _folders(self, files: tuple[Path, ...]) -> list[Path]:
        """Where a ledger of theirs may stand, the first choice first. Errors: ParameterError."""
        named = [path.resolve().parent for path in (self.config, self.schema) if path is not None]
        folders = {table_folder(path) for path in files}
        if len(folders) != 1 and not named:
            raise ParameterError(
                "The data are in several folders, so no ledger stands beside them.",
                hint="Name one with --ledger.",
            )
        return list(dict.fromkeys([*named, *sorted(folders)]))

    def refuse_second(self, ledger: Ledger, files: tuple[Path, ...]) -> None:
        """Refuse to begin a ledger for data whose schema has one. Errors: ParameterError."""
        named = self.config is not None or self.schema is not None
        if self.another_ledger or not named or ledger.head() != _EMPTY:
            return
        beside = (path for folder in self._folders(files) for path in sorted(folder.glob("*.db")))
        first = next((path for path in beside if _has_accounts(path)), None)
        if first is not None:
            raise ParameterError(
                f"There is a ledger for these data, {str(first)!r}, and this is another: whoever "
                "is in the data would lose what both allow.",
                hint=f"Use --ledger {first}, or --another-ledger if it is about other people.",
            )

    def arguments(self, keys: Any) -> dict[str, Any]:
        """What the question is asked with; a policy that brings its bound takes no other."""
        more = {name: value for name, value in self.said.items() if name != "max_groups"}
        if self.policy != "presence" and "max_groups" in self.said:
            more["max_groups"] = self.said["max_groups"]
        if keys is not None:
            more["keys"] = keys
        named = {"id": self.id, "again": self.again, "title": self.title}
        return {**more, **named, "epsilon": self.epsilon}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask(Charged):
    """One query. Command line and configuration fill this."""

    query: Annotated[str, typer.Argument(help="SELECT ...; see docs/sql.md.")]
    data: Path | None = None
    policy: str = ""
    releases: list[Path] | None = None
    likely: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Publish(Charged):
    """What one publication is asked to be. Command line, configuration and demo all fill this."""

    by: list[str]
    epsilon: str
    out: Path | None = None
    at_most: int | None = None
    outline: Path | None = None
    excel: bool = False
    series: list[str] | None = None

    @property
    def target(self) -> Path:
        """Where the results go. Errors: ParameterError."""
        if self.out is None:
            raise ParameterError("Missing --out.", hint="Name a folder to make for the results.")
        return self.out

    def question(self, keys: Any) -> Count:
        """The question that it asks; what is certified is certain about the truth."""
        unknown = "recorded" if self.at_most is None else "possible"
        return Count(by=tuple(self.by), **{"unknown": unknown, **self.arguments(keys)})


def ask(asked: Ask) -> None:
    """Answer a query in SQL; it is charged to the ledger before any noise is drawn.

    Example: onesided ask
    "SELECT place, COUNT(DISTINCT person) FROM visits GROUP BY place"
    --data visits.parquet --unit person --policy presence --max-groups 3
    --keys places.parquet --epsilon 1
    """
    if asked.releases:
        # Compute with the bounds of answers in files;
        if asked.data is not None or asked.input is not None or asked.epsilon is not None:
            raise ParameterError(
                "--releases computes with answers that were published: there are no data and no ε.",
                hint="Leave them out, or leave out --releases.",
            )
        answers: dict[str, Release] = {}
        for path in asked.releases:
            if path.stem in answers:
                raise ParameterError(
                    f"Two answers are called {path.stem!r}.", hint="Rename a file."
                )
            try:
                answers[path.stem] = release_from_json(path.read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError) as error:
                raise ParameterError(
                    f"Cannot read --releases {str(path)!r}: {error}.",
                    hint="Name files of 'onesided ask --json'.",
                ) from error
        computed = ask_releases(asked.query, answers, likely=asked.likely)
        columns = [[name, list(one)] for name, one in computed.table.columns().items()]
        about = {"about": list(computed.sentences()), "columns": columns}
        _tell(asked, computed, {**about, "confidence": computed.confidence})
        return
    if not asked.policy:
        raise ParameterError("No policy is named.", hint="Pass --policy, or --releases FILE.")
    with session_of(asked) as opened:
        session, more = opened.session, asked.arguments(opened.keys)
        found: Any
        if asked.plan:
            found = session.plan(session.question(asked.query, **more))
        else:
            found = session.sql(asked.query, **more)
        _tell(asked, found, _document(found), *(() if isinstance(found, Plan) else (opened.line,)))


def _tell(asked: Charged, found: object, document: object, *lines: str) -> None:
    """What was found as JSON, or as text below these lines."""
    if asked.as_json:
        print_json(document)
        return
    terminal = Terminal(quiet=asked.quiet)
    for line in lines:
        terminal.print(line, style="bold")
    terminal.print(str(found))


def _document(found: Any) -> Any:
    """A plan, a release or several as JSON."""
    if isinstance(found, Plan):
        return found.as_dict()
    if isinstance(found, Answers):
        return {"answers": [json.loads(release_to_json(one)) for one in found.releases]}
    return json.loads(release_to_json(found))


def publish(asked: Publish) -> None:
    """Publish how many units are in each group; where the policy allows, one bound is never wrong.

    The ledger records the charge before any noise is drawn. The output folder
    appears complete or not at all. Other columns of the keys file, such as names
    and positions, are published beside the keys.

    Example: onesided publish visits.parquet --unit person --by place
    --policy presence --max-groups 3 --keys places.parquet --epsilon 1
    --at-most 5 --out out/
    """
    if asked.series:
        # Write and print the stored answers of these ids side by side.
        if asked.id is not None or asked.plan:
            raise ParameterError(
                "--series shows answers that are stored, so there is no --id and no --plan.",
                hint="Leave them out, or leave out --series.",
            )
        with session_of(asked) as opened:
            session, question = opened.session, asked.question(opened.keys)
            missing = [
                one for one in asked.series if _drawn(session.ledger, session.policy, one) is None
            ]
            if missing:
                raise ParameterError(
                    f"There is no answer with the id {missing[0]!r} under this policy.",
                    hint="'onesided ledger show' lists the ids; publish it first, with --id.",
                )
            found = {
                one: session.ask(replace(question, id=one, again=True)) for one in asked.series
            }
            series, line = Series(found), opened.line
            left = [shown(one, up=False) for one in session.remaining.values()]
            told = ", ".join(left) + at_delta(session.account)
        limit = asked.at_most if series.upper_certain else None
        page = series.page(series.table)
        page = replace(
            page, charts=[series.chart(at_most=limit)], facts=(*page.facts, ("budget left", told))
        )
        with new_folder(asked.target) as folder:
            try:
                formats = ("csv", "parquet", "xlsx") if asked.excel else ("csv", "parquet")
                series.write_into(folder.partial, formats)
                (folder.partial / "report.html").write_text(page.html(), encoding="utf-8")
                written = folder.publish()
            except OSError as error:
                raise unwritable(folder.target, error, charged=False) from error
        words = f"{series}\nWritten to {clean(str(written))}/ (open report.html)."
        _tell(asked, words, {**_document(series), "written": str(written)}, line)
    elif asked.plan:
        # Looks at no row; writes and records nothing.
        with session_of(asked) as opened:
            plan = opened.session.plan(asked.question(opened.keys))
            plan = plan if asked.at_most is None else plan.certifying(asked.at_most)
            never = asked.at_most is not None and not plan.certifies
            words = f"{plan}\nCertified at most {asked.at_most}: {_NEVER}" if never else str(plan)
            _tell(asked, words, plan.as_dict())
    else:
        say(perform(asked), as_json=asked.as_json, quiet=asked.quiet)


def perform(asked: Publish) -> Publication:
    """Make the publication, showing progress and the curator's facts on the error stream.

    What is told again into the folder where it stands leaves that as it is.
    """
    notices, made = Terminal(stderr=True, quiet=asked.quiet), asked.target
    if asked.again and asked.id is not None and made.is_dir():
        made = made.with_name(f".{made.name}.again")
        shutil.rmtree(made, ignore_errors=True)  # of a process that was killed
    with (
        new_folder(made, room=_ROOM) as folder,
        _saying_what_is_kept(folder),
        notices.status("reading") as status,
    ):
        result, facts = _published(asked, folder, status.update)
    if made != asked.target:
        there, anew = (folder / "release.csv" for folder in (asked.target, made))
        same = there.is_file() and filecmp.cmp(there, anew, shallow=False)
        shutil.rmtree(made)
        if not same:
            _refuse_taken(asked.target)
        result = replace(result, written=asked.target)
    if facts is not None:
        # What only the curator may know, to the error stream; it is written nowhere.
        found = [(count, unread(name, count)) for name, count in facts.unreadable.items()]
        most = many(facts.most_groups_of_a_unit, "group")
        over = f"units in more groups than covered by ε = {asked.epsilon} (up to {most})"
        found += [
            (facts.counted_outside_keys, "counted in groups that are no keys (left out)"),
            (facts.rows_of_undecided_kind, "rows of undecided kind (counted as protected)"),
            (facts.units_over_bound, over),
        ]
        if lines := [f"  {number:,} {words}" for number, words in found if number]:
            notices.print("For you, not for publication:", style="bold yellow")
            notices.print("\n".join(lines))
    return result


def _refuse_taken(target: Path) -> None:
    with new_folder(target):
        pass


def _published(
    asked: Publish, folder: NewFolder, step: Callable[[str], None]
) -> tuple[Publication, Diagnostics | None]:
    """Parse, check, charge, write; with what only the curator may know, where it was read."""
    if asked.at_most is not None:
        whole(asked.at_most, name="threshold")
    positive(asked.epsilon, name="epsilon")
    outline = None if asked.outline is None else read_outline(asked.outline)
    with session_of(asked) as opened:
        session, question = opened.session, asked.question(opened.keys)
        ledger, policy = session.ledger, session.policy
        told_again = _drawn(ledger, policy, asked.id)
        if told_again is not None and not asked.again:
            raise ReleaseExistsError(
                f"The id {asked.id!r} has an answer, drawn on {told_again}.",
                hint="Return it again with --again, or draw anew under another --id.",
            )
        if told_again is None and folder.target != asked.target:
            _refuse_taken(asked.target)
        step("looking at bounds")
        # What is told again is about the data of then, and those of today are not read.
        looks = told_again is None and session.plan(question).affordable
        facts = session.inspect(question) if looks else None
        rows = 1 if opened.keys is None else int(opened.keys.aggregate("count(*)").fetchall()[0][0])
        if asked.excel:
            require_sheet(rows)
        folder.reserve(_ROOM + _BYTES_PER_KEY * rows)
        step("counting, charging and drawing")
        release = session.ask(question)
        step("writing")
        publication = Publication(
            release=release,
            policy=policy,
            # What was asked under other policies is not ours to publish.
            entries=ledger.entries(policy_id=policy.identity, last=20),
            head=ledger.head(),
            remaining=session.remaining,
            at=at_delta(session.account),
            noun=asked.by[0],
            unit=session.unit,
            ledger=ledger.name,
            new=opened.new,
            files=opened.files,
            threshold=asked.at_most,
            outline=outline,
            told_again=told_again,
            excel=asked.excel,
            written=folder.target,
        )
        publication.write_into(folder)
    return publication, facts


@dataclass(frozen=True, slots=True)
class Opened:
    """A session over files and a ledger. keys: None where no file has them."""

    session: Session
    keys: Any
    files: tuple[Path, ...]
    new: bool

    @property
    def line(self) -> str:
        """The ledger, and what is left in it now."""
        left, at = self.session.remaining, at_delta(self.session.account)
        return ledger_line(self.session.ledger.name, new=self.new, left=left, at=at)


@contextmanager
def session_of(asked: Charged) -> Iterator[Opened]:
    """The session over these data and this ledger. Errors: as of each of its parts."""
    spend = asked.budget or asked.epsilon
    if spend is None:
        raise ParameterError("No ε is given.", hint="Pass --epsilon, or --budget.")
    most = asked.said.get("max_groups")
    policy = read_policy(asked.policy, max_groups=most, sensitive=asked.sensitive)
    files, schema, by = asked.files, read_schema(asked.schema), list(getattr(asked, "by", ()))
    unit, keys = asked.unit, asked.keys
    if schema is not None:
        unit = schema.unit_of(unit)
        keys = keys or file_of_keys(schema, by[0] if len(by) == 1 else "")
    tables = _tables(asked, files, schema, keys, by)
    with tables as (data, told), _ledger_of(asked, files) as ledger:
        if not asked.plan:
            asked.refuse_second(ledger, files)
        held = _account(ledger, policy)
        edge = policy.edges[0]
        stated: dict[str, Any] = {"budget": spend, "delta_budget": 0, "accounting": PURE}
        if held is not None:
            stated["budget"] = held.budget[edge.name] / edge.weight
            stated |= {"delta_budget": held.delta_budget[edge.name], "accounting": held.accounting}
        session = Session(
            data,
            unit=unit,
            schema=schema,
            policy=policy,
            **{name: getattr(asked, name) or own for name, own in stated.items()},
            ledger=ledger,
            further=asked.further,
            cohort=None if held is None else held.calendar,
        )
        if asked.today is not None:
            session.account.confirm(asked.today)
        yield Opened(session, told, files, ledger.head() == _EMPTY)


@contextmanager
def _tables(
    asked: Charged, files: tuple[Path, ...], schema: Schema | None, keys: Path | None, by: list[str]
) -> Iterator[tuple[Any, Any]]:
    """The data, and the keys as they are declared, if a file has them."""
    place = asked.ledger_place(files)
    checked = CheckedFiles(files, None if "://" in place else Path(place).expanduser())
    tables = [files, *([] if keys is None else [[keys]])]
    with reading(*tables, schema=schema, base=asked.base) as (rows, *others):
        data = OfFiles(rows, checked)
        if not others:
            yield data, None
        else:
            with as_declared(others[0], schema) as told:
                yield data, with_degrees(told, by)
    checked.save()


@contextmanager
def _ledger_of(asked: Charged, files: tuple[Path, ...]) -> Iterator[Ledger]:
    """The ledger. Errors: LedgerUnavailableError that names --ledger where nobody chose a place."""
    try:
        with Ledger.open(asked.ledger_place(files)) as ledger:
            yield ledger
    except LedgerUnavailableError as error:
        if asked.ledger is not None:
            raise
        raise LedgerUnavailableError(
            f"{error.reason} It stands beside the configuration, the schema or the data, because "
            "no other place was named.",
            hint="Name a ledger that you may write to with --ledger or ONESIDED_LEDGER, and the "
            f"same one each time. {error.hint}",
            **error.values,
        ) from error


def _has_accounts(path: Path) -> bool:
    """Whether a file is a ledger to which somebody may charge."""
    try:
        with Ledger.open(path, create=False) as ledger:
            return ledger.head() != _EMPTY
    except LedgerError:
        return False


def _drawn(ledger: Ledger, policy: Policy, name: str | None) -> str | None:
    """When the answer of that id was drawn, if it is on record."""
    account = _account(ledger, policy)
    stored = account.recall(name) if account is not None and name else None
    entry = None if stored is None else ledger.entry(stored.number)
    return None if entry is None else f"{entry.time[:16].replace('T', ' ')} UTC"


def _account(ledger: Ledger, policy: Policy) -> Account | None:
    found = (one for one in ledger.accounts() if one.policy_id == policy.identity)
    return next(found, None)


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


def ledger_line(name: str, *, new: bool, left: Mapping[str, Fraction], at: str = "") -> str:
    """A command's first line: its ledger, whether it is new, and what is left, and at which δ.

    >>> ledger_line("ledger city.db", new=True, left={"a -> b": Fraction(1, 2)})
    'Ledger city.db (new): 1/2 left on a -> b.'
    """
    # A renyi account has an odd share of a budget left.
    told = {e: text(n) if n.denominator <= 2**56 else shown(n, up=False) for e, n in left.items()}
    rest = "; ".join(f"{much} left on {edge}" for edge, much in told.items())
    return f"{name[:1].upper()}{name[1:]} ({'new' if new else 'it was there'}): {rest}{at}."


def say(publication: Publication, *, as_json: bool, quiet: bool) -> None:
    """Print the result: first its ledger, then what else must be known first, then the rest."""
    if as_json:
        document = publication.as_dict()
        document["ledger"] |= {"where": publication.ledger, "new": publication.new}
        print_json({**document, "written": str(publication.written)})
    if as_json or quiet:
        return
    terminal, first, left = Terminal(), publication.first, publication.remaining
    again = first[:1] if publication.told_again else ()
    line = ledger_line(publication.ledger, new=publication.new, left=left, at=publication.at)
    terminal.print(" ".join((*again, line)), style="bold")
    for words in first[len(again) :]:
        terminal.print(words, style="bold yellow")
    files = publication.files
    if len(files) > 1:
        names = ", ".join(clean(str(path)) for path in files[:_MOST_FILES])
        rest = f" and {len(files) - _MOST_FILES:,} more" if len(files) > _MOST_FILES else ""
        terminal.print(f"Read {many(len(files), 'file')}: {names}{rest}")
    terminal.print(_table(publication))


def _table(publication: Publication) -> Table:
    """What was published, about whom, and what it cost."""
    release, certified = publication.release, publication.certified
    unit = publication.unit
    whom = f"each {unit}" if unit else "each row on its own (--unit protects people)"
    table = Table(
        title=clean(publication.statement.title()), show_header=False, title_justify="left"
    )
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    table.add_row("protected", clean(whom))
    table.add_row("groups", f"{release.keys.size:,}")
    if certified is not None:
        table.add_row(f"certified at most {publication.threshold}", f"{int(certified.sum()):,}")
        table.add_row("unknown", f"{int((~certified).sum()):,}")
    elif publication.threshold is not None:
        table.add_row("certified", _NEVER)
    about = release.guarantee.scope
    table.add_row("upper bound", _side(certain=release.interval.upper_certain, about=about))
    table.add_row("lower bound", _side(certain=release.interval.lower_certain, about=about))
    for edge, loss in release.guarantee.epsilon.items():
        charged = "nothing, it was told again" if publication.told_again else f"ε = {text(loss)}"
        table.add_row(f"charged on {clean(edge)}", charged)
    table.add_row("ledger entry", f"{release.entry}, head {publication.head[:16]}")
    table.add_row("written to", f"{clean(str(publication.written))}/ (open report.html)")
    return table


def _side(*, certain: bool, about: str) -> str:
    if not certain:
        return "holds with 95 % per group" + (f", about {about}" if about else "")
    return f"certain, about {about or 'the data as they are'}"


def unread(name: str, count: int) -> str:
    """What is said of texts that are not of the form that a schema declares."""
    many = "text is" if count == 1 else "texts are"
    return f"{many} not of the declared form of {clean(name)!r} (taken as unknown)"


# ``onesided synthetic``: made-up rows that have the margins of a table, as far as measured.


_TAKEN: Final = ("epsilon", "columns", "records", "keys", "bins", "id", "again", "title")
OF_ROWS: Final = {**arguments([Synthetic], without=_TAKEN), "max_groups": OF_COUNTS["max_groups"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeUp(Charged):
    """Which rows are made. Command line and configuration fill this."""

    column: list[str]
    records: int
    epsilon: str
    out: Path | None = None


WORDS: Final = {
    "column": "A column of the rows; repeat for several.",
    "records": "How many rows to make.",
}


def synthetic(asked: MadeUp) -> None:
    """Make up rows that have the margins of the data, as far as they are measured.

    The schema declares each column's keys, or its bounds and step. The ledger records the charge
    before any noise is drawn. Without --out the rows are printed.

    Example: onesided synthetic people.parquet --schema people.schema.toml --policy bounded
    --column age --column town --records 10000 --epsilon 1 --on-excess truncate --out made/
    """
    if asked.keys is not None:
        raise ParameterError(
            "A file of keys is of one table of groups, and each column has values of its own.",
            hint="Declare them in the schema, as keys, or as bounds and step.",
        )
    with session_of(asked) as opened:
        session = opened.session
        given: dict[str, Any] = {"columns": tuple(asked.column), "records": asked.records}
        question = Synthetic(**given, **asked.arguments(None))
        if asked.plan:
            plan = session.plan(question)
            _tell(asked, plan, plan.as_dict())
            return
        release = session.ask(question)
        written = None if asked.out is None else release.write(asked.out, formats=_FORMATS)
        words = f"{release!r}\nWritten to {clean(str(written))}/." if written else release
        _tell(asked, words, _document(release), opened.line)


_FORMATS: Final = ("csv", "parquet", "json")
