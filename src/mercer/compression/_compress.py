"""compress: any fitted kernel machine with few vectors instead of many."""

import copy

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._common import check_integer, check_number
from mercer._compute.points import as_rows, count_points, take_points
from mercer.compression import families
from mercer.compression.refit import refit
from mercer.compression.report import CompressionReport, measure
from mercer.compression.starts import starts
from mercer.estimators._svm import alike
from mercer.expansion import Expansion, sqdist
from mercer.linalg.generator import generator
from mercer.reduction import reduce

_FOLDS = 3


def compress(
    model, X=None, y=None, *, n_vectors=None, max_loss=None, neighbours=None, random_state=None, callback=None
):
    r"""Return a fitted kernel machine with few vectors, which all its columns share.

    Without data the expansion is approximated in feature space, ``mc.reduce(psi, n_vectors)``. With data the scores
    on it are:

    .. math:: \min_{Z, B, b} \sum_{ij} (F_{ij} - S_{ij})^2, \qquad F = \psi(X) + b_0, \quad S = k(X, Z) B + b,

    and classifiers also minimise, with U = 1 and -1 for the sides of a machine (0 for rows of other classes),
    :math:`\sum_{ij} |U_{ij}| (\mu (F_{ij} - S_{ij})^2 + \max(0, 1 - U_{ij} S_{ij})^2)`. Scores are kept, mu =
    0.1, unless rows held out show that labels are met better with mu = 0.01.

    Parameters
    ----------
    model : estimator, pipeline, str or path
        Fitted SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelRidge or KernelPCA of Mercer or of scikit-learn, the latter's
        GaussianProcessRegressor (its mean is kept), a pipeline that ends in one of these, a search with a
        ``best_estimator_``, or a text model of LIBSVM. It is not changed.
    X : rows (n, d), optional
        Data like those to be predicted; the training data serve well.
    y : array (n,) or (n, m), optional
        Labels or targets. Classifiers learn from them where the model is wrong; regressors are fitted to the model
        alone, and the report compares with y.
    n_vectors : int, optional
        Most distinct vectors over all machines. A model that has no more comes back as it is, never padded.
    max_loss : float, optional
        Largest loss of score, as a share of the model's score (accuracy, R^2, or agreement with the model without y):
        the fewest vectors that keep to it in cross-validation, at most ``n_vectors``. One of the two is needed.
    neighbours : callable, optional
        ``neighbours(X)`` returns perturbed copies of the rows of X that should be predicted alike, as k arrays stacked
        to (k n, d), row i of each belonging to row i of X: shifted or rotated images, say. In a pipeline they are made
        before its first step.
    random_state : int, RandomState, Generator or None
        Starts, folds, and the choice of rows where there are too many.
    callback : callable, optional
        ``callback(done, most)`` after every pass over the data, of how many at most, from 1 anew for every fit; without
        data after every vector.

    Returns
    -------
    estimator or Pipeline
        Mercer's estimator of the same name, predicting as the original does (votes of pairs, classes, offsets), scores
        ``expansion_(X) + intercept_``, with a ``report_``; of a pipeline the final step. One-vs-one machines keep one
        column a pair.

    Raises
    ------
    TypeError
        For a model that is not supported, a kernel without gradient or points that are not rows; y without X.
    ValueError
        When neither ``n_vectors`` nor ``max_loss`` is given, ``max_loss`` comes without X, a label is no class of the
        model, or the rows of neighbours are not aligned.
    NotFittedError

    Notes
    -----
    At most 350 passes over data and neighbours, of n p (4 d + 2 p + 6 m) operations for p vectors; rows beyond
    2^24 / p are left out by chance. The search for ``max_loss`` takes about 8 fits in each of 3 folds. Vectors start
    from k-means of each class. The score in ``report_`` is on the given data: hold some back to know the loss on
    other data.

    References
    ----------
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE TNN 10 (1999), section V.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> angle = np.linspace(0, 2 * np.pi, 200)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)]) * np.repeat([[1.0], [1.5]], 100, axis=0)
    >>> y = np.repeat([0, 1], 100)
    >>> model = mc.SVC(kernel=mc.Gaussian(1.0)).fit(X, y)
    >>> small = mc.compress(model, X, y, n_vectors=4, random_state=0)
    >>> small.expansion_.shape, small.score(X, y) >= model.score(X, y) - 0.01
    ((4, 1), True)
    """
    _check(X, y, n_vectors, max_loss, neighbours)
    model = getattr(model, "best_estimator_", model)
    copies = None if neighbours is None else _copies(neighbours, X)
    if hasattr(model, "steps"):
        return _last_step(model, X, y, copies, n_vectors, max_loss, random_state, callback)
    return _compressed(model, X, y, copies, n_vectors, max_loss, random_state, callback)


