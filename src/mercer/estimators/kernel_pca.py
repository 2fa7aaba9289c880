"""KernelPCA: kernel principal component analysis, and denoising by pre-images."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer._common import check_integer
from mercer.estimators._accuracy import warn_single_axes
from mercer.estimators._base import CoordinateTransformer, in_float64, refuse_weights
from mercer.expansion import features
from mercer.kernels.bandwidth import warn_degenerate
from mercer.maps import Coordinates
from mercer.maps.coordinates import as_coordinates
from mercer.solvers import pca
from mercer.solvers._certify import Residuals


@dataclass(eq=False, repr=False)
class KernelPCA(CoordinateTransformer, BaseEstimator):
    r"""Kernel principal component analysis: linear PCA of phi(x) in the feature space of a kernel.

    The components are the eigenvectors of the covariance of the centred features,

    .. math:: u_k = \sum_i a_{ik} (\phi(x_i) - \mu), \qquad HKH a_k = \lambda_k a_k, \qquad \lambda_k |a_k|^2 = 1,

    and the scores of a point are its inner products with them, ``expansion_(X) + intercept_``.

    Parameters
    ----------
    n_components : int, optional
        Number of components; all with a positive eigenvalue when left out.
    kernel : Kernel, {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable
        Kernel. Bandwidth rules are resolved on the training data. A callable takes two blocks of points.
    whiten : bool
        Divide every score by its standard deviation over the training data. The components then have the smallest
        norms among all orthogonal directions of unit variance (Schoelkopf et al. 1999, section III).
    preimage : str or method record
        Pre-image method of ``inverse_transform`` and ``denoise``: "auto", "fixed_point", "gradient", "distances",
        "learned", "exact", or a record such as ``FixedPoint(max_iter=500)``.
    memory : str or int
        Memory limit, in bytes, of a stored Gram matrix. Beyond it products are lazy.
    random_state : int, RandomState or None
        Seed of the starting vectors of the iterative eigensolver.

    Attributes
    ----------
    eigenvalues_ : array (n_components_,)
        Eigenvalues of the centred Gram matrix H K H, descending. Eigenvalues of the covariance are these divided by n.
    eigenvectors_ : array (n, n_components_)
        Eigenvectors of the centred Gram matrix, orthonormal, largest entry positive.
    explained_variance_ratio_ : array (n_components_,)
        Eigenvalues divided by the trace of the centred Gram matrix.
    residuals_ : array (n_components_,)
        |H K H v - lambda v| divided by the largest eigenvalue, in float64.
    expansion_ : Expansion
        The components, divided by the standard deviations of their scores when ``whiten`` is true.
    intercept_ : array (n_components_,)
        -<mu, u_k>, the effect of centring on the scores.
    mean_ : Expansion
        The mean mu of the training features.
    coordinates_ : Coordinates
        Components and mean as a map: scores of points, residuals, vectors with given scores, and their pre-images.
    kernel_ : Kernel
        Kernel with resolved bandwidth.
    n_components_, n_samples_, n_features_in_ : int

    See Also
    --------
    mercer.preimage : Points whose features are nearest to given vectors.
    KernelMap : Coordinates in the whole span, which may grow, or in the span of landmarks.

    Notes
    -----
    Dense LAPACK, O(n^3) and n^2 values, for n <= 2 000 or n_components >= n / 8; otherwise block Lanczos on lazy
    products, O(n^2) kernel values per step and O(n n_components) memory. An indefinite kernel is cut to its positive
    part with a warning that gives lambda_min / lambda_max.

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
    """

    n_components: int | None = None
    _: KW_ONLY
    kernel: Any = "linear"
    whiten: bool = False

    def fit(self, X, y=None):
        """Find the components of the training points.

        Parameters
        ----------
        X : points (n)
            Rows, sparse rows where the kernel takes them, a square matrix for "precomputed", or a list of objects.
        y : ignored

        Returns
        -------
        self
        """
        if self.n_components is not None:
            check_integer("n_components", self.n_components)
        kernel, points = self._training_points(X)
        warn_degenerate(kernel, points)

        phi, options = features(kernel, points), {"memory": self.memory, "random_state": self.random_state}
        found = pca.components(phi, self.n_components, self.whiten, **options)

        self.kernel_, self.n_samples_ = kernel, len(phi)
        self.mean_, self.expansion_, self.intercept_ = found.mean, found.expansion, found.intercept
        self.eigenvalues_, self.eigenvectors_ = found.pairs.values, found.pairs.vectors
        self.residuals_ = found.pairs.residuals
        self.explained_variance_ratio_ = found.pairs.values / found.total
        self.n_components_ = self._n_features_out = len(found.expansion)
        warn_single_axes(self, points, np.sqrt(found.pairs.values) if self.whiten else 1.0)
        return self

    def fit_transform(self, X, y=None):
        """Fit, and return the scores of the training points (n, n_components_) without evaluating the kernel again."""
        self.fit(X)
        V = self.eigenvectors_
        scale = np.sqrt(len(V)) if self.whiten else np.sqrt(self.eigenvalues_)
        return (V * scale).astype(V.dtype)

    @property
    def coordinates_(self):
        """Components and mean as a map from points to scores and back."""
        check_is_fitted(self)
        variances = self.eigenvalues_ / self.n_samples_ if self.whiten else None
        return Coordinates(self.expansion_, self.mean_, self.intercept_, variances=variances)

    def reconstruct(self, scores):
        """Return the vectors of feature space with given scores, mean included: mu + sum_k y_k u_k.

        Parameters
        ----------
        scores : array (m, n_components_)

        Returns
        -------
        Expansion
            m vectors over the training points.
        """
        return self.coordinates_.vectors(as_coordinates(scores, "scores", self.n_components_))

    def denoise(self, X, method=None):
        """Return points whose features are nearest to the projections of phi(x) onto the components, mean included.

        Parameters
        ----------
        X : rows (m, n_features_in_)
            Noisy points, and starts of the searches for their pre-images.
        method : str or method record, optional
            Pre-image method, ``preimage`` when left out.

        Returns
        -------
        array (m, n_features_in_)
        """
        X = self._new_points(X)
        coordinates = self.coordinates_
        return coordinates.preimages(coordinates(X), self.preimage if method is None else method, start=X)

    def __mercer_certify__(self, X, y, sample_weight):
        """Return the relative residuals of the eigenpairs in float64 from the training points."""
        refuse_weights(self, sample_weight)
        psi = in_float64(*self._certified_points(X), self.expansion_.coef)
        V, values = (np.asarray(array, np.float64) for array in (self.eigenvectors_, self.eigenvalues_))
        scale = values / np.sqrt(self.n_samples_) if self.whiten else np.sqrt(values)
        return Residuals(pca.residuals(psi, self.intercept_, V, values, scale))
