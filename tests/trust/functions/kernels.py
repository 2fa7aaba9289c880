"""Constructors of kernels, and values of kernels."""

import numpy as np
from tests.trust import data
from tests.trust.calls import call
from tests.trust.functions.valid import (
    COUNT,
    KERNEL,
    NEW,
    PSI,
    ROWS,
    SOME,
    WEIGHTS,
    WIDTH,
    K,
    X,
    valid,
)

import mercer as mc


def _repaired():
    """Yield calls of the repair of a matrix and of a kernel, and of kernels on images and columns."""
    yield call(
        "make_positive",
        lambda kernel, how: mc.make_positive(kernel, how).matrix,
        kernel=valid("matrix", -KERNEL(X)),
        how=valid("choice", "clip"),
    )
    yield call(
        "make_positive.kernel",
        lambda kernel, how, X: mc.make_positive(kernel, how, X=X).kernel(NEW),
        kernel=K,
        how=valid("choice", "clip"),
        X=valid("rows", X),
    )
    yield call(
        "EmpiricalMap",
        lambda kernel, points, F: mc.EmpiricalMap(kernel, points, F)(NEW),
        kernel=K,
        points=valid("rows", NEW),
        F=valid("matrix", np.eye(7)),
    )
    yield call(
        "OnColumns",
        lambda kernel, columns: mc.OnColumns(kernel, columns)(NEW),
        kernel=K,
        columns=valid("identifier", (0, 2)),
    )
    yield call(
        "DirectSum",
        lambda left, right, n_features: mc.DirectSum(left, right, n_features=n_features)(NEW),
        left=K,
        right=K,
        n_features=valid("count or none", 3),
    )
    yield call(
        "VariableWidthGaussian",
        lambda gamma, n_features: mc.VariableWidthGaussian(gamma, n_features)(NEW),
        gamma=WIDTH,
        n_features=COUNT,
    )
    yield call(
        "VariableWidthGaussian.call", lambda X: mc.VariableWidthGaussian(1.0, 3)(X, NEW), X=SOME
    )
    yield call("on_columns", lambda kernel: mc.on_columns(kernel, [0, 2])(NEW), kernel=K)


def all_calls():
    """Yield all calls."""
    yield from _repaired()
    rule, positive, number = ("positive or rule", lambda: 1.0), WIDTH, valid("number", 0.5)
    constructors = {
        mc.Gaussian: {"gamma": rule},
        mc.Laplacian: {"gamma": rule},
        mc.Cauchy: {"gamma": rule},
        mc.Chi2: {"gamma": rule},
        mc.Periodic: {"period": positive, "length": positive},
        mc.Matern: {"length": rule, "nu": ("positive", lambda: 1.5)},
        mc.RationalQuadratic: {"length": rule, "alpha": positive},
        mc.kernels.PowerDistance: {"beta": positive},
        mc.kernels.Multiquadric: {"c": positive},
        mc.Polynomial: {"degree": COUNT, "gamma": rule, "coef0": number},
        mc.Sigmoid: {"gamma": rule, "coef0": number},
        mc.Constant: {"value": valid("nonnegative", 1.0)},
        mc.Scaled: {"kernel": K, "factor": positive},
        mc.Power: {"kernel": K, "degree": COUNT},
        mc.kernels.BSpline: {"order": valid("count or zero", 3)},
        mc.Sum: {"left": K, "right": K},
        mc.Product: {"left": K, "right": K},
        mc.Exp: {"kernel": K},
        mc.Anova: {"kernel": K, "degree": COUNT},
        mc.Normalized: {"kernel": K},
        mc.Rescaled: {"kernel": K, "c": ("expansion", lambda: PSI[1]())},
        mc.OnFeatures: {"kernel": K, "inner": K},
        mc.Mapped: {"kernel": K, "A": valid("matrix or factors", np.eye(3))},
        mc.FunctionKernel: {"function": ("function", lambda: KERNEL)},
        mc.FeatureMap: {"phi": ("function", lambda: np.square)},
        mc.Precomputed: {"matrix": ("matrix", lambda: KERNEL(X))},
    }
    for cls, options in constructors.items():

        def evaluate(cls=cls, **values):
            kernel = cls(**values)
            return kernel(np.arange(3) if cls is mc.Precomputed else NEW)

        yield call(cls.__name__, evaluate, **options)
    kernels = {
        "Gaussian": KERNEL,
        "Laplacian": mc.Laplacian(1.0),
        "Polynomial": mc.Polynomial(3),
        "Chi2": mc.Chi2(1.0),
        "AdditiveChi2": mc.AdditiveChi2(),
        "Intersection": mc.Intersection(),
        "Bhattacharyya": mc.kernels.Bhattacharyya(),
        "ThinPlate": mc.kernels.ThinPlate(),
        "Matern": mc.Matern(1.0),
        "Linear": mc.Linear(),
        "RationalQuadratic": mc.RationalQuadratic(1.0),
        "Cauchy": mc.Cauchy(1.0),
        "Sigmoid": mc.Sigmoid(0.5),
        "Normalized": mc.Normalized(mc.Polynomial(2)),
        "Exp": mc.Exp(mc.Gaussian(1.0)),
        "Mapped": mc.Mapped(mc.Gaussian(1.0), np.array([1.0, 0.5, 2.0])),
        "Sum": mc.Gaussian(0.5) + mc.Linear(),
    }
    for name, kernel in kernels.items():
        yield call(f"{name}.call", lambda X, kernel=kernel: kernel(X, data.X), X=SOME)
    for name in ("Gaussian", "Polynomial", "Normalized"):
        yield call(f"{name}.diag", kernels[name].diag, X=SOME)
        yield call(
            f"{name}.second",
            lambda Z, name=name: kernels[name](NEW, Z),
            Z=valid("rows or none", NEW),
        )
    yield call(
        "Gaussian.resolve",
        lambda X, sample_weight: mc.Gaussian().resolve(X, sample_weight).gamma,
        X=ROWS,
        sample_weight=WEIGHTS,
    )
    yield call("Matern.resolve", lambda X: mc.Matern("median").resolve(X).length, X=ROWS)
    yield call("Gaussian.vjp", KERNEL.vjp, X=SOME, Z=SOME, W=valid("matrix", np.ones((7, 7))))
