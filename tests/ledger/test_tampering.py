"""Every edit, deletion, reordering or truncation is found, and the first bad row is named."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onesided import errors
from onesided.ledger import Ledger, _entry, _ledger

EDGE = "sensitive -> open"
ROWS = 9
COLUMNS = _entry.COLUMNS


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A closed, unguarded ledger of nine rows: opening, five charges, three answers."""
    path = tmp_path_factory.mktemp("tampering") / "ledger.db"
    with Ledger.open(path) as ledger:
        account = ledger.account(
            policy_id="5e" * 32, policy_toml="", policy_name="presence", budget={EDGE: 1}
        )
        for turn in range(5):
            receipt = account.spend({EDGE: "1/10"}, label=f"{turn}", release_id=f"id {turn}")
            if turn % 2 == 0:
                account.store(receipt, b"answer %d" % turn, "text/plain")
        assert ledger.check().entries == ROWS
        head = ledger.head()
    connection = sqlite3.connect(path)
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
        connection.execute(f"DROP TRIGGER {name}")
    connection.close()
    return path, head


class Tampered:
    """A copy of the original with one change; ``bad(head)`` is the row that the check names."""

    def __init__(self, original):
        path, self.head = original
        self.path = Path(path).with_name("copy.db")
        shutil.copy(path, self.path)

    def execute(self, *statements):
        connection = sqlite3.connect(self.path, isolation_level=None)
        for statement, *values in statements:
            connection.execute(statement, values)
        connection.close()
        return self

    def bad(self, head=None):
        with Ledger.open(self.path) as ledger, pytest.raises(errors.TamperedLedgerError) as caught:
            ledger.check(head)
        return caught.value.values["number"]


@pytest.fixture
def copy(original):
    return Tampered(original)


numbers = st.integers(1, ROWS)
slow_but_sound = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
anything = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8),
    st.integers(-(2**62), 2**62),
    st.binary(max_size=8),
    st.floats(allow_nan=False),
)


def value_of(connection, number, column):
    query = f"SELECT {column} FROM onesided_entries WHERE number = ?"
    return connection.execute(query, [number]).fetchone()[0]


def edited(path, number, column, change):
    """Set a column to ``change(old value)``; False if SQLite refused or nothing changed."""
    statement = f"UPDATE onesided_entries SET {column} = ? WHERE number = ?"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        before = value_of(connection, number, column)
        try:
            connection.execute(statement, [change(before), number])
        except sqlite3.IntegrityError:
            return False  # a release cannot be there twice, even by hand
        after = value_of(connection, number, column)
    return (type(before), before) != (type(after), after)


@slow_but_sound
@given(number=numbers, column=st.sampled_from(COLUMNS[1:]), value=anything)
def test_any_edit_is_found_in_its_row(original, number, column, value):
    copy = Tampered(original)
    if edited(copy.path, number, column, lambda _: value):
        assert copy.bad() == number


@slow_but_sound
@given(number=numbers, column=st.sampled_from(COLUMNS[2:]), place=st.integers(0, 200))
def test_one_changed_character_is_found(original, number, column, place):
    def flip(old):
        text = str(old) or " "
        at = place % len(text)
        return text[:at] + chr(ord(text[at]) ^ 1) + text[at + 1 :]

    copy = Tampered(original)
    if edited(copy.path, number, column, flip):
        assert copy.bad() == number


@pytest.mark.parametrize("number", range(1, ROWS))
def test_a_deleted_row_is_named(copy, number):
    copy.execute(("DELETE FROM onesided_entries WHERE number = ?", number))
    assert copy.bad() == number


@pytest.mark.parametrize("number", range(1, ROWS))
def test_a_deleted_row_is_named_even_if_later_rows_move_up(copy, number):
    moved = [
        ("UPDATE onesided_entries SET number = ? WHERE number = ?", later - 1, later)
        for later in range(number + 1, ROWS + 1)
    ]
    copy.execute(("DELETE FROM onesided_entries WHERE number = ?", number), *moved)
    assert copy.bad() == number


@slow_but_sound
@given(pair=st.lists(numbers, min_size=2, max_size=2, unique=True))
def test_swapped_rows_are_found(original, pair):
    first, second = sorted(pair)
    swap = "UPDATE onesided_entries SET number = ? WHERE number = ?"
    copy = Tampered(original).execute((swap, 99, first), (swap, first, second), (swap, second, 99))
    assert copy.bad() == first


