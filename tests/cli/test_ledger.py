"""What a data-protection officer sees of a ledger, and what a tampered one says."""

import csv
import io
import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from fractions import Fraction
from unittest import mock

import polars as pl
import pytest

import onesided as od
from onesided.cli import main
from onesided.ledger import Ledger
from onesided.noise import NotPrivateSeededNoise

OPEN = "sensitive -> open"
CLOSED = "sensitive -> sensitive"
MINORS, PATIENTS = od.policy.sensitive("age < 18"), od.policy.sensitive("patient")


def account(ledger, policy, *, budget=1, delta=0):
    opened = ledger.account(
        policy_id=policy.identity,
        policy_toml=policy.to_toml(),
        policy_name=policy.name,
        budget={edge.name: budget * edge.weight for edge in policy.edges},
        delta_budget={edge.name: delta for edge in policy.edges},
        further=True,
    )
    opened.open()
    return opened


def spend(ledger, policy, charge, **more):
    held = account(ledger, policy)
    receipt = held.spend(charge, **{"label": "count of units by ward"} | more)
    held.store(receipt, b"answer", "text/csv")
    return receipt.number


@pytest.fixture
def path(tmp_path):
    """One account, three charges: by name, by chance, and without an answer."""
    where = tmp_path / "ledger.db"
    with od.Ledger.open(where, who="anna@agency") as ledger:
        spend(ledger, MINORS, {OPEN: "1/2", CLOSED: "1/4"}, release_id="week 1")
        spend(ledger, MINORS, {OPEN: "1/3"})
        account(ledger, MINORS).spend({OPEN: "1/6"}, label="count of units by hour")
    return where


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


def run(*words, columns=120, group=("ledger",)):
    """The command in this process, which is much faster than a process for each call."""
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["onesided", *group, *map(str, words)]),
        mock.patch.dict(os.environ, {"COLUMNS": str(columns)}),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as exited,
    ):
        main()
    return Done(exited.value.code or 0, out.getvalue(), err.getvalue())


def shown(*words, columns=120):
    done = run("show", *words, columns=columns)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert max(map(len, done.stdout.splitlines())) <= columns
    return done.stdout


def test_the_table_says_who_charged_what_when_and_what_is_left(path):
    page = shown(path)
    assert "1 account, 3 charges" in page
    assert "Policy sensitive" in page
    assert 'predicate = "age < 18"' in page
    assert re.search(r"opened \d{4}-\d\d-\d\d \d\d:\d\d UTC by anna@agency", page)
    assert f"{OPEN}: ε 0.5, 0.5 left" in page
    assert f"{CLOSED}: ε 0.25, 0.75 left" in page
    assert f"{OPEN}: ε 1/3, 1/6 left" in page
    assert "id week 1" in page
    assert page.count("(no answer stored)") == 1


def test_bars_say_the_same_as_the_words_beside_them(path):
    page = shown(path)
    lines = {line.split("  ")[1]: line for line in page.splitlines() if "of 1 spent" in line}
    assert lines[OPEN].count("█") == 30
    assert "1 of 1 spent, used up" in lines[OPEN]
    assert lines[CLOSED].count("█") == 8  # a quarter of 30, rounded up
    assert "0.25 of 1 spent (25 %), 0.75 left" in lines[CLOSED]


def test_a_bar_is_never_full_too_soon_nor_empty_too_late(tmp_path):
    path = tmp_path / "ledger.db"
    with od.Ledger.open(path) as ledger:
        tiny = Fraction(1, 10**9)
        account(ledger, MINORS).spend({OPEN: 1 - tiny, CLOSED: tiny}, label="x")
    page = shown(path)
    full, empty = (line for line in page.splitlines() if "of 1 spent" in line)
    assert (full.count("█"), full.count("░")) == (29, 1)
    assert "≤ 1 of 1 spent (99 %)" in full
    assert (empty.count("█"), empty.count("░")) == (1, 29)
    assert "1e-9 of 1 spent (1 %), ≥ 0.9999 left" in empty


def test_a_narrow_window_loses_nothing(path):
    pages = (shown(path, columns=80), shown(path, columns=160))
    narrow, wide = (page.partition(" account, ")[2] for page in pages)
    said = [set(re.findall(r"[\w./@-]+", page)) for page in (narrow, wide)]
    assert said[0] == said[1]


def test_the_last_charges_alone(path):
    page = shown(path, "--last", 1)
    assert "Charges, the last 1 of 3" in page
    assert "week 1" not in page
    assert "count of units by hour" in page
    assert "used up" in page
    assert shown(path, "--last", 99) == shown(path)


