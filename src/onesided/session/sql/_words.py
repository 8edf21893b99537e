"""A query's text: its words with their places, and errors that show them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from onesided._numbers import exact
from onesided.errors import SqlError

LONGEST: Final = 100_000  # characters
MOST_WORDS: Final = 20_000
WORKS: Final = (
    "A query is SELECT keys and aggregates FROM table [WHERE condition] [GROUP BY keys] [HAVING "
    "COUNT(...) <= t] [ORDER BY COUNT(...) DESC LIMIT k] (docs/sql.md)."
)
_EXPLAIN: Final = re.compile(r"\s*EXPLAIN\b", re.IGNORECASE)
_NAME: Final = re.compile(r"[^\W\d]\w*")
_SHOWN: Final = 72


@dataclass(frozen=True, slots=True)
class Word:
    """One word or sign. kind: "word", "quoted" (a name in quotes), "text", "number" or "sign"."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def upper(self) -> str:
        """A word or sign to compare with; "" for quoted names, texts and numbers."""
        return self.text.upper() if self.kind in ("word", "sign") else ""


@dataclass(frozen=True, slots=True)
class Query:
    """The text of a query, for errors that show a place in it."""

    text: str

    def error(self, reason: str, place: int, hint: str = WORKS) -> SqlError:
        """An error about ``place``, an offset, with the line and a caret under it."""
        before = self.text[:place]
        line, column = before.count("\n") + 1, place - (before.rfind("\n") + 1) + 1
        first = max(0, column - 1 - _SHOWN // 2)
        shown = self.text.split("\n")[line - 1][first : first + _SHOWN].replace("\t", " ")
        caret = " " * (column - 1 - first)
        return SqlError(
            f"{reason}\n  line {line}, column {column}:\n    {shown}\n    {caret}^",
            hint=hint,
            place=place,
            line=line,
            column=column,
        )

    def words(self) -> tuple[bool, list[Word]]:
        """Whether it begins with EXPLAIN, and the words after it. Errors: SqlError."""
        import sqlglot  # noqa: PLC0415 - 0.1 s, which only SQL needs
        from sqlglot.errors import SqlglotError  # noqa: PLC0415

        self._check()
        explain = _EXPLAIN.match(self.text)
        rest = self.text if explain is None else " " * explain.end() + self.text[explain.end() :]
        try:
            tokens = sqlglot.tokenize(rest)
        except SqlglotError:
            place = max(rest.rfind("'"), rest.rfind('"'), rest.rfind("/*"), 0)
            hint = "Write 'it''s' for text with a quote in it."
            raise self.error("A quote or a comment is never closed.", place, hint) from None
        if len(tokens) > MOST_WORDS:
            raise self.error(f"The query has {len(tokens):,} words.", 0, "Write a shorter one.")
        found = [part for token in tokens for part in self._split(token)]
        return explain is not None, found

    def _split(self, token: object) -> list[Word]:
        """A token as words; sqlglot takes GROUP BY for one."""
        start, end = int(token.start), int(token.end) + 1  # type: ignore[attr-defined]
        kind, told = token.token_type.name, str(token.text)  # type: ignore[attr-defined]
        if kind == "STRING":
            return [Word("text", told, start, end)]
        if kind == "NUMBER":
            return [Word("number", told, start, end)]
        if kind == "IDENTIFIER":
            return [Word("quoted", told, start, end)]
        if not _NAME.match(self.text[start:end]):
            return [Word("sign", self.text[start:end], start, end)]
        return [
            Word(
                "word" if _NAME.fullmatch(m[0]) else "sign",
                m[0],
                start + m.start(),
                start + m.end(),
            )
            for m in re.finditer(r"\S+", self.text[start:end])
        ]

    def _check(self) -> None:
        if not isinstance(self.text, str):
            raise SqlError(f"A query is text, got {self.text!r}.", hint=WORKS)
        if len(self.text) > LONGEST:
            raise SqlError(
                f"The query has {len(self.text):,} characters; at most {LONGEST:,} are read.",
                hint="Write a shorter one.",
            )
        if not self.text.strip():
            raise SqlError("The query is empty.", hint=WORKS)
        for place, sign in enumerate(self.text):
            if sign == "\0" or "\ud800" <= sign <= "\udfff":
                raise self.error(f"The character {sign!a} is not text.", place, "Leave it out.")


class Reader:
    """The words one after another, each taken or refused at its place."""

    def __init__(self, query: Query, words: list[Word]) -> None:
        self.query = query
        self._words, self._at = words, 0

    @property
    def next(self) -> Word:
        """The word that is to be read; an empty sign at the end of the text."""
        if self._at < len(self._words):
            return self._words[self._at]
        return Word("sign", "", len(self.query.text), len(self.query.text))

    def after(self, number: int = 1) -> Word:
        """The word so many words later."""
        place = self._at + number
        return self._words[place] if place < len(self._words) else self.end

    @property
    def end(self) -> Word:
        """What stands after the last word."""
        return Word("sign", "", len(self.query.text), len(self.query.text))

    def take(self) -> Word:
        """The next word."""
        word = self.next
        self._at += 1
        return word

    def accept(self, *texts: str) -> bool:
        """Take these words if they come next."""
        if all(self.after(n).upper == text for n, text in enumerate(texts)):
            self._at += len(texts)
            return True
        return False

    def expect(self, text: str, hint: str = WORKS) -> Word:
        """Take this word. Errors: SqlError."""
        if self.next.upper != text:
            raise self.refused(f"{text} is expected here", hint=hint)
        return self.take()

    def refused(self, reason: str, *, hint: str = WORKS, word: Word | None = None) -> SqlError:
        """An error at a word, by default the next."""
        where = self.next if word is None else word
        told = f", not {where.text!r}" if where.text and word is None else ""
        if word is None and not where.text:
            told = ", where the query ends"
        return self.query.error(f"{reason}{told}.", where.start, hint)

    def number(self, what: str) -> Fraction:
        """A number, with its sign. Errors: SqlError."""
        negative, point = self.accept("-"), "." if self.accept(".") else ""
        if self.next.kind != "number":
            raise self.refused(f"{what} is a number")
        word = self.take()
        try:
            found = exact(f"{point and '0.'}{word.text}", name=what)
        except ValueError:
            raise self.refused(f"{what} is a number", word=word) from None
        return -found if negative else found

    def whole(self, what: str, least: int = 0) -> int:
        """A whole number. Errors: SqlError."""
        word = self.next
        found = self.number(what)
        if found.denominator != 1 or found < least:
            raise self.refused(f"{what} is a whole number from {least}", word=word)
        return int(found)
