"""Record fitted attributes and outputs of more than fifty fits, or compare them with an earlier record.

    python tools/freeze.py record before.npz
    python tools/freeze.py compare before.npz

A change without effect on results keeps every number to 1e-12, relative to the largest number of its array.
"""

import argparse
import contextlib
import sys
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_moons
from sklearn.linear_model import LogisticRegression

import mercer as mc

TOLERANCE = 1e-12
SKIPPED = ("kernel_", "estimator_", "map_", "feature_names_in_")
OUTPUTS = ("predict", "decision_function", "transform", "score_samples")


def data():
    """Return points of two classes, labels, targets, and points of four classes with labels."""
    X, y = make_moons(160, noise=0.25, random_state=0)
    digits = load_digits()
    rows = np.random.default_rng(1).permutation(len(digits.data))[:240]
    D, labels = digits.data[rows] / 16, digits.target[rows] % 4
    target = np.sin(2 * X[:, 0]) + 0.1 * np.random.default_rng(2).normal(size=len(X))
    return X, y, target, D, labels


def fits():
    """Yield the name, the estimator, the training data and the new rows of each fit."""
    X, y, t, D, c = data()
    g, p = mc.Gaussian(2.0), mc.Polynomial(3, 0.5, 1.0)
    new, far = X[::7] + 0.05, D[::9] * 0.97
    weights = np.random.default_rng(3).uniform(0, 2, len(y))
    for name, kernel in (
        ("gaussian", g), ("polynomial", p), ("laplacian", mc.Laplacian(1.0)), ("matern", mc.Matern(0.7, 2.5)),
        ("sum", 0.5 * g + mc.Linear()), ("rule", "rbf"), ("rq", mc.RationalQuadratic(1.0, 2.0)),
    ):  # fmt: skip
        yield f"SVC-{name}", mc.SVC(3.0, kernel=kernel), (X, y), new
    yield "SVC-ovo", mc.SVC(10.0, kernel=mc.Gaussian(0.05)), (D, c), far
    yield "SVC-ovr", mc.SVC(10.0, kernel=mc.Gaussian(0.05), multi_class="ovr"), (D, c), far
    yield "SVC-balanced", mc.SVC(1.0, kernel=mc.Gaussian(0.05), class_weight="balanced"), (D, c), far
    yield "SVC-float32", mc.SVC(10.0, kernel=mc.Gaussian(0.05)), (D.astype(np.float32), c), far.astype(np.float32)
    yield "SVC-sparse", mc.SVC(10.0, kernel=mc.Gaussian(0.05)), (sp.csr_matrix(D), c), sp.csr_matrix(far)
    yield "SVC-weights", mc.SVC(1.0, kernel=g), (X, y, weights), new
    yield "SVC-hard", mc.SVC(np.inf, kernel=mc.Gaussian(20.0)), (X, y), new
    yield "SVC-memory", mc.SVC(10.0, kernel=g, memory="1MB"), (np.tile(X, (4, 1)) + _noise(4, X), np.tile(y, 4)), new
    yield "SVC-large", mc.SVC(10.0, kernel=g), (np.tile(X, (30, 1)) + _noise(30, X), np.tile(y, 30)), new
    yield "SVCCV", mc.SVCCV(kernel=g, Cs=4, cv=3), (X, y), new
    yield "SVCCV-ovr", mc.SVCCV(kernel=mc.Gaussian(0.05), Cs=3, cv=2, multi_class="ovr"), (D, c), far
    yield "NuSVC", mc.NuSVC(0.3, kernel=g), (X, y), new
    yield "NuSVC-ovo", mc.NuSVC(0.2, kernel=mc.Gaussian(0.05)), (D, c), far
    yield "SVR", mc.SVR(5.0, kernel=g, epsilon=0.05), (X, t), new
    yield "SVR-squared", mc.SVR(5.0, kernel=g, epsilon=0.05, loss="squared_epsilon"), (X, t), new
    yield "SVR-huber", mc.SVR(5.0, kernel=g, epsilon=0.05, loss="huber"), (X, t), new
    yield "SVR-hard", mc.SVR(np.inf, kernel=mc.Gaussian(20.0), epsilon=0.3), (X, t), new
    yield "SVR-weights", mc.SVR(5.0, kernel=p, epsilon=0.05), (X, t, weights), new
    yield "NuSVR", mc.NuSVR(0.4, kernel=g), (X, t), new
    yield "NuSVR-C", mc.NuSVR(0.2, C=20.0, kernel=g), (X, t), new
    yield "OneClassSVM", mc.OneClassSVM(nu=0.2, kernel=g), (X,), new
    yield "OneClassSVM-poly", mc.OneClassSVM(nu=0.1, kernel=p), (X,), new
    yield "SVDD", mc.SVDD(0.02, kernel=g), (X,), new
    yield "SVDD-linear", mc.SVDD(kernel=mc.Linear()), (X,), new
    yield "KernelRidge", mc.KernelRidge(0.1, kernel=g), (X, t), new
    yield "KernelRidge-two", mc.KernelRidge(0.1, kernel=p), (X, np.c_[t, t**2]), new
    yield "KernelRidge-weights", mc.KernelRidge(0.1, kernel=g), (X, t, weights), new
    yield "KernelRidge-landmarks", mc.KernelRidge(0.1, kernel=g, landmarks=20, random_state=0), (X, t), new
    yield "KernelFisher", mc.KernelFisher(kernel=g), (X, y), new
    yield "KernelFisher-many", mc.KernelFisher(kernel=mc.Gaussian(0.05)), (D, c), far
    yield "KernelPerceptron", mc.KernelPerceptron(kernel=g, random_state=0), (X, y), new
    yield "KernelPerceptron-many", mc.KernelPerceptron(kernel=mc.Gaussian(0.05), random_state=0), (D, c), far
    for name, kernel in (("gaussian", g), ("polynomial", p), ("linear", mc.Linear())):
        yield f"KernelPCA-{name}", mc.KernelPCA(2, kernel=kernel), (X,), new
    yield "KernelPCA-all", mc.KernelPCA(kernel=g), (X,), new
    yield "KernelPCA-whitened", mc.KernelPCA(3, kernel=g, whiten=True), (X,), new
    yield "KernelPCA-digits", mc.KernelPCA(8, kernel=mc.Gaussian(0.05)), (D,), far
    yield "KernelMap", mc.KernelMap(g), (X,), new
    yield "KernelMap-landmarks", mc.KernelMap(g, landmarks=30), (X,), new
    yield "KernelMap-plain", mc.KernelMap(p, centre=False), (X,), new
    yield "Nystroem", mc.Nystroem(kernel=g, n_components=25, random_state=0), (X,), new
    yield "PCAL1", mc.PCAL1(2, random_state=0), (D,), far
    yield "PCAL1-joint", mc.PCAL1(2, greedy=False, random_state=0), (D,), far
    yield "Kernelized-logistic", mc.Kernelized(LogisticRegression(), g), (X, y), new
    yield "Kernelized-k-means", mc.Kernelized(KMeans(3, n_init=2, random_state=0), g), (X,), new
    yield "SVC-precomputed", mc.SVC(kernel="precomputed"), (g(X), y), g(new, X)
    yield "KernelPCA-precomputed", mc.KernelPCA(2, kernel="precomputed"), (g(X),), g(new, X)
    yield "SVC-chi2", mc.SVC(kernel=mc.Chi2(0.1)), (D, c), far
    yield "SVC-callable", mc.SVC(kernel=lambda A, B: A @ B.T), (X, y), new


