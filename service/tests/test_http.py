"""What HTTP itself asks of a server: methods, schemes, health, origins, and who hangs up."""

import asyncio
import json
import stat
from dataclasses import replace

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("duckdb")

from typer.testing import CliRunner

from onesided.errors import LedgerUnavailableError, ParameterError
from onesided_service import ServiceConfig, create_app
from onesided_service._people_command import app as people
from onesided_service._turns import Limits

COUNT = {"version": 1, "question": "Count", "fields": {"epsilon": 1, "by": "place"}}
PLAN = "/api/v1/datasets/visits/plan"


def test_the_scheme_of_a_token_has_no_case(service):
    for scheme in ("bearer", "BEARER", "Bearer"):
        told = service.client.get(
            "/api/v1/me", headers={"Authorization": f"{scheme} {service.tokens['ann']}"}
        )
        assert told.json()["person"] == "ann"
    for wrong in ("", "Basic ", "bearer", "bearers "):
        headers = {"Authorization": f"{wrong}{service.tokens['ann']}"}
        assert service.client.get("/api/v1/me", headers=headers).status_code == 401


@pytest.mark.parametrize("path", ["/", "/healthz", "/api/v1/published", "/api/v1/openapi.json"])
def test_head_is_get_without_its_body(service, path):
    whole = service.client.get(path)
    head = service.client.run(service.client.inner.head(path))
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(whole.content))


@pytest.mark.parametrize("method", ["TRACE", "PATCH", "DELETE", "PUT"])
def test_a_method_that_is_not_there_says_which_is(service, method):
    told = service.client.run(service.client.inner.request(method, "/api/v1/published"))
    assert (told.status_code, told.headers["allow"]) == (405, "GET, HEAD")
    assert told.json()["error"]["type"] == "Http"


def test_every_address_declares_its_body_and_its_own_statuses(service):
    paths = service.client.get("/api/v1/openapi.json").json()["paths"]
    for path, operations in paths.items():
        for method, operation in operations.items():
            told = operation["responses"]
            assert ("requestBody" in operation) == (method == "post")
            assert {"200", "500", "503"} <= set(told)
            assert ("413" in told) == (method == "post")
            public = path.startswith(("/api/v1/published", "/api/v1/monitors")) and method == "get"
            assert ("401" in told) != public
            for status in set(told) - {"200", "202", "304"}:
                refusal = told[status]["content"]["application/json"]["schema"]
                assert refusal["required"] == ["error"]
    asked = paths["/api/v1/datasets/{name}/ask"]["post"]["responses"]
    assert {"202", "403", "409", "410", "422", "429"} <= set(asked)
    assert set(paths["/api/v1/monitors"]["get"]["responses"]) == {"200", "500", "503"}


def test_whether_it_lives_and_whether_it_can_answer_are_two_questions(service, monkeypatch):
    def ends(*_, **__):
        raise LedgerUnavailableError("gone")

    assert service.client.get("/readyz").json() == {"status": "ready"}
    monkeypatch.setattr(type(service.inner.state), "transaction", ends)
    assert service.client.get("/healthz").status_code == 200
    service.inner._looked -= 1  # it looks once a second
    told = service.client.get("/readyz")
    assert told.status_code == 503
    assert "gone" not in told.text


def test_what_is_public_is_read_with_any_cookie(service):
    """One that holds no more once used up the requests of its address, on pages for everybody."""
    service.inner.limits = Limits(2, workers=1)
    held = {"Cookie": "onesided=os1_gone_gone", "Accept": "text/html"}
    for path in ("/", "/published", "/sign-in"):
        assert [service.client.get(path, headers=held).status_code for _ in range(4)] == [200] * 4
    told = [service.client.get("/history", headers=held).status_code for _ in range(4)]
    assert told == [303, 303, 429, 429]  # what is for who signed in counts


def test_a_page_past_the_limit_is_a_page(service):
    """Its refusal once looked the reader up again, and was refused again: a mistake, in JSON."""
    cookie = service.client.post("/sign-in", data={"token": service.tokens["ann"], "next": "/"})
    held = {"Cookie": cookie.headers["set-cookie"].split(";")[0], "Accept": "text/html"}
    service.inner.limits = Limits(2, workers=1)
    told = [service.client.get("/history", headers=held) for _ in range(5)]
    assert [one.status_code for one in told] == [200, 200, 429, 429, 429]
    assert all(one.headers["content-type"].startswith("text/html") for one in told)
    assert "Too many requests" in told[-1].text


