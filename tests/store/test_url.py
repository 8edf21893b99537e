"""A database URL is read by an allow-list, and never shows its password."""

import pickle

import pytest

from onesided import errors
from onesided.store import DatabaseUrl

PLAIN = "S3cret/Pw"


@pytest.mark.parametrize(
    "text",
    [
        "postgresql+psycopg://bob:S3cret%2FPw@host:1/db?schema=audit",
        "postgresql://bob@host/db?password=S3cret%2FPw&sslmode=require",
    ],
)
def test_a_password_is_never_shown(text):
    url = DatabaseUrl(text)
    assert "S3cret" not in f"{url} {url!r} {vars(type(url))}"
    assert "***" in str(url)
    assert url.for_driver().password == PLAIN
    assert "password" not in url.for_driver().query
    with pytest.raises(TypeError, match="password"):
        pickle.dumps(url)


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("postgresql://host/db", "public"),
        ("postgresql://host/db?schema=Audit%202", "Audit 2"),
        ("postgresql://host/db?options=-csearch_path%3Daudit", "audit"),
        ("postgresql://host/db?options=-c%20search_path%3Daudit", "audit"),
    ],
)
def test_the_schema_is_named(text, schema):
    assert DatabaseUrl(text).schema == schema


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://host/db?options=-csearch_path%3Da,b",
        "postgresql://host/db?options=-csearch_path%3Da%20-cfsync%3Doff",
        "postgresql://host/db?options=-csearch_path%3Da&schema=b",
        "postgresql://host/db?schema=",
        f"postgresql://host/db?schema={'x' * 64}",
        "postgresql://host/db?schema=a&schema=b",
        "postgresql://host/db?sslpassword=S3cretPw",
        "postgresql://host/db?dbname=other",
        "postgresql://bob:S3cretPw@host:port/db",
        "mysql://bob:S3cretPw@host/db",
        "S3cretPw",
    ],
)
def test_anything_else_is_refused_without_repeating_it(text):
    with pytest.raises(errors.ParameterError) as caught:
        DatabaseUrl(text)
    assert "S3cretPw" not in f"{caught.value} {caught.value.values} {caught.value.__cause__}"


def test_no_frame_of_ours_holds_the_password():
    """A traceback that shows local variables shows no secret of the driver's or of ours."""
    pytest.importorskip("psycopg")
    from onesided.ledger import Ledger

    place = DatabaseUrl("postgresql+psycopg://bob:S3cretPw@127.0.0.1:1/none")
    with pytest.raises(errors.LedgerUnavailableError) as caught:
        Ledger.open(place)
    link, shown = caught.value, []
    while link is not None:
        shown += [str(link), repr(link), repr(vars(link))]
        trace = link.__traceback__
        while trace is not None:
            shown.append(repr(trace.tb_frame.f_locals))
            trace = trace.tb_next
        link = link.__cause__ or link.__context__
    assert "S3cret" not in " ".join(shown)
