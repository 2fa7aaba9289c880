"""KernelRidge: ridge regression in feature space, its leave-one-out residuals, and what a Gaussian process adds."""

from functools import cached_property

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from mercer._common import check_integer, check_number
from mercer._compute.memory import parse_memory
from mercer._compute.points import count_points, take_points
from mercer.estimators import _svm
from mercer.estimators._base import KernelEstimator
from mercer.expansion import Expansion, features
from mercer.gram import Gram
from mercer.maps import select_landmarks
from mercer.solvers import ridge
from mercer.solvers._certify import Residuals
from mercer.solvers.svm.newton import widened

# New points whose variance is computed at a time: a block of values is then this by n.
_BLOCK = 1024


class KernelRidge(KernelEstimator, MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Kernel ridge regression, and the mean and variance of the Gaussian process that it is.

    The vector of feature space that minimises, for each target,

    .. math:: \sum_i w_i (\langle\psi, \phi(x_i)\rangle - y_i)^2 + \alpha |\psi|^2,

    is psi = sum_i a_i phi(x_i) with (K + alpha diag(1 / w)) a = y; predictions are ``expansion_(X)``.

    Parameters
    ----------
    alpha : float
        Ridge, at least 0; in a Gaussian process the variance of the noise. 0 gives the solution of minimum norm.
    kernel : Kernel, {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable
        Bandwidth rules are resolved on the training data. A callable takes two blocks of points.
    landmarks : int or points, optional
        Look for psi in the span of the features of so many training points, chosen by randomly pivoted Cholesky, or of
        given points; all training points when left out, or when there are no more than that.
    memory : str or int
        Bytes that stored matrices may take; beyond it, and without landmarks, products are lazy.
    random_state : int, RandomState or None
        Choice of landmarks, and the preconditioner of the iterative solver.

    Attributes
    ----------
    dual_coef_ : array (n,) or (n, n_targets)
        Coefficients a, over the landmarks where there are any.
    expansion_ : Expansion
        The vectors psi.
    intercept_ : array (n_targets,)
        Zero: there is none. Centre y, or add a constant to the kernel, where one is wanted.
    residual_ : float
        Relative residual of the linear system that was solved.
    kernel_ : Kernel
        The kernel with its numbers.
    posterior_ : Expansion
        Vectors R with posterior variance k(x, x) - R(x) R(x)'. Computed when first asked for, O(n^3); with landmarks
        in ``fit``.
    loo_residuals_ : array (n,) or (n, n_targets)
        What each target differs by from its prediction by all other points, exactly. From ``posterior_``, and without
        landmarks only.
    n_features_in_ : int

    See Also
    --------
    mercer.solvers.ridge.ridge_path : Many ridges, with leave-one-out residuals, from one eigendecomposition.

    Notes
    -----
    Cholesky, O(n^3), where two n x n matrices fit into the budget; else preconditioned conjugate gradients on lazy
    products, O(n^2) kernel values per step and O(n) memory. With m landmarks n m kernel values and O(n m^2). Repeated
    points with a tiny alpha are solved over what is above rounding. A weight equals that number of repetitions.

    References
    ----------
    Saunders, Gammerman, Vovk, *Ridge regression learning algorithm in dual variables*, ICML (1998).
    Rasmussen, Williams, *Gaussian processes for machine learning* (2006), eq. (2.25), (2.26), (5.12).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.estimators.kernel_ridge import KernelRidge
    >>> X = np.linspace(0, 6, 30).reshape(-1, 1)
    >>> model = KernelRidge(1e-3, kernel=mc.Gaussian(0.5)).fit(X, np.sin(X.ravel()))
    >>> model.predict([[1.5]]).round(2), model.variance([[1.5], [100.0]]).round(2)
    (array([1.]), array([0., 1.]))
    """

    def __init__(self, alpha=1.0, *, kernel="linear", landmarks=None, memory="1GB", random_state=None):
        self.alpha = alpha
        self.kernel = kernel
        self.landmarks = landmarks
        self.memory = memory
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        """Fit the vectors psi.

        Parameters
        ----------
        X : points (n)
            Rows, sparse rows where the kernel takes them, a square matrix for "precomputed", or a list of objects.
        y : array (n,) or (n, n_targets)
        sample_weight : array (n,), optional
            At least 0.

        Returns
        -------
        self
        """
        check_number("alpha", self.alpha)
        if self.alpha < 0:
            raise ValueError(f"alpha = {self.alpha!r} must be at least 0.")
        parse_memory(self.memory)
        y, sample_weight = self._validated(y, sample_weight)
        kernel, points = self._training_points(X, sample_weight=sample_weight)
        check_consistent_length(points, y)

        phi, targets = features(kernel, points), np.asarray(y, np.float64).reshape(len(y), -1)
        onto = self._landmarks(phi, sample_weight)
        if onto is None:
            found = ridge.ridge(phi, targets, self.alpha, sample_weight, **self._how())
        else:
            found = ridge.restricted(phi, onto, targets, self.alpha, sample_weight, memory=self.memory)

        self.kernel_, self.expansion_, self.residual_ = kernel, found.expansion, found.residual
        coef = found.expansion.coef
        self.intercept_ = np.zeros(coef.shape[1], coef.dtype)
        self.dual_coef_ = coef[:, 0] if y.ndim == 1 else coef
        self._asked = (self.alpha, self.memory, targets, sample_weight)
        self.__dict__.pop("posterior_", None)
        if found.posterior is not None:
            self.posterior_ = found.posterior
        return self

    def _validated(self, y, sample_weight):
        """Return targets and weights, or None for equal ones."""
        y = validate_data(self, y=y, multi_output=True, y_numeric=True)
        return y, None if sample_weight is None else _svm.weights(sample_weight, len(y))

    def _how(self):
        return {"memory": self.memory, "random_state": self.random_state}

    def _landmarks(self, phi, weights):
        """Return the features of the landmarks, none of weight 0, or None where the span is that of all points."""
        if self.landmarks is None:
            return None
        if np.isscalar(self.landmarks):
            check_integer("landmarks", self.landmarks)
            if self.landmarks >= len(phi):
                return None
            if weights is not None:
                phi = phi[:, np.flatnonzero(weights)]
        return features(
            phi.kernel, select_landmarks(phi.kernel, phi.points, self.landmarks, random_state=self.random_state)
        )

    def predict(self, X):
        """Return predictions for new points.

        Parameters
        ----------
        X : points (n_test)
            For "precomputed" their kernel values with the training points (n_test, n).

        Returns
        -------
        array (n_test,) or (n_test, n_targets)
        """
        X = self._new_points(X)
        return self._like_targets(self.expansion_(X) + self.intercept_)

    def variance(self, X):
        """Return the posterior variance of the Gaussian process at new points, without the noise.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,)
            k(x, x) - |R(x)|^2, at least 0, equal for all targets; below about eps k(x, x) / alpha it is rounding.
        """
        X = self._new_points(X)
        prior, R = self.kernel_.diag(X), self.posterior_
        parts = [slice(i, i + _BLOCK) for i in range(0, count_points(X), _BLOCK)]
        known = np.concatenate([np.sum(R(take_points(X, rows)) ** 2, axis=1) for rows in parts])
        return (prior - known).clip(0)

    @cached_property
    def posterior_(self):
        """Vectors R with posterior variance k(x, x) - |R(x)|^2."""
        check_is_fitted(self)
        alpha, memory, _, weights = self._asked
        return ridge.posterior(features(self.kernel_, self.expansion_.points), alpha, weights, memory=memory)

    @property
    def loo_residuals_(self):
        """What each target differs by from its prediction by all other points."""
        check_is_fitted(self)
        _, _, targets, _ = self._asked
        if self.expansion_.shape[0] != len(targets) or len(self.posterior_) != len(targets):
            raise AttributeError("loo_residuals_ needs all training points: fit with landmarks=None.")
        return self._like_targets(ridge.loo_residuals(self.expansion_, targets, self.posterior_))

    def _certify(self, X, y, sample_weight):
        """Return the relative residuals of the normal equations in float64 from raw inputs."""
        y, weights = self._validated(y, sample_weight)
        _, points = self._training_points(X, sample_weight=weights)
        check_consistent_length(points, y)
        points = widened(points)
        carriers = points if self.landmarks is None else widened(self.expansion_.points)
        psi = Expansion(self.kernel_, carriers, np.asarray(self.expansion_.coef, np.float64))
        onto, weights = Gram(self.kernel_, carriers, points), np.ones(len(y)) if weights is None else weights
        given = onto @ (weights[:, None] * y.reshape(len(y), -1).astype(np.float64))
        found = onto @ (weights[:, None] * psi(points)) + self.alpha * psi(carriers)
        norms = np.linalg.norm(given, axis=0)
        return Residuals(np.linalg.norm(given - found, axis=0) / np.where(norms > 0, norms, 1.0))

    def _like_targets(self, values):
        return values[:, 0] if self.dual_coef_.ndim == 1 else values

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
