# ruff: noqa: E501 - tables of odd values and of texts read better in one line each
"""What the language takes, what it refuses and where, and that nothing else gets out of it."""

import random
import re
import subprocess
import sys

import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.conditions import Condition, parse
from onesided.schema import BOOLEAN, DATE, INTEGER, NUMBER, TEXT, TIME, bits, moment_type

TYPES = {
    "age": INTEGER,
    "small": bits(8),
    "weight": NUMBER,
    "place": TEXT,
    "minor": BOOLEAN,
    "born": DATE,
    "seen": moment_type(),
    "sent": moment_type(zoned=True),
    "clock": TIME,
}
ACCEPTED = {
    "age < 18 or not minor": '"age" < 18 OR NOT "minor"',
    "(AGE < 18)": '"AGE" < 18',
    "a is not null": 'NOT ("a" IS NULL)',
    "a not in (1, -2)": 'NOT ("a" IN (1, -2))',
    "a between 1 and 2": '"a" BETWEEN 1 AND 2',
    "born >= date '2008-01-01'": "\"born\" >= DATE '2008-01-01'",
    "s = 'it''s' and \"A \"\"b\" != s": '"s" = \'it\'\'s\' AND "A ""b" <> "s"',
    "year(d) = 2000": 'EXTRACT(YEAR FROM "d") = 2000',
    "mod(a, 2) = 1": '("a" % 2) = 1',
    "d + interval '48 hours' > e": '("d" + INTERVAL \'2\' DAY) > "e"',
    "case a when 1 then b else null end": 'CASE WHEN "a" = 1 THEN "b" END',
    "substring(s from 2 for 3) not like '_%'": "NOT (SUBSTRING(\"s\", 2, 3) LIKE '_%')",
    "a and (b and c) or d": '("a" AND "b" AND "c") OR "d"',
    "x = 1.50": '"x" = 1.50',
    "t < timestamptz '2020-01-01 01:00:00+01:00'": "\"t\" < TIMESTAMPTZ '2020-01-01 00:00:00Z'",
}
REFUSED = {
    "('person', 'target') in (unpivot native on person, place)": "place",
    "exists (show tables)": "EXISTS(...)",
    "exists (pivot native on place)": "EXISTS(...)",
    "a in (select person from t)": "QUERY",
    "avg(a) over () < a": "AVG(...)",
    "random() < 1": "RANDOM(...)",
    "now() > d": "NOW(...)",
    "current_date > d": "CURRENT",
    "a.b = 1": ".",
    "cast(a as int) = 1": "CAST(...)",
    "a::int = 1": "::",
    "a like 'x!%' escape '!'": "ESCAPE",
    "a ilike 'x'": "ILIKE",
    "a = 'x' 'y'": "Text after text",
    "a = N'x'": "NATIONAL",
    "a = null": "NULL",
    "a in (1, null)": "NULL",
    "a is true": "IS takes NULL",
    "a || b = 'x'": "||",
    "a = ?": "?",
    "a; drop table t": ";",
    "`a` = 1": "`",
    "a = [1]": "[",
    "a = $1": "$1",
    "lower(a, b) = 'x'": "cannot be read",
    "trim(both 'x' from a) = 'y'": "BOTH",
    "substring(a, 0) = 'x'": "SUBSTRING",
    "substring(a, b) = 'x'": "SUBSTRING",
    "a + interval '1' month > b": "interval",
    "a = date '2020-02-30'": "2020-02-30",
    "a between symmetric 1 and 2": "SYMMETRIC",
    "a = 1 and": "cannot be read",
    "a = 1 -- b": "comments",
    "a /* b */ = 1": "comments",
    "a b": "cannot be read",
    "a = 'x": "never closed",
    "a in ()": "IN",
    "a in (b)": "literals alone",
    "a = x'00'": "x",
    "": "empty",
    " \n": "empty",
    "a = '\0'": "not text",
    "a = '\ud800'": "not text",
    "(" * 70 + "a" + ")" * 70: "nests",
    "not " * 70 + "a": "nests",
    "case when " * 70 + "a" + " then a end" * 70: "nests",
    "decimal(" * 40 + "a" + ")" * 40: "DECIMAL(...)",
    "+".join(["a"] * 5000) + " = 1": "nests",
    "a = " + "9" * 39: "38 digits",
    "a = 1e999": "larger",
    "a" * 100_001: "characters",
    "a = 1 or " * 9000 + "a = 1": "words",
}
MIXED = {
    "age": "not true or false",
    "place = 1": "text and integer",
    "age = '18'": "integer and text",
    "minor = 1": "boolean and integer",
    "minor < true": "no order",
    "born = '2020-01-01'": "date and text",
    "seen < timestamptz '2020-01-01 00:00:00Z'": "datetime with zone",
    "seen < sent": "datetime with zone",
    "born + interval '3' hour > born": "whole days",
    "born + 1 > born": "INTERVAL '3' DAY",
    "born - born > 3": "a > b + INTERVAL",
    "weight / 2 > 1": "whole numbers alone",
    "length(age) = 1": "LENGTH takes text",
    "abs(place) = 1": "ABS takes",
    "age like '1%'": "LIKE takes text",
    "hour(born) = 1": "no part",
    "year(clock) = 1": "no part",
    "coalesce(age, place) = 1": "COALESCE",
    "case when minor then 1 else 'a' end = 1": "CASE",
    "not age": "not true or false",
    "age and minor": "not true or false",
    "interval '1' day > interval '1' hour or place > 1": "text and integer",
}