def test_several_accounts_are_told_apart_and_together(tmp_path):
    path = tmp_path / "ledger.db"
    with od.Ledger.open(path) as ledger:
        account(ledger, PATIENTS, delta="1e-6")
        spend(ledger, MINORS, {OPEN: "1/2", CLOSED: "1/4"})
        account(ledger, PATIENTS, delta="1e-6").spend(
            {OPEN: "1/8"}, delta={OPEN: "1e-7"}, label="count of patients"
        )
    page = shown(path)
    assert "Account 1, policy sensitive" in page
    assert "Account 2, policy sensitive" in page
    assert 'predicate = "patient"' in page
    assert "1e-7 of 1e-6 spent (10 %), 9e-7 left" in page
    assert f"{OPEN}: ε 0.125, 0.875 left; δ 1e-7, 9e-7" in page
    together = page.partition("All accounts together")[2].partition("Charges")[0]
    assert f"{OPEN}" in together
    assert "ε = 0.625, δ = 1e-7" in together
    told = shown(path, "--delta", "1e-6", columns=200).partition("All accounts together")[2]
    assert "2 charges. Added up: " in told
    assert "Had this been the plan: " in told


def test_accounts_that_protect_nobody_together_say_so(tmp_path):
    path = tmp_path / "ledger.db"
    with od.Ledger.open(path) as ledger:
        account(ledger, od.policy.addition_only())
        account(ledger, od.policy.removal_only())
    assert "Nothing can be promised for all of them" in shown(path)


def test_an_empty_ledger_and_an_account_without_charges(tmp_path):
    path = tmp_path / "ledger.db"
    assert run("create", path).returncode == 0
    assert "0 accounts, 0 charges" in shown(path)
    with od.Ledger.open(path) as ledger:
        account(ledger, MINORS)
    page = shown(path)
    assert "0 of 1 spent (0 %), 1 left" in page
    assert "row" not in page.replace("rows", "")


def test_many_edges_are_summed_up(tmp_path):
    path = tmp_path / "ledger.db"
    kinds = [f"tier {i}" for i in range(31)]
    policy = od.policy.custom(
        kinds=kinds,
        edges=[("tier 0", kind) for kind in kinds[1:]],
        rules=[(kind, f"x = {i}") for i, kind in enumerate(kinds[:-1])],
        default=kinds[-1],
    )
    edges = [edge.name for edge in policy.edges]
    with od.Ledger.open(path) as ledger:
        spend(ledger, policy, dict.fromkeys(edges, "1/10"))
        spend(ledger, policy, dict.fromkeys(edges[:10], "1/2"))
    page = shown(path)
    assert page.count("spent (") == 20
    assert f"and {len(edges) - 20} edges" in page
    assert page.count("0.6 of 1 spent") == 10  # the most used come first
    assert f"each of {len(edges)} edges: ε 0.1, 0.9 left" in page
    assert "and 4 more; see --csv" in page


def test_labels_cannot_steer_the_terminal_or_pass_as_markup(tmp_path):
    path = tmp_path / "ledger.db"
    label = "[red]count[/red]\x1b[2Jof\nunits\u202e :smile:"
    with od.Ledger.open(path, who="[bold]eve") as ledger:
        spend(ledger, MINORS, {OPEN: "1/2"}, label=label, release_id="[/]")
    page = shown(path, columns=160)
    assert "[red]count[/red]\\x1b[2Jof\\nunits\\u202e :smile:" in page
    assert "[bold]eve" in page
    assert "id [/]" in page
    assert "\x1b" not in page


def test_json_holds_every_entry_exactly(path):
    entries = json.loads(shown(path, "--json", columns=10_000))
    kinds = ["open", "spend", "store", "spend", "store", "spend"]
    assert [entry["kind"] for entry in entries] == kinds
    first = entries[1]
    assert first["who"] == "anna@agency"
    assert first["policy"] == "sensitive"
    assert first["epsilon"] == {OPEN: "1/2", CLOSED: "1/4"}
    assert entries[-1]["total_epsilon"] == {OPEN: "1", CLOSED: "1/4"}
    assert first["budget"] == {OPEN: "1", CLOSED: "1"}
    assert first["release_id"] == "week 1"
    assert [entry["previous"] for entry in entries[1:]] == [e["hash"] for e in entries[:-1]]


def test_csv_has_a_line_per_entry_and_edge(path):
    rows = list(csv.DictReader(io.StringIO(shown(path, "--csv", columns=10_000))))
    assert len(rows) == 12
    charges = [row for row in rows if row["kind"] == "spend" and row["edge"] == OPEN]
    assert [row["epsilon_exact"] for row in charges] == ["1/2", "1/3", "1/6"]
    # Decimals never flatter: what was spent is rounded up, what is left is rounded down.
    for row in charges:
        assert Fraction(float(row["epsilon"])) >= Fraction(row["epsilon_exact"])
        spent, left = (Fraction(float(row[name])) for name in ("epsilon_spent", "epsilon_left"))
        assert spent + left >= Fraction(99, 100)
        assert Fraction(float(row["epsilon_budget"])) == 1
    assert charges[0]["who"] == "anna@agency"
    assert charges[0]["what"] == "count of units by ward"


