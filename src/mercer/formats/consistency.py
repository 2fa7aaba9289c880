"""Whether the parts of a model that was read agree: sizes, kinds and ranges, and at last the scores of one point."""

import functools

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from mercer._compute.points import count_points, take_points
from mercer.expansion import Expansion
from mercer.formats._as_expansion import FittedScores
from mercer.kernels.base import Kernel, require_resolved
from mercer.kernels.conformal import Conformal
from mercer.kernels.precomputed import Precomputed
from mercer.maps.coordinates import Coordinates

# Shapes of fitted attributes. A letter is one number within a model, d its features; "n m" of an expansion are its
# points and vectors, "s *" says how many points, "|" separates alternatives and "." is a number without dimensions.
_MACHINE = {"support_": "s", "support_vectors_": "s *", "dual_coef_": "s 1", "intercept_": "1", "expansion_": "n 1"}
_CLASSIFIER = dict.fromkeys(("classes_", "class_weight_", "n_support_"), "c")
_CLASSIFIER |= _MACHINE | {"dual_coef_": "s k", "intercept_": "m", "expansion_": "n m"}
_BLOCK = {"expansion_": "n m", "intercept_": "m"}
_COLUMNS = ("mean_", "var_", "scale_", "min_", "data_min_", "data_max_", "data_range_", "max_abs_", "center_")
_LINEAR = {"coef_": "m d|d", "intercept_": "m|.", "classes_": "c"}
_LAYOUTS = {
    "SVC": _CLASSIFIER,
    "NuSVC": _CLASSIFIER,
    "SVR": _MACHINE,
    "NuSVR": _MACHINE,
    "OneClassSVM": _MACHINE,
    "SVDD": _MACHINE,
    "KernelRidge": _BLOCK | {"dual_coef_": "n m|n", "posterior_": "p r"},
    "KernelPCA": _BLOCK | {"eigenvalues_": "m", "eigenvectors_": "N m", "residuals_": "m", "mean_": "o 1"},
    "KernelFisher": _BLOCK | {"classes_": "c", "priors_": "c", "means_": "c m", "eigenvalues_": "m"},
    "KernelPerceptron": _BLOCK | {"classes_": "c", "support_": "n", "n_mistakes_": "m", "margin_": "m"},
    "Nystroem": _BLOCK,
    "KernelMap": _BLOCK,
    "PCAL1": {"mean_": "d", "components_": "m d", "dispersions_": "m"},
    "SVCCV": {"classes_": "c", "Cs_": "p"},
    "Kernelized": {},
    **dict.fromkeys(
        ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"), dict.fromkeys(_COLUMNS, "d")
    ),
    **dict.fromkeys(
        ("ElasticNet", "Lasso", "LinearRegression", "LogisticRegression", "Ridge", "LinearSVC", "LinearSVR"), _LINEAR
    ),
}  # fmt: skip
_WHOLE = ("support_", "n_support_", "n_mistakes_")
_LABELS = ("classes_",)
# Evaluation would ask for names, or make a table, where a row of numbers is enough.
_DRESS = ("feature_names_in_", "_sklearn_output_config")


@functools.singledispatch
def require_agreement(thing):
    """Return a thing that was read, or raise a ValueError or TypeError where its parts contradict one another.

    Parameters
    ----------
    thing : kernel, record, Expansion, estimator or Pipeline
        Made by its constructor from values of the right kinds, fitted attributes set.

    Returns
    -------
    object
        The same.
    """
    return thing


@require_agreement.register
def _(kernel: Precomputed):
    K = kernel.matrix
    if K is not None:
        _require(type(K) is np.ndarray and K.ndim == 2 and K.shape[0] == K.shape[1], "matrix must be square")
        _require(K.dtype in (np.float32, np.float64) and _is_finite(K), "matrix must hold finite floats")
    return kernel


@require_agreement.register
def _(kernel: Conformal):
    _require(isinstance(kernel.c, Expansion) and len(kernel.c) == 1, "c must be an expansion of one vector")
    return kernel


