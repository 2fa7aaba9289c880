"""What a runtime needs of a fitted model: its vectors, coefficients and constants, and how scores become an answer."""

import os
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier, is_outlier_detector
from sklearn.pipeline import Pipeline

from mercer._compute.memory import require_memory
from mercer.formats._as_expansion import FittedScores, as_expansion
from mercer.formats.libsvm import machine_type
from mercer.formats.tracing import NORMS, PAIRS, Symbol, ordered, trace
from mercer.kernels.dot import Linear

# Classifiers whose answer is a vote of pairs or the largest score.
_MACHINES = ("SVC", "NuSVC")
# ONNX files hold 2 GB at most, and compilers take a long time over less.
_LARGEST = "1GB"


@dataclass(frozen=True)
class View:
    """The vectors of a model as a kernel sees them.

    Attributes
    ----------
    maps : tuple of array
        What x goes through first, each as the ``A`` of ``Mapped``: floating (q,) or (q, d), or columns from 0.
    points : array (n, q)
        The vectors after that.
    inputs : set of str
        Which of "dot", "sqdist", "sqnorm_x" and "sqnorm_z" are asked for.
    smooth : bool
        Whether rounding of distances in proportion to norms does no harm.
    """

    maps: tuple
    points: np.ndarray
    inputs: frozenset
    smooth: bool


@dataclass(frozen=True)
class Portable:
    """A fitted model as arithmetic: scores = K(x, points) coef + intercept, and an answer; numbers are float64.

    Attributes
    ----------
    dtype : dtype
        In which a runtime is to compute.
    title : str
        What it is, in words.
    n_features : int
    expression : Symbol
        Of k(x, z).
    views : dict
        From `view_of` its inputs to a View.
    coef : array (n, m)
    intercept : array (m,)
    answer : {"values", "sign", "largest", "votes", "inlier"}
        The scores themselves; the second class where the score is above 0; the class of the largest score; the class
        with most votes, of pairs; an inlier where the score is at least 0. The first of equals.
    labels : list of int or str, or None
        Of the classes; -1 and 1 of outliers and inliers.
    """

    dtype: np.dtype
    title: str
    n_features: int
    expression: Symbol
    views: dict
    coef: np.ndarray
    intercept: np.ndarray
    answer: str
    labels: list | None

    @property
    def pairs(self):
        """The classes of each score that pairs vote by."""
        return list(combinations(range(len(self.labels)), 2))

    def constant(self, values):
        """Return numbers in the type of the runtime; as in Mercer one that is too large becomes the largest.

        Parameters
        ----------
        values : array or float

        Returns
        -------
        array
        """
        largest = float(np.finfo(self.dtype).max)
        return np.clip(np.asarray(values, np.float64), -largest, largest).astype(self.dtype)


def view_of(symbol):
    """Return the key of the view that an input belongs to."""
    return tuple(id(A) for A in symbol.maps)