def test_no_csv_cell_is_a_formula(tmp_path):
    path = tmp_path / "ledger.db"
    with od.Ledger.open(path, who="@eve") as ledger:
        spend(ledger, MINORS, {OPEN: "1/2"}, label="=1+1", release_id="+1")
    charge = list(csv.DictReader(io.StringIO(shown(path, "--csv", columns=10_000))))[2]
    assert (charge["what"], charge["who"], charge["release_id"]) == ("'=1+1", "'@eve", "'+1")


def test_json_and_csv_exclude_each_other(path):
    done = run("show", path, "--json", "--csv")
    assert done.returncode == 2
    assert "exclude" in done.stderr


def test_check_says_what_holds_and_what_it_could_not_see(path):
    done = run("check", path)
    assert done.returncode == 0
    assert "Intact" in done.stdout
    assert "3, none over budget" in done.stdout
    assert "1 charge (row 6)" in done.stdout
    assert "not given" in done.stdout
    head = run("head", path).stdout.strip()
    assert re.fullmatch("[0-9a-f]{64}", head)
    for columns in (40, 80, 120):
        assert f"Head: {head}\n" in run("check", path, columns=columns).stdout
    kept = run("check", path, "--head", head)
    assert kept.returncode == 0
    assert "in the chain" in kept.stdout


def tamper(path, *statements):
    with closing(sqlite3.connect(path)) as connection:
        triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for (name,) in triggers.fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize(
    ("statement", "row"),
    [
        ("UPDATE onesided_entries SET label = 'x' WHERE number = 4", 4),
        ("UPDATE onesided_entries SET epsilon = '{}' WHERE number = 2", 2),
        ("UPDATE onesided_payloads SET content = 'x' WHERE charge = 2", 3),
        ("DELETE FROM onesided_entries WHERE number = 3", 3),
        ("UPDATE onesided_entries SET detail = 'nonsense' WHERE number = 1", 1),
        ("UPDATE onesided_entries SET number = 60 WHERE number = 6", 6),
    ],
)
def test_a_tampered_ledger_is_named_by_its_first_bad_row(path, statement, row):
    tamper(path, statement)
    done = run("check", path)
    assert done.returncode == 4
    assert f"row {row} of the ledger is bad" in done.stderr
    assert "Stop publishing" in done.stderr
    assert done.stdout == ""
    # Looking at it must not fail in another way.
    assert run("show", path).returncode in (0, 4)
    assert "Traceback" not in run("show", path).stderr


def test_a_cut_off_end_is_found_by_the_head_that_was_kept(path):
    head = run("head", path).stdout.strip()
    with closing(sqlite3.connect(path)) as connection:
        guards = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger'")
        guards = [sql for (sql,) in guards.fetchall()]
    tamper(path, "DELETE FROM onesided_entries WHERE number = 6", *guards)
    assert run("check", path).returncode == 0
    done = run("check", path, "--head", head)
    assert done.returncode == 4
    assert "row 6 of the ledger is bad" in done.stderr


