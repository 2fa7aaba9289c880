"""The fits that `tools.freeze` records: every route of the solvers, kernels, containers and types of numbers."""

import functools
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_moons
from sklearn.linear_model import LogisticRegression

import mercer as mc

# How a fit is compared: its numbers are equal up to rounding; it solves a problem to the last digits, by any steps; it
# ends at the default tolerance, where a certificate alone tells how well; or it is computed from a solution in a way
# that magnifies small changes.
EQUAL, SOLVED, COARSE, LOOSE = "equal", "solved", "coarse", "loose"
FINE = 1e-9


@dataclass(frozen=True)
class Case:
    """A fit: the estimator, its training points, targets and weights, new points, and how it is compared.

    ``make`` takes the place of the estimator: a function without arguments that returns a fitted model or an array.
    ``certified`` says whether `mercer.certify` recomputes the certificate. ``counter`` is a list to which the kernel
    appends the number of values of each call.
    """

    name: str
    model: Any = None
    X: Any = None
    y: Any = None
    new: Any = None
    weights: Any = None
    kind: str = SOLVED
    make: Any = None
    certified: bool = True
    counter: Any = None

    def fit(self):
        """Return the fitted model, or an array of results."""
        if self.make is not None:
            return self.make()
        weights = {} if self.weights is None else {"sample_weight": self.weights}
        return (
            self.model.fit(self.X, **weights)
            if self.y is None
            else self.model.fit(self.X, self.y, **weights)
        )


def data():
    """Return points of two classes, labels, targets, and points of four classes with labels."""
    X, y = make_moons(160, noise=0.25, random_state=0)
    digits = load_digits()
    rows = np.random.default_rng(1).permutation(len(digits.data))[:240]
    D, labels = digits.data[rows] / 16, digits.target[rows] % 4
    target = np.sin(2 * X[:, 0]) + 0.1 * np.random.default_rng(2).normal(size=len(X))
    return X, y, target, D, labels


@functools.cache
def many(n, noise=0.2):
    """Return n points of two classes, their labels and targets."""
    X, y = make_moons(n, noise=noise, random_state=4)
    return X, y, np.sin(2 * X[:, 0]) + 0.1 * np.random.default_rng(4).normal(size=n)


@functools.cache
def clusters(n, columns, classes=2):
    """Return n points around the centre of their class, labels and a linear target."""
    rng = np.random.default_rng(6)
    labels = rng.integers(0, classes, n)
    X = rng.normal(size=(classes, columns))[labels] + rng.normal(size=(n, columns))
    return X, labels, X @ rng.normal(size=columns) + 0.3 * rng.normal(size=n)


def fine(estimator, *arguments, **parameters):
    """Return an estimator whose solution is known to the last digits."""
    return estimator(*arguments, **{"tol": FINE, **parameters})


def cases():
    """Yield all fits."""
    yield from classifiers()
    yield from classifiers_of_several_classes()
    yield from large_classifiers()
    yield from nu_classifiers()
    yield from regressions()
    yield from nu_regressions()
    yield from one_class_models()
    yield from objects()
    yield from several_problems()
    yield from rows_in_blocks()
    yield from coarse_fits()
    yield from solved_models()
    yield from other_models()
    yield from functions()


def classifiers():
    """Yield support vector classifiers of two classes."""
    X, y, *_ = data()
    g, p, new = mc.Gaussian(2.0), mc.Polynomial(3, 0.5, 1.0), X[::7] + 0.05
    weights = np.random.default_rng(3).uniform(0, 2, len(y))
    kernels = {
        "gaussian": g, "polynomial": p, "laplacian": mc.Laplacian(1.0), "matern": mc.Matern(0.7, 2.5),
        "sum": 0.5 * g + mc.Linear(), "product": g * p, "rule": "rbf", "rational": mc.RationalQuadratic(1.0, 2.0),
        "linear": "linear", "cauchy": mc.Cauchy(1.0), "normalized": mc.Normalized(p), "exp": mc.Exp(0.1 * p),
        "periodic": mc.Periodic(2.0, 1.0), "columns": mc.on_columns(g, [0]), "callable": lambda A, B: A @ B.T,
    }  # fmt: skip
    for name, kernel in kernels.items():
        yield Case(f"SVC-{name}", fine(mc.SVC, 3.0, kernel=kernel), X, y, new)
    for name in ("gaussian", "polynomial", "linear", "matern", "sum"):
        model = fine(mc.SVC, 3.0, kernel=kernels[name])
        yield Case(f"SVC-{name}-float32", model, X.astype(np.float32), y, new.astype(np.float32))
    for C in (1e-3, 100.0, 1e4):
        yield Case(f"SVC-C-{C:g}", fine(mc.SVC, C, kernel=g), X, y, new)
    yield Case("SVC-weights", fine(mc.SVC, 1.0, kernel=g), X, y, new, weights)
    yield Case("SVC-repeated", fine(mc.SVC, 3.0, kernel=g), np.tile(X, (2, 1)), np.tile(y, 2), new)
    yield Case("SVC-hard", fine(mc.SVC, np.inf, kernel=mc.Gaussian(20.0)), X, y, new)
    yield Case("SVC-hard-linear", fine(mc.SVC, np.inf, kernel="linear"), X + 3 * y[:, None], y, new)
    yield Case(
        "SVC-hard-weights", fine(mc.SVC, np.inf, kernel=mc.Gaussian(20.0)), X, y, new, weights
    )
    matrix = g(X).astype(np.float32)
    yield Case("SVC-precomputed", fine(mc.SVC, 3.0, kernel="precomputed"), g(X), y, g(new, X))
    yield Case(
        "SVC-precomputed-float32", fine(mc.SVC, 3.0, kernel="precomputed"), matrix, y, g(new, X)
    )
    yield Case(
        "SVC-sigmoid", fine(mc.SVC, 1.0, kernel=mc.Sigmoid(0.1, -1.0)), X, y, new, kind=COARSE
    )
    yield Case(
        "SVC-landmarks", fine(mc.SVC, 3.0, kernel=g, landmarks=20, random_state=0), X, y, new
    )
    yield Case("SVC-landmarks-given", fine(mc.SVC, 3.0, kernel=g, landmarks=X[:15]), X, y, new)
    counts = []
    yield Case("SVC-counted", fine(mc.SVC, 3.0, kernel=counted(counts)), X, y, new, counter=counts)


