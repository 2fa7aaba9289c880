"""Scales of columns, size of the kernel and ridge of kernel ridge regression, by likelihood or leave-one-out error."""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from sklearn.exceptions import ConvergenceWarning

from mercer._common import (
    HALVINGS,
    Array,
    Memory,
    as_float64,
    check_choice,
    check_integer,
    check_nonnegative,
    check_positive,
    record,
    refuse_large,
    shown,
    warn,
)
from mercer._compute import pick_backend
from mercer._compute.memory import Route, Size, Work, parse_memory, required
from mercer._compute.points import PROBES, Points, as_dense_rows
from mercer._compute.register import storable
from mercer._compute.threads import serial_blas, threaded_blas
from mercer._progress import notify
from mercer.kernels import Cauchy, Gaussian, Laplacian, Mapped, Matern, RationalQuadratic
from mercer.kernels.base import Kernel, require_gradient
from mercer.learning.quasi_newton import minimise
from mercer.linalg import lapack

METHODS = ("marginal_likelihood", "loo")
# Matrices of order n that a search holds.
_MATRICES = {"marginal_likelihood": 1.7, "loo": 4.2}
# Steps that are typical, and their operations for n^3.
_SEARCH = 20
_FLOPS = {"marginal_likelihood": 22.0, "loo": 60.0}
# Bound of the logarithms of the scales, and of the ridge as a share of the mean of k(x, x).
_RANGE = np.log(1e5)
# The exponent of a common scale s of all columns in a parameter of a kernel: k(s x, s z).
_POWERS = {
    Gaussian: ("gamma", 2),
    Cauchy: ("gamma", 2),
    Laplacian: ("gamma", 1),
    Matern: ("length", -1),
    RationalQuadratic: ("length", -1),
}
# Least size of targets whose squares, times the ridge, are numbers of full precision.
_SMALLEST = 1e-145
# Least ridge in roundings of a kernel value.
_ROUNDINGS = 1e4
# Relative change of the objective below which steps end.
_PRECISION = 1e-8
# Points of a first search, and steps from each start.
_FEW = 500
_FIRST = 5
# Logarithms of the common scales of the starts: a search ends where the objective is flat, as for very distant points.
_SHIFTS = np.log([1.0, 0.5, 0.25, 0.125, 2.0])
# One start does not depend on the given numbers: logarithm of its ridge, as a share of the mean of k(x, x).
_USUAL_RIDGE = np.log(0.1)
# Curvature for each point that a search assumes at its start: its first steps are short.
_CURVED = 0.1
# Step of differences of slopes; least curvature for each point: where the objective is flatter, steps are short.
_DIFFERENCE = 1e-3
_FLAT = 1e-4


@storable
@record
class Tuning:
    r"""How ``KernelRidge(tune=...)`` searches for scales and ridge: the criterion, a limit of steps, and a prior.

    It minimises

    .. math:: -\log p(Y | s, \rho) + \frac{\text{prior}}{2} \sum_j (u_j - \bar u)^2,

    u_j the logarithm of the factor by which the given scale s_j of a column is multiplied. For "loo" the first term is
    n t / 2 times the logarithm of the squared leave-one-out error, for n points and t targets.

    Parameters
    ----------
    method : {"marginal_likelihood", "loo"}
    max_steps : int
        Most quasi-Newton steps from the best of several starts, each of which takes up to 5 steps. A search that ends
        by this limit causes a ConvergenceWarning.
    prior : float
        At least 0: u has a normal prior of variance 1 / prior around its mean. It holds scales of columns together
        where points are few; the common scale is free, and with one scale for all columns there is no prior.

    References
    ----------
    Rasmussen, Williams, *Gaussian processes for machine learning* (2006), section 5.2: maximum a posteriori.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> kernel = mc.Mapped(mc.Gaussian(0.5), np.ones(3))
    >>> for prior in (0.0, 10.0):
    ...     tune = mc.learning.Tuning("marginal_likelihood", prior=prior)
    ...     model = mc.KernelRidge(0.1, kernel=kernel, tune=tune).fit(X, np.sin(X[:, 0]))
    ...     print(np.ptp(np.log(model.kernel_.kernel.A)).round(1))
    11.3
    3.1
    """

    method: str = "marginal_likelihood"
    max_steps: int = 200
    prior: float = 0.0

    def __post_init__(self) -> None:
        check_choice("method", self.method, METHODS)
        check_integer("max_steps", self.max_steps)
        check_nonnegative("prior", self.prior)

    def penalty(self, logs: Array) -> tuple[float, Array]:
        """Return the negative log of the prior of logarithms of scales (d,) and its derivatives."""
        away = self.prior * (logs - logs.mean())
        return 0.5 * float(away @ logs), away


