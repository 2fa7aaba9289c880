"""compress: return a fitted kernel model with few vectors that approximates it."""

from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _num_samples, check_is_fitted

from mercer._common import (
    AnyFunction,
    ArrayLike,
    PointsLike,
    Seed,
    check_choice,
    check_flag,
    check_fraction,
    check_function,
    shown,
)
from mercer._compute.devices import anywhere
from mercer._compute.memory import cut
from mercer._compute.points import refuse_nonfinite
from mercer._compute.readable import refuse_container, refuse_unreadable
from mercer._compute.threads import serial_blas
from mercer.compression import families
from mercer.compression.data import read_data
from mercer.compression.task import Task
from mercer.compression.vectors import Vectors, is_share
from mercer.estimators.base import require_classes
from mercer.estimators.table import TableModel
from mercer.kernels.direct_sum import kernel_of_data
from mercer.linalg.generator import drawn_seed
from mercer.reduction.methods import by_default, check_limits, check_reduction


@anywhere
def compress(
    model: Any,
    X: PointsLike | None = None,
    y: ArrayLike | None = None,
    *,
    n_vectors: int | float | None = None,
    max_loss: float | None = None,
    method: Any = None,
    shared: bool = True,
    threshold: str = "train",
    holdout: float | None = None,
    neighbours: AnyFunction | None = None,
    random_state: Seed = None,
    callback: AnyFunction | None = None,
) -> Any:
    r"""Return a fitted kernel model over a reduced set: few vectors, shared by all columns of its expansion.

    Without data the expansion is approximated in feature space, as ``mc.reduce(psi, n_vectors)`` does. With data the
    outputs F of the model on it (decision values, predictions or coordinates) are approximated:

    .. math:: \min_{Z, B, b} \sum_{ij} (F_{ij} - S_{ij})^2, \qquad F = \psi(X) + b_0, \quad S = k(X, Z) B + b.

    If there are few rows for the number of fitted coefficients, copies of the rows are added, with the outputs of the
    model at the copies, and a Gaussian kernel of a classifier may become wider. Copies have normal noise, or each of
    their numbers is that of one of two rows, as held-out rows decide.

    For classifiers, a second optimisation in Z, B and b fits the labels. With :math:`U_{ij} = \pm 1` the sign of
    :math:`F_{ij}` it minimises the sum of :math:`(F_{ij} - S_{ij})^2` where :math:`|F_{ij}| < 1`, and of
    :math:`\mu (F_{ij} - S_{ij})^2 + \max(0, 1 - U_{ij} S_{ij})^2` elsewhere, with mu = 0.01. Binary classifiers without
    the class of row i are left out. U is taken from the labels y instead of F with ``neighbours``, or if a short trial
    fit shows fewer errors on held-out rows. From 4 096 rows on the outputs must have fewer errors by a standard error,
    else U are the labels. Below, the labels must, or by two standard errors with copies; both trial fits are then
    to outputs of a model that is fitted without the held-out rows, and gamma is halved for labels, too. Fits to labels
    have no copies, the second term counts everywhere, and mu is 0.1, or 0.01 if this gives fewer errors on held-out
    rows.

    Parameters
    ----------
    model : estimator, pipeline, str or path
        Fitted SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelRidge or KernelPCA of Mercer or of scikit-learn, QuantileSVR,
        scikit-learn's GaussianProcessRegressor (its mean is kept), a pipeline that ends in one of these, a search with
        a ``best_estimator_``, or a text model of LIBSVM. It is not changed.
    X : rows (n, d), optional
        Data like those to be predicted, such as the training data.
    y : array (n,) or (n, m), optional
        Labels or targets, which the report compares both models with. Labels give the classes of the starts, and
        classifiers are fitted to them where that has fewer errors on held-out rows, or with ``neighbours``.
    n_vectors : int or float, optional
        Maximum number of distinct vectors over all columns, or that share of the vectors of the model, in (0, 1). A
        model that has no more is returned with its vectors, unless ``max_loss`` is given.
    max_loss : float, optional
        Largest loss of score, as a share of the score of the model (accuracy, R^2, D^2 of quantiles, or agreement with
        the model if y is None). The smallest number of vectors found within this loss on held-out rows is used, at most
        ``n_vectors``. At least one of the two is needed, unless ``method`` fixes the number, as ``L1(penalty=0.1)``.
    method : str or Method, optional
        Reduced-set method of `reduce`, such as "greedy" or ``Refine()``: its reduced set is that of the expansion of
        the model, and only the intercepts are fitted to the data. None fits vectors and coefficients to the data; where
        this is not possible (no data, a kernel without gradient, threshold "none") it is the default of `reduce`.
    shared : bool
        Whether all columns share their vectors. If not, ``method``, which is then needed, reduces each column alone,
        and ``n_vectors`` is the number or the share of the vectors of each column.
    threshold : {"train", "none"}
        Whether the intercepts of a reduced set are fitted to the rows of X: least squared hinge loss of each binary
        classifier, as many outliers as before, least squares of regressors on y, the quantiles of y, of other models
        least squares on the outputs of the model. "none" keeps them.
    holdout : float, optional
        Share of the rows of X, drawn at random, that is kept out of all fits and that the report is on. The model may
        know them: for scores on unseen data, give data that it was not fitted to.
    neighbours : callable, optional
        ``neighbours(X)`` returns perturbed copies of the rows of X with the same outputs, such as shifted or rotated
        images, as k arrays stacked to (k n, d): row i of each belongs to row i of X. In a pipeline they are made before
        the first step.
    random_state : int, RandomState, Generator or None
        For starts, folds, and the choice of rows if there are too many.
    callback : callable, optional
        ``callback(done, most)`` is called after every pass over the data with the number of passes and its maximum,
        from 1 in every fit, those that select the noise included; without data after every vector.

    Returns
    -------
    estimator or Pipeline
        Mercer's estimator of the same name, which predicts as the original does (votes of pairs, classes, offsets),
        with the outputs ``expansion_(X) + intercept_`` and a ``report_``. Of a pipeline only the final step is
        replaced. One-vs-one classifiers keep one column per pair. Of an ``SVCCV`` with ``calibration`` a copy with this
        estimator as ``best_estimator_`` and probabilities that are calibrated on X and y.

    Raises
    ------
    TypeError
        For an unsupported model; for y, max_loss, holdout or neighbours without X; for a method that does not apply to
        the kernel.
    ValueError
        If no number of vectors is given, a label is not a class of the model, the rows of neighbours are not aligned,
        or ``neighbours`` is given beside a method, which does not use them.
    NotFittedError
        For a model that is not fitted.

    Warns
    -----
    UserWarning
        For a model with probabilities that the result has not: without X and y, or of scikit-learn.

    Notes
    -----
    At most 300 passes over data and neighbours, of n p (4 d + 2 p + 6 m) operations for p vectors, or up to five times
    as many where that takes seconds and each coordinate of a vector has ten rows, fewer times with fewer rows; if there
    are more than 2^24 / p rows, a random subset is used. Of a classifier at most 120 of them are for the outputs, on a
    third of the rows, at least 8 192. Up to five copies of each row give ten equations for each fitted number. The
    deviation of their noise is the mean distance of a row to the 5 nearest rows over sqrt(d), or half of it, or copies
    take each number from one of two rows, and gamma is halved up to three times: at most eleven fits with a third of
    the passes compare these on every fourth row, and the last fit starts from the best. ``max_loss`` compares fits of
    1, 2, 4, ... vectors until one loses no more, and then up to three smaller ones that start from it, on the held-out
    rows of three folds, or fewer folds if these have 2 000. ``report_.at(n)`` returns a model of n < ``n_vectors``
    vectors by a third of the passes: the vectors of a larger fit that are needed most are moved on. Vectors start from
    k-means of each class. For a kernel without a gradient, such as one on objects or a given matrix, vectors of the
    model are selected greedily and the outputs projected onto their features, whatever the data. Vectors that replace
    those of several widths, or of several kernels in blocks, are of the Gaussian kernel or of the sum of the kernels.
    Without ``holdout`` the score in ``report_`` is on the rows of the fit. ``report_.verdict`` is one line.

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
    >>> mc.compress(model, X, y, n_vectors=0.1, method=mc.Greedy(), holdout=0.5).report_.held_out
    True
    """
    if isinstance(X, Real):
        raise TypeError(
            f"X must be training points, got {shown(X)}; write mercer.compress(model, X, y, n_vectors={shown(X)})."
        )
    method = check_reduction(method)
    check_limits(1 if is_share(n_vectors) else n_vectors, "max_loss", max_loss, method)
    _check_options(method, shared, threshold, holdout, neighbours)
    _check_data(X, y=y, max_loss=max_loss, holdout=holdout, neighbours=neighbours)
    check_function("callback", callback)
    # a ProgressBar, which lower layers do not import
    if hasattr(callback, "begin"):
        callback.begin("compress")
    search = families.last_of(model)
    if hasattr(search, "encode") and hasattr(search, "classes_") and y is not None:
        raise ValueError(
            "y must be None for TableClassifier, whose decision values are approximated; leave it out."
        )
    model = getattr(model, "best_estimator_", model)
    X, copies = _before_last(model, X, [] if neighbours is None else _copies(neighbours, X))
    model, replaced = families.read_last(model, _width(X))
    selects = not kernel_of_data(model.kernel_).tags.differentiable
    if method is None and (selects or X is None or threshold == "none"):
        method = by_default(model.kernel_)
    if copies and method is not None:
        raise ValueError(
            "neighbours is given, but only vectors that are fitted to data use it, which needs a kernel with a "
            "gradient and threshold = 'train'; leave out neighbours."
        )
    seed = drawn_seed(random_state)
    data = None if X is None else read_data(model, X, y, copies)
    if hasattr(search, "calibrators_") and y is not None:
        # each class has a curve of its own rows
        require_classes(search, np.unique(np.asarray(y)))
    task = Task(
        model, Vectors(model.expansion_, method, shared, callback), data, threshold, seed, holdout
    )
    with serial_blas:
        return replaced(families.recalibrated(search, task.answer(n_vectors, max_loss), X, y))