def test_the_command_itself_exits_with_4_and_one_readable_message(path):
    tamper(path, "UPDATE onesided_entries SET label = 'x' WHERE number = 4")
    done = subprocess.run(
        [sys.executable, "-m", "onesided", "ledger", "check", path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4
    assert done.stderr.startswith("Error: row 4 of the ledger is bad: its hash is not")


@pytest.mark.parametrize("command", ["show", "check", "head"])
@pytest.mark.parametrize("prefix", ["", "sqlite:///"])
def test_looking_for_a_ledger_makes_none(tmp_path, command, prefix):
    done = run(command, f"{prefix}{tmp_path}/none.db")
    assert done.returncode == 4
    assert "there is no ledger" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [b"", b"shopping list"])
def test_a_file_that_is_no_ledger_is_refused_unchanged(tmp_path, content):
    path = tmp_path / "list.txt"
    path.write_bytes(content)
    for command in ("show", "check", "head"):
        assert run(command, path).returncode == 4
    assert path.read_bytes() == content


def test_a_ledger_in_postgres_is_shown_alike(postgres_place):
    for command in ("show", "check", "head"):
        done = run(command, postgres_place)
        assert done.returncode == 4, "looking made a ledger"
        assert "there is no ledger" in done.stderr
    with od.Ledger.open(postgres_place, who="anna@agency") as ledger:
        spend(ledger, MINORS, {OPEN: "1/2"})
        head = ledger.head()
    assert f"{OPEN}: ε 0.5, 0.5 left" in shown(postgres_place, columns=200)
    assert run("head", postgres_place).stdout.strip() == head
    assert run("check", postgres_place, "--head", head).returncode == 0


def renyi(where, charges):
    people = pl.DataFrame({"person": [1, 2, 3]})
    given = {"unit": "person", "policy": od.policy.unbounded(), "ledger": where}
    more = {"budget": 1, "delta_budget": "1/1000000", "accounting": "renyi"}
    session = od.Session(people, noise=NotPrivateSeededNoise(1), **given, **more)
    for _ in range(charges):
        session.count(epsilon="1/100")
    return session


def test_a_renyi_account_is_never_shown_as_pure(tmp_path):
    where = tmp_path / "ledger.db"
    left = renyi(where, 101).remaining["record -> absent"]
    page = shown(where, columns=140)
    assert "accounting renyi: promises its whole budget (ε, δ)" in page
    assert "record -> absent, at δ = 1e-6" in page
    assert "used up" not in page
    last = json.loads(run("show", where, "--json").stdout)[-1]
    assert last["accounting"] == "renyi"
    assert len(last["total_divergences"]["record -> absent"]) == 11
    line = list(csv.DictReader(io.StringIO(run("show", where, "--csv").stdout)))[-1]
    assert 0 < float(line["epsilon_left"]) <= left
    assert "none over budget" in run("check", where).stdout


def test_what_charges_lose_together_is_told_beside_the_budget(tmp_path):
    where = tmp_path / "ledger.db"
    renyi(where, 3)
    told = shown(where, "--delta", "1e-6", columns=200)
    assert "By its budget: Under the policy 'unbounded'" in told
    assert "Had this been the plan:" in told
    assert "\\n" not in told


def test_a_check_tells_which_rows_are_dated_before_an_earlier_one(tmp_path, monkeypatch):
    where = tmp_path / "ledger.db"
    with Ledger.open(where) as ledger:
        account = ledger.account(policy_id="p", policy_toml="", policy_name="p", budget={"up": 1})
        for day in (2, 1, 3):
            told = f"2026-01-0{day}T12:00:00.000000+00:00"
            monkeypatch.setattr("onesided.ledger._entry.now", lambda told=told: told)
            account.spend({"up": "1/4"}, label="a count")
    assert "1 row (row 3): dated before an earlier row" in run("check", where, columns=200).stdout
    assert json.loads(run("check", where, "--json").stdout)["backwards"] == [3]


def test_what_each_date_has_left(tmp_path):
    """A schema parts the budget by date; the command tells each, and charges what it names."""
    (tmp_path / "visits.schema.toml").write_text(
        'unit = "person"\n[cohort]\ncolumn = "day"\nmax_cohorts = "unbounded"\n'
        '[columns.person]\ntype = "integer"\n[columns.day]\ntype = "date"\nrequired = true\n'
    )
    rows = "".join(f"{p},{'ab'[p % 2]},2026-01-0{d}\n" for p in range(4) for d in (1, 2))
    (tmp_path / "visits.csv").write_text(f"person,place,day\n{rows}")
    data, schema, ledger = (
        str(tmp_path / name) for name in ("visits.csv", "visits.schema.toml", "ledger.db")
    )
    asked = "SELECT COUNT(DISTINCT person) FROM data WHERE day = DATE '2026-01-0{}'"
    files = ["--data", data, "--schema", schema, "--ledger", ledger]
    more = [*files, "--policy", "addition_only", "--epsilon", "1/2"]
    codes = [run(asked.format(day), *more, group=("ask",)).returncode for day in (1, 2, 1)]
    assert codes == [0, 0, 3]
    (told,) = json.loads(shown(ledger, "--by", "cohort", "--json"))
    assert told["calendar"] == {"column": "day", "max_cohorts": "unbounded", "times": None}
    days = ["2026-01-01", "2026-01-02"]
    assert [one["days"] for one in told["cohorts"]] == [
        [[None, "2025-12-31"]],
        [days],
        [["2026-01-03", None]],
    ]
    assert [one["epsilon_left"]["record -> absent"] for one in told["cohorts"]] == [
        "1/2",
        "0",
        "1/2",
    ]
    page = shown(ledger, "--by", "cohort")
    assert "2026-01-01 to 2026-01-02" in page
    assert "pays m times" in " ".join(page.split())
    assert "--by cohort tells each" in " ".join(shown(ledger).split())
    assert run("check", ledger).returncode == 0
    assert run("show", ledger, "--by", "kind").returncode == 2


def test_a_ledger_without_dates_has_none_to_show(path):
    assert run("show", path, "--by", "cohort").returncode == 2
