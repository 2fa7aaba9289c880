"""Evidence that a problem is not convex: a change, of sum 0 or any, along which its objective curves the wrong way."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from mercer._common import Array, warn
from mercer._compute.points import count_points, evenly_spaced, take_points, widened
from mercer.kernels.base import Kernel
from mercer.linalg.operators import centred

# Number of points up to which all take part; of more, as many that are evenly spaced.
_TRIED = 500
# Negative eigenvalues within this many roundings of the largest, times the number of points, are rounding.
_ROUNDINGS = 16


def nonconvexity(kernel: Kernel, points: Any, centre: bool = True) -> str | None:
    r"""Return the evidence that c'Kc < 0 for some c, of sum 0 with ``centre``, as a text; None if there is none.

    Eigenvalues of H K H, H = I - 11'/m, or of K decide on up to 500 points; of more points 500 are tried, and a kernel
    that is known not to be positive semidefinite counts as evidence. O(m^3), and nothing for a proved kernel.
    """
    known = kernel.tags.positive_semidefinite
    n = count_points(points)

    def values(rows):
        return kernel(widened(take_points(points, rows)))

    matrix = "centred kernel matrix" if centre else "kernel matrix"
    return None if known else negative_part(values, n, f"the {matrix} of {{}} training points", known, centre)


def negative_part(
    values: Callable[[Array], Array], n: int, name: str, known: bool | None = None, centre: bool = False
) -> str | None:
    """Return the evidence that a symmetric matrix of order n, or H times it times H, has a negative eigenvalue.

    ``values(rows)`` returns a principal submatrix, whose order ``name`` has a place for; ``known`` is False for a
    kernel that is known not to be positive semidefinite.
    """
    if n < 2:
        return None
    rows = evenly_spaced(n, _TRIED)
    block = np.asarray(values(rows))
    K = block.astype(np.float64)
    K = (K + K.T) / 2
    A = centred(K) if centre else K
    # centring leaves the rounding of values that are equal
    rounding = _ROUNDINGS * len(rows) * float(np.finfo(block.dtype).eps)
    size = float(np.abs(K).max())
    # a factor takes a tenth of the time of eigenvalues
    _, failed = scipy.linalg.lapack.dpotrf(A + 0.5 * rounding * size * np.eye(len(A)), overwrite_a=True)
    if failed:
        spectrum = scipy.linalg.eigvalsh(A)
        if spectrum[0] < -rounding * max(float(np.abs(spectrum).max()), size):
            return f"{name.format(len(rows))} has eigenvalues between {spectrum[0]:.3g} and {spectrum[-1]:.3g}"
    return "the kernel is known not to be positive semidefinite" if known is False and n > _TRIED else None


def warn_nonconvex(name: str, evidence: str) -> None:
    """Warn that a problem has no certified optimum."""
    warn(
        f"{name} solved a problem that is not convex: {evidence}. The solution is a stationary point without gap or "
        "bounds; use mercer.make_positive, or a positive semidefinite kernel."
    )
