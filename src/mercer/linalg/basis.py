"""Orthonormal basis Q of a growing subspace, its image W = K Q, and the Ritz pairs of K in it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._common import Array, as_float64
from mercer._compute.costs import ROWS
from mercer._compute.threads import run_on_rows
from mercer.linalg.operators import Operator, epsilon


class Basis:
    """Orthonormal columns Q (n, m) and the computed W = K Q, so that residuals of Ritz pairs cost no product.

    It starts as the span of the columns of ``start`` (n, p). Arrays with ``room`` for so many columns are not copied.
    """

    values: Any
    _image: Any

    def __init__(self, start: Array, room: int = 0) -> None:
        self._rows = _Rows(len(start))
        self._new = orthonormal(start)
        # the sum of the columns of the start, which has no sign or rotation that depends on rounding
        self._sum = self._new.T @ start.sum(axis=1, keepdims=True)
        # columns are contiguous, so that those of the future take no memory
        self._columns = [np.empty((max(room, start.shape[1]), len(start))) for _ in "QW"]
        self._H = np.empty((0, 0))
        self.values = self._Y = self._image = None

    @property
    def state(self) -> dict[str, Array]:
        """The arrays of the basis, for `resumed`."""
        return {"Q": self._Q, "W": self._W, "H": self._H, "new": self._new, "image": self._image}

    def resumed(self, state: dict[str, Array], operator: Operator) -> bool:
        """Take the arrays of a saved basis; return whether it has the image of the start under the operator.

        Another machine or number of threads changes its last digits: half of them are compared.
        """
        names = "Q", "W", "H", "new", "image"
        Q, W, H, new, self._image = (state[name] for name in names)
        if any(each.dtype != np.float64 for each in (Q, W, H, new, self._image)):
            return False
        if (
            Q.shape[0] != self._new.shape[0]
            or new.shape[:-1] != Q.shape[:-1]
            or H.shape != 2 * Q.shape[1:]
        ):
            return False
        error = np.linalg.norm(operator @ (self._new @ self._sum) - self._image)
        self._H = self._H[:0, :0]
        self._new = new
        self._append(Q, W)
        self._H = H
        self.values, self._Y = ritz(H)
        return bool(error <= epsilon(operator) ** 0.5 * np.linalg.norm(self._image))

    @property
    def size(self) -> int:
        """Number of columns m."""
        return self._H.shape[0]

    @property
    def _Q(self):
        return self._columns[0][: self.size].T

    @property
    def _W(self):
        return self._columns[1][: self.size].T

    def _append(self, *images):
        """Store columns of Q and of W behind those that are there."""
        m = self.size
        for k, image in enumerate(images):
            end = m + image.shape[1]
            stored = self._columns[k]
            if end > stored.shape[0]:
                more = np.empty((max(end, 2 * m) - len(stored), stored.shape[1]))
                self._columns[k] = stored = np.concatenate([stored, more])
            stored[m:end] = image.T

    def multiply(self, operator: Operator) -> None:
        """Multiply the newest columns by the operator, one product, and compute the Ritz pairs."""
        new = self._new
        image = as_float64(operator @ new)
        corner = self._rows.sum(lambda rows: new[rows].T @ image[rows])
        if not np.isfinite(corner).all():
            raise ValueError(
                "a product of the operator contains NaN or infinity; check the points and the kernel."
            )
        if self.size == 0:
            self._image = image @ self._sum
        across = self._along(image)
        self._append(new, image)
        self._H = np.block([[self._H, across], [across.T, (corner + corner.T) / 2]])
        self.values, self._Y = ritz(self._H)

    def residuals(self, count: int) -> Array:
        """Return K v - theta v of the leading Ritz pairs (n, at most count)."""
        Q = self._Q
        W = self._W
        Y = self._Y[:, :count]
        scaled = Y * self.values[:count]
        return self._rows.map(lambda rows: W[rows] @ Y - Q[rows] @ scaled, Y.shape[1])

    def pairs(self, count: int) -> tuple[Array, Array, Array]:
        """Return the leading Ritz values, their vectors V and K V."""
        Y = self._Y[:, :count]
        return self.values[:count], self._rows.product(self._Q, Y), self._rows.product(self._W, Y)

    def restart(self, count: int) -> None:
        """Keep only the leading Ritz vectors."""
        self.values, V, W = self.pairs(count)
        self._H = self._H[:0, :0]
        self._append(V, W)
        self._Y = np.eye(V.shape[1])
        self._H = self._Y * self.values

    def extend(self, R: Array) -> bool:
        """Add the directions of R outside the subspace; return whether there are any."""
        # the second projection removes the rounding errors of the first
        for _ in range(2):
            R = _orthonormal_once(R - self._rows.product(self._Q, self._along(R)), self._rows)
        self._new = R
        return R.shape[1] > 0

    def _along(self, R):
        """Return Q'R."""
        Q = self._Q
        return self._rows.sum(lambda rows: Q[rows].T @ R[rows])


def ritz(H: Array) -> tuple[Array, Array]:
    """Return the eigenvalues, descending, and eigenvectors of a small matrix that is symmetric up to rounding."""
    values, Y = np.linalg.eigh((H + H.T) / 2)
    return values[::-1], Y[:, ::-1]


def orthonormal(V: Array) -> Array:
    """Return an orthonormal basis (n, r) of the columns of V (n, p), without directions below 1e-6 of the largest.

    From the eigenvectors of V'V with columns of unit norm, twice: only matrix products, faster than a tall QR.
    Stathopoulos, Wu, SIAM J. Sci. Comput. 23 (2002).
    """
    rows = _Rows(len(V))
    return _orthonormal_once(_orthonormal_once(V, rows), rows)


def _orthonormal_once(V, rows):
    norms = np.linalg.norm(V, axis=0)
    V = V[:, norms > 0] / norms[norms > 0]
    if V.shape[1] == 0:
        return V
    squares, Y = ritz(rows.sum(lambda part: V[part].T @ V[part]))
    kept = squares > 1e-12 * squares[0]
    return rows.product(V, Y[:, kept] / np.sqrt(squares[kept]))


class _Rows:
    """Products of tall arrays (n, m), some rows at a time on each thread; sums over rows have a fixed order."""

    def __init__(self, n: int) -> None:
        self._n = n

    def sum(self, function: Callable[[slice], Array]) -> Array:
        """Return the sum of ``function(rows)``."""
        parts = {}

        def task(rows):
            parts[rows.start] = function(rows)

        run_on_rows(task, self._n, ROWS)
        first, *others = (parts[start] for start in sorted(parts))
        return sum(others, first)

    def map(self, function: Callable[[slice], Array], width: int) -> Array:
        """Return the array (n, width) of rows ``function(rows)`` in float64."""
        out = np.empty((self._n, width))

        def task(rows):
            out[rows] = function(rows)

        run_on_rows(task, self._n, ROWS)
        return out

    def product(self, Q: Array, Y: Array) -> Array:
        """Return Q @ Y for Q with many rows."""
        return self.map(lambda rows: Q[rows] @ Y, Y.shape[1])
