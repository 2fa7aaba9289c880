"""Few vectors that give the scores of many on data: points and coefficients fitted to decision values, not to vectors.

The distance in feature space weighs directions in which no data lie. Here the squared difference of the scores on data
is made small instead, the coefficients eliminated by least squares; then, for classifiers, what is lost at the margins.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from mercer import landmarks
from mercer._common import check_integer
from mercer.compression.scores import Data
from mercer.kernels.base import require_gradient

# Kernel values that one pass over the data may take; beyond it rows are drawn.
_VALUES = 1 << 24
# Prices of a squared difference of scores against that of a squared violation of the margin: the first one, unless rows
# held out show by this many standard errors that fewer of them are taken for the wrong side with the second.
_MATCH, _LOOSE, _SURE = 0.1, 0.01, 2.0
# The trial that shows it takes this share of the passes of the second descent, on half of the rows, for each price.
_TRIAL = 1 / 8
# Passes over the data of each descent: at most, at least, and the multiplications that they may take between these.
_MOST, _LEAST, _WORK = (120, 180), (16, 24), 3.4e11
# Kernel values of a pass beyond which a descent may take more multiplications, in proportion.
_LARGE = 1e7


@dataclass(frozen=True)
class Refit:
    """Scores over few points, ``kernel(X, points) @ coef + intercept``.

    Attributes
    ----------
    points : float64 array (p, d)
    coef : float64 array (p, m)
    intercept : float64 array (m,)
    objective : float
        The loss per row where the descent ended.
    n_iter : int
        Passes over the data.
    """

    points: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    objective: float
    n_iter: int


def refit(kernel, start, X, scores, signs=None, *, copies=1, scale=None, passes=None, random_state=None, callback=None):
    r"""Return few points and coefficients whose scores on data are nearest to given ones.

    .. math:: \min_{Z, B, b} \sum_i |F_i - k(x_i, Z) B - b|^2 + \lambda |B|^2

    with B and b eliminated by least squares, by L-BFGS in Z. With signs, which say what side of a machine a row belongs
    to, a second descent, in Z, B and b, minimises

    .. math:: \sum_{ij} |U_{ij}| (\mu (F_{ij} - S_{ij})^2 + \max(0, 1 - U_{ij} S_{ij})^2), \quad S = k(X, Z) B + b,

    only for the rows that a machine was trained on. Scores are kept, mu = 0.1, unless labels have more to say, mu =
    0.01: few vectors that cannot meet all scores should rather miss those far from the boundary. Two short descents on
    half of the rows decide it by how many of the other half they take for the wrong side, which the lower price has to
    lessen by two standard errors.

    Parameters
    ----------
    kernel : Kernel
        With a gradient, its numbers resolved.
    start : array (p, d)
        The points to start from.
    X : array (n, d)
        Data, and neighbours of it.
    scores : array (n, m)
        The scores F to be met.
    signs : array (n, m), optional
        U, 1 and -1 for the sides of a machine, 0 for rows it does not concern.
    copies : int
        X is stacked from that many neighbours of the same rows, which are held out together.
    scale : array (m,), optional
        What differences in each column are divided by; ones when left out.
    passes : (int, int), optional
        Passes over the data at most, in the first and in the second descent; when left out 120 and 180, and fewer
        where they would take more than 4e11 multiplications, or 4e11 for every 1e7 kernel values of a pass where these
        are more, but 16 and 24.
    random_state : int, RandomState, Generator or None
        Choice of rows where there are too many, and of those held out.
    callback : callable, optional
        ``callback(done, most)`` after every pass over the data, of how many at most.

    Returns
    -------
    Refit

    Raises
    ------
    TypeError
        When the kernel has no gradient.
    ValueError
        For arrays that do not fit each other.

    Notes
    -----
    A pass of the first descent costs n p (4 d + 2 p + 6 m) operations, one of the second n p (4 d + 6 c) with c the
    machines that concern a row, in float32, on all threads; sums over tiles and the equations for the coefficients are
    in float64. The choice of mu takes an eighth of the work of the second descent. Beyond 2^24 kernel values the first
    descent draws rows; the second sees all. The ridge is 1e-6 of the mean square of the kernel values; the final
    coefficients of the first descent are solved for with a thousandth of it. The second descent moves L^T B, where
    L L^T is the mean product of the kernel values that it starts from, and points by what they do to the scores.

    References
    ----------
    Golub, Pereyra, *The differentiation of pseudo-inverses and nonlinear least squares problems whose variables
    separate*, SIAM J. Numer. Anal. 10 (1973).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.compression.refit import refit
    >>> X = np.linspace(-4, 4, 50)[:, None]
    >>> F = mc.Gaussian(1.0)(X, np.array([[0.3]]))
    >>> fit = refit(mc.Gaussian(1.0), np.array([[0.6]]), X, F)
    >>> fit.points.round(2), fit.coef.round(2)
    (array([[0.3]]), array([[1.]]))
    """
    require_gradient(kernel)
    start, X, scores = np.asarray(start, np.float64), np.asarray(X), np.asarray(scores, np.float64)
    if len(X) != len(scores) or X.shape[1] != start.shape[1] or len(X) % copies:
        raise ValueError(
            f"X {X.shape}, scores {scores.shape}, start {start.shape} and copies = {copies} do not fit each other."
        )
    # centres of rows are below 0 by rounding
    start = np.maximum(start, 0) if kernel.tags.nonnegative else start
    for most in passes or ():
        check_integer("passes", most, 0)
    scale = np.ones(scores.shape[1]) if scale is None else np.asarray(scale, np.float64)
    rows, signs = _drawn(len(X), len(start), random_state), None if signs is None else np.asarray(signs)
    data = Data(kernel, X[rows], scores[rows] / scale)
    whole = None if signs is None else Data(kernel, X, scores / scale, signs)
    passes = _affordable(data, whole, start) if passes is None else passes
    trial = int(_TRIAL * passes[1])
    done, most = itertools.count(1), sum(passes) + 2 * trial

    def said():
        if callback is not None:
            callback(next(done), most)

    Z, taken = data.matched(start, passes[0], said)
    B, b, objective = data.coefficients(Z)
    if whole is not None and passes[1]:
        match = _MATCH
        if trial and len(X) > copies:
            held = _held_out(len(X), copies, random_state)
            halves = [Data(kernel, X[part], scores[part] / scale, signs[part]) for part in (~held, held)]
            match, tried = _price(*halves, copies, (Z, B, b), trial, said)
            taken += tried
        Z, B, b, objective, decided = whole.decided(Z, B, b, match, passes[1], said)
        taken += decided
    return Refit(Z, B * scale, b * scale, objective, taken)


def _held_out(n, copies, random_state):
    """Return which of n stacked rows are held out: half of the rows of a copy, and the same ones of all copies."""
    mask = np.zeros(n // copies, bool)
    mask[landmarks.uniform(np.empty((len(mask), 1)), len(mask) // 2, random_state)] = True
    return np.tile(mask, copies)


def _price(seen, held, copies, start, passes, callback):
    """Return the price of differences in scores that rows held out speak for, and the passes it took to know."""
    tight, loose = (seen.decided(*start, match, passes, callback) for match in (_MATCH, _LOOSE))
    # copies of a row are no independent witnesses
    gain = (held.wrong(*tight[:3]) - held.wrong(*loose[:3])).reshape(copies, -1).sum(axis=0)
    better = gain.sum() > _SURE * np.sqrt(np.sum(gain**2))
    return (_LOOSE if better else _MATCH), tight[-1] + loose[-1]


def _drawn(n, p, random_state):
    most = max(_VALUES // p, 4 * p, 256)
    return slice(None) if n <= most else landmarks.uniform(np.empty((n, 1)), most, random_state)


def _affordable(data, whole, start):
    """Return the passes of both descents."""
    (n, m), (p, d) = data.shape, start.shape
    each = 2 * d + p + 3 * m
    if whole is None:  # the work of both
        return _passes(n * p, each / 2, sum(_LEAST), sum(_MOST)), 0
    return _passes(n * p, each, _LEAST[0], _MOST[0]), _passes(
        whole.shape[0] * p, 2 * d + 3 * whole.concerned, _LEAST[1], _MOST[1]
    )


def _passes(values, each, least, most):
    """Return the passes of a descent that takes some number of kernel values, and multiplications for each."""
    return int(np.clip(_WORK * max(1.0, values / _LARGE) / (values * each), least, most))
