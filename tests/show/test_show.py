"""Pictures, cards for notebooks and files: nothing is hidden, nothing runs, no bound lies."""

import csv
import datetime as dt
import html
import io
import json
import re
import zipfile

import polars as pl
import pytest

import onesided as od
from onesided import errors

HOSTILE = '<img src=x onerror=alert(1)>"&\x1b[31m'
VISITS = pl.DataFrame(
    {
        "person": [1, 1, 2, 3, 4],
        "place": ["gym", "bar", "bar", HOSTILE, "gym"],
        "hour": [8, 9, 8, 9, 8],
        "age": [20, 20, 30, 40, 50],
        "day": [dt.date(2026, 11, 1), None, *[dt.date(2026, 11, 2)] * 3],
        "minor": [False] * 5,
    }
)
PLACES = ["gym", "bar", HOSTILE]
PRESENCE = od.policy.presence(max_groups=2)


def session(policy=PRESENCE, unit="person"):
    return od.Session(VISITS, unit=unit, policy=policy, budget=1000)


def rows():
    return session(od.policy.presence(max_groups=1), unit=None)


def open_records():
    return session(od.policy.sensitive("minor"))


BY = {"by": "place", "keys": PLACES, "epsilon": 9}
AGES = [0, 25, 45, 60]
HOURS = od.cross(place=PLACES, hour=range(8, 12))
ASKED = {
    "count": lambda: session().count(**BY),
    "top_k": lambda: session().top_k(2, **BY),
    "at_most": lambda: session().at_most(2, **BY),
    "sum": lambda: session(od.policy.addition_only()).sum(
        "age", of="units", total_bounds=(0, 200), epsilon=9
    ),
    "histogram": lambda: rows().histogram("age", bins=AGES, epsilon=9),
    "ranges": lambda: rows().ranges("age", bins=AGES, ranges=[(0, 45), (0, 60)], epsilon=9),
    "median": lambda: rows().median("age", candidates=[20, 40, 60], epsilon=9),
    "sample": lambda: open_records().sample(epsilon=90),
    "discover": lambda: open_records().discover(by="place", epsilon=90, max_groups=2),
    "grid": lambda: rows().count(by=["place", "hour"], keys=HOURS, epsilon=9),
}
QUESTIONS = list(ASKED)


def ask(name):
    return ASKED[name]()


def said(picture):
    """The words of a picture, without their lines."""
    return html.unescape(" ".join(re.findall(r"<text[^>]*>([^<]*)", str(picture))))


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_answer_makes_a_picture_and_is_handed_to_libraries(name):
    release = ask(name)
    assert "ε = " in said(release.plot())
    assert 'class="plot-area"' in release._repr_html_()
    assert "<img" not in str(release.plot())
    assert "<img" not in release.plot(backend="plotly").to_json().replace("\\u003c", "<")
    assert release.plot(backend="matplotlib").axes


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_answer_is_a_table_in_a_notebook(name):
    told = ask(name)._repr_html_()
    assert "<table>" in told
    assert "<img" not in told
    assert "\x1b" not in told
    assert "ε = " in told


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_answer_is_written_in_every_format(name, tmp_path):
    formats = ["csv", "json", "parquet", "xlsx", "html"]
    out = ask(name).write(tmp_path / "out", formats=formats)
    assert sorted(path.name for path in out.iterdir()) == sorted(
        ["guarantee.json", *(f"release.{one}" for one in formats)]
    )
    json.loads((out / "release.json").read_text(), parse_constant=pytest.fail)
    page = (out / "release.html").read_text()
    assert "<img src=x" not in page
    assert "plotly" not in page


