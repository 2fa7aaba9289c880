"""KernelRidge: kernel ridge regression, its leave-one-out residuals, and the variance of a Gaussian process."""

from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple, Self, overload

import numpy as np
from sklearn.base import MultiOutputMixin
from sklearn.utils.validation import check_is_fitted

from mercer._common import (
    Array,
    ArrayLike,
    PointsLike,
    Seed,
    as_float64,
    as_weights,
    check_choice,
    check_confidence,
    check_flag,
    check_integer,
    check_positive,
    refuse_large,
    require_positive_weight,
    shown,
)
from mercer._compute.memory import first_that_fits, parse_memory, require_memory, required
from mercer._compute.points import as_columns, as_dense_rows, as_vector, count_points, take_points
from mercer._compute.readable import is_dask, known_rows
from mercer._compute.targets import as_real_targets, refuse_targets
from mercer.estimators.base import OverLandmarks, check_lengths, given_weights
from mercer.estimators.inherited import RegressorMixin
from mercer.estimators.model import (
    attribute,
    fits,
    of_points,
    on_device,
    storable_estimator,
)
from mercer.expansion import Expansion, features, rows_of, values_at, with_intercept
from mercer.kernels.bandwidth import warn_degenerate
from mercer.kernels.base import Kernel
from mercer.kernels.direct_sum import without_marks
from mercer.kernels.shorthand import KernelLike, kernel_of
from mercer.learning.tuning import Tuning, check_tune, tune_ridge, tuning_route
from mercer.least_squares import powers_of_two
from mercer.linalg.convexity import Convexity, convexity, warn_nonconvex
from mercer.linalg.generator import generator
from mercer.linalg.operators import InnerProducts, in_float64
from mercer.solvers import intervals, ridge
from mercer.solvers.certify import Residuals


