"""tangent_features: derivatives of feature vectors along tangents of the points, as a block of vectors."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._common import (
    Array,
    ArrayLike,
    PointsLike,
    array_record,
    as_float64,
    check_instance,
    shown,
)
from mercer._compute.devices import anywhere
from mercer._compute.memory import blocks, cut
from mercer._compute.points import as_columns, as_dense_rows, owned
from mercer._compute.register import storable
from mercer.expansion import Expansion
from mercer.kernels import Kernel
from mercer.kernels.base import ByContent, admit_pair, require_kernel
from mercer.manifold.jets import Planes, still
from mercer.manifold.rules import jet, pullback
from mercer.manifold.tensors import admitted

# Points whose norms are computed at a time: a call takes longer than the inner products of a few points.
_TOGETHER = 8


@storable
@array_record
class TangentFeatures(ByContent):
    r"""Block of derivatives of feature vectors, or of combinations of them; ``tangent_features`` makes it.

    .. math:: \psi_{ia} = \frac{\partial}{\partial t}\Big|_{t = 0} \phi(x_i + t\, T_{ia}), \qquad
       \chi_j = \sum_{ia} c_{ia, j}\, \psi_{ia}

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    points : rows (n, d)
    directions : array (n, a, d)
        Tangents T of each point.
    coef : array (n a, m), optional
        Coefficients, those of the first point first; the identity by default.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> psi = mc.invariance.tangent_features(mc.Polynomial(2), np.eye(2), np.eye(2)[:, None, ::-1])
    >>> psi(np.array([[1.0, 1.0]]))         # d/dt (<x, z> + 1)^2
    array([[4., 4.]])
    >>> psi.inner(psi)
    array([[4., 2.],
           [2., 4.]])
    """

    kernel: Kernel
    points: np.ndarray
    directions: np.ndarray
    coef: np.ndarray | None = None

    def __post_init__(self) -> None:
        require_kernel(self.kernel)
        points = admitted(self.kernel, self.points, "points")
        directions = as_columns(self.directions, "directions")
        if directions.ndim != 3 or directions.shape[::2] != points.shape or not directions.shape[1]:
            raise ValueError(
                f"T must have shape (n, a, d) with (n, d) = {points.shape}, the shape of X, got {directions.shape}; "
                "mercer.invariance.tangents(X, transforms) returns such an array."
            )
        object.__setattr__(self, "points", owned(points))
        object.__setattr__(self, "directions", owned(directions))
        if self.coef is not None:
            coef = as_columns(self.coef, "coef")
            if coef.ndim != 2 or len(coef) != self._size:
                raise ValueError(
                    f"coef must have {self._size} rows, one for each tangent, got shape {coef.shape}; combine the "
                    "vectors by psi @ C."
                )
            object.__setattr__(self, "coef", owned(coef))

    def __len__(self) -> int:
        return self._size if self.coef is None else self.coef.shape[1]

    @property
    def _size(self):
        """Number of the tangents of all points."""
        n, a, _ = self.directions.shape
        return n * a

    def __repr__(self) -> str:
        n, a, _ = self.directions.shape
        return f"TangentFeatures({self.kernel!r}, {len(self)} vectors over {a} tangents at each of {n} points)"

    @anywhere
    def __call__(self, X: PointsLike) -> Array:
        """Return <phi(x), chi_j>, derivatives of k(x, .), for every new point and vector.

        Parameters
        ----------
        X : rows (n_test, d)

        Returns
        -------
        array (n_test, m)
            In the type of X and the points, computed in float64.
        """
        X, _ = admit_pair(self.kernel, as_dense_rows(X, "X"), self.points)
        wide = as_float64(X.container)
        values = self._in_blocks(
            lambda rows: _slopes(self.kernel, wide[rows], self._planes), len(X), self.coef
        )
        return values.astype(X.dtype, copy=False)

    def inner(self, chi: TangentFeatures | Expansion) -> Array:
        """Return the inner products <chi_i, chi'_j> with the vectors of another block.

        Parameters
        ----------
        chi : TangentFeatures or Expansion
            p vectors with the same kernel.

        Returns
        -------
        array (m, p)
        """
        check_instance(
            "chi",
            chi,
            (TangentFeatures, Expansion),
            "a block of vectors, tangent features or an Expansion",
        )
        if chi.kernel != self.kernel:
            raise ValueError(
                f"chi must have the kernel {shown(self.kernel)}, got {shown(chi.kernel)}; use one kernel for both."
            )
        if isinstance(chi, Expansion):
            values = self(chi.points).T
            return values if chi.coef is None else values @ chi.coef
        values = self._gram(chi)
        values = values if self.coef is None else self.coef.T @ values
        return values.astype(np.result_type(self.points, chi.points), copy=False)

    def norms(self) -> Array:
        """Return the norms |chi_j| (m,)."""
        if self.coef is None:
            some = [self._planes.take(rows) for rows in cut(len(self.points), _TOGETHER)]
            squares = np.concatenate([_pairs(self.kernel, each, each).diagonal() for each in some])
        else:
            squares = np.einsum("im,im->m", self.coef, self._gram(self))
        # rounding and indefinite kernels give negative squares
        return np.sqrt(np.maximum(squares, 0)).astype(self.points.dtype, copy=False)

    def vjp(self, X: PointsLike, W: ArrayLike) -> Array:
        """Return the gradient of sum_ij W_ij <phi(x_i), chi_j> in every x_i, computed in float64.

        Parameters
        ----------
        X : rows (n_test, d)
        W : array (n_test, m)

        Returns
        -------
        array (n_test, d)

        Raises
        ------
        TypeError
            When a part of the kernel has no such derivative.
        """
        X = as_dense_rows(X, "X")
        W = as_float64(as_columns(W, "W"))
        if W.shape != (len(X), len(self)):
            raise ValueError(
                f"W must have shape {(len(X), len(self))}, one weight per pair, got {W.shape}."
            )
        W = W if self.coef is None else W @ self.coef.T
        V = W.reshape(len(X), *self.directions.shape[:2])
        wide = as_float64(X)

        def gradients(rows):
            return pullback(
                self.kernel, wide[rows], self._planes, np.zeros(V[rows].shape[:2]), V[rows]
            )

        return self._in_blocks(gradients, len(X), None).astype(X.dtype, copy=False)

    def __matmul__(self, C: ArrayLike) -> TangentFeatures:
        """Return the block of the combinations sum_i C[i, j] chi_i; a vector C gives a block of one vector."""
        C = as_columns(C, "C")
        C = C[:, None] if C.ndim == 1 else C
        if C.ndim != 2 or len(C) != len(self):
            raise ValueError(
                f"C must have {len(self)} rows in psi @ C, one for each vector; got shape {C.shape}."
            )
        return replace(self, coef=C if self.coef is None else self.coef @ C)

    @functools.cached_property
    def _planes(self):
        return Planes(as_float64(self.points), as_float64(self.directions))

    def _gram(self, chi):
        """Return <psi_ia, chi_j> (n a, p) for the vectors psi before they are combined."""
        own = self._planes
        other = chi._planes  # noqa: SLF001
        return chi._in_blocks(  # noqa: SLF001
            lambda rows: _pairs(self.kernel, own.take(rows), other),
            len(self.points),
            chi.coef,
            self.directions.shape[1],
        )

    def _in_blocks(self, function, n, coef, size=1):
        """Return ``function(rows)``, ``size`` rows for each of n, in blocks, combined by coefficients."""
        parts = map(function, blocks(n, size * self._size))
        return np.concatenate([part if coef is None else part @ coef for part in parts])


def tangent_features(kernel: Kernel, X: PointsLike, T: ArrayLike) -> TangentFeatures:
    r"""Return the derivatives of feature vectors along tangents, a block of vectors of the feature space.

    .. math:: \psi_{ia} = \frac{\partial}{\partial t}\Big|_{t = 0} \phi(x_i + t\, T_{ia}), \qquad
       \langle \psi_{ia}, \phi(x) \rangle = T_{ia}' \nabla_z k(x, z) |_{z = x_i}, \qquad
       \langle \psi_{ia}, \psi_{jb} \rangle = T_{ia}' \nabla_x \nabla_z' k(x_i, x_j)\, T_{jb}

    Vectors are ordered by point, then by tangent: psi_ia has the number i a_max + a.

    Parameters
    ----------
    kernel : Kernel
        Resolved, of inner products or Euclidean distances, or a composition of such kernels.
    X : rows (n, d)
    T : array (n, a, d)
        Tangents of each point, as `tangents` returns them.

    Returns
    -------
    TangentFeatures
        n a vectors: called with points it returns their inner products with features of the points, ``inner`` returns
        those with other blocks, ``@`` combines vectors, ``norms()`` returns their norms.

    Raises
    ------
    TypeError
        For a kernel without derivatives at x = z (Laplacian, Matern with nu = 1/2, Precomputed, Python functions).
    ValueError
        For an unresolved kernel, or T of another shape.

    Notes
    -----
    Derivatives are exact. A product with m points costs O(n a m d) operations, inner products O((n a)^2 d).

    References
    ----------
    Schoelkopf, Smola, Mueller, Burges, Vapnik, *Support vector methods in learning and feature extraction*, Australian
    Journal of Intelligent Information Processing Systems 5 (1998), the remark after eq. (42).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, T = np.array([[0.0, 1.0]]), np.array([[[1.0, 0.0], [0.0, 1.0]]])
    >>> psi = mc.invariance.tangent_features(mc.Gaussian(0.5), X, T)
    >>> len(psi), psi.norms(), (psi @ [1.0, 1.0]).norms()
    (2, array([1., 1.]), array([1.4142]))
    >>> psi(np.array([[1.0, 1.0]])).round(4) + 0.0
    array([[0.6065, 0.    ]])
    """
    found = TangentFeatures(kernel, X, as_columns(T, "T"))
    # a kernel that is not smooth has no inner products of derivatives
    TangentFeatures(kernel, found.points[:1], found.directions[:1]).norms()
    return found


def in_float64(block: Any) -> Any:
    """Return tangent features or an expansion over the same points in float64."""
    points = as_float64(block.points)
    if isinstance(block, Expansion):
        return Expansion(block.kernel, points, as_float64(block.dense_coef()))
    return replace(block, points=points)


def _slopes(kernel, X, planes):
    """Return the derivatives (n, m a) of k(x, .) along the directions of the planes (m)."""
    return _finite_jet(kernel, still(X), planes, (0, 1)).term(0, 1).reshape(len(X), -1)


def _pairs(kernel, left, right):
    """Return the second derivatives (n a, m b) along the directions of two blocks of planes."""
    (n, a, _) = left.directions.shape
    (m, b, _) = right.directions.shape
    found = _finite_jet(kernel, left, right, (1, 1)).terms.get((1, 1), np.zeros((n * m, a, b)))
    return found.reshape(n, m, a, b).swapaxes(1, 2).reshape(n * a, m * b)


def _finite_jet(kernel, left, right, order):
    """Return the jet of a kernel at two blocks of planes, or raise when derivatives overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = jet(kernel, left, right, order)
    if not all(np.isfinite(values).all() for values in found.terms.values()):
        raise ValueError(
            f"derivatives of {shown(kernel)} along T overflow float64 at X; scale X and T first."
        )
    return found
