"""Numbers, articles and others' words in sentences: "1 row has", "2,000 rows have", "an int"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from unicodedata import category

_VOWELS: Final = "aeiou"
# Said with the sound of a consonant, or of a vowel, whatever letter they begin with.
_A: Final = ("uni", "use", "utc", "uuid", "one", "eu")
_AN: Final = ("hour", "honest")
# What makes one emoji of two, what says that a sign is one; signs and the colours of skin.
_JOINER: Final = "\u200d"
_EMOJI: Final = "\ufe0f"
_PICTURES: Final = ("So", "Sk")


def many(number: int, noun: str, *, one: str = "", more: str = "") -> str:
    """A number of things, and the verb that suits it.

    >>> many(1, "group"), many(2_000, "query")
    ('1 group', '2,000 queries')
    >>> many(1, "row", one="has", more="have"), many(0, "row", one="has", more="have")
    ('1 row has', '0 rows have')
    """
    said = one if number == 1 else more
    return f"{number:,} {noun if number == 1 else plural(noun)}{' ' * bool(said)}{said}"


def listed(names: Sequence[str]) -> str:
    """Names in a row, the last of them after an "and".

    >>> listed(["place"]), listed(["place", "sex", "age"])
    ('place', 'place, sex and age')
    """
    *first, last = names or [""]
    return f"{', '.join(first)} and {last}" if first else last


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


def one_line(value: object) -> str:
    r"""Text of others on one line, of which nothing steers a terminal, is turned or is hidden.

    Spaces of any kind are spaces; what joins two emoji to one is theirs.

    >>> print(one_line("a\x1b[1m\nb"), one_line("\u200dc") == ascii("\u200dc")[1:-1])
    a\x1b[1m\nb True
    >>> one_line("👩\u200d🔬") == "👩\u200d🔬"
    True
    """
    text = str(value)
    if text.isprintable():
        return text
    return "".join(
        sign
        if sign.isprintable() or _joins(text, place)
        else " "
        if category(sign) == "Zs"
        else ascii(sign)[1:-1]
        for place, sign in enumerate(text)
    )


def pointed(text: str, place: int, width: int = 60) -> tuple[str, int, int]:
    """Where an offset lies in a text, with a part of the line and a caret under it; line, column.

    Control characters are blanks.

    >>> pointed("age < ten", 6)[1:]
    (1, 7)
    """
    before = text[:place]
    line, column = before.count("\n"), place - before.rfind("\n") - 1
    first = max(0, column - width // 2)
    part = text.split("\n")[line][first : first + width]
    shown = "".join(sign if sign.isprintable() else " " for sign in part)
    words = f"  line {line + 1}, column {column + 1}:\n    {shown}\n    {' ' * (column - first)}^"
    return words, line + 1, column + 1


def _joins(text: str, place: int) -> bool:
    """Whether a sign joins the emoji before it to the one behind."""
    before, after = text[max(place - 1, 0) : place], text[place + 1 : place + 2]
    pictures = bool(before and after) and category(after) == "So"
    return (
        text[place] == _JOINER and pictures and (category(before) in _PICTURES or before == _EMOJI)
    )