def counted(counts):
    """Return a kernel that appends the number of values of each call to a list."""

    def values(A, B):
        counts.append(len(A) * len(B))
        return np.exp(-2 * np.square(A[:, None] - B[None]).sum(axis=2))

    return mc.FunctionKernel(values)


def classifiers_of_several_classes():
    """Yield support vector classifiers of four classes: pairs, and each class against the rest."""
    *_, D, c = data()
    far, b, p = D[::9] * 0.97, mc.Gaussian(0.05), mc.Polynomial(2, 0.1, 1.0)
    weights = np.random.default_rng(5).integers(0, 3, len(c))
    for pairs in ("ovo", "ovr"):
        several = functools.partial(fine, mc.SVC, multi_class=pairs)
        yield Case(f"SVC-{pairs}", several(10.0, kernel=b), D, c, far)
        yield Case(f"SVC-{pairs}-linear", several(10.0, kernel="linear"), D, c, far)
        yield Case(f"SVC-{pairs}-polynomial", several(1.0, kernel=p), D, c, far)
        yield Case(
            f"SVC-{pairs}-float32",
            several(10.0, kernel=b),
            D.astype(np.float32),
            c,
            far.astype(np.float32),
        )
        yield Case(
            f"SVC-{pairs}-sparse", several(10.0, kernel=b), sp.csr_matrix(D), c, sp.csr_matrix(far)
        )
        yield Case(
            f"SVC-{pairs}-sparse-linear",
            several(kernel="linear"),
            sp.csr_matrix(D),
            c,
            sp.csr_matrix(far),
        )
        yield Case(
            f"SVC-{pairs}-precomputed", several(10.0, kernel="precomputed"), b(D), c, b(far, D)
        )
        yield Case(f"SVC-{pairs}-weights", several(1.0, kernel=b), D, c, far, weights)
        yield Case(f"SVC-{pairs}-hard", several(np.inf, kernel=b), D, c, far)
        yield Case(
            f"SVC-{pairs}-landmarks",
            several(3.0, kernel=b, landmarks=30, random_state=0),
            D,
            c,
            far,
        )
        yield Case(f"SVC-{pairs}-memory", several(10.0, kernel=b, memory="200kB"), D, c, far)
        counts = []
        yield Case(
            f"SVC-{pairs}-counted", several(1.0, kernel=counted(counts)), D, c, far, counter=counts
        )
    yield Case("SVC-votes", fine(mc.SVC, 10.0, kernel=b, decision_function_shape="ovo"), D, c, far)
    yield Case("SVC-ties", fine(mc.SVC, 10.0, kernel=b, break_ties=True), D, c, far)
    yield Case("SVC-balanced", fine(mc.SVC, 1.0, kernel=b, class_weight="balanced"), D, c, far)
    yield Case(
        "SVC-class-weight", fine(mc.SVC, 1.0, kernel=b, class_weight={0: 0.3, 2: 4.0}), D, c, far
    )
    yield Case("SVC-labels", fine(mc.SVC, 1.0, kernel=b), D, np.array([*"dacb"])[c], far)
    image = mc.Local(mc.Gaussian(1.0), (8, 8), 3)
    for name, kernel in {
        "chi2": mc.Chi2(0.1),
        "intersection": mc.Intersection(),
        "local": image,
    }.items():
        yield Case(f"SVC-{name}", fine(mc.SVC, kernel=kernel), D, c, far)
    E, e, _ = clusters(600, 4, 30)
    yield Case(
        "SVC-thirty-classes", fine(mc.SVC, 3.0, kernel=mc.Gaussian(0.3)), E, e, E[::17] * 1.01
    )


