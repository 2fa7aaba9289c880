"""Landmarks for an estimator: as many points as asked, chosen by a named rule, or points that are given."""

from numbers import Integral

import numpy as np

from mercer import landmarks
from mercer._common import check_integer
from mercer._compute.points import as_rows, count_points, take_points

_RULES = {
    "uniform": lambda _kernel, X, m, random_state: take_points(X, landmarks.uniform(X, m, random_state)),
    "k_means": lambda _kernel, X, m, random_state: landmarks.k_means(X, m, random_state),
    "pivoted": lambda kernel, X, m, _random_state: take_points(X, landmarks.pivoted(kernel, X, m)),
    "randomly_pivoted": lambda kernel, X, m, random_state: take_points(
        X, landmarks.randomly_pivoted(kernel, X, m, random_state)
    ),
}


def chosen(kernel, X, m, rule, random_state=None):
    """Return m points that stand for all, chosen by a rule.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    X : points (n)
    m : int
    rule : {"uniform", "k_means", "pivoted", "randomly_pivoted"}
        The functions of ``mercer.landmarks``.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    points (at most m)
        All where m exceeds n; fewer where pivots end at a numerical rank below m.

    Raises
    ------
    ValueError
        For another rule, or m below 1.
    TypeError
        For cluster centres of points that are not rows of numbers.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.maps._select_landmarks import chosen
    >>> chosen(mc.Linear(), np.array([[1.0], [3.0]]), 1, "pivoted")
    array([[3.]])
    """
    if not isinstance(rule, str) or rule not in _RULES:
        raise ValueError(f"the rule {rule!r} for choosing landmarks is none of {sorted(_RULES)}; or give the points.")
    check_integer("the number of landmarks", m)
    if rule == "k_means" and len(getattr(X, "shape", ())) != 2:
        raise TypeError(
            "cluster centres by 'k_means' need rows of numbers, which the points of "
            f"{type(kernel).__name__} are not; use 'uniform' or 'pivoted'."
        )
    return _RULES[rule](kernel, X, min(m, count_points(X)), random_state)


def landmarks_for(kernel, X, wanted, rule, random_state=None):
    """Return landmarks: chosen where their number is given, validated where they are given themselves.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    X : points (n)
    wanted : int or points
        Row indices for a precomputed kernel.
    rule : str
        For a number; see ``chosen``.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    points (m)
        In the floating type of X.

    Raises
    ------
    ValueError
        For points with another number of features.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.maps._select_landmarks import landmarks_for
    >>> landmarks_for(mc.Linear(), np.ones((3, 2)), [[1.0, 2.0]], "uniform")
    array([[1., 2.]])
    """
    if isinstance(wanted, Integral):
        return chosen(kernel, X, wanted, rule, random_state)
    if kernel.tags.points == "indices":
        return np.asarray(wanted)
    if len(getattr(X, "shape", ())) != 2:
        return list(wanted)
    points = as_rows(wanted, "landmarks", X.dtype)
    if points.shape[1] != X.shape[1]:
        raise ValueError(f"landmarks have {points.shape[1]} features, but X has {X.shape[1]}; they must be equal.")
    # a model never keeps the arrays of its caller
    return points.copy()
