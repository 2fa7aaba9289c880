"""Estimators of Mercer and their counterparts in scikit-learn, as calls of fit and of their other methods."""

import contextlib
import copy
import functools
from dataclasses import dataclass, field

import numpy as np
import sklearn.decomposition
import sklearn.kernel_approximation
import sklearn.kernel_ridge
import sklearn.svm
from sklearn.linear_model import Ridge
from tests.trust import data, rules
from tests.trust.calls import Call

import mercer as mc

METHODS = (
    "decision_function",
    "predict",
    "predict_proba",
    "transform",
    "score_samples",
    "residual",
    "variance",
    "denoise",
)


def _p(kind, value):
    return kind, lambda: value


C, TOL, MEMORY = _p("positive or infinite", 1.0), _p("positive", 1e-6), _p("memory", "1GB")
KERNEL, STATE = _p("kernel", data.COUNTED), _p("random state", 0)
SOLVER = {"kernel": KERNEL, "tol": TOL, "max_iter": _p("iterations", -1), "memory": MEMORY}
CLASSIFIER = {"class_weight": _p("class weight", None), "multi_class": _p("choice", "ovo")}
SHAPE = {"decision_function_shape": _p("choice", "ovr"), "break_ties": _p("flag", False)}
LANDMARKS = {
    "landmarks": _p("count or none", None),
    "rule": _p("choice", "randomly_pivoted"),
    "memory": MEMORY,
    "random_state": STATE,
}
COMPONENTS = {"n_components": _p("count or none", 3)}


@dataclass(frozen=True)
class Spec:
    """An estimator: how to make it, its target, its parameters."""

    make: object
    target: str | None
    params: dict
    weighted: bool = True
    fixed: dict = field(default_factory=dict)
    library: str = "mercer"
    needs_targets: bool = False

    @property
    def name(self):
        """Name of the class."""
        return self.make.__name__

    def build(self, **params):
        """Return an estimator with the valid parameters, or others."""
        return self.make(
            **self.fixed, **{name: value() for name, (_, value) in self.params.items()} | params
        )


MERCER = [
    Spec(
        mc.SVC,
        "labels",
        {
            "C": C,
            **SOLVER,
            **CLASSIFIER,
            **SHAPE,
            **LANDMARKS,
            "max_vectors": _p("count or none", None),
        },
    ),
    Spec(mc.NuSVC, "labels", {"nu": _p("share", 0.3), **SOLVER, **CLASSIFIER, **SHAPE}),
    Spec(
        mc.SVCCV,
        "labels",
        {
            "Cs": _p("count or array", 3),
            "gammas": _p("count, array or none", None),
            "calibration": _p("choice or none", None),
            "labels": _p("choice", "decision"),
            "cv": _p("count or none", 3),
            "scoring": _p("choice or none", None),
            "refit": _p("flag", True),
            "cells": _p("count or none", None),
            "kernel": KERNEL,
            "tol": TOL,
            "memory": MEMORY,
            **CLASSIFIER,
        },
    ),
    Spec(
        mc.SVRCV,
        "reals",
        {
            "Cs": _p("count or array", 3),
            "gammas": _p("count, array or none", None),
            "epsilon": _p("nonnegative", 0.1),
            "cv": _p("count or none", 3),
            "scoring": _p("choice or none", None),
            "refit": _p("flag", True),
            "cells": _p("count or none", None),
            "kernel": KERNEL,
            "tol": TOL,
            "memory": MEMORY,
        },
    ),
    Spec(
        mc.SVR,
        "reals",
        {"C": C, "epsilon": _p("nonnegative", 0.1), "loss": _p("choice", "epsilon"), **SOLVER},
    ),
    Spec(mc.NuSVR, "reals", {"nu": _p("share", 0.4), "C": C, **SOLVER}),
    Spec(mc.QuantileSVR, "reals", {"quantile": _p("share", 0.4), "C": C, **SOLVER}),
    Spec(mc.OneClassSVM, None, {"nu": _p("share", 0.3), **SOLVER}),
    Spec(mc.SVDD, None, {"C": _p("positive, infinite or none", None), **SOLVER}),
    Spec(
        mc.KernelRidge,
        "reals",
        {
            "alpha": _p("nonnegative or array", 0.1),
            "kernel": KERNEL,
            "tune": _p("choice or none", None),
            **LANDMARKS,
        },
    ),
    Spec(
        mc.KernelPCA,
        None,
        {
            **COMPONENTS,
            "kernel": KERNEL,
            "whiten": _p("flag", False),
            "preimage": _p("choice", "auto"),
            **LANDMARKS,
        },
        weighted=False,
    ),
    Spec(
        mc.KernelFisher,
        "labels",
        {
            "n_components": _p("count or none", None),
            "kernel": KERNEL,
            "mu": _p("nonnegative", 1e-3),
            **LANDMARKS,
        },
    ),
    Spec(
        mc.KernelPerceptron,
        "labels",
        {
            "kernel": KERNEL,
            "max_iter": _p("count", 20),
            "averaged": _p("flag", False),
            "voted": _p("flag", False),
            "shuffle": _p("flag", False),
            "memory": MEMORY,
            "random_state": STATE,
        },
        weighted=False,
    ),
    Spec(
        mc.Kernelized,
        "reals",
        {
            "estimator": _p("estimator", Ridge(0.1)),
            "kernel": KERNEL,
            "centre": _p("flag", True),
            "tol": _p("nonnegative or none", None),
            **LANDMARKS,
        },
    ),
    Spec(
        mc.VirtualSupportVectors,
        "labels",
        {
            "estimator": _p("support vector machine", mc.SVC(kernel=data.COUNTED)),
            "moves": _p("moves", [data.shifted]),
        },
    ),
    Spec(
        mc.KernelMap,
        None,
        {
            "kernel": KERNEL,
            "centre": _p("flag", True),
            # the default keeps the rank of the precision
            "tol": _p("nonnegative or none", 1e-3),
            "preimage": _p("choice", "auto"),
            **LANDMARKS,
        },
        weighted=False,
    ),
    Spec(
        mc.Nystroem,
        None,
        {
            "kernel": KERNEL,
            "n_components": _p("count", 10),
            "landmarks": _p("choice", "uniform"),
            "memory": MEMORY,
            "random_state": STATE,
        },
        weighted=False,
    ),
    Spec(
        mc.PCAL1,
        None,
        {
            "n_components": _p("count or none", 2),
            "greedy": _p("flag", True),
            "n_init": _p("count", 3),
            "max_iter": _p("count", 100),
            "random_state": STATE,
        },
        weighted=False,
    ),
]

