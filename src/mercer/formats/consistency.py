"""Checks that the parts of a model read from a file fit together: sizes, kinds, ranges, and finite predictions."""

import functools
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, get_args, get_type_hints

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from mercer._common import T
from mercer._compute.memory import parse_memory
from mercer._compute.objects import Table
from mercer._compute.points import count_points, take_points
from mercer.estimators.columns import Column
from mercer.expansion import Expansion, rows_of
from mercer.formats import allowlist
from mercer.formats.files import WIDEST
from mercer.formats.fitted_expansion import FittedExpansion
from mercer.kernels import Kernel, Rescaled
from mercer.kernels.base import require_resolved
from mercer.kernels.direct_sum import without_marks
from mercer.maps.coordinates import Coordinates
from mercer.solvers.certify import Certificate
from mercer.solvers.svm.multiclass import is_packed

# Shapes of fitted attributes, most of which have one meaning in all models. A letter is one size within a model, and d
# its number of features. The two sizes of an expansion are its points and vectors; "s *" is a container of s points;
# "|" separates alternatives; "." is a float.
_SHAPES = {
    "class_weight_": "c",
    "classes_": "c",
    "components_": "m d",
    "covariance_": "d d",
    "Cs_": "p",
    "dispersions_": "m",
    "dual_coef_": "s m",
    "eigenvalues_": "m",
    "eigenvectors_": "N m",
    "expansion_": "n m",
    "feature_names_in_": "d",
    "free_coef_": "q m",
    "held_out_residuals_": "r m",
    "intercept_": "m",
    "margin_": "m",
    "mean_": "d",
    "means_": "c m",
    "n_mistakes_": "m",
    "n_support_": "c",
    "posterior_": "p r",
    "priors_": "c",
    "residuals_": "m",
    "shift_": "m",
    "support_": "s",
    "support_vectors_": "s *",
}
# Shapes that differ in some models; the points of table models have other columns than X.
_SINGLE = {"dual_coef_": "s 1", "expansion_": "n 1", "intercept_": "1"}
_OTHER_SHAPES = {
    **dict.fromkeys(("SVC", "NuSVC"), {"dual_coef_": "s k"}),
    **dict.fromkeys(("SVR", "NuSVR", "OneClassSVM", "SVDD"), _SINGLE),
    **dict.fromkeys(("TableRegressor", "TableClassifier"), {"expansion_": ""}),
    "KernelRidge": {"dual_coef_": "n m|n"},
    "KernelPCA": {"mean_": "o 1"},
    "KernelPerceptron": {"support_": "n"},
    "InvariantMap": {"components_": "d d"},
}
_OF_SCALERS = (
    "mean_", "var_", "scale_", "min_", "data_min_", "data_max_", "data_range_", "max_abs_", "center_",
)  # fmt: skip
_SHAPES_OF_SCIKIT_LEARN = dict.fromkeys((*_OF_SCALERS, "feature_names_in_"), "d") | {
    "coef_": "m d|d",
    "intercept_": "m|.",
    "classes_": "c",
}
_INTEGERS = ("support_", "n_support_", "n_mistakes_", "rows", "times")
# Kinds of other attributes, which have one meaning in all models.
_COUNTS = (
    "best_index_", "n_components_", "n_splits_", "n_ties_", "_n_features_out", "_n_rows", "_rows_seen",
)  # fmt: skip
_NUMBERS = (
    "best_score_",
    "C_",
    "epsilon_",
    "inverse_temperature_",
    "n_samples_",
    "n_samples_seen_",
    "offset_",
    "radius_",
    "trace_error_",
)
_ARRAYS = "explained_variance_ratio_", "held_out_values_", "mistake_bound_"
_KINDS: dict[str, Any] = {
    "certificate_": Certificate,
    "coordinates_": Coordinates,
    "history_": list,
    "_levels": list,
    "kernel_": Kernel,
    "n_iter_": Integral | np.ndarray,
    **dict.fromkeys(_COUNTS, Integral),
    **dict.fromkeys(_NUMBERS, Real),
    **dict.fromkeys(_ARRAYS, np.ndarray),
    **dict.fromkeys(("_extended", "_is_single", "_is_weighted", "_is_white"), bool),
    **dict.fromkeys(("alpha_", "residual_"), Real | np.ndarray),
    **dict.fromkeys(("best_estimator_", "estimator_", "map_"), BaseEstimator),
    **dict.fromkeys(("expansion_", "posterior_"), Expansion),
    **dict.fromkeys(("_multi_class", "multi_class_"), str),
}
# Attributes that no prediction of one point needs, and other methods do.
_NEEDED = {
    "KernelFisher": ("n_components_",),
    "Nystroem": ("n_components_",),
    "PCAL1": ("n_components_",),
    "KernelPCA": ("n_components_", "n_samples_", "eigenvalues_"),
    "KernelMap": ("n_components_", "coordinates_"),
    "TableRegressor": ("_is_weighted",),
}
# Types of fields of records that are neither points nor functions.
_PLAIN = {kind: kind for kind in (bool, str, np.ndarray, Expansion, Kernel, type(None))}
_PLAIN |= {int: Integral, float: Real}
# Attributes that make predictions need column names or return tables, where rows of numbers are enough.
_TABLES = ("feature_names_in_", "_sklearn_output_config")


