"""covering_bound: the bound of the error of a classifier without margin errors, from entropy numbers, a priori."""

import numpy as np

from mercer._common import check_confidence, check_positive
from mercer.capacity._model import Model, augmented, require_model
from mercer.capacity.bound import FIXED_KERNEL, Bound
from mercer.capacity.decay import Decay, require_decay
from mercer.capacity.entropy import SHARES, log_feature_entropy_number

# Margins 2^j of functions of norm 1 in the union bound.
_OCTAVES = np.arange(-40, 21)
# Numbers of balls that are tried, on a logarithmic scale, and the logarithm from which they count as whole.
_COUNTS = 400
_MANY = 36.0


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
    octaves = _OCTAVES[smallest / norm >= 2.0**_OCTAVES]
    if not len(octaves):
        failed = np.mean(model.margins <= 0)
        statement = f"There is no bound: {failed:.1%} of the training points are on the wrong side."
        return Bound("covering numbers", np.inf, statement, "error", confidence, assumptions)
    j = int(octaves[-1])
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
    logs = np.geomspace(1e-2, most, _COUNTS)
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
