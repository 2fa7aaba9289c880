"""Entropy numbers: how well a few balls cover what a diagonal operator makes of the unit ball."""

import numpy as np

from mercer._common import check_positive
from mercer.capacity.decay import ListedDecay

# The two bounds of an entropy number differ by this factor.
_FACTOR = 6.0
# Eigenvalues that a supremum may need at most; where many scalings are tried, those that need more are left out.
_MOST = 1 << 22
# Scaling operators that are tried: powers of the eigenvalues.
_SHARES = np.linspace(0.02, 0.98, 49)


def entropy_numbers(scales, n):
    r"""Return bounds of the entropy number of a diagonal operator: the least radius of n balls that cover its image.

    .. math:: s \le \epsilon_n(D) \le 6 s, \qquad s = \sup_j n^{-1/j} (\sigma_1 \cdots \sigma_j)^{1/j}

    for D = diag(sigma) on l_p, with any p from 1 to infinity.

    Parameters
    ----------
    scales : array (k,)
        sigma, above 0, descending. Of the mapped points these are half the sides of their box.
    n : int or array of int
        Numbers of balls.

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
    (array([1.  , 0.25]), array([6. , 1.5]))
    """
    log_n = np.log(_counts(n))
    lower = np.exp(log_entropy_number(ListedDecay(scales), log_n))
    return lower, _FACTOR * lower


def log_entropy_number(scales, log_n):
    r"""Return log s of ``entropy_numbers`` for scales by a law of decay, and for any n.

    Parameters
    ----------
    scales : ExponentialDecay, PolynomialDecay or ListedDecay
        Of the operator itself: the square roots of eigenvalues have half the rate.
    log_n : float or array
        At least 0.

    Returns
    -------
    float or array
        The logarithm of the lower bound; that of the upper one is greater by log 6.

    Notes
    -----
    The supremum is at the first j whose next scale is below the value there; as many scales are computed.

    Examples
    --------
    >>> import mercer as mc
    >>> law = mc.capacity.ExponentialDecay(1.0)
    >>> float(mc.capacity.log_entropy_number(law, 1e4))
    -141.92
    """
    log_n = _logarithms(log_n)
    found = _Means(scales.log_values, log_n.max(), _MOST).supremum(log_n, 1.0)
    return _found(found, log_n)


def feature_entropy_number(decay, n, bound=1.0):
    r"""Return a bound of the entropy number of the operator that makes a ball of the box of the mapped points.

    .. math:: \epsilon_n(A) \le \inf_a \sup_j 6 C_k
        \left\|\left(\sqrt{\lambda_s} / a_s\right)_s\right\|_{\ell_2} n^{-1/j} (a_1 \cdots a_j)^{1/j}

    over scalings a_s = lambda_s^(tau / 2), 0 < tau < 1.

    Parameters
    ----------
    decay : ExponentialDecay, PolynomialDecay or ListedDecay
        Eigenvalues of the integral operator, given or estimated. What a list leaves out counts as 0.
    n : int or array of int
    bound : float
        C_k, the largest |psi_j(x)| of all eigenfunctions: an assumption. ``Spectrum.suprema`` estimates it from below.

    Returns
    -------
    float or array
        Infinity where no scaling leaves a finite norm.

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


def log_feature_entropy_number(decay, log_n, bound=1.0):
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
    check_positive("bound", bound)
    log_n = _logarithms(log_n)
    shares = {share: decay.log_power_sum(1 - share) for share in _SHARES}
    means = _Means(decay.log_values, log_n.max() / (0.5 * _SHARES[0]), _MOST)
    best = np.full(log_n.shape, np.inf)
    for share, norm in shares.items():
        if np.isfinite(norm):
            best = np.minimum(best, 0.5 * norm + means.supremum(log_n, 0.5 * share))
    if not np.isfinite(list(shares.values())).any():
        return best[()]
    return _found(best, log_n) + np.log(_FACTOR * bound)


class _Means:
    """Suprema over j of (c log(lambda_1 ... lambda_j) - log n) / j.

    The supremum is at the first j with c log lambda_(j + 1) below the value there, which is to say with
    log n / c < sum_(i <= j) log lambda_i - log lambda_(j + 1), and these sums ascend.
    """

    def __init__(self, log_values, needed, most):
        count = 256
        while True:
            j = np.arange(1, count + 2)
            logs = log_values(j)
            self._j, self._sums = j[:-1], np.cumsum(logs[:-1])
            # a finite list has nothing beyond its end, which is minus infinity
            end = int(np.isfinite(logs).sum())
            self._turns = np.full(count, np.inf)
            inner = min(end, count + 1) - 1
            self._turns[:inner] = self._sums[:inner] - self._j[:inner] * logs[1 : inner + 1]
            if self._turns[-1] > needed or count >= most:
                return
            count *= 4

    def supremum(self, log_n, c):
        """Return the supremum for every log n, infinity where it lies beyond the eigenvalues computed."""
        place = np.searchsorted(self._turns, log_n / c, side="right")
        there = place < len(self._turns)
        place = np.where(there, place, 0)
        return np.where(there, (c * self._sums[place] - log_n) / self._j[place], np.inf)


def _found(values, log_n):
    if np.isinf(values).any():
        raise ValueError(f"log_n = {log_n.max():.3g} needs more than {_MOST} eigenvalues; give a smaller one.")
    return values[()]


def _logarithms(log_n):
    log_n = np.asarray(log_n, np.float64)
    if not (np.isfinite(log_n).all() and np.all(log_n >= 0)):
        raise ValueError(f"log_n = {log_n} must be finite and at least 0.")
    return log_n


def _counts(n):
    n = np.asarray(n, np.float64)
    if not np.all(n >= 1):
        raise ValueError(f"n = {n} balls must be at least 1.")
    return n
