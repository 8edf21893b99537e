"""JWTs of an organisation's sign-in: one that holds opens, every forged one is refused alike."""

import json
import sys
import time
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import polars as pl
import pytest

from onesided import policy as policies

jwt = pytest.importorskip("jwt")
pytest.importorskip("fastapi")
pytest.importorskip("duckdb")

from cryptography.hazmat.primitives import serialization  # noqa: E402 - after what may skip
from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: E402


def beside(name):
    spec = spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


hour, world = beside("hour"), beside("world")
OIDC = """
[service.oidc]
issuer = "https://sign-in.example.org"
audience = "onesided"
jwks = "keys.json"
algorithms = ["RS256"]
"""
KEY, OTHER = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
PUBLIC = KEY.public_key().public_bytes(
    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
)


def claims(**more):
    now = int(time.time())
    held = {"iss": "https://sign-in.example.org", "aud": "onesided", "sub": "ann"}
    return {**held, "iat": now, "exp": now + 600, **more}


def signed(told, key=KEY, algorithm="RS256", **head):
    return jwt.encode(told, key, algorithm=algorithm, headers={"kid": "one", **head})


def by_hand(head, told, signature=b""):
    parts = [json.dumps(head).encode(), json.dumps(told).encode(), signature]
    return ".".join(jwt.utils.base64url_encode(part).decode() for part in parts)


def hs256_with_the_public_key():
    """A public key taken for a shared secret, put together by hand: PyJWT itself refuses to."""
    import hashlib
    import hmac

    start = by_hand({"alg": "HS256", "typ": "JWT", "kid": "one"}, claims()).rpartition(".")[0]
    sign = hmac.new(PUBLIC, start.encode(), hashlib.sha256).digest()
    return f"{start}.{jwt.utils.base64url_encode(sign).decode()}"


def forged():
    good, now = signed(claims()), int(time.time())
    start, middle, sign = good.split(".")
    swapped = jwt.utils.base64url_encode(json.dumps(claims(sub="carol")).encode()).decode()
    return {
        "signed by another key": signed(claims(), OTHER),
        "expired": signed(claims(exp=now - 3600)),
        "never expires": signed({k: v for k, v in claims().items() if k != "exp"}),
        "not yet": signed(claims(nbf=now + 3600)),
        "another audience": signed(claims(aud="payroll")),
        "another issuer": signed(claims(iss="https://evil.example.org")),
        "no audience": signed({k: v for k, v in claims().items() if k != "aud"}),
        "nobody we know": signed(claims(sub="mallory")),
        "no name": signed({k: v for k, v in claims().items() if k != "sub"}),
        "another algorithm": signed(claims(), algorithm="RS512"),
        "an unknown key": signed(claims(), kid="two"),
        "a key of its own": signed(claims(), OTHER, jku="https://evil.example.org/keys"),
        "none": by_hand({"alg": "none", "kid": "one"}, claims()),
        "None": by_hand({"alg": "None", "kid": "one"}, claims(), b"x"),
        "no algorithm": by_hand({"kid": "one"}, claims(), b"x"),
        "a public key as a secret": hs256_with_the_public_key(),
        "another's claims": f"{start}.{swapped}.{sign}",
        "no signature": f"{start}.{middle}.",
        "half a token": f"{start}.{middle}",
        "no JSON": by_hand([], [], b"x"),
    }


@pytest.fixture
def made(monkeypatch):
    with world.in_memory() as place:
        types = {"person": pl.Int64, "place": pl.String, "age": pl.Int64}
        frame = pl.DataFrame([(1, "gym", 30)], schema=types, orient="row")
        folder = world.written(Path(place) / "service", frame, policies.presence(max_groups=2))
        key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key()))
        (folder / "keys.json").write_text(json.dumps({"keys": [{**key, "kid": "one"}]}))
        config = folder / "onesided.toml"
        config.write_text(config.read_text() + OIDC)
        service = world.World(folder, monkeypatch)
        yield service
        service.close()


def answered(made, token):
    headers = {"Authorization": f"Bearer {token}"}
    sent = hour.Sent("GET", f"{hour.API}/me", None, headers=headers)
    return world.unnumbered(made.responses([sent])[0])


def test_a_token_that_holds_opens(made):
    status, _, body = answered(made, signed(claims()))
    assert status == 200
    assert json.loads(body) == {"person": "ann", "roles": {"visits": ["analyst"]}}


def test_every_forged_token_is_refused_alike(made):
    wrong = answered(made, "os1_00_00")
    assert wrong[0] == 401
    for name, token in forged().items():
        assert answered(made, token) == wrong, name
