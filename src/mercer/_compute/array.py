"""Backend for any array library, and reference for the compiled backend: dense, matmul, stored and vjp on tiles.

Only ``dense`` and ``stored`` store more than one tile of kernel values.
"""

import functools

import array_api_compat
import numpy as np

from mercer._common import Array
from mercer._compute.costs import BLOCK, COLUMNS, ROWS_OF_TASK
from mercer._compute.loops import mirror
from mercer._compute.memory import allocate, cut
from mercer._compute.points import Points, as_rows, join_points
from mercer._compute.symmetric import stored_blocks
from mercer._compute.threads import run_on_rows
from mercer._compute.tile import Tile

# Fewest rows of a tile, whose number is a multiple.
_LEAST_ROWS = 8


def tiles(X, Z):
    """Yield slices of rows of X and the tile of each with Z; X is Z for a Gram matrix."""
    for rows in cut(len(X), row_step(len(Z))):
        yield rows, _tile_of(X, Z, rows, Tile)


def _tile_of(X, Z, rows, tile):
    return tile(
        X if rows.stop - rows.start == len(X) else X.take(rows), Z, rows.start if X is Z else None
    )


def over_tiles(function, X, Z, tile):
    """Return ``function(rows, tile)`` of all rows of X, some at a time with all of Z; X is Z for a Gram matrix.

    The array of NumPy is new. A tile that the memory of a device does not hold is halved.
    """
    whole = None
    parts = []
    start = 0
    step = row_step(len(Z))
    while start < len(X):
        rows = slice(start, min(start + step, len(X)))
        try:
            part = function(rows, _tile_of(X, Z, rows, tile))
        except Exception as error:
            # libraries have no common class of this error
            if type(error).__name__ != "OutOfMemoryError" or step <= _LEAST_ROWS:
                raise
            step = max(_LEAST_ROWS, min(step, len(X)) // 2 // _LEAST_ROWS * _LEAST_ROWS)
            continue
        if isinstance(part, np.ndarray):
            whole = allocate((len(X), *part.shape[1:]), part.dtype) if whole is None else whole
            whole[rows] = part
        else:
            parts.append(part)
        start = rows.stop
    return join_points(parts) if whole is None else whole


def row_step(m):
    """Return the number of rows of a tile with m columns, a multiple of 8, whatever the number of threads."""
    return max(_LEAST_ROWS, BLOCK // max(m, 1) // _LEAST_ROWS * _LEAST_ROWS)


def dense(kernel, X, Z, tile=Tile) -> Array:
    """Return K(X, Z) (n, m), a new array, exactly symmetric if X is Z and the kernel is symmetric."""
    K = over_tiles(lambda _, each: kernel.evaluate(each), X, Z, tile)
    if X is not Z or not kernel.tags.symmetric:
        return K
    # tiles may differ by rounding: the lower triangle is copied to the upper
    if isinstance(K, np.ndarray):
        mirror(K, 0, len(K))
        return K
    return X.xp.tril(K) + X.xp.tril(K, k=-1).T


def matmul(kernel, X, Z, V, pieces=None, tile=Tile) -> Array:
    """Return K(X, Z) @ V (n, p), summed in float64 over tiles of at most 512 columns.

    With ``pieces``, q slices of the rows of Z: the products K(X, Z[piece]) @ V[piece] side by side (n, q p).
    """
    if not kernel.explicit:
        # coefficients of indices are float64, also for rows of float32 kernel values
        products = over_tiles(
            lambda _, each: product(kernel.evaluate(each), V, Z.dtype, pieces), X, Z, tile
        )
        return X.xp.astype(products, X.dtype, copy=False)
    if pieces is None:
        return X.xp.astype(kernel.multiply(X, Z, V), X.dtype, copy=False)
    products = [matmul(kernel, X, Z.take(piece), V[piece, :]) for piece in pieces]
    return X.xp.concat(products, axis=1)


def product(K, V, dtype, pieces=None):
    """Return K @ V for each piece, summed in float64 over tiles of 512 columns, in a type if K has float32.

    Values of indices may be float32 while coefficients and results are float64.
    """
    xp = array_api_compat.array_namespace(K)
    if pieces is not None:
        return xp.concat([product(K[:, piece], V[piece, :], dtype) for piece in pieces], axis=1)
    if K.dtype == xp.float64:
        return times(K, xp.astype(V, K.dtype, copy=False))
    V = xp.astype(V, dtype, copy=False)
    total = xp.zeros((K.shape[0], V.shape[1]), dtype=xp.float64, device=array_api_compat.device(K))
    for columns in cut(K.shape[1], COLUMNS):
        part = xp.astype(K[:, columns], dtype, copy=False)
        total += xp.astype(times(part, V[columns, :]), xp.float64)
    return xp.astype(total, dtype, copy=False)


def times(K, V):
    """Return K @ V; of NumPy arrays some rows on each thread, whose bits do not depend on the number of threads."""
    if not isinstance(K, np.ndarray):
        return K @ V
    out = np.empty((len(K), V.shape[1]), np.result_type(K, V))
    run_on_rows(lambda rows: np.matmul(K[rows], V, out=out[rows]), len(K), ROWS_OF_TASK)
    return out


def stored(kernel, X, tile=Tile):
    """Return K(X, X) of a symmetric kernel in memory, see ``symmetric.Stored``."""
    return stored_blocks(functools.partial(dense, tile=tile), kernel, X)


def vjp(kernel, X, Z, weights, tile=Tile) -> Array:
    """Return the gradient of sum_ij W_ij k(x_i, z_j) in every x_i (n, d), in float64.

    ``weights(rows)`` returns the rows of W of a slice, so that W is not stored.
    """
    xp = X.xp
    wide = Points(as_rows(Z.container, dtype=xp.float64))
    same = wide if X is Z else Points(as_rows(X.container, dtype=xp.float64))
    return over_tiles(lambda rows, each: kernel.gradient(each, weights(rows)), same, wide, tile)
