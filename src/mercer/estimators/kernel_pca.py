"""KernelPCA: principal components of data in feature space, and the way back."""

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer._common import check_integer
from mercer._compute.memory import parse_memory
from mercer.estimators._base import KernelEstimator
from mercer.expansion import features, mean
from mercer.factor import eigenpairs
from mercer.gram import Gram
from mercer.kernels.bandwidth import warn_degenerate
from mercer.linalg.operators import Centred
from mercer.preimages import preimage
from mercer.solvers._certify import Residuals
from mercer.solvers.svm.newton import widened

# Points taken back to input space at a time: a block of coefficients is then n by this many.
_BLOCK = 1024


class KernelPCA(KernelEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Kernel principal component analysis: linear PCA of phi(x) in the feature space of a kernel.

    The components are the eigenvectors of the covariance of the centred features,

    .. math:: u_k = \sum_i a_{ik} (\phi(x_i) - \mu), \qquad HKH a_k = \lambda_k a_k, \qquad \lambda_k |a_k|^2 = 1,

    and the scores of a point are its inner products with them, ``expansion_(X) + intercept_``.

    Parameters
    ----------
    n_components : int, optional
        Number of components; all with a positive eigenvalue when left out.
    kernel : Kernel, {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable
        Bandwidth rules are resolved on the training data. A callable takes two blocks of points.
    whiten : bool
        Scale every score to unit variance over the training data. The components then have the smallest norms among all
        orthogonal directions of unit variance (Schoelkopf et al. 1999, section III).
    preimage : str or method record
        How ``inverse_transform`` and ``denoise`` find points in input space: "auto", "fixed_point", "gradient",
        "distances", "learned", "exact", or a record such as ``FixedPoint(max_iter=500)``.
    memory : str or int
        Bytes a stored Gram matrix may take; beyond it all products are lazy.
    random_state : int, RandomState or None
        Starting vectors of the iterative eigensolver.

    Attributes
    ----------
    eigenvalues_ : array (n_components_,)
        Eigenvalues of the centred Gram matrix, descending; those of the covariance are these over n.
    eigenvectors_ : array (n, n_components_)
        Eigenvectors of the centred Gram matrix, orthonormal, largest entry positive.
    explained_variance_ratio_ : array (n_components_,)
        Eigenvalues over the trace of the centred Gram matrix.
    residuals_ : array (n_components_,)
        |H K H v - lambda v| over the largest eigenvalue, recomputed in float64.
    expansion_ : Expansion
        The components (divided by the standard deviations of their scores when whitened).
    intercept_ : array (n_components_,)
        What centring subtracts, -<mu, u_k>.
    mean_ : Expansion
        The mean mu of the training features.
    kernel_ : Kernel
        The kernel with its numbers.
    n_components_, n_samples_, n_features_in_ : int

    See Also
    --------
    mercer.preimage : Points whose features are nearest to given vectors.

    Notes
    -----
    Dense LAPACK, O(n^3) and n^2 values, for n <= 2 000 or n_components >= n / 8; otherwise block Lanczos on lazy
    products, O(n^2) kernel values per step and O(n n_components) memory. An indefinite kernel is cut to its positive
    part with a warning that gives lambda_min / lambda_max.

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

    def __init__(
        self,
        n_components=None,
        *,
        kernel="linear",
        whiten=False,
        preimage="auto",
        memory="1GB",
        random_state=None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.whiten = whiten
        self.preimage = preimage
        self.memory = memory
        self.random_state = random_state

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
        parse_memory(self.memory)
        kernel, points = self._training_points(X)
        warn_degenerate(kernel, points)

        phi = features(kernel, points)
        how = {"memory": self.memory, "random_state": self.random_state}
        pairs = eigenpairs(phi, self.n_components, name="n_components", **how)
        scale = np.sqrt(pairs.values).astype(pairs.vectors.dtype)
        if self.whiten:
            scale = scale * (scale / np.sqrt(len(phi)).astype(scale.dtype))

        components, centre = phi @ (pairs.vectors / scale), mean(phi)
        # <mu, phi(x_i)>, the one product with the Gram matrix that both the trace and the intercept need
        centre_values = centre(centre.points)[:, 0].astype(np.float64)
        norms = phi.norms().astype(np.float64)

        self.kernel_, self.mean_, self.expansion_ = kernel, centre, components
        self.eigenvalues_, self.eigenvectors_, self.residuals_ = pairs.values, pairs.vectors, pairs.residuals
        self.explained_variance_ratio_ = pairs.values / (norms @ norms - centre_values.sum())
        self.intercept_ = -(centre_values @ components.coef).astype(pairs.vectors.dtype)
        self.n_components_ = self._n_features_out = len(scale)
        self.n_samples_ = len(phi)
        return self

    def fit_transform(self, X, y=None):
        """Fit, and return the scores of the training points (n, n_components_) without evaluating the kernel again."""
        self.fit(X)
        V = self.eigenvectors_
        scale = np.sqrt(len(V)) if self.whiten else np.sqrt(self.eigenvalues_)
        return (V * scale).astype(V.dtype)

    def transform(self, X):
        """Return the scores of new points.

        Parameters
        ----------
        X : points (n_test)
            For "precomputed" their kernel values with the training points (n_test, n).

        Returns
        -------
        array (n_test, n_components_)
        """
        X = self._new_points(X)
        return self.expansion_(X) + self.intercept_

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
        check_is_fitted(self)
        scores = np.asarray(scores)
        if scores.ndim != 2 or scores.shape[1] != self.n_components_:
            raise ValueError(f"scores must have shape (m, {self.n_components_}), got {scores.shape}.")
        if self.whiten:
            scores = scores * (self.eigenvalues_ / self.n_samples_)
        return self.expansion_ @ scores.T + self.mean_

    def inverse_transform(self, X):
        """Return points whose features are nearest to the vectors with the given scores.

        Parameters
        ----------
        X : array (m, n_components_)
            Scores.

        Returns
        -------
        array (m, n_features_in_)
        """
        return self._back(X, None, self.preimage)

    def denoise(self, X, method=None):
        """Return points whose features are nearest to the projections of phi(x) onto the components.

        Parameters
        ----------
        X : rows (m, n_features_in_)
            Noisy points; the search for each pre-image starts there.
        method : str or method record, optional
            Instead of ``preimage``.

        Returns
        -------
        array (m, n_features_in_)
        """
        X = self._new_points(X)
        scores = self.expansion_(X) + self.intercept_
        return self._back(scores, X, self.preimage if method is None else method)

    def _back(self, scores, start, method):
        """Return pre-images of the vectors with given scores, a block of them at a time."""
        check_is_fitted(self)
        scores = np.asarray(scores)
        blocks = [slice(i, i + _BLOCK) for i in range(0, len(scores), _BLOCK)]
        parts = [
            preimage(self.reconstruct(scores[rows]), method, start=None if start is None else start[rows]).points
            for rows in blocks
        ]
        return np.concatenate(parts)

    def _certify(self, X, y, sample_weight):
        """Return the relative residuals of the eigenpairs in float64 from raw inputs."""
        if sample_weight is not None:
            raise ValueError("sample_weight must be None for KernelPCA, whose fit takes none.")
        _, points = self._training_points(X)
        operator = Centred(Gram(self.kernel_, widened(points)))
        V = np.asarray(self.eigenvectors_, np.float64)
        errors = operator @ V - V * self.eigenvalues_
        return Residuals(np.linalg.norm(errors, axis=0) / self.eigenvalues_[0])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
