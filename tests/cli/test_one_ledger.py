"""One ledger for the data of one schema: found by its place, and no second one by accident."""

import pytest

SCHEMA = 'unit = "person"\n[columns.person]\ntype = "integer"\n'


@pytest.fixture
def words(world):
    (world.folder / "about").mkdir()
    (world.folder / "about" / "visits.schema.toml").write_text(SCHEMA)
    words = ["publish", "visits.parquet", "--schema", "about/visits.schema.toml", "--by", "place"]
    words += ["--policy", "presence", "--max-groups", "3", "--keys", "places.parquet"]
    return [*words, "--epsilon", "1", "--budget", "9"]


def test_a_schema_has_its_ledger_beside_it(world, words):
    assert world.run(*words, "--out", "one").returncode == 0
    assert (world.folder / "about" / "onesided.ledger.db").is_file()
    assert not (world.folder / "onesided.ledger.db").exists()
    assert "7 left" in world.run(*words, "--out", "two").stdout


def test_a_ledger_that_stands_beside_the_data_stays_theirs(world, words):
    plain = [word for word in words if not word.endswith(".schema.toml") and word != "--schema"]
    assert world.run(*plain, "--unit", "person", "--out", "one").returncode == 0
    assert "7 left" in world.run(*words, "--out", "two").stdout
    assert not (world.folder / "about" / "onesided.ledger.db").exists()


@pytest.mark.parametrize("first", [[], ["--ledger", "about/own.db"]])
def test_a_second_ledger_is_refused_and_can_be_meant(world, words, first):
    assert world.run(*words, *first, "--out", "one").returncode == 0
    second = ["--ledger", "mine.db"] if not first else []
    refused = world.run(*words, *second, "--out", "two")
    assert refused.returncode == 2
    assert "There is a ledger for these data" in refused.stderr
    assert "--another-ledger" in refused.stderr
    assert not (world.folder / "mine.db").exists()
    assert not (world.folder / "two").exists()
    assert world.run(*words, *second, "--out", "two", "--another-ledger").returncode == 0
    # Once it was meant it is there, and need not be meant again.
    assert world.run(*words, *second, "--out", "three").returncode == 0


def test_other_databases_are_no_ledger(world, words):
    (world.folder / "about" / "notes.db").write_bytes(b"not a database")
    assert world.run(*words, "--ledger", "mine.db", "--out", "one").returncode == 0


def test_what_the_demo_prints_charges_the_demos_ledger(world):
    done = world.run("demo", "--out", "city")
    assert done.returncode == 0, done.stderr
    printed = next(line for line in done.stdout.splitlines() if "onesided publish" in line)
    for _ in range(3):
        again = world.run(*printed.split()[1:])
        assert again.returncode == 0, again.stderr
        assert "(it was there)" in again.stdout.splitlines()[0]
    ledgers = [path.name for path in world.folder.rglob("*ledger.db")]
    assert ledgers == ["onesided.ledger.db"]


def test_a_command_with_an_id_runs_any_number_of_times(world, words):
    named = [*words, "--id", "monday", "--again", "--out", "out"]
    assert world.run(*named).returncode == 0
    first = (world.folder / "out" / "release.csv").read_text()
    for _ in range(2):
        again = world.run(*named)
        assert again.returncode == 0, again.stderr
        assert again.stdout.startswith("Told again")
        assert (world.folder / "out" / "release.csv").read_text() == first
    other = [word.replace("monday", "tuesday") for word in named]
    assert world.run(*other).returncode == 5
    (world.folder / "out" / "release.csv").write_text("another answer")
    assert world.run(*named).returncode == 5
    assert (world.folder / "out" / "release.csv").read_text() == "another answer"
    assert not list(world.folder.glob(".out*"))
    assert (
        "7 left" in world.run(*words, "--out", "more").stdout
    )  # two charges, this one and the first
