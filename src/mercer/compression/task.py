"""One compression: a model, data, and the fits of vectors and intercepts to them."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector, is_regressor
from sklearn.utils.validation import _check_feature_names, column_or_1d

from mercer._common import Array, ArrayLike, PointsLike, Seed, shown
from mercer._compute.points import as_rows, count_points, dense, take_points
from mercer._compute.targets import as_real_targets, class_places, refuse_targets
from mercer.compression import families
from mercer.compression.curve import Curve, Fitted, fewest
from mercer.compression.report import CompressionReport, measure, score_name
from mercer.compression.thresholds import fitted_intercepts
from mercer.distributed.blocks import named_columns
from mercer.expansion import Expansion
from mercer.formats import as_expansion
from mercer.linalg.generator import generator
from mercer.solvers.few_vectors.elimination import most_needed
from mercer.solvers.few_vectors.noise import refit_again, refit_at_noise
from mercer.solvers.few_vectors.refit import LONGEST, SHORTER, refit
from mercer.solvers.few_vectors.starts import starts
from mercer.solvers.svm import pairs

if TYPE_CHECKING:
    from mercer.compression.vectors import Vectors

# Rows for each vector, and fewest rows, by which vectors are removed.
_SAMPLED, _ROWS = 16, 1024


class Task:
    """A model in Mercer's class, data, and the values that all numbers of vectors share."""

    model: Any
    vectors: Vectors
    threshold: str
    psi: Any
    intercept: Any
    callback: Any
    y: Any
    signs: Any

    def __init__(
        self,
        model: Any,
        X: PointsLike | None,
        y: ArrayLike | None,
        copies: list[Any],
        vectors: Vectors,
        threshold: str = "train",
        holdout: float | None = None,
        random_state: Seed = None,
    ) -> None:
        self.model, self.vectors, self.threshold = model, vectors, threshold
        self.psi, self.intercept, self.callback = model.expansion_, model.intercept_, vectors.callback
        rng = generator(random_state)
        draw = rng.integers if isinstance(rng, np.random.Generator) else rng.randint
        self.seed: int = int(draw(2**31 - 1))
        self.held_out: bool = holdout is not None
        self.has_data: bool = X is not None
        if not self.has_data:
            return
        _check_data(model, X, copies, vectors)
        blocks = [self._rows(each) for each in [X, *copies]]
        n = count_points(blocks[0])
        y = None if y is None else self._targets(y, n)
        signs = None if y is None else self._label_signs(y)
        outputs = [np.asarray(as_expansion(model)(each)) for each in blocks]
        far = not self._selects and self.psi.coef.any() and blocks[0].any()
        if far and (outputs[0] == np.asarray(self.intercept)).all():
            raise ValueError(
                f"X has entries up to {np.abs(blocks[0]).max():.3g} and lies so far from the vectors of the model "
                "that its expansion is 0 on X; give points like those of the fit."
            )
        self.own: Any = self._signs(outputs[0])
        signs = self.own if y is None else signs
        rows, out = self._split(n, holdout)
        self.blocks: list[Any] = [take_points(each, rows) for each in blocks]
        self.outputs: list[Any] = [each[rows] for each in outputs]
        self.y, self.signs, self.own = (None if each is None else each[rows] for each in (y, signs, self.own))
        self.reported: tuple[Any, ...] = take_points(blocks[0], out), None if y is None else y[out]

    @property
    def rows(self) -> Array:
        """The rows of all fits."""
        return np.arange(len(self.outputs[0]) if self.has_data else 0)

    @property
    def _selects(self):
        # without gradients, as for objects, vectors of the model are selected
        return not self.psi.kernel.tags.differentiable

    def _split(self, n, holdout):
        """Return the rows of the fits and those of the report."""
        if holdout is None:
            return np.arange(n), np.arange(n)
        if n < 2:
            raise ValueError(f"X has {n} row, but holdout = {shown(holdout)} needs at least 2; leave out holdout.")
        order = np.random.default_rng(self.seed).permutation(n)
        size = min(max(1, round(holdout * n)), n - 1)
        return np.sort(order[size:]), np.sort(order[:size])

    def _rows(self, X):
        if self._selects:
            return self.psi.kernel.admit(X, "X")
        X = dense(as_rows(X, "X"))
        d = self.psi.points.shape[1]
        if X.shape[1] != d:
            raise ValueError(f"X has {X.shape[1]} features, but the model has {d}; they must be equal.")
        return X

    def _targets(self, y, n):
        """Return labels or targets as an array, or raise unless they fit n rows and the model."""
        refuse_targets(y)
        y = as_real_targets(y, type(self.model).__name__) if is_regressor(self.model) else y
        y = column_or_1d(y) if is_classifier(self.model) or np.shape(y)[1:] == (1,) else np.asarray(y)
        if len(y) != n:
            raise ValueError(f"X has {n} rows, y has {len(y)}; they must be equal.")
        m = len(self.psi)
        if is_regressor(self.model) and y.size != n * m:
            raise ValueError(f"y has the shape {y.shape}, but the model has m = {m} targets; give y of shape (n, m).")
        return y

    def _signs(self, outputs):
        """Return the signs (n, m) of the classes that outputs are for, or None."""
        table = families.class_signs(self.model)
        return None if table is None else table[self._places(outputs)]

    def _places(self, outputs):
        """Return the places of the classes that outputs, or signs, are for."""
        model = self.model
        return pairs.decide(outputs, len(model.classes_), model.multi_class, model.break_ties)

    def _label_signs(self, y):
        """Return the signs (n, m) of labels, or None."""
        table = families.class_signs(self.model)
        if table is None:
            return None
        return table[class_places(y, self.model.classes_)]

    # --- answers -----------------------------------------------------------------------------------------------------

    def answer(self, n_vectors: float | None, max_loss: float | None) -> Any:
        """Return the model with a number of vectors, or with the fewest that lose at most a share of the score."""
        allows_all = self.vectors.allows_all(n_vectors)
        if max_loss is not None:
            return self._smallest(max_loss, None if allows_all else self.vectors.number(n_vectors))
        if allows_all:
            return self._unchanged(f"n_vectors = {n_vectors} allows all {self.vectors.most}")
        return self._small(n_vectors, "the method fixes it" if n_vectors is None else f"n_vectors = {n_vectors}")

    def _unchanged(self, reason):
        """Return the model with all its vectors, in Mercer's class, with a report."""
        return self._reported(self.model, self.vectors.size, np.zeros(len(self.intercept)), reason, Curve(self))

    def _small(self, n_vectors, reason):
        """Return the model with fewer vectors, with a report."""
        found = self.fitted(n_vectors, self.rows)
        return self.small(found, reason, Curve(self, found))

    def small(self, found: Fitted, reason: str, curve: Curve) -> Any:
        """Return the model with fitted vectors, with a report."""
        chi = found.expansion
        estimator = families.with_vectors(self.model, chi, found.intercept)
        return self._reported(estimator, chi.shape[0], self.vectors.relative_error(chi), reason, curve)

    def _smallest(self, max_loss, n_vectors):
        """Return the model with the fewest vectors that lose at most a share of the score on held-out rows."""
        if len(self.rows) < 2:
            raise ValueError(
                f"X has {len(self.rows)} row for fits, but max_loss = {shown(max_loss)} needs at least 2, one of which "
                "is held out; give n_vectors instead."
            )
        most = min(self.vectors.most - 1, n_vectors or self.vectors.most)
        size = fewest(self, max_loss, most)
        if size is not None:
            return self._small(size, f"the fewest that lose at most {max_loss:g} of the score")
        if n_vectors is not None:
            return self._small(most, f"n_vectors = {n_vectors}, with a loss of more than {max_loss:g} of the score")
        return self._unchanged(f"fewer vectors lose more than {max_loss:g} of the score")

    # --- fits --------------------------------------------------------------------------------------------------------

    def fitted(self, n_vectors: float | None, rows: Array, longest: float = LONGEST) -> Fitted:
        """Return some number of vectors fitted to some rows and their copies."""
        if self.vectors.method is not None:
            return self._with_intercept(Fitted(self.vectors.reduced(n_vectors), self.intercept), rows)
        n_vectors, blocks, F = self.vectors.number(n_vectors), *self._data(rows)
        signs = None if self.signs is None else self.signs[rows]
        start = starts(blocks[0], F[: len(rows)], signs, n_vectors, self.psi.points, self.seed)
        kernel, options = self.psi.kernel, self._options(F, longest)
        if len(blocks) > 1:
            return self._near(kernel, start, rows, **options)
        own = None if self.own is None else self.own[rows]
        labels = signs, partial(self._answers_afresh, rows)
        choice, found = refit_at_noise(kernel, start, blocks[0], F, self._answers, *labels, own=own, **options)
        return self._with_intercept(self._as_expansion(choice.kernel, found, choice), rows)

    def shrunk(self, larger: Fitted, n_vectors: int, rows: Array, longest: float = LONGEST) -> Fitted:
        """Return fewer vectors fitted to some rows: the most needed ones of a larger fit, moved by shorter descents."""
        chi, (blocks, F) = larger.expansion, self._data(rows)
        some = np.random.default_rng(self.seed).permutation(len(rows))[: max(_SAMPLED * len(chi.points), _ROWS)]
        start = chi.points[most_needed(chi.kernel(blocks[0][some], chi.points), chi.coef / self._scale(F), n_vectors)]
        options = self._options(F, longest)
        if larger.choice is None:
            return self._near(chi.kernel, start, rows, share=SHORTER, **options)
        signs, own = (None if each is None else each[rows] for each in (self.signs, self.own))
        found = refit_again(larger.choice, start, blocks[0], F, self._answers, signs, own=own, **options)
        return self._with_intercept(self._as_expansion(chi.kernel, found, larger.choice), rows)

    def _data(self, rows):
        """Return rows and their copies, and the outputs of the model at all of them, stacked."""
        return [each[rows] for each in self.blocks], np.concatenate([each[rows] for each in self.outputs])

    def _options(self, F, longest):
        return {"scale": self._scale(F), "random_state": self.seed, "callback": self.callback, "longest": longest}

    def _near(self, kernel, start, rows, **options):
        """Return the fit to rows and their copies."""
        blocks, F = self._data(rows)
        signs = None if self.signs is None else np.tile(self.signs[rows], (len(blocks), 1))
        found = refit(kernel, start, np.concatenate(blocks), F, signs, copies=len(blocks), **options)
        return self._with_intercept(self._as_expansion(kernel, found, None), rows)

    def _as_expansion(self, kernel, found, choice):
        """Return a fit in the types of the model."""
        dtype = np.float32 if self.psi.coef.dtype == np.float32 else np.float64
        points = found.points.astype(getattr(self.psi.points, "dtype", dtype))
        return Fitted(Expansion(kernel, points, found.coef.astype(dtype)), found.intercept, choice)

    def _with_intercept(self, found, rows):
        """Return a fit with the intercepts that suit some rows best."""
        # the fit to data has optimised all intercepts but that of an outlier detector
        if (
            not self.has_data
            or self.threshold == "none"
            or (self.vectors.method is None and not is_outlier_detector(self.model))
        ):
            return found
        values = found.expansion(take_points(self.blocks[0], rows))
        y, signs = (None if each is None else each[rows] for each in (self.y, self.signs))
        intercept = fitted_intercepts(self.model, values, self.outputs[0][rows], y, signs)
        return replace(found, intercept=intercept)

    def _answers(self, X, model=None):
        """Return the outputs of the model, or another one, on rows, and the signs of its predictions or None."""
        outputs = np.asarray(as_expansion(self.model if model is None else model)(X))
        return outputs, self._signs(outputs)

    def _answers_afresh(self, rows, some):
        """Return ``_answers`` of a classifier fitted to some of the rows; None where these lack a class."""
        rows = rows[some]
        places = self._places(self.signs[rows])
        if len(np.unique(places)) < len(self.model.classes_):
            return None
        return partial(self._answers, model=families.fitted_again(self.model, self.blocks[0][rows], places))

    def _scale(self, F):
        """Return the unit of each column: 1 for decision values, one for all coordinates, one for each target."""
        if self.signs is not None:
            return np.ones(F.shape[1])
        deviations = np.full(F.shape[1], F.std()) if hasattr(self.model, "transform") else F.std(axis=0)
        return np.where(deviations > 0, deviations, 1.0)

    def _reported(self, estimator, size, error, reason, curve):
        seen = measure(self.model, estimator, *self.reported) if self.has_data else None
        fitted = self.vectors.method is None and estimator is not self.model
        estimator, labelled = copy.copy(estimator), self.has_data and self.y is not None
        score = score_name(estimator, labelled)
        estimator.report_ = CompressionReport(
            self.vectors.size, size, np.asarray(error), seen, reason, score, self.held_out, fitted
        )
        estimator.report_.attach(partial(curve.at, estimator))
        return estimator


def _check_data(model, X, copies, vectors):
    """Raise unless X has the columns of the model, and copies of it are used."""
    if copies and vectors.method is not None:
        raise ValueError(
            "neighbours is given, but only vectors that are fitted to data use it, which needs a kernel with a "
            "gradient and threshold = 'train'; leave out neighbours."
        )
    if hasattr(model, "feature_names_in_"):
        _check_feature_names(model, named_columns(X), reset=False)
