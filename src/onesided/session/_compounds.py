"""Compounds of groups, such as routes of stops: named by the caller, never looked up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from onesided.engine import PublicKeys, public_keys
from onesided.errors import KeysError, ParameterError
from onesided.mechanism import Compounds

COLUMN: Final = "compound"
ABOUT: Final = (
    "Each answer is about every group of its compound: certified, each of them has at most so "
    "many; else none of them has more than its upper bound."
)


@dataclass(frozen=True, slots=True)
class NamedCompounds:
    """Compounds by their public names, over public groups.

    keys: one for each compound. of: which of the groups are in it.

    >>> named = compounds_of({"north": ["a", "b"], "south": ["b"]}, ("stop",))
    >>> named.keys.labels(), named.groups.labels(), named.over(named.groups).members
    (['north', 'south'], ['a', 'b'], ((0, 1), (1,)))
    """

    keys: PublicKeys
    of: tuple[PublicKeys, ...]

    @property
    def groups(self) -> PublicKeys:
        """The groups of all compounds, each once."""
        rows = dict.fromkeys(row for one in self.of for row in one.rows)
        return PublicKeys.of(self.of[0].names, list(rows))

    def over(self, keys: PublicKeys) -> Compounds:
        """The places of their groups among ``keys``. Errors: KeysError for one that is missing."""
        places = keys.places()
        for one in self.of:
            for row in one.rows:
                if row not in places:
                    raise KeysError(
                        f"The group {row[0] if len(row) == 1 else row!r} of a compound is not "
                        "among the keys.",
                        hint="Leave keys= out: the groups of of= are the keys then.",
                        key=row,
                    )
        return Compounds([[places[row] for row in one.rows] for one in self.of])


def compounds_of(given: object, by: Sequence[str]) -> NamedCompounds:
    """Read a mapping from names to groups. Errors: ParameterError; KeysError."""
    if not isinstance(given, Mapping) or not given:
        raise ParameterError(
            f"of must name the groups of each compound, got {given!r}.",
            hint='For example of={"route 7": ["Station", "Market"], "route 9": ["Market"]}.',
            value=given,
        )
    if not by or COLUMN in by:
        raise ParameterError(
            f"of= needs by=, the columns whose groups it names; none is called {COLUMN!r}.",
            hint=f"Rename the column {COLUMN!r}." if by else 'Add by=, such as by="stop".',
            value=by,
        )
    names = public_keys(list(given), (COLUMN,))
    return NamedCompounds(names, tuple(public_keys(groups, by) for groups in given.values()))
