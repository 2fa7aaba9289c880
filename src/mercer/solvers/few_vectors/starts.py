"""Starting points of few vectors: k-means centres of each class, more for classes with rows near the margin."""

from typing import Any

import numpy as np

from mercer import landmarks
from mercer._common import Array, as_float64
from mercer._compute.points import dense

# Largest number of rows per centre.
_ROWS = 100


def starts(
    X: Array, outputs: Array, signs: Array | None, n_vectors: int, points: Any, seed: int
) -> Array:
    """Return starting points (n_vectors, d) of vectors, from rows X with outputs and signs or None.

    Every class gets a number in proportion to its rows within the margin of a binary classifier, at least one, from
    k-means on at most 100 rows per centre. Some of ``points`` are drawn if there are too few rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.few_vectors.starts import starts
    >>> X = np.array([[0.0], [1.0], [9.0]])
    >>> starts(X, X, None, 1, X, 0).round(2)
    array([[3.33]])
    """
    rng = np.random.default_rng(seed)
    X = as_float64(X)
    groups = [np.arange(len(X))]
    near = np.ones(len(X))
    if signs is not None:
        _, codes = np.unique(signs, axis=0, return_inverse=True)
        codes = codes.ravel()
        classes = [np.flatnonzero(codes == c) for c in range(codes.max() + 1)]
        near = np.where((np.abs(signs) * (1 - signs * outputs) > -0.001).any(axis=1), 1.0, 0.02)
        if n_vectors >= len(classes):
            groups = classes
    sizes = _shares(
        np.array([near[rows].sum() for rows in groups]), [len(rows) for rows in groups], n_vectors
    )
    centres = [
        _centres(X[rows], size, rng) for rows, size in zip(groups, sizes, strict=True) if size
    ]
    found = np.concatenate(centres)
    missing = n_vectors - len(found)
    if missing:
        points = dense(points).astype(np.float64)
        found = np.concatenate(
            [found, points[rng.choice(len(points), missing, replace=len(points) < missing)]]
        )
    return found


def _shares(mass, most, total):
    """Return how many of ``total`` each group gets, in proportion to its mass: at least one, at most its size."""
    most = np.asarray(most)
    sizes = np.minimum(1, most)
    while sizes.sum() < min(total, most.sum()):
        # the next one goes to the group with the smallest number for its mass
        sizes[np.argmax(np.where(sizes < most, mass / (sizes + 0.5), -1))] += 1
    return sizes


def _centres(X, size, rng):
    rows = rng.permutation(len(X))[: _ROWS * size]
    distinct = np.unique(X[rows], axis=0)
    if len(distinct) <= size:
        return distinct
    return landmarks.k_means(distinct, size, int(rng.integers(2**31 - 1)))
