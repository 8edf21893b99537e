"""Questions under views: kinds are the query's on every engine, and every move is priced."""

import random

import duckdb
import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.policy import Shift
from onesided.session.kit import prepared

HOME = od.policy.view("age < 18", over="home", members=2)
CARE = od.policy.view("care", over="home", members=2, table="register")
PLACES = ["x", "y"]
ROWS = {
    "person": [1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    "home": ["a", "a", "a", "b", "b", "c", None, "d", "e", "e", "e"],
    "age": [40, 40, 10, 30, 31, None, 50, 60, 20, 20, 20],
    "place": ["x", "y", "x", "x", "y", "x", "y", "y", "x", "x", "x"],
}
# b has no minor, d is one person; a has one, c may, 6 has no home, e is too large.
OPEN, ALL = {"x": 1, "y": 2}, {"x": 7, "y": 4}
REGISTER = {"home": ["b", "c", "d", "z"], "care": [True, None, False, True]}


def asked(counted=None, **more):
    given = {"by": "place", "keys": PLACES, "epsilon": 100, "max_groups": 2, "counted": counted}
    return od.Count(**{**given, **more})


def session(data, policy=HOME, **more):
    return od.Session(data, **{"unit": "person", "policy": policy, "budget": 10**4, **more})


def read(own, question):
    return dict(zip(PLACES, prepared(own, question).read().tolist(), strict=True))


def test_kinds_are_those_of_the_query_on_every_engine(engine):
    own = session(engine(ROWS))
    assert read(own, asked()) == ALL
    assert read(own, asked("open")) == OPEN
    assert read(own, asked("sensitive")) == {place: ALL[place] - OPEN[place] for place in PLACES}
    assert read(own, asked(["open", "sensitive"])) == ALL
    assert own.inspect(asked("open")).rows_of_undecided_kind == 1
    release = own.count(by="place", keys=PLACES, epsilon=100, max_groups=2)
    assert dict(zip(PLACES, release.estimate.tolist(), strict=True)) == ALL


def test_another_table_marks_groups_on_every_engine(engine):
    own = session(engine(ROWS), CARE, tables={"register": engine(REGISTER)})
    # a and d are open now; b is in care, c may be.
    assert read(own, asked("open")) == {"x": 2, "y": 2}
    empty = {"home": np.array([], dtype=object), "care": np.array([], dtype=bool)}
    nobody = pl.DataFrame(empty, schema={"home": pl.String, "care": pl.Boolean})
    own = session(engine(ROWS), CARE, tables={"register": nobody})
    assert read(own, asked("open")) == {"x": 4, "y": 3}


def test_each_row_may_be_the_unit(engine):
    rows = session(engine(ROWS), unit=None)
    # Three rows of home a are too many; b's two and d's one are not.
    assert read(rows, asked("open", max_groups=None)) == {"x": 1, "y": 2}


def test_people_in_care_are_found_by_their_own_number(engine):
    policy = od.policy.view("ill", over="person", members=1, table="patients")
    patients = {"person": [2, 3, 99], "ill": [True, False, True]}
    own = session(engine(ROWS), policy, tables={"patients": engine(patients)})
    assert read(own, asked("open")) == {"x": ALL["x"] - 1, "y": ALL["y"]}


def random_rows(rng, person, home):
    return [
        (person, home, rng.choice([10, 40, None]), rng.choice([*PLACES, "z"]))
        for _ in range(rng.randint(1, 3))
    ]


def framed(people):
    rows = [row for one in people for row in one]
    schema = {"person": pl.Int64, "home": pl.String, "age": pl.Int64, "place": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def is_sensitive(people, place, members, marked=None):
    home = people[place][0][1]
    same = [one for one in people if one[0][1] == home]
    if home is None or len(same) > members:
        return True
    if marked is not None:
        return home in marked
    return any(row[2] is None or row[2] < 18 for one in same for row in one)


@pytest.mark.parametrize("by_table", [False, True], ids=["rows", "table"])
@pytest.mark.parametrize("counted", [None, "open", "sensitive"])
def test_no_move_changes_more_than_is_charged(by_table, counted):
    rng = random.Random(f"{by_table} {counted}")
    question = asked(counted, on_excess="truncate", max_groups=rng.choice([1, 2]), epsilon=1)
    policy, moved = (CARE, 0) if by_table else (HOME, 0)
    for _ in range(50):
        homes = [rng.choice(["a", "a", "b", None]) for _ in range(rng.randint(1, 5))]
        people = [random_rows(rng, at, home) for at, home in enumerate(homes)]
        marked = frozenset(rng.sample(["a", "b"], rng.randint(0, 2))) if by_table else None
        place = rng.randrange(len(people))
        if not is_sensitive(people, place, 2, marked):
            continue
        others = [*people]
        others[place] = random_rows(rng, place, homes[place])
        there = marked
        if by_table and homes[place] is not None and rng.random() < 0.7:
            there = marked ^ {homes[place]}
        edge = "sensitive" if is_sensitive(others, place, 2, there) else "open"
        (charge, before), (_, after) = (
            priced(policy, one, register, question)
            for one, register in ((people, marked), (others, there))
        )
        change = after - before
        shift = Shift(rise=int(change[change > 0].sum()), fall=int(-change[change < 0].sum()))
        mechanism = prepared(session(framed(people), policy, **beside(marked)), question).plan
        assert mechanism.mechanism.loss(shift) <= charge[f"sensitive -> {edge}"]
        moved += bool(shift.rise or shift.fall)
    assert moved > 2


def beside(marked):
    if marked is None:
        return {}
    register = {"home": sorted(marked), "care": [True] * len(marked)}
    schema = {"home": pl.String, "care": pl.Boolean}
    return {"tables": {"register": pl.DataFrame(register, schema=schema)}}


def priced(policy, people, marked, question):
    step = prepared(session(framed(people), policy, **beside(marked)), question)
    return step.plan.charge, step.read()


def refused(own, ask, error=errors.OnesidedError):
    """Nothing is drawn and nothing recorded."""
    with pytest.raises(error) as caught:
        ask(own)
    assert caught.value.hint
    assert not own.ledger.entries(kind="spend")
    return str(caught.value)


@pytest.mark.parametrize(
    "ask",
    [
        lambda s: s.sample(epsilon=1),
        lambda s: s.discover(by="place", epsilon=1, max_groups=2, counted="open"),
        lambda s: s.discover(by="place", epsilon=1, max_groups=2),
        lambda s: s.sum("age", of="units", total_bounds=(0, 99), epsilon=1, counted="open"),
        lambda s: s.mean("age", bounds=(0, 99), epsilon=1, counted="open"),
        lambda s: s.median("age", candidates=[1, 2], epsilon=1, counted="open"),
        lambda s: s.row_count(max_rows=2, epsilon=1, counted="open"),
        lambda s: s.histogram("age", bins=[0, 50, 99], epsilon=1, counted="open"),
        lambda s: s.histogram("age", bins=[0, 50, 99], epsilon=1, method="split"),
        lambda s: s.histogram("age", bins=[0, 50, 99], epsilon=1, method="open-shape"),
        lambda s: s.histogram("age", bins=[0, 50, 99], epsilon=1, method="dawa-zeros"),
        lambda s: s.count(epsilon=1, counted="minor"),
        lambda s: s.count(epsilon=1, counted=[]),
    ],
)
def test_what_depends_on_kinds_and_is_no_count_is_refused(ask):
    refused(session(pl.DataFrame(ROWS)), ask)


def test_what_looks_at_no_kind_is_priced_as_one_record():
    own, plain = session(pl.DataFrame(ROWS)), od.policy.sensitive("age < 18")
    record = session(pl.DataFrame(ROWS), plain)
    for question in (
        od.Count(epsilon=1),
        asked(epsilon=1),
        od.session.Sum("age", of="units", total_bounds=(0, 99), epsilon=1, missing="drop"),
        od.session.Quantile("age", candidates=[1, 50], epsilon=1, missing="drop"),
    ):
        assert own.plan(question).charge == record.plan(question).charge


def test_a_person_of_two_homes_is_refused(engine):
    for homes in (["a", "b"], ["a", None]):
        two = {"person": [1, 1], "home": homes, "age": [40, 40], "place": ["x", "x"]}
        with pytest.raises(errors.DataError, match="more than one value"):
            session(engine(two))


def test_a_second_home_that_comes_later_is_refused_before_the_charge():
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE rows AS SELECT 1 person, 'a' home, 40 age, 'x' place")
        own = session(connection.table("rows"))
        connection.execute("INSERT INTO rows VALUES (1, 'b', 40, 'x')")
        told = refused(own, lambda s: s.ask(asked("open")), errors.DataError)
        assert "more than one value" in told


@pytest.mark.parametrize(
    ("policy", "more", "error"),
    [
        (CARE, {}, errors.ParameterError),
        (CARE, {"tables": {}}, errors.ParameterError),
        (CARE, {"tables": []}, errors.ParameterError),
        (CARE, {"tables": {"other": pl.DataFrame(REGISTER)}}, errors.ParameterError),
        (HOME, {"tables": {"register": pl.DataFrame(REGISTER)}}, errors.ParameterError),
        (od.policy.bounded(), {"tables": {"register": 1}}, errors.ParameterError),
        (CARE, {"tables": {"register": 3}}, errors.DataError),
        (CARE, {"tables": {"register": pl.DataFrame({"home": ["a"]})}}, errors.UnknownColumnError),
        (CARE, {"tables": {"register": pl.DataFrame({"care": [1]})}}, errors.UnknownColumnError),
        (
            CARE,
            {"tables": {"register": pl.DataFrame({"home": [1], "care": [True]})}},
            errors.DataError,
        ),
        (od.policy.view("age < 18", over="nobody", members=2), {}, errors.UnknownColumnError),
        (od.policy.view("nothing", over="home", members=2), {}, errors.UnknownColumnError),
        (od.policy.view("home < 18", over="home", members=2), {}, errors.ConditionError),
        (od.policy.view("age < 18", over="weight", members=2), {}, errors.DataError),
    ],
)
def test_tables_that_cannot_be_asked_are_refused_at_once(policy, more, error):
    data = pl.DataFrame(ROWS).with_columns(weight=pl.lit(1.5))
    with pytest.raises(error) as caught:
        session(data, policy, **more)
    assert caught.value.hint


def test_a_row_of_the_other_table_about_nobody_is_refused():
    lost = pl.DataFrame({"home": ["a", None], "care": [True, True]})
    with pytest.raises(errors.DataError, match="register"):
        session(pl.DataFrame(ROWS), CARE, tables={"register": lost})


def test_a_plan_on_public_rows_does_not_look_into_the_other_table():
    rows = pl.DataFrame(ROWS)
    own = session(rows, CARE, tables={"register": pl.DataFrame(REGISTER)})
    plan = own.plan(asked("open", epsilon=1), like=rows)
    with pytest.raises(errors.ParameterError, match="register"):
        str(plan)
    assert "Counts" in str(own.plan(asked(epsilon=1), like=rows))
    assert "Counts" in str(session(rows).plan(asked("open", epsilon=1), like=rows))


def test_homes_as_units_are_sampled_whole_at_one_price():
    """What the refusal of samples points to: a kind is decided over all rows of the unit."""
    rows = pl.DataFrame(ROWS).drop_nulls("home")
    homes = od.Session(rows, unit="home", policy=od.policy.sensitive("age < 18"), budget=10**4)
    release = homes.sample(epsilon=100)
    assert set(release.frame["home"]) == {"b", "d", "e"}
    assert homes.spent == {"sensitive -> sensitive": 0, "sensitive -> open": 100}


@pytest.mark.parametrize("counted", ["open", None])
def test_likely_decisions_cost_what_counts_do(counted):
    own = session(pl.DataFrame(ROWS))
    about = {"by": "place", "keys": PLACES, "epsilon": 1, "max_groups": 2, "counted": counted}
    count = own.plan(od.Count(**about)).charge
    assert any(count.values())
    for question in (od.AtMost(1, **about), od.session.Above(1, max_answers=1, **about)):
        assert own.plan(question).charge == count
        assert own.plan(question).likely
