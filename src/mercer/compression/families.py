"""Readers of fitted models into Mercer's estimators, and writers of other vectors into these, by family."""

import copy
import functools
import os
import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._common import Array, ArrayLike, PointsLike, shown, warn
from mercer.estimators.base import KernelEstimator
from mercer.estimators.calibration import fit_calibration
from mercer.estimators.kernel_pca import KernelPCA
from mercer.estimators.kernel_ridge import KernelRidge
from mercer.estimators.nu_svc import NuSVC
from mercer.estimators.nu_svr import NuSVR
from mercer.estimators.one_class_svm import OneClassSVM
from mercer.estimators.quantile_svr import QuantileSVR
from mercer.estimators.svc import SVC
from mercer.estimators.svr import SVR
from mercer.estimators.table import TableModel
from mercer.estimators.virtual_support_vectors import VirtualSupportVectors
from mercer.expansion import Expansion, embedded, features, mean
from mercer.formats import as_expansion
from mercer.formats.libsvm import read_model, svm_type, text_of
from mercer.kernels.direct_sum import kernel_of_data
from mercer.kernels.shorthand import with_kernel
from mercer.least_squares import solve
from mercer.linalg.operators import InnerProducts
from mercer.solvers.svm import multiclass

SUPPORTED = (
    "fitted SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelRidge and KernelPCA of Mercer and of scikit-learn, QuantileSVR, "
    "scikit-learn's GaussianProcessRegressor (its mean), TableRegressor, TableClassifier, "
    "VirtualSupportVectors of these, pipelines that end in one of "
    "these, searches with a best_estimator_, and text models of LIBSVM"
)
_OWN = {
    each.__name__: each
    for each in (SVC, NuSVC, SVR, NuSVR, QuantileSVR, OneClassSVM, KernelRidge, KernelPCA)
}
_LIBSVM = {
    "c_svc": SVC,
    "nu_svc": NuSVC,
    "epsilon_svr": SVR,
    "nu_svr": NuSVR,
    "one_class": OneClassSVM,
}
# Fitted attributes that do not depend on the vectors of a model.
_OF_DATA = (
    "n_features_in_",
    "feature_names_in_",
    "n_samples_",
    "classes_",
    "class_weight_",
    "_is_white",
    "_levels",
    "epsilon_",
    "eigenvalues_",
    "explained_variance_ratio_",
    "mean_",
)


@functools.singledispatch
def read(model: Any, n_features: int | None = None) -> KernelEstimator:  # noqa: ARG001 (of LIBSVM)
    """Return a fitted model as Mercer's estimator of its family, with its ``expansion_`` and ``intercept_``.

    ``model`` is an estimator, or the path or text of a LIBSVM model, whose number of features may be given. Attributes
    that only a fit computes, such as ``support_``, are not kept. Raises a TypeError for other models.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from sklearn.svm import SVC
    >>> from mercer.compression.families import read
    >>> read(SVC().fit(np.eye(2), [0, 1]))
    SVC(kernel=Gaussian(gamma=2.0))
    """
    # it imports much of scikit-learn
    from mercer.formats.scikit_learn import READERS

    for cls in type(model).__mro__:
        if cls in READERS:
            return _peer(_OWN.get(cls.__name__, KernelRidge), model)
    raise TypeError(
        f"{type(model).__module__}.{type(model).__name__} cannot be written with other vectors; give one of: "
        f"{SUPPORTED}."
    )


def read_last(model: Any, n_features: int | None = None) -> tuple[Any, Any]:
    """Return the final step of a model in Mercer's class, and a function that puts such an estimator in its place."""
    model = getattr(model, "best_estimator_", model)
    if isinstance(model, TableModel):
        return _of_table(model), functools.partial(_into_table, model)
    if not hasattr(model, "steps"):
        return read(model, n_features), lambda estimator: estimator
    check_is_fitted(model)
    name, last = model.steps[-1]
    others = model.steps[:-1]

    def replaced(estimator):
        pipeline = copy.copy(model)
        pipeline.steps = [*others, (name, estimator)]
        return pipeline

    return read(getattr(last, "best_estimator_", last), n_features), replaced


