"""Whatever is published of an answer says what it is about: the condition, what was cut, and what
is missing. A new surface, and a new question, joins by one line."""

import json
import re
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
IN_BINS = {"histogram"}
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
    cut = CUT.replace("group", "bin") if question in IN_BINS else CUT
    assert cut not in "".join(release.warnings) or cut in told
    assert (cut in "".join(release.warnings)) == (question in CUTTING)


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
    assert many.title == "At most a group's own limit of units (person) or a noisy number by place"


def test_a_group_without_a_name_says_which_it_is():
    """A margin is all, and a last group all others: in text, in HTML and in the picture."""
    asked, more = session(), {"max_groups": 1, "on_excess": "truncate", "epsilon": 9}
    others = asked.count(by="place", keys=["gym"], others=True, **more)
    rows = others.table.lines(rows=9)
    assert [line.split("  ")[0] for line in rows[1:]] == ["gym", "all others"]
    assert others.title == "Number of units (person) by place and all others"
    both = {"by": ["place", "pay"], "keys": od.cross(place=["gym"], pay=[9, 99])}
    assert asked.count(others=True, **both, **more).title.endswith(
        "by place and pay, and all others"
    )
    alone = od.Session(ROWS, policy=od.policy.addition_only(), budget=99)
    table = release_from_json(release_to_json(alone.table(margins=True, epsilon=9, **both)))
    assert table.columns()["place"][0] is None  # as programs have it
    assert table.table.lines(rows=1)[1].split()[:2] == ["all", "all"]
    assert table.title == "Number of rows by place and pay"
    two = alone.histogram({"pay": [0, 9, 99], "person": [0, 9]}, epsilon=9)
    assert two.title.endswith("rows in bins of pay and person (each without its upper end)")


def test_units_are_called_by_the_schemas_noun():
    schema = od.Schema(unit="person", noun=("Person", "Personen"))
    asked = session(schema=schema)
    assert asked.count(epsilon=1).title == "Number of Personen"
    assert asked.at_most(3, epsilon=1).title == "At most 3 Personen"
    assert session().count(epsilon=1).title == "Number of units (person)"
    assert alone().count(epsilon=1).title == "Number of rows"
    cut = asked.sum("pay", of="rows", max_rows=2, epsilon=9, **PAY, **PLACE).cut
    assert "Of each Person at most 2 rows count in a group" in cut
    assert "Personen in more than 1 group were counted in 1 of them" in cut
    assert not re.search(r"[Uu]nit|'person'", cut)


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


HEADING = "How long do people stay? <b>"


def of_visits(**more):
    stay = od.column("integer", bounds=(0, 100), measured_in="minutes")
    return od.Schema(unit="person", name="visits of 2026", columns={"pay": stay}, **more)


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("question", ["mean", "histogram"])
def test_every_surface_says_the_heading_the_data_and_the_unit_of_measurement(
    question, surface, tmp_path
):
    bins = {"bins": [0, 50, 100], "max_groups": 1, "on_excess": "truncate"}
    more = {"mean": PAY, "histogram": bins}[question]
    asked = getattr(session(schema=of_visits()), question)
    release = asked("pay", where=WHERE, epsilon=9, title=HEADING, **more)
    told = SURFACES[surface](release, tmp_path)
    for words in (HEADING, "pay (minutes)", "in visits of 2026", f"where {WHERE}"):
        assert words in told


def test_a_heading_stands_above_the_whole_question_and_never_in_its_place():
    long = " OR ".join(f"pay = {n}" for n in range(60))
    release = session().count(epsilon=1, where=long, title=HEADING)
    heading, under = release.statement.headed()
    assert (heading, under) == (HEADING, f"Number of units (person), where {long}.")
    page, card = release.page(release.table).html(), release._repr_html_()
    assert "<h1>How long do people stay? &lt;b&gt;</h1>" in page
    for told in map(unescape, (page, card)):
        assert long in told
    assert HEADING not in page + card
    assert session().count(epsilon=1).statement.headed()[1] == ""


def test_a_heading_is_no_part_of_what_was_asked():
    asked = session()
    first = asked.count(epsilon=1, id="monday", title="One")
    again = asked.count(epsilon=1, id="monday", title="Two", again=True)
    assert again.told_again
    assert again.value == first.value
    assert again.title.startswith("Two: Number of")
    both = [od.Count(epsilon=1, title="a"), od.Count(epsilon=1)]
    asked.ask_all(both, id="several")
    named = [od.Count(epsilon=1), od.Count(epsilon=1, title="b")]
    told = asked.ask_all(named, id="several", again=True, title="Both")
    assert told.told_again
    assert [one.title[:2] for one in told] == ["Nu", "b:"]


@pytest.mark.parametrize("title", [3, None, "x" * 201, "a\0b", "\ud800"])
def test_what_is_no_heading_is_refused_before_anything_is_charged(title):
    asked = session()
    for question in (
        od.Count(epsilon=1, title=title),
        od.Several([od.Count(epsilon=1, title=title)]),
    ):
        with pytest.raises(od.errors.ParameterError, match="title"):
            asked.ask(question)
    assert not any(asked.spent.values())


def test_every_surface_says_what_a_policy_leaves_open(tmp_path):
    release = od.Session(ROWS, policy=od.policy.bounded(), budget=99).linear(
        [[1, 1]], by="place", keys=["gym", "bar"], epsilon=9
    )
    assert release.notes
    for name, surface in SURFACES.items():
        (folder := tmp_path / name).mkdir()
        told = surface(release, folder)
        quiet = ("repr", "sentences", "statement", "plot", "release.json", "release.parquet")
        assert name in quiet or all(note in told for note in release.notes), name
    text = release_to_json(release)
    for wrong, said in (
        ('"notes":"x"', "notes must be a list"),
        ('"notes":[3]', r"notes\[0\] must be text"),
    ):
        with pytest.raises(od.errors.ParameterError, match=said):
            release_from_json(re.sub(r'"notes":\[.*?\]', wrong, text))
    without = json.loads(text)
    del without["notes"]
    assert release_from_json(json.dumps(without)).notes == ()


def test_numbers_are_measured_in_their_columns_unit():
    asked = session(schema=of_visits())
    table = asked.mean("pay", epsilon=9, **PAY).table
    assert [one.head for one in table.shown("95 %")] == [
        "estimate (minutes)",
        "lower (minutes, 95 %)",
        "upper (minutes, 95 %)",
    ]
    assert asked.variance("pay", epsilon=9, **PAY).table.shown()[0].head == "estimate (minutes²)"
    root = asked.variance("pay", root=True, epsilon=9, **PAY)
    assert root.table.shown()[0].head == "estimate (minutes)"
    assert root.counted == "standard deviation of pay (minutes)"
    bins = asked.histogram("pay", bins=[0, 50, 100], epsilon=9, max_groups=1)
    assert bins.chart().shape.x_name == "pay (minutes)"
    assert [one.head for one in bins.table.shown()][:3] == [
        "pay_from (minutes)",
        "pay_to (minutes)",
        "estimate",
    ]
    assert "estimate,lower" in asked.mean("pay", epsilon=9, **PAY).table.csv()


TEXT = st.text(max_size=9)


@given(
    st.builds(
        Statement,
        measure=TEXT,
        heading=TEXT,
        data=TEXT,
        measured_in=TEXT,
        measured=st.dictionaries(TEXT, TEXT, max_size=2).map(lambda one: tuple(one.items())),
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
        {"version": 1, "measure": "x", "heading": 1},
        {"version": 1, "measure": "x", "measured": [["age", "years"]]},
        {"version": 1, "measure": "x", "measured": {"age": 1}},
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
