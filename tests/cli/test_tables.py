"""What is read of a CSV file: all of it, or nothing."""

import pytest

from onesided.cli._batches import open_file
from onesided.cli._tables import read_table
from onesided.errors import DataError

LOST = {
    # DuckDB would take the second heading for the only one, and skip the two visits above it.
    "two files in one": "person,place\n1,a\n2,b\nperson,place,time\n3,a,x\n4,b,y\n",
    "one line too long": "person,place\n1,a\n2,b\n3,a,x\n",
    "one line too short": "person,place\n1,a\n2,b\n3\n",
    "a quote that does not end": 'person,place\n1,a\n2,b\n3,"a',
}


@pytest.mark.parametrize("read", [read_table, open_file])
@pytest.mark.parametrize("text", LOST.values(), ids=LOST)
def test_a_file_of_which_rows_would_be_lost_is_refused(read, text, tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text(text)
    with pytest.raises(DataError, match="differ in how many columns") as caught:
        read(path)
    assert "first line" in caught.value.hint


@pytest.mark.parametrize("read", [read_table, open_file])
def test_no_row_is_taken_for_a_comment(read, tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("person,place\n#1,a\n2,b\n")
    assert sorted(read(path).fetchall()) == [("#1", "a"), ("2", "b")]


@pytest.mark.parametrize("read", [read_table, open_file])
def test_ordinary_files_are_read_whole(read, tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text('place;n\n"a;b";x\n"say ""hi""";y\n5" pipe;z\n')
    assert [row[0] for row in read(path).fetchall()] == ["a;b", 'say "hi"', '5" pipe']
    path.write_text("place\na\nb\n")
    assert read(path).fetchall() == [("a",), ("b",)]
    path.write_text("person,place\n")
    assert read(path).fetchall() == []


def test_people_are_told_apart_by_their_text(tmp_path):
    path = tmp_path / "visits.csv"
    long = "8" * 40
    path.write_text(f'person,place\n007,1\n7,1\n7.0,2\n{long}1,2\n{long}2,2\n,3\n"",3\n')
    people = read_table(path, unit="person").distinct().fetchall()
    named = {("007", 1), ("7", 1), ("7.0", 2), (long + "1", 2), (long + "2", 2)}
    assert set(people) == {*named, (None, 3)}
