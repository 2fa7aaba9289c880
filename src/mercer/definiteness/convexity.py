"""Evidence that a problem is not convex: a change, of sum 0 or any, along which its objective curves the wrong way."""

import numpy as np
import scipy.linalg

from mercer._common import warn
from mercer._compute.points import count_points, take_points, widened
from mercer.linalg.operators import centred

# Number of points up to which all take part; of more, as many that are evenly spaced.
_TRIED = 500
# Negative eigenvalues within this many roundings of the largest, times the number of points, are rounding.
_ROUNDINGS = 16


def nonconvexity(kernel, points, centre=True):
    r"""Return the evidence that c'Kc < 0 for some c, of sum 0 with ``centre``, as a text; None if there is none.

    Eigenvalues of H K H, H = I - 11'/m, or of K decide on up to 500 points; of more points 500 are tried, and a kernel
    that is known not to be positive semidefinite counts as evidence. O(m^3), and nothing for a proved kernel.
    """
    known, n = kernel.tags.positive_semidefinite, count_points(points)
    if known or n < 2:
        return None
    rows = np.arange(n) if n <= _TRIED else np.unique(np.linspace(0, n - 1, _TRIED).astype(int))
    values = np.asarray(kernel(widened(take_points(points, rows))))
    K = values.astype(np.float64)
    K = (K + K.T) / 2
    spectrum = scipy.linalg.eigvalsh(centred(K) if centre else K)
    # centring leaves the rounding of values that are equal
    size = max(float(np.abs(spectrum).max()), float(np.abs(K).max()))
    if spectrum[0] < -_ROUNDINGS * len(rows) * float(np.finfo(values.dtype).eps) * size:
        matrix = "centred kernel matrix" if centre else "kernel matrix"
        ends = f"between {spectrum[0]:.3g} and {spectrum[-1]:.3g}"
        return f"the {matrix} of {len(rows)} training points has eigenvalues {ends}"
    return "the kernel is known not to be positive semidefinite" if known is False and n > _TRIED else None


def warn_nonconvex(name, evidence):
    """Warn that a problem has no certified optimum."""
    warn(
        f"{name} solved a problem that is not convex: {evidence}. The solution is a stationary point without gap or "
        "bounds; use mercer.make_positive, or a positive semidefinite kernel."
    )