@storable_estimator
class KernelRidge(OverLandmarks, MultiOutputMixin, RegressorMixin):
    r"""Kernel ridge regression; with its variance, Gaussian process regression.

    For each target it finds the vector of feature space that minimises

    .. math:: \sum_i w_i (\langle\psi, \phi(x_i)\rangle - y_i)^2 + \alpha |\psi|^2,

    psi = sum_i a_i phi(x_i) with (K + alpha diag(1 / w)) a = y. Predictions are ``expansion_(X)``.

    Parameters
    ----------
    alpha : float or array (n_targets,)
        Regularisation strength, at least 0; in a Gaussian process the variance of the noise. 0 gives the solution of
        minimum norm. With a number for each target, each distinct number takes the time of a fit, and the model has
        variances for each target, and no covariances and leave-one-out residuals.
    kernel : Kernel, str or callable
        Kernel, or a name as for `SVC`. Bandwidth rules are resolved on the training data. A callable takes two blocks
        of points.
    gamma : float, {"scale", "auto", "median"} or None
    degree : int
    coef0 : float
        Parameters of a kernel given by name, as for `SVC`; gamma = None is 1 / n_features, and 1 for "chi2".
    landmarks : int or points, optional
        Number of training points to select, or points (row indices for a precomputed kernel), whose features span the
        solutions to search. All training points span them when left out, or when there are no more than the number.
    rule : {"randomly_pivoted", "greedy", "leverage", "k_means", "uniform"}
        Rule that selects a number of landmarks, see `maps.select_landmarks`.
    tune : {"marginal_likelihood", "loo"} or learning.Tuning, optional
        Choose the bandwidth and the regularisation by descent from those given: by the largest marginal likelihood of
        the Gaussian process, which also scales the kernel, or by the smallest leave-one-out error. The kernel needs a
        gradient; with ``Mapped(kernel, scales)`` each column gets a scale. O(n^3) for each step; not with landmarks.
        A `learning.Tuning` limits the steps and has a prior on scales of columns. For a fixed ``alpha`` search
        ``kernel__gamma`` by GridSearchCV.
    free : {"constant", "linear"}, function or array (n, q), optional
        Terms without penalty: f(x) = <psi, phi(x)> + sum_j p_j(x) c_j, by a constant, by 1 and the columns of X, or by
        a function of the rows that returns (n, q), also an `Expansion`. An array holds their values at the training
        points; the model then predicts no other points, whose predictions are ``expansion_(X) + P @ free_coef_``, and
        is not written to files. The kernel may be conditionally positive definite: its negative part may lie on
        coefficients a with P'a != 0, as that of thin plate splines, |x - z|^2 log |x - z|, with "linear". Not with
        landmarks or ``tune``.
    memory : str or int
        Memory limit, in bytes, of stored matrices. Beyond it, and without landmarks, products are lazy.
    random_state : int, RandomState or None
        Seed of the landmarks, and of the preconditioner of the iterative solver.

    Attributes
    ----------
    dual_coef_ : array (n,) or (n, n_targets)
        Coefficients a, of the landmarks if there are any.
    expansion_ : Expansion
        The vectors psi.
    intercept_ : array (n_targets,)
        Zeros, or the constant of ``free`` = "constant" or "linear".
    free_coef_ : array (q, n_targets)
        Coefficients c of the free terms but the constant; only with ``free``.
    residual_ : float
        Relative residual of the linear system, the largest of them where targets have different ``alpha``.
    trace_error_ : float
        Share of the sum of k(x, x) that the landmarks do not span; only with landmarks.
    kernel_ : Kernel
        Kernel with resolved or tuned bandwidth.
    alpha_ : float or array (n_targets,)
        ``alpha``, or its tuned value; an array where targets have different numbers.
    posterior_ : Expansion
        Vectors R with posterior variance k(x, x) - R(x) R(x)' where ``free`` is None. With landmarks ``fit`` computes
        them, otherwise the first access does, in O(n^3). Only where all targets have the same ``alpha``.
    loo_residuals_ : array (n,) or (n, n_targets)
        Leave-one-out residuals: each target minus its prediction by a fit to all other points, exact and without
        refitting. From ``posterior_``; not with landmarks.
    effective_dimension_ : float
        Degrees of freedom of the fit, the trace of K (K + alpha diag(1 / w))^-1: the sum of lambda / (lambda + alpha)
        over the eigenvalues without weights. From ``posterior_``; with landmarks that of their span.
    n_features_in_ : int

    Notes
    -----
    Cholesky, O(n^3), where the n x n matrix fits into the memory limit; otherwise preconditioned conjugate gradients
    on lazy products, O(n^2) kernel values per step and O(n) memory. With m landmarks n m kernel values and O(n m^2).
    Over landmarks, directions are left out whose eigenvalue of the kernel matrix of the landmarks is below 4e-11 of the
    largest: unless alpha is far above n / m times that, values change, by 5e-4 between the data at alpha = 1e-6, by .02
    at 1e-8, and by more far from them (``Gaussian(2.0)``, 3 000 points in the plane, 1 000 landmarks).
    With repeated points and a tiny alpha the system is solved over the eigenvalues above rounding. A weight equals that
    number of repetitions. Where K has negative eigenvalues above -alpha, the solution of the linear system is a saddle
    point; a warning says so.

    With ``free`` the system is bordered, K a + alpha diag(1 / w) a + P c = y, P'a = 0, and solved by the same routes on
    H K H, where H projects onto the complement of P (here without weights), and certified as a whole.

    References
    ----------
    Saunders, Gammerman, Vovk, *Ridge regression learning algorithm in dual variables*, ICML (1998).
    Wahba, *Spline models for observational data* (1990), section 1.3: free terms.
    Rasmussen, Williams, *Gaussian processes for machine learning* (2006), eq. (2.25), (2.26), (5.9), (5.12).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.linspace(0, 6, 30).reshape(-1, 1)
    >>> model = mc.KernelRidge(1e-3, kernel=mc.Gaussian(0.5)).fit(X, np.sin(X.ravel()))
    >>> model.predict([[1.5]]).round(2), model.variance([[1.5], [100.0]]).round(2)
    (array([1.]), array([0., 1.]))
    >>> tuned = mc.KernelRidge(1e-3, kernel=mc.Gaussian(5.0), tune="loo").fit(X, np.sin(X.ravel()))
    >>> tuned.kernel_.gamma < 1.0
    True
    """

    alpha: float | ArrayLike = 1.0
    _: KW_ONLY
    kernel: KernelLike = "linear"
    gamma: float | str | None = None
    coef0: float | None = 1.0
    tune: str | Tuning | None = None
    free: str | Callable[[Any], Any] | ArrayLike | None = None

    @fits
    def fit(self, X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : points (n)
            Rows, sparse rows where the kernel takes them, a square matrix for "precomputed", or a list of objects.
            With landmarks also rows that are not in memory: a memory map, an HDF5 dataset, a Zarr array or a pyarrow
            Table of numbers is read block by block, and a Dask array is summed on the scheduler of the user. Bandwidth
            rules and a number of landmarks are then taken from a uniform sample of 20 000 rows, or of ten for each
            landmark.
        y : array (n,) or (n, n_targets)
            Targets; a Dask array too where X is one.
        sample_weight : array (n,), optional
            Weights, at least 0; a Dask array too where X is one.

        Returns
        -------
        self
        """
        ridge.check_alphas(self.alpha)
        tuning = check_tune(self.tune, self.landmarks)
        self._check_free()
        blocks = self._training_blocks(X)
        y, weights = (
            _checked_targets(X, y, sample_weight)
            if blocks is None
            else _block_columns(blocks, y, sample_weight)
        )
        targets = y.reshape(len(y), -1) if blocks is None else y
        alpha = ridge.for_targets(self.alpha, 1 if y.ndim == 1 else y.shape[1])
        data = self._data(X, blocks, weights)
        if tuning is not None:
            phi = data.phi
            kernel, alpha = tune_ridge(
                phi.kernel, alpha, phi.points, targets, weights, tuning, self.memory
            )
            data = replace(data, phi=features(kernel, phi.points))
        warn_degenerate(data.phi.kernel, data.phi.prepared.container)

        size = data.size
        found = ridge.routes(size, alpha, self._chosen_landmarks(size))
        route = required(found, size, type(self).__name__)
        whole = route.name != "landmarks"
        # those of an earlier fit
        vars(self).pop("_free", None)
        points = data.phi.prepared.container
        terms = None if self.free is None else _Terms.of(self.free, rows_of(data.phi), weights)
        # blocks have weights of all rows, and landmarks are those of a sample
        own = weights if blocks is None else None
        solve = partial(route.run, weights=weights, random_state=self.random_state)
        if whole:
            free = None if terms is None else terms.P
            solve = partial(solve, InnerProducts(data.phi, size.budget), free=free)
        else:
            onto = self._landmark_features(data.phi, own)
            solve = partial(solve, data.blocks, onto, memory=size.budget)
        found = ridge.for_each_alpha(solve, targets, alpha)

        # copies: a model never keeps the arrays of its caller; over landmarks there are no leave-one-out residuals
        kept = targets.copy() if whole else None
        self._asked = (alpha, self.memory, kept, None if own is None else own.copy())
        # over landmarks intervals alone need the training points
        spanned = found.values is not None and blocks is None
        self._training = (
            intervals.Training(points, targets.copy(), found.values) if spanned else None
        )
        self._store(found, data.phi.kernel, alpha, y.ndim)
        if terms is not None:
            coef = ridge.free_coefficients(found.expansion, points, targets, weights, terms.P)
            dtype = self.intercept_.dtype
            constants, slopes = terms.unscaled(coef)
            self.intercept_ = constants.astype(dtype)
            self.free_coef_: Array = slopes.astype(dtype)
            self._free = self.free if _is_rule(self.free) else terms.columns
        evidence = whole and self._convexity(data.phi, weights).evidence
        if evidence:
            warn_nonconvex(type(self).__name__, evidence)
        self._warn_single_precision(points, "alpha")
        return self

    def _routes(self, size):
        ridge.check_alphas(self.alpha)
        tuning = check_tune(self.tune, self.landmarks)
        found = ridge.routes(size, self.alpha, self._chosen_landmarks(size))
        if tuning is None:
            return found
        tuned = tuning_route(size, tuning.method)
        return [replace(tuned, work=first_that_fits(found, size.budget).work + tuned.work)]

    def _store(self, found, kernel, alpha, n_dim):
        """Store a solution for targets of one or two dimensions as fitted attributes."""
        coef = found.expansion.coef
        self.kernel_: Kernel = kernel
        self.alpha_: Any = alpha
        self.expansion_: Expansion = found.expansion
        self.residual_: Any = found.residual
        self.dual_coef_: Array = coef[:, 0] if n_dim == 1 else coef
        self.intercept_: Array = np.zeros(coef.shape[1], coef.dtype)
        if found.trace_error is not None:
            self.trace_error_: float = found.trace_error
        if found.posterior is not None:
            self.posterior_ = found.posterior

    def _implied(self, name, value):
        state = vars(self)
        if name == "dual_coef_" and "expansion_" in state:
            psi = state["expansion_"]
            return {"expansion_": Expansion(psi.kernel, psi.points, value.reshape(len(value), -1))}
        if name == "expansion_" and "dual_coef_" in state:
            return {"dual_coef_": self._like_targets(value.dense_coef())}
        return {}

    def _convexity(self, phi, weights, budget=0):
        """Return whether the problem is convex, which it is where only positive eigenvalues are used."""
        if phi.kernel.tags.positive_semidefinite or ridge.has_minimum_norm(
            phi, float(np.max(self.alpha_)), weights
        ):
            return Convexity(True)
        points = phi.points if weights is None else take_points(phi.points, np.flatnonzero(weights))
        return convexity(phi.kernel, points, False, budget, self._free_columns(points))

    def _check_free(self):
        if self.free is None:
            return
        named = isinstance(self.free, str)
        of_rows = self.free == "linear" if named else callable(self.free)
        if not of_rows and not (self.free == "constant" if named else np.ndim(self.free) == 2):
            raise TypeError(
                f"free = {shown(self.free)} must be None, 'constant', 'linear', a function of the rows, or an array "
                "(n, q) of values at the training points; a function may select columns of X."
            )
        if of_rows and kernel_of(self).tags.points == "indices":
            raise ValueError(
                "free = 'linear' or a function needs rows, not kernel values; give an array (n, q)."
            )
        if self.landmarks is not None or self.tune is not None:
            raise ValueError(
                "free needs all training points and a given kernel: fit with landmarks=None and tune=None."
            )

    def _terms(self, points):
        """Return the free terms of the fit at its training points, or None."""
        free = vars(self).get("_free")
        return None if free is None else _Terms.of(free, without_marks(self.kernel_, points))

    def _new_columns(self, points):
        """Return the free terms but the constant at any points (n, q)."""
        if not _is_rule(self._free):
            raise ValueError(
                "free was an array of values at the training points, which are not known at other points; give a "
                "function of the rows, or compute expansion_(X) + P @ free_coef_."
            )
        return _columns(self._free, without_marks(self.kernel_, points))

    def _free_columns(self, points):
        """Return the free terms of the fit at its training points (n, q) with the constant, or None."""
        terms = self._terms(points)
        return None if terms is None else terms.P

    @overload
    def predict(
        self, X: PointsLike, return_std: Literal[False] = False, return_cov: Literal[False] = False
    ) -> Array: ...

    @overload
    def predict(
        self, X: PointsLike, return_std: Literal[True], return_cov: Literal[False] = False
    ) -> tuple[Array, Array]: ...

    @overload
    def predict(
        self, X: PointsLike, return_std: Literal[False] = False, *, return_cov: Literal[True]
    ) -> tuple[Array, Array]: ...

    @on_device
    def predict(
        self, X: PointsLike, return_std: bool = False, return_cov: bool = False
    ) -> Array | tuple[Array, Array]:
        """Predict the targets of new points.

        Parameters
        ----------
        X : points (n_test)
            For "precomputed" their kernel values with the training points (n_test, n).
        return_std : bool
            Return the standard deviations of the Gaussian process too, without the noise.
        return_cov : bool
            Return the covariances of the Gaussian process at the points too, without the noise; not with
            ``return_std``.

        Returns
        -------
        array (n_test,) or (n_test, n_targets)
        array (n_test,) or (n_test, n_targets)
            Only with ``return_std``: the square roots of ``variance(X)``, a column for each target where they have
            different ``alpha``.
        array (n_test, n_test)
            Only with ``return_cov``: k(x, z) - R(x) R(z)', equal for all targets.
        """
        check_flag("return_std", return_std)
        check_flag("return_cov", return_cov)
        if return_std and return_cov:
            raise ValueError(
                "return_std and return_cov must not be True together; covariances have the variances."
            )
        values = self._values(X)
        if return_cov:
            return values, self._covariance(X)
        return (values, np.sqrt(self.variance(X))) if return_std else values

    @on_device
    def sample_y(self, X: PointsLike, n_samples: int = 1, random_state: Seed = 0) -> Array:
        """Return draws of the functions of the Gaussian process at new points, without the noise.

        Parameters
        ----------
        X : points (n_test)
        n_samples : int
        random_state : int, RandomState, Generator or None
            None is 0.

        Returns
        -------
        array (n_test, n_samples) or (n_test, n_targets, n_samples)
            As of scikit-learn's ``GaussianProcessRegressor``: normal, with the mean ``predict(X)`` and the covariances
            of ``return_cov``, independent between targets.

        Notes
        -----
        An eigendecomposition, O(n_test^3), and n_test^2 numbers in memory.

        Examples
        --------
        >>> import numpy as np, mercer as mc
        >>> X = np.linspace(0, 6, 30).reshape(-1, 1)
        >>> model = mc.KernelRidge(1e-3, kernel=mc.Gaussian(0.5)).fit(X, np.sin(X.ravel()))
        >>> model.sample_y([[1.5], [100.0]], 1000).std(axis=1).round(1)
        array([0., 1.])
        """
        check_integer("n_samples", n_samples)
        values = self._values(X)
        eigenvalues, axes = np.linalg.eigh(self._covariance(X))
        # those below 0 are rounding
        root = axes * np.sqrt(eigenvalues.clip(0))
        drawn = generator(random_state).standard_normal((*values.shape[1:], len(root), n_samples))
        return values[..., None] + np.moveaxis(root @ drawn, -2, 0)

    @of_points
    def _covariance(self, X):
        """Return the posterior covariances of new points (n_test, n_test), in float64."""
        X = self._new_points(X)
        n = count_points(X)
        require_memory(16 * n * n, self.memory, f"the covariances of {n} points", "fewer points")
        return ridge.covariance(self.posterior_, X, self._border(self.posterior_))

    @of_points
    def _values(self, X):
        return self._like_targets(self._scores(self._new_points(X)))

    def _scores(self, points):
        """Return the predictions (n, n_targets) of points."""
        found = with_intercept(values_at(self.expansion_, points), self.intercept_)
        if "free_coef_" in vars(self):
            found += (self._new_columns(points) @ self.free_coef_).astype(found.dtype)
        return found

    @on_device
    def predict_interval(
        self,
        X: PointsLike,
        confidence: float = 0.9,
        method: str = "conformal",
        *,
        scaled: bool = False,
    ) -> Array:
        r"""Return intervals that contain the targets of new points with a given probability, without a refit.

        With G = (K + alpha I)^-1, a = G y, t = G k_x and s = k(x, x) + alpha - k_x'G k_x the leave-one-out residuals
        are e_i = a_i / G_ii, and predictions without point i are f_-i(x) = f(x) - t_i e_i.

        * "conformal": all values y for which more than the share 1 - confidence of the n + 1 points has a
          leave-one-out residual as large as that of (x, y) once this point belongs to the training points,
          :math:`|a_i - t_i u| \ge (G_{ii} s + t_i^2) |u|` with y = f(x) + s u. The set may have gaps; the interval
          contains them.
        * "jackknife+": from the k-th smallest f_-i(x) - |e_i| to the k-th largest f_-i(x) + |e_i|, with k the whole
          part of (1 - confidence) (n + 1).

        If new and training points are exchangeable, and kernel, alpha and landmarks are fixed before the data are seen,
        the probability is at least ``confidence`` for "conformal" and 2 confidence - 1 for "jackknife+", over both
        training and new points, not at each x. With ``tune``, a bandwidth rule, or landmarks that are chosen from X
        there is no guarantee; on data the shares are about ``confidence``.

        Parameters
        ----------
        X : points (n_test)
        confidence : float in (0, 1)
        method : {"conformal", "jackknife+"}
        scaled : bool
            Divide residuals by their posterior standard deviations, those of new targets included, so that intervals
            are wider where training points are few.

        Returns
        -------
        float64 array (n_test, 2), or (n_test, 2, n_targets)
            Ends of the intervals, in units of y; infinite if n + 1 < 1 / (1 - confidence).

        Raises
        ------
        AttributeError
            For targets with different ``alpha``; over landmarks for rows that are not in memory, and beyond ``memory``.
        ValueError
            For a fit with sample weights, and if alpha is so small that rounding decides leave-one-out residuals.

        Notes
        -----
        O(n^2) operations for each point, after O(n^3) for ``posterior_``; with m landmarks O(n m). A model over
        landmarks keeps its training points for this; files of it do not.

        References
        ----------
        Vovk, Gammerman, Shafer, *Algorithmic learning in a random world* (2005), section 2.3.

        Barber, Candes, Ramdas, Tibshirani, *Predictive inference with the jackknife+*, Annals of Statistics 49 (2021),
        theorem 1.

        Examples
        --------
        >>> import numpy as np, mercer as mc
        >>> X = np.linspace(0, 6, 99).reshape(-1, 1)
        >>> y = np.sin(X[:, 0]) + np.tile([-0.1, 0.0, 0.1], 33)
        >>> model = mc.KernelRidge(0.1, kernel=mc.Gaussian(0.5)).fit(X, y)
        >>> model.predict_interval([[1.5]]).round(1)
        array([[0.9, 1.1]])
        """
        confidence = check_confidence(confidence)
        check_choice("method", method, ("conformal", "jackknife+"))
        check_flag("scaled", scaled)
        points = self._new_points(X)
        return self._like_targets(
            intervals.intervals(self._left_out(), points, confidence, method, scaled)
        )

    def _left_out(self):
        """Return what predictions owe to each training point."""
        alpha, _, targets, weights = self._of_fit()
        if weights is not None:
            raise ValueError(
                "predict_interval needs a fit without sample_weight, whose points are exchangeable."
            )
        if targets is not None:
            # raises where rounding decides
            _ = self.loo_residuals_
            free = self._border(self.posterior_)
            own = self._scores, self.expansion_, self.posterior_, alpha, free
            return self._prepare("left out", lambda: intervals.over_all(*own))
        training = vars(self).get("_training")
        if training is None:
            raise AttributeError(
                "predict_interval over landmarks needs training points in memory, one alpha for all targets, and a "
                "memory= for the direct solution; fit again, after loading a model from a file too."
            )
        own = self.expansion_, self.posterior_, training
        return self._prepare("left out", lambda: intervals.over_landmarks(*own))

    @of_points
    def variance(self, X: PointsLike) -> Array:
        """Return the posterior variance of the Gaussian process at new points, without the noise.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,), or (n_test, n_targets) for targets with different ``alpha``
            k(x, x) - |R(x)|^2, at least 0, equal for all targets. Values below about eps k(x, x) / alpha are rounding.
            With ``free`` the variance under a flat prior on the coefficients of the free terms, the limit of infinite
            prior variance.
        """
        X = self._new_points(X)
        state = vars(self)
        if "posterior_" not in state and np.ndim(self._of_fit()[0]) > 0:
            return self._variances(X)
        posterior = state["posterior_"] if "posterior_" in state else self._posterior()
        found = ridge.variance(posterior, X, self._border(posterior))
        # points that are refused leave the model unchanged
        state["posterior_"] = posterior
        return found

    def _variances(self, points):
        """Return the variances (n, n_targets) of targets with different alpha."""
        alphas, _, targets, _ = self._of_fit()
        if targets is None:
            raise AttributeError(
                "variances over landmarks need one alpha for all targets; fit a model for each target."
            )
        distinct, which = np.unique(alphas, return_inverse=True)
        found = []
        for alpha in distinct.tolist():
            posterior = self._prepare(f"posterior {alpha}", partial(self._posterior, alpha))
            found.append(ridge.variance(posterior, points, self._border(posterior, alpha)))
        return np.stack(found, axis=1)[:, which]

    @cached_property
    @on_device
    def posterior_(self) -> Any:
        """Vectors R with posterior variance k(x, x) - |R(x)|^2."""
        return self._posterior()

    def _of_fit(self):
        """Return alpha, memory, targets and weights of the fit."""
        check_is_fitted(self)
        if not hasattr(self, "_asked"):
            raise AttributeError(
                "variances and leave-one-out residuals need a model that was fitted; this KernelRidge was made from "
                "another model, which may have them."
            )
        alpha, memory, targets, weights = self._asked
        # files written before 0.1 keep targets of all rows beside an expansion over landmarks
        whole = targets is not None and len(targets) == self.expansion_.shape[0]
        return alpha, memory, targets if whole else None, weights

    def _posterior(self, alpha=None):
        """Return the vectors of the posterior of an alpha, that of the fit if None."""
        given, memory, targets, weights = self._of_fit()
        alpha = given if alpha is None else alpha
        if np.ndim(alpha) > 0:
            raise AttributeError(
                "covariances and leave-one-out residuals need one alpha for all targets; fit a model for each target."
            )
        if targets is None:
            ridge.require_posterior(self.expansion_.shape[0], memory)
        phi = features(self.kernel_, self.expansion_.points)
        free = self._free_columns(phi.points)
        return ridge.posterior(phi, alpha, weights, memory=memory, free=free)

    def _border(self, posterior, alpha=None):
        """Return the free terms beside the posterior of an alpha, that of the fit if None, or None."""

        def compute():
            terms = self._terms(posterior.points)
            given, _, _, weights = self._of_fit()
            return ridge.border(
                posterior,
                given if alpha is None else alpha,
                weights,
                terms.P,
                lambda points: terms.bordering(self._new_columns(points)),
            )

        return self._prepare(f"border {alpha}", compute) if "free_coef_" in vars(self) else None

    @attribute
    def loo_residuals_(self) -> Array:
        """Leave-one-out residuals, each target minus its prediction by a fit to all other points."""
        _, _, targets, weights = self._of_fit()
        if targets is None:
            raise AttributeError(
                "loo_residuals_ needs all training points: fit with landmarks=None."
            )
        terms = self._terms(self.expansion_.points)
        if terms is not None:
            ridge.require_determined(terms.P, weights)
        # of which points of weight 0 have residuals
        rest = self._rest(targets, terms)
        return self._like_targets(ridge.loo_residuals(self.expansion_, rest, self.posterior_))

    def _rest(self, targets, terms):
        """Return targets (n, n_targets) without the constant and the free terms of the training points."""
        rest = targets - self.intercept_
        return rest if terms is None else rest - terms.columns @ self.free_coef_

    @on_device
    def leave_one_out(self, alphas: ArrayLike, rows: ArrayLike | None = None) -> Array:
        """Return the leave-one-out residuals of some training points for several alphas, from one eigendecomposition.

        Parameters
        ----------
        alphas : array (q,)
            Positive numbers in place of ``alpha``.
        rows : int array (m,), optional
            Training points whose residuals are wanted, of positive weight; all by default.

        Returns
        -------
        float64 array (q, m) or (q, m, n_targets)
            Each target minus its prediction by a fit to all other points, as ``loo_residuals_`` for each alpha.

        Raises
        ------
        AttributeError
            For models over landmarks.
        ValueError
            For rows of weight 0, where an alpha is so small that rounding decides the residuals, and where the free
            terms of a point are no combination of those of the others.

        Notes
        -----
        O(n^3), about seven times a Cholesky factor, and then O(n m) for each alpha and target.

        Examples
        --------
        >>> import numpy as np, mercer as mc
        >>> X = np.linspace(0, 6, 30).reshape(-1, 1)
        >>> y = np.sin(X[:, 0]) + np.tile([-0.1, 0.0, 0.1], 10)
        >>> model = mc.KernelRidge(0.1, kernel=mc.Gaussian(0.5)).fit(X, y)
        >>> residuals = model.leave_one_out([1e-3, 0.1, 10.0], rows=np.arange(5, 25))
        >>> (residuals**2).mean(axis=1).round(3)
        array([0.014, 0.011, 0.236])
        """
        found = as_vector(alphas, "alphas")
        check_positive("alphas", found.min().item())
        _, memory, targets, weights = self._of_fit()
        if targets is None:
            raise AttributeError(
                "leave_one_out needs all training points: fit with landmarks=None."
            )
        n = len(targets)
        places = np.arange(n) if rows is None else np.asarray(rows)
        whole = places.ndim == 1 and places.dtype.kind in "iu"
        if not (whole and len(places) and -n <= places.min() and places.max() < n):
            raise ValueError(
                f"rows = {shown(places.tolist())} must be numbers of training points, integers from 0 to {n - 1}."
            )
        if weights is not None and not weights[places].all():
            raise ValueError("rows must have positive weights; leave out those of weight 0.")
        phi = features(self.kernel_, self.expansion_.points)
        free = self._free_columns(phi.points)
        return self._like_targets(
            ridge.loo_path(phi, targets, found, weights, places, memory, free)
        )

    @attribute
    def effective_dimension_(self) -> float:
        """Degrees of freedom of the fit."""
        self._of_fit()
        # the posterior vectors of the eigenvectors have squared norms lambda / (lambda + alpha)
        total = float(np.sum(in_float64(self.posterior_).norms() ** 2))
        free = self._free_columns(self.posterior_.points)
        return total if free is None else total + np.linalg.matrix_rank(free)

    def _certificate(self, X, y, sample_weight):
        """Return the relative residuals of the normal equations in float64 from the training points."""
        kernel, points = self._certified_points(X)
        y, weights = _checked_targets(X, y, sample_weight)
        # a fit over landmarks keeps no targets
        every = self.expansion_.shape[0] == count_points(points) and (
            not hasattr(self, "_asked") or self._of_fit()[2] is not None
        )
        psi = self._exact(kernel, points if every else None)
        targets = y.reshape(len(y), -1)
        terms = self._terms(psi.points)
        rest = self._rest(targets, terms)
        found = (
            ridge.normal_residuals(psi, points, rest, self.alpha_, weights)
            if terms is None
            else ridge.bordered_residuals(psi, rest, targets, self.alpha_, weights, terms.P)
        )
        budget = parse_memory(self.memory)
        return Residuals(
            found, not every or self._convexity(features(kernel, points), weights, budget).proved
        )

    def _like_targets(self, values):
        """Return values (..., n_targets) without the last axis where the targets have one dimension."""
        return values[..., 0] if self.dual_coef_.ndim == 1 else values


class _Terms(NamedTuple):
    """Values of free terms at training points (n, q), the constant apart where ``centre`` (q,) is given.

    ``scale`` (q,) is about the size of each column: units of a column decide nothing about the rank.
    """

    columns: Array
    centre: Array | None
    scale: Array

    @classmethod
    def of(cls, free, points, weights=None):
        columns = _columns(free, points)
        w = np.ones(len(columns)) if weights is None else weights
        centre = w @ columns / w.sum() if isinstance(free, str) else None
        return cls(columns, centre, powers_of_two(columns))

    @property
    def P(self):
        """The terms (n, q) with the constant."""
        return self.bordering(self.columns)

    def bordering(self, columns):
        """Return columns over their scales, with the constant first about the mean, far from multiples of it."""
        if self.centre is None:
            return columns / self.scale
        return np.column_stack([np.ones(len(columns)), (columns - self.centre) / self.scale])

    def unscaled(self, coef):
        """Return the constants (p,), and the coefficients of the columns, for those of ``P``."""
        if self.centre is None:
            return np.zeros(coef.shape[1]), coef / self.scale[:, None]
        slopes = coef[1:] / self.scale[:, None]
        return coef[0] - self.centre @ slopes, slopes


def _columns(free, points):
    """Return free terms but the constant at training points (n, q), in float64."""
    n = count_points(points)
    if isinstance(free, str):
        return np.empty((n, 0)) if free == "constant" else as_float64(as_dense_rows(points, "X"))
    name = "free(X)" if callable(free) else "free"
    values = as_columns(free(points) if callable(free) else free, name)
    if values.ndim != 2 or len(values) != n:
        raise ValueError(
            f"{name} has shape {values.shape}; it must have the shape (n, q) for n = {n} rows."
        )
    return as_float64(values)


def _is_rule(free):
    """Return whether free terms are known at any points."""
    return isinstance(free, str) or callable(free)


def _checked_targets(X, y, sample_weight):
    """Return validated targets and weights, None for equal weights."""
    y = as_real_targets(y, "KernelRidge")
    check_lengths(X, y)
    return y, given_weights(sample_weight, len(y))


def _block_columns(blocks, y, sample_weight):
    """Return the checked targets and weights of rows that are not in memory, None for equal weights."""
    y = _column_of(blocks, y, "y", partial(as_real_targets, model="KernelRidge"))
    if sample_weight is None:
        return y, None
    weights = _column_of(blocks, sample_weight, "sample_weight", _block_weights)
    require_positive_weight("sample_weight", weights)
    return y, weights


def _block_weights(sample_weight):
    """Return the validated weights of a block of points."""
    weights = as_weights("sample_weight", sample_weight, len(sample_weight))
    refuse_large("sample_weight", weights)
    return weights


def _column_of(blocks, values, name, check):
    """Return one value or row for each row of blocks, checked: a Dask array, or an array in memory."""
    # rows on disk are read here
    lazy = is_dask(values) and hasattr(blocks, "array")
    if lazy:
        values = known_rows(values, name)
    else:
        refuse_targets(values, name)
        values = np.asarray(values)
    if values.shape[0] != blocks.shape[0]:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {blocks.shape[0]} rows, {name} has "
            f"{values.shape[0]}; give as many."
        )
    return (
        values.map_blocks(_checked, check=check, column=name, dtype=np.float64)
        if lazy
        else check(values)
    )


def _checked(values, check, column, block_info=None):
    """Return the checked values of a block of Dask; a note to an error says where the block is."""
    try:
        return check(values)
    except (TypeError, ValueError) as error:
        first, end = block_info[0]["array-location"][0]
        error.add_note(f"The place is that in a block of Dask, {column}[{first}:{end}].")
        raise
