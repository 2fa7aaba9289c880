"""Classes with the constructors and fitted attributes of scikit-learn's, which train Mercer's estimators."""

import inspect
from functools import partial

import numpy as np
import scipy.sparse as sp
from sklearn import decomposition, kernel_approximation, kernel_ridge, svm
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import pairwise_kernels

import mercer as mc
from mercer import estimators


class Adapter(BaseEstimator):
    """An estimator with the parameters of a class of scikit-learn; every method is that of Mercer's estimator."""

    def fit(self, X, y=None, **weights):
        self._model = self._translate(X).fit(X, y, **weights)
        return self

    def __getattr__(self, name):
        if name.startswith("__") or name == "_model":
            raise AttributeError(name)
        # before a fit Mercer's estimator answers too: that it is not fitted
        return getattr(vars(self).get("_model") or self._translate(), name)

    def __sklearn_tags__(self):
        return self._translate().__sklearn_tags__()

    def __sklearn_is_fitted__(self):
        return "_model" in vars(self)

    def _translate(self, X=None):
        """Return Mercer's estimator with the same parameters; the columns of X set those that depend on them."""
        params = self.get_params(deep=False)
        kernel = self._kernel(params, 1 if X is None else np.shape(X)[1])
        accepted = inspect.signature(self._class.__init__).parameters.keys() - {
            "kernel",
            "gamma",
            "degree",
            "coef0",
        }
        return self._class(
            kernel=kernel, **{name: params[name] for name in accepted & params.keys()}
        )


class Machine(Adapter):
    """Support vector estimators: their kernels, and the coefficients in the shapes of scikit-learn."""

    def _kernel(self, params, d):
        kernel, degree, gamma, coef0 = (
            params[name] for name in ("kernel", "degree", "gamma", "coef0")
        )
        gamma = 1 / d if gamma == "auto" else gamma
        kernels = {
            "rbf": partial(mc.Gaussian, gamma),
            "poly": partial(mc.Polynomial, degree, gamma, coef0),
            "sigmoid": partial(mc.Sigmoid, gamma, coef0),
        }
        return kernels[kernel]() if isinstance(kernel, str) and kernel in kernels else kernel

    def _like_vectors(self, coef):
        return sp.csr_matrix(coef) if sp.issparse(self._model.support_vectors_) else coef

    @property
    def dual_coef_(self):
        return self._like_vectors(self._model.dual_coef_.T)

    @property
    def coef_(self):
        if self.kernel != "linear":
            raise AttributeError("coef_ is for a linear kernel.")
        return self._like_vectors(self._model.expansion_.coef.T @ self._model.support_vectors_)

    @property
    def _gamma(self):
        return self._model.kernel_.gamma


class Pairwise(Adapter):
    """Estimators whose kernels are those of ``pairwise_kernels``: other names, or a function of two rows."""

    def _kernel(self, params, d):
        kernel, gamma = params["kernel"], params["gamma"]
        degree, coef0 = (
            params[name] if params[name] is not None else default for name, default in _DEFAULTS
        )
        width = 1 / d if gamma is None else gamma
        kernels = {
            "rbf": partial(mc.Gaussian, width),
            "poly": partial(mc.Polynomial, degree, width, coef0),
            "polynomial": partial(mc.Polynomial, degree, width, coef0),
            "sigmoid": partial(mc.Sigmoid, width, coef0),
            "laplacian": partial(mc.Laplacian, width),
            "chi2": partial(mc.Chi2, 1.0 if gamma is None else gamma),
            "cosine": partial(mc.Normalized, mc.Linear()),
        }
        if callable(kernel) or kernel == "additive_chi2":
            return partial(pairwise_kernels, metric=kernel, **(params["kernel_params"] or {}))
        return kernels[kernel]() if kernel in kernels else kernel


_DEFAULTS = (("degree", 3), ("coef0", 1))


class Transformer(Pairwise):
    """Kernel PCA and Nystroem."""

    def fit_transform(self, X, y=None):
        model = self._translate(X)
        scores = model.fit_transform(X, y)
        self._model = model
        return scores


class Components(Transformer):
    """Kernel PCA: an inverse where one was asked for."""

    def inverse_transform(self, X):
        if not self.fit_inverse_transform:
            raise NotFittedError("fit_inverse_transform is False.")
        return self._model.inverse_transform(X)

    @property
    def gamma_(self):
        return self._model.kernel_.gamma


class Landmarks(Transformer):
    """Nystroem: landmarks and the map from kernel values to features."""

    @property
    def components_(self):
        return self._model.landmarks_

    @property
    def normalization_(self):
        return self._model.expansion_.coef


def _adapter(peer, base, estimator):
    """Return a class with the name and constructor of scikit-learn's ``peer`` that trains ``estimator``."""
    signature = inspect.signature(peer.__init__)

    def __init__(self, *args, **params):
        bound = signature.bind(self, *args, **params)
        bound.apply_defaults()
        for name in list(signature.parameters)[1:]:
            setattr(self, name, bound.arguments[name])

    __init__.__signature__ = signature
    return type(peer.__name__, (base,), {"__init__": __init__, "_class": estimator})


ADAPTERS = {
    "sklearn.svm": [
        _adapter(getattr(svm, name), Machine, getattr(mc, name))
        for name in ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
    ],
    "sklearn.decomposition": [_adapter(decomposition.KernelPCA, Components, estimators.KernelPCA)],
    "sklearn.kernel_ridge": [_adapter(kernel_ridge.KernelRidge, Pairwise, estimators.KernelRidge)],
    "sklearn.kernel_approximation": [
        _adapter(kernel_approximation.Nystroem, Landmarks, estimators.Nystroem)
    ],
}
