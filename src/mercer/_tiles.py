"""A tile: some rows of X against Z, and the scalars of the pairs that kernels are functions of.

This is the one computation of inner products and distances. Kernels take a tile and return values; what a tile works
out (centred rows, norms, distances) it works out once, however many parts of a composite kernel ask for it.
"""

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from mercer import _namespace, _points
from mercer._compile import compiled, wide

# Distances lose digits where they are small against the norms: below these shares of them they are recomputed. Sparse
# rows are not centred, so that the norms may be of any size; for dense rows a share this small is all but coincidence.
_CANCELLATION = 1e-3
COINCIDENCE = 1e-6
# Pairs recomputed at a time.
_PAIRS = 4096


@compiled
def subtract(X, centre, out):
    """Write the rows of X minus a centre, subtracted in float64."""
    wide()
    for i in range(len(X)):
        for k in range(X.shape[1]):
            out[i, k] = np.float64(X[i, k]) - centre[k]


@compiled
def _sum_squares(X, out):
    """Write the squared norms of rows, summed in float64."""
    wide()
    for i in range(len(X)):
        total = 0.0
        for k in range(X.shape[1]):
            total += np.float64(X[i, k]) * np.float64(X[i, k])
        out[i] = total


class Side:
    """Points on one side of a block, with what has been computed of them.

    Parameters
    ----------
    points : container of n points
    memo : dict, optional
        What was worked out of these points before.
    """

    def __init__(self, points, memo=None):
        self.points = points
        self._memo = {} if memo is None else memo

    def __len__(self):
        return _points.count(self.points)

    def __getstate__(self):
        # what was computed can be computed again: a pickle carries the points alone
        return {"points": self.points, "_memo": {}}

    def take(self, rows):
        """Return the side of some of the points; nothing computed is carried over."""
        return Side(_points.take(self.points, rows))

    def memo(self, key, compute):
        """Return ``compute()``, worked out once per side and key."""
        if key not in self._memo:
            self._memo[key] = compute()
        return self._memo[key]

    @property
    def xp(self):
        """Array namespace of the points (NumPy for sparse rows and for objects)."""
        return _namespace.of(self.points)

    @property
    def sparse(self):
        """Whether the points are rows of a sparse matrix."""
        return sp.issparse(self.points)

    @property
    def centre(self):
        """Mean row in float64, about which distances are computed; None for sparse rows."""
        return None if self.sparse else self.memo("centre", self._centre)

    def _centre(self):
        return self.xp.mean(self.points, axis=0, dtype=self.xp.float64) if self.xp is _namespace.NUMPY else self._mean()

    def _mean(self):
        return self.xp.mean(self.xp.astype(self.points, self.xp.float64), axis=0)

    @cached_property
    def contiguous(self):
        """The rows as a C-contiguous array."""
        return np.ascontiguousarray(self.points)

    def about(self, centre):
        """Return the rows minus a centre, in the type of the rows; subtracted in float64."""
        if centre is None:
            return self.points
        # the centre is kept with the result, so that its id cannot come to mean another array
        return self.memo(("about", id(centre)), lambda: (centre, self._about(centre)))[1]

    def _about(self, centre):
        xp, points = self.xp, self.points
        if xp is _namespace.NUMPY:
            rows = np.empty(points.shape, points.dtype)
            subtract(points, centre, rows)
            return rows
        return xp.astype(xp.astype(points, xp.float64) - centre, points.dtype)

    def sqnorms(self, centre=None):
        """Return |x - centre|^2 for every row, summed in float64; overflow is an error.

        Raises
        ------
        ValueError
            When a squared norm is too large for the floating type.
        """
        return self.memo(("sqnorms", id(centre)), lambda: (centre, self._sqnorms(centre)))[1]

    def _sqnorms(self, centre):
        xp, rows = self.xp, self.about(centre)
        if self.sparse:
            wide = rows.astype(np.float64)
            with np.errstate(over="ignore"):
                norms = np.asarray(wide.multiply(wide).sum(axis=1)).ravel()
        elif xp is _namespace.NUMPY:
            norms = np.empty(len(rows))
            _sum_squares(rows, norms)
        else:
            wide = xp.astype(rows, xp.float64)
            norms = xp.sum(wide * wide, axis=1)
        largest = float(xp.max(norms))
        # 4 |x|^2 bounds every squared distance between two rows
        if not 4 * largest <= float(xp.finfo(self.points.dtype).max):
            raise ValueError(
                f"Squared norms and distances overflow {self.points.dtype}: a row has entries up to "
                f"{self._largest():.3g}; scale X (StandardScaler) first."
            )
        return xp.astype(norms, self.points.dtype)

    def _largest(self):
        return float(abs(self.points).max()) if self.sparse else float(self.xp.max(self.xp.abs(self.points)))


