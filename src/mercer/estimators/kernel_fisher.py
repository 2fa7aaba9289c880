"""KernelFisher: Fisher's discriminants in feature space, as a transformer and as a classifier."""

import numpy as np
import scipy.special
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, validate_data

from mercer._common import check_integer, check_positive
from mercer._compute.memory import parse_memory
from mercer._compute.points import take_points
from mercer.estimators import _svm
from mercer.estimators._base import KernelEstimator
from mercer.expansion import features
from mercer.solvers.fisher import discriminants


class KernelFisher(KernelEstimator, ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin, BaseEstimator):
    r"""Kernel Fisher discriminant analysis: linear discriminant analysis of phi(x) in the feature space of a kernel.

    The directions that spread the means of the classes most, against the spread within the classes,

    .. math:: S_B w = \lambda (S_W + \mu I) w,

    are combinations of the training features, w = sum_i a_i phi(x_i); with the centred kernel matrix K that is the
    eigenproblem S_B^K a = lambda (S_W^K + mu K) a. Classes are then those of linear discriminant analysis along the
    directions: the nearest mean, up to the logarithms of the classes' shares.

    Parameters
    ----------
    n_components : int, optional
        Number of directions, at most one less than there are classes; all when left out.
    kernel : Kernel, {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable
        Bandwidth rules are resolved on the training data. A callable takes two blocks of points.
    mu : float
        Above 0: what is added to the scatter within classes, a sum over n points, in every direction. The span of the
        features has directions without any scatter, so that there is no answer without it.
    memory : str or int
        Bytes that stored matrices may take; beyond it all products are lazy.
    random_state : int, RandomState or None
        The preconditioner of the iterative solver.

    Attributes
    ----------
    classes_ : array (C,)
    priors_ : array (C,)
        The classes' shares of the training points, by weight.
    means_ : array (C, n_components_)
        The classes' means along the directions; the mean of all points is 0.
    eigenvalues_ : array (n_components_,)
        Scatter between classes over regularised scatter within, descending.
    expansion_ : Expansion
        The directions, scaled so that the regularised scatter within classes is n.
    intercept_ : array (n_components_,)
        What centring subtracts.
    residual_ : float
        Relative residual of the linear system that was solved.
    kernel_ : Kernel
        The kernel with its numbers.
    n_components_, n_features_in_ : int

    Notes
    -----
    A ridge regression of C targets: Cholesky, O(n^3), where two n x n matrices fit into the budget; else preconditioned
    conjugate gradients on lazy products. Equals ``LinearDiscriminantAnalysis(solver="eigen")`` of scikit-learn on
    coordinates of the features, with mu / n added to the diagonal of its covariances.

    References
    ----------
    Mika, Raetsch, Weston, Schoelkopf, Mueller, *Fisher discriminant analysis with kernels*, NNSP IX (1999).
    Baudat, Anouar, *Generalized discriminant analysis using a kernel approach*, Neural Computation 12 (2000).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.estimators.kernel_fisher import KernelFisher
    >>> angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> X, y = np.concatenate([circle, 2 * circle]), np.repeat(["inside", "outside"], 40)
    >>> KernelFisher(kernel=mc.Gaussian(1.0)).fit(X, y).predict([[0.0, 0.9], [0.0, 2.1]])
    array(['inside', 'outside'], dtype='<U7')
    """

    def __init__(self, n_components=None, *, kernel="rbf", mu=1e-3, memory="1GB", random_state=None):
        self.n_components = n_components
        self.kernel = kernel
        self.mu = mu
        self.memory = memory
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        """Find the directions.

        Parameters
        ----------
        X : points (n)
            Rows, sparse rows where the kernel takes them, a square matrix for "precomputed", or a list of objects.
        y : array (n,)
            Classes.
        sample_weight : array (n,), optional
            At least 0; points of weight 0 are left out, and classes that have no others.

        Returns
        -------
        self
        """
        check_positive("mu", self.mu)
        parse_memory(self.memory)
        if self.n_components is not None:
            check_integer("n_components", self.n_components)
        y = validate_data(self, y=y)
        check_classification_targets(y)
        if sample_weight is not None:
            sample_weight = _svm.weights(sample_weight, len(y))
        kernel, points = self._training_points(X, sample_weight=sample_weight)
        check_consistent_length(points, y)
        if sample_weight is not None:
            kept = np.flatnonzero(sample_weight)
            points, y, sample_weight = take_points(points, kept), y[kept], sample_weight[kept]

        classes, numbers = np.unique(y, return_inverse=True)
        self._require_components(classes)
        found = discriminants(
            features(kernel, points),
            numbers,
            self.mu,
            sample_weight,
            memory=self.memory,
            random_state=self.random_state,
        )
        m = slice(0, self.n_components)

        self.kernel_, self.classes_, self.residual_ = kernel, classes, found.residual
        sizes = np.bincount(numbers, weights=sample_weight)
        self.priors_ = sizes / sizes.sum()
        self.means_, self.eigenvalues_ = found.means[:, m], found.eigenvalues[m]
        self.expansion_, self.intercept_ = found.expansion[:, m], found.intercept[m]
        self.n_components_ = self._n_features_out = len(self.intercept_)
        return self

    def _require_components(self, classes):
        if len(classes) < 2:
            raise ValueError(f"KernelFisher needs points of at least two classes, got {len(classes)} class: {classes}.")
        if self.n_components is not None and self.n_components >= len(classes):
            raise ValueError(
                f"n_components = {self.n_components} must be at most {len(classes) - 1}, one less than the number of "
                "classes."
            )

    def transform(self, X):
        """Return coordinates of new points along the directions.

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

    def decision_function(self, X):
        """Return the logarithms of the classes' probabilities, up to a number that is common to all classes.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test, C), or (n_test,) for two classes
            For two classes their difference: positive for ``classes_[1]``.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X):
        """Return the classes of new points.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,)
        """
        scores = self._scores(X)
        return self.classes_[np.argmax(scores, axis=1)]

    def predict_proba(self, X):
        """Return the probabilities of the classes, if they were Gaussian with one covariance along the directions.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test, C)
        """
        return scipy.special.softmax(self._scores(X), axis=1)

    def _scores(self, X):
        Z, means = self.transform(X), self.means_
        offsets = np.log(self.priors_) - np.sum(means.astype(np.float64) ** 2, axis=1) / 2
        return Z @ means.T + offsets.astype(Z.dtype)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
