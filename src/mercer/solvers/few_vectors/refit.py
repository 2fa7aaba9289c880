"""Fit of few vectors to the outputs of a model on data.

The distance in feature space also counts directions without data. Here the squared differences of the outputs on data
are minimised, with the coefficients eliminated by least squares; for classifiers, the violations of the margin follow.
"""

import itertools
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from mercer import landmarks
from mercer._common import AnyFunction, Array, Seed, as_float64, record
from mercer.kernels import Gaussian
from mercer.kernels.base import Kernel
from mercer.solvers.few_vectors.objective import MANY, Fit, Objective, Rows

# Kernel values per pass over the data; with more, a subset of the rows is used.
VALUES = 1 << 24
# Weight mu of squared differences of outputs against squared violations of the margin.
_WEIGHT = 0.1
# The weight instead, if its errors on held-out rows are fewer by some standard errors.
LOW_WEIGHT = 0.01
# Standard errors by which errors on held-out rows are surely fewer.
SURE = 2.0
# Passes of the comparison of the weights, for each weight and on half of the rows, as a share of the second descent.
_TRIAL = 1 / 8
# Share of the rows of the first of two descents, and fewest rows; the second one has all.
_SHARE = 1 / 3
_ROWS = 8192
# Share of the passes of the second descent that see the rows of the first one only.
_EARLY = 1 / 2
# Share of the passes of a shorter fit, before or after another one: fewer do not show how labels mislead.
SHORTER = 1 / 3
# Factor by which passes may be more where they are short.
LONGEST = 5
# Multiplications of a descent that has more passes.
_SHORT_WORK = 1e10
# Rows for each coordinate of a point for each multiple of the passes: with fewer, points follow single rows.
_ROWS_EACH = 2
# Kernel values of a pass above which the multiplications may grow in proportion.
_LARGE = 1e7


class Limits(NamedTuple):
    """Most and fewest passes over the data, and the multiplications that limit their number in between."""

    most: int
    fewest: int
    work: float

    def passes(self, values: float, each: float, longest: float) -> int:
        """Return the passes of a descent with some kernel values per pass, and multiplications for each."""
        passes = np.clip(
            self.work * max(1.0, values / _LARGE) / (values * each), self.fewest, self.most
        )
        return int(np.clip(_SHORT_WORK / (values * each), passes, longest * passes))


# Of the first and the second of two descents, and of one alone.
_FIRST = Limits(120, 32, 1.5e11)
_SECOND = Limits(300, 24, 3.4e11)
_ALONE = Limits(300, 40, 6.8e11)


@record
class Effort:
    """The passes of a fit: a share of the default ones, and the largest factor of these over few rows.

    ``passes`` are the most in the first and the second descent instead.
    """

    share: float = 1.0
    longest: float = LONGEST
    passes: tuple[int, int] | None = None