def test_sdmx_names_what_each_number_is_of(tmp_path):
    """Sums of a table are _T, all other groups of a count _O; every number is an estimate."""
    asked = session(od.policy.addition_only())
    table = asked.table(
        by=["place", "hour"], keys=HOURS, of="rows", max_rows=2, max_groups=2, epsilon=9
    )
    rest = asked.count(by="place", keys=["gym"], others=True, max_groups=1, epsilon=9)
    for number, (release, codes) in enumerate(((table, {"_T"}), (rest, {"gym", "_O"}))):
        out = release.write(tmp_path / str(number), formats=["sdmx"], structure="EX:VISITS(1.0)")
        told = list(csv.DictReader((out / "release.sdmx.csv").read_text().splitlines()))
        assert codes <= {row["place"] for row in told}
        assert {(row["STRUCTURE_ID"], row["OBS_STATUS"]) for row in told} == {
            ("EX:VISITS(1.0)", "E")
        }
        assert [int(row["OBS_VALUE"]) for row in told] == release.estimate.tolist()
    both = asked.ask_all([od.Count(epsilon=1), od.Count(epsilon=2)])
    folder = both.write(tmp_path / "both", formats=["sdmx"], structure="EX:VISITS(1.0)")
    assert (folder / "2" / "release.sdmx.csv").exists()


@pytest.mark.parametrize(
    ("name", "structure", "said"),
    [
        ("count", "", "no SDMX dataflow"),
        ("count", "VISITS", "no SDMX dataflow"),
        ("sample", "EX:VISITS(1.0)", "holds estimates"),
    ],
)
def test_what_sdmx_cannot_say_is_refused(name, structure, said, tmp_path):
    with pytest.raises(errors.ParameterError, match=said):
        ask(name).write(tmp_path / "out", formats=["sdmx"], structure=structure)
    assert not (tmp_path / "out").exists()
    renamed = od.Session(VISITS.rename({"place": "ACTION"}), policy=PRESENCE, budget=9)
    release = renamed.count(by="ACTION", keys=["gym"], epsilon=1)
    with pytest.raises(errors.ParameterError, match="'ACTION'"):
        release.write(tmp_path / "out", formats=["sdmx"], structure="EX:VISITS(1.0)")


@pytest.mark.parametrize("text", ["x\r=1+1", "a;=1+1", 'say "-1"', "a;\t @x", "a\n+1", "a,b"])
def test_no_reader_of_a_csv_file_finds_a_cell_in_a_text(text, tmp_path):
    """Spreadsheets split at a semicolon in some countries, and at a bare end of line everywhere."""
    key = {"by": "place", "keys": [text], "max_groups": 1, "on_excess": "truncate"}
    release = session(od.policy.addition_only()).count(**key, epsilon=9)
    release.write(tmp_path / "out", formats=["csv"])
    with (tmp_path / "out" / "release.csv").open(newline="") as file:
        written = file.read()
    assert len(list(csv.reader(io.StringIO(written, newline="")))) == 2
    assert written.split("\n", 1)[1].startswith('"')
    for part in re.split(r"[;\t\r\n]", written):
        assert not part.lstrip().startswith(tuple("=+@"))


def test_what_was_cut_is_said_in_the_picture_and_the_table():
    release = session(od.policy.addition_only()).count(
        by="place", keys=PLACES, epsilon=9, max_groups=1, on_excess="truncate"
    )
    assert "may have been cut" in said(release.plot())
    assert 'role="note"' in release._repr_html_()


def test_two_columns_whose_values_meet_make_fields():
    shape = ask("grid").shape()
    assert (shape.down[:2], shape.across_name) == (PLACES[:2], "hour")


def test_groups_with_positions_are_a_map():
    release = ask("count")
    where = [(52.5, 13.4), (52.6, 13.5), (52.4, 13.3)]
    shape = release.shape(positions=where, at_most=2)
    assert shape.longitude.tolist() == [13.4, 13.5, 13.3]
    assert shape.certified.tolist() == release.certainly_at_most(2).tolist()
    assert "unknown" in said(release.plot(positions=where, at_most=0))
    assert release.shape(positions=False, at_most=2).limits[0].one == 2
    with pytest.raises(errors.ParameterError, match="nowhere on Earth"):
        release.plot(positions=[(134, 52), (52.6, 13.5), (52.4, 13.3)])
    with pytest.raises(errors.ParameterError, match="1 pair for 3 rows"):
        release.plot(positions=[(52.5, 13.4)])


def test_a_long_list_says_how_many_have_no_name():
    keys = [f"place {i}" for i in range(80)]
    assert "… 60 more" in said(session().count(by="place", keys=keys, epsilon=9).plot())


