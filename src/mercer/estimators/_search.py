"""Parts shared by SVCCV and SVRCV: the grid of C and gamma, its scores in every fold, the best model."""

import logging
from collections.abc import Iterable, Sized
from dataclasses import replace
from functools import partial
from itertools import product
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._common import (
    ROUNDING,
    Array,
    ArrayLike,
    PointsLike,
    check_integer,
    check_weights,
    shown,
    warn,
)
from mercer.distributed import in_memory
from mercer.estimators._svm import (
    ATTAINABLE,
    Problem,
    SupportVectorEstimator,
    check_positives,
    copy_validation,
    largest_value,
    warn_rounded,
)
from mercer.estimators.model import attribute, available, estimator_mixin, fits, on_device
from mercer.expansion import Expansion
from mercer.kernels import bandwidth
from mercer.kernels.base import Kernel, with_params
from mercer.kernels.shorthand import kernel_of
from mercer.solvers.certify import certify
from mercer.solvers.svm.bounded import REFINED
from mercer.solvers.svm.cross_validation import (
    Fold,
    cross_validate_cells,
    cross_validate_kernels,
    shared_bytes,
)

_log = logging.getLogger("mercer")

# Power of 4, and of 1/4, between which the values of gamma are spread around the median rule.
_POWER = 2
# Largest number of values of C or gamma.
_MOST = 10_000


@available
def keeps_model(search: Any) -> Any:
    """Give a method to searches that fit their best model."""
    if not search.refit:
        name = type(search).__name__
        raise AttributeError(
            f"{name}(refit=False) keeps no model: fit {name.removesuffix('CV')}, or set refit=True."
        )
    return True


class Units(NamedTuple):
    """The mean and scale of targets, by which duals are divided, and the tolerance after that."""

    tol: float
    centre: float = 0.0
    scale: float = 1.0


class _Rows(NamedTuple):
    """Rows that scores of folds are computed of: points, targets, weights or None, and the rows of each fold."""

    X: PointsLike
    y: Array
    weights: Array | None
    splits: list[tuple[Array, ...]]


