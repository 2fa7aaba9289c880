"""Blocks transposed tile by tile, so that the lines of cache that a tile touches are used up."""

from mercer._compile import compiled

# Rows and columns of a tile.
_SIDE = 32


@compiled
def transpose(source, out):
    """Copy the transpose of a block to ``out``.

    Parameters
    ----------
    source : array (n, m)
    out : array (m, n)
    """
    n, m = source.shape
    for top in range(0, n, _SIDE):
        for left in range(0, m, _SIDE):
            for j in range(left, min(left + _SIDE, m)):
                for i in range(top, min(top + _SIDE, n)):
                    out[j, i] = source[i, j]


@compiled
def mirror(K, start, stop):
    """Copy what lies below the diagonal in columns ``start`` to ``stop`` to the part above it.

    Parameters
    ----------
    K : array (n, n)
    start, stop : int
    """
    for first in range(start, len(K), _SIDE):
        for column in range(start, min(stop, first + _SIDE), _SIDE):
            for i in range(first, min(first + _SIDE, len(K))):
                for j in range(column, min(column + _SIDE, stop, i)):
                    K[j, i] = K[i, j]
