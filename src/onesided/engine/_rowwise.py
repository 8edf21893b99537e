"""Conditions must look at one row alone.

A condition such as ``age > avg(age)`` makes one person's kind depend on everybody else, and every
promise of a policy is made person by person. So conditions may use comparisons and a closed list
of functions that are known to look at one row; anything else is refused by name.
"""

from __future__ import annotations

import re
from typing import Final

from onesided.errors import PolicyError
from onesided.policy import Predicate

_SQL: Final = frozenset(
    [
        "abs",
        "age",
        "cast",
        "ceil",
        "ceiling",
        "coalesce",
        "concat",
        "contains",
        "date",
        "date_diff",
        "date_part",
        "date_trunc",
        "datediff",
        "datepart",
        "datetrunc",
        "day",
        "dayname",
        "dayofmonth",
        "dayofweek",
        "dayofyear",
        "decade",
        "ends_with",
        "epoch",
        "extract",
        "floor",
        "greatest",
        "hour",
        "if",
        "ifnull",
        "isfinite",
        "isinf",
        "isnan",
        "isodow",
        "isoyear",
        "lcase",
        "least",
        "left",
        "length",
        "len",
        "like_escape",
        "list_contains",
        "list_value",
        "lower",
        "lpad",
        "ltrim",
        "make_date",
        "make_timestamp",
        "md5",
        "microsecond",
        "millisecond",
        "minute",
        "mod",
        "month",
        "monthname",
        "nullif",
        "position",
        "power",
        "prefix",
        "quarter",
        "regexp_full_match",
        "regexp_like",
        "regexp_matches",
        "replace",
        "right",
        "round",
        "rpad",
        "rtrim",
        "second",
        "sign",
        "split_part",
        "sqrt",
        "starts_with",
        "strftime",
        "strpos",
        "strptime",
        "substr",
        "substring",
        "suffix",
        "time",
        "time_bucket",
        "timestamp",
        "trim",
        "trunc",
        "try_cast",
        "ucase",
        "upper",
        "week",
        "weekday",
        "weekofyear",
        "year",
        "yearweek",
        "decimal",
        "numeric",
        "varchar",
        "char",
    ]
)
_SQL_WORDS: Final = frozenset(
    [
        "and",
        "between",
        "case",
        "else",
        "end",
        "from",
        "in",
        "is",
        "like",
        "ilike",
        "not",
        "or",
        "similar",
        "then",
        "to",
        "when",
    ]
)
_NARWHALS: Final = frozenset(
    [
        "col",
        "lit",
        "when_then",
        "when",
        "then",
        "otherwise",
        "all_horizontal",
        "any_horizontal",
        "min_horizontal",
        "max_horizontal",
        "sum_horizontal",
        "mean_horizontal",
        "concat_str",
        "coalesce",
        "is_in",
        "is_null",
        "is_nan",
        "is_finite",
        "is_between",
        "is_close",
        "fill_null",
        "fill_nan",
        "cast",
        "abs",
        "round",
        "floor",
        "ceil",
        "exp",
        "log",
        "sqrt",
        "clip",
        "replace_strict",
        "contains",
        "starts_with",
        "ends_with",
        "len_chars",
        "to_lowercase",
        "to_uppercase",
        "replace",
        "replace_all",
        "strip_chars",
        "zfill",
        "to_date",
        "to_datetime",
        "date",
        "year",
        "month",
        "day",
        "hour",
        "minute",
        "second",
        "millisecond",
        "microsecond",
        "nanosecond",
        "ordinal_day",
        "weekday",
        "truncate",
        "offset_by",
        "to_string",
        "convert_time_zone",
        "replace_time_zone",
        "timestamp",
        "total_minutes",
        "total_seconds",
        "total_milliseconds",
    ]
)
# How plain values are printed within an expression.
_VALUES: Final = frozenset(
    ["datetime", "time", "timedelta", "timezone", "ZoneInfo", "Decimal", "Timestamp", "Timedelta"]
)
_TEXT: Final = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")


# Text and names in one pass: names may hold quotes or dashes. Text with a letter before it is
# found, and left as it is, so that it is refused. Comments are refused altogether: engines differ
# in where one ends, and what follows would be read by one of them and not by us.
_TOKENS: Final = re.compile(
    r"""\b\w?&?'(?:[^']|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`"""
)


def require_rowwise(predicate: Predicate) -> None:
    """Refuse a condition that may look at other rows.

    Errors: PolicyError naming the function or word that is not known to look at one row.
    """
    ours = "onesided_" if "onesided_" in predicate.text else None
    found = ours or (sql_suspect if predicate.sql else _narwhals_suspect)(predicate.text)
    if found:
        raise PolicyError(
            f"The condition {predicate.text!r} uses {found!r}, which is not known to look at one "
            "row alone.",
            hint="A condition about other rows would let one person's data decide how another is "
            "treated. Compute the column first, from public facts, or use plain comparisons, "
            "without comments.",
            word=found,
        )


def sql_suspect(text: str) -> str | None:
    """The first word of SQL that could reach beyond the row."""
    bare = _TOKENS.sub(_blank, text).lower()
    words = (
        r"\b(?:select|over|qualify|window|lambda|random|columns|"
        # The time: a question asks more than once, and kinds must not change in between.
        r"(?:current_|local)(?:date|time|timestamp))\b|;|--|/\*"
    )
    for word in re.findall(words, bare):
        return str(word)
    # "from" is part of a few functions' own grammar; anywhere else it starts a query.
    rest = re.sub(r"\b(extract|substring|trim|position|overlay)\s*\([^()]*?\bfrom\b", r"\1(", bare)
    rest = re.sub(r"\bis\s+(not\s+)?distinct\s+from\b", " = ", rest)
    for found in re.findall(r"\b(?:from|table|values|with)\b|\$", rest):
        return str(found)
    for name in re.findall(r"([a-z_]\w*)\s*\(", bare):
        if name not in _SQL and name not in _SQL_WORDS:
            return str(name)
    # Text that ends elsewhere than it seems to, as E'\'' does, or that never ends.
    odd = re.search(r"\w*['\"`]", bare)
    return odd[0] if odd else None


def _blank(found: re.Match[str]) -> str:
    blanks = {"'": " 0 ", '"': " quoted ", "`": " quoted "}
    return blanks.get(found[0][0], found[0])


def _narwhals_suspect(printed: str) -> str | None:
    """The first call in a printed expression that could reach beyond the row."""
    text = _TEXT.sub("", printed)
    if "strategy=" in text and re.search(r"strategy=(?!None)", text):
        return "fill_null(strategy=...)"
    # Without a format it is guessed from the first rows: 12/01 is in December until 31/01 comes.
    guessed = re.search(r"\bto_(?:date|datetime)\(format=None", text)
    if guessed:
        return f"{guessed[0]})"
    for name in re.findall(r"([A-Za-z_]\w*)\(", text):
        if name not in _NARWHALS | _VALUES and not re.fullmatch(r"__\w+__", name):
            return str(name)
    return None