_RBF = {"kernel": _p("kernel", "rbf"), "gamma": _p("positive or rule", data.GAMMA)}
_LIBSVM = {**_RBF, "tol": TOL, "max_iter": _p("iterations", -1)}
_PEER_CLASSIFIER = {"class_weight": _p("class weight", None), **SHAPE}
SKLEARN = [
    Spec(sklearn.svm.SVC, "labels", {"C": C, **_LIBSVM, **_PEER_CLASSIFIER}, library="sklearn"),
    Spec(
        sklearn.svm.NuSVC,
        "labels",
        {"nu": _p("share", 0.3), **_LIBSVM, **_PEER_CLASSIFIER},
        library="sklearn",
    ),
    Spec(
        sklearn.svm.SVR,
        "reals",
        {"C": C, "epsilon": _p("nonnegative", 0.1), **_LIBSVM},
        library="sklearn",
    ),
    Spec(
        sklearn.svm.NuSVR, "reals", {"nu": _p("share", 0.4), "C": C, **_LIBSVM}, library="sklearn"
    ),
    Spec(sklearn.svm.OneClassSVM, None, {"nu": _p("share", 0.3), **_LIBSVM}, library="sklearn"),
    Spec(
        sklearn.kernel_ridge.KernelRidge,
        "reals",
        {"alpha": _p("nonnegative or array", 0.1), **_RBF},
        library="sklearn",
    ),
    Spec(
        sklearn.decomposition.KernelPCA,
        None,
        {**COMPONENTS, **_RBF, "random_state": STATE},
        weighted=False,
        fixed={"fit_inverse_transform": True},
        library="sklearn",
    ),
    Spec(
        sklearn.kernel_approximation.Nystroem,
        None,
        {**_RBF, "n_components": _p("count", 10), "random_state": STATE},
        weighted=False,
        library="sklearn",
    ),
]
SPECS = MERCER + SKLEARN
TARGETS = {"labels": data.TWO, "reals": data.TARGETS}


def methods(spec):
    """Return the names of the methods of an estimator that take new points."""
    return [name for name in METHODS if hasattr(spec.build(), name)]


