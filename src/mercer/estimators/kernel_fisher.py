"""KernelFisher: kernel Fisher discriminant analysis, a transformer and a classifier."""

from dataclasses import KW_ONLY
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.special

from mercer._common import (
    Array,
    ArrayLike,
    PointsLike,
    as_float64,
    check_integer,
    check_nonnegative,
    check_positive,
    shown,
)
from mercer._compute.memory import parse_memory
from mercer.estimators.base import KernelTransformer, OverLandmarks, as_labels
from mercer.estimators.inherited import ClassifierMixin
from mercer.estimators.model import fits, of_points, storable_estimator
from mercer.expansion import values_at, with_intercept
from mercer.kernels.base import Kernel
from mercer.linalg.convexity import convexity, warn_nonconvex
from mercer.solvers import fisher
from mercer.solvers.certify import Residuals


@storable_estimator
class KernelFisher(OverLandmarks, KernelTransformer, ClassifierMixin):
    r"""Kernel Fisher discriminant analysis: linear discriminant analysis of phi(x) in the feature space of a kernel.

    The directions with the largest scatter between the means of the classes relative to the scatter within the classes,

    .. math:: S_B w = \lambda (S_W + \mu I) w,

    are combinations of the training features, w = sum_i a_i phi(x_i). With the centred kernel matrix K the eigenproblem
    is S_B^K a = lambda (S_W^K + mu K) a. Along the directions linear discriminant analysis predicts the classes: the
    nearest mean, corrected by the logarithms of the class priors.

    Parameters
    ----------
    n_components : int, optional
        Number of directions, below the number of classes; all when left out.
    kernel : Kernel, str or callable
        Kernel, or a name as for `SVC`. Bandwidth rules are resolved on the training data. A callable takes two blocks
        of points.
    gamma : float, {"scale", "auto", "median"} or None
    degree : int
    coef0 : float
        Parameters of a kernel given by name, as for `SVC`.
    mu : float
        Regularisation parameter, at least 0; added to the scatter within classes, a sum over n points, in every
        direction. Without it, for mu = 0, directions of no scatter within the classes have no finite lambda, and
        eigenvalues are bounds then, with a warning; others have the limit of small mu. Positive with landmarks. A
        ConvergenceWarning says if it is so small that float32 rows lose more than a thousandth of the coordinates, or
        that rounding of kernel values is a hundredth of the first direction. Directions that are rounding are left out.
    landmarks : int or points, optional
        Number of training points to select, or points (row indices for a precomputed kernel), whose features span the
        directions. All training points span them when left out, or when there are no more than the number.
    rule : {"randomly_pivoted", "greedy", "leverage", "k_means", "uniform"}
        Rule that selects a number of landmarks, see `maps.select_landmarks`.
    memory : str or int
        Memory limit, in bytes, of stored matrices. Beyond it, and without landmarks, products are lazy.
    random_state : int, RandomState or None
        Seed of the landmarks, and of the preconditioner of the iterative solver.

    Attributes
    ----------
    classes_ : array (C,)
        Class labels.
    priors_ : array (C,)
        Share of the weights of each class.
    means_ : array (C, n_components_)
        Means of the classes along the directions; the mean of all points is 0.
    eigenvalues_ : array (n_components_,)
        Scatter between classes over regularised scatter within, descending.
    expansion_ : Expansion
        The directions, scaled so that the regularised scatter within classes is n.
    intercept_ : array (n_components_,)
        Minus the mean of ``expansion_`` over the training points.
    residual_ : float
        Relative residual of the linear system.
    trace_error_ : float
        Share of the sum of k(x, x) that the landmarks do not span; only with landmarks.
    kernel_ : Kernel
        Kernel with resolved bandwidth.
    n_components_, n_features_in_ : int

    Notes
    -----
    One ridge regression with C - 1 targets: Cholesky, O(n^3), where the n x n matrix fits into the memory limit;
    otherwise preconditioned conjugate gradients on lazy products. With m landmarks n m kernel values and O(n m^2). The
    result equals that of scikit-learn's ``LinearDiscriminantAnalysis(solver="eigen")`` on coordinates of the features,
    with mu / n added to the diagonal of its covariances.

    References
    ----------
    Mika, Raetsch, Weston, Schoelkopf, Mueller, *Fisher discriminant analysis with kernels*, NNSP IX (1999).
    Baudat, Anouar, *Generalized discriminant analysis using a kernel approach*, Neural Computation 12 (2000).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> X, y = np.concatenate([circle, 2 * circle]), np.repeat(["inside", "outside"], 40)
    >>> mc.KernelFisher(kernel=mc.Gaussian(1.0)).fit(X, y).predict([[0.0, 0.9], [0.0, 2.1]])
    array(['inside', 'outside'], dtype='<U7')
    """

    n_components: int | None = None
    _: KW_ONLY
    mu: float = 1e-3

    @fits
    def fit(self, X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the directions.

        Parameters
        ----------
        X : points (n)
            Rows, sparse rows where the kernel takes them, a square matrix for "precomputed", or a list of objects.
        y : array (n,)
            Class labels.
        sample_weight : array (n,), optional
            Weights, at least 0. Points of weight 0 are left out, and classes without other points.

        Returns
        -------
        self
        """
        (check_nonnegative if self.landmarks is None else check_positive)("mu", self.mu)
        if self.n_components is not None:
            check_integer("n_components", self.n_components)
        y = as_labels(X, y, "KernelFisher")
        data = self._weighted_data(X, sample_weight)
        phi = data.phi
        weights = data.weights
        if weights is not None:
            y = y[np.asarray(sample_weight) > 0]
        classes, numbers = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"KernelFisher needs points of at least two classes, got 1 class: {shown(classes.tolist())}."
            )
        if self.n_components is not None and self.n_components >= len(classes):
            raise ValueError(
                f"n_components = {self.n_components} must be at most {len(classes) - 1}, one less than the number of "
                "classes."
            )

        route = self._route(data.size)
        whole = route.name != "landmarks"
        solve = (
            partial(route.run, phi, random_state=self.random_state)
            if whole
            else partial(route.run, phi, self._landmark_features(phi))
        )
        mu = float(self.mu)
        found = solve(numbers, mu, weights, n=self.n_components, memory=data.size.budget)

        sizes = np.bincount(numbers, weights=weights)
        self.kernel_: Kernel = phi.kernel
        self.classes_: Array = classes
        self.priors_: Array = sizes / sizes.sum()
        self.means_: Array = found.means
        self.eigenvalues_: Array = found.eigenvalues
        self.residual_: Any = found.residual
        self._store_axes(found.expansion, found.intercept, found.trace_error)
        # landmarks span a space of positive eigenvalues
        evidence = whole and convexity(phi.kernel, phi.points).evidence
        if evidence:
            warn_nonconvex(type(self).__name__, evidence)
        self._warn_single_precision(phi.points, "mu")
        return self

    def _routes(self, size):
        return fisher.routes(size, self._chosen_landmarks(size))

    def _certificate(self, X, y, sample_weight):
        """Return the relative residuals of the equations of the directions in float64 from the training points."""
        kernel, points, weights = self._weighted_points(X, sample_weight)
        y = as_labels(X, y, "KernelFisher")
        if weights is None:
            weights = np.ones(len(y))
        else:
            y = y[np.asarray(sample_weight) > 0]
        self._require_fitted_classes(y)
        over_landmarks = hasattr(self, "trace_error_")
        psi = self._exact(kernel, None if over_landmarks else points)
        arrays = (self.intercept_, self.eigenvalues_, self.means_)
        found = fisher.residuals(
            fisher.Discriminants(psi, *map(as_float64, arrays), self.residual_),
            as_float64(self.priors_),
            classes=np.searchsorted(self.classes_, y),
            mu=self.mu,
            weights=weights,
            # without regularisation the equations hold in the span of the features only
            points=points if over_landmarks or not self.mu else None,
        )
        return Residuals(
            found,
            over_landmarks or convexity(kernel, points, budget=parse_memory(self.memory)).proved,
        )

    def _require_fitted_classes(self, y):
        """Raise unless labels of positive weight are those of the fit."""
        every = hasattr(self, "trace_error_") or len(y) == self.expansion_.shape[0]
        if not every or not np.array_equal(np.unique(y), self.classes_):
            raise ValueError(
                f"y has {len(y)} labels of positive weight, {shown(np.unique(y).tolist())}, but KernelFisher was "
                f"fitted on {self.expansion_.shape[0]} of the classes {shown(self.classes_.tolist())}; give y and "
                "sample_weight as in the fit."
            )

    @of_points
    def decision_function(self, X: PointsLike) -> Array:
        """Return the decision values: logarithms of the class probabilities, up to a constant of each point.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test, C), or (n_test,) for two classes
            For two classes their difference: positive for ``classes_[1]``.
        """
        values = self._log_posteriors(X)
        return values[:, 1] - values[:, 0] if len(self.classes_) == 2 else values

    @of_points
    def predict(self, X: PointsLike) -> Array:
        """Predict the classes of new points.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,)
        """
        values = self._log_posteriors(X)
        return self.classes_[np.argmax(values, axis=1)]

    @of_points
    def predict_proba(self, X: PointsLike) -> Array:
        """Return class probabilities, for Gaussian classes with one covariance along the directions.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test, C)
        """
        return scipy.special.softmax(self._log_posteriors(X), axis=1)

    @of_points
    def predict_log_proba(self, X: PointsLike) -> Array:
        """Return the logarithms of ``predict_proba``, finite where that rounds to 0.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test, C)
        """
        return scipy.special.log_softmax(self._log_posteriors(X), axis=1)

    def _log_posteriors(self, X):
        points = self._new_points(X)
        # set_output decides the container of transform
        scores = with_intercept(values_at(self.expansion_, points), self.intercept_)
        return fisher.log_posteriors(scores, self.means_, self.priors_)
