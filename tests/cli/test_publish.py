import json
import math
import shutil
import zipfile

import duckdb
import pytest

from onesided.store import _paths as checked

TRUTH = (
    "select place, count(distinct person) as people from read_parquet('{}/visits.parquet') "
    "group by place"
)


def truth(world):
    rows = duckdb.sql(TRUTH.format(world.folder)).fetchall()
    return dict(rows)


def test_the_whole_job_leaves_everything_that_was_promised(world):
    done = world.publish()
    assert done.returncode == 0, done.stderr
    assert "certain, about rows with a value of 'place'" in " ".join(done.stdout.split())
    assert done.stdout.splitlines()[1].startswith(
        "Rows without a value of 'place' are in no group."
    )
    out = world.folder / "out"
    assert sorted(p.name for p in out.iterdir()) == [
        "guarantee.json",
        "policy.toml",
        "release.csv",
        "release.parquet",
        "report.html",
    ]
    rows = duckdb.sql(f"select place, upper, at_most_5 from '{out}/release.parquet'").fetchall()
    real = truth(world)
    assert len(rows) == 23
    for place, upper, status in rows:
        assert upper >= real.get(place, 0)
        assert (status == "certified") == (upper <= 5)
    assert len(duckdb.sql(f"select * from '{out}/release.csv'").fetchall()) == 23


def test_the_guarantee_is_machine_readable(world):
    assert world.publish().returncode == 0
    stated = json.loads((world.folder / "out" / "guarantee.json").read_text())
    edge = stated["guarantee"]["edges"]["present -> not present"]
    assert edge == {"epsilon": "1", "epsilon_decimal": 1.0, "delta": "0", "delta_decimal": 0.0}
    assert stated["mechanism"] == {"name": "Counts", "upper_rate": "1/3", "lower_rate": "INFINITE"}
    assert stated["certain"] == {"lower": False, "upper": True}
    assert stated["ledger"]["remaining"] == {"present -> not present": "0"}
    assert stated["at_most"] == 5


def test_the_charge_is_in_the_ledger_and_the_ledger_is_intact(world):
    assert world.publish().returncode == 0
    shown = world.run("ledger", "show", "onesided.ledger.db", "--json")
    charges = [e for e in json.loads(shown.stdout) if e["kind"] == "spend"]
    assert [c["epsilon"] for c in charges] == [{"present -> not present": "1"}]
    told = world.run("ledger", "show", "onesided.ledger.db").stdout
    assert "Number of units (person) by place" in " ".join(told.split())
    checked = world.run("ledger", "check", "onesided.ledger.db")
    assert checked.returncode == 0
    head = world.run("ledger", "head", "onesided.ledger.db").stdout.strip()
    assert head in checked.stdout
    assert world.run("ledger", "check", "onesided.ledger.db", "--head", head).returncode == 0


def test_a_spent_budget_is_refused_and_nothing_is_published(world):
    assert world.publish().returncode == 0
    shutil.rmtree(world.folder / "out")
    again = world.publish()
    assert again.returncode == 3
    assert "0 left of 1" in again.stderr
    assert "Nothing was drawn" in again.stderr
    assert not (world.folder / "out").exists()


def test_the_same_id_re_reads_the_same_answer_at_no_charge(world):
    assert world.publish("--id", "week 1").returncode == 0
    first = (world.folder / "out" / "release.csv").read_text()
    shutil.rmtree(world.folder / "out")
    refused = world.publish("--id", "week 1")
    assert refused.returncode != 0
    assert "--again" in refused.stderr or "again=True" in refused.stderr
    again = world.publish("--id", "week 1", "--again")
    assert again.returncode == 0, again.stderr
    assert again.stdout.startswith("Told again: drawn on 20")
    assert "the data were not read" in (world.folder / "out" / "report.html").read_text()
    assert json.loads((world.folder / "out" / "guarantee.json").read_text())["told_again"]
    assert (world.folder / "out" / "release.csv").read_text() == first


def test_the_report_is_headed_by_the_askers_words_over_the_whole_question(world):
    told = world.publish("--title", "Who <b> came?", "--where", "place <> 'x'")
    assert told.returncode == 0, told.stderr
    page = (world.folder / "out" / "report.html").read_text()
    heading = page.partition("<h1>")[2].partition("</h1>")[0]
    assert heading == "Who &lt;b&gt; came?"
    assert (
        "where place &lt;&gt; &#39;x&#39;" in page.partition('class="asked">')[2].partition("<")[0]
    )
    assert "Who &lt;b&gt; came?" not in told.stdout
    assert "Who <b> came?" in told.stdout