def check_tune(tune: str | Tuning | None, landmarks: object) -> Tuning | None:
    """Return the search of a ridge regression, or raise a ValueError where none is possible with these parameters."""
    if tune is None:
        return None
    if not isinstance(tune, Tuning):
        check_choice("tune", tune, (None, *METHODS))
    if landmarks is not None:
        raise ValueError(
            f"landmarks = {shown(landmarks)} must be None with tune; search kernel__gamma with these landmarks by "
            "GridSearchCV, or tune on a sample of the points, and fit all points over these landmarks with its "
            "kernel_ and alpha_."
        )
    return tune if isinstance(tune, Tuning) else Tuning(tune)


def tuning_route(size: Size, method: str) -> Route:
    """Return the route of a search."""
    n = size.n
    matrices = 8 * _MATRICES[method]
    most = math.isqrt(int(size.budget / matrices))
    work = Work(2.0 * _SEARCH * n * n, _FLOPS[method] * n**3, assumed=f"{_SEARCH} steps")
    instead = f"a sample of at most {most} points, and fit all points with its kernel_ and alpha_"
    route = Route(
        "dense", "matrices of a search", int(matrices * n**2), work, tune_ridge, instead=instead
    )
    return replace(route, block=(n, n), task=f"tuning on {n} points")


def log_bounds(scales: int, dtype: Any) -> list[tuple[float, float]]:
    """Return the bounds of the logarithms of some scales and of a ridge, as a share of the mean of k(x, x).

    Below the least ridge, rounding of kernel values of the type decides.
    """
    least = np.log(max(1e-6, _ROUNDINGS * np.finfo(dtype).eps))
    return [(-_RANGE, _RANGE)] * scales + [(least, _RANGE)]