@require_agreement.register
def _(coordinates: Coordinates):
    basis, origin = coordinates.basis, coordinates.origin
    _require(isinstance(basis, Expansion) and isinstance(origin, Expansion), "basis and origin must be expansions")
    _require(len(origin) == 1, f"origin has {len(origin)} vectors; it must have one")
    _require_array("intercept", coordinates.intercept, (len(basis),))
    _require(isinstance(coordinates.square, float), "square must be a float")
    return coordinates


@require_agreement.register
def _(scores: FittedScores):
    _require(isinstance(scores.expansion, Expansion), "expansion must be an expansion")
    _require_array("intercept", scores.intercept, (len(scores.expansion),))
    _require(scores.classes is None or type(scores.classes) is np.ndarray, "classes must be an array")
    return scores


@require_agreement.register
def _(pipeline: Pipeline):
    steps = [step for _, step in pipeline.steps if not (isinstance(step, str) and step == "passthrough")]
    _require(bool(steps), "a pipeline must have a step that does something")
    _require(all(isinstance(step, BaseEstimator) for step in steps), "the steps of a pipeline must be estimators")
    for step, following in zip(steps[:-1], steps[1:], strict=True):
        _require(hasattr(step, "transform"), f"{type(step).__name__} cannot be before the last step")
        _require(_width_after(step) == following.n_features_in_,
                 f"{type(following).__name__} takes {following.n_features_in_} columns, {type(step).__name__} gives "
                 f"{_width_after(step)}")  # fmt: skip
    return pipeline


@require_agreement.register
def _(model: BaseEstimator):
    state, sizes = vars(model), {}
    if not any(name.endswith("_") for name in state):
        # the parameter of another estimator
        return model
    if "n_features_in_" in state:
        sizes["d"] = state["n_features_in_"]
        _require(type(sizes["d"]) is int and sizes["d"] > 0, "n_features_in_ must be a whole number above 0")
    if "kernel_" in state:
        _require(isinstance(model.kernel_, Kernel), "kernel_ must be a kernel")
        require_resolved(model.kernel_)
    for name, layout in _LAYOUTS[type(model).__name__].items():
        if name in state and state[name] is not None:
            _require_layout(name, state[name], layout, sizes)
    _FURTHER.get(type(model).__name__, lambda _: None)(model)
    names = state.get("feature_names_in_")
    if names is not None:
        _require(type(names) is np.ndarray and names.shape == (sizes.get("d"),), "feature_names_in_ must name columns")
        _require(all(isinstance(each, str) for each in names), "feature_names_in_ must be strings")
    _require_scores(model)
    return model


# --- shapes ----------------------------------------------------------------------------------------------------------


def _require_layout(name, value, layout, sizes):
    if isinstance(value, Expansion):
        shape = value.shape
        width = value.points.shape[1] if value.kernel.tags.points == "rows" else sizes.get("d")
        _require(width == sizes.get("d", width), f"the points of {name} have {width} columns, not {sizes.get('d')}")
    elif "*" in layout:
        _require(hasattr(value, "shape") or isinstance(value, list), f"{name} must be points")
        shape = (count_points(value),)
        if len(np.shape(value)) == 2 or sp.issparse(value):
            _require(value.dtype in (np.float32, np.float64), f"{name} must hold floats")
            _require(value.shape[1] == sizes.get("d"), f"{name} has {value.shape[1]} columns, not {sizes.get('d')}")
        layout = layout.replace(" *", "")
    elif layout.endswith(".") and isinstance(value, float):
        shape = ()
    else:
        _require_array(name, value, None)
        shape = value.shape
    forms = [form.replace(".", "").split() for form in layout.split("|")]
    form = next((form for form in forms if len(form) == len(shape)), None)
    _require(form is not None, f"{name} has {len(shape)} dimensions")
    for letter, size in zip(form, shape, strict=True):
        expected = int(letter) if letter.isdigit() else sizes.setdefault(letter, size)
        _require(size == expected, f"{name} has shape {shape}; {letter} of {layout!r} is {expected}")


def _require_array(name, value, shape):
    _require(type(value) is np.ndarray, f"{name} must be an array")
    _require(shape is None or value.shape == shape, f"{name} has shape {value.shape}, not {shape}")
    kinds = "iufbUO" if name in _LABELS else "iu" if name in _WHOLE else "f"
    # scikit-learn keeps its linear thresholds and integer counts as they come
    _require(value.dtype.kind in kinds, f"{name} has dtype {value.dtype}")
    _require(value.dtype.kind not in "f" or name in _LABELS or _is_finite(value), f"{name} is not finite")