def large_classifiers():
    """Yield classifiers of more points than are solved at once, and of little memory."""
    X, y, _ = many(1500)
    g, p, new = mc.Gaussian(2.0), mc.Polynomial(3, 0.5, 1.0), X[::40] + 0.03
    yield Case("SVC-1500", fine(mc.SVC, 10.0, kernel=g), X, y, new)
    yield Case(
        "SVC-1500-float32",
        fine(mc.SVC, 10.0, kernel=g),
        X.astype(np.float32),
        y,
        new.astype(np.float32),
    )
    yield Case("SVC-1500-memory", fine(mc.SVC, 10.0, kernel=g, memory="2MB"), X, y, new)
    yield Case(
        "SVC-1500-memory-sparse",
        fine(mc.SVC, 10.0, kernel=g, memory="2MB"),
        sp.csr_matrix(X),
        y,
        new,
    )
    yield Case("SVC-1500-polynomial", fine(mc.SVC, 1.0, kernel=p), X, y, new)
    yield Case("SVC-1500-precomputed", fine(mc.SVC, 10.0, kernel="precomputed"), g(X), y, g(new, X))
    yield Case(
        "SVC-1500-landmarks", fine(mc.SVC, 10.0, kernel=g, landmarks=40, random_state=0), X, y, new
    )
    L, labels, _ = clusters(3000, 5)
    far = L[::70] * 1.02
    yield Case("SVC-3000-linear", fine(mc.SVC, 1.0, kernel="linear"), L, labels, far)
    yield Case(
        "SVC-3000-linear-sparse", fine(mc.SVC, 1.0, kernel="linear"), sp.csr_matrix(L), labels, far
    )
    wide = L * [1e3, 1.0, 1e-3, 1.0, 30.0]
    yield Case(
        "SVC-3000-linear-wide",
        fine(mc.SVC, 10.0, kernel="linear", tol=1e-6),
        wide,
        labels,
        wide[::70] * 1.02,
    )
    yield Case(
        "SVC-3000-quadratic", fine(mc.SVC, 1.0, kernel=mc.Polynomial(2, 1.0, 1.0)), L, labels, far
    )
    B, b, _ = many(9000, 0.1)
    beyond = B[::200] + 0.02
    yield Case("SVC-9000", fine(mc.SVC, 10.0, kernel=g, tol=1e-6), B, b, beyond)
    yield Case(
        "SVC-9000-memory", fine(mc.SVC, 10.0, kernel=g, tol=1e-6, memory="30MB"), B, b, beyond
    )
    small = B.astype(np.float32)
    yield Case(
        "SVC-9000-float32",
        fine(mc.SVC, 10.0, kernel=g, tol=1e-6),
        small,
        b,
        beyond.astype(np.float32),
    )


def nu_classifiers():
    """Yield nu-classifiers."""
    X, y, _, D, c = data()
    g, b, new, far = mc.Gaussian(2.0), mc.Gaussian(0.05), X[::7] + 0.05, D[::9] * 0.97
    weights = np.random.default_rng(3).uniform(0, 2, len(y))
    for nu in (0.1, 0.3, 0.6):
        yield Case(f"NuSVC-{nu}", fine(mc.NuSVC, nu, kernel=g), X, y, new)
    yield Case("NuSVC-linear", fine(mc.NuSVC, 0.5, kernel="linear"), X, y, new)
    yield Case(
        "NuSVC-polynomial", fine(mc.NuSVC, 0.4, kernel=mc.Polynomial(3, 0.5, 1.0)), X, y, new
    )
    yield Case(
        "NuSVC-float32",
        fine(mc.NuSVC, 0.3, kernel=g),
        X.astype(np.float32),
        y,
        new.astype(np.float32),
    )
    yield Case("NuSVC-weights", fine(mc.NuSVC, 0.3, kernel=g), X, y, new, weights)
    yield Case("NuSVC-precomputed", fine(mc.NuSVC, 0.3, kernel="precomputed"), g(X), y, g(new, X))
    yield Case(
        "NuSVC-sparse", fine(mc.NuSVC, 0.3, kernel=g), sp.csr_matrix(X), y, sp.csr_matrix(new)
    )
    yield Case("NuSVC-memory", fine(mc.NuSVC, 0.3, kernel=g, memory="100kB"), X, y, new)
    for pairs in ("ovo", "ovr"):
        yield Case(f"NuSVC-{pairs}", fine(mc.NuSVC, 0.2, kernel=b, multi_class=pairs), D, c, far)
    yield Case(
        "NuSVC-class-weight", fine(mc.NuSVC, 0.2, kernel=b, class_weight={1: 3.0}), D, c, far
    )
    M, m, _ = many(1500)
    yield Case("NuSVC-1500", fine(mc.NuSVC, 0.3, kernel=g), M, m, M[::40] + 0.03)
    L, labels, _ = clusters(5000, 5)
    large = fine(mc.NuSVC, 0.2, kernel=mc.Gaussian(0.1), tol=1e-6)
    yield Case("NuSVC-5000", large, L, labels, L[::100] * 1.02)
    yield Case(
        "NuSVC-1200-linear",
        fine(mc.NuSVC, 0.4, kernel="linear", tol=1e-6),
        L[:1200],
        labels[:1200],
        L[::100],
    )
    B, t, _ = many(9000, 0.1)
    yield Case("NuSVC-9000", fine(mc.NuSVC, 0.1, kernel=g, tol=1e-5), B, t, B[::200] + 0.02)


