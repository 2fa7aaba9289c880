"""Nystroem: features whose dot products approximate kernel values, from a few landmarks."""

from dataclasses import KW_ONLY, replace
from typing import Any, Self

import numpy as np

from mercer._common import ArrayLike, PointsLike, check_integer, shown, warn
from mercer._compute.memory import Work
from mercer._compute.points import count_points
from mercer._compute.readable import refuse_container
from mercer.estimators.base import KernelTransformer
from mercer.estimators.model import fits, of_points, storable_estimator
from mercer.expansion import Expansion, values_at
from mercer.kernels.bandwidth import warn_degenerate
from mercer.kernels.base import Kernel
from mercer.kernels.shorthand import KernelLike
from mercer.landmarks import check_rule
from mercer.landmarks import route as landmarks_route
from mercer.linalg import eigh
from mercer.maps import residuals
from mercer.maps.coordinates import spectral_coordinates
from mercer.solvers.certify import Residuals


@storable_estimator
class Nystroem(KernelTransformer):
    r"""Coordinates in the span of landmarks, not centred: the low-rank approximation of a kernel as a transformer.

    .. math:: K_{mm} = U \Lambda U', \qquad z(x) = \Lambda^{-1/2} U' k_m(x), \qquad z(x)'z(y) =
       k_m(x)' K_{mm}^{+} k_m(y)

    It is exact on the landmarks, and where phi(x) lies in the span of their features.

    Parameters
    ----------
    kernel : Kernel, str or callable
        Kernel, or a name as for `SVC`. Bandwidth rules are resolved on the training data.
    gamma : float, {"scale", "auto", "median"} or None
    degree : int or None
    coef0 : float or None
        Parameters of a kernel given by name, as for `SVC`. None is the default of scikit-learn's kernel function: gamma
        = 1 / n_features (1 for "chi2"), degree = 3, coef0 = 1.
    n_components : int
        Number of landmarks to select.
    landmarks : {"uniform", "randomly_pivoted", "greedy", "leverage", "k_means"} or points
        Rule that selects them, or the landmarks (row indices for a precomputed kernel), which are all used.
    memory : str or int
        Memory limit, in bytes, of the matrix between landmarks.
    random_state : int, RandomState or None
        Seed of the selection of landmarks.

    Attributes
    ----------
    expansion_ : Expansion
        Orthonormal vectors; the features are ``expansion_(X)``.
    landmarks_ : points
        The landmarks.
    kernel_ : Kernel
        Kernel with resolved bandwidth.
    n_components_ : int
        Number of features, the numerical rank of the matrix between landmarks.
    n_features_in_ : int

    See Also
    --------
    KernelMap : Centred coordinates along the principal axes of all training points, with residual and pre-images.

    Notes
    -----
    O(m^3), and m kernel values per point. For equal landmarks the features are those of scikit-learn's class of this
    name up to a rotation. Eigenvalues below m eps lambda_max are cut.

    References
    ----------
    Williams, Seeger, *Using the Nystroem method to speed up kernel machines*, NIPS 13 (2001).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.estimators import Nystroem
    >>> X = np.random.default_rng(0).standard_normal((300, 2))
    >>> kernel = mc.Gaussian(0.5)
    >>> Z = Nystroem(kernel, n_components=60, landmarks="greedy").fit_transform(X)
    >>> bool(abs(Z @ Z.T - kernel(X)).max() < 1e-3)
    True
    """

    kernel: KernelLike = "rbf"
    _: KW_ONLY
    n_components: int = 100
    gamma: float | str | None = None
    degree: int | None = None
    coef0: float | None = None
    landmarks: Any = "uniform"

    @fits
    def fit(self, X: PointsLike, y: ArrayLike | None = None) -> Self:
        """Select the landmarks, and orthonormalise their features.

        Parameters
        ----------
        X : points (n)
            Rows, sparse rows where the kernel takes them, a square matrix for "precomputed", or a list of objects.
            Also rows that are not in memory: a memory map, an HDF5 dataset, a Zarr array or a pyarrow
            Table of numbers, or a Dask array. Bandwidth rules and a number of landmarks are then taken from a uniform
            sample of 20 000 rows, or of ten for each landmark; no other rows are read.
        y : ignored

        Returns
        -------
        self
        """
        wanted, _ = self._spanning()
        data = self._data(X, self._training_blocks(X))
        onto, basis = self._route(data.size).run(data)
        warn_degenerate(data.phi.kernel, data.phi.prepared.container)
        n_components = wanted if np.isscalar(wanted) else len(onto)
        if len(basis) < n_components:
            warn(
                f"n_components = {n_components} exceeds the numerical rank {len(basis)} of {len(onto)} landmarks of "
                f"{len(data.phi)} points; {len(basis)} features are returned.",
            )
        self.kernel_: Kernel = data.phi.kernel
        self.landmarks_: Any = onto.points
        self.expansion_: Expansion = basis
        self.n_components_: int
        self.n_components_ = self._n_features_out = len(basis)
        return self

    def _spanning(self):
        check_integer("n_components", self.n_components)
        if isinstance(self.landmarks, str):
            check_rule("landmarks", self.landmarks)
            return self.n_components, self.landmarks
        if self.landmarks is None or np.isscalar(self.landmarks):
            raise TypeError(
                f"landmarks = {shown(self.landmarks)} must be a rule or points; n_components is their number."
            )
        refuse_container(self.landmarks, "landmarks")
        return self.landmarks, "given"

    def _routes(self, size):
        wanted, rule = self._spanning()
        m = min(int(wanted), size.n) if np.isscalar(wanted) else count_points(wanted)
        work = Work(float(m) ** 2, cubes=float(m) ** 3)
        found = landmarks_route(self._over_landmarks, size, m, rule, eigh.ALL - 0.25, work)
        return [replace(found, reason=f"{m} landmarks span the features")]

    def _over_landmarks(self, data):
        """Return the features of the landmarks, and orthonormal vectors in their span."""
        onto = self._landmark_features(data.phi)
        found = spectral_coordinates(onto, False, 0.0, data.size.budget, self.random_state)
        return onto, found.basis

    @of_points
    def transform(self, X: PointsLike) -> Any:
        """Return the features of points, ``expansion_(X)``.

        Parameters
        ----------
        X : points (n_test)
            For "precomputed" their kernel values with the training points (n_test, n).

        Returns
        -------
        array (n_test, n_components_)
        """
        X = self._new_points(X)
        return values_at(self.expansion_, X)

    def _certificate(self, X, y, sample_weight):
        """Return how far the features of each landmark are from its kernel values with the landmarks, in float64."""
        self._refuse_weights(sample_weight)
        kernel, _ = self._certified_points(X)
        return Residuals(residuals.of_features(self._exact(kernel)))
