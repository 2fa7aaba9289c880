"""How a block of K is computed: one module per backend, each with the verbs dense, matmul, vjp and diag."""

import numpy as np

from mercer.blocks import _array


def pick(kernel, *sides):
    """Return the backend for a kernel and containers of points: chosen by these alone, never by size.

    Parameters
    ----------
    kernel : Kernel
    *sides : Side
        The points of the rows, and those of the columns where they are others.

    Returns
    -------
    module
        With functions ``dense``, ``matmul``, ``vjp`` and ``diag``.
    """
    if kernel.tags.points == "rows" and all(isinstance(side.points, np.ndarray) for side in sides):
        # imported here, since compiled loops are not needed by other containers
        from mercer.blocks import _numba

        return _numba
    return _array
