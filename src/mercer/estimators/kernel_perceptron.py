"""KernelPerceptron: Rosenblatt's perceptron in feature space, also averaged or voted."""

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._common import (
    Array,
    ArrayLike,
    PointsLike,
    Seed,
    check_flags,
    check_integer,
    shown,
    warn,
)
from mercer._compute.memory import blocks, parse_memory
from mercer._compute.points import count_points, join_points, take_points
from mercer.estimators.base import KernelEstimator, as_labels
from mercer.estimators.inherited import ClassifierMixin
from mercer.estimators.model import adds, fits, of_points, storable_estimator
from mercer.expansion import Expansion, features, values_at
from mercer.gram import Gram
from mercer.kernels.bandwidth import warn_degenerate
from mercer.kernels.base import Kernel
from mercer.kernels.shorthand import KernelLike
from mercer.linalg.generator import generator
from mercer.solvers import perceptron
from mercer.solvers.certify import Residuals


@storable_estimator
class KernelPerceptron(KernelEstimator, ClassifierMixin):
    r"""Perceptron in the feature space of a kernel: each mistake on x_j adds y_j phi(x_j) to the weight vector.

    .. math:: w \leftarrow w + y_j \phi(x_j) \quad\text{when}\quad y_j \langle w, \phi(x_j) \rangle \le 0,

    from w = 0, without an intercept, until a pass over the examples makes no mistake. Multi-class problems are solved
    one-vs-rest.

    Parameters
    ----------
    kernel : Kernel, str or callable
        Kernel, or a name as for `SVC`. Bandwidth rules are resolved on the training data, in ``partial_fit`` on the
        first batch.
    gamma : float, {"scale", "auto", "median"} or None
    degree : int
    coef0 : float
        Parameters of a kernel given by name, as for `SVC`.
    max_iter : int
        Maximum number of passes over the examples in ``fit``.
    averaged : bool
        Predict with the mean of the weight vectors after each example; more accurate when the classes overlap.
    voted : bool
        Predict by a vote of all weight vectors, each weighted by the number of examples it survived. Slower; excludes
        ``averaged``.
    shuffle : bool
        Present the examples of each pass in random order.
    memory : str or int
        Memory limit, in bytes, of a stored Gram matrix. Beyond it a column is computed at each mistake.
    random_state : int, RandomState or None
        Seed of the order of the examples when shuffled.

    Attributes
    ----------
    expansion_ : Expansion
        One weight vector for each class, or a single one for two classes: the last, or the mean when ``averaged``.
    intercept_ : array
        Zeros.
    mistakes_ : list of Mistakes
        The mistakes of each weight vector, in order; their rows index the points of ``expansion_``.
    n_mistakes_ : integer array
        Number of mistakes of each weight vector.
    margin_ : array
        min_j y_j <w, phi(x_j)> / |w| over the examples of the last call; positive when they are separated.
    mistake_bound_ : array
        (R / margin)^2 with R = max |phi(x_j)|, infinite when not separated.
    support_ : integer array
        Examples with mistakes, numbered over all calls of ``partial_fit``.
    classes_ : array
        Class labels.
    kernel_ : Kernel
        Kernel with resolved bandwidth.
    n_iter_ : int
        Number of passes.
    n_features_in_ : int

    Notes
    -----
    By Novikoff's theorem ``fit`` makes at most (R / g)^2 mistakes, where g is the largest margin of any vector. The
    margin of ``expansion_`` is at most g, so ``mistake_bound_`` is at least this bound, and needs no knowledge of g.

    O(n) and one column of K for each mistake, O(n) for each pass; 8 n^2 bytes when K is stored.

    References
    ----------
    Rosenblatt, *The perceptron*, Psychological Review 65 (1958).
    Novikoff, *On convergence proofs on perceptrons* (1962).
    Freund, Schapire, *Large margin classification using the perceptron algorithm*, Machine Learning 37 (1999).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), np.array([0, 0, 1, 1])
    >>> model = mc.KernelPerceptron(mc.Gaussian(2.0)).fit(X, y)
    >>> model.predict(X), bool(model.n_mistakes_[0] <= model.mistake_bound_[0])
    (array([0, 0, 1, 1]), True)
    """

    kernel: KernelLike = "rbf"
    _: KW_ONLY
    max_iter: int = 100
    averaged: bool = False
    voted: bool = False
    shuffle: bool = False
    random_state: Seed = None

    # the first batch may be one point
    _fewest = 1

    @fits
    def fit(self, X: PointsLike, y: ArrayLike) -> Self:
        """Learn from scratch, in at most ``max_iter`` passes.

        Parameters
        ----------
        X : points (n)
        y : array (n,)
            Class labels.

        Returns
        -------
        self

        Warns
        -----
        ConvergenceWarning
            With the number of mistakes in the last pass, when there were any.
        """
        self._check_parameters()
        parse_memory(self.memory)
        kernel, points = self._training_points(X)
        warn_degenerate(kernel, points)
        labels = as_labels(points, y, "KernelPerceptron")
        classes = np.unique(labels)
        signs = _signs(labels, classes)

        runs, support = self._learn(kernel, points, signs, self.max_iter)
        most = max(run.last for run in runs)
        if most:
            warn(
                f"the last of {self.max_iter} passes still made {most} mistakes on {len(labels)} examples. They cannot "
                "be separated, or max_iter is too small; averaged=True is more accurate then.",
                ConvergenceWarning,
            )
        self.kernel_ = kernel
        self.classes_ = classes
        self._store(take_points(points, support), runs, support, points, signs)
        return self

    @adds
    def partial_fit(self, X: PointsLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn from one more batch, presented once.

        Parameters
        ----------
        X : points (n)
        y : array (n,)
        classes : array, optional
            All class labels of this and later calls; required in the first call, the same in later ones if given.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            For a precomputed kernel, whose rows of a batch contain no values with earlier batches.
        ValueError
            Without ``classes`` in the first call, for others in a later one, or for a label outside of them.
        """
        first = not hasattr(self, "classes_")
        self._check_parameters()
        classes = self._all_classes(classes)
        kernel, points = self._training_points(X) if first else (self.kernel_, self._new_points(X))
        if kernel.tags.points == "indices":
            raise TypeError(
                "partial_fit needs points, not rows of a precomputed matrix; give a kernel, or use fit."
            )
        labels = as_labels(points, y, "KernelPerceptron")
        signs = _signs(labels, classes)

        if first:
            runs, support = self._learn(kernel, points, signs, 1)
            vectors = take_points(points, support)
            self.kernel_: Kernel = kernel
            self.classes_: Array = classes
        else:
            old = self.expansion_.points
            # the last weight vectors, whichever form predicts
            last = self._expansion(perceptron.final, self.mistakes_, old)
            runs, support = self._learn(kernel, points, signs, 1, last(points))
            vectors = join_points([old, take_points(points, support)])
            runs = [
                perceptron.joined(a, b, count_points(old))
                for a, b in zip(self.mistakes_, runs, strict=True)
            ]
            # model files of older versions have the number as ``_rows_seen`` alone
            seen = getattr(self, "_n_rows", vars(self).get("_rows_seen"))
            support = np.concatenate([self.support_, support + seen])
            self._n_rows = seen + len(labels)
        self._store(vectors, runs, support, points, signs)
        return self

    def _all_classes(self, classes):
        """Return the classes of all calls of partial_fit, or raise for those that a call gives."""
        known = getattr(self, "classes_", None)
        if known is None and classes is None:
            raise ValueError(
                "classes must be given in the first call of partial_fit; give all class labels."
            )
        classes = known if classes is None else np.unique(classes)
        if known is not None and not np.array_equal(classes, known):
            raise ValueError(
                f"classes = {classes.tolist()} must be those of the first call, {known.tolist()}; leave them out, or "
                "learn from scratch with fit."
            )
        return classes

    def _learn(self, kernel, points, signs, n_passes, values=None):
        """Return the mistakes for each row of signs, over the examples that they are made on, and these examples."""
        n = count_points(points)
        gram = Gram(kernel, points, memory=self.memory)
        if np.dtype(gram.dtype).itemsize * n**2 <= parse_memory(self.memory):
            gram = gram.dense()
        rng = generator(self.random_state)

        def orders():
            return (rng.permutation(n) if self.shuffle else np.arange(n) for _ in range(n_passes))

        runs = [
            perceptron.learn(gram, y, orders(), None if values is None else values[:, c])
            for c, y in enumerate(signs)
        ]
        support = np.unique(np.concatenate([run.rows for run in runs]))
        return [perceptron.among(run, support) for run in runs], support

    def _store(self, vectors, runs, support, points, signs):
        form = perceptron.averaged if self.averaged else perceptron.final
        self.expansion_: Expansion = self._expansion(form, runs, vectors)
        self.intercept_: Array = np.zeros(len(runs))
        self.mistakes_: Array = runs
        self.support_: Array = support
        self.n_mistakes_: Array = np.array([len(run.rows) for run in runs])
        self.n_iter_: Any = max(run.n_iter for run in runs)
        self.margin_: Array
        self.mistake_bound_: Array
        self.margin_, self.mistake_bound_ = perceptron.margins(self.expansion_, points, signs)

    def _expansion(self, form, runs, points):
        coef = np.column_stack([form(run, count_points(points)) for run in runs])
        return Expansion(self.kernel_, points, coef)

    def _check_parameters(self):
        check_integer("max_iter", self.max_iter)
        check_flags(self)
        if self.averaged and self.voted:
            raise ValueError(
                "averaged = True and voted = True exclude one another; set one of them to False."
            )

    @of_points
    def decision_function(self, X: PointsLike) -> Array:
        """Return the decision values <w, phi(x)>, or the votes in [-1, 1] when ``voted``.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,) for two classes, else (n_test, n_classes)
        """
        X = self._new_points(X)
        values = self._votes(self.expansion_, X) if self.voted else values_at(self.expansion_, X)
        return values[:, 0] if len(self.classes_) == 2 else values

    @of_points
    def predict(self, X: PointsLike) -> Array:
        """Predict the classes of new points: the largest decision value wins.

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,)
            Of two classes the second where the decision value is positive.
        """
        values = self.decision_function(X)
        return self.classes_[
            (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        ]

    def _certificate(self, X, y, sample_weight):
        """Return the share of training points with y f(x) <= 0 for each binary classifier, f in float64."""
        self._refuse_weights(sample_weight)
        kernel, points = self._certified_points(X)
        signs = np.column_stack(_signs(as_labels(points, y, "KernelPerceptron"), self.classes_))
        w = self._exact(kernel, take_points(points, self.support_))
        values = self._votes(w, points) if self.voted else w(points)
        return Residuals(np.mean(signs * values <= 0, axis=0))

    def _votes(self, w, X):
        phi = features(w.kernel, w.points)
        most = max(1, *(len(run.rows) for run in self.mistakes_))
        parts = (phi(take_points(X, rows)) for rows in blocks(count_points(X), most))
        return np.concatenate(
            [np.column_stack([perceptron.votes(K, run) for run in self.mistakes_]) for K in parts]
        )


def _signs(labels, classes):
    """Return +1 and -1 for each class against the rest, one list entry for two classes."""
    if len(classes) < 2:
        raise ValueError(
            f"y must have two classes or more; got one class, {shown(classes.tolist()[0])}."
        )
    if len(unknown := np.setdiff1d(labels, classes)):
        raise ValueError(
            f"label {shown(unknown.tolist()[0])} is none of the classes {shown(classes.tolist())} of the first call."
        )
    positive = classes[1:] if len(classes) == 2 else classes
    return [np.where(labels == c, 1.0, -1.0) for c in positive]
