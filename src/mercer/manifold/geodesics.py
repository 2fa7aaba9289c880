"""Lengths of curves on the surface phi(x), and geodesics from a point in a direction or between two points."""

import numpy as np
from scipy.integrate import DOP853, OdeSolution, quad_vec, solve_bvp
from sklearn.exceptions import ConvergenceWarning

from mercer._common import (
    LARGEST,
    TINY,
    ArrayLike,
    PointsLike,
    array_record,
    check_integer,
    check_positive,
    refuse_large,
    shown,
    warn,
)
from mercer._compute.points import as_vector
from mercer.kernels.base import Kernel
from mercer.manifold.tensors import (
    admitted,
    christoffel,
    inverse_metric,
    metric,
    pointwise,
    rounding,
    sizes_of,
)

# Relative accuracy of lengths and of geodesics with given velocity, and their largest number of steps.
_TOLERANCE = 1e-10
_STEPS = 400
# Relative residual of geodesics between points, and their largest number of nodes.
_BETWEEN = 1e-8
_NODES = 4000


@array_record
class Geodesic:
    """Geodesic: a curve in input space whose image on the surface is locally shortest.

    Attributes
    ----------
    times : array (m,)
    points : array (m, N)
        x(t), in input space.
    velocities : array (m, N)
        dx/dt.
    length : float
        Length of the image in feature space.
    residual : float
        Largest relative deviation of the speed (v' g v)^(1/2) from its mean, a certificate, since the speed of a
        geodesic is constant; 0 for a point.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> path = mc.manifold.geodesic_between(mc.Polynomial(2), np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    >>> path.points.shape, path.residual < 1e-6
    ((50, 2), True)
    """

    times: np.ndarray
    points: np.ndarray
    velocities: np.ndarray
    length: float
    residual: float


def length(k: Kernel, points: PointsLike) -> float:
    r"""Return the length in feature space of the image of a polygon in input space.

    .. math:: \sum_i \int_0^1 \left( d_i'\, g(x_i + t d_i)\, d_i \right)^{1/2} dt, \quad d_i = x_{i+1} - x_i

    Parameters
    ----------
    k : Kernel
        As in `metric`.
    points : rows (m, N)
        Vertices, at least 2; many vertices approximate a curve.

    Returns
    -------
    float
        With relative error about 1e-10, by adaptive Gauss-Kronrod quadrature.

    Raises
    ------
    ValueError
        For fewer than 2 points, or a negative squared length of a segment; otherwise as in `metric`.
    TypeError
        As in `metric`.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.manifold.length(mc.Gaussian(0.5), np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]]))
    7.0
    """
    points = admitted(k, points, "points").astype(np.float64)
    if len(points) < 2:
        raise ValueError("points must hold at least 2 rows, the ends of a polygon; got 1.")
    refuse_large("points", points)
    steps = np.diff(points, axis=0)
    # a length of 0 never meets a relative accuracy
    lengths, _ = quad_vec(
        lambda t: _speed(k, points[:-1] + t * steps, steps),
        0.0,
        1.0,
        epsabs=TINY,
        epsrel=_TOLERANCE,
        norm="max",
    )
    total = float(np.sum(lengths))
    if not np.isfinite(total):
        raise ValueError(
            f"the length of points with entries up to {abs(points).max():.3g} overflows; scale them first."
        )
    return total


def geodesic(
    k: Kernel, start: ArrayLike, velocity: ArrayLike, time: float = 1.0, n_points: int = 50
) -> Geodesic:
    r"""Return the geodesic from a point with a given initial velocity.

    .. math:: \ddot x^a = -\Gamma^a_{bc}\, \dot x^b \dot x^c

    Parameters
    ----------
    k : Kernel
        As in `christoffel`.
    start : array (N,)
    velocity : array (N,)
        dx/dt at the start; the length of the image is ``time`` times (v' g v)^(1/2).
    time : float
        Above 0.
    n_points : int
        Number of returned points, at equal times; at least 2.

    Returns
    -------
    Geodesic

    Raises
    ------
    ValueError
        When the metric is singular at a point of the curve; otherwise as in `christoffel`.
    TypeError
        As in `christoffel`.

    Warns
    -----
    ConvergenceWarning
        When 400 steps do not reach ``time``, because the curve leaves every bounded region, comes to a singularity, or
        turns very often. The returned geodesic ends earlier.

    Notes
    -----
    Explicit Runge-Kutta of order 8 with an error of 1e-10 per step, as a share of the length of the image
    (`scipy.integrate.DOP853`): the units of the features, the place of the points and the unit of time do not matter.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> path = mc.manifold.geodesic(mc.Gaussian(1.0), np.zeros(2), np.array([3.0, 4.0]))
    >>> path.points[-1], round(path.length, 6), round(5 * 2**0.5, 6)
    (array([3., 4.]), 7.071068, 7.071068)
    """
    start, velocity = _two_points(k, start=start, velocity=velocity)
    check_positive("time", time)
    if float(time) > LARGEST:
        raise ValueError(
            f"time = {shown(time)} must be at most {LARGEST:.0e}; give a larger velocity."
        )
    check_integer("n_points", n_points, 2, most=10**6)
    times = np.linspace(0.0, 1.0, n_points)
    step = velocity * float(time)
    units = _units(k, start, step)
    first = np.concatenate([np.zeros(len(start)), step / units])
    solver = DOP853(
        lambda _t, y: _geodesic_equation(k, start, units, y[:, None])[:, 0],
        0.0,
        first,
        1.0,
        rtol=_TOLERANCE,
        atol=_TOLERANCE,
    )
    ends = [0.0]
    pieces = []
    while solver.status == "running" and len(pieces) < _STEPS:
        solver.step()
        if solver.status != "failed":
            ends.append(solver.t)
            pieces.append(solver.dense_output())
    if solver.status != "finished":
        warn(
            f"the geodesic ends at time {ends[-1] * time:.6g} of {time:.6g} after {len(pieces)} steps: it leaves every "
            "bounded region or comes to a singularity; use a smaller time, or continue from its last point.",
            ConvergenceWarning,
        )
        times = times[times <= ends[-1]]
    values = OdeSolution(ends, pieces)(times) if pieces else first[:, None]
    return _geodesic(k, start, units, times, values, float(time))


