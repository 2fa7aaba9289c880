"""Kernel PCA-L1 against kernel PCA when some training points are outliers (Kwak 2013, section IV-D).

Both methods are fitted to points of which some were replaced by outliers, and evaluated on clean new points. The result
is the mean squared distance in feature space between phi(x) and its projection onto mean and components, divided by the
distance for kernel PCA fitted to the same points without outliers. A ratio of 1 means that outliers have no effect.

Toy: a noisy parabola in the plane with 10 % of its points moved far up, kernel (x.z + 1)^2, 2 components. Digits:
USPS, 30 training digits a class of which 20 % are occluded by a square of 8 to 12 pixels, 16 components, 500 test
digits. White squares on ink in [0, 1] with the kernel (x.z / 50)^4 are outliers with a large norm in feature space:
PCA-L1 is better. Squares of noise on pixels in [-1, 1] with the kernel exp(-|x - z|^2 / 128) have norm 1, as all
points have: kernel PCA hardly changes, and PCA-L1 is worse, because it does not minimise the squared distance.

Run: python -m experiments.outliers [--draws 20] [--figure outliers.png] [--toy-only]
"""

import argparse
import time

import numpy as np
from sklearn.decomposition import PCA

import mercer as mc
from experiments._report import run_printed
from mercer import datasets
from mercer.estimators.kernelized import Kernelized
from mercer.estimators.pca_l1 import PCAL1

PARABOLA = mc.Polynomial(2, 1.0, 1.0)
BOUNDED = mc.Gaussian(1 / 128)
UNBOUNDED = mc.Polynomial(4, 1 / 50, 0.0)


def parabola(n, rng):
    x = rng.uniform(-1, 1, n)
    return np.column_stack([x, x**2 + 0.1 * rng.standard_normal(n)])


def toy(seed):
    """Return training points without and with outliers, and test points."""
    rng = np.random.default_rng(seed)
    clean, test = parabola(150, rng), parabola(300, rng)
    outlying = clean.copy()
    outlying[:15] = rng.uniform([-1, 1.5], [1, 2.5], (15, 2))
    return clean, outlying, test


def digits(seed, square):
    """Return clean and occluded training digits, and test digits; ``square(side, rng)`` gives the covering pixels."""
    usps, rng = datasets.load("usps"), np.random.default_rng(seed)
    rows = np.concatenate(
        [rng.choice(np.flatnonzero(usps.y_train == c), 30, replace=False) for c in range(10)]
    )
    clean = usps.X_train[rows].astype(float)
    images = clean.copy().reshape(-1, 16, 16)
    for i in rng.choice(len(images), len(images) // 5, replace=False):
        side = rng.integers(8, 13)
        top, left = rng.integers(0, 17 - side, 2)
        images[i, top : top + side, left : left + side] = square(side, rng)
    test = usps.X_test[rng.choice(len(usps.X_test), 500, replace=False)].astype(float)
    return clean, images.reshape(len(clean), -1), test


def noise_squares(seed):
    return digits(seed, lambda side, rng: rng.choice([-1.0, 1.0], (side, side)))


def white_squares(seed):
    return tuple((X + 1) / 2 for X in digits(seed, lambda *_: 1.0))


def distance(model, X):
    """Return the mean squared distance of features to the span of a model's directions and mean."""
    axes = model.map_
    Y = axes.transform(X) - model.estimator_.mean_
    scores = Y @ model.estimator_.components_.T
    return np.mean((Y**2).sum(axis=1) + axes.residual(X) ** 2 - (scores**2).sum(axis=1))


def compare(clean, outlying, test, kernel, m, n_init):
    """Return the distances with PCA-L1 and PCA on points with outliers, over that with PCA on clean points."""
    best = distance(Kernelized(PCA(m, svd_solver="full"), kernel).fit(clean), test)
    methods = (PCAL1(m, n_init=n_init, random_state=0), PCA(m, svd_solver="full"))
    return [distance(Kernelized(method, kernel).fit(outlying), test) / best for method in methods]


def table(draw, draws, kernel, m, n_init=5):
    """Return ratios (draws, 2): PCA-L1 and PCA."""
    return np.array([compare(*draw(seed), kernel, m, n_init) for seed in range(draws)])


def figure(results, path):
    """Save the toy with the first component of both methods, and the ratios of all draws."""
    import matplotlib.pyplot as plt

    clean, outlying, _ = toy(0)
    fig, panels = plt.subplots(
        1, 1 + len(results), figsize=(4 * (1 + len(results)), 3.6), layout="constrained"
    )
    grid = np.meshgrid(np.linspace(-1.3, 1.3, 80), np.linspace(-0.6, 2.7, 80))
    points = np.column_stack([axis.ravel() for axis in grid])
    panels[0].plot(*outlying.T, ".", color="0.5")
    for method, colour in ((PCAL1(2, random_state=0), "C0"), (PCA(2), "C3")):
        scores = Kernelized(method, PARABOLA).fit(outlying).transform(points)[:, 0].reshape(80, 80)
        panels[0].contour(*grid, scores, 8, colors=colour, linewidths=0.8)
    panels[0].set_title("first component: PCA-L1 blue, PCA red")
    for panel, (name, ratios) in zip(panels[1:], results.items(), strict=True):
        panel.boxplot(ratios, tick_labels=["kernel PCA-L1", "kernel PCA"])
        panel.axhline(1, color="0.7", zorder=0)
        panel.set_title(name)
        panel.set_ylabel("distance / without outliers")
    fig.savefig(path, dpi=120)


def main():
    """Print the numbers, and draw them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--figure", help="file for the picture")
    parser.add_argument("--toy-only", action="store_true", help="leave the digits out")
    options = parser.parse_args()
    started = time.perf_counter()
    results = {"parabola": table(toy, options.draws, PARABOLA, 2)}
    if not options.toy_only:
        results["USPS, white squares"] = table(
            white_squares, options.draws, UNBOUNDED, 16, n_init=2
        )
        results["USPS, squares of noise"] = table(
            noise_squares, options.draws, BOUNDED, 16, n_init=2
        )
    for name, ratios in results.items():
        l1, l2 = ratios.T
        print(f"{name}: distance of clean points, over that without outliers, {len(l1)} draws")
        for label, values in (("kernel PCA-L1", l1), ("kernel PCA", l2)):
            print(
                f"  {label:14s} mean {values.mean():.3f}   least {values.min():.3f}   largest {values.max():.3f}"
            )
        print(f"  kernel PCA-L1 is nearer in {(l1 < l2).sum()} of {len(l1)} draws")
    if options.figure:
        figure(results, options.figure)
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    run_printed(main)
