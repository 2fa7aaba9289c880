"""Fitted models for export tests, ten thousand points, and their decision values in Python."""

import functools
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import sklearn.base
from sklearn import svm as sk
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer as mc
from mercer.formats import FittedExpansion, as_expansion

X, Y = load_iris(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
TARGET = np.sin(X @ np.array([1.0, 0.5, -1.0, 2.0]))
NAMES = np.array(["setosa", 'a "b"\\?', "jünger"])
# Relative to the largest decision value.
TOLERANCES = {"float32": 1e-5, "float64": 1e-12}

KERNELS = {
    "Gaussian": mc.Gaussian(0.5),
    "Polynomial": mc.Polynomial(3, 0.1, 1.0),
    "Sigmoid": mc.Sigmoid(0.01, -0.2),
    "Linear": mc.Linear(),
}
COMPOSITES = {
    "Matern with a kink": mc.Matern(1.5, 0.5),
    "RationalQuadratic": mc.RationalQuadratic(1.2, 0.7),
    "sum and product": 2.0 * mc.Gaussian(0.3) * mc.Cauchy(0.2) + 0.1 * mc.Linear() + 1.0,
    "powers, exponential and normalised": mc.Normalized(
        mc.Linear() ** 4 + mc.Exp(0.05 * mc.Linear())
    ),
    "mapped": mc.Mapped(mc.Gaussian(1.0), np.array([0.5, 1.0, 0.3, 2.0]))
    + mc.Mapped(mc.Matern(1.0, 1.5), np.array([-1, 0]))
    + mc.Mapped(mc.Linear(), np.array([[1.0, -1.0, 0.5, 0.0], [0.0, 0.3, 0.3, 0.1]])),
}
SUMMANDS = (
    mc.Gaussian(0.3),
    mc.Mapped(mc.Matern(1.5, 0.5), np.array([0.5, 1.0, 0.3, 2.0])),
    mc.Linear(),
)
# Kernels of points with one more column: blocks of a direct sum, and widths.
MARKED = {
    "direct sum": (mc.DirectSum(*SUMMANDS, n_features=4), np.arange(-1.0, 3.0)),
    "several widths": (mc.VariableWidthGaussian(0.5, 4), np.array([0.8, 1.0, 2.5])),
}
PROCESS = RBF([1.0, 2.0, 1.0, 3.0]) + WhiteKernel(0.1)
MODELS = {
    "two classes": (mc.SVC(kernel="rbf"), 2, Y),
    "two classes by name": (mc.NuSVC(kernel="rbf", nu=0.2), 2, NAMES[Y]),
    "three classes by name": (mc.NuSVC(kernel="rbf", nu=0.2), 3, NAMES[Y]),
    "one against the rest": (mc.SVC(kernel="rbf", multi_class="ovr"), 3, np.array([7, -3, 12])[Y]),
    "SVR": (mc.SVR(kernel="rbf"), 3, TARGET),
    "NuSVR": (mc.NuSVR(kernel="rbf"), 3, TARGET),
    "QuantileSVR": (mc.QuantileSVR([0.2, 0.7], kernel="rbf"), 3, TARGET),
    "OneClassSVM": (mc.OneClassSVM(nu=0.2), 3, Y),
    "SVDD": (mc.SVDD(kernel="rbf"), 3, Y),
    "ridge of two targets": (mc.KernelRidge(kernel="rbf"), 3, np.column_stack([TARGET, Y])),
    "KernelPCA": (mc.KernelPCA(3, kernel="rbf"), 3, Y),
    "scikit-learn's SVC": (sk.SVC(decision_function_shape="ovo"), 3, NAMES[Y]),
    "scikit-learn's SVC by classes": (sk.SVC(), 3, NAMES[Y]),
    "scikit-learn's NuSVR": (sk.NuSVR(), 3, TARGET),
    "scikit-learn's OneClassSVM": (sk.OneClassSVM(nu=0.2), 3, Y),
    "scikit-learn's KernelRidge": (KernelRidge(kernel="polynomial", gamma=0.1), 3, TARGET),
    "scikit-learn's KernelPCA": (KernelPCA(2, kernel="cosine"), 3, Y),
    "scikit-learn's process": (GaussianProcessRegressor(PROCESS, optimizer=None), 3, TARGET),
}  # fmt: skip
CASES = [*KERNELS, *COMPOSITES, *MARKED, *MODELS, "compressed"]


def with_each(*dtypes):
    """Return all pairs of a case and a type; those are slow that are not needed to have each case with one type."""
    return [
        pytest.param(case, dtype, marks=[] if i % len(dtypes) == j else pytest.mark.slow)
        for i, case in enumerate(CASES)
        for j, dtype in enumerate(dtypes)
    ]


@functools.cache
def fitted(case):
    """Return the fitted model of a case."""
    if case in KERNELS:
        return mc.SVC(kernel=KERNELS[case]).fit(X, Y)
    if case in COMPOSITES:
        # only the expansion is exported, so no SVC with this kernel has to be fitted
        svc = fitted("Gaussian")
        psi = mc.Expansion(COMPOSITES[case], svc.support_vectors_, svc.expansion_.coef)
        return FittedExpansion(psi, svc.intercept_, svc.classes_)
    if case in MARKED:
        svc, (kernel, marks) = fitted("Gaussian"), MARKED[case]
        points = np.column_stack(
            [svc.support_vectors_, np.resize(marks, len(svc.support_vectors_))]
        )
        return FittedExpansion(
            mc.Expansion(kernel, points, svc.expansion_.coef), svc.intercept_, svc.classes_
        )
    if case == "compressed":
        return mc.compress(fitted("Gaussian"), n_vectors=10)
    model, classes, y = MODELS[case]
    return model.fit(X[classes > Y], y[classes > Y])


@dataclass(frozen=True)
class Expected:
    """Points, and their decision values from Python in float64."""

    model: object
    points: np.ndarray
    values: np.ndarray
    tolerance: float

    @property
    def clear(self):
        """Which points are so far from a decision boundary that only one label is right."""
        if getattr(self.model, "multi_class", "ovo") == "ovr" and self.values.shape[1] > 1:
            first, second = np.sort(self.values, axis=1)[:, :-3:-1].T
            return first - second > 2 * self.tolerance
        return (abs(self.values) > self.tolerance).all(axis=1)

    def assert_agrees(self, values):
        """Compare decision values (n, m)."""
        assert values.shape == self.values.shape
        assert values.dtype == self.points.dtype
        assert abs(values - self.values).max() <= self.tolerance

    def assert_same_labels(self, labels):
        """Compare labels (n,)."""
        assert self.clear.mean() > 0.99
        np.testing.assert_array_equal(
            labels[self.clear], self.model.predict(self.points)[self.clear]
        )


def many_classes(seed, kernel, n_classes=40):
    """Return a classifier of many classes of three rows each, new points, and the scores of all pairs at these."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(3 * rng.normal(size=(n_classes, 4)), 3, axis=0) + rng.normal(
        size=(3 * n_classes, 4)
    )
    model = mc.SVC(kernel=kernel).fit(rows, np.repeat(np.arange(n_classes), 3))
    points = rows + rng.normal(size=rows.shape)
    return model, points, as_expansion(model)(points)


def expected_values(model, dtype, seed, n=10_000):
    """Return the decision values of random points around the data."""
    rng = np.random.default_rng(seed)
    points = (X[rng.integers(len(X), size=n)] + 0.3 * rng.normal(size=(n, 4))).astype(dtype)
    # the training points, where distances are zero
    points[: len(X)] = X
    own = model if isinstance(model, FittedExpansion) else as_expansion(model)
    psi = own.expansion
    values = psi.kernel(points.astype(np.float64), psi.points) @ psi.coef + own.intercept
    return Expected(model, points, values, TOLERANCES[dtype] * abs(values).max())


PROBABLE = {
    "sigmoid": mc.SVCCV(Cs=[1.0], cv=3, calibration="sigmoid"),
    "isotonic": mc.SVCCV(Cs=[1.0], cv=3, calibration="isotonic"),
    "most probable": mc.SVCCV(Cs=[1.0], cv=3, calibration="isotonic", labels="probabilities"),
    "one against the rest": mc.SVCCV(Cs=[1.0], cv=3, calibration="sigmoid", multi_class="ovr"),
    "scaled": make_pipeline(StandardScaler(), mc.SVCCV(Cs=[1.0], cv=3, calibration="sigmoid")),
    "searched": GridSearchCV(mc.SVCCV(calibration="isotonic", cv=3), {"Cs": [[1.0]]}, cv=2),
    "scikit-learn's calibration": CalibratedClassifierCV(mc.SVC(), ensemble=False, cv=3),
    "scikit-learn's calibration of its own": CalibratedClassifierCV(
        sk.SVC(), method="isotonic", ensemble=False, cv=3
    ),
    "a table": mc.TableClassifier(),
}


@dataclass(frozen=True)
class Probable:
    """A fitted model with probabilities, points, the probabilities, and their change within steps of 1e-5."""

    model: object
    points: np.ndarray
    values: np.ndarray
    change: np.ndarray

    def assert_agrees(self, probabilities, labels):
        """Compare probabilities (n, c), to the accuracy of float32, and labels (n,)."""
        assert probabilities.shape == self.values.shape
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=0, atol=3e-7)
        # votes of pairs and isotonic regression jump
        assert np.all(abs(probabilities - self.values).max(axis=1) <= 3e-5 + self.change)
        assert np.mean(self.change < 1e-3) > 0.9
        steady = self.change < 1e-3
        assert np.mean(labels[steady] == self.model.predict(self.points)[steady]) > 0.99


@functools.cache
def with_probabilities(case, n_classes, seed):
    """Return a Probable of clusters that overlap."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_classes, 3))
    y = np.arange(120) % n_classes
    rows = centres[y] + rng.normal(size=(120, 3))
    model = sklearn.base.clone(PROBABLE[case]).fit(rows, np.array(["a", "b", "c", "d"])[y])
    points = (2 * rng.normal(size=(500, 3))).astype(np.float32).astype(np.float64)
    values = model.predict_proba(points)
    steps = 1e-5 * np.vstack([np.eye(3), -np.eye(3)])
    moved = np.stack([model.predict_proba(points + step) for step in steps])
    return Probable(model, points, values, 2 * abs(moved - values).max(axis=(0, 2)))


@functools.cache
def of_a_table(target):
    """Return a model of a table of numbers with missing entries and a category, and new rows of it."""
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(size=(90, 2)), rng.integers(0, 4, 90)])
    table[::7, 0] = np.nan
    value = (
        np.sin(2 * table[:, 1])
        + (table[:, 2] == 1)
        + np.nan_to_num(table[:, 0])
        + 0.1 * rng.normal(size=90)
    )
    frame = pd.DataFrame(table).astype({2: "category"})
    if target == "reals":
        model = mc.TableRegressor().fit(frame, value)
    else:
        edges = {"two classes": [0.4], "three classes": [0.0, 1.0]}[target]
        model = mc.TableClassifier().fit(frame, np.digitize(value, edges))
    new = table[::-1] * [3.0, 3.0, 1.0]
    # a category that the fit has not seen
    new[0, 2] = 9.0
    return model, new
