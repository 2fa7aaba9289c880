"""Denoising of handwritten digits (Mika et al. 1999, Schoelkopf et al. 1999, section VI-A), and learned pre-images.

300 training and 50 test digits a class, pixels in [-1, 1], kernel exp(-|x - z|^2 / 128); Gaussian noise of standard
deviation 0.5 and speckle, where each pixel turns black or white with probability p / 2 each. The published digits were
smoothed before noise was added; this experiment also takes raw pixels. The error is the mean squared distance between
the answer and the clean digit; the gain is the error of linear PCA over the error. Linear and kernel PCA are shown
with their best number of components on the test digits, which favours them. The kernel and the ridge of the learned
method are selected on training digits: it learns from five sixths of them and is evaluated on corrupted copies of the
others.

Run: python experiments/usps_denoising.py [--draws 3] [--learned-only]
"""

import argparse
import time
from functools import partial

import numpy as np
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as PeerKernelPCA

import mercer as mc
from mercer import datasets
from mercer.estimators.kernel_pca import KernelPCA
from mercer.preimages import preimage
from mercer.preimages.learned import Learned

WIDTH, TRAIN, HELD_OUT, TEST, SIDE = 128, 300, 50, 50, 16
LINEAR = (8, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128)
COMPONENTS = (256, 512, 1024)

# published in 1999 for smoothed digits: gains of kernel PCA over linear PCA; and the goals set for learning
PUBLISHED = {"smoothed, Gaussian 0.5": "published 1.6", "smoothed, speckle 0.2": "published 1.2"}
GOAL = {"raw, Gaussian 0.5": 2.0, "raw, speckle 0.4": 1.8, "smoothed, Gaussian 0.5": 2.0, "smoothed, speckle 0.2": 1.8}


def gaussian(X, rng, deviation=0.5):
    return X + deviation * rng.standard_normal(X.shape)


def speckle(X, rng, p=0.4):
    u = rng.random(X.shape)
    return np.where(u < p / 2, -1.0, np.where(u < p, 1.0, X))


def draw(seed):
    """Return training and test digits, class after class."""
    digits, rng = datasets.load("usps"), np.random.default_rng(seed)

    def some(X, y, count):
        rows = [rng.choice(np.flatnonzero(y == c), count, replace=False) for c in range(10)]
        return X[np.concatenate(rows)].astype(float)

    return some(digits.X_train, digits.y_train, TRAIN), some(digits.X_test, digits.y_test, TEST)


def cases(seed):
    """Yield the four problems: name, training digits, test digits, noise."""
    train, test = draw(seed)
    yield "raw, Gaussian 0.5", train, test, gaussian
    yield "raw, speckle 0.4", train, test, speckle
    train, test = datasets.smooth(train), datasets.smooth(test)
    yield "smoothed, Gaussian 0.5", train, test, gaussian
    yield "smoothed, speckle 0.2", train, test, partial(speckle, p=0.2)


def error(points, clean):
    return np.mean(np.sum((points - clean) ** 2, axis=1))


def linear_pca(train, noisy, clean):
    """Return the smallest error of linear PCA, its components, and the smallest error clipped to [-1, 1]."""
    pca = PCA(max(LINEAR), svd_solver="full").fit(train)
    scores = pca.transform(noisy)
    back = {m: pca.inverse_transform(np.where(np.arange(max(LINEAR)) < m, scores, 0)) for m in LINEAR}
    best = min((error(points, clean), m) for m, points in back.items())
    return *best, min(error(np.clip(points, -1, 1), clean) for points in back.values())


def fixed_point(train, noisy, clean):
    """Return the errors of kernel PCA with fixed-point pre-images of the projections, started at the noisy digits."""
    pca = KernelPCA(max(COMPONENTS), kernel=mc.Gaussian(1 / WIDTH)).fit(train)
    scores = pca.transform(noisy)
    kept = [np.where(np.arange(scores.shape[1]) < m, scores, 0) for m in COMPONENTS]
    return [error(preimage(pca.reconstruct(part), "fixed_point", start=noisy).points, clean) for part in kept]


