"""Reports of compressions: numbers of vectors, distances in feature space, scores and changed predictions."""

import copy
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector

from mercer._common import TINY, Array, array_record, as_float64, record, shown
from mercer._compute import html
from mercer._compute.devices import Place, moved
from mercer._compute.points import sum_squares
from mercer._compute.register import storable
from mercer._compute.threads import serial_blas
from mercer.compression.vectors import is_share
from mercer.estimators.base import KernelEstimator
from mercer.reduction.methods import check_limits


@storable
@record
class Measured:
    """Scores of two models on the same rows.

    Attributes
    ----------
    rows : int
    score_before, score_after : float
        Accuracy of classifiers, agreement of outlier detectors with the original, R^2 of regressors, D^2 of quantiles,
        and R^2 of the coordinates of KernelPCA against the original ones.
    standard_error : float
        Of score_after, over the rows.
    standard_error_of_loss : float
        Of score_before - score_after, over the same rows, pair by pair.
    changed : float
        Share of predictions that changed; values and coordinates count if they change by more than a tenth of their
        standard deviation.
    """

    rows: int
    score_before: float
    score_after: float
    standard_error: float
    standard_error_of_loss: float
    changed: float

    @property
    def loss(self) -> float:
        """score_before - score_after."""
        return self.score_before - self.score_after


@storable
@array_record
class CompressionReport:
    """Numbers of vectors, distances and scores before and after a compression.

    Attributes
    ----------
    vectors_before, vectors_after : int
        Distinct vectors over all columns, the kernel evaluations per prediction.
    relative_error : array (m,)
        |psi_j - psi'_j| / |psi_j| in feature space. It may be large for a model fitted to outputs on data, because of
        directions without data; wider Gaussian functions are long vectors in many dimensions. The text then leaves it
        out.
    measured : Measured or None
        Scores on the data that the compressed model was fitted to, or on the rows held out; None without data.
    reason : str
        The reason for the number of vectors.
    score : str
        Name of the score: "accuracy", "agreement", "R^2" or "D^2".
    held_out : bool
        Whether the scores are on rows that were held out.
    fitted_to_outputs : bool
        Whether the vectors were fitted to outputs or labels on data, not to the vectors psi_j.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.compression import CompressionReport
    >>> print(CompressionReport(2639, 250, np.array([0.3, 0.1]), None, "n_vectors = 250"))
    10.6 times smaller, relative error 0.3 in feature space
    2639 vectors before, 250 after (kernel evaluations of a prediction): n_vectors = 250
    relative error in feature space: 0.3 at worst, 0.2 in the mean over 2 vectors
    """

    vectors_before: int
    vectors_after: int
    relative_error: np.ndarray
    measured: Measured | None
    reason: str
    score: str = "score"
    held_out: bool = False
    fitted_to_outputs: bool = False

    @property
    def verdict(self) -> str:
        """One line: how much smaller the model is, and the scores before and after with their paired difference."""
        times = self.vectors_before / self.vectors_after
        smaller = "as large as before, " if times == 1 else f"{times:.3g} times smaller, "
        if (seen := self.measured) is None:
            return f"{smaller}relative error {self.relative_error.max():.2g} in feature space"
        unit, scale, digits = ("", 1, 4) if self.score in ("R^2", "D^2") else (" %", 100, 1)
        # the sum with 0 turns -0.0 into 0.0
        before, after, difference, error = (
            f"{round(scale * value, digits) + 0.0:.{digits}f}"
            for value in (
                seen.score_before,
                seen.score_after,
                -seen.loss,
                seen.standard_error_of_loss,
            )
        )
        rows = f"{seen.rows} {'held-out rows' if self.held_out else 'rows of the fit'}"
        return f"{smaller}{self.score} {before}{unit} -> {after}{unit} on {rows} (difference {difference} +- {error})"

    @property
    def evaluations_saved(self) -> int:
        """Kernel evaluations saved per prediction."""
        return self.vectors_before - self.vectors_after

    def attach(self, smaller: Callable[[float], Any]) -> None:
        """Let `at` return ``smaller(n_vectors)``; this is not stored with the report."""
        object.__setattr__(self, "_smaller", smaller)

    def at(self, n_vectors: float) -> Any:
        """Return the model with a smaller number of vectors, by a shorter fit that starts from the larger one.

        All sizes of a curve together take about as long as the largest one. Until the report is deleted it holds the
        data and the outputs of the original model on them.

        Parameters
        ----------
        n_vectors : int or float
            As in `compress`; at or above the number of vectors of the model, the model itself is returned.

        Returns
        -------
        estimator
            With a ``report_`` of its own; of a pipeline the final step.

        Raises
        ------
        ValueError
            For a report that was copied or loaded, which has no data.
        """
        check_limits(1 if is_share(n_vectors) else n_vectors, "max_loss", None)
        smaller = getattr(self, "_smaller", None)
        if smaller is None:
            raise ValueError(
                "the report was copied or loaded and has no data of the fit; call compress with "
                f"n_vectors = {shown(n_vectors)}."
            )
        with serial_blas:
            return smaller(n_vectors)

    def __mercer_move__(self, place: Place | None) -> Self:
        report = replace(self, relative_error=moved(self.relative_error, place))
        if (smaller := getattr(self, "_smaller", None)) is not None:
            report.attach(lambda n_vectors: moved(smaller(n_vectors), place))
        return report

    def __getstate__(self):
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _repr_html_(self):
        first, *rest = str(self).splitlines()
        return html.table(
            first, [line.split(": ", 1) if ": " in line else ("", line) for line in rest]
        )

    def __str__(self) -> str:
        error = self.relative_error
        m = len(self.relative_error)
        lines = [
            self.verdict,
            f"{self.vectors_before} vectors before, {self.vectors_after} after (kernel evaluations of a prediction): "
            f"{self.reason}",
        ]
        if not self.fitted_to_outputs:
            lines.append(
                f"relative error in feature space: {error.max():.2g} at worst, {error.mean():.2g} in the mean over "
                f"{m} vector{'s' * (m != 1)}"
            )
        if (seen := self.measured) is not None:
            rows = (
                "rows held out"
                if self.held_out
                else "rows of the fit (give holdout=0.3 for rows outside it)"
            )
            lines += [
                f"score on the {seen.rows} {rows}: "
                f"{seen.score_before:.4f} before, {seen.score_after:.4f} after "
                f"(standard error {seen.standard_error:.4f}; of the difference {seen.standard_error_of_loss:.4f})",
                f"changed predictions: {100 * seen.changed:.2f} %",
            ]
        return "\n".join(lines)


