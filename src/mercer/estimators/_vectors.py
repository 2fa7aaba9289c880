"""Products with the vectors of a fitted model: what they need of the vectors is worked out once, not at every call."""

import weakref

import numpy as np

from mercer._compute import pick_backend
from mercer._compute.points import Points

# Rows that are compared to find out whether somebody changed the vectors in place.
_ROWS = 8
# Of an array: what was worked out, for as long as the array lives.
_known = {}


def products(kernel, X, vectors, coef, pieces=None):
    """Return K(X, vectors) @ coef (n, p), or one such product a piece of the vectors (n, q p).

    Parameters
    ----------
    kernel : Kernel
        With its numbers.
    X : points (n)
    vectors : points (m)
        Of a fitted model.
    coef : array (m, p)
    pieces : list of slice, optional
        Runs of vectors that are summed over apart from each other.

    Returns
    -------
    array
    """
    X, Z = kernel.admit_beside(X, _lasting(kernel, vectors))
    return pick_backend(kernel, X, Z).matmul(kernel, X, Z, coef, pieces)


def prepare(kernel, vectors, coef, pieces=None):
    """Work out now what ``products`` keeps, so that the first prediction does not wait for it."""
    if _keeps(kernel, vectors):
        products(kernel, vectors[:1], vectors, coef, pieces)


def _lasting(kernel, vectors):
    """Return the side of vectors, with what was worked out of the same array before."""
    if not _keeps(kernel, vectors):
        return kernel.admit_pair(vectors, vectors)[0]
    key, some = id(vectors), vectors[:: -(-len(vectors) // _ROWS)].tobytes()
    owner, seen, memo = _known.get(key, (None, None, None))
    if owner is None or owner() is not vectors or seen != some:
        memo = kernel.admit_pair(vectors, vectors)[0]._memo
        _known[key] = weakref.ref(vectors, lambda _: _known.pop(key, None)), some, memo
    return Points(vectors, memo)


def _keeps(kernel, vectors):
    """Whether what is worked out is kept: kernels of more than one scalar may keep views, which keep the array."""
    return (
        kernel.scalar is not None and isinstance(vectors, np.ndarray) and vectors.dtype.kind == "f" and len(vectors) > 0
    )