def other():
    """Yield the name and the array of results of functions."""
    X, y, _, D, _ = data()
    g = mc.Gaussian(2.0)
    phi = mc.features(g, X)
    pca = mc.KernelPCA(4, kernel=mc.Gaussian(0.02)).fit(D)
    yield "denoise", pca.denoise(D[:9])
    yield "inverse_transform", pca.inverse_transform(pca.transform(D[:9]))
    mean = mc.mean(phi)
    for method in (mc.FixedPoint(), mc.Gradient(), mc.Distances()):
        yield f"preimage-{type(method).__name__}", mc.preimage(mean, method=method).points
    yield "ray", mc.ray(mean).points
    normal = mc.SVC(3.0, kernel=g).fit(X, y).expansion_
    methods = mc.Construct, mc.Greedy, mc.Eigenvector, mc.Merge, mc.MaxNorm, mc.L1, mc.Pivoted, mc.Refine
    for method in methods:
        yield f"reduce-{method.__name__}", mc.reduce(normal, 8, method=method()).relative_error
    small = mc.compress(mc.SVC(3.0, kernel=g).fit(X, y), X, y, n_vectors=10, random_state=0)
    yield "compress", small.decision_function(X)
    U, s = mc.svd(phi, 5, centre=True)
    yield "svd", s
    yield "qr", mc.qr(phi)[1]
    yield "lstsq", mc.lstsq(phi, y.astype(float), 0.1).coef
    yield "mmd", np.array([mc.mmd(phi[:, :80], phi[:, 80:])])
    yield "curvature", mc.manifold.scalar_curvature(mc.Polynomial(3, 0.5, 1.0), X[:5])
    yield "path", np.stack([model.decision_function(X) for model in mc.svc_path(X, y, [0.1, 1.0, 10.0], kernel=g)])
    yield "span", np.array([mc.capacity.span_rule(mc.SVC(3.0, kernel=g).fit(X, y), X, y).value])
    yield "check", np.array([mc.check_kernel(mc.Sigmoid(1.0, -2.0), X).smallest_eigenvalue])


