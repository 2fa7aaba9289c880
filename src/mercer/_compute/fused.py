"""Compiled backend for rows in NumPy arrays: dense, matmul, stored and vjp, on several threads.

A kernel that is a profile of one scalar runs in fused loops; other kernels combine tiles that come from these loops.
"""

import numpy as np

from mercer._common import Array
from mercer._compute import array, loops, symmetric
from mercer._compute.costs import BLOCK
from mercer._compute.loops import Formula, Plan
from mercer._compute.profile import check_range, evaluate_profile, parameters
from mercer._compute.tile import Tile


class CompiledTile(Tile):
    """Tile that evaluates profiles in compiled loops."""

    def radial(self, kernel, order=0):
        """Return the kernel's profile, or its derivative, of the squared distances (n, m)."""
        K = loops.tile(formula(kernel, "radial", self.X, self.Z), order)
        if self.offset is None or self.X is self.Z:
            return K
        # the loop does not know which points of Z are rows of X
        return self.fill_diagonal(K, evaluate_profile(kernel, np.zeros(1, K.dtype), order))

    def dot(self, kernel, order=0):
        """Return the kernel's profile, or its derivative, of the inner products (n, m); refuse an overflow first."""
        return loops.tile(formula(kernel, "dot", self.X, self.Z, order), order)


def dense(kernel, X, Z) -> Array:
    """Return K(X, Z) (n, m), exactly symmetric if X is Z."""
    if kernel.scalar is None:
        return array.dense(kernel, X, Z, CompiledTile)
    return loops.tile(formula(kernel, kernel.scalar, X, Z))


def matmul(kernel, X, Z, V, pieces=None) -> Array:
    """Return K(X, Z) @ V (n, p), or the products of q pieces (n, q p), see ``array.matmul``."""
    if kernel.scalar is None:
        return array.matmul(kernel, X, Z, V, pieces, CompiledTile)
    # the centred copy of so many rows is memory that the next rows use again
    step = max(1, BLOCK // X.container.shape[1])
    symmetric_product = X is Z and pieces is None
    if symmetric_product or X.n <= step:
        plan = Plan(formula(kernel, kernel.scalar, X, Z), keep=Z.memo)
        return symmetric.products(plan, V) if symmetric_product else loops.products(plan, V, pieces)
    return np.concatenate(
        [matmul(kernel, X.take(rows), Z, V, pieces) for rows in loops.cut(len(X), step)]
    )


def stored(kernel, X):
    """Return K(X, X) in memory, see ``symmetric.Stored``."""
    if kernel.scalar is None:
        return array.stored(kernel, X, CompiledTile)
    return symmetric.stored(Plan(formula(kernel, kernel.scalar, X, X)))


def vjp(kernel, X, Z, weights) -> Array:
    """Return the gradient of sum_ij W_ij k(x_i, z_j) in every x_i (n, d), see ``array.vjp``."""
    if kernel.scalar is None:
        return array.vjp(kernel, X, Z, weights, CompiledTile)
    return loops.gradient(formula(kernel, kernel.scalar, X, Z), weights)


def formula(kernel, scalar, X, Z, order=0):
    """Return the formula of a kernel of one scalar at rows X and Z, or raise if the scalar or a value overflows."""
    given = rows = X.contiguous, Z.contiguous
    norms = None
    if scalar == "radial":
        # refuses rows with squared distances that overflow
        centre, right, right_norms = Z.about_centre
        _, left, left_norms = (centre, right, right_norms) if X is Z else X.centred(centre)
        rows = left, right
        norms = left_norms, right_norms
    elif order == 0:
        check_range(kernel, X, Z)
    return Formula(kernel.profile, scalar, parameters(kernel), *rows, given, norms)
