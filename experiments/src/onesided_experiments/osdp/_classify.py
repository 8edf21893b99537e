"""From daily trajectories to features, and from features to how well a classifier ranks."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onesided.noise import BoolArray, IntArray
from onesided_experiments._tables import load
from onesided_experiments.osdp._trajectories import ZONES, Trace

FREQUENT: Final = 0.02
_PATTERN_DAYS: Final = 50
_PATTERN: Final = 3
_ROUNDS: Final = 1000
Floats = NDArray[np.float64]


class Task(NamedTuple):
    """Days by features (a sparse matrix), whether the day's person is frequent, and patterns."""

    features: Any
    frequent: BoolArray
    users: int
    patterns: int


def task_of(trace: Trace) -> Task:
    """The paper's features; frequent are the 2 % of people with the most days (and ties)."""
    sparse = load("scipy.sparse")
    often = np.bincount(trace.user)
    least = np.sort(often)[-max(1, round(FREQUENT * often.size))]
    # Runs of three zones that occur in at least 50 days: (day, number), and their number.
    day, code = trace.runs(_PATTERN)
    pairs = np.unique(np.stack([day, code], 1), axis=0)
    codes, days = np.unique(pairs[:, 1], return_counts=True)
    kept = codes[days >= _PATTERN_DAYS]
    common = np.isin(code, kept)
    day, code, patterns = (day[common], np.searchsorted(kept, code[common]), int(kept.size))
    visits = sparse.coo_array(
        (np.ones(trace.zone.size), (trace.day, trace.zone)), shape=(trace.days, ZONES)
    )
    shape = (trace.days, patterns)
    found = sparse.coo_array((np.ones(day.size), (day, code)), shape=shape)
    stay = trace.step[trace.start[1:] - 1] - trace.step[trace.start[:-1]] + 1
    plain = np.stack([stay, trace.zones_by_day().sum(axis=1)], axis=1).astype(np.float64)
    # Building a row format adds up repeats, so that entries become numbers of visits.
    features = sparse.hstack([sparse.coo_array(plain), visits, found], format="csr")
    return Task(features, often[trace.user] >= least, int((often >= least).sum()), patterns)


def scaled(features: Any, bounds: Floats) -> Any:
    """Columns divided by the largest value of the people whom the classifier may see."""
    sparse = load("scipy.sparse")
    return features @ sparse.diags_array(1 / np.where(bounds > 0, bounds, 1))


def unit_rows(features: Any) -> Any:
    """Rows of norm 1, as objective perturbation demands."""
    sparse = load("scipy.sparse")
    norms = np.sqrt((features.multiply(features)).sum(axis=1))
    return sparse.csr_array(sparse.diags_array(1 / np.where(norms > 0, norms, 1)) @ features)


def scores(features: Any, frequent: BoolArray, train: BoolArray, test: IntArray) -> Floats:
    """Plain logistic regression learnt on ``train``; all zeros where it holds a single class."""
    linear = load("sklearn.linear_model")
    if np.unique(frequent[train]).size < 2:
        return np.zeros(test.size)
    bounds = features[train].max(axis=0).toarray().ravel()
    seen = scaled(features, bounds)
    model = linear.LogisticRegression(max_iter=_ROUNDS).fit(seen[train], frequent[train])
    found: Floats = model.decision_function(seen[test])
    return found


def error(frequent: BoolArray, found: Floats) -> float:
    """1 - AUC; ties count half."""
    ranks = load("scipy.stats").rankdata(found)
    ones = int(frequent.sum())
    above = ranks[frequent].sum() - ones * (ones + 1) / 2
    return 1 - float(above / (ones * (frequent.size - ones)))
