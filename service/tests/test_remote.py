"""The session contract suite's questions, asked of a running server through the client.

What a service does not offer is left out: rows told by errors (``on_excess="error"``), the
curator's notes, samples, and tables of other types than the dataset's own.
"""

import socket
import threading

import polars as pl
import pytest

import onesided as od
from onesided import errors

pytest.importorskip("fastapi")
pytest.importorskip("httpx")
pytest.importorskip("duckdb")

import uvicorn

from onesided_service import ServiceConfig, create_app

pytestmark = pytest.mark.xdist_group("server")  # started once
EXACT = 90  # the noise is zero in all but e^-90 of the draws
COUNTS = {"a": 3, "b": 3, "c": 2, "d": 1, "e": 0}
VISITS = {
    "person": [1, 1, 1, 2, 2, 3, 4, 4, 4, 4, 5],
    "place": ["a", "a", "b", "a", "c", "b", "a", "b", "c", "d", "z"],
    "age": [20, 20, 20, 30, 30, 15, 40, 40, 40, 40, 50],
}
KINDS = {
    "person": [1, 1, 2, 3, 4, 5, 5],
    "place": ["a", "a", "a", "a", "a", "a", "b"],
    "age": [20, 12, 30, None, 17, 40, 41],
}
COLUMNS = {
    "person": od.column("integer"),
    "place": od.column("text"),
    "age": od.column("integer", bounds=(0, 110)),
}
SETS = {
    "visits": (VISITS, "person", od.policy.addition_only()),
    "present": (VISITS, "person", od.policy.presence(max_groups=1)),
    "rows": (VISITS, None, od.policy.addition_only()),
    "kinds": (KINDS, "person", od.policy.sensitive("age < 18")),
    "empty": ({name: [] for name in VISITS}, "person", od.policy.addition_only()),
}
WHOLE = {"epsilon": EXACT, "max_groups": 4, "on_excess": "truncate"}


@pytest.fixture(scope="module")
def server(tmp_path_factory, patient_clock):
    """Its address and tokens: a socket, and a clock that waits for the work."""
    folder = tmp_path_factory.mktemp("server")
    lines = ['[service]\nstate = "service.db"\ntick = "1/10"\nrequests_per_minute = 1_000_000']
    types = {"person": pl.Int64, "place": pl.String, "age": pl.Int64}
    for name, (rows, unit, policy) in SETS.items():
        pl.DataFrame(rows, schema=types).write_parquet(folder / f"{name}.parquet")
        (folder / f"{name}.schema").write_text(od.Schema(unit=unit, columns=COLUMNS).to_toml())
        (folder / f"{name}.policy").write_text(policy.to_toml())
        lines.append(
            f'[datasets.{name}]\ndata = "{name}.parquet"\nschema = "{name}.schema"\n'
            f'policy = "{name}.policy"\nbudget = 100_000\ndeclared_rows = 100\nseconds = "1/10"'
        )
    (folder / "onesided.toml").write_text("\n".join(lines))
    app = create_app(ServiceConfig.read(folder / "onesided.toml"), clock=patient_clock())
    inner = app.state.service
    for dataset in inner.datasets.values():
        dataset.check()
    token = inner.people.add("ann", {name: ["analyst"] for name in SETS}, days=1)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        serving = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False))
        thread = threading.Thread(target=serving.run, args=([listening],))
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", {"ann": token}
        serving.should_exit = True
        thread.join()


@pytest.fixture
def connect(server):
    url, tokens = server
    made = []

    def connected(dataset, **more):
        given = {"token": tokens["ann"], "dataset": dataset, "tables": pl.DataFrame, **more}
        made.append(od.connect(url, **given))
        return made[-1]

    yield connected
    for one in made:
        one.close()


def counts(release):
    return dict(zip(release.frame["place"], release.frame["estimate"], strict=True))


def test_units_are_counted_per_public_key(connect):
    release = connect("visits").count(by="place", keys=list(COUNTS), **WHOLE)
    assert counts(release) == COUNTS
    assert release.guarantee.headline == EXACT


def test_the_frame_has_all_columns(connect):
    frame = connect("visits").count(by="place", keys=["b", "a"], **WHOLE).frame
    assert frame.columns == [
        "place",
        "estimate",
        "lower",
        "upper",
        "lower_certain",
        "upper_certain",
    ]
    assert frame["place"].to_list() == ["b", "a"]
    assert frame["lower_certain"].to_list() == [False, False]


def test_rows_are_the_unit_when_none_is_named(connect):
    release = connect("rows").count(by="place", keys=["a", "z"], epsilon=EXACT)
    assert counts(release) == {"a": 4, "z": 1}


def test_totals_need_no_keys(connect):
    release = connect("visits").count(epsilon=EXACT)
    assert release.frame["estimate"].to_list() == [5]
    assert release.at_most(5) == [()]


def test_several_grouping_columns(connect):
    keys = [("a", 20), ("b", 15), ("b", 99)]
    release = connect("visits").count(by=["place", "age"], keys=keys, **WHOLE)
    assert release.frame["estimate"].to_list() == [1, 1, 0]


def test_where_picks_rows(connect):
    where = "age < 35 and place <> 'c'"
    release = connect("visits").count(by="place", keys=list(COUNTS), where=where, **WHOLE)
    assert counts(release) == {"a": 2, "b": 2, "c": 0, "d": 0, "e": 0}