def test_whoever_hangs_up_is_no_mistake_of_ours(service, caplog):
    async def left():
        sent = []

        async def receive():
            return {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": PLAN,
            "raw_path": PLAN.encode(),
            "query_string": b"",
            "headers": [
                (b"authorization", f"Bearer {service.tokens['ann']}".encode()),
                (b"content-type", b"application/json"),
            ],
            "client": ("127.0.0.1", 1),
            "server": ("service", 80),
            "scheme": "http",
            "http_version": "1.1",
            "root_path": "",
        }
        await service.client.app(scope, receive, send)
        return sent

    with caplog.at_level("INFO", logger="onesided.serve"):
        assert service.client.run(asyncio.wait_for(left(), 60)) == []
    assert not [one for one in caplog.records if one.getMessage() == "mistake"]
    assert [one.status for one in caplog.records if one.getMessage() == "request"] == [499]


def test_declared_origins_alone_read_what_is_published(folder):
    config = folder / "onesided.toml"
    written = config.read_text().replace(
        "[service]", '[service]\norigins = ["https://news.example"]'
    )
    config.write_text(written)
    read = ServiceConfig.read(config)
    assert read.origins == ("https://news.example",)
    for wrong in ("news.example/", "https://news.example/", "https://news.example:443", "null"):
        with pytest.raises(ParameterError, match="is no origin"):
            ServiceConfig.from_toml(f'service = {{origins = ["{wrong}"]}}', folder=folder)
    for wrong in ("javascript:alert(1)", "data.example", "https://x/?q=", 'https://x/"'):
        with pytest.raises(ParameterError):
            ServiceConfig.from_toml(f"service = {{public_url = '{wrong}'}}", folder=folder)
    from service.tests.conftest import Client

    client = Client(create_app(read))
    try:
        for path, origin, allowed in [
            ("/api/v1/published", "https://news.example", "https://news.example"),
            ("/api/v1/monitors", "https://news.example", "https://news.example"),
            ("/api/v1/published", "https://evil.example", None),
            ("/api/v1/me", "https://news.example", None),
            ("/", "https://news.example", None),
        ]:
            told = client.get(path, headers={"Origin": origin})
            assert told.headers.get("access-control-allow-origin") == allowed, path
            assert "access-control-allow-credentials" not in told.headers
    finally:
        client.close()


def test_others_read_the_declared_address_whatever_a_request_says():
    plain = ServiceConfig(host="0.0.0.0", port=80)  # noqa: S104 - nothing listens
    assert plain.address == "http://0.0.0.0:80"
    assert replace(plain, tls=True, public_url="https://data.example/").address == (
        "https://data.example"
    )


def test_a_question_has_at_least_and_at_most_so_much_epsilon(service):
    dataset = service.inner.datasets["visits"]
    dataset.config = replace(dataset.config, min_epsilon="1/10", max_epsilon=2)
    for epsilon, status in [("1/100000000000", 422), ("1/10", 200), (2, 200), (3, 422)]:
        question = {**COUNT, "fields": {**COUNT["fields"], "epsilon": epsilon}}
        told = service.post(PLAN, {"question": question})
        assert told.status_code == status, told.text
    parts = [{key: one[key] for key in ("question", "fields")} for one in (COUNT, question)]
    several = {"question": "Several", "fields": {"questions": parts}}
    told = service.ask({"version": 1, **several})
    assert told.status_code == 422
    assert told.json()["error"]["message"] == "epsilon is 3; one question here has at most 2."
    assert service.get("/api/v1/datasets/visits").json()["spent"] == {"present -> not present": "0"}


def test_a_token_is_written_for_its_owner_alone(folder):
    config, to = str(folder / "onesided.toml"), folder / "ann.json"
    given = ["add", "ann", "--role", "visits:analyst", "--config", config, "--to", str(to)]
    told = CliRunner().invoke(people, given)
    assert told.exit_code == 0, told.output
    assert stat.S_IMODE(to.stat().st_mode) == 0o600
    token = json.loads(to.read_text())["token"]
    assert token.startswith("os1_")
    assert token not in told.output
    other = [*given[:3], "nobody:nothing", *given[4:6], "--to", str(folder / "zed.json")]
    with pytest.raises(ParameterError):
        CliRunner().invoke(people, other, catch_exceptions=False)
    assert not (folder / "zed.json").exists()
    with pytest.raises(ParameterError, match="File exists"):
        CliRunner().invoke(people, given, catch_exceptions=False)