@pytest.mark.parametrize("text", ACCEPTED)
def test_one_canonical_text(text):
    condition = Condition.parse(text)
    assert str(condition) == ACCEPTED[text]
    assert Condition.parse(str(condition)) == condition


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:40])
def test_all_else_is_refused_with_its_place(text):
    with pytest.raises(errors.ConditionError) as refusal:
        Condition.parse(text)
    assert REFUSED[text] in str(refusal.value)
    if REFUSED[text] not in ("empty", "characters", "words"):
        assert "^" in str(refusal.value)
        assert "line" in refusal.value.values


def test_the_place_is_shown_in_long_texts_of_several_lines():
    with pytest.raises(errors.ConditionError) as refusal:
        Condition.parse("age < 18\n  or " + "a = 1 or " * 20 + "strftime(born) = 'x'")
    line, caret = str(refusal.value).splitlines()[2:4]
    assert line[caret.index("^") :].startswith("strftime(born)")


@pytest.mark.parametrize("text", MIXED)
def test_mixtures_without_a_meaning_are_refused(text):
    with pytest.raises(errors.ConditionError) as refusal:
        Condition.parse(text).bind(TYPES)
    assert MIXED[text] in str(refusal.value)


def test_an_unknown_column_is_named_with_the_nearest():
    with pytest.raises(errors.UnknownColumnError, match="Did you mean 'age'"):
        Condition.parse("AGE < 18").bind(TYPES)


@pytest.mark.parametrize("given", [None, 1, b"a", ["a"], object()])
def test_conditions_are_text(given):
    with pytest.raises(errors.ConditionError, match="is a text"):
        Condition.parse(given)


@pytest.mark.parametrize(
    ("text", "row", "wanted"),
    [
        ("age < 17.5", {"age": 17}, True),
        ("age < 17.5", {"age": 18}, False),
        ("age = 17.5", {"age": None}, None),
        ("small < 1000", {"small": 5}, True),
        ("small < 1000", {"small": None}, None),
        ("age / 2 = -3", {"age": -7}, True),
        ("age % 2 = -1", {"age": -7}, True),
        ("age / 0 = 1", {"age": 1}, None),
        ("age * age * age > 0", {"age": 2**62}, None),
        ("age * age > 0", {"age": -(2**63)}, True),
        ("weight * 1e308 > 0", {"weight": 1e10}, None),
        ("lower(place) = 'Ä' or upper(place) = 'SS'", {"place": "ä"}, False),
        ("seen >= date '2020-01-01'", {"seen": 1577836800000000}, True),
        ("born + interval '1' day is null", {"born": 2932896}, True),
        ("minor or age is null", {"minor": None, "age": None}, True),
        ("minor and age is null", {"minor": None, "age": None}, None),
        ("place like 'a%_'", {"place": "a\n"}, True),
    ],
)
def test_what_conditions_mean(text, row, wanted):
    assert Condition.parse(text).bind(TYPES).of(row) is wanted


