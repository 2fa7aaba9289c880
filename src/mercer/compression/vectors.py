"""Reduced sets of the vectors of a model: all columns together, or each column alone."""

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from mercer._common import AnyFunction, Array
from mercer._compute.points import join_points, take_points
from mercer.estimators.base import exact_vectors
from mercer.expansion import Expansion, sqdist
from mercer.kernels import Gaussian, VariableWidthGaussian
from mercer.kernels.direct_sum import kernel_of_data
from mercer.preimages.descent import quotients
from mercer.reduction import reduce


def is_share(n_vectors: float | None) -> bool:
    """Return whether a number of vectors is a share of them, in (0, 1)."""
    return isinstance(n_vectors, numbers.Real) and bool(0 < n_vectors < 1)


@dataclass
class Vectors:
    """The vectors of a model and their reduced sets by a method of `reduce`, each computed once.

    ``size`` is the number of distinct vectors, and ``most`` the largest number that a limit allows to be left.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.compression.vectors import Vectors
    >>> psi = mc.Expansion(mc.Linear(), np.eye(3), np.array([[3.0, 0.0], [0.0, 2.0], [1.0, 1.0]]))
    >>> Vectors(psi, mc.Greedy(), shared=False).reduced(1).coef
    array([[0., 2.],
           [3., 0.]])
    """

    psi: Expansion
    method: Any
    shared: bool = True
    callback: AnyFunction | None = None

    def __post_init__(self) -> None:
        self.size: int = max(1, int(np.count_nonzero(self.psi.coef.any(axis=1))))
        self.most: int = self.size if self.shared else self.count(self.psi)
        self._found: dict[Any, Expansion] = {}

    def count(self, psi: Expansion) -> int:
        """Return how many vectors of an expansion count against a limit: all, or the most of a column alone."""
        return (
            psi.shape[0] if self.shared else max(1, int(np.count_nonzero(psi.coef, axis=0).max()))
        )

    def allows_all(self, n_vectors: float | None) -> bool:
        """Return whether a number of vectors leaves the model as it is."""
        return n_vectors is not None and not is_share(n_vectors) and n_vectors >= self.most

    def number(self, n_vectors: Any, size: int | None = None) -> int:
        """Return a number of vectors, also for a share of a number of them, by default of ``most``."""
        return max(1, round(n_vectors * (size or self.most))) if is_share(n_vectors) else n_vectors

    def reduced(self, n_vectors: float) -> Expansion:
        """Return the reduced set with a number or a share of the vectors, or with None the number of the method."""
        if n_vectors not in self._found:
            if self.shared:
                found = self._reduced(self.psi, self.number(n_vectors))
            else:
                columns = [self._column(j) for j in range(len(self.psi))]
                parts = [
                    self._reduced(each, self.number(n_vectors, len(each.coef))) for each in columns
                ]
                found = _joined(parts, self.psi.kernel)
            self._found[n_vectors] = found
        return self._found[n_vectors]

    def relative_error(self, chi: Expansion) -> Array:
        """Return |psi_j - chi_j| / |psi_j| (m,)."""
        psi = self.psi
        if type(chi.kernel) is Gaussian and chi.kernel != kernel_of_data(psi.kernel):
            left = _distances_to_wider(psi, chi)
        else:
            if self.method is not None:
                # the distances that a method minimises may be below the rounding of float32
                psi, chi = (
                    exact_vectors(each.kernel, each.points, each.coef) for each in (psi, chi)
                )
            left = np.sqrt(sqdist(psi, chi, paired=True))
        return quotients(left, psi.norms())

    def _reduced(self, psi, n_vectors):
        callback = self.callback
        report = callback and (lambda done, _: callback(done, n_vectors))
        return reduce(psi, n_vectors=n_vectors, method=self.method, callback=report).expansion

    def _column(self, j):
        """Return column j over its own points."""
        rows = np.flatnonzero(self.psi.coef[:, j])
        rows = rows if len(rows) else np.arange(1)
        return Expansion(
            self.psi.kernel, take_points(self.psi.points, rows), self.psi.coef[rows, j : j + 1]
        )


def _distances_to_wider(psi, chi):
    """Return |psi_j - chi_j| for wider Gaussian functions than those of psi, infinite if it overflows."""
    d = chi.points.shape[1]
    r = psi.kernel.gamma / chi.kernel.gamma
    # the logarithm of the squared norm of a wider function
    if d / 2 * np.log(r**2 / (2 * r - 1)) > 300:
        return np.full(len(psi), np.inf)
    width = np.full((len(chi.points), 1), (0.5 / chi.kernel.gamma) ** 0.5)
    points = psi.points, np.hstack([chi.points, width])
    kernel = VariableWidthGaussian(psi.kernel.gamma, d)
    both = (exact_vectors(kernel, *each) for each in zip(points, (psi.coef, chi.coef), strict=True))
    return np.sqrt(sqdist(*both, paired=True))


def _joined(parts, original):
    """Return expansions of one vector as one expansion, each column over its own points; equal points are one."""
    # the kernel of a part that was not reduced may be a restriction of that of the others
    kernel = next((part.kernel for part in parts if part.kernel != original), original)
    points = join_points([kernel.admit(part.points, "points") for part in parts])
    coef = scipy.linalg.block_diag(*(part.coef for part in parts))
    if not isinstance(points, np.ndarray):
        return Expansion(kernel, points, coef)
    distinct, place = np.unique(points, axis=0, return_inverse=True)
    sums = np.zeros((len(distinct), len(parts)), coef.dtype)
    np.add.at(sums, place.ravel(), coef)
    return Expansion(kernel, distinct, sums)
