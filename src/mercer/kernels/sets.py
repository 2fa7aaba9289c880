"""Kernels on sets of hashable members, on multisets, and on bags of vectors."""

from collections import Counter
from collections.abc import Mapping
from functools import cached_property, partial
from numbers import Real

import numpy as np
import scipy.sparse as sp

from mercer._common import Array, PointsLike, shown
from mercer._compute.array import tiles
from mercer._compute.compile import compiled
from mercer._compute.objects import holds_rows
from mercer._compute.points import Points, as_rows
from mercer.kernels.base import kernel_class, storable_kernel
from mercer.kernels.structured import (
    Counting,
    Features,
    Joined,
    OverVectors,
    Structured,
    as_members,
    count_features,
    csr_arrays,
    ends_of,
    fill_pairs,
    inner_products,
    weigh_features,
)

# Largest float64.
_LARGEST = float(np.finfo(np.float64).max)

__all__ = ["MeanMap", "MinMax", "Overlap", "Tanimoto"]


class _Sets:
    """Mixin of kernels on sets: validation."""

    def _checked(self, point, name):
        if isinstance(point, frozenset):
            return point
        wanted = "a set, a frozenset, or a list of distinct hashable members"
        point = as_members(point, name, (set, list, tuple), wanted)
        repeated = next((member for member, count in Counter(point).items() if count > 1), None)
        if repeated is not None:
            raise ValueError(
                f"{name} has the member {shown(repeated)} twice; give a set, or use MinMax for multisets; rows of 0 "
                "and 1 are an array, for Tanimoto or Linear."
            )
        return frozenset(point)

    def _compute_features(self, points):
        return count_features(points)


@storable_kernel
class Overlap(_Sets, Counting):
    """Overlap kernel of sets, the number of common members, |A n B|.

    Examples
    --------
    >>> import mercer as mc
    >>> mc.sets.Overlap()([{"a", "b"}, {"b", "c"}, set()])
    array([[2., 1., 0.],
           [1., 2., 0.],
           [0., 0., 0.]])
    """


@kernel_class
class _Ratio(Structured):
    """Base class of sum_a min(x_a, z_a) / sum_a max(x_a, z_a), 1 where all are 0, of multisets or nonnegative rows."""

    _tagged = {
        "points": "rows or objects",
        "sparse": True,
        "nonnegative": True,
    }

    def admit(self, points: PointsLike, name: str) -> PointsLike:
        if not holds_rows(points):
            return super().admit(points, name)
        rows = as_rows(points, name)
        values = rows.data if sp.issparse(rows) else rows
        if values.size and values.min() < 0:
            raise ValueError(
                f"{name} has the number {values.min():.6g}, but must be at least 0 for {type(self).__name__} of rows; "
                "shift or clip it, or use a kernel such as Gaussian."
            )
        return rows

    def _both(self, X, Z):
        return (
            (self._features(X), self._features(Z))
            if holds_rows(X.container)
            else super()._both(X, Z)
        )

    def _features(self, points):
        rows = points.container
        if not holds_rows(rows):
            return super()._features(points)
        matrix = sp.csr_array(rows, dtype=np.float64)
        matrix.sort_indices()
        return Features(matrix, range(matrix.shape[1]))

    def _values(self, tile, X, Z):
        # halves, since the sum of two sizes may overflow
        common = self._common(tile, X, Z) / 2
        left, right = (np.asarray(each.matrix.sum(axis=1)).ravel() / 2 for each in (X, Z))
        union = left[:, None] + right[None, :] - common
        empty = union == 0
        union[empty] = common[empty] = 1
        return tile.fill_diagonal(common / union, 1.0).astype(tile.X.dtype, copy=False)

    def _common(self, tile, X, Z):
        """Return the sums of minima of two blocks (n, m), which are products of 0 and 1."""
        if (X.matrix.data == 1).all() and (Z.matrix.data == 1).all():
            return inner_products(X, Z)
        rows = X.in_columns_of(Z)
        arrays = csr_arrays(rows), csr_arrays(Z.matrix)
        work = 2 * (rows.nnz / len(X) + Z.matrix.nnz / len(Z))
        return fill_pairs(tile, work, partial(_fill_minima, *arrays))

    def diagonal(self, points: Points) -> Array:
        return np.ones(len(points), points.dtype)


@storable_kernel
class Tanimoto(_Sets, _Ratio):
    """Tanimoto (Jaccard) kernel of sets, |A n B| / |A u B|, with 1 for two empty sets, and of rows.

    Rows of numbers of at least 0, dense or sparse, such as fingerprints of molecules, have the value sum_a min(x_a,
    z_a) / sum_a max(x_a, z_a). A list is a set of members, also in a list of lists.

    References
    ----------
    Ralaivola, Swamidass, Saigo, Baldi, *Graph kernels for chemical informatics*, Neural Networks 18 (2005).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.sets.Tanimoto()([{"a", "b"}, {"b", "c", "d"}, set()])
    array([[1.  , 0.25, 0.  ],
           [0.25, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    >>> mc.sets.Tanimoto()(np.array([[1, 1, 0, 0], [0, 1, 1, 1]])).round(2)
    array([[1.  , 0.25],
           [0.25, 1.  ]])
    """


