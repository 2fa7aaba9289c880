"""KernelMap: coordinates of data in feature space, with which any linear method becomes a kernel method."""

from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer._compute.memory import parse_memory
from mercer._compute.points import count_points
from mercer.estimators._base import KernelEstimator
from mercer.expansion import features
from mercer.kernels.bandwidth import warn_degenerate
from mercer.maps import extend, onto_landmarks, recentred, select_landmarks, spectral
from mercer.preimages import preimage

# Points taken back to input space at a time: a block of coefficients is then n by this many.
_BLOCK = 1024


class KernelMap(KernelEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""The nonlinear projection trick: points as their coordinates in the span of the training features.

    .. math:: H K H = U \Lambda U', \qquad Y = \Lambda^{1/2} U', \qquad y(x) = \Lambda^{-1/2} U' k(x)

    Dot products of coordinates are (centred) kernel values, so that a linear method on them is the kernel method, and
    methods that know no dot products (trees, medians, independent components) work in feature space too.

    Parameters
    ----------
    kernel : Kernel, {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable
        Bandwidth rules are resolved on the training data.
    centre : bool
        Take the mean of the training features as origin.
    tol : float, optional
        Axes whose eigenvalue is at most ``tol`` times the largest are cut; in ``partial_fit`` points whose squared
        residual is at most ``tol`` times the largest k(x, x) add no axis. When left out, n eps for eigenvalues, which
        is also the least, and eps^(1/2) for residuals.
    landmarks : int or points, optional
        Use the span of so many chosen points (all if there are fewer), or of the given ones (row indices for a
        precomputed kernel), instead of that of all.
    rule : {"randomly_pivoted", "pivoted", "uniform", "k_means"}
        How a number of landmarks is chosen.
    preimage : str or method record
        How ``inverse_transform`` finds points in input space, as in ``mercer.preimage``.
    memory : str or int
        Bytes that the matrix between the points of the span may take.
    random_state : int, RandomState or None
        Choice of landmarks.

    Attributes
    ----------
    expansion_ : Expansion
        The orthonormal axes; coordinates are ``expansion_(X) + intercept_``.
    intercept_ : array (n_components_,)
        What centring subtracts.
    coordinates_ : Coordinates
        Axes and origin, with what can be asked of them: coordinates of vectors of feature space (lemma 6), vectors
        with given coordinates.
    kernel_ : Kernel
        The kernel with its numbers.
    n_samples_seen_, n_components_, n_features_in_ : int

    See Also
    --------
    KernelPCA : As many leading axes as asked, by an iterative solver.
    Nystroem : The same over landmarks, not centred, along axes of the landmarks.

    Notes
    -----
    O(n^3) and an n x n matrix; with m landmarks O(n m^2 + m^3), n m kernel values and nothing of size n^2. The axes
    come in the order of the variance along them; those that ``partial_fit`` adds come behind, in the order found.

    References
    ----------
    Kwak, *Nonlinear projection trick in kernel methods: an alternative to the kernel trick*, IEEE TNNLS 24 (2013).

    Examples
    --------
    A linear classifier on coordinates separates what is not linearly separable, and its weights come home.

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

    def __init__(
        self,
        kernel="rbf",
        *,
        centre=True,
        tol=None,
        landmarks=None,
        rule="randomly_pivoted",
        preimage="auto",
        memory="1GB",
        random_state=None,
    ):
        self.kernel = kernel
        self.centre = centre
        self.tol = tol
        self.landmarks = landmarks
        self.rule = rule
        self.preimage = preimage
        self.memory = memory
        self.random_state = random_state

    def fit(self, X, y=None):
        """Find the coordinates of feature space that the training points span.

        Parameters
        ----------
        X : points (n)
            Rows, sparse rows where the kernel takes them, a square matrix for "precomputed", or a list of objects.
        y : ignored

        Returns
        -------
        self
        """
        parse_memory(self.memory)
        kernel, points = self._training_points(X)
        warn_degenerate(kernel, points)
        phi, options = features(kernel, points), {"memory": self.memory, "random_state": self.random_state}
        if self.landmarks is None:
            coordinates = spectral(phi, self.centre, self.tol, **options)
        else:
            chosen = select_landmarks(kernel, points, self.landmarks, self.rule, self.random_state)
            coordinates = onto_landmarks(features(kernel, chosen), phi, self.centre, self.tol, **options)
        self.kernel_, self.n_samples_seen_ = kernel, len(phi)
        return self._keep(coordinates)

    def partial_fit(self, X, y=None):
        """Add points: each that leaves the span adds the axis of its residual, and the origin moves to the new mean.

        The axes that are there stay; the coordinates of earlier points are 0 along the new axes, and change along the
        others by what ``intercept_`` changes. The first call is ``fit``. With a number of landmarks the axes never
        exceed it; given landmarks keep their span.

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
        coordinates = extend(self.coordinates_, X, self.tol, self._room())
        seen = self.n_samples_seen_ + count_points(X)
        if self.centre:
            # about the old origin the earlier points have mean 0
            coordinates = recentred(coordinates, coordinates(X).sum(axis=0, dtype=np.float64) / seen)
        self.n_samples_seen_ = seen
        return self._keep(coordinates)

    def transform(self, X):
        """Return the coordinates of points.

        Parameters
        ----------
        X : points (n_test)
            For "precomputed" their kernel values with the training points (n_test, n).

        Returns
        -------
        array (n_test, n_components_)
        """
        X = self._new_points(X)
        return self.coordinates_(X)

    def residual(self, X):
        """Return the residual coordinate of each point, its distance to the span in feature space.

        With it distances to training points are those of feature space, |y - y_i|^2 + residual^2; it also is the length
        of what a model on the coordinates does not see.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,)

        Raises
        ------
        ValueError
            For a precomputed kernel, whose rows do not give k(x, x).
        """
        X = self._new_points(X)
        return self.coordinates_.residual(X)

    def inverse_transform(self, X):
        """Return points whose features are nearest to the vectors with given coordinates.

        Parameters
        ----------
        X : array (m, n_components_)
            Coordinates.

        Returns
        -------
        array (m, n_features_in_)

        Raises
        ------
        TypeError
            For a precomputed kernel or one of objects, which have no way back.
        """
        check_is_fitted(self)
        Y = np.asarray(X)
        blocks = [Y[i : i + _BLOCK] for i in range(0, max(len(Y), 1), _BLOCK)]
        return np.concatenate([preimage(self.coordinates_.vectors(rows), self.preimage).points for rows in blocks])

    def to_expansion(self, coef):
        """Return the vectors of feature space that linear models on the coordinates have as weights.

        Parameters
        ----------
        coef : array (n_components_,) or (m, n_components_)
            As ``coef_`` of scikit-learn's linear models. Coordinates times coef are ``psi(X) + coef @ intercept_``.

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

    def _room(self):
        """Return how many axes may be added, None for any number."""
        if self.landmarks is None:
            return None
        return max(0, self.landmarks - self.n_components_) if isinstance(self.landmarks, Integral) else 0

    def _keep(self, coordinates):
        self.coordinates_ = coordinates
        self.expansion_, self.intercept_ = coordinates.basis, coordinates.intercept
        self.n_components_ = self._n_features_out = len(coordinates.basis)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
