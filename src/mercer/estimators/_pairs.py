"""Scores of all pairs of classes from packed coefficients, in one pass over the kernel values."""

import numpy as np

from mercer.gram import kept_product


def scores(kernel, X, vectors, packed, counts):
    """Return <w, phi(x)> of the machines of all pairs of classes.

    The machine of classes i < j sums over the support vectors of both. Each class gives one product with all columns of
    its coefficients, and a pair adds two columns.

    Parameters
    ----------
    kernel : Kernel
        With its numbers.
    X : points (n)
    vectors : points (n_sv)
        Support vectors, sorted by class.
    packed : array (n_sv, c - 1)
        Column k of a row of class i belongs to the pair of i and the k-th other class.
    counts : int array (c,)
        Support vectors of each class.

    Returns
    -------
    array (n, c (c - 1) / 2)

    Notes
    -----
    Costs n n_sv (2 d + 2 c) operations, where unpacked coefficients would cost n n_sv (2 d + c^2).
    """
    values = kept_product(kernel, X, vectors, packed, pieces(counts))
    i, j = np.triu_indices(len(counts), 1)
    width = len(counts) - 1
    return np.take(values, i * width + j - 1, axis=1) + np.take(values, j * width + i, axis=1)


def pieces(counts):
    """Return the support vectors of each class as slices, from their numbers."""
    stops = np.cumsum(counts)
    return [slice(int(stop - count), int(stop)) for stop, count in zip(stops, counts, strict=True)]
