"""Orthonormal basis Q of a growing subspace, its image W = K Q, and the Ritz pairs of K in it."""

from collections.abc import Callable
from typing import Any

from mercer._common import Array
from mercer._compute.costs import ROWS
from mercer._compute.namespace import NUMPY, namespace_of
from mercer._compute.threads import run_on_rows
from mercer.linalg.operators import Operator, epsilon


class Basis:
    """Orthonormal columns Q (n, m) and the computed W = K Q, so that residuals of Ritz pairs cost no product.

    It starts as the span of the columns of ``start`` (n, p). Arrays with ``room`` for so many columns are not copied.
    """

    values: Any
    _image: Any

    def __init__(self, start: Array, room: int = 0) -> None:
        xp = self._xp = namespace_of(start)
        self._rows = _Rows(start)
        self._new = orthonormal(start)
        # the sum of the columns of the start, which has no sign or rotation that depends on rounding
        self._sum = self._new.T @ xp.sum(start, axis=1)[:, None]
        # columns are contiguous, so that those of the future take no memory
        self._columns = [
            xp.empty((max(room, start.shape[1]), start.shape[0]), dtype=xp.float64) for _ in "QW"
        ]
        self._H = xp.empty((0, 0), dtype=xp.float64)
        self.values = self._Y = self._image = None

    @property
    def state(self) -> dict[str, Array]:
        """The arrays of the basis, for `resumed`."""
        return {"Q": self._Q, "W": self._W, "H": self._H, "new": self._new, "image": self._image}

    def resumed(self, state: dict[str, Array], operator: Operator) -> bool:
        """Take the arrays of a saved basis; return whether it has the image of the start under the operator.

        Another machine or number of threads changes its last digits: half of them are compared.
        """
        xp = self._xp
        names = "Q", "W", "H", "new", "image"
        Q, W, H, new, self._image = (xp.asarray(state[name]) for name in names)
        if any(each.dtype != xp.float64 for each in (Q, W, H, new, self._image)):
            return False
        if (
            Q.shape[0] != self._new.shape[0]
            or new.shape[:-1] != Q.shape[:-1]
            or H.shape != 2 * Q.shape[1:]
        ):
            return False
        error = xp.linalg.vector_norm(operator @ (self._new @ self._sum) - self._image)
        self._H = self._H[:0, :0]
        self._new = new
        self._append(Q, W)
        self._H = H
        self.values, self._Y = ritz(H)
        return bool(error <= epsilon(operator) ** 0.5 * xp.linalg.vector_norm(self._image))

    @property
    def size(self) -> int:
        """Number of columns m."""
        return self._H.shape[0]

    @property
    def _Q(self):
        return self._columns[0][: self.size, :].T

    @property
    def _W(self):
        return self._columns[1][: self.size, :].T

    def _append(self, *images):
        """Store columns of Q and of W behind those that are there."""
        m = self.size
        xp = self._xp
        for k, image in enumerate(images):
            end = m + image.shape[1]
            stored = self._columns[k]
            if end > stored.shape[0]:
                more = xp.empty(
                    (max(end, 2 * m) - stored.shape[0], stored.shape[1]), dtype=xp.float64
                )
                self._columns[k] = stored = xp.concat([stored, more], axis=0)
            stored[m:end, :] = image.T

    def multiply(self, operator: Operator) -> None:
        """Multiply the newest columns by the operator, one product, and compute the Ritz pairs."""
        xp = self._xp
        new = self._new
        image = xp.astype(operator @ new, xp.float64)
        corner = self._rows.sum(lambda rows: new[rows, :].T @ image[rows, :])
        if not bool(xp.all(xp.isfinite(corner))):
            raise ValueError(
                "a product of the operator contains NaN or infinity; check the points and the kernel."
            )
        if self.size == 0:
            self._image = image @ self._sum
        across = self._along(image)
        self._append(new, image)
        self._H = xp.concat(
            [
                xp.concat([self._H, across], axis=1),
                xp.concat([across.T, (corner + corner.T) / 2], axis=1),
            ],
            axis=0,
        )
        self.values, self._Y = ritz(self._H)

    def residuals(self, count: int) -> Array:
        """Return K v - theta v of the leading Ritz pairs (n, at most count)."""
        Q = self._Q
        W = self._W
        Y = self._Y[:, :count]
        scaled = Y * self.values[:count]
        return self._rows.map(lambda rows: W[rows, :] @ Y - Q[rows, :] @ scaled, Y.shape[1])

    def pairs(self, count: int) -> tuple[Array, Array, Array]:
        """Return the leading Ritz values, their vectors V and K V."""
        Y = self._Y[:, :count]
        return self.values[:count], self._rows.product(self._Q, Y), self._rows.product(self._W, Y)

    def restart(self, count: int) -> None:
        """Keep only the leading Ritz vectors."""
        self.values, V, W = self.pairs(count)
        self._H = self._H[:0, :0]
        self._append(V, W)
        self._Y = self._xp.eye(V.shape[1], dtype=self._xp.float64)
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
        return self._rows.sum(lambda rows: Q[rows, :].T @ R[rows, :])


def ritz(H: Array) -> tuple[Array, Array]:
    """Return the eigenvalues, descending, and eigenvectors of a small matrix that is symmetric up to rounding."""
    xp = namespace_of(H)
    values, Y = xp.linalg.eigh((H + H.T) / 2)
    return xp.flip(values), xp.flip(Y, axis=1)


def orthonormal(V: Array) -> Array:
    """Return an orthonormal basis (n, r) of the columns of V (n, p), without directions below 1e-6 of the largest.

    From the eigenvectors of V'V with columns of unit norm, twice: only matrix products, faster than a tall QR.
    Stathopoulos, Wu, SIAM J. Sci. Comput. 23 (2002).
    """
    rows = _Rows(V)
    return _orthonormal_once(_orthonormal_once(V, rows), rows)


def _orthonormal_once(V, rows):
    xp = namespace_of(V)
    norms = xp.linalg.vector_norm(V, axis=0)
    V = V[:, norms > 0] / norms[norms > 0]
    if V.shape[1] == 0:
        return V
    squares, Y = ritz(rows.sum(lambda part: V[part, :].T @ V[part, :]))
    kept = squares > 1e-12 * squares[0]
    return rows.product(V, Y[:, kept] / xp.sqrt(squares[kept]))


class _Rows:
    """Products of tall arrays (n, m), some rows at a time on each thread; sums over rows have a fixed order."""

    def __init__(self, like: Array) -> None:
        self._xp = namespace_of(like)
        self._n = like.shape[0]
        # other libraries have threads of their own
        self._step = ROWS if self._xp is NUMPY else max(1, self._n)

    def sum(self, function: Callable[[slice], Array]) -> Array:
        """Return the sum of ``function(rows)``."""
        parts = {}

        def task(rows):
            parts[rows.start] = function(rows)

        run_on_rows(task, self._n, self._step)
        first, *others = (parts[start] for start in sorted(parts))
        return sum(others, first)

    def map(self, function: Callable[[slice], Array], width: int) -> Array:
        """Return the array (n, width) of rows ``function(rows)`` in float64."""
        out = self._xp.empty((self._n, width), dtype=self._xp.float64)

        def task(rows):
            out[rows, :] = function(rows)

        run_on_rows(task, self._n, self._step)
        return out

    def product(self, Q: Array, Y: Array) -> Array:
        """Return Q @ Y for Q with many rows."""
        return self.map(lambda rows: Q[rows, :] @ Y, Y.shape[1])
