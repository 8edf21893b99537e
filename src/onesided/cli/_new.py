"""``onesided new``: ten questions, and then files that run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import duckdb
import tomli_w
import typer

from onesided._numbers import percent, positive, readable, text, whole
from onesided.cli._before import MadeUp, error_of
from onesided.cli._tables import is_table, read_policy, reading
from onesided.cli._terminal import Terminal, clean
from onesided.engine.kit import quoted
from onesided.errors import DataError, OnesidedError, ParameterError
from onesided.policy import Policy
from onesided.session import Plan, Session, health_of
from onesided.show import new_folder

Answer = TypeVar("Answer")
_ROOM: Final = 2**20
_NOBODY: Final = "none"
_CSV: Final = (".csv", ".csv.gz")
_TRIES: Final = 5  # then whoever answers is no person
_POLICIES: Final = {
    "1": ("presence", "that somebody was in a group, such as at a place"),
    "2": ("addition_only", "that somebody is in the table at all"),
    "3": ("bounded", "everything about everybody, as ordinary differential privacy has it"),
    "4": ("sensitive", "everything about people with certain rows, such as age < 18"),
}

# Their moves only lower counts, so noise above hides them, and an upper bound is certain.
_CERTIFYING: Final = frozenset({"presence", "addition_only"})

_HEAD: Final = '"""Publish once a day; run it in this folder: python publish.py"""'
_SHOWN: Final = "The answer as a picture and a table."


def new(
    folder: Annotated[Path, typer.Argument(help="Folder to make.")] = Path("onesided-new"),
) -> None:
    """Ask ten questions; write a configuration, a script and a notebook, ready to run.

    Explains what each answer means. Reads the rows once, to say what onesided
    check finds in them, and spends nothing.

    Example: onesided new traffic
    """
    terminal = Terminal()
    talk = _Talk(terminal)
    with new_folder(folder, room=_ROOM) as made:
        data, columns, unit, by, keys, where = _rows(talk, made.target.parent)
        kind, condition = _hidden(talk, columns)
        groups = 1
        if unit is not None:
            groups = talk.ask(
                f"In how many values of {by} is one person covered, at most?",
                lambda given: whole(given, name="max_groups", least=1),
                default="3",
            )
        policy = read_policy(
            kind, max_groups=groups if kind == "presence" else None, sensitive=condition
        )
        for sentence in policy.explain().splitlines()[:3]:
            talk.say(sentence)
        most = None
        if kind in _CERTIFYING:
            most = talk.ask(
                "Certify groups with at most how many units? (empty: publish counts alone)",
                lambda given: whole(given, name="threshold") if given else None,
            )
        epsilon, times = _spent(talk, policy, groups, most)
        talk.say("What all of them together promise:" if times > 1 else "What it promises:")
        for sentence in policy.explain(epsilon=epsilon * times).splitlines():
            if sentence.startswith("Protected"):
                talk.say(sentence)
        shared: dict[str, Any] = {"policy": kind, "ledger": "onesided.ledger.db"}
        if unit is not None or kind == "presence":
            shared["max-groups"] = groups
        publish = {
            "data": data,
            "by": [by],
            "keys": keys if isinstance(keys, str) else "keys.csv",
            "epsilon": text(epsilon),
            "budget": text(epsilon * times),
            "out": "out",
            "unit": unit,
            "where": where,
            "at-most": most,
            "sensitive": condition,
        }
        publish = {name: value for name, value in publish.items() if value is not None}
        files = written(shared, publish)
        if not isinstance(keys, str):
            lines = ('"' + value.replace('"', '""') + '"' for value in (by, *keys))
            files["keys.csv"] = "\n".join(lines) + "\n"
        for name, content in files.items():
            (made.partial / name).write_text(content, encoding="utf-8")
        made.publish()
    terminal.print(f"\nMade {folder}/ with onesided.toml, publish.py and publish.ipynb. Next:")
    terminal.print(f"  onesided publish --config {folder}/onesided.toml --plan", style="bold")
    terminal.print("says what it costs and reads no row; without --plan it publishes.")


@dataclass(slots=True)
class _Talk:
    """Questions on the terminal: a wrong answer is explained and asked again."""

    terminal: Terminal
    number: int = field(default=0)

    def ask(self, question: str, read: Callable[[str], Answer], *, default: str = "") -> Answer:
        """The answer as ``read`` understands it. Errors: ParameterError where nobody answers."""
        self.number += 1
        for _ in range(_TRIES):
            given = self._given(f"\n{self.number}. {question}", default)
            try:
                return read(given.strip())
            except OnesidedError as error:
                self.terminal.print(f"   {error.reason} {error.hint}")
        raise ParameterError(
            f"Question {self.number} was not answered in {_TRIES} tries.",
            hint="Begin again; nothing was made.",
        )

    def _given(self, question: str, default: str) -> str:
        """One line. Errors: ParameterError at the end of the input."""
        try:
            given: str = typer.prompt(question, default=default, show_default=bool(default))
        except typer.Abort as stopped:
            if not isinstance(stopped.__context__, EOFError):  # Ctrl-C
                raise
            self.terminal.print()
            raise ParameterError(
                f"The input ended before question {self.number} was answered.",
                hint="Run onesided new in a terminal and type the answers, or give one line for "
                "each on its standard input; nothing was made.",
            ) from None
        return given

    def say(self, sentence: str) -> None:
        """What an answer means."""
        self.terminal.print(f"   {clean(sentence)}")


def _rows(
    talk: _Talk, base: Path
) -> tuple[str, Mapping[str, str], str | None, str, list[str] | str, str | None]:
    """Which rows, of which columns, whose, by what, with which keys, and of which period.

    Names of files are relative to the new folder.
    """
    data, columns = talk.ask("Which file has the rows (.parquet or .csv)?", _columns)
    talk.say(f"Its columns: {', '.join(columns)}.")
    unit = talk.ask(
        f"Which column says whose row it is? ({_NOBODY}: protect each row on its own)",
        lambda name: _unit(name, columns),
    )
    together, alone = "A person's rows are protected together.", "Each row is protected on its own"
    talk.say(together if unit else f"{alone}: somebody with ten rows is protected ten times less.")
    _healthy(talk, data, unit)
    by = talk.ask(
        "Which column is the answer grouped by, such as place?", lambda name: _column(name, columns)
    )
    keys = talk.ask(
        f"Which values of {by} are published? A file with a column {by}, or values with commas",
        lambda given: _keys(given, by, holds=columns[by]),
    )
    talk.say("They must come from public knowledge: a value that is there because somebody went")
    talk.say("there gives that somebody away.")
    if isinstance(keys, Path):
        with reading([keys]) as (table,):
            told = [name for name in table.columns if name not in {by, *columns}]
        if told:
            talk.say(f"Published beside them, from the same file: {', '.join(told)}.")
    where = talk.ask(
        "Only rows for which a condition is true, as of a period (day >= DATE '2026-11-16')? "
        "(empty: all)",
        lambda given: _condition(given, columns) if given else None,
    )

    def named(path: Path) -> str:
        return os.path.relpath(path, base / "folder")

    public = keys if isinstance(keys, list) else named(keys)
    return named(data), columns, unit, by, public, where


def _healthy(talk: _Talk, data: Path, unit: str | None) -> None:
    """What check finds. Errors: DataError for rows that no session would open."""
    with reading([data]) as (table,):
        health = health_of(table, None, unit=unit)
    for line in str(health).splitlines():
        talk.say(line)
    if not health.ok:
        raise DataError(
            f"A session would refuse {data.name!r}: {health.refused[0]}",
            hint=f"Mend the file; onesided check {data.name} says what is in it. Nothing was made.",
        )


def _hidden(talk: _Talk, columns: Mapping[str, str]) -> tuple[str, str | None]:
    """The kind of policy, and the condition that one of them needs."""
    lines = [f"     {number}: {words}" for number, (_, words) in _POLICIES.items()]
    menu = "\n".join(["What must stay hidden?", *lines, "   Number"])
    kind = talk.ask(menu, _kind, default="1")
    if kind != "sensitive":
        return kind, None
    return kind, talk.ask(
        "Which rows make somebody sensitive, such as age < 18?",
        lambda given: _condition(given, columns),
    )


def _spent(talk: _Talk, policy: Policy, groups: int, most: int | None) -> tuple[Fraction, int]:
    plans = None if policy.rules or policy.view else MadeUp.of(policy, groups, most)

    def affordable(given: str) -> Fraction:
        epsilon = positive(given, name="epsilon")
        if plans is not None:
            plans.buys(epsilon)
        return epsilon

    epsilon = talk.ask("Which ε has one publication?", affordable, default="1")
    talk.say(_bought(None if plans is None else plans.buys(epsilon)))
    times = talk.ask(
        "How many publications about the same people will there be?",
        lambda given: whole(given, name="publications", least=1),
        default="1",
    )
    talk.say(f"The budget is {readable(epsilon * times)}; after {times} the ledger refuses more.")
    return epsilon, times


def _bought(bought: Plan | None) -> str:
    """What an ε buys, in a sentence."""
    if bought is None:
        return "Say onesided publish --plan for its error: the policy reads your columns."
    if bought.certifies:
        share = percent(dict(bought.certifies).get(0, 0))
        return f"A truly empty group is certified in {share} of all publications."
    return f"A count is off by {error_of(bought):.1f} (root mean square), whatever it is."


def _columns(given: str) -> tuple[Path, dict[str, str]]:
    path = Path(given).expanduser()
    if not given or path.is_dir():
        raise DataError("That names no file.", hint="Name one, such as visits.csv.")
    if not path.name.lower().endswith((*_CSV, ".parquet")):
        raise DataError(
            f"{path.name!r} is no .parquet or .csv file, which the script reads.",
            hint="Write the rows as one of them; onesided publish reads lines of JSON, too.",
        )
    with reading([path]) as (table,):
        return path.resolve(), dict(zip(table.columns, map(str, table.types), strict=True))


def _column(name: str, columns: Iterable[str]) -> str:
    if name not in columns:
        raise ParameterError(
            f"There is no column {name!r}.", hint=f"Name one of {', '.join(columns)}."
        )
    return name


def _unit(name: str, columns: Iterable[str]) -> str | None:
    """No answer is none: the weakest protection must be chosen in so many words."""
    if not name:
        raise ParameterError(
            "Nothing was answered.",
            hint=f"Name a column, or write {_NOBODY!r}: somebody with ten rows is then protected "
            "ten times less.",
        )
    return None if name == _NOBODY and name not in columns else _column(name, columns)


def _keys(given: str, by: str, *, holds: str) -> list[str] | Path:
    """The values, or the file that has them. Errors: DataError; ParameterError for none."""
    path = Path(given).expanduser()
    if given and is_table(path) and not path.name.lower().endswith((".jsonl", ".jsonl.gz")):
        with reading([path]) as (table,):
            if by not in table.columns:
                raise DataError(f"{path.name} has no column {by!r}.", hint="Name another file.")
        return path.resolve()
    values = list(dict.fromkeys(part.strip() for part in given.split(",") if part.strip()))
    if not values:
        raise ParameterError("No value is named.", hint="For example: gym, park, library")
    if holds != "VARCHAR":
        raise ParameterError(
            f"The values of {by} are no text ({holds}), and what is typed here is.",
            hint=f"Name a .parquet file with a column {by} of that type.",
        )
    return values


def _kind(given: str) -> str:
    if given not in _POLICIES:
        raise ParameterError(f"{given!r} is none of them.", hint="Give 1, 2, 3 or 4.")
    return _POLICIES[given][0]


def _condition(given: str, columns: Mapping[str, str]) -> str:
    """Errors: ConditionError; ParameterError for a column that is not there."""
    policy = read_policy("sensitive", max_groups=None, sensitive=given)
    nulls = (f"CAST(NULL AS {kind}) AS {quoted(name)}" for name, kind in columns.items())
    empty = duckdb.connect().sql(f"SELECT {', '.join(nulls)} WHERE false")
    Session(empty, policy=policy, budget=1)
    return given


def written(shared: Mapping[str, Any], publish: Mapping[str, Any]) -> dict[str, str]:
    """Each file's text by its name, of the configuration's two tables."""
    cells = _cells(shared, publish)
    script = "\n\n".join(code for _, code in cells)
    head = "# Made by: onesided new. Used by: onesided publish --config onesided.toml\n\n"
    # As Jupyter keeps it.
    made: list[dict[str, Any]] = []
    for number, (words, code) in enumerate([*cells, (_SHOWN, "release")]):
        plain = {"metadata": {}, "source": words.splitlines(keepends=True)}
        made.append({"cell_type": "markdown", "id": f"words-{number}", **plain})
        run = {"metadata": {}, "source": code.splitlines(keepends=True)}
        empty: dict[str, Any] = {"execution_count": None, "outputs": []}
        made.append({"cell_type": "code", "id": f"code-{number}", **empty, **run})
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    document = {"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    return {
        "onesided.toml": head + tomli_w.dumps({**shared, "publish": publish}),
        "publish.py": f"{_HEAD}\n\n{script}\n",
        "publish.ipynb": json.dumps(document, indent=1, ensure_ascii=False) + "\n",
    }


def _cells(shared: Mapping[str, Any], publish: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What each part does, and its code."""
    (by,), kind, most = publish["by"], shared["policy"], shared.get("max-groups")
    about = [f"by={by!r}", "keys=keys", f"epsilon={publish['epsilon']!r}"]
    bound = "" if most is None else f"max_groups={most}"
    if bound and kind != "presence":
        about.append(bound)
    if "where" in publish:
        about.append(f"where={publish['where']!r}")
    about.append("id=today, again=True")
    named = publish.get("at-most")
    asked = "Count(\n    " if named is None else f"AtMost(\n    {named}, "
    given = repr(publish["sensitive"]) if "sensitive" in publish else bound * (kind == "presence")
    keys_as_text = f"dtype={{{by!r}: 'VARCHAR'}}"
    return [
        (
            "The table and the public groups.",
            "import datetime as dt\n\nimport duckdb\n\nimport onesided as od\n\n"
            f"table = {_read(publish['data'], 'all_varchar=True')}\n"
            f"keys = {_read(publish['keys'], keys_as_text)}",
        ),
        (
            "What must stay hidden, and in which direction.",
            f"policy = od.policy.{kind}({given})\n"
            f"print(policy.explain(epsilon={publish['epsilon']!r}))",
        ),
        (
            "The budget is what all answers together may lose; the ledger records every charge.",
            f"session = od.Session(\n    table, unit={publish.get('unit')!r}, policy=policy, "
            f'budget={publish["budget"]!r},\n    ledger="{shared["ledger"]}",\n)',
        ),
        (
            "The plan reads no row and spends nothing. A second run on a day tells again.",
            "today = dt.date.today().isoformat()\n"
            f"question = od.session.{asked}{', '.join(about)}\n)\n"
            "print(session.plan(question))",
        ),
        (
            "Charged, then drawn.",
            "release = session.ask(question)\nprint(release)\n"
            "if not release.told_again:\n"
            '    release.write(f"python-{today}", formats=["csv", "xlsx", "html"])',
        ),
    ]


def _read(name: str, text: str) -> str:
    """Of keys, names and positions are published beside them, and only they themselves are text."""
    csv = f"duckdb.read_csv({name!r}, header=True, {text})"
    return csv if name.lower().endswith(_CSV) else f"duckdb.read_parquet({name!r})"
