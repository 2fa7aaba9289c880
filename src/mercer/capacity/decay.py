"""Laws of eigenvalue decay: exponential, polynomial, listed, and a fit to a spectrum."""

from typing import TypeAlias

import numpy as np
from scipy.special import gammaincc, gammaln, logsumexp

from mercer._common import (
    Array,
    ArrayLike,
    array_record,
    as_float64,
    check_instance,
    check_number,
    check_positive,
    record,
    shown,
)
from mercer._compute.points import as_vector, owned

# Grid of powers p of exp(-a j^p) in the fit.
_POWERS = np.linspace(0.2, 3.0, 57)
# Number of terms that are summed; the tail is bounded by an integral.
_TERMS = 100_000


@record
class ExponentialDecay:
    """Eigenvalues scale exp(-rate j^power), j = 1, 2, ...

    Parameters
    ----------
    rate, power, scale : float
        Above 0. A Gaussian kernel has power 1 to 2 in one dimension, and about 1/d in d dimensions.

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

    def __post_init__(self) -> None:
        for name in ("rate", "power", "scale"):
            check_positive(name, getattr(self, name))

    def log_values(self, j: Array) -> Array:
        """Return log lambda_j."""
        with np.errstate(over="ignore"):
            return np.log(self.scale) - self.rate * as_float64(j) ** self.power

    def log_power_sum(self, t: float) -> float:
        """Return an upper bound of log sum_j lambda_j^t."""
        j = np.arange(1.0, _TERMS + 1)
        # the tail is at most an integral, an incomplete gamma function
        rate = t * self.rate
        shape = 1 / self.power
        with np.errstate(divide="ignore"):
            share = np.log(gammaincc(shape, rate * j[-1] ** self.power))
        tail = gammaln(shape) + share - np.log(self.power) - shape * np.log(rate)
        return float(t * np.log(self.scale) + logsumexp(np.append(-rate * j**self.power, tail)))


@record
class PolynomialDecay:
    """Eigenvalues scale j^-power, j = 1, 2, ...

    Parameters
    ----------
    power : float
        Above 1, so that the trace is finite. A Matern kernel has 1 + 2 nu / d in d dimensions.
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

    def __post_init__(self) -> None:
        check_positive("scale", self.scale)
        check_number("power", self.power)
        if not self.power > 1:
            raise ValueError(
                f"power = {shown(self.power)} must be above 1; otherwise the sum of the eigenvalues diverges."
            )

    def log_values(self, j: Array) -> Array:
        """Return log lambda_j."""
        return np.log(self.scale) - self.power * np.log(as_float64(j))

    def log_power_sum(self, t: float) -> float:
        """Return an upper bound of log sum_j lambda_j^t; infinity when the sum diverges."""
        q = t * self.power
        if q <= 1:
            return np.inf
        j = np.arange(1.0, _TERMS + 1)
        return float(t * np.log(self.scale) + np.log(np.sum(j**-q) + j[-1] ** (1 - q) / (q - 1)))


@array_record
class ListedDecay:
    """A finite list of eigenvalues; all further eigenvalues are 0.

    Parameters
    ----------
    values : array (k,)
        Above 0, descending; ``spectrum.values / spectrum.n`` estimate those of the integral operator.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.capacity import ListedDecay
    >>> ListedDecay(np.array([1.0, 0.5])).log_values(np.array([2, 3]))
    array([-0.69314718,        -inf])
    """

    values: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", owned(descending("values", self.values)))

    def __repr__(self) -> str:
        return f"ListedDecay({len(self.values)} values)"

    def log_values(self, j: Array) -> Array:
        """Return log lambda_j, minus infinity beyond the list."""
        places = np.asarray(j, int) - 1
        known = len(self.values)
        return np.where(
            places < known, np.log(as_float64(self.values))[np.minimum(places, known - 1)], -np.inf
        )

    def log_power_sum(self, t: float) -> float:
        """Return log sum_j lambda_j^t."""
        return float(np.log(np.sum(as_float64(self.values) ** t)))


Decay: TypeAlias = ExponentialDecay | PolynomialDecay | ListedDecay


def descending(name: str, values: ArrayLike) -> Array:
    """Return positive numbers in descending order as a float64 array (k,), or raise."""
    values = as_vector(values, name)
    if not len(values):
        raise ValueError(f"{name} = [] must hold at least one number above 0.")
    if not values.min() > 0:
        bad = int(np.argmin(values))
        raise ValueError(f"{name}[{bad}] = {values[bad]} must be above 0.")
    if np.any(np.diff(values) > 0):
        raise ValueError(f"{name} must be in descending order; use np.sort({name})[::-1].")
    return values


def require_decay(name: str, value: object) -> None:
    """Raise a TypeError unless an argument is a law of decay."""
    check_instance(name, value, Decay, "an ExponentialDecay, PolynomialDecay or ListedDecay")


def estimate_decay(values: ArrayLike) -> ExponentialDecay | PolynomialDecay:
    r"""Fit an exponential and a polynomial law to eigenvalues and return the better one.

    Least squares of log lambda_j on j^p, for the best p, and on log j; the law with the smaller n log(RSS / n) +
    (number of parameters) log n (Schwarz's criterion) is returned.

    Parameters
    ----------
    values : array (k,)
        At least 5, above 0, descending. Omit eigenvalues of a sample of n points near n^(-1/2) lambda_1, which are
        noise, and those below eps lambda_1, which are rounding.

    Returns
    -------
    ExponentialDecay or PolynomialDecay
        An estimate from the given eigenvalues, which extrapolates to further ones.

    Raises
    ------
    ValueError
        For fewer than 5 eigenvalues, and for equal ones.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.capacity.estimate_decay(3.0 * np.arange(1.0, 20) ** -2.5)
    PolynomialDecay(power=2.5, scale=3.0)
    """
    values = as_float64(ListedDecay(values).values)
    n = len(values)
    if n < 5:
        raise ValueError(f"values has {n} eigenvalues, but a fit needs at least 5.")
    if values[0] == values[-1]:
        raise ValueError("values must not all be equal; a constant has no decay.")
    j = np.arange(1.0, n + 1)
    log = np.log(values)
    slope, level, polynomial = _line(np.log(j), log)
    fits = [(*_line(j**p, log), p) for p in _POWERS]
    rate, height, exponential, p = min(fits, key=lambda fit: fit[2])
    # a perfect fit can have RSS 0
    criteria = [
        n * np.log(max(rss, 1e-300)) + k * np.log(n)
        for rss, k in ((polynomial, 2), (exponential, 3))
    ]
    if criteria[0] <= criteria[1] and slope < -1:
        return PolynomialDecay(float(-slope), float(np.exp(level)))
    return ExponentialDecay(float(-rate), float(p), float(np.exp(height)))


def _line(x, y):
    """Return slope, intercept and residual sum of squares of the least squares line."""
    (slope, level), rss, *_ = np.polyfit(x, y, 1, full=True)
    return slope, level, rss.item()