def _check(X, y, n_vectors, max_loss, neighbours):
    if n_vectors is None and max_loss is None:
        raise ValueError("one of n_vectors and max_loss is needed: how many vectors to keep, or the score to give up.")
    if n_vectors is not None:
        check_integer("n_vectors", n_vectors)
    if max_loss is not None:
        check_number("max_loss", max_loss)
        if not 0 <= max_loss < 1:
            raise ValueError(f"max_loss = {max_loss!r} must be at least 0 and below 1, a share of the score.")
    for name, given in (("y", y), ("max_loss", max_loss), ("neighbours", neighbours)):
        if given is not None and X is None:
            raise TypeError(f"{name} needs X: give the data it belongs to.")
    if neighbours is not None and not callable(neighbours):
        raise TypeError(f"neighbours must be a function of X, got {type(neighbours).__name__}.")


def _copies(neighbours, X):
    """Return the copies of the rows of X, one container a copy."""
    stacked, n = neighbours(X), count_points(X)
    size = count_points(stacked)
    if size == 0 or size % n:
        raise ValueError(
            f"neighbours returned {size} rows for the {n} rows of X; rows must be aligned: k copies of every row, "
            "stacked to k n rows, row i of each copy belonging to row i of X."
        )
    return [take_points(stacked, slice(i, i + n)) for i in range(0, size, n)]


def _last_step(pipeline, X, y, copies, n_vectors, max_loss, random_state, callback):
    """Return a pipeline whose earlier steps are kept and whose last one is compressed."""
    check_is_fitted(pipeline)
    if len(pipeline.steps) > 1:
        before = pipeline[:-1]
        X = None if X is None else before.transform(X)
        copies = None if copies is None else [before.transform(each) for each in copies]
    name, last = pipeline.steps[-1]
    small = copy.copy(pipeline)
    last = _compressed(last, X, y, copies, n_vectors, max_loss, random_state, callback)
    small.steps = [*pipeline.steps[:-1], (name, last)]
    return small


def _compressed(model, X, y, copies, n_vectors, max_loss, random_state, callback):
    fitted = families.read(model, None if X is None else np.shape(X)[1])
    _require(fitted.expansion)
    task = Task(fitted, X, y, copies, random_state, callback)
    if n_vectors is not None and n_vectors >= task.size:
        return task.itself(f"n_vectors = {n_vectors} allows all {task.size}")
    if max_loss is None:
        return task.small(n_vectors, f"n_vectors = {n_vectors}")
    return task.smallest(max_loss, n_vectors)


def _require(psi):
    """Raise a TypeError where no new points can be constructed."""
    tags = psi.kernel.tags
    if tags.points != "rows" or not tags.differentiable:
        raise TypeError(
            f"{type(psi.kernel).__name__} has no gradient in rows of numbers, so that no vectors can be constructed. "
            'Choose among those of the model: mc.reduce(model.expansion_, n_vectors, method="greedy").'
        )