class Tile:
    """Rows of X against all rows of Z.

    Parameters
    ----------
    X, Z : Side
        n and m points.
    offset : int, optional
        When the rows of X are rows ``offset``, ``offset + 1``, ... of Z: their distances to themselves are exactly 0.
    """

    def __init__(self, X, Z, offset=None):
        self.X, self.Z, self.offset = X, Z, offset

    @property
    def xp(self):
        """Array namespace of the values."""
        return _namespace.of(self.X.points, self.Z.points)

    def through(self, key, function):
        """Return the tile of mapped points; Z is mapped once for all tiles that share it."""
        Z = self.Z.memo(key, lambda: Side(function(self.Z.points)))
        X = Z if self.X is self.Z else self.X.memo(key, lambda: Side(function(self.X.points)))
        return type(self)(X, Z, self.offset)

    @cached_property
    def products(self):
        """Inner products <x, z> (n, m)."""
        return _products(self.X.points, self.Z.points)

    @cached_property
    def centred(self):
        """Rows of X and of Z about the mean of Z: a translation changes no distance, and saves the digits."""
        return self.X.about(self.Z.centre), self.Z.about(self.Z.centre)

    @cached_property
    def sqdist(self):
        """Squared Euclidean distances (n, m), at least 0, exactly 0 between a point and itself."""
        if self.X.sparse or self.Z.sparse:
            return self._sparse_sqdist()
        xp, centre = self.xp, self.Z.centre
        # norms first: they refuse what overflows, and added to each other leave the sum symmetric to the last bit
        size = self.X.sqnorms(centre)[:, None] + self.Z.sqnorms(centre)[None, :]
        s = _products(*self.centred)
        s *= -2
        s += size
        s = np.maximum(s, 0, out=s) if xp is _namespace.NUMPY else xp.clip(s, 0)
        size *= COINCIDENCE
        close = s < size
        if bool(xp.any(close)):
            self._recompute(s, *xp.nonzero(close))
        return self.fill_diagonal(s, 0.0)

    def _recompute(self, s, rows, columns):
        xp, (X, Z) = self.xp, self.centred
        for start in range(0, rows.shape[0], _PAIRS):
            stop = min(start + _PAIRS, rows.shape[0])
            i, j = rows[start:stop], columns[start:stop]
            difference = xp.take(X, i, axis=0) - xp.take(Z, j, axis=0)
            _namespace.put(s, i, j, xp.sum(difference * difference, axis=1))

    def fill_diagonal(self, values, own):
        """Set the values of each point with itself, where the tile knows which these are.

        Parameters
        ----------
        values : array (n, m)
            Changed in place.
        own : array (n,), or a number

        Returns
        -------
        array (n, m)
        """
        if self.offset is not None:
            rows = self.xp.arange(values.shape[0])
            _namespace.put(values, rows, rows + self.offset, own)
        return values

    def _sparse_sqdist(self):
        X, Z = self.X.points, self.Z.points
        size = self.X.sqnorms()[:, None] + self.Z.sqnorms()[None, :]
        s = np.maximum(size - 2 * _products(X, Z), 0)
        close = np.argwhere(s < _CANCELLATION * size)
        for part in np.array_split(close, max(1, len(close) // _PAIRS)):
            difference = _densify(X[part[:, 0]]) - _densify(Z[part[:, 1]])
            s[part[:, 0], part[:, 1]] = np.einsum("ij,ij->i", difference, difference)
        return self.fill_diagonal(s, 0.0)

    def radial(self, profile, parameters, order=0):
        """Return a profile, or its derivative, of the squared distances (n, m)."""
        return _apply(self.xp, profile, self.sqdist, parameters, order)

    def dot(self, profile, parameters, order=0):
        """Return a profile, or its derivative, of the inner products (n, m)."""
        return _apply(self.xp, profile, self.products, parameters, order)

    def coordinatewise(self, term):
        """Return sum_k term(x_k, z_k) (n, m), one coordinate after the other."""
        xp = self.xp
        X, Z = self.X.points, self.Z.points
        total = xp.zeros((X.shape[0], Z.shape[0]), dtype=X.dtype, device=getattr(X, "device", None))
        math = _namespace.Namespace(xp)
        # whoever takes the sums sees to it that they are finite
        with np.errstate(over="ignore"):
            for k in range(X.shape[1]):
                total += term(math, X[:, k][:, None], Z[:, k][None, :])
        return total


def evaluate(profile, s, parameters, order=0):
    """Return a profile of an array of scalars, silent where a derivative is infinite.

    Parameters
    ----------
    profile : function (xp, s, *parameters, order)
    s : array
    parameters : tuple of float
    order : int

    Returns
    -------
    array of the shape of s
    """
    return _apply(_namespace.of(s), profile, s, parameters, order)


def _apply(xp, profile, s, parameters, order):
    # a parameter beyond the type of s would turn infinite, and 0 times it NaN: the largest number does what it means
    largest = float(xp.finfo(s.dtype).max)
    parameters = [max(-largest, min(largest, value)) for value in parameters]
    # derivatives that are infinite at 0 say so by dividing by 0; overflow is reported by whoever checks finiteness
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        return profile(_namespace.Namespace(xp), s, *parameters, order=order)


def _products(X, Z):
    # the same array on both sides makes NumPy call syrk: half the work and exactly symmetric
    T = X @ Z.T
    return T.toarray() if sp.issparse(T) else T


def _densify(rows):
    return rows.toarray() if sp.issparse(rows) else rows
