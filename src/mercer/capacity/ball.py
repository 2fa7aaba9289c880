"""Smallest enclosing ball of the mapped points in feature space."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._common import EPS, Memory, PointsLike, as_float64, check_positive, record, warn
from mercer._compute.memory import parse_memory
from mercer.capacity._spectrum import mapped
from mercer.expansion import Expansion
from mercer.kernels.base import Kernel, size_of_values
from mercer.linalg.convexity import convexity, warn_nonconvex
from mercer.linalg.operators import INACCURATE, NOISE
from mercer.solvers.svm import Options, solve_dual
from mercer.solvers.svm.dual import smallest_ball_dual


@record
class Ball:
    """Ball that encloses all mapped points, with a lower bound of the smallest radius.

    Attributes
    ----------
    centre : Expansion
        Centre, a convex combination of mapped points.
    radius : float
        Upper bound of the largest distance of a mapped point to the centre, rounding included.
    least : float
        Lower bound of the radius of every enclosing ball, rounding included; 0 where the kernel is not proved to be
        positive semidefinite on the points, by its tags or by a factor of its matrix within the memory limit.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> ball = mc.capacity.smallest_ball(mc.Linear(), np.array([[0.0], [1.0], [4.0]]))
    >>> round(ball.radius, 6), ball.centre(np.array([[1.0]]))
    (2.0, array([[2.]]))
    """

    centre: Expansion
    radius: float
    least: float


def smallest_ball(
    kernel: Kernel, X: PointsLike, *, tol: float = 1e-6, memory: Memory = "1GB"
) -> Ball:
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

    Warns
    -----
    ConvergenceWarning
        When rounding of kernel values exceeds 1e-4 times the squared radius: points far from the origin, or features
        that are nearly equal.
    UserWarning
        When the kernel is indefinite on the points.

    See Also
    --------
    mercer.SVDD : Estimator whose ball may leave points outside.

    References
    ----------
    Tax, Duin, *Support vector data description*, Machine Learning 54 (2004).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> ball = mc.capacity.smallest_ball(mc.Gaussian(0.5), X)
    >>> ball.radius < 1, round(ball.radius - ball.least, 6)
    (True, 0.0)
    """
    check_positive("tol", tol)
    phi = mapped(kernel, X)
    kernel = phi.kernel
    points = phi.points
    diagonal = as_float64(kernel.diag(points))
    largest = size_of_values(kernel, points, diagonal)
    scale = max(largest, 1e-300)
    dual = smallest_ball_dual(diagonal, np.inf)
    options = Options(tol * scale, budget=parse_memory(memory))
    solution = solve_dual(options.rows(kernel, points, dual), dual, options)
    found = convexity(kernel, points, budget=options.budget)
    if found.evidence:
        warn_nonconvex("smallest_ball", found.evidence)
    norm = float(solution.coef @ (dual.target - solution.gradient))
    squared = max(norm + 2 * float(solution.gradient.max()), 0.0)
    # one point is its own ball
    rounding = NOISE * EPS * largest if len(diagonal) > 1 else 0.0
    if rounding > INACCURATE * squared:
        warn(
            f"smallest_ball: the squared radius {squared:.3g} is accurate to {rounding:.1g} only, the rounding of "
            f"k(x, x) up to {largest:.1e}; subtract the mean of points far from the origin, or use a smaller "
            "bandwidth.",
            ConvergenceWarning,
        )
    # |c - c'|^2 is at least -2 shift for convex combinations c, c' of mapped points
    least = 2 * solution.certificate.dual - rounding - 2 * found.shift if found.proved else 0.0
    squared += rounding
    used = np.flatnonzero(solution.coef)
    centre = phi[:, used] @ (solution.coef[used] / solution.coef.sum()).astype(phi.prepared.dtype)
    return Ball(centre, float(np.sqrt(squared)), float(np.sqrt(min(max(least, 0.0), squared))))