def test_csv_comes_in_like_parquet(world):
    for name in ("visits", "places"):
        duckdb.read_parquet(str(world.folder / f"{name}.parquet")).write_csv(
            str(world.folder / f"{name}.csv")
        )
    words = ["--unit", "person", "--by", "place", "--policy", "presence", "--max-groups", "3"]
    done = world.run(
        "publish", "visits.csv", *words, "--keys", "places.csv", "--epsilon", "1", "--out", "o"
    )
    assert done.returncode == 0, done.stderr
    rows = duckdb.sql(f"select place, upper from '{world.folder}/o/release.parquet'").fetchall()
    assert all(upper >= truth(world).get(place, 0) for place, upper in rows)


def test_other_policies_publish_without_certificates(world):
    done = world.run(
        "publish", "visits.parquet", "--unit", "person", "--by", "place", "--policy", "sensitive",
        "--sensitive", "minor", "--max-groups", "2", "--keys", "places.parquet", "--epsilon", "1",
        "--at-most", "5", "--count", "open", "--out", "out",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "none: this policy allows no certain upper bound" in done.stdout
    names = duckdb.read_parquet(str(world.folder / "out" / "release.parquet")).columns
    assert "at_most_5" not in names


def test_what_only_the_curator_may_know_stays_out_of_the_folder(world):
    duckdb.sql("select 'place 1' as place").write_parquet(str(world.folder / "places.parquet"))
    done = world.publish()
    assert done.returncode == 0
    assert "not for publication" in done.stderr
    assert "that are no keys" in done.stderr
    for path in (world.folder / "out").iterdir():
        assert b"that are no keys" not in path.read_bytes()


def test_a_policy_file_works_like_a_name(world):
    text = world.run("explain", "presence", "--max-groups", "2", "--toml").stdout
    (world.folder / "mine.toml").write_text(text)
    done = world.run(
        "publish", "visits.parquet", "--unit", "person", "--by", "place", "--policy", "mine.toml",
        "--keys", "places.parquet", "--epsilon", "1/2", "--out", "out",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (world.folder / "out" / "policy.toml").read_text() == text


def change(**options):
    return [
        word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)
    ]


BAD = {
    "unknown unit": (change(unit="who"), 2, "'who'"),
    "unknown column": (change(by="nowhere"), 2, "nowhere"),
    "epsilon 0": (change(epsilon="0"), 2, "above 0"),
    "epsilon below 0": (["--epsilon=-1"], 2, "above 0"),
    "epsilon nan": (change(epsilon="nan"), 2, "epsilon"),
    "epsilon inf": (change(epsilon="inf"), 2, "epsilon"),
    "epsilon abc": (change(epsilon="abc"), 2, "abc"),
    "small budget": (change(budget="1/2"), 3, "ask for at most"),
    "unknown policy": (change(policy="magic"), 2, "magic"),
    "missing keys file": (change(keys="none.parquet"), 2, "none.parquet"),
    "bad where": (change(where="shoe > 3"), 2, "shoe"),
    "bad sql": (change(where="hour >"), 2, "hour >"),
    "negative threshold": (["--at-most=-1"], 2, "threshold"),
    "bad excess": (change(on_excess="hope"), 2, "hope"),
    "ledger of an empty variable": (["--ledger", ""], 2, "no place for a ledger"),
    "ledger in memory": (change(ledger=":memory:"), 2, "no place for a ledger"),
    "no folder is possible": (change(out="places.parquet/out"), 5, "could not be written"),
}


@pytest.mark.parametrize(("words", "code", "says"), BAD.values(), ids=BAD)
def test_bad_input_is_refused_and_costs_nothing(world, words, code, says):
    before = sorted(path.name for path in world.folder.iterdir())
    done = world.publish(*words)
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert "Hint" in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in world.folder.iterdir()) == before


def spent(world):
    ledger = world.folder / "onesided.ledger.db"
    if not ledger.exists():
        return []
    shown = world.run("ledger", "show", "onesided.ledger.db", "--json")
    assert shown.returncode == 0, shown.stderr
    return [entry for entry in json.loads(shown.stdout) if entry["kind"] == "spend"]


def test_a_folder_that_exists_is_left_alone(world):
    (world.folder / "out").mkdir()
    done = world.publish()
    assert done.returncode == 5
    assert "exists already" in done.stderr
    assert not list((world.folder / "out").iterdir())
    assert not spent(world)


