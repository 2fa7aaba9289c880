"""VirtualSupportVectors: a support vector machine that is fitted again with moved copies of its support vectors."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._common import Array, ArrayLike, PointsLike, shown
from mercer._compute.objects import Table, as_objects, as_table
from mercer._compute.points import as_rows, count_points, join_points, point_keys, take_points
from mercer.estimators._wrapper import Wrapper
from mercer.estimators.base import count_rows
from mercer.estimators.model import Model, fits, storable_estimator

# Attributes of the fitted estimator that this one shows too.
_SHOWN = (
    "classes_",
    "expansion_",
    "intercept_",
    "kernel_",
    "n_features_in_",
    "feature_names_in_",
    "offset_",
)


@storable_estimator
class VirtualSupportVectors(Model, Wrapper):
    """A support vector machine fitted twice: to the data, then to its support vectors and moved copies of them.

    Functions that move points without changing their class, such as shifts of images by one pixel, state prior
    knowledge. Only support vectors are moved, since the others do not matter for the solution. The second fit takes the
    support vectors of the first and one virtual copy for each move; copies have the targets and sample weights of their
    originals. Of several equal rows with equal targets all are taken or none, so that a row with the weight 2 counts as
    two rows.

    Parameters
    ----------
    estimator : estimator
        Support vector machine with the fitted attributes ``support_`` and ``support_vectors_``: SVC, NuSVC, SVR, NuSVR,
        OneClassSVM and SVDD of Mercer, and those of scikit-learn. It is cloned; set its parameters as ``estimator__C``.
    moves : callable or list of callables
        Functions of points (m) that return the moved points (m), row i the copy of row i. A transformation g(X, t) of
        ``mercer.invariance`` is a move for a fixed t: ``functools.partial(g, t=1)``.

    Attributes
    ----------
    estimator_ : estimator
        The second fit, or the first where it has no support vectors (a constant).
    support_ : int array (m,)
        Training rows that are support vectors of the first fit, and rows equal to one of these.
    n_virtual_ : int
        Number of moved copies.
    classes_, expansion_, intercept_, kernel_, n_features_in_
        Attributes of ``estimator_``, where it has them.

    Raises
    ------
    TypeError
        When ``estimator`` has no support vectors or takes a matrix of kernel values, or a move is not a function.
    ValueError
        When a move returns another number of points or columns, or values that are not finite.

    Notes
    -----
    A method is available if the wrapped estimator has it. The second fit has (1 + number of moves) times the support
    vectors of the first. ``mercer.save`` takes a model of an estimator of Mercer if each move is ``functools.partial``
    of a transformation of `mercer.invariance.image_transforms`; for other functions save ``estimator_``.

    References
    ----------
    Schoelkopf, Burges, Vapnik, *Incorporating invariances in support vector learning machines*, ICANN 1996.
    DeCoste, Schoelkopf, *Training invariant support vector machines*, Machine Learning 46 (2002), section 2.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [3.0, 4.0]]), [0, 0, 1, 1]
    >>> def turned(X):                        # a quarter turn
    ...     return X @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> model = mc.VirtualSupportVectors(mc.SVC(C=np.inf, kernel=mc.Polynomial(2)), [turned]).fit(X, y)
    >>> model.n_virtual_, model.predict([[0.0, 4.0], [-1.0, 0.0]])
    (3, array([1, 0]))
    """

    _wanted = "a support vector machine, such as SVC()"

    moves: Any

    @fits
    def fit(
        self, X: PointsLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the estimator to training points, and again to its support vectors and their moved copies.

        Parameters
        ----------
        X : points (n)
        y : array (n,), optional
            Targets of the wrapped estimator.
        sample_weight : array (n,), optional
            Weights; a copy has that of its original.

        Returns
        -------
        self
        """
        moves = _checked_moves(self.moves)
        inner, sample_weight = self._for_fit(X, y, sample_weight)
        if get_tags(inner).input_tags.pairwise:
            raise TypeError(
                f"estimator = {type(inner).__name__} takes kernel values, which cannot be moved; give it a kernel of "
                "points."
            )
        rows = np.arange(count_rows(X))
        if sample_weight is not None and not sample_weight.all():
            # ``support_`` of scikit-learn counts rows of positive weight only
            rows = np.flatnonzero(sample_weight)
            X, y, sample_weight = (
                each if each is None else _safe_indexing(each, rows)
                for each in indexable(X, y, sample_weight)
            )
        first = _fit(inner, X, y, sample_weight)
        y = column_or_1d(y, warn=True) if get_tags(inner).target_tags.required else None
        support, vectors = _support(first, X, y)
        moves = moves if len(support) else {}
        copies = [_moved(move, vectors, name) for name, move in moves.items()]
        targets, weights = (
            None if each is None else np.tile(each[support], 1 + len(copies))
            for each in (y, sample_weight)
        )
        # a constant has no support vectors
        second = (
            _fit(clone(inner), join_points([vectors, *copies]), targets, weights)
            if copies
            else first
        )
        if hasattr(first, "feature_names_in_"):
            second.feature_names_in_ = first.feature_names_in_
        self.estimator_: Any = second
        self.support_: Array = rows[support]
        self.n_virtual_: int = len(support) * len(copies)
        return self

    def _apply(self, method, X, *args, **options):
        """Return the result of a method of the second fit."""
        check_is_fitted(self)
        return getattr(self.estimator_, method)(X, *args, **options)

    def __getattr__(self, name: str) -> Any:
        if name in _SHOWN and "estimator_" in vars(self):
            return getattr(self.estimator_, name)
        return super().__getattr__(name)

    def __sklearn_tags__(self):
        tags = get_tags(self.estimator)
        # the wrapped estimator gets arrays of NumPy
        tags.array_api_support = True
        return tags


