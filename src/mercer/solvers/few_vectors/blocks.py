"""Kernel values of few vectors at a block of rows in float32, and their gradients in the vectors."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._common import Array
from mercer._compute.points import Points
from mercer._compute.tile import Tile
from mercer.kernels import Gaussian, Laplacian
from mercer.kernels.base import Kernel
from mercer.kernels.forms import form_of


def blocks(kernel: Kernel, parts: list[Array]) -> list[Callable[[Array], Any]]:
    """Return a function of vectors Z (p, d) for each part (n, d) of the rows: kernel values (p, n) and their gradient.

    The gradient is a function of factors L (p, r) and R (n, r): that in Z of the sum of the values times L R^T. The
    exponents of a Gaussian kernel are one matrix product.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.solvers.few_vectors.blocks import blocks
    >>> (block,) = blocks(mc.Gaussian(1.0), [np.array([[0.0], [1.0]])])
    >>> K, gradient = block(np.array([[0.0]]))
    >>> K.round(2), gradient(np.ones((1, 1), np.float32), np.ones((2, 1), np.float32)).round(2)
    (array([[1.  , 0.37]], dtype=float32), array([[0.74]], dtype=float32))
    """
    centre = sum(X.sum(axis=0, dtype=np.float64) for X in parts) / sum(map(len, parts))
    if type(kernel) is Gaussian:
        root = np.sqrt(2 * kernel.gamma)
        scaled = [root * (X - centre) for X in parts]
        # gamma |x - c|^2 below 1e3: exponents from inner products in float32 are exact to 1e-3
        if max(np.sum(X * X, axis=1).max() for X in scaled) < 2e3:
            return [_gaussian(X, centre, root) for X in scaled]
    shift = (
        centre
        if type(kernel) is Laplacian or form_of(kernel) == "radial"
        else np.zeros(len(centre))
    )
    return [_plain(kernel, X, shift) for X in parts]


def _plain(kernel, X, shift):
    """Return the block of any kernel that has a gradient, on rows less a shift that does not change its values."""
    rows = Points(np.ascontiguousarray(X - shift, np.float32))

    def block(Z):
        tile = Tile(Points((Z - shift).astype(np.float32)), rows)
        return kernel.evaluate(tile), lambda L, R: kernel.gradient(tile, L @ R.T)

    return block


def _gaussian(X, centre, root):
    """Return the block of k(x, z) = exp(<x, z> - |x|^2 / 2 - |z|^2 / 2): centred, and in units of the width."""
    halves = np.sum(X * X, axis=1, keepdims=True) / 2
    # one product with (z, -|z|^2 / 2, 1) gives the exponents
    rows = np.hstack([X, np.ones_like(halves), -halves]).astype(np.float32)

    def block(Z):
        Z = root * (Z - centre)
        halves = np.sum(Z * Z, axis=1, keepdims=True) / 2
        Z = np.hstack([Z, -halves, np.ones_like(halves)]).astype(np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            # the product may warn of values in memory beside its operands
            K = Z @ rows.T
        np.minimum(K, 0, out=K)
        np.exp(K, out=K)

        def gradient(L, R):
            # the column of ones gives the sums over rows
            if L.shape[1] == 1 and rows.shape[1] < 2 * len(L):
                # scaled rows are fewer numbers than a matrix of weights and its product with K
                moments = L * (K @ (R * rows[:, :-1]))
            else:
                W = L @ R.T
                W *= K
                moments = W @ rows[:, :-1]
            return np.float32(root) * (moments[:, :-1] - moments[:, -1:] * Z[:, :-2])

        return K, gradient

    return block
