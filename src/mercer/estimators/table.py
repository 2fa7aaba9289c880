"""TableModel, the mixin of estimators for tables: encoded columns, learned metrics, and a stack as one expansion."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._common import Array, Memory, PointsLike, Seed, check_integer
from mercer._compute.memory import Size, parse_memory, required
from mercer._compute.points import take_points
from mercer.distributed import InMemory
from mercer.estimators.columns import Column, deviation_of, encode, encoded, read_table, scaled
from mercer.estimators.inherited import BaseEstimator
from mercer.estimators.model import Model, attribute, estimator_mixin, on_device
from mercer.expansion import Expansion, direct_sum, features, summands, values_at, with_intercept
from mercer.learning import members
from mercer.learning.members import Fitted, Rows
from mercer.learning.tuning import distinct
from mercer.linalg.generator import generator
from mercer.linalg.operators import InnerProducts
from mercer.solvers import ridge

# Most rows that all span a model if ``n_landmarks`` is None, and landmarks of more.
_WHOLE = 8000
_LANDMARKS = 3000


class Known(NamedTuple):
    """The different rows in random order with their columns, members of one scale, and predictions of judged rows.

    Targets are those of the judged rows, predictions by leave-one-out.
    """

    rows: Rows
    columns: list[Column]
    plain: list[Fitted]
    judged: slice
    targets: Array
    predictions: Array


@estimator_mixin
class TableModel(Model, BaseEstimator):
    """Mixin of estimators for tables."""

    n_landmarks: int | None = None
    memory: Memory = "1GB"
    random_state: Seed = None

    _doc_link_module = "mercer"

    @on_device
    def encode(self, X: PointsLike) -> Array:
        """Return the rows of numbers that a table becomes, the points of ``expansion_``.

        Parameters
        ----------
        X : table (n_test)

        Returns
        -------
        array (n_test, q)
            A column for each of ``columns_``.
        """
        check_is_fitted(self)
        return encode(self.columns_, read_table(self, X, reset=False))

    @attribute
    def feature_importances_(self) -> Array:
        """Share of each column of the table in the gradients of the predictions (n_features_in_,).

        Sums of squared mean sizes of gradients in scaled columns, times the deviation of the column, at some rows of
        the fit; means of sizes, since a few far rows dominate means of squares. Sizes of both scalings of a number add
        up.
        """
        check_is_fitted(self)
        rows = summands(self.expansion_)[0].points[: members.COMPARED]
        slopes = np.mean(np.abs(self.expansion_.gradient(rows)), axis=(0, 1)) * rows.std(axis=0)
        sources = [column.source for column in self.columns_]
        is_number = np.array([column.kind == "number" for column in self.columns_])
        numbers = np.bincount(sources, slopes * is_number, self.n_features_in_)
        shares = numbers**2 + np.bincount(sources, slopes**2 * ~is_number, self.n_features_in_)
        return shares / (shares.sum() or 1.0)

    def _fit_table(self, X, Y, weights):
        """Fit targets Y (n, p), and return what is known of the different rows."""
        rng = generator(self.random_state)
        budget = parse_memory(self.memory)
        table = read_table(self, X, reset=True)
        used = np.flatnonzero(weights)
        table = take_points(table, used)
        columns = encoded(table, weights[used])
        # a row that is left out is known from no other row
        raw, Y, weights = distinct(
            np.column_stack([column.raw(table) for column in columns]), Y[used], weights[used]
        )
        order = rng.permutation(len(Y))
        raw = raw[order].T
        Y = Y[order]
        weights = weights[order]
        size = Size(len(Y), budget, d=len(columns))
        route = required(self._routes(size), size, type(self).__name__)
        mean = weights @ Y / weights.sum()
        deviation = deviation_of(Y - mean, weights) or 1.0

        columns, scalings, X = _scalings(columns, raw, weights)
        known = Rows(X, (Y - mean) / deviation, weights / weights.mean())
        plain = members.plain_members(known, scalings)
        stack = members.search(known, plain, rng)
        used = np.unique(np.concatenate([member.columns for member in stack.members]))
        own = known._replace(X=X[:, used])
        psis = [self._ridge(route, member, used, own, budget) for member in stack.members]
        self.columns_ = [columns[place] for place in used]
        self.expansion_: Expansion = direct_sum(
            *(deviation * weight * psi for weight, psi in zip(stack.weights, psis, strict=True))
        )
        self.kernel_ = self.expansion_.kernel
        self.intercept_: Array = mean
        predictions = mean + deviation * stack.predictions
        return Known(known, columns, plain, stack.judged, Y[stack.judged], predictions)

    def _ridge(self, route, member, columns, rows, budget):
        """Return the expansion of a member fitted to all rows, which have some of the columns."""
        kernel = member.over(columns)
        problem = rows.Y, member.ridge, rows.weights
        if route.name != "landmarks":
            products = InnerProducts(features(kernel, rows.X), budget)
            return route.run(products, *problem).expansion
        # the rows are in random order
        onto = features(kernel, rows.X[: self._spanned(len(rows.X))])
        return route.run(InMemory(rows.X), onto, *problem, memory=budget).expansion

    def _spanned(self, n):
        """Return the number of rows that span the model."""
        return min(n, int(self.n_landmarks or 0) or (n if n <= _WHOLE else _LANDMARKS))

    def _routes(self, size):
        if self.n_landmarks is not None:
            check_integer("n_landmarks", self.n_landmarks)
        m = self._spanned(size.n)
        found = ridge.routes(size, 1.0, None if m == size.n else (m, "uniform"))
        searched = members.work(size.n)
        return [replace(each, work=each.work * len(members.KERNELS) + searched) for each in found]

    def _values(self, X):
        rows = self.encode(X)
        return with_intercept(values_at(self.expansion_, rows), self.intercept_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _scalings(columns, raw, weights):
    """Return scaled columns, the places of those with standardised numbers and of those with ranks, and the rows.

    Columns that have no ranks are in both.
    """
    numbers, ranks = (
        [scaled(*each, weights, ranked) for each in zip(columns, raw, strict=True)]
        for ranked in (False, True)
    )
    ranked = [k for k, column in enumerate(ranks) if len(column.knots) > len(numbers[k].knots)]
    found = numbers + [ranks[k] for k in ranked]
    d = len(columns)
    places = [np.arange(d)]
    if ranked:
        places.append(np.concatenate([np.setdiff1d(places[0], ranked), np.arange(d, len(found))]))
    values = [*raw, *(raw[k] for k in ranked)]
    X = np.stack([column.scaled(own) for column, own in zip(found, values, strict=True)], axis=1)
    return found, places, X
