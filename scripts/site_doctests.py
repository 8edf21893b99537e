"""Docstrings as Markdown: each run of ``>>>`` gets a fence, and roles lose their names."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:meth|func|class|mod|attr|data|exc):(?=`)")


class Doctests(griffe.Extension):
    """Rewrite every docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = _ROLE.sub("", fenced(obj.docstring.value))


def fenced(text: str) -> str:
    """``text`` with a fence around each doctest, which an empty line ends."""
    lines: list[str] = []
    inside = False
    for line in text.split("\n"):
        if not inside and line.lstrip().startswith(">>> "):
            lines += ["", "```pycon"]
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)
