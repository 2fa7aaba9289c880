"""Structural risk minimisation: the model of a nested family whose guaranteed error is least."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from mercer.capacity._model import machine
from mercer.capacity.bound import Bound, probability
from mercer.capacity.vc import vc_margin


@dataclass(frozen=True)
class Choice:
    """What structural risk minimisation found.

    Attributes
    ----------
    best : int
        Which model has the least bound.
    model : estimator
        That model, fitted.
    models : tuple of estimator
        All of them, fitted.
    bounds : tuple of Bound
    training_errors : array (k,)
    confidence : float
        With which all bounds hold at once, if they are bounds and not heuristics.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    >>> X[:, 0] += 3 * y
    >>> choice = mc.capacity.srm([mc.SVC(C=C, kernel="linear") for C in (0.01, 1.0)], X, y)
    >>> choice.model is choice.models[choice.best]
    True
    """

    best: int
    model: object
    models: tuple
    bounds: tuple[Bound, ...]
    training_errors: np.ndarray
    confidence: float


def srm(models, X, y, *, bound=vc_margin, confidence=0.95):
    r"""Return the model of a nested family whose bound of the error is least: structural risk minimisation.

    The k models share the probability of failure: each bound is taken at confidence 1 - delta / k, so that all hold at
    once with probability 1 - delta, and so does that of the model that is chosen.

    Parameters
    ----------
    models : sequence of classifiers
        In the order of the family: by degree, gamma or C. They are cloned and fitted.
    X : points (n)
    y : array (n,)
        Two classes.
    bound : callable
        ``bound(machine, confidence=...)`` returns a `Bound`: `vc_margin`, `rademacher`, `pac_bayes`,
        `sample_compression` or another. The first, with which the method was published, is a heuristic.
    confidence : float
        1 - delta, between 0 and 1.

    Returns
    -------
    Choice

    Raises
    ------
    ValueError
        For no models, or more than two classes.

    Notes
    -----
    What is chosen is the model, not the family: a kernel whose bandwidth rule looks at X was not fixed before.

    References
    ----------
    Vapnik, *The nature of statistical learning theory* (1995), section 4.1; Mueller et al., *An introduction to
    kernel-based learning algorithms*, IEEE TNN 12 (2001), section I.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (200, 2))
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> family = [mc.SVC(C=10.0, kernel=mc.Polynomial(degree)) for degree in (1, 3, 9)]
    >>> mc.capacity.srm(family, X, y).best
    0
    """
    models = list(models)
    if not models:
        raise ValueError("models is empty; give at least one model of the family.")
    each = 1 - (1 - probability(confidence)) / len(models)
    fitted = tuple(clone(model).fit(X, y) for model in models)
    machines = [machine(model, X, y) for model in fitted]
    bounds = tuple(bound(one, confidence=each) for one in machines)
    best = int(np.argmin([one.value for one in bounds]))
    errors = np.array([np.mean(one.margins <= 0) for one in machines])
    return Choice(best, fitted[best], fitted, bounds, errors, float(confidence))