@storable_kernel
class MinMax(_Ratio):
    """Min-max kernel of multisets or rows, sum_a min(x_a, z_a) / sum_a max(x_a, z_a), with 1 for two empty ones.

    A multiset is a mapping from members to weights of at least 0, such as ``collections.Counter``, or a list of
    members, which may repeat, also in a list of lists. Rows are an array of numbers of at least 0, or sparse. For sets
    it is the Tanimoto kernel.

    References
    ----------
    Ralaivola, Swamidass, Saigo, Baldi, *Graph kernels for chemical informatics*, Neural Networks 18 (2005).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.sets.MinMax()([{"a": 2, "b": 1}, ["a", "b", "b"]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    >>> mc.sets.MinMax()(np.array([[2, 1], [1, 2]]))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    def _checked(self, point, name):
        wanted = "a mapping from members to weights, a set or a list of members"
        point = as_members(point, name, (Mapping, set, frozenset, list, tuple), wanted)
        if not isinstance(point, Mapping):
            return dict(Counter(point))
        for member, weight in point.items():
            # a bound beyond float32 would overflow beside a number of that type
            number = weight.item() if isinstance(weight, np.generic) else weight
            if not (isinstance(number, Real) and 0 <= number <= _LARGEST):
                raise ValueError(
                    f"{name}[{shown(member)}] = {shown(weight)} must be a number, at least 0 and finite."
                )
        if sum(map(float, point.values())) > _LARGEST:
            raise ValueError(
                f"{name} has weights whose sum overflows float64; divide all weights by a constant."
            )
        return dict(point)

    def _compute_features(self, points):
        return weigh_features(points)


@compiled
def _fill_minima(X, Z, i0, j0, out):
    """Write the sums of minima of pairs of sparse rows with sorted columns to a block."""
    x_ptr, x_columns, x_values = X
    z_ptr, z_columns, z_values = Z
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            a = x_ptr[i0 + i]
            b = z_ptr[j0 + j]
            total = 0.0
            while a < x_ptr[i0 + i + 1] and b < z_ptr[j0 + j + 1]:
                if x_columns[a] == z_columns[b]:
                    total += min(x_values[a], z_values[b])
                    a += 1
                    b += 1
                elif x_columns[a] < z_columns[b]:
                    a += 1
                else:
                    b += 1
            out[i, j] = total


@storable_kernel
class MeanMap(OverVectors):
    """Inner product of mean embeddings of bags of vectors, the mean of kernel(a, b) over all a in A, b in B.

    An empty bag, an array (0, d), has the embedding 0.

    Parameters
    ----------
    kernel : Kernel
        On rows of numbers. ``resolve`` replaces its rules by their numbers on the rows of all bags.

    References
    ----------
    Muandet, Fukumizu, Sriperumbudur, Schoelkopf, *Kernel mean embedding of distributions*, Foundations and Trends in
    Machine Learning 10 (2017).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> bags = [np.array([[0.0, 2.0], [2.0, 0.0]]), np.array([[3.0, 1.0]])]
    >>> mc.sets.MeanMap(mc.Linear())(bags)
    array([[ 2.,  4.],
           [ 4., 10.]])
    """

    _remedy = "the vectors of all bags must have equally many features"

    def _vectors(self, point):
        return point

    def _checked(self, point, name):
        if isinstance(point, np.ndarray) and point.ndim == 2 and not len(point) and point.shape[1]:
            return np.empty(point.shape)
        try:
            rows = as_rows(point, name, np.float64)
        except (TypeError, ValueError) as error:
            error.add_note(
                f"{name} is of type {type(point).__name__}; a bag is an array of vectors, (m, d)."
            )
            raise
        return self.kernel.admit(rows.toarray() if sp.issparse(rows) else rows.copy(), name)

    def _kind(self, point):
        return f"a bag of vectors with {point.shape[1]} features"

    def _compute_features(self, points):
        return _Bags(np.concatenate(points), ends_of(points))

    def _values(self, tile, X, Z):
        out = np.zeros((len(tile.X), len(tile.Z)))
        if not len(Z.values):
            # kernels of rows need at least one
            return out
        for rows, part in tiles(X.rows, Z.rows):
            out += X.average[:, rows] @ (self.kernel.evaluate(part) @ Z.average.T)
        return (out + out.T) / 2 if tile.X is tile.Z else out


class _Bags(Joined):
    """Vectors of all bags."""

    @cached_property
    def rows(self) -> Points:
        """The vectors, as points."""
        return Points(self.values)

    @cached_property
    def average(self) -> sp.csr_array:
        """Sparse matrix (n, rows) of the mean of each bag."""
        return sp.csr_array(
            (
                np.repeat(1 / np.maximum(self.sizes, 1), self.sizes),
                np.arange(len(self.values)),
                self.ends,
            )
        )
