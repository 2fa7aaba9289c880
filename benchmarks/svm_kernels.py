"""Fits of SVC with kernels other than those of LIBSVM, beside scikit-learn with the same values.

    python benchmarks/svm_kernels.py [--rows 1000] [--repeat 3] [--sets letter,usps,ijcnn1,covtype]

Needs MERCER_DATA. The kernels are a sum of two Gaussians and a cubic polynomial, a product of a Gaussian and a linear
kernel, and a precomputed matrix. scikit-learn takes functions of its own pairwise kernels, or the same matrix. Fits
alternate; each figure is a median of the clock, of three values of C and one gamma ("scale"). A ratio above 1 means
that Mercer is faster. The last number is the largest difference of the decision values, relative to the largest one.
"""

import argparse
import time

import numpy as np
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel
from sklearn.svm import SVC
from svm_grid import rows, scale

import mercer as mc


def contenders(X, gamma):
    """Return the kernel of Mercer, that of scikit-learn, and the training points, by name."""
    d = X.shape[1]
    several = (
        0.5 * mc.Gaussian(gamma) + 0.3 * mc.Gaussian(4 * gamma) + 0.2 * mc.Polynomial(3, 1 / d, 1.0)
    )
    product = mc.Gaussian(gamma) * (mc.Linear() + 1.0)

    def sum_of(X, Z):
        gaussians = 0.5 * rbf_kernel(X, Z, gamma) + 0.3 * rbf_kernel(X, Z, 4 * gamma)
        return gaussians + 0.2 * polynomial_kernel(X, Z, 3, 1 / d, 1.0)

    def product_of(X, Z):
        return rbf_kernel(X, Z, gamma) * (linear_kernel(X, Z) + 1)

    matrix = rbf_kernel(X, gamma=gamma)
    return {
        "sum": (several, sum_of, X),
        "product": (product, product_of, X),
        "precomputed": ("precomputed", "precomputed", matrix),
    }


def compared(kernel, peer, points, y, C, repeat):
    """Return the median seconds of both fits, and the largest relative difference of decision values."""
    models = mc.SVC(C, kernel=kernel, tol=1e-3), SVC(C=C, kernel=peer, tol=1e-3, cache_size=1000)
    times = [[], []]
    for _ in range(repeat):
        for own, model in zip(times, models, strict=True):
            start = time.perf_counter()
            model.fit(points, y)
            own.append(time.perf_counter() - start)
    values = [
        model.set_params(decision_function_shape="ovo").decision_function(points)
        for model in models
    ]
    return *np.median(times, axis=1), np.abs(values[0] - values[1]).max() / np.abs(values[1]).max()


def main():
    """Print a line for each cell, and the summary of each kernel."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--sets", default="letter,usps,ijcnn1,covtype")
    options = parser.parse_args()
    ratios = {}
    for name in options.sets.split(","):
        X, y, _ = rows(name, options.rows)
        for what, (kernel, peer, points) in contenders(X, scale(X)).items():
            # machine code before the clock
            mc.SVC(kernel=kernel).fit(points, y)
            for C in (1.0, 10.0, 100.0):
                own, other, error = compared(kernel, peer, points, y, C, options.repeat)
                ratios.setdefault(what, []).append(other / own)
                print(
                    f"{name:9}{what:12}{C:5.0f}  mercer {own:.3f} s  scikit-learn {other:.3f} s  {other / own:.2f}"
                    f"  {error:.1e}", flush=True,
                )  # fmt: skip
    for what, found in ratios.items():
        print(
            f"{what}: geometric mean {np.exp(np.mean(np.log(found))):.2f}, worst {min(found):.2f} of {len(found)}"
        )


if __name__ == "__main__":
    main()
