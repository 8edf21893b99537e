"""Batches, ids and ledgers: what a monitor or a ledger may be handed, and what must come of it."""

import copy
import pickle
import threading

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import onesided as od
from onesided import errors
from onesided.store import DatabaseUrl

P = od.policy
PEOPLE = list(range(100))


def monitor(keys=("gym", "home"), **more):
    given = {"at_most": 5, "window": None, "epsilon": 50, "policy": P.presence(max_groups=1)}
    return od.Monitor(list(keys), **(given | more))


def status(batch, keys=("gym", "home"), **more):
    with monitor(keys, **more) as opened:
        return list(opened.step(batch, id="x").status)


def tables(columns):
    arrow = pa.table(columns)
    connection = duckdb.connect()
    return [arrow, pl.from_arrow(arrow), pl.from_arrow(arrow).lazy(), arrow.to_pandas(),
            arrow.to_pandas(types_mapper=pd.ArrowDtype), connection.from_arrow(arrow)]  # fmt: skip


@pytest.mark.parametrize("on_unknown", ["ignore", "error"])
def test_a_full_place_is_never_certified_whatever_table_brings_the_people(on_unknown):
    place = pa.array(["gym"] * 100)
    for column in (place, place.dictionary_encode(), place.cast(pa.large_string())):
        for batch in tables({"person": PEOPLE, "place": column}):
            assert status(batch, on_unknown=on_unknown) == ["unknown", "certified"]


@pytest.mark.parametrize("on_unknown", ["ignore", "error"])
@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ([1, 2], ["1"] * 100),
        (["1", "2"], [1] * 100),
        ([1, 2], [1.0] * 100),
        ([1, 2], [True] * 100),
        (["gym", "home"], [b"gym"] * 100),
        (["gym", "home"], [None] * 100),
        ([1, 2], [1.0] * 99 + [None]),
        (["gym", "home"], ["gym"] * 99 + [None]),
        (["gym", "home"], [["gym"]] * 100),
    ],
)
def test_places_of_another_type_are_refused_in_every_table(keys, place, on_unknown):
    for batch in [*tables({"person": PEOPLE, "place": place}), {"person": PEOPLE, "place": place}]:
        with pytest.raises(errors.OnesidedError):
            status(batch, keys, on_unknown=on_unknown)


def test_batches_pass_the_gate_of_tables():
    frame = pd.DataFrame({"person": PEOPLE, "place": ["gym"] * 100})
    bad = pa.array([b"\xff"] * 100).view(pa.string())
    closed = duckdb.connect()
    relation = closed.from_arrow(pa.Table.from_pandas(frame))
    closed.close()
    twice = pd.concat([frame, frame[["place"]]], axis=1)
    for batch in (
        pa.table({"person": PEOPLE, "place": bad}),
        pa.table({"person": bad, "place": ["gym"] * 100}),
        pa.table({"person": PEOPLE, "place": ["gym"] * 100}).to_reader(),
        relation,
        twice,
        frame.astype({"person": object}).assign(person=lambda f: ["1", *f["person"][1:]]),
        frame.assign(person=frame["person"] + 0.5),
        frame.set_index("person"),
        pl.Series(PEOPLE),
        np.zeros((2, 2)),
        "visits.csv",
        [("a", "gym")],
    ):
        with pytest.raises(errors.OnesidedError):
            status(batch)


@pytest.mark.parametrize("name", ["", "\x00", "\ud800", None, 3, b"x", ("a",)])
def test_ids_are_text(name):
    session = od.Session(pl.DataFrame({"a": [1]}), policy=P.unbounded(), budget=9)
    if name is not None:
        with pytest.raises(errors.OnesidedError):
            session.count(epsilon=1, id=name)
        assert not any(session.spent.values())
    with monitor() as opened, pytest.raises(errors.OnesidedError):
        opened.step({"person": [1], "place": ["gym"]}, id=name)


