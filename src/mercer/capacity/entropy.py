"""Entropy numbers of diagonal operators and of the feature map: the radius of n balls that cover the image."""

from typing import Any

import numpy as np

from mercer._common import AnyFunction, Array, ArrayLike, as_float64, check_number, check_positive
from mercer._compute.points import as_vector
from mercer.capacity.decay import Decay, ListedDecay, descending, require_decay

# Ratio of the upper to the lower bound of an entropy number.
_FACTOR = 6.0
# Largest number of eigenvalues in a supremum.
_MOST = 1 << 22
# Grid of tau for the scalings a_s = lambda_s^(tau / 2).
SHARES = np.linspace(0.02, 0.98, 49)


def entropy_numbers(scales: ArrayLike, n: int | ArrayLike) -> tuple[Any, ...]:
    r"""Return bounds of the entropy number of a diagonal operator: the smallest radius of n balls that cover its image.

    .. math:: s \le \epsilon_n(D) \le 6 s, \qquad s = \sup_j n^{-1/j} (\sigma_1 \cdots \sigma_j)^{1/j}

    for D = diag(sigma) on l_p, with any p from 1 to infinity. One ball has the radius sigma_1 exactly, and both bounds
    are this radius.

    Parameters
    ----------
    scales : array (k,)
        sigma, above 0, descending; for mapped points, half the side lengths of their box.
    n : int or array of int
        Number of balls.

    Returns
    -------
    lower, upper : float or array

    References
    ----------
    Gordon, Koenig, Schuett, *Geometric and probabilistic estimates for entropy and approximation numbers of
    operators*, J. Approx. Theory 49 (1987); Carl, Stephani, *Entropy, compactness and the approximation of operators*
    (1990), prop. 1.3.2.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> lower, upper = mc.capacity.entropy_numbers(np.array([1.0, 0.5]), np.array([1, 8]))
    >>> lower, upper
    (array([1.  , 0.25]), array([1. , 1.5]))
    """
    scales = descending("scales", scales)
    n = _counts(n)
    several = np.exp(log_entropy_number(ListedDecay(scales), np.log(n)))
    lower = np.where(n == 1, scales[0], several)[()]
    return lower, np.where(n == 1, 1.0, _FACTOR) * lower


def log_entropy_number(scales: Decay, log_n: float | ArrayLike) -> Array | float:
    r"""Return log s of ``entropy_numbers`` for scales that follow a law of decay, for any n.

    Parameters
    ----------
    scales : ExponentialDecay, PolynomialDecay or ListedDecay
        Law of the scales sigma; square roots of eigenvalues have half the rate or power of the eigenvalues.
    log_n : float or array
        At least 0.

    Returns
    -------
    float or array
        Logarithm of the lower bound; the upper bound adds log 6.

    Notes
    -----
    The supremum is at the first j whose next scale is below the value at j; only the scales up to j are computed.

    Examples
    --------
    >>> import mercer as mc
    >>> law = mc.capacity.ExponentialDecay(1.0)
    >>> float(mc.capacity.log_entropy_number(law, 1e4))
    -141.92
    """
    require_decay("scales", scales)
    log_n = _logarithms(log_n)
    return _finite(_Means(scales.log_values, log_n.max()).supremum(log_n, 1.0), log_n)


def feature_entropy_number(decay: Decay, n: int | ArrayLike, bound: float = 1.0) -> Array | float:
    r"""Return a bound of the entropy number of the operator that maps a ball onto a set that holds the mapped points.

    .. math:: \epsilon_n(A) \le \inf_a \sup_j 6 C_k
        \left\|\left(\sqrt{\lambda_s} / a_s\right)_s\right\|_{\ell_2} n^{-1/j} (a_1 \cdots a_j)^{1/j}

    over scalings a_s = lambda_s^(tau / 2), 0 < tau < 1.

    Parameters
    ----------
    decay : ExponentialDecay, PolynomialDecay or ListedDecay
        Eigenvalues of the integral operator, known or estimated; eigenvalues beyond a list count as 0.
    n : int or array of int
    bound : float
        C_k, the largest |psi_j(x)| of all eigenfunctions, an assumption; ``Spectrum.suprema`` estimate it from below.

    Returns
    -------
    float or array
        Infinity when the norm is infinite for all tau.

    References
    ----------
    Williamson, Smola, Schoelkopf, *Generalization performance of regularization networks and support vector machines
    via entropy numbers of compact operators*, IEEE Trans. Inform. Theory 47 (2001).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> law = mc.capacity.ExponentialDecay(1.0, 2.0)
    >>> few, many = mc.capacity.feature_entropy_number(law, np.array([10, 10**9]))
    >>> bool(many < few)
    True
    """
    return np.exp(log_feature_entropy_number(decay, np.log(_counts(n)), bound))