def regressions():
    """Yield support vector regressions."""
    X, y, t, *_ = data()
    g, p, new = mc.Gaussian(2.0), mc.Polynomial(3, 0.5, 1.0), X[::7] + 0.05
    weights = np.random.default_rng(3).uniform(0, 2, len(y))
    svr = functools.partial(fine, mc.SVR, 5.0, epsilon=0.05)
    for name, kernel in {
        "gaussian": g,
        "polynomial": p,
        "linear": "linear",
        "sum": 0.5 * g + mc.Linear(),
    }.items():
        yield Case(f"SVR-{name}", svr(kernel=kernel), X, t, new)
    for loss in ("squared_epsilon", "huber"):
        yield Case(f"SVR-{loss}", svr(kernel=g, loss=loss), X, t, new)
        yield Case(f"SVR-{loss}-weights", svr(kernel=g, loss=loss), X, t, new, weights)
        yield Case(f"SVR-{loss}-linear", svr(kernel="linear", loss=loss), X, t, new)
    yield Case("SVR-squared-hard", fine(mc.SVR, np.inf, kernel=g, epsilon=0.3), X, t, new)
    yield Case("SVR-hard", fine(mc.SVR, np.inf, kernel=mc.Gaussian(20.0), epsilon=0.3), X, t, new)
    yield Case("SVR-zero", fine(mc.SVR, 5.0, kernel=g, epsilon=0.0), X, t, new)
    yield Case("SVR-weights", svr(kernel=p), X, t, new, weights)
    yield Case(
        "SVR-float32",
        svr(kernel=g),
        X.astype(np.float32),
        t.astype(np.float32),
        new.astype(np.float32),
    )
    yield Case("SVR-sparse", svr(kernel=g), sp.csr_matrix(X), t, sp.csr_matrix(new))
    yield Case("SVR-precomputed", svr(kernel="precomputed"), g(X), t, g(new, X))
    yield Case("SVR-memory", svr(kernel=g, memory="100kB"), X, t, new)
    counts = []
    yield Case("SVR-counted", svr(kernel=counted(counts)), X, t, new, counter=counts)
    M, _, s = many(1500)
    yield Case("SVR-1500", svr(kernel=g), M, s, M[::40] + 0.03)
    yield Case("SVR-1500-memory", svr(kernel=g, memory="2MB"), M, s, M[::40] + 0.03)
    L, _, u = clusters(3000, 5)
    yield Case("SVR-3000-linear", svr(kernel="linear"), L, u, L[::70] * 1.02)
    yield Case("SVR-3000-quadratic", svr(kernel=mc.Polynomial(2, 1.0, 1.0)), L, u, L[::70] * 1.02)
    B, _, v = many(9000, 0.1)
    yield Case(
        "SVR-9000", fine(mc.SVR, 5.0, kernel=g, epsilon=0.2, tol=1e-6), B, v, B[::200] + 0.02
    )


def nu_regressions():
    """Yield nu-regressions."""
    X, y, t, *_ = data()
    g, new = mc.Gaussian(2.0), X[::7] + 0.05
    weights = np.random.default_rng(3).uniform(0, 2, len(y))
    for nu in (0.1, 0.4, 0.9):
        yield Case(f"NuSVR-{nu}", fine(mc.NuSVR, nu, kernel=g), X, t, new)
    for C in (0.05, 20.0, 1e3):
        yield Case(f"NuSVR-C-{C:g}", fine(mc.NuSVR, 0.2, C=C, kernel=g), X, t, new)
    yield Case("NuSVR-linear", fine(mc.NuSVR, 0.5, kernel="linear"), X, t, new)
    yield Case(
        "NuSVR-polynomial", fine(mc.NuSVR, 0.5, kernel=mc.Polynomial(3, 0.5, 1.0)), X, t, new
    )
    yield Case("NuSVR-weights", fine(mc.NuSVR, 0.4, kernel=g), X, t, new, weights)
    yield Case(
        "NuSVR-float32",
        fine(mc.NuSVR, 0.4, kernel=g),
        X.astype(np.float32),
        t,
        new.astype(np.float32),
    )
    yield Case("NuSVR-precomputed", fine(mc.NuSVR, 0.4, kernel="precomputed"), g(X), t, g(new, X))
    yield Case(
        "NuSVR-sparse", fine(mc.NuSVR, 0.4, kernel=g), sp.csr_matrix(X), t, sp.csr_matrix(new)
    )
    M, _, s = many(1500)
    yield Case("NuSVR-1500", fine(mc.NuSVR, 0.3, kernel=g, tol=1e-7), M, s, M[::40] + 0.03)
    L, _, u = clusters(5000, 5)
    yield Case(
        "NuSVR-5000", fine(mc.NuSVR, 0.3, kernel=mc.Gaussian(0.1), tol=1e-5), L, u, L[::100] * 1.02
    )
    yield Case(
        "NuSVR-1200-linear",
        fine(mc.NuSVR, 0.5, kernel="linear", tol=1e-6),
        L[:1200],
        u[:1200],
        L[::100],
    )


