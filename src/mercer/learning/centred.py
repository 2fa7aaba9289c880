"""Centred kernel matrices H K H, a block of rows at a time, and their inner products."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from mercer._common import Array, ArrayLike, PointsLike, as_float64, shown
from mercer._compute.memory import blocks
from mercer._compute.targets import as_real_targets, refuse_targets
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.linalg.operators import Centred, epsilon


def target_columns(y: ArrayLike, n: int) -> Array:
    """Return centred columns (n, c) of size at most 1: one for each class, or the values of a regression."""
    refuse_targets(y)
    y = np.asarray(y)
    if len(y) != n:
        raise ValueError(f"y must have one entry for each of the {n} points of X, got {len(y)}.")
    if _are_labels(y):
        columns = (y[:, None] == np.unique(y)).astype(np.float64)
    else:
        columns = as_real_targets(y, "alignment").reshape(n, -1)
    columns = columns - columns.mean(axis=0)
    size = np.abs(columns).max()
    if (y == y[0]).all():
        raise ValueError(
            f"y must hold at least two classes or two values, got {shown(np.asarray(y[0]).tolist())} only; give other "
            "points."
        )
    return columns / size


def _are_labels(y):
    # numbers beyond all integers are no labels
    with np.errstate(invalid="ignore"):
        return y.ndim == 1 and type_of_target(y) in ("binary", "multiclass")


def class_codes(y: ArrayLike, method: str) -> Array:
    """Return the classes of labels as whole numbers (n,); a ValueError for the values of a regression."""
    y = np.asarray(y)
    if not _are_labels(y):
        raise ValueError(
            f'y must hold one label for each point for method="{method}", got {type_of_target(y)} values of shape '
            f'{y.shape}, y[0] = {shown(np.asarray(y[0]).tolist())}; use method="alignment" for values.'
        )
    return np.unique(y, return_inverse=True)[1]


def centred_blocks(kernels: Sequence[Kernel], X: PointsLike) -> Iterator[Any]:
    """Yield slices of rows and, for each kernel, those rows of H K H in float64, H = I - 11'/n."""
    centred = [Centred(Gram(kernel, X)) for kernel in kernels]
    n = centred[0].shape[0]
    for rows in blocks(n, n * len(centred)):
        yield rows, [as_float64(each[rows, :]) for each in centred]


def beside_first(K: Array) -> Array:
    """Return a positive semidefinite matrix from one that is so on coefficients of sum 0, with the same values there.

    Its kernel is k(x, z) - k(x, x_1) - k(x_1, z) + k(x_1, x_1), and a constant.
    """
    K = K - K[0] - K[:, :1] + K[0, 0]
    return K + np.abs(K).max(initial=0)


def variances(kernels: Sequence[Kernel], X: PointsLike) -> Array:
    """Return the variance of the points in the feature space of each kernel (p,), see `variance`."""
    grams = [Gram(kernel, X) for kernel in kernels]
    return np.array([variance(gram, gram) for gram in grams])


def variance(gram: Gram, K: Gram | Array) -> float:
    """Return tr(H K H) / n, the variance of the points in feature space; 0 if it is rounding.

    ``K`` is the Gram itself, or its values, if they are known.
    """
    diagonal = as_float64(gram.diagonal())
    n = len(gram.diagonal())
    found = float(diagonal.mean() - as_float64(K @ np.full(n, 1 / n)).mean())
    return found if found > rounding(gram) else 0.0


def rounding(gram: Gram) -> float:
    """Return the size up to which centred values of a kernel matrix are rounding."""
    return 64 * epsilon(gram) * float(np.abs(as_float64(gram.diagonal())).max())


def inner_products(kernels: Sequence[Kernel], X: PointsLike, columns: Array) -> tuple[Array, Array]:
    """Return <H K_k H, H K_l H> (p, p) and <H K_k H, Y Y'> (p,) for centred columns Y (n, c), summed in float64."""
    p = len(kernels)
    M = np.zeros((p, p))
    a = np.zeros(p)
    for rows, parts in centred_blocks(kernels, X):
        flat = np.stack([part.ravel() for part in parts])
        M += flat @ flat.T
        a += [np.sum((part @ columns) * columns[rows]) for part in parts]
    return M, a
