"""Expansion: vectors of the feature space over shared points, with sums, products, inner products and distances."""

from __future__ import annotations

import functools
import operator
from typing import Any, ClassVar

import array_api_compat
import numpy as np

from mercer._common import (
    Array,
    ArrayLike,
    PointsLike,
    check_flag,
    check_instance,
    check_weights,
    shown,
)
from mercer._compute import html, pick_backend
from mercer._compute.devices import Place, in_main_memory, moved, place_of, refuse_mixed
from mercer._compute.memory import cut
from mercer._compute.points import (
    Points,
    as_columns,
    join_points,
    owned,
    owned_each,
    positions,
    refuse_overflow,
    same_points,
)
from mercer._compute.profile import NUMPY, namespace_of, put_values
from mercer._compute.threads import threaded_blas
from mercer._elsewhere import explain_class
from mercer.distributed import as_blocks
from mercer.kernels.base import (
    Kernel,
    admit_pair,
    check_pairwise,
    matched,
    require_gradient,
    require_kernel,
    require_resolved,
    validated,
)
from mercer.kernels.direct_sum import DirectSum, extends, parts_of, plain_rows, without_marks


@explain_class
class Expansion:
    """A block of m vectors of the feature space, psi_j = sum_i coef[i, j] phi(points[i]).

    ``features(kernel, X)`` is the block of the mapped data, with the identity as coefficients. Means, kernel principal
    components, normals of support vector machines, ridge solutions and denoised points are ``features(kernel, X) @ A``.

    Parameters
    ----------
    kernel : Kernel
        Resolved: with numbers for its bandwidths.
    points : points (n)
        Copied unless they are read-only, ``X.flags.writeable = False``, apart from objects and arrays of other
        libraries: the vectors are those of the points at this time. Rows on disk are read into memory.
    coef : array (n, m) or (n,), optional
        One column per vector; the identity by default, which is not stored.

    Raises
    ------
    ValueError
        When the kernel does not take the points, or the coefficients have another length or are not finite.
    TypeError
        When ``kernel`` is not a Kernel.

    Notes
    -----
    Evaluation costs n kernel values per new point, one tile in memory at a time. Squared distances below about 1e-14
    of the squared norms (1e-6 in float32) are rounding errors.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.array([[0.0], [1.0]])
    >>> psi = mc.Expansion(mc.Linear(), X, np.array([[1.0], [2.0]]))
    >>> psi(np.array([[3.0]]))
    array([[6.]])
    >>> psi.norms()
    array([2.])
    """

    prepared: Points

    __array_ufunc__: ClassVar[None] = None
    # loops would ask for psi[0] and end at once
    __iter__: ClassVar[None] = None

    def __init__(self, kernel: Kernel, points: PointsLike, coef: ArrayLike | None = None) -> None:
        require_kernel(kernel)
        self._kernel = kernel
        require_resolved(kernel)
        self.prepared = Points(owned(kernel.admit(owned_each(points), "X")))
        self._coef = None if coef is None else _coefficient_block(coef, self.prepared)

    @property
    def kernel(self) -> Kernel:
        """The kernel of the feature space."""
        return self._kernel

    @property
    def points(self) -> Any:
        """The shared points (n), read-only."""
        points = self.prepared.container
        if not isinstance(points, np.ndarray) or not points.flags.writeable:
            return points
        return self.prepared.memo("view", lambda: _frozen(points))

    @property
    def coef(self) -> Array | None:
        """The coefficients (n, m), read-only; None for the identity."""
        return self._coef

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of points and of vectors (n, m)."""
        return len(self.prepared), len(self)

    def __mercer_place__(self) -> Place | None:
        return place_of(self.prepared.container)

    def __mercer_move__(self, place: Place | None) -> Expansion:
        # other points than rows have no other place
        if len(getattr(self.points, "shape", ())) != 2 or hasattr(self.points, "tocsr"):
            return self
        return Expansion(self._kernel, moved(self.points, place), moved(self._coef, place))

    def __len__(self) -> int:
        return self.prepared.n if self._coef is None else self._coef.shape[1]

    def __repr__(self) -> str:
        n, m = self.shape
        return f"Expansion({self._kernel!r}, {m} vector{'s' * (m != 1)} over {n} point{'s' * (n != 1)})"

    def _repr_html_(self):
        n, m = self.shape
        coef = "the identity" if self._coef is None else f"{self._coef.dtype} ({n}, {m})"
        facts = [("kernel", self._kernel), ("vectors", m), ("points", n), ("coefficients", coef)]
        return html.table("Expansion", facts)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        raise TypeError(
            "an Expansion is not an array; psi(X) are its values at points, psi.coef its coefficients, "
            "and kernel(X, Z) the inner products of features."
        )

    def __call__(self, X: PointsLike) -> Any:
        """Return <phi(x), psi_j> for every new point and vector.

        Parameters
        ----------
        X : points (n_test)
            Rows on disk are read block by block; of Dask arrays the values are Dask arrays.

        Returns
        -------
        array (n_test, m)
        """
        if type(X) is np.ndarray:
            return self._values(X)
        # blocks have no names of columns
        blocks = None if self._kernel.tags.points == "tables" else as_blocks(X)
        return self._values(X) if blocks is None else blocks.apply(Expansion._values, self)

    def inner(self, chi: Expansion) -> Array:
        """Return the inner products <psi_i, chi_j> with the vectors of another block.

        Parameters
        ----------
        chi : Expansion
            p vectors with the same kernel.

        Returns
        -------
        array (m, p)
        """
        if chi is not self:
            require_same_kernel(self, chi)
        if chi is self or same_points(self.prepared.container, chi.prepared.container):
            X = Z = self.prepared
        else:
            X, Z = admit_pair(self._kernel, self.points, chi.points)
        values = _evaluate(chi, X, Z)
        return values if self._coef is None else _weigh_rows(self._coef, values)

    def norms(self) -> Array:
        """Return the norms |psi_j| (m,)."""
        xp = self.prepared.xp
        found = squares(self)
        # rounding and indefinite kernels give negative squares
        return xp.sqrt(xp.where(found > 0, found, xp.zeros_like(found)))

    def gradient(self, X: PointsLike) -> Array:
        """Return the gradients of <phi(x), psi_j> with respect to x, summed in float64.

        Parameters
        ----------
        X : rows (n_test, d)

        Returns
        -------
        array (n_test, m, d)

        Raises
        ------
        TypeError
            When the kernel has no gradient.
        """
        if parts_of(self._kernel, self.prepared):
            return functools.reduce(operator.add, [part.gradient(X) for part in summands(self)])
        require_gradient(self._kernel)
        X, Z = self._admit(X)
        xp = X.xp
        coef = xp.astype(self.dense_coef(), xp.float64)
        backend = pick_backend(self._kernel, X, Z)

        def weights(j):
            return lambda rows: xp.broadcast_to(coef[:, j], (rows.stop - rows.start, len(Z)))

        if not len(self):
            return X.full((len(X), 0, X.container.shape[1]), 0)
        with np.errstate(over="ignore", invalid="ignore"):
            columns = [backend.vjp(self._kernel, X, Z, weights(j)) for j in range(len(self))]
            gradients = xp.astype(xp.stack(columns, axis=1), X.container.dtype, copy=False)
        return refuse_overflow(gradients, "coef", coef)

    def __matmul__(self, C: Array) -> Expansion:
        """Return the block of the combinations sum_i C[i, j] psi_i; a vector C gives a block of one vector."""
        C = _columns(C, self.prepared, "C")
        m = len(self)
        if C.shape[0] != m:
            raise ValueError(
                f"C must have {m} rows in psi @ C, one for each vector; got shape {tuple(C.shape)}."
            )
        if self._coef is None:
            return over_points(self._kernel, self.prepared, owned(C))
        return self._over(self._coef @ C)

    def __add__(self, other: Expansion) -> Expansion:
        return self._combine(other, 1.0)

    def __sub__(self, other: Expansion) -> Expansion:
        return self._combine(other, -1.0)

    def __neg__(self) -> Expansion:
        return self * -1.0

    def __mul__(self, factor: Array | float) -> Expansion:
        """Return the vectors times a number, or vector j times factor[j]."""
        if factor is None or isinstance(factor, (str, bytes)):
            return NotImplemented
        shape = tuple(np.shape(factor))
        m = len(self)
        # a column would multiply points
        if len(shape) > 1 or (shape not in ((), (1,), (m,)) and m != 1):
            raise ValueError(
                f"factor must be a number or have shape ({m},), one number for each vector, in psi * factor; got shape "
                f"{shape}."
            )
        return self._over(self.dense_coef() * factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Array | float) -> Expansion:
        return self * (1.0 / divisor)

    def __getitem__(self, index: tuple[slice, Any]) -> Expansion:
        """Return some of the vectors, ``psi[:, j]``; a number j gives a block of one vector."""
        if not (isinstance(index, tuple) and len(index) == 2 and index[0] == slice(None)):
            raise IndexError(
                "an Expansion must be indexed by psi[:, j]; its vectors are the columns."
            )
        j = in_main_memory(index[1])
        j = [j] if isinstance(j, (int, np.integer)) else j
        points = self.prepared
        if self._coef is None and not isinstance(j, slice):
            # features of some points do not need the other points
            taken = positions(j, len(self))
            if not len(taken):
                # an expansion has at least one point
                return self @ points.full((len(self), 0), 0)
            return over_points(self._kernel, points.take(taken))
        coef = self.dense_coef()
        if isinstance(coef, np.ndarray) or isinstance(j, slice):
            return self._over(coef[:, j])
        places = points.xp.asarray(positions(j, len(self)), device=points.device)
        return self._over(points.xp.take(coef, places, axis=1))

    def _over(self, coef):
        """Return another block over the same points."""
        return over_points(self._kernel, self.prepared, _coefficient_block(coef, self.prepared))

    def _values(self, X):
        """Return the values at points in memory."""
        return _evaluate(self, *self._admit(X))

    def _admit(self, X):
        """Return new points and the shared points in one type, with what was computed of the shared points."""
        points = self.prepared.container
        if same_points(X, points):
            return self.prepared, self.prepared
        return matched(self._kernel, self._kernel.admit(X, "X"), self.prepared)

    def dense_coef(self) -> Array:
        """Return the coefficients (n, m), also where they are the identity."""
        if self._coef is not None:
            return self._coef
        points = self.prepared
        return points.xp.eye(len(points), dtype=points.dtype, device=points.device)

    def _combine(self, other, sign):
        if not isinstance(other, Expansion):
            return NotImplemented
        require_same_kernel(self, other)
        refuse_mixed([place_of(self), place_of(other)])
        m = len(self)
        p = len(other)
        if m != p and 1 not in (m, p):
            raise ValueError(
                f"blocks must have equally many vectors, or one, to be added; these have {m} and {p}."
            )
        xp = self.prepared.xp
        width = m if p == 1 else p
        left, right = (
            xp.broadcast_to(b.dense_coef(), (len(b.prepared), width)) for b in (self, other)
        )
        if same_points(self.prepared.container, other.prepared.container):
            return self._over(left + sign * right)
        points = join_points([self.prepared.container, other.prepared.container])
        return Expansion(self._kernel, points, join_points([left, sign * right]))


def values_at(psi: Expansion, X: PointsLike) -> Array:
    """Return the values of vectors at points that a model has validated."""
    return _evaluate(psi, *matched(psi.kernel, validated(psi.kernel, X), psi.prepared))


def features(kernel: Kernel, X: PointsLike) -> Expansion:
    """Return the features of data, the block of phi(x_1), ..., phi(x_n).

    Parameters
    ----------
    kernel : Kernel
        Resolved: with numbers for its bandwidths.
    X : points (n)

    Returns
    -------
    Expansion
        n vectors, ``coef`` None.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> phi = mc.features(mc.Gaussian(1.0), np.zeros((3, 2)))
    >>> phi.shape, phi.coef is None
    ((3, 3), True)
    """
    return Expansion(kernel, X)


def summands(psi: Expansion) -> list[Expansion]:
    """Return expansions over kernels of rows of data whose sum psi is at data: psi itself unless it has marks."""
    found = parts_of(psi.kernel, psi.prepared)
    coef = psi.dense_coef() if found else None
    return [over_points(part.kernel, part.points, coef[part.places, :]) for part in found] or [psi]


def rows_of(psi: Expansion) -> Array:
    """Return the points of an expansion without marks."""
    return without_marks(psi.kernel, psi.points)


def embedded(psi: Expansion, kernel: Kernel) -> Expansion:
    """Return psi over a kernel that has the features of its kernel and more, or as it is for any other kernel."""
    return Expansion(kernel, psi.points, psi.coef) if extends(kernel, psi.kernel) else psi


def direct_sum(*expansions: Expansion) -> Expansion:
    r"""Return the sum of expansions over different kernels as one expansion, over a `mercer.DirectSum` of the kernels.

    .. math:: \langle \phi(x), \psi \rangle = \sum_j \langle \phi_j(x), \psi_j \rangle, \qquad
              \|\psi\|^2 = \sum_j \|\psi_j\|^2

    Parameters
    ----------
    *expansions : Expansion
        Blocks of equally many vectors over rows of numbers, one or more.

    Returns
    -------
    Expansion
        Over the points of all, with the number of the block in one more column; of one expansion itself.

    Raises
    ------
    ValueError
        For different numbers of vectors or of columns.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.expansion import direct_sum
    >>> X = np.array([[1.0], [2.0]])
    >>> psi = direct_sum(mc.mean(mc.features(mc.Linear(), X)), mc.mean(mc.features(mc.Gaussian(1.0), X)))
    >>> psi(np.array([[2.0]])).round(4), psi.points
    (array([[3.6839]]), array([[1., 0.],
           [2., 0.],
           [1., 1.],
           [2., 1.]]))
    """
    for psi in expansions:
        require_expansion("expansions", psi)
    parts = [part for psi in expansions for part in summands(psi)]
    if len(parts) == 1:
        return expansions[0]
    shapes = {(len(part), part.points.shape[1]) for part in parts}
    if len(shapes) > 1:
        raise ValueError(
            f"expansions must have equally many vectors and columns, got {sorted(shapes)}."
        )
    kernel = DirectSum(*(part.kernel for part in parts), n_features=parts[0].points.shape[1])
    points = [
        np.column_stack([part.points, np.full(part.shape[0], j, part.points.dtype)])
        for j, part in enumerate(parts)
    ]
    return Expansion(
        kernel,
        np.concatenate(points),
        np.concatenate([part.dense_coef() for part in parts]),
    )


def with_intercept(values: Array, intercept: Array) -> Array:
    """Return values plus an intercept in their type: of float32 kernel values of a matrix, coefficients are float64."""
    if type(intercept) is np.ndarray:
        return values + intercept.astype(values.dtype, copy=False)
    return values + namespace_of(intercept).astype(intercept, values.dtype, copy=False)


def squares(psi: Expansion) -> Array:
    """Return <psi_j, psi_j> (m,), which an indefinite kernel makes negative."""
    if psi.coef is None:
        return psi.kernel.diagonal(psi.prepared)
    xp = psi.prepared.xp
    coef = psi.dense_coef()
    values = _evaluate(psi, psi.prepared, psi.prepared)
    with np.errstate(over="ignore"):
        found = refuse_overflow(xp.sum(coef * values, axis=0, dtype=xp.float64), "coef", coef)
    return xp.astype(found, values.dtype)


def mean(phi: Expansion, weights: ArrayLike | None = None) -> Expansion:
    """Return the mean of the vectors of a block, sum_j w_j psi_j / sum_j w_j.

    Parameters
    ----------
    phi : Expansion
        m vectors.
    weights : array (m,), optional
        Nonnegative, not all 0; equal by default.

    Returns
    -------
    Expansion
        One vector, over the same points.

    Raises
    ------
    ValueError
        If a weight is negative or not finite, all are 0, or their sum is infinite.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> phi = mc.features(mc.Linear(), np.array([[1.0], [3.0]]))
    >>> mc.mean(phi)(np.array([[1.0]])), mc.mean(phi, weights=[3, 1])(np.array([[1.0]]))
    (array([[2.]]), array([[1.5]]))
    """
    require_vectors("phi", phi)
    weights = check_weights("weights", in_main_memory(weights), len(phi))
    points = phi.prepared
    return phi @ points.xp.asarray(
        (weights / weights.sum())[:, None], dtype=points.dtype, device=points.device
    )


def sqdist(psi: Expansion, chi: Expansion, paired: bool = False) -> Array:
    """Return squared distances |psi_i - chi_j|^2 in feature space.

    Parameters
    ----------
    psi, chi : Expansion
        m and p vectors with the same kernel; a Gaussian kernel and a ``VariableWidthGaussian`` of its space are one, as
        are a ``DirectSum`` with blocks and the sum of its kernels.
    paired : bool
        Return only the distances of psi_i and chi_i.

    Returns
    -------
    array (m, p), or (m,) when paired
        At least 0, and 0 between a vector and itself when psi is chi. Computed as |psi|^2 + |chi|^2 - 2 <psi, chi>:
        values below about 1e-14 |psi|^2 (1e-6 in float32) are rounding errors.

    Raises
    ------
    ValueError
        For other kernels, or when paired for other numbers of vectors.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> phi = mc.features(mc.Linear(), np.array([[0.0], [3.0]]))
    >>> mc.sqdist(phi, phi)
    array([[0., 9.],
           [9., 0.]])
    """
    require_expansion("psi", psi)
    require_expansion("chi", chi)
    chi = embedded(chi, psi.kernel)
    psi = embedded(psi, chi.kernel)
    require_same_kernel(psi, chi)
    check_flag("paired", paired)
    xp = psi.prepared.xp
    if paired:
        if len(psi) != len(chi):
            raise ValueError(
                f"psi and chi must have equally many vectors when paired; got {len(psi)} and {len(chi)}."
            )
        if psi.coef is None and chi.coef is None:
            # from diagonal blocks, without n^2 values
            parts = (np.arange(len(psi))[rows] for rows in cut(len(psi), 256))
            blocks = (sqdist(psi[:, rows], chi[:, rows]) for rows in parts)
            return join_points([xp.linalg.diagonal(block) for block in blocks])
        return (psi - chi).norms() ** 2
    found = squares(psi)[:, None] + squares(chi)[None, :] - 2 * psi.inner(chi)
    found = xp.where(found > 0, found, xp.zeros_like(found))
    if psi is chi:
        rows = xp.arange(len(psi), device=array_api_compat.device(found))
        put_values(found, rows, rows, 0.0)
    return found


def mmd(phi: Expansion, chi: Expansion) -> float:
    """Return the maximum mean discrepancy |mean(phi) - mean(chi)|, biased and not squared.

    Parameters
    ----------
    phi, chi : Expansion
        Features of two samples, m and p vectors.

    Returns
    -------
    float

    References
    ----------
    Gretton, Borgwardt, Rasch, Schoelkopf, Smola, *A kernel two-sample test*, JMLR 13 (2012), eq. (5).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> k = mc.Linear()
    >>> mc.mmd(mc.features(k, np.array([[0.0], [2.0]])), mc.features(k, np.array([[4.0]])))
    3.0
    """
    require_same_kernel(phi, chi, ("phi", "chi"))
    require_vectors("chi", chi)
    require_symmetric("phi", phi)
    return float((mean(phi) - mean(chi)).norms()[0])


def _evaluate(psi, X, Z):
    """Return <phi(x), psi_j> for admitted points X; Z are the admitted points of psi."""
    kernel = psi.kernel
    coef = psi.coef
    backend = pick_backend(kernel, X, Z)
    if coef is None:
        return backend.dense(kernel, X, Z)
    if (rows := plain_rows(kernel, X)) is not None:
        return functools.reduce(
            operator.add, [_evaluate(part, rows, part.prepared) for part in summands(psi)]
        )
    with np.errstate(over="ignore", invalid="ignore"):
        return refuse_overflow(backend.matmul(kernel, X, Z, coef), "coef", coef)


def over_points(kernel: Kernel, points: Points, coef: Array | None = None) -> Expansion:
    """Return an expansion over points and a block of coefficients that are already validated."""
    psi = object.__new__(Expansion)
    psi._kernel = kernel
    psi.prepared = points
    psi._coef = coef
    return psi


def _coefficient_block(coef, points):
    """Return coefficients as a read-only block (n, m) of finite numbers, one row per point."""
    coef = _columns(coef, points, "coef")
    if coef.shape[0] != len(points):
        raise ValueError(
            f"coef must have {len(points)} rows, one for each point; got shape {tuple(coef.shape)}."
        )
    return owned(coef)


def _columns(C, points, name):
    """Return finite numbers as a floating block (n, m); a vector becomes one column, a list an array of the points."""
    given = type(C) is np.ndarray or array_api_compat.is_array_api_obj(C)
    C = as_columns(C, name)
    if not (type(C) is np.ndarray and points.xp is NUMPY):
        place = place_of(points.container)
        if not (given or place is None):
            C = points.xp.astype(place.put(C), points.dtype)
        refuse_mixed([place_of(C), place])
    if C.ndim not in (1, 2):
        raise ValueError(f"{name} must have shape (n,) or (n, m), got {tuple(C.shape)}.")
    return C[:, None] if C.ndim == 1 else C


def _frozen(array):
    """Return a read-only view."""
    view = array.view()
    view.flags.writeable = False
    return view


def _weigh_rows(coef, values):
    """Return coef' values, summed in float64, in the type of the values."""
    xp = namespace_of(values)
    with threaded_blas(2 * coef.shape[0] * coef.shape[1] * values.shape[1]):
        product = xp.astype(coef, xp.float64, copy=False).T @ xp.astype(
            values, xp.float64, copy=False
        )
    return xp.astype(product, values.dtype, copy=False)