def one_class_models():
    """Yield one-class models."""
    X, y, *_ = data()
    g, p, new = mc.Gaussian(2.0), mc.Polynomial(3, 0.5, 1.0), X[::7] + 0.05
    weights = np.random.default_rng(3).uniform(0, 2, len(y))
    M, B = many(1500)[0], many(9000, 0.1)[0]
    models = {
        "OneClassSVM": functools.partial(fine, mc.OneClassSVM, 0.2),
        "SVDD": functools.partial(fine, mc.SVDD, 0.02),
    }
    for name, model in models.items():
        yield Case(name, model(kernel=g), X, None, new)
        yield Case(f"{name}-polynomial", model(kernel=p), X, None, new)
        yield Case(f"{name}-linear", model(kernel="linear"), X + 3, None, new + 3)
        yield Case(f"{name}-weights", model(kernel=g), X, None, new, weights)
        yield Case(
            f"{name}-float32", model(kernel=g), X.astype(np.float32), None, new.astype(np.float32)
        )
        yield Case(f"{name}-sparse", model(kernel=g), sp.csr_matrix(X), None, sp.csr_matrix(new))
        yield Case(f"{name}-memory", model(kernel=g, memory="100kB"), X, None, new)
        counts = []
        yield Case(f"{name}-counted", model(kernel=counted(counts)), X, None, new, counter=counts)
    yield Case(
        "OneClassSVM-precomputed",
        fine(mc.OneClassSVM, 0.2, kernel="precomputed"),
        g(X),
        None,
        g(new, X),
    )
    yield Case("OneClassSVM-all", fine(mc.OneClassSVM, 1.0, kernel=g), X, None, new)
    yield Case("OneClassSVM-few", fine(mc.OneClassSVM, 0.01, kernel=g), X, None, new)
    yield Case("SVDD-hard", fine(mc.SVDD, np.inf, kernel=g), X, None, new)
    yield Case("SVDD-default", fine(mc.SVDD, kernel="linear"), X, None, new)
    yield Case("OneClassSVM-1500", fine(mc.OneClassSVM, 0.1, kernel=g), M, None, M[::40] + 0.03)
    yield Case("SVDD-1500", fine(mc.SVDD, kernel=g), M, None, M[::40] + 0.03)
    yield Case(
        "OneClassSVM-9000", fine(mc.OneClassSVM, 0.05, kernel=g, tol=1e-7), B, None, B[::200] + 0.02
    )


def objects():
    """Yield fits to strings, sets, graphs and tables."""
    rng = np.random.default_rng(8)
    words = ["".join(rng.choice([*("abcc" if k % 2 else "abbd")], 12)) for k in range(60)]
    bags = [{*rng.choice(12, 5), 20 + k % 2} if k % 3 else {*rng.choice(12, 4)} for k in range(60)]
    graphs = [_graph(rng, 0.2 + 0.3 * (k % 2)) for k in range(40)]
    labels = np.arange(60) % 2
    given = {
        "strings": (mc.strings.Spectrum(2), words),
        "subsequences": (mc.Normalized(mc.strings.Subsequence(2, 0.5)), words),
        "sets": (mc.sets.Tanimoto(), bags),
        "graphs": (mc.Normalized(mc.graphs.WeisfeilerLehman(2)), graphs),
    }
    for name, (kernel, points) in given.items():
        own = labels[: len(points)]
        yield Case(f"SVC-{name}", fine(mc.SVC, 1.0, kernel=kernel), points, own, points[:9])
        yield Case(f"NuSVC-{name}", fine(mc.NuSVC, 0.4, kernel=kernel), points, own, points[:9])
        yield Case(
            f"SVR-{name}",
            fine(mc.SVR, 1.0, kernel=kernel),
            points,
            own + 0.1 * np.arange(len(own)),
            points[:9],
        )
        yield Case(
            f"OneClassSVM-{name}",
            fine(mc.OneClassSVM, 0.3, kernel=kernel),
            points,
            None,
            points[:9],
        )
    kernel = mc.strings.Spectrum(2)
    yield Case(
        "SVC-strings-landmarks",
        fine(mc.SVC, kernel=kernel, landmarks=8, random_state=0),
        words,
        labels,
        words[:9],
    )
    X, y, t, *_ = data()
    table = pd.DataFrame(X, columns=["a", "b"])
    mixed = mc.on_columns(mc.Gaussian(1.0), ["a"]) + mc.on_columns(mc.Laplacian(1.0), ["b"])
    yield Case("SVC-table", fine(mc.SVC, 3.0, kernel=mc.Gaussian(2.0)), table, y, table[::7])
    yield Case("SVC-table-columns", fine(mc.SVC, 3.0, kernel=mixed), table, y, table[::7])
    yield Case("SVR-table", fine(mc.SVR, 3.0, kernel=mc.Gaussian(2.0)), table, t, table[::7])


