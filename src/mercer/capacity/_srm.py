"""Structural risk minimisation: the model with the smallest bound of a nested family."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone

from mercer._common import ArrayLike, PointsLike, array_record, check_confidence, shown
from mercer.capacity._model import model
from mercer.capacity.bound import Bound
from mercer.capacity.error_bounds import vc_margin


@array_record
class Choice:
    """Result of structural risk minimisation.

    Attributes
    ----------
    best : int
        Index of the model with the smallest bound.
    model : estimator
        That model, fitted.
    models : tuple of estimator
        All models, fitted.
    bounds : tuple of Bound
    training_errors : array (k,)
    confidence : float
        Probability with which all bounds hold together; it applies to bounds, not to heuristics.

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
    model: Any
    models: tuple[Any, ...]
    bounds: tuple[Bound, ...]
    training_errors: np.ndarray
    confidence: float


def srm(
    models: Sequence[Any],
    X: PointsLike,
    y: ArrayLike,
    *,
    bound: Callable[..., Bound] = vc_margin,
    confidence: float = 0.95,
) -> Choice:
    r"""Fit a nested family of models and return the one with the smallest bound: structural risk minimisation.

    Each of the k bounds is computed at confidence 1 - delta / k, so that all of them, including the one of the selected
    model, hold together with probability 1 - delta.

    Parameters
    ----------
    models : sequence of classifiers
        In the order of the family: by degree, gamma or C. They are cloned and fitted.
    X : points (n)
    y : array (n,)
        Two classes.
    bound : callable
        ``bound(model, confidence=...)`` returns a `Bound`: `vc_margin`, `rademacher`, `pac_bayes`,
        `sample_compression` or another function. The default is the heuristic of the original method.
    confidence : float
        1 - delta, between 0 and 1.

    Returns
    -------
    Choice

    Raises
    ------
    ValueError
        For an empty family, or more than two classes.

    Notes
    -----
    The union bound covers the models, not the choice of the family: a bandwidth rule that uses X is not fixed before
    the sample.

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
    if not isinstance(models, (list, tuple)) or not all(
        isinstance(each, ClassifierMixin) for each in models
    ):
        raise TypeError(
            f"models = {shown(models)} must be a list of classifiers, such as [mercer.SVC()]."
        )
    candidates = list(models)
    if not candidates:
        raise ValueError("models = [] must not be empty; pass at least one classifier.")
    if not callable(bound):
        raise TypeError(
            f"bound = {shown(bound)} must be a function of a model, such as mercer.capacity.vc_margin."
        )
    # 1 - delta / k without cancellation
    each = (len(candidates) - 1 + check_confidence(confidence)) / len(candidates)
    fitted = tuple(clone(candidate).fit(X, y) for candidate in candidates)
    found = [model(one, X, y) for one in fitted]
    bounds = tuple(bound(one, confidence=each) for one in found)
    best = int(np.argmin([one.value for one in bounds]))
    errors = np.array([np.mean(one.margins <= 0) for one in found])
    return Choice(best, fitted[best], fitted, bounds, errors, float(confidence))
