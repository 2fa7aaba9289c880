"""Fit of few vectors to the outputs of a model on data.

The distance in feature space also counts directions without data. Here the squared differences of the outputs on data
are minimised, with the coefficients eliminated by least squares; for classifiers, the violations of the margin follow.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer import landmarks
from mercer._common import Array, Seed
from mercer.solvers.few_vectors.axes import leading_axes
from mercer.solvers.few_vectors.objective import Objective

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel

# Kernel values per pass over the data; with more, a subset of the rows is used.
VALUES = 1 << 24
# Weights mu of squared differences of outputs against squared violations of the margin: the first one, unless the
# second has fewer held-out errors by this many standard errors.
_WEIGHT, LOW_WEIGHT, _STANDARD_ERRORS = 0.1, 0.01, 2.0
# Passes of the comparison of the weights, for each weight and on half of the rows, as a share of the second descent.
_TRIAL = 1 / 8
# Most and fewest passes over the data, and the multiplications that limit their number in between: of the first and the
# second of two descents, and of one alone.
_FIRST, _SECOND, _ALONE = (120, 32, 1.5e11), (300, 24, 3.4e11), (300, 40, 6.8e11)
# Share of the rows, and fewest rows, of the first of two descents; the second one has all.
_SHARE, _ROWS = 1 / 3, 8192
# Share of the passes of the second descent that see the rows of the first one only.
_EARLY = 1 / 2
# Share of the passes of a shorter fit, before or after another one: fewer do not show how labels mislead.
SHORTER = 1 / 3
# Factor by which passes may be more where they are short, and the multiplications of a descent that has more.
LONGEST, _SHORT_WORK = 5, 1e10
# Rows for each coordinate of a point for each multiple of the passes: with fewer, points follow single rows.
_ROWS_EACH = 2
# Kernel values of a pass above which the multiplications may grow in proportion.
_LARGE = 1e7


@dataclass(frozen=True)
class Refit:
    """Points, coefficients and intercept of ``kernel(X, points) @ coef + intercept``."""

    points: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray


def refit(
    kernel: Kernel,
    start: Array,
    X: Any,
    outputs: Array,
    signs: Array | None = None,
    *,
    labelled: bool = True,
    copies: int = 1,
    weights: Array | None = None,
    scale: Array | None = None,
    passes: Any = None,
    share: float = 1.0,
    longest: float = LONGEST,
    random_state: Seed = None,
    callback: Callable[..., Any] | None = None,
) -> Refit:
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
    X, outputs : array (n, d), (n, m)
        Data, with neighbours, and the outputs F to approximate.
    signs : array (n, m), optional
    labelled : bool
        Whether the signs are those of labels, which the outputs may contradict.
    copies : int
        X consists of that many stacked copies of the same rows, which are held out together.
    weights : array (n,), optional
        Factors of the rows in both sums; 1 by default.
    scale : array (m,), optional
        Units of the columns; 1 by default.
    passes : (int, int), optional
        Most passes over the data in the first and the second descent. Default: 120 and 300, or fewer so that they take
        1.5e11 and 3.4e11 multiplications (that many per 1e7 kernel values of a pass if these are more), but at least 32
        and 24; without signs 300, 6.8e11 and 40, and the elimination of the coefficients counts. A kernel value counts
        with ``kernel.multiplications``. Up to ``longest`` times as many if they take 1e10 multiplications, but not more
        than there are pairs of rows for each coordinate of a point.
    share : float
        Share of the default passes, at least one in each descent.
    longest : float
        Largest factor of the default passes over few rows.
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
    its width or more, if these are at most half as many as columns (`few_vectors.axes`). The passes are as many as
    without axes, and take less time.
    The second descent moves L^T B, where L L^T is the mean product of the kernel values at its start (variable
    projection: Golub, Pereyra, SIAM J. Numer. Anal. 10, 1973).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.solvers.few_vectors.refit import refit
    >>> X = np.linspace(-4, 4, 50)[:, None]
    >>> F = mc.Gaussian(1.0)(X, np.array([[0.3]]))
    >>> fit = refit(mc.Gaussian(1.0), np.array([[0.6]]), X, F)
    >>> fit.points.round(2), fit.coef.round(2)
    (array([[0.3]]), array([[1.]]))
    """
    # means of rows may be negative by rounding
    start = np.maximum(np.asarray(start, np.float64), 0 if kernel.tags.nonnegative else -np.inf)
    scale = np.ones(outputs.shape[1]) if scale is None else scale
    weights = np.ones(len(X)) if weights is None else weights
    centre = _centre(outputs, weights, signs)
    axes, shape = leading_axes(kernel, X, random_state), start.shape
    if axes is not None:
        X, start = axes.rows(X), axes.nearest(start)
    data = _Data(kernel, X, (outputs - centre) / scale, signs, weights, not labelled, 0 if axes is None else 1)
    rows = _drawn(len(X), len(start), signs is not None, random_state)
    part = data.objective(rows)
    whole = part if signs is None or isinstance(rows, slice) else data.objective(slice(None))
    passes = passes or _affordable(part, None if signs is None else whole, shape, longest, share)
    trial = int(_TRIAL * passes[1]) if labelled else 0
    progress = _counting(callback, sum(passes) + 2 * trial)
    Z = part.fit_outputs(start, passes[0], progress)
    found = Z, *part.coefficients(Z)
    if signs is not None and passes[1]:
        weight = _WEIGHT if labelled else LOW_WEIGHT
        if trial and len(X) > copies:
            weight = _select_weight(data, _held_out(len(X), copies, random_state), copies, found, trial, progress)
        found = _second_descent(part, whole, found, weight, passes[1], progress)
    Z, B, b = found
    return Refit(Z if axes is None else axes.points(Z), B * scale, b * scale + centre)