def measure(
    before: KernelEstimator, after: KernelEstimator, X: Array | None, y: Array | None = None
) -> Measured:
    """Return the scores of two models of one class on the same rows.

    Without ``y``, and for estimators that are not supervised, the outputs of ``before`` are the truth.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.compression.report import measure
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> model = mc.SVC().fit(X, y)
    >>> measure(model, model, X, y).changed
    0.0
    """
    old = answers(before, X)
    new = answers(after, X)
    labelled = is_classifier(before) or is_outlier_detector(before)
    learns = is_classifier(before) or not (labelled or hasattr(before, "transform"))
    truth = np.asarray(y) if y is not None and learns else old
    if _scores_itself(before) and y is not None:
        lost = [before.__mercer_losses__(each, truth) for each in (old, new)]
    else:
        lost = [_losses(each, truth, labelled, learns) for each in (old, new)]
    # values and rows of coordinates change by more than a tenth of the standard deviation
    moved = old != new if labelled else _squares(new - old) > 0.01 * _variance(as_float64(old))
    n = len(lost[0])
    scores = [1 - each.mean() for each in lost]
    return Measured(
        n,
        *scores,
        _standard_error(lost[1]),
        _standard_error(lost[1] - lost[0]),
        float(np.mean(moved)),
    )


def score_name(model: KernelEstimator, labelled: bool) -> str:
    """Return the name of the score of a model in reports, with or without labels."""
    if is_classifier(model) and labelled:
        return "accuracy"
    if _scores_itself(model) and labelled:
        return "D^2"
    return "agreement" if is_classifier(model) or is_outlier_detector(model) else "R^2"


def _scores_itself(model):
    """Return whether a model states the losses of rows by which it is scored, as shares of those of a constant."""
    return hasattr(model, "__mercer_losses__")


def answers(model: KernelEstimator, X: Array | None) -> Array:
    """Return the coordinates of a transformer, or the predictions of another estimator."""
    if hasattr(model, "feature_names_in_"):
        # rows have no names
        model = copy.copy(model)
        del model.feature_names_in_
    return model.transform(X) if hasattr(model, "transform") else model.predict(X)


def _losses(found, truth, labelled, targets):
    """Return the loss of each row; the score is 1 minus their mean: for targets the mean R^2, as scikit-learn's."""
    if labelled:
        return (found != truth).astype(float)
    found, truth = (as_float64(each).reshape(len(truth), -1) for each in (found, truth))
    if not targets:
        return _shares(found - truth, truth)
    return np.mean([_shares(a - b, b) for a, b in zip(found.T, truth.T, strict=True)], axis=0)


def _shares(errors, truth):
    """Return the squared error of each row over the variance; of a constant, 1 if a row misses it: R^2 is then 0."""
    squares = _squares(errors)
    if (truth == truth[:1]).all():
        return np.full(len(squares), float(squares.any()))
    return squares / _variance(truth)


def _squares(values):
    return sum_squares(values.reshape(len(values), -1))


def _variance(values):
    return max(float(np.mean(_squares(values - values.mean(axis=0)))), TINY)


def _standard_error(values):
    return float(np.std(values) / np.sqrt(len(values)))
