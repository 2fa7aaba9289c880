"""What is read from each kind of fitted model, and how few vectors are put into one of Mercer's estimators.

One reader for each kind that comes in, one writer for each kind that goes out.
"""

import copy
import functools
import os
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy.sparse as sp

from mercer.estimators._single import SingleMachine
from mercer.estimators.kernel_pca import KernelPCA
from mercer.estimators.kernel_ridge import KernelRidge
from mercer.estimators.nu import NuSVC, NuSVR
from mercer.estimators.one_class_svm import OneClassSVM
from mercer.estimators.svc import SVC
from mercer.estimators.svr import SVR
from mercer.expansion import Expansion, features, mean
from mercer.formats._as_expansion import as_expansion
from mercer.formats.libsvm import read_model, svm_type, text_of
from mercer.least_squares import solve
from mercer.linalg.operators import InnerProducts

SUPPORTED = (
    "fitted SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelRidge and KernelPCA of Mercer and of scikit-learn, "
    "scikit-learn's GaussianProcessRegressor (its mean), pipelines that end in one of these, searches with a "
    "best_estimator_, and text models of LIBSVM"
)
_LIBSVM = {"c_svc": SVC, "nu_svc": NuSVC, "epsilon_svr": SVR, "nu_svr": NuSVR, "one_class": OneClassSVM}
# What does not depend on the vectors of a model.
_KEPT = ("n_features_in_", "feature_names_in_", "classes_", "class_weight_", "epsilon_", "n_samples_",
         "eigenvalues_", "explained_variance_ratio_", "mean_")  # fmt: skip


