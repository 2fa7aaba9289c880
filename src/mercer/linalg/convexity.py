"""Whether a problem is convex: its matrix is positive semidefinite on changes of sum 0, or of any, or is not."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg

from mercer._common import EPS, Array, MaybeNone, PointsLike, as_float64, warn
from mercer._compute.costs import PROVED
from mercer._compute.points import count_points, evenly_spaced, take_points, widened
from mercer.kernels.base import Kernel
from mercer.linalg import lapack
from mercer.linalg.operators import ROUNDINGS, centred, without

# Arrays of the size of the matrix that take memory beside a factor.
_ARRAYS = 2


class Convexity(NamedTuple):
    """Whether c'Kc >= 0 for all c, of sum 0 or any: proved, refuted by ``evidence``, or neither (None).

    Proved is c'Kc >= -shift |c|^2, where ``shift`` bounds the rounding of a factor and of the matrix; 0 by tags.
    """

    proved: bool | MaybeNone
    shift: float = 0.0
    evidence: str = ""


def convexity(
    kernel: Kernel,
    points: PointsLike,
    centre: bool = True,
    budget: int = 0,
    free: Array | None = None,
) -> Convexity:
    r"""Return whether c'Kc >= 0 on some points for all c, of sum 0 with ``centre``, orthogonal to the columns ``free``.

    Tags of the kernel prove it, or a Cholesky factor of H K H, H = I - 11'/n, or of K, which is computed up to 600
    points and of more if it takes at most ``budget`` bytes; eigenvalues on 600 of them may refute it. O(n^3).
    """
    if kernel.tags.order in range(1 + centre):
        return Convexity(True)
    n = count_points(points)

    def values(rows):
        K = kernel(widened(take_points(points, rows)))
        if free is None:
            return K
        Q = scipy.linalg.orth(free[rows])
        return without(Q, without(Q, K).T)

    matrix = "centred kernel matrix" if centre else "kernel matrix"
    name = f"the {matrix} of {{}} training points"
    found = on_sample(values, n, name, centre)
    if found.proved is not None or 8 * _ARRAYS * n * n > budget:
        return found
    found = _Matrix.of(values(np.arange(n)), order=n)
    shift = found.proved_shift(centre)
    if shift is None:
        return Convexity(
            False, evidence=f"{name.format(n)} has an eigenvalue below {-found.shifts[-1]:.3g}"
        )
    return Convexity(True, shift)


def on_sample(
    values: Callable[[Array], Array], n: int, name: str, centre: bool = False
) -> Convexity:
    """Return whether a symmetric matrix of order n, or H times it times H, is positive semidefinite, as 600 rows show.

    Fewer rows are tried first: often they refute it. ``values(rows)`` returns a principal submatrix, whose order
    ``name`` has a place for.
    """
    if n < 2:
        return Convexity(True)
    for most in (PROVED // 8, PROVED):
        rows = evenly_spaced(n, most)
        # fewer rows refute by no less than all of them do
        found = _Matrix.of(values(rows), order=min(n, PROVED))
        shift = found.proved_shift(centre)
        if shift is None:
            spectrum = scipy.linalg.eigvalsh(found.part(centre))
            matrix = name.format(len(rows))
            return Convexity(
                False,
                evidence=f"{matrix} has eigenvalues between {spectrum[0]:.3g} and {spectrum[-1]:.3g}",
            )
        if n == len(rows):
            return Convexity(True, shift)
    return Convexity(None)


class _Matrix(NamedTuple):
    """The symmetric part of a matrix in float64, its largest value, its type's eps, and the order of its rounding."""

    K: Array
    size: float
    epsilon: float
    order: int

    @classmethod
    def of(cls, block, order):
        block = np.asarray(block)
        K = as_float64(block)
        K = 0.5 * (K + K.T)
        size = max(float(K.max()), -float(K.min()))
        return cls(K, size, float(np.finfo(block.dtype).eps), order)

    def part(self, centre):
        """Return the matrix, or H times it times H."""
        return centred(self.K) if centre else self.K

    @property
    def shifts(self):
        """What rounding adds to eigenvalues: in float64, of given values usually, and at most."""
        n = self.order
        usual = np.sqrt(n) * np.array([EPS, self.epsilon])
        return self.size * np.append(np.unique(usual), ROUNDINGS * n * self.epsilon)

    def proved_shift(self, centre):
        r"""Return a number with K + number I positive semidefinite, by a factor of K + s I, or None; K stays then.

        It is 0 if K, not centred, has a factor with s as far below 0 as rounding may mislead; else that of its part.

        .. math:: \lambda_1(K) \ge -s - n \epsilon\, (\mathrm{tr}(K + s I) + 4 \max |k|)

        if the factor exists (Rump, Verification of positive definiteness, BIT 46, 2006); the last term is the rounding
        of the symmetric part and of centring.
        """
        if not self.size:
            return 0.0
        n = len(self.K)
        least = n * EPS * (float(self.K.trace()) + 4 * self.size)
        if lapack.factorise_shifted(self.K.T, [-least]) is not None:
            return 0.0
        K = self.part(centre)
        trace = float(K.trace())
        shift = lapack.factorise_shifted(K.T, self.shifts)
        return None if shift is None else shift + n * EPS * (trace + n * shift + 4 * self.size)


def warn_nonconvex(name: str, evidence: str) -> None:
    """Warn that a problem has no certified optimum."""
    warn(
        f"{name} solved a problem that is not convex: {evidence}. The solution is a stationary point without gap or "
        "bounds; use mercer.make_positive, or a positive semidefinite kernel."
    )