def require(true: object, message: str) -> None:
    """Raise a ValueError with the message unless a condition is true."""
    if not true:
        raise ValueError(message + ".")


@functools.singledispatch
def require_consistent(thing: T) -> T:
    """Return a kernel, record, expansion, estimator or pipeline, or raise if its parts contradict each other."""
    return thing


def require_fields(record: T) -> T:
    """Return a record, or raise if a field has another type than its class says."""
    hints = get_type_hints(type(record))
    for field in fields(record):  # pyright: ignore[reportArgumentType] - records are dataclasses
        hint = hints[field.name]
        kinds = [_PLAIN.get(each, object) for each in get_args(hint) or [hint]]
        if object not in kinds:
            name = f"{field.name} of {type(record).__name__}"
            _require_kind(name, getattr(record, field.name), *kinds)
    return record


def _require_kind(name, value, *kinds):
    # a truth value is a number to Python
    allowed = isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds)
    require(allowed, f"{name} is of type {type(value).__name__}")


@require_consistent.register
def _(kernel: Rescaled):
    require(
        isinstance(kernel.c, Expansion) and len(kernel.c) == 1,
        "c must be an expansion of one vector",
    )
    return kernel


@require_consistent.register
def _(coordinates: Coordinates):
    n = len(coordinates.origin)
    require(n == 1, f"origin has {n} vectors; it must have one")
    for name in ("intercept", "variances"):
        values = getattr(coordinates, name)
        if values is not None:
            _require_array(name, values, (len(coordinates.basis),))
    return coordinates


@require_consistent.register
def _(fitted: FittedExpansion):
    _require_array("intercept", fitted.intercept, (len(fitted.expansion),))
    return fitted


@require_consistent.register
def _(pipeline: Pipeline):
    steps = [
        step for _, step in pipeline.steps if not (isinstance(step, str) and step == "passthrough")
    ]
    require(steps, "a pipeline must have a step that is not 'passthrough'")
    require(
        all(isinstance(step, BaseEstimator) for step in steps),
        "the steps of a pipeline must be estimators",
    )
    for step, following in zip(steps[:-1], steps[1:], strict=True):
        name = type(step).__name__
        require(hasattr(step, "transform"), f"{name} has no transform and must be the last step")
        width = getattr(step, "n_components_", step.n_features_in_)
        expected = following.n_features_in_
        require(
            width == expected,
            f"{type(following).__name__} takes {expected} columns, {name} gives {width}",
        )
    return pipeline


@require_consistent.register
def _(model: BaseEstimator):
    state = vars(model)
    sizes = {}
    if not any(name.endswith("_") for name in state):
        # not fitted: a parameter of another estimator
        return model
    if "n_features_in_" in state:
        sizes["d"] = state["n_features_in_"]
        require(
            type(sizes["d"]) is int and sizes["d"] > 0, "n_features_in_ must be a positive integer"
        )
        require(
            sizes["d"] <= WIDEST, f"n_features_in_ is {sizes['d']}; it must be at most {WIDEST}"
        )
    own = type(model).__name__ not in allowlist.SCIKIT_LEARN
    for name in _KINDS.keys() & state.keys() if own else ():
        _require_kind(name, state[name], _KINDS[name])
    if "kernel_" in state:
        require_resolved(model.kernel_)
    for name in _NEEDED.get(type(model).__name__, ()):
        require(name in state, f"{name} is missing")
    layouts = _SHAPES | _OTHER_SHAPES.get(type(model).__name__, {})
    for name, layout in (layouts if own else _SHAPES_OF_SCIKIT_LEARN).items():
        if layout and state.get(name) is not None:
            value = state[name]
            points = "*" in layout and len(getattr(value, "shape", ())) == 2
            value = _as_taken(state.get("kernel_"), value, sizes) if points else value
            _require_layout(name, value, layout, sizes)
    if "classes_" in state:
        require(len(model.classes_) > 1, "classes_ must have at least 2 classes")
    _FURTHER.get(type(model).__name__, lambda _: None)(model)
    names = state.get("feature_names_in_", ())
    require(all(isinstance(each, str) for each in names), "feature_names_in_ must be strings")
    _require_predictions(model)
    return model


