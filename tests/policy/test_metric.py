"""Who is near whom: exact where it can be, cautious where it cannot."""

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onesided import errors
from onesided import policy as p
from onesided.policy import Record

EARTH = 6_371_008.8
HALF_TURN = math.pi * EARTH


def near(one, two, **how):
    policy = p.neighbourhood(**how)
    return policy.edge_between(Record("point", one), Record("point", two)) is not None


def test_euclidean_distance_is_exact():
    assert near((0, 0), (3, 4), radius=5)
    assert not near((0, 0), (3, 4), radius=Fraction(5) - Fraction(1, 10**30))
    assert near(("0.1", "0.2"), ("0.4", "0.6"), radius="0.5")
    assert near((0, 0, 0, 0), (1, 1, 1, 1), radius=2)
    assert not near((0,), (Decimal("1.000000000000000000001"),), radius=1)


def test_grid_distance_counts_shared_sides():
    assert near((0, 0), (1, 1), radius=2, metric="grid")
    assert not near((0, 0), (1, 1), radius="1.9", metric="grid")
    with pytest.raises(errors.ParameterError):
        near((0.5, 0), (1, 1), radius=2, metric="grid")


def test_time_distance_reads_seconds_and_datetimes():
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    later = noon + timedelta(hours=1)
    assert near(noon, later, radius=timedelta(hours=1), metric="time")
    assert near("2026-01-01T12:00:00+00:00", later, radius=3600, metric="time")
    assert not near(noon, later + timedelta(microseconds=1), radius=3600, metric="time")
    assert near("2026-01-01T13:00:00+01:00", noon, radius=1, metric="time")
    assert near(5, "6.5", radius="1.5", metric="time")
    with pytest.raises(errors.PolicyError, match="same way"):
        near(noon, noon.replace(tzinfo=None), radius=1, metric="time")


CROSSINGS = {
    "antimeridian": ((0, "179.999"), (0, "-179.999"), 222.39),
    "one meridian, two names": ((10, 180), (10, -180), 0.001),
    "pole": ((90, 0), (90, 137), 0.001),
    "over the pole": (("89.999", 0), ("89.999", 180), 222.39),
    "by the south pole": (("-89.999999", 12), ("-89.999999", 102), 0.1573),
    "small steps": (("52.5", "13.4"), ("52.500001", "13.4"), 0.1112),
}


@pytest.mark.parametrize(("one", "two", "metres"), CROSSINGS.values(), ids=CROSSINGS)
def test_places_across_seams_are_near(one, two, metres):
    assert near(one, two, radius=metres * 1.001, metric="haversine")
    assert metres == 0.001 or not near(one, two, radius=metres * 0.999, metric="haversine")


def test_the_whole_globe_is_within_half_its_girth():
    assert near((0, 0), (0, 180), radius=HALF_TURN, metric="haversine")
    assert near((45, 10), (-45, -170), radius=HALF_TURN * 2, metric="haversine")
    assert near((45, 10), (-45, -170), radius="1e390", metric="haversine")
    assert not near((45, 10), (45, "10.1"), radius="1e-390", metric="haversine")
    assert not near((0, 0), (0, 180), radius=HALF_TURN * 0.99, metric="haversine")


degrees = st.tuples(
    st.fractions(-90, 90, max_denominator=10**6), st.fractions(-180, 180, max_denominator=10**6)
)


def vector(place):
    latitude, longitude = (math.radians(float(part)) for part in place)
    return (
        math.cos(latitude) * math.cos(longitude),
        math.cos(latitude) * math.sin(longitude),
        math.sin(latitude),
    )


@given(one=degrees, two=degrees, radius=st.integers(1, 19_000_000))
def test_great_circles_agree_with_chords(one, two, radius):
    chord = math.dist(vector(one), vector(two)) / 2
    metres = 2 * EARTH * math.asin(min(1.0, chord))
    if abs(metres - radius) > 0.5:
        assert near(one, two, radius=radius, metric="haversine") == (metres < radius)


@given(one=degrees, two=degrees, turns=st.sampled_from([-360, 360]), radius=st.integers(1, 10**7))
def test_nearness_is_symmetric_and_ignores_full_turns(one, two, turns, radius):
    how = {"radius": radius, "metric": "haversine"}
    assert near(one, two, **how) == near(two, one, **how)
    turned = (two[0], two[1] + turns)
    if -360 <= turned[1] <= 360:
        assert near(one, two, **how) == near(one, turned, **how)


@given(latitude=st.fractions(-89, 89, max_denominator=999), step=st.fractions(0, 1))
def test_in_doubt_points_are_neighbours(latitude, step):
    radius = Fraction(float(step)) * Fraction(math.radians(1)) * Fraction(EARTH)
    if radius > 0:
        assert near((latitude, 0), (latitude + step, 0), radius=radius * (1 + Fraction(1, 2**45)),
                    metric="haversine")  # fmt: skip


def test_sources_let_points_come_and_go():
    policy = p.neighbourhood(radius=1, sources=[(0, 0)])
    absent, close, far = Record("absent"), Record("point", (1, 0)), Record("point", (2, 0))
    assert policy.edge_between(absent, close).name == "absent -> point by a source"
    assert policy.edge_between(close, absent).name == "point by a source -> absent"
    assert policy.edge_between(absent, far) is None
    assert policy.edge_between(far, absent) is None
    assert policy.edge_between(absent, absent) is None
    assert policy.edge_between(close, far).name == "point -> point nearby"
    assert "absent" not in p.neighbourhood(radius=1).kinds


def test_named_places_make_a_graph_with_the_same_moves():
    places = {"a": (0, 0), "b": (1, 0), "c": (3, 0), "d": (3, 1)}
    policy = p.neighbourhood(radius="1.5", sources=[(0, "0.5")], places=places)
    graph = policy.as_graph()
    joined = p.joint_records(policy, graph, groups=tuple("abcd"), max_groups=1)
    assert len(joined) == 5
    assert policy.relaxes(graph, records=joined)
    assert graph.relaxes(policy, records=[(two, one) for one, two in joined])


@pytest.mark.parametrize(
    "policy",
    [
        p.neighbourhood(radius=0.1, sources=[(0.1, Decimal("0.2")), (Fraction(1, 3), 4)]),
        p.neighbourhood(radius=3, metric="time", sources=[datetime(2026, 1, 1, tzinfo=UTC), 5]),
        p.neighbourhood(radius=3, metric="grid", sources=[[0, 1]], places={"b": (1, 2)}),
    ],
    ids=["exact", "time", "grid"],
)
def test_points_come_back_from_toml_exactly(policy):
    again = p.from_toml(policy.to_toml())
    assert (again, again.identity) == (policy, policy.identity)