@pytest.mark.parametrize("where", ["any(age < 35)", "age + 1", "shoe_size > 3"])
def test_what_is_no_condition_is_refused_and_charges_nothing(connect, where):
    session = connect("visits")
    before = session.spent
    with pytest.raises((errors.ConditionError, errors.DataError)):
        session.count(by="place", keys=["a"], where=where, **WHOLE)
    assert session.spent == before


def test_truncation_keeps_each_unit_in_at_most_the_bound(connect):
    release = connect("visits").count(
        by="place", keys=list(COUNTS), epsilon=EXACT, max_groups=1, on_excess="truncate"
    )
    assert sum(counts(release).values()) == 4
    assert "bounded data" in release.guarantee.about


def test_presence_counts_everyone_whole_and_certainly(connect):
    release = connect("present").count(by="place", keys=list(COUNTS), epsilon=EXACT)
    assert counts(release) == COUNTS
    assert release.guarantee.about == "About the data as recorded."
    assert release.interval.upper_certain
    assert release.at_most(1) == ["d", "e"]


def test_a_unit_is_sensitive_if_any_row_is_or_may_be(connect):
    session = connect("kinds")
    question = {"by": "place", "keys": ["a"], **WHOLE}
    assert counts(session.count(**question, counted="open")) == {"a": 2}
    assert counts(session.count(**question, counted="sensitive")) == {"a": 3}
    assert counts(session.count(**question, counted="open", where="age >= 18")) == {"a": 2}


def test_an_empty_table_gives_noisy_zeros(connect):
    release = connect("empty").count(by="place", keys=["a", "b"], **WHOLE)
    assert counts(release) == {"a": 0, "b": 0}


def test_unknown_columns_are_named_and_charge_nothing(connect):
    session = connect("visits")
    before = session.spent
    with pytest.raises(errors.UnknownColumnError, match="'where'"):
        session.count(by="where", keys=["a"], **WHOLE)
    with pytest.raises(errors.KeysError):
        session.count(by="place", keys=["a", "a"], **WHOLE)
    with pytest.raises(errors.ParameterError):
        session.count(epsilon=-1)
    assert session.spent == before


def test_values_selections_and_several_answers(connect):
    session = connect("visits")
    assert session.sum("age", of="rows", max_rows=3, epsilon=EXACT).value > 0
    assert session.sum("age", of="units", total_bounds=(0, 200), epsilon=EXACT).value > 0
    text, more = "SELECT SUM(age) FROM visits", {"max_rows": 3, "bounds": (0, 99)}
    assert session.sql(text, epsilon=EXACT, **more).value > 0
    with pytest.raises(errors.SqlError, match="SUM_PER_UNIT"):
        session.sql(text, epsilon=EXACT)
    assert session.top_k(1, by="place", keys=list(COUNTS), **WHOLE).labels[0] in ("a", "b")
    assert session.histogram("age", bins=[0, 25, 111], **WHOLE).columns()
    first, second = session.ask_all([od.Count(epsilon=EXACT), od.session.Mean("age", epsilon=9)])
    assert first.value == 5
    assert first.entry == second.entry
    assert session.sql("SELECT COUNT(DISTINCT person) FROM visits", epsilon=EXACT).value == 5


def test_a_plan_costs_nothing(connect):
    session = connect("visits")
    before = session.spent
    plan = session.plan(od.Count(by="place", keys=["a"], **WHOLE))
    assert plan.charge == {"record -> absent": EXACT}
    assert plan.affordable
    assert plan.at(1).charge == {"record -> absent": 1}
    assert "Charge" in str(plan)
    assert session.sql("EXPLAIN SELECT COUNT(DISTINCT person) FROM v", epsilon=1).error
    assert session.spent == before


def test_an_id_is_charged_once_and_told_again(connect):
    session = connect("visits")
    first = session.count(epsilon=1, id="monday")
    spent = session.spent
    with pytest.raises(errors.ReleaseExistsError):
        session.count(epsilon=1, id="monday")
    with pytest.raises(errors.ReleaseExistsError):
        session.count(epsilon=2, id="monday", again=True)
    again = session.count(epsilon=1, id="monday", again=True)
    assert (again.value, again.entry) == (first.value, first.entry)
    assert session.spent == spent
    assert any(one["id"] == "monday" for one in session.history)


def test_doors_and_budgets_are_errors_of_ours(connect, server):
    url, _ = server
    with pytest.raises(errors.ServiceError, match="token"):
        od.connect(url, token="os1_00_00", dataset="visits")  # noqa: S106 - a wrong one
    with pytest.raises(errors.ServiceError):
        connect("no-such-dataset")
    with pytest.raises(errors.ParameterError, match="5 datasets"):
        connect(None)


def test_a_suggestion_is_made_by_the_server_and_free(connect):
    session = connect("visits")
    before = session.spent
    found = session.suggest(od.Count(epsilon=1), error=5)
    assert 4.9 < found.error <= 5
    assert found.question.epsilon == found.epsilon
    assert session.plan(found.question).charge == found.plan.charge
    certified = od.session.AtMost(5, by="place", keys=["a", "b"], epsilon=1, max_groups=1)
    with pytest.raises(errors.ParameterError):
        session.suggest(certified, look="1/20")
    assert session.suggest(certified, certified="0.5", count=3).certified[3] >= 0.5
    assert session.spent == before


def test_made_up_rows_have_the_columns_of_the_schema(connect):
    frame = connect("visits").made_up()
    assert set(frame.columns) == set(COLUMNS)
    assert frame.height == 100  # as many as are declared