def test_keys_are_required_and_must_be_unique(world):
    words = ["publish", "visits.parquet", "--unit", "person", "--by", "place", "--epsilon", "1"]
    done = world.run(*words, "--policy", "presence", "--max-groups", "3", "--out", "out")
    assert done.returncode == 2
    assert "public keys" in done.stderr
    duckdb.sql("select 'place 1' as place from range(2)").write_parquet(
        str(world.folder / "places.parquet")
    )
    done = world.publish()
    assert done.returncode == 2
    assert "given twice" in done.stderr


def test_keys_of_another_type_are_refused(world):
    duckdb.sql("select i as place from range(5) t(i)").write_parquet(
        str(world.folder / "places.parquet")
    )
    done = world.publish()
    assert done.returncode == 2
    assert "could never match" in done.stderr


@pytest.mark.parametrize("name", ["visits.parquet", "places.parquet"])
def test_truncated_files_are_refused(world, name):
    path = world.folder / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    done = world.publish()
    assert done.returncode == 2
    assert "Cannot read" in done.stderr
    assert not spent(world)


def test_a_file_that_turns_bad_half_way_is_refused(world):
    lines = [f"{i},place 1,{i % 24}" for i in range(60_000)]
    text = "\n".join(["person,place,hour", *lines, "7,place 1,7,7"])
    (world.folder / "visits.csv").write_text(text)
    words = ["--unit", "person", "--by", "place", "--policy", "sensitive"]
    words += ["--sensitive", "hour = '5'", "--keys", "places.parquet", "--epsilon", "1"]
    done = world.run("publish", "visits.csv", *words, "--max-groups", "1", "--out", "out")
    assert done.returncode == 2, done.stderr
    assert not (world.folder / "out").exists()
    assert "how many columns they have (line 60,002)" in done.stderr
    assert "Traceback" not in done.stderr
    assert not spent(world)


def test_nobody_is_refused(world):
    duckdb.sql("select null::int as person, 'place 1' as place").write_parquet(
        str(world.folder / "visits.parquet")
    )
    done = world.publish()
    assert done.returncode == 2
    assert "no value in the unit column 'person'" in done.stderr
    assert not spent(world)


def test_an_empty_table_is_published(world):
    duckdb.sql("select 1 as person, 'place 1' as place where false").write_parquet(
        str(world.folder / "visits.parquet")
    )
    assert world.publish().returncode == 0


def test_a_ledger_of_another_policy_is_refused(world):
    assert world.publish().returncode == 0
    done = world.run(
        "publish", "visits.parquet", "--unit", "person", "--by", "place", "--policy", "bounded",
        "--max-groups", "3", "--keys", "places.parquet", "--epsilon", "1", "--out", "out2",
    )  # fmt: skip
    assert done.returncode == 4
    assert "presence" in done.stderr
    assert "bounded" in done.stderr


def test_a_file_that_is_no_ledger_is_refused(world):
    (world.folder / "onesided.ledger.db").write_text("shopping list")
    done = world.publish()
    assert done.returncode == 4
    assert (world.folder / "onesided.ledger.db").read_text() == "shopping list"
    assert not (world.folder / "out").exists()


def test_looking_at_a_ledger_does_not_create_one(world):
    done = world.run("ledger", "show", "none.db")
    assert done.returncode == 4
    assert not (world.folder / "none.db").exists()


def test_help_teaches(world):
    shown = world.run("publish", "--help").stdout
    for word in ("Example", "--unit", "never wrong", "Exit codes"):
        assert word in shown


def test_explain_speaks_plainly(world):
    shown = world.run("explain", "presence", "--max-groups", "3").stdout
    assert "Not protected" in shown
    assert world.run("explain", "presence").returncode == 2


def test_explain_draws_the_moves(world):
    done = world.run("explain", "sensitive", "--sensitive", "minor", "--out", "policy.svg")
    assert done.returncode == 0, done.stderr
    assert (world.folder / "policy.svg").read_text().startswith("<svg")
    assert world.run("explain", "bounded", "--out", "no/where.svg").returncode == 5


def test_a_plan_costs_nothing_and_writes_nothing(world):
    before = sorted(path.name for path in world.folder.iterdir())
    told = world.publish("--plan")
    assert told.returncode == 0, told.stderr
    assert "present -> not present: 1 of 1 left" in told.stdout
    assert "Counts" in told.stdout
    assert sorted(path.name for path in world.folder.iterdir()) == before
    assert world.publish().returncode == 0
    again = world.publish("--plan")
    assert "present -> not present: 1 of 0 left. More than is left." in again.stdout


def test_a_plan_says_how_often_groups_will_be_certified(world):
    told = json.loads(world.publish("--plan", "--json").stdout)
    shares = dict(map(tuple, told["certified"]))
    assert sorted(shares) == [0, 1, 2, 3, 4, 5]
    assert shares[0] == pytest.approx(1 - math.exp(-6 / 3))
    assert told["charge"] == {"present -> not present": "1"}
    assert "86.5%" in world.publish("--plan").stdout
    never = world.run(*world.words, "--policy", "bounded", "--plan")
    assert "Certified at most 5: none: this policy allows no certain upper bound" in never.stdout


