"""KernelPCA: kernel principal component analysis, and denoising by pre-images."""

from dataclasses import KW_ONLY, replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._common import Array, ArrayLike, PointsLike, as_float64, check_integer, shown
from mercer._compute.points import count_points, take_points
from mercer.distributed import InMemory
from mercer.estimators.base import CoordinateTransformer
from mercer.estimators.model import (
    adds,
    attribute,
    available,
    fits,
    of_points,
    on_device,
    storable_estimator,
)
from mercer.expansion import Expansion, values_at, with_intercept
from mercer.kernels.direct_sum import without_marks
from mercer.kernels.shorthand import KernelLike, as_kernel
from mercer.linalg.operators import InnerProducts
from mercer.maps import Coordinates, residuals
from mercer.maps.coordinates import as_coordinates
from mercer.maps.landmark_pca import principal_coordinates
from mercer.maps.landmark_pca import route as moments_route
from mercer.solvers import pca
from mercer.solvers.certify import Residuals


@available
def _has_given_landmarks(model):
    """Give a method to models whose landmarks are points."""
    if model.landmarks is None or np.isscalar(model.landmarks):
        raise AttributeError(
            f"partial_fit of {type(model).__name__} needs landmarks that are points, got landmarks = "
            f"{shown(model.landmarks)}; give an array, such as some rows of the data, or use fit."
        )
    return True