def _graph(rng, share):
    edges = np.triu(rng.random((7, 7)) < share, 1)
    return mc.graphs.Graph((edges | edges.T).astype(int), labels=[*"ababcac"])


def several_problems():
    """Yield paths over C, searches with cross-validation, and models made of several."""
    X, y, t, D, c = data()
    g, b, new, far = mc.Gaussian(2.0), mc.Gaussian(0.05), X[::7] + 0.05, D[::9] * 0.97
    weights = np.random.default_rng(5).integers(1, 3, len(y))
    Cs = [0.1, 1.0, 10.0, 1e3]
    paths = {
        "two": (X, y, new, {"kernel": g}), "weights": (X, y, new, {"kernel": g, "sample_weight": weights}),
        "ovo": (D, c, far, {"kernel": b}), "ovr": (D, c, far, {"kernel": b, "multi_class": "ovr"}),
        "linear": (X, y, new, {"kernel": "linear"}), "memory": (X, y, new, {"kernel": g, "memory": "100kB"}),
        "float32": (X.astype(np.float32), y, new.astype(np.float32), {"kernel": g}),
    }  # fmt: skip
    for name, (points, labels, others, options) in paths.items():
        own = options.get("sample_weight")
        path = functools.cache(
            functools.partial(mc.svc_path, points, labels, tuple(Cs), tol=FINE, **options)
        )
        for k, C in enumerate(Cs):
            make = functools.partial(lambda path, k: path()[k], path, k)
            yield Case(
                f"svc_path-{name}-{C:g}", X=points, y=labels, weights=own, new=others, make=make
            )
    yield Case("SVCCV", fine(mc.SVCCV, kernel=g, Cs=4, cv=3), X, y, new)
    yield Case("SVCCV-gammas", fine(mc.SVCCV, kernel=g, Cs=3, gammas=3, cv=3), X, y, new)
    yield Case("SVCCV-ovo", fine(mc.SVCCV, kernel=b, Cs=3, cv=2), D, c, far)
    yield Case("SVCCV-ovr", fine(mc.SVCCV, kernel=b, Cs=3, cv=2, multi_class="ovr"), D, c, far)
    yield Case("SVCCV-linear", fine(mc.SVCCV, kernel="linear", Cs=3, cv=3), X, y, new)
    yield Case(
        "SVCCV-calibrated", fine(mc.SVCCV, kernel=g, Cs=3, cv=3, calibration="sigmoid"), X, y, new
    )
    yield Case("SVRCV", fine(mc.SVRCV, kernel=g, Cs=4, cv=3), X, t, new)
    yield Case("SVRCV-gammas", fine(mc.SVRCV, kernel=g, Cs=3, gammas=3, cv=3), X, t, new)
    M, m, s = many(1500)
    yield Case("SVCCV-cells", fine(mc.SVCCV, kernel=g, Cs=3, cv=3, cells=400), M, m, M[::40] + 0.03)
    yield Case(
        "SVRCV-cells",
        fine(mc.SVRCV, kernel=g, Cs=[0.1, 10.0], cv=2, cells=400),
        M,
        s,
        M[::40] + 0.03,
    )
    turned = mc.VirtualSupportVectors(fine(mc.SVC, 3.0, kernel=b), lambda Z: np.roll(Z, 1, axis=1))
    yield Case("VirtualSupportVectors", turned, D, c, far, certified=False)


def rows_in_blocks():
    """Yield fits to rows of Dask arrays and of memory maps."""
    X, y, t = many(1500)
    g, new = mc.Gaussian(2.0), X[::40] + 0.03
    lazy = da.from_array(X, chunks=(400, 2))
    yield Case("SVC-dask", fine(mc.SVC, 10.0, kernel=g, tol=1e-6), lazy, y, new, certified=False)
    L, labels, _ = clusters(600, 3, 3)
    rows = da.from_array(L, chunks=(200, 3))
    yield Case(
        "SVC-dask-ovo",
        fine(mc.SVC, kernel=mc.Gaussian(0.3), tol=1e-6),
        rows,
        labels,
        L[::20],
        certified=False,
    )
    landmarks = {"landmarks": 30, "random_state": 0}
    yield Case(
        "SVC-dask-landmarks",
        fine(mc.SVC, 10.0, kernel=g, **landmarks),
        lazy,
        y,
        new,
        certified=False,
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, X)
        mapped = np.load(path, mmap_mode="r")
        yield Case("SVC-map", fine(mc.SVC, 10.0, kernel=g), mapped, y, new)
        yield Case("SVC-map-landmarks", fine(mc.SVC, 10.0, kernel=g, **landmarks), mapped, y, new)
        yield Case("SVR-map", fine(mc.SVR, 5.0, kernel=g, epsilon=0.05), mapped, t, new)
        for name, points in {"map": mapped, "dask": lazy}.items():
            ridge = mc.KernelRidge(0.1, kernel=g, **landmarks)
            yield Case(f"KernelRidge-{name}", ridge, points, t, new, kind=EQUAL, certified=False)
            pca = mc.KernelPCA(3, kernel=g, **landmarks)
            yield Case(f"KernelPCA-{name}", pca, points, None, new, kind=EQUAL, certified=False)