def require_expansion(name: str, value: Expansion) -> None:
    """Raise a TypeError unless an argument is an Expansion."""
    example = (
        "an Expansion, such as mercer.features(kernel, X), or reconstruct(scores) of a KernelPCA, which "
        "projects points by fit_transform(X)"
    )
    check_instance(name, value, Expansion, example)


def require_vectors(name: str, value: Expansion) -> None:
    """Raise unless an argument is an Expansion of at least one vector."""
    require_expansion(name, value)
    if not len(value):
        raise ValueError(
            f"{name} must have at least one vector, got 0 vectors over {value.shape[0]} points."
        )


def require_symmetric(name: str, value: Expansion) -> None:
    """Raise unless an argument is an Expansion of vectors whose inner products are symmetric, as some of them show."""
    require_vectors(name, value)
    check_pairwise(value.kernel, value.points)


def require_same_kernel(
    psi: Expansion, chi: Expansion, names: tuple[str, str] = ("psi", "chi")
) -> None:
    """Raise unless both are expansions, with equal kernels."""
    require_expansion(names[0], psi)
    require_expansion(names[1], chi)
    if chi.kernel is not psi.kernel and chi.kernel != psi.kernel:
        raise ValueError(
            f"expansions must have the same kernel to be combined; these have {shown(psi.kernel)} and "
            f"{shown(chi.kernel)}."
        )
