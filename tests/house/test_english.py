"""Messages say "1 row", "2 rows" and "an int": numbers and articles go through one place."""

import re
from pathlib import Path

import pytest

import onesided
from onesided._english import a, many, plural
from onesided._numbers import quantity

SOURCE = Path(onesided.__file__).parent
# An article in front of a name that may begin with any letter.
ARTICLE = re.compile(r"""\b[Aa]n? \{(?:type\(|\w*kind\b|name\b)""")
# What has no value, or is refused, may be one.
AGREES = re.compile(r"\{(?!many\()[^{}]*\} (?:rows|units|values|keys) (?:have|are|lie|fit)\b")


@pytest.mark.parametrize(
    ("number", "noun", "said"),
    [
        (1, "row", "1 row"),
        (2, "row", "2 rows"),
        (0, "row", "0 rows"),
        (1_000, "entry", "1,000 entries"),
        (2, "batch", "2 batches"),
        (2, "day", "2 days"),
    ],
)
def test_things_are_counted_as_people_count(number, noun, said):
    assert many(number, noun) == said
    assert many(number, noun, one="has", more="have").endswith("has" if number == 1 else "have")
    assert plural(noun) != noun


@pytest.mark.parametrize(
    ("noun", "said"),
    [
        ("int", "an int"),
        ("str", "a str"),
        ("ndarray", "an ndarray"),
        ("Unbounded", "an Unbounded"),
        ("unit", "a unit"),
        ("hour", "an hour"),
        ("Above", "an Above"),
        ("datetime", "a datetime"),
    ],
)
def test_an_article_suits_its_word(noun, said):
    assert a(noun) == said


def test_messages_use_them():
    root = SOURCE.parents[1]
    for path in [*SOURCE.rglob("*.py"), *(root / "proofs" / "src").rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        assert not ARTICLE.findall(text), f"use onesided._english.a in {path}"
        assert not AGREES.findall(text), f"use onesided._english.many in {path}"


def test_the_checks_see_what_is_wrong():
    assert ARTICLE.search('f"The key is a {type(value).__name__}"')
    assert AGREES.search('f"{missing:,} rows have no value"')


@pytest.mark.parametrize(
    "bound", [549.6907558755086, -603.956302948021, 1.23456789012e-9, 0.1, 7e22]
)
def test_a_bound_is_never_rounded_towards_what_it_bounds(bound):
    low, high = (float(quantity(bound, up=up).replace(",", "")) for up in (False, True))
    assert low <= bound <= high
    assert high - low <= abs(bound) * 1e-5
