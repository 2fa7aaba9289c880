"""Bounds of the error of a classifier from margins, support vectors, the VC dimension, and covering numbers."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfc, gammaln, xlogy

from mercer._common import (
    EPS,
    TINY,
    check_confidence,
    check_integer,
    check_number,
    check_positive,
    shown,
)
from mercer.capacity._model import Model, augmented, require, require_model
from mercer.capacity._spectrum import Spectrum, require_uncentred
from mercer.capacity.ball import Ball, smallest_ball
from mercer.capacity.bound import FIXED_KERNEL, Bound
from mercer.capacity.decay import Decay, require_decay
from mercer.capacity.entropy import SHARES, log_feature_entropy_number

# --- Rademacher complexity -------------------------------------------------------------------------------------------


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
    return _margin_bound(
        "Rademacher",
        model,
        float(np.sqrt(augmented(model).diagonal.sum())) / len(model),
        confidence,
    )


def _margin_bound(name, model, complexity, confidence):
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


# --- covering numbers on the sample ----------------------------------------------------------------------------------


def log_covering_number(spectrum: Spectrum, epsilon: float, radius: float = 1.0) -> float:
    r"""Return a bound of the log covering number, on the sample, of the functions of norm at most ``radius``.

    In the norm sqrt(mean f(x_i)^2) these functions form an ellipsoid with half-axes a_i = radius sqrt(lambda_i / n).
    For every d with a_(d+1) < epsilon

    .. math:: \log N(\epsilon) \le \sum_{i \le d} \log \max\left(\frac{4 a_i}{e}, 2\right), \qquad
              e^2 = \epsilon^2 - a_{d+1}^2

    and the smallest value over d is returned.

    Parameters
    ----------
    spectrum : Spectrum
        Not centred, and complete or with the leading eigenvalues.
    epsilon : float
        Radius of the covering balls, above 0.
    radius : float
        Above 0.

    Returns
    -------
    float
        Infinity when too few eigenvalues were computed for this epsilon.

    Notes
    -----
    Proof by volumes: an ellipsoid of d half-axes plus a ball of radius e / 2 lies in twice the ellipsoid of half-axes
    max(a_i, e / 2), which holds at most as many disjoint balls of radius e / 2 as the ratio of volumes.

    References
    ----------
    Williamson, Shawe-Taylor, Schoelkopf, Smola, *Sample based generalization bounds*, NeuroCOLT NC-TR-99-055 (1999),
    for the use of Gram eigenvalues.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> plain = mc.capacity.spectrum(mc.Gaussian(0.5), X, centre=False)
    >>> mc.capacity.log_covering_number(plain, 1.5), mc.capacity.log_covering_number(plain, 0.1) > 5
    (0.0, True)
    """
    check_positive("epsilon", epsilon)
    check_positive("radius", radius)
    require_uncentred(spectrum)
    axes = radius * np.sqrt(spectrum.values / spectrum.n)
    # first omitted axis a_(d+1), for d = 0, 1, ...; it is not known for d = k unless the spectrum is complete
    omitted = np.append(axes, 0.0) if spectrum.complete else axes
    d = np.flatnonzero(omitted < epsilon)
    # the root of epsilon^2 - a^2 without squares, which may overflow
    e = np.sqrt(epsilon - omitted[d]) * np.sqrt(epsilon + omitted[d])
    # of the first d axes, those above e / 2 count log(4 a / e) and the others log 2
    above = np.minimum(len(axes) - np.searchsorted(axes[::-1], e / 2), d)
    with np.errstate(divide="ignore"):
        sums = np.append(0.0, np.cumsum(np.log(axes)))[above]
    return float(
        np.min(sums + above * (np.log(4) - np.log(e)) + (d - above) * np.log(2), initial=np.inf)
    )


# Numbers of a logarithmic scale of which the smallest bound is taken: radii from the largest axis down to its smallest
# share, and numbers of balls.
_GRID = 400
_SMALLEST = 1e-6


def dudley_bound(model: Model, spectrum: Spectrum, *, confidence: float = 0.95) -> Bound:
    r"""Return the margin bound of the error from Dudley's integral of the covering numbers on the sample.

    The Rademacher complexity of the functions of norm 1 is bounded by

    .. math:: \inf_{\alpha > 0} \; 4 \alpha + \frac{12}{\sqrt n} \int_\alpha^{a_1} \sqrt{\log N(\tau)} \, d\tau,
        \qquad a_1 = \sqrt{\lambda_1 / n}

    with the covering numbers of `log_covering_number`, plus 1 / sqrt(n) for the bias; it takes the place of the
    complexity sqrt(tr K) / n in `rademacher`.

    Parameters
    ----------
    model : Model
        Of any classifier.
    spectrum : Spectrum
        Of the same kernel and points, not centred: ``capacity.spectrum(model.kernel, model.points, centre=False)``.
    confidence : float
        1 - delta, between 0 and 1.

    Returns
    -------
    Bound
        Below 1 from about 100 000 points on. Rarely below `rademacher`, whose complexity is exact up to a factor
        sqrt(2): the integral shows how the decay of the eigenvalues limits the capacity.

    Raises
    ------
    ValueError
        If the spectrum is centred or of another number of points.

    Notes
    -----
    The integral is bounded from above by the sum over intervals, since N decreases. O(n log n) for each of 400 radii.

    References
    ----------
    Dudley, *The sizes of compact subsets of Hilbert space and continuity of Gaussian processes*, J. Funct. Anal. 1
    (1967); Bartlett, Foster, Telgarsky, *Spectrally-normalized margin bounds for neural networks*, NIPS 30 (2017),
    lemma A.5, for the constants; Williamson, Shawe-Taylor, Schölkopf, Smola, *Sample based generalization bounds*,
    NeuroCOLT NC-TR-99-055 (1999).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.linspace(-3, 3, 2000)[:, None]
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = mc.capacity.model(mc.SVC(C=0.01, kernel=mc.Gaussian(0.1)).fit(X, y), X, y)
    >>> plain = mc.capacity.spectrum(model.kernel, model.points, 5, centre=False)
    >>> mc.capacity.dudley_bound(model, plain).value > mc.capacity.rademacher(model).value
    True
    """
    require_model(model)
    require_uncentred(spectrum)
    if spectrum.n != len(model):
        raise ValueError(
            f"spectrum is of {spectrum.n} points, but the model has {len(model)}; use "
            "mercer.capacity.spectrum(model.kernel, model.points, centre=False)."
        )
    return _margin_bound("Dudley", model, _complexity(spectrum) + spectrum.n**-0.5, confidence)


def _complexity(spectrum):
    """Return a bound of the Rademacher complexity of the functions of norm 1 on the sample."""
    largest = float(np.sqrt(spectrum.values[0] / spectrum.n))
    radii = largest * np.geomspace(_SMALLEST, 1, _GRID)
    # infinite for radii that need eigenvalues that were not computed
    logs = np.array([log_covering_number(spectrum, radius) for radius in radii])
    parts = np.sqrt(logs[:-1]) * np.diff(radii)
    integrals = np.append(np.cumsum(parts[::-1])[::-1], 0.0)
    return float(np.min(4 * radii + 12 / np.sqrt(spectrum.n) * integrals))


# --- covering numbers a priori ---------------------------------------------------------------------------------------


# Logarithm from which all numbers are whole.
_MANY = -float(np.log(EPS))


def covering_bound(
    model: Model, decay: Decay, *, confidence: float = 0.95, bound: float = 1.0
) -> Bound:
    r"""Return the bound of the error of a classifier without training errors, from entropy numbers of the feature map.

    .. math:: R \le \frac2n \left(\log_2 N(\gamma / 2) + \log_2 \frac{2}{\delta_j}\right)

    N(epsilon) is the number of balls of radius epsilon in the maximum norm that cover the functions <w, phi(x)> + b
    with |w|^2 + b^2 <= 1. It follows from the entropy numbers of `feature_entropy_number`, which depend on the
    eigenvalues of the integral operator and not on the sample. gamma = 2^j is the largest power of 2 up to the smallest
    margin y_i f(x_i) / (|w|^2 + b^2)^(1/2); the bound holds for all j together with
    delta_j = (2 / 3) delta / ((|j| + 1) (|j| + 2)).

    Parameters
    ----------
    model : Model
        Of any classifier.
    decay : ExponentialDecay, PolynomialDecay or ListedDecay
        Eigenvalues of the integral operator, which the bound assumes to be known.
    confidence : float
        1 - delta, between 0 and 1.
    bound : float
        C_k, the largest |psi_j(x)| of all eigenfunctions, an assumption.

    Returns
    -------
    Bound
        With the value infinity if a training point is on the wrong side, or if more than 2^n balls are needed.

    Notes
    -----
    If every mapped point is in the image A U of the unit ball, |<w - v, phi(x)>| <= |A (w - v)|: balls that cover the
    image A U of the weights cover the functions. The bias is covered by intervals; the share of the radius that it
    takes is the one of 49 that gives the smallest bound.

    References
    ----------
    Schölkopf et al., *Input space versus feature space in kernel-based methods*, IEEE TNN 10 (1999), section II-D;
    Williamson, Smola, Schölkopf, *Generalization performance of regularization networks and support vector machines via
    entropy numbers of compact operators*, IEEE Trans. Inform. Theory 47 (2001); Shawe-Taylor, Bartlett, Williamson,
    Anthony, *Structural risk minimization over data-dependent hierarchies*, IEEE Trans. Inform. Theory 44 (1998).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.r_[np.linspace(-3, -1, 2000), np.linspace(1, 3, 2000)][:, None]
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = mc.capacity.model(mc.SVC(kernel=mc.Gaussian(0.1)).fit(X, y), X, y)
    >>> mc.capacity.covering_bound(model, mc.capacity.ExponentialDecay(1.5)).vacuous
    False
    """
    require_model(model)
    require_decay("decay", decay)
    check_positive("bound", bound)
    delta = 1 - check_confidence(confidence)
    n = len(model)
    smallest = float(model.margins.min())
    norm = max(augmented(model).norm, 1e-300)
    assumptions = (
        FIXED_KERNEL,
        f"{decay} of the integral operator",
        f"eigenfunctions of at most {bound:.3g}",
    )
    margin = smallest / norm
    if margin < TINY:
        failed = np.mean(model.margins <= 0)
        statement = f"There is no bound: {failed:.1%} of the training points are on the wrong side."
        return Bound("covering numbers", np.inf, statement, "error", confidence, assumptions)
    # the largest power of two up to the margin
    j = int(np.frexp(margin)[1]) - 1
    gamma = 2.0**j
    size = abs(j)
    balls = _log_balls(decay, bound, gamma / 2, n * np.log(2))
    # log(2 / delta_j)
    rest = np.log(3 * (size + 1) * (size + 2) / delta)
    value = float(2 / n * (balls + rest) / np.log(2))
    statement = (
        f"The error is at most {value:.3g}: {balls / np.log(2):.3g} bits cover the functions of norm 1 with half the "
        f"margin {gamma:.3g}."
    )
    return Bound("covering numbers", value, statement, "error", confidence, assumptions)


def _log_balls(decay, bound, radius, most):
    """Return a bound of the log number of balls that cover the functions; infinity above ``most``."""
    logs = np.geomspace(1e-2, most, _GRID)
    # whole numbers, from 1
    whole = np.log(np.ceil(np.exp(np.minimum(logs, _MANY))))
    log_counts = np.unique(np.append(0.0, np.where(logs < _MANY, whole, logs)))
    try:
        log_radii = log_feature_entropy_number(decay, log_counts, bound)
    except ValueError as error:
        raise ValueError(f"decay = {decay} is too slow for a bound: {error}") from None
    best = np.inf
    for share in SHARES:
        # intervals of a radius cover [-1, 1]
        intervals = np.log(np.ceil(1 / (share * radius)))
        reached = np.flatnonzero(log_radii <= np.log((1 - share) * radius))
        if len(reached):
            best = min(best, float(log_counts[reached[0]] + intervals))
    return best


# --- PAC-Bayes -------------------------------------------------------------------------------------------------------


# Grid of mu; the union bound shares delta among its values.
_DISTANCES = 2.0 ** np.arange(-2, 10, 0.5)


def pac_bayes(model: Model, *, confidence: float = 0.95) -> Bound:
    r"""Return the PAC-Bayes margin bound of the error.

    .. math:: \mathrm{kl}(\hat{Q_\mu} \| Q_\mu) \le \frac{\mu^2 / 2 + \ln((n + 1) / \delta)}{n}, \qquad
        \hat{Q_\mu} = \frac1n \sum_i \tfrac12 \mathrm{erfc}(\mu \gamma_i / \sqrt2), \qquad
        \gamma_i = \frac{y_i f(x_i)}{|w| \sqrt{k(x_i, x_i)}}

    Q is the error of a linear classifier drawn from the unit Gaussian around mu w / |w|; the error of w itself is at
    most 2 Q. The kernel is k + 1, which makes the bias a coordinate. delta is shared among 24 values of mu.

    Parameters
    ----------
    model : Model
        Of any classifier.
    confidence : float
        1 - delta, between 0 and 1.

    Returns
    -------
    Bound
        Usually the smallest bound of those that hold.

    References
    ----------
    Langford, Shawe-Taylor, *PAC-Bayes & margins*, NIPS 15 (2002), theorem 3.1 and corollary 3.3.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(400, 2)), np.arange(400) % 2
    >>> X[:, 0] += 6 * y
    >>> model = mc.capacity.model(mc.SVC(kernel=mc.Gaussian(0.02)).fit(X, y), X, y)
    >>> mc.capacity.pac_bayes(model).value < 0.5
    True
    """
    require_model(model)
    delta = (1 - check_confidence(confidence)) / len(_DISTANCES)
    wide = augmented(model)
    n = len(model)
    # a point at the origin has cosine 0
    lengths = np.maximum(wide.norm * np.sqrt(np.maximum(wide.diagonal, 0)), 1e-300)
    cosines = wide.margins / lengths
    empirical = 0.5 * erfc(_DISTANCES[:, None] * cosines / np.sqrt(2)).mean(axis=1)
    divergences = (_DISTANCES**2 / 2 + np.log((n + 1) / delta)) / n
    values = [_invert_kl(q, limit) for q, limit in zip(empirical, divergences, strict=True)]
    best = int(np.argmin(values))
    value = 2 * float(values[best])
    statement = (
        f"The error is at most {value:.3g}: classifiers drawn at distance mu = {_DISTANCES[best]:.3g} misclassify "
        f"{empirical[best]:.1%} of the points."
    )
    return Bound("PAC-Bayes margin", value, statement, "error", confidence, (FIXED_KERNEL,))


def _invert_kl(q, limit):
    """Return the largest p with kl(q || p) <= limit, for q < 1."""

    def excess(p):
        return xlogy(q, q / p) + xlogy(1 - q, (1 - q) / (1 - p)) - limit

    top = 1 - 1e-12
    if q >= top or excess(top) <= 0:
        return 1.0
    return float(brentq(excess, max(q, 1e-300), top, xtol=1e-12))


# --- sample compression ----------------------------------------------------------------------------------------------


def sample_compression(model: Model, *, confidence: float = 0.95) -> Bound:
    r"""Return the sample compression bound of the error, from the number of support vectors.

    .. math:: R \le 1 - \exp\left(-\frac{\ln \binom nd + \ln n + \ln(1 / \delta)}{n - d}\right)

    for d support vectors: a fit to the support vectors alone gives the same classifier, which classifies the n - d
    other points correctly. It is 1 where points of weight 0 are misclassified. For `NuSVC` this is the fit with
    nu n / d in place of nu, whose two biases need a support vector of each class on the margin.

    Parameters
    ----------
    model : Model
        Of a support vector classifier.
    confidence : float
        1 - delta, between 0 and 1.

    Returns
    -------
    Bound

    References
    ----------
    Littlestone, Warmuth, *Relating data compression and learnability* (1986); Floyd, Warmuth, *Sample compression,
    learnability, and the Vapnik-Chervonenkis dimension*, Machine Learning 21 (1995), theorem 6.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.linspace(-3, 3, 400)[:, None]
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = mc.capacity.model(mc.SVC(C=1e6, kernel="linear").fit(X, y), X, y)
    >>> mc.capacity.sample_compression(model).value < 0.1
    True
    """
    require(model, "sample_compression")
    delta = 1 - check_confidence(confidence)
    n = len(model)
    d = int(np.sum(model.coef != 0))
    sides = np.unique(model.targets[model.on_margin])
    value = 1.0
    # of points without coefficient only those of weight 0 can be misclassified
    correct = (model.margins[model.coef == 0] > 0).all()
    if d < n and correct and len(sides) >= (1 if model.fixed_C else 2):
        log_subsets = gammaln(n + 1) - gammaln(d + 1) - gammaln(n - d + 1)
        value = float(-np.expm1(-(log_subsets + np.log(n) - np.log(delta)) / (n - d)))
    statement = f"The error is at most {value:.3g}: {d} of {n} points are support vectors."
    assumptions = (
        "a kernel, C and weights fixed before the sample was drawn",
        "a support vector on the margin",
    )
    if not model.fixed_C:
        given = "a kernel, nu and weights fixed before the sample was drawn"
        assumptions = (
            given,
            "a nu of which the fit does not warn",
            "support vectors of both classes on the margin",
        )
    return Bound("compression", value, statement, "error", confidence, assumptions)


# --- VC dimension ----------------------------------------------------------------------------------------------------


def vc_confidence(h: float, n: int, confidence: float = 0.95) -> float:
    r"""Return the term that Vapnik's bound adds to the training error.

    .. math:: \sqrt{\frac{h (\log(2 n / h) + 1) - \log(\eta / 4)}{n}}

    Parameters
    ----------
    h : float
        VC dimension, above 0.
    n : int
        Number of points.
    confidence : float
        1 - eta, between 0 and 1.

    Returns
    -------
    float
        Infinity for h > n, where the bound does not hold.

    References
    ----------
    Vapnik, *The nature of statistical learning theory* (1995), section 3.4; eq. (6) of Mueller, Mika, Raetsch, Tsuda,
    Schoelkopf, *An introduction to kernel-based learning algorithms*, IEEE TNN 12 (2001).

    Examples
    --------
    >>> import mercer as mc
    >>> round(mc.capacity.vc_confidence(3, 10_000), 4)
    0.0581
    """
    check_positive("h", h)
    check_integer("n", n)
    h = float(h)
    eta = 1 - check_confidence(confidence)
    if h > n:
        return np.inf
    return float(np.sqrt((h * (np.log(2.0 * n) - np.log(h) + 1) - np.log(eta / 4)) / n))


def vc_bound(training_error: float, h: int, n: int, confidence: float = 0.95) -> Bound:
    r"""Return Vapnik's bound of the error for a class of functions of known VC dimension.

    .. math:: R \le R_{emp} + \sqrt{\frac{h (\log(2 n / h) + 1) - \log(\eta / 4)}{n}}

    Parameters
    ----------
    training_error : float
        Share of the n points that the function misclassifies.
    h : int
        VC dimension of the class, which must be fixed before the sample is drawn: N + 1 for hyperplanes of R^N.
    n : int
    confidence : float
        1 - eta, between 0 and 1.

    Returns
    -------
    Bound

    Raises
    ------
    ValueError
        If h is above n.

    References
    ----------
    Vapnik (1995); eq. (5) and (6) of Mueller et al. (2001).

    Examples
    --------
    >>> import mercer as mc
    >>> mc.capacity.vc_bound(0.1, 3, 10_000).value < 0.16
    True
    """
    check_number("training_error", training_error)
    if not 0 <= training_error <= 1:
        raise ValueError(f"training_error = {shown(training_error)} must be between 0 and 1.")
    check_integer("h", h)
    check_integer("n", n)
    if h > n:
        raise ValueError(
            f"h = {shown(h)} must be at most n = {n}: the bound needs as many points as dimensions."
        )
    value = float(training_error) + vc_confidence(h, n, confidence)
    statement = (
        f"The error is at most {value:.3g} for all functions of a class of VC dimension {h:g}."
    )
    assumptions = ("a class of functions fixed before the sample was drawn",)
    return Bound("VC", value, statement, "error", confidence, assumptions)


def vc_margin(model: Model, ball: Ball | None = None, *, confidence: float = 0.95) -> Bound:
    r"""Return Vapnik's bound with the VC dimension estimated from the margin, h = R^2 |w|^2 + 1.

    Points with a margin y_i f(x_i) below 1 count as errors.

    Parameters
    ----------
    model : Model
        Of a classifier.
    ball : Ball, optional
        Smallest ball around the points; computed by default.
    confidence : float

    Returns
    -------
    Bound
        A heuristic. Radius and norm depend on the sample, so the class is not fixed before the sample is drawn; a bound
        would need a union over a grid of both, and Vapnik's theorem covers only hyperplanes that leave points inside
        the margin unclassified. `rademacher` is a bound.

    References
    ----------
    Vapnik (1995), theorem 5.1; section II of Mueller et al. (2001).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.linspace(-3, 3, 400)[:, None]
    >>> y = (X[:, 0] > 0).astype(int)
    >>> bound = mc.capacity.vc_margin(mc.capacity.model(mc.SVC(C=0.1, kernel="linear").fit(X, y), X, y))
    >>> bound.kind, bound.vacuous
    ('heuristic', False)
    """
    require_model(model)
    ball = smallest_ball(model.kernel, model.points) if ball is None else ball
    h = (ball.radius * model.norm) ** 2 + 1
    n = len(model)
    # support vectors on the margin have y f(x) = 1 up to rounding
    failed = float(np.mean(model.margins < 1 - 1e-6))
    value = failed + vc_confidence(h, n, confidence)
    statement = (
        f"{failed:.1%} of the points lie within the margin; a VC dimension of R^2 |w|^2 + 1 = {h:.3g} would limit the "
        f"error to {value:.3g}."
    )
    return Bound(
        "VC margin",
        value,
        statement,
        "error",
        None,
        ("radius and norm fixed before the sample was drawn",),
    )