def tune_ridge(
    kernel: Kernel,
    alpha: float,
    X: Array,
    Y: Array,
    weights: Array | None,
    tuning: Tuning,
    memory: Memory,
) -> tuple[Kernel, float]:
    """Return the kernel and the ridge with the largest marginal likelihood or the smallest leave-one-out error.

    The columns have one scale each if the kernel is ``Mapped(kernel, scales)``, otherwise one in common. The likelihood
    also determines the size of the kernel, in closed form; the error does not depend on it. A search takes a few steps
    from each of some multiples of the given scales, and from those at which kernel values are half of k(x, x) on
    average, and more from the best; with some of the points if there are many.
    """
    method = tuning.method
    check_positive("alpha", alpha)
    require_gradient(kernel, f'KernelRidge(tune="{method}")', "use tune=None")
    linear = isinstance(kernel, Mapped) and not callable(kernel.A)
    if linear and kernel.A.ndim == 2:
        raise ValueError(
            f"KernelRidge(tune={method!r}) tunes a scale for each column, not a matrix of shape {kernel.A.shape}; "
            "give Mapped(kernel, scales), or multiply X by the matrix and give kernel.kernel."
        )
    X = as_dense_rows(X, "X")
    given = X.dtype
    X = X.astype(np.float64)
    refuse_large("X", X)
    X, Y, w = distinct(X, as_float64(Y), weights)
    size = Size(len(X), parse_memory(memory))
    required([tuning_route(size, method)], size, "")
    size = float(np.mean(kernel.diag(X)))
    if not (Y.any() and size > 0):
        # any scale gives the same predictions, or there is no kernel
        return kernel, float(alpha)
    Y, unit = _in_units(Y, method)
    # a multiple of all weights is one of the ridge, and so of its bounds
    mean = float(w.mean())
    w = w / mean
    alpha = alpha / mean
    # whole numbers are columns
    own = linear and kernel.A.dtype.kind == "f"
    inner, first = (kernel.kernel, as_float64(kernel.A)) if own else (kernel, np.ones(X.shape[1]))
    start = np.append(np.zeros(len(first) if own else 1), np.log(alpha / size))
    bounds = log_bounds(len(start) - 1, given)
    start[-1] = np.clip(start[-1], *bounds[-1])
    is_summed = method == "marginal_likelihood"
    criterion = _likelihood if is_summed else _left_out
    starts = [start + [*[shift] * (len(start) - 1), 0] for shift in _SHIFTS]
    starts.append(np.append(np.full(len(start) - 1, _usual_shift(inner, X * first)), _USUAL_RIDGE))

    def objective(logs, X, Y, w):
        U = X * (first * np.exp(logs[:-1]))
        with serial_blas, threaded_blas(len(X) ** 3):
            value, weights, by_ridge, _ = criterion(inner, U, Y, w, size * np.exp(logs[-1]))
            by_scales = _by_scales(inner, U, weights)
        penalty, slopes = tuning.penalty(logs[:-1])
        # the leave-one-out error is a mean
        share = 1.0 if is_summed else 1 / Y.size
        by_scales = (by_scales if own else by_scales.sum()) + share * slopes
        return value + share * penalty, np.append(by_scales, by_ridge)

    found = _optimum(objective, starts, bounds, (X, Y, w), is_summed, tuning.max_steps)
    # rounding of the objective ends the search too
    if found.steps >= tuning.max_steps:
        warn(
            f'tune="{method}" has not reached its optimum after {found.steps} steps; start nearer to it, or raise '
            "max_steps of mercer.learning.Tuning.",
            ConvergenceWarning,
        )
    # digits beyond a thousandth are rounding of the sums
    logs = np.round(found.x, 3)
    scales = first * np.exp(logs[:-1])
    ridge = size * float(np.exp(logs[-1]))
    factor = unit * criterion(inner, X * scales, Y, w, ridge)[-1]
    tuned = Mapped(inner, scales) if own else _with_scale(inner, scales)
    return (tuned if factor == 1 else factor * tuned), float(factor * ridge * mean)


class Scales(NamedTuple):
    """Scales (d,) of columns, a ridge, and how curved the negative log likelihood is, for each row.

    The curvature (d + 1, d + 1) estimates the second derivatives in the logarithms of both; None if it is not known.
    """

    scales: Array
    ridge: float
    curvature: Array | None = None


def likely_scales(kernel: Kernel, rows: Any, first: Scales, tuning: Tuning) -> Scales:
    """Return scales of columns and a ridge of large marginal likelihood, by some steps from those given.

    The logarithms of the scales have the prior of ``tuning``. ``rows`` has points X, targets Y and weights. All is
    computed in float32, whose rounding of kernel values is below the least ridge.
    """
    X, Y, w = (np.float32(each) for each in rows)
    bounds = log_bounds(len(first.scales), X.dtype)
    start = np.log(np.append(first.scales, first.ridge)).clip(*np.transpose(bounds))
    H = _CURVED * np.eye(len(start)) if first.curvature is None else first.curvature

    def objective(moved):
        U = X * np.float32(np.exp(moved[:-1]))
        try:
            value, weights, by_ridge, _ = _likelihood(kernel, U, Y, w, float(np.exp(moved[-1])))
        except ValueError:
            # the ridge of heavy rows is below the rounding
            return np.inf, np.full(len(moved), np.nan)
        penalty, slopes = tuning.penalty(moved[:-1])
        return value + penalty, np.append(_by_scales(kernel, U, weights) + slopes, by_ridge)

    found = minimise(objective, start, len(X) * H, bounds, 1e-5, tuning.max_steps)
    *scales, ridge = np.exp(found.x)
    return Scales(np.array(scales), float(ridge), found.H / len(X))


