"""The letters that a person can answer with, and their places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from onesided.errors import DataError, ParameterError
from onesided.noise import IntArray


def letters_of(alphabet: Iterable[str], *, name: str = "alphabet") -> tuple[str, ...]:
    """At least two different letters, each text. Errors: ParameterError."""
    if isinstance(alphabet, str):
        raise ParameterError(
            f"The {name} must be a list of letters, got the text {alphabet!r}.",
            hint='For example ["yes", "no"].',
        )
    letters = tuple(alphabet)
    for letter in letters:
        if not isinstance(letter, str) or not letter or "->" in letter:
            raise ParameterError(
                f"A letter must be text without '->', got {letter!r}.",
                hint="Name each answer that a person can give, for example 'yes'.",
                value=letter,
            )
    if len(set(letters)) != len(letters):
        twice = next(letter for letter in letters if letters.count(letter) > 1)
        raise ParameterError(
            f"The letter {twice!r} is in the alphabet twice.",
            hint="List every answer once.",
            value=twice,
        )
    if len(letters) < 2:
        raise ParameterError(
            f"An alphabet of {len(letters)} letter{'s' * (len(letters) != 1)} says nothing.",
            hint="List every answer that a person can give; there must be at least two.",
            letters=len(letters),
        )
    return letters


def chosen_of(chosen: Iterable[str], letters: tuple[str, ...], *, name: str) -> tuple[str, ...]:
    """Some of the letters, in the alphabet's order. Errors: ParameterError."""
    picked = [chosen] if isinstance(chosen, str) else list(chosen)
    for letter in picked:
        if letter not in letters:
            raise ParameterError(
                f"The {name} letter {letter!r} is not in the alphabet.",
                hint=f"The letters are {', '.join(letters[:12])}.",
                value=letter,
            )
    if not picked or len(set(picked)) != len(picked):
        raise ParameterError(
            f"The {name} letters must be at least one, and each once; got {picked!r}.",
            hint="Without a letter to protect there is nothing to hide.",
        )
    return tuple(letter for letter in letters if letter in picked)


def codes_of(values: Iterable[Any], places: Mapping[str, int]) -> IntArray:
    """The place of each value in the alphabet. Errors: DataError naming the first stranger."""
    if isinstance(values, str | bytes):
        raise DataError(
            f"Values must be a list of letters, got the text {values!r}.",
            hint="For one person use report(value).",
        )
    held = values.tolist() if isinstance(values, np.ndarray) else values
    known = list(held)
    try:
        return np.fromiter((places[value] for value in known), dtype=np.int64, count=len(known))
    except (KeyError, TypeError):
        where = next(i for i, value in enumerate(known) if not _known(value, places))
        raise DataError(
            f"The value {known[where]!r} at position {where} is not in the alphabet.",
            hint=f"The letters are {', '.join(list(places)[:12])}; nothing was drawn.",
            position=where,
        ) from None


def _known(value: object, places: Mapping[str, int]) -> bool:
    return isinstance(value, str) and value in places
