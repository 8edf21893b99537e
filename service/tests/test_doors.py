"""Who gets in, and with what: tokens, bodies, paths, headers, logs. No refusal tells anything."""

import asyncio
import importlib.util
import logging
import random
import sys
from pathlib import Path

import polars as pl
import pytest

from onesided import policy as policies
from onesided import store

pytest.importorskip("fastapi")
httpx = pytest.importorskip("httpx")
pytest.importorskip("duckdb")


def beside(name):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


hour, world = beside("hour"), beside("world")
TYPES = {"person": pl.Int64, "place": pl.String, "age": pl.Int64}
SECRET_PLACE = "place-that-only-rows-know"  # noqa: S105 - no key lists it
ROWS = [(p, [*hour.PLACES, SECRET_PLACE][p % 6], 30) for p in range(20)]
TWO = """
[datasets.wages]
data = "visits.parquet"
schema = "visits.schema.toml"
policy = "policy.toml"
budget = 10
"""
VISITS, COUNT = hour.VISITS, {"version": 1, "question": "Count", "fields": {"epsilon": 1}}


@pytest.fixture
def swift():
    with world.in_memory() as made:
        yield Path(made)


@pytest.fixture
def made(swift, monkeypatch):
    frame = pl.DataFrame(ROWS, schema=TYPES, orient="row")
    folder = world.written(swift / "service", frame, policies.presence(max_groups=2))
    config = folder / "onesided.toml"
    config.write_text(config.read_text() + TWO)
    service = world.World(folder, monkeypatch, coupled=False)
    service.inner.datasets["wages"].check()
    yield service
    service.close()


def get(path, who="ann", **headers):
    return hour.Sent("GET", path, who, headers=headers)


def with_header(value, path=f"{hour.API}/me"):
    return hour.Sent("GET", path, None, headers={"Authorization": value})


def test_tokens_that_do_not_hold_are_refused_alike(made):
    people = made.inner.people
    good = made.tokens["ann"]
    revoked = people.add("dave", {"visits": ["analyst"]}, days=1)
    people.remove("dave")
    rotated = people.add("dora", {"visits": ["analyst"]}, days=1)
    people.rotate("dora", days=1)
    name = good.split("_")[1]
    other = made.tokens["bob"].split("_")[2]
    _, cookie = people.sign_in(good)
    wrong = [
        "",
        good[:-1],
        good + "0",
        good[:-1] + ("0" if good[-1] != "0" else "1"),
        good.upper(),
        f"os1_{name}_{other}",
        f"os2_{name}_{good.split('_')[2]}",
        f"os1_{name}_",
        "os1__" + good.split("_")[2],
        revoked,
        rotated,
        cookie,
        "os1_' OR 1=1 --_x",
        "a" * 100_000,
        "ey" * 40,
    ]
    headers = [f"Bearer {token}" for token in wrong]
    headers += [good, f"bearer{good}", f"Basic {good}", f"Bearer {good},Bearer {good}"]
    found = made.responses([with_header(one) for one in headers])
    assert {status for status, _, _ in found} == {401}
    assert len({str(world.unnumbered(one)) for one in found}) == 1


def test_a_token_expires(made):
    made.inner.people.expire("ann", at=store.now())
    made.time -= 70
    assert made.responses([get(f"{hour.API}/me")])[0][0] == 200
    made.time += 70
    assert made.responses([get(f"{hour.API}/me")])[0][0] == 401


def test_another_datasets_token_opens_nothing(made):
    made.tokens["wendy"] = made.inner.people.add("wendy", {"wages": ["analyst"]}, days=1)
    made.tokens["sam"] = made.inner.people.add("sam", {"visits": ["sender"]}, days=1)
    ask = hour.post(f"{VISITS}/ask", {"question": COUNT})
    told = made.responses([ask, *(get(f"{hour.API}/asks/{{ask}}", who) for who in ("ann", "bob"))])
    assert [status for status, _, _ in told] == [200, 200, 404]
    paths = [VISITS, f"{VISITS}/asks", f"{hour.API}/datasets/no-such-thing"]
    sent = [get(path, who) for path in paths for who in ("wendy", "sam", "eve")]
    sent += [hour.post(f"{VISITS}/{way}", {"question": COUNT}, "wendy") for way in ("plan", "ask")]
    found = made.responses(sent)
    assert {status for status, _, _ in found} == {404}
    assert len({body for _, _, body in found}) == 1


