"""Every door at each moment of a dataset's life: who may not pass learns nothing of the moment."""

import importlib
import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
from sqlalchemy import delete

pytest.importorskip("fastapi")
pytest.importorskip("duckdb")

from onesided_service import _store as tables

PARTS = ("_api", "_pages", "_kept_pages", "_public_pages", "_curator_pages")
COUNT = {"version": 1, "question": "Count", "fields": {"epsilon": 1, "by": "place", "id": "monday"}}
AT = 1_790_000_000
OUTSIDE = (None, "stranger", "sam")
INSIDE = ("ann", "bob", "curator")
PUBLIC = ("/published", "/api/v1/published")
LATE = ("told", "published", "withdrawn", "closed")


def doors():
    """Every method and address of the API and of the pages, but those of monitors."""
    modules = [importlib.import_module(f"onesided_service.{part}") for part in PARTS]
    held = [vars(m).get(n) for m in modules for n in ("api", "pages", "router", "files")]
    routes = [route for one in held if one is not None for route in one.routes]
    every = {(method, route.path) for route in routes for method in route.methods}
    return sorted(door for door in every if "/monitors" not in door[1])


class Life:
    """A dataset, and what was told at every door at each moment of its life."""

    def __init__(self, service, patch):
        self.service, self.inner, self.now = service, service.inner, AT
        self.found, self.seen = self.inner.datasets["visits"], {}
        self.names = {"ask": "none", "published": "none"}
        clock = replace(self.inner.clock, now=lambda: self.now)
        patch.setattr(self.inner, "clock", clock)
        patch.setattr(self.inner.asking, "clock", clock)
        patch.setattr(type(clock), "takes", lambda *_: Fraction(10_000))
        people = self.inner.people
        service.tokens["sam"] = people.add("sam", {"visits": ["sender"]}, days=1)
        self.cookies = {who: people.sign_in(one)[1] for who, one in service.tokens.items()}

    def send(self, who, method, path, body=None):
        """Say it with a token and a cookie, whichever the door wants."""
        which = "published" if path.startswith(PUBLIC) else "ask"
        path = path.replace("{name}", "visits").replace("{id}", self.names[which])
        headers = {}
        if who is not None:
            token, cookie = self.service.tokens[who], self.cookies[who]
            headers = {"Authorization": f"Bearer {token}", "Cookie": f"onesided={cookie}"}
        client = self.service.client
        told = client.run(client.inner.request(method, path, json=body, headers=headers))
        return told.status_code, re.sub(r'(name="once" value=")[^"]*', r"\1", told.text)

    def look(self, moment):
        """Try every door as everybody; who may pass sends nothing that changes anything."""
        before, seen = self.standing(), {}
        for method, path in doors():
            for who in (*OUTSIDE, *INSIDE):
                valid = {"question": COUNT} if who in OUTSIDE else {"x": 1}
                body = None if method == "GET" else valid
                seen[who, method, path] = self.send(who, method, path, body)
        assert self.standing() == before, moment
        for door, (status, text) in seen.items():
            assert status < 500 or (status == 503 and "is closed" in text), (moment, door, text)
            assert status >= 300 or door[1] == "GET", (moment, door, text)
        self.seen[moment] = seen
        self.now += 60  # a minute has so many requests

    def standing(self):
        row = self.found._row()  # what the ledger is read by needs a dataset that was checked
        spent = row and self.found.session().account.standing().spent
        return spent, self.found.open


def differing(one, other, people):
    """The doors at which these people are told something else."""
    return [door for door in one if door[0] in people and one[door] != other[door]]


def is_public(door):
    return door[2] == "/" or door[2].startswith(PUBLIC)


@pytest.mark.heavy
def test_no_door_tells_who_may_not_pass_at_any_moment(service, monkeypatch):
    life = Life(service, monkeypatch)
    inner, found = life.inner, life.found
    inner.state.run(delete(tables.datasets))
    life.look("unchecked")
    found.check()
    life.look("open")
    ask, _ = inner.asking.begin(inner.people.named("ann"), found, {"question": COUNT})
    life.names["ask"], life.now = ask.id, int(ask.due) - 600
    life.look("asked")
    life.now -= 60
    assert inner.asking.draw(ask, found).answer
    life.look("drawn")
    life.now = int(ask.due) + 60
    life.look("told")
    title = {"ask": ask.id, "title": "Visits on Monday"}
    _, told = life.send("curator", "POST", "/api/v1/datasets/{name}/publish", title)
    life.names["published"] = inner.publishing.all()[0].id
    assert life.names["published"] in told
    life.look("published")
    gone = {"release": life.names["published"], "reason": "a mistake"}
    life.send("curator", "POST", "/api/v1/datasets/{name}/withdraw", gone)
    life.look("withdrawn")
    found.close("its rows are mended")
    life.look("closed")
    seen = life.seen
    for moment, doors_then in seen.items():
        changed = differing(doors_then, seen["open"], OUTSIDE)
        assert all(map(is_public, changed)), (moment, changed)
        for (who, _, path), (status, text) in doors_then.items():
            if who in ("bob", *OUTSIDE) and not is_public((who, "", path)):
                assert ask.id not in text, (moment, who, path)
            if path.startswith("/api/v1/asks/") and status == 200 and moment not in LATE:
                assert '"release"' not in text, (moment, who, path)
            if is_public((who, "", path)) and moment != "published":
                assert "Visits on Monday" not in text or status == 410, (moment, who, path)
    # That it was drawn shows before its tick in what the ledger holds alone, to the curator.
    drawn = differing(seen["asked"], seen["drawn"], (*OUTSIDE, *INSIDE))
    assert drawn == [("curator", "GET", "/api/v1/datasets/{name}/ledger")]
    assert seen["closed"]["ann", "GET", "/api/v1/asks/{id}"][0] == 200
    assert '"release"' in seen["published"][None, "GET", "/api/v1/published/{id}"][1]
    told = Counter(status for one in seen.values() for status, _ in one.values())
    assert set(told) >= {200, 401, 403, 404, 410, 415, 422}, told
