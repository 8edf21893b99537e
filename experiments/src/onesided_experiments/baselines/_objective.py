"""Objective perturbation, the private classifier that Figure 1 compares with. For experiments only.

NOT A RELEASE MECHANISM. It computes with floats on secret data, draws its noise from a seeded
generator with floats, and its proof asks for the exact minimum where a solver stops near it. So
its ε is the paper's on paper: nothing here is checked by ``onesided.verify``, and nothing that it
gives may be published about real people. That is why it does not stand among the mechanisms.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided.errors import DataError, ParameterError
from onesided.mechanism.kit import Exact, Field
from onesided.numbers import Number, positive
from onesided_experiments._tables import load

Floats = NDArray[np.float64]
# The logistic loss bends by at most this much.
_CURVATURE: Final = 0.25
_ROUNDING: Final = 1e-9
_TOLERANCE: Final = 1e-9
_ROUNDS: Final = 10_000


def _ordinary(value: Number, *, name: str) -> Fraction:
    """A number above 0 that floats can do arithmetic with."""
    number = positive(value, name=name)
    if Fraction(1, 2**40) <= number <= 2**40:
        return number
    raise ParameterError(
        f"{name} must lie between 2^-40 and 2^40, got {value!r}.",
        hint="Use a more ordinary number.",
        value=value,
    )


@dataclass(frozen=True)
class ObjectivePerturbation:
    """Logistic regression with a random linear term in its objective.

    regularisation: Λ of the paper, per record: the objective is the mean logistic loss plus
    ``Λ/2 |w|²`` plus ``b·w / n``, and ``Δ/2 |w|²`` where ε asks for more.
    Promise (in exact arithmetic and at the exact minimum): ε-differential privacy when one of n
    records is replaced, both ways alike; n is public. There is no direction and no intercept: add
    a constant feature before scaling if one is wanted.
    Source: Chaudhuri, Monteleoni and Sarwate, JMLR 2011, Algorithm 2, Theorem 9, Corollary 11.
    Errors: ParameterError for an ε or Λ that is not above 0 or is absurd.
    """

    _: KW_ONLY
    epsilon: Exact = Field(_ordinary)
    regularisation: Exact = Field(_ordinary)

    def split(self, records: int) -> tuple[float, float]:
        """ε' for the noise, and Δ: how much regularisation is added to what was asked for."""
        epsilon, strength = float(self.epsilon), float(self.regularisation)
        left = epsilon - 2 * math.log1p(_CURVATURE / (records * strength))
        if left > 0:
            return left, 0.0
        return epsilon / 2, _CURVATURE / (records * math.expm1(epsilon / 4)) - strength

    def fit(self, features: Any, labels: ArrayLike, *, random: np.random.Generator) -> Floats:
        """Weights, one for each feature; ``features @ weights`` ranks records by likelihood.

        features: shape (n, d), an array or a sparse matrix, rows of norm at most 1.
        labels: n truth values.
        Errors: DataError for other shapes, rows longer than 1 and features that are not finite.
        """
        rows, signs = _checked(features, labels)
        records, width = rows.shape
        epsilon, extra = self.split(records)
        strength = float(self.regularisation) + extra
        direction = random.normal(size=width)
        length = random.gamma(width, 2 / epsilon)
        push = direction * (length / float(np.linalg.norm(direction)))
        return _minimum(rows, signs, strength, push / records)


def _minimum(rows: Any, signs: Floats, strength: float, push: Floats) -> Floats:
    """Where ``mean log(1 + exp(-signs * rows @ w)) + strength/2 |w|² + push·w`` is least."""

    def objective(weights: Floats) -> tuple[float, Floats]:
        margin = signs * (rows @ weights)
        value = np.logaddexp(0, -margin).mean() + weights @ (strength / 2 * weights + push)
        # 1 / (1 + e^margin) without overflow.
        pull = signs * np.exp(-np.logaddexp(0, margin)) / signs.size
        return float(value), strength * weights + push - rows.T @ pull

    optimize = load("scipy.optimize")
    # The quadratic alone has its minimum here, which is near when the noise is large.
    start = -push / strength
    found = optimize.minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _ROUNDS, "maxfun": 2 * _ROUNDS, "gtol": _TOLERANCE, "ftol": 0.0},
    )
    weights: Floats = found.x
    return weights


def _checked(features: Any, labels: ArrayLike) -> tuple[Any, Floats]:
    """Features as given, and labels as -1 and 1."""
    rows: Any = features if hasattr(features, "tocsr") else np.asarray(features, dtype=np.float64)
    truths = np.asarray(labels)
    if rows.ndim != 2 or 0 in rows.shape or truths.shape != rows.shape[:1]:
        raise DataError(
            f"Features of shape {rows.shape} do not go with labels of shape {truths.shape}.",
            hint="Give n rows of features and n labels, at least one of each.",
        )
    if truths.dtype.kind != "b":
        raise DataError(
            f"Labels must be truth values, got {truths.dtype}.",
            hint="Compare with the class that is meant, such as labels == 1.",
        )
    squares = rows.multiply(rows).sum(axis=1) if hasattr(rows, "tocsr") else (rows**2).sum(axis=1)
    norms = np.sqrt(np.asarray(squares, dtype=np.float64).ravel())
    # Negated, so that NaN is refused too.
    long = ~(norms <= 1 + _ROUNDING)
    if long.any():
        where = int(np.argmax(long))
        raise DataError(
            f"Row {where} of the features has the norm {norms[where]:.6g}, but no row may be "
            "longer than 1: the noise is made for that.",
            hint="Divide all rows by a public bound of their norms, or each row by its own norm.",
            position=where,
        )
    return rows, np.where(truths, 1.0, -1.0)
