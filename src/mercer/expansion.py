"""Expansion: a block of m vectors of the feature space over shared points, and the algebra of such blocks."""

import numpy as np

from mercer._compute import pick_backend
from mercer._compute.coefficients import (
    coefficient_block,
    coefficient_columns,
    coefficient_product,
    floating,
    read_only,
    take_columns,
)
from mercer._compute.namespace import put_values
from mercer._compute.points import join_points
from mercer.kernels.base import require_kernel


class Expansion:
    """A block of m vectors of the feature space, psi_j = sum_i coef[i, j] phi(points[i]).

    Data are the block with identity coefficients, ``features(kernel, X)``; means, kernel principal components, normals
    of support vector machines, ridge solutions and denoised points are all ``features(kernel, X) @ A``.

    Parameters
    ----------
    kernel : Kernel
        With its bandwidth resolved.
    points : points (n)
        Kept as a read-only view where they are an array; not copied.
    coef : array (n, m) or (n,), optional
        One column per vector; the identity when left out, which is never stored.

    Raises
    ------
    ValueError
        For points the kernel does not take, coefficients of another length or not finite.
    TypeError
        For what is no kernel.

    Notes
    -----
    Evaluation costs n m kernel values per new point and a tile of memory. Inner products of nearly parallel vectors
    lose digits as differences do: squared distances below about 1e-14 of the squared norms (1e-6 in float32) are noise.

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

    __array_ufunc__ = None

    def __init__(self, kernel, points, coef=None):
        require_kernel(kernel)
        side, _ = kernel.admit_pair(points, points)
        self._kernel, self.prepared = kernel, side
        self._coef = None if coef is None else coefficient_block(coef, side)

    @property
    def kernel(self):
        """The kernel whose feature space the vectors live in."""
        return self._kernel

    @property
    def points(self):
        """The shared points (n), read-only."""
        points = self.prepared.container
        if not isinstance(points, np.ndarray):
            return points
        return self.prepared.memo("view", lambda: read_only(points))

    @property
    def coef(self):
        """The coefficients (n, m), read-only, or None for the identity."""
        return self._coef

    @property
    def shape(self):
        """Numbers of points and of vectors (n, m)."""
        n = len(self.prepared)
        return n, n if self._coef is None else self._coef.shape[1]

    def __len__(self):
        return self.shape[1]

    def __repr__(self):
        n, m = self.shape
        return f"Expansion({self._kernel!r}, {m} vector{'s' * (m != 1)} over {n} point{'s' * (n != 1)})"

    def __call__(self, X):
        """Return <phi(x), psi_j> for every new point and vector.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test, m)
        """
        X, Z = self._with(X)
        return self._values(X, Z)

    def inner(self, chi):
        """Return the inner products <psi_i, chi_j> with another block of the same feature space.

        Parameters
        ----------
        chi : Expansion
            p vectors, same kernel.

        Returns
        -------
        array (m, p)
        """
        require_same_kernel(self, chi)
        if _same_points(self.prepared, chi.prepared):
            X = Z = self.prepared
        else:
            X, Z = self._kernel.admit_pair(self.points, chi.points)
        values = chi._values(X, Z)
        return values if self._coef is None else coefficient_product(self._coef, values)

    def norms(self):
        """Return the norms |psi_j| (m,)."""
        xp = self.prepared.xp
        if self._coef is None:
            squares = pick_backend(self._kernel, self.prepared).diag(self._kernel, self.prepared)
        else:
            values = self._values(self.prepared, self.prepared)
            squares = xp.sum(self._coef * values, axis=0, dtype=xp.float64)
            squares = xp.astype(squares, values.dtype)
        # rounding, or an indefinite kernel, can leave a negative square
        return xp.sqrt(xp.where(squares > 0, squares, xp.zeros_like(squares)))

    def gradient(self, X):
        """Return the gradients of <phi(x), psi_j> in x, summed in float64.

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
        self._kernel.require_gradient()
        X, Z = self._with(X)
        xp = X.xp
        coef = xp.eye(len(Z)) if self._coef is None else self._coef
        coef = xp.astype(coef, xp.float64)
        backend = pick_backend(self._kernel, X, Z)
        columns = [
            backend.vjp(self._kernel, X, Z, lambda rows, j=j: xp.broadcast_to(coef[:, j], (_length(rows), len(Z))))
            for j in range(coef.shape[1])
        ]
        return xp.astype(xp.stack(columns, axis=1), X.container.dtype, copy=False)

    def __matmul__(self, C):
        """Return the block of combinations sum_i C[i, j] psi_i; a vector C gives a block of one."""
        C = coefficient_columns(C, self.prepared)
        n, m = self.shape
        if C.shape[0] != m:
            raise ValueError(f"{m} vectors need {m} rows of combination coefficients, got shape {tuple(C.shape)}.")
        return self._over(C if self._coef is None else self._coef @ C)

    def __add__(self, other):
        return self._combine(other, 1.0)

    def __sub__(self, other):
        return self._combine(other, -1.0)

    def __neg__(self):
        return self * -1.0

    def __mul__(self, factor):
        """Return every vector times a number, or vector j times factor[j]."""
        return self._over(self.dense_coef() * factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor):
        return self * (1.0 / divisor)

    def __getitem__(self, index):
        """Return chosen vectors, ``psi[:, j]``: a number gives a block of one."""
        if not (isinstance(index, tuple) and len(index) == 2 and index[0] == slice(None)):
            raise IndexError("vectors are the columns of an expansion: psi[:, j] chooses some of them.")
        j = index[1]
        j = [j] if isinstance(j, (int, np.integer)) else j
        if self._coef is None and not isinstance(j, slice):
            # features of some of the points need no coefficients for the others
            return _from_side(self._kernel, self.prepared.take(np.arange(len(self))[np.asarray(j)]), None)
        return self._over(take_columns(self.dense_coef(), j))

    def _over(self, coef):
        """Return another block over the same points."""
        return _from_side(self._kernel, self.prepared, coefficient_block(coef, self.prepared))

    def _with(self, X):
        """Return new points and the shared ones as two sides of one type; the shared side is reused where it can be."""
        if X is self.prepared.container or X is self.points:
            return self.prepared, self.prepared
        return self._kernel.admit_beside(X, self.prepared)

    def _values(self, X, Z):
        backend = pick_backend(self._kernel, X, Z)
        if self._coef is None:
            return backend.dense(self._kernel, X, Z)
        return backend.matmul(self._kernel, X, Z, self._coef)

    def dense_coef(self):
        """Return the coefficients, the identity written out."""
        if self._coef is not None:
            return self._coef
        return self.prepared.xp.eye(len(self.prepared), dtype=floating(self.prepared))

    def _combine(self, other, sign):
        if not isinstance(other, Expansion):
            return NotImplemented
        require_same_kernel(self, other)
        m, p = len(self), len(other)
        if m != p and 1 not in (m, p):
            raise ValueError(f"blocks of {m} and {p} vectors cannot be added: numbers must agree, or one of them be 1.")
        xp = self.prepared.xp
        width = max(m, p)
        left, right = (xp.broadcast_to(b.dense_coef(), (len(b.prepared), width)) for b in (self, other))
        if _same_points(self.prepared, other.prepared):
            return self._over(left + sign * right)
        points = join_points([self.prepared.container, other.prepared.container])
        return Expansion(self._kernel, points, join_points([left, sign * right]))


