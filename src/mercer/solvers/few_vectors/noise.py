"""Copies of rows between which moved vectors meet the outputs of a model: with noise, or recombined."""

from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from mercer import landmarks
from mercer._common import Array, Seed
from mercer.solvers.few_vectors.refit import VALUES
from mercer.solvers.few_vectors.rows import MANY


def wanted_copies(rows: int, vectors: int, features: int, columns: float) -> int:
    """Return how many copies of some rows, at most 5, are drawn for moved vectors: for ten equations a number.

    A row gives one equation for each of its columns; a vector has ``features`` coordinates and ``columns``
    coefficients.

    Examples
    --------
    >>> from mercer.solvers.few_vectors.noise import wanted_copies
    >>> wanted_copies(400, 5, 21, 1), wanted_copies(100_000, 5, 21, 1)
    (2, 0)
    """
    wanted = min(10 * vectors * (features / columns + 1), VALUES / vectors)
    return int(np.clip(np.ceil(wanted / rows) - 1, 0, 5))


def spread(X: Array, random_state: Seed) -> Array:
    """Return the mean distance of each row to its five nearest rows over sqrt(d), (n, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.few_vectors.noise import spread
    >>> spread(np.array([[0.0], [1.0], [3.0]]), 0).ravel()
    array([2. , 1.5, 2.5])
    """
    n, d = X.shape
    some = X[landmarks.uniform(X, min(n, MANY), random_state)]
    # the first is the row itself
    near = NearestNeighbors(n_neighbors=min(5 + 1, len(some))).fit(some).kneighbors(X)[0][:, 1:]
    return near.mean(axis=1, keepdims=True) / np.sqrt(d)


def noise(X: Array, deviations: Array, copies: int, seed: Any) -> Array:
    """Return copies of rows with normal noise of standard deviations (n, 1), stacked; none for 0."""
    if not np.any(deviations):
        return X[:0]
    drawn = np.random.default_rng(seed).standard_normal((copies, *X.shape)) * deviations
    return (X + drawn).reshape(-1, X.shape[1]).astype(X.dtype)


def recombined(X: Array, copies: int, seed: Any) -> Array:
    """Return copies of rows, stacked, in which each number is replaced with probability 1/2 by that of another row.

    All of a copy are from one other row.
    """
    rng = np.random.default_rng(seed)
    partners = np.concatenate(
        [rng.permutation(len(X)) for _ in range(copies)] or [np.empty(0, int)]
    )
    rows = np.tile(X, (copies, 1))
    return np.where(rng.random(rows.shape) < 0.5, X[partners], rows)
