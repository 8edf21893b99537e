"""What comes in by the command line, and what goes out by terminal, files and pages."""

import csv
import json
import os
import re
import shutil
from pathlib import Path

import duckdb
import pytest

from onesided.cli._exits import EXITS

# Each is a command of its own.
pytestmark = pytest.mark.heavy

HOSTILE = "=1+1\x1b[2J[/final]:bomb:\u202e"


def names(world):
    return sorted(path.name for path in world.folder.iterdir())


def test_the_first_line_names_the_ledger_whether_it_is_new_and_what_is_left(world):
    done = world.publish("--budget", "3")
    place = (world.folder / "onesided.ledger.db").resolve()
    first = f"Ledger {place} (new): 2 left on present -> not present."
    assert done.stdout.splitlines()[0] == first
    again = world.publish("--out", "two")
    assert again.stdout.splitlines()[0] == first.replace("(new): 2", "(it was there): 1")


def test_files_of_one_folder_share_a_ledger_wherever_the_command_runs(world):
    shutil.copy(world.folder / "visits.parquet", world.folder / "tuesday.parquet")
    (world.folder / "else").mkdir()
    (world.folder / "else" / "link.parquet").symlink_to(world.folder / "visits.parquet")
    assert world.publish().returncode == 0
    for data in ("tuesday.parquet", "else/link.parquet"):
        words = [data if word == "visits.parquet" else word for word in world.words[:-1]]
        done = world.run(*words, "two")
        assert done.returncode == 3
        assert "0 left of 1" in done.stderr
    assert not (world.folder / "else" / "onesided.ledger.db").exists()


def test_a_ledger_that_cannot_be_made_beside_the_data_is_refused_naming_the_option(world):
    (world.folder / "onesided.ledger.db").mkdir()
    done = world.publish()
    assert done.returncode == 4
    assert "--ledger" in done.stderr
    assert not (world.folder / "out").exists()