@pytest.mark.parametrize("way", ["notes", "ledger", "people", "reopen"])
def test_what_is_the_curators_is_nobody_elses(made, way):
    for who in ("ann", "eve", None):
        sent = (
            hour.post(f"{VISITS}/{way}", {}, who)
            if way == "reopen"
            else get(f"{VISITS}/{way}", who)
        )
        ((status, _, _),) = made.responses([sent])
        assert status in (401, 403, 404), who


def test_large_bodies_are_refused_before_they_are_read(made):
    big = b'{"question": "' + b"x" * 10_000_000 + b'"}'
    found = made.responses(
        [hour.post(f"{VISITS}/{way}", big) for way in ("ask", "plan")]
        + [hour.post(f"{VISITS}/ask", big, None)]
    )
    assert [status for status, _, _ in found[:2]] == [413, 413]
    assert found[2][0] in (401, 413)


def test_slow_bodies_are_given_up(made, monkeypatch):
    import dataclasses
    from fractions import Fraction

    monkeypatch.setattr(
        made.inner, "config", dataclasses.replace(made.inner.config, slowest_body=Fraction(1, 5))
    )

    async def drop_by_drop():
        for _ in range(50):
            yield b" "
            await asyncio.sleep(0.05)

    async def ask():
        transport = httpx.ASGITransport(made.app, raise_app_exceptions=False)
        headers = {"Authorization": f"Bearer {made.tokens['ann']}", **hour.JSON}
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
            return await client.post(f"{VISITS}/ask", content=drop_by_drop(), headers=headers)

    assert asyncio.run(ask()).status_code == 408


TRICKS = [
    f"{base}{trick}"
    for base in ("/", "/static/", "/published/", f"{hour.API}/published/", f"{hour.API}/datasets/")
    for trick in (
        "../onesided.toml",
        "..%2fonesided.toml",
        "%2e%2e/service.db",
        "....//service.db",
        "..%5c..%5cservice.db",
        "/etc/passwd",
        "%00",
        "visits.parquet",
        "service.db%00.csv",
        "a" * 5000,
        "%ff%fe",
        "{{7*7}}",
        "<script>alert(1)</script>",
        "' OR '1'='1",
    )
]


def test_paths_lead_nowhere_else(made):
    found = made.responses([get(path, who) for path in TRICKS for who in ("ann", None)])
    for status, _, body in found:
        assert status < 500
        for told in (b"[datasets.visits]", b"SQLite format", b"root:", b"PAR1", b"<script>alert"):
            assert told not in body


def test_every_response_has_its_headers(made):
    paths = ["/healthz", f"{hour.API}/me", "/nothing", VISITS, "/published", "/sign-in"]
    sent = [get(path, who) for path in paths for who in ("ann", None)]
    for request, (_, raw, _) in zip(sent, made.responses(sent), strict=True):
        headers = {name.decode().lower(): value.decode() for name, value in raw}
        contents = headers["content-security-policy"]
        assert "unsafe" not in contents, request
        assert "default-src 'none'" in contents
        assert "frame-ancestors 'none'" in contents
        assert "*" not in contents
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
        assert "strict-transport-security" not in headers
        assert "server" not in headers


def test_behind_tls_browsers_are_told_to_stay_there(swift, monkeypatch):
    frame = pl.DataFrame(ROWS, schema=TYPES, orient="row")
    folder = world.written(swift / "service", frame, policies.presence(max_groups=2))
    config = folder / "onesided.toml"
    config.write_text(config.read_text().replace("[service]", "[service]\ntls = true"))
    service = world.World(folder, monkeypatch)
    for _, raw, _ in service.responses([get("/healthz"), get("/nothing", None)]):
        assert "max-age" in dict(raw)[b"strict-transport-security"].decode()
    service.close()