def test_a_sample_is_told_as_it_is_with_dates_and_nulls():
    release = ask("sample")
    told = release.columns()
    assert told == VISITS.to_dict(as_series=False)
    assert "2026-11-02" in str(release)
    assert release.shape().y["rows"].tolist() == [1, 3]


def test_an_unknown_drawer_is_refused():
    with pytest.raises(errors.ParameterError, match="'ascii' draws no pictures"):
        ask("count").plot(backend="ascii")


def test_a_spreadsheet_holds_text_as_text(tmp_path):
    rows = pl.DataFrame({"person": [1], "place": ["=1+1"]})
    made = od.Session(rows, unit="person", policy=od.policy.presence(max_groups=1), budget=9)
    out = made.count(by="place", keys=["=1+1"], epsilon=1).write(tmp_path / "o", formats=["xlsx"])
    with zipfile.ZipFile(out / "release.xlsx") as book:
        assert "=1+1" in book.read("xl/sharedStrings.xml").decode()
        assert "<f>" not in book.read("xl/worksheets/sheet1.xml").decode()


def test_a_workbook_says_what_it_is_and_opens_at_what_must_be_read_first(tmp_path):
    plainly = session().count(epsilon=9).write(tmp_path / "plain", formats=["xlsx"])
    cut = session(od.policy.addition_only()).count(
        by="place", keys=PLACES, epsilon=9, max_groups=1, on_excess="truncate"
    )
    warned = cut.write(tmp_path / "cut", formats=["xlsx"])
    for folder, active in ((plainly, None), (warned, b'activeTab="1"')):
        with zipfile.ZipFile(folder / "release.xlsx") as book:
            words = book.read("xl/sharedStrings.xml").decode()
            assert "ε = " in words
            assert ("may have been cut" in words) == (active is not None)
            assert b"activeTab" not in book.read("xl/workbook.xml") or active
            assert (active or b"about") in book.read("xl/workbook.xml")


def test_a_sample_says_that_it_shows_only_its_first_rows():
    rows = pl.DataFrame({"person": range(90), "open": [True] * 90})
    made = od.Session(rows, unit="person", policy=od.policy.sensitive("not open"), budget=99)
    told = made.sample(epsilon=9)
    assert "These are the first rows; .frame has all." in str(told)
    assert "These are the first rows; .frame has all." in told._repr_html_()
    few = od.Session(rows.head(5), unit="person", policy=od.policy.sensitive("not open"), budget=9)
    assert "first rows" not in str(few.sample(epsilon=9))


def test_sessions_policies_plans_and_ledgers_show_themselves():
    made = session()
    made.count(by="place", keys=PLACES, epsilon="1/2", id="monday")
    plan = made.plan(od.Count(by="place", keys=PLACES, epsilon=1))
    assert "999.5" in made._repr_html_() or "1999/2" in made._repr_html_()
    assert "<svg" in PRESENCE._repr_html_()
    assert "Counts" in plan._repr_html_()
    assert "by place" in made.statement(od.Count(by="place", keys=PLACES, epsilon=1))._repr_html_()
    assert "monday" in made.ledger._repr_html_() or "place" in made.ledger._repr_html_()
    assert "nothing is charged yet" in od.Ledger.open("never-made.db")._repr_html_()


def test_a_plan_draws_its_error_by_epsilon():
    plan = session().plan(od.Count(by="place", keys=PLACES, epsilon=1))
    (curve,) = plan.plot([1, 2, 4]).chart.shape.y.values()
    assert curve.tolist() == sorted(curve, reverse=True)
    assert curve[0] == pytest.approx(plan.options[0].error)
    (fortnight,) = plan.plot([14], times=14).chart.shape.y.values()
    assert fortnight[0] == pytest.approx(plan.options[0].error)
    sample = session(od.policy.sensitive("minor")).plan(od.session.Sample(epsilon=1))
    with pytest.raises(errors.ParameterError, match="depends on the data"):
        sample.plot()


def test_a_plan_remarks_on_what_is_large():
    asked = {"by": "place", "keys": PLACES}
    assert not session().plan(od.Count(**asked, epsilon=10)).remarks
    plan = session().plan(od.Count(**asked, epsilon=11))
    assert "factor of e^11" in str(plan)
    assert "factor of e^11" in plan._repr_html_()
