"""The four verbs on a block of kernel values for rows in NumPy arrays: compiled, threaded, fused where the kernel
allows.

A kernel of the squared distance or of the inner product alone never stores more than a tile; other kernels combine
dense tiles whose parts come from the same compiled loops.
"""

from mercer._compute import array, loops
from mercer._compute.tile import Tile, evaluate_profile


class CompiledTile(Tile):
    """A tile whose profiles are evaluated by compiled code."""

    def radial(self, profile, parameters, order=0):
        """Return a profile, or its derivative, of the squared distances (n, m)."""
        X, Z = self.centred
        K = loops.tile(profile, "radial", parameters, X, Z, order)
        if self.offset is not None and X is not Z:
            # the tile does not know which of its columns are its rows: the exact diagonal is put in here
            rows = self.xp.arange(len(K))
            K[rows, rows + self.offset] = evaluate_profile(profile, self.xp.zeros(1, dtype=K.dtype), parameters, order)
        return K

    def dot(self, profile, parameters, order=0):
        """Return a profile, or its derivative, of the inner products (n, m)."""
        return loops.tile(profile, "dot", parameters, self.X.contiguous, self.Z.contiguous, order)


def dense(kernel, X, Z):
    """Return K(X, Z) (n, m); exactly symmetric when X is Z."""
    if kernel.scalar is None:
        return array.dense(kernel, X, Z, CompiledTile)
    return loops.tile(*_formula(kernel, X, Z))


def matmul(kernel, X, Z, V, pieces=None):
    """Return K(X, Z) @ V (n, p), or one such product a piece of Z (n, q p), as ``array.matmul`` does."""
    if kernel.scalar is None:
        return array.matmul(kernel, X, Z, V, pieces, CompiledTile)
    return loops.matmul(*_formula(kernel, X, Z), V, pieces, Z.memo)


def vjp(kernel, X, Z, weights):
    """Return the gradient of sum_ij W_ij k(x_i, z_j) in every x_i (n, d), summed in float64.

    ``weights`` is a function of a slice of rows that returns their weights (r, m), so that W is never whole.
    """
    if kernel.scalar is None:
        return array.vjp(kernel, X, Z, weights, CompiledTile)
    return loops.gradient(*_formula(kernel, X, Z), weights)


diag = array.diag


def _formula(kernel, X, Z):
    """Return the profile, the scalar it takes, its parameters, and the rows that scalar is computed of."""
    kernel.refuse_overflow(X, Z)
    rows = (X.about(Z.centre), Z.about(Z.centre)) if kernel.scalar == "radial" else (X.contiguous, Z.contiguous)
    return kernel.profile, kernel.scalar, kernel.numbers(), *rows