def test_logs_hold_no_secret_and_no_row(made, caplog):
    caplog.set_level(logging.DEBUG)
    sent = list(hour.hour(random.Random(4), 12))
    made.inner.people.add("zed", {}, days=1)
    found = made.responses(sent)
    assert found
    for secret in (*made.tokens.values(), SECRET_PLACE, "Bearer os1", "place = 'gym'"):
        assert secret not in caplog.text


def test_a_failure_after_the_charge_is_told_in_one_fixed_sentence(made, monkeypatch, caplog):
    """The curator has the reason; the log its kind; whoever asks reads a sentence without one."""
    from onesided_service._watched import Lines

    dataset = made.inner.datasets["visits"]

    def broken(_question):
        raise ValueError(f"row 7 holds {SECRET_PLACE}")

    monkeypatch.setattr(dataset, "answer", broken)
    sent = [hour.post(f"{VISITS}/ask", {"question": COUNT}), get(VISITS), get(VISITS, "bob")]
    sent += [hour.post(f"{VISITS}/ask", {"question": COUNT}, "bob")]
    found = made.responses(sent)
    assert [status for status, _, _ in found] == [503, 200, 200, 503]
    assert not any(SECRET_PLACE.encode() in body for _, _, body in found)
    assert not any(b"ValueError" in body for _, _, body in found)
    assert SECRET_PLACE in dataset.notes()[0]["note"]
    assert SECRET_PLACE not in "".join(map(Lines().format, caplog.records))
    assert any(getattr(one, "kind", "") == "ValueError" for one in caplog.records)
    assert not made.inner.datasets["visits"].open


def test_what_counts_requests_is_for_curators(made):
    """It names datasets, and says how much others ask."""
    found = made.responses([get("/metrics", who) for who in (None, "eve", "ann", "carol")])
    assert [status for status, _, _ in found] == [401, 404, 404, 200]
    assert b"onesided_requests_total" in found[-1][2]


def test_no_header_numbers_requests(service):
    names = [service.get("/healthz").headers["x-request-id"] for _ in range(20)]
    assert len(set(names)) == 20
    assert all(len({name[place] for name in names}) > 1 for place in range(len(names[0])))


def test_a_bad_condition_closes_nothing_and_costs_nothing(made):
    """What fails on the rows' columns must fail before it is charged."""
    fields = [
        {"where": "shoe = 3"},
        {"where": "place = 3"},
        {"by": "shoe", "keys": ["a"]},
        {"where": "person = 'x'"},
    ]
    for more in fields:
        question = {**COUNT, "fields": {"epsilon": 1, **more}}
        ((status, _, _), (_, _, left)) = made.responses(
            [hour.post(f"{VISITS}/ask", {"question": question}), get(VISITS)]
        )
        assert status == 422, more
        assert b'"open":true' in left
        assert b'"spent":{"present -> not present":"0"}' in left


def test_nobody_comes_by_the_answers_of_one_who_was_removed(tmp_path):
    from onesided.errors import ParameterError
    from onesided_service._people import People
    from onesided_service._store import State, asks, put_if_absent

    state = State.open(str(tmp_path / "service.db"))
    people = People(state)
    people.add("ann", {"visits": ["analyst"]}, days=1)
    columns = ("id", "dataset", "question", "name", "asked", "due", "answer")
    with state.write() as connection:
        put_if_absent(
            connection, asks, dict.fromkeys(columns, "") | {"person": "ann", "charged": 1}
        )
    people.add("ann", {"visits": ["sender"]}, days=1)
    people.remove("ann")
    with pytest.raises(ParameterError, match="asked here before") as caught:
        people.add("ann", {"visits": ["analyst"]}, days=1)
    assert "another name" in caught.value.hint
    people.add("anna", {"visits": ["analyst"]}, days=1)
    state.close()