def test_a_workbook_is_written_where_it_is_asked_for(world):
    done = world.publish("--excel")
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(world.folder / "out" / "release.xlsx") as book:
        words = book.read("xl/sharedStrings.xml").decode()
    assert "at_most_5" in words
    assert "Under the policy 'presence'" in words


def test_a_workbook_that_is_too_long_is_refused_before_the_charge(world, monkeypatch):
    monkeypatch.setattr("onesided.show._formats._SHEET_ROWS", 22)
    done = world.publish("--excel")
    assert done.returncode == 2
    assert "The 23 rows do not fit in a sheet, which holds 22." in done.stderr
    assert not (world.folder / "out").exists()
    assert not (world.folder / "onesided.ledger.db").exists() or not json.loads(
        world.run("ledger", "show", "onesided.ledger.db", "--json").stdout
    )


def test_what_was_found_of_files_is_kept_beside_the_ledger(world, monkeypatch):
    now = checked.time.time_ns
    monkeypatch.setattr(checked.time, "time_ns", lambda: now() + 60 * 10**9)
    assert world.publish().returncode == 0
    place = world.folder / "onesided.ledger.db.checked"
    assert place.stat().st_mode & 0o777 == 0o600
    told = place.read_text()
    assert "readable" in told
    assert "visits.parquet" not in told
    assert world.publish("--out", "again", "--budget", "1").returncode
    assert place.read_text() == told


def test_stored_answers_stand_side_by_side_at_no_charge(world):
    for day in ("1", "2"):
        done = world.publish("--budget", "2", "--id", f"day {day}", "--out", f"out {day}")
        assert done.returncode == 0, done.stderr
    visits = world.folder / "visits.parquet"  # what is stored is told whatever the data are today
    duckdb.sql(f"select * from '{visits}' limit 9").write_parquet(str(world.folder / "few.parquet"))
    (world.folder / "few.parquet").replace(visits)
    done = world.publish("--series", "day 1", "--series", "day 2", "--excel", "--title", "Days <b>")
    assert done.returncode == 0, done.stderr
    assert "onesided.ledger.db (it was there): 0 left" in done.stdout.splitlines()[0]
    assert "ε = 2 (pure, δ = 0). That is the sum of 2 answers" in " ".join(done.stdout.split())
    out = world.folder / "out"
    names = ["guarantee.json", "release.csv", "release.parquet", "release.xlsx", "report.html"]
    assert sorted(path.name for path in out.iterdir()) == names
    page = (out / "report.html").read_text()
    assert "Days &lt;b&gt;" in page
    assert "day 2: ε = 1 on present -&gt; not present; ledger entry" in page
    assert "at most 5</text>" in page
    for day in ("1", "2"):
        own = duckdb.sql(f"select place, upper from '{world.folder}/out {day}/release.parquet'")
        told = duckdb.sql(
            f"select place, upper from '{out}/release.parquet' where answer = 'day {day}'"
        )
        assert sorted(told.fetchall()) == sorted(own.fetchall())
    assert len(spent(world)) == 2


def test_a_series_of_what_is_not_stored_is_refused_before_anything_is_charged(world):
    assert world.publish("--budget", "9", "--id", "day 1").returncode == 0
    shutil.rmtree(world.folder / "out")
    for words, said, code in (
        (("--series", "day 1", "--series", "day 2"), "no answer with the id 'day 2'", 2),
        (("--series", "day 1", "--id", "day 3"), "there is no --id and no --plan", 2),
        (("--series", "day 1", "--epsilon", "1/2"), "another question", 4),
    ):
        done = world.publish(*words)
        assert (done.returncode, (world.folder / "out").exists()) == (code, False), done.stderr
        assert said in " ".join(done.stderr.split())
        assert "Hint: " in done.stderr
    assert len(spent(world)) == 1


def test_what_is_left_of_a_renyi_account_is_told_at_its_delta(world):
    done = world.publish("--accounting", "renyi", "--delta-budget", "1/1000000")
    assert done.returncode == 0, done.stderr
    assert "all at δ = 1e-6." in " ".join(done.stdout.split())
    out = world.folder / "out"
    stated = json.loads((out / "guarantee.json").read_text())
    assert stated["ledger"]["remaining_at"] == "all at δ = 1e-6"
    assert "all at δ = 1e-6" in (out / "report.html").read_text()
