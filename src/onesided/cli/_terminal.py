"""What the terminal shows: words, never mark-up or control characters of the data's."""

from __future__ import annotations

import json
from typing import Any, Final

import typer
from rich.console import Console
from rich.text import Text

from onesided._english import one_line


class Terminal(Console):
    """A console on which text is text: brackets, emoji codes and escape sequences mean nothing.

    >>> Terminal().print("[bold]a place[/bold]")
    [bold]a place[/bold]
    """

    def __init__(self, *, stderr: bool = False, quiet: bool = False) -> None:
        super().__init__(stderr=stderr, quiet=quiet, markup=False, emoji=False, highlight=False)

    def print(self, *objects: Any, **options: Any) -> None:
        """Sentences are left to the terminal to wrap, so that a path or a hash is copied whole."""
        sentences = all(isinstance(one, str | Text) for one in objects)
        super().print(*objects, **{"soft_wrap": sentences, **options})

    def render_str(self, text: str, **options: Any) -> Text:
        """Rich calls this for every plain text, also in tables and titles."""
        lines = (clean(line) for line in text.split("\n"))
        return super().render_str("\n".join(lines), **options)


clean: Final = one_line  # it cannot steer the reader's terminal or hide what it says


def print_json(document: object) -> None:
    """A document for programs; in ASCII, so that no name in it can steer a terminal.

    >>> print_json([1])
    [
      1
    ]
    """
    typer.echo(json.dumps(document, indent=2))


def print_line(document: object) -> None:
    """A document for programs that read line by line.

    >>> print_line({"rows": 3})
    {"rows": 3}
    """
    typer.echo(json.dumps(document))