def test_an_id_answers_one_question_once(tmp_path):
    data = pl.DataFrame({"person": [1, 2], "place": ["a", "b"]})

    def session(rows=data, unit="person"):
        return od.Session(rows, unit=unit, policy=P.unbounded(), budget=9, ledger=tmp_path / "l.db")

    asked = {"by": "place", "keys": ["a", "b"], "epsilon": 1, "max_groups": 1, "id": "monday"}
    first = session().count(**asked)
    for other in ({"keys": ["a"]}, {"epsilon": 2}, {"where": "place = 'a'"}, {"max_groups": 2}):
        with pytest.raises(errors.OnesidedError):
            session().count(**(asked | other | {"again": True}))
    with pytest.raises(errors.OnesidedError):
        session(unit=None).count(epsilon=1, id="tuesday")
    with pytest.raises(errors.ReleaseExistsError):
        session().count(**asked)
    told = session(data.head(0)).count(**asked, again=True)
    assert told.told_again
    assert list(told.estimate) == list(first.estimate)
    assert set(session().spent.values()) == {1}


def test_one_id_in_two_threads_is_charged_and_drawn_once(tmp_path):
    data, told, refused = pl.DataFrame({"place": ["a"] * 50}), [], []
    start = threading.Barrier(6)

    def publish():
        session = od.Session(data, policy=P.unbounded(), budget=9, ledger=tmp_path / "l.db")
        start.wait()
        try:
            told.append(int(session.count(epsilon=1, id="x").estimate[0]))
        except errors.OnesidedError as error:
            refused.append(error)

    od.Session(data, policy=P.unbounded(), budget=9, ledger=tmp_path / "l.db").ledger.close()
    threads = [threading.Thread(target=publish) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(told), len(refused)) == (1, 5)
    with od.Ledger.open(tmp_path / "l.db") as ledger:
        assert len(list(ledger.entries(kind="spend"))) == 1


def test_what_answers_once_cannot_be_copied():
    with monitor() as opened:
        for once in (opened, od.mechanism.SparseVector(5, upper_rate=1).stream()):
            for make in (copy.copy, copy.deepcopy, pickle.dumps):
                with pytest.raises((errors.OnesidedError, TypeError)):
                    make(once)


SECRET = "S3cretPw"  # noqa: S105 - of no server
PLAIN = (str, list, dict, tuple, BaseException, DatabaseUrl)
WELL_FORMED = 3  # of what is no address that is known, frames hold what was given
ADDRESSES = [
    f"postgresql+psycopg://bob:{SECRET}@127.0.0.1:1/none",
    f"postgresql://bob:{SECRET}@127.0.0.1:1/none?connect_timeout=1",
    f"postgres://bob:{SECRET}@127.0.0.1:1/none",
    f"postgresql+psycopg://127.0.0.1:1/none?user=bob&password={SECRET}",
    f"postgresql+psycopg://bob@127.0.0.1:1/none?passwd={SECRET}",
    f"postgresql+psycopg://bob@127.0.0.1:1/none?options=-c%20a={SECRET}",
    f"postgresql+psycopg2://bob:{SECRET}@127.0.0.1:1/none",
    f"postgresql+psycopg://bob:{SECRET}@127.0.0.1:notaport/none",
    f"postgresql+psycopg://bob:{SECRET}@[::1/none",
    f"POSTGRESQL+PSYCOPG://bob:{SECRET}@127.0.0.1:1/none",
]


@pytest.mark.parametrize("address", ADDRESSES, ids=range(len(ADDRESSES)))
def test_no_password_is_in_any_error(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for use in (
        lambda: od.Ledger.open(address),
        lambda: od.Session(
            pl.DataFrame({"a": [1]}), policy=P.unbounded(), budget=1, ledger=address
        ),
        lambda: monitor(state=address),
        lambda: monitor(ledger=address),
    ):
        with pytest.raises(errors.OnesidedError) as caught:
            use()
        error = caught.value
        while error is not None:
            assert SECRET not in f"{error}{error!r}{error.args}{vars(error)}"
            frame = error.__traceback__
            while frame is not None:
                module = frame.tb_frame.f_globals.get("__name__", "")
                if module.startswith("onesided.") and address in ADDRESSES[:WELL_FORMED]:
                    held = [v for v in frame.tb_frame.f_locals.values() if isinstance(v, PLAIN)]
                    assert SECRET not in repr(held), module
                frame = frame.tb_next
            error = error.__cause__
    assert not [path.name for path in tmp_path.iterdir()]