def _check_options(method, shared, threshold, holdout, neighbours):
    check_flag("shared", shared)
    check_choice("threshold", threshold, ("train", "none"))
    if holdout is not None:
        check_fraction("holdout", holdout)
    if not shared and method is None:
        raise ValueError(
            "shared is False, but method is None; give a method of reduce, such as method='construct'."
        )
    if neighbours is not None and method is not None:
        raise ValueError(
            f"neighbours is given, but method = {shown(method)} does not use data; leave out one of the two."
        )


def _check_data(X, **given):
    for name, value in given.items():
        if value is not None and X is None:
            raise TypeError(
                f"X is None, but {name} is given; give X, the data that {name} belongs to."
            )
    if X is not None:
        refuse_container(X, "X")
    check_function("neighbours", given["neighbours"])


def _copies(neighbours, X):
    """Return the copies of the rows of X, one container per copy."""
    if hasattr(X, "shape"):
        refuse_unreadable(X, "X")
    try:
        stacked = neighbours(X)
        n = _num_samples(X)
        size = _num_samples(stacked)
    except Exception as error:
        error.add_note(
            "Raised by neighbours(X), which must return k copies of the rows of X; give X that it takes."
        )
        raise
    if size == 0 or size % n:
        raise ValueError(
            f"neighbours returned {size} rows for the {n} rows of X; it must return k copies of every row, stacked to "
            "k n rows, row i of each copy belonging to row i of X."
        )
    # also of data frames
    (stacked,) = indexable(stacked)
    return [_safe_indexing(stacked, rows) for rows in cut(size, n)]


def _before_last(model, X, copies):
    """Return rows and their copies as the last step of a pipeline takes them, or as the kernels of a table model do."""
    if isinstance(model, TableModel):
        X = None if X is None else model.encode(X)
        copies = [model.encode(each) for each in copies]
    if len(getattr(model, "steps", ())) > 1:
        check_is_fitted(model)
        before = model[:-1]
        X = None if X is None else before.transform(X)
        copies = [before.transform(each) for each in copies]
    for each in copies:
        if getattr(getattr(each, "dtype", None), "kind", "") == "f" and not sp.issparse(each):
            refuse_nonfinite(each, "neighbours(X)")
    return X, copies


def _width(X):
    """Return the number of columns of rows of numbers; None for other points, or without any."""
    if hasattr(X, "shape"):
        return X.shape[1] if len(X.shape) == 2 else None
    first = next(iter(X), None) if isinstance(X, (list, tuple)) else None
    return len(first) if first is not None and np.ndim(first) == 1 else None
