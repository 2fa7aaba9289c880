"""How fast the eigenvalues of a kernel fall: given laws, laws fitted to a spectrum, and plain lists."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gamma, gammaincc

from mercer._common import check_number, check_positive

# Powers p of exp(-a j^p) that are tried.
_POWERS = np.linspace(0.2, 3.0, 57)
# Terms of a sum before its tail is bounded by an integral.
_TERMS = 100_000


@dataclass(frozen=True)
class ExponentialDecay:
    """Eigenvalues scale exp(-rate j^power), j = 1, 2, ...

    Parameters
    ----------
    rate, power, scale : float
        Above 0. A Gaussian kernel has power 1 to 2 in one dimension, and about 1/d in d.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.capacity import ExponentialDecay
    >>> ExponentialDecay(2.0).log_values(np.arange(1, 4))
    array([-2., -4., -6.])
    """

    rate: float
    power: float = 1.0
    scale: float = 1.0

    def __post_init__(self):
        for name in ("rate", "power", "scale"):
            check_positive(name, getattr(self, name))

    def log_values(self, j):
        """Return log lambda_j."""
        return np.log(self.scale) - self.rate * np.asarray(j, np.float64) ** self.power

    def log_power_sum(self, t):
        """Return log sum_j lambda_j^t, or slightly more."""
        j = np.arange(1.0, _TERMS + 1)
        # what lies beyond is at most an integral, an incomplete gamma function
        rate = t * self.rate
        shape = 1 / self.power
        tail = gamma(shape) * gammaincc(shape, rate * j[-1] ** self.power) / (self.power * rate**shape)
        return float(t * np.log(self.scale) + np.log(np.exp(-rate * j**self.power).sum() + tail))


@dataclass(frozen=True)
class PolynomialDecay:
    """Eigenvalues scale j^-power, j = 1, 2, ...

    Parameters
    ----------
    power : float
        Above 1, so that the kernel has a trace. A Matern kernel has 1 + 2 nu / d in d dimensions.
    scale : float
        Above 0.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.capacity import PolynomialDecay
    >>> np.exp(PolynomialDecay(2.0).log_values(np.array([1, 2, 3])))
    array([1.        , 0.25      , 0.11111111])
    """

    power: float
    scale: float = 1.0

    def __post_init__(self):
        check_positive("scale", self.scale)
        check_number("power", self.power)
        if not self.power > 1:
            raise ValueError(f"power = {self.power!r} must be above 1: eigenvalues of a kernel have a finite sum.")

    def log_values(self, j):
        """Return log lambda_j."""
        return np.log(self.scale) - self.power * np.log(np.asarray(j, np.float64))

    def log_power_sum(self, t):
        """Return log sum_j lambda_j^t, or slightly more; infinity where the sum has no limit."""
        q = t * self.power
        if q <= 1:
            return np.inf
        j = np.arange(1.0, _TERMS + 1)
        return float(t * np.log(self.scale) + np.log(np.sum(j**-q) + j[-1] ** (1 - q) / (q - 1)))


@dataclass(frozen=True)
class ListedDecay:
    """The eigenvalues that are given, and none beside them.

    Parameters
    ----------
    values : array (k,)
        Above 0, descending; ``spectrum.values / spectrum.n`` estimates those of the integral operator.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.capacity import ListedDecay
    >>> ListedDecay(np.array([1.0, 0.5])).log_values(np.array([2, 3]))
    array([-0.69314718,        -inf])
    """

    values: np.ndarray

    def __post_init__(self):
        values = np.asarray(self.values, np.float64)
        if values.ndim != 1 or not len(values) or not (np.isfinite(values).all() and values.min() > 0):
            raise ValueError(f"values must be a list of finite numbers above 0, got {values}.")
        if np.any(np.diff(values) > 0):
            raise ValueError("values must be in descending order; give np.sort(values)[::-1].")

    def log_values(self, j):
        """Return log lambda_j, minus infinity beyond the list."""
        places, known = np.asarray(j, int) - 1, len(self.values)
        return np.where(places < known, np.log(np.asarray(self.values))[np.minimum(places, known - 1)], -np.inf)

    def log_power_sum(self, t):
        """Return log sum_j lambda_j^t."""
        return float(np.log(np.sum(np.asarray(self.values, np.float64) ** t)))


def estimate_decay(values):
    r"""Fit both laws of decay to eigenvalues and return the likelier one.

    Least squares of log lambda_j on j^p, for the best p, or on log j; the law of smaller n log(RSS / n) + (number of
    parameters) log n (Schwarz's criterion) is taken.

    Parameters
    ----------
    values : array (k,)
        At least 5, above 0, descending. Eigenvalues of a sample of n points near n^(-1/2) lambda_1 are noise, and
        those below eps lambda_1 rounding: leave them out.

    Returns
    -------
    ExponentialDecay or PolynomialDecay
        An estimate: it describes the eigenvalues given, and says of further ones what the law says.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.capacity.estimate_decay(3.0 * np.arange(1.0, 20) ** -2.5)
    PolynomialDecay(power=2.5, scale=3.0)
    """
    values = np.asarray(ListedDecay(values).values, np.float64)
    n = len(values)
    if n < 5:
        raise ValueError(f"{n} eigenvalues are too few to tell how they fall; give at least 5.")
    j, log = np.arange(1.0, n + 1), np.log(values)
    if log[0] - log[-1] <= 0:
        raise ValueError("all eigenvalues are equal: there is no decay to estimate.")
    slope, level, polynomial = _line(np.log(j), log)
    fits = [(*_line(j**p, log), p) for p in _POWERS]
    rate, height, exponential, p = min(fits, key=lambda fit: fit[2])
    # rounding must not decide between two perfect fits
    floor = n * (1e-10 * np.abs(log).max()) ** 2
    criteria = [n * np.log(max(rss, floor)) + k * np.log(n) for rss, k in ((polynomial, 2), (exponential, 3))]
    if criteria[0] <= criteria[1] and slope < -1:
        return PolynomialDecay(float(-slope), float(np.exp(level)))
    return ExponentialDecay(float(-rate), float(p), float(np.exp(height)))


def _line(x, y):
    """Return slope, level and residual sum of squares of the line through points."""
    centred = x - x.mean()
    slope = float(centred @ y / (centred @ centred))
    level = float(y.mean() - slope * x.mean())
    return slope, level, float(np.sum((y - level - slope * x) ** 2))