def peer(train, noisy, clean):
    """Return the smallest error of scikit-learn's kernel PCA over 64, 256 and 512 components, at alpha = 0.001.

    With its default, alpha = 1, the error is more than twice as large on raw digits with Gaussian noise.
    """
    errors = []
    for m in (64, 256, 512):
        pca = PeerKernelPCA(
            m,
            kernel="rbf",
            gamma=1 / WIDTH,
            fit_inverse_transform=True,
            alpha=1e-3,
            eigen_solver="arpack",
            random_state=0,
        ).fit(train)
        errors.append(error(pca.inverse_transform(pca.transform(noisy)), clean))
    return min(errors)


def kernels():
    """Return the candidates: a kernel of the digit, and its sum with kernels of 16 squares of 4 x 4 pixels."""
    whole = mc.Matern(length="median", nu=0.5)
    pixels = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    squares = [pixels[i : i + 4, j : j + 4].ravel() for i in range(0, SIDE, 4) for j in range(0, SIDE, 4)]
    return {"whole": whole, "whole + squares": whole + sum(mc.Mapped(whole, s) for s in squares) * (1 / len(squares))}


def choose(train, noise):
    """Return the kernel and the ridge with the smallest error on held-out, corrupted training digits."""
    held_out = np.arange(len(train)) % TRAIN < HELD_OUT
    clean = train[held_out]
    noisy = noise(clean, np.random.default_rng(1))
    errors = {}
    for name, kernel in kernels().items():
        for ridge in (0.1, 0.3):
            method = Learned(noise, kernel, copies=3, landmarks=1000, ridge=ridge)
            errors[name, ridge] = error(learned(method, train[~held_out], noisy), clean)
    return min(errors, key=errors.get)


def learned(method, train, noisy):
    """Return the answers of a learned method; it reads the training points from the given vectors."""
    psi = mc.Expansion(mc.Gaussian(1 / WIDTH), train, np.full((len(train), len(noisy)), 1 / len(train)))
    return method.find(psi, noisy).points


def print_problem(name, train, clean, noise, seed, learned_only):
    """Print the rows of one problem."""
    noisy = noise(clean, np.random.default_rng(1000 + seed))
    best, count, clipped = linear_pca(train, noisy, clean)

    def row(label, value, note=""):
        print(f"  {label:44s} {value:7.2f}   gain {best / value:5.2f}   {note}", flush=True)

    print(f"{name}")
    row("noisy digits", error(noisy, clean))
    row("linear PCA, best number of components", best, f"{count} components")
    row("linear PCA, answers clipped to [-1, 1]", clipped)
    if not learned_only:
        row("scikit-learn KernelPCA, best of 64/256/512", peer(train, noisy, clean))
        for m, value in zip(COMPONENTS, fixed_point(train, noisy, clean), strict=True):
            row(
                f"kernel PCA, fixed point, {m} components",
                value,
                PUBLISHED.get(name, ""),
            )
    started = time.perf_counter()
    kernel, ridge = choose(train, noise)
    selected = time.perf_counter()
    answers = learned(Learned(noise, kernels()[kernel], ridge=ridge), train, noisy)
    times = f"selected in {selected - started:.0f} s, learned in {time.perf_counter() - selected:.0f} s"
    row("learned", error(answers, clean), f"goal {GOAL[name]}; {kernel}, ridge {ridge}; {times}")
    return best / error(answers, clean)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=1, help="draws of digits and noise")
    parser.add_argument("--learned-only", action="store_true", help="omit the slow rows of kernel PCA")
    options = parser.parse_args()
    started, gains = time.perf_counter(), {}
    for seed in range(options.draws):
        for name, train, clean, noise in cases(seed):
            gains.setdefault(name, []).append(print_problem(name, train, clean, noise, seed, options.learned_only))
    print("\ngain of the learned method over linear PCA, and goal")
    for name, values in gains.items():
        print(f"  {name:24s} {' '.join(f'{value:.2f}' for value in values)}   {GOAL[name]}")
    print(f"{time.perf_counter() - started:.0f} s in all")


if __name__ == "__main__":
    main()
