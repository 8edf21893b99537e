"""``--schema``: on each command that reads data, and in plain words."""

import json

import duckdb
import pytest

SCHEMA = """\
unit = "person"
unreadable = "missing"
[columns.person]
type = "integer"
[columns.place]
type = "text"
keys = "k.csv"
[columns.hour]
type = "integer"
bounds = [0, 23]
about = "of the day"
"""
PUBLISH = (
    "publish", "v.csv", "--schema", "s.toml", "--by", "place", "--policy", "presence",
    "--max-groups", "3", "--epsilon", "1",
)  # fmt: skip


@pytest.fixture
def town(world):
    lines = [f"{i % 40},place {i % 23},{i % 24}" for i in range(400)]
    (world.folder / "v.csv").write_text("\n".join(["person,place,hour", *lines, "9,place 1,x"]))
    places = "".join(f"place {i},{i},{i}\n" for i in range(23))
    (world.folder / "k.csv").write_text(f"place,latitude,longitude\n{places}")
    (world.folder / "s.toml").write_text(SCHEMA)
    return world


def test_a_table_with_a_schema_is_published(town):
    done = town.run(*PUBLISH, "--where", "hour >= 5", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "each person" in done.stdout
    assert "1 text is not of the declared form of 'hour'" in done.stderr
    (row,) = duckdb.sql(
        f"SELECT count(*), count(estimate) FROM '{town.folder / 'out'}/release.parquet'"
    ).fetchall()
    assert row == (23, 23)


def test_the_ledger_says_which_schema_it_was(town):
    assert town.run(*PUBLISH, "--out", "out").returncode == 0
    shown = town.run("ledger", "show", "onesided.ledger.db", "--json")
    import onesided as od

    assert od.Schema.from_toml(SCHEMA).identity in shown.stdout


def test_a_plan_needs_no_keys_beside_the_schemas(town):
    done = town.run(*PUBLISH, "--plan")
    assert done.returncode == 0, done.stderr
    assert "Charge" in done.stdout


def test_keys_may_be_listed_in_the_schema(town):
    listed = SCHEMA.replace('"k.csv"', '["place 1", "place 2"]')
    (town.folder / "s.toml").write_text(listed)
    done = town.run(*PUBLISH, "--out", "out", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1", "Line 1: a schema has no 'x'"),
        ("a", "not valid TOML"),
        ('[columns.person]\ntype = "float"', "Line 2"),
        (SCHEMA.replace("k.csv", "nowhere.csv"), "nowhere.csv"),
        (
            SCHEMA.replace("columns.hour", "columns.minute"),
            "'minute', which the table does not have",
        ),
    ],
)
def test_what_does_not_fit_is_refused_and_leaves_nothing(town, text, says):
    (town.folder / "s.toml").write_text(text)
    before = sorted(path.name for path in town.folder.iterdir())
    done = town.run(*PUBLISH, "--unit", "person", "--out", "out")
    assert done.returncode == 2
    assert says in " ".join(done.stderr.split())
    assert sorted(path.name for path in town.folder.iterdir()) == before


def test_unreadable_text_is_refused_and_leaves_nothing(town):
    (town.folder / "s.toml").write_text(SCHEMA.replace('"missing"', '"refuse"'))
    before = sorted(path.name for path in town.folder.iterdir())
    query = "SELECT COUNT(DISTINCT person) FROM v WHERE hour > 5"
    ask = ("ask", query, "--data", "v.csv", "--schema", "s.toml", "--policy", "addition_only")
    for run in ((*PUBLISH, "--out", "out"), (*ask, "--epsilon", "1")):
        done = town.run(*run)
        assert done.returncode == 2
        told = " ".join(done.stderr.split())
        assert "1 value of the column 'hour' cannot be read as integer: row 401 ('x')." in told
        assert 'unreadable = "missing"' in told
        assert sorted(path.name for path in town.folder.iterdir()) == before


@pytest.mark.parametrize("more", ['unreadable = "refuse"', "required = true"])
def test_a_monitor_refuses_a_schema_that_could_refuse_a_batch(town, more):
    text = SCHEMA.replace('type = "integer"', f'type = "integer"\n{more}', 1)
    (town.folder / "s.toml").write_text(text)
    (town.folder / "batches").mkdir()
    done = town.run(
        "monitor", "--input", "batches", "--schema", "s.toml", "--epsilon", "1",
        "--max-groups", "3", "--at-most", "5", "--window", "14d", "--state", "state.db",
        "--out", "public", "--once",
    )  # fmt: skip
    assert done.returncode == 2
    assert "one value of 'person' could refuse a whole batch" in " ".join(done.stderr.split())
    assert not (town.folder / "state.db").exists()


def test_a_typed_file_must_hold_what_is_declared(town):
    duckdb.sql("SELECT 1.5 AS person, 'place 1' AS place, 7 AS hour").write_parquet(
        str(town.folder / "u.parquet")
    )
    run = [PUBLISH[0], "u.parquet", *PUBLISH[2:], "--out", "out"]
    done = town.run(*run)
    assert done.returncode == 2
    assert "declares 'person' as integer, but the table holds" in " ".join(done.stderr.split())