def geodesic_between(k: Kernel, start: ArrayLike, end: ArrayLike, n_points: int = 50) -> Geodesic:
    """Return a geodesic between two points; the solver starts at the straight line in input space.

    Parameters
    ----------
    k : Kernel
        As in `christoffel`.
    start, end : array (N,)
    n_points : int
        Number of returned points, at equal times in [0, 1]; at least 2.

    Returns
    -------
    Geodesic
        A geodesic near the straight line. It is locally shortest when no two of its points are conjugate; a surface
        with positive curvature can have another one that is shorter.

    Raises
    ------
    ValueError
        When the metric is singular at a point of the curve; otherwise as in `christoffel`.
    TypeError
        As in `christoffel`.

    Warns
    -----
    ConvergenceWarning
        When collocation does not reach a residual of 1e-8, as a share of the length of the straight line; the message
        gives the residual.

    Notes
    -----
    Collocation of order 4 with adapted nodes (`scipy.integrate.solve_bvp`). The units of the features and the place of
    the points do not matter.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> path = mc.manifold.geodesic_between(mc.Gaussian(0.5), np.zeros(2), np.array([3.0, 4.0]))
    >>> round(path.length, 6)
    5.0
    """
    start, end = _two_points(k, start=start, end=end)
    check_integer("n_points", n_points, 2, most=10**6)
    N = len(start)
    mesh = np.linspace(0.0, 1.0, 11)
    units = _units(k, start, end - start)
    whole = ((end - start) / units)[:, None]
    guess = np.concatenate([whole * mesh, np.repeat(whole, len(mesh), axis=1)])
    solution = solve_bvp(
        lambda _t, y: _geodesic_equation(k, start, units, y),
        lambda first, last: np.concatenate([first[:N], last[:N] - whole[:, 0]]),
        mesh,
        guess,
        tol=_BETWEEN,
        max_nodes=_NODES,
    )
    if not solution.success:
        warn(
            f"no geodesic was found between start and end near the straight line: relative residual "
            f"{solution.rms_residuals.max():.1e} with {len(solution.x)} nodes, above {_BETWEEN:g}; "
            "join shorter geodesics, or use geodesic with a velocity.",
            ConvergenceWarning,
        )
    times = np.linspace(0.0, 1.0, n_points)
    return _geodesic(k, start, units, times, solution.sol(times))


def _units(k, start, step):
    """Return units (N,) of the coordinates: changes of the length, in feature space, of a step from a point."""
    # raises where the metric is singular
    inverse_metric(k, start[None])
    g = metric(k, start[None])[0]
    units = np.sqrt(step @ g @ step / np.diagonal(g))
    return np.where(units > 0, units, 1.0)


def _geodesic_equation(k, start, units, y):
    """Return the derivatives (2 N, m) of displacements and velocities (2 N, m), in units."""
    moved, velocities = np.split(y, 2)
    symbols = christoffel(k, start + moved.T * units)
    along = velocities * units[:, None]
    accelerations = -np.einsum("nabc,bn,cn->an", symbols, along, along)
    return np.concatenate([velocities, accelerations / units[:, None]])


def _geodesic(k, start, units, times, values, time=1.0):
    """Return the geodesic of displacements and velocities (2 N, m), in units, at shares of a time."""
    moved, rates = np.split(values, 2)
    times = times * time
    points = start + moved.T * units
    velocities = rates.T * units / time
    speeds = _speed(k, points, velocities)
    mean = float(speeds.mean())
    residual = float(np.abs(speeds / mean - 1).max()) if mean > 0 else 0.0
    return Geodesic(times, points, velocities, mean * float(times[-1] - times[0]), residual)


def _speed(k, X, V):
    """Return the lengths (v' g v)^(1/2) of vectors V (n, N) at points X (n, N)."""
    # powers of 2, so that squares neither underflow nor overflow
    largest = np.abs(V).max(axis=1)
    units = np.ldexp(1.0, np.frexp(largest)[1])
    V = V / units[:, None]

    def lengths(jet, chunk, first, _k):
        v = V[first : first + len(chunk)]
        squares = np.einsum("na,nab,nb->n", v, jet.term(1, 1), v)
        # smaller values are rounding of a direction of length 0
        known = rounding(X.shape[1]) * np.sum(np.abs(v) * np.sqrt(sizes_of(jet)), axis=1) ** 2
        squares[np.abs(squares) <= known] = 0.0
        if squares.min() < 0:
            raise ValueError(
                f"{shown(k)} gives a vector the squared length {squares.min():.3g} < 0: it is not positive "
                "semidefinite."
            )
        return np.sqrt(squares)

    return units * pointwise(lengths, k, X, (1, 1), 0, "1GB")


def _two_points(k, **points):
    """Return two points, or a point and a velocity, as float64 vectors."""
    x_name, z_name = points
    x, z = (as_vector(point, name) for name, point in points.items())
    for name, point in ((x_name, x), (z_name, z)):
        refuse_large(name, point)
        if name != "velocity":
            admitted(k, point[None], name)
    if len(x) != len(z):
        raise ValueError(
            f"{x_name} has {len(x)} features, but {z_name} has {len(z)}; they must be equal."
        )
    return x, z