def _width_after(step):
    return getattr(step, "n_components_", step.n_features_in_)


# --- what shapes do not say ------------------------------------------------------------------------------------------


def _require_classes(model):
    """Check that machines and support vectors are those of the classes."""
    c, m = len(model.classes_), len(model.intercept_)
    _require(c > 1, f"{c} classes; there must be two")
    _require(model.multi_class in ("ovo", "ovr"), "multi_class must be 'ovo' or 'ovr'")
    expected = 1 if c == 2 else c if model.multi_class == "ovr" else c * (c - 1) // 2
    _require(m == expected, f"{c} classes make {expected} machines, intercept_ has {m}")
    if "dual_coef_" not in vars(model):
        return
    n, k = model.dual_coef_.shape
    # constructed vectors belong to no class, and have a column for every pair
    packed = model._packed()
    _require(k == (c - 1 if packed else m), f"dual_coef_ has {k} columns for {c} classes")
    if packed or "n_support_" in vars(model):
        counts = model.n_support_
        _require(counts.min() >= 0 and sum(counts.tolist()) == n, f"n_support_ must add up to {n}")


def _require_mistakes(model):
    """Check the record that votes and later batches go by: rows are looked up by it."""
    n, runs = model.expansion_.shape[0], model.mistakes_
    _require(type(runs) is list and len(runs) == len(model.expansion_), "mistakes_ must be a list, one entry a vector")
    for run in runs:
        for name in ("rows", "signs", "times"):
            part = getattr(run, name)
            _require(type(part) is np.ndarray and part.ndim == 1, f"{name} of mistakes_ must be a vector")
            _require(part.shape == run.rows.shape, f"{name} of mistakes_ has {len(part)} entries")
            _require(part.dtype.kind in ("f" if name == "signs" else "iu"), f"{name} of mistakes_ is {part.dtype}")
        _require(all(type(getattr(run, name)) is int for name in ("seen", "n_iter", "last")), "counts must be whole")
        if len(run.rows):
            _require(run.rows.min() >= 0 and run.rows.max() < n, f"rows of mistakes_ must be between 0 and {n - 1}")
    c = len(model.classes_)
    _require(len(runs) == (1 if c == 2 else c), f"{c} classes have {len(runs)} vectors")


def _require_means(model):
    _require(len(model.classes_) > 1, "there must be two classes")


_FURTHER = {
    "SVC": _require_classes,
    "NuSVC": _require_classes,
    "KernelPerceptron": _require_mistakes,
    "KernelFisher": _require_means,
}


def _require_scores(model):
    """Evaluate one point: what is missing or of another kind shows here, not in a service."""
    if "n_features_in_" not in vars(model):
        return
    dress = {name: vars(model).pop(name) for name in _DRESS if name in vars(model)}
    try:
        point = _own_point(model)
        with np.errstate(all="ignore"):
            for method in ("decision_function", "predict", "transform"):
                if hasattr(model, method):
                    _require_row(method, np.asarray(getattr(model, method)(point)))
    finally:
        vars(model).update(dress)


def _require_row(method, values):
    _require(len(values) == 1, f"{method} gives {len(values)} values for one point")
    _require(values.dtype.kind in "biufUO", f"{method} gives values of dtype {values.dtype}")
    _require(values.dtype.kind != "f" or _is_finite(values), f"{method} gives values that are not finite")


def _own_point(model):
    """Return a point that the model was fitted on, or zeros where any row will do."""
    state = vars(model)
    points = state.get("support_vectors_")
    if points is None and isinstance(state.get("expansion_"), Expansion):
        points = state["expansion_"].points
    # a kernel of given values, or a model without kernel, takes any row; so does a constant
    if points is None or count_points(points) == 0 or model.kernel_.tags.points == "indices":
        return np.zeros((1, model.n_features_in_))
    return take_points(points, slice(0, 1))


def _is_finite(values):
    return bool(np.isfinite(values).all())


def _require(true, message):
    if not true:
        raise ValueError(message + ".")
