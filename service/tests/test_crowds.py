"""Budgets hold whoever asks at once, and whoever is killed: no charge without its one answer."""

import hashlib
import json
import os
import secrets
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from onesided.ledger import Ledger
from onesided_service import ServiceConfig
from onesided_service._people import Person
from onesided_service._service import Service

SCRIPT = Path(__file__).with_name("crowd.py")


@pytest.fixture(params=["sqlite", "postgres"])
def crowded(request, folder):
    """The configuration's folder, its state and ledger in files or in PostgreSQL."""
    text = (folder / "onesided.toml").read_text()
    if request.param == "sqlite":
        yield folder
        return
    url = os.environ.get("ONESIDED_POSTGRES_URL")
    if not url:
        pytest.skip("skipped: ONESIDED_POSTGRES_URL not set")
    import sqlalchemy

    schema = f"service_{secrets.token_hex(6)}"
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {schema}")
    place = f"{url}?schema={schema}"
    text = text.replace('state = "service.db"', f'state = "{place}"')
    (folder / "onesided.toml").write_text(text.replace("budget =", f'ledger = "{place}"\nbudget ='))
    yield folder
    with engine.begin() as connection:
        connection.exec_driver_sql(f"DROP SCHEMA {schema} CASCADE")
    engine.dispose()


def limited(folder, budget, allowance):
    path = folder / "onesided.toml"
    text = path.read_text().replace('budget = "100"', f'budget = "{budget}"')
    text = text.replace('allowance = "40"', f'allowance = "{allowance}"')
    # A crowd that waits for no tick fills no turns, however fast it is; and is late for none.
    path.write_text(f'{text}seconds = "1/1000"\ngrace = 600\n')


def opened(folder):
    service = Service(ServiceConfig.read(folder / "onesided.toml"))
    service.datasets["visits"].check()
    return service


def run(*words):
    command = [sys.executable, str(SCRIPT), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    print(done.stderr)  # noqa: T201 - why a worker died, where one should not
    return json.loads(done.stdout)


def charges_of(service):
    dataset = service.datasets["visits"]
    with Ledger.open(service.config.ledger_of(dataset.config)) as ledger:
        ledger.check()
        return [(one.release_id, one.who) for one in ledger.entries(kind="spend")]


@pytest.mark.heavy
@pytest.mark.slow
def test_colluding_analysts_never_pass_the_budget_or_an_allowance(crowded, long_form):
    workers, asks = (8, 500) if long_form else (3, 14)
    budget, allowance = (300, 120) if long_form else (10, 4)
    limited(crowded, budget, allowance)
    service = opened(crowded)
    found = run(crowded, workers, asks)
    assert found["died"] == 0
    charged = charges_of(service)
    assert sorted(charged) == sorted((one["ask"], one["who"]) for one in found["told"])
    assert Fraction(len(charged), 2) <= budget
    for who in ("ann", "bob", "cleo"):
        own = sum(1 for _, name in charged if name == who)
        assert Fraction(own, 2) <= allowance
    # Three allowances are more than the budget, and everybody asked for more than theirs.
    assert Fraction(len(charged), 2) == budget
    kept_as_told(service, found["told"])


@pytest.mark.heavy
@pytest.mark.slow
def test_whoever_is_killed_finds_every_answer_that_was_charged(crowded, long_form):
    limited(crowded, 10**6, 10**6)
    service = opened(crowded)
    found = run(crowded, "kill", 200 if long_form else 4, 7)
    dataset = service.datasets["visits"]
    charged = charges_of(service)
    assert {one["ask"] for one in found["told"]} <= {name for name, _ in charged}
    kept_as_told(service, found["told"])
    for name, who in charged:
        person = Person(name=who, roles={"visits": frozenset({"analyst"})})
        ask = service.asking.of(person, service.asking.found(name), dataset)
        assert ask.charged
        if not ask.answer:  # its worker died: another takes it up
            ask = service.asking.postponed(ask, dataset)
        answered = service.asking.draw(ask, dataset)
        assert answered.answer
        assert service.asking.draw(answered, dataset) == answered
    assert len(charges_of(service)) == len(charged)
    with Ledger.open(service.config.ledger_of(dataset.config)) as ledger:
        assert not ledger.check().unanswered


def kept_as_told(service, told):
    """What was told once is what everybody reads for ever."""
    for one in told:
        kept = service.asking.found(one["ask"]).answer
        assert hashlib.sha256(kept.encode()).hexdigest() == one["hash"]
