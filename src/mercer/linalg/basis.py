"""An orthonormal basis Q of a growing space, its image W = K Q, and the Ritz pairs of K in it."""

from mercer._compute.namespace import namespace_of


class Basis:
    """Orthonormal columns Q (n, m) with W = K Q as it was computed, so that residuals of Ritz pairs need no product.

    Parameters
    ----------
    start : array (n, p)
        Independent columns are kept, orthonormalised.
    """

    def __init__(self, start):
        xp = self._xp = namespace_of(start)
        self._new = orthonormal(start)
        n = start.shape[0]
        self._Q, self._W = xp.empty((n, 0), dtype=xp.float64), xp.empty((n, 0), dtype=xp.float64)
        self._H = xp.empty((0, 0), dtype=xp.float64)
        self.values = self._Y = None

    @property
    def size(self):
        """Number of columns m."""
        return self._Q.shape[1]

    @property
    def image(self):
        """The columns of W = K Q."""
        return self._W

    def multiply(self, operator):
        """Multiply the columns added last by the operator, and find the Ritz pairs: one product."""
        xp, new = self._xp, self._new
        image = xp.astype(operator @ new, xp.float64)
        corner = new.T @ image
        if not bool(xp.all(xp.isfinite(corner))):
            raise ValueError("a product of the operator contains NaN or infinity; check the points and the kernel.")
        side = self._Q.T @ image
        self._H = xp.concat(
            [xp.concat([self._H, side], axis=1), xp.concat([side.T, (corner + corner.T) / 2], axis=1)], axis=0
        )
        self._Q, self._W = xp.concat([self._Q, new], axis=1), xp.concat([self._W, image], axis=1)
        self.values, self._Y = ritz(self._H)

    def residuals(self, count):
        """Return K v - theta v of the leading Ritz pairs (n, at most count)."""
        Y = self._Y[:, :count]
        return self._W @ Y - (self._Q @ Y) * self.values[:count]

    def pairs(self, count):
        """Return the leading Ritz values, their vectors V and K V."""
        Y = self._Y[:, :count]
        return self.values[:count], self._Q @ Y, self._W @ Y

    def restart(self, count):
        """Keep only the leading Ritz vectors."""
        self.values, self._Q, self._W = self.pairs(count)
        self._Y = self._xp.eye(self.size, dtype=self._xp.float64)
        self._H = self._Y * self.values

    def extend(self, R):
        """Add the directions of R that are not in the space yet; say whether there are any."""
        # projected twice: what one projection leaves behind is rounding of the first
        for _ in range(2):
            R = _orthonormal_once(R - self._Q @ (self._Q.T @ R))
        self._new = R
        return R.shape[1] > 0


def ritz(H):
    """Return eigenvalues, descending, and eigenvectors of a small matrix that is symmetric up to rounding."""
    xp = namespace_of(H)
    values, Y = xp.linalg.eigh((H + H.T) / 2)
    return xp.flip(values), xp.flip(Y, axis=1)


def orthonormal(V):
    """Return an orthonormal basis (n, r) of the columns of V (n, p), less directions below 1e-6 of the largest.

    From the eigenvectors of V'V for columns of unit norm, twice: matrix products only, where a tall QR is slow.

    References
    ----------
    Stathopoulos, Wu, *A block orthogonalization procedure with constant synchronization requirements*, SIAM J. Sci.
    Comput. 23 (2002).
    """
    return _orthonormal_once(_orthonormal_once(V))


def _orthonormal_once(V):
    xp = namespace_of(V)
    norms = xp.linalg.vector_norm(V, axis=0)
    V = V[:, norms > 0] / norms[norms > 0]
    if V.shape[1] == 0:
        return V
    squares, Y = ritz(V.T @ V)
    kept = squares > 1e-12 * squares[0]
    return V @ (Y[:, kept] / xp.sqrt(squares[kept]))
