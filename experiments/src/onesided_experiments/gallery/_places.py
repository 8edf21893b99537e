"""Tasks about values and places: what must pass as what is near, or as nothing."""

from __future__ import annotations

import math
from typing import Any, Final

from onesided_experiments._model import Curve, Figure, Look, Panel
from onesided_experiments.gallery._records import frame
from onesided_experiments.gallery._task import Random, Task, TaskAnswer, beside, true_counts

_ILLS: Final = ["asthma", "back", "cancer", "cold", "hiv"]
_BANDS: Final = ["0-20", "20-40", "40-60", "60-80", "80+"]
_ROOMS: Final = ["11", "12", "13", "21", "22", "23"]
_SHOPS: Final = ["bakery", "bank", "bar", "barber", "books", "toys"]
_SAFE: Final = Look("certainly at most 5", "blue", "square")
_OPEN: Final = Look("not certified", "orange", "triangle")
_MORE: Final = Look("more than 5 in truth (known here)", "black", "cross")
_PLACES: Final = 60


def _visits(random: Random) -> Any:
    crowd = random.pareto(1.1, _PLACES) + 0.2
    rows = {
        (person, int(place))
        for person in range(160)
        for place in random.choice(_PLACES, 1 + int(random.integers(3)), p=crowd / crowd.sum())
    }
    table = sorted(rows)
    return frame({name: [row[i] for row in table] for i, name in enumerate(("person", "place"))})


def _at_most(od: Any, visits: Any) -> TaskAnswer:
    policy = od.policy.presence(max_groups=3)
    session = od.Session(visits, unit="person", policy=policy, budget=3)
    counts = od.session.Count(by="place", keys=range(60), epsilon=3)
    plan = session.plan(counts)  # looks at no row and spends nothing
    release = session.at_most(5, by="place", keys=range(60), epsilon=3)
    return TaskAnswer(
        release=release,
        guarantee=release.guarantee,
        printed=f">>> print(plan)\n{plan}\n>>> print(len(release.at_most()), 'places are safe')\n"
        f"{len(release.at_most())} places are safe",
    )


def _draw_at_most(visits: Any, release: Any) -> Figure:
    turns = [2.4 * place for place in range(_PLACES)]  # a spiral, so that no two overlap
    where = [
        (place**0.5 * math.cos(turn), place**0.5 * math.sin(turn))
        for place, turn in enumerate(turns)
    ]
    crowded = [p for p in range(_PLACES) if visits.filter(visits["place"] == p).height > 5]
    sets = ((_SAFE, release.at_most()), (_OPEN, release.above), (_MORE, crowded))
    curves = []
    for look, places in sets:
        points = [where[place] for place in places]
        x, y = [point[0] for point in points], [point[1] for point in points]
        curves.append(Curve(look=look, x=x, y=y, kind="dots"))
    panel = Panel(title="", x_label="km east", y_label="km north", curves=curves)
    return Figure("Places with at most 5 infected visitors", [panel], columns=1)


def _diagnoses(random: Random) -> Any:
    ill = random.choice(_ILLS, 500, p=[0.2, 0.3, 0.1, 0.35, 0.05])
    return frame({"patient": range(500), "diagnosis": ill})


def _attributes(od: Any, patients: Any) -> TaskAnswer:
    policy = od.policy.attributes({"diagnosis": ["cancer", "hiv"]})
    session = od.Session(patients, unit="patient", policy=policy, budget=1)
    ills = ["asthma", "back", "cancer", "cold", "hiv"]
    release = session.count(by="diagnosis", keys=ills, epsilon=1)
    return TaskAnswer(release=release, guarantee=release.guarantee)


def _draw_attributes(patients: Any, release: Any) -> Figure:
    truth = true_counts(patients["diagnosis"], _ILLS)
    told = release.estimate.tolist()
    return beside("Patients by diagnosis", ("diagnosis", _ILLS), ("patients", truth), told)