PIECES = [*"()=<>+-*/%,.;:'\"`[]{}$?@#&|^~\\\n\t \0é🤦", "and", "or", "not", "in", "is", "null", "between", "like", "case", "when", "then", "else", "end", "coalesce(", "extract(", "year", "from", "interval", "date", "timestamp", "'2020-01-01'", "'", "1", "18", "1.5", "1e9", "age", "place", "minor", "born", "true", "select", "exists", "cast(", "as", "int", "decimal(", "array<", "over (", "values", "--", "/*", "*/", "{{", "unpivot", "'a%'", "escape", "::", "lower(", "substring(", "for", "distinct", "any(", "with", "union", "1_0", "0x1", "$1", "x'", "e'", "lateral", "lambda", "->", "=>", "<=>", "!="]  # fmt: skip


@pytest.mark.slow
def test_no_text_ends_in_another_error(rounds):
    rng = random.Random(7)
    for _ in rounds(3000):
        joint = rng.choice(["", " "])
        text = joint.join(rng.choice(PIECES) for _ in range(rng.randint(1, 14)))
        try:
            condition = Condition.parse(text)
            condition.bind(TYPES)
        except (errors.ConditionError, errors.UnknownColumnError):
            continue
        assert Condition.parse(str(condition)) == condition


def test_the_parser_is_loaded_when_a_condition_is_read():
    code = "import sys, onesided, onesided.conditions; print('sqlglot' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("text", "word"), [("when = 'a'", "when"), ("case = 1", "case"), ("select = 1", "select")]
)
def test_a_word_that_sql_keeps_says_how_to_quote_it(text, word):
    with pytest.raises(errors.ConditionError) as caught:
        Condition.parse(text)
    assert f'write it in double quotes: "{word}"' in caught.value.hint
    assert Condition.parse(text.replace(word, f'"{word}"'))


def test_a_condition_that_ends_too_early_says_after_what():
    with pytest.raises(errors.ConditionError, match="it ends after 'AND'"):
        Condition.parse("x = 1 AND")


WHOLE = (
    "city IN ('rome', 'bern') OR COALESCE(age, 99) >= 18",
    "NOT (a BETWEEN 1 AND 3) AND t + INTERVAL '1' DAY > u",
    "CASE WHEN UPPER(a) = 'X' THEN b ELSE SUBSTRING(c, 1, 3) END = EXTRACT(HOUR FROM t)",
)
ADDED = [
    "DISTINCT",
    "ALL",
    "ANY",
    "FROM",
    "FOR",
    "AS",
    "END",
    ",",
    ";",
    "(",
    ")",
    "{",
    "}",
    "{#x#}",
    "x",
    "'q'",
    "1",
    "!",
    "?",
    ".",
    "#",
    "@",
    "\\",
    "::int",
    "/*c*/",
]


@pytest.mark.parametrize("text", WHOLE)
def test_no_word_is_read_over(text):
    """A parser drops words too many, so that the tree is the same without them."""
    plain, words = str(parse(text)), re.findall(r"'[^']*'|\w+|[^\w\s]", text)
    for place in range(len(words) + 1):
        for word in ADDED:
            longer = " ".join([*words[:place], word, *words[place:]])
            try:
                assert str(parse(longer)) != plain, longer
            except errors.ConditionError:
                continue


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("EXTRACT(HOUR FROM (t) = 20", "never closed|cannot be read"),
        ("COALESCE(a, , 9) = 1", "Nothing stands before"),
        ("UPPER(ALL a) = 'X'", "Nothing joins|cannot be read"),
        ("a IS + NULL", "before a number"),
    ],
)
def test_what_was_read_over_is_refused_at_its_place(text, reason):
    with pytest.raises(errors.ConditionError, match=reason) as refused:
        parse(text)
    assert "line 1, column" in str(refused.value)


def test_the_widths_of_many_branches_are_found_once(monkeypatch):
    """A translator's work grows as the condition does: what each branch asked of all was 8 s."""
    from onesided.conditions import _translate

    asked = [0]
    plain = _translate._is_wide

    def counted(node):
        asked[0] += 1
        return plain(node)

    def work(branches):
        asked[0] = 0
        text = " ".join(f"when age = {k} then {k}" for k in range(branches))
        ages = pl.DataFrame({"age": [1]})
        session = od.Session(ages, policy=od.policy.unbounded(), budget=99)
        session.count(where=f"case {text} end = 1", epsilon=1)
        return asked[0]

    monkeypatch.setattr(_translate, "_is_wide", counted)
    assert work(80) < 2.5 * work(40)