@storable_estimator
class KernelPCA(CoordinateTransformer):
    r"""Kernel principal component analysis: linear PCA of phi(x) in the feature space of a kernel.

    The components are the eigenvectors of the covariance of the centred features,

    .. math:: u_k = \sum_i a_{ik} (\phi(x_i) - \mu), \qquad HKH a_k = \lambda_k a_k, \qquad \lambda_k |a_k|^2 = 1,

    and the scores of a point are its inner products with them, ``expansion_(X) + intercept_``.

    Parameters
    ----------
    n_components : int or float, optional
        Number of components; all with a positive eigenvalue when left out. A float between 0 and 1 is a share of the
        variance: the smallest number of components whose eigenvalues hold that share of the trace.
    kernel : Kernel, str or callable
        Kernel, or a name as for `SVC`. Bandwidth rules are resolved on the training data. A callable takes two blocks
        of points.
    gamma : float, {"scale", "auto", "median"} or None
    degree : int
    coef0 : float
        Parameters of a kernel given by name, as for `SVC`; gamma = None is 1 / n_features, and 1 for "chi2".
    whiten : bool
        Divide every score by its standard deviation over the training data. The components then have the smallest
        norms among all orthogonal directions of unit variance (Schoelkopf et al. 1999, section III).
    centre : bool
        Take the mean of the training features as origin. Otherwise mu = 0 and H = I: the components are those of the
        eigenvectors of the Gram matrix.
    landmarks : int or points, optional
        Number of training points to select, or points (row indices for a precomputed kernel), whose features span the
        components. All training points span them when left out, or when there are no more than the number.
    rule : {"randomly_pivoted", "greedy", "leverage", "k_means", "uniform"}
        Rule that selects a number of landmarks, see `maps.select_landmarks`.
    preimage : str or method record
        Pre-image method of ``inverse_transform`` and ``denoise``: "auto", "fixed_point", "gradient", "distances",
        "learned", "exact", or a record such as ``FixedPoint(max_iter=500)``.
    memory : str or int
        Memory limit, in bytes, of a stored Gram matrix. Beyond it each product of the iterative solver evaluates it.
    random_state : int, RandomState or None
        Seed of the starting vectors of the iterative eigensolver, and of the selection of landmarks.

    Attributes
    ----------
    eigenvalues_ : array (n_components_,)
        Eigenvalues of the centred Gram matrix H K H, descending. Eigenvalues of the covariance are these divided by n.
    eigenvectors_ : array (n, n_components_)
        Eigenvectors of the centred Gram matrix, orthonormal, largest entry positive; only without landmarks. With
        weights those of W^(1/2) H K H' W^(1/2), H = I - 1 w' / sum_i w_i, over the points of positive weight.
    explained_variance_ratio_ : array (n_components_,)
        Eigenvalues divided by the trace of the centred Gram matrix.
    residuals_ : array (n_components_,)
        |H K H v - lambda v| divided by the largest eigenvalue, in float64; with landmarks the same of the scatter
        matrix of the projections.
    expansion_ : Expansion
        The components, divided by the standard deviations of their scores when ``whiten`` is true.
    intercept_ : array (n_components_,)
        -<mu, u_k>, the effect of centring on the scores.
    mean_ : Expansion
        The mean mu of the training features.
    coordinates_ : Coordinates
        Components and mean as a map: scores of points, residuals, vectors with given scores, and their pre-images.
    trace_error_ : float
        Share of the sum of k(x, x) that the landmarks do not span; only with landmarks.
    kernel_ : Kernel
        Kernel with resolved bandwidth.
    n_samples_ : int or float
        n, or the sum of the weights.
    n_components_, n_features_in_ : int

    See Also
    --------
    mercer.preimage : Points whose features are nearest to given vectors.
    KernelMap : Coordinates in the whole span, which may grow, or in the span of landmarks.

    Notes
    -----
    Dense LAPACK, O(n^3) and n^2 values, for n <= 2 000 (n < 1 500 if n_components <= n / 64) or n_components >= n / 8
    (n / 20 where ``memory`` holds it); otherwise block Lanczos on the matrix, half of it stored where this fits the
    memory limit (in float32 for rows in float32), or on lazy products, O(n^2) kernel values per step and
    O(n n_components) memory. An indefinite kernel is cut to its positive part with a warning that gives
    lambda_min / lambda_max.

    With m landmarks the components are those of the projections P phi(x) onto the span of the landmarks: n m kernel
    values, O(n m^2 + m^3) and no n x n matrix. The eigenvalues are those of the scatter of the projections, at most the
    exact ones; ``mean_`` is P mu, and the shares are of sum_i |phi(x_i) - P mu|^2.

    ``inverse_transform`` and ``denoise`` add the mean mu to the projections, as published denoising results require.

    References
    ----------
    Schoelkopf, Smola, Mueller, *Nonlinear component analysis as a kernel eigenvalue problem*, Neural Computation 10
    (1998);
    Mika, Schoelkopf, Smola, Mueller, Scholz, Raetsch, *Kernel PCA and de-noising in feature spaces*, NIPS 11 (1999);
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE TNN 10 (1999).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> pca = mc.KernelPCA(8, kernel=mc.Gaussian(2.0)).fit(X)
    >>> np.linalg.norm(pca.denoise(1.3 * X[:2]), axis=1).round(1)
    array([1., 1.])

    Without centring the squared scores of a Gaussian kernel sum to k(x, x) = 1.

    >>> scores = mc.KernelPCA(kernel=mc.Gaussian(2.0), centre=False).fit_transform(X)
    >>> np.sum(scores[:2] ** 2, axis=1).round(6)
    array([1., 1.])
    """

    n_components: float | None = None
    _: KW_ONLY
    kernel: KernelLike = "linear"
    gamma: float | str | None = None
    coef0: float | None = 1.0
    whiten: bool = False
    centre: bool = True

    @fits
    def fit(
        self, X: PointsLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Find the components of the training points.

        Parameters
        ----------
        X : points (n)
            Rows, sparse rows where the kernel takes them, a square matrix for "precomputed", or a list of objects.
            With landmarks also rows that are not in memory: a memory map, an HDF5 dataset, a Zarr array or a pyarrow
            Table of numbers is read block by block, and a Dask array is summed on the scheduler of the user. Bandwidth
            rules and a number of landmarks are then taken from a uniform sample of 20 000 rows, or of ten for each
            landmark.
        y : ignored
        sample_weight : array (n,), optional
            Weights w_i of the points, at least 0: the measure under which the covariance is taken. A weight is a number
            of repetitions: the covariance is sum_i w_i (phi(x_i) - mu)(phi(x_i) - mu)' / sum_i w_i.

        Returns
        -------
        self
        """
        pca.check_components(self.n_components)
        return self._store(*self._computed(X, sample_weight))

    def _routes(self, size):
        pca.check_components(self.n_components)
        chosen = self._chosen_landmarks(size)
        if chosen is not None:
            return [moments_route(self._over_landmarks, size, *chosen)]
        return [
            replace(each, run=partial(self._whole, each.run))
            for each in pca.routes(size, self.n_components)
        ]

    def _whole(self, hold, data):
        """Return the components of all points, their number, and no trace error."""
        phi = data.phi
        budget = data.size.budget
        w = data.weights
        found = pca.components(
            phi,
            self.n_components,
            self.centre,
            w,
            inner=hold(InnerProducts(phi, budget)),
            memory=budget,
            random_state=self.random_state,
        )
        self.eigenvectors_: Array = found.pairs.vectors
        vars(self).pop("_moments", None)
        return found, data.size.n if w is None else float(w.sum()), None

    def _over_landmarks(self, data):
        """Return the components over landmarks, the number of points, and the trace error."""
        return self._of_moments(self._landmark_moments(data))

    @_has_given_landmarks
    @adds
    def partial_fit(self, X: PointsLike, y: ArrayLike | None = None) -> Self:
        """Add points to those of earlier calls, over landmarks that are given as points.

        The result is that of one fit on the points of all calls, up to rounding. Bandwidth rules are resolved on the
        points of the first call.

        Parameters
        ----------
        X : points (b)
            At least two in the first call. As in ``fit`` they need not be in memory.
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        AttributeError
            When ``landmarks`` is None or a number, whose points depend on all rows.
        ValueError
            For a model read from a file, which does not hold the sums over earlier points.
        TypeError
            For a precomputed kernel, whose rows are those of one matrix.
        """
        if as_kernel(self.kernel).tags.points == "indices":
            raise TypeError(
                "kernel = 'precomputed' has no partial_fit: its rows are those of one matrix; use fit."
            )
        if not hasattr(self, "expansion_"):
            return self.fit(X)
        if not hasattr(self, "_moments"):
            raise ValueError(
                "partial_fit needs the sums over earlier points, which model files and fits without landmarks do not "
                "hold; fit again, or keep the model by pickle."
            )
        blocks = self._training_blocks(X)
        points = self._new_points(X) if blocks is None else self._new_sample(X, blocks)
        found = self._moments.add(InMemory(points) if blocks is None else blocks)
        self._n_rows += count_points(points) if blocks is None else blocks.shape[0]
        return self._store(points, *self._of_moments(found))

    def _of_moments(self, found):
        """Return the components of sums over points in the span of landmarks, their number, and the trace error."""
        coordinates, pairs = principal_coordinates(found)
        self._moments = found
        restricted = pca.restricted(
            coordinates.basis, coordinates.origin, pairs, self.n_components, total=found.variance
        )
        return restricted, found.n, found.trace_error

    def _store(self, points, found, n, trace_error):
        """Store components of n points as fitted attributes; warn if float32 moves the scores of some points."""
        found = found.whitened(n) if self.whiten else found
        # of these components, whatever ``set_params`` says later
        self._is_white = self.whiten
        self.n_samples_: float = n
        self.eigenvalues_: Array = found.pairs.values
        self.residuals_: Array = found.pairs.residuals
        self.mean_: Expansion = found.mean
        self.explained_variance_ratio_: Array = found.pairs.values / found.total
        self._store_axes(found.expansion, found.intercept, trace_error)
        lengths = np.sqrt(found.pairs.values) if self.whiten else 1.0
        self._warn_single_precision(points, lengths=lengths)
        return self

    def fit_transform(
        self, X: PointsLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Any:
        """Fit, and return the scores of the training points (n, n_components_).

        Without landmarks and weights the kernel is not evaluated again.
        """
        self.fit(X, sample_weight=sample_weight)
        known = sample_weight is None and hasattr(self, "eigenvectors_")
        return self._training_scores() if known else self.transform(X)

    @on_device
    def _training_scores(self):
        """Return the scores of the training points from the eigenvectors."""
        V = self.eigenvectors_
        psi = self.expansion_
        scale = np.sqrt(len(V)) if self._whitened else np.sqrt(self.eigenvalues_)
        # that of the kernel values, as of transform
        dtype = self.kernel_.diag(take_points(psi.points, slice(1))).dtype
        return (V * scale).astype(dtype, copy=False)

    @property
    def _whitened(self):
        """Whether the fitted components are whitened; model files of older versions have the parameter alone."""
        return vars(self).get("_is_white", self.whiten)

    @attribute
    def coordinates_(self) -> Coordinates:
        """Components and mean as a map from points to scores and back."""
        check_is_fitted(self)
        variances = self.eigenvalues_ / self.n_samples_ if self._whitened else None
        return Coordinates(self.expansion_, self.mean_, self.intercept_, variances=variances)

    @of_points
    def transform(self, X: PointsLike, *, n_components: int | None = None) -> Any:
        """Return the scores of points, the inner products of phi(x) - mu with the components.

        Parameters
        ----------
        X : points (n_test)
            For "precomputed" their kernel values with the training points (n_test, n).
        n_components : int, optional
            Number of leading components; all by default. Of one fit, the scores for any number of components are those
            of a fit with that number.

        Returns
        -------
        array (n_test, n_components)
        """
        return self._scores(self._new_points(X), n_components)

    def _scores(self, X, n_components):
        """Return the scores of validated points on the leading components, on all for None."""
        psi = self.expansion_
        if n_components is not None:
            check_integer("n_components", n_components, most=self.n_components_)
            psi = psi[:, :n_components]
        return with_intercept(values_at(psi, X), self.intercept_[:n_components])

    @on_device
    def reconstruct(self, scores: ArrayLike) -> Expansion:
        """Return the vectors of feature space with given scores, mean included: mu + sum_k y_k u_k.

        Parameters
        ----------
        scores : array (m, k)
            Scores on the leading k <= n_components_ components, from ``transform(X, n_components=k)``.

        Returns
        -------
        Expansion
            m vectors over the training points.
        """
        return self.coordinates_.vectors(as_coordinates(scores, "scores", self.n_components_))

    @on_device
    def denoise(
        self, X: PointsLike, method: Any = None, *, n_components: int | None = None
    ) -> Array:
        """Return points whose features are nearest to the projections of phi(x) onto the components, mean included.

        Parameters
        ----------
        X : rows (m, n_features_in_)
            Noisy points, and starts of the searches for their pre-images.
        method : str or method record, optional
            Pre-image method, ``preimage`` when left out.
        n_components : int, optional
            Number of leading components; all by default.

        Returns
        -------
        array (m, n_features_in_)
        """
        X = self._new_points(X)
        method = self.preimage if method is None else method
        start = without_marks(self.kernel_, X)
        return self.coordinates_.preimages(self._scores(X, n_components), method, start=start)

    @of_points
    def score_samples(self, X: PointsLike) -> Array:
        """Return minus the squared distance of phi(x) to the components, a score of novelty: low for unlike points.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,)
            -|phi(x) - mu - sum_k y_k u_k|^2, at most 0. Its mean over the training points is minus the sum of the
            eigenvalues left out, divided by n.

        Raises
        ------
        ValueError
            For rows of a precomputed kernel that are no training rows, unless k(x, x) of all of these is equal.

        References
        ----------
        Hoffmann, *Kernel PCA for novelty detection*, Pattern Recognition 40 (2007).
        """
        return -(self.coordinates_.residual(self._new_points(X)) ** 2)

    @on_device
    def score(self, X: PointsLike, y: ArrayLike | None = None) -> float:
        """Return the mean of ``score_samples``: minus the mean squared reconstruction distance in feature space.

        Parameters
        ----------
        X : points (n_test)
        y : ignored

        Returns
        -------
        float
            Comparable between numbers of components of one kernel; kernels differ in their distances.
        """
        return float(np.mean(self.score_samples(X), dtype=np.float64))

    def _certificate(self, X, y, sample_weight):
        """Return the relative residuals of the eigenpairs, or of the axes over landmarks, from the training points."""
        kernel, points, weights = self._weighted_points(X, sample_weight)
        if not hasattr(self, "eigenvectors_"):
            scale = np.sqrt(self.eigenvalues_ / self.n_samples_) if self._whitened else 1.0
            axes = self._exact(kernel) * scale
            intercept = self.intercept_ * scale
            return Residuals(
                residuals.of_projections(axes, intercept, points, self.eigenvalues_, weights)
            )
        psi = self._exact(kernel, points)
        V, values = (as_float64(array) for array in (self.eigenvectors_, self.eigenvalues_))
        scale = values / np.sqrt(self.n_samples_) if self._whitened else np.sqrt(values)
        return Residuals(pca.residuals(psi, self.intercept_, V, values, scale, weights))
