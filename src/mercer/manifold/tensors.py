"""Evaluation of tensor fields at points: chunks within a memory limit, jets at x = z, inverses of metrics."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from mercer._common import EPS, Array, Memory, PointsLike, as_float64, shown
from mercer._compute.memory import blocks, require_memory
from mercer._compute.points import as_rows
from mercer.kernels.base import Kernel, require_resolved
from mercer.linalg.operators import ROUNDINGS
from mercer.manifold.jets import Jet
from mercer.manifold.rules import jet, require_rules

# Temporary arrays of the size of the largest tensor in a jet.
_COPIES = 8


def pointwise(
    function: Callable[[Jet, Array, int, Kernel], Array],
    k: Kernel,
    X: PointsLike,
    order: tuple[int, int],
    out: int,
    memory: Memory,
) -> Array:
    """Return ``function(jet, chunk, first, k)`` for all rows of X, chunk by chunk, in the type of X.

    The jet of k has the derivatives up to ``order`` at z = x in the rows of the chunk, the first one is X[first];
    ``out`` is the number of tensor indices of the result.
    """
    X = admitted(k, X)
    (n, N) = X.shape
    work = sum(order)
    largest = 8 * _COPIES * N**work
    require_memory(
        8 * n * N**out + largest,
        memory,
        f"a tensor of {out} indices at {n} points of {N} dimensions",
        "fewer points or dimensions at a time, or a larger memory=",
    )
    wide = as_float64(X)
    parts = [
        function(_coincident(k, wide[rows], order), wide[rows], rows.start, k)
        for rows in blocks(n, _COPIES * N**work)
    ]
    found = np.concatenate(parts)
    with np.errstate(over="ignore"):
        values = found.astype(X.dtype, copy=False)
    if out and not np.isfinite(values).all():
        raise ValueError(
            f"the result has values up to {np.abs(found).max():.3g}, which overflow {X.dtype}, the type of X; give "
            "X.astype(float), or scale X first, for example with StandardScaler."
        )
    return values


def admitted(k: Kernel, X: PointsLike, name: str = "X") -> Array:
    """Return points as dense rows, or raise when the kernel has no derivatives or does not take them."""
    require_rules(k)
    require_resolved(k)
    if sp.issparse(X):
        raise TypeError(
            f"{name} must be dense, since a metric has an entry for each pair of features; use {name}.toarray()."
        )
    X = as_rows(X, name)
    k.admit(X, name)
    return X


def _coincident(k, X, order):
    """Return the jet of a kernel at pairs (x, x), or raise when a derivative overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = jet(k, X, X, order)
    for value in found.terms.values():
        if not np.isfinite(value).all():
            row = int(np.argwhere(~np.isfinite(value))[0, 0])
            raise ValueError(
                f"derivatives of {shown(k)} overflow float64 at x of norm {np.linalg.norm(X[row]):.3g}; "
                "scale X first, for example with StandardScaler."
            )
    return found


def rounding(N: int) -> float:
    """Return the share of their sizes to which metrics in N dimensions are known."""
    return ROUNDINGS * N * EPS


def sizes_of(jet: Jet) -> Array:
    """Return the sizes of the terms of the diagonal of a metric (n, N), its entries where they are not known."""
    return np.abs(np.einsum("naa->na", jet.term(1, 1))) if jet.sizes is None else jet.sizes


def scaled_eigh(jet: Jet) -> tuple[Array, Array, Array]:
    """Return scale (n, N), and ascending eigenvalues and eigenvectors of g_ab / (scale_a scale_b).

    The scale is the square root of the sizes of the terms of the diagonal, to unit diagonal where none cancel, or 1
    where they are 0; eigenvalues at rounding level are set to 0.
    """
    g = jet.term(1, 1)
    scale = np.sqrt(sizes_of(jet))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(g / scale[:, :, None] / scale[:, None, :])
    values[np.abs(values) <= rounding(g.shape[1])] = 0.0
    return scale, values, vectors


def require_positive(
    values: Array, X: Array, first: int, k: Kernel, allow_singular: bool = False
) -> None:
    """Raise a ValueError that names the first point whose metric is not positive definite (or semidefinite)."""
    least = values[:, 0]
    wrong = np.flatnonzero(least < 0 if allow_singular else least <= 0)
    if not len(wrong):
        return
    i = int(wrong[0])
    where = f"at X[{first + i}] = {np.array2string(X[i], precision=4, threshold=6)}"
    if least[i] < 0:
        raise ValueError(
            f"the metric of {shown(k)} is not positive definite {where}: scaled by its terms it has the eigenvalue "
            f"{least[i]:.3g}, so the kernel is not positive semidefinite; use another kernel or other parameters."
        )
    raise ValueError(
        f"the metric of {shown(k)} is singular {where}: some direction has length 0 in feature space, so the inverse "
        "and the curvature do not exist; omit points where volume_element is 0, or use coef0 > 0 for a polynomial."
    )


def inverse(jet: Jet, X: Array, first: int, k: Kernel) -> Array:
    """Return the inverses of the metrics of a jet, or raise at the first singular one."""
    scale, values, vectors = scaled_eigh(jet)
    require_positive(values, X, first, k)
    scaled = (vectors / values[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    return scaled / scale[:, :, None] / scale[:, None, :]
