"""Compression of models to a tenth or a fiftieth of their vectors: test error, number of vectors, seconds.

usps: a one-vs-rest Gaussian SVC on raw pixels, with neighbours shifted by about half a pixel, median error over seeds.
letter, mnist, mnist_all, ijcnn1: the curve of test error against the number of vectors of a one-vs-one SVC, mnist with
shifted neighbours (mnist_all: all 60 000 digits), ijcnn1 with neighbours moved by differences of nearby rows. cadata,
usps_kpca: SVR and KernelPCA with at most a tenth of their vectors. Settings were tuned on folds of the training data.

Run: python -m experiments.compression usps [--seeds 5] [--sizes 250 100 50 30]
"""

import argparse
import functools
import time

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as PeerSVC

import mercer as mc
from experiments._report import run_printed
from mercer import datasets
from mercer.compression import compress

# Largest error in per cent to be reached, by number of vectors.
GOALS = {250: 4.4, 100: 4.5, 50: 4.9, 30: 5.3}
# Standard deviation of the shifts of the neighbours, in pixels, and copies of every image.
SHIFT, COPIES = 0.5, 4


def shifted(X, rng, side, background, sd=SHIFT, copies=COPIES):
    """Return copies of images shifted by normal fractions of a pixel, bilinear, stacked."""
    padded = np.pad(X.reshape(-1, side, side), ((0, 0), (2, 2), (2, 2)), constant_values=background)
    rows = np.arange(len(X))[:, None, None]
    out = []
    for _ in range(copies):
        moves = rng.normal(0, sd, (len(X), 2)).clip(-1.99, 1.99)
        whole = np.floor(moves).astype(int)
        (fx, fy), (ix, iy) = (moves - whole).T[:, :, None, None], whole.T[:, :, None, None]
        i, j = np.arange(side)[None, :, None] + 2 + iy, np.arange(side)[None, None, :] + 2 + ix
        corners = [
            padded[rows, i + a, j + b] * (fy if a else 1 - fy) * (fx if b else 1 - fx)
            for a in (0, 1)
            for b in (0, 1)
        ]
        out.append(np.sum(corners, axis=0).reshape(len(X), -1))
    return np.concatenate(out).astype(X.dtype)


def moved(X, rng, near=5, share=0.7):
    """Return a copy of each row, moved by a share of the difference of two of the rows nearest to it."""
    rows = NearestNeighbors(n_neighbors=near + 1).fit(X).kneighbors(X, return_distance=False)[:, 1:]
    one, other = (rows[np.arange(len(X)), rng.integers(0, near, len(X))] for _ in range(2))
    return (X + share * (X[one] - X[other])).astype(X.dtype)


def usps(arguments):
    """Print the median error over seeds for every number of vectors, with the paired difference to the full model."""
    X, y, test, truth = _usps()
    model = mc.SVC(10.0, kernel=mc.Gaussian(1 / 128), multi_class="ovr").fit(X, y)
    full = model.predict(test)
    print(
        f"full model: {model.expansion_.shape[0]} vectors, error {_percent(full != truth):.2f} %",
        flush=True,
    )
    for size in arguments.sizes or GOALS:
        errors = []
        for seed in range(arguments.first, arguments.first + arguments.seeds):
            rng, start = np.random.default_rng(seed), time.perf_counter()
            small = compress(
                model,
                X,
                y,
                n_vectors=size,
                neighbours=lambda X, rng=rng: shifted(X, rng, 16, -1.0),
                random_state=seed,
            )
            seconds, found = time.perf_counter() - start, small.predict(test)
            errors.append(_percent(found != truth))
            apart = (found != truth).astype(float) - (full != truth)
            spread = 100 * apart.std() / np.sqrt(len(apart))
            print(
                f"  {size} vectors, seed {seed}: {errors[-1]:.2f} %, {100 * apart.mean():+.2f} +- {spread:.2f} against "
                f"the full model, {_percent(found != full):.2f} % changed, {seconds:.1f} s", flush=True,
            )  # fmt: skip
        print(
            f"{size} vectors: median {np.median(errors):.2f} % (goal {GOALS.get(size)})", flush=True
        )