def _incomes(random: Random) -> Any:
    income = random.gamma(2.2, 18, 1000)
    bands = [_BANDS[min(int(value // 20), 4)] for value in income]
    return frame({"household": range(1000), "band": bands})


def _graph(od: Any, incomes: Any) -> TaskAnswer:
    bands = ["0-20", "20-40", "40-60", "60-80", "80+"]
    steps = [("0-20", "20-40"), ("20-40", "40-60"), ("40-60", "60-80"), ("60-80", "80+")]
    policy = od.policy.graph(steps)  # both ways
    session = od.Session(incomes, unit="household", policy=policy, budget=1)
    release = session.count(by="band", keys=bands, epsilon="1/2")
    return TaskAnswer(release=release, guarantee=release.guarantee)


def _draw_graph(incomes: Any, release: Any) -> Figure:
    truth = true_counts(incomes["band"], _BANDS)
    names = ("income, thousand a year", _BANDS)
    told = release.estimate.tolist()
    return beside("Households by income", names, ("households", truth), told)


def _badges(random: Random) -> Any:
    room = random.choice(_ROOMS, 300, p=[0.3, 0.05, 0.15, 0.1, 0.1, 0.3])
    return frame({"guest": range(300), "room": room})


def _neighbourhood(od: Any, badges: Any) -> TaskAnswer:
    rooms = {"11": (0, 0), "12": (1, 0), "13": (2, 0), "21": (0, 1), "22": (1, 1), "23": (2, 1)}
    door = [rooms["11"]]  # guests come and go here, and only here
    policy = od.policy.neighbourhood(radius=1, metric="grid", sources=door, places=rooms)
    session = od.Session(badges, unit="guest", policy=policy, budget=1)
    release = session.count(by="room", keys=list(rooms), epsilon=1)
    return TaskAnswer(release=release, guarantee=release.guarantee)


def _draw_neighbourhood(badges: Any, release: Any) -> Figure:
    truth = true_counts(badges["room"], _ROOMS)
    told = release.estimate.tolist()
    return beside("Guests by room", ("room", _ROOMS), ("guests", truth), told)


def _survey(random: Random) -> Any:
    return frame({"answer": random.choice(["yes", "no"], 2000, p=[0.12, 0.88])})


def _local(od: Any, people: Any) -> TaskAnswer:
    policy = od.policy.local(["yes", "no"], sensitive=["yes"])
    mangat = od.mechanism.local.for_policy(policy, epsilon=1)
    reports = mangat.release(people["answer"], noise=od.seeded)  # each on its own device
    estimate = mangat.estimate(reports)
    share, most = estimate.share("yes"), estimate.most[estimate.alphabet.index("yes")]
    guarantee = mangat.guarantee(policy)
    return TaskAnswer(
        release=estimate,
        guarantee=guarantee,
        printed=f">>> print(f'{{share:.3f}}, certainly at most {{most}} people')\n"
        f"{share:.3f}, certainly at most {most} people",
    )


def _draw_local(people: Any, estimate: Any) -> Figure:
    truth = true_counts(people["answer"], ["yes", "no"])
    names = ("answer", ["yes", "no"])
    told, upper, lower = (
        [float(value) for value in reversed(part)]
        for part in (estimate.counts, estimate.most, estimate.least)
    )
    return beside("Have you ever ...?", names, ("people", truth), told, upper=upper, lower=lower)


def _payments(random: Random) -> Any:
    rows = sorted(
        {
            (person, person % 7 == 0, str(shop))
            for person in range(420)
            for shop in random.choice(_SHOPS, 2, p=[0.45, 0.2, 0.2, 0.1, 0.03, 0.02])
        }
    )
    names = ("person", "private", "shop")
    return frame({name: [row[i] for row in rows] for i, name in enumerate(names)})


def _top_k(od: Any, payments: Any) -> TaskAnswer:
    policy = od.policy.sensitive("private") & od.policy.presence(max_groups=2)
    session = od.Session(payments, unit="person", policy=policy, budget=1)
    shops = ["bakery", "bank", "bar", "barber", "books", "toys"]
    release = session.top_k(
        k=3, by="shop", keys=shops, max_groups=2, on_excess="error", epsilon="1/2"
    )
    return TaskAnswer(release=release, guarantee=release.guarantee)


def _draw_top_k(payments: Any, release: Any) -> Figure:
    found = release.frame.to_dict(as_series=False)
    return beside(
        "The three shops with most customers",
        ("shop", found["shop"]),
        ("customers", true_counts(payments["shop"], found["shop"])),
        [float(value) for value in found["estimate"]],
        upper=[float(value) for value in found["upper"]],
    )


TASKS: Final = (
    Task(
        family="presence",
        title="Safe places",
        text="A health agency names places with at most five infected visitors. Having been "
        "somewhere is secret, for any three places of a person at once. Counts would cost the "
        "same; `plan` predicts their error.",
        data=_visits,
        ask=_at_most,
        draw=_draw_at_most,
        learn="A certified place had at most 5 infected visitors: never wrong. So an "
        "observer may learn that somebody was *not* there. A place that is not certified is "
        "unknown, not busy.",
    ),
    Task(
        family="attributes",
        title="Patients by diagnosis",
        text="Cancer and HIV are secret. Back pain is not, and is not protected.",
        data=_diagnoses,
        ask=_attributes,
        draw=_draw_attributes,
        learn="No count is certain, because a patient with HIV must be indistinguishable "
        "from one with any other diagnosis. A patient whose diagnosis is not sensitive is not "
        "protected.",
    ),
    Task(
        family="graph",
        title="Households by income",
        text="A household's income band must be indistinguishable from the next band up or "
        "down. Bands further apart need not be hidden as strongly: each further step costs ε once "
        "more.",
        data=_incomes,
        ask=_graph,
        draw=_draw_graph,
        learn="Nothing. Bands k steps apart can be told apart at k times the loss.",
    ),
    Task(
        family="neighbourhood",
        title="Guests by room",
        text="A guest in one room must be indistinguishable from a guest in the room next "
        "door. A guest by the entrance must also be indistinguishable from nobody. There are six "
        "rooms, in two rows of three.",
        data=_badges,
        ask=_neighbourhood,
        draw=_draw_neighbourhood,
        learn="Nothing. Rooms two steps apart can be told apart at twice the loss, and so on.",
    ),
    Task(
        family="local",
        title="A survey in which only *yes* is delicate",
        text="Each person randomises on their own device: a *yes* stays a *yes*, and a *no* "
        "sometimes becomes one (Mangat). No central party has to be trusted.",
        data=_survey,
        ask=_local,
        draw=_draw_local,
        learn="A person who reports *no* holds *no*. So the number of *no* reports is a "
        "certain lower bound of *no*, and the number of other reports an upper bound of *yes*.",
    ),
    Task(
        family="intersection",
        title="The most visited shops",
        text="One release was made under *sensitive*, another under *presence*. Both "
        "together protect only what each of them protects, which is `&`: it hides any two shops "
        "of a private customer at once. A third release that promises no more than that needs "
        "noise on one side only.",
        data=_payments,
        ask=_top_k,
        draw=_draw_top_k,
        learn="Upper bounds: at most this many customers. Customers who are not private are "
        "not protected here, since one of the two other releases does not protect them.",
    ),
)
