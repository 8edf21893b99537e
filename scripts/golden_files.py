"""Files of today: a ledger, a monitor's state and public folder, a service, policies as text.

They were written once, by the code of the first golden answers, and are never written again: the
documents are what today's code says of a copy of them. Private, as far as it goes: the service's
people, whose tokens no request can make (``app.state.service.people``).
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Final
from unittest import mock

import golden_answers as answers
import golden_command as command
import golden_tables as tables
import polars as pl

import onesided as od
from onesided import session as s
from onesided.errors import OnesidedError
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import from_toml

# Session, policy and question of each release in the ledger.
LEDGER: Final[Mapping[str, tuple[str, Any]]] = {
    "count": ("presence", s.Count(**tables.PLACE)),
    "at most": ("presence", s.AtMost(5, **tables.PLACE)),
    "above": ("presence", s.Above(2, **tables.PLACE, max_answers=1)),
    "largest": ("presence", s.TopK(2, **tables.PLACE, confidence="0.9")),
    "enclosed": ("presence", s.Enclosed(**tables.PLACE, delta="1/1000")),
    "rows": ("presence", s.RowCount(**tables.PLACE, max_rows=2)),
    "sum": ("sensitive", s.Sum("pay", **{**tables.TWO, **tables.TOTAL})),
    "mean": ("sensitive", s.Mean("pay", **tables.PAY)),
    "variance": ("bounded", s.Variance("pay", **tables.PAY)),
    "median": ("bounded", s.Quantile("pay", "1/2", bounds=(0, 100), step=10, epsilon=2)),
    "histogram": ("tiers", s.Histogram("age", bins=tables.AGES, **tables.ONE_CELL)),
    "shape": ("sensitive", s.Histogram("pay", bins=4, bounds=(0, 80), epsilon=2, max_groups=1,
                                       method="dawa", on_excess="truncate")),
    "discovered": ("sensitive", s.Discover(by="place", epsilon=3, max_groups=2)),
    "pairs": ("sensitive", s.Ngrams(by="place", order="hour", n=2, epsilon=4, max_groups=2)),
    "sample": ("sensitive", s.Sample(epsilon=1)),
    "several": ("bounded", s.Several([s.Count(**tables.TWO), s.Sum("pay", **tables.TOTAL)])),
    "linear": ("presence", s.LinearQuery([[1, 1, 0, 0], [0, 1, 2, 3]], **tables.PLACE)),
    "ranges": ("presence", s.RangeQuery("pay", "all", bins=[0, 20, 40, 80], epsilon=1)),
    "over budget": ("presence", s.Count(by="place", keys=tables.KEYS, epsilon=10**6)),
}  # fmt: skip
MORE_POLICIES: Final[Mapping[str, od.policy.Policy]] = {
    "sensitive, text": od.policy.sensitive("tier = 'strict' or place in ('a', 'b')"),
    "sensitive, null": od.policy.sensitive("consent is null or not consent"),
    "sensitive, arithmetic": od.policy.sensitive("(age + 1) * 2 < 40 and pay between 1 and 9"),
    "sensitive, one flag": od.policy.sensitive("minor"),
    "extended, dates": od.policy.extended_sensitive("born > DATE '2008-01-01'"),
    "proposition, quoted": od.policy.proposition('"the age" >= 18'),
    "tiers of four": od.policy.tiers(
        {"a": ("1/10", "x = 1"), "b": ("1/5", "x = 2"), "c": (1, "x = 3"), "d": "5/2"}
    ),
    "presence of one": od.policy.presence(max_groups=1),
    "presence of many": od.policy.presence(max_groups=40),
    "attributes of three": od.policy.attributes({"x": ["1", "ü"], "y": "*", "z": []}),
    "graph of numbers": od.policy.graph([(1, 2), (2, 3), (3, 4, "2/3")]),
    "graph with absence": od.policy.graph([("a", "absent"), ("a", "b")], directed=True),
    "near on the earth": od.policy.neighbourhood(
        radius=500, metric="haversine", places={"x": (47.37, 8.54), "y": (47.38, 8.55)}
    ),
    "near on a grid": od.policy.neighbourhood(radius=2, metric="grid", sources=[(0, 0)]),
    "near in time": od.policy.neighbourhood(radius=3600, metric="time"),
    "local, all": od.policy.local(["yes", "no", "perhaps"]),
    "local, one way": od.policy.local(["yes", "no"], edges=[("yes", "no", "1/2")]),
    "three together": (
        od.policy.presence(max_groups=1) & od.policy.sensitive("minor") & od.policy.bounded()
    ),
}
_SCHEMA: Final = od.Schema(
    unit="person",
    columns={
        "person": od.column("integer"),
        "place": od.column("text", keys=tables.KEYS),
        "pay": od.column("integer", bounds=(0, 100)),
    },
)
_SERVICE: Final = """\
[service]
state = "service.db"
tick = "1/10"
[datasets.visits]
title = "Visits of a made-up town"
data = "visits.parquet"
schema = "visits.schema.toml"
policy = "policy.toml"
budget = "100"
allowance = "40"
declared_rows = 1000
grace = "20"
"""
_ASKED: Final = (
    ("Count", {"epsilon": 1, "by": "place"}),
    ("Sum", {"epsilon": 2, "column": "pay", "missing": "drop"}),
)
_MONITOR: Final = ("monitor", "--input", "in", "--keys", "places.csv", "--policy", "presence",
                   "--max-groups", "1", "--at-most", "2", "--epsilon", "4", "--window", "6",
                   "--batch-time", "latest", "--state", "state.db", "--out", "public",
                   "--once")  # fmt: skip
_BATCHES: Final = ([(1, "a", 1), (2, "a", 2), (3, "b", 2)],
                   [(1, "b", 4), (4, "a", 5), (5, "a", 5)],
                   [(6, "b", 9), (1, "b", 9), (7, "c", 8)])  # fmt: skip
_NEXT: Final = [("8", "a", 11), ("2", "b", 12), ("9", "d", 12)]


def documents(folder: Path) -> dict[str, Callable[[], Any]]:
    """What today's code says of each file."""
    found: dict[str, Callable[[], Any]] = {
        "files/ledger": partial(_ledger, folder),
        "files/monitor": partial(_monitor, folder),
        "files/service": partial(_service, folder),
    }
    for name in LEDGER:
        found[f"files/ledger/{name}"] = partial(_told, folder, name)
    place = folder / "policies.toml"
    stored = tomllib.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
    for name, text in stored.items():
        found[f"policies/{name}"] = partial(_policy, text)
    return found


