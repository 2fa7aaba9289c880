"""Tile: rows of X against Z, with the inner products and squared distances of all pairs.

A kernel takes a tile and returns values. The parts of a composite kernel share the scalars, which are computed once.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Self

import array_api_compat
import numpy as np
import scipy.sparse as sp

from mercer._common import Array
from mercer._compute import coordinates, windows
from mercer._compute.costs import CLOSE_PAIRS
from mercer._compute.distances import CLOSE_SHARES
from mercer._compute.memory import blocks
from mercer._compute.points import Points, dense, sum_squares, without_empty_columns
from mercer._compute.profile import (
    NUMPY,
    Namespace,
    check_range,
    evaluate_profile,
    namespace_of,
    put_values,
)
from mercer._compute.threads import threaded_blas


class Tile:
    """Pairs of the n points of X and the m points of Z.

    Parameters
    ----------
    X, Z : Points
    offset : int, optional
        Points 0, 1, ... of X are points ``offset``, ``offset + 1``, ... of Z: such pairs have the distance 0.
    """

    def __init__(self, X: Points, Z: Points, offset: int | None = None) -> None:
        self.X = X
        self.Z = Z
        self.offset = offset

    def mapped(self, function: Callable[[Points], Points]) -> Self:
        """Return the tile of other points, one for each, that a function returns for X and for Z."""
        return type(self)(function(self.X), function(self.Z), self.offset)

    @property
    def xp(self) -> Any:
        """Array namespace of the points."""
        return namespace_of(self.X.container, self.Z.container)

    @cached_property
    def products(self) -> Array:
        """Inner products <x, z> (n, m)."""
        return _products(self.X.container, self.Z.container)

    @cached_property
    def centred(self) -> tuple[Array, Array]:
        """Rows of X and of Z minus the mean of Z, with smaller rounding errors; sparse rows stay as they are."""
        centre = None if self.X.sparse else self.Z.centre
        return self.X.about(centre), self.Z.about(centre)

    @cached_property
    def sqdist(self) -> Array:
        """Squared distances |x - z|^2 (n, m), at least 0, exactly 0 between a point and itself."""
        xp = self.xp
        sparse = self.X.sparse or self.Z.sparse
        centre = None if self.X.sparse else self.Z.centre
        # sums of norms first: they are symmetric to the last bit, and sqnorms refuses an overflow
        size = self.X.sqnorms(centre)[:, None] + self.Z.sqnorms(centre)[None, :]
        s = _products(*self.centred)
        s *= -2
        s += size
        s = np.maximum(s, 0, out=s) if xp is NUMPY else xp.clip(s, 0)
        # a larger share of sparse rows, which are not centred
        size *= 1e-3 if sparse else CLOSE_SHARES[xp.finfo(s.dtype).bits]
        # that of a point and itself is known
        close = s < self.fill_diagonal(size, 0.0)
        if bool(xp.any(close)):
            if (
                xp is NUMPY
                and not sparse
                and s.dtype == np.float32
                and np.count_nonzero(close) > CLOSE_PAIRS * s.size
            ):
                return self._wide_sqdist()
            # rows minus the centre may have fewer digits
            X = self.X.container
            Z = self.Z.container
            rows, columns = xp.nonzero(close)
            for part in blocks(rows.shape[0], max(_stored(X), _stored(Z))):
                i = rows[part]
                j = columns[part]
                put_values(s, i, j, _squared_differences(X, i, Z, j))
        return self.fill_diagonal(s, 0.0)

    def _wide_sqdist(self):
        """Return the squared distances, computed in float64."""
        X, Z = (Points(points.container.astype(np.float64)) for points in (self.X, self.Z))
        return Tile(X, X if self.Z is self.X else Z, self.offset).sqdist.astype(np.float32)

    def fill_diagonal(self, values: Array, own: float | Array) -> Array:
        """Set the values (n, m) of each point with itself to ``own``, a number or an array (n,), in place."""
        if self.offset is not None:
            rows = self.xp.arange(values.shape[0], device=array_api_compat.device(values))
            put_values(values, rows, rows + self.offset, own)
        return values

    def radial(self, kernel: object, order: int = 0) -> Array:
        """Return the kernel's profile, or its derivative, of the squared distances (n, m)."""
        return evaluate_profile(kernel, self.sqdist, order)

    def dot(self, kernel: object, order: int = 0) -> Array:
        """Return the kernel's profile, or its derivative, of the inner products (n, m); refuse an overflow first."""
        if order == 0:
            check_range(kernel, self.X, self.Z)
        return evaluate_profile(kernel, self.products, order)

    def local_mean(self, kernel: object, patches: windows.Windows) -> Array:
        """Return the mean (n, m) of the kernel's profile over all patches of images; in one pass for NumPy arrays."""
        if self.xp is NUMPY:
            return windows.means(kernel, patches, self.X.contiguous, self.Z.contiguous)
        return self.xp.concat(
            [self.xp.mean(values, axis=2) for _, values in self._local(kernel, patches)]
        )

    def local_gradient(self, kernel: object, patches: windows.Windows, W: Array) -> Array:
        """Return the gradient of sum_ij W_ij k(x_i, z_j) in x_i for the kernel of ``local_mean``."""
        if self.xp is NUMPY:
            return windows.gradients(kernel, patches, self.X.contiguous, self.Z.contiguous, W)
        xp = self.xp
        X = self.X.container
        Z = self.Z.container
        parts = []
        matrix = self._patches(patches)
        for rows, slopes in self._local(kernel, patches, order=1):
            slopes = xp.where(xp.isfinite(slopes), slopes, xp.zeros_like(slopes))
            # the weights of patches are symmetric
            pull = (W[rows, :][:, :, None] * slopes) @ matrix
            parts.append(
                xp.sum(
                    pull * (2 * (X[rows, :][:, None, :] - Z) if kernel.scalar == "radial" else Z),
                    axis=1,
                )
            )
        return xp.concat(parts) / matrix.shape[0]

    def _local(
        self, kernel: object, patches: windows.Windows, order: int = 0
    ) -> Iterator[tuple[slice, Array]]:
        """Yield slices of images and the profile (n, m, d), or its derivative, at the scalars of all patches.

        Squared distances are sums of squared differences: norms of rows would round them.
        """
        X = self.X.container
        Z = self.Z.container
        matrix = self._patches(patches)
        for rows in blocks(X.shape[0], Z.shape[0] * Z.shape[1]):
            images = X[rows, :][:, None, :]
            terms = (images - Z) ** 2 if kernel.scalar == "radial" else images * Z
            yield rows, evaluate_profile(kernel, terms @ matrix, order)

    def _patches(self, patches):
        """Return the weights (d, d) of the pixels in each patch of images."""
        X = self.X.container
        return self.xp.asarray(patches.matrix, dtype=X.dtype, device=array_api_compat.device(X))

    def coordinatewise(self, kernel: Any, order: int = 0) -> Array:
        """Return the kernel's profile, or its derivative, of sum_k term(x_k, z_k) (n, m); in loops for NumPy arrays."""
        xp = self.xp
        if xp is NUMPY:
            return coordinates.values(kernel, self.X.contiguous, self.Z.contiguous, order)
        X = self.X.container
        Z = self.Z.container
        total = self.X.full((len(self.X), len(self.Z)), 0.0)
        math = Namespace(xp)
        for start in range(0, X.shape[1], coordinates.TERMS):
            part = xp.zeros_like(total)
            for k in range(start, min(start + coordinates.TERMS, X.shape[1])):
                part += kernel.term(math, X[:, k][:, None], Z[:, k][None, :])
            total += part
        return evaluate_profile(kernel, total, order)

    def coordinatewise_gradient(self, term: Callable[..., Array], W: Array) -> Array:
        """Return the gradient of sum_ij W_ij sum_k term(x_ik, z_jk) in every x_i (n, d)."""
        xp = self.xp
        if xp is NUMPY:
            return coordinates.gradient(term, self.X.contiguous, self.Z.contiguous, W)
        math = Namespace(xp)
        X = self.X.container
        Z = self.Z.container
        columns = [
            xp.sum(W * term(math, X[:, k][:, None], Z[:, k][None, :], order=1), axis=1)
            for k in range(X.shape[1])
        ]
        return xp.stack(columns, axis=1)


def _products(X, Z):
    if sp.issparse(X) and sp.issparse(Z):
        X, Z = without_empty_columns(X, Z)
    # for one array X = Z NumPy calls syrk: half the work, exactly symmetric
    with threaded_blas(2 * X.shape[0] * Z.shape[0] * X.shape[1]):
        T = X @ Z.T
    return T.toarray() if sp.issparse(T) else T


def _stored(rows):
    """Return the mean number of stored numbers of a row, at least 1."""
    return max(1, rows.nnz // rows.shape[0]) if sp.issparse(rows) else rows.shape[1]


def _squared_differences(X, i, Z, j):
    """Return |x_i - z_j|^2 of pairs of rows (n,), of which one set of rows may be dense."""
    sparse = sp.issparse(X), sp.issparse(Z)
    if all(sparse):
        # a dense copy of rows with many columns may not fit into memory
        return np.asarray((X[i] - Z[j]).power(2).sum(axis=1)).ravel()
    if any(sparse):
        return sum_squares(dense(X[i]) - dense(Z[j]))
    xp = namespace_of(X)
    # the difference takes the memory of the rows, which new names would hold
    difference = xp.take(X, i, axis=0) - xp.take(Z, j, axis=0)
    return xp.sum(difference * difference, axis=1)