def coarse_fits():
    """Yield fits at the default tolerance, which certificates compare."""
    X, y, t = many(1500)
    L, labels, _ = clusters(3000, 5)
    B, b, v = many(9000, 0.15)
    D, c = load_digits(return_X_y=True)
    g = mc.Gaussian(2.0)
    models = {
        "SVC": (mc.SVC(10.0, kernel=g), X, y),
        "SVC-large-C": (mc.SVC(1e4, kernel=g), X, y),
        "SVC-float32": (mc.SVC(10.0, kernel=g), X.astype(np.float32), y),
        "SVC-linear": (mc.SVC(kernel="linear"), L, labels),
        "SVC-9000": (mc.SVC(10.0, kernel=g), B, b),
        "SVC-9000-memory": (mc.SVC(10.0, kernel=g, memory="20MB"), B, b),
        "SVC-digits": (mc.SVC(10.0, kernel=mc.Gaussian(0.05)), D / 16, c),
        "SVC-digits-ovr": (mc.SVC(10.0, kernel=mc.Gaussian(0.05), multi_class="ovr"), D / 16, c),
        "SVC-digits-polynomial": (mc.SVC(1.0, kernel="poly"), D / 16, c),
        "NuSVC": (mc.NuSVC(0.2, kernel=g), X, y),
        "NuSVC-9000": (mc.NuSVC(0.1, kernel=g), B, b),
        "SVR": (mc.SVR(10.0, kernel=g), X, t),
        "SVR-9000": (mc.SVR(1.0, kernel=g), B, v),
        "NuSVR": (mc.NuSVR(0.3, kernel=g), X, t),
        "NuSVR-9000": (mc.NuSVR(0.1, kernel=g), B, v),
        "OneClassSVM": (mc.OneClassSVM(0.1, kernel=g), B, None),
        "SVDD": (mc.SVDD(kernel=g), X, None),
    }
    for name, (model, points, target) in models.items():
        yield Case(f"coarse-{name}", model, points, target, points[::50], kind=COARSE)


def solved_models():
    """Yield what is computed from support vector machines: kernels, bounds, spans and small models."""
    X, y, *_ = data()
    g = mc.Gaussian(2.0)
    kernels = [mc.Gaussian(0.5), g, mc.Linear()]
    methods = (
        mc.Construct,
        mc.Greedy,
        mc.Eigenvector,
        mc.Merge,
        mc.MaxNorm,
        mc.L1,
        mc.Pivoted,
        mc.Refine,
    )
    few = fine(mc.SVC, 3.0, kernel=g, max_vectors=4, random_state=0)

    @functools.cache
    def model():
        return fine(mc.SVC, 3.0, kernel=g).fit(X, y)

    def inner():
        return mc.capacity.model(model(), X, y)

    made = {
        "combine-svm": lambda: mc.combine(kernels, X, y, method="svm")(X[:20]),
        "capacity-span": lambda: mc.capacity.span_rule(model(), X, y).value,
        "capacity-spans": lambda: mc.capacity.squared_spans(inner()),
        "capacity-left-out": lambda: mc.capacity.leave_one_out(model(), X, y),
        "capacity-xi-alpha": lambda: mc.capacity.xi_alpha(inner()).value,
        "capacity-ball": lambda: mc.capacity.smallest_ball(g, X, tol=1e-7).radius,
        "compress": lambda: mc.compress(
            model(), X, y, n_vectors=10, random_state=0
        ).decision_function(X),
        "SVC-few-vectors": lambda: few.fit(X, y).decision_function(X),
        **{
            f"reduce-{method.__name__}": lambda method=method: (
                mc.reduce(model().expansion_, 8, method=method()).relative_error
            )
            for method in methods
        },
    }
    for name, make in made.items():
        yield Case(name, make=lambda make=make: np.asarray(make()), kind=LOOSE)


