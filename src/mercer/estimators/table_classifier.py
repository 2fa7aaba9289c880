"""TableClassifier: classification on a table by coded least squares with learned metrics, or support vectors."""

from typing import Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.model_selection import KFold

from mercer._common import Array, ArrayLike, PointsLike
from mercer.estimators.classifier import labels_of
from mercer.estimators.inherited import ClassifierMixin
from mercer.estimators.model import fits, on_device, storable_estimator
from mercer.estimators.svc import SVC
from mercer.estimators.svc_cv import SVCCV
from mercer.estimators.table import TableModel
from mercer.solvers.svm.multiclass import class_values, decide, is_paired

# Bounds of the logarithm of the inverse temperature.
_TEMPERATURES = (-3.0, 6.0)
# Values of C of support vector machines, among which folds choose.
_CS = np.logspace(-1, 3, 9)


@storable_estimator
class TableClassifier(ClassifierMixin, TableModel):
    r"""Classification on a table of numbers and categories, with nothing to prepare and nothing to choose.

    The stack of `TableRegressor` with one target for each class, 1 for its rows and 0 for others, and one target for
    two classes; or support vector machines of all pairs of classes, with one scale for all columns, where they err on
    fewer rows by more than chance. Least squares are better where classes overlap, support vectors where rules divide
    them. Probabilities are those of one temperature, the most likely for predictions of rows that were left out and
    of one row more, as much of each class, so that no class is certain:

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
        b, the shares of the classes; for two classes that of ``classes_[1]`` minus 1/2. Of support vector machines
        their intercepts.
    multi_class_ : {"ovr", "ovo"}
        Whether ``expansion_`` has a function for each class, or one for each pair, positive for the first of the two;
        then f_c are votes of pairs, and their values scaled to break equal votes, as for `SVC`.
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
    Time as for `TableRegressor`; each class takes some more. Kernels and C of support vector machines are chosen by
    5 folds of at most 2 000 rows, and the machine of the smallest error is compared with the stack on the rows that
    judge the stack. It is taken if it is right on w rows and wrong on l rows where the stack is not, and
    w - l > (w + l)^(1/2). Landmarks, and classes that these rows lack, are for the stack alone.

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
        classes, codes, weights = labels_of(X, y, sample_weight, "TableClassifier")
        Y = np.eye(len(classes))[codes]
        single = len(classes) == 2
        known = self._fit_table(X, Y[:, single:], weights)
        self.classes_: Array = classes
        self.multi_class_: str = "ovr"
        if single:
            self.intercept_ = self.intercept_ - 0.5
        # targets of mean 0 are positive for the class of a row only
        codes = self._scores(known.rows.Y).argmax(axis=1)
        values = self._by_support_vectors(
            known, codes, self._scores(known.predictions - 0.5 * single)
        )
        own = codes[known.judged, None]
        weights = known.rows.weights[known.judged]
        # one row more, as much of each class: rows without an error would have certain classes otherwise
        unseen = 1 / weights.sum()

        def loss(logarithm):
            found = log_softmax(np.exp(logarithm) * values, axis=1)
            likely = np.take_along_axis(found, own, axis=1)[:, 0] + unseen * found.mean(axis=1)
            return -float(weights @ likely)

        self.inverse_temperature_ = float(np.exp(minimize_scalar(loss, bounds=_TEMPERATURES).x))
        return self

    def _by_support_vectors(self, known, codes, values):
        """Take support vector machines if they err on fewer rows; return the values of the better, of judged rows."""
        rows = known.rows
        judged = known.judged
        own = codes[: judged.stop]
        is_whole = self._spanned(len(rows.X)) == len(rows.X)
        if not (judged.start and is_whole) or len(np.unique(own)) < len(self.classes_):
            return values
        searches = []
        for plain in known.plain:
            columns = plain.member.columns
            kernel = plain.member.over(columns)
            search = _Machines(kernel, Cs=_CS, cv=KFold(), refit=False, memory=self.memory)
            X = rows.X[: judged.stop, columns]
            searches.append((search.fit(X, own, rows.weights[: judged.stop]), columns))
        best, columns = max(searches, key=lambda each: each[0].best_score_)
        found = _all_classes(best.held_out_values_[judged])
        right, before = (each.argmax(axis=1) == own[judged] for each in (found, values))
        gain = rows.weights[judged] @ (right * 1.0 - before)
        if gain <= np.sqrt(rows.weights[judged] @ (right != before)):
            return values
        machines = SVC(best.C_, kernel=best.kernel_, memory=self.memory).fit(
            rows.X[:, columns], codes, rows.weights
        )
        self.columns_ = [known.columns[place] for place in columns]
        self.expansion_ = machines.expansion_
        self.kernel_ = machines.kernel_
        self.intercept_ = machines.intercept_
        self.multi_class_ = "ovo"
        return found

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
        return values[:, 0] if values.shape[1] == 1 else self._scores(values)

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
        places = decide(self._values(X), len(self.classes_), self.multi_class_)
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
        scores = self._scores(self._values(X))
        return softmax(self.inverse_temperature_ * scores, axis=1)

    def _scores(self, values):
        """Return the values (n, c) of all classes; of two classes, the first has 0."""
        c = len(self.classes_)
        return class_values(values, c) if is_paired(c, self.multi_class_) else _all_classes(values)


class _Machines(SVCCV):
    """A search among values of C that no user has chosen."""

    def _mention_edges(self):
        pass


def _all_classes(values):
    """Return values (n, c) of decision values of machines; of two classes, the first has 0."""
    values = values.reshape(len(values), -1)
    return np.column_stack([np.zeros(len(values)), values]) if values.shape[1] == 1 else values