def test_the_ledger_may_stand_in_the_environment(world):
    done = world.run(*world.words, env_more={"ONESIDED_LEDGER": "mine.db"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"Ledger {world.folder.resolve() / 'mine.db'} (new)")
    assert "onesided.ledger.db" not in names(world)


def test_a_refused_command_leaves_nothing_and_binds_nothing(world):
    before = names(world)
    assert world.publish("--budget", "1/10").returncode == 3
    assert names(world) == before
    assert world.publish("--budget", "10").returncode == 0


def test_missing_parents_are_made_and_go_again_if_it_is_refused(world):
    before = names(world)
    assert world.publish("--out", "a/b/c", "--budget", "1/10").returncode == 3
    assert names(world) == before
    assert world.publish("--out", "a/b/c").returncode == 0
    assert (world.folder / "a/b/c/report.html").exists()


def test_an_output_that_leads_nowhere_is_refused_before_the_charge(world):
    (world.folder / "out").symlink_to("nowhere")
    before = names(world)
    done = world.publish()
    assert done.returncode == 5
    assert "exists already" in done.stderr
    assert names(world) == before


def test_a_folder_that_another_command_is_making_is_refused_before_the_charge(world):
    from onesided.show import new_folder

    with new_folder(world.folder / "out"):
        done = world.publish()
        assert done.returncode == 5
        assert "Another command is making" in done.stderr
        assert "onesided.ledger.db" not in names(world)
    assert world.publish().returncode == 0


def test_what_a_killed_command_left_of_a_folder_is_removed(world):
    (world.folder / ".out.partial").mkdir()
    (world.folder / ".out.partial" / "release.csv").write_text("old")
    assert world.publish().returncode == 0
    assert not [name for name in names(world) if name.startswith(".")]


def test_hostile_words_are_words_everywhere(world):
    with duckdb.connect() as connection:
        for name in ("visits", "places"):
            path = world.folder / f"{name}.parquet"
            query = "select 1 as person, $1 as place"
            connection.execute(f"create table {name} as {query}", [HOSTILE])
            connection.table(name).write_parquet(str(path))
    done = world.publish("--title", HOSTILE)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert "\u202e" not in done.stdout
    assert "[/final]:bomb:" in done.stdout
    with (world.folder / "out" / "release.csv").open(newline="") as file:
        assert next(iter(list(csv.reader(file))[1:]))[0] == "'" + HOSTILE
    exact = duckdb.read_parquet(str(world.folder / "out" / "release.parquet")).fetchall()
    assert exact[0][0] == HOSTILE
    assert world.run("ledger", "show", "onesided.ledger.db").returncode == 0


def test_a_result_for_programs_and_none_at_all(world):
    done = world.publish("--json", "--budget", "3")
    document = json.loads(done.stdout)
    assert list(document)[:2] == ["told_again", "cut_data"]
    assert document["ledger"]["new"] is True
    assert document["written"] == "out"
    quiet = world.publish("--quiet", "--out", "two")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")


def test_cut_data_are_said_first(world):
    words = [word for word in world.words if word not in ("presence", "5", "--at-most")]
    words[words.index("--policy") + 1 : words.index("--policy") + 1] = ["addition_only"]
    done = world.run(*words, "--on-excess", "truncate")
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()[:2]
    assert first.startswith("Ledger")
    assert second.startswith("Units in more than 3 groups were counted in 3")
    assert "Units in more than 3 groups were counted in 3 of them" in " ".join(done.stdout.split())
    assert "never wrong" not in done.stdout
    page = (world.folder / "out" / "report.html").read_text()
    assert page.index("data that may have been cut") < page.index("<h1>")
    stated = json.loads((world.folder / "out" / "guarantee.json").read_text())
    assert stated["cut_data"] == "the bounded data (at most 3 groups per unit)"


def test_options_may_stand_in_a_file(world):
    folder = world.folder / "conf"
    folder.mkdir()
    (folder / "onesided.toml").write_text(
        '[publish]\ndata = "../visits.parquet"\nunit = "person"\nby = ["place"]\n'
        'policy = "presence"\nmax-groups = 3\nkeys = "../places.parquet"\nepsilon = "1/2"\n'
        'out = "result"\n'
    )
    done = world.run("publish", "--config", "conf/onesided.toml", "--epsilon", "1")
    assert done.returncode == 0, done.stderr
    assert "ε = 1\n" in re.sub(r" +│", "", done.stdout)
    assert (folder / "onesided.ledger.db").exists()
    assert (folder / "result" / "report.html").exists()
    (folder / "onesided.toml").write_text("[publish]\nepsillon = 1\n")
    done = world.run("publish", "--config", "conf/onesided.toml")
    assert done.returncode == 2
    assert "'epsillon'" in done.stderr


@pytest.mark.parametrize("words", [["--input", "day/*.parquet"], ["--input", "day"]])
def test_folders_and_patterns_have_an_option_of_their_own(world, words):
    (world.folder / "day").mkdir()
    for name in ("a", "b"):
        shutil.copy(world.folder / "visits.parquet", world.folder / "day" / f"{name}.parquet")
    rest = [word for word in world.words if word != "visits.parquet"]
    done = world.run(*rest, *words)
    assert done.returncode == 0, done.stderr
    assert "Read 2 files: day/a.parquet, day/b.parquet" in done.stdout
    assert (world.folder / "day" / "onesided.ledger.db").exists()


def test_exit_codes_are_told_as_they_are(world):
    shown = re.sub(r"\s+", " ", world.run("publish", "--help").stdout)
    for code, meaning in EXITS.items():
        assert f"{code} {meaning}" in shown
    said = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
    for code in EXITS:
        assert f"| `{code}` | {EXITS[code]}" in said


def test_a_ledger_that_others_may_read_is_told_in_a_sentence(world):
    assert world.publish("--budget", "3").returncode == 0
    (world.folder / "onesided.ledger.db").chmod(0o644)
    done = world.publish("--out", "two")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stderr.split())
    assert said.count("Warning: ") == 1
    assert "is open to others than its owner (mode 644). Close it: chmod 600" in said
    assert "warnings.warn" not in said
    assert ".py:" not in said


@pytest.mark.parametrize(
    "words", [("--schema", "pipe"), ("--config", "pipe"), ("--keys", "pipe"), ("--policy", "pipe")]
)
def test_a_pipe_is_no_file_to_wait_for(world, words):
    os.mkfifo(world.folder / "pipe")
    done = world.alone(*world.words, *words, timeout=600)
    assert done.returncode == 2, done.stderr
    assert "onesided.ledger.db" not in names(world)
