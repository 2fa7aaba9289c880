"""The training problem of a support vector estimator: points, weights and targets, and sizes that rounding allows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer._common import Array
from mercer._compute.costs import PROOF
from mercer._compute.points import Points
from mercer.kernels.base import size_of_values, validated
from mercer.linalg.convexity import Convexity, convexity
from mercer.solvers.svm import Infeasible

# Largest upper bound of coefficients: sums of their products with kernel values are finite, up to 1e8 in all.
_LARGEST_BOUND = 1e300
# Largest violation as a share of the standard deviation of targets, and the least that rounding allows.
_SHARE = 1e-3
_ATTAINABLE = 1e-9
# Largest upper bound as a multiple of the standard deviation of targets, and the least one: smaller ones are rounded.
_MOST_SPREADS = 1e100
_LEAST_BOUND = 1e-290


@dataclass(frozen=True)
class Problem:
    """Training points of positive weight, those of a classifier sorted by class.

    Attributes
    ----------
    kernel : Kernel
        Resolved.
    points : points (k)
    rows : int array (k,)
        Training row of each point.
    weights : float64 array (k,)
    budget : int
        Bytes that the factor of the kernel matrix may take.
    classes, class_weight, counts : array (c,)
        Labels, factors of C and numbers of points.
    binary : Subproblems
        The binary classifiers.
    targets : float64 array (k,), optional
        Of a regression.
    """

    kernel: Any
    points: Any
    rows: np.ndarray
    weights: np.ndarray
    budget: int = 0
    classes: np.ndarray | None = None
    class_weight: np.ndarray | None = None
    counts: np.ndarray | None = None
    binary: Sequence[Any] = ()
    targets: np.ndarray | None = None

    def convexity_after(self, n_iter: int) -> Convexity:
        """Whether the duals are convex; a proof, n^3 / 3 operations, is tried where this is a small part of steps."""
        n = len(self.rows)
        return self.convexity if n**3 / 3 <= PROOF * n * n_iter else self.sampled_convexity

    @cached_property
    def convexity(self) -> Convexity:
        """Whether the duals are convex, as far as memory allows a proof; one for the models of a path."""
        return convexity(self.kernel, self.points, budget=self.budget)

    @cached_property
    def sampled_convexity(self) -> Convexity:
        """Whether the duals are convex, as far as some of the points show."""
        return convexity(self.kernel, self.points)

    @cached_property
    def dtype(self) -> type[np.floating]:
        """Type of coefficients: that of the points, float64 if they are not numbers."""
        return np.float32 if getattr(self.points, "dtype", None) == np.float32 else np.float64

    @property
    def codes(self) -> Array:
        """Numbers of the classes of the points (k,)."""
        return np.arange(len(self.counts)).repeat(self.counts)

    @property
    def rounding(self) -> float:
        """Rounding of coefficients."""
        return float(np.finfo(self.dtype).eps)

    @cached_property
    def diagonal(self) -> Array:
        """k(x, x) of the points (k,), in the type of kernel values."""
        return self.kernel.diagonal(Points(validated(self.kernel, self.points)))

    @cached_property
    def scale(self) -> float:
        """Size of kernel values."""
        return size_of_values(self.kernel, self.points, self.diagonal)

    @property
    def kernel_dtype(self) -> np.dtype[Any]:
        """Type of kernel values, which may be float32 for a matrix, whose coefficients are float64."""
        return np.result_type(self.diagonal, np.float32)

    def upper_bounds(self, C: float, name: str = "C") -> Array:
        """Return C times the weights of the points' classes and their own (k,), or raise where a number overflows."""
        with np.errstate(over="ignore"):
            bounds = float(C) * self.class_weight.repeat(self.counts) * self.weights
        # of each class
        largest = np.maximum.reduceat(bounds, self.counts.cumsum() - self.counts)
        require_bound(name, C, largest.min())
        if np.isfinite(float(C)) and largest.max() > _LARGEST_BOUND:
            raise ValueError(
                f"C = {C:.3g}, times the weights {largest.max():.3g}, must be at most {_LARGEST_BOUND:.0e}; give a "
                "smaller C, or divide the weights by a constant."
            )
        return bounds

    def places(self, rows: Array) -> Array:
        """Return the points that are some training rows (int array)."""
        place = np.full(self.rows.max() + 1, -1)
        place[self.rows] = np.arange(len(self.rows))
        return place[rows]

    def name_means(self, found: Infeasible) -> tuple[str, str]:
        """Name the two weighted means of points that are the evidence of contradictory constraints."""
        points = found.dual.points
        return self._mean(points, found.coef), self._mean(points, -found.coef)

    def _mean(self, points, weights):
        """Name a weighted mean of points of positive weight: their number, labels and heaviest training rows."""
        used = np.flatnonzero(weights > 0)
        rows = ", ".join(map(str, self.rows[points[used[np.argsort(-weights[used])[:3]]]]))
        labels = ""
        if self.classes is not None:
            classes = self.classes[np.unique(self.codes[points[used]])]
            labels = " of " + ", ".join(map(str, classes))
        return f"a weighted mean of {len(used)} points{labels} (the heaviest in rows {rows})"


def centre_and_scale(y: Array, upper: Array, C: float) -> tuple[float, float]:
    """Return the mean of targets and a power of 2 near their standard deviation, 1 for equal targets.

    Raise a ValueError, which names C, if finite upper bounds are so much larger that rounding hides the loss, or nearly
    0.
    """
    mean = float(y.mean())
    centred = y - mean
    # squares of tiny numbers would be 0
    largest = max(float(centred.max()), -float(centred.min()))
    centred /= largest or 1.0
    spread = largest * math.sqrt(float(centred @ centred) / len(y))
    if spread == 0:
        return mean, 1.0
    bound = float(upper.max())
    if np.isfinite(bound) and bound > _MOST_SPREADS * spread:
        raise ValueError(
            f"C = {C:.3g}, times sample_weight {bound:.3g}, must be at most {_MOST_SPREADS:.0e} times {spread:.3g}, "
            "the standard deviation of y; divide sample_weight or multiply y by a constant, or give a smaller C."
        )
    require_bound("C", C, bound / max(1.0, spread))
    return mean, 2.0 ** math.floor(math.log2(spread))


def regression_tolerance(tol: float, scale: float) -> tuple[float, float]:
    """Return the tolerance for targets of a scale, and that for targets divided by it."""
    tol = min(tol, _SHARE * scale)
    return tol, max(tol / scale, _ATTAINABLE)


def require_bound(name: str, value: float, bound: float) -> None:
    """Raise unless an upper bound of coefficients, a parameter times weights, is far above the smallest number."""
    if bound < _LEAST_BOUND:
        raise ValueError(
            f"{name} = {value:.3g}, times the weights {bound:.3g}, must be at least {_LEAST_BOUND:.0e}; give a larger "
            f"{name}, or multiply sample_weight by a constant."
        )


def in_range(values: Array, dtype: type) -> Array:
    """Return coefficients in the type of a model, or raise if float32 holds no numbers of their size."""
    largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
    info = np.finfo(dtype)
    if largest > float(info.max) or 0 < largest < float(info.tiny):
        raise ValueError(
            f"coefficients of up to {largest:.3g} are beyond the range of {np.dtype(dtype)}; give X in float64, or "
            "scale C, sample_weight or the targets."
        )
    return values.astype(dtype, copy=False)
