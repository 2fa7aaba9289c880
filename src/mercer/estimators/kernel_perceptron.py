"""KernelPerceptron: Rosenblatt's rule in feature space, with its mistakes, averages and votes."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from mercer._common import check_integer, warn
from mercer._compute.memory import parse_memory
from mercer._compute.points import count_points, join_points
from mercer.estimators._base import KernelEstimator
from mercer.expansion import Expansion, features
from mercer.gram import Gram
from mercer.linalg.generator import generator
from mercer.solvers import perceptron

# Values held at a time while vectors vote.
_VOTES = 2**22


class KernelPerceptron(KernelEstimator, ClassifierMixin, BaseEstimator):
    r"""Perceptron in the feature space of a kernel: a vector that a mistake on x_j turns by y_j phi(x_j).

    .. math:: w \leftarrow w + y_j \phi(x_j) \quad\text{when}\quad y_j \langle w, \phi(x_j) \rangle \le 0,

    from w = 0, without a bias, until a pass over the examples makes no mistake. Several classes are learned one
    against the rest.

    Parameters
    ----------
    kernel : Kernel, {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable
        Bandwidth rules are resolved on the training data, in ``partial_fit`` on the first batch.
    max_iter : int
        Passes over the examples in ``fit``.
    averaged : bool
        Predict with the mean of the vectors after each example, which is steadier when the classes overlap.
    voted : bool
        Predict by a vote of all vectors, each weighted by the examples it survived; costs more, at most one of the two.
    shuffle : bool
        Present the examples of each pass in random order.
    memory : str or int
        Bytes a stored Gram matrix may take; beyond it a column is computed at each mistake.
    random_state : int, RandomState or None
        Order of the examples when shuffled.

    Attributes
    ----------
    expansion_ : Expansion
        One vector per class, one in all for two classes: the last, or the mean when ``averaged``.
    intercept_ : array of zeros
        There is no bias.
    mistakes_ : list of Mistakes
        What each vector was made from, in order; rows count the points of ``expansion_``.
    n_mistakes_ : integer array
        How many there were.
    margin_ : array
        min_j y_j <w, phi(x_j)> / |w| over the examples of the last call; positive when they are separated.
    mistake_bound_ : array
        (R / margin)^2 with R = max |phi(x_j)|, infinite when not separated.
    support_ : integer array
        The examples on which mistakes were made, counted over all calls of ``partial_fit``.
    classes_ : array
    kernel_ : Kernel
    n_iter_, n_features_in_ : int

    Notes
    -----
    By Novikoff's theorem ``fit`` makes at most (R / g)^2 mistakes, where g is the largest margin of any vector. The
    vector that was found has a margin of at most g, so that ``mistake_bound_`` is that bound or larger, and holds
    without knowing g.
    O(n) and one column of K for each mistake, O(n) for each pass; 8 n^2 bytes when K is stored.

    References
    ----------
    Rosenblatt, *The perceptron*, Psychological Review 65 (1958).
    Novikoff, *On convergence proofs on perceptrons* (1962).
    Freund, Schapire, *Large margin classification using the perceptron algorithm*, Machine Learning 37 (1999).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.estimators.kernel_perceptron import KernelPerceptron
    >>> X, y = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), np.array([0, 0, 1, 1])
    >>> model = KernelPerceptron(mc.Gaussian(2.0)).fit(X, y)
    >>> model.predict(X), bool(model.n_mistakes_[0] <= model.mistake_bound_[0])
    (array([0, 0, 1, 1]), True)
    """

    def __init__(
        self,
        kernel="rbf",
        *,
        max_iter=100,
        averaged=False,
        voted=False,
        shuffle=False,
        memory="1GB",
        random_state=None,
    ):
        self.kernel = kernel
        self.max_iter = max_iter
        self.averaged = averaged
        self.voted = voted
        self.shuffle = shuffle
        self.memory = memory
        self.random_state = random_state

    def fit(self, X, y):
        """Learn from scratch, in as many passes as it takes or ``max_iter`` allows.

        Parameters
        ----------
        X : points (n)
        y : array (n,)
            Labels.

        Returns
        -------
        self

        Warns
        -----
        ConvergenceWarning
            With the number of mistakes in the last pass, when there were any.
        """
        self._check_parameters()
        kernel, points = self._training_points(X)
        labels = _labels(points, y)
        classes = np.unique(labels)
        signs = _signs(labels, classes)
        rng = generator(self.random_state)
        gram = self._gram(kernel, points)
        runs = [perceptron.learn(gram, s, self._orders(len(s), self.max_iter, rng)) for s in signs]
        if any(run.last for run in runs):
            most = max(run.last for run in runs)
            warn(
                f"the last of {self.max_iter} passes still made {most} mistakes on {len(labels)} examples: "
                "they cannot be separated, or max_iter is too small; averaged=True is steadier.",
                ConvergenceWarning,
            )
        self.kernel_, self.classes_ = kernel, classes
        chosen = _chosen(runs)
        self._store(features(kernel, points)[:, chosen].points, [_over(run, chosen) for run in runs], chosen)
        self._rows_seen = len(labels)
        return self._measure(points, signs)

    def partial_fit(self, X, y, classes=None):
        """Learn from one more batch, presented once.

        Parameters
        ----------
        X : points (n)
        y : array (n,)
        classes : array, optional
            All labels that will ever come; needed in the first call only.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            For a precomputed kernel: the rows of a batch know nothing of earlier ones.
        ValueError
            Without ``classes`` in the first call, or for a label that is none of them.
        """
        first = not hasattr(self, "classes_")
        self._check_parameters()
        if first:
            kernel, points = self._training_points(X)
            classes = _all_classes(classes)
        else:
            kernel, points, classes = self.kernel_, self._new_points(X), self.classes_
        if kernel.tags.points == "indices":
            raise TypeError("partial_fit needs points, not rows of a precomputed matrix; give a kernel, or use fit.")
        labels = _labels(points, y)
        signs = _signs(labels, classes)
        before = None if first else self._last()(points)
        gram, rng = self._gram(kernel, points), generator(self.random_state)
        runs = [
            perceptron.learn(gram, s, self._orders(len(s), 1, rng), None if first else before[:, c])
            for c, s in enumerate(signs)
        ]
        chosen = _chosen(runs)
        runs, new = [_over(run, chosen) for run in runs], features(kernel, points)[:, chosen].points
        if first:
            self.kernel_, self.classes_, self._rows_seen = kernel, classes, 0
            self._store(new, runs, chosen)
        else:
            old = self.expansion_.points
            runs = [perceptron.joined(a, b, count_points(old)) for a, b in zip(self.mistakes_, runs, strict=True)]
            rows = np.concatenate([self.support_, chosen + self._rows_seen])
            self._store(join_points([old, new]), runs, rows)
        self._rows_seen += len(labels)
        return self._measure(points, signs)

    def decision_function(self, X):
        """Return <w, phi(x)>, or the votes in [-1, 1].

        Parameters
        ----------
        X : points (n_test)

        Returns
        -------
        array (n_test,) for two classes, else (n_test, n_classes)
        """
        X = self._new_points(X)
        scores = self._votes(X) if self.voted else self.expansion_(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X):
        """Return the class with the largest decision value (n_test,); of two classes the second where it is above 0."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def _votes(self, X):
        check_is_fitted(self)
        phi = features(self.kernel_, self.expansion_.points)
        most = max(1, *(len(run.rows) for run in self.mistakes_))
        step = max(1, _VOTES // most)
        rows = (X[i : i + step] for i in range(0, count_points(X), step))
        blocks = (phi(part) for part in rows)
        return np.concatenate([np.column_stack([perceptron.votes(K, run) for run in self.mistakes_]) for K in blocks])

    def _check_parameters(self):
        check_integer("max_iter", self.max_iter)
        if self.averaged and self.voted:
            raise ValueError("averaged = True and voted = True exclude one another: set one of them to False.")

    def _gram(self, kernel, points):
        """Return K, stored where the budget allows."""
        gram = Gram(kernel, points, memory=self.memory)
        n = len(points) if not hasattr(points, "shape") else points.shape[0]
        return gram.dense() if np.dtype(gram.dtype).itemsize * n**2 <= parse_memory(self.memory) else gram

    def _orders(self, n, count, rng):
        return (rng.permutation(n) if self.shuffle else np.arange(n) for _ in range(count))

    def _last(self):
        """Return the last vectors, whatever is predicted with."""
        points = self.expansion_.points
        return Expansion(self.kernel_, points, _coefficients(perceptron.final, self.mistakes_, count_points(points)))

    def _store(self, points, runs, support):
        form = perceptron.averaged if self.averaged else perceptron.final
        self.expansion_ = Expansion(self.kernel_, points, _coefficients(form, runs, len(support)))
        self.intercept_ = np.zeros(len(runs))
        self.mistakes_, self.support_ = runs, support
        self.n_mistakes_ = np.array([len(run.rows) for run in runs])
        self.n_iter_ = max(run.n_iter for run in runs)

    def _measure(self, points, signs):
        """Store margins and mistake bounds, recomputed from the examples of this call."""
        lengths = self.expansion_.norms().astype(np.float64)
        lengths[lengths == 0] = np.inf
        self.margin_ = (np.transpose(signs) * self.expansion_(points)).min(axis=0) / lengths
        radius = float(np.max(self.kernel_.diag(points)))
        self.mistake_bound_ = np.full(len(signs), np.inf)
        np.divide(radius, self.margin_**2, out=self.mistake_bound_, where=self.margin_ > 0)
        return self


def _labels(points, y):
    """Return validated labels, as many as there are points."""
    if y is None:
        raise ValueError("KernelPerceptron requires y to be passed, but the target y is None.")
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    labels = column_or_1d(y, warn=True)
    check_consistent_length(np.arange(count_points(points)), labels)
    return labels


def _all_classes(classes):
    if classes is None:
        raise ValueError("classes must be given in the first call of partial_fit: all labels that will ever come.")
    return np.unique(classes)


def _signs(labels, classes):
    """Return +1 and -1 for each class against the rest, one list entry for two classes."""
    if len(classes) < 2:
        raise ValueError(f"two classes or more are needed; y has one class, {classes.tolist()[0]!r}.")
    if len(unknown := np.setdiff1d(labels, classes)):
        raise ValueError(f"label {unknown.tolist()[0]!r} is none of the classes {classes.tolist()} of the first call.")
    positive = classes[1:] if len(classes) == 2 else classes
    return [np.where(labels == c, 1.0, -1.0) for c in positive]


def _chosen(runs):
    """Return the examples of all mistakes, sorted; none in a later batch that is right already."""
    return np.unique(np.concatenate([run.rows for run in runs]))


def _over(run, chosen):
    """Return mistakes with rows counted among the chosen examples."""
    return perceptron.Mistakes(np.searchsorted(chosen, run.rows), run.signs, run.times, run.seen, run.n_iter, run.last)


def _coefficients(form, runs, n):
    return np.column_stack([form(run, n) for run in runs])