def features(kernel, X):
    """Return the data's own features, the block of phi(x_1), ..., phi(x_n).

    Parameters
    ----------
    kernel : Kernel
        With its bandwidth resolved.
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


def mean(phi):
    """Return the mean of the vectors of a block.

    Parameters
    ----------
    phi : Expansion
        m vectors.

    Returns
    -------
    Expansion
        One vector, over the same points.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mu = mc.mean(mc.features(mc.Linear(), np.array([[1.0], [3.0]])))
    >>> mu(np.array([[1.0]]))
    array([[2.]])
    """
    m = len(phi)
    weights = phi.prepared.xp.full((m, 1), 1.0 / m, dtype=floating(phi.prepared))
    return phi @ weights


def sqdist(psi, chi, paired=False):
    """Return squared distances |psi_i - chi_j|^2 in feature space.

    Parameters
    ----------
    psi, chi : Expansion
        m and p vectors of one feature space.
    paired : bool
        Only the distances of psi_i and chi_i.

    Returns
    -------
    array (m, p), or (m,) when paired
        At least 0; exactly 0 between a vector and itself when psi is chi. It is |psi|^2 + |chi|^2 - 2 <psi, chi>:
        below about 1e-14 |psi|^2 (1e-6 in float32) only rounding.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> phi = mc.features(mc.Linear(), np.array([[0.0], [3.0]]))
    >>> mc.sqdist(phi, phi)
    array([[0., 9.],
           [9., 0.]])
    """
    require_same_kernel(psi, chi)
    if paired:
        if len(psi) != len(chi):
            raise ValueError(f"paired distances need equally many vectors, got {len(psi)} and {len(chi)}.")
        if psi.coef is None and chi.coef is None:
            return _paired_feature_distances(psi, chi)
        return (psi - chi).norms() ** 2
    xp = psi.prepared.xp
    squares = psi.norms()[:, None] ** 2 + chi.norms()[None, :] ** 2 - 2 * psi.inner(chi)
    squares = xp.where(squares > 0, squares, xp.zeros_like(squares))
    if psi is chi:
        rows = xp.arange(len(psi))
        put_values(squares, rows, rows, 0.0)
    return squares


def _paired_feature_distances(psi, chi):
    """Return |phi(x_i) - phi(z_i)|^2 from small diagonal blocks, without n^2 values."""
    parts, step = [], 256
    for start in range(0, len(psi), step):
        rows = np.arange(start, min(start + step, len(psi)))
        parts.append(psi.prepared.xp.linalg.diagonal(sqdist(psi[:, rows], chi[:, rows])))
    return join_points(parts)


def mmd(phi, chi):
    """Return the maximum mean discrepancy |mean(phi) - mean(chi)|: biased, and not squared.

    Parameters
    ----------
    phi, chi : Expansion
        Two samples' features, m and p vectors.

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
    _require_expansion("phi", phi)
    _require_expansion("chi", chi)
    return float((mean(phi) - mean(chi)).norms()[0])


