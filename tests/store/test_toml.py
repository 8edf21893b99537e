"""On which line of TOML something stands: as its own parser sees it."""

import tomllib

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from onesided.errors import ParameterError
from onesided.fields import Field, is_number, listing, read
from onesided.store import toml_document
from onesided.store._text import lines_of

TEXT = """# what looks like a key in text is none
a.b = 1 # x
s = '''
[x]
y = 3
'''
[[p.q]]
z = {r = [
  1, [2,
  3],
]}
[p.q.w]
u = 1

[[p.q]]
z = 2
[[p.q.m]]
k = 1
[[p.q.m]]
k = 1
["p.2"."x\\ty"]
"""
LINES = {
    ("a", "b"): 2,
    ("s",): 3,
    ("p", "q"): 7,
    ("p", "q", 0): 7,
    ("p", "q", 0, "z", "r"): 8,
    ("p", "q", 0, "z", "r", 0): 9,
    ("p", "q", 0, "z", "r", 1, 1): 10,
    ("p", "q", 0, "w"): 12,
    ("p", "q", 0, "w", "u"): 13,
    ("p", "q", 1, "z"): 16,
    ("p", "q", 1, "m", 0, "k"): 18,
    ("p", "q", 1, "m", 1): 19,
    ("p.2", "x\ty"): 21,
}


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["unix", "windows"])
def test_tables_keys_and_items_have_their_lines(end):
    found = lines_of(TEXT.replace("\n", end))
    assert {path: found[path] for path in LINES} == LINES
    assert ("x",) not in found


KEYS = st.text(alphabet='ab."\n', min_size=1, max_size=4)
VALUES = st.one_of(st.integers(), st.text(alphabet="a=[]\n'\"#", max_size=6))
TABLES = st.recursive(
    st.dictionaries(KEYS, st.one_of(VALUES, st.lists(VALUES, max_size=3)), max_size=3),
    lambda inner: st.dictionaries(KEYS, st.one_of(inner, st.lists(inner, max_size=2)), max_size=3),
    max_leaves=8,
)


@given(TABLES, st.booleans())
def test_every_key_is_said_on_the_line_that_is_told(table, several):
    text = tomli_w.dumps(table, multiline_strings=several)
    lines = text.split("\n")
    found = lines_of(text)
    assert {path[0] for path in found} == set(tomllib.loads(text))
    for path, line in found.items():
        before = "\n".join(lines[: line - 1])
        assert path[-1:] == (0,) or path not in lines_of(before)


def read_rows(text):
    rows = {"rows": Field(listing(listing(is_number)), example="[[1, 2]]")}
    with toml_document(text, what="list", hint="", error=ParameterError) as document:
        return read(rows, document, what="the list")


def test_an_error_inside_says_the_line_and_what_was_given():
    with pytest.raises(ParameterError) as caught:
        read_rows("rows = [\n  [1, 2],\n  [1, true],\n]")
    assert caught.value.reason == "Line 3: rows[1][1] must be text or a number, got True."
    assert caught.value.hint == "Give text or a number. For example rows = [[1, 2]]"
    assert caught.value.values["at"] == ("rows", 1, 1)


def test_where_no_line_is_told_the_keys_say_where():
    with pytest.raises(ParameterError, match=r"^rows\.0: rows\[0\] must be a list, got True"):
        read_rows(f"{'#' * 2**18}\nrows = [true]")