def _in_units(Y, method):
    """Return targets of a size near 1, and what multiplies the size of their kernel; division is by a power of 2.

    Squares of tiny numbers would be 0 in the search. The size of the kernel is a square too, or is not searched for.
    """
    largest = float(np.abs(Y).max())
    unit = 2.0 ** np.floor(np.log2(largest))
    if method == "loo":
        return Y / unit, 1.0
    if largest < _SMALLEST:
        raise ValueError(
            f"y has entries up to {largest:.1g}, which must be at least {_SMALLEST:.0e} for tune={shown(method)}, "
            "whose "
            'kernel has the size of their squares; multiply y by a constant, or use tune="loo".'
        )
    return Y / unit, unit**2


def _optimum(objective, starts, bounds, points, summed, most):
    """Return the minimum over the logarithms of the scales and of the ridge.

    A search over many points starts at the optimum of some of them, unless that explains all points less than noise.
    """
    # the rows are sorted
    few = tuple(each[:: -(-len(each) // _FEW)] for each in points)
    found = _from_starts(objective, starts, bounds, few, summed, most)
    if len(few[0]) == len(points[0]):
        return found
    # beside the largest ridge the kernel is nothing
    noise = np.append(starts[0][:-1], _RANGE)
    if objective(found.x, *points)[0] > objective(noise, *points)[0]:
        # scales that fit some points by chance say nothing of the others
        return _from_starts(objective, starts, bounds, points, summed, most)
    H = _curvature(objective, found.x, bounds, few, _FLAT * (len(few[0]) if summed else 1))
    # derivatives of an objective that is summed over points are proportional to their number
    if summed:
        H *= len(points[0]) / len(few[0])
    return minimise(lambda logs: objective(logs, *points), found.x, H, bounds, _PRECISION, most)


def _from_starts(objective, starts, bounds, points, summed, most):
    """Return the minimum of a search from the best of the places that a few steps from the starts lead to."""
    H = _CURVED * (len(points[0]) if summed else 1) * np.eye(len(bounds))

    def search(logs, steps):
        return minimise(lambda logs: objective(logs, *points), logs, H, bounds, _PRECISION, steps)

    places = [search(start, min(_FIRST, most)) for start in starts]
    return search(min(places, key=lambda place: place.value).x, most)


def _usual_shift(kernel, X):
    """Return the logarithm of a factor of the points at which kernel values are half of k(x, x) on average."""
    X = X[:: -(-len(X) // PROBES)]
    lower, upper = -_RANGE, _RANGE
    for _ in range(HALVINGS):
        middle = (lower + upper) / 2
        U = X * np.exp(middle)
        near = np.mean(kernel(U)) > 0.5 * np.mean(kernel.diag(U))
        lower, upper = (middle, upper) if near else (lower, middle)
    return lower


def _curvature(objective, logs, bounds, points, least):
    """Return the second derivatives, by differences of slopes inside the bounds, with eigenvalues of ``least`` size."""
    steps = np.where(logs + _DIFFERENCE <= np.array(bounds)[:, 1], _DIFFERENCE, -_DIFFERENCE)
    slopes = objective(logs, *points)[1]
    moved = [objective(logs + each, *points)[1] for each in np.diag(steps)]
    H = (np.array(moved) - slopes) / steps[:, None]
    values, axes = np.linalg.eigh((H + H.T) / 2)
    return (axes * np.maximum(np.abs(values), least)) @ axes.T


def distinct(X: Array, Y: Array, weights: Array | None) -> tuple[Array, Array, Array]:
    """Return the different observations and their weights: repetitions, which say nothing of the noise, add up."""
    rows, inverse = np.unique(np.hstack([X, Y]), axis=0, return_inverse=True)
    w = np.bincount(inverse.ravel(), weights, minlength=len(rows)).astype(np.float64)
    kept = rows[w > 0]
    return kept[:, : X.shape[1]], kept[:, X.shape[1] :], w[w > 0]


def _with_scale(kernel, scales):
    """Return k(s x, s z) for one scale of all columns."""
    name, power = _POWERS.get(type(kernel), (None, 0))
    if name is None:
        return Mapped(kernel, scales)
    params = kernel.get_params(deep=False)
    return type(kernel)(**params | {name: float(params[name] * scales[0] ** power)})


def _likelihood(kernel, X, Y, w, ridge):
    """Return -log of the marginal likelihood of v k, its derivatives in rows of K and in the log of the ridge, and v.

    Up to a constant it is (t n log v + t log|C|) / 2, C = K + ridge diag(1 / w), best v = tr(Y' C^-1 Y) / (t n).
    """
    inverse, half_log, A = _solved(kernel, X, Y, w, ridge)
    fit = float(np.sum(Y * A, dtype=np.float64))
    value = 0.5 * Y.size * np.log(fit / Y.size) + Y.shape[1] * half_log
    by_inverse = 0.5 * Y.shape[1]
    by_fit = 0.5 * Y.size / fit
    by_ridge = ridge * np.sum((by_inverse * np.diag(inverse) - by_fit * np.sum(A**2, axis=1)) / w)
    return (
        value,
        lambda rows: by_inverse * inverse[rows] - by_fit * A[rows] @ A.T,
        by_ridge,
        fit / Y.size,
    )


def _left_out(kernel, X, Y, w, ridge):
    r"""Return half the logarithm of the weighted squared leave-one-out error, and its derivatives as `_likelihood`.

    .. math:: r_i = a_i / (C^{-1})_{ii}, \qquad a = C^{-1} Y
    """
    inverse, _, A = _solved(kernel, X, Y, w, ridge)
    q = np.diag(inverse)
    R = A / q[:, None]
    error = float(np.sum(w[:, None] * R**2))
    # derivatives of half the log error in a and in q
    by_a = w[:, None] * R / q[:, None] / error
    by_q = -np.sum(by_a * R, axis=1)
    solved = inverse @ by_a
    W = -(inverse * by_q) @ inverse - 0.5 * (solved @ A.T + A @ solved.T)
    return 0.5 * np.log(error), W.__getitem__, ridge * np.sum(np.diag(W) / w), 1.0


def _solved(kernel, X, Y, w, ridge):
    """Return C^-1 (n, n), log|C| / 2, and C^-1 Y, with C = K + ridge diag(1 / w)."""
    points = Points(X)
    C = pick_backend(kernel, points).dense(kernel, points, points)
    C[np.diag_indices_from(C)] += ridge / w
    # in the order of LAPACK, without a copy
    L = C.T
    try:
        lapack.factorise(L)
    except np.linalg.LinAlgError:
        raise ValueError(
            f"tune needs a positive definite matrix, but that of {shown(kernel)} and a ridge of {ridge:.3g} is not; "
            "use tune=None, or a kernel of mercer.make_positive."
        ) from None
    notify("tuning", ridge=float(ridge))
    A = scipy.linalg.cho_solve((L, True), Y, check_finite=False)
    half_log = float(np.sum(np.log(np.diag(L)), dtype=np.float64))
    lapack.invert_factored(L)
    return L, half_log, A


def _by_scales(kernel, U, weights):
    """Return the derivatives (d,) in the log scales of the columns; weights(rows) are those in the kernel matrix."""
    points = Points(U)
    # both arguments of the kernel move, hence the factor 2
    return 2 * np.sum(pick_backend(kernel, points).vjp(kernel, points, points, weights) * U, axis=0)
