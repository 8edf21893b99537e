"""Tables of the reference: questions, options of commands, policy files, mechanisms.

    python scripts/reference_tables.py questions    # print one; the site puts each at its mark

Nothing of them is written by hand: a question that there is, the page has.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import Any

MARK = re.compile(r"<!-- made: (\w+) -->")


def table(*rows: tuple[str, ...]) -> str:
    """Rows as Markdown, the first one as the heading."""
    safe = ([cell.replace("|", "\\|") for cell in row] for row in rows)
    head, *rest = (f"| {' | '.join(row)} |" for row in safe)
    return "\n".join([head, "|" + "---|" * len(rows[0]), *rest])


def first_sentence(named: Any) -> str:
    """The first paragraph of a docstring, in one line."""
    paragraph = str(named.__doc__ or "").strip().split("\n\n")[0]
    return re.sub(r":\w+:`~?\.?([^`]+)`", r"`\1`", " ".join(paragraph.split()))


def questions() -> str:
    """Every question: its fields, those without a default first."""
    from onesided.session._asks import QUESTIONS  # noqa: PLC0415 - what the site shows

    parts = []
    for name, kind in sorted(QUESTIONS.items()):
        rows = [("field", "default")]
        for one in sorted(fields(kind), key=lambda one: one.default is not MISSING):
            if one.init:
                given = "" if one.default is MISSING else f"`{one.default!r}`"
                rows.append((f"`{one.name}`", given))
        parts.append(f"## {name}\n\n{first_sentence(kind)}\n\n{table(*rows)}\n")
    return "\n".join(parts)


def options() -> str:
    """Every command of ``onesided``: arguments and options, with their help."""
    import typer  # noqa: PLC0415 - an extra

    from onesided.cli._app import app  # noqa: PLC0415

    parts = []
    for name, command in _commands(typer.main.get_command(app), "onesided"):
        rows = [("option", "meaning")]
        for one in command.params:
            if one.name not in ("help", "install_completion", "show_completion"):
                names = " ".join(f"`{text}`" for text in (*one.opts, *one.secondary_opts))
                rows.append((names, " ".join(str(getattr(one, "help", "") or "").split())))
        said = " ".join(str(command.help or "").split("\n\n")[0].split())
        parts.append(f"## `{name}`\n\n{said}\n\n{table(*rows) if rows[1:] else ''}\n")
    return "\n".join(parts)


def _commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    below = getattr(command, "commands", {})
    if not below:
        yield name, command
    for word, one in below.items():
        yield from _commands(one, f"{name} {word}")


def policies() -> str:
    """Every family of policies: what its file says."""
    from onesided.policy import families  # noqa: PLC0415

    rows = [("family", "fields of its file", "options of the command line")]
    for name, family in families().items():
        shell = ", ".join(f"`--{word.replace('_', '-')}`" for word in family.options or {})
        rows.append((f"`{name}`", ", ".join(f"`{word}`" for word in family.fields), shell))
    return table(*rows)


def mechanisms() -> str:
    """Every public mechanism, in a sentence."""
    from onesided import mechanism  # noqa: PLC0415

    rows = [("mechanism", "what it releases")]
    for room, place in ((mechanism, ""), (mechanism.local, "local.")):
        for name in room.__all__:
            named = getattr(room, name)
            if isinstance(named, type) and hasattr(named, "loss"):
                rows.append((f"`{place}{name}`", first_sentence(named)))
    return table(*rows)


def matrix() -> str:
    """Every question under every family of policies, the reasons, and how each cell was asked."""
    from onesided.cli import _matrix  # noqa: PLC0415 - an extra

    short = dict(
        zip(
            _matrix.GIVES,
            ("exact", "≤", "≥", "≤ ≥", "±", "likely", "records", "made"),
            strict=False,
        )
    )
    marks = [("", "what it says"), *((mark, gives) for gives, mark in short.items())]
    short[_matrix.REFUSED] = "no"
    for place, one in enumerate(_matrix.REASONS, 1):
        marks.append((f"no {place}", f"refused, as {one.words} ([why](../{one.proof}))"))

    def mark(cell: Any) -> str:
        why = f" {_matrix.REASONS.index(cell.reason) + 1}" if cell.reason else ""
        return f"{short[cell.gives]}{why}"

    columns = _matrix.matrix()
    lines = zip(*columns.values(), strict=True)
    rows = [(cells[0].question, *map(mark, cells)) for cells in lines]
    head = ("question", *(f"[`{name}`](#{name})" for name in columns))
    parts = [table(head, *rows), table(*marks)]
    for name, column in columns.items():
        asked = [(one.question, mark(one), f"`{_matrix.call(one.asked)}`") for one in column]
        file = f"```toml\n{_matrix.example(name)}```"
        parts.append(f"## {name}\n\n{file}\n\n{table(('question', '', 'asked as'), *asked)}")
    return "\n\n".join(parts)


TABLES = {one.__name__: one for one in (questions, options, policies, mechanisms, matrix)}


def filled(markdown: str) -> str:
    """The page with each mark's table."""
    return MARK.sub(lambda found: TABLES[found[1]](), markdown)


if __name__ == "__main__":
    for wanted in sys.argv[1:] or TABLES:
        sys.stdout.write(f"{TABLES[wanted]()}\n")