def refit(
    kernel: Kernel,
    start: Array,
    rows: Rows,
    labelled: bool = True,
    effort: Effort = Effort(),  # noqa: B008 - it does not change
    random_state: Seed = None,
    callback: AnyFunction | None = None,
) -> Fit:
    r"""Return few points and coefficients whose outputs on data approximate given ones.

    .. math:: \min_{Z, B, b} \sum_i |F_i - k(x_i, Z) B - b|^2 + \lambda |B|^2

    is minimised by L-BFGS in Z, with B and b eliminated by least squares. With signs U (1 or -1, the sign of a row in a
    binary classifier, 0 for rows of other classes) it does so on a third of the rows, at least 8 192, and a second
    descent in Z, B and b, whose first half has the same rows and the other half all, minimises

    .. math:: \sum_{ij} |U_{ij}| (\mu (F_{ij} - S_{ij})^2 + \max(0, 1 - U_{ij} S_{ij})^2), \quad S = k(X, Z) B + b.

    mu is 0.1. If the vectors are too few to meet all outputs, mu = 0.01 lets them miss outputs far from the boundary:
    two short descents on half of the rows compare the errors of both weights on the other half, and 0.01 is used if
    its errors are fewer by two standard errors.

    If the signs are no labels but those of the outputs, mu is 0.01, and an output in (-1, 1) has the loss
    :math:`(F_{ij} - S_{ij})^2` alone: with a margin, the place where S changes sign would depend on single rows.

    Parameters
    ----------
    start : array (p, d)
        Starting points.
    rows : Rows
        Data, with neighbours, and the outputs F to approximate.
    labelled : bool
        Whether the signs are those of labels, which the outputs may contradict.
    effort : Effort
        By default at most 120 and 300 passes over the data in the first and the second descent, or fewer so that they
        take 1.5e11 and 3.4e11 multiplications (that many per 1e7 kernel values of a pass if these are more), but at
        least 32 and 24; without signs 300, 6.8e11 and 40, and the elimination of the coefficients counts. A kernel
        value counts with ``kernel.multiplications``. Up to ``longest`` times as many if they take 1e10 multiplications,
        but not more than there are pairs of rows for each coordinate of a point.
    random_state : int, RandomState, Generator or None
        For the subset of rows and the held-out rows.
    callback : callable, optional
        ``callback(done, most)`` is called after every pass over the data.

    Notes
    -----
    A pass of the first descent costs n p (4 q + 2 p + 6 m) operations, one of the second n p (4 q + 6 c) with q the
    multiplications of a kernel value (d for an inner product or a distance) and c the classifiers per row, in float32
    on all threads; sums over tiles and the equations for B are in float64. The ridge is 1e-6 of the mean square of the
    kernel values; the final coefficients of the first descent use a thousandth of it.
    Points of a Gaussian kernel move along the principal axes of the rows with a standard deviation of a twentieth of
    its width or more, if these are at most half as many as columns (`leading_axes`). The passes are as many as
    without axes, and take less time.
    The second descent moves L^T B, where L L^T is the mean product of the kernel values at its start (variable
    projection: Golub, Pereyra, SIAM J. Numer. Anal. 10, 1973).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.solvers.few_vectors.refit import refit
    >>> from mercer.solvers.few_vectors.objective import Rows
    >>> X = np.linspace(-4, 4, 50)[:, None]
    >>> F = mc.Gaussian(1.0)(X, np.array([[0.3]]))
    >>> fit = refit(mc.Gaussian(1.0), np.array([[0.6]]), Rows(X, F))
    >>> fit.points.round(2), fit.coef.round(2)
    (array([[0.3]]), array([[1.]]))
    """
    # means of rows may be negative by rounding
    start = np.maximum(as_float64(start), 0 if kernel.tags.nonnegative else -np.inf)
    alone = rows.signs(labelled) is None
    # the mean of outputs would take the digits of float32; margins have their place
    centre = (
        np.average(rows.outputs, axis=0, weights=rows.weights)
        if alone
        else np.zeros(rows.outputs.shape[1])
    )
    data = replace(rows, outputs=(rows.outputs - centre) / rows.scale)
    axes = leading_axes(kernel, rows.X, random_state)
    if axes is not None:
        data = replace(data, X=axes.rows(rows.X))

    def objective(places):
        return Objective(kernel, data.take(places), labelled, 0 if axes is None else 1)

    drawn = _drawn(len(rows.X), len(start), not alone, random_state)
    part = objective(drawn)
    whole = part if alone or isinstance(drawn, slice) else objective(slice(None))
    first, second = effort.passes or _affordable(
        part, None if alone else whole, start.shape, effort
    )
    trial = int(_TRIAL * second) if labelled and len(rows.X) > rows.copies else 0
    progress = _counting(callback, first + second + 2 * trial)
    found = part.fit_outputs(start if axes is None else axes.nearest(start), first, progress)
    weight = _WEIGHT if labelled else LOW_WEIGHT
    if trial:
        held = _held_out(len(rows.X), rows.copies, random_state)
        weight = _select_weight(objective(~held), objective(held), found, trial, progress)
    if whole is not part:
        early = int(_EARLY * second)
        found = part.fit_margins(found, weight, early, progress)
        second = second - early
    if second:
        found = whole.fit_margins(found, weight, second, progress)
    points = found.points if axes is None else axes.points(found.points)
    return Fit(points, found.coef * rows.scale, found.intercept * rows.scale + centre)


def _counting(callback, most):
    """Return the function that reports a pass, None without a callback."""
    done = itertools.count(1)
    return callback and (lambda: callback(next(done), most))


def _select_weight(seen, held, start, passes, progress):
    """Return the weight mu with fewer errors on held-out rows after short descents on the others."""
    errors = []
    for weight in (_WEIGHT, LOW_WEIGHT):
        wrong = held.rows.weights * held.count_errors(
            seen.fit_margins(start, weight, passes, progress)
        )
        # copies of a row are not independent
        errors.append(wrong.reshape(held.rows.copies, -1).sum(axis=0))
    return LOW_WEIGHT if standard_errors(*errors) > SURE else _WEIGHT