# --- shapes ----------------------------------------------------------------------------------------------------------


def _as_taken(kernel, points, sizes):
    """Return points (n, d) of a model without marks, unless it was fitted to rows with marks."""
    own = getattr(points, "shape", ())[1:] == (sizes.get("d"),)
    return points if own else without_marks(kernel, points)


def _require_layout(name, value, layout, sizes):
    """Check one attribute against its layout; new letters are added to ``sizes``."""
    if isinstance(value, Expansion):
        shape = value.shape
        rows = value.kernel.tags.points == "rows"
        width = _as_taken(value.kernel, value.points, sizes).shape[1] if rows else sizes.get("d")
        require(
            width == sizes.get("d", width),
            f"the points of {name} have {width} columns, not {sizes.get('d')}",
        )
    elif "*" in layout:
        require(
            hasattr(value, "shape") or isinstance(value, (list, Table)), f"{name} must be points"
        )
        shape = (count_points(value),)
        if len(getattr(value, "shape", ())) == 2:
            require(value.dtype in (np.float32, np.float64), f"{name} must hold floats")
            require(
                value.shape[1] == sizes.get("d"),
                f"{name} has {value.shape[1]} columns, not {sizes.get('d')}",
            )
        layout = layout.replace(" *", "")
    elif layout.endswith(".") and isinstance(value, (float, np.floating)):
        shape = ()
    else:
        _require_array(name, value, None)
        shape = value.shape
    forms = [form.replace(".", "").split() for form in layout.split("|")]
    form = next((form for form in forms if len(form) == len(shape)), None)
    require(form is not None, f"{name} has {len(shape)} dimensions; its layout is {layout!r}")
    for letter, size in zip(form, shape, strict=True):
        expected = int(letter) if letter.isdigit() else sizes.setdefault(letter, size)
        require(size == expected, f"{name} has shape {shape}; {letter} of {layout!r} is {expected}")


def _require_array(name, value, shape):
    require(type(value) is np.ndarray, f"{name} must be an array")
    require(shape is None or value.shape == shape, f"{name} has shape {value.shape}, not {shape}")
    if name in ("classes_", "feature_names_in_"):
        require(value.dtype.kind in "iufbUO", f"{name} has dtype {value.dtype}")
    elif name in _INTEGERS:
        require(value.dtype.kind in "iu", f"{name} has dtype {value.dtype}; it must hold integers")
    else:
        require(value.dtype.kind == "f", f"{name} has dtype {value.dtype}; it must hold floats")
        require(np.isfinite(value).all(), f"{name} is not finite")


# --- relations between attributes ------------------------------------------------------------------------------------


def _require_functions(model, multi_class):
    """Check that there is an intercept for each class, or for each pair."""
    c = len(model.classes_)
    m = len(model.intercept_)
    require(multi_class in ("ovo", "ovr"), "multi_class must be 'ovo' or 'ovr'")
    expected = 1 if c == 2 else c if multi_class == "ovr" else c * (c - 1) // 2
    require(m == expected, f"intercept_ has {m} entries; {c} classes need {expected}")


def _require_classes(model):
    """Check that intercepts, coefficients and support vectors match the classes."""
    c = len(model.classes_)
    m = len(model.intercept_)
    _require_functions(model, model.multi_class)
    if "dual_coef_" not in vars(model):
        return
    n, k = model.dual_coef_.shape
    # one-vs-one coefficients are packed, c - 1 columns, unless the vectors were constructed and belong to no class
    packed = is_packed(c, model.multi_class, k)
    require(k == (c - 1 if packed else m), f"dual_coef_ has {k} columns for {c} classes")
    if packed or "n_support_" in vars(model):
        counts = model.n_support_
        require(counts.min() >= 0 and sum(counts.tolist()) == n, f"n_support_ must add up to {n}")


