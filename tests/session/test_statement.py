"""Whatever is published of an answer says what it is about: the condition, what was cut, and what
is missing. A new surface, and a new question, joins by one line."""

import json
import zipfile
from html import unescape

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onesided as od
from onesided.session import Statement, release_from_json, release_to_json

ROWS = pl.DataFrame(
    {
        "person": list(range(60)) * 2,
        "place": ["gym", "bar"] * 60,
        "infected": [n % 3 == 0 for n in range(120)],
        "pay": [n % 100 for n in range(120)],
    }
)
WHERE = "infected"
MISSING = "Recorded as infected: rows for which that is unknown are not counted."
CUT = "Units in more than 1 group were counted in 1"
PLACE = {"by": "place", "keys": ["gym", "bar"], "max_groups": 1, "on_excess": "truncate"}
PAY = {"bounds": (0, 100), "missing": "drop"}


def session(policy=None, **more):
    policy = od.policy.addition_only() if policy is None else policy
    unit = {} if more.pop("alone", False) else {"unit": "person"}
    return od.Session(ROWS, policy=policy, budget=1000, **unit, **more)


def alone():
    return session(alone=True)


QUESTIONS = {
    "count": lambda: session().count(epsilon=9, where=WHERE, **PLACE),
    "top_k": lambda: session().top_k(1, epsilon=9, where=WHERE, **PLACE),
    "at_most": lambda: session().at_most(5, epsilon=9, where=WHERE, unknown="recorded", **PLACE),
    "above": lambda: session().above(
        5, max_answers=1, epsilon=9, where=WHERE, unknown="recorded", **PLACE
    ),
    "row_count": lambda: session().row_count(max_rows=2, epsilon=9, where=WHERE, **PLACE),
    "sum of rows": lambda: session().sum(
        "pay", of="rows", max_rows=2, epsilon=9, where=WHERE, **PAY, **PLACE
    ),
    "sum of units": lambda: session().sum(
        "pay", of="units", total_bounds=(0, 9), missing="drop", epsilon=9, where=WHERE, **PLACE
    ),
    "median of rows": lambda: session().median(
        "pay", of="rows", max_rows=2, epsilon=9, where=WHERE, **PAY, **PLACE
    ),
    "mean": lambda: session().mean("pay", epsilon=9, where=WHERE, **PAY, **PLACE),
    "variance": lambda: session().variance("pay", epsilon=9, where=WHERE, **PAY, **PLACE),
    "median": lambda: session().median("pay", epsilon=9, where=WHERE, **PAY, **PLACE),
    "maximum": lambda: session().maximum(
        "pay", candidates=[9, 99], epsilon=9, where=WHERE, missing="drop", **PLACE
    ),
    "histogram": lambda: session().histogram(
        "pay", bins=[0, 50, 100], epsilon=9, where=WHERE, max_groups=1, on_excess="truncate"
    ),
    "linear": lambda: alone().linear(
        [[1, 1]], by="place", keys=["gym", "bar"], epsilon=9, where=WHERE
    ),
    "ranges": lambda: alone().ranges("pay", "all", bins=[0, 50, 100], epsilon=9, where=WHERE),
    "discover": lambda: session(od.policy.sensitive("pay > 90")).discover(
        by="place", max_groups=1, epsilon=9, where=WHERE
    ),
    "ngrams": lambda: session(od.policy.sensitive("pay > 90")).ngrams(
        by="place", order="pay", n=1, max_groups=1, epsilon=9, where=WHERE
    ),
    "several": lambda: session().ask_all([od.Count(epsilon=9, where=WHERE, **PLACE)]),
    "sql": lambda: session().sql("SELECT COUNT(DISTINCT person) FROM t WHERE infected", epsilon=9),
}


def written(release, folder, kind):
    release.write(folder / "out", formats=[kind])
    return folder / "out" / f"release.{kind}"


def sheets(path):
    with zipfile.ZipFile(path) as book:
        return unescape(
            "".join(book.read(name).decode("utf8", "ignore") for name in book.namelist())
        )


def of_parquet(path):
    return pq.read_schema(path).metadata[b"onesided.statement"].decode()


def told_again(release, folder):
    del folder
    return str(release_from_json(release_to_json(release)))


SURFACES = {
    "str": lambda release, _: str(release),
    "repr": lambda release, _: repr(release),
    "notebook": lambda release, _: unescape(release._repr_html_()),
    "sentences": lambda release, _: " ".join(release.statement.sentences()),
    "statement": lambda release, _: json.dumps(release.statement.to_json(), ensure_ascii=False),
    "json": lambda release, _: release_to_json(release),
    "read back": told_again,
    "plot": lambda release, _: f"{release.chart().title} {release.chart().below}",
    "release.json": lambda release, folder: written(release, folder, "json").read_text(),
    "release.html": lambda release, folder: unescape(written(release, folder, "html").read_text()),
    "release.xlsx": lambda release, folder: sheets(written(release, folder, "xlsx")),
    "release.parquet": lambda release, folder: of_parquet(written(release, folder, "parquet")),
    "guarantee.json": lambda release, folder: (
        written(release, folder, "csv").parent / "guarantee.json"
    ).read_text(),
}
CUTTING = {*QUESTIONS} - {"linear", "ranges", "sql"}