def _of_table(model):
    """Return the ridge regression on the rows of a model of a table."""
    ridge = KernelRidge(kernel=model.kernel_)
    ridge.n_features_in_ = len(model.columns_)
    ridge.dual_coef_ = (
        model.expansion_.coef[:, 0] if len(model.expansion_) == 1 else model.expansion_.coef
    )
    return with_vectors(ridge, model.expansion_, model.intercept_)


def _into_table(model, small):
    """Return a model of a table with the vectors of a ridge regression on its rows."""
    found = copy.copy(model)
    # those are of the predictions of the model
    vars(found).pop("held_out_residuals_", None)
    vars(found).pop("report_", None)
    found.expansion_ = small.expansion_
    found.kernel_ = small.kernel_
    found.intercept_ = np.array(small.intercept_)
    if hasattr(small, "report_"):
        found.report_ = small.report_
    return found


def last_of(model: Any) -> Any:
    """Return the final step of a pipeline, of a search for one too, or the model; an SVCCV is itself."""
    if not hasattr(model, "calibrators_"):
        model = getattr(model, "best_estimator_", model)
    return last_of(model.steps[-1][1]) if hasattr(model, "steps") else model


def recalibrated(search: Any, small: KernelEstimator, X: PointsLike, y: ArrayLike | None) -> Any:
    """Return a model of few vectors, of a calibrated search a copy of the search with it, calibrated on rows X.

    Warns if the search has probabilities that the result has not.
    """
    if not hasattr(search, "predict_proba") or isinstance(search, TableModel):
        return small
    if y is None or not hasattr(search, "calibrators_"):
        warn(
            f"the compressed {type(small).__name__} has no predict_proba, which the model has; give X and y with an "
            "SVCCV(calibration=...), or calibrate the result by sklearn.calibration.CalibratedClassifierCV."
        )
        return small
    found = copy.copy(search)
    # those are of held-out rows of the fit
    vars(found).pop("_strangeness", None)
    found.best_estimator_ = small
    found.kernel_ = small.kernel_
    found.report_ = small.report_
    found.calibrators_ = fit_calibration(
        search.calibration, small.decision_function(X), np.asarray(y), None
    )
    return found


def _own(model, _n_features=None):
    return _converted(type(model), model, model.get_params(deep=False))


for _cls in _OWN.values():
    read.register(_cls, _own)


@read.register
def _virtual(model: VirtualSupportVectors, n_features=None):
    check_is_fitted(model)
    return read(model.estimator_, n_features)


@read.register
def _text(source: str | os.PathLike, n_features=None):
    text = text_of(source)
    found = read_model(text, n_features)
    estimator = _LIBSVM[svm_type(text)](kernel=found.expansion.kernel)
    estimator.n_features_in_ = found.expansion.points.shape[1]
    if found.classes is not None:
        estimator.classes_ = found.classes
        estimator.class_weight_ = np.ones(len(found.classes))
    return with_vectors(estimator, found.expansion, found.intercept)


def _peer(own, model):
    """Return a model of scikit-learn in Mercer's class."""
    theirs = model.get_params(deep=False)
    params = {name: theirs[name] for name in own().get_params(deep=False) if name in theirs}
    if np.ndim(params.get("alpha", 0.0)) and not hasattr(model, "dual_coef_"):
        # those of a Gaussian process are of single points: weights of a fit
        params.pop("alpha")
    estimator = _converted(own, model, params)
    with_kernel(estimator, estimator.kernel_)
    if own is KernelPCA:
        estimator.mean_ = mean(features(estimator.kernel_, estimator.expansion_.points))
        estimator.n_samples_ = estimator.expansion_.shape[0]
    return estimator


def _converted(own, model, params):
    """Return an estimator with the parameters, the kept attributes and the vectors of a fitted model."""
    found = as_expansion(model)
    estimator = own(**params)
    for name in _OF_DATA:
        if hasattr(model, name):
            setattr(estimator, name, getattr(model, name))
    if own is KernelRidge:
        # one column is a vector where the model has one: its predictions then have one axis
        estimator.dual_coef_ = getattr(model, "dual_coef_", getattr(model, "alpha_", None))
    return with_vectors(estimator, found.expansion, found.intercept)