def _require_mistakes(model):
    """Check the record of mistakes, whose rows are used as indices."""
    n = model.expansion_.shape[0]
    runs = model.mistakes_
    require(
        type(runs) is list and len(runs) == len(model.expansion_),
        "mistakes_ must be a list, one entry per vector",
    )
    for run in runs:
        for name in ("rows", "signs", "times"):
            _require_array(name, getattr(run, name), (len(run.rows),))
        if len(run.rows):
            require(
                run.rows.min() >= 0 and run.rows.max() < n,
                f"rows of mistakes_ must be between 0 and {n - 1}",
            )
    _require_functions(model, "ovr")


def _require_columns(model):
    """Check that the points of a table model have its columns."""
    columns = model.columns_
    d = rows_of(model.expansion_).shape[1]
    known = type(columns) is list and all(isinstance(each, Column) for each in columns)
    require(known and len(columns) == d, f"columns_ must be a list of {d} columns")
    require(
        all(0 <= each.source < model.n_features_in_ for each in columns),
        "columns_ must come from columns of X",
    )


def _require_basis(model):
    """Check that the mean is a vector of the same kernel as the axes."""
    same = isinstance(model.mean_, Expansion) and model.mean_.kernel == model.expansion_.kernel
    require(same, "mean_ must be an expansion with the kernel of expansion_")


def _require_asked(model):
    """Check alpha, memory, targets and weights of the fit, for variances and leave-one-out residuals."""
    if "_asked" in vars(model):
        alpha, memory, targets, weights = model._asked  # noqa: SLF001 - the name in files
        _require_kind("alpha of the fit", alpha, Real | np.ndarray)
        parse_memory(memory)
        sizes = {"m": len(model.expansion_)}
        for name, values, layout in (("targets", targets, "t m"), ("weights", weights, "t")):
            if values is not None:
                _require_layout(f"{name} of the fit", values, layout, sizes)


def _require_table_classes(model):
    """Check that a table model has the functions of its classes, or of their pairs."""
    _require_columns(model)
    _require_functions(model, model.multi_class_)


_FURTHER = {
    "KernelPCA": _require_basis,
    "KernelRidge": _require_asked,
    "TableRegressor": _require_columns,
    "TableClassifier": _require_table_classes,
    "SVC": _require_classes,
    "NuSVC": _require_classes,
    "KernelPerceptron": _require_mistakes,
}


def _require_predictions(model):
    """Predict one point, which shows any part that is missing or of the wrong kind."""
    state = vars(model)
    model.__dict__ = {name: each for name, each in state.items() if name not in _TABLES}
    try:
        point = _stored_point(model)
        if point is None:
            return
        with np.errstate(all="ignore"):
            for method in ("decision_function", "predict", "predict_proba", "transform"):
                if hasattr(model, method):
                    row = np.asarray(getattr(model, method)(point))
                    _require_row(method, row)
                    if method == "transform" and type(model).__name__ not in allowlist.SCIKIT_LEARN:
                        n = getattr(model, "n_components_", row.shape[1])
                        require(
                            row.shape[1] == n,
                            f"transform gives {row.shape[1]} columns, n_components_ is {n}",
                        )
    finally:
        model.__dict__ = state


def _require_row(method, values):
    require(len(values) == 1, f"{method} gives {len(values)} values for one point")
    require(values.dtype.kind in "biufUO", f"{method} gives values of dtype {values.dtype}")
    require(
        values.dtype.kind != "f" or np.isfinite(values).all(),
        f"{method} gives values that are not finite",
    )


def _stored_point(model):
    """Return a point that the model stores, or zeros if any row serves: models of given values or without kernel."""
    state = vars(model)
    for inner in ("map_", "best_estimator_"):
        if inner in state:
            return _stored_point(state[inner])
    if "columns_" in state:
        # columns of numbers and of texts take missing entries
        return np.full((1, model.n_features_in_), np.nan)
    points = state.get("support_vectors_")
    blocks = [state.get("expansion_"), getattr(state.get("coordinates_"), "basis", None)]
    for block in blocks:
        points = block.points if points is None and isinstance(block, Expansion) else points
    if points is not None and count_points(points) and model.kernel_.tags.points != "indices":
        sizes = {"d": state.get("n_features_in_")}
        return _as_taken(model.kernel_, take_points(points, slice(0, 1)), sizes)
    return np.zeros((1, model.n_features_in_)) if "n_features_in_" in state else None
