"""Parts shared by SVC and NuSVC: the training problem of several classes, fitted attributes, predictions."""

from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._common import (
    Array,
    ArrayLike,
    PointsLike,
    as_float64,
    check_choice,
    check_positive,
    check_weights,
    shown,
)
from mercer._compute.memory import blocks
from mercer._compute.points import count_points, take_points, widened
from mercer.estimators._svm import (
    Normals,
    Problem,
    Solved,
    SupportVectorEstimator,
    conclude,
    is_linear,
    normals,
    store_vectors,
)
from mercer.estimators.base import as_labels
from mercer.estimators.inherited import ClassifierMixin
from mercer.estimators.model import attribute, estimator_mixin, of_points
from mercer.expansion import Expansion, with_intercept
from mercer.gram import Gram
from mercer.solvers.svm import certificate, multiclass


@estimator_mixin
class ClassificationProblem(SupportVectorEstimator, ClassifierMixin):
    """Mixin of classifiers with the parameters ``class_weight`` and ``multi_class``."""

    class_weight: dict[Any, float] | str | None = None
    multi_class: str = "ovo"

    def _check_parameters(self):
        super()._check_parameters()
        check_choice("multi_class", self.multi_class, ("ovo", "ovr"))

    def _problem(self, X, y, sample_weight, name=None):
        """Return the points of positive weight, sorted by class; ``name`` stands in errors."""
        name = type(self).__name__ if name is None else name
        y = as_labels(X, y, name)
        weights = check_weights("sample_weight", sample_weight, len(y))
        rows = weights.nonzero()[0]
        rows = rows[y[rows].argsort(kind="stable")]
        labels = y[rows]
        # methods of arrays: functions of NumPy take several times as long for few numbers
        last = np.array([*(labels[1:] != labels[:-1]).nonzero()[0].tolist(), len(labels) - 1])
        counts = last + 1
        counts[1:] -= counts[:-1].copy()
        classes = labels[last]
        if len(classes) == 1:
            raise one_class(name, classes[0], sample_weight)
        factors = class_weights(self.class_weight, classes, labels, weights[rows])
        return self._problem_of(
            X,
            rows,
            weights,
            sample_weight,
            classes=classes,
            class_weight=factors,
            counts=counts,
            binary=multiclass.subproblems(counts, self.multi_class),
        )


@estimator_mixin
class SupportVectorClassifier(Normals, ClassificationProblem):
    """Mixin of fitted classifiers: everything but the dual, which ``_duals(problem)`` returns."""

    decision_function_shape: str = "ovr"
    break_ties: bool = False
    max_iter: int = -1

    if TYPE_CHECKING:
        # fits store these by functions
        classes_: Array = field(init=False)
        class_weight_: Array = field(init=False)
        n_support_: Array = field(init=False)
        intercept_: Array = field(init=False)

    @attribute
    def margin_(self) -> Array:
        """Distances 1 / |w| from the boundaries to their margins (m,); to the nearest points if C is infinite."""
        norms = self.expansion_.norms()
        if hasattr(self, "certificate_") and self.certificate_.convex is False:
            raise AttributeError(
                "margin_ needs a positive semidefinite kernel; see mercer.make_positive."
            )
        if not norms.all():
            raise AttributeError(
                "margin_ is infinite: a normal is 0; give points that differ, or a larger C."
            )
        return 1 / norms

    @attribute
    def expansion_(self) -> Expansion:
        """The normals of all binary classifiers (an Expansion over ``support_vectors_``)."""
        check_is_fitted(self)
        coef = self.dual_coef_
        if self._packed():
            coef = multiclass.unpack(coef, self.n_support_)
        return Expansion(self.kernel_, self.support_vectors_, coef)

    @of_points
    def decision_function(self, X: PointsLike) -> Array:
        """Return the decision values of new points.

        Parameters
        ----------
        X : points (n_test)
            For "precomputed" their kernel values with the training points (n_test, n).

        Returns
        -------
        array (n_test,) for two classes, (n_test, c), or (n_test, c (c - 1) / 2) for pairs
            With ``decision_function_shape="ovr"`` pairs become classes: votes plus values that are scaled so that they
            only break equal votes.
        """
        return self._decided(X, self._shaped)

    @of_points
    def predict(self, X: PointsLike) -> Array:
        """Return the class of new points: that with most votes of pairs, the first of equals, or the largest value.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,)
        """
        if self.break_ties and self.decision_function_shape == "ovo":
            check_is_fitted(self)
            raise ValueError(
                "break_ties must be False for decision_function_shape = 'ovo': the values that break ties are those of "
                "'ovr'; set one of the two."
            )
        codes = self._decided(X, partial(multiclass.decided, self))
        return self.classes_[codes]

    def _recomputed(self, problem, shift):
        """Return the certificate of the stored coefficients in float64."""
        duals = self._duals(problem)
        coef, gradient = self._stored(problem, duals)
        intercept = as_float64(self.intercept_)
        return certificate(duals, coef, gradient, intercept, problem.rounding, shift)

    def _stored(self, problem, duals):
        """Return the stored coefficients of all duals, one after the other, and the gradients there, in float64."""
        coef, support = self._stored_coefficients(problem)
        values = np.zeros_like(coef)
        if not multiclass.is_paired(len(self.classes_), self.multi_class):
            values = self._kernel_product(problem, coef, support)
        elif len(support):
            kernel = self._certified_kernel(problem)
            vectors = widened(take_points(problem.points, support))
            codes = problem.codes[support]
            for i, own in enumerate(multiclass.class_slices(problem.counts)):
                weights = multiclass.coefficients_beside(coef[support], codes, i)
                points = widened(take_points(problem.points, own))
                values[own] = Gram(kernel, points, vectors) @ weights
        return problem.binary.joined(coef), duals.target - problem.binary.joined(values)

    def _check_parameters(self):
        super()._check_parameters()
        check_choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))

    def _require_training_rows(self, X):
        self._require_pairs()
        return super()._require_training_rows(X)

    def _require_pairs(self):
        """Raise if ``multi_class`` was changed after the fit, whose columns belong to other binary classifiers."""
        fitted = vars(self).get("_multi_class", self.multi_class)
        if fitted != self.multi_class and len(self.classes_) > 2:
            raise ValueError(
                f"multi_class = {shown(self.multi_class)} must be that of the fit, {shown(fitted)}; set it back, or "
                "fit again."
            )

    def _packed(self):
        if len(self.classes_) == 2:
            return False
        self._require_pairs()
        # vectors of `compress` belong to no class and have a column for every pair
        return multiclass.is_packed(len(self.classes_), self.multi_class, self.dual_coef_.shape[1])

    def _decided(self, X, function):
        """Return ``function`` of the decision values of new points, of a part of them at a time if classes are many."""
        X = self._new_points(X)
        parts = blocks(count_points(X), len(self.classes_) ** 2)
        if len(parts) == 1:
            return function(self._values(X))
        return np.concatenate([function(self._values(take_points(X, rows))) for rows in parts])

    def _shaped(self, values):
        c = len(self.classes_)
        if c == 2:
            return values[:, 0]
        if multiclass.is_paired(c, self.multi_class) and self.decision_function_shape == "ovr":
            return multiclass.class_values(values, c)
        return values

    def _values(self, X):
        """Return the decision values of all binary classifiers (n_test, m)."""
        if not len(self.dual_coef_):
            # of a fold of one class
            return np.tile(self.intercept_, (count_points(X), 1))
        if self._packed() and not is_linear(self):
            products = self._inner_products(X, multiclass.class_slices(self.n_support_))
            values = multiclass.pair_values(products, len(self.classes_))
        else:
            values = self._inner_products(X)
        return with_intercept(values, self.intercept_)

    def _normals(self):
        if not self._packed():
            return super()._normals()
        slices = multiclass.class_slices(self.n_support_)
        products = [normals(self.support_vectors_[own], self.dual_coef_[own]) for own in slices]
        return multiclass.pair_values(np.hstack(products), len(self.classes_))