def test_two_units_are_refused(town):
    done = town.run(*PUBLISH, "--unit", "hour", "--out", "out")
    assert done.returncode == 2
    assert "is not the schema's unit" in done.stderr


def test_a_schema_is_explained_in_plain_words(town):
    done = town.run("explain", "s.toml")
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stdout.split())
    assert "hour: integer from 0 to 23 (of the day)." in told
    assert "its public keys stand in 'k.csv'" in told
    assert town.run("explain", "s.toml", "--toml").stdout.startswith('unit = "person"')
    (town.folder / "p.toml").write_text(town.run("explain", "bounded", "--toml").stdout)
    assert "Policy 'bounded'" in town.run("explain", "p.toml").stdout
    (town.folder / "s.toml").write_text('unit = "p"\n[columns.x]\ntype = "float"')
    wrong = town.run("explain", "s.toml")
    assert wrong.returncode == 2
    assert "Line 3" in wrong.stderr


def test_an_empty_table_is_published_like_any_other(town):
    (town.folder / "v.csv").write_text("person,place,hour\n")
    done = town.run(*PUBLISH, "--where", "hour >= 5", "--out", "out")
    assert done.returncode == 0, done.stderr
    found = duckdb.sql(f"SELECT count(*) FROM '{town.folder / 'out'}/release.parquet'").fetchall()
    assert found == [(23,)]


@pytest.mark.parametrize("name", ["v.csv", "k.csv", "s.toml"])
def test_another_encoding_is_told_with_its_byte(town, name):
    path = town.folder / name
    path.write_bytes(path.read_bytes() + "# Café".encode("latin-1"))
    done = town.run(*PUBLISH, "--out", "out")
    assert done.returncode == 2
    assert "0xE9" in done.stderr
    assert "UTF-8" in done.stderr


def test_batches_are_read_as_declared(town):
    (town.folder / "batches").mkdir()
    batch = town.folder / "batches" / "visits-2026-11-21.csv"
    batch.write_text("person,place,hour\n1,place 1,7\n1,place 2,x\n2,place 1,8\n")
    (town.folder / "public").mkdir()
    run = (
        "monitor", "--input", "batches", "--schema", "s.toml", "--epsilon", "1",
        "--max-groups", "3", "--at-most", "5", "--window", "14d", "--state", "state.db",
        "--out", "public", "--once", "--batch-time", "name",
    )  # fmt: skip
    done = town.run(*run)
    assert done.returncode == 0, done.stderr
    assert "1 text is not of the declared form of 'hour'" in " ".join(done.stderr.split())
    (town.folder / "s.toml").write_text(f'missing_unit = "drop"\n{SCHEMA}')
    nobody = town.folder / "batches" / "visits-2026-11-21T12-00.csv"
    nobody.write_text("person,place,hour\n,place 1,7\n07,place 1,7\n3,place 1,7\n")
    done = town.run(*run)
    assert done.returncode == 0, done.stderr
    assert "1 text is not of the declared form of 'person'" in " ".join(done.stderr.split())
    (town.folder / "s.toml").write_text(SCHEMA)
    (town.folder / "batches" / "visits-2026-11-22.csv").write_text("person,place\nx,place 1\n")
    done = town.run(*run)
    assert done.returncode == 2
    assert "Not taken in" in done.stderr
    # As text, 7 and 07 would be two people, and not one and none.
    text = SCHEMA.replace('[columns.person]\ntype = "integer"', '[columns.person]\ntype = "text"')
    (town.folder / "s.toml").write_text(text)
    done = town.run(*run)
    assert done.returncode != 0
    assert "read as person: integer; place: text (asked: person: text; place: text)" in " ".join(
        done.stderr.split()
    )
    (town.folder / "s.toml").write_text('unit = "person"\n')
    done = town.run(*run)
    assert done.returncode == 2
    assert "No public places are named" in done.stderr


def test_the_health_of_data_is_told_before_anything_is_spent(town):
    (town.folder / "s.toml").write_text(SCHEMA.replace('"missing"', '"refuse"'))
    before = sorted(path.name for path in town.folder.iterdir())
    done = town.run("check", "v.csv", "--schema", "s.toml", "--max-groups", "3")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("For the curator alone, not for publication.")
    assert "1 row (0.249 %) that cannot be read: row 401 ('x')" in done.stdout
    assert "Refused: 1 value of the column 'hour' cannot be read as integer" in done.stdout
    (town.folder / "s.toml").write_text(SCHEMA)
    done = town.run("check", "--input", "v.csv", "--schema", "s.toml", "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["ok"], facts["rows"], facts["unit"]) == (True, 401, "person")
    assert "not for publication" in facts["for"]
    for wrong in (["check"], ["check", "v.csv", "--unit", "nobody"], ["check", "no.csv"]):
        assert town.run(*wrong).returncode == 2
    assert sorted(path.name for path in town.folder.iterdir()) == before
