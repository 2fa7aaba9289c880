"""KernelMap: coordinates of points in feature space, on which linear methods are kernel methods."""

from dataclasses import KW_ONLY, replace
from numbers import Integral
from typing import Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._common import Array, ArrayLike, PointsLike, relative_tolerance
from mercer._compute.points import count_points
from mercer.estimators.base import CoordinateTransformer
from mercer.estimators.model import adds, fits, of_points, on_device, storable_estimator
from mercer.expansion import Expansion, require_symmetric
from mercer.kernels.shorthand import KernelLike
from mercer.maps import Coordinates, extend, recentred, residuals
from mercer.maps.coordinates import spectral_coordinates, spectral_route
from mercer.maps.landmark_pca import principal_coordinates
from mercer.maps.landmark_pca import route as moments_route
from mercer.solvers.certify import Residuals


@storable_estimator
class KernelMap(CoordinateTransformer):
    r"""Coordinates of points in the span of the training features: the nonlinear projection trick.

    .. math:: H K H = U \Lambda U', \qquad Y = \Lambda^{1/2} U', \qquad y(x) = \Lambda^{-1/2} U' k(x)

    Dot products of coordinates are (centred) kernel values. A linear method on coordinates is therefore the kernel
    method, and methods without dot products (trees, medians, independent components) work in feature space too.

    Parameters
    ----------
    kernel : Kernel, str or callable
        Kernel, or a name as for `SVC`. Bandwidth rules are resolved on the training data.
    gamma : float, {"scale", "auto", "median"} or None
    degree : int
    coef0 : float
        Parameters of a kernel given by name, as for `SVC`.
    centre : bool
        Use the mean of the training features as origin.
    tol : float, optional
        Relative tolerance of the rank. Axes whose eigenvalue is at most ``tol`` times the largest are cut; the default
        is n eps, and smaller values have no effect. In ``partial_fit`` points whose squared residual is at most ``tol``
        times the largest k(x, x) add no axis; the default is eps^(1/2).
    landmarks : int or points, optional
        Number of training points to select, or points (row indices for a precomputed kernel), whose features span the
        subspace. All training points span it when left out, or when there are no more than the number.
    rule : {"randomly_pivoted", "greedy", "leverage", "k_means", "uniform"}
        Rule that selects a number of landmarks.
    preimage : str or method record
        Pre-image method of ``inverse_transform``, as in ``mercer.preimage``.
    memory : str or int
        Memory limit, in bytes, of the matrix between the points of the span.
    random_state : int, RandomState or None
        Seed of the selection of landmarks.

    Attributes
    ----------
    expansion_ : Expansion
        The orthonormal axes; coordinates are ``expansion_(X) + intercept_``.
    intercept_ : array (n_components_,)
        Minus the coordinates of the origin.
    coordinates_ : Coordinates
        Axes and origin as a map: coordinates of points and of vectors of feature space (lemma 6), residuals, vectors
        with given coordinates, and their pre-images.
    trace_error_ : float
        Share of the sum of k(x, x) that the landmarks do not span; only after ``fit`` with landmarks.
    kernel_ : Kernel
        Kernel with resolved bandwidth.
    n_samples_seen_ : int or float
        Number of points, or the sum of their weights.
    n_components_, n_features_in_ : int

    See Also
    --------
    KernelPCA : A given number of leading axes, by an iterative solver.
    Nystroem : Coordinates over landmarks, not centred, along the axes of the landmarks.

    Notes
    -----
    O(n^3) and an n x n matrix; with m landmarks O(n m^2 + m^3), n m kernel values and no n x n matrix. The axes are
    sorted by the variance along them, descending; ``partial_fit`` appends axes.

    References
    ----------
    Kwak, *Nonlinear projection trick in kernel methods: an alternative to the kernel trick*, IEEE TNNLS 24 (2013).

    Examples
    --------
    A linear classifier on coordinates separates classes that are not linearly separable in input space; its weights
    are a vector of feature space.

    >>> import numpy as np, mercer as mc
    >>> from sklearn.svm import LinearSVC
    >>> from mercer.estimators import KernelMap
    >>> X = np.random.default_rng(0).standard_normal((60, 2))
    >>> y = np.linalg.norm(X, axis=1) > 1.2
    >>> to_coordinates = KernelMap(mc.Gaussian(0.5), landmarks=30).fit(X)
    >>> Y = to_coordinates.transform(X)
    >>> svm = LinearSVC(C=10).fit(Y, y)
    >>> svm.score(Y, y)
    1.0
    >>> normal = to_coordinates.to_expansion(svm.coef_)
    >>> shift = svm.coef_ @ to_coordinates.intercept_ + svm.intercept_
    >>> np.allclose(normal(X)[:, 0] + shift, svm.decision_function(Y))
    True
    """

    kernel: KernelLike = "rbf"
    _: KW_ONLY
    centre: bool = True
    tol: float | None = None

    @fits
    def fit(
        self, X: PointsLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Find the coordinates of feature space that the training points span.

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
            Weights of the points, at least 0: the measure under which origin and axes are taken. A weight is a number
            of repetitions, and points of weight 0 span nothing.

        Returns
        -------
        self
        """
        relative_tolerance(self.tol)
        points, coordinates, n, trace_error = self._computed(X, sample_weight)
        self.n_samples_seen_: float = n
        self._extended = False
        return self._store(coordinates, points, trace_error)

    def _routes(self, size):
        chosen = self._chosen_landmarks(replace(size, whole=False))
        if chosen is None:
            return [spectral_route(self._whole, size)]
        return [moments_route(self._over_landmarks, size, *chosen)]

    def _whole(self, data):
        """Return the coordinates in the span of all points, their number, and no trace error."""
        require_symmetric("phi", data.phi)
        found = spectral_coordinates(
            data.phi,
            self.centre,
            relative_tolerance(self.tol),
            data.size.budget,
            self.random_state,
            weights=data.weights,
        )
        return found, len(data.phi) if data.weights is None else float(data.weights.sum()), None

    def _over_landmarks(self, data):
        """Return the coordinates in the span of landmarks, the number of points, and the trace error."""
        found = self._landmark_moments(data)
        coordinates, _ = principal_coordinates(found, relative_tolerance(self.tol))
        return coordinates, found.n, found.trace_error

    @adds
    def partial_fit(self, X: PointsLike, y: ArrayLike | None = None) -> Self:
        """Add points: a point outside of the span adds the axis of its residual, and the origin moves to the new mean.

        Axes stay. The coordinates of earlier points are 0 along the new axes, and change along the others by the change
        of ``intercept_``. The first call is ``fit``. A number of landmarks bounds the number of axes; given landmarks
        keep their span.

        Parameters
        ----------
        X : points (b)
        y : ignored

        Returns
        -------
        self
        """
        if not hasattr(self, "expansion_"):
            return self.fit(X)
        X = self._new_points(X)
        room = None
        if self.landmarks is not None:
            is_number = isinstance(self.landmarks, Integral)
            room = max(0, self.landmarks - self.n_components_) if is_number else 0
        coordinates = extend(self.coordinates_, X, self.tol, room)
        seen = self.n_samples_seen_ + count_points(X)
        if self.centre:
            # earlier points have mean 0 about the old origin
            coordinates = recentred(
                coordinates, coordinates(X).sum(axis=0, dtype=np.float64) / seen
            )
        self.n_samples_seen_ = seen
        self._n_rows += count_points(X)
        self._extended = True
        vars(self).pop("trace_error_", None)
        return self._store(coordinates, X)

    def _implied(self, name, value):
        if name == "coordinates_":
            return {"expansion_": value.basis, "intercept_": value.intercept}
        field = {"expansion_": "basis", "intercept_": "intercept"}.get(name)
        if field is None or "coordinates_" not in vars(self):
            return {}
        return {"coordinates_": replace(self.coordinates_, **{field: value})}

    @of_points
    def residual(self, X: PointsLike) -> Array:
        """Return the distance of each point to the span in feature space.

        Squared distances to training points in feature space are |y - y_i|^2 + residual^2.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,)

        Raises
        ------
        ValueError
            For rows of a precomputed kernel that are no training rows, unless k(x, x) of all of these is equal.
        """
        X = self._new_points(X)
        return self.coordinates_.residual(X)

    @on_device
    def to_expansion(self, coef: ArrayLike) -> Expansion:
        """Return the vectors of feature space that are the weights of linear models on the coordinates.

        Parameters
        ----------
        coef : array (n_components_,) or (m, n_components_)
            Weights, as ``coef_`` of scikit-learn's linear models. Coordinates times weights are
            ``psi(X) + coef @ intercept_``.

        Returns
        -------
        Expansion
            m vectors.

        Raises
        ------
        ValueError
            For another number of coefficients.
        """
        check_is_fitted(self)
        coef = np.atleast_2d(coef)
        if coef.ndim != 2 or coef.shape[1] != self.n_components_:
            raise ValueError(f"coef must have shape (m, {self.n_components_}), got {coef.shape}.")
        return self.expansion_ @ coef.T

    def _certificate(self, X, y, sample_weight):
        """Return the residual of each axis in float64 from the training points.

        It is that of its eigenpair, of projections over landmarks, or of inner products once extended.
        """
        kernel, points, weights = self._weighted_points(X, sample_weight)
        # files written before certificates of maps have no such attribute
        extended = getattr(self, "_extended", False)
        own = not (hasattr(self, "trace_error_") or extended)
        axes = self._exact(kernel, points if own else None)
        if extended:
            origin = self.coordinates_.origin.coef
            found = residuals.of_inner_products(axes, self.intercept_, origin)
        elif own:
            found = residuals.of_eigenpairs(axes, self.intercept_, weights)
        else:
            found = residuals.of_projections(axes, self.intercept_, points, weights=weights)
        return Residuals(found)

    def _store(self, coordinates, points, trace_error=None):
        """Store coordinates, and warn if float32 moves those of the points."""
        self.coordinates_: Coordinates = coordinates
        self._store_axes(coordinates.basis, coordinates.intercept, trace_error)
        self._warn_single_precision(points)
        return self
