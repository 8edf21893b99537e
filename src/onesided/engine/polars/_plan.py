"""What a lazy table's own plan says: whether it gives the same rows when it is read again.

A question reads its table more than once. So a plan may hold only steps and functions of a list,
as Polars prints them: those that go by the rows alone, not by chance or by where rows stand.
"""

from __future__ import annotations

import re
from typing import Any, Final

from onesided.errors import DataError

_STEPS: Final = re.compile(
    r"DF \[|(?:Parquet|Csv|NDJson|Ndjson|Ipc|IPC|Delta|Iceberg) SCAN|PROJECT |ESTIMATED ROWS|"
    r"SELECTION:|SELECT|WITH_COLUMNS|FILTER|FROM$|SORT BY|UNIQUE\[[^]]*\] BY None$|CACHE|"
    r"UNION|PLAN \d+:$|(?:INNER|LEFT|RIGHT|FULL|CROSS|SEMI|ANTI|IEJOIN) JOIN|(?:LEFT|RIGHT) PLAN|"
    r"END |EXPLODE|UNNEST|UNPIVOT|RENAME|DROP|hint\.sorted|AGGREGATE|simple π|\[|\]"
)
_CALLS: Final = frozenset(
    re.findall(
        r"\w+",
        """
    abs add alias all all_horizontal all_ignore_nulls any any_horizontal any_ignore_nulls
    arctan2 as_struct by_dtype cast ceil clip coalesce col collect_schema concat_horizontal
    concat_list concat_str contains count cos date datetime day div dt_year eq eq_missing
    ends_with exp explode fill_nan fill_null floor format ge gt hash hour if_else is_between
    is_duplicated is_finite is_in is_infinite is_leap_year is_nan is_not_nan is_not_null is_null
    le len len_bytes len_chars literal lit log log1p lower lt max max_horizontal mean median
    microsecond millisecond min min_horizontal minute mod month mul n_unique nanosecond ne
    ne_missing neg negate not null_count offset_by or and ordinal_day otherwise over pow
    quantile quarter replace replace_all replace_strict replace_time_zone convert_time_zone
    round round_sig_figs second sign sin split sqrt starts_with std strict_cast strip_chars
    strip_chars_end strip_chars_start strip_prefix strip_suffix strptime struct sub sum
    sum_horizontal tan then ternary_expr time timestamp to_date to_datetime to_lowercase
    to_titlecase to_uppercase total_days total_hours total_minutes to_integer total_seconds
    truncate upper var week weekday when xor year zfill
    """,
    )
)
# Of one value's own parts these tell alike each time; of a column they go by where rows stand.
_OF_ONE_VALUE: Final = frozenset(["concat", "get", "length", "reverse", "slice"])
_AGGREGATES: Final = frozenset(
    re.findall(
        r"\w+",
        "all all_ignore_nulls any any_ignore_nulls count len max mean median min n_unique "
        "null_count quantile std sum var",
    )
)
_QUOTED: Final = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_CALL: Final = re.compile(r"(\.(?:str|list|arr|bin)\.)?([A-Za-z_]\w*)\(")
# A column that was not computed of the rows: each goes to whatever row stands at its place.
_BESIDE: Final = re.compile(r"(?<![\w/])(?<!is_in\(\[)Series(?=[\[\]).,]|$)")
_WORD: Final = re.compile(r"[.\w]+(?=\()|[()\[\], ]")


def refuse_unrepeatable(native: Any) -> None:
    """Errors: DataError for a lazy table that may give other rows when it is read again."""
    text = native.explain(optimized=False)
    bare = _QUOTED.sub(" ", text)
    grouping = False
    for line in map(str.strip, bare.splitlines()):
        unknown = [call for place, call in _CALL.findall(line) if not _is_steady(place, call)]
        if _lists_rows(line, grouping=grouping):
            unknown.append("lists of rows")
        if _BESIDE.search(line):
            unknown.append("a Series set beside the rows")
        if line and not _STEPS.match(line):
            unknown = [line.split("[")[0].strip()]
        if unknown:
            raise DataError(
                f"This lazy table is computed by {unknown[0]}, which is not known to give the same "
                "rows each time.",
                hint="A question reads the table more than once. Give it collected, "
                "table.collect(), or write it to files first.",
            )
        grouping = line.startswith("AGGREGATE")


def _is_steady(place: str, call: str) -> bool:
    return call in _CALLS or (bool(place) and call in _OF_ONE_VALUE)


def _lists_rows(line: str, *, grouping: bool) -> bool:
    """Whether a group, or a window, takes a column whose rows nothing aggregates.

    Polars makes lists of them, in no order, and seldom prints it. The line is read from its end,
    so that what is applied to a column comes before it.
    """
    bare = [not grouping]  # per open bracket: whether a column may stand here without an aggregate
    for word in reversed(_WORD.findall(line.split(" BY ", maxsplit=1)[0] if grouping else line)):
        if word in ")]":
            bare.append(bare[-1])
        elif word in "([":
            bare = bare[:-1] or bare
        elif word in ", ":
            bare[-1] = bare[-2] if len(bare) > 1 else not grouping
        elif word == ".over":
            bare[-1] = False
        elif word.removeprefix(".") in _AGGREGATES:
            bare[-1] = True
        elif word == "col" and not bare[-1]:
            return True
    return False
