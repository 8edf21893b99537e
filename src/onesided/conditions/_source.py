"""A condition's text: its size, its words, and the place that an error is about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from onesided.errors import ConditionError

LONGEST: Final = 100_000  # characters
MOST_WORDS: Final = 20_000
DEEPEST: Final = 64

FUNCTIONS: Final = frozenset(
    ["ABS", "COALESCE", "EXTRACT", "LENGTH", "LOWER", "MOD", "SUBSTR", "SUBSTRING", "TRIM", "UPPER"]
)
PARTS: Final = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "ISODOW")
# Words that may stand before a parenthesis without being a function.
_KEYWORDS: Final = frozenset(
    ["AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "CASE", "WHEN", "THEN", "ELSE", "FROM"]
)
_LITERALS: Final = frozenset(["DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIME", "INTERVAL"])
_SIGNS: Final = ("(", ")", ",", "=", "<>", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%")
_WORD: Final = re.compile(r"[^\W\d]\w*")
_BEFORE_SIGN: Final = ("", "(", ",", "NOT", "-", "+", "~")
WORKS: Final = (
    "Conditions are made of columns, literals, = <> < <= > >=, AND OR NOT, IS NULL, IN, BETWEEN, "
    "LIKE, CASE, COALESCE, + - * / %, ABS LOWER UPPER LENGTH TRIM SUBSTRING EXTRACT, and literals "
    "such as 'text', 18, DATE '2024-01-31' and INTERVAL '3' DAY (docs/conditions.md)."
)


@dataclass(frozen=True, slots=True)
class Source:
    """The text, for errors that show a place in it."""

    text: str

    def error(self, reason: str, place: int, hint: str = WORKS) -> ConditionError:
        """An error about ``place``, an offset, with the line and a caret under it."""
        before = self.text[:place]
        line, column = before.count("\n") + 1, place - (before.rfind("\n") + 1) + 1
        shown, caret = _around(self.text.split("\n")[line - 1], column - 1)
        return ConditionError(
            f"{reason}\n  line {line}, column {column}:\n    {shown}\n    {' ' * caret}^",
            hint=hint,
            place=place,
            line=line,
            column=column,
        )

    def check(self) -> None:
        """Refuse what is too large or too deep, and signs and functions outside the language.

        Errors: ConditionError. A parser that is given hostile text can take for ever, or all the
        memory, so this is found before one sees it.
        """
        if len(self.text) > LONGEST:
            raise ConditionError(
                f"The condition has {len(self.text):,} characters; at most {LONGEST:,} are read.",
                hint="Compute a column first, and write the condition on that.",
            )
        if not self.text.strip():
            raise ConditionError("The condition is empty.", hint='Write one such as "age < 18".')
        for place, sign in enumerate(self.text):
            if sign == "\0" or "\ud800" <= sign <= "\udfff":
                raise self.error(f"The character {sign!a} is not text.", place, "Leave it out.")
        depth = _Depth(self)
        words = list(self._words())
        for number, (word, place) in enumerate(words):
            following = words[number + 1][0] if number + 1 < len(words) else ""
            self._check_word(word, place, following)
            depth.add(word, place)

    def _words(self) -> Iterator[tuple[str, int]]:
        """Words and signs with their offsets; quoted ones begin with their quote."""
        import sqlglot  # noqa: PLC0415 - 0.1 s, which only conditions need
        from sqlglot.errors import SqlglotError  # noqa: PLC0415

        try:
            tokens = sqlglot.tokenize(self.text)
        except SqlglotError:
            raise self.error(
                "A quote is opened and never closed, or a comment.",
                self._last_quote(),
                "Write 'it''s' for text with a quote in it.",
            ) from None
        if len(tokens) > MOST_WORDS:
            raise ConditionError(
                f"The condition has {len(tokens):,} words; at most {MOST_WORDS:,} are read.",
                hint="Compute a column first, and write the condition on that.",
            )
        for token in tokens:
            if token.comments:
                place = max(self.text.find("--"), self.text.find("/*"), 0)
                raise self.error("A condition has no comments.", place, "Leave them out.")
            first = self.text[token.start]
            yield (first if first in "'\"" else token.text.upper()), token.start

    def _last_quote(self) -> int:
        return max(self.text.rfind(quote) for quote in ("'", '"', "/*", "`")) if self.text else 0

    def _check_word(self, word: str, place: int, following: str) -> None:
        first = word[0]
        if first in "'\"" or first.isdecimal() or (first == "." and word != "."):
            known = first != '"' or following != "("
        elif _WORD.fullmatch(word):
            known = following not in ("(", "'") or self._may_precede(word, following)
        else:
            known = word in _SIGNS
        if not known:
            what = f"{word}(...)" if following == "(" and word not in _SIGNS else word
            raise self.error(f"{what} is not in the language of conditions.", place)

    @staticmethod
    def _may_precede(word: str, following: str) -> bool:
        """Whether a word may stand before a parenthesis, or before a text."""
        if following == "(":
            return word in FUNCTIONS | _KEYWORDS or word in PARTS
        return word in _KEYWORDS | _LITERALS


class _Depth:
    """How deep words nest, counted as a parser that descends would."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._levels = [0]  # signs and NOTs before the operand that comes next
        self._before = ""

    def add(self, word: str, place: int) -> None:
        if word in ("(", "CASE"):
            self._levels.append(0)
        elif word in (")", "END") and len(self._levels) > 1:
            self._levels.pop()
        elif word == "NOT" or (word in "+-" and self._before in _BEFORE_SIGN):
            self._levels[-1] += 1
        elif word in ("AND", "OR", ",", "WHEN", "THEN", "ELSE"):
            self._levels[-1] = 0
        self._before = word
        if len(self._levels) + sum(self._levels) > DEEPEST:
            raise self._source.error(
                f"The condition nests deeper than {DEEPEST} levels.",
                place,
                "Write it flatter, or compute a column first.",
            )


def _around(line: str, at: int, width: int = 60) -> tuple[str, int]:
    """A part of a long line, and where in it the place is; control characters are blanks."""
    first = max(0, at - width // 2)
    shown = "".join(c if c.isprintable() else " " for c in line[first : first + width])
    return shown, at - first
