"""Kernel values of few vectors at a block of rows in float32, and their gradients in the vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._common import Array
from mercer._compute.points import Points
from mercer._compute.tile import Tile
from mercer.kernels import Gaussian, Laplacian
from mercer.kernels.forms import form_of

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel

# Largest gamma |x - c|^2, c the mean row, with which exponents from inner products in float32 are exact to 1e-3.
_EXPONENT = 1e3


def blocks(kernel: Kernel, parts: list[Array]) -> list[Any]:
    """Return one block for each part (n, d) of the rows; the exponents of a Gaussian kernel are one matrix product.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.solvers.few_vectors.blocks import blocks
    >>> (block,) = blocks(mc.Gaussian(1.0), [np.array([[0.0], [1.0]])])
    >>> K, gradient = block.at(block.prepared(np.array([[0.0]])))
    >>> K.round(2), gradient(np.ones((1, 1), np.float32), np.ones((2, 1), np.float32)).round(2)
    (array([[1.  , 0.37]], dtype=float32), array([[0.74]], dtype=float32))
    """
    centre = sum(X.sum(axis=0, dtype=np.float64) for X in parts) / sum(len(X) for X in parts)
    if type(kernel) is Gaussian:
        root = np.sqrt(2 * kernel.gamma)
        scaled = [root * (X - centre) for X in parts]
        if max(np.sum(X * X, axis=1).max() for X in scaled) < 2 * _EXPONENT:
            return [_GaussianBlock(X, centre, root) for X in scaled]
    shift = centre if type(kernel) is Laplacian or form_of(kernel) == "radial" else np.zeros(len(centre))
    return [_Block(kernel, X, shift) for X in parts]


class _Block:
    """Rows with any kernel that has a gradient, less a shift that does not change its values."""

    def __init__(self, kernel, X, shift):
        self.kernel, self.shift = kernel, shift
        self.points = Points(np.ascontiguousarray(X - shift, np.float32))

    def prepared(self, Z):
        """Return vectors (p, d) as all blocks take them."""
        return Points((Z - self.shift).astype(np.float32))

    def at(self, Z):
        """Return the kernel values (p, n), and the gradient in Z of the sum of their products with L R^T."""
        tile = Tile(Z, self.points)
        return self.kernel.evaluate(tile), lambda L, R: self.kernel.gradient(tile, L @ R.T)


class _GaussianBlock:
    """Rows x with k(x, z) = exp(<x, z> - |x|^2 / 2 - |z|^2 / 2): centred, and in units of the width."""

    def __init__(self, X, centre, root):
        halves = np.sum(X * X, axis=1, keepdims=True) / 2
        # one product with (z, -|z|^2 / 2, 1) gives the exponents
        self.rows = np.hstack([X, np.ones_like(halves), -halves]).astype(np.float32)
        self.centre, self.root = centre, root

    def prepared(self, Z):
        Z = self.root * (Z - self.centre)
        halves = np.sum(Z * Z, axis=1, keepdims=True) / 2
        return np.hstack([Z, -halves, np.ones_like(halves)]).astype(np.float32)

    def at(self, Z):
        with np.errstate(over="ignore", invalid="ignore"):
            # the product may warn of values in memory beside its operands
            K = Z @ self.rows.T
        np.minimum(K, 0, out=K)
        np.exp(K, out=K)

        def gradient(L, R):
            # the column of ones gives the sums over rows
            if L.shape[1] == 1 and self.rows.shape[1] < 2 * len(L):
                # scaled rows are fewer numbers than a matrix of weights and its product with K
                moments = L * (K @ (R * self.rows[:, :-1]))
            else:
                W = L @ R.T
                W *= K
                moments = W @ self.rows[:, :-1]
            return np.float32(self.root) * (moments[:, :-1] - moments[:, -1:] * Z[:, :-2])

        return K, gradient
