"""Smallest enclosing ball of the mapped points in feature space."""

from dataclasses import dataclass

import numpy as np

from mercer._compute.memory import allocate, parse_memory
from mercer.capacity._spectrum import mapped
from mercer.expansion import Expansion
from mercer.solvers.svm.duals import box_certificate, filled
from mercer.solvers.svm.newton import polish
from mercer.solvers.svm.rows import rows_of
from mercer.solvers.svm.smo import Dual, solve
from mercer.solvers.svm.working_set import LANES


@dataclass(frozen=True)
class Ball:
    """Ball that encloses all mapped points, with a lower bound of the smallest radius.

    Attributes
    ----------
    centre : Expansion
        Centre, a convex combination of mapped points.
    radius : float
        Largest distance of a mapped point to the centre.
    least : float
        Lower bound of the radius of every enclosing ball.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> ball = mc.capacity.smallest_ball(mc.Linear(), np.array([[0.0], [1.0], [4.0]]))
    >>> ball.radius, ball.centre(np.array([[1.0]]))
    (2.0, array([[2.]]))
    """

    centre: Expansion
    radius: float
    least: float


def smallest_ball(kernel, X, *, tol=1e-6, memory="1GB"):
    r"""Return the smallest ball of feature space that encloses all mapped points.

    .. math:: R^2 = \max_\beta \sum_i \beta_i k(x_i, x_i) - \beta'K\beta
        \quad\text{s.t.}\quad \beta_i \ge 0,\ \sum_i \beta_i = 1,\qquad c = \sum_i \beta_i \phi(x_i)

    Parameters
    ----------
    kernel : Kernel
        Bandwidth rules are resolved on X.
    X : points (n)
    tol : float
        Violation of the optimality conditions at which the solver stops, relative to the largest |k(x, x)|.
    memory : str or int
        Largest size of stored kernel rows, in bytes.

    Returns
    -------
    Ball
        ``least`` and ``radius`` bracket the smallest radius.

    See Also
    --------
    mercer.SVDD : Estimator whose ball may leave points outside.

    References
    ----------
    Tax, Duin, *Support vector data description*, Model Learning 54 (2004).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> ball = mc.capacity.smallest_ball(mc.Gaussian(0.5), X)
    >>> ball.radius < 1, round(ball.radius - ball.least, 6)
    (True, 0.0)
    """
    phi = mapped(kernel, X)
    kernel, points = phi.kernel, phi.points
    diagonal = np.asarray(kernel.diag(points), np.float64)
    n, scale = len(diagonal), max(float(np.abs(diagonal).max()), 1e-300)
    dual = Dual(diagonal / 2, np.zeros(n), np.full(n, 2.0), filled(np.full(n, 2.0), 1.0), np.arange(n))
    rows = rows_of(kernel, points, tol * scale / np.sqrt(n))
    width = -(-n // LANES) * LANES
    values = min(parse_memory(memory) // rows.dtype.itemsize, n * width)
    room = allocate(max(values, 4 * LANES * width), rows.dtype)
    solution = solve(rows, dual, tol=tol * scale, max_iter=max(10_000_000, 100 * n), memory=room)
    solution = polish(kernel, points, rows, dual, solution, tol * scale)

    norm = float(solution.coef @ (dual.target - solution.scores))
    squared = max(0.0, norm + 2 * float(solution.scores.max()))
    least = 2 * box_certificate(dual, solution.coef, solution.scores, solution.bias).dual
    used = np.flatnonzero(solution.coef)
    centre = phi[:, used] @ (solution.coef[used] / solution.coef.sum()).astype(
        np.float32 if getattr(points, "dtype", None) == np.float32 else np.float64
    )
    return Ball(centre, float(np.sqrt(squared)), float(np.sqrt(min(max(least, 0.0), squared))))
