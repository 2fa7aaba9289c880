"""scikit-learn's estimators with pairwise kernels, solved by Mercer."""

import numpy as np
from sklearn import decomposition, kernel_approximation, kernel_ridge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.preprocessing import KernelCenterer
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_psd_eigenvalues, validate_data

from mercer import estimators
from mercer._compute.devices import place_of
from mercer.expansion import Expansion
from mercer.sklearn.fitted import Fitted


class Pairwise(Fitted):
    """Mixin of estimators with the kernels of ``pairwise_kernels``."""

    def _fitted(self, X, *given, **changed):
        """Return Mercer's model of rows, or of the matrix of a callable, which takes two rows, and each pair once."""
        if callable(self.kernel):
            X = self._get_kernel(X)
        return self._with(**changed).fit(X, *given)

    def _evaluated(self, X, own, native):
        """Return ``native`` of the rows X, or ``own`` where Mercer has no model, or one of the values of a callable."""
        if self.mercer_ is None or callable(self.kernel):
            return own(X)
        return native(validate_data(self, X, accept_sparse="csr", reset=False))


class KernelRidge(Pairwise, kernel_ridge.KernelRidge):
    """``sklearn.kernel_ridge.KernelRidge``, solved by Mercer."""

    _native = estimators.KernelRidge

    def _solved(self, X, y, sample_weight):
        """Return Mercer's model, whose coefficients are stored."""
        X, y = validate_data(self, X, y, accept_sparse="csr", multi_output=True, y_numeric=True)
        model = self._fitted(X, y, sample_weight)
        self.dual_coef_ = model.dual_coef_.astype(np.result_type(X.dtype, y.dtype))
        self.X_fit_ = X
        return model

    def predict(self, X):
        """Return predictions (n_test,) or (n_test, n_targets)."""
        return self._evaluated(
            X,
            super().predict,
            lambda rows: self.mercer_.predict(rows).astype(
                np.result_type(rows.dtype, self.dual_coef_), copy=False
            ),
        )


class KernelPCA(Pairwise, decomposition.KernelPCA):
    """``sklearn.decomposition.KernelPCA``, solved by Mercer."""

    _native = estimators.KernelPCA

    def fit(self, X, y=None):
        """Fit the model; parameters and errors are those of scikit-learn's ``fit``."""
        return super().fit(X, y)

    def _solved(self, X, *_):
        """Return Mercer's model, whose pairs are stored; raise where scikit-learn returns some of eigenvalue 0."""
        X = validate_data(self, X, accept_sparse="csr", copy=self.copy_X)
        self.gamma_ = 1 / X.shape[1] if self.gamma is None else self.gamma
        model = self._fitted(X)
        # scikit-learn sets small ones to 0
        found = np.count_nonzero(_check_psd_eigenvalues(model.eigenvalues_))
        if found < (self.n_components or 0):
            raise ValueError(
                f"n_components = {self.n_components} exceeds the number {found} of positive eigenvalues."
            )
        dtype = np.result_type(X.dtype, np.float32)
        self.eigenvalues_ = model.eigenvalues_[:found].astype(dtype)
        self.eigenvectors_ = model.eigenvectors_[:, :found].astype(dtype)
        self.X_fit_ = X
        self._centerer = KernelCenterer()
        self._centerer.K_fit_rows_ = model.mean_(model.mean_.points)[:, 0]
        self._centerer.K_fit_all_ = self._centerer.K_fit_rows_.mean()
        if self.fit_inverse_transform:
            self._fit_inverse_transform(self.eigenvectors_ * np.sqrt(self.eigenvalues_), X)
        return model

    def transform(self, X):
        """Return the scores (n_test, n_components)."""
        return self._evaluated(
            X,
            super().transform,
            lambda rows: self.mercer_.transform(rows)[:, : len(self.eigenvalues_)],
        )


class Nystroem(Pairwise, kernel_approximation.Nystroem):
    """``sklearn.kernel_approximation.Nystroem``, solved by Mercer."""

    _native = estimators.KernelMap

    def fit(self, X, y=None):
        """Fit the model; parameters and errors are those of scikit-learn's ``fit``."""
        return super().fit(X, y)

    def _get_kernel(self, X):
        return pairwise_kernels(X, metric=self.kernel, **self._get_kernel_params())

    def _solved(self, X, *_):
        """Return the features as an expansion."""
        X = validate_data(self, X, accept_sparse="csr")
        rows = check_random_state(self.random_state).permutation(X.shape[0])[: self.n_components]
        if place_of(X) or self.n_components > X.shape[0]:
            raise ValueError(
                f"X must be rows of NumPy, at least n_components = {self.n_components}."
            )
        params = self._get_kernel_params()
        own = {} if callable(self.kernel) else params
        basis = self._fitted(X[rows], centre=False, **own).expansion_
        # the root of the inverse matrix is symmetric: orthonormal vectors, turned back by their eigenvectors
        root = basis.coef @ (basis.coef / np.linalg.norm(basis.coef, axis=0)).T
        self.component_indices_ = rows
        self.components_ = X[rows]
        self.normalization_ = root
        self._n_features_out = len(rows)
        return Expansion(basis.kernel, basis.points, root)

    def transform(self, X):
        """Return the features (n_test, n_components)."""
        return self._evaluated(X, super().transform, self.mercer_)
