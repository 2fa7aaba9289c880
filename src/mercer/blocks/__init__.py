"""How a block of K is computed: one module per backend, each with the verbs dense, matmul, vjp and diag."""

import numpy as np

from mercer.blocks import _array


def pick(kernel, X):
    """Return the backend for a kernel and a container of points: chosen by these two alone, never by size.

    Parameters
    ----------
    kernel : Kernel
    X : Side

    Returns
    -------
    module
        With functions ``dense``, ``matmul``, ``vjp`` and ``diag``.
    """
    if isinstance(X.points, np.ndarray) and kernel.tags.points == "rows":
        # imported here, since compiled loops are not needed by other containers
        from mercer.blocks import _numba

        return _numba
    return _array