class Task:
    """One model, data, and what is worked out once for every number of vectors.

    Parameters
    ----------
    fitted : Fitted
    X : rows (n, d) or None
    y : array or None
    copies : list of rows (n, d) or None
    random_state : int, RandomState, Generator or None
    callback : callable, optional
        As in `compress`.
    """

    def __init__(self, fitted, X, y, copies, random_state, callback=None):
        self.fitted, self.callback = fitted, callback
        rng = generator(random_state)
        draw = rng.integers if isinstance(rng, np.random.Generator) else rng.randint
        self.seed = int(draw(2**31 - 1))
        psi = fitted.expansion
        used = np.flatnonzero(psi.coef.any(axis=1)) if psi.coef is not None else np.arange(psi.shape[0])
        self.size = max(1, len(used))
        self.used = used if len(used) else np.zeros(1, int)
        self.original = fitted.with_vectors(Expansion(psi.kernel, psi.points, psi.dense_coef()), fitted.intercept)
        self.X, self.y = X, y
        if X is None:
            return
        self.blocks = [self._rows(each) for each in [X, *(copies or [])]]
        if y is not None and len(y) != len(self.blocks[0]):
            raise ValueError(f"X has {len(self.blocks[0])} rows, y has {len(y)}; they must be equal.")
        self.scores = [np.asarray(psi(alike(each, psi.points)) + fitted.intercept) for each in self.blocks]
        self.signs = self._signs()

    def _rows(self, X):
        X = families.dense(as_rows(X, "X"))
        d = self.fitted.expansion.points.shape[1]
        if X.shape[1] != d:
            raise ValueError(f"X has {X.shape[1]} features, but the model has {d}; they must be equal.")
        return X

    def _signs(self):
        """Return the sides (n, m) of the rows, by their labels, or by what the model says where there are none."""
        table = self.fitted.signs
        if table is None:
            return None
        classes = self.fitted.estimator.classes_
        labels = self.original.predict(self.X) if self.y is None else np.asarray(self.y)
        order = np.argsort(classes)
        place = np.searchsorted(classes, labels, sorter=order).clip(0, len(classes) - 1)
        codes = order[place]
        wrong = np.flatnonzero(classes[codes] != labels)
        if len(wrong):
            raise ValueError(f"y[{wrong[0]}] = {labels[wrong[0]]!r} is none of the classes of the model, {classes}.")
        return table[codes]

    # --- answers -----------------------------------------------------------------------------------------------------

    def itself(self, reason):
        """Return the model as it is, in Mercer's class, with a report.

        Parameters
        ----------
        reason : str

        Returns
        -------
        estimator
        """
        return self._reported(self.original, self.size, np.zeros(len(self.fitted.intercept)), reason)

    def small(self, n_vectors, reason):
        """Return the model with some number of vectors, below that of its own, with a report.

        Parameters
        ----------
        n_vectors : int
        reason : str

        Returns
        -------
        estimator
        """
        psi = self.fitted.expansion
        if self.X is None:

            def said(done, _error):
                if self.callback is not None:
                    self.callback(done, n_vectors)

            chi, intercept = reduce(psi, n_vectors=n_vectors, callback=said).expansion, self.fitted.intercept
        else:
            chi, intercept = self._fit(n_vectors, slice(None))
        left, size = np.sqrt(sqdist(psi, chi, paired=True)), psi.norms()
        error = np.where(size > 0, left / np.where(size > 0, size, 1), 0)
        small = self.fitted.with_vectors(chi, intercept)
        return self._reported(small, chi.shape[0], error, reason)

    def smallest(self, max_loss, n_vectors=None):
        """Return the model with the fewest vectors that lose at most a share of the score in cross-validation.

        Parameters
        ----------
        max_loss : float
        n_vectors : int, optional
            Most vectors.

        Returns
        -------
        estimator
        """
        n = len(self.blocks[0])
        fold = np.random.default_rng(self.seed).permutation(n) % min(_FOLDS, n)
        sizes = _ladder(min(self.size - 1, n_vectors or self.size - 1))
        good, low, high = None, 0, len(sizes) - 1
        while low <= high:
            middle = (low + high) // 2
            if self._loss(sizes[middle], fold) <= max_loss:
                good, high = middle, middle - 1
            else:
                low = middle + 1
        if good is not None:
            return self.small(sizes[good], f"the fewest that lose at most {max_loss:g} of the score")
        if n_vectors is not None:
            return self.small(sizes[-1], f"n_vectors = {n_vectors}, with a loss of more than {max_loss:g} of the score")
        return self.itself(f"with fewer more than {max_loss:g} of the score is lost")

    # --- fits --------------------------------------------------------------------------------------------------------

    def _loss(self, n_vectors, fold):
        """Return the share of the score that is lost on rows held out, over all folds."""
        lost, kept = 0.0, 0.0
        for k in range(fold.max() + 1):
            small = self.fitted.with_vectors(*self._fit(n_vectors, np.flatnonzero(fold != k)))
            out = np.flatnonzero(fold == k)
            y = None if self.y is None else np.asarray(self.y)[out]
            seen = measure(self.original, small, self.blocks[0][out], y)
            lost, kept = lost + seen.loss, kept + seen.score_before
        return lost / max(abs(kept), np.finfo(float).tiny)

    def _fit(self, n_vectors, rows):
        """Return an expansion of some number of vectors, and its constants, fitted to some rows and their copies."""
        psi, blocks = self.fitted.expansion, [each[rows] for each in self.blocks]
        signs = None if self.signs is None else self.signs[rows]
        start = starts(blocks[0], self.scores[0][rows], signs, n_vectors, psi, self.seed)
        X, F = np.concatenate(blocks), np.concatenate([each[rows] for each in self.scores])
        found = refit(
            psi.kernel, start, X, F, None if signs is None else np.tile(signs, (len(blocks), 1)),
            copies=len(blocks), scale=self._scale(F), random_state=self.seed, callback=self.callback,
        )  # fmt: skip
        dtype = np.float32 if psi.coef is not None and psi.coef.dtype == np.float32 else np.float64
        points = found.points.astype(getattr(psi.points, "dtype", dtype))
        chi = Expansion(psi.kernel, points, found.coef.astype(dtype))
        return chi, self._thresholds(chi, found.intercept, rows)

    def _scale(self, F):
        """Return what scores are divided by: margins and coordinates have a unit in common, targets have none."""
        if self.signs is not None or hasattr(self.fitted.estimator, "transform"):
            return np.full(F.shape[1], 1.0 if self.signs is not None else _positive(F.std()))
        return np.array([_positive(spread) for spread in F.std(axis=0)])

    def _thresholds(self, chi, intercept, rows):
        """Return the constants; that of a one-class machine rejects as many rows as the original does."""
        if not hasattr(self.fitted.estimator, "nu") or not hasattr(self.original, "offset_"):
            return intercept
        outside = int(np.sum(self.scores[0][rows] < 0))
        values = np.sort(chi(self.blocks[0][rows])[:, 0].astype(np.float64))
        edge = values[[max(outside - 1, 0), min(outside, len(values) - 1)]].mean() if outside else values[0]
        return np.array([-edge])

    def _reported(self, estimator, size, error, reason):
        seen = None if self.X is None else measure(self.original, estimator, self.blocks[0], self.y)
        estimator = copy.copy(estimator)
        estimator.report_ = CompressionReport(self.size, size, np.asarray(error), seen, reason)
        return estimator


def _ladder(most):
    """Return numbers of vectors up to a largest one, each about a fifth above the one before."""
    sizes = [most]
    while sizes[-1] > 1:
        sizes.append(min(int(sizes[-1] / 1.2), sizes[-1] - 1))
    return sizes[::-1]


def _positive(value):
    return float(value) if value > 0 else 1.0