def portable(model, dtype):
    """Return a fitted model as arithmetic.

    Parameters
    ----------
    model : estimator, FittedScores, str or path
        What `mercer.as_expansion` reads, what it returned, or a search with a ``best_estimator_``.
    dtype : {"float32", "float64"}
        Of the runtime.

    Returns
    -------
    Portable

    Raises
    ------
    TypeError
        For a model or a kernel that cannot be exported.
    ValueError
        For another dtype, numbers that it does not hold, labels or a rule of prediction that exports do not have.
    MemoryError
        Beyond 1 GB of numbers.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.formats.portable import portable
    >>> model = portable(mc.SVC(kernel="linear").fit(np.array([[0.0], [1.0]]), [0, 1]), "float32")
    >>> model.answer, model.labels, model.coef.shape
    ('sign', [0, 1], (1, 1))
    """
    if dtype not in ("float32", "float64", np.float32, np.float64):
        raise ValueError(f"dtype = {dtype!r} must be 'float32' or 'float64'.")
    model = getattr(model, "best_estimator_", model)
    if isinstance(model, Pipeline):
        raise TypeError(
            "of a pipeline the last step alone is exported, as pipeline[-1]; scale its input as the steps before do. "
            "ONNX takes it whole: skl2onnx.to_onnx(pipeline, X) after mercer.formats.register_onnx_converters()."
        )
    if isinstance(model, os.PathLike) or (isinstance(model, str) and "\n" not in model):
        model = Path(model).read_text(encoding="utf-8")
    scores = model if isinstance(model, FittedScores) else as_expansion(model)
    psi = scores.expansion
    expression = trace(psi.kernel)
    if not any(each.operation in PAIRS for each in ordered(expression)):
        # the same for all pairs, and yet a value for each
        expression = expression + 0.0 * Symbol("dot")
    answer = _answer(model, scores)
    labels = [-1, 1] if answer == "inlier" else None if answer == "values" else _labels(scores.classes)
    n, d = psi.points.shape
    require_memory(8 * n * (d + len(psi)), _LARGEST, f"a model of {n} vectors of {d} features",
                    "mercer.compress(model, X, n_vectors=...) and export what it returns")  # fmt: skip
    points = (psi.points.toarray() if sp.issparse(psi.points) else np.asarray(psi.points)).astype(np.float64)
    coef = np.eye(n) if psi.coef is None else np.asarray(psi.coef, np.float64)
    used = coef.any(axis=1)
    if used.any():
        points, coef = points[used], coef[used]
    if psi.kernel == Linear():
        # the vectors themselves, added up: no kernel machine is needed
        points, coef = coef.T @ points, np.eye(len(psi))
    name = type(model).__name__ if not isinstance(model, str) else "LIBSVM"
    exported = Portable(
        np.dtype(dtype), f"{name}, {len(points)} vectors, {psi.kernel!r}", d, expression, _views(expression, points),
        coef, np.asarray(scores.intercept, np.float64), answer, labels,
    )  # fmt: skip
    _require_range(exported)
    return exported


def _views(expression, points):
    """Return the views that the inputs of an expression belong to."""
    found = {}
    for each in ordered(expression):
        if each.operation in PAIRS + NORMS:
            found.setdefault(view_of(each), []).append(each)
    views = {}
    for key, symbols in found.items():
        mapped, maps = points, []
        for A in symbols[0].maps:
            # columns counted from the end, counted from the start
            maps.append(A.astype(np.float64) if A.dtype.kind == "f" else A % mapped.shape[1])
            mapped = _mapped(mapped, maps[-1])
        smooth = all(each.smooth for each in symbols)
        views[key] = View(tuple(maps), mapped, frozenset(each.operation for each in symbols), smooth)
    return views


def _mapped(X, A):
    if A.dtype.kind != "f":
        return X[:, A]
    return X * A if A.ndim == 1 else X @ A.T


def _require_range(exported):
    largest = float(np.finfo(exported.dtype).max)
    arrays = [exported.coef, exported.intercept, *(view.points for view in exported.views.values())]
    most = max(float(abs(each).max(initial=0)) for each in arrays)
    if not most <= largest:
        raise ValueError(
            f'the model has a number of {most:.3g}, beyond the largest of {exported.dtype}: use dtype="float64".'
        )


def _answer(model, scores):
    """Return how scores become an answer."""
    if isinstance(model, FittedScores):
        return "values"
    if isinstance(model, str):
        # text of LIBSVM that could be read
        known = "votes" if scores.classes is not None else "inlier" if machine_type(model) == "one_class" else "values"
        return "sign" if known == "votes" and len(scores.classes) == 2 else known
    if is_outlier_detector(model):
        return "inlier"
    if scores.classes is None:
        return "values"
    name = type(model).__name__
    if is_classifier(model) and name not in _MACHINES:
        raise TypeError(
            f"how {name} finds classes cannot be exported, only its scores: export as_expansion(model). Classes are "
            f"exported of {' and '.join(_MACHINES)}."
        )
    if len(scores.classes) == 2:
        return "sign"
    if getattr(model, "multi_class", "ovo") == "ovr":
        return "largest"
    if model.break_ties and model.decision_function_shape == "ovr":
        raise ValueError("break_ties = True cannot be exported: set it to False, which takes the first of equal votes.")
    return "votes"


def _labels(classes):
    """Return the labels as integers of 64 bits, or as strings."""
    labels = np.asarray(classes).tolist()
    if all(isinstance(label, str) for label in labels):
        return labels
    for label in labels:
        whole = isinstance(label, (int, float)) and label == int(label)
        if not (whole and -(2**63) <= label < 2**63):
            raise ValueError(f"labels are exported as strings or whole numbers of 64 bits, got {label!r}.")
    return [int(label) for label in labels]