def other_models():
    """Yield estimators that solve linear systems and eigenproblems."""
    X, y, t, D, c = data()
    g, p, b, new, far = (
        mc.Gaussian(2.0),
        mc.Polynomial(3, 0.5, 1.0),
        mc.Gaussian(0.05),
        X[::7] + 0.05,
        D[::9] * 0.97,
    )
    weights = np.random.default_rng(3).uniform(0, 2, len(y))
    equal = functools.partial(Case, kind=EQUAL)
    yield equal("KernelRidge", mc.KernelRidge(0.1, kernel=g), X, t, new)
    yield equal("KernelRidge-two", mc.KernelRidge(0.1, kernel=p), X, np.c_[t, t**2], new)
    yield equal("KernelRidge-weights", mc.KernelRidge(0.1, kernel=g), X, t, new, weights)
    yield equal(
        "KernelRidge-landmarks",
        mc.KernelRidge(0.1, kernel=g, landmarks=20, random_state=0),
        X,
        t,
        new,
    )
    yield equal(
        "KernelRidge-tuned", mc.KernelRidge(0.1, kernel="rbf", gamma="scale", tune="loo"), X, t, new
    )
    yield equal(
        "KernelRidge-sparse", mc.KernelRidge(0.1, kernel=g), sp.csr_matrix(X), t, sp.csr_matrix(new)
    )
    yield equal("KernelFisher", mc.KernelFisher(kernel=g), X, y, new)
    yield equal("KernelFisher-many", mc.KernelFisher(kernel=b), D, c, far)
    yield equal(
        "KernelFisher-landmarks", mc.KernelFisher(kernel=b, landmarks=40, random_state=0), D, c, far
    )
    yield equal("KernelPerceptron", mc.KernelPerceptron(kernel=g, random_state=0), X, y, new)
    yield equal("KernelPerceptron-many", mc.KernelPerceptron(kernel=b, random_state=0), D, c, far)
    for name, kernel in {"gaussian": g, "polynomial": p, "linear": mc.Linear()}.items():
        yield equal(f"KernelPCA-{name}", mc.KernelPCA(2, kernel=kernel), X, None, new)
    yield equal("KernelPCA-all", mc.KernelPCA(kernel=g), X, None, new)
    yield equal("KernelPCA-whitened", mc.KernelPCA(3, kernel=g, whiten=True), X, None, new)
    yield equal("KernelPCA-digits", mc.KernelPCA(8, kernel=b), D, None, far)
    yield equal(
        "KernelPCA-landmarks", mc.KernelPCA(4, kernel=b, landmarks=60, random_state=0), D, None, far
    )
    yield equal(
        "KernelPCA-precomputed", mc.KernelPCA(2, kernel="precomputed"), g(X), None, g(new, X)
    )
    yield equal(
        "KernelPCA-float32",
        mc.KernelPCA(2, kernel=g),
        X.astype(np.float32),
        None,
        new.astype(np.float32),
    )
    yield equal("KernelMap", mc.KernelMap(g), X, None, new)
    yield equal("KernelMap-landmarks", mc.KernelMap(g, landmarks=30), X, None, new)
    yield equal("KernelMap-plain", mc.KernelMap(p, centre=False), X, None, new)
    yield equal("Nystroem", mc.Nystroem(kernel=g, n_components=25, random_state=0), X, None, new)
    yield equal("PCAL1", mc.PCAL1(2, random_state=0), D, None, far)
    yield equal("PCAL1-joint", mc.PCAL1(2, greedy=False, random_state=0), D, None, far)
    yield equal("Kernelized-logistic", mc.Kernelized(LogisticRegression(), g), X, y, new)
    yield equal(
        "Kernelized-k-means", mc.Kernelized(KMeans(3, n_init=2, random_state=0), g), X, None, new
    )


def functions():
    """Yield results of functions that solve no support vector machine."""
    X, y, _, D, _ = data()
    phi = mc.features(mc.Gaussian(2.0), X)
    pca = mc.KernelPCA(4, kernel=mc.Gaussian(0.02))
    kernels = [mc.Gaussian(0.5), mc.Gaussian(2.0), mc.Linear()]
    made = {
        "denoise": lambda: pca.fit(D).denoise(D[:9]),
        "inverse_transform": lambda: pca.inverse_transform(pca.fit_transform(D)[:9]),
        "preimage-FixedPoint": lambda: mc.preimage(mc.mean(phi), method=mc.FixedPoint()).points,
        "preimage-Gradient": lambda: mc.preimage(mc.mean(phi), method=mc.Gradient()).points,
        "preimage-Distances": lambda: mc.preimage(mc.mean(phi), method=mc.Distances()).points,
        "ray": lambda: mc.ray(mc.mean(phi)).points,
        "svd": lambda: mc.svd(phi, 5, centre=True)[1],
        "qr": lambda: mc.qr(phi)[1],
        "lstsq": lambda: mc.lstsq(phi, y.astype(float), 0.1).coef,
        "mmd": lambda: mc.mmd(phi[:, :80], phi[:, 80:]),
        "combine-alignment": lambda: mc.combine(kernels, X, y, "alignment")(X[:20]),
        "curvature": lambda: mc.manifold.scalar_curvature(mc.Polynomial(3, 0.5, 1.0), X[:5]),
        "check": lambda: mc.check_kernel(mc.Sigmoid(1.0, -2.0), X).smallest_eigenvalue,
    }
    for name, make in made.items():
        yield Case(f"function-{name}", make=lambda make=make: np.asarray(make()), kind=EQUAL)
