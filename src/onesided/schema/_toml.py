"""TOML from outside: its size and its nesting are checked before it is parsed."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Final

from onesided.errors import OnesidedError

LONGEST: Final = 500_000  # characters
_DEEPEST: Final = 50
_DIGITS: Final = 400
# Texts and comments are passed over; what a broken one hides, the parser does not get to.
_TOKENS: Final = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5}|\Z)|'
    r"\'\'\'(?:[^']|'(?!''))*+(?:'{3,5}|\Z)|"
    r'"(?:[^"\\\n]|\\.)*+"?|'
    r"'[^'\n]*+'?|#[^\n]*+|"
    r"(?<![.\w])[0-9_]{1,399}\.[0-9_]{1,399}(?![.\w])|"
    r"(?P<open>[\[{])|(?P<close>[\]}])|(?P<digits>[0-9a-fA-F_]{400})|(?P<dot>\.)|(?P<line>\n)",
    re.DOTALL,
)


def read_toml(text: str, *, what: str, error: type[OnesidedError]) -> dict[str, Any]:
    """The tables of a text in TOML.

    what: what the text is, for errors, such as "policy". error: its class.
    Errors: ``error``, for text that is too large or too deep, before it is parsed, and for what is
    not TOML.
    """
    if not isinstance(text, str):
        raise error(f"A {what} in TOML must be text, got {type(text).__name__}.")
    _check_size(text, what, error)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as reason:
        last = f"line {text.count(chr(10)) + 1}, the end of the document"
        place = str(reason).replace("end of document", last)
        raise error(f"The {what} is not valid TOML: {place}.") from None
    except (ValueError, RecursionError, MemoryError, OverflowError):
        raise error(f"The {what} is not valid TOML.", hint="Write it plainer.") from None


def read_text(path: str | Path, *, what: str, error: type[OnesidedError]) -> str:
    """A file's text, if it is no larger than a TOML file of ours may be.

    Errors: ``error``, naming the file, if it cannot be read, is too large, or is not UTF-8.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(4 * LONGEST + 1)
    except (OSError, ValueError) as reason:
        words = getattr(reason, "strerror", None) or str(reason)
        raise error(f"The {what} {str(path)!r} cannot be read: {words}.") from None
    if len(data) > 4 * LONGEST:
        raise _too_large(what, error)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as reason:
        raise error(
            f"The {what} {str(path)!r} is not UTF-8: byte {data[reason.start]:#04x} at "
            f"{reason.start:,}.",
            hint="Save it as UTF-8.",
        ) from None


def _check_size(text: str, what: str, error: type[OnesidedError]) -> None:
    if len(text) > LONGEST:
        raise _too_large(what, error)
    depth = dots = 0
    for token in _TOKENS.finditer(text):
        kind = token.lastgroup
        depth += (kind == "open") - (kind == "close")
        dots = 0 if kind == "line" else dots + (kind == "dot")
        if depth > _DEEPEST or dots > _DEEPEST:
            line = text.count("\n", 0, token.start()) + 1
            raise error(
                f"Line {line}: the {what} nests deeper than {_DEEPEST} levels.",
                hint="Write it flatter.",
                line=line,
            )
        if kind == "digits":
            line = text.count("\n", 0, token.start()) + 1
            raise error(
                f"Line {line}: the {what} has a number of more than {_DIGITS} digits.",
                hint="Write it shorter, or as text.",
                line=line,
            )


def _too_large(what: str, error: type[OnesidedError]) -> OnesidedError:
    return error(
        f"The {what} has more than {LONGEST:,} characters.",
        hint="Keep long lists in files of their own, and name those.",
    )