@pytest.fixture(scope="module")
def answers():
    return {name: ask() for name, ask in QUESTIONS.items()}


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("question", QUESTIONS)
def test_every_surface_says_the_condition_what_is_cut_and_what_is_missing(
    answers, question, surface, tmp_path
):
    release = answers[question]
    told = SURFACES[surface](release, tmp_path)
    assert f"where {WHERE}" in told
    assert MISSING in told
    assert CUT not in "".join(release.warnings) or CUT in told
    assert (CUT in "".join(release.warnings)) == (question in CUTTING)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_ledger_and_the_guarantee_say_the_condition(question):
    release = QUESTIONS[question]()
    assert f"where {WHERE}" in str(release.guarantee)
    assert f"where {WHERE}" in release.title


def test_the_ledger_keeps_the_statement_of_what_was_charged():
    asked = session()
    release = asked.count(epsilon=9, where=WHERE, **PLACE)
    assert asked.ledger.entry(release.entry).label == release.title


def test_what_is_told_again_is_stated_as_before():
    asked = session()
    first = asked.count(epsilon=9, where=WHERE, id="monday", **PLACE)
    again = asked.count(epsilon=9, where=WHERE, id="monday", again=True, **PLACE)
    assert again.told_again
    assert (again.asked, again.statement.entry) == (first.asked, first.entry)
    assert again.statement.drawn


def test_thresholds_of_their_own_are_stated():
    own = {"by": "place", "keys": ["gym", "bar"], "max_groups": 1, "on_excess": "truncate"}
    several = session().at_most({"gym": 3, "bar": 5}, epsilon=9, **own)
    assert several.title == "At most a group's own limit of units (person) by place"
    many = session().above([3, 5], max_answers=1, epsilon=9, **own)
    assert many.title == "More units (person) than a group's own limit by place"


def test_units_are_called_by_the_schemas_noun():
    schema = od.Schema(unit="person", noun=("Person", "Personen"))
    asked = session(schema=schema)
    assert asked.count(epsilon=1).title == "Number of Personen"
    assert asked.at_most(3, epsilon=1).title == "At most 3 Personen"
    assert session().count(epsilon=1).title == "Number of units (person)"
    assert alone().count(epsilon=1).title == "Number of rows"


def test_the_statement_stands_before_any_row_is_read_and_is_that_of_the_release():
    asked, question = session(), od.Count(epsilon=1, where=WHERE)
    before = asked.statement(question)
    assert before == asked.ask(question).asked
    assert asked.plan(question).guarantee.asked == before.title()


def test_a_long_condition_is_shortened_in_the_title_and_whole_in_the_sentences():
    long = " OR ".join(f"pay = {n}" for n in range(60))
    release = session().count(epsilon=1, where=long)
    assert len(release.title) < 220
    assert long in " ".join(release.statement.sentences())


def test_what_others_wrote_stays_on_one_line():
    rows = ROWS.rename({"place": "a\nb\x1b[31m"})
    asked = od.Session(rows, policy=od.policy.addition_only(), budget=9)
    release = asked.count(epsilon=1, by="a\nb\x1b[31m", keys=["gym"])
    assert release.title.isprintable()
    assert "\x1b" not in f"{release} {release!r}"


TEXT = st.text(max_size=9)


@given(
    st.builds(
        Statement,
        measure=TEXT,
        by=st.lists(TEXT, max_size=2).map(tuple),
        others=st.booleans(),
        where=TEXT,
        unknown=st.sampled_from(["recorded", "possible"]),
        units=TEXT,
        first=st.lists(TEXT, max_size=2).map(tuple),
        promise=TEXT,
        entry=st.none() | st.integers(0, 9),
        parts=st.lists(st.builds(Statement, measure=TEXT), max_size=2).map(tuple),
    )
)
def test_a_statement_is_read_back_as_it_was(statement):
    told = json.loads(json.dumps(statement.to_json()))
    assert Statement.from_json(told) == statement


@pytest.mark.parametrize(
    "given",
    [
        None,
        {},
        {"version": 1},
        {"version": 3, "measure": "x"},
        {"version": 1, "measure": 3},
        {"version": 1, "measure": "x", "by": "place"},
        {"version": 1, "measure": "x", "others": 1},
        {"version": 1, "measure": "x", "entry": True},
        {"version": 1, "measure": "x", "parts": 3},
        {"version": 1, "measure": "x", "parts": [3]},
        {"version": 1, "measure": "x", "parts": [{"version": 1, "measure": "x", "parts": []}]},
        {"version": True, "measure": "x"},
        {"version": 1, "measure": "x", "more": 3},
    ],
)
def test_what_is_no_statement_is_refused(given):
    with pytest.raises(od.errors.ParameterError, match="no statement"):
        Statement.from_json(given)