def make(folder: Path) -> None:
    """The files that are not there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, written in (
        ("policies.toml", _make_policies),
        ("ledger.db", _make_ledger),
        ("monitor", _make_monitor),
        ("service", _make_service),
    ):
        if not (folder / name).exists():
            # Ledgers write down who charged: the user and the machine.
            with (
                mock.patch.dict(os.environ, {"LOGNAME": "golden"}),
                mock.patch("socket.gethostname", return_value="example"),
            ):
                written(folder)


def _make_policies(folder: Path) -> None:
    parts = [
        f"\"{name}\" = '''\n{policy.to_toml()}'''\n"
        for name, policy in {**tables.POLICIES, **MORE_POLICIES}.items()
    ]
    (folder / "policies.toml").write_text("\n".join(parts), encoding="utf-8")


def _policy(text: str) -> dict[str, Any]:
    policy = from_toml(text)
    return {
        "identity": policy.identity,
        "text": "the same" if policy.to_toml() == text else policy.to_toml(),
        "name": policy.name,
        "kinds": policy.kinds,
        "edges": {edge.name: edge.weight for edge in policy.edges},
        "explained": policy.explain(epsilon=1).splitlines(),
    }


def _session(policy: str, rows: object, ledger: od.Ledger) -> od.Session:
    return od.Session(
        rows,
        unit="person",
        policy=tables.POLICIES[policy],
        ledger=ledger,
        further=True,
        noise=NotPrivateSeededNoise(answers.SEED),
        **answers.BUDGET,
    )


def _make_ledger(folder: Path) -> None:
    told = {}
    with od.Ledger.open(folder / "ledger.db", who="golden") as ledger:
        for name, (policy, question) in LEDGER.items():
            session = _session(policy, tables.ENGINES["polars"](tables.COLUMNS), ledger)
            try:
                release = session.ask(_named(question, name))
            except OnesidedError as error:
                told[name] = str(error)
            else:
                told[name] = json.loads(s.release_to_json(release))
    (folder / "ledger.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def _named(question: Any, name: str, *, again: bool = False) -> Any:
    return replace(question, id=name, again=again)


def _ledger(folder: Path) -> dict[str, Any]:
    """Accounts, sums and rows of the ledger of today, checked as a whole."""
    with _copied(folder) as copy, od.Ledger.open(copy / "ledger.db", create=False) as ledger:
        report = ledger.check(ledger.head())
        return {
            "head": ledger.head(),
            "entries": report.entries,
            "charges": report.charges,
            "stored": report.stored,
            "unanswered": report.unanswered,
            "balances": [_fields(one) for one in ledger.balances()],
            "policies": {
                one.policy_name: "the same"
                if from_toml(one.policy_toml).identity == one.policy_id
                else one.policy_toml
                for one in ledger.accounts()
            },
            "rows": [
                {"number": one.number, "time": one.time, "who": one.who, "kind": one.kind,
                 "id": one.release_id, "label": one.label, "detail": one.detail,
                 "epsilon": one.epsilon, "delta": one.delta, "hash": one.hash}
                for one in ledger.entries()
            ],
            "total": str(_session("presence", tables.arrow(tables.COLUMNS), ledger)
                         .total(delta="1/1000000")),
        }  # fmt: skip


def _fields(one: Any) -> dict[str, Any]:
    return {part.name: getattr(one, part.name) for part in fields(one)}


def _told(folder: Path, name: str) -> Any:
    """A release of the ledger, told again over other rows; compared with what was told then."""
    policy, question = LEDGER[name]
    other = {column: rows[:1] for column, rows in tables.COLUMNS.items()}
    with _copied(folder) as copy, od.Ledger.open(copy / "ledger.db", create=False) as ledger:
        session = _session(policy, tables.ENGINES["polars"](other), ledger)
        spent = session.spent
        try:
            release = session.ask(_named(question, name, again=True))
        except OnesidedError as error:
            return answers.refusal(error)
        told = json.loads(s.release_to_json(release))
        then = json.loads((folder / "ledger.json").read_text(encoding="utf-8"))[name]
        facts = {"told_again": told["told_again"], "drawn": told["drawn"]}
        same = {**told, **{fact: then[fact] for fact in facts}} == then
        return {**facts, "spent": spent == session.spent, "then": "the same" if same else told}


def _batch(place: Path, rows: list[tuple[int, str, int]]) -> None:
    pl.DataFrame(rows, schema=["person", "place", "time"], orient="row").write_parquet(place)


def _make_monitor(folder: Path) -> None:
    own = folder / "monitor"
    (own / "in").mkdir(parents=True)
    (own / "places.csv").write_text("place\na\nb\nc\nd\n")
    for number, rows in enumerate(_BATCHES):
        _batch(own / "in" / f"{number}.parquet", rows)
    _require(command.called(_MONITOR, own, printed=True))


def _monitor(folder: Path) -> dict[str, Any]:
    """What the monitor published, that its state is whole, and what it says next."""
    with _copied(folder) as copy:
        own = copy / "monitor"
        rules = {"at_most": 2, "window": 6, "epsilon": 4, "state": own / "state.db"}
        policy = od.policy.presence(max_groups=1)
        next_rows = dict(zip(("person", "place", "time"), zip(*_NEXT, strict=True), strict=True))
        with od.Monitor(
            ["a", "b", "c", "d"], policy=policy, published=own / "public", **rules
        ) as monitor:
            told = {
                "history": [_step(one) for one in monitor.history()],
                "checked": monitor.check(),
                "awaited": monitor.awaited,
                "guarantees": str(monitor.guarantees()).splitlines(),
                "spent": [one.spent for one in monitor.ledger.balances()],
                "next": _step(
                    monitor.step(
                        {name: list(some) for name, some in next_rows.items()}, id="next", time=12
                    )
                ),
            }
        again = command.called(_MONITOR, own, printed=False)
        return told | {"command": again["code"], "published": _names_in(own / "public")}


def _names_in(folder: Path) -> list[str]:
    return sorted(str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file())


def _step(release: Any) -> dict[str, Any]:
    return {"head": release.head, "columns": release.columns(), "said": str(release).splitlines()}


def _make_service(folder: Path) -> None:
    own = folder / "service"
    own.mkdir()
    columns = {name: tables.COLUMNS[name] for name in ("person", "place", "pay")}
    pl.DataFrame(columns).write_parquet(own / "visits.parquet")
    (own / "visits.schema.toml").write_text(_SCHEMA.to_toml())
    (own / "policy.toml").write_text(od.policy.presence(max_groups=2).to_toml())
    (own / "onesided.toml").write_text(_SERVICE)
    app = _app(own)
    app.state.service.datasets["visits"].check()
    people, roles = app.state.service.people, {"ann": "analyst", "carol": "curator"}
    keys = {who: people.add(who, {"visits": [role]}, days=36_500) for who, role in roles.items()}
    path, sent = "/api/v1/datasets/visits/ask", []
    for number, (kind, told) in enumerate(_ASKED):
        question = {"version": 1, "question": kind, "fields": {**told, "id": f"day {number}"}}
        sent.append(("POST", path, keys["ann"], {"question": question}))
    asked = [body["ask"] for _, body in asyncio.run(_responses(app, sent))]
    (own / "told.json").write_text(json.dumps({"keys": keys, "asked": asked}, indent=1) + "\n")


def _service(folder: Path) -> dict[str, Any]:
    """People, budgets and answers, as the service's own API tells them."""
    with _copied(folder) as copy:
        own = copy / "service"
        told = json.loads((own / "told.json").read_text())
        app = _app(own)
        paths = ["/api/v1/me", "/api/v1/datasets", "/api/v1/datasets/visits"]
        paths += [f"/api/v1/asks/{name}" for name in told["asked"]]
        sent = [("GET", path, key, None) for key in told["keys"].values() for path in paths]
        listed = [dict(one) for one in app.state.service.people.list()]
        found = asyncio.run(_responses(app, sent))
    names = [f"{who} {path}" for who in told["keys"] for path in paths]
    return {"people": listed, **dict(zip(names, found, strict=True))}


def _app(folder: Path) -> Any:
    from onesided.serve import ServiceConfig, create_app  # noqa: PLC0415 - an extra

    return create_app(ServiceConfig.read(folder / "onesided.toml"))


async def _responses(app: Any, sent: list[tuple[str, str, str, Any]]) -> list[tuple[int, Any]]:
    """The status and the document of each request, one after the other; then the end."""
    import httpx  # noqa: PLC0415 - an extra

    transport = httpx.ASGITransport(app)
    found = []
    async with httpx.AsyncClient(transport=transport, base_url="http://golden") as client:
        for method, path, key, body in sent:
            headers = {"Authorization": f"Bearer {key}"}
            response = await client.request(method, path, json=body, headers=headers, timeout=600)
            found.append((response.status_code, response.json()))
    await app.state.service.finish()
    return found


def _require(done: dict[str, Any]) -> None:
    if done["code"]:
        raise RuntimeError(str(done))


@contextmanager
def _copied(folder: Path) -> Iterator[Path]:
    """A copy that only its owner may read, as the stores want it."""
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / "files"
        shutil.copytree(folder, copy)
        for one in (copy, *copy.rglob("*")):
            one.chmod(0o700 if one.is_dir() else 0o600)
        yield copy
