"""Landmarks of an estimator: selected by a rule where their number is given, validated where the points are given."""

from typing import Any

import numpy as np

from mercer import landmarks as rules
from mercer._common import PointsLike, Seed, check_choice, check_integer, shown
from mercer._compute.points import as_rows, count_points, take_points
from mercer._compute.readable import refuse_container
from mercer.kernels.base import Kernel, check_pairwise, require_kernel
from mercer.linalg.generator import check_seed

RULES = ("randomly_pivoted", "greedy", "leverage", "k_means", "uniform")
# The name of "greedy" in earlier model files.
_EARLIER = "pivoted"


def select_landmarks(
    kernel: Kernel,
    X: PointsLike,
    landmarks: int | PointsLike,
    rule: str = "randomly_pivoted",
    random_state: Seed = None,
) -> Any:
    """Return landmarks, a few points whose features span most of what the features of all points span.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    X : points (n)
    landmarks : int or points
        A number m, of which ``rule`` selects; or the landmarks themselves (row indices for a precomputed kernel).
    rule : {"randomly_pivoted", "greedy", "leverage", "k_means", "uniform"}
        Rule that selects m points, not used for given points: pivots of a Cholesky factorisation of the kernel matrix,
        drawn by their distance to the span of those before or the farthest one; a draw by ridge leverage scores; the
        centres of k-means; a uniform draw. "pivoted" is an earlier name of "greedy".
    random_state : int, RandomState, Generator or None

    Returns
    -------
    points (at most m)
        In the floating type of X. All points where m exceeds n; fewer than m where pivots reach the numerical rank.
        Given points are copied.

    Raises
    ------
    ValueError
        For an unknown rule, m below 1, given points with another number of features than X, or points whose features
        are all 0.
    TypeError
        For "k_means" on points that are not rows of numbers.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.maps import select_landmarks
    >>> select_landmarks(mc.Linear(), np.array([[1.0], [3.0]]), 1, "greedy")
    array([[3.]])
    >>> select_landmarks(mc.Linear(), np.ones((3, 2)), [[1.0, 2.0]])
    array([[1., 2.]])
    """
    check_seed(random_state)
    require_kernel(kernel)
    X = kernel.admit(X, "X")
    if kernel.tags.points == "indices" and np.ndim(X) == 2:
        raise ValueError(
            f"X has shape {X.shape}, rows of kernel values, which have none between them; give the row numbers of the "
            "points of the matrix, such as np.arange(n)."
        )
    check_pairwise(kernel, X)
    return selected(kernel, X, landmarks, rule, random_state)


def selected(
    kernel: Kernel, X: PointsLike, landmarks: int | PointsLike, rule: str, random_state: Seed
) -> Any:
    """Return landmarks as `select_landmarks` does, of admitted points whose kernel was tried."""
    if kernel.tags.order:
        raise ValueError(
            f"landmarks need a positive semidefinite kernel, but {shown(kernel)} is conditionally positive definite of "
            f"order {kernel.tags.order}: features of few points span no space where lengths are at least 0; give "
            "landmarks=None, or a kernel such as mercer.Matern."
        )
    if not np.isscalar(landmarks):
        return given_landmarks(kernel, X, landmarks)
    m = min(check_integer("landmarks", landmarks), count_points(X))
    check_rule("rule", rule)
    match rule:
        case "randomly_pivoted":
            rows = rules.randomly_pivoted(kernel, X, m, random_state)
        case "greedy" | "pivoted":
            rows = rules.greedy(kernel, X, m)
        case "leverage":
            rows = rules.leverage(kernel, X, m, random_state)
        case "k_means" if _are_rows(X):
            return rules.k_means(X, m, random_state)
        case "k_means":
            raise TypeError(
                "rule = 'k_means' needs rows of numbers, which the points of "
                f"{type(kernel).__name__} are not; use 'uniform' or 'greedy'."
            )
        case _:  # "uniform"
            rows = rules.uniform(X, m, random_state)
    if not len(rows):
        raise ValueError(
            f"no landmarks: k(x, x) of all {count_points(X)} points is 0 up to rounding under the kernel "
            f"{shown(kernel)}; give other points or another kernel."
        )
    return take_points(X, rows)


def given_landmarks(kernel, X, landmarks):
    """Return a copy of landmarks in the type of the points X, or raise unless they are points of the same kind."""
    refuse_container(landmarks, "landmarks")
    if kernel.tags.points == "indices":
        rows = np.array(landmarks)
        if rows.ndim != 1:
            raise ValueError(
                f"landmarks must be row indices, of one dimension, got shape {rows.shape}."
            )
        return kernel.admit(rows, "landmarks")
    if not _are_rows(X):
        return kernel.admit(landmarks, "landmarks")
    points = as_rows(landmarks, "landmarks", X.dtype)
    if points.shape[1] != X.shape[1]:
        raise ValueError(
            f"landmarks have {points.shape[1]} features, but X has {X.shape[1]}; they must be equal."
        )
    # a model never keeps the arrays of its caller
    return points.copy()


def check_rule(name: str, rule: str) -> None:
    """Raise unless a parameter is the name of a rule."""
    if not (isinstance(rule, str) and rule == _EARLIER):
        check_choice(name, rule, RULES)


def _are_rows(X):
    return len(getattr(X, "shape", ())) == 2
