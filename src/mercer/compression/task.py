"""One compression: a model, data, and the fits of vectors and intercepts to them."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import brentq
from sklearn.base import is_outlier_detector, is_regressor

from mercer._common import TINY, AnyFunction, Array, as_float64, record, shown
from mercer.compression import families
from mercer.compression.data import Data, answers
from mercer.compression.report import CompressionReport, measure, score_name
from mercer.compression.vectors import Vectors
from mercer.estimators.base import KernelEstimator
from mercer.expansion import Expansion, rows_of
from mercer.kernels.direct_sum import kernel_of_data
from mercer.reduction.subset import eliminate, independent
from mercer.solvers.few_vectors.objective import RIDGE, sampled
from mercer.solvers.few_vectors.refit import LONGEST
from mercer.solvers.few_vectors.trials import Choice, Model, Trials, starts
from mercer.solvers.svm.multiclass import decided

# Folds of which one at a time is held out, and rows held out that are enough.
_FOLDS = 3
_ENOUGH = 2000
# Ratio of two sizes that are compared.
_RATIO = 1.2


@record
class Fitted:
    """Fitted vectors and intercepts, and the choice of what they were fitted to, None for a method."""

    expansion: Expansion
    intercept: Array
    choice: Choice | None = None


@dataclass
class Task:
    """A model in Mercer's class, its vectors, and data or None, of which a share is held out for the report."""

    model: Any
    vectors: Vectors
    data: Any
    threshold: str
    seed: int
    holdout: float | None

    def __post_init__(self) -> None:
        self.psi: Expansion = self.model.expansion_
        self.reported: Any = self.data
        if self.holdout is not None:
            n = len(self.data)
            if n < 2:
                raise ValueError(
                    f"X has {n} row, but holdout = {shown(self.holdout)} needs at least 2; leave out holdout."
                )
            order = np.random.default_rng(self.seed).permutation(n)
            size = min(max(1, round(self.holdout * n)), n - 1)
            self.reported = self.data.take(np.sort(order[:size]))
            self.data = self.data.take(np.sort(order[size:]))

    # --- answers -----------------------------------------------------------------------------------------------------

    def answer(self, n_vectors: float | None, max_loss: float | None = None) -> KernelEstimator:
        """Return the model with a number of vectors, or with the fewest that lose at most a share of the score."""
        allows_all = self.vectors.allows_all(n_vectors)
        if max_loss is not None:
            return self._smallest(max_loss, None if allows_all else self.vectors.number(n_vectors))
        if allows_all:
            return self._reported(None, f"n_vectors = {n_vectors} allows all {self.vectors.most}")
        return self._small(
            n_vectors, "the method fixes it" if n_vectors is None else f"n_vectors = {n_vectors}"
        )

    def at(self, path: list[Fitted], known: KernelEstimator, n_vectors: float) -> KernelEstimator:
        """Return the model with a number or a share of the vectors of the original one, or a known one with no more.

        Each size starts from the smallest larger one of n, n / 2, n / 4, ... vectors in the path, so that the result
        does not depend on the sizes that were asked for before. Reduced sets need no start.
        """
        size = self.vectors.number(n_vectors)
        if size >= self.vectors.count(known.expansion_):
            return known
        if not path:
            return self.answer(n_vectors)
        i = 0
        while (half := path[i].expansion.shape[0] // 2) > size:
            if i + 1 == len(path):
                path.append(self.shrunk(path[i], half, self.data))
            i += 1
        return self._reported(
            self.shrunk(path[i], size, self.data),
            f"n_vectors = {n_vectors}, from a larger fit",
            path,
        )

    def _small(self, n_vectors, reason):
        """Return the model with fewer vectors, with a report."""
        found = self.fitted(n_vectors, self.data)
        return self._reported(found, reason, [found] if self.vectors.method is None else [])

    def _smallest(self, max_loss, n_vectors):
        """Return the model with the fewest vectors that lose at most a share of the score on held-out rows."""
        n = len(self.data)
        if n < 2:
            raise ValueError(
                f"X has {n} row for fits, but max_loss = {shown(max_loss)} needs at least 2, one of which "
                "is held out; give n_vectors instead."
            )
        most = min(self.vectors.most - 1, n_vectors or self.vectors.most)
        # in as many folds as give enough rows
        number = np.random.default_rng(self.seed).permutation(n) % min(_FOLDS, n)
        used = range(min(number.max() + 1, -(-_ENOUGH * _FOLDS // n)))
        folds = [
            tuple(self.data.take(np.flatnonzero(rows)) for rows in (number != k, number == k))
            for k in used
        ]

        def fit(size, larger=None):
            if larger is None or self.vectors.method is not None:
                return [self.fitted(size, kept, 1.0) for kept, _ in folds]
            return [
                self.shrunk(each, size, kept, 1.0)
                for each, (kept, _) in zip(larger, folds, strict=True)
            ]

        def suffice(fits):
            seen = [
                self._measured(self._estimator(each), out)
                for each, (_, out) in zip(fits, folds, strict=True)
            ]
            score = abs(sum(each.score_before for each in seen))
            return sum(each.loss for each in seen) / max(score, TINY) <= max_loss

        size = fewest(fit, suffice, most)
        if size is not None:
            return self._small(size, f"the fewest that lose at most {max_loss:g} of the score")
        if n_vectors is not None:
            return self._small(
                most, f"n_vectors = {n_vectors}, with a loss of more than {max_loss:g} of the score"
            )
        return self._reported(None, f"fewer vectors lose more than {max_loss:g} of the score")

    def _reported(self, found, reason, path=()):
        """Return the model with fitted vectors, or for None with all its vectors, with a report."""
        if found is None:
            estimator = copy.copy(self.model)
            size = self.vectors.size
            error = np.zeros(len(self.psi))
        else:
            estimator = self._estimator(found)
            size = found.expansion.shape[0]
            error = self.vectors.relative_error(found.expansion)
        data = self.reported
        estimator.report_ = CompressionReport(
            self.vectors.size,
            size,
            error,
            None if data is None else self._measured(estimator, data),
            reason,
            score_name(estimator, data is not None and data.y is not None),
            self.holdout is not None,
            self.vectors.method is None and found is not None,
        )
        estimator.report_.attach(partial(self.at, path, estimator))
        return estimator

    def _estimator(self, found):
        return families.with_vectors(self.model, found.expansion, found.intercept)

    def _measured(self, estimator, data):
        return measure(self.model, estimator, data.blocks[0], data.y)

    # --- fits --------------------------------------------------------------------------------------------------------

    def fitted(self, n_vectors: float | None, data: Data, longest: float = LONGEST) -> Fitted:
        """Return some number of vectors fitted to some rows and their copies."""
        if self.vectors.method is not None:
            return self._with_intercept(
                Fitted(self.vectors.reduced(n_vectors), self.model.intercept_), data
            )
        number = self.vectors.number(n_vectors)
        own = rows_of(self.psi)
        start = starts(data.blocks[0], data.outputs[0], data.signs, number, own, self.seed)
        return self._moved(start, data.rows(self.model), data, longest)

    def shrunk(
        self, larger: Fitted, n_vectors: int, data: Data, longest: float = LONGEST
    ) -> Fitted:
        """Return fewer vectors fitted to some rows: the most needed ones of a larger fit, moved by shorter descents."""
        chi = larger.expansion
        rows = data.rows(self.model)
        some = np.random.default_rng(self.seed).permutation(len(data))[: sampled(len(chi.points))]
        needed = most_needed(
            chi.kernel(data.blocks[0][some], chi.points), chi.coef / rows.scale, n_vectors
        )
        return self._moved(chi.points[needed], rows, data, longest, larger)

    def _moved(self, start, rows, data, longest, larger=None):
        """Return the fit from starting points, by the choice of a larger one if there is one."""
        model = Model(partial(answers, self.model, self.psi), partial(self._answers_afresh, data))
        trials = Trials(rows, model, start, longest, self.seed, self.vectors.callback)
        choice, found = (
            trials.choose(kernel_of_data(self.psi.kernel))
            if larger is None
            else trials.again(larger.choice)
        )
        # in the types of the model
        dtype = np.float32 if self.psi.coef.dtype == np.float32 else np.float64
        points = found.points.astype(getattr(self.psi.points, "dtype", dtype))
        fitted = Fitted(
            Expansion(choice.kernel, points, found.coef.astype(dtype)), found.intercept, choice
        )
        return self._with_intercept(fitted, data)

    def _with_intercept(self, found, data):
        """Return a fit with the intercepts that suit some rows best."""
        # the fit to data has optimised all intercepts but that of an outlier detector
        optimised = self.vectors.method is None and not is_outlier_detector(self.model)
        if data is None or self.threshold == "none" or optimised:
            return found
        values = found.expansion(data.blocks[0])
        intercept = fitted_intercepts(self.model, values, data.outputs[0], data.y, data.signs)
        return replace(found, intercept=intercept)

    def _answers_afresh(self, data, places):
        """Return the answers of a classifier fitted to some of the rows; None where these lack a class."""
        codes = decided(self.model, data.signs[places])
        if len(np.unique(codes)) < len(self.model.classes_):
            return None
        model = families.fitted_again(self.model, data.blocks[0][places], codes)
        return partial(answers, model, model.expansion_)


def most_needed(values: Array, coef: Array, size: int) -> Array:
    r"""Return the places (size,) of the vectors that stay when the others are removed one by one.

    With kernel values K (n, p) on rows and coefficients B (p, m), the next one removed is that with the smallest sum of
    :math:`B_{ij}^2 / (C^{-1})_{ii}`, where C is the covariance of the columns of K: by so much the squared differences
    of the outputs grow if the other coefficients and the intercepts adapt (Hassibi, Stork, *Second order derivatives
    for network pruning: Optimal brain surgeon*, NIPS 5, 1993).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.compression.task import most_needed
    >>> values = np.array([[1.0, 1.1, 0.0], [2.0, 1.9, 0.0], [0.0, 0.0, 1.0]])
    >>> most_needed(values, np.array([[1.0], [0.1], [2.0]]), 2)
    array([0, 2])
    """
    K = as_float64(values)
    C = np.cov(K, rowvar=False, bias=True).reshape(len(coef), -1)
    C[np.diag_indices_from(C)] += max(RIDGE * np.trace(C) / len(C), TINY)
    return np.sort(eliminate(independent(C, as_float64(coef)))[0][:size])


def fewest(fit: AnyFunction, suffice: Callable[[Any], bool], most: int) -> int | None:
    """Return the fewest vectors, at most ``most``, whose fits suffice, or None.

    Numbers are doubled from 1 until ``fit(size)`` suffices; smaller ones follow from its fits by ``fit(size, larger)``.
    """
    size = 1
    while not suffice(fits := fit(size)):
        if size >= most:
            return None
        size = min(2 * size, most)
    enough = size
    least = size // 2
    while (size := min(int(size / _RATIO), size - 1)) > least and suffice(fits := fit(size, fits)):
        enough = size
    return enough


# --- intercepts of a reduced set that are the best ones on given rows -------------------------------------------------


def fitted_intercepts(
    model: KernelEstimator,
    values: Array,
    outputs: Array | None,
    y: Array | None = None,
    signs: Array | None = None,
) -> Array:
    """Return intercepts (m,) for the values (n, m) of a reduced set on rows with outputs (n, m) of the model.

    Classifiers have ``signs`` (n, m) and get the least squared hinge loss in each column. An outlier detector rejects
    as many rows as the model does. Others get least squares, regressors on ``y`` if given, else on the outputs; a
    quantile with ``y`` the least loss, which is that of a quantile.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.compression.task import fitted_intercepts
    >>> fitted_intercepts(mc.SVR(), np.array([[1.0], [2.0]]), np.zeros((2, 1)), np.array([1.5, 2.5]))
    array([0.5])
    """
    values = as_float64(values)
    if signs is not None:
        return np.array([hinge_intercept(v, s) for v, s in zip(values.T, signs.T, strict=True)])
    if is_outlier_detector(model):
        return np.array([-_edge(values[:, 0], int(np.sum(outputs < 0)))])
    if y is None or not is_regressor(model):
        return np.mean(outputs - values, axis=0)
    residuals = np.reshape(y, (len(values), -1)) - values
    if not hasattr(model, "quantile"):
        return np.mean(residuals, axis=0)
    levels = zip(residuals.T, np.ravel(model.quantile), strict=True)
    return np.array([np.quantile(own, tau, method="inverted_cdf") for own, tau in levels])


def hinge_intercept(values: Array, signs: Array) -> float:
    r"""Return the constant b that minimises :math:`\sum_i \max(0, 1 - s_i (v_i + b))^2`; the middle of several.

    ``signs`` (n,) are 1 or -1, or 0 for rows that do not count. One sign only gives the nearest constant without loss.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.compression.task import hinge_intercept
    >>> hinge_intercept(np.array([-3.0, 5.0]), np.array([-1.0, 1.0]))
    -1.0
    """
    values = values[signs != 0]
    signs = signs[signs != 0]
    if not len(signs):
        return 0.0
    kinks = signs - values
    # without loss from the largest kink of positive rows to the smallest of negative ones
    low = kinks[signs > 0].max(initial=-np.inf)
    high = kinks[signs < 0].min(initial=np.inf)
    if low <= high:
        return (
            float((low + high) / 2)
            if np.isfinite(low) and np.isfinite(high)
            else float(np.clip(0.0, low, high))
        )

    def slope(constant):
        return -np.sum(signs * np.maximum(0, 1 - signs * (values + constant)))

    return float(brentq(slope, kinks.min(), kinks.max(), xtol=1e-15))


def _edge(values, outside):
    """Return the value below which a number of rows lie."""
    values = np.sort(values)
    if outside >= len(values):
        return values[-1] + max(
            1e-3 * max(np.ptp(values), abs(values[-1])), np.finfo(np.float32).tiny
        )
    return values[[max(outside - 1, 0), outside]].mean()
