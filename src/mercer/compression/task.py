"""One compression: a model, data, and the fits of vectors and intercepts to them."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector
from sklearn.utils.validation import column_or_1d

from mercer._common import ArrayLike, PointsLike, Seed
from mercer._compute.points import as_rows, count_points, dense, take_points
from mercer._compute.targets import refuse_targets
from mercer.compression import families
from mercer.compression.report import CompressionReport, measure, score_name
from mercer.compression.thresholds import fitted_intercepts
from mercer.expansion import Expansion
from mercer.formats import as_expansion
from mercer.linalg.generator import generator
from mercer.solvers.few_vectors.noise import refit_at_noise
from mercer.solvers.few_vectors.refit import LONGEST, refit
from mercer.solvers.few_vectors.starts import starts
from mercer.solvers.svm import one_vs_one

if TYPE_CHECKING:
    from mercer.compression.vectors import Vectors

_FOLDS = 3


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
        blocks = [self._rows(each) for each in [X, *copies]]
        n = count_points(blocks[0])
        if y is not None:
            refuse_targets(y)
            y = column_or_1d(y) if is_classifier(model) or np.shape(y)[1:] == (1,) else np.asarray(y)
            if len(y) != n:
                raise ValueError(f"X has {n} rows, y has {len(y)}; they must be equal.")
        outputs = [np.asarray(as_expansion(model)(each)) for each in blocks]
        if not self._selects and (outputs[0] == np.asarray(self.intercept)).all():
            raise ValueError(
                f"X has entries up to {np.abs(blocks[0]).max():.3g} and lies so far from the vectors of the model "
                "that its expansion is 0 on X; give points like those of the fit."
            )
        # signs of the predictions, and those of the labels
        self.own: Any = self._signs(outputs[0])
        signs = self.own if y is None else self._label_signs(y)
        rows, out = self._split(n, holdout)
        self.blocks: list[Any] = [take_points(each, rows) for each in blocks]
        self.outputs: list[Any] = [each[rows] for each in outputs]
        self.y, self.signs, self.own = (None if each is None else each[rows] for each in (y, signs, self.own))
        self.reported: tuple[Any, ...] = take_points(blocks[0], out), None if y is None else y[out]

    @property
    def _selects(self):
        # without gradients, as for objects, vectors of the model are selected
        return not self.psi.kernel.tags.differentiable

    def _split(self, n, holdout):
        """Return the rows of the fits and those of the report."""
        if holdout is None:
            return np.arange(n), np.arange(n)
        if n < 2:
            raise ValueError(f"X has {n} row, but holdout = {holdout!r} needs at least 2; leave out holdout.")
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

    def _signs(self, outputs):
        """Return the signs (n, m) of the classes that outputs are for, or None."""
        table = families.class_signs(self.model)
        if table is None:
            return None
        options = len(table), self.model.multi_class, self.model.break_ties
        return table[one_vs_one.decide(outputs, *options)]

    def _label_signs(self, y):
        """Return the signs (n, m) of labels, or None."""
        table = families.class_signs(self.model)
        if table is None:
            return None
        classes = self.model.classes_
        order = np.argsort(classes)
        codes = order[np.searchsorted(classes, y, sorter=order).clip(0, len(classes) - 1)]
        wrong = np.flatnonzero(classes[codes] != y)
        if len(wrong):
            raise ValueError(f"y[{wrong[0]}] = {y[wrong[0]]!r} must be one of the classes of the model, {classes}.")
        return table[codes]

    # --- answers -----------------------------------------------------------------------------------------------------

    def answer(self, n_vectors: float | None, max_loss: float | None) -> Any:
        """Return the model with a number of vectors, or with the fewest that lose at most a share of the score."""
        if self.vectors.allows_all(n_vectors):
            return self._unchanged(f"n_vectors = {n_vectors} allows all {self.vectors.most}")
        if max_loss is not None:
            return self._smallest(max_loss, self.vectors.number(n_vectors))
        return self._small(n_vectors, "the method fixes it" if n_vectors is None else f"n_vectors = {n_vectors}")

    def _unchanged(self, reason):
        """Return the model with all its vectors, in Mercer's class, with a report."""
        return self._reported(self.model, self.vectors.size, np.zeros(len(self.intercept)), reason)

    def _small(self, n_vectors, reason):
        """Return the model with fewer vectors, with a report."""
        if self.has_data:
            chi, intercept = self._fit(n_vectors, np.arange(count_points(self.blocks[0])))
        else:
            chi, intercept = self.vectors.reduced(n_vectors), self.intercept
        error = self.vectors.relative_error(chi)
        return self._reported(families.with_vectors(self.model, chi, intercept), chi.shape[0], error, reason)

    def _smallest(self, max_loss, n_vectors):
        """Return the model with the fewest vectors that lose at most a share of the score in cross-validation."""
        n, most = count_points(self.blocks[0]), self.vectors.most - 1
        fold = np.random.default_rng(self.seed).permutation(n) % min(_FOLDS, n)
        sizes = _sizes(min(most, n_vectors or most))
        good, low, high = None, 0, len(sizes) - 1
        while low <= high:
            middle = (low + high) // 2
            if self._loss(sizes[middle], fold) <= max_loss:
                good, high = middle, middle - 1
            else:
                low = middle + 1
        if good is not None:
            return self._small(sizes[good], f"the fewest that lose at most {max_loss:g} of the score")
        if n_vectors is not None:
            reason = f"n_vectors = {n_vectors}, with a loss of more than {max_loss:g} of the score"
            return self._small(sizes[-1], reason)
        return self._unchanged(f"fewer vectors lose more than {max_loss:g} of the score")

    # --- fits --------------------------------------------------------------------------------------------------------

    def _loss(self, n_vectors, fold):
        """Return the share of the score that is lost on held-out rows, over all folds."""
        lost, kept = 0.0, 0.0
        for k in range(fold.max() + 1):
            small = families.with_vectors(self.model, *self._fit(n_vectors, np.flatnonzero(fold != k), 1.0))
            out = np.flatnonzero(fold == k)
            y = None if self.y is None else self.y[out]
            seen = measure(self.model, small, take_points(self.blocks[0], out), y)
            lost, kept = lost + seen.loss, kept + seen.score_before
        return lost / max(abs(kept), np.finfo(float).tiny)

    def _fit(self, n_vectors, rows, longest=LONGEST):
        """Return an expansion of some number of vectors and its intercept, fitted to some rows and their copies."""
        if self.vectors.method is None:
            chi, intercept = self._fitted(self.vectors.number(n_vectors), rows, longest)
        else:
            chi, intercept = self.vectors.reduced(n_vectors), self.intercept
        # the fit to data has optimised all intercepts but that of an outlier detector
        if self.threshold == "none" or (self.vectors.method is None and not is_outlier_detector(self.model)):
            return chi, intercept
        values = chi(take_points(self.blocks[0], rows))
        y, signs = (None if each is None else each[rows] for each in (self.y, self.signs))
        return chi, fitted_intercepts(self.model, values, self.outputs[0][rows], y, signs)

    def _fitted(self, n_vectors, rows, longest):
        """Return new vectors and an intercept that approximate the outputs on some rows."""
        psi, blocks = self.psi, [each[rows] for each in self.blocks]
        F = np.concatenate([each[rows] for each in self.outputs])
        signs = None if self.signs is None else self.signs[rows]
        start = starts(blocks[0], F[: len(rows)], signs, n_vectors, psi.points, self.seed)
        options = {"scale": self._scale(F), "random_state": self.seed, "callback": self.callback, "longest": longest}
        kernel = psi.kernel
        if len(blocks) == 1:
            own = None if self.own is None else self.own[rows]
            kernel, found = refit_at_noise(kernel, start, blocks[0], F, self._answers, signs, own=own, **options)
        else:
            signs = None if signs is None else np.tile(signs, (len(blocks), 1))
            found = refit(kernel, start, np.concatenate(blocks), F, signs, copies=len(blocks), **options)
        dtype = np.float32 if psi.coef.dtype == np.float32 else np.float64
        points = found.points.astype(getattr(psi.points, "dtype", dtype))
        chi = Expansion(kernel, points, found.coef.astype(dtype))
        return chi, found.intercept

    def _answers(self, X):
        """Return the outputs of the model on rows, and the signs of its predictions or None."""
        outputs = np.asarray(as_expansion(self.model)(X))
        return outputs, self._signs(outputs)

    def _scale(self, F):
        """Return the unit of each column: 1 for decision values, one for all coordinates, one for each target."""
        if self.signs is not None:
            return np.ones(F.shape[1])
        deviations = np.full(F.shape[1], F.std()) if hasattr(self.model, "transform") else F.std(axis=0)
        return np.where(deviations > 0, deviations, 1.0)

    def _reported(self, estimator, size, error, reason):
        seen = measure(self.model, estimator, *self.reported) if self.has_data else None
        fitted = self.vectors.method is None and estimator is not self.model
        estimator, labelled = copy.copy(estimator), self.has_data and self.y is not None
        score = score_name(estimator, labelled)
        estimator.report_ = CompressionReport(
            self.vectors.size, size, np.asarray(error), seen, reason, score, self.held_out, fitted
        )
        return estimator


def _sizes(most):
    """Return numbers of vectors up to a largest one, with ratios of about 1.2."""
    sizes = [most]
    while sizes[-1] > 1:
        sizes.append(min(int(sizes[-1] / 1.2), sizes[-1] - 1))
    return sizes[::-1]