def _centre(outputs, weights, signs):
    """Return the mean of outputs, which would take the digits of float32; 0 for margins, which have their place."""
    return np.average(outputs, axis=0, weights=weights) if signs is None else np.zeros(outputs.shape[1])


@dataclass(frozen=True)
class _Data:
    """Rows with outputs, signs or None, weights, and the options of their objectives."""

    kernel: Kernel
    X: Any
    outputs: np.ndarray
    signs: np.ndarray | None
    weights: np.ndarray
    inside: bool
    still: int

    def objective(self, rows: Any) -> Objective:
        """Return the objective of some of the rows."""
        signs = None if self.signs is None else self.signs[rows]
        options = self.inside, self.weights[rows], self.still
        return Objective(self.kernel, self.X[rows], self.outputs[rows], signs, *options)


def _counting(callback, most):
    """Return the function that reports a pass."""
    done = itertools.count(1)
    return lambda: None if callback is None else callback(next(done), most)


def _second_descent(part, whole, start, weight, passes, callback):
    """Return points, coefficients and intercepts after passes over the rows of the first descent, then over all."""
    early = 0 if whole is part else int(_EARLY * passes)
    found = part.fit_margins(*start, weight, early, callback)
    return whole.fit_margins(*found, weight, passes - early, callback)


def _held_out(n, copies, random_state):
    """Return which of n stacked rows are held out: half of the rows, and the same ones in all copies."""
    mask = np.zeros(n // copies, bool)
    mask[landmarks.uniform(np.empty((len(mask), 1)), len(mask) // 2, random_state)] = True
    return np.tile(mask, copies)


def _select_weight(data, held, copies, start, passes, callback):
    """Return the weight mu with fewer errors on held-out rows (mask) after short descents on the others."""
    seen, held = data.objective(~held), data.objective(held)
    first, low = (seen.fit_margins(*start, weight, passes, callback) for weight in (_WEIGHT, LOW_WEIGHT))
    # copies of a row are not independent
    errors = ((held.weights * held.count_errors(*each)).reshape(copies, -1).sum(axis=0) for each in (first, low))
    return LOW_WEIGHT if standard_errors(*errors) > _STANDARD_ERRORS else _WEIGHT


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
    return slice(None) if n <= most else landmarks.uniform(np.empty((n, 1)), most, random_state)


def _affordable(part, whole, shape, longest, share=1.0):
    """Return a share of the passes of both descents, rounded up."""
    (n, m), (p, d) = part.shape, shape
    values, longest = 2 * part.kernel.multiplications(d), max(1.0, min(longest, n / (_ROWS_EACH * p * d)))
    each = values + 3 * m
    first = _passes(n * p, each + p, _ALONE, longest) if whole is None else _passes(n * p, each, _FIRST, longest)
    second = 0 if whole is None else _passes(whole.shape[0] * p, values + 3 * whole.concerned, _SECOND, longest)
    return int(np.ceil(share * first)), int(np.ceil(share * second))


def _passes(values, each, limits, longest):
    """Return the passes of a descent with some number of kernel values per pass, and multiplications for each."""
    most, least, work = limits
    passes = np.clip(work * max(1.0, values / _LARGE) / (values * each), least, most)
    return int(np.clip(_SHORT_WORK / (values * each), passes, longest * passes))
