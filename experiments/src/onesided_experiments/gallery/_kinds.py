"""Tasks about kinds: some people are protected, or protected better, and others are not."""

from __future__ import annotations

from typing import Any, Final

from onesided_experiments._model import Figure
from onesided_experiments.gallery._records import frame, ordered_frame
from onesided_experiments.gallery._task import Random, Task, TaskAnswer, beside, true_counts

_CITIES: Final = ["north", "east", "south", "west"]
_DAYS: Final = ["Mon", "Tue", "Wed", "Thu", "Fri"]
_MARKS: Final = list(range(0, 101, 5))
_SKILLS: Final = ["python", "german", "welding", "sql", "first aid", "cobol", "harp"]


def _users(random: Random) -> Any:
    minutes = random.gamma(2, 20, 1200).round()
    optin = random.random(1200) < 0.7
    return frame({"user": range(1200), "opt_in": optin, "minutes": minutes})


def _sample(od: Any, users: Any) -> TaskAnswer:
    policy = od.policy.sensitive("not opt_in")
    session = od.Session(users, policy=policy, budget=1)  # each row is a user
    release = session.sample(epsilon=1)
    rows, minutes = release.frame, release.total("minutes")
    return TaskAnswer(
        release=release,
        guarantee=release.guarantee,
        printed=f">>> print(rows.head(3))\n{rows.head(3)}\n>>> print(minutes)\n{minutes}",
    )


def _draw_sample(users: Any, release: Any) -> Figure:
    optin = float(users["opt_in"].sum())
    total = release.total()
    return beside(
        "Users",
        ("", ["opted in", "did not (nothing is told)"]),
        ("users", [optin, users.height - optin]),
        [total.estimate, 0.0],
        lower=[float(total.least), float("nan")],
    )


def _trips(random: Random) -> Any:
    rows = []
    for rider in range(500):
        minor, here = bool(random.random() < 0.15), int(random.integers(4))
        for hour in range(int(random.integers(2, 5))):
            rows.append((rider, minor, hour, _CITIES[here]))
            here = (here + int(random.choice([0, 1, 3], p=[0.2, 0.6, 0.2]))) % 4
    names = ("rider", "minor", "hour", "stop")
    return ordered_frame({name: [row[i] for row in rows] for i, name in enumerate(names)})


def _ngrams(od: Any, trips: Any) -> TaskAnswer:
    policy = od.policy.extended_sensitive("minor")
    session = od.Session(trips, unit="rider", policy=policy, budget=3)
    release = session.ngrams(by="stop", order="hour", n=2, max_groups=3, threshold=10, epsilon=3)
    return TaskAnswer(release=release, guarantee=release.guarantee)


def _draw_ngrams(trips: Any, release: Any) -> Figure:
    paths: dict[tuple[str, str], set[int]] = {}
    for rider, minor, _, stop, follows, other in zip(
        *(trips[name].tolist() for name in ("rider", "minor", "hour", "stop")),
        trips["stop"].shift(-1).tolist(),
        trips["rider"].shift(-1).tolist(),
        strict=True,
    ):
        if not minor and rider == other:
            paths.setdefault((stop, follows), set()).add(rider)
    found = release.frame.sort_values("lower", ascending=False).head(8).to_dict("list")
    pairs = list(zip(found["stop_1"], found["stop_2"], strict=True))
    return beside(
        "Grown-up riders from stop to stop (top 8)",
        ("from, to", [f"{a[0]}-{b[0]}".upper() for a, b in pairs]),
        ("riders", [float(len(paths.get(pair, ()))) for pair in pairs]),
        [float(value) for value in found["estimate"]],
        lower=[float(value) for value in found["lower"]],
    )


def _calls(random: Random) -> Any:
    level = random.choice(["strict", "normal", "rest"], 900, p=[0.1, 0.6, 0.3])
    day = random.choice(_DAYS, 900, p=[0.3, 0.2, 0.15, 0.15, 0.2])
    return frame({"caller": range(900), "level": level, "day": day})


def _tiers(od: Any, calls: Any) -> TaskAnswer:
    levels = {"strict": ("1/2", "level = 'strict'"), "normal": (1, "level = 'normal'"), "rest": 2}
    session = od.Session(calls, unit="caller", policy=od.policy.tiers(levels), budget=1)
    days = ["Mon", "Tue", "Wed", "Thu", "Fri"]
    release = session.count(by="day", keys=days, max_groups=1, epsilon=1)
    return TaskAnswer(release=release, guarantee=release.guarantee)


def _draw_tiers(calls: Any, release: Any) -> Figure:
    truth = true_counts(calls["day"], _DAYS)
    told = release.estimate.tolist()
    return beside("Callers by day", ("day", _DAYS), ("callers", truth), told)