def classes(name, load, C, gamma, neighbours=None, sizes=None):
    """Return a function that prints the curve of a one-vs-one SVC on a data set."""

    def run(arguments):
        X, y, test, truth = load()
        model = mc.SVC(C, kernel=mc.Gaussian(gamma)).fit(X, y)
        n = model.expansion_.shape[0]
        full, seconds = _timed(model.predict, test)
        print(
            f"{name}: {n} vectors, error {_percent(full != truth):.2f} %, prediction {seconds:.2f} s",
            flush=True,
        )
        if arguments.peer:
            peer = PeerSVC(C=C, gamma=gamma).fit(X, y)
            found, seconds = _timed(peer.predict, test)
            print(
                f"  scikit-learn's SVC: error {_percent(found != truth):.2f} %, prediction {seconds:.2f} s",
                flush=True,
            )
        for size in arguments.sizes or sizes or [n // 80, n // 40, n // 20, n // 10]:
            rng, start = np.random.default_rng(0), time.perf_counter()
            near = None if neighbours is None else functools.partial(neighbours, rng=rng)
            small = compress(model, X, y, n_vectors=size, neighbours=near, random_state=0)
            fit = time.perf_counter() - start
            found, seconds = _timed(small.predict, test)
            print(
                f"  {size} vectors ({n / size:.0f} times fewer): error {_percent(found != truth):.2f} %, "
                f"{_percent(found != full):.2f} % changed, compressed in {fit:.1f} s, prediction {seconds:.3f} s",
                flush=True,
            )  # fmt: skip

    return run


def cadata(arguments):
    """Print R^2 of SVR with all and with a tenth of its vectors."""
    data = datasets.load("cadata")
    X, test, y, truth = train_test_split(data.X, np.log(data.y), test_size=0.25, random_state=0)
    scaler = StandardScaler().fit(X)
    X, test = scaler.transform(X), scaler.transform(test)
    model = mc.SVR(10.0, epsilon=0.1, kernel=mc.Gaussian(0.2)).fit(X, y)
    n = model.expansion_.shape[0]
    full, seconds = _timed(model.predict, test)
    print(
        f"SVR on cadata: {n} vectors, R^2 {model.score(test, truth):.4f}, prediction {seconds:.2f} s",
        flush=True,
    )
    for size in arguments.sizes or [n // 10, n // 20, n // 50]:
        start = time.perf_counter()
        small = compress(model, X, y, n_vectors=size, random_state=0)
        fit = time.perf_counter() - start
        found, seconds = _timed(small.predict, test)
        away = np.std(found - full) / np.std(full)
        print(
            f"  {size} vectors ({n / size:.0f} times fewer): R^2 {small.score(test, truth):.4f}, {away:.4f} standard "
            f"deviations from the full model, compressed in {fit:.1f} s, prediction {seconds:.3f} s", flush=True,
        )  # fmt: skip
        print("    " + str(small.report_).replace("\n", "\n    "), flush=True)


def usps_kpca(arguments):
    """Print the error of the scores of kernel PCA with a tenth of the vectors."""
    X, _, test, _ = _usps()
    X = X[:3000]
    model = mc.KernelPCA(32, kernel=mc.Gaussian(1 / 128)).fit(X)
    full = model.transform(test)
    print(f"KernelPCA on usps: {len(X)} vectors, 32 components", flush=True)
    for size in arguments.sizes or [300, 150, 60]:
        start = time.perf_counter()
        small = compress(model, X, n_vectors=size, random_state=0)
        fit, found = time.perf_counter() - start, small.transform(test)
        left = np.sum((found - full) ** 2) / np.sum((full - full.mean(axis=0)) ** 2)
        away = np.linalg.norm(
            small.denoise(test[:100]) - model.denoise(test[:100])
        ) / np.linalg.norm(test[:100])
        print(
            f"  {size} vectors: {100 * left:.3f} % of the variance of the scores lost on test digits, denoised "
            f"digits {100 * away:.2f} % apart, compressed in {fit:.1f} s", flush=True,
        )  # fmt: skip


def _usps():
    data = datasets.load("usps")
    return (
        data.X_train.astype(np.float32),
        data.y_train,
        data.X_test.astype(np.float32),
        data.y_test,
    )


def _letter():
    data = datasets.load("letter")
    if "X_train" in data:
        X, y, test, truth = data.X_train, data.y_train, data.X_test, data.y_test
    else:
        X, test, y, truth = data.X[:15000], data.X[15000:], data.y[:15000], data.y[15000:]
    scaler = StandardScaler().fit(X)
    return (
        scaler.transform(X).astype(np.float32),
        y,
        scaler.transform(test).astype(np.float32),
        truth,
    )


def _mnist(n):
    data = datasets.load("mnist")
    X, test = (np.asarray(each, np.float32) / 255 for each in (data.X_train[:n], data.X_test))
    return X, data.y_train[:n], test, data.y_test


def _shifted_digits(copies):
    return functools.partial(shifted, side=28, background=0.0, copies=copies)


def _ijcnn1():
    data = datasets.load("ijcnn1")
    X, test = data.X_train, data.X_test
    X, test = (
        each.toarray() if hasattr(each, "toarray") else np.asarray(each) for each in (X, test)
    )
    scaler = StandardScaler().fit(X)
    return (
        scaler.transform(X).astype(np.float32),
        data.y_train,
        scaler.transform(test).astype(np.float32),
        data.y_test,
    )


def _timed(function, X):
    function(X[:100])
    start = time.perf_counter()
    return function(X), time.perf_counter() - start


def _percent(wrong):
    return 100 * float(np.mean(wrong))


SETS = {
    "usps": usps,
    "letter": classes("letter", _letter, 10.0, 0.1),
    "mnist": classes("mnist", functools.partial(_mnist, 20_000), 10.0, 0.02, _shifted_digits(2)),
    "mnist_all": classes(
        "mnist_all", functools.partial(_mnist, 60_000), 10.0, 0.02, _shifted_digits(1), [500, 100]
    ),
    "ijcnn1": classes("ijcnn1", _ijcnn1, 10.0, 0.5, moved),
    "cadata": cadata,
    "usps_kpca": usps_kpca,
}


def main():
    """Print the tables of the requested data sets."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sets", nargs="*", default=list(SETS), choices=[[], *SETS])
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of vectors")
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds (usps)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (usps)")
    parser.add_argument("--peer", action="store_true", help="time scikit-learn's SVC too")
    arguments = parser.parse_args()
    for name in arguments.sets or SETS:
        SETS[name](arguments)


if __name__ == "__main__":
    run_printed(main)
