"""Kernel values, products and gradients in one pass over tiles: compiled loops and BLAS, no kernel matrix stored.

A tile of the scalars s = |x - z|^2 or <x, z> is filled (by differences for few coordinates, by one matrix product
otherwise), turned into profile values in place while it is still in cache, and multiplied. Tiles are cut by the shape
alone, each in one thread, so results do not depend on the number of threads. Within a tile sums are in the type of
the data, across tiles in float64.
"""

import functools

import numpy as np

from mercer import _threads
from mercer._compile import compiled, dispatcher, specialised

COLUMNS = 512
_ROWS = 512
# Up to here differences cost less than a matrix product with so short a sum, and they are exact for close points.
_DIRECT = 12
# Coordinates taken at a time by the loop over differences; others are padded by zeros.
_LANES = 4


def tile(profile, kind, parameters, X, Z, order=0):
    """Return the block of profile values.

    Parameters
    ----------
    profile : function (xp, s, *parameters, order=0)
    kind : {"radial", "dot"}
        Whether s is the squared distance or the inner product.
    parameters : tuple of numbers
    X : array (n, d)
        Centred where distances are taken: their error is of the order eps (|x|^2 + |z|^2) for d above 12.
    Z : array (m, d)
        The very same array as X gives an exactly symmetric block with an exact diagonal, at half the cost.
    order : int

    Returns
    -------
    array (n, m) in the type of X
    """
    plan = _Plan(profile, kind, parameters, X, Z, order)
    K = np.empty((len(X), len(Z)), X.dtype)

    def rows_of_block(task):
        rows = plan.rows(task)
        left = plan.left(rows)
        for columns in plan.column_tiles:
            if plan.symmetric and columns.start >= rows.stop:
                break
            plan.fill(left, rows, columns, K[rows, columns])
            _threads.checkpoint()

    _threads.run(rows_of_block, plan.n_tasks)
    if plan.symmetric:
        _threads.run(lambda task: _mirror(K, plan.rows(task)), plan.n_tasks)
    return K