def _checked_moves(moves):
    """Return the moves by the texts that errors name them by, or raise."""
    single = callable(moves)
    if not single and not (isinstance(moves, (list, tuple)) and moves):
        raise TypeError(
            f"moves must be a list of functions of points, at least one, got {shown(moves)}."
        )
    found = {"moves": moves} if single else {f"moves[{i}]": move for i, move in enumerate(moves)}
    for name, move in found.items():
        if not callable(move):
            raise TypeError(
                f"{name} must be a function of points, got {shown(move)} of type {type(move).__name__}."
            )
    return found


def _fit(estimator, X, y, sample_weight):
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    estimator.fit(X, **weights) if y is None else estimator.fit(X, y, **weights)
    if not (hasattr(estimator, "support_") and hasattr(estimator, "support_vectors_")):
        raise TypeError(
            f"estimator = {type(estimator).__name__} has no support_ and support_vectors_ after fit; give a support "
            "vector machine."
        )
    return estimator


def _support(model, X, y):
    """Return the training rows that equal a support vector, target included, and their points.

    Which of several equal rows is a support vector depends on the solver: only the sum of their coefficients is given.
    """
    vectors = model.support_vectors_
    points = point_keys(_like(X, vectors, "X"))
    own = np.asarray(model.support_)
    keys = list(points if y is None else zip(points, y.tolist(), strict=True))
    place = {keys[row]: i for i, row in enumerate(own)}
    found = {row: place[key] for row, key in enumerate(keys) if key in place}
    if len(found) == len(own):
        return own, vectors
    rows = np.array(list(found))
    return rows, take_points(vectors, np.array(list(found.values())))


def _like(points, vectors, name):
    """Return points in the form of the support vectors of a model."""
    if isinstance(vectors, Table):
        return as_table(points, name)
    if hasattr(vectors, "shape"):
        # a table of sparse columns becomes an array
        return as_rows(points, name, vectors.dtype)
    # moved copies may be those of a generator or of map
    return as_objects(list(points) if isinstance(points, Iterator) else points, name)


def _moved(move, vectors, name):
    """Return moved copies of support vectors, or raise unless they are aligned with them."""
    try:
        # a move may work in place
        copies = move(deepcopy(vectors))
    except Exception as error:
        error.add_note(
            f"Raised by {name} for {count_points(vectors)} support vectors; a transformation g(X, t) is a "
            "move for a fixed t: functools.partial(g, t=1)."
        )
        raise
    copies = _like(copies, vectors, name)
    found, expected = map(_shape, (copies, vectors))
    if found != expected:
        raise ValueError(
            f"{name} must return one moved copy of each of the support vectors, of shape {expected}, got {found}; give "
            "a function that keeps rows and columns."
        )
    return copies


def _shape(points):
    """Return the numbers of points and of columns, if points have columns."""
    if isinstance(points, Table):
        return len(points), len(points.columns)
    return tuple(points.shape) if hasattr(points, "shape") else (len(points),)