def _held_out(n, copies, random_state):
    """Return which of n stacked rows are held out: half of the rows, and the same ones in all copies."""
    mask = np.zeros(n // copies, bool)
    mask[landmarks.uniform(mask, len(mask) // 2, random_state)] = True
    return np.tile(mask, copies)


def standard_errors(first: Array, second: Array) -> float:
    """Return by how many standard errors the sum of the first numbers exceeds that of the second, paired ones.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.few_vectors.refit import standard_errors
    >>> standard_errors(np.array([1, 1, 1, 1, 0]), np.array([0, 0, 0, 0, 0]))
    2.0
    """
    gain = np.asarray(first) - second
    return float(gain.sum() / max(np.sqrt(np.sum(gain**2)), 1.0))


def _drawn(n, p, followed, random_state):
    """Return the rows of the first descent; fewer if it is followed by one on all rows."""
    most = max(VALUES // p, 4 * p, 256)
    if followed:
        most = min(most, max(int(_SHARE * n), _ROWS, 4 * p))
    return slice(None) if n <= most else landmarks.uniform(np.empty(n), most, random_state)


def _affordable(part, whole, shape, effort):
    """Return a share of the passes of both descents, rounded up."""
    n, m = part.shape
    p, d = shape
    values = 2 * part.kernel.multiplications(d)
    longest = max(1.0, min(effort.longest, n / (_ROWS_EACH * p * d)))
    each = values + 3 * m
    if whole is None:
        first = _ALONE.passes(n * p, each + p, longest)
        second = 0
    else:
        first = _FIRST.passes(n * p, each, longest)
        second = _SECOND.passes(whole.shape[0] * p, values + 3 * whole.concerned, longest)
    return int(np.ceil(effort.share * first)), int(np.ceil(effort.share * second))


# --- axes along which vectors move where a Gaussian kernel hardly varies in other directions --------------------------


@record
class Axes:
    """The subspace of points c + V y: a centre c (d,) and orthonormal axes V (d, q)."""

    centre: np.ndarray
    axes: np.ndarray

    def rows(self, X: Array) -> Array:
        """Return q coordinates of rows (n, d) and their distance from the subspace, (n, q + 1).

        Distances to points of the subspace, whose last coordinate is 0, are those of the rows.
        """
        shifted = X - self.centre
        inside = shifted @ self.axes
        beyond = np.sum(shifted * shifted, axis=1) - np.sum(inside * inside, axis=1)
        return np.column_stack([inside, np.sqrt(np.maximum(beyond, 0))])

    def nearest(self, Z: Array) -> Array:
        """Return the coordinates (p, q + 1) of the nearest points of the subspace."""
        return np.column_stack([(Z - self.centre) @ self.axes, np.zeros(len(Z))])

    def points(self, Y: Array) -> Array:
        """Return the points (p, d) of coordinates (p, q + 1)."""
        return self.centre + Y[:, :-1] @ self.axes.T


def leading_axes(kernel: Kernel, X: Any, random_state: Seed = None) -> Axes | None:
    """Return the principal axes along which rows X (n, d) vary by a twentieth of a Gaussian kernel's width or more.

    None for other kernels, and if these are more than half of the columns.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.solvers.few_vectors.refit import leading_axes
    >>> X = np.array([[0.0, 1.0, 1.0], [2.0, 1.0, 1.01], [4.0, 1.0, 0.99]])
    >>> found = leading_axes(mc.Gaussian(0.5), X)
    >>> np.abs(found.axes.T).round(2)
    array([[1., 0., 0.]])
    """
    n, d = X.shape
    if type(kernel) is not Gaussian or d == 1 or min(n, d) > MANY:
        return None
    # rows for each column that the axes are computed from
    some = 8 * d
    rows = X if n <= some else X[landmarks.uniform(X, some, random_state)]
    centre = rows.mean(axis=0, dtype=np.float64)
    rows = rows - centre
    # the smaller one of the two products has the same nonzero eigenvalues
    wide = len(rows) < d
    products = rows @ rows.T if wide else rows.T @ rows
    variances, vectors = scipy.linalg.eigh(products / len(rows), check_finite=False)
    # the width is 1 / sqrt(2 gamma)
    kept = 2 * kernel.gamma * variances >= 0.05**2
    axes = vectors[:, kept]
    if wide:
        axes = rows.T @ (axes / np.sqrt(len(rows) * variances[kept]))
    return Axes(centre, axes) if 0 < axes.shape[1] <= d / 2 else None