def store(model: SupportVectorClassifier, problem: Problem, solved: Solved) -> None:
    """Store the solutions of all binary duals as fitted attributes."""
    store_coefficients(model, problem, solved.solutions.coef, solved.solutions.bias)
    model.n_iter_ = solved.solutions.n_iter
    # a fit solves for the ``nu`` of the model, which a certificate of stored coefficients asks
    recompute = partial(SupportVectorClassifier._recomputed, model, problem)  # noqa: SLF001
    conclude(model, problem, solved, recompute)


def store_classes(model: SupportVectorClassifier, problem: Problem) -> None:
    """Store the classes of a problem, and how its binary classifiers divide them."""
    model.classes_ = problem.classes
    model.class_weight_ = problem.class_weight
    vars(model)["_multi_class"] = model.multi_class


def store_coefficients(
    model: SupportVectorClassifier, problem: Problem, coef: Array, biases: Array
) -> None:
    """Store the coefficients of all binary classifiers, one after the other, and their biases as fitted attributes."""
    store_classes(model, problem)
    used = store_vectors(model, problem, problem.binary.block(coef))
    model.n_support_ = np.bincount(problem.codes[used], minlength=len(problem.classes))
    model.intercept_ = biases.astype(problem.dtype)


class Labels(NamedTuple):
    """Classes (c,) of the rows of positive weight; numbers of the classes of all rows, and weights (n,)."""

    classes: Array
    codes: Array
    weights: Array


def labels_of(X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None, name: str) -> Labels:
    """Return the labels and weights of the rows of X, checked; ``name`` stands in errors."""
    y = as_labels(X, y, name)
    weights = check_weights("sample_weight", sample_weight, len(y))
    classes = np.unique(y[weights > 0])
    if len(classes) == 1:
        raise one_class(name, classes[0], sample_weight)
    # rows of weight 0 may be of another class
    return Labels(classes, np.searchsorted(classes, y).clip(max=len(classes) - 1), weights)


def one_class(name: str, label: object, sample_weight: ArrayLike | None) -> ValueError:
    """Return the error of labels of one class."""
    where = "" if sample_weight is None else ", among rows of positive weight"
    return ValueError(
        f"{name} needs at least two classes, got one class, {shown(np.asarray(label).tolist())}{where}."
    )


def class_weights(
    class_weight: dict[Any, float] | str | None, classes: Array, y: Array, sample_weight: Array
) -> Array:
    """Return the factor of C of each class; "balanced" counts samples by their weights."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        counts = np.array([sample_weight[y == label].sum() for label in classes])
        return counts.sum() / (len(classes) * counts)
    if class_weight is None:
        return np.ones(len(classes))
    if not isinstance(class_weight, dict):
        raise ValueError(
            f"class_weight = {shown(class_weight)} must be a dict of labels and their weights, 'balanced' or None."
        )
    for label, weight in class_weight.items():
        check_positive(f"class_weight[{shown(label)}]", weight)
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    # a fold may lack a class, so labels are only refused where a class has no weight
    if unknown and len(class_weight) - len(unknown) < len(labels):
        raise ValueError(
            f"class_weight has the label {shown(unknown[0])}, but the classes are {shown(labels)}; give labels of y."
        )
    return np.array([float(class_weight.get(label, 1.0)) for label in labels])