def _exams(random: Random) -> Any:
    mark = random.normal(62, 16, 3000).clip(0, 100).round().astype(int)
    return frame({"student": range(3000), "mark": mark})


def _quantile(od: Any, exams: Any) -> TaskAnswer:
    policy = od.policy.proposition("mark >= 50")  # having passed may be told, failing never
    session = od.Session(exams, unit="student", policy=policy, budget=1)
    asked = {"candidates": range(0, 101, 5), "method": "cumulative", "epsilon": 1}
    release = session.quantile("mark", q="1/2", **asked)
    median, quarter = release.value, release.at("1/4")
    return TaskAnswer(
        release=release,
        guarantee=release.guarantee,
        printed=f">>> print(median, quarter)\n{median} {quarter}",
    )


def _draw_quantile(exams: Any, release: Any) -> Figure:
    marks = exams["mark"].to_list()
    shown = range(4, len(_MARKS), 2)
    truth = [float(sum(mark <= _MARKS[i] for mark in marks)) for i in shown]
    told = [float(release.estimates[0, i]) for i in shown]
    names = [str(_MARKS[i]) for i in shown]
    return beside("Students at or below a mark", ("mark", names), ("students", truth), told)


def _workers(random: Random) -> Any:
    skill = random.choice(_SKILLS, 600, p=[0.3, 0.25, 0.2, 0.15, 0.07, 0.02, 0.01])
    state = random.choice(["working", "left", "dismissed"], 600, p=[0.8, 0.15, 0.05])
    return ordered_frame({"person": range(600), "state": state, "skill": skill})


def _discover(od: Any, workers: Any) -> TaskAnswer:
    policy = od.policy.custom(
        kinds=["dismissed", "left", "working"],
        edges=[("dismissed", "left"), ("dismissed", "working"), ("left", "working", 2)],
        rules=[("dismissed", "state = 'dismissed'"), ("left", "state = 'left'")],
        default="working",
    )
    session = od.Session(workers, unit="person", policy=policy, budget=1)
    release = session.discover(by="skill", counted="working", max_groups=1, epsilon=1)
    return TaskAnswer(release=release, guarantee=release.guarantee)


def _draw_discover(workers: Any, release: Any) -> Figure:
    working = workers[workers["state"] == "working"]
    found = release.frame.sort_values("lower", ascending=False).to_dict("list")
    return beside(
        "Skills of those who work here",
        ("skill", found["skill"]),
        ("people", true_counts(working["skill"], found["skill"])),
        [float(value) for value in found["estimate"]],
        lower=[float(value) for value in found["lower"]],
    )


TASKS: Final = (
    Task(
        family="sensitive",
        title="True records of those who opted in",
        text="An app publishes real rows for research. A user who did not opt in must be "
        "indistinguishable from any other user. A missing answer counts as *not opted in*.",
        data=_users,
        ask=_sample,
        draw=_draw_sample,
        learn="Each published user is real and opted in, so at least this many opted in. A "
        "user who is not published may have opted out, or have been left out by chance.",
    ),
    Task(
        family="extended_sensitive",
        title="From stop to stop",
        text="A bus company looks for common pairs of stops. Minors are protected, and so is "
        "the number of minors. Nobody lists the pairs beforehand.",
        data=_trips,
        ask=_ngrams,
        draw=_draw_ngrams,
        learn="Lower bounds: at least this many adult riders went that way. Pairs that "
        "nobody rode are never published.",
    ),
    Task(
        family="tiers",
        title="Callers by day",
        text="Callers of a helpline chose how well they are protected.",
        data=_calls,
        ask=_tiers,
        draw=_draw_tiers,
        learn="Nothing. The strict tier sets the noise, so the other tiers lose less than "
        "their own limits.",
    ),
    Task(
        family="proposition",
        title="Marks of an exam",
        text="That somebody passed may be revealed. That somebody failed may not, nor may "
        "anyone's mark: those who passed must be indistinguishable from each other.",
        data=_exams,
        ask=_quantile,
        draw=_draw_quantile,
        learn="Nothing here. The policy would allow an observer to learn that somebody "
        "passed, but a quantile does not reveal it.",
    ),
    Task(
        family="custom",
        title="Skills nobody listed",
        text="Edges of your own. A dismissed person must be indistinguishable from one who "
        "left and from one who works here. One who left must be indistinguishable from one who "
        "works here, at up to twice the loss. That somebody works here is no secret.",
        data=_workers,
        ask=_discover,
        draw=_draw_discover,
        learn="Lower bounds: at least this many of those who work here have a skill.",
    ),
)
