"""Texts in columns: told apart, numbered and ordered as Python does it, one by one."""

import random

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from onesided.errors import DataError
from onesided.monitor import _rows
from onesided.monitor._batch import Batch, Columns, read_batch
from onesided.monitor._rows import Texts, encoded

WORDS = {
    "dense": [f"person {i}" for i in range(80)],
    "sparse": [f"{i:x}" for i in (7, 2**40, 2**63, 2**64, 2**200, 2**200 + 1, 2**201)],
    "odd": [
        "",
        "\0",
        "\0\0",
        "a",
        "a\0",
        "é",
        "e\u0301",
        "日本",
        "𝒳",
        "\ue000",
        "\ud83d",
        "\ude00",
    ],
    "long": ["a" * 3000, "a" * 2999 + "b", "b", "c"],
}


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("size", [0, 1, 9, 4000])
def test_positions_and_words_are_those_of_python(words, size):
    dice = random.Random(f"{words}{size}")
    given = [dice.choice(WORDS[words]) for _ in range(size)]
    cut = size // 3
    positions, told = Texts.of([given[:cut], [], given[cut:]]).distinct()
    assert told == tuple(sorted(set(map(encoded, given))))
    assert [told[one] for one in positions.tolist()] == list(map(encoded, given))


@pytest.mark.parametrize("words", ["dense", "sparse", "long"])
def test_columns_of_arrow_are_read_where_they_are(words, monkeypatch):
    given = WORDS[words] * 3
    wanted, told = Texts.of([given[2:-1]]).distinct()
    halves = pa.chunked_array([["left out", *given[:5]], given[5:]])
    for series in (pl.Series(["left out", *given]), halves, halves.cast(pa.string_view())):
        column = nw.from_native(series, series_only=True)[3:-1]
        found, met = Texts.in_column(column).distinct()
        assert (found.tolist(), met) == (wanted.tolist(), told)
    monkeypatch.setattr(_rows, "find_spec", lambda _: None)
    assert Texts.in_column(column) is None


@pytest.mark.parametrize("stray", [b"b", 5, None])
def test_what_stands_far_down_among_texts_of_pandas_is_found(make, stray):
    """pandas' objects may be anything; their first hundred rows say nothing of the others."""
    persons = pd.Series(["a"] * 300 + [stray], dtype=object)
    batch = {"person": persons, "place": pd.Series(["a"] * 301)}
    with pytest.raises(DataError, match="Row 300"):
        make(state=None).step(batch, id="1", time=3)


def test_columns_with_nulls_or_of_other_types_are_not():
    for values in (["a", None], [1, 2]):
        assert Texts.in_column(nw.from_native(pl.Series(values), series_only=True)) is None


@pytest.mark.parametrize(
    ("words", "table"),
    [
        *((words, dict) for words in WORDS),
        *((words, pa.table) for words in WORDS if words != "odd"),
    ],
)  # Arrow holds no lone surrogates
def test_a_batch_is_digested_as_by_hand(make, words, table, rows_digest):
    """Also where one name is so long that names are not laid out in one width."""
    dice, rules = random.Random(words), make(state=None, keys=["b", "a", "ü"]).rules
    for size in (1, 50):
        person = [dice.choice(WORDS[words]) for _ in range(size)]
        place = [dice.choice(["a", "b", "ü"]) for _ in range(size)]
        given = table({"person": person, "place": place})
        read = read_batch(given, rules=rules, columns=Columns(), id="1", time=3)
        at = ["b", "a", "ü"].index
        assert read.digest() == rows_digest([at(one) for one in place], person, [3] * size)
        assert Batch("1", 3, read.rows).content() == read.content()


@pytest.mark.parametrize("keys", [range(5, 900), [7, 2**40, -(2**62), 2**62]])
def test_places_that_are_numbers_are_found_in_tables_and_by_search(make, keys):
    """Closely numbered or not: known ones at their position, all others left out."""
    rules = make(state=None, keys=list(keys)).rules
    ends = [-(2**63), -1, 0, 2**63 - 1]
    asked = np.array([*ends, *(key + by for key in keys for by in (-1, 0, 1))], dtype=np.int64)
    visits = {"person": np.arange(asked.size), "place": asked}
    options = {"rules": rules, "columns": Columns(), "id": "1", "time": 3, "on_unknown": "ignore"}
    read = read_batch(visits, **options)
    position = {key: at for at, key in enumerate(keys)}
    wanted = [(position[one], who) for who, one in enumerate(asked.tolist()) if one in position]
    found = zip(read.rows.place.tolist(), read.rows.person.tolist(), strict=True)
    assert list(found) == sorted(wanted)