def _noise(times, X):
    return 0.05 * np.random.default_rng(4).normal(size=(times * len(X), X.shape[1]))


def numbers(model, new):
    """Return the fitted attributes and the outputs of a model as arrays by name."""
    found = {}
    names = sorted({name for name in dir(model) if name.endswith("_") and not name.startswith("_")} - {*SKIPPED})
    for name in names:
        value = getattr(model, name, None)
        if isinstance(value, (int, float, np.number, np.ndarray)) and not callable(value):
            found[name] = np.asarray(value)
    if sp.issparse(getattr(model, "support_vectors_", None)):
        found["support_vectors_"] = model.support_vectors_.toarray()
    for name in OUTPUTS:
        # a given matrix has no k(x, x) of new points, which some outputs need; `compare` reports a missing output
        if hasattr(model, name):
            with contextlib.suppress(ValueError):
                found[name] = np.asarray(getattr(model, name)(new))
    return found


def record():
    """Return all numbers of all fits by name."""
    found = {}
    for name, model, training, new in fits():
        found |= {f"{name}.{key}": value for key, value in numbers(model.fit(*training), new).items()}
    return found | {f"other.{name}": np.asarray(value) for name, value in other()}


def differences(before, after):
    """Return one line for each array that is missing, of a new shape or type, or beyond the tolerance."""
    lines = [f"missing: {name}" for name in sorted({*before} - {*after})]
    for name in sorted({*before} & {*after}):
        a, b = before[name], after[name]
        if a.shape != b.shape or a.dtype != b.dtype:
            lines.append(f"{name}: {a.dtype}{a.shape} became {b.dtype}{b.shape}")
        elif a.dtype.kind not in "fc":
            lines += [f"{name}: values differ"] if not np.array_equal(a, b) else []
        else:
            scale = np.abs(a[np.isfinite(a)]).max(initial=1e-300)
            off = np.abs(a - b).max(initial=0) / scale
            limit = TOLERANCE if a.dtype == np.float64 else 1e-6
            if not (off <= limit or np.array_equal(a, b, equal_nan=True)):
                lines.append(f"{name}: relative difference {off:.2g}")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("path")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    now = record()
    if arguments.action == "record":
        np.savez_compressed(arguments.path, **{name: value for name, value in now.items() if value.dtype.kind != "O"})
        print(f"{len({name.split('.')[0] for name in now})} results, {len(now)} arrays")
        return 0
    before = dict(np.load(arguments.path))
    lines = differences(before, {name: value for name, value in now.items() if value.dtype.kind != "O"})
    print(*lines, sep="\n")
    print(f"{len(before)} arrays, {len(lines)} differ")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
