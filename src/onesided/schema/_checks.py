"""What is declared, checked: texts, lists of them, words of closed lists; errors name the field."""

from __future__ import annotations

from typing import Final

from onesided.errors import ParameterError, SchemaError
from onesided.fields import shortened
from onesided.store import plain_text

MOST_WORDS: Final = 100


class Written(str):
    """A number with a point as a file has it: exact, and no text."""

    __slots__ = ()


def wrong(reason: str, hint: str, key: str) -> SchemaError:
    """An error about one field."""
    return SchemaError(reason, hint=hint, key=key)


def plain(value: object, key: str, *, empty: bool = True) -> str:
    """Ordinary text. Errors: SchemaError."""
    try:
        return plain_text(value, name=key, empty=empty)
    except ParameterError:
        raise wrong(f"{key} holds {shortened(value)}.", "Give ordinary text.", key) from None


def words_of(given: object, key: str) -> tuple[str, ...] | None:
    """A list of different texts, or None. Errors: SchemaError."""
    if given is None:
        return None
    listed = list(given) if isinstance(given, list | tuple | set | frozenset) else []
    texts = all(isinstance(word, str) and not isinstance(word, Written) for word in listed)
    if not 0 < len(listed) <= MOST_WORDS or not texts or len(set(listed)) < len(listed):
        raise wrong(
            f"{key} must list 1 to {MOST_WORDS} different texts, got {shortened(given)}.",
            f'Write {key} = ["NA", "NULL"].',
            key,
        )
    return tuple(plain(word, key) for word in listed)


def one_of(given: object, words: tuple[str, ...], key: str) -> str | None:
    """One of these words, or None. Errors: SchemaError."""
    if given is None or (isinstance(given, str) and given in words):
        return given
    raise wrong(f"{key} is {shortened(given)}.", f"Write {' or '.join(map(repr, words))}.", key)


def flag(given: object, key: str) -> bool:
    """True or false. Errors: SchemaError."""
    if not isinstance(given, bool):
        raise wrong(f"{key} is {shortened(given)}.", "Write true or false.", key)
    return given
