"""Tasks about whole records: who must be able to pass as anybody, or as nobody."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

from onesided_experiments._tables import load
from onesided_experiments.gallery._task import Random, Task, TaskAnswer, beside, true_counts

_TEAMS: Final = ["Care", "IT", "Labs", "Office"]
_WARDS: Final = ["A", "B", "C", "D", "E", "F"]
_STREETS: Final = ["Elm St", "Mill St", "Oak St", "Park St"]
_ENDS: Final = [0, 18, 30, 45, 65, 80]


def frame(columns: dict[str, Any]) -> Any:
    """A Polars table."""
    return load("polars").DataFrame(columns)


def ordered_frame(columns: dict[str, Any]) -> Any:
    """A pandas table: it groups in a fixed order, so that seeded noise finds the same groups."""
    return load("pandas").DataFrame(columns)


def _staff(random: Random) -> Any:
    team = random.choice(_TEAMS, 800, p=[0.45, 0.15, 0.15, 0.25])
    middle = {"Care": 38, "IT": 58, "Labs": 52, "Office": 44}
    wage = [round(max(24, random.normal(middle[one], 9)), 1) for one in team]
    return frame({"person": range(800), "team": team, "wage": wage})


def _mean(od: Any, staff: Any) -> TaskAnswer:
    session = od.Session(staff, unit="person", policy=od.policy.bounded(), budget=1)
    teams = ["Care", "IT", "Labs", "Office"]
    release = session.mean(
        "wage", bounds=(20, 100), step="0.1", by="team", keys=teams, max_groups=1, epsilon=1
    )
    return TaskAnswer(release=release, guarantee=release.guarantee)


def _draw_mean(staff: Any, release: Any) -> Any:
    truth = [float(staff.filter(staff["team"] == one)["wage"].mean()) for one in _TEAMS]
    told = release.estimate.tolist()
    return beside("Mean wage by team", ("team", _TEAMS), ("thousand a year", truth), told)


def _visitors(random: Random) -> Any:
    age = random.gamma(4.5, 9, 1500).clip(0, 79).astype(int)
    return frame({"visitor": range(1500), "age": age})


def _histogram(od: Any, visitors: Any) -> TaskAnswer:
    session = od.Session(visitors, unit="visitor", policy=od.policy.unbounded(), budget=1)
    release = session.histogram("age", bins=[0, 18, 30, 45, 65, 80], epsilon="1/4")
    return TaskAnswer(release=release, guarantee=release.guarantee)


def _draw_histogram(visitors: Any, release: Any) -> Any:
    ages = visitors["age"].to_list()
    pairs = list(pairwise(_ENDS))
    truth = [float(sum(a <= age < b for age in ages)) for a, b in pairs]
    names = [f"{a}-{b - 1}" for a, b in pairs]
    told = release.estimate.tolist()
    return beside("Visitors by age", ("age", names), ("visitors", truth), told)


def _patients(random: Random) -> Any:
    ward = random.choice(_WARDS, 150, p=[0.45, 0.04, 0.02, 0.3, 0.04, 0.15])
    return frame({"patient": range(150), "ward": ward})


def _above(od: Any, falls: Any) -> TaskAnswer:
    session = od.Session(falls, unit="patient", policy=od.policy.addition_only(), budget=1)
    wards = ["A", "B", "C", "D", "E", "F"]
    release = session.above(20, by="ward", keys=wards, max_answers=3, max_groups=1, epsilon="1/2")
    return TaskAnswer(
        release=release,
        guarantee=release.guarantee,
        printed=f">>> print(release.at_most())\n{release.at_most()}",
    )


def _draw_above(falls: Any, release: Any) -> Any:
    truth = true_counts(falls["ward"], _WARDS)
    columns = release.frame.to_dict(as_series=False)
    found = dict(zip(columns["ward"], columns["upper"], strict=True))
    upper = [float(found.get(ward, float("nan"))) for ward in _WARDS]
    told = [0.0 if ward in release.at_most() else float(found.get(ward, 0)) for ward in _WARDS]
    return beside(
        "Patients who fell, by ward", ("ward", _WARDS), ("patients", truth), told, upper=upper
    )


def _gifts(random: Random) -> Any:
    street = random.choice(_STREETS, 240, p=[0.4, 0.1, 0.3, 0.2])
    return frame(
        {"person": range(240), "street": street, "gift": random.gamma(2, 9, 240).clip(1, 50)}
    )


def _sum(od: Any, gifts: Any) -> TaskAnswer:
    session = od.Session(gifts, unit="person", policy=od.policy.removal_only(), budget=1)
    streets = ["Elm St", "Mill St", "Oak St", "Park St"]
    release = session.sum(
        "gift", of="units", total_bounds=(0, 50), by="street", keys=streets, max_groups=1, epsilon=1
    )
    return TaskAnswer(release=release, guarantee=release.guarantee)


def _draw_sum(gifts: Any, release: Any) -> Any:
    truth = [float(gifts.filter(gifts["street"] == one)["gift"].sum()) for one in _STREETS]
    return beside(
        "Gifts by street",
        ("street", _STREETS),
        ("total", truth),
        release.estimate.tolist(),
        lower=release.lower.tolist(),
    )


TASKS: Final = (
    Task(
        family="bounded",
        title="Mean wage by team",
        text="A firm's staff list is public. What anyone earns is secret, and so is anyone's team.",
        data=_staff,
        ask=_mean,
        draw=_draw_mean,
        learn="Only the number of people, which is public.",
    ),
    Task(
        family="unbounded",
        title="Visitors by age",
        text="A museum publishes how old its visitors are. Whether somebody came at all is secret.",
        data=_visitors,
        ask=_histogram,
        draw=_draw_histogram,
        learn="Nothing.",
    ),
    Task(
        family="addition_only",
        title="Wards with many falls",
        text="A hospital names at most three wards where more than 20 patients fell. Having "
        "fallen is secret; not having fallen need not be. Wards examined before the third is "
        "found, and not named, are certified at no cost.",
        data=_patients,
        ask=_above,
        draw=_draw_above,
        learn="Upper bounds: at most 20 patients fell in a certified ward, and at most the "
        "noisy count in a named one. So an observer may learn that somebody did *not* fall.",
    ),
    Task(
        family="removal_only",
        title="Gifts by street",
        text="A charity wants nobody to be exposed for *not* having given. **A warning: this "
        "is all that the policy hides. A p-fraction of the gifts in the clear satisfies it.** "
        "Choose it only where you may reveal of anybody that they gave.",
        data=_gifts,
        ask=_sum,
        draw=_draw_sum,
        learn="Lower bounds: at least this much was given in a street, with gifts rounded to "
        "whole units. That somebody *gave* is not hidden.",
    ),
)
