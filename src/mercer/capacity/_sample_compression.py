"""Sample compression bound of the error, from the number of support vectors."""

import numpy as np
from scipy.special import gammaln

from mercer._common import check_confidence
from mercer.capacity._model import Model, require
from mercer.capacity.bound import Bound


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
