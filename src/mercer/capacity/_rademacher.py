"""Rademacher complexity: the margin bound of the error, and the local complexities of a spectrum."""

import numpy as np

from mercer._common import check_confidence, check_positive
from mercer.capacity._model import Model, augmented, require_model
from mercer.capacity._spectrum import Spectrum, require_uncentred
from mercer.capacity.bound import FIXED_KERNEL, Bound

# Exponents j of Lambda / rho = 2^j in the union bound.
_OCTAVES = np.arange(-20, 21)


def rademacher(model: Model, *, confidence: float = 0.95) -> Bound:
    r"""Return the margin bound of the error from the Rademacher complexity of balls of functions.

    .. math:: R \le \frac1n \left|\{i : y_i f(x_i) < \rho\}\right|
        + \frac{2 \Lambda}{\rho n} \sqrt{\mathrm{tr} K} + 3 \sqrt{\frac{\log(2 / \delta_j)}{2 n}}

    with Lambda^2 = |w|^2 + b^2 and the kernel k + 1, which makes the bias a coordinate. The bound holds for all
    Lambda / rho = 2^j together, with delta_j = (2 / 3) delta / ((|j| + 1) (|j| + 2)); the smallest value over j is
    returned.

    Parameters
    ----------
    model : Model
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
    >>> model = mc.capacity.model(mc.SVC(C=0.01, kernel=mc.Gaussian(0.1)).fit(X, y), X, y)
    >>> mc.capacity.rademacher(model).vacuous
    False
    """
    require_model(model)
    return margin_bound(
        "Rademacher",
        model,
        float(np.sqrt(augmented(model).diagonal.sum())) / len(model),
        confidence,
    )


def margin_bound(name: str, model: Model, complexity: float, confidence: float) -> Bound:
    """Return the margin bound from the complexity of the functions of norm 1 of the kernel k + 1."""
    delta = 1 - check_confidence(confidence)
    wide = augmented(model)
    n = len(model)
    norm = max(wide.norm, 1e-300)
    scales = 2.0**_OCTAVES
    size = np.abs(_OCTAVES)
    own = (2 / 3) * delta / ((size + 1) * (size + 2))
    margins = np.sort(model.margins)
    failed = np.searchsorted(margins, norm / scales, side="left") / n
    values = failed + 2 * scales * complexity + 3 * np.sqrt(np.log(2 / own) / (2 * n))
    best = int(np.argmin(values))
    value = float(values[best])
    statement = (
        f"The error is at most {value:.3g}; {failed[best]:.1%} of the points lie within the margin "
        f"{norm / scales[best]:.3g}, which gives the smallest bound."
    )
    return Bound(name, value, statement, "error", confidence, (FIXED_KERNEL,))


def local_complexity(spectrum: Spectrum, r: float) -> float:
    r"""Return a bound of the empirical Rademacher complexity of the functions f of norm 1 with mean f(x_i)^2 <= r.

    .. math:: E_\sigma \sup_f \frac1n \sum_i \sigma_i f(x_i)
        \le \left(\frac2n \sum_i \min\{r, \lambda_i / n\}\right)^{1/2}

    Parameters
    ----------
    spectrum : Spectrum
        Not centred. Eigenvalues that were not computed contribute their sum.
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
    values, rest = _uncentred(spectrum)
    return float(
        np.sqrt(2 / spectrum.n * (np.minimum(r, values / spectrum.n).sum() + rest / spectrum.n))
    )


def local_rademacher(spectrum: Spectrum) -> Bound:
    r"""Return the fixed point of the local Rademacher complexity, a rate for the excess error of least squares.

    .. math:: r^* = \min_{0 \le h \le n} \left(\frac hn + \sqrt{\frac1n \sum_{i > h} \lambda_i / n}\right)

    Parameters
    ----------
    spectrum : Spectrum
        Not centred.

    Returns
    -------
    Bound
        A heuristic: the excess of the squared error over that of the best function of norm 1 is at most a constant
        times r* + x / n with probability 1 - e^-x; the constant is omitted.

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
    values, rest = _uncentred(spectrum)
    n = spectrum.n
    tails = np.maximum(spectrum.trace - np.append(0.0, np.cumsum(values)), rest)
    candidates = np.arange(len(tails)) / n + np.sqrt(tails) / n
    h = int(np.argmin(candidates))
    value = float(candidates[h])
    statement = (
        f"The squared error exceeds that of the best function of norm 1 by about {value:.3g}, up to a constant; the "
        f"minimum is at h = {h} eigenvalues."
    )
    assumptions = "least squares with bounded targets", "an omitted constant"
    return Bound("local Rademacher", value, statement, "excess squared error", None, assumptions)


def _uncentred(spectrum):
    """Return the eigenvalues and the sum of those that were not computed, or raise for a centred spectrum."""
    require_uncentred(spectrum)
    rest = 0.0 if spectrum.complete else max(spectrum.trace - float(spectrum.values.sum()), 0.0)
    return spectrum.values, rest