@estimator_mixin
class GridSearch(SupportVectorEstimator):
    """Mixin of estimators with C, and perhaps the gamma of the kernel, chosen by cross-validation.

    A class states what concerns its models: ``_model(C, kernel)``, ``_units``, ``_outputs`` and ``_known_model`` (from
    decision values), ``_store_fold``, ``_scorer`` and ``_conclude``.
    """

    # rows that no fold holds out
    _with_gaps: ClassVar[tuple[str, ...]] = ("held_out_values_",)

    Cs: int | ArrayLike = 10
    gammas: int | ArrayLike | None = None
    cv: Any = 5
    scoring: Any = None
    refit: bool = True
    cells: int | None = None

    @fits
    def fit(
        self,
        X: PointsLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Score every C, and every gamma, in every fold, and fit a model with the best to all rows.

        Parameters
        ----------
        X : points (n)
        y : array (n,)
        sample_weight : array (n,), optional
            Factors of C, and of each row in the scores; a row of weight 0 is ignored.
        groups : array (n,), optional
            For splitters that need them.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For ``gammas`` with a kernel that has no parameter ``gamma``, and for what the fit of a model refuses.
        """
        Cs = _listed("Cs", self.Cs)
        Cs = np.logspace(-4, 4, self.Cs) if Cs is None else Cs
        self._check_parameters()
        self._check_gammas()
        check_folds(self.cv)
        _check_scoring(self.scoring)
        self._check_cells()
        problem = self._problem(X, y, sample_weight)
        (X,) = indexable(in_memory(X))
        y = column_or_1d(y)
        weights = check_weights("sample_weight", sample_weight, len(y))
        splits = self._splits(X, y, weights, groups)
        gammas = self._gammas(problem)
        scorer = self._scorer(problem)
        order = np.argsort(Cs, kind="stable")
        kernels = [
            problem.kernel if each is None else with_params(problem.kernel, {"gamma": each})
            for each in gammas
        ]
        units = self._units(problem, Cs[order])
        tol = units.tol * units.scale
        solved = self._solve(
            problem, kernels, [fold_of(problem, *each) for each in splits], Cs[order], units
        )
        rows = _Rows(X, y, None if sample_weight is None else weights, splits)
        parts = []
        for kernel, found in zip(kernels, solved, strict=True):
            own = replace(problem, kernel=kernel)
            parts.append(self._scored(own, found, rows, Cs[order], scorer, tol))
        scores, n_iter, held_out, violations = zip(*parts, strict=True)
        given = np.argsort(order)
        if max(violations) > 0:
            warn(
                f"{type(self).__name__} stopped in some folds with a violation of up to {max(violations):.3g}, above "
                f"tol = {tol:.3g}; scale the features (StandardScaler) or lower the largest of Cs.",
                ConvergenceWarning,
            )

        self.Cs_: Array = Cs
        self.scorer_: Any = scorer
        self.n_splits_: int = len(splits)
        self.cv_results_: dict[str, Any] = _results(
            Cs, gammas, np.stack(scores, axis=2)[:, given], np.stack(n_iter, axis=1)[given]
        )
        self.best_index_: int = _best(self.cv_results_)
        self.best_score_: float = float(self.cv_results_["mean_test_score"][self.best_index_])
        self._require_number(splits)
        self.best_params_: dict[str, float] = self.cv_results_["params"][self.best_index_]
        self.C_ = self.best_params_["C"]
        g = self.best_index_ % len(gammas)
        self.kernel_: Kernel = kernels[g]
        self.held_out_values_: Array = held_out[g]
        self._mention_edges()
        if self.refit:
            kernel = kernel_of(self) if gammas[g] is None else self.kernel_
            self.best_estimator_: Any = self._model(self.C_, kernel).fit(X, y, sample_weight)
        self._conclude(problem, y, weights)
        return self

    def _routes(self, size):
        """Return the routes of the fit of the best model, with the work of all folds.

        All gammas share distances or inner products, which are kept beside the kernel values of one.
        """
        gammas = 1 if self.gammas is None else _number("gammas", self.gammas)
        fits = _number("Cs", self.Cs) * gammas
        fused = self.cells is None and kernel_of(self).scalar is not None
        kept = shared_bytes(gammas, size.n, 4, size.budget) if fused else 0
        return [
            replace(
                route,
                bytes=max(route.bytes, 2 * kept),
                work=route.work * (1 + fits * work_of_folds(self.cv, size.n)),
            )
            for route in super()._routes(size)
        ]

    @keeps_model
    @on_device
    def predict(self, X: PointsLike) -> Array:
        """Return the predictions of the best model for new points.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,)
        """
        return self._fitted().predict(X)

    @attribute
    def expansion_(self) -> Expansion:
        """The normals of the best model."""
        return self._fitted().expansion_

    @attribute
    def intercept_(self) -> Array:
        """The intercepts of the best model."""
        return self._fitted().intercept_

    def _certificate(self, X, y, sample_weight):
        """Return the certificate of the best model in float64 from the training points."""
        return certify(self._fitted(), X, y, sample_weight)

    def _mention_edges(self):
        """Log each best parameter that is the smallest or the largest of several: a better one may lie beyond."""
        for name, best in self.best_params_.items():
            values = np.unique(self.cv_results_[f"param_{name}"])
            if len(values) > 2 and best in (values[0], values[-1]):
                end = "smallest" if best == values[0] else "largest"
                _log.warning(
                    "the best %s, %.3g, is the %s of %ss; a better one may lie beyond",
                    name,
                    best,
                    end,
                    name,
                )

    def _fitted(self):
        check_is_fitted(self)
        if not hasattr(self, "best_estimator_"):
            name = type(self).__name__
            raise AttributeError(
                f"{name} was fitted with refit=False, which keeps no model: fit {name.removesuffix('CV')}"
                f"(C={self.C_:.6g}), or set refit=True."
            )
        return self.best_estimator_

    def _check_gammas(self):
        """Raise unless ``gammas`` are positive numbers, or a number of them, and the kernel has a gamma."""
        if self.gammas is None:
            return
        _listed("gammas", self.gammas)
        kernel = kernel_of(self)
        if self.gamma != "scale":
            raise ValueError(
                f"gamma = {shown(self.gamma)} and gammas = {shown(self.gammas)} must not be given together; leave "
                "gamma out, or add its value to gammas."
            )
        if "gamma" not in kernel.get_params(deep=False):
            raise ValueError(
                f"gammas = {shown(self.gammas)} must be None for {shown(kernel)}, which has no parameter gamma; give "
                "another kernel, such as Gaussian(), or search its own parameters by GridSearchCV."
            )

    def _gammas(self, problem):
        """Return the values of gamma, or only None if the kernel stays as it is."""
        if self.gammas is None:
            return [None]
        listed = _listed("gammas", self.gammas)
        if listed is not None:
            return listed.tolist()
        weights = problem.weights if (problem.weights != 1).any() else None
        middle = bandwidth.gamma("median", problem.points, weights)
        spread = np.linspace(-_POWER, _POWER, self.gammas) if self.gammas > 1 else np.zeros(1)
        return (middle * 4.0**spread).tolist()

    def _splits(self, X, y, weights, groups):
        """Return the training and held-out rows of each fold."""
        return splits_of(self.cv, X, y, weights, groups, is_classifier(self))

    def _scored(self, problem, found, rows, Cs, scorer, tol):
        """Return the scores (folds, k), steps (k,), held-out outputs for the best C, and a violation above ``tol``."""
        violation = max(fold.violation for fold in found)
        if violation <= tol:
            violation = 0.0
            size = max(fold.largest for fold in found)
            largest = largest_value(problem.kernel, problem.points)
            warn_rounded(type(self).__name__, largest, size, tol)
        tests = [test for _, test in rows.splits]
        scores = np.empty((len(tests), len(Cs)))
        for (i, test), (j, C) in product(enumerate(tests), enumerate(Cs)):
            given = {} if rows.weights is None else {"sample_weight": rows.weights[test]}
            scores[i, j] = scorer(
                *self._in_fold(problem, found[i], j, C, rows.X, test), rows.y[test], **given
            )
        n_iter = sum(fold.n_iter for fold in found)
        best = int(_ranks(scores.mean(axis=0)).argmin())
        values = [self._outputs(problem, fold.values[best]) for fold in found]
        return scores, n_iter, held_out_means(values, tests, len(rows.y)), violation

    def _require_number(self, splits):
        """Raise if the highest score is NaN, as R^2 of a single row."""
        if np.isnan(self.best_score_):
            found = [
                self.cv_results_[f"split{i}_test_score"][self.best_index_]
                for i in range(len(splits))
            ]
            i = int(np.isnan(found).argmax())
            raise ValueError(
                f"scoring = {shown(self.scoring)} must be a number in each fold, but is NaN in fold {i}, which "
                f"holds out {len(splits[i][1])} of the rows; give fewer folds as cv (R^2 needs two rows, an area two "
                "classes), or a score of single rows, such as 'neg_mean_squared_error' or 'accuracy'."
            )

    def _in_fold(self, problem, fold, j, C, X, test):
        """Return the model of a fold and the j-th C, and the held-out points to score it on."""
        # scorers of scikit-learn call predict and decision_function only, whose values are known: points are indices
        if self._scored_by_values():
            return self._known_model(problem, fold.values[j]), np.arange(len(test))
        model = self._model(float(C), problem.kernel)
        copy_validation(self, model)
        self._store_fold(model, problem, [coef[:, j] for coef in fold.coef], fold.bias[:, j])
        return model, _safe_indexing(X, test)

    def _scored_by_values(self):
        """Whether the scorer only calls ``predict`` and ``decision_function``."""
        return self.scoring is None or isinstance(self.scoring, (str, type(get_scorer("r2"))))

    def _check_cells(self):
        """Raise unless ``cells`` is None or a number of rows, and the scorer needs no model."""
        if self.cells is None:
            return
        check_integer("cells", self.cells)
        if not self._scored_by_values():
            raise ValueError(
                f"scoring = {shown(self.scoring)} must be None or a scorer of scikit-learn for cells = "
                f"{shown(self.cells)}, because no single model belongs to a fold; give "
                "sklearn.metrics.make_scorer(...), or cells=None."
            )

    def _solve(self, problem, kernels, folds, Cs, units):
        """Yield the solutions of all folds for each kernel, in units of the targets: on all points, or on cells."""
        duals = self._model(1.0, problem.kernel)._duals(problem)  # noqa: SLF001 - a model of this package
        duals = duals.in_units(units.centre, units.scale)
        tol = units.tol
        gap = max(tol, ROUNDING)
        if self.calibration:
            gap = 0.0
            tol = calibration_tolerance(tol, max(len(dual.coef) for dual in duals))
        solve = (
            cross_validate_kernels
            if self.cells is None
            else partial(cross_validate_cells, size=self.cells)
        )
        with self._training(problem, tol) as options:
            own = options._replace(gap=gap)
            for found in solve(kernels, problem.points, duals, folds, Cs, own):
                yield [each.in_units(units.centre, units.scale) for each in found]


def _number(name, given):
    """Return the number of values that a parameter lists."""
    found = _listed(name, given)
    return given if found is None else len(found)


def _listed(name, given):
    """Return the values that a parameter lists, None where it is the number of them; or raise."""
    if isinstance(given, Integral) and not isinstance(given, bool):
        check_integer(name, given, most=_MOST)
        return None
    if isinstance(given, (Real, str)):
        kind = type(given).__name__
        raise TypeError(
            f"{name} must be a number of values or a list of them, got {shown(given)} of type {kind}; "
            f"write {name}={10 if isinstance(given, str) else [given]}."
        )
    if isinstance(given, (list, tuple)) and any(isinstance(each, str) for each in given):
        numbers = [each for each in given if not isinstance(each, str)]
        raise ValueError(
            f"{name} = {shown(given)} must hold numbers; write {name}={numbers or 5}, or for a rule gamma='scale' "
            f"without {name}."
        )
    return check_positives(name, given)


def work_of_folds(cv: Any, n: int) -> float:
    """Return the work of the fits of all folds of n rows as a multiple of that of all rows."""
    check_folds(cv)
    if isinstance(cv, Integral):
        folds = int(cv)
    elif isinstance(cv, Sized):
        folds = len(cv)
    else:
        try:
            folds = int(cv.get_n_splits(np.empty((n, 0))))
        except (AttributeError, ValueError):
            # only groups or an iterator know it; the default
            folds = 5
    return folds * (1 - 1 / max(folds, 2)) ** 2


def check_folds(cv: Any) -> None:
    """Raise unless ``cv`` is None, a number of folds, a splitter, or pairs of rows."""
    if cv is None or hasattr(cv, "split") and not isinstance(cv, (str, bytes)):
        return
    if isinstance(cv, Iterable) and not isinstance(cv, (str, bytes, dict, set)):
        if isinstance(cv, Sized) and not all(
            isinstance(each, Sized) and len(each) == 2 for each in cv
        ):
            raise TypeError(
                f"cv must hold pairs (train, test) of rows, got {shown(cv)}; or give a number of folds."
            )
        return
    if isinstance(cv, bool) or not isinstance(cv, Integral):
        raise TypeError(
            f"cv must be a number of folds, a splitter or a list of (train, test), got {shown(cv)}."
        )
    if cv < 2:
        raise ValueError(f"cv = {shown(cv)} must be at least 2 folds.")


def _check_scoring(scoring):
    """Raise unless ``scoring`` is None, a callable or the name of a scorer of scikit-learn."""
    if scoring is None or callable(scoring):
        return
    if not isinstance(scoring, str):
        raise TypeError(
            f"scoring must be a callable, None or the name of a scorer, got {shown(scoring)}."
        )
    if scoring not in get_scorer_names():
        raise ValueError(
            f"scoring = {shown(scoring)} must be a callable or in sklearn.metrics.get_scorer_names()."
        )


def splits_of(
    cv: Any,
    X: PointsLike,
    y: Array,
    weights: Array,
    groups: ArrayLike | None = None,
    classifier: bool = False,
) -> list[tuple[Array, ...]]:
    """Return the training and held-out rows of each fold, those of positive weight, or raise if there are none."""
    if isinstance(cv, Integral) and cv > len(y):
        raise ValueError(f"cv = {shown(cv)} must be at most {len(y)}, the number of rows.")
    splitter = check_cv(cv, y, classifier=classifier)
    splits = [_split(*each, weights) for each in splitter.split(X, y, groups)]
    if not splits:
        raise ValueError(
            "cv must have at least one fold, got none; give pairs (train, test) of rows."
        )
    for i, (train, test) in enumerate(splits):
        if not (len(train) and len(test)):
            raise ValueError(
                f"each fold of cv must have a row to fit and one to score, of positive sample_weight; fold {i} has "
                f"{len(train)} and {len(test)}; give other folds."
            )
    return splits


def calibration_tolerance(tol: float, n: int) -> float:
    """Return the tolerance of held-out values of duals of n points; those of few equal those of repeated points."""
    return min(tol, ATTAINABLE) if n <= REFINED else tol


def _split(train, test, weights):
    """Return the rows of a split as indices, without those of weight 0; masks are taken too."""
    n = len(weights)
    try:
        parts = [np.arange(n)[part] for part in (train, test)]
    except IndexError as error:
        raise ValueError(
            f"cv must hold numbers of the {n} rows, or masks of that length: {error}."
        ) from None
    return tuple(part[weights[part] > 0] for part in parts)


def fold_of(problem: Problem, train: Array, test: Array) -> Fold:
    """Return the fold of the points of a problem by rows of the training points."""
    # a row drawn twice has twice the weight
    times = np.bincount(problem.places(train), minlength=len(problem.rows))
    return Fold(times.astype(float), problem.places(test))


def held_out_means(values: list[Array], tests: list[Array], n: int) -> Array:
    """Return the mean output of each row over the folds that held it out, NaN if none did."""
    total = np.zeros((n, *values[0].shape[1:]))
    times = np.zeros(n)
    for own, test in zip(values, tests, strict=True):
        np.add.at(total, test, own)
        np.add.at(times, test, 1)
    with np.errstate(invalid="ignore"):
        return (total.T / times).T


def _results(Cs, gammas, scores, n_iter):
    """Return the scores (folds, values of C, values of gamma) as GridSearchCV names and orders them."""
    grid = {"C": Cs.tolist()} | ({} if gammas[0] is None else {"gamma": gammas})
    params = list(ParameterGrid(grid))
    scores = scores.reshape(len(scores), -1)
    mean = scores.mean(axis=0)
    found = {f"split{i}_test_score": row for i, row in enumerate(scores)}
    found |= {f"param_{name}": np.array([each[name] for each in params]) for name in grid}
    return found | {
        "params": params,
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=0),
        "rank_test_score": _ranks(mean),
        "n_iter": n_iter.ravel(),
    }


def _ranks(mean):
    """Return the rank of each score, 1 for the highest; a score that is NaN ranks last.

    Means that differ by the rounding of their sums are equal.
    """
    share, power = np.frexp(-mean)
    rounded = np.ldexp(np.round(share, 12), power)
    return rankdata(np.where(np.isnan(mean), np.inf, rounded), method="min").astype(int)


def _best(found):
    """Return the place of the highest mean score, of equals that of the smallest C and then of the smallest gamma."""
    first = np.flatnonzero(found["rank_test_score"] == 1)
    return int(min(first, key=lambda cell: tuple(found["params"][cell].values())))