def with_vectors(
    estimator: KernelEstimator, expansion: Expansion, intercept: Array
) -> KernelEstimator:
    """Return a copy of Mercer's estimator with another expansion and intercept (m,)."""
    estimator = copy.copy(estimator)
    psi = (
        Expansion(expansion.kernel, expansion.points, expansion.dense_coef())
        if expansion.coef is None
        else expansion
    )
    if getattr(estimator, "kernel_", psi.kernel) != psi.kernel:
        with_kernel(estimator, psi.kernel)
    estimator.kernel_ = psi.kernel
    estimator.intercept_ = np.asarray(intercept, psi.coef.dtype)
    _write(estimator, psi)
    return estimator


@functools.singledispatch
def _write(estimator, psi):
    """Store the vectors of a support vector machine; other families have writers below."""
    estimator.support_vectors_ = psi.points
    estimator.dual_coef_ = psi.coef


@_write.register
def _ridge(estimator: KernelRidge, psi):
    estimator.expansion_ = psi


@_write.register
def _components(estimator: KernelPCA, psi):
    estimator.expansion_ = psi
    estimator.n_components_ = len(psi)
    estimator._n_features_out = len(psi)  # noqa: SLF001 - scikit-learn names the outputs by it
    mu = getattr(estimator, "mean_", None)
    if mu is not None and mu.points is not psi.points:
        mu = embedded(mu, psi.kernel)
        if psi.kernel not in (mu.kernel, kernel_of_data(mu.kernel)):
            raise ValueError(
                f"expansion has the kernel {shown(psi.kernel)}, but the mean of KernelPCA has {shown(mu.kernel)}; "
                "give vectors of the same feature space."
            )
        # the mean, from which pre-images are computed, is projected onto the span of the new vectors
        best = solve(InnerProducts(features(psi.kernel, psi.points)), mu(psi.points), 0.0)
        estimator.mean_ = Expansion(psi.kernel, psi.points, best.coef.astype(psi.coef.dtype))


def fitted_again(model: KernelEstimator, X: PointsLike, places: Array) -> SVC:
    """Return an SVC with the kernel of a classifier, fitted to other rows of the classes with some places.

    Bounds of coefficients are the largest ones of each class; those of a NuSVC differ between pairs of classes. The
    fit does not warn.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.compression.families import fitted_again
    >>> X, y = np.array([[0.0], [1.0], [2.0], [1.5]]), np.array([0, 0, 1, 1])
    >>> model = mc.SVC(0.5, kernel=mc.Gaussian(1.0)).fit(X, y)
    >>> np.allclose(fitted_again(model, X, y).dual_coef_, model.dual_coef_)
    True
    """
    coef = model.expansion_.coef
    table = class_signs(model)
    # of a class alone on a side of a binary classifier, coefficients of that sign are those of its rows
    sides = (table > 0, coef.max(axis=0)), (table < 0, -coef.min(axis=0))
    largest = np.max(
        [np.where(side & (side.sum(axis=0) == 1), most, 0.0).max(axis=1) for side, most in sides],
        axis=0,
    )
    bounds = np.where(largest > 0, largest, np.abs(coef).max())
    weights = dict(enumerate(bounds.tolist()))
    again = SVC(
        1.0,
        kernel=model.kernel_,
        class_weight=weights,
        multi_class=model.multi_class,
        break_ties=model.break_ties,
    )
    with warnings.catch_warnings():
        # what it would warn of, the fit of the model has
        warnings.simplefilter("ignore", UserWarning)
        return again.fit(X, places)


def class_signs(estimator: KernelEstimator) -> Array | None:
    """Return the sign of each class in each binary classifier (c, m): 1, -1, or 0; None for other estimators.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.compression.families import class_signs
    >>> class_signs(mc.SVC().fit(np.eye(2), [0, 1]))
    array([[-1.],
           [ 1.]])
    """
    if getattr(estimator, "classes_", None) is None:
        return None
    return multiclass.class_signs(len(estimator.classes_), estimator.multi_class)
