"""Rademacher complexities of a ball of functions, and the error of a margin that they bound."""

import numpy as np

from mercer._common import check_positive
from mercer.capacity._model import augmented
from mercer.capacity.bound import Bound, probability

# Norms at margin 1 that the union bound pays for: 2^-20 to 2^20.
_OCTAVES = np.arange(-20, 21)


def rademacher(machine, *, confidence=0.95):
    r"""Return the margin bound of the error from the Rademacher complexity of balls of functions.

    .. math:: R \le \frac1n \left|\{i : y_i f(x_i) < \rho\}\right|
        + \frac{2 \Lambda}{\rho n} \sqrt{\mathrm{tr} K} + 3 \sqrt{\frac{\log(2 / \delta_j)}{2 n}}

    with Lambda^2 = |w|^2 + b^2 and the kernel k + 1, which makes the bias a coordinate. It holds for all
    Lambda / rho = 2^j at once, with delta_j = (2 / 3) delta / ((|j| + 1) (|j| + 2)); the best j is taken.

    Parameters
    ----------
    machine : Machine
        Of any classifier.
    confidence : float
        1 - delta, between 0 and 1.

    Returns
    -------
    Bound

    References
    ----------
    Mohri, Rostamizadeh, Talwalkar, *Foundations of machine learning* (2018), theorems 5.8 and 6.12; Bartlett,
    Mendelson, *Rademacher and Gaussian complexities*, JMLR 3 (2002).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.linspace(-3, 3, 2000)[:, None]
    >>> y = (X[:, 0] > 0).astype(int)
    >>> machine = mc.capacity.machine(mc.SVC(C=0.01, kernel=mc.Gaussian(0.1)).fit(X, y), X, y)
    >>> mc.capacity.rademacher(machine).vacuous
    False
    """
    delta = 1 - probability(confidence)
    wide, n = augmented(machine), len(machine)
    root = float(np.sqrt(wide.diagonal.sum()))
    norm = max(wide.norm, 1e-300)
    scales = 2.0**_OCTAVES
    size = np.abs(_OCTAVES)
    own = (2 / 3) * delta / ((size + 1) * (size + 2))
    margins = np.sort(machine.margins)
    failed = np.searchsorted(margins, norm / scales, side="left") / n
    values = failed + 2 * scales * root / n + 3 * np.sqrt(np.log(2 / own) / (2 * n))
    best = int(np.argmin(values))
    value = float(values[best])
    return Bound(
        "Rademacher",
        value,
        f"The error is at most {value:.3g}; {failed[best]:.1%} of the points lie within the margin "
        f"{norm / scales[best]:.3g} that is best.",
        "error",
        confidence,
        ("a kernel that was fixed before the points were seen",),
    )


def local_complexity(spectrum, r):
    r"""Return a bound of the empirical Rademacher complexity of the functions f of norm 1 with mean f(x_i)^2 <= r.

    .. math:: E_\sigma \sup_f \frac1n \sum_i \sigma_i f(x_i)
        \le \left(\frac2n \sum_i \min\{r, \lambda_i / n\}\right)^{1/2}

    Parameters
    ----------
    spectrum : Spectrum
        Not centred. Eigenvalues that were not found count with their sum.
    r : float
        Above 0.

    Returns
    -------
    float

    References
    ----------
    Bartlett, Bousquet, Mendelson, *Local Rademacher complexities*, Ann. Stat. 33 (2005), lemma 6.6.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> plain = mc.capacity.spectrum(mc.Linear(), np.eye(2), centre=False)
    >>> mc.capacity.local_complexity(plain, 0.125)
    0.5
    """
    check_positive("r", r)
    values, rest = _of_plain(spectrum)
    return float(np.sqrt(2 / spectrum.n * (np.minimum(r, values / spectrum.n).sum() + rest / spectrum.n)))


def local_rademacher(spectrum):
    r"""Return the fixed point of the local complexity, the rate at which the error of a kernel machine can fall.

    .. math:: r^* = \min_{0 \le h \le n} \left(\frac hn + \sqrt{\frac1n \sum_{i > h} \lambda_i / n}\right)

    Parameters
    ----------
    spectrum : Spectrum
        Not centred.

    Returns
    -------
    Bound
        A heuristic: the excess of the squared error over that of the best function of norm 1 is at most a constant
        times r* + x / n with probability 1 - e^-x, and the constant is left out.

    References
    ----------
    Bartlett, Bousquet, Mendelson (2005), corollary 6.7.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.random.default_rng(0).normal(size=(400, 1))
    >>> smooth, rough = (mc.capacity.spectrum(mc.Gaussian(g), X, centre=False) for g in (0.1, 100.0))
    >>> mc.capacity.local_rademacher(smooth).value < mc.capacity.local_rademacher(rough).value
    True
    """
    values, rest = _of_plain(spectrum)
    n = spectrum.n
    left = np.maximum(spectrum.trace - np.append(0.0, np.cumsum(values)), rest)
    candidates = np.arange(len(left)) / n + np.sqrt(left) / n
    h = int(np.argmin(candidates))
    value = float(candidates[h])
    return Bound(
        "local Rademacher",
        value,
        f"The squared error exceeds that of the best function of norm 1 by about {value:.3g}, up to a constant; "
        f"{h} directions of feature space are learned.",
        "excess squared error",
        None,
        ("least squares with bounded values", "a constant that is left out"),
    )


def _of_plain(spectrum):
    """Return the eigenvalues, and the sum of those that were not found."""
    if spectrum.centred:
        raise ValueError("complexities need the plain Gram matrix: spectrum(kernel, X, centre=False).")
    rest = 0.0 if spectrum.complete else max(0.0, spectrum.trace - float(spectrum.values.sum()))
    return spectrum.values, rest
