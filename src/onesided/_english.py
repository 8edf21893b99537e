"""Numbers and articles in sentences: "1 row has", "2,000 rows have", "an int"."""

from __future__ import annotations

from typing import Final

_VOWELS: Final = "aeiou"
# Said with the sound of a consonant, or of a vowel, whatever letter they begin with.
_A: Final = ("uni", "use", "utc", "uuid", "one", "eu")
_AN: Final = ("hour", "honest")


def many(number: int, noun: str, *, one: str = "", more: str = "") -> str:
    """A number of things, and the verb that suits it.

    >>> many(1, "group"), many(2_000, "query")
    ('1 group', '2,000 queries')
    >>> many(1, "row", one="has", more="have"), many(0, "row", one="has", more="have")
    ('1 row has', '0 rows have')
    """
    said = one if number == 1 else more
    return f"{number:,} {noun if number == 1 else plural(noun)}{' ' * bool(said)}{said}"


def plural(noun: str) -> str:
    """More than one of them.

    >>> plural("day"), plural("query"), plural("batch")
    ('days', 'queries', 'batches')
    """
    if noun.endswith("y") and noun[-2:-1] not in _VOWELS:
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def a(noun: str) -> str:
    """The noun with the article that it takes.

    >>> a("int"), a("str"), a("unit"), a("ndarray"), a("Unbounded")
    ('an int', 'a str', 'a unit', 'an ndarray', 'an Unbounded')
    """
    low = noun.lower()
    spelt = low.startswith(("nd", "np")) or (low[:1] in _VOWELS and not low.startswith(_A))
    return f"{'an' if spelt or low.startswith(_AN) else 'a'} {noun}"