def outputs(estimator, new=data.NEW):
    """Return what a fitted estimator says of new points, by method."""
    known = [name for name in METHODS if hasattr(estimator, name)]
    # only kernels with a gradient have pre-images
    if "denoise" in known and not estimator.kernel_.tags.differentiable:
        known.remove("denoise")
    return {name: getattr(estimator, name)(new) for name in known}


def attributes(estimator):
    """Return the public fitted attributes, properties included; some properties do not exist for some fits."""
    found = {}
    for name in dir(estimator):
        # the bound of points that are not separated is infinite
        if name.endswith("_") and not name.startswith("_") and name != "mistake_bound_":
            try:
                found[name] = getattr(estimator, name)
            except (AttributeError, ValueError, TypeError, MemoryError):
                found[name] = None
    return found


@functools.cache
def _fitted(name, library):
    spec = next(each for each in SPECS if (each.name, each.library) == (name, library))
    before = data.computed[0]
    estimator = fit(spec.build(), data.X, TARGETS.get(spec.target))
    data.computed[0] = before
    return estimator


def fitted(spec):
    """Return a fitted estimator, always the same."""
    return _fitted(spec.name, spec.library)


def fit(estimator, X, y=None, sample_weight=None):
    """Fit with the arguments that are given."""
    options = {} if sample_weight is None else {"sample_weight": sample_weight}
    return estimator.fit(X, **options) if y is None else estimator.fit(X, y, **options)


def fit_call(spec):
    """Return the call of ``fit`` with all its parameters."""
    arguments = dict(spec.params)
    arguments["X"] = "training rows", lambda: data.X.copy()
    if spec.target:
        arguments["y"] = spec.target, lambda: TARGETS[spec.target].copy()
    if spec.weighted:
        arguments["sample_weight"] = "sample weights", data.WEIGHTS.copy

    def run(values, before):
        given = {name: values[name] for name in ("X", "y", "sample_weight") if name in values}
        params = {name: values[name] for name in spec.params}
        estimator = spec.make(**spec.fixed, **params)
        before.append((estimator, rules.fingerprint(estimator)))
        try:
            estimator.fit(**given)
        except Exception:
            _refit(spec, params, given, before)
            raise
        # errors of the methods leave the fit
        before.clear()
        return [outputs(estimator), attributes(estimator)]

    return Call(
        f"{spec.name}.fit", arguments, run, spec.library, answer=functools.partial(_answer, spec)
    )


def _answer(spec, result):
    """Return the outputs that do not depend on names of classes and signs of axes."""
    found = {
        name: values
        for name, values in result[0].items()
        if name != "predict" or spec.target != "labels"
    }
    if "transform" in found:
        found["transform"] = found["transform"] @ found["transform"].T
    # predictions have the shape of the targets, a vector or one column
    return (
        {name: np.ravel(values) for name, values in found.items()}
        if spec.name == "KernelRidge"
        else found
    )


def _refit(spec, params, given, before):
    """Fit an estimator that is fitted already: an error must leave the earlier fit."""
    earlier = copy.deepcopy(fitted(spec))
    for name, value in params.items():
        setattr(earlier, name, value)
    before.append((earlier, rules.fingerprint(earlier)))
    computed = data.computed[0]
    with contextlib.suppress(Exception):
        earlier.fit(**given)
    data.computed[0] = computed


def method_calls(spec):
    """Return the calls of the methods that take new points."""
    return [_method_call(spec, name) for name in methods(spec)]


def _method_call(spec, name):
    def run(values, before):
        estimator = fitted(spec)
        before.append((estimator, rules.fingerprint(estimator)))
        return getattr(estimator, name)(values["X"])

    return Call(f"{spec.name}.{name}", {"X": ("fitted rows", data.NEW.copy)}, run, spec.library)


def coordinates(spec):
    """Return valid coordinates of an estimator that has ``inverse_transform``."""
    return np.asarray(fitted(spec).transform(data.NEW))


def all_calls():
    """Yield the calls of all estimators."""
    for spec in SPECS:
        yield fit_call(spec)
        yield from method_calls(spec)
        for name in ("inverse_transform", "reconstruct"):
            if hasattr(spec.build(), name):
                yield _coordinate_call(spec, name)


def _coordinate_call(spec, name):
    argument = "scores" if name == "reconstruct" else "X"

    def run(values, _before):
        return getattr(fitted(spec), name)(values[argument])

    return Call(
        f"{spec.name}.{name}", {argument: ("matrix", lambda: coordinates(spec))}, run, spec.library
    )
