"""What an engine says of a table, so that conditions can be asked of its rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from onesided.conditions import Translator
from onesided.schema import Type


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What one engine says of a table, and how it takes what a translator wrote."""

    held: Mapping[str, str]
    types: Mapping[str, Type | None]
    translator: Translator[Any]
    add: Callable[[Any, str], Any]
    keep: Callable[[Any], Any]
    check: Callable[[Collection[str]], None] = lambda _: None
