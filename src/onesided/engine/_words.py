"""What an engine says of a table, so that conditions can be asked of its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from onesided.conditions import Terms
from onesided.schema import Type


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What one engine says of a snapshot, and how it takes what a translator wrote.

    held, types: by column, its own type and what conditions see in it. terms: how it writes.
    """

    held: Mapping[str, str]
    types: Mapping[str, Type | None]
    terms: Terms[Any]
    add: Callable[[Any, str], Any]
    keep: Callable[[Any], Any]