def _require_expansion(name, given):
    if not isinstance(given, Expansion):
        raise TypeError(f"{name} must be an Expansion, such as features(kernel, X), got {given!r:.60}.")


def _length(rows):
    return rows.stop - rows.start


def _same_points(left, right):
    """Return whether two sides hold the very same points: one object, or two views of the same memory."""
    if left is right or left.container is right.container:
        return True
    if not (isinstance(left.container, np.ndarray) and isinstance(right.container, np.ndarray)):
        return False
    views = [(p.__array_interface__["data"][0], p.shape, p.strides, p.dtype) for p in (left.container, right.container)]
    return views[0] == views[1]


def _from_side(kernel, side, coef):
    """Return an expansion of points that are already validated, sharing what their side has computed."""
    psi = object.__new__(Expansion)
    psi._kernel, psi.prepared, psi._coef = kernel, side, coef
    return psi


def require_same_kernel(psi, chi):
    """Raise unless two blocks are expansions with the same kernel."""
    if not isinstance(chi, Expansion):
        raise TypeError(f"expected an Expansion, got {type(chi).__name__}.")
    if chi.kernel is not psi.kernel and chi.kernel != psi.kernel:
        raise ValueError(
            f"vectors of different feature spaces have no inner product or sum: {psi.kernel!r} and {chi.kernel!r}."
        )
