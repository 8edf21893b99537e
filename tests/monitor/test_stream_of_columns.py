"""A stream of tables: what goes wrong in the middle of it leaves no trace in what follows."""

import shutil

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from onesided.errors import DataError, PolicyMismatchError, UnknownColumnError
from onesided.monitor import _monitor
from onesided.monitor._sql import SqlJournal

FIRST = {"person": ["Ann", "Bob", "Zoë"], "place": ["a", "b", "a"], "time": [3, 1, 2]}
NEXT = {"person": ["Ann", "Eve"], "place": ["c", "a"], "time": [5, 5]}
TABLES = [pl.DataFrame, pd.DataFrame, pa.table]


class Killed(BaseException):
    """The process ends here."""


WRONG = [
    ({"person": None}, UnknownColumnError),
    ({"place": None}, UnknownColumnError),
    ({"person": [1, 2]}, DataError),  # numbers after text
    ({"place": [1, 2]}, DataError),  # no place is of this type
    ({"place": ["a", None]}, DataError),
    ({"person": ["Ann", None]}, DataError),
    ({"time": ["5", "noon"]}, DataError),
    ({"time": [5, 6]}, DataError),  # later than the batch
    ({"time": [5, 2**62]}, DataError),
]


@pytest.mark.parametrize("table", TABLES)
def test_batches_of_another_schema_in_mid_stream(make, tmp_path, table):
    with make() as monitor:
        monitor.step(table(FIRST), id="1", time=3)
    shutil.copytree(tmp_path, tmp_path / "copy")
    with make() as monitor, make(state=tmp_path / "copy" / "state.db") as untouched:
        for wrong, error in WRONG:
            columns = {name: values for name, values in (NEXT | wrong).items() if values}
            with pytest.raises(error) as caught:
                monitor.step(table(columns), id="2", time=5)
            assert caught.value.hint
            assert monitor.last.number == 1
        release = monitor.step(table(NEXT), id="2", time=5)
        assert release.head == untouched.step(NEXT, id="2", time=5).head


@pytest.mark.parametrize("table", TABLES)
def test_batches_that_run_backwards_move_no_clock(make, table):
    """Late ones count while they are in the window; what has expired is refused."""
    with make(epsilon=1000, at_most=0, charges=3) as monitor:
        assert monitor.step(table(FIRST), id="1", time=13).values.tolist() == [0, 0, 0]
        late = table(NEXT | {"time": [5, 5]})
        release = monitor.step(late, id="2", time=12)
        assert (release.time, release.values.tolist()) == ("13", [1, 0, 1])
        with pytest.raises(DataError, match="too late"):
            monitor.step(table(NEXT | {"time": [1, 2]}), id="3", time=3)
        assert monitor.last.number == 2


@pytest.mark.parametrize(
    ("table", "where"), [*zip(TABLES, ["proof_of", "chained", "step_keys"], strict=True)]
)
def test_killed_between_the_digest_and_the_answer(make, tmp_path, monkeypatch, table, where):
    """Nothing was published: the same rows, in any order and any table, get the answer they had."""
    with make() as monitor:
        monitor.step(table(FIRST), id="1", time=3)
    shutil.copytree(tmp_path, tmp_path / "copy")
    with make(state=tmp_path / "copy" / "state.db") as untouched:
        wanted = untouched.step(NEXT, id="2", time=5).head
    real = getattr(_monitor, where)

    def die(*given, **named):
        real(*given, **named)
        raise Killed

    monkeypatch.setattr(_monitor, where, die)
    monitor = make()
    with pytest.raises(Killed):
        monitor.step(table(NEXT), id="2", time=5)
    monkeypatch.undo()
    turned = table({name: values[::-1] for name, values in NEXT.items()})
    with monitor, make() as again:
        assert again.step(turned, id="2", time=5).head == wanted
        assert monitor.step(table(NEXT), id="2", time=5).told_again
        assert monitor.check() == 2


def test_the_state_of_another_monitor(make):
    """Its rules decide: rows of one monitor never count in another."""
    journal = SqlJournal.open(None)
    make(state=journal).step(pl.DataFrame(FIRST), id="1", time=3)
    with pytest.raises(PolicyMismatchError, match="other"):
        make(state=journal, keys=["a", "b"])