@dataclass(frozen=True)
class Fitted:
    """A fitted model as Mercer sees it.

    Attributes
    ----------
    estimator : estimator
        Of Mercer's class, with the parameters of the model and the attributes that do not depend on its vectors.
    expansion : Expansion
    intercept : array (m,)
    flat : bool
        Whether predictions of one number come as a vector.
    """

    estimator: object
    expansion: Expansion
    intercept: np.ndarray
    flat: bool = True

    @property
    def signs(self):
        """Which side of each machine a class belongs to: array (c, m) of 1, -1 and 0; None but for classifiers."""
        classes = getattr(self.estimator, "classes_", None)
        if classes is None:
            return None
        c = len(classes)
        if c == 2:
            return np.array([[-1.0], [1.0]])
        if self.estimator.multi_class == "ovr":
            return 2 * np.eye(c) - 1
        signs = np.zeros((c, c * (c - 1) // 2))
        for k, (i, j) in enumerate(combinations(range(c), 2)):
            signs[i, k], signs[j, k] = 1, -1
        return signs

    def with_vectors(self, expansion, intercept):
        """Return Mercer's estimator with other vectors; everything else is as in the model that was read.

        Parameters
        ----------
        expansion : Expansion
        intercept : array (m,)

        Returns
        -------
        estimator
        """
        estimator = copy.copy(self.estimator)
        estimator.kernel_ = expansion.kernel
        _write(estimator, expansion, np.asarray(intercept, expansion.coef.dtype), self.flat)
        return estimator


# --- readers ---------------------------------------------------------------------------------------------------------


@functools.singledispatch
def read(model, n_features=None):
    """Return a fitted model as Mercer sees it.

    Parameters
    ----------
    model : estimator, str or path
    n_features : int, optional
        Of the data, which text models do not know.

    Returns
    -------
    Fitted

    Raises
    ------
    TypeError
        For what is not supported; the message says what is.
    NotFittedError

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.compression.families import read
    >>> read(mc.SVC().fit(np.eye(2), [0, 1])).signs
    array([[-1.],
           [ 1.]])
    """
    _register_peers()
    reader = read.dispatch(type(model))
    if reader is read.dispatch(object):
        raise TypeError(f"compress cannot take {type(model).__module__}.{type(model).__name__}; it takes {SUPPORTED}.")
    return reader(model, n_features)


@read.register(SVC)
@read.register(SVR)
@read.register(NuSVR)
@read.register(OneClassSVM)
@read.register(KernelRidge)
@read.register(KernelPCA)
def _own(model, _n_features=None):
    return _fitted(type(model), model, model.get_params(deep=False))


@read.register(os.PathLike)
@read.register(str)
def _text(source, n_features=None):
    text = text_of(source)
    scores = read_model(text, n_features)
    kind = _LIBSVM[svm_type(text)]
    estimator = kind(kernel=scores.expansion.kernel)
    estimator.n_features_in_ = scores.expansion.points.shape[1]
    if scores.classes is not None:
        estimator.classes_, estimator.class_weight_ = scores.classes, np.ones(len(scores.classes))
    return Fitted(estimator, scores.expansion, scores.intercept)


@functools.cache
def _register_peers():
    """Register readers of scikit-learn's models: what defines them is loaded when the first other model comes."""
    from sklearn import decomposition, gaussian_process, kernel_ridge, svm

    for peer, own in (
        (svm.SVC, SVC), (svm.NuSVC, NuSVC), (svm.SVR, SVR), (svm.NuSVR, NuSVR), (svm.OneClassSVM, OneClassSVM),
        (kernel_ridge.KernelRidge, KernelRidge), (gaussian_process.GaussianProcessRegressor, KernelRidge),
        (decomposition.KernelPCA, KernelPCA),
    ):  # fmt: skip
        read.register(peer, functools.partial(_peer, own))


def _peer(own, model, _n_features=None):
    scores, theirs = as_expansion(model), model.get_params(deep=False)
    shared = {name: theirs[name] for name in own().get_params(deep=False) if name in theirs}
    shared["kernel"] = scores.expansion.kernel
    if np.ndim(shared.get("alpha", 0.0)):
        # a ridge of each point or target: only what follows a fit would ask for it
        shared.pop("alpha")
    fitted = _fitted(own, model, shared)
    if own is KernelPCA:
        fitted.estimator.mean_ = mean(features(scores.expansion.kernel, scores.expansion.points))
        fitted.estimator.n_samples_ = len(scores.expansion.points)
    return fitted


def _fitted(own, model, params):
    scores, estimator = as_expansion(model), own(**params)
    for name in _KEPT:
        if hasattr(model, name):
            setattr(estimator, name, getattr(model, name))
    coef = getattr(model, "dual_coef_", getattr(model, "alpha_", None))
    return Fitted(estimator, scores.expansion, np.asarray(scores.intercept), np.ndim(coef) == 1)


# --- writers ---------------------------------------------------------------------------------------------------------


@functools.singledispatch
def _write(estimator, _expansion, _intercept, _flat):
    raise TypeError(f"{type(estimator).__name__} is none of {SUPPORTED}.")


@_write.register(SVC)
@_write.register(SingleMachine)
def _machines(estimator, expansion, intercept, _flat):
    estimator.support_vectors_, estimator.dual_coef_ = expansion.points, expansion.coef
    estimator.intercept_ = intercept


@_write.register
def _one_class(estimator: OneClassSVM, expansion, intercept, flat):
    _machines(estimator, expansion, intercept, flat)
    estimator.offset_ = -intercept[0]


@_write.register
def _ridge(estimator: KernelRidge, expansion, intercept, flat):
    estimator.expansion_, estimator.intercept_ = expansion, intercept
    estimator.dual_coef_ = expansion.coef[:, 0] if flat else expansion.coef


@_write.register
def _components(estimator: KernelPCA, expansion, intercept, _flat):
    estimator.expansion_, estimator.intercept_ = expansion, intercept
    estimator.n_components_ = estimator._n_features_out = len(expansion)
    if estimator.mean_.points is not expansion.points:
        # the way back to input space starts from the mean, which lives over the same points from now on
        phi = features(expansion.kernel, expansion.points)
        best = solve(InnerProducts(phi), estimator.mean_(expansion.points), 0.0)
        estimator.mean_ = Expansion(expansion.kernel, expansion.points, best.coef.astype(expansion.coef.dtype))


def dense(points):
    """Return rows as a dense array: constructed vectors are not sparse.

    Parameters
    ----------
    points : rows (n, d), dense or sparse

    Returns
    -------
    array (n, d)
    """
    return points.toarray() if sp.issparse(points) else np.asarray(points)
