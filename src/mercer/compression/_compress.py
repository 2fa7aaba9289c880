"""compress: return a fitted kernel model with few vectors that approximates it."""

import copy

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d

from mercer._compute.points import as_rows, count_points, take_points
from mercer._compute.readable import refuse_container, refuse_unreadable
from mercer._compute.targets import refuse_targets
from mercer.compression import families
from mercer.compression.refit import refit
from mercer.compression.report import CompressionReport, measure
from mercer.compression.starts import starts
from mercer.expansion import Expansion, sqdist
from mercer.formats import as_expansion
from mercer.linalg.generator import generator
from mercer.reduction import reduce
from mercer.reduction._reduce import check_limits

_FOLDS = 3


def compress(
    model, X=None, y=None, *, n_vectors=None, max_loss=None, neighbours=None, random_state=None, callback=None
):
    r"""Return a fitted kernel model over a reduced set: few vectors, shared by all columns of its expansion.

    Without data the expansion is approximated in feature space, as ``mc.reduce(psi, n_vectors)`` does. With data the
    outputs F of the model on it (decision values, predictions or coordinates) are approximated:

    .. math:: \min_{Z, B, b} \sum_{ij} (F_{ij} - S_{ij})^2, \qquad F = \psi(X) + b_0, \quad S = k(X, Z) B + b.

    For classifiers, a second optimisation minimises
    :math:`\sum_{ij} |U_{ij}| (\mu (F_{ij} - S_{ij})^2 + \max(0, 1 - U_{ij} S_{ij})^2)`, where U is 1 or -1, the sign of
    the class of row i in binary classifier j, or 0 for other classes. mu is 0.1, or 0.01 if held-out rows show that
    fewer labels are then missed.

    Parameters
    ----------
    model : estimator, pipeline, str or path
        Fitted SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelRidge or KernelPCA of Mercer or of scikit-learn, the latter's
        GaussianProcessRegressor (its mean is kept), a pipeline that ends in one of these, a search with a
        ``best_estimator_``, or a text model of LIBSVM. It is not changed.
    X : rows (n, d), optional
        Data like those to be predicted, such as the training data.
    y : array (n,) or (n, m), optional
        Labels or targets. Classifiers are fitted to the labels where the model is wrong; regressors are fitted to the
        model alone, and the report compares both with y.
    n_vectors : int, optional
        Maximum number of distinct vectors over all columns. A model that has no more is returned with its vectors.
    max_loss : float, optional
        Largest loss of score, as a share of the score of the model (accuracy, R^2, or agreement with the model if y is
        None). The smallest number of vectors within this loss in cross-validation is used, at most ``n_vectors``. At
        least one of the two is needed.
    neighbours : callable, optional
        ``neighbours(X)`` returns perturbed copies of the rows of X with the same outputs, such as shifted or rotated
        images, as k arrays stacked to (k n, d): row i of each belongs to row i of X. In a pipeline they are made before
        the first step.
    random_state : int, RandomState, Generator or None
        For starts, folds, and the choice of rows if there are too many.
    callback : callable, optional
        ``callback(done, most)`` is called after every pass over the data with the number of passes and its maximum,
        from 1 in every fit; without data after every vector.

    Returns
    -------
    estimator or Pipeline
        Mercer's estimator of the same name, which predicts as the original does (votes of pairs, classes, offsets),
        with the outputs ``expansion_(X) + intercept_`` and a ``report_``. Of a pipeline only the final step is
        replaced. One-vs-one classifiers keep one column per pair.

    Raises
    ------
    TypeError
        For an unsupported model or a precomputed kernel; for y without X.
    ValueError
        If neither ``n_vectors`` nor ``max_loss`` is given, ``max_loss`` is given without X, a label is not a class of
        the model, or the rows of neighbours are not aligned.
    NotFittedError
        For a model that is not fitted.

    Notes
    -----
    At most 350 passes over data and neighbours, of n p (4 d + 2 p + 6 m) operations for p vectors; if there are more
    than 2^24 / p rows, a random subset is used. The search for ``max_loss`` takes about 8 fits in each of 3 folds.
    Vectors start from k-means of each class. For a kernel without a gradient, such as one on objects, vectors of the
    model are selected greedily and the outputs projected onto their features, whatever the data. The score in
    ``report_`` is on the given data: keep test data to measure the loss on other data.

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
    check_limits(n_vectors, "max_loss", max_loss)
    _check_data(X, y=y, max_loss=max_loss, neighbours=neighbours)
    model = getattr(model, "best_estimator_", model)
    copies = [] if neighbours is None else _copies(neighbours, X)
    if not hasattr(model, "steps"):
        return _compressed(model, X, y, copies, n_vectors, max_loss, random_state, callback)
    check_is_fitted(model)
    if len(model.steps) > 1:
        before = model[:-1]
        X = None if X is None else before.transform(X)
        copies = [before.transform(each) for each in copies]
    name, last = model.steps[-1]
    small = copy.copy(model)
    last = _compressed(last, X, y, copies, n_vectors, max_loss, random_state, callback)
    small.steps = [*model.steps[:-1], (name, last)]
    return small


def _check_data(X, **given):
    for name, value in given.items():
        if value is not None and X is None:
            raise TypeError(f"X is None, but {name} is given; give X, the data that {name} belongs to.")
    if X is not None:
        refuse_container(X, "X")
    neighbours = given["neighbours"]
    if neighbours is not None and not callable(neighbours):
        raise TypeError(f"neighbours must be a function of X, got {type(neighbours).__name__}.")


def _copies(neighbours, X):
    """Return the copies of the rows of X, one container per copy."""
    if hasattr(X, "shape"):
        refuse_unreadable(X, "X")
    try:
        stacked, n = neighbours(X), _num_samples(X)
        size = _num_samples(stacked)
    except Exception as error:
        error.add_note("Raised by neighbours(X), which must return k copies of the rows of X; give X that it takes.")
        raise
    if size == 0 or size % n:
        raise ValueError(
            f"neighbours returned {size} rows for the {n} rows of X; it must return k copies of every row, stacked to "
            "k n rows, row i of each copy belonging to row i of X."
        )
    return [take_points(stacked, slice(i, i + n)) for i in range(0, size, n)]


def _compressed(model, X, y, copies, n_vectors, max_loss, random_state, callback):
    model = families.read(model, _width(X))
    if model.kernel_.tags.points == "indices":
        raise TypeError(
            "compress needs points, but a precomputed kernel has only indices; select vectors of the model with "
            'mc.reduce(model.expansion_, n_vectors, method="greedy").'
        )
    task = Task(model, X, y, copies, random_state, callback)
    if n_vectors is not None and n_vectors >= task.size:
        return task.unchanged(f"n_vectors = {n_vectors} allows all {task.size}")
    if max_loss is None:
        return task.small(n_vectors, f"n_vectors = {n_vectors}")
    return task.smallest(max_loss, n_vectors)


def _width(X):
    """Return the number of columns of rows of numbers; None for other points, or without any."""
    if hasattr(X, "shape"):
        return X.shape[1] if len(X.shape) == 2 else None
    first = next(iter(X), None) if isinstance(X, (list, tuple)) else None
    return len(first) if first is not None and np.ndim(first) == 1 else None


class Task:
    """A model in Mercer's class, data, and the values that all numbers of vectors share."""

    def __init__(self, model, X, y, copies, random_state, callback=None):
        self.model, self.callback = model, callback
        self.psi, self.intercept = model.expansion_, model.intercept_
        # without gradients, as for objects, vectors of the model are selected
        self.selects = not model.kernel_.tags.differentiable
        rng = generator(random_state)
        draw = rng.integers if isinstance(rng, np.random.Generator) else rng.randint
        self.seed = int(draw(2**31 - 1))
        self.size = max(1, int(np.count_nonzero(self.psi.coef.any(axis=1))))
        self.X, self.y, self.selections = X, y, {}
        if X is None:
            return
        self.blocks = [self._rows(each) for each in [X, *copies]]
        if y is not None:
            refuse_targets(y)
            self.y = column_or_1d(y) if is_classifier(model) or np.shape(y)[1:] == (1,) else y
        if y is not None and len(y) != count_points(self.blocks[0]):
            raise ValueError(f"X has {count_points(self.blocks[0])} rows, y has {len(y)}; they must be equal.")
        self.outputs = [np.asarray(as_expansion(model)(each)) for each in self.blocks]
        if not self.selects and (self.outputs[0] == np.asarray(self.intercept)).all():
            raise ValueError(
                f"X has entries up to {np.abs(self.blocks[0]).max():.3g} and lies so far from the vectors of the model "
                "that its expansion is 0 on X; give points like those of the fit."
            )
        self.signs = self._signs()

    def _rows(self, X):
        if self.selects:
            return self.psi.kernel.admit(X, "X")
        X = families.dense(as_rows(X, "X"))
        d = self.psi.points.shape[1]
        if X.shape[1] != d:
            raise ValueError(f"X has {X.shape[1]} features, but the model has {d}; they must be equal.")
        return X

    def _signs(self):
        """Return the signs (n, m) of the rows by their labels, or by the predictions of the model without labels."""
        table = families.class_signs(self.model)
        if table is None:
            return None
        classes = self.model.classes_
        labels = self.model.predict(self.X) if self.y is None else np.asarray(self.y)
        order = np.argsort(classes)
        codes = order[np.searchsorted(classes, labels, sorter=order).clip(0, len(classes) - 1)]
        wrong = np.flatnonzero(classes[codes] != labels)
        if len(wrong):
            raise ValueError(
                f"y[{wrong[0]}] = {labels[wrong[0]]!r} must be one of the classes of the model, {classes}."
            )
        return table[codes]

    # --- answers -----------------------------------------------------------------------------------------------------

    def unchanged(self, reason):
        """Return the model with all its vectors, in Mercer's class, with a report."""
        return self._reported(self.model, self.size, np.zeros(len(self.intercept)), reason)

    def small(self, n_vectors, reason):
        """Return the model with fewer vectors, with a report."""
        if self.X is None:

            def progress(done, _error):
                if self.callback is not None:
                    self.callback(done, n_vectors)

            method = "greedy" if self.selects else "construct"
            answer = reduce(self.psi, n_vectors=n_vectors, method=method, callback=progress)
            chi, intercept = answer.expansion, self.intercept
        else:
            chi, intercept = self._fit(n_vectors, slice(None))
        left, size = np.sqrt(sqdist(self.psi, chi, paired=True)), self.psi.norms()
        error = np.where(size > 0, left / np.where(size > 0, size, 1), 0)
        return self._reported(families.with_vectors(self.model, chi, intercept), chi.shape[0], error, reason)

    def smallest(self, max_loss, n_vectors=None):
        """Return the model with the fewest vectors that lose at most a share of the score in cross-validation."""
        n = count_points(self.blocks[0])
        fold = np.random.default_rng(self.seed).permutation(n) % min(_FOLDS, n)
        sizes = _sizes(min(self.size - 1, n_vectors or self.size - 1))
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
        return self.unchanged(f"fewer vectors lose more than {max_loss:g} of the score")

    # --- fits --------------------------------------------------------------------------------------------------------

    def _loss(self, n_vectors, fold):
        """Return the share of the score that is lost on held-out rows, over all folds."""
        lost, kept = 0.0, 0.0
        for k in range(fold.max() + 1):
            small = families.with_vectors(self.model, *self._fit(n_vectors, np.flatnonzero(fold != k)))
            out = np.flatnonzero(fold == k)
            y = None if self.y is None else np.asarray(self.y)[out]
            seen = measure(self.model, small, take_points(self.blocks[0], out), y)
            lost, kept = lost + seen.loss, kept + seen.score_before
        return lost / max(abs(kept), np.finfo(float).tiny)

    def _fit(self, n_vectors, rows):
        """Return an expansion of some number of vectors and its intercept, fitted to some rows and their copies."""
        if self.selects:
            chi = self._selected(n_vectors)
            return chi, self._intercept(chi, self.intercept, rows)
        psi, blocks = self.psi, [each[rows] for each in self.blocks]
        signs = None if self.signs is None else self.signs[rows]
        start = starts(blocks[0], self.outputs[0][rows], signs, n_vectors, psi, self.seed)
        F = np.concatenate([each[rows] for each in self.outputs])
        found = refit(
            psi.kernel,
            start,
            np.concatenate(blocks),
            F,
            None if signs is None else np.tile(signs, (len(blocks), 1)),
            copies=len(blocks),
            scale=self._scale(F),
            random_state=self.seed,
            callback=self.callback,
        )
        dtype = np.float32 if psi.coef.dtype == np.float32 else np.float64
        points = found.points.astype(getattr(psi.points, "dtype", dtype))
        chi = Expansion(psi.kernel, points, found.coef.astype(dtype))
        return chi, self._intercept(chi, found.intercept, rows)

    def _selected(self, n_vectors):
        """Return the projection onto the features of some vectors of the model, computed once for each number."""
        if n_vectors not in self.selections:
            self.selections[n_vectors] = reduce(self.psi, n_vectors=n_vectors, method="greedy").expansion
        return self.selections[n_vectors]

    def _scale(self, F):
        """Return the unit of each column: 1 for decision values, one for all coordinates, one for each target."""
        if self.signs is not None:
            return np.ones(F.shape[1])
        deviations = np.full(F.shape[1], F.std()) if hasattr(self.model, "transform") else F.std(axis=0)
        return np.where(deviations > 0, deviations, 1.0)

    def _intercept(self, chi, intercept, rows):
        """Return the intercept; that of an outlier detector rejects as many rows as the original does."""
        if not (hasattr(self.model, "nu") and hasattr(self.model, "offset_")):
            return intercept
        outside = int(np.sum(self.outputs[0][rows] < 0))
        values = np.sort(chi(take_points(self.blocks[0], rows))[:, 0].astype(np.float64))
        edge = values[[max(outside - 1, 0), min(outside, len(values) - 1)]].mean() if outside else values[0]
        return np.array([-edge])

    def _reported(self, estimator, size, error, reason):
        seen = None if self.X is None else measure(self.model, estimator, self.blocks[0], self.y)
        estimator = copy.copy(estimator)
        estimator.report_ = CompressionReport(self.size, size, np.asarray(error), seen, reason)
        return estimator


def _sizes(most):
    """Return numbers of vectors up to a largest one, with ratios of about 1.2."""
    sizes = [most]
    while sizes[-1] > 1:
        sizes.append(min(int(sizes[-1] / 1.2), sizes[-1] - 1))
    return sizes[::-1]
