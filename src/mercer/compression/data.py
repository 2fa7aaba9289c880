"""Rows of a compression: points with the outputs of the model at them, targets, and signs of the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import _check_feature_names, column_or_1d

from mercer._common import Array, ArrayLike, PointsLike, record
from mercer._compute.points import as_rows, count_points, dense, owned, take_points
from mercer._compute.targets import as_real_targets, class_places, refuse_targets
from mercer.compression import families
from mercer.distributed import named_columns
from mercer.estimators.base import KernelEstimator
from mercer.expansion import Expansion, rows_of, with_intercept
from mercer.kernels.direct_sum import kernel_of_data, without_marks
from mercer.solvers.few_vectors.objective import Rows
from mercer.solvers.svm import multiclass


@record
class Data:
    """Rows and their copies (blocks), the outputs of a model at each block, targets, and signs (n, m) of the classes.

    ``own`` are the signs of the predicted classes, ``signs`` those of the labels, or ``own`` without labels; both are
    None for other models than classifiers, and ``y`` without targets.
    """

    blocks: list[Any]
    outputs: list[Array]
    y: Array | None
    signs: Array | None
    own: Array | None

    def __len__(self) -> int:
        return len(self.outputs[0])

    def take(self, places: Array) -> Data:
        """Return some of the rows and of their copies."""
        y, signs, own = (
            None if each is None else each[places] for each in (self.y, self.signs, self.own)
        )
        outputs = [each[places] for each in self.outputs]
        return Data([take_points(each, places) for each in self.blocks], outputs, y, signs, own)

    def rows(self, model: KernelEstimator) -> Rows:
        """Return rows and copies, stacked; units of outputs are 1 for decision values, and one for all coordinates."""
        copies = len(self.blocks)
        F = np.concatenate(self.outputs)
        own, signs = (
            None if each is None else np.tile(each, (copies, 1)) for each in (self.own, self.signs)
        )
        scale = 1.0
        if signs is None:
            deviations = (
                np.full(F.shape[1], F.std()) if hasattr(model, "transform") else F.std(axis=0)
            )
            scale = np.where(deviations > 0, deviations, 1.0)
        return Rows(np.concatenate(self.blocks), F, own, signs, scale=scale, copies=copies)


def read_data(
    model: KernelEstimator, X: PointsLike, y: ArrayLike | None, copies: list[Any]
) -> Data:
    """Return the rows X, their copies and targets y or None, or raise unless they fit the model."""
    if hasattr(model, "feature_names_in_"):
        _check_feature_names(model, named_columns(X), reset=False)
    # the report fits smaller numbers of vectors to them later
    blocks = [owned(_rows(model, each)) for each in [X, *copies]]
    y = None if y is None else _targets(model, y, count_points(blocks[0]))
    table = families.class_signs(model)
    signs = None if y is None or table is None else table[class_places(y, model.classes_)]
    psi = model.expansion_
    outputs, own = answers(model, psi, blocks[0])
    rows = kernel_of_data(model.kernel_).tags.differentiable
    if (
        rows
        and psi.coef.any()
        and blocks[0].any()
        and (outputs == np.asarray(model.intercept_)).all()
    ):
        raise ValueError(
            f"X has entries up to {np.abs(blocks[0]).max():.3g} and lies so far from the vectors of the model "
            "that its expansion is 0 on X; give points like those of the fit."
        )
    others = [answers(model, psi, each)[0] for each in blocks[1:]]
    return Data(blocks, [outputs, *others], y, own if y is None else signs, own)


def answers(model: KernelEstimator, psi: Expansion, X: PointsLike) -> tuple[Array, Array | None]:
    """Return the outputs of a model with the expansion psi on rows, and the signs (n, m) of their classes or None."""
    outputs = with_intercept(psi(X), model.intercept_)
    table = families.class_signs(model)
    return outputs, None if table is None else table[multiclass.decided(model, outputs)]


def _rows(model, X):
    if not kernel_of_data(model.kernel_).tags.differentiable:
        # vectors of the model are selected, as of objects
        return without_marks(model.kernel_, model.kernel_.admit(X, "X"))
    X = dense(as_rows(X, "X"))
    d = rows_of(model.expansion_).shape[1]
    if X.shape[1] != d:
        raise ValueError(f"X has {X.shape[1]} features, but the model has {d}; they must be equal.")
    return X


def _targets(model, y, n):
    """Return labels or targets as an array, or raise unless they fit n rows and the model."""
    refuse_targets(y)
    y = as_real_targets(y, type(model).__name__) if is_regressor(model) else y
    y = np.array(
        column_or_1d(y) if is_classifier(model) or np.shape(y)[1:] == (1,) else np.asarray(y)
    )
    if len(y) != n:
        raise ValueError(f"X has {n} rows, y has {len(y)}; they must be equal.")
    m = len(model.expansion_)
    if hasattr(model, "quantile") and m > 1 and y.ndim == 1:
        # all quantiles are of the same targets
        y = np.repeat(y[:, None], m, axis=1)
    if is_regressor(model) and y.size != n * m:
        raise ValueError(
            f"y has the shape {y.shape}, but the model has m = {m} targets; give y of shape (n, m)."
        )
    return y