def log_feature_entropy_number(
    decay: Decay, log_n: float | ArrayLike, bound: float = 1.0
) -> Array | float:
    """Return the logarithm of ``feature_entropy_number`` for any n.

    Parameters
    ----------
    decay : ExponentialDecay, PolynomialDecay or ListedDecay
    log_n : float or array
        At least 0.
    bound : float

    Returns
    -------
    float or array

    Examples
    --------
    >>> import mercer as mc
    >>> bool(mc.capacity.log_feature_entropy_number(mc.capacity.PolynomialDecay(3.0), 1e4) < 0)
    True
    """
    require_decay("decay", decay)
    check_positive("bound", bound)
    log_n = _logarithms(log_n)
    shares = {share: decay.log_power_sum(1 - share) for share in SHARES}
    means = _Means(decay.log_values, log_n.max() / (0.5 * SHARES[0]))
    best = np.full(log_n.shape, np.inf)
    for share, norm in shares.items():
        if np.isfinite(norm):
            best = np.minimum(best, 0.5 * norm + means.supremum(log_n, 0.5 * share))
    if not np.isfinite(list(shares.values())).any():
        return best[()]
    return _finite(best, log_n) + np.log(_FACTOR * bound)


class _Means:
    """Suprema over j of (c log(lambda_1 ... lambda_j) - log n) / j.

    Each is at the first j with log n / c < sum_(i <= j) log lambda_i - log lambda_(j + 1); these sums ascend in j.
    """

    def __init__(self, log_values: AnyFunction, needed: float) -> None:
        count = 256
        while True:
            j = np.arange(1, count + 2)
            logs = log_values(j)
            self._j = j[:-1]
            self._sums = np.cumsum(logs[:-1])
            # log values beyond the end of a finite list are minus infinity
            end = int(np.isfinite(logs).sum())
            self._turns = np.full(count, np.inf)
            inner = min(end, count + 1) - 1
            self._turns[:inner] = self._sums[:inner] - self._j[:inner] * logs[1 : inner + 1]
            if self._turns[-1] > needed or count >= _MOST:
                return
            count *= 4

    def supremum(self, log_n: Array, c: float) -> Array:
        """Return the supremum for every log n; infinity when it lies beyond the computed eigenvalues."""
        place = np.searchsorted(self._turns, log_n / c, side="right")
        computed = place < len(self._turns)
        place = np.where(computed, place, 0)
        return np.where(computed, (c * self._sums[place] - log_n) / self._j[place], np.inf)


def _finite(values, log_n):
    if np.isinf(values).any():
        raise ValueError(
            f"log_n = {log_n.max():.3g} needs more than {_MOST} eigenvalues; use a smaller log_n."
        )
    return values[()]


def _numbers(name, values):
    """Return a number or a vector of numbers in float64."""
    if np.ndim(values):
        return as_float64(as_vector(values, name))
    check_number(name, values)
    return np.float64(values)


def _logarithms(log_n):
    log_n = _numbers("log_n", log_n)
    if not (log_n.size and np.all(log_n >= 0)):
        raise ValueError(f"log_n = {log_n} must be at least 0, one number or more.")
    return log_n


def _counts(n):
    n = _numbers("n", n)
    if not (n.size and np.all(n >= 1) and np.all(n == np.floor(n))):
        raise ValueError(f"n = {n} must be whole numbers of at least 1, one or more.")
    return n
