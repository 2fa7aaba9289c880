"""TableClassifier: classification on a table by a stack of coded least squares with learned metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from mercer._common import Array, ArrayLike, PointsLike, check_weights
from mercer._compute.storable import storable
from mercer.estimators._classifier import one_class
from mercer.estimators._inherited import ClassifierMixin
from mercer.estimators._model import fits, on_device
from mercer.estimators._rows import as_labels
from mercer.estimators._table import TableModel

# Bounds of the logarithm of the inverse temperature.
_TEMPERATURES = (-3.0, 6.0)


@storable
@dataclass(eq=False, repr=False)
class TableClassifier(ClassifierMixin, TableModel):
    r"""Classification on a table of numbers and categories, with nothing to prepare and nothing to choose.

    The stack of `TableRegressor` with one target for each class, 1 for its rows and 0 for others, and one target for
    two classes. Probabilities are those of one temperature, the most likely for the leave-one-out predictions:

    .. math:: p_c(x) \propto \exp(\beta f_c(x))

    Parameters
    ----------
    n_landmarks : int, optional
        Number of rows that span the model, drawn at random; by default all up to 8 000, and 3 000 of more.
    memory : str or int
        Memory limit, in bytes, of stored matrices.
    random_state : int, RandomState or None
        Seed of the order of the rows, which decides what metrics are learned from. None is 0.

    Attributes
    ----------
    classes_ : array (c,)
    columns_ : list
        A readable record for each column of numbers: its source, kind, levels and scale.
    expansion_ : Expansion
        The functions f - b, over a ``DirectSum`` of the kernels; their points are rows of ``encode``.
    intercept_ : array (c,), or (1,) for two classes
        b, the shares of the classes; for two classes that of ``classes_[1]`` minus 1/2.
    kernel_ : Kernel
        That of ``expansion_``.
    inverse_temperature_ : float
        beta.
    feature_importances_ : array (n_features_in_,)
        Share of each column of the table in the gradients of the decision values.
    n_features_in_ : int

    See Also
    --------
    TableRegressor : The members, the metrics, and all choices.

    Notes
    -----
    Time as for `TableRegressor`; each class takes some more.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger, *On calibration of modern neural networks*, ICML (2017): the temperature.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 5))
    >>> y = np.where(X[:, 0] ** 2 + X[:, 1] ** 2 < 1.4, "inside", "outside")
    >>> model = mc.TableClassifier().fit(X[:150], y[:150])
    >>> round(model.score(X[150:], y[150:]), 1), model.feature_importances_.round(1)
    (0.9, array([0.5, 0.5, 0. , 0. , 0. ]))
    """

    @fits
    def fit(self, X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : table (n)
            As for `TableRegressor`.
        y : array (n,)
            Class labels, of at least two classes.
        sample_weight : array (n,), optional
            Weights, at least 0.

        Returns
        -------
        self
        """
        y = as_labels(X, y, "TableClassifier")
        weights = check_weights("sample_weight", sample_weight, len(y))
        used = np.flatnonzero(weights)
        classes, codes = np.unique(y[used], return_inverse=True)
        if len(classes) == 1:
            raise one_class("TableClassifier", classes[0], sample_weight)
        Y = np.zeros((len(y), len(classes)))
        Y[used, codes] = 1
        single = len(classes) == 2
        found = self._fit_table(X, Y[:, single:], weights)
        self.classes_: Array = classes
        if single:
            self.intercept_ = self.intercept_ - 0.5
        scores, own = _scores(found.X - 0.5 * single), _scores(found.Y - 0.5 * single).argmax(axis=1)[:, None]

        def loss(logarithm):
            known = np.take_along_axis(log_softmax(np.exp(logarithm) * scores, axis=1), own, axis=1)
            return -float(found.weights @ known[:, 0])

        self.inverse_temperature_ = float(np.exp(minimize_scalar(loss, bounds=_TEMPERATURES).x))
        return self

    @on_device
    def decision_function(self, X: PointsLike) -> Array:
        """Return the decision values of new rows.

        Parameters
        ----------
        X : table (n_test)

        Returns
        -------
        array (n_test, c), or (n_test,) for two classes
            For two classes positive for ``classes_[1]``.
        """
        values = self._values(X)
        return values[:, 0] if values.shape[1] == 1 else values

    @on_device
    def predict(self, X: PointsLike) -> Array:
        """Predict the classes of new rows.

        Parameters
        ----------
        X : table (n_test)

        Returns
        -------
        array (n_test,)
        """
        places = _scores(self._values(X)).argmax(axis=1)
        return self.classes_[places]

    @on_device
    def predict_proba(self, X: PointsLike) -> Array:
        """Return the probabilities of the classes of new rows.

        Parameters
        ----------
        X : table (n_test)

        Returns
        -------
        array (n_test, c)
        """
        scores = _scores(self._values(X))
        return softmax(self.inverse_temperature_ * scores, axis=1)


def _scores(values):
    """Return values (n, c) for all classes; of two classes, the first has 0."""
    return np.column_stack([np.zeros(len(values)), values]) if values.shape[1] == 1 else values