@pytest.mark.parametrize("left", range(ROWS))
def test_rows_cut_from_the_end_are_found_by_a_head_kept_elsewhere(copy, left):
    copy.execute(
        ("DELETE FROM onesided_payloads WHERE charge >= ?", left),
        ("DELETE FROM onesided_entries WHERE number > ?", left),
    )
    assert copy.bad(copy.head) == left + 1


def test_a_row_added_by_hand_is_found(copy):
    columns = ", ".join(COLUMNS[1:])
    values = columns.replace("release_id", "'new'")
    copy.execute(
        (
            f"INSERT INTO onesided_entries (number, {columns}) "
            f"SELECT 10, {values} FROM onesided_entries WHERE number = 8",
        )
    )
    assert copy.bad() == ROWS + 1


@pytest.mark.parametrize("content", [b"other", "answer 0", None])
def test_an_exchanged_answer_is_named(copy, content):
    if content is None:
        copy.execute(("DELETE FROM onesided_payloads WHERE charge = 2",))
    else:
        copy.execute(("UPDATE onesided_payloads SET content = ? WHERE charge = 2", content))
    assert copy.bad() == 3
    with Ledger.open(copy.path) as ledger, pytest.raises(errors.TamperedLedgerError):
        ledger.accounts()[0].recall("id 0")


def test_an_answer_slipped_in_is_named(copy):
    copy.execute(("INSERT INTO onesided_payloads VALUES (4, x'00')",))
    assert copy.bad() == 4


def test_nothing_is_spent_on_a_tampered_last_row(copy):
    copy.execute(
        (f'UPDATE onesided_entries SET total_epsilon = \'{{"{EDGE}":"0"}}\' WHERE number = 9',)
    )
    with Ledger.open(copy.path) as ledger, pytest.raises(errors.TamperedLedgerError) as caught:
        ledger.account(policy_id="5e" * 32, policy_toml="", policy_name="p", budget={EDGE: 1})
    assert caught.value.values["number"] == 9


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"total_epsilon": f'{{"{EDGE}":"1/10"}}'}, "totals"),
        ({"epsilon": f'{{"{EDGE}":"-1/10"}}'}, "less than nothing"),
        (
            {"epsilon": f'{{"{EDGE}":"9/10"}}', "total_epsilon": f'{{"{EDGE}":"13/10"}}'},
            "over budget",
        ),
        ({"epsilon": '{"other":"1/10"}'}, "edges"),
        ({"epsilon": "[]"}, "cannot be read"),
        ({"delta": f'{{"{EDGE}":"x"}}'}, "cannot be read"),
        ({"kind": "store", "release_id": "x", "detail": "{}"}, "charges something"),
        ({"kind": "gift"}, "unknown format 2 or kind"),
        ({"format": 3}, "amounts cannot be read"),
        ({"format": 4}, "its format is not that of its account"),
        ({"format": 5}, "unknown format 5"),
        ({"policy_id": "other"}, "never opened"),
        ({"releases": 4}, "totals"),
    ],
)
def test_a_well_hashed_lie_is_found(copy, change, problem):
    """Someone who knows the format can hash a false row; its sums still give it away."""
    with Ledger.open(copy.path) as ledger:
        row = next(
            row for row in ledger._store.read(lambda view: list(view.rows())) if row.number == 8
        )
    forged = {name: getattr(row, name) for name in COLUMNS} | change
    forged["hash"] = _entry.digest(_entry.Row(**forged))
    assigned = ", ".join(f"{name} = ?" for name in COLUMNS)
    copy.execute((f"UPDATE onesided_entries SET {assigned} WHERE number = 8", *forged.values()))
    with (
        Ledger.open(copy.path) as ledger,
        pytest.raises(errors.TamperedLedgerError, match=problem) as caught,
    ):
        ledger.check()
    assert caught.value.values["number"] == 8


def test_a_ledger_written_anew_is_found_by_a_head_kept_elsewhere(original, tmp_path, open_account):
    _, head = original
    with Ledger.open(tmp_path / "anew.db") as ledger:
        open_account(ledger)
        ledger.check()
        with pytest.raises(errors.TamperedLedgerError, match="written anew"):
            ledger.check(head)


def test_a_head_that_is_still_in_the_chain_holds(tmp_path, open_account):
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        account = open_account(ledger)
        heads = [_entry.GENESIS, ledger.head()]
        for _ in range(3):
            account.spend({EDGE: "1/10"}, label="count")
            heads.append(ledger.head())
        for head in heads:
            assert ledger.check(f" {head}\n").head == heads[-1]


def test_damage_without_a_row_is_reported():
    _ledger.refuse_damage("")
    with pytest.raises(errors.TamperedLedgerError, match="every row holds"):
        _ledger.refuse_damage("SQLite finds: something")
